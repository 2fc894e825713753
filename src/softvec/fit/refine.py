"""Refine nearly converged vectors by solving for every row at once.

With the others fixed, the best unit vector of a row has a closed form (:mod:`softvec.fit.fold_in`). From a
good start, as when a few edges have changed, two gradient epochs and one such round reach about the loss of
a new fit (benchmarks/additions.py). The round takes only most of the step: a full step would make the two
sides of a bipartite graph swap places.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.machine import Machine
from softvec.core.threads import row_blocks
from softvec.fit.fold_in import fold_in
from softvec.operators import Operator

Array = NDArray[Any]
EPOCHS, LEARNING_RATE = 2, 0.3  # before the round
_STEP = 0.85
_SOLVABLE = {
    "n_clusters": 1, "constraint": "sphere", "gradient": "row", "normalizer": "mixture", "regularization": 0
}  # fmt: skip


def can_refine(settings: Mapping[str, Any]) -> bool:
    """Whether the rows of a fit have a closed-form solution: unit vectors, one class, the row's own loss."""
    return all(settings[name] == value for name, value in _SOLVABLE.items())


def refine(
    P: Operator,
    X: Array,
    beta: float,
    pool: Machine,
    *,
    item_weight: Array | None = None,
) -> Array:
    """Return unit vectors moved towards the minimum of each row's loss; empty rows of P stay put."""
    idle = np.asarray(P.row_sums()) <= 0
    best = fold_in(P, X, None, beta, "sphere", pool, item_weight=item_weight)

    def move(lo: int, hi: int) -> None:
        Z = best[lo:hi]
        Z *= _STEP
        Z += (1 - _STEP) * X[lo:hi]
        Z[idle[lo:hi]] = X[lo:hi][idle[lo:hi]]
        Z /= np.maximum(np.sqrt(np.einsum("ij,ij->i", Z, Z)), 1e-12)[:, None]

    pool.map(move, row_blocks(len(X), 4096))
    return best
