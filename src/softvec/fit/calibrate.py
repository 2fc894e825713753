"""Probabilities from fitted vectors: a softmax with three parameters, fitted on a sample of rows.

The probability that a step of the walk goes from i to j is

    p_ij = s_j^c exp(x_i.(w * x_j)) / sum_a s_a^c exp(x_i.(w * x_a)),    w_k = b + a g_k,

where s are the sizes (degrees) and g_k measures how far the ends of an edge agree in coordinate k: their
correlation over edges (negative if unlike nodes are linked), divided by the coordinate's variance. a, b and c
minimise the cross-entropy, which is convex in them. a = b = 0, c = 1 is plain popularity, so the gain over
popularity is never negative on the sampled rows. These are the edges that the vectors were fitted to: the
gain says how closely the vectors follow them, and overstates what is known about others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.core.machine import ALONE

Array = NDArray[Any]
_COLUMNS = 4096  # vectors of neighbours copied at a time
_ROWS, _SCORES = (30, 200), 100_000  # fewest and most rows; about so many scores
# Items in the sum: all if there are at most _ALL, else near ones, the largest, and a sample of the others.
_ALL, _NEAR, _LARGEST, _OTHERS = 5000, 3000, 1000, 2000
_AGREEMENT_ROWS = 1000
_POPULARITY = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Calibration:
    """Fitted parameters, and the cross-entropy in nats of the model and of popularity alone.

    ``weights`` (d,) are the weights of the coordinates, ``popularity`` is the exponent of the size.
    """

    weights: tuple[float, ...]
    popularity: float
    cross_entropy: float
    popularity_cross_entropy: float
    n_rows: int

    @property
    def nats_gained(self) -> float:
        """Cross-entropy of popularity minus that of the vectors."""
        return self.popularity_cross_entropy - self.cross_entropy


def calibrate(X: Array, A: sparse.csr_array, sizes: Array, seed: int) -> Calibration | None:
    """Fit the softmax to the rows of a non-negative matrix; None if it has no entries."""
    rng = np.random.default_rng([seed, 91])
    filled = np.flatnonzero(np.diff(A.indptr))
    if not len(filled):
        return None
    count = min(len(filled), max(_ROWS[0], min(_ROWS[1], _SCORES // len(X))))
    rows = filled[np.sort(rng.choice(len(filled), count, replace=False))]
    P = _walk(A, rows)
    log_size = _log_sizes(sizes, X.shape[1])
    agreement = _agreement(X, A)
    x = X[rows].astype(np.float64)
    pulled, sizes_pulled = _pulled(P, (X, log_size))
    items, log_weight = _items(A, rows, P.indices, sizes, rng)
    Y = X[items]
    features = np.stack(
        [
            *(side.astype(X.dtype) @ Y.T for side in (x, x * agreement)),
            np.broadcast_to(log_size[items], (count, len(items))),
        ]
    ).astype(np.float64)  # (3, rows, items)
    pull = np.array([np.sum(x * pulled), np.sum(x * agreement * pulled), sizes_pulled.sum()]) / count
    best, losses = _newton(features, pull, log_weight)
    weights = tuple((best[0] + best[1] * agreement).tolist())
    return Calibration(weights, float(best[2]), losses[0], losses[1], count)


def _items(
    A: sparse.csr_array, rows: Array, linked: Array, sizes: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return the items that the sums of the sampled rows run over, and the logarithm of their weights.

    Items linked to a row, or near it, are always included: they make up much of the sum, and a neighbour
    that is missing from it could only be fitted by infinite parameters.
    """
    n = A.shape[0]
    if n <= _ALL:
        return np.arange(n), np.zeros(n)
    near = np.unique(linked).astype(np.int64)
    neighbours = np.diff(A.indptr)[near]
    order = np.argsort(neighbours, kind="stable")  # few neighbours first: those of hubs are near everything
    around = A[np.sort(near[order[np.cumsum(neighbours[order]) <= _NEAR]])].indices
    largest = np.argsort(-sizes, kind="stable")[:_LARGEST]  # the first ones among equals
    sure = np.unique(np.concatenate([linked, rows, around, largest])).astype(np.int64)
    places = np.arange(n - len(sure))
    if len(places) > _OTHERS:
        places = np.sort(rng.choice(len(places), _OTHERS, replace=False))
    drawn = places + np.searchsorted(sure - np.arange(len(sure)), places, side="right")  # of the others
    weight = np.full(len(drawn), np.log(max(n - len(sure), 1) / max(len(drawn), 1)))
    items, weights = np.concatenate([sure, drawn]), np.concatenate([np.zeros(len(sure)), weight])
    ascending = np.argsort(items)
    return items[ascending], weights[ascending]


