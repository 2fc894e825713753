"""Vectors that are nearly right brought to their end: every row solved for at once, a few times over.

With the others frozen, the best unit vector of a row is known in closed form (:mod:`softvec.fit.fold_in`).
If the start is good, as after a few edges changed, moving all rows most of the way there takes two rounds in
place of ten epochs. Going the whole way would swing to and fro on graphs of two alternating sides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.threads import Workers, row_blocks
from softvec.fit.fold_in import fold_in
from softvec.fit.settings import Settings
from softvec.operators import Operator

Array = NDArray[Any]
ROUNDS = 2  # measured by benchmarks/additions.py
STEP = 0.85


def can_refine(settings: Settings) -> bool:
    """Whether the rows of such a fit have a solution in closed form: unit vectors, one side, one class."""
    return (
        settings.n_clusters == 1
        and settings.constraint == "sphere"
        and settings.gradient == "row"
        and settings.normalizer == "mixture"
        and settings.regularization == 0
        and not isinstance(settings.init, tuple)
    )


def refine(
    P: Operator,
    X: Array,
    beta: float,
    pool: Workers,
    *,
    item_weight: Array | None = None,
    rounds: int = ROUNDS,
    step: float = STEP,
) -> Array:
    """Return unit vectors moved towards the minimum of each row's loss; rows without affinities stay put."""
    idle = np.asarray(P.row_sums()) <= 0
    for _ in range(rounds):
        best = fold_in(P, X, None, beta, "sphere", pool, item_weight=item_weight)

        def move(lo: int, hi: int, X: Array = X, best: Array = best) -> None:
            Z = best[lo:hi]
            Z *= step
            Z += (1 - step) * X[lo:hi]
            Z[idle[lo:hi]] = X[lo:hi][idle[lo:hi]]
            Z /= np.maximum(np.sqrt(np.einsum("ij,ij->i", Z, Z)), 1e-12)[:, None]

        pool.map(move, row_blocks(len(X), 4096))
        X = best
    return X
