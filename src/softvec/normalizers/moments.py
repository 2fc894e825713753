"""Moments of classes of vectors (paper Eq. params), summed over fixed blocks of rows in fixed order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec import kernels
from softvec.core.machine import Machine
from softvec.core.threads import row_blocks

Array = NDArray[Any]
_BLOCK = 4096  # rows of one float32 product; sums of blocks are float64


@dataclass(frozen=True)
class Sums:
    """Weighted sums over rows: weight and count (k,), first (k, d) and second (k, d, d) moments."""

    weight: Array
    count: Array
    first: Array
    second: Array


@dataclass(frozen=True)
class Moments:
    """Moments of each class, as Eq. main needs them.

    ``weight`` is the sum of item weights (the class size without a base measure), ``count`` the class size,
    ``divisor`` the divisor of the scatter (size - 1), ``mu`` the means (k, d), ``omega`` the covariances
    (k, d, d), ``log_weight`` log m + log pi.
    """

    weight: Array
    count: Array
    divisor: Array
    mu: Array
    omega: Array
    log_weight: Array


def block_sums(X: Array, classes: Array | None, k: int, weights: Array | None, hot: ModuleType) -> Sums:
    """Return the sums of one block as float64; products within the block have the precision of X."""
    d = X.shape[1]
    if k == 1 or classes is None:
        Xw = X if weights is None else X * weights[:, None]
        total = float(len(X)) if weights is None else float(weights.sum(dtype=np.float64))
        second = np.empty((1, d, d), X.dtype)
        hot.second_moments(Xw, X, second[0])
        return Sums(
            np.array([total]),
            np.array([float(len(X))]),
            (np.ones(len(X), X.dtype) @ Xw)[None].astype(np.float64),  # ten times as fast as sum
            second.astype(np.float64),
        )
    weight, count = np.zeros(k), np.zeros(k)
    first, second = np.zeros((k, d)), np.zeros((k, d, d))
    for c in np.unique(classes):
        inside = classes == c
        part = block_sums(X[inside], None, 1, None if weights is None else weights[inside], hot)
        weight[c], count[c] = part.weight[0], part.count[0]
        first[c], second[c] = part.first[0], part.second[0]
    return Sums(weight, count, first, second)


def add_sums(total: Sums, part: Sums) -> Sums:
    """Add a part to a total, in place; a total belongs to a single fold."""
    for target, addend in zip(vars(total).values(), vars(part).values()):
        target += addend
    return total


def moments(sums: Sums) -> Moments:
    """Turn sums into means and covariances (0 for a class of one item); no class may be empty."""
    mu = sums.first / sums.weight[:, None]
    scatter = sums.second - sums.weight[:, None, None] * mu[:, :, None] * mu[:, None, :]
    divisor = sums.weight * (sums.count - 1) / sums.count  # the class size less one without weights
    omega = np.divide(
        scatter, divisor[:, None, None], out=np.zeros_like(scatter), where=divisor[:, None, None] > 0
    )
    return Moments(sums.weight, sums.count, divisor, mu, omega, np.log(sums.weight))


def class_moments(
    Y: Array,
    classes: Array | None,
    weights: Array | None,
    pool: Machine,
    *,
    center: Array | None = None,
) -> Moments:
    """Return the moments of the classes 0..k-1 of the rows, in one pass; no class may be empty.

    Second moments are taken about ``center``, (d,): otherwise vectors close together and far from the
    origin would lose their covariance to rounding.
    """
    k = 1 if classes is None else max(pool.gather(int(classes.max(initial=0)) + 1))
    hot = kernels.select(pool.whole(Y.size)[1] * Y.shape[1])

    def sums_of(lo: int, hi: int) -> Sums:
        block = Y[lo:hi] if center is None else Y[lo:hi] - center
        return block_sums(
            block,
            None if classes is None else classes[lo:hi],
            k,
            None if weights is None else weights[lo:hi].astype(Y.dtype),
            hot,
        )

    result = moments(pool.fold(sums_of, row_blocks(len(Y), _BLOCK), add_sums))
    return result if center is None else replace(result, mu=result.mu + center.astype(np.float64))


def mixture_log_z(X: Array, moments: Moments, beta: float, pool: Machine) -> Array:
    """Return log Z of the rows of X (paper Eq. main), float64, from the moments of the item classes."""
    mu, omega = moments.mu.astype(X.dtype), moments.omega.astype(X.dtype)
    k, d = mu.shape
    out = np.empty(len(X))
    rows = int(np.clip(2**17 // (k * d), 32, 1024))  # products of 0.5 MB stay in a core's cache
    kernel = kernels.select(len(X) * k * d * d).mixture_log_z

    def block(lo: int, hi: int) -> None:
        for a in range(lo, hi, rows):
            b = min(a + rows, hi)
            kernel(X[a:b], np.matmul(X[a:b], omega), mu, moments.log_weight, beta, out[a:b])

    pool.map(block, row_blocks(len(X), 16 * rows))
    return out


@dataclass(frozen=True)
class Context:
    """Derivative of the loss through the moments of the context vectors.

    Item a of class c with weight v_a receives ``v_a (shift_c + y_a @ matrix_c)``.
    """

    shift: Array  # (k, d)
    matrix: Array  # (k, d, d)

    def rows(
        self, Y: Array, classes: Array | None, weight: Array | None, out: Array, hot: ModuleType
    ) -> None:
        """Write the term for a block of context vectors."""
        if classes is None:
            hot.multiply(Y, self.matrix[0], out)
            out += self.shift[0]
        else:
            for c in np.unique(classes):
                inside = classes == c
                out[inside] = Y[inside] @ self.matrix[c] + self.shift[c]
        if weight is not None:
            out *= weight[:, None]


def context(pulled: Sums, of: Moments, beta: float, dtype: np.dtype) -> Context:
    """Build :class:`Context` from s_c, T_c (``pulled.first``, ``pulled.second``) and the moments of Y."""
    scale = np.divide(beta, of.divisor, out=np.zeros_like(of.divisor), where=of.divisor > 0)
    matrix = scale[:, None, None] * pulled.second
    shift = pulled.first / of.weight[:, None] - np.einsum("cij,cj->ci", matrix, of.mu)
    return Context(shift.astype(dtype), matrix.astype(dtype))
