"""The paper's estimator: a mixture of Gaussians for the scores of each query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from softvec.core.checks import integer
from softvec.core.errors import InputError
from softvec.core.machine import Machine, machine
from softvec.normalizers.base import Array, Estimate, Normalizer, check_weights
from softvec.normalizers.kmeans import compact, kmeans
from softvec.normalizers.moments import class_moments, mixture_log_z


def _middle(Y: Array) -> Array:
    """Return the mean of about 4,096 evenly spaced rows."""
    return Y[:: max(1, len(Y) // 4096)].mean(axis=0, dtype=np.float64).astype(Y.dtype)


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
            moments = class_moments(items, compact(classes), v, pool, center=_middle(items))
        self._moments, self.labels_ = moments, classes
        self.weight_, self.mean_, self.covariance_ = moments.weight, moments.mu, moments.omega
        return self

    def _estimate(self, X: Array, pool: Machine) -> Estimate:
        return Estimate(mixture_log_z(X, self._moments, float(self.beta), pool), np.ones(len(X)))
