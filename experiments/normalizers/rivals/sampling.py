"""Uniform sampling of items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.normalizers.rivals.cost import Cost
from softvec.core.checks import integer
from softvec.core.machine import Machine
from softvec.core.threads import row_blocks
from softvec.normalizers.base import Array, Estimate, Normalizer

_ROWS = 512


@dataclass(eq=False)
class Sampling(Normalizer):
    """Sum over ``n_samples`` items drawn once, without replacement, times m / n_samples.

    All queries share the sample, so the scores are one matrix product. Unbiased, with a standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from softvec.normalizers import Sampling
    >>> Sampling(2, random_state=0).fit(np.ones((4, 1))).log_partition([[0.0]])  # every term is 1
    array([1.38629436])
    """

    n_samples: int = 1000

    @property
    def cost(self) -> Cost:
        """Multiply-adds: the sampled dot products."""
        return Cost(0, self.n_samples * self.n_features_)

    def _fit(self, Y: Array, rng: np.random.Generator, pool: Machine) -> None:
        size = integer("n_samples", self.n_samples, most=len(Y), of="the number of items")
        self._sample = Y[np.sort(rng.choice(len(Y), size, replace=False))]

    def _estimate(self, X: Array, pool: Machine) -> Estimate:
        m, g = self.n_items_, len(self._sample)
        log_scale, value, error = np.empty(len(X)), np.empty(len(X)), np.empty(len(X))

        def estimate_rows(lo: int, hi: int) -> None:
            scores = float(self.beta) * (X[lo:hi] @ self._sample.T).astype(np.float64)  # (rows, g)
            log_scale[lo:hi] = scores.max(axis=1)
            terms = np.exp(scores - log_scale[lo:hi, None])
            value[lo:hi] = m * terms.mean(axis=1)
            deviation = terms.std(axis=1, ddof=1) if g > 1 else np.full(hi - lo, np.inf)
            error[lo:hi] = m * deviation * np.sqrt((1 - g / m) / g) if g < m else 0.0

        pool.map(estimate_rows, row_blocks(len(X), _ROWS))
        return Estimate(log_scale, value, error)
