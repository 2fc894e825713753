"""Near Bayes-optimal spectral clustering of sparse graphs.

Written from the published descriptions: L. Dall'Amico, R. Couillet, N. Tremblay, "Revisiting the
Bethe-Hessian: improved community detection in sparse heterogeneous graphs" (NeurIPS 2019) and "A unified
framework for spectral clustering in sparse graphs" (JMLR 2021).

The matrix is the Bethe-Hessian H_r = (r^2 - 1) I + D - r A. For each informative p, its p-th smallest
eigenvalue vanishes at some r = zeta_p, and there the eigenvector shows the communities independently of the
degrees. H_r x = 0 is the same as L y = y / r with the regularised Laplacian
L = (D + r^2 - 1)^-1/2 A (D + r^2 - 1)^-1/2 and y = (D + r^2 - 1)^1/2 x, whose *largest* eigenvalues Lanczos
finds in a few dozen products. From an eigenvector x the next r is the smaller root of x' H_r x = 0 (a Newton
step for the eigenvalue), so two or three eigenvalue problems per p are enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh

from softvec.core.checks import integer, unit_rows
from softvec.core.errors import InputError
from softvec.embedding.groups import k_means
from softvec.operators import checked_csr


@dataclass(frozen=True)
class SpectralCommunities:
    """Result of :func:`spectral_communities`.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        Community of each node; -1 for an isolated node.
    vectors : ndarray of shape (n, q - 1)
        Informative eigenvectors, rows of norm 1 (0 for isolated nodes).
    zeta : ndarray of shape (q - 1,)
        The value of r at which each eigenvector was taken.
    n_communities : int
        Number of communities, given or estimated.
    """

    labels: np.ndarray
    vectors: np.ndarray
    zeta: np.ndarray
    n_communities: int


def spectral_communities(
    A: sp.sparray | sp.spmatrix,
    n_communities: int | None = None,
    *,
    max_communities: int = 100,
    n_init: int = 10,
    tol: float = 1e-3,
    random_state: int | None = 0,
) -> SpectralCommunities:
    """Find communities by the Bethe-Hessian with a learned parameter per eigenvector.

    Parameters
    ----------
    A : sparse matrix of shape (n, n)
        Symmetric 0/1 matrix of an undirected graph; loops are ignored.
    n_communities : int or None
        Number of communities; ``None`` estimates it as the number of negative eigenvalues of H_r at r^2 = the
        spectral radius of the non-backtracking matrix.
    max_communities : int
        Maximum number to estimate.
    n_init : int
        Starts of k-means.
    tol : float
        How close to 1 ``r`` times the eigenvalue must come, and relative precision of the eigenvalues.
    random_state : int or None
        Seed of the Lanczos start and of k-means.

    Returns
    -------
    SpectralCommunities
        Labels, eigenvectors, and their parameters.

    Examples
    --------
    >>> from experiments.generators import dcsbm
    >>> from experiments.rivals.spectral import spectral_communities
    >>> A, labels, _ = dcsbm(1000, c=20, q=3, alpha=4.0, theta="constant", random_state=0)
    >>> spectral_communities(A).n_communities
    3
    """
    vectors, zeta, connected = bethe_hessian_vectors(
        A, n_communities, max_communities=max_communities, tol=tol, random_state=random_state
    )
    q = vectors.shape[1] + 1
    rows = unit_rows(vectors)
    labels = np.full(len(rows), -1, dtype=np.int64)
    if q == 1:
        labels[connected] = 0
    else:
        labels[connected] = k_means(
            rows[connected], q, n_init=n_init, random_state=random_state, batches=False
        )
    return SpectralCommunities(labels, rows, zeta, q)


def bethe_hessian_vectors(
    A: sp.sparray | sp.spmatrix,
    n_communities: int | None = None,
    *,
    max_communities: int = 100,
    tol: float = 1e-3,
    random_state: int | None = 0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the informative eigenvectors (n, q - 1), their zeta (q - 1,), and the nodes that have edges."""
    A = sp.csr_array(checked_csr(A))
    n = A.shape[0]
    if A.shape[0] != A.shape[1]:
        raise InputError(f"A has shape {A.shape}; an adjacency matrix is square")
    if n_communities is not None:
        integer("n_communities", n_communities, 1, n, "the number of nodes")
    if A.nnz and (A.data != 1).any():
        raise InputError("A has values other than 1; this method is for graphs without weights")
    if A.nnz and A.diagonal().any():
        A = A.copy()
        A.setdiag(0)
        A.eliminate_zeros()
    connected = np.flatnonzero(np.diff(A.indptr))
    if len(connected) < 4:
        raise InputError(f"A has {len(connected)} nodes with edges; at least 4 are needed")
    part = A if len(connected) == n else A[connected][:, connected]
    solver = _Solver(sp.csr_array(part, dtype=np.float64), tol, random_state)
    if n_communities is None:
        n_communities = solver.count_negative(max_communities)
    informative, zeta = solver.vectors(min(n_communities, len(connected) - 2))
    vectors = np.zeros((n, informative.shape[1]))
    vectors[connected] = informative
    return vectors, zeta, connected


