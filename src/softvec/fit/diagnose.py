"""Error of the approximated normaliser, measured with the exact softmax on a sample of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec import kernels
from softvec.core.machine import Machine
from softvec.fit.edges import edges_log_z
from softvec.fit.problem import Problem
from softvec.normalizers.exact import exact_log_z
from softvec.normalizers.gaussian_mixture import mixture_log_z
from softvec.normalizers.moments import class_moments
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


def diagnose(
    problem: Problem, X: Array, Y: Array, classes: Array | None, n_rows: int, seed: int, pool: Machine
) -> Diagnosis:
    """Compare exact and approximated loss on ``n_rows`` rows of P."""
    n = len(X)
    chosen = np.sort(np.random.default_rng([seed, 77]).choice(n, min(n_rows, n), replace=False))
    x, beta = X[chosen], problem.beta
    runtime = Runtime(kernels.select(problem.P.nnz * X.shape[1]), pool)
    rows = problem.P.plan(runtime.copied(Y), runtime)  # same precision and compiled code as the fit
    if n <= 20 * len(chosen):  # faster to compute all rows in one call than a few one by one
        everything = np.empty_like(X)
        rows(0, n, everything, x[:0])
        G = everything[chosen]
    else:
        G = np.empty_like(x)
        for i, row in enumerate(chosen):
            rows(int(row), int(row) + 1, G[i : i + 1], x[:0])
    rho = problem.P.row_sums()[chosen]
    shared = -beta * np.einsum("ij,ij->i", x, G)
    shared = shared + rho * problem.regularization * beta / n * (x @ pool.sum(Y, Y.shape[1]))
    exact = exact_log_z(x, Y, problem.item_weight, beta, pool)
    mom = class_moments(Y, classes, problem.item_weight, pool)
    if problem.normalizer == "edges":
        approximate = edges_log_z(problem, chosen, X, Y, classes, mom)
    else:
        approximate = mixture_log_z(x, mom, beta, pool)
    error = np.abs(exact - approximate)
    return Diagnosis(
        len(chosen),
        float(np.mean(shared + rho * exact)),
        float(np.mean(shared + rho * approximate)),
        float(np.median(error)),
        float(np.quantile(error, 0.95)),
        float(error.max()),
    )
