"""Base class of the normalisers: input checks and public methods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softvec.core.checks import number
from softvec.core.errors import InputError
from softvec.core.machine import Machine, machine
from softvec.core.threads import row_blocks

Array = NDArray[Any]


class Estimate(NamedTuple):
    """Z = ``value * exp(log_scale)`` for each query.

    ``value`` is unbiased if the method is, and may be negative for some methods. ``std_error`` is in the
    units of ``value``, or None if the method has none.
    """

    log_scale: Array
    value: Array
    std_error: Array | None = None


def check_vectors(name: str, vectors: ArrayLike, dimension: int | None = None) -> Array:
    """Return a C-contiguous float32 or float64 matrix, or raise an error."""
    try:
        X = np.asarray(vectors)
    except ValueError as error:
        raise InputError(f"{name} is not a matrix of numbers: {error}") from None
    if X.ndim != 2:
        raise InputError(f"{name} has {X.ndim} dimension(s); pass a matrix with one vector per row")
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise InputError(f"{name} is empty (shape {X.shape}); pass at least one vector")
    if X.dtype.kind not in "fiub":
        raise InputError(f"{name} holds {X.dtype}; pass real numbers")
    if dimension is not None and X.shape[1] != dimension:
        raise InputError(
            f"{name} has vectors of dimension {X.shape[1]}, but the fitted items have dimension {dimension}"
        )
    dtype = np.float64 if X.dtype == np.float64 or X.dtype.itemsize > 8 else np.float32
    X = np.ascontiguousarray(X, dtype=dtype)
    for lo, hi in row_blocks(len(X), 65536):
        if not np.isfinite(X[lo:hi]).all():
            row = lo + int(np.flatnonzero(~np.isfinite(X[lo:hi]).all(axis=1))[0])
            raise InputError(f"{name} holds NaN or infinity (first in row {row}); remove or repair it")
    return X


def check_weights(weights: ArrayLike | None, m: int) -> Array | None:
    """Return the base measure as float64, one positive number per item."""
    if weights is None:
        return None
    v = np.asarray(weights, dtype=np.float64)
    if v.shape != (m,):
        raise InputError(f"weights has shape {v.shape}; pass one number per item, shape ({m},)")
    if not (np.isfinite(v).all() and (v > 0).all()):
        raise InputError("weights must be finite and above 0; drop items of weight 0")
    return v


@dataclass(eq=False, kw_only=True)
class Normalizer(ABC):
    """Estimate log Z_i = log sum_a exp(beta x_i.y_a) for queries X, given items Y.

    ``fit`` takes the items; the other methods take queries. Nothing overflows, whatever the ``beta``.
    Queries are cast to the dtype of the items (float32 or float64).
    """

    beta: float = 1.0
    random_state: int | None = None
    n_jobs: int | None = None

    def fit(self, Y: ArrayLike) -> Self:
        """Fit the items ``Y`` (m, d); return ``self``."""
        items = self._begin(Y)
        with machine(self.n_jobs) as pool:
            self._fit(items, np.random.default_rng(self.random_state), pool)
        return self

    def estimate(self, X: ArrayLike) -> Estimate:
        """Return the estimate of Z itself, before the logarithm, with its standard error if there is one."""
        queries = self._check_queries(X)
        with machine(self.n_jobs) as pool:
            return self._estimate(queries, pool)

    def log_partition(self, X: ArrayLike) -> Array:
        """Return log Z of each row of ``X`` (n, d), float64.

        An estimate of Z that is not positive is replaced by Jensen's bound, log m + beta x.mean(Y).
        """
        return self._log(self._check_queries(X), self.estimate(X))

    def std_error(self, X: ArrayLike) -> Array:
        """Return the standard error of ``log_partition`` for each row (the relative error of Z)."""
        queries = self._check_queries(X)
        estimate = self.estimate(queries)
        if estimate.std_error is None:
            raise InputError(
                f"{type(self).__name__} has no standard error; use ControlVariate, or compare it with Exact"
            )
        log_z = self._log(queries, estimate)
        with np.errstate(over="ignore"):
            return estimate.std_error * np.exp(estimate.log_scale - log_z)

    def log_softmax(self, X: ArrayLike, pairs: ArrayLike) -> Array:
        """Return log softmax(beta X Y')_ia for each row (i, a) of ``pairs``, an integer array (p, 2)."""
        queries = self._check_queries(X)
        ij = np.asarray(pairs)
        if ij.ndim != 2 or ij.shape[1] != 2 or ij.dtype.kind not in "iu":
            raise InputError(f"pairs has shape {ij.shape} and type {ij.dtype}; pass integers of shape (p, 2)")
        m = self.n_items_
        if len(ij) and (ij.min() < 0 or ij[:, 0].max() >= len(queries) or ij[:, 1].max() >= m):
            raise InputError(
                f"pairs holds a row outside X (0..{len(queries) - 1}) or outside the items (0..{m - 1})"
            )
        rows, place = np.unique(ij[:, 0], return_inverse=True)
        if len(rows) == 0:
            return np.empty(0)
        log_z = self.log_partition(queries[rows])
        out = np.empty(len(ij))
        for lo, hi in row_blocks(len(ij), 65536):
            x, y = queries[ij[lo:hi, 0]], self._items[ij[lo:hi, 1]]
            out[lo:hi] = float(self.beta) * np.einsum("ij,ij->i", x, y, dtype=np.float64)
        return out - log_z[place]

    def _fit(self, Y: Array, rng: np.random.Generator, pool: Machine) -> None:  # noqa: B027
        """Fit checked items; nothing to do by default."""

    @abstractmethod
    def _estimate(self, X: Array, pool: Machine) -> Estimate:
        """Estimate Z for checked queries."""

    def _begin(self, Y: ArrayLike) -> Array:
        number("beta", self.beta, above=0)
        items = check_vectors("Y", Y)
        self._items = items
        self.n_items_, self.n_features_ = items.shape
        return items

    def _check_queries(self, X: ArrayLike) -> Array:
        if not hasattr(self, "n_items_"):
            raise InputError(f"{type(self).__name__} has no items yet; call fit(Y) first")
        return check_vectors("X", X, self.n_features_).astype(self._items.dtype, copy=False)

    def _log(self, X: Array, estimate: Estimate) -> Array:
        positive = estimate.value > 0
        log_z = estimate.log_scale + np.log(np.where(positive, estimate.value, 1.0))
        if not positive.all():
            mean = self._items.mean(axis=0, dtype=np.float64)
            bound = np.log(self.n_items_) + float(self.beta) * (X.astype(np.float64) @ mean)
            log_z = np.where(positive, log_z, bound)
        return log_z
