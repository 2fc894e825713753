"""Positive random features (Choromanski et al., 2021)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.normalizers.rivals.cost import Cost
from experiments.normalizers.rivals.random_features import random_directions
from softvec.core.checks import integer
from softvec.core.machine import Machine
from softvec.core.threads import row_blocks
from softvec.normalizers.base import Array, Estimate, Normalizer

_ROWS = 1024


@dataclass(eq=False)
class PositiveRandomFeatures(Normalizer):
    """Write exp(x.y) as the mean over normal w of ``exp(w.x - |x|^2/2) exp(w.y - |y|^2/2)``.

    Sums over items are kept in log space, one per feature. Unbiased and always positive.

    Parameters
    ----------
    n_features : int, default=1000
        Random features.
    orthogonal : bool, default=False
        Draw directions in orthogonal groups (FAVOR+).
    symmetric : bool, default=False
        Use each direction with both signs (the paper's hyperbolic features), n_features / 2 directions.
    """

    n_features: int = 1000
    orthogonal: bool = False
    symmetric: bool = False

    @property
    def cost(self) -> Cost:
        """Multiply-adds: one projection per feature."""
        row = self.n_features * (self.n_features_ + 1)
        return Cost(self.n_items_ * row, row)

    def _fit(self, Y: Array, rng: np.random.Generator, pool: Machine) -> None:
        size = integer("n_features", self.n_features)
        if self.symmetric:
            half_size = -(-size // 2)
            W = random_directions(half_size, Y.shape[1], self.orthogonal, rng)
            W = np.concatenate([W, -W])[:size]
        else:
            W = random_directions(size, Y.shape[1], self.orthogonal, rng)
        self._directions = (np.sqrt(float(self.beta)) * W).T.astype(Y.dtype)  # (d, D)
        half = 0.5 * float(self.beta) * np.einsum("ij,ij->i", Y, Y, dtype=np.float64)
        span = max(_ROWS, -(-len(Y) // 32))

        def sum_logs(lo: int, hi: int) -> tuple[Array, Array]:
            top, total = np.full(size, -np.inf), np.zeros(size)
            for a in range(lo, hi, _ROWS):
                b = min(a + _ROWS, hi)
                logs = Y[a:b] @ self._directions - half[a:b, None].astype(Y.dtype)
                new = np.maximum(top, logs.max(axis=0))
                total = total * np.exp(top - new) + np.exp(logs - new.astype(Y.dtype)).sum(axis=0)
                top = new
            return top, total

        parts = pool.map(sum_logs, row_blocks(len(Y), span))
        tops = np.stack([top for top, _ in parts])
        top = tops.max(axis=0)
        self._logs = top + np.log((np.exp(tops - top) * np.stack([t for _, t in parts])).sum(axis=0))

    def _estimate(self, X: Array, pool: Machine) -> Estimate:
        log_scale, value, error = np.empty(len(X)), np.empty(len(X)), np.empty(len(X))
        size = len(self._logs)

        def estimate_rows(lo: int, hi: int) -> None:
            logs = (X[lo:hi] @ self._directions).astype(np.float64) + self._logs
            log_scale[lo:hi] = logs.max(axis=1)
            terms = np.exp(logs - log_scale[lo:hi, None])
            value[lo:hi] = terms.mean(axis=1)
            error[lo:hi] = terms.std(axis=1) / np.sqrt(size)

        pool.map(estimate_rows, row_blocks(len(X), _ROWS))
        log_scale -= 0.5 * float(self.beta) * np.einsum("ij,ij->i", X, X, dtype=np.float64)
        dependent = self.orthogonal or self.symmetric
        return Estimate(log_scale, value, None if dependent else error)
