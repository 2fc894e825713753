"""Vectors of rows, given fitted context vectors: of new rows, or of all rows at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec import kernels
from softvec.core.machine import Machine
from softvec.core.scratch import empty
from softvec.core.threads import row_blocks
from softvec.normalizers.moments import class_moments
from softvec.operators import Operator, Runtime, Sum

Array = NDArray[Any]
_BLOCK = 1024
_EPOCHS, _LEARNING_RATE = 30, 0.5
_STEPS = 30  # most Newton steps; two or three suffice
_SHARE = 0.85  # of the step that a round takes
_CLOSE = 1e-3  # tolerance on the length; the final normalisation corrects the rest


@dataclass(frozen=True)
class Fixed:
    """Fitted context vectors Y, and the softmax over the first ``n_context`` of them; default: all."""

    Y: Array
    beta: float
    constraint: str = "sphere"
    classes: Array | None = None
    item_weight: Array | None = None
    n_context: int | None = None


def fold_in(P: Operator, fixed: Fixed, pool: Machine, N: Operator | None = None) -> Array:
    """Return the vectors that minimise each row's loss, with its terms of P and N, for a fixed Y.

    The attraction ``(P - N) Y`` of a row is constant, so each block is solved completely before the next. On
    the sphere with one class the solution is in closed form (:func:`on_sphere`), else it takes 30 gradient
    steps.
    """
    Y, beta = fixed.Y, fixed.beta
    n, d = P.shape[0], Y.shape[1]
    k = 1 if fixed.classes is None else int(fixed.classes.max()) + 1
    mom = class_moments(Y[: fixed.n_context], fixed.classes, fixed.item_weight, pool)
    mu, omega = mom.mu.astype(Y.dtype), mom.omega.astype(Y.dtype)
    runtime = Runtime(kernels.select(P.nnz * d + _EPOCHS * n * d * d), pool)
    A = P if N is None else Sum([P, N], [1.0, -1.0])
    rows, rho = A.plan(runtime)(runtime.copied(np.ascontiguousarray(Y))), P.row_sums()
    terms = [(rho, mu)] if N is None else [(rho, mu), (N.row_sums(), -mu)]
    net = rho if N is None else rho - terms[1][0]
    X = empty((n, d), Y.dtype)
    if k == 1 and N is None and fixed.constraint == "sphere":
        solve = on_sphere(mom.mu[0], mom.omega[0], beta, Y.dtype)

        def solve_block(lo: int, hi: int) -> None:
            G = np.empty((hi - lo, d), Y.dtype)
            rows(lo, hi, G, X[:0])
            X[lo:hi] = solve(G, rho[lo:hi])

        pool.map(solve_block, row_blocks(n, _BLOCK))
        return X
    center = mom.weight @ mom.mu / mom.weight.sum()
    move = runtime.kernels.sphere_step if fixed.constraint == "sphere" else runtime.kernels.ball_step

    def descend(lo: int, hi: int) -> None:
        x = X[lo:hi]
        G = np.empty_like(x)
        rows(lo, hi, G, x[:0])
        x[:] = G - (net[lo:hi, None] * center).astype(Y.dtype)
        norm = np.linalg.norm(x, axis=1, keepdims=True)
        x[:] = np.where(norm > 1e-6, x / np.maximum(norm, 1e-6), d**-0.5)
        V, log_z, r = np.empty_like(x), np.empty(hi - lo), np.empty((hi - lo, k))
        for epoch in range(_EPOCHS):
            H = np.stack([x @ omega[c] for c in range(k)])
            g = -G
            for weight, means in terms:
                runtime.kernels.mixture_term(x, H, means, mom.log_weight, weight[lo:hi], beta, V, log_z, r)
                g += V
            move(x, g, _LEARNING_RATE * (1 - epoch / _EPOCHS), x[:0])

    pool.map(descend, row_blocks(n, max(256, min(4096, 65536 // d))))
    return X


def refine(
    P: Operator,
    X: Array,
    beta: float,
    pool: Machine,
    *,
    item_weight: Array | None = None,
) -> Array:
    """Return nearly converged unit vectors, moved towards the minimum of each row's loss.

    From a good start, as when a few edges have changed, two gradient epochs and one such round reach about
    the loss of a new fit (benchmarks/additions.py). The round takes only most of the step: a full step would
    make the two sides of a bipartite graph swap places. Empty rows of P stay put.
    """
    idle = np.asarray(P.row_sums()) <= 0
    best = fold_in(P, Fixed(X, beta, item_weight=item_weight), pool)

    def move(lo: int, hi: int) -> None:
        Z = best[lo:hi]
        Z *= _SHARE
        Z += (1 - _SHARE) * X[lo:hi]
        Z[idle[lo:hi]] = X[lo:hi][idle[lo:hi]]
        Z /= np.maximum(np.sqrt(np.einsum("ij,ij->i", Z, Z)), 1e-12)[:, None]

    pool.map(move, row_blocks(len(X), 4096))
    return best


def on_sphere(mu: Array, omega: Array, beta: float, dtype: Any) -> Callable[[Array, Array], Array]:
    """Return a function that minimises the rows' losses over unit vectors, given attractions and row sums.

    Up to constants the loss of Eq. main is beta times ``-b.x + x'Ax / 2`` with b = g - rho mu and
    A = rho beta omega. Its minimum on the sphere is x = (A + s)^-1 b, for the unique shift s > -min eig(A)
    with |x| = 1. Newton's method on 1 / |x| finds s from below, where it never overshoots.
    """
    spread, axes = np.linalg.eigh(omega)
    spread = (beta * np.maximum(spread, 0)).astype(dtype)  # rising
    axes, mean = axes.astype(dtype), mu.astype(dtype)
    tiny, close = np.finfo(dtype).tiny ** 0.5, 8 * np.finfo(dtype).eps

    def solve(G: Array, rho: Array) -> Array:
        row_sum = rho.astype(dtype)[:, None]
        b = (G - row_sum * mean) @ axes  # (rows, d), in the axes of omega
        a = row_sum * spread
        b2 = b * b
        norm2 = np.maximum(b2.sum(axis=1, keepdims=True), tiny)
        # lower bounds: |x| >= |b| / (mean of a + s) by convexity, and |x| >= |b_i| / (a_i + s)
        shift = np.sqrt(norm2) - np.einsum("ij,ij->i", b2, a)[:, None] / norm2
        np.maximum(shift, (np.abs(b) - a).max(axis=1, keepdims=True), out=shift)
        np.maximum(shift, close * a[:, -1:] + tiny - a[:, :1], out=shift)  # a + shift stays above 0
        inverse, part = np.empty_like(b), np.empty_like(b)
        for _ in range(_STEPS):
            np.add(a, shift, out=inverse)
            np.reciprocal(inverse, out=inverse)
            np.multiply(b2, inverse, out=part)
            square = np.einsum("ij,ij->i", part, inverse)[:, None]  # |x|^2
            part *= inverse
            length, bend = np.sqrt(square), np.einsum("ij,ij->i", part, inverse)[:, None]
            step = (length - 1) * square / np.maximum(bend, tiny)
            if not (length > 1 + _CLOSE).any():
                break
            shift += np.maximum(step, 0)
        x = b / (a + shift)
        short = np.maximum(1 - np.einsum("ij,ij->i", x, x), 0)
        fill = short > 4 * _CLOSE  # no pull along the first axis: it takes the missing length
        x[fill, 0] = np.copysign(np.sqrt(x[fill, 0] ** 2 + short[fill]), x[fill, 0])
        x = x @ axes.T
        return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), tiny)

    return solve
