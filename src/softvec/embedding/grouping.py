"""Groups of vectors, by scikit-learn's k-means."""

from __future__ import annotations

import math
import warnings
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError
from softvec.core.threads import one_blas_thread
from softvec.embedding.search import unit_rows

# scikit-learn's OpenMP threads spin while they wait: on a busy machine small problems take ten times as
# long with them as without
_ONE_THREAD = 20_000
_TIE = 0.02  # silhouettes this close say nothing about which number is better
_SAMPLE = 3000  # vectors of the silhouette sample: 9 million distances, well under a second


def cluster(
    V: NDArray[np.floating],
    n_clusters: int | None = None,
    *,
    max_clusters: int = 50,
    random_state: int | None = 0,
) -> NDArray[np.int64]:
    """Group rows by k-means on the unit sphere; labels in falling order of size.

    Without ``n_clusters`` the smallest number whose mean silhouette on a sample of rows is within 0.02 of
    the best is taken, among 2, 3, 4, ... with gaps of a fifth up to sqrt(n) or ``max_clusters``.
    """
    X = unit_rows(V)
    n = len(X)
    if n_clusters is not None:
        if not hasattr(n_clusters, "__index__") or not 1 <= n_clusters <= n:
            raise InputError(f"n_clusters is {n_clusters!r}; expected 1 to {n}, the number of vectors")
        return _by_size(_kmeans(X, n_clusters, random_state))
    if n < 4:
        return np.zeros(n, np.int64)
    return _by_size(
        _kmeans(X, _best_number(X, min(max_clusters, max(2, math.isqrt(n))), random_state), random_state)
    )


def _best_number(X: NDArray[np.float32], most: int, random_state: int | None) -> int:
    from sklearn.metrics import silhouette_score

    rng = np.random.default_rng(random_state)
    S = X if len(X) <= _SAMPLE else X[np.sort(rng.choice(len(X), _SAMPLE, replace=False))]
    scores, k = {1: -1.0}, 2
    while k <= most:
        labels = _kmeans(S, k, random_state)
        if 1 < len(np.unique(labels)) < len(S):
            scores[k] = float(silhouette_score(S, labels, metric="euclidean"))
        k += max(1, k // 5)
    return next(k for k, score in scores.items() if score >= max(scores.values()) - _TIE)


def _kmeans(X: NDArray[np.float32], k: int, random_state: int | None) -> NDArray[np.int64]:
    from sklearn.cluster import KMeans, MiniBatchKMeans
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points than clusters
        if len(X) <= 50_000:
            model: Any = KMeans(k, n_init=4, random_state=random_state)
        else:
            model = MiniBatchKMeans(k, n_init=4, batch_size=8192, random_state=random_state)
        with _threads(len(X)):
            return model.fit_predict(X).astype(np.int64)


def _threads(n: int) -> AbstractContextManager[None]:
    return one_blas_thread() if n <= _ONE_THREAD else nullcontext()


def _by_size(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    _, inverse, counts = np.unique(labels, return_inverse=True, return_counts=True)
    rank = np.empty(len(counts), np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    return rank[inverse]
