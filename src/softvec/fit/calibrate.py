"""Probabilities from finished vectors: a softmax with two numbers, fitted on a sample of rows.

The probability that a step of the walk goes from i to j is

    p_ij = s_j^c exp(b x_i.x_j) / sum_a s_a^c exp(b x_i.x_a),

s the sizes (degrees). b and c minimise the cross-entropy, which is convex in both. b = 0, c = 1 is plain
popularity, so what is gained over it is never negative on the rows that were used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[Any]
_ROWS, _ITEMS, _SCORES = 200, 50_000, 1_000_000


@dataclass(frozen=True)
class Calibration:
    """The two numbers, and the cross-entropy in nats with them and by popularity alone."""

    beta: float
    popularity: float
    cross_entropy: float
    popularity_cross_entropy: float
    n_rows: int

    @property
    def nats_gained(self) -> float:
        """Cross-entropy of popularity less that of the vectors."""
        return self.popularity_cross_entropy - self.cross_entropy


def calibrate(X: Array, A: sparse.csr_array, sizes: Array, seed: int) -> Calibration | None:
    """Fit b and c to the rows of a non-negative matrix; None where no row has an entry."""
    rng = np.random.default_rng([seed, 91])
    filled = np.flatnonzero(np.diff(A.indptr))
    if len(filled) == 0:
        return None
    n = len(X)
    items = np.arange(n) if n <= _ITEMS else np.sort(rng.choice(n, _ITEMS, replace=False))
    count = min(len(filled), _ROWS, max(20, _SCORES // len(items)))
    rows = np.sort(rng.choice(filled, count, replace=False))
    P = sparse.csr_array(A[rows], dtype=np.float64)
    P = sparse.csr_array(sparse.diags_array(1 / P.sum(axis=1)) @ P)
    log_size = np.log(np.maximum(sizes, sizes[sizes > 0].min()))
    log_size -= log_size.mean()
    x = X[rows].astype(np.float64)
    pull = np.array([np.einsum("ij,ij->", x, P @ X), (P @ log_size).sum()]) / count
    cosines = (X[rows] @ X[items].T).astype(np.float64)
    features = np.stack([cosines, np.broadcast_to(log_size[items], cosines.shape)])  # (2, rows, items)
    offset = np.log(n / len(items))
    best = _newton(features, pull, offset)
    gained = [_loss(point, features, pull, offset)[0] for point in (best, np.array([0.0, 1.0]))]
    if gained[0] > gained[1]:  # rounding, where the vectors say nothing
        best, gained = np.array([0.0, 1.0]), [gained[1], gained[1]]
    return Calibration(float(best[0]), float(best[1]), gained[0], gained[1], count)


def _loss(point: Array, features: Array, pull: Array, offset: float) -> tuple[float, Array, Array]:
    """Return cross-entropy, gradient and Hessian at (b, c); features are (2, rows, items)."""
    scores = np.tensordot(point, features, axes=1)
    top = scores.max(axis=1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(axis=1, keepdims=True)
    weights /= total
    value = float(np.mean(top[:, 0] + np.log(total[:, 0])) + offset - point @ pull)
    means = np.einsum("fri,ri->fr", features, weights)
    second = np.einsum("fri,gri,ri->fg", features, features, weights, optimize=True) / len(scores)
    return value, means.mean(axis=1) - pull, second - means @ means.T / len(scores)


def _newton(features: Array, pull: Array, offset: float) -> Array:
    """Minimise a convex function of two numbers by damped Newton steps from popularity."""
    point = np.array([0.0, 1.0])
    value, gradient, hessian = _loss(point, features, pull, offset)
    for _ in range(20):
        step = np.linalg.solve(hessian + 1e-9 * np.eye(2), gradient)
        scale = 1.0
        while scale > 1e-4:
            trial = point - scale * step
            new = _loss(trial, features, pull, offset)
            if np.isfinite(new[0]) and new[0] < value:
                break
            scale /= 2
        else:
            break
        done = value - new[0] < 1e-6
        point, (value, gradient, hessian) = trial, new
        if done:
            break
    return point
