"""Choose a normaliser by measuring candidates, cheapest first, on a sample of queries."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from softvec.core.checks import integer, number
from softvec.core.errors import InputError
from softvec.normalizers.base import Array, Normalizer, check_vectors
from softvec.normalizers.control_variate import ControlVariate
from softvec.normalizers.exact import Exact
from softvec.normalizers.moments import GaussianMixture


@dataclass(frozen=True)
class Measurement:
    """One candidate on the sampled queries; errors are ``|log Z - log Z_estimated|``.

    ``seconds`` is predicted for all queries: the fit, and the sampled queries scaled up.
    """

    method: str
    median_error: float
    p95_error: float
    seconds: float


@dataclass(frozen=True)
class Selection:
    """The chosen normaliser, fitted, its measurement, and those of all candidates in the order tried."""

    normalizer: Normalizer
    chosen: Measurement
    meets_error: bool
    meets_time: bool
    tried: tuple[Measurement, ...]


def _describe(normalizer: Normalizer) -> str:
    """Return a short name with the main parameter: ``GaussianMixture(5)``."""
    size = getattr(normalizer, "n_clusters", getattr(normalizer, "n_samples", ""))
    return f"{type(normalizer).__name__}({size})"


def _defaults(m: int, beta: float, random_state: int | None, n_jobs: int | None) -> list[Normalizer]:
    """Return mixtures of 1 to 20 classes, control variates of 300 to 10,000 samples, and the exact sum."""
    common: dict[str, Any] = {"beta": beta, "random_state": random_state, "n_jobs": n_jobs}
    mixtures = [GaussianMixture(k, **common) for k in (1, 5, 20) if k <= m]
    sampled = [ControlVariate(g, **common) for g in (300, 1000, 3000, 10000) if 4 * g <= m]
    return [*mixtures, *sampled, Exact(**common)]


def select(
    Y: ArrayLike,
    X: ArrayLike | None = None,
    *,
    beta: float = 1.0,
    error: float | None = 0.01,
    seconds: float | None = None,
    rows: int = 200,
    candidates: Sequence[Normalizer] | None = None,
    random_state: int | None = None,
    n_jobs: int | None = None,
) -> Selection:
    """Measure candidates on a sample of queries and return the one that fits the budget.

    That is the fastest one whose 95th percentile of ``|log Z - estimate|`` is at most ``error`` and whose
    predicted time is at most ``seconds``. If there is none, it is the most accurate one within the time or,
    if all are too slow, the fastest.

    Parameters
    ----------
    Y : array of shape (m, d)
        Items.
    X : array of shape (n, d), optional
        Queries; the items by default.
    beta : float
        Inverse temperature.
    error, seconds : float or None
        Budgets; None for no limit. ``error=0.01`` is about 1% of Z.
    rows : int
        Queries to measure on; the exact sum is computed for these.
    candidates : sequence of normalisers, optional
        Tried in this order; default: mixtures, control variates and the exact sum.

    Examples
    --------
    >>> import numpy as np
    >>> from softvec.normalizers import select
    >>> Y = np.random.default_rng(0).normal(size=(2000, 16)) / 4
    >>> selection = select(Y, error=0.1, rows=50, random_state=0)
    >>> selection.meets_error
    True
    """
    number("beta", beta, above=0)
    for name, budget in (("error", error), ("seconds", seconds)):
        if budget is not None:
            number(name, budget, above=0)
    items = check_vectors("Y", Y)
    queries = items if X is None else check_vectors("X", X, items.shape[1])
    count = min(integer("rows", rows), len(queries))
    rng = np.random.default_rng(random_state)
    sample = queries[np.sort(rng.choice(len(queries), count, replace=False))]
    options = candidates or _defaults(len(items), beta, random_state, n_jobs)
    different = [c.beta for c in options if c.beta != beta]
    if different:
        raise InputError(f"a candidate has beta {different[0]}, but select has beta {beta}; make them equal")
    truth = Exact(beta=beta, n_jobs=n_jobs).fit(items).log_partition(sample)
    tried = [_measure(candidate, items, sample, truth, len(queries)) for candidate in options]
    best = _best(tried, error, seconds)
    return Selection(
        options[best],
        tried[best],
        error is None or tried[best].p95_error <= error,
        seconds is None or tried[best].seconds <= seconds,
        tuple(tried),
    )


def _measure(candidate: Normalizer, Y: Array, sample: Array, truth: Array, n: int) -> Measurement:
    started = time.perf_counter()
    with warnings.catch_warnings(action="ignore"):  # of wide intervals: the error is measured here
        candidate.fit(Y)
    fitted = time.perf_counter()
    candidate.log_partition(sample[:1])  # loads or compiles the kernels; a user pays this once
    ready = time.perf_counter()
    log_z = candidate.log_partition(sample)
    ended = time.perf_counter()
    median, p95 = np.quantile(np.abs(log_z - truth), [0.5, 0.95])
    predicted = fitted - started + (ended - ready) * n / len(sample)
    return Measurement(_describe(candidate), float(median), float(p95), predicted)


def _best(tried: list[Measurement], error: float | None, seconds: float | None) -> int:
    everyone = range(len(tried))
    good = [i for i in everyone if error is None or tried[i].p95_error <= error]
    quick = [i for i in everyone if seconds is None or tried[i].seconds <= seconds]
    both = [i for i in good if i in quick]
    if both and error is not None:
        return min(both, key=lambda i: tried[i].seconds)
    if quick:
        return min(quick, key=lambda i: (tried[i].p95_error, tried[i].seconds))
    return min(everyone, key=lambda i: tried[i].seconds)
