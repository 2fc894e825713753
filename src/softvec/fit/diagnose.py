"""How good is the approximation, measured with the exact softmax on a sample of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from softvec import kernels
from softvec.core.threads import Workers, row_blocks
from softvec.fit.moments import add_sums, block_sums, moments
from softvec.fit.problem import Problem
from softvec.operators import Runtime

Array = NDArray[Any]


@dataclass(frozen=True)
class Diagnosis:
    """Means over ``n_rows`` sampled rows; errors are |log Z - log Z_estimated|."""

    n_rows: int
    exact_loss: float
    approximate_loss: float
    log_z_error_median: float
    log_z_error_p95: float
    log_z_error_max: float


def estimate_log_z(
    X: Array, Y: Array, labels: Array | None, weight: Array | None, beta: float, pool: Workers
) -> Array:
    """Return Eq. main for the rows of X, with moments of all of Y."""
    k = 1 if labels is None else int(labels.max()) + 1

    def one(lo: int, hi: int) -> Any:
        inside = None if labels is None else labels[lo:hi]
        return block_sums(Y[lo:hi], inside, k, None if weight is None else weight[lo:hi].astype(Y.dtype))

    mom = moments(pool.fold(one, row_blocks(len(Y), 4096), add_sums))
    X = X.astype(np.float64)
    quadratic = np.stack([np.einsum("ij,ij->i", X @ omega, X) for omega in mom.omega], axis=1)
    return logsumexp(mom.log_weight + beta * X @ mom.mu.T + 0.5 * beta**2 * quadratic, axis=1)


def exact_log_z(X: Array, Y: Array, weight: Array | None, beta: float, pool: Workers) -> Array:
    """Return the exact log Z of the rows of X, over blocks of Y so that memory stays small."""

    def one(lo: int, hi: int) -> Array:
        scores = beta * (X @ Y[lo:hi].T).astype(np.float64)
        if weight is not None:
            scores += np.log(weight[lo:hi])
        return logsumexp(scores, axis=1)

    return logsumexp(np.stack(pool.map(one, row_blocks(len(Y), 8192))), axis=0)


def diagnose(
    problem: Problem, X: Array, Y: Array, labels: Array | None, n_rows: int, seed: int, pool: Workers
) -> Diagnosis:
    """Compare exact and approximated loss on ``n_rows`` rows of P."""
    n = len(X)
    chosen = np.sort(np.random.default_rng([seed, 77]).choice(n, min(n_rows, n), replace=False))
    x, beta = X[chosen], problem.beta
    runtime = Runtime(kernels.select(problem.P.nnz * X.shape[1]), pool)
    source = np.empty(Y.shape, np.uint16 if Y.dtype == np.float32 else Y.dtype)
    runtime.kernels.to_half(Y, source)  # the precision, and the compiled code, of the fit
    rows = problem.P.plan(source, runtime)
    if n <= 20 * len(chosen):  # all rows in one call take less than some of them one by one
        everything = np.empty_like(X)
        rows(0, n, everything, x[:0])
        G = everything[chosen]
    else:
        G = np.empty_like(x)
        for i, row in enumerate(chosen):
            rows(int(row), int(row) + 1, G[i : i + 1], x[:0])
    rho = problem.P.row_sums()[chosen]
    shared = -beta * np.einsum("ij,ij->i", x, G)
    shared = shared + rho * problem.regularization * beta / n * (x @ Y.sum(axis=0, dtype=np.float64))
    exact = exact_log_z(x, Y, problem.item_weight, beta, pool)
    approximate = estimate_log_z(x, Y, labels, problem.item_weight, beta, pool)
    error = np.abs(exact - approximate)
    return Diagnosis(
        len(chosen),
        float(np.mean(shared + rho * exact)),
        float(np.mean(shared + rho * approximate)),
        float(np.median(error)),
        float(np.quantile(error, 0.95)),
        float(error.max()),
    )