class _Solver:
    """Eigenpairs of H_r through those of the regularised Laplacian, each from the vectors of the last r."""

    def __init__(self, A: sp.csr_array, tol: float, random_state: int | None):
        self.A = A
        self.tol = tol
        self.degrees = np.diff(A.indptr).astype(np.float64)
        # Spectral radius of the non-backtracking matrix, from the moments of the degrees.
        self.r_max = float(np.sqrt(max((self.degrees**2).sum() / self.degrees.sum() - 1.0, 1.0 + 1e-9)))
        self.start = np.random.default_rng(random_state).standard_normal(A.shape[0])

    def top(self, r: float, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return ``r`` times the largest eigenvalues of the Laplacian, in decreasing order, and x of H_r."""
        scale = 1.0 / np.sqrt(self.degrees + r * r - 1.0)
        A, n = self.A, self.A.shape[0]
        if count >= n - 1 or n <= 60:
            dense = scale[:, None] * A.toarray() * scale
            values, Y = np.linalg.eigh(dense)
            values, Y = values[-count:], Y[:, -count:]
        else:
            product = LinearOperator((n, n), matvec=lambda y: scale * (A @ (scale * y)), dtype=np.float64)
            values, Y = eigsh(product, k=count, which="LA", tol=self.tol, v0=self.start / scale)
        order = np.argsort(-values)
        X = Y[:, order] * scale[:, None]
        self.start = X.sum(axis=1)  # a good start for the next r, which is close
        return r * values[order], X

    def count_negative(self, limit: int) -> int:
        """Count the negative eigenvalues of H at r_max: those of the Laplacian above 1 / r."""
        limit = min(limit, self.A.shape[0] - 2)
        count = min(8, limit)
        while True:
            values, _ = self.top(self.r_max, count)
            negative = int((values > 1.0).sum())
            if negative < count or count == limit:
                return max(negative, 1)
            count = min(2 * count, limit)

    def vectors(self, q: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the p-th eigenvector of H at zeta_p for p = 2 .. q; zeta_p increases with p."""
        n = self.A.shape[0]
        X, zeta = np.zeros((n, q - 1)), np.full(q - 1, self.r_max)
        if q == 1:
            return X, zeta
        r = self.r_max
        values, V = self.top(r, q)
        for p in range(q - 1, 0, -1):
            for _ in range(12):
                # Below 1 at r_max the eigenvalue never vanishes: not informative, taken at r_max as it is.
                if abs(values[p] - 1.0) < self.tol or values[p] < 1.0:
                    break
                r = self._next_r(V[:, p], r)
                values, V = self.top(r, p + 1)
            X[:, p - 1], zeta[p - 1] = V[:, p], r
        return X, zeta

    def _next_r(self, x: np.ndarray, r: float) -> float:
        """Return the smaller root of x' H_r x = 0, at which the eigenvalue is 0 to second order."""
        norm = x @ x
        a = x @ (self.A @ x) / norm
        b = self.degrees @ (x * x) / norm - 1.0
        root = (a - np.sqrt(max(a * a - 4.0 * b, 0.0))) / 2.0
        return float(np.clip(root, 1.0 + 1e-9, r))
