"""New rows against fitted context vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec import kernels
from softvec.core.threads import Workers, row_blocks
from softvec.normalizers.moments import class_moments
from softvec.operators import Operator, Runtime, Sum

Array = NDArray[Any]


def fold_in(
    P: Operator,
    Y: Array,
    labels: Array | None,
    beta: float,
    constraint: str,
    pool: Workers,
    *,
    N: Operator | None = None,
    item_weight: Array | None = None,
    n_epochs: int = 30,
    learning_rate: float = 0.5,
) -> Array:
    """Return the vectors that minimise each row's loss with Y frozen: the terms of P, and of N where given.

    A row's problem is convex in the ball and has one attraction ``(P - N) Y`` that never changes, so each
    block is brought to its end before the next is begun.
    """
    n, d = P.shape[0], Y.shape[1]
    k = 1 if labels is None else int(labels.max()) + 1
    mom = class_moments(Y, labels, item_weight, pool)
    mu, omega = mom.mu.astype(Y.dtype), mom.omega.astype(Y.dtype)
    runtime = Runtime(kernels.select(P.nnz * d + n_epochs * n * d * d), pool)
    A = P if N is None else Sum([P, N], [1.0, -1.0])
    rows, rho = A.plan(np.ascontiguousarray(Y), runtime), P.row_sums()
    terms = [(rho, mu)] if N is None else [(rho, mu), (N.row_sums(), -mu)]
    net = rho if N is None else rho - terms[1][0]
    X = np.empty((n, d), Y.dtype)
    center = mom.weight @ mom.mu / mom.weight.sum()
    move = runtime.kernels.sphere_step if constraint == "sphere" else runtime.kernels.ball_step

    def settle(lo: int, hi: int) -> None:
        x = X[lo:hi]
        G = np.empty_like(x)
        rows(lo, hi, G, x[:0])
        x[:] = G - (net[lo:hi, None] * center).astype(Y.dtype)
        norm = np.linalg.norm(x, axis=1, keepdims=True)
        x[:] = np.where(norm > 1e-6, x / np.maximum(norm, 1e-6), d**-0.5)
        V, log_z, r = np.empty_like(x), np.empty(hi - lo), np.empty((hi - lo, k))
        for epoch in range(n_epochs):
            H = np.stack([x @ omega[c] for c in range(k)])
            g = -G
            for weight, means in terms:
                runtime.kernels.mixture_term(x, H, means, mom.log_weight, weight[lo:hi], beta, V, log_z, r)
                g += V
            move(x, g, learning_rate * (1 - epoch / n_epochs), x[:0])

    pool.map(settle, row_blocks(n, max(256, min(4096, 65536 // d))))
    return X
