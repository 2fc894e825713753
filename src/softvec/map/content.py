"""The contents of a map, as arrays: gathered from an embedding, then packed into a page or exported."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softvec.affinity.features import without_self
from softvec.core.checks import recorded
from softvec.core.dates import to_dates
from softvec.core.errors import InputError, Message
from softvec.map.columns import MAX_TEXT, Column, all_names, shorten
from softvec.names import Names

if TYPE_CHECKING:
    from softvec.embedding import Embedding

MAX_EDGES = 50_000  # drawn in a page; more would be a grey blot, and slow on a phone
AUTO_NEIGHBORS = 100_000  # items up to which neighbours are searched by default: half a minute
AUTO_COMMUNITIES = 20_000  # items up to which communities are detected by default: a few seconds


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Nearest items of the items ``start, start + 1, ...``: ids and cosines of shape (count, k)."""

    kind: str  # "same" side or the "other" one
    start: int
    ids: NDArray[np.int64]
    cosines: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges between items by number; undirected ones once."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[np.float64] | None
    directed: bool


@dataclass(frozen=True, eq=False)
class Content:
    """Contents of a map.

    Attributes
    ----------
    names : list of str
        One per point, as shown: a pair ``("ada", 3)`` is ``ada@3``.
    coordinates : ndarray of shape (n, 2)
    first_context : int
        Number of the first point of the second side; n if there is one side.
    sizes : ndarray of shape (n,) or None
        Size of each item: a degree, a word count.
    columns : list of Column
    neighbours : list of Neighbours
    edges : Edges or None
    times, items : ndarrays or None
        For temporal embeddings: the time of each point (a number or a date), and the number of its item.
    notes : list of str or Message
        Remarks on what the map leaves out.
    """

    names: list[str]
    coordinates: NDArray[np.floating]
    first_context: int
    title: str
    subtitle: str
    method: str
    sizes: NDArray[np.floating] | None = None
    sides: tuple[str, str] = ("rows", "context")
    columns: list[Column] = field(default_factory=list)
    neighbours: list[Neighbours] = field(default_factory=list)
    edges: Edges | None = None
    max_edges: int = MAX_EDGES
    times: NDArray[np.floating] | NDArray[np.datetime64] | None = None
    items: NDArray[np.integer] | None = None
    notes: list[str | Message] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.names)


def shown_names(embedding: Embedding) -> tuple[list[str], int]:
    """Return the names as text, long ones cut, and the number of these."""
    texts = [
        "@".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in all_names(embedding)
    ]
    long = sum(len(text) > MAX_TEXT for text in texts)
    return ([shorten(text) for text in texts] if long else texts), long


def both_sides(embedding: Embedding) -> Embedding:
    """Return rows and context as one embedding with numbers for names, or the embedding itself."""
    if embedding.context_vectors is None:
        return embedding
    return type(embedding)(np.vstack([embedding.vectors, embedding.context_vectors]), copy=False)


def find_neighbours(embedding: Embedding, k: int) -> list[Neighbours]:
    """Return the k nearest items of each item, on its own side and, if there is one, on the other."""
    if k < 1 or len(embedding) == 0:
        return []
    X, Y = embedding.vectors, embedding.context_vectors
    sides = [("rows", X, 0)] + ([("context", Y, len(X))] if Y is not None and len(Y) else [])
    blocks = []
    for (own, V, start), (among, _, first) in product(sides, sides):
        ids, cosines = embedding.nearest(V, k + (own == among), among=among)
        if own == among:
            ids, cosines = without_self(ids, cosines)
        kind = "same" if own == among else "other"
        blocks.append(Neighbours(kind, start, ids.astype(np.int64) + first, cosines))
    return sorted((block for block in blocks if block.ids.shape[1]), key=lambda block: block.kind == "other")


