"""Clusters of vectors: k-means, and many small cells.

Cells are cut in O(m d sqrt(k)): coarse parts first, then each part again.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from threading import Lock

import numpy as np

from softvec import kernels
from softvec.core.machine import ALONE, Machine
from softvec.core.threads import one_blas_thread, row_blocks
from softvec.normalizers.base import Array

_BLOCK = 4096  # rows copied, assigned and multiplied while they are in cache
_WARNINGS = Lock()  # warning filters are global: two threads would restore each other's
_STEPS = 3  # Lloyd steps on a sample; random centres (0 steps) leave about 5% more variance inside cells
_PER_CENTER = 16  # sampled rows per centre


def nearest_center(Y: Array, centers: Array, pool: Machine, block: int | None = None) -> Array:
    """Return the number of the nearest centre of each row, int32."""
    half = (0.5 * np.einsum("ij,ij->i", centers, centers, dtype=np.float64)).astype(Y.dtype)
    columns = np.ascontiguousarray(centers.T.astype(Y.dtype, copy=False))  # (d, k)
    classes = np.empty(len(Y), np.int32)
    rows = block or int(np.clip(2**18 // len(centers), 64, _BLOCK))
    nearest = kernels.select(pool.whole(Y.size)[1] * len(centers)).nearest
    pool.map(lambda lo, hi: nearest(Y[lo:hi] @ columns, half, classes[lo:hi]), row_blocks(len(Y), rows))
    return classes


def kmeans(
    Y: Array,
    k: int,
    rng: np.random.Generator,
    pool: Machine,
    *,
    sample: int = 16384,
    max_iter: int = 300,
    block: int | None = None,
) -> Array:
    """Return k-means classes: scikit-learn's on a sample of rows, then the nearest centre for every row.

    On 400,000 rows, k = 5, a sample of 16,384 gives the same normaliser error as all rows, in a tenth of the
    time; ``MiniBatchKMeans`` took up to twenty times longer. scikit-learn's sums depend on the number of
    threads, so it runs on one: the same bits for any ``n_jobs``. On a cluster, every process runs it on the
    same sample; ``block`` is the number of rows at which their ranges are cut.
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    if k == 1:
        return np.zeros(len(Y), np.int32)
    n = pool.whole(len(Y))[1]
    rows = pool.take(Y, np.arange(n) if n <= sample else np.sort(rng.choice(n, sample, replace=False)))
    model = KMeans(min(k, len(rows)), n_init=1, max_iter=max_iter, random_state=int(rng.integers(2**31)))
    with _WARNINGS, one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than k: some classes empty
        model.fit(rows)
    return nearest_center(Y, model.cluster_centers_, pool, block)


def compact(classes: Array, pool: Machine | None = None) -> Array:
    """Renumber classes to 0..k-1 without gaps, across all processes."""
    present = np.unique(classes)
    if pool is not None:
        present = np.unique(np.concatenate(pool.gather(present)))
    return np.searchsorted(present, classes).astype(np.int64)


def _centers(Y: Array, k: int, rng: np.random.Generator, pool: Machine) -> Array:
    """Return k centres: a few Lloyd steps on a sample of the rows."""
    size = min(len(Y), max(_PER_CENTER * k, k))
    sample = Y[np.sort(rng.choice(len(Y), size, replace=False))]
    centers = sample[np.sort(rng.choice(size, k, replace=False))]
    for _ in range(_STEPS):
        cell_of = nearest_center(sample, centers, pool)
        counts = np.bincount(cell_of, minlength=k)
        starts = np.cumsum(counts) - counts
        filled = counts > 0
        sums = np.add.reduceat(sample[np.argsort(cell_of, kind="stable")], starts[filled], axis=0)
        centers[filled] = sums / counts[filled, None]
    return centers


