"""NetMF (Qiu et al., WSDM 2018): DeepWalk's implicit matrix, factorised explicitly."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh

from benchmarks.peers.prone import randomized_svd


def _factor(M: np.ndarray, d: int, seed: int) -> np.ndarray:
    np.maximum(M, 1, out=M)
    np.log(M, out=M)
    # for an undirected graph M is symmetric; blocks of columns use the matrix product's full speed
    U, s = randomized_svd(M, d, np.random.default_rng(seed), symmetric=True)
    return U * np.sqrt(s)


def small_window(A: sp.csr_array, d: int, *, window: int, negative: float, seed: int) -> np.ndarray:
    """Sum the powers of the walk matrix exactly: O(n^2) memory (paper, Algorithm 3)."""
    degree = np.maximum(A.sum(axis=1), 1).astype(np.float64)
    walk = sp.csr_array(sp.diags_array(1 / degree) @ A).astype(np.float32)
    power = walk.toarray()
    total = power.copy()
    for _ in range(1, window):
        power = walk @ power
        total += power
    total *= (A.sum() / (negative * window) / degree).astype(np.float32)[None, :]
    return _factor(total, d, seed)


def large_window(
    A: sp.csr_array, d: int, *, window: int, negative: float, rank: int, seed: int
) -> np.ndarray:
    """Approximate the sum of powers by the leading eigenpairs (paper, Algorithm 4)."""
    degree = np.maximum(A.sum(axis=1), 1).astype(np.float64)
    root = sp.diags_array(1 / np.sqrt(degree))
    normal = sp.csr_array(root @ A @ root)
    rank = min(rank, A.shape[0] - 1)
    start = np.random.default_rng(seed).standard_normal(A.shape[0])
    value, U = eigsh(normal, k=rank, which="LA", v0=start)
    powers = np.mean([value**r for r in range(1, window + 1)], axis=0)
    half = (U * np.sqrt(np.maximum(powers, 0))) / np.sqrt(degree)[:, None]
    half = half.astype(np.float32)
    M = half @ half.T
    M *= np.float32(A.sum() / negative)
    return _factor(M, d, seed)


def embed(
    A: sp.csr_array,
    d: int = 128,
    *,
    window: int = 10,
    negative: float = 1.0,
    rank: int = 256,
    exact_below: float = 30.0,
    seed: int = 0,
) -> np.ndarray:
    """Return the NetMF vectors (n, d).

    The sum of powers is exact on graphs of mean degree up to `exact_below`, where it is also the
    quicker way; denser graphs take the paper's approximation by `rank` eigenpairs.
    """
    A = sp.csr_array(A, dtype=np.float64)
    if window == 1 or A.nnz <= exact_below * A.shape[0]:
        X = small_window(A, d, window=window, negative=negative, seed=seed)
    else:
        X = large_window(A, d, window=window, negative=negative, rank=rank, seed=seed)
    return np.ascontiguousarray(X, dtype=np.float32)
