"""Memory estimates for fits, and errors for fits that are too large."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np

from softvec.affinity.facts import Facts
from softvec.core.errors import InputError, Option
from softvec.core.memory import available_memory
from softvec.core.scratch import free_space, is_memory
from softvec.core.threads import resolve_n_jobs
from softvec.fit.settings import Settings

_BASE_BYTES = 300 << 20  # the interpreter with NumPy, SciPy, Numba and scikit-learn loaded
_SLACK = 1.12  # allocator overhead and temporary copies (benchmarks/memory.py)
_BLOCK = 131_072  # numbers in a block of vectors (softvec.core.threads)
_SCORES = 2_000_000  # numbers in a block of exact scores (softvec.normalizers.exact)
_PANEL = (13_000, 320)  # columns and dimensions that BLAS packs at a time for a product
_WRITE_BYTES = 32 << 20  # NumPy writes arrays in buffers of 16 MiB


def estimate_memory(
    n: int,
    nnz: int,
    n_components: int,
    *,
    m: int | None = None,
    bytes_per_entry: float = 8.0,
    walk_length: int = 1,
    n_clusters: int = 1,
    transposed: bool = False,
    both_ways: bool = False,
    directed: bool = False,
    dtype: Any = "float32",
    normalizer: str = "mixture",
    init: str = "random",
    checkpoint: bool = False,
    n_views: int = 1,
    scratch: bool = False,
    n_jobs: int | None = None,
) -> int:
    """Estimate the peak memory of a fit in bytes, including the interpreter.

    Parameters
    ----------
    n : int
        Rows.
    nnz : int
        Stored entries of P, or of all its factors together.
    n_components : int
    m : int, optional
        Columns of a two-sided fit, which have their own vectors.
    bytes_per_entry : float
        4 without values, 8 with float32 ones.
    walk_length : int
        Walks of more than one step need up to two scratch matrices in half precision.
    n_clusters : int
    transposed : bool
        Whether a transposed copy of P is held: in two-sided fits, and for gradients other than "row" of an
        asymmetric matrix.
    both_ways : bool
        Whether the gradient of one set of vectors needs products with P', too.
    directed : bool
        Whether walks lose probability at nodes without successors, so that their rows are rescaled.
    dtype : {"float32", "float64"}
    normalizer : {"mixture", "exact"}
    init : str
        "power" multiplies the initial vectors by P.
    checkpoint : bool
        Whether checkpoints are written.
    n_views : int
        Fits that are fused at the end; finished ones are kept in half precision.
    scratch : bool
        Whether vectors, their copies and the matrix are on disk; a transposed copy stays in memory.
    n_jobs : int, optional
        Threads, each with its own blocks; by default all cores.

    Examples
    --------
    >>> round(estimate_memory(10_000_000, 200_000_000, 128, bytes_per_entry=4) / 2**30, 1)
    12.4
    >>> round(estimate_memory(10_000_000, 200_000_000, 128, bytes_per_entry=4, scratch=True) / 2**30, 1)
    0.9
    """
    d, k, rows = n_components, n_clusters, n + (m or 0)
    size, threads = np.dtype(dtype).itemsize, resolve_n_jobs(n_jobs)
    row_starts, entries = 8 * (n + 1), int(nnz * bytes_per_entry)
    small = (64 if init == "power" else 48) * rows  # row sums and sizes
    if normalizer == "exact":
        small += _exact_bytes(n, m, d, threads, size, both_ways)
    else:  # moments, blocks of vectors and their products
        small += 16 * k * d * d * 8 + threads * (2 + k) * max(_BLOCK, 256 * d) * size
    if k > 1:  # the sample of k-means, its copy, and the classes
        small += 2 * min(rows, 50_000) * d * size + 40 * rows
    small += transposed * 16 * rows + checkpoint * _WRITE_BYTES
    total = small + row_starts + (row_starts + entries if transposed else 0)
    if not scratch:
        steps = _scratch_matrices(walk_length, both_ways, directed)
        total += entries + _vector_bytes(rows, n, d, steps, dtype, n_views)
    return _BASE_BYTES + int(_SLACK * total)


def _exact_bytes(n: int, m: int | None, d: int, threads: int, size: int, both_ways: bool) -> int:
    """Return the bytes of the exact normaliser: blocks of scores, and gradients of rows and columns."""
    columns = m or n
    scores = max(16 * columns, min(256 * columns, _SCORES))
    panel = min(columns, _PANEL[0]) * min(d, _PANEL[1])  # that of the first thread is part of the base
    total = 2 * d * d * 8 + (threads * scores + (threads - 1) * panel) * size + n * d * size
    if both_ways or m is not None:  # eight gradients of the columns, and their sum in double precision
        total += columns * d * (9 * size + 8)
    return total


def _scratch_matrices(walk_length: int, both_ways: bool, directed: bool) -> int:
    """Return how many scratch matrices, each the size of the vectors, the steps of a walk need."""
    if walk_length == 1:
        return 0
    own = 1 + directed  # of P, and again of P'
    return own * (1 + both_ways) + (walk_length > 2)


def _vector_bytes(rows: int, n: int, d: int, steps: int, dtype: Any, n_views: int) -> int:
    """Return the bytes of all arrays that are the size of the vectors."""
    # float32 vectors have two copies in half precision, float64 ones two in double precision
    size, copy = (4, 2) if np.dtype(dtype) == np.float32 else (8, 8)
    vectors = rows * d * (size + 2 * copy)
    between = n * d * copy * steps
    fused = 2 * n_views * n * d if n_views > 1 else 0
    return vectors + between + fused


def needed_memory(facts: Facts, settings: Settings, *, scratch: bool | None = None) -> int:
    """Return the memory needed to fit data with these facts, beyond what is already allocated.

    ``scratch`` overrides whether the settings name a scratch folder.
    """
    symmetric, both_ways = _sides(facts, settings)
    if scratch is None:
        scratch = settings.scratch is not None and not is_memory(settings.scratch)
    total = estimate_memory(
        facts.n,
        facts.entries,
        settings.n_components,
        m=None if symmetric else facts.m,
        bytes_per_entry=facts.nbytes / max(1, facts.entries),
        walk_length=_walk_length(settings),
        n_clusters=settings.n_clusters,
        transposed=not symmetric or (bool(facts.directed) and both_ways),
        both_ways=both_ways,
        directed=bool(facts.directed),
        dtype=settings.dtype,
        normalizer=settings.normalizer,
        init=settings.init if isinstance(settings.init, str) else "random",
        checkpoint=settings.checkpoint is not None,
        n_views=len(settings.views) or 1,
        scratch=scratch,
        n_jobs=settings.n_jobs,
    )
    if not scratch:
        total += int(_SLACK * _rescaled_weights(facts, settings)) - facts.nbytes
    return max(0, total - _BASE_BYTES)


def needed_disk(facts: Facts, settings: Settings) -> int:
    """Return the bytes that a fit needs in its scratch folder."""
    symmetric, both_ways = _sides(facts, settings)
    rows = facts.n if symmetric else facts.n + facts.m
    steps = _scratch_matrices(_walk_length(settings), both_ways, bool(facts.directed))
    views = len(settings.views) or 1
    vectors = _vector_bytes(rows, facts.n, settings.n_components, steps, settings.dtype, views)
    return vectors + _rescaled_weights(facts, settings)


def _sides(facts: Facts, settings: Settings) -> tuple[bool, bool]:
    """Return whether there is one set of vectors, and whether its gradient needs products with P', too."""
    symmetric = settings.one_sided(facts.shape)
    return symmetric, symmetric and settings.gradient != "row"


