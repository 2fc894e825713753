"""Layouts in two or a few dimensions: choose a method, lay out a sample, place the other vectors.

Plots, maps and :meth:`Embedding.project` all call :func:`lay_out`.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softvec.core.checks import choice
from softvec.core.errors import InputError, optional_package
from softvec.core.threads import one_blas_thread
from softvec.embedding.search import exact_nearest, unit_rows

TSNE_MOST = 3000  # vectors that scikit-learn's t-SNE lays out at once
# Maximum number of vectors that "auto" lays out, so that its time stays bounded; the others are placed.
AUTO_MOST = {"tsne": TSNE_MOST, "umap": 20_000, "opentsne": 20_000}
_ANCHORS = 8  # neighbours among which a vector is placed
_TITLES = {"pca": "PCA", "tsne": "t-SNE", "opentsne": "t-SNE (openTSNE)", "umap": "UMAP"}


class Layout(NamedTuple):
    """Coordinates of all vectors, and one line on how they were computed."""

    coordinates: NDArray[np.float32]  # (n, n_components)
    description: str


def lay_out(
    V: NDArray[np.floating],
    method: str = "auto",
    n_components: int = 2,
    *,
    random_state: int | None = 0,
    options: Mapping[str, Any] | None = None,
) -> Layout:
    """Return (n, n_components) coordinates of the rows of ``V``, and how they were computed."""
    choice("method", method, ("auto", *_TITLES))
    n = len(V)
    chosen = _automatic(n, n_components) if method == "auto" else method
    if n < 2 or bool((V[0] == V).all()):  # one point: nothing to lay out
        return Layout(np.zeros((n, n_components), np.float32), "one point")
    X = np.asarray(V, np.float32)
    if chosen != "pca" and (n < 5 or X.shape[1] < n_components):
        chosen = "pca"
        options = {}
    most = AUTO_MOST.get(chosen, n) if method == "auto" else n
    rng = np.random.default_rng(random_state)
    sample = np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
    with one_blas_thread():  # sums in one order: the same bits for any number of threads
        Z = _computed(chosen, X[sample], n_components, random_state, options or {})
        Z = np.pad(Z, ((0, 0), (0, n_components - Z.shape[1])))
    if not np.isfinite(Z).all():
        raise InputError(f"the layout by {_TITLES[chosen]} has NaN or infinite coordinates; use method='pca'")
    title = _TITLES[chosen]
    if n > most:
        Z = _place_others(X, sample, Z)
        title += f" of {most:,} vectors, the others placed among their nearest neighbours"
    return Layout(np.ascontiguousarray(Z, dtype=np.float32), title)


def _automatic(n: int, n_components: int) -> str:
    """Return t-SNE for few vectors; for more, UMAP or openTSNE if installed, else t-SNE of a sample."""
    if n > TSNE_MOST or n_components > 3:
        if find_spec("umap") is not None:
            return "umap"
        if n_components > 3:  # t-SNE goes no further
            return "pca"
        if find_spec("openTSNE") is not None and n_components < 3:
            return "opentsne"
    return "tsne"


def _place_others(X: NDArray[np.float32], sample: NDArray[np.intp], Z: NDArray[Any]) -> NDArray[np.float64]:
    """Return coordinates of all rows: those of the sample, and for each other row a mean of its neighbours.

    Neighbours far from their median, in another part of the map, get little weight: a mean over two parts
    would put the point between them, far from anything similar.
    """
    n = len(X)
    others = np.setdiff1d(np.arange(n), sample, assume_unique=True)
    spacing = float(np.sqrt(np.prod(np.ptp(Z, axis=0)) / len(Z))) or 1.0
    places = np.empty((n, Z.shape[1]))
    places[sample] = Z
    S = X[sample]
    for lo in range(0, len(others), 50_000):
        rows = others[lo : lo + 50_000]
        near, cosine = exact_nearest(X[rows], S, _ANCHORS)
        anchors = Z[near]  # (q, 8, k)
        away = np.linalg.norm(anchors - np.median(anchors, axis=1, keepdims=True), axis=2) / (3 * spacing)
        gap = cosine[:, :1] - cosine
        weight = np.exp(-(away**2) / 2 - 3 * gap / np.maximum(gap[:, -1:], 1e-6)) + 1e-12
        places[rows] = np.einsum("qa,qak->qk", weight / weight.sum(axis=1, keepdims=True), anchors)
    return places


def _computed(
    method: str, V: NDArray[np.float32], k: int, seed: int | None, options: Mapping[str, Any]
) -> NDArray[Any]:
    """Return coordinates in at most k dimensions by one of the methods."""
    with warnings.catch_warnings():
        if method in ("opentsne", "umap"):
            warnings.simplefilter("ignore")  # of their dependencies, and that a seed means one thread
        model = _class_of(method)
        _check_options(model, options, method)
        settings = {**_defaults(method, len(V)), **options}
        fitted = model(n_components=min(k, *V.shape) if method == "pca" else k, random_state=seed, **settings)
        if method == "opentsne":
            return np.asarray(fitted.fit(_reduced(V, seed)))
        return np.asarray(fitted.fit_transform(_reduced(V, seed) if method == "tsne" else V))


def _class_of(method: str) -> Any:
    """Import the class that computes a layout."""
    if method == "pca":
        from sklearn.decomposition import PCA

        return PCA
    if method == "tsne":
        from sklearn.manifold import TSNE

        return TSNE
    if method == "opentsne":
        needs = "method 'opentsne' needs openTSNE: pip install 'softvec[tsne]'"
        return optional_package("openTSNE", needs).TSNE
    return optional_package("umap", "method 'umap' needs umap-learn: pip install 'softvec[umap]'").UMAP


def _defaults(method: str, n: int) -> Mapping[str, Any]:
    perplexity = min(30.0, (n - 1) / 3)
    defaults: dict[str, Mapping[str, Any]] = {
        "pca": {},
        "tsne": {"perplexity": perplexity, "max_iter": 500 if n <= TSNE_MOST else 1000, "init": "pca"},
        "opentsne": {"perplexity": perplexity, "initialization": "pca", "n_jobs": 1},
        "umap": {"n_neighbors": min(15, n - 1), "metric": "cosine"},
    }
    return defaults[method]


def _check_options(model: Any, options: Mapping[str, Any], method: str) -> None:
    known = set(inspect.signature(model).parameters) - {"self", "n_components", "random_state", "init"}
    unknown = sorted(set(options) - known)
    if unknown:
        raise InputError(
            f"unknown option {unknown[0]!r} of the layout {_TITLES[method]}; expected one of "
            f"{', '.join(sorted(known))}"
        )


def _reduced(V: NDArray[np.float32], seed: int | None) -> NDArray[np.float32]:
    """Return unit rows of at most 50 dimensions, the usual first step: less noise and half the time."""
    X = unit_rows(V)
    if X.shape[1] > 50 and len(X) > 50:
        X = unit_rows(_computed("pca", X, 50, seed, {}).astype(np.float32))
    return X
