"""Sampling with a quadratic kernel, drawn through a tree (Blanc and Rendle, 2018)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.normalizers.rivals.cost import Cost
from softvec.core.checks import integer, number
from softvec.core.machine import Machine
from softvec.core.threads import row_blocks
from softvec.normalizers.base import Array, Estimate, Normalizer

_ROWS = 16


@dataclass(eq=False)
class AdaptiveSampling(Normalizer):
    """Draw items with probability proportional to 1 + alpha (beta x.y)^2 and weight them by its inverse.

    A tree of second moments draws one item in O(d^2 log m). Leaves hold about d items, so that a leaf costs
    as much as a node and the tree takes about twice the memory of the items. Unbiased, with a standard error.

    Parameters
    ----------
    n_samples : int, default=50
        Draws per query, with replacement.
    alpha : float, default=100
        Weight of the square; 100 is the value of Blanc and Rendle.
    """

    n_samples: int = 50
    alpha: float = 100.0

    @property
    def cost(self) -> Cost:
        """Multiply-adds: second moments once; per draw one path and one leaf."""
        d = self.n_features_
        depth = max(1, int(np.ceil(np.log2(len(self._bounds[0]) + 1))))
        return Cost(self.n_items_ * d * d // 2, self.n_samples * (depth * d * d // 2 + self._leaf * d))

    def _fit(self, Y: Array, rng: np.random.Generator, pool: Machine) -> None:
        integer("n_samples", self.n_samples)
        number("alpha", self.alpha, above=0)
        m, d = Y.shape
        leaves = max(1, -(-m // max(d, 16)))
        nodes = 2 * leaves - 1
        # leaves of a heap: the last `leaves` nodes; those of the deepest level come first in item order
        depth = int(np.floor(np.log2(nodes)))
        deepest = np.arange(2**depth - 1, nodes)
        upper = np.arange(leaves - 1, 2**depth - 1)
        in_order = np.concatenate([deepest, upper])
        cuts = np.linspace(0, m, leaves + 1).astype(np.int64)
        bounds = np.zeros((2, nodes), np.int64)  # first item and number of items of each node
        bounds[0, in_order], bounds[1, in_order] = cuts[:-1], np.diff(cuts)
        rows, columns = np.triu_indices(d)
        double = np.where(rows == columns, 1.0, 2.0)

        def moment(lo: int, hi: int) -> Array:
            D = Y[lo:hi]
            return ((D.T @ D)[rows, columns] * double).astype(Y.dtype)

        packed = np.zeros((nodes, len(rows)), Y.dtype)
        tasks = [(v,) for v in in_order]

        def leaf(v: int) -> None:
            packed[v] = moment(bounds[0, v], bounds[0, v] + bounds[1, v])

        pool.map(leaf, tasks)
        for v in range(leaves - 2, -1, -1):
            np.add(packed[2 * v + 1], packed[2 * v + 2], out=packed[v])
            bounds[0, v] = bounds[0, 2 * v + 1]
            bounds[1, v] = bounds[1, 2 * v + 1] + bounds[1, 2 * v + 2]
        self._root, self._moments = packed[0].copy(), packed[1::2].copy()
        self._bounds, self._leaf = bounds, int(np.diff(cuts).max())
        self._seed = int(rng.integers(2**63))

    def _estimate(self, X: Array, pool: Machine) -> Estimate:
        from experiments.normalizers.rivals.tree import draw_rows

        log_scale, value, error = np.empty(len(X)), np.empty(len(X)), np.empty(len(X))
        seeds = np.random.default_rng(self._seed).integers(2**64, size=len(X), dtype=np.uint64)
        alpha, g = float(self.alpha), self.n_samples

        def estimate_rows(lo: int, hi: int) -> None:
            logs, scores = np.empty((hi - lo, g)), np.empty((hi - lo, g))
            scaled = X[lo:hi] * X.dtype.type(self.beta)
            draw_rows(
                scaled, self._root, self._items, self._moments, self._bounds, self._leaf, alpha,
                seeds[lo:hi], logs, scores,
            )  # fmt: skip
            terms = logs + scores
            log_scale[lo:hi] = terms.max(axis=1)
            weights = np.exp(terms - log_scale[lo:hi, None])
            value[lo:hi] = weights.mean(axis=1)
            error[lo:hi] = weights.std(axis=1, ddof=1) / np.sqrt(g) if g > 1 else np.inf

        pool.map(estimate_rows, row_blocks(len(X), _ROWS))
        return Estimate(log_scale, value, error)
