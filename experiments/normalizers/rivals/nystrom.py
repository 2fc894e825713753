"""Low-rank approximation of the kernel matrix (Drineas and Mahoney, 2005)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.normalizers.rivals.cost import Cost
from softvec.core.checks import integer
from softvec.core.errors import InputError
from softvec.core.machine import Machine
from softvec.core.threads import row_blocks
from softvec.normalizers.base import Array, Estimate, Normalizer

_ROWS = 1024


@dataclass(eq=False)
class Nystrom(Normalizer):
    """Approximate ``Q = exp(-|x - y|^2 / 2)`` by its columns at ``n_landmarks`` items.

    ``Z = exp(|x|^2/2) q(x)' Q_ss^+ sum_a q(y_a) exp(|y_a|^2/2)``, norms scaled by sqrt(beta); exact at the
    landmarks themselves. An estimate can be negative.

    Parameters
    ----------
    n_landmarks : int, default=50
        Columns of Q.
    landmarks : {"uniform", "kmeans"}, default="uniform"
        Random items, or k-means centres (more accurate, slower).
    """

    n_landmarks: int = 50
    landmarks: str = "uniform"

    @property
    def cost(self) -> Cost:
        """Multiply-adds: one dot product per landmark."""
        g, d = self.n_landmarks, self.n_features_
        return Cost(self.n_items_ * g * (d + 1) + g**3, g * (d + 1))

    def _fit(self, Y: Array, rng: np.random.Generator, pool: Machine) -> None:
        g = integer("n_landmarks", self.n_landmarks, most=len(Y), of="the number of items")
        if self.landmarks == "uniform":
            self._landmarks = Y[np.sort(rng.choice(len(Y), g, replace=False))]
        elif self.landmarks == "kmeans":
            self._landmarks = _means(Y, g, rng, pool)
        else:
            raise InputError(f"landmarks is {self.landmarks!r}; pass 'uniform' or 'kmeans'")
        half = 0.5 * float(self.beta) * np.einsum("ij,ij->i", Y, Y, dtype=np.float64)
        self._log_scale = float(half.max())
        weights = np.exp(half - self._log_scale)
        span = max(_ROWS, -(-len(Y) // 32))

        def sum_kernel(lo: int, hi: int) -> Array:
            total = np.zeros(len(self._landmarks))
            for a in range(lo, hi, _ROWS):
                b = min(a + _ROWS, hi)
                total += weights[a:b] @ self._kernel(Y[a:b])
            return total

        sums = np.sum(pool.map(sum_kernel, row_blocks(len(Y), span)), axis=0)
        # eigenvalues below the rounding error of the data are noise, which the inverse would amplify
        cutoff = len(self._landmarks) * float(np.finfo(Y.dtype).eps)
        self._weights = np.linalg.pinv(self._kernel(self._landmarks), rcond=cutoff, hermitian=True) @ sums

    def _kernel(self, A: Array) -> Array:
        """Return exp(-beta |a - s|^2 / 2) for rows a of A and landmarks s, float64."""
        S = self._landmarks
        squares = np.einsum("ij,ij->i", A, A, dtype=np.float64)[:, None] + np.einsum(
            "ij,ij->i", S, S, dtype=np.float64
        )
        cross = A.astype(np.float64) @ S.T.astype(np.float64)
        return np.exp(-0.5 * float(self.beta) * np.maximum(squares - 2 * cross, 0.0))

    def _estimate(self, X: Array, pool: Machine) -> Estimate:
        value = np.empty(len(X))

        def estimate_rows(lo: int, hi: int) -> None:
            value[lo:hi] = self._kernel(X[lo:hi]) @ self._weights

        pool.map(estimate_rows, row_blocks(len(X), _ROWS))
        half = 0.5 * float(self.beta) * np.einsum("ij,ij->i", X, X, dtype=np.float64)
        return Estimate(half + self._log_scale, value)


def _means(Y: Array, k: int, rng: np.random.Generator, pool: Machine) -> Array:
    """Return the means of k-means classes, as landmarks."""
    from softvec.normalizers.clusters import kmeans

    classes = kmeans(Y, k, rng, pool, sample=max(16384, 256 * k))
    order = np.argsort(classes, kind="stable")
    counts = np.bincount(classes, minlength=k)
    starts = (np.cumsum(counts) - counts)[counts > 0]
    sums = np.add.reduceat(Y[order], starts, axis=0, dtype=np.float64)
    return (sums / counts[counts > 0, None]).astype(Y.dtype)
