"""The exact sum, in blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from softvec import kernels
from softvec.core.machine import Machine
from softvec.core.threads import Buffers, row_blocks
from softvec.normalizers.base import Array, Estimate, Normalizer, check_weights

# 256 x 1024 float32 scores are 1 MB, about one core's share of cache; 128 x 512 to 512 x 2048 are as fast
_ROWS, _COLUMNS, _SPAN = 256, 1024, 65536
SCORES = 2_000_000  # per block of rows: 8 MB in float32
_PARTS = 8  # column gradients held at a time, one per block of rows


def exact_sums(X: Array, Y: Array, beta: float, log_weight: Array | None, pool: Machine) -> Estimate:
    """Return Z of each row of X over all rows of Y; each task is a block of X against a span of Y."""
    add_exponentials = kernels.select(len(X) * Y.size).add_exponentials
    shift = None if log_weight is None else (log_weight / beta).astype(Y.dtype)

    def span_sums(lo: int, hi: int, first: int, last: int) -> tuple[Array, Array]:
        top = np.full(hi - lo, -np.inf, X.dtype)
        total = np.zeros(hi - lo)
        scratch = np.empty((hi - lo) * min(_COLUMNS, last - first), X.dtype)
        for a in range(first, last, _COLUMNS):
            b = min(a + _COLUMNS, last)
            S = scratch[: (hi - lo) * (b - a)].reshape(hi - lo, b - a)
            np.matmul(X[lo:hi], Y[a:b].T, out=S)
            if shift is not None:
                S += shift[a:b]
            add_exponentials(S, beta, top, total)
        return top, total

    spans = row_blocks(len(Y), _SPAN)
    tasks = [(lo, hi, first, last) for lo, hi in row_blocks(len(X), _ROWS) for first, last in spans]
    parts = pool.map(span_sums, tasks)
    log_scale, value = np.empty(len(X)), np.empty(len(X))
    for block, (lo, hi) in enumerate(row_blocks(len(X), _ROWS)):
        mine = parts[block * len(spans) : (block + 1) * len(spans)]
        tops = np.stack([top for top, _ in mine]).astype(np.float64) * beta  # (spans, rows)
        log_scale[lo:hi] = tops.max(axis=0)
        value[lo:hi] = (np.stack([t for _, t in mine]) * np.exp(tops - log_scale[lo:hi])).sum(axis=0)
    return Estimate(log_scale, value, np.zeros(len(X)))


def exact_log_z(X: Array, Y: Array, weights: Array | None, beta: float, pool: Machine) -> Array:
    """Return the exact log Z of each row of X, float64; ``weights`` (m,) are a base measure.

    On a cluster, processes share the rows of Y, and all pass the same X.
    """
    own = []
    if len(Y):
        estimate = exact_sums(X, Y, beta, None if weights is None else np.log(weights), pool)
        own = [(estimate.log_scale, estimate.value)]
    parts = [part for parts in pool.gather(own) for part in parts]
    scales, values = (np.stack(column) for column in zip(*parts))
    top = scales.max(axis=0)
    return top + np.log((values * np.exp(scales - top)).sum(axis=0))


def exact_gradient(
    X: Array,
    Y: Array,
    rho: Array,
    weight: Array | None,
    beta: float,
    pool: Machine,
    *,
    columns: bool = True,
    buffers: Buffers | None = None,
) -> tuple[Array, Array, Array]:
    """Return the exact normaliser's gradient on X, log Z, and its gradient on Y, in O(n m d).

    With S = softmax of ``beta * X Y'``: ``rho S Y``, ``log Z`` and ``S' rho X``; the last is empty without
    ``columns``. Of dissimilarities, beta and rho are negative. Scores and exponentials have the precision of
    X, their sums double precision. ``buffers`` keep the blocks of each thread from one call to the next.
    """
    V, log_z = np.empty_like(X), np.empty(len(X))
    log_v = None if weight is None else np.log(np.maximum(weight, 1e-300)).astype(X.dtype)
    buffers = buffers or Buffers()  # reused: allocating large arrays repeatedly would fragment memory
    parts = np.empty((_PARTS if columns else 0, *Y.shape), X.dtype)  # each is as large as Y

    def block_gradient(part: int, lo: int, hi: int) -> None:
        S = buffers.get("S", (hi - lo, len(Y)), X.dtype)  # scores, then their exponentials
        np.matmul(X[lo:hi] * X.dtype.type(beta), Y.T, out=S)
        if log_v is not None:
            S += log_v
        top = S.max(axis=1)
        np.subtract(S, top[:, None], out=S)
        np.exp(S, out=S)
        Z = S.sum(axis=1, dtype=np.float64)
        log_z[lo:hi] = top + np.log(Z)
        scale = (rho[lo:hi] / Z).astype(X.dtype)[:, None]
        np.multiply(S @ Y, scale, out=V[lo:hi])
        if columns:
            np.matmul(S.T, X[lo:hi] * scale, out=parts[part])

    E = np.zeros(Y.shape if columns else (0, Y.shape[1]))
    blocks = row_blocks(len(X), max(16, min(256, SCORES // max(1, len(Y)))))
    for first in range(0, len(blocks), _PARTS):
        batch = blocks[first : first + _PARTS]
        pool.map(block_gradient, [(part, lo, hi) for part, (lo, hi) in enumerate(batch)])
        for part in parts[: len(batch)]:
            E += part
    return V, log_z, E.astype(Y.dtype)


@dataclass(eq=False, kw_only=True)
class Exact(Normalizer):
    """Sum over all items exactly: O(m d) per query, in blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from softvec.normalizers import Exact
    >>> Exact().fit(np.zeros((5, 2))).log_partition(np.ones((1, 2)))  # log 5
    array([1.60943791])
    """

    def fit(self, Y: ArrayLike, weights: ArrayLike | None = None) -> Self:
        """Keep the items; ``weights`` (m,) are an optional base measure v: Z = sum_a v_a exp(beta x.y_a)."""
        items = self._begin(Y)
        v = check_weights(weights, len(items))
        self._log_weight = None if v is None else np.log(v)
        return self

    def _estimate(self, X: Array, pool: Machine) -> Estimate:
        return exact_sums(X, self._items, float(self.beta), self._log_weight, pool)