def find_times(embedding: Embedding, times: Any) -> tuple[Any, Any]:
    """Return the time of each point and its item, or two Nones.

    By default the times are those of an embedding of contacts, whose names are (item, time).
    """
    if times is not None:
        n = len(embedding) + len(embedding.context_names or ())
        return _given_times(times, n), None
    if recorded(embedding, "data").get("kind") != "temporal":
        return None, None
    names = all_names(embedding)
    if not all(isinstance(name, tuple) and len(name) == 2 for name in names):
        return None, None
    values = _as_times([name[1] for name in names])  # type: ignore[index]
    if values is None:
        return None, None
    items: dict[Any, int] = {}
    codes = np.array([items.setdefault(name[0], len(items)) for name in names])  # type: ignore[index]
    return values, codes


def _as_times(values: list[Any]) -> Any:
    """Return values as dates or numbers, or None."""
    dates = to_dates(values)
    try:
        return np.array([float(value) for value in values]) if dates is None else dates
    except (TypeError, ValueError):
        return None


def _given_times(times: Any, n: int) -> Any:
    flat = np.asarray(times).reshape(-1)
    values = _as_times((flat.astype("M8[us]") if flat.dtype.kind == "M" else flat).tolist())
    if values is None:
        raise InputError("times must hold numbers or dates")
    if len(values) != n or not np.isfinite(values).all():
        raise InputError(
            f"times has {len(values):,} entries for {n:,} items; expected one finite number or date each"
        )
    return values


def find_edges(embedding: Embedding, edges: Any) -> Edges:
    """Return edges as pairs of point numbers, from a graph, an affinity, a matrix, pairs, or a file."""
    from softvec.affinity import as_affinity

    affinity = as_affinity(edges)
    matrix = affinity.matrix.tocoo()
    n = len(embedding)
    source = _points(affinity.rows, embedding.names, 0)
    if affinity.symmetric:
        target = source
    else:
        second = embedding.context_names if embedding.context_names is not None else embedding.names
        target = _points(affinity.columns, second, n if second is embedding.context_names else 0)
    i, j = source[matrix.row], target[matrix.col]
    directed = bool(affinity.details.get("directed", False))
    keep = (i >= 0) & (j >= 0)
    if affinity.symmetric and not directed:
        keep &= i <= j
    unknown = int(((i < 0) | (j < 0)).sum())
    if unknown:
        warnings.warn(f"{unknown:,} entries of edges name items without a vector", stacklevel=4)
    weighted = affinity.counts is not None and affinity.counts.dtype != bool
    weight = matrix.data[keep].astype(np.float64) if weighted else None
    return Edges(i[keep], j[keep], weight, directed)


def _points(ends: Names, items: Names, offset: int) -> NDArray[np.int64]:
    """Return the point number of each end of an edge, -1 if it is not an item."""
    numbers = np.arange(len(ends), dtype=np.int64) + offset
    if ends == items:
        return numbers
    points = np.array([items.index(end) + offset if end in items else -1 for end in ends], dtype=np.int64)
    if len(points) and (points < 0).all():
        if len(ends) == len(items) and ends == Names.range(len(ends)):
            return numbers  # a matrix without names: row i is item i
        raise InputError(
            f"edges: none of the {len(ends):,} names is an item of the embedding "
            f"(first: {ends[0]!r}; items have names such as {items[0]!r})"
        )
    return points


def strongest(edges: Edges, most: int, sizes: NDArray[np.floating] | None) -> NDArray[np.int64]:
    """Return which edges to draw: all, or the heaviest, or those between the largest items."""
    if len(edges.source) <= most:
        return np.arange(len(edges.source))
    if edges.weight is not None:
        key = edges.weight
    elif sizes is not None and len(sizes) > max(edges.source.max(), edges.target.max()):
        key = np.minimum(sizes[edges.source], sizes[edges.target])
    else:
        key = np.zeros(len(edges.source))
    return np.sort(np.argsort(-key, kind="stable")[:most])


def check_sides(sides: Sequence[str]) -> tuple[str, str]:
    """Return the names of the two sides."""
    if isinstance(sides, str) or len(sides) != 2:
        raise InputError(f"sides is {sides!r}; expected two names, such as ('customers', 'articles')")
    return shorten(str(sides[0])), shorten(str(sides[1]))