def _log_sizes(sizes: Array, d: int) -> Array:
    """Return the centred logarithms of sizes; a size of 0 counts as the smallest positive one."""
    least = sizes[sizes > 0].min(initial=np.inf)
    log_size = np.log(np.maximum(sizes, least))
    return log_size - ALONE.mean(log_size, d)


def _pulled(P: sparse.csr_array, arrays: tuple[Array, ...]) -> list[Array]:
    """Return ``P @ array`` for each array, a block of the non-empty columns at a time."""
    near, places = np.unique(P.indices, return_inverse=True)
    P = sparse.csr_array((P.data, places.astype(np.int32), P.indptr), shape=(P.shape[0], len(near)))
    totals = [np.zeros((P.shape[0], *array.shape[1:])) for array in arrays]
    for lo in range(0, len(near), _COLUMNS):
        part = P[:, lo : lo + _COLUMNS]
        for total, array in zip(totals, arrays):
            total += part @ array[near[lo : lo + _COLUMNS]]  # in double precision
    return totals


def _walk(A: sparse.csr_array, rows: Array) -> sparse.csr_array:
    """Return non-empty rows of A divided by their sums, in double precision."""
    part = sparse.csr_array(A[rows], dtype=np.float64)
    if not len(rows):
        return part
    scale = 1 / np.maximum.reduceat(part.data, part.indptr[:-1])  # sums of huge weights would overflow
    part.data *= np.repeat(scale, np.diff(part.indptr))
    part.data /= np.repeat(np.add.reduceat(part.data, part.indptr[:-1]), np.diff(part.indptr))
    return part


def _agreement(X: Array, A: sparse.csr_array) -> Array:
    """Return, for each coordinate, its correlation over edges divided by its variance, (d,)."""
    filled = np.flatnonzero(np.diff(A.indptr))
    rows = filled[:: max(1, len(filled) // _AGREEMENT_ROWS)]
    center = ALONE.mean(X, X.shape[1])
    x, y = X[rows] - center, _pulled(_walk(A, rows), (X,))[0] - center
    variance = np.maximum(np.mean(x * x, axis=0), 1e-12)
    return np.mean(x * y, axis=0) / variance**2 * np.mean(variance)


def _loss(point: Array, features: Array, pull: Array, log_weight: Array) -> tuple[float, Array, Array]:
    """Return cross-entropy, gradient and Hessian at (b, a, c); features are (3, rows, items)."""
    scores = np.tensordot(point, features, axes=1)  # (rows, items)
    scores += log_weight
    top = scores.max(axis=1, keepdims=True)
    weights = np.exp(np.subtract(scores, top, out=scores), out=scores)
    total = weights.sum(axis=1, keepdims=True)
    weights /= total
    count = len(weights)
    value = float(np.mean(top[:, 0] + np.log(total[:, 0])) - point @ pull)
    weighted = features * weights
    means = weighted.sum(axis=2)  # (3, rows)
    flat = features.reshape(len(features), -1)
    second = weighted.reshape(len(features), -1) @ flat.T / count
    return value, means.mean(axis=1) - pull, second - means @ means.T / count


def _newton(features: Array, pull: Array, log_weight: Array) -> tuple[Array, tuple[float, float]]:
    """Minimise the cross-entropy by damped Newton steps from popularity.

    Returns the parameters, and the cross-entropy with them and of popularity.
    """
    point = _POPULARITY
    value, gradient, hessian = _loss(point, features, pull, log_weight)
    popularity = value
    for _ in range(20):
        step = np.linalg.solve(hessian + 1e-9 * np.eye(3), gradient)
        scale = 1.0
        while scale > 1e-4:
            trial = point - scale * step
            new = _loss(trial, features, pull, log_weight)
            if np.isfinite(new[0]) and new[0] < value:
                break
            scale /= 2
        else:
            break
        done = value - new[0] < 1e-5
        point, (value, gradient, hessian) = trial, new
        if done:
            break
    return point, (value, popularity)
