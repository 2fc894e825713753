"""Moments of classes of vectors (paper Eq. params), and the paper's estimator: a Gaussian for each class.

Sums go over fixed blocks of rows in fixed order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import ModuleType
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from softvec import kernels
from softvec.core.checks import integer
from softvec.core.errors import InputError
from softvec.core.machine import Machine, machine
from softvec.core.threads import row_blocks
from softvec.normalizers.base import Array, Estimate, Normalizer, check_weights
from softvec.normalizers.clusters import compact, kmeans

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
    d, classes = X.shape[1], None if k == 1 else classes
    sums = Sums(np.zeros(k), np.zeros(k), np.zeros((k, d)), np.zeros((k, d, d)))
    second = np.empty((d, d), X.dtype)
    for c in [0] if classes is None else np.unique(classes):
        x = X if classes is None else X[classes == c]
        v = weights if classes is None or weights is None else weights[classes == c]
        xv = x if v is None else x * v[:, None]
        hot.second_moments(xv, x, second)
        sums.weight[c] = len(x) if v is None else v.sum(dtype=np.float64)
        sums.count[c] = len(x)
        sums.first[c] = np.ones(len(x), x.dtype) @ xv  # ten times as fast as sum
        sums.second[c] = second
    return sums


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


@dataclass(eq=False)
class GaussianMixture(Normalizer):
    """Approximate the scores of each class of items by a Gaussian with the same mean and variance.

    log Z = log m + logsumexp_a [log pi_a + beta x.mu_a + beta^2/2 x'omega_a x] (paper Eq. main): O(k d^2)
    per query, independent of the number of items.

    Parameters
    ----------
    n_clusters : int, default=5
        Classes, found by k-means; 1 needs no clustering.

    Examples
    --------
    >>> import numpy as np
    >>> from softvec.normalizers import Exact, GaussianMixture
    >>> Y = np.random.default_rng(0).normal(size=(5000, 8)) / 3
    >>> error = GaussianMixture(1).fit(Y).log_partition(Y[:9]) - Exact().fit(Y).log_partition(Y[:9])
    >>> bool(abs(error).max() < 0.01)
    True
    """

    n_clusters: int = 5

    def fit(self, Y: ArrayLike, labels: ArrayLike | None = None, weights: ArrayLike | None = None) -> Self:
        """Learn the moments of each class.

        ``labels`` (m,), classes 0, 1, ..., replace k-means; ``weights`` (m,) are an optional base measure v,
        Z = sum_a v_a exp(beta x.y_a).
        """
        items = self._begin(Y)
        m = len(items)
        v = check_weights(weights, m)
        classes = None if labels is None else np.asarray(labels)
        if classes is None:
            integer("n_clusters", self.n_clusters, most=m, of="the number of items")
        elif classes.shape != (m,) or classes.dtype.kind not in "iu" or classes.min() < 0:
            raise InputError(
                f"labels have shape {classes.shape} and type {classes.dtype}; expected {m} integers from 0"
            )
        with machine(self.n_jobs) as pool:
            if classes is None:
                rng, sample = np.random.default_rng(self.random_state), max(16384, 256 * self.n_clusters)
                classes = kmeans(items, self.n_clusters, rng, pool, sample=sample)
            middle = items[:: max(1, m // 4096)].mean(axis=0, dtype=np.float64).astype(items.dtype)
            moments = class_moments(items, compact(classes), v, pool, center=middle)
        self._moments, self.labels_ = moments, classes
        self.weight_, self.mean_, self.covariance_ = moments.weight, moments.mu, moments.omega
        return self

    def _estimate(self, X: Array, pool: Machine) -> Estimate:
        return Estimate(mixture_log_z(X, self._moments, float(self.beta), pool), np.ones(len(X)))
