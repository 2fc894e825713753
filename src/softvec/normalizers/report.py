"""Statistics of Z for a set of vectors, and the error of an estimate."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from softvec.core.checks import integer, number
from softvec.core.errors import InputError
from softvec.normalizers.base import Array, Normalizer, check_vectors
from softvec.normalizers.comparison import METHODS, ErrorQuantiles
from softvec.normalizers.exact import Exact
from softvec.normalizers.selection import describe, select


def rescale(vectors: ArrayLike, norms: str = "raw") -> Array:
    """Return vectors unchanged, divided by their mean norm, or each divided by its own norm.

    Parameters
    ----------
    vectors : array of shape (m, d)
    norms : {"raw", "mean", "unit"}

    Examples
    --------
    >>> rescale([[3.0, 4.0], [0.0, 2.0]], "unit")
    array([[0.6, 0.8],
           [0. , 1. ]])
    """
    X = check_vectors("vectors", vectors)
    if norms == "raw":
        return X
    if norms not in ("mean", "unit"):
        raise InputError(f"norms is {norms!r}; pass 'raw', 'mean' or 'unit'")
    length = np.linalg.norm(X.astype(np.float64), axis=1)
    if norms == "unit" and (length == 0).any():
        row = int(np.flatnonzero(length == 0)[0])
        raise InputError(f"row {row} of vectors is zero and has no direction; drop it, or pass norms='mean'")
    if length.max() == 0:
        raise InputError("all vectors are zero, so they cannot be divided by their mean norm")
    divisor = length[:, None] if norms == "unit" else length.mean()
    return (X / divisor).astype(X.dtype)


def report(
    vectors: ArrayLike,
    method: str = "auto",
    *,
    rows: int = 1000,
    beta: float = 1.0,
    seed: int | None = 0,
    norms: str = "raw",
    error: float = 0.01,
    n_jobs: int | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Return statistics of Z with the vectors as queries and items, the measured error, and the time.

    ``method`` is "auto" (see :func:`select`; ``error`` is its target) or one of :data:`METHODS`, whose
    parameters are passed in ``options``. Errors are relative to the exact sum, on ``rows`` random vectors.

    Examples
    --------
    >>> import numpy as np
    >>> result = report(np.random.default_rng(0).normal(size=(500, 8)) / 4, "gaussian-mixture", rows=50)
    >>> result["method"], result["items"], result["error"]["relative_median"] < 0.01
    ('GaussianMixture(5)', 500, True)
    """
    number("beta", beta, above=0)
    Y = rescale(vectors, norms)
    count = min(integer("rows", rows), len(Y))
    X = Y[np.sort(np.random.default_rng(seed).choice(len(Y), count, replace=False))]
    tried: list[dict[str, Any]] = []
    if method == "auto" and not options:
        selection = select(
            Y, X, beta=beta, error=error, rows=min(200, count), random_state=seed, n_jobs=n_jobs
        )
        tried = [vars(measurement) for measurement in selection.tried]
        chosen = selection.normalizer
    else:
        chosen = _make(method, {"beta": beta, "random_state": seed, "n_jobs": n_jobs}, options)
    started = time.perf_counter()
    log_z, fit_seconds = _run(chosen, Y, X)
    seconds = time.perf_counter() - started
    started = time.perf_counter()
    exact = Exact(beta=beta, n_jobs=n_jobs).fit(Y).log_partition(X)
    return {
        "items": len(Y),
        "dimensions": Y.shape[1],
        "beta": float(beta),
        "norms": norms,
        "rows": count,
        "method": describe(chosen),
        "log_z": _quantiles(log_z),
        "exact_log_z": _quantiles(exact),
        "error": _errors(log_z, exact, len(Y)),
        "std_error": _std_error(chosen, X),
        "seconds": seconds,
        "fit_seconds": fit_seconds,
        "exact_seconds": time.perf_counter() - started,
        "tried": tried,
    }


def _make(method: str, common: dict[str, Any], options: dict[str, Any]) -> Normalizer:
    """Return the named method, unfitted."""
    if method == "auto":
        raise InputError(f"method 'auto' does not take {', '.join(options)}; choose a method to set them")
    if method not in METHODS:
        raise InputError(f"method is {method!r}; pass 'auto' or one of {', '.join(METHODS)}")
    try:
        return METHODS[method](**common, **options)
    except TypeError:
        raise InputError(f"method {method!r} does not take all of {', '.join(options)}") from None


def _run(normalizer: Normalizer, Y: Array, X: Array) -> tuple[Array, float]:
    started = time.perf_counter()
    normalizer.fit(Y)
    fitted = time.perf_counter() - started
    return normalizer.log_partition(X), fitted


def _quantiles(values: Array) -> dict[str, float]:
    low, median, high = np.quantile(values, [0, 0.5, 1])
    return {"min": float(low), "median": float(median), "max": float(high), "mean": float(values.mean())}


def _errors(log_z: Array, exact: Array, m: int) -> dict[str, float]:
    """Return errors of log Z, relative errors of Z, and errors of Z / m (as in the paper)."""
    with np.errstate(over="ignore"):
        relative = np.abs(np.expm1(log_z - exact))
        scaled = np.exp(exact - np.log(m)) * relative
    out: dict[str, float] = {}
    for name, values in (("log", log_z - exact), ("relative", relative), ("scaled", scaled)):
        out |= {f"{name}_{key}": value for key, value in vars(ErrorQuantiles.of(values)).items()}
    return out


def _std_error(normalizer: Normalizer, X: Array) -> dict[str, float] | None:
    """Return the standard error of log Z that the method itself reports, or None."""
    try:
        own = normalizer.std_error(X)
    except InputError:
        return None
    return {"median": float(np.median(own)), "p95": float(np.quantile(own, 0.95))}
