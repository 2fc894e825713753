"""k-means on a sample of rows, and the nearest centre for every row."""

from __future__ import annotations

import warnings
from threading import Lock

import numpy as np

from softvec import kernels
from softvec.core.machine import Machine
from softvec.core.threads import one_blas_thread, row_blocks
from softvec.normalizers.base import Array

_BLOCK = 4096
_WARNINGS = Lock()  # warning filters are global: two threads would restore each other's


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
