"""Compare estimators of log Z with the exact sum."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from softvec.core.checks import number
from softvec.core.errors import InputError, Option
from softvec.normalizers.base import Array, Normalizer, check_vectors
from softvec.normalizers.control_variate import ControlVariate
from softvec.normalizers.exact import Exact
from softvec.normalizers.gaussian_mixture import GaussianMixture
from softvec.normalizers.rivals.adaptive_sampling import AdaptiveSampling
from softvec.normalizers.rivals.nystrom import Nystrom
from softvec.normalizers.rivals.positive_random_features import PositiveRandomFeatures
from softvec.normalizers.rivals.random_features import RandomFeatures
from softvec.normalizers.rivals.sampling import Sampling
from softvec.normalizers.rivals.top_k import TopK

METHODS: dict[str, type[Normalizer]] = {
    "exact": Exact,
    "gaussian-mixture": GaussianMixture,
    "control-variate": ControlVariate,
    "sampling": Sampling,
    "adaptive-sampling": AdaptiveSampling,
    "random-features": RandomFeatures,
    "positive-random-features": PositiveRandomFeatures,
    "nystrom": Nystrom,
    "top-k": TopK,
}
_WARM = 1000  # items for a first call, which compiles and loads the code of a method


@dataclass(frozen=True)
class ErrorQuantiles:
    """Median, 95th percentile and maximum of absolute errors."""

    median: float
    p95: float
    max: float

    @classmethod
    def of(cls, errors: Array) -> ErrorQuantiles:
        """Return the quantiles of signed errors."""
        size = np.abs(errors)
        return cls(float(np.median(size)), float(np.quantile(size, 0.95)), float(size.max()))


@dataclass(frozen=True)
class Compared:
    """Result of one method: errors of log Z, and seconds for fit and queries; or why it was left out."""

    method: str
    seconds: float = 0.0
    error: ErrorQuantiles | None = None
    left_out: str | None = None


def compare(
    Y: ArrayLike,
    X: ArrayLike,
    methods: Sequence[str] | None = None,
    *,
    beta: float = 1.0,
    n_samples: int | None = None,
    n_clusters: int = 5,
    random_state: int | None = 0,
    n_jobs: int | None = None,
) -> list[Compared]:
    """Estimate log Z of queries by several methods, and compare with the exact sum.

    Parameters
    ----------
    Y : array of shape (m, d)
        Items.
    X : array of shape (n, d)
        Queries.
    methods : sequence of str, optional
        Names of classes of :mod:`softvec.normalizers`, case-insensitive. All by default; then unsuitable
        methods are left out, with the reason.
    beta : float
        Inverse temperature.
    n_samples : int, optional
        Samples, features or landmarks of the methods that use them; by default that of each method.
    n_clusters : int
        Classes of the mixture, which is also measured with one class.

    Returns
    -------
    list of Compared
        The first is the exact sum.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.random.default_rng(0).normal(size=(500, 8)) / 4
    >>> exact, *mixtures = compare(Y, Y[:50], ["GaussianMixture"])
    >>> [row.method for row in mixtures], mixtures[1].error.median < 0.01
    (['GaussianMixture(n_clusters=1)', 'GaussianMixture(n_clusters=5)'], True)
    """
    number("beta", beta, above=0)
    items = check_vectors("Y", Y)
    queries = check_vectors("X", X, items.shape[1])
    common = {"beta": beta, "random_state": random_state, "n_jobs": n_jobs}
    chosen = [
        candidate
        for method in _classes(methods)
        for candidate in _candidates(method, common, n_samples, n_clusters, len(items))
    ]
    exact, seconds = _timed(Exact(beta=beta, n_jobs=n_jobs), items, queries)
    rows = [Compared("Exact", seconds, ErrorQuantiles(0.0, 0.0, 0.0))]
    for title, candidate in chosen:
        try:
            log_z, seconds = _timed(candidate, items, queries)
        except InputError as reason:
            if methods:
                raise
            rows.append(Compared(title, left_out=str(reason)))
            continue
        rows.append(Compared(title, seconds, ErrorQuantiles.of(log_z - exact)))
    return rows


def _classes(names: Sequence[str] | None) -> list[type[Normalizer]]:
    """Return the methods with these names; by default all but the exact sum."""
    import difflib

    known = {kind.__name__.lower(): kind for kind in METHODS.values() if kind is not Exact}
    for name in names or []:
        if name.lower() not in known:
            close = difflib.get_close_matches(name.lower(), known, 1, 0.5)
            hint = f"; did you mean {known[close[0]].__name__}?" if close else ""
            listed = ", ".join(kind.__name__ for kind in known.values())
            raise InputError(Option("method"), f" is {name!r}; expected one of {listed}{hint}")
    return [known[name.lower()] for name in names or known]


def _candidates(
    method: type[Normalizer], common: dict[str, Any], n_samples: int | None, n_clusters: int, m: int
) -> list[tuple[str, Normalizer]]:
    """Return titles and unfitted normalisers of a method: two for the mixture, else one."""
    names = {field.name for field in fields(method)}  # type: ignore[arg-type]
    options = dict(common)
    if "n_features" in names and n_samples is not None:
        options["n_features"] = n_samples
    for key in names & {"n_samples", "n_landmarks"}:  # at most the number of items
        options[key] = min(n_samples or getattr(method, key), m)
    if "n_clusters" not in names:
        return [(method.__name__, method(**options))]
    return [
        (f"{method.__name__}(n_clusters={k})", method(n_clusters=k, **options))  # type: ignore[call-arg]
        for k in sorted({1, min(n_clusters, m)})
    ]


def _timed(normalizer: Normalizer, Y: Array, X: Array) -> tuple[Array, float]:
    """Return log Z of X and the seconds it took, without compiling and loading."""
    with suppress(InputError):  # too few items for some methods
        copy.copy(normalizer).fit(Y[:_WARM]).log_partition(X[:2])
    started = time.perf_counter()
    log_z = normalizer.fit(Y).log_partition(X)
    return log_z, time.perf_counter() - started
