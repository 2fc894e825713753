"""ProNE (Zhang et al., IJCAI 2019): sparse matrix factorisation, then spectral propagation."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh, lu, qr
from scipy.special import iv


def thin_svd(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the left singular vectors and singular values of a tall matrix, by its Gram matrix."""
    gram = (X.T @ X).astype(np.float64)  # (d, d)
    value, V = eigh(gram, check_finite=False)
    s = np.sqrt(np.maximum(value[::-1], 0))
    floor = max(float(s[0]), 1e-30) * 1e-6
    return X @ (V[:, ::-1] / np.maximum(s, floor)).astype(X.dtype), s.astype(X.dtype)


def randomized_svd(
    M: Any, rank: int, rng: np.random.Generator, *, symmetric: bool = False, power: int = 4, extra: int = 16
) -> tuple[np.ndarray, np.ndarray]:
    """Return the leading left singular vectors and singular values of a sparse or dense matrix."""
    size = min(rank + extra, *M.shape)
    MT = M if symmetric else M.T.tocsr() if sp.issparse(M) else M.T
    Q = rng.standard_normal((M.shape[1], size)).astype(M.dtype)
    for _ in range(power):  # LU keeps the columns apart at a third of the cost of QR
        Q, _ = lu(M @ Q, permute_l=True, check_finite=False)
        Q, _ = lu(MT @ Q, permute_l=True, check_finite=False)
    Q, _ = qr(M @ Q, mode="economic", check_finite=False)
    B = MT @ Q  # (m, size) = V s W'
    V, s = thin_svd(B)
    W = (B.T @ V) / np.maximum(s, 1e-30)
    return (Q @ W)[:, :rank], s[:rank]


def factorize(
    A: sp.csr_array, d: int, rng: np.random.Generator, *, negative: float = 1.0, power: float = 0.75
) -> np.ndarray:
    """Factorise the matrix ln p_ij - ln(lambda P_j) on the edges (paper, Eqs. 3 to 5)."""
    degree = np.maximum(A.sum(axis=1), 1)
    P = sp.csr_array(sp.diags_array(1 / degree) @ A)
    reach = np.asarray(P.sum(axis=0)) ** power
    P.data = np.log(P.data) - np.log(negative * (reach / reach.sum())[P.indices])
    U, s = randomized_svd(P.astype(np.float32), d, rng)
    return unit(U * np.sqrt(s))


def propagate(A: sp.csr_array, R: np.ndarray, *, order: int, mu: float, theta: float) -> np.ndarray:
    """Apply the modulated Laplacian's band-pass filter by a Chebyshev expansion (paper, Eqs. 6 to 9)."""
    n = A.shape[0]
    loops = sp.csr_array(A + sp.eye_array(n, format="csr"))
    walk = sp.csr_array(sp.diags_array(1 / loops.sum(axis=1)) @ loops).astype(np.float32)

    def shifted(X: np.ndarray) -> np.ndarray:  # (L - mu) X with L = I - walk
        return (1 - mu) * X - walk @ X

    def half_square(X: np.ndarray) -> np.ndarray:  # ((L - mu)^2 / 2 - 1) X, the argument of T_i
        return 0.5 * shifted(shifted(X)) - X

    before, now = R, half_square(R)
    total = iv(0, theta) * before - 2 * iv(1, theta) * now
    for i in range(2, order):
        before, now = now, 2 * half_square(now) - before
        total += (-1) ** i * 2 * iv(i, theta) * now
    return (loops @ (R - total)).astype(np.float32)


def unit(X: np.ndarray) -> np.ndarray:
    """Return the rows divided by their norms (zero rows stay)."""
    norm = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(norm > 0, norm, 1)


def embed(
    A: sp.csr_array,
    d: int = 128,
    *,
    order: int = 10,
    mu: float = 0.2,
    theta: float = 0.5,
    seed: int = 0,
) -> np.ndarray:
    """Return the ProNE vectors (n, d) of a symmetric graph, with the paper's settings."""
    rng = np.random.default_rng(seed)
    R = factorize(sp.csr_array(A, dtype=np.float64), d, rng)
    X = propagate(A, R.astype(np.float32), order=order, mu=mu, theta=theta)
    U, s = thin_svd(X)
    return unit(U * np.sqrt(s)).astype(np.float32)