@dataclass(frozen=True)
class Cells:
    """Rows listed cell by cell, each cell sorted by a permanent random key (see softvec.kernels.cells).

    ``counts`` (cells,), ``centers`` (cells, d), ``radius`` the mean squared distance to the centre (cells,),
    ``order`` (m,), ``draws`` keys and boosts (2, m), ``within`` the covariance inside cells (d, d).
    """

    counts: Array
    centers: Array
    radius: Array
    order: Array
    draws: Array
    within: Array


def cut_into_cells(Y: Array, k: int, rng: np.random.Generator, pool: Machine) -> Cells:
    """Return about ``k`` non-empty cells: a coarse partition, then one task for each of its parts."""
    m = len(Y)
    middles = _centers(Y, max(1, round(np.sqrt(k))), rng, pool)
    coarse = nearest_center(Y, middles, pool)
    listed = np.argsort(coarse.astype(np.uint16), kind="stable")  # 16 bits: NumPy sorts in linear time
    counts = np.bincount(coarse)
    ends = np.cumsum(counts)
    seeds = rng.integers(2**63, size=len(counts))
    order, draws = np.empty(m, np.int32 if m < 2**31 else np.int64), np.empty((2, m), np.float32)

    def cut(c: int) -> tuple[Array, Array, Array, Array]:
        part = slice(ends[c] - counts[c], ends[c])
        pieces = min(max(1, round(k * counts[c] / m)), int(counts[c]))
        own = np.random.default_rng(seeds[c])
        return _cut_part(Y, listed[part], middles[c], pieces, order[part], draws[:, part], own)

    parts = pool.map(cut, [(c,) for c in np.flatnonzero(counts)])
    sizes, centers, radius = (np.concatenate([part[i] for part in parts]) for i in range(3))
    return Cells(sizes, centers, radius, order, draws, np.sum([part[3] for part in parts], axis=0) / m)


def _cut_part(
    Y: Array, rows: Array, middle: Array, k: int, order: Array, draws: Array, rng: np.random.Generator
) -> tuple[Array, Array, Array, Array]:
    """Partition the chosen rows into k cells in one pass; return sizes, means, mean squared radii, scatter.

    Rows are centred at the middle of the part, so that differences of squares lose no digits.
    """
    from softvec.kernels.cells import arrange, assign_rows, copy_rows

    d, m = Y.shape[1], len(rows)
    chosen = rows[np.sort(rng.choice(m, min(m, _PER_CENTER * k), replace=False))]
    guesses = _centers(Y[chosen] - middle, k, rng, ALONE)
    half = (0.5 * np.einsum("ij,ij->i", guesses, guesses, dtype=np.float64)).astype(Y.dtype)
    cell_of, radii, sums = np.empty(m, np.int32), np.empty(m, np.float32), np.zeros((k, d))
    scatter, buffer = np.zeros((d, d)), np.empty((min(m, _BLOCK), d), Y.dtype)
    for lo in range(0, m, _BLOCK):
        hi = min(lo + _BLOCK, m)
        block = buffer[: hi - lo]
        copy_rows(Y, rows[lo:hi], middle, block)
        assign_rows(block, block @ guesses.T, half, cell_of[lo:hi], sums, radii[lo:hi])
        scatter += block.T @ block
    sizes = np.bincount(cell_of, minlength=k)
    square = np.bincount(cell_of, weights=radii, minlength=k)
    filled = sizes > 0
    cell_of, sizes = (np.cumsum(filled) - 1)[cell_of], sizes[filled]
    means = sums[filled] / sizes[:, None]
    # shift from the guesses to the means: subtract the sum of c c', and the squared offset
    scatter -= (means.T * sizes) @ means
    offset = means - guesses[filled].astype(np.float64)
    radius = np.maximum(square[filled] / sizes - np.einsum("ij,ij->i", offset, offset), 0.0)
    draws[0] = rng.random(m)
    arrange(rows, cell_of, np.concatenate([[0], np.cumsum(sizes)]), radii, order, draws)
    return sizes, (means + middle).astype(Y.dtype), radius, scatter
