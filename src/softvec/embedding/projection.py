"""Low-dimensional maps of vectors, by scikit-learn (and umap-learn on request)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.checks import choice
from softvec.core.errors import InputError
from softvec.embedding.groups import small_problem_threads
from softvec.embedding.search import unit_rows


def project(
    V: NDArray[np.floating],
    method: str = "pca",
    n_components: int = 2,
    *,
    random_state: int | None = 0,
    options: dict[str, Any] | None = None,
) -> NDArray[np.float32]:
    """Return (n, n_components) coordinates by PCA, t-SNE or UMAP."""
    methods = {"pca": _pca, "tsne": _tsne, "umap": _umap}
    choice("method", method, methods)
    if len(V) < 2 or bool((V[0] == V).all()):  # one point: nothing to lay out
        return np.zeros((len(V), n_components), np.float32)
    Z = methods[method](np.asarray(V, np.float32), n_components, random_state, dict(options or {}))
    return np.ascontiguousarray(Z, dtype=np.float32)


def _pca(V: NDArray[np.float32], k: int, random_state: int | None, options: dict[str, Any]) -> Any:
    from sklearn.decomposition import PCA

    most = min(V.shape)
    Z = PCA(min(k, most), random_state=random_state, **options).fit_transform(V)
    return np.pad(Z, ((0, 0), (0, k - Z.shape[1])))


def _tsne(V: NDArray[np.float32], k: int, random_state: int | None, options: dict[str, Any]) -> Any:
    from sklearn.manifold import TSNE

    if len(V) < 5 or V.shape[1] < k:
        return _pca(V, k, random_state, {})
    X = unit_rows(V)
    if X.shape[1] > 50 and len(X) > 50:  # the usual first step: less noise and half the time
        X = unit_rows(_pca(X, 50, random_state, {}).astype(np.float32))
    options.setdefault("perplexity", min(30.0, (len(V) - 1) / 3))
    with small_problem_threads(len(X)):
        return TSNE(k, init="pca", random_state=random_state, **options).fit_transform(X)


def _umap(V: NDArray[np.float32], k: int, random_state: int | None, options: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # umap-learn warns of threads when a seed is given, and more
        try:
            import umap
        except ImportError as error:
            raise InputError("method 'umap' needs umap-learn: pip install 'softvec[umap]'") from error
        if len(V) < 5:
            return _pca(V, k, random_state, {})
        options.setdefault("n_neighbors", min(15, len(V) - 1))
        return umap.UMAP(n_components=k, metric="cosine", random_state=random_state, **options).fit_transform(
            V
        )
