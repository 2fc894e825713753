"""Memory estimates for fits, and errors for fits that are too large."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np

from softvec.affinity.base import Facts
from softvec.core.errors import InputError, Option
from softvec.core.machine import BLOCK
from softvec.core.resources import SMALL, available_memory, resolve_n_jobs
from softvec.core.scratch import free_space, is_memory
from softvec.fit.settings import SECOND, Settings
from softvec.normalizers.exact import SCORES

_BASE_BYTES = 300 << 20  # the interpreter with NumPy, SciPy, Numba and scikit-learn loaded
_SLACK = 1.12  # allocator overhead and temporary copies (benchmarks/memory.py)
_PANEL = (13_000, 320)  # columns and dimensions that BLAS packs at a time for a product
_WRITE_BYTES = 16 << 20  # NumPy writes arrays in buffers of this size


def estimate_memory(facts: Facts, settings: Settings, *, scratch: bool = False) -> int:
    """Estimate the peak memory of a fit in bytes, including the interpreter and the matrix.

    Parameters
    ----------
    facts : Facts
        Sizes of the data, or of the part of it that a worker holds.
    settings : Settings
        Settings of the fit, resolved.
    scratch : bool
        Whether vectors, their copies and the matrix are on disk; a transposed copy stays in memory.

    Examples
    --------
    >>> n, edges = 10_000_000, 200_000_000
    >>> facts = Facts("graph", n, n, edges, 4 * edges, symmetric=True)
    >>> round(estimate_memory(facts, Settings(128)) / 2**30, 1)
    12.3
    >>> round(estimate_memory(facts, Settings(128), scratch=True) / 2**30, 1)
    0.9
    """
    d, k, size = settings.n_components, settings.n_clusters, np.dtype(settings.dtype).itemsize
    one_sided, both_ways = _sides(facts, settings)
    n, m = facts.n, None if one_sided else facts.m
    rows, threads = n + (m or 0), resolve_n_jobs(settings.n_jobs)
    row_starts = 8 * (n + 1)
    small = _row_bytes(settings) * rows
    if settings.normalizer == "exact":
        small += _exact_bytes(n, m, d, threads, size, both_ways)
    else:  # moments, blocks of vectors and their products
        small += 16 * k * d * d * 8 + threads * (2 + k) * max(BLOCK, 256 * d) * size
        small += min(256 * facts.m, SCORES) * size  # scores of the diagnosis
    if settings.normalizer in SECOND:
        small += _near_bytes(facts, settings, rows * d * size if both_ways or not one_sided else 0)
    if k > 1:  # the sample of k-means, its copy, and the classes
        small += 2 * min(rows, 50_000) * d * size + 40 * rows
    small += _WRITE_BYTES if settings.checkpoint is not None else 0
    total = small + row_starts
    if not one_sided or (facts.directed and both_ways):  # a transposed copy of P
        total += 16 * rows + row_starts + facts.nbytes
    if not scratch:
        total += needed_disk(facts, settings)
    return _BASE_BYTES + int(_SLACK * total) + (0 if scratch else facts.nbytes)


def needed_memory(facts: Facts, settings: Settings, *, scratch: bool | None = None) -> int:
    """Return the memory needed to fit data with these facts, beyond what is already allocated.

    ``scratch`` overrides whether the settings name a scratch folder.
    """
    if scratch is None:
        scratch = settings.scratch is not None and not is_memory(settings.scratch)
    held = 0 if scratch else facts.nbytes
    return max(0, estimate_memory(facts, settings, scratch=scratch) - _BASE_BYTES - held)


def _row_bytes(settings: Settings) -> int:
    """Return the bytes of sums and sizes of a row."""
    if settings.view == "power":
        return 24
    return 64 if isinstance(settings.init, str) and settings.init == "power" else 48


def _near_bytes(facts: Facts, settings: Settings, gradients: int) -> int:
    """Return the bytes of near items, built from a list; with two gradients they are transposed, too."""
    items = facts.entries + (1 + SECOND[settings.normalizer]) * facts.n
    return (60 if gradients else 36) * items + gradients


def _exact_bytes(n: int, m: int | None, d: int, threads: int, size: int, both_ways: bool) -> int:
    """Return the bytes of the exact normaliser: blocks of scores, and gradients of rows and columns."""
    columns = m or n
    panel = min(columns, _PANEL[0]) * min(d, _PANEL[1])  # that of the first thread is part of the base
    scores = max(16 * columns, min(256 * columns, SCORES))  # numbers of a block
    total = 2 * d * d * 8 + (threads * scores + (threads - 1) * panel) * size + n * d * size
    if both_ways or m is not None:  # eight gradients of the columns, and their sum in double precision
        total += columns * d * (9 * size + 8)
    return total


def needed_disk(facts: Facts, settings: Settings) -> int:
    """Return the bytes of the arrays that a scratch folder holds: the size of the vectors, and weights."""
    one_sided, both_ways = _sides(facts, settings)
    n, d, views = facts.n, settings.n_components, len(settings.views)
    # float32 vectors have two copies in half precision, float64 ones two in double precision
    size, copy = (4, 2) if np.dtype(settings.dtype) == np.float32 else (8, 8)
    steps, between = 2 if views else settings.walk_length, 0
    if steps > 1:  # scratch matrices: of P, of P', one if walks of a directed graph are rescaled, one to swap
        between = (1 + bool(facts.directed)) * (1 + both_ways) + (steps > 2)
    rows = n if one_sided else n + facts.m
    if settings.view == "power":  # one copy in half precision, another in the memory of the result
        return n * d * (size + copy)
    rescaled = 4 * (facts.links or 0) if views and facts.weights is not None else 0  # a copy of the weights
    return rows * d * (size + 2 * copy) + n * d * (copy * between + 2 * views) + rescaled


def _sides(facts: Facts, settings: Settings) -> tuple[bool, bool]:
    """Return whether there is one set of vectors, and whether its gradient needs products with P', too."""
    symmetric = settings.one_sided((facts.n, facts.m))
    return symmetric, symmetric and settings.gradient != "row"


