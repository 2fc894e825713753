"""Random Fourier features of the Gaussian kernel (Rahimi and Recht, 2007)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.normalizers.rivals.cost import Cost
from softvec.core.checks import integer
from softvec.core.machine import Machine
from softvec.core.threads import row_blocks
from softvec.normalizers.base import Array, Estimate, Normalizer

_ROWS = 1024


def random_directions(size: int, d: int, orthogonal: bool, rng: np.random.Generator) -> Array:
    """Return ``size`` standard normal vectors (size, d), in orthogonal groups of d if asked."""
    W = rng.standard_normal((size, d))
    if orthogonal:
        lengths = np.linalg.norm(rng.standard_normal((size, d)), axis=1)
        for lo, hi in row_blocks(size, d):
            Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
            W[lo:hi] = Q[: hi - lo]
        W *= lengths[:, None]  # the norms of normal vectors, so that each direction is normal by itself
    return W


@dataclass(eq=False)
class RandomFeatures(Normalizer):
    """Linearise ``exp(-|x - y|^2 / 2)`` with cosines and sines of random projections.

    ``Z = exp(|x|^2/2) phi(x).sum_a exp(|y_a|^2/2) phi(y_a)``, norms scaled by sqrt(beta). Unbiased; an
    estimate can be negative.

    Parameters
    ----------
    n_features : int, default=1000
        Random projections (a cosine and a sine each).
    orthogonal : bool, default=False
        Draw projections in orthogonal groups.
    """

    n_features: int = 1000
    orthogonal: bool = False

    @property
    def cost(self) -> Cost:
        """Multiply-adds: one projection and two features."""
        row = self.n_features * (self.n_features_ + 2)
        return Cost(self.n_items_ * row, row)

    def _fit(self, Y: Array, rng: np.random.Generator, pool: Machine) -> None:
        size = integer("n_features", self.n_features)
        W = random_directions(size, Y.shape[1], self.orthogonal, rng)
        self._directions = (np.sqrt(float(self.beta)) * W).T.astype(Y.dtype)  # (d, D)
        half = 0.5 * float(self.beta) * np.einsum("ij,ij->i", Y, Y, dtype=np.float64)
        self._log_scale = float(half.max())
        weights = np.exp(half - self._log_scale)
        span = max(_ROWS, -(-len(Y) // 32))

        def sum_features(lo: int, hi: int) -> Array:
            total = np.zeros((2, size))
            for a in range(lo, hi, _ROWS):
                b = min(a + _ROWS, hi)
                angles = Y[a:b] @ self._directions
                w = weights[a:b].astype(Y.dtype)
                total[0] += w @ np.cos(angles)
                total[1] += w @ np.sin(angles)
            return total

        self._sums = np.sum(pool.map(sum_features, row_blocks(len(Y), span)), axis=0)  # (2, D)

    def _estimate(self, X: Array, pool: Machine) -> Estimate:
        value, error = np.empty(len(X)), np.empty(len(X))
        cosines, sines = self._sums

        def estimate_rows(lo: int, hi: int) -> None:
            angles = (X[lo:hi] @ self._directions).astype(np.float64)
            terms = np.cos(angles) * cosines + np.sin(angles) * sines  # (rows, D), one per projection
            value[lo:hi] = terms.mean(axis=1)
            error[lo:hi] = terms.std(axis=1) / np.sqrt(len(cosines))

        pool.map(estimate_rows, row_blocks(len(X), _ROWS))
        half = 0.5 * float(self.beta) * np.einsum("ij,ij->i", X, X, dtype=np.float64)
        # orthogonal projections are dependent, so their spread does not measure the error
        return Estimate(half + self._log_scale, value, None if self.orthogonal else error)