def _rescaled_weights(facts: Facts, settings: Settings) -> int:
    """Return the bytes of the copy of the weights that fused views rescale."""
    return 4 * (facts.links or 0) if settings.views and facts.weights is not None else 0


def _walk_length(settings: Settings) -> int:
    """Return the steps of the walk; fused views have their own walks."""
    return 3 if settings.views else settings.walk_length


def refuse_if_too_big(facts: Facts, settings: Settings) -> None:
    """Raise an error if a fit would not fit in memory, or on the disk of its scratch folder."""
    folder, n_components = settings.scratch, settings.n_components
    if folder is not None:
        _refuse_full_disk(needed_disk(facts, settings), folder)
    need, free = needed_memory(facts, settings), available_memory()
    if free is None or need <= free:
        return
    smaller = n_components
    while smaller >= 8 and needed_memory(facts, replace(settings, n_components=smaller)) > free:
        smaller = int(smaller * 0.9)
    advice: list[str | Option] = []
    if smaller >= 8:
        advice = [Option("n_components"), f" of about {smaller // 8 * 8} would fit"]
    if needed_memory(facts, settings, scratch=True) <= free:
        tmpfs = "" if folder is None else f" ({os.fspath(folder)} is held in memory)"
        advice += [
            *(["; or "] if advice else []),
            "to keep large arrays in a folder on disk, pass ",
            Option("scratch", ...),
            tmpfs,
        ]
    raise InputError(
        f"{facts.n:,} rows in {n_components} dimensions need about {need / 2**30:,.1f} GiB more, "
        f"{free / 2**30:,.1f} GiB are free; ",
        *(advice or ["use a larger machine"]),
        " (to try anyway, pass ",
        Option("check_memory", False),
        ")",
    )


def _refuse_full_disk(need: int, folder: str | os.PathLike[str]) -> None:
    free = free_space(folder)
    if need > free:
        raise InputError(
            f"this fit needs about {need / 2**30:,.1f} GiB in {os.fspath(folder)}, where "
            f"{free / 2**30:,.1f} GiB are free; name a folder on a larger disk with ",
            Option("scratch", ...),
        )
