"""New rows against fitted context vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec import kernels
from softvec.core.threads import Workers, row_blocks
from softvec.fit.moments import add_sums, block_sums, moments
from softvec.operators import Operator, Runtime

Array = NDArray[Any]


def fold_in(
    P: Operator,
    Y: Array,
    labels: Array | None,
    beta: float,
    constraint: str,
    pool: Workers,
    n_epochs: int = 30,
    learning_rate: float = 0.5,
) -> Array:
    """Return the vectors that minimise each row's cross-entropy with Y frozen.

    A row's problem is convex in the ball and has one attraction ``P Y`` that never changes, so each block
    is brought to its end before the next is begun.
    """
    n, d = P.shape[0], Y.shape[1]
    k = 1 if labels is None else int(labels.max()) + 1
    sums = pool.fold(
        lambda lo, hi: block_sums(Y[lo:hi], None if labels is None else labels[lo:hi], k),
        row_blocks(len(Y), 4096),
        add_sums,
    )
    mom = moments(sums)
    mu, omega = mom.mu.astype(Y.dtype), mom.omega.astype(Y.dtype)
    runtime = Runtime(kernels.select(P.nnz * d + n_epochs * n * d * d), pool)
    rows, rho = P.plan(np.ascontiguousarray(Y), runtime), P.row_sums()
    X = np.empty((n, d), Y.dtype)
    center = mom.weight @ mom.mu / mom.weight.sum()
    move = runtime.kernels.sphere_step if constraint == "sphere" else runtime.kernels.ball_step

    def one(lo: int, hi: int) -> None:
        x = X[lo:hi]
        G = np.empty_like(x)
        rows(lo, hi, G, x[:0])
        x[:] = G - (rho[lo:hi, None] * center).astype(Y.dtype)
        norm = np.linalg.norm(x, axis=1, keepdims=True)
        x[:] = np.where(norm > 1e-6, x / np.maximum(norm, 1e-6), d**-0.5)
        V, log_z, r = np.empty_like(x), np.empty(hi - lo), np.empty((hi - lo, k))
        for epoch in range(n_epochs):
            H = np.stack([x @ omega[c] for c in range(k)])
            runtime.kernels.mixture_term(x, H, mu, mom.log_weight, rho[lo:hi], beta, V, log_z, r)
            move(x, V - G, learning_rate * (1 - epoch / n_epochs), x[:0])

    pool.map(one, row_blocks(n, max(256, min(4096, 65536 // d))))
    return X