def refuse_if_too_big(facts: Facts, settings: Settings) -> None:
    """Raise an error if a fit would not fit in memory, or on the disk of its scratch folder."""
    folder, n_components = settings.scratch, settings.n_components
    if folder is not None and (need := needed_disk(facts, settings)) > (free := free_space(folder)):
        raise InputError(
            f"this fit needs about {need / 2**30:,.1f} GiB in {os.fspath(folder)}, where "
            f"{free / 2**30:,.1f} GiB are free; name a folder on a larger disk with ",
            Option("scratch", ...),
        )
    need = needed_memory(facts, settings)
    available = available_memory() if need > SMALL else None
    if available is None or need <= available:
        return
    smaller = n_components
    while smaller >= 8 and needed_memory(facts, replace(settings, n_components=smaller)) > available:
        smaller = int(smaller * 0.9)
    advice: list[str | Option] = []
    if smaller >= 8:
        advice = [Option("n_components"), f" of about {smaller // 8 * 8} would fit"]
    if needed_memory(facts, settings, scratch=True) <= available:
        tmpfs = "" if folder is None else f" ({os.fspath(folder)} is held in memory)"
        advice += [
            *(["; or "] if advice else []),
            "to keep large arrays in a folder on disk, pass ",
            Option("scratch", ...),
            tmpfs,
        ]
    raise InputError(
        f"{facts.n:,} rows in {n_components} dimensions need about {need / 2**30:,.1f} GiB more, "
        f"{available / 2**30:,.1f} GiB are free; ",
        *(advice or ["use a larger machine"]),
        " (to try anyway, pass ",
        Option("check_memory", False),
        ")",
    )
