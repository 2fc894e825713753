"""Layouts, plots and maps: methods of :class:`softvec.Embedding`, which import their modules on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from softvec.embedding.core import Embedding
    from softvec.embedding.projection import Layout
    from softvec.map import Map


def layout(
    self: Embedding,
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
    from softvec.embedding.projection import lay_out

    return lay_out(self.vectors, method, n_components, random_state=random_state, options=options)


def project(
    self: Embedding,
    method: str = "auto",
    n_components: int = 2,
    *,
    random_state: int | None = 0,
    **options: Any,
) -> NDArray[np.float32]:
    """Return coordinates for a plot: those of :meth:`layout`."""
    return self.layout(method, n_components, random_state=random_state, **options).coordinates


def plot(self: Embedding, labels: Any = None, **options: Any) -> Any:
    """Draw a two-dimensional map; see :func:`softvec.plotting.plot_map`."""
    from softvec.plotting import plot_map

    return plot_map(self, _by_type(self, labels), **options)


def _by_type(emb: Embedding, labels: Any) -> Any:
    """Return the labels, or the types of the items if there are none."""
    return emb.types if labels is None and "types" in emb.extras else labels


def map(self: Embedding, labels: Any = None, **options: Any) -> Map:
    """Make an interactive map, one HTML file; see :func:`softvec.map.make_map`."""
    from softvec.map import make_map

    return make_map(self, _by_type(self, labels), **options)


def annotate(self: Embedding, graph: Any, **options: Any) -> Any:
    """Return a copy of a networkx or igraph graph with x, y and community on its nodes."""
    from softvec.map import annotate

    return annotate(self, graph, **options)
