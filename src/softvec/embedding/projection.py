"""Layouts in two or a few dimensions, plots and maps.

A layout chooses a method, lays out a sample, and places the other vectors.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softvec.core.checks import choice
from softvec.core.errors import InputError, optional_package
from softvec.core.threads import one_blas_thread
from softvec.embedding.fields import frozen_rows
from softvec.embedding.search import exact_nearest, unit_rows

if TYPE_CHECKING:
    from softvec.embedding.core import Embedding
    from softvec.map import Map

TSNE_MOST = 3000  # vectors that scikit-learn's t-SNE lays out at once
# Maximum number of vectors that "auto" lays out, so that its time stays bounded; the others are placed.
AUTO_MOST = {"tsne": TSNE_MOST, "umap": 20_000, "opentsne": 20_000}
_ANCHORS = 8  # neighbours among which a vector is placed
_TITLES = {"pca": "PCA", "tsne": "t-SNE", "opentsne": "t-SNE (openTSNE)", "umap": "UMAP"}


class Layout(NamedTuple):
    """Coordinates of all vectors, and one line on how they were computed."""

    coordinates: NDArray[np.float32]  # (n, n_components)
    description: str


def layout(
    emb: Embedding,
    method: str = "auto",
    n_components: int = 2,
    *,
    random_state: int | None = 0,
    **options: Any,
) -> Layout:
    """Return coordinates for a plot, and one line on how they were computed.

    Parameters
    ----------
    method : {"auto", "pca", "tsne", "opentsne", "umap"}
        "auto" is t-SNE for up to 3,000 vectors. For more it is UMAP or openTSNE if installed
        (``pip install 'softvec[umap]'`` or ``'softvec[tsne]'``), of up to 20,000 vectors, else
        scikit-learn's t-SNE of 3,000; the other vectors are placed among their nearest neighbours. A
        named method lays out all vectors, however long that takes.
    options
        Passed on to scikit-learn's ``TSNE``, openTSNE's ``TSNE`` or umap-learn's ``UMAP``.

    Returns
    -------
    Layout
        A pair: ``coordinates`` of shape (n, n_components), and ``description``.

    Examples
    --------
    >>> import numpy as np, softvec
    >>> softvec.Embedding(np.eye(6)).layout("pca").description
    'PCA'
    """
    choice("method", method, ("auto", *_TITLES))
    X = frozen_rows(np.asarray(emb.vectors), "the vectors", copy=False)  # mapped ones are not checked yet
    n = len(X)
    chosen = _automatic(n, n_components) if method == "auto" else method
    if n < 2 or bool((X[0] == X).all()):  # one point: nothing to lay out
        return Layout(np.zeros((n, n_components), np.float32), "one point")
    if chosen != "pca" and (n < 5 or X.shape[1] < n_components):
        chosen = "pca"
        options = {}
    most = AUTO_MOST.get(chosen, n) if method == "auto" else n
    rng = np.random.default_rng(random_state)
    sample = np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
    with one_blas_thread():  # sums in one order: the same bits for any number of threads
        Z = _computed(chosen, X[sample], n_components, random_state, options)
        Z = np.pad(Z, ((0, 0), (0, n_components - Z.shape[1])))
    if not np.isfinite(Z).all():
        raise InputError(f"the layout by {_TITLES[chosen]} has NaN or infinite coordinates; use method='pca'")
    title = _TITLES[chosen]
    if n > most:
        Z = _place_others(X, sample, Z)
        title += f" of {most:,} vectors, the others placed among their nearest neighbours"
    return Layout(np.ascontiguousarray(Z, dtype=np.float32), title)


def project(
    emb: Embedding,
    method: str = "auto",
    n_components: int = 2,
    *,
    random_state: int | None = 0,
    **options: Any,
) -> NDArray[np.float32]:
    """Return coordinates for a plot: those of :meth:`layout`."""
    return layout(emb, method, n_components, random_state=random_state, **options).coordinates


def plot(emb: Embedding, labels: Any = None, **options: Any) -> Any:
    """Draw a two-dimensional map; see :func:`softvec.plotting.plot_map`."""
    from softvec.plotting import plot_map

    return plot_map(emb, _by_type(emb, labels), **options)


def _by_type(emb: Embedding, labels: Any) -> Any:
    """Return the labels, or the types of the items if there are none."""
    return emb.types if labels is None and "types" in emb.extras else labels


def map(emb: Embedding, labels: Any = None, **options: Any) -> Map:
    """Make an interactive map, one HTML file; see :func:`softvec.map.make_map`."""
    from softvec.map import make_map

    return make_map(emb, _by_type(emb, labels), **options)


def annotate(emb: Embedding, graph: Any, **options: Any) -> Any:
    """Return a copy of a networkx or igraph graph with x, y and community on its nodes."""
    from softvec.map import annotate

    return annotate(emb, graph, **options)


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
    method: str, V: NDArray[np.floating], k: int, seed: int | None, options: Mapping[str, Any]
) -> NDArray[Any]:
    """Return coordinates in at most k dimensions by one of the methods."""
    if method == "pca" and not 1e-15 < np.abs(V).max() < 1e15:  # whose squares are beyond float32
        V = V.astype(np.float64)
    with warnings.catch_warnings():
        if method in ("opentsne", "umap"):
            warnings.simplefilter("ignore")  # of their dependencies, and that a seed means one thread
        model, settings = _model_of(method, len(V))
        _check_options(model, options, method)
        settings = {**settings, **options}
        fitted = model(n_components=min(k, *V.shape) if method == "pca" else k, random_state=seed, **settings)
        if method == "opentsne":
            return np.asarray(fitted.fit(_reduced(V, seed)))
        return np.asarray(fitted.fit_transform(_reduced(V, seed) if method == "tsne" else V))


def _model_of(method: str, n: int) -> tuple[Any, Mapping[str, Any]]:
    """Return the class that computes a layout of n vectors, and its settings."""
    perplexity = min(30.0, (n - 1) / 3)
    if method == "pca":
        from sklearn.decomposition import PCA

        return PCA, {}
    if method == "tsne":
        from sklearn.manifold import TSNE

        return TSNE, {"perplexity": perplexity, "max_iter": 500 if n <= TSNE_MOST else 1000, "init": "pca"}
    if method == "opentsne":
        needs = "method 'opentsne' needs openTSNE: pip install 'softvec[tsne]'"
        settings = {"perplexity": perplexity, "initialization": "pca", "n_jobs": 1}
        return optional_package("openTSNE", needs).TSNE, settings
    needs = "method 'umap' needs umap-learn: pip install 'softvec[umap]'"
    return optional_package("umap", needs).UMAP, {"n_neighbors": min(15, n - 1), "metric": "cosine"}


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
