"""The interactive map of an embedding: one HTML file that needs no server and no network."""

from __future__ import annotations

import html
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.checks import choice, counted, integer, recorded
from softvec.core.errors import InputError, Message, Option
from softvec.core.files import atomic_write
from softvec.map import content as gather
from softvec.map.columns import (
    Column,
    distinct_names,
    label_column,
    labels_of,
    metadata_columns,
    number_column,
    shorten,
)
from softvec.map.content import Content
from softvec.map.page import render
from softvec.plotting.map import layout_of
from softvec.plotting.names import separated, titles_of_groups
from softvec.plotting.style import split_options

if TYPE_CHECKING:
    from softvec.embedding import Embedding

_NOTEBOOK_LIMIT = 30_000_000  # characters: a notebook with more is slow to open


@dataclass(frozen=True, eq=False, repr=False)
class Map:
    """An interactive map, displayed in notebooks and saved as one file.

    Attributes
    ----------
    content : Content
        Names, coordinates, columns, neighbours, edges.
    theme : {"auto", "light", "dark"}
    height : int
        Height of the frame in a notebook, in pixels.
    """

    content: Content
    theme: str = "auto"
    height: int = 600

    @cached_property
    def html(self) -> str:
        """The page as text."""
        return render(self.content, self.theme)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the map in the format of its extension.

        ``.html`` is the page. ``.parquet`` has name, x, y, neighbours and all columns, for embedding-atlas
        and other tools. ``.graphml`` and ``.gexf`` have the nodes with x, y and all columns, and the edges of
        the map, for Cytoscape and Gephi.
        """
        from softvec.map import handoff

        name = os.fspath(path)
        if name != "-" and not name.lower().endswith((".html", ".htm")):
            handoff.write(self.content, path)
            return
        with atomic_write(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(self.html)

    def _repr_html_(self) -> str:
        if len(self.html) > _NOTEBOOK_LIMIT:
            size = f"{len(self.html) / 1e6:.0f} MB"
            return (
                f"<p>{html.escape(repr(self))}: {size}, too large for a notebook; use .save('map.html')</p>"
            )
        return (
            f'<iframe srcdoc="{html.escape(self.html, quote=True)}" title="Map" loading="lazy" '
            f'width="100%" height="{int(self.height)}" style="border:0;border-radius:8px" '
            'sandbox="allow-scripts allow-downloads" allow="clipboard-write; fullscreen"></iframe>'
        )

    def __repr__(self) -> str:
        return f"Map({len(self.content):,} points by {self.content.method})"


@dataclass(frozen=True)
class MapOptions:
    """Options of :func:`make_map`, which documents them."""

    metadata: Any = None
    edges: Any = None
    coordinates: Any = None
    method: str = "auto"
    n_neighbors: int | None = None
    communities: bool | None = None
    times: Any = None
    sides: Sequence[str] = ("rows", "context")
    title: str | None = None
    theme: str = "auto"
    max_edges: int = gather.MAX_EDGES
    random_state: int | None = 0


def make_map(embedding: Embedding, labels: Any = None, **options: Any) -> Map:
    """Make an interactive map of an embedding.

    Parameters
    ----------
    embedding : Embedding
    labels : sequence, mapping, pandas Series, or "clusters", optional
        Colours. A sequence has one label per row; a mapping or a Series is matched by name.
        ``"clusters"`` colours by groups found by :meth:`Embedding.cluster`. None and -1 are grey.
    metadata : frame, mapping of columns or path, optional
        Shown in tooltips; numbers and categories can also be colours. Matched by name if a pandas index or a
        column ``name`` holds names, otherwise one line per row.
    edges : graph, Affinity, sparse matrix, pairs, or path, optional
        Edges to draw on request. A page holds at most ``max_edges``, the heaviest.
    coordinates : array of shape (n, 2), optional
        An existing layout, instead of ``method``; context points after the rows.
    method : {"auto", "pca", "tsne", "opentsne", "umap"}
        Layout, as in :meth:`Embedding.layout`.
    n_neighbors : int, optional
        Nearest neighbours kept for each item; by default 10 up to 100,000 items, none above.
    communities : bool, optional
        Whether to detect communities as another colour; by default up to 20,000 items.
    times : array of shape (n,), optional
        A number or date for each item, for the slider (default: the times of an embedding of contacts).
    sides : two str
        Names of the two sides, such as ``("customers", "articles")``.
    title : str, optional
        By default the name of the data.
    theme : {"auto", "light", "dark"}
        "auto" follows the reader's system.
    max_edges : int
        By default 50,000.
    random_state : int or None
        Seed of the layout and of the communities.
    options
        Others are passed on to the layout.

    Returns
    -------
    Map

    Examples
    --------
    >>> import numpy as np, softvec
    >>> emb = softvec.Embedding(np.eye(4), ["ada", "bob", "cyd", "dan"])
    >>> emb.map(["x", "x", "y", "y"], method="pca")
    Map(4 points by PCA)
    """
    own, others = split_options(MapOptions, options)
    choice("theme", own.theme, ("auto", "light", "dark"))
    if len(embedding) == 0:
        raise InputError("nothing to map: the embedding has no vectors")
    side_names = gather.check_sides(own.sides)
    names, cut = gather.shown_names(embedding)
    moments, items = gather.find_times(embedding, own.times)
    columns = _columns(embedding, labels, own, names, moments)
    graph = None if own.edges is None else gather.find_edges(embedding, own.edges)
    both = gather.both_sides(embedding)
    Z, layout = layout_of(both, own.coordinates, own.method, own.random_state, others)
    if own.coordinates is None:
        Z = separated(Z, _radii(Z))
    k, notes = _number_of_neighbours(own.n_neighbors, len(names))
    if cut:
        notes.append(f"{counted(cut, 'name')} longer than {gather.MAX_TEXT} characters truncated.")
    if graph is not None and len(graph.source) > own.max_edges:
        notes.append(f"Only the strongest {own.max_edges:,} of {len(graph.source):,} edges are drawn.")
    subtitle = ", ".join([f"{embedding.n_components} dimensions", *([layout] if layout else [])])
    content = Content(
        names, Z, len(embedding), _title(embedding, own.title), subtitle, layout or "given coordinates",
        sizes=_sizes(embedding, len(names)), sides=side_names, columns=columns,
        neighbours=gather.find_neighbours(embedding, k), edges=graph, max_edges=own.max_edges,
        times=moments, items=items, notes=notes,
    )  # fmt: skip
    return Map(content, own.theme)


def _columns(
    embedding: Embedding, labels: Any, own: MapOptions, names: list[str], times: Any
) -> list[Column]:
    """Return the columns; the first one colours the map by default."""
    clusters, columns = isinstance(labels, str), []
    if clusters:
        choice("labels", labels, ("clusters",))
    if labels is not None and not clusters:
        title = getattr(labels, "name", None)  # of a pandas Series
        title = title if isinstance(title, str) and title else "label"
        columns.append(label_column(title, labels_of(embedding, labels)))
    columns += _communities(embedding, own, names, clusters)
    if own.metadata is not None:
        columns += metadata_columns(embedding, own.metadata)
    if embedding.sizes is not None:
        columns.append(number_column("size", _sizes(embedding, len(names), np.nan)))
    if times is not None:
        columns.append(_time_column(times))
    headings = distinct_names(column.name for column in columns)
    return [replace(column, name=heading) for column, heading in zip(columns, headings)]


def _communities(embedding: Embedding, own: MapOptions, names: list[str], asked: bool) -> list[Column]:
    """Return the column of detected communities; by default if asked for, or for few items."""
    both = gather.both_sides(embedding)
    few = asked or len(both) <= gather.AUTO_COMMUNITIES
    if not (few if own.communities is None else own.communities) or len(both) < 2:
        return []
    with warnings.catch_warnings():
        if not asked:  # without any groups the map has one colour
            warnings.simplefilter("ignore")
        groups = both.cluster(random_state=own.random_state)
    titles = titles_of_groups(embedding, groups, both.vectors, names, n_names=2)
    return [replace(label_column("community", groups.tolist()), titles=tuple(titles))]


def _time_column(times: Any) -> Column:
    """Return times, or dates as seconds since 1970."""
    dated = times.dtype.kind == "M"
    return replace(number_column("time", times.astype(np.int64) / 1e6 if dated else times), dated=dated)


def _number_of_neighbours(n_neighbors: int | None, n: int) -> tuple[int, list[str | Message]]:
    if n_neighbors is not None:
        return integer("n_neighbors", n_neighbors, 0), []
    if n <= gather.AUTO_NEIGHBORS:
        return 10, []
    text = f"No neighbours kept for more than {gather.AUTO_NEIGHBORS:,} items; pass "
    return 0, [Message(text, Option("n_neighbors", 10), ".")]


def _radii(Z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the radii of points of mean size, as painter.js draws them where 600 pixels are free."""
    pixels = np.clip(48 / len(Z) ** 0.33, 0.62, 9)
    return np.full(len(Z), pixels / 600 * np.ptp(Z, axis=0).max())


def _sizes(embedding: Embedding, n: int, unknown: float | None = None) -> Any:
    """Return the sizes of rows; context items, whose size is unknown, get that value, or the median."""
    if embedding.sizes is None:
        return None
    unknown = np.median(embedding.sizes) if unknown is None else unknown
    return np.concatenate([embedding.sizes, np.full(n - len(embedding), unknown)])


def _title(embedding: Embedding, title: str | None) -> str:
    if title is not None:
        return shorten(str(title))
    source = recorded(embedding, "data").get("source")
    return shorten(str(source)) if source else "Map of vectors"
