"""Diagnosis of a fit: the error of its normaliser, by exact sums on a sample of rows, and the spread of X."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softvec import kernels
from softvec.core.machine import Machine
from softvec.fit.edges import edges_log_z
from softvec.fit.problem import Problem
from softvec.normalizers.exact import exact_log_z
from softvec.normalizers.moments import class_moments, mixture_log_z
from softvec.operators import Runtime

Array = NDArray[Any]
_SPREAD_ROWS, _FEWEST_ROWS = 256, 50


@dataclass(frozen=True)
class Diagnosis:
    """Means over ``n_rows`` sampled rows; errors are |log Z - log Z_estimated|.

    ``standard_error`` is that of the exact loss as an estimate for all rows: 0 if all of them are measured.
    """

    n_rows: int
    exact_loss: float
    approximate_loss: float
    log_z_error_median: float
    log_z_error_p95: float
    log_z_error_max: float
    standard_error: float = 0.0


def diagnose(
    problem: Problem, X: Array, Y: Array, classes: Array | None, n_rows: int, seed: int, pool: Machine
) -> Diagnosis:
    """Compare exact and approximated loss on ``n_rows`` rows of P."""
    n = len(X)
    chosen = np.sort(np.random.default_rng([seed, 77]).choice(n, min(n_rows, n), replace=False))
    x, beta = X[chosen], problem.beta
    runtime = Runtime(kernels.select(problem.P.nnz * X.shape[1]), pool)
    rows = problem.P.plan(runtime)(runtime.copied(Y))  # same precision and compiled code as the fit
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
    if problem.second:  # an item is not compared with itself
        own = beta * np.einsum("ij,ij->i", x, x, dtype=np.float64)
        exact += np.log(-np.expm1(np.minimum(own - exact, -1e-12)))
    mom = class_moments(Y, classes, problem.item_weight, pool)
    if problem.second is not None:
        approximate = edges_log_z(problem, chosen, X, Y, classes, mom)
    else:
        approximate = mixture_log_z(x, mom, beta, pool)
    error = np.abs(exact - approximate)
    losses = shared + rho * exact
    unseen = 1 - len(chosen) / n
    return Diagnosis(
        len(chosen),
        float(np.mean(losses)),
        float(np.mean(shared + rho * approximate)),
        float(np.median(error)),
        float(np.quantile(error, 0.95)),
        float(error.max()),
        float(np.sqrt(unseen * np.var(losses) / max(len(chosen) - 1, 1))),
    )


class Spread(NamedTuple):
    """How far vectors point in different directions."""

    mean_cosine: float  # of pairs of sampled vectors: near 1 where all are nearly parallel
    effective_rank: float  # squared total variance over the sum of squared covariances: directions in use


def spread(X: Array) -> Spread | None:
    """Measure the spread of at most 256 vectors, evenly spaced; None for fewer than 50.

    Examples
    --------
    >>> spread(np.eye(3)[np.arange(99) % 3])
    Spread(mean_cosine=0.3265..., effective_rank=2.0)
    """
    sample = X[np.linspace(0, len(X) - 1, min(len(X), _SPREAD_ROWS)).astype(np.int64)].astype(np.float64)
    norms = np.linalg.norm(sample, axis=1)
    sample = sample[norms > 0] / norms[norms > 0, None]
    n = len(sample)
    if n < _FEWEST_ROWS:
        return None
    mean = sample.mean(axis=0)
    centred = sample - mean
    total = float((centred**2).sum())
    rank = total**2 / max(float(((centred.T @ centred) ** 2).sum()), np.finfo(np.float64).tiny)
    return Spread(float((n * mean @ mean - 1) / (n - 1)), float(round(max(rank, 1.0), 6)))
