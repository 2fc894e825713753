"""How much memory a fit takes, and a refusal of what cannot fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from softvec.affinity import Affinity
from softvec.core.errors import InputError
from softvec.core.memory import available_memory
from softvec.fit.recipes import FUSED

_BASE_BYTES = 300 << 20  # the interpreter with NumPy, SciPy, Numba and scikit-learn loaded
_SLACK = 1.12  # what the allocator holds on to, and copies in passing (benchmarks/memory.py)
_EXACT_BYTES = 72 << 20
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
    dtype: Any = "float32",
    normalizer: str = "mixture",
    checkpoint: bool = False,
    n_views: int = 1,
) -> int:
    """Return about how many bytes a fit takes at its peak, the interpreter included.

    Parameters
    ----------
    n : int
        Rows.
    nnz : int
        Stored entries of P, or of each factor together.
    n_components : int
    m : int, optional
        Columns of a two-sided fit, which have vectors of their own.
    bytes_per_entry : float
        4 without values, 8 with float32 ones.
    walk_length : int
        Walks of more than one step need up to two scratch matrices in half precision.
    n_clusters : int
    transposed : bool
        Whether a transposed copy of P is held: two-sided fits, and gradients other than "row" of a
        matrix that is not symmetric.
    dtype : {"float32", "float64"}
    normalizer : {"mixture", "exact"}
    checkpoint : bool
        Whether the run is saved on its way.
    n_views : int
        Fits that are fused in the end; each finished one is kept in half precision.

    Examples
    --------
    >>> round(estimate_memory(10_000_000, 200_000_000, 128, bytes_per_entry=4) / 2**30, 1)
    12.6
    """
    d, k = n_components, n_clusters
    rows = n + (m or 0)
    # float32 vectors have two copies in half precision that neighbours read, float64 ones two of their own
    size, copy = (4, 2) if np.dtype(dtype) == np.float32 else (8, 8)
    vectors = rows * d * (size + 2 * copy)
    scratch = n * d * copy * min(2, walk_length - 1)
    matrix = int(nnz * bytes_per_entry + 8 * (n + 1)) * (2 if transposed else 1)
    small = 12 * k * d * d * 8 + 64 * rows  # moments, and names, sums and sizes of the rows
    if k > 1:  # the sample of k-means, its copy, and the classes
        small += 2 * min(rows, 50_000) * d * size + 24 * rows
    if normalizer == "exact":  # blocks of scores, and gradients of columns, before they are added up
        small += _EXACT_BYTES * size // 4 + 9 * (m or n) * d * size
    if n_views > 1:
        small += 2 * n_views * n * d
    if checkpoint:
        small += _WRITE_BYTES
    return _BASE_BYTES + int(_SLACK * (vectors + scratch + matrix + small))


def needed_memory(affinity: Affinity, n_components: int, fit: dict[str, Any]) -> int:
    """Return the estimate for fitting this affinity, less what is already held."""
    operator = affinity.operator
    symmetric = fit.get("symmetric", affinity.symmetric)
    entries = max(1, operator.nnz)
    directed = bool(affinity.directed)
    total = estimate_memory(
        affinity.shape[0],
        operator.nnz,
        n_components,
        m=None if symmetric else affinity.shape[1],
        bytes_per_entry=operator.nbytes / entries,
        walk_length=int(affinity.parameters.get("length", 1) or 1),
        n_clusters=int(fit.get("n_clusters", 1)),
        transposed=not symmetric or (directed and fit.get("gradient", "row") != "row"),
        dtype=fit.get("dtype", "float32"),
        normalizer=fit.get("normalizer", "mixture"),
        checkpoint=fit.get("checkpoint") is not None,
        n_views=len(FUSED) if fit.get("view") == "fused" else 1,
    )
    return max(0, total - operator.nbytes - _BASE_BYTES)


def refuse_if_too_big(affinity: Affinity, n_components: int, fit: dict[str, Any]) -> None:
    """Raise an error before a fit that cannot fit in memory."""
    need, free = needed_memory(affinity, n_components, fit), available_memory()
    if free is None or need <= free:
        return
    smaller = n_components
    while smaller >= 8 and needed_memory(affinity, smaller, fit) > free:
        smaller = int(smaller * 0.9)
    advice = f"n_components of about {smaller // 8 * 8} would fit" if smaller >= 8 else "use a larger machine"
    raise InputError(
        f"{affinity.shape[0]:,} rows in {n_components} dimensions need about {need / 2**30:,.1f} GiB more, "
        f"{free / 2**30:,.1f} GiB are free; {advice} (check_memory=False tries all the same)"
    )
