"""The Affinity: P as an operator, with the names of its rows and columns, and its facts, measured once."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.core.errors import InputError, Option
from softvec.names import Names
from softvec.operators import Operator

if TYPE_CHECKING:
    from softvec.affinity.attributes import Attributes
    from softvec.affinity.temporal import Contacts
    from softvec.affinity.types import Types

logger = logging.getLogger("softvec")
# Neighbours of the end of an edge, on average, from which a graph is dense. Two steps compare nodes by the
# nodes between them, which must have enough neighbours to compare: citation graphs have 7 to 17, the paper's
# block model 29, graphs of links with hubs 60 to 550 (docs/decisions.md).
DENSE = 20.0
_MEASURED = 10_000_000  # entries up to which it is measured whether edges join unlike nodes
_EVEN = 1e-15  # smallest weight over largest: products of two weights fit into single precision above it


@dataclass(frozen=True)
class Facts:
    """Facts of an affinity.

    Attributes
    ----------
    kind : str
        Kind of data, as of :class:`softvec.affinity.Affinity`.
    n, m : int
        Rows and columns.
    entries, nbytes : int
        Stored entries of P, and the bytes they take.
    symmetric : bool
        Whether rows and columns are the same items.
    directed, weighted : bool or None
        None if the data has no edges.
    length : int
        Steps of the walk that P already is.
    links : int or None
        Entries of the matrix before normalisation; None if there is none.
    linked : int
        Rows of that matrix with an entry.
    squares : int
        Sum of the squared numbers of entries in its rows.
    weights : tuple of float or None
        Its smallest and largest value; None if it holds no values.
    unlike : bool
        Whether the edges of a sparse, undirected graph join unlike nodes.

    Examples
    --------
    >>> Facts("graph", n=4, m=4, entries=6, nbytes=24, symmetric=True, links=6, linked=4, squares=12).ends
    2.0
    """

    kind: str
    n: int
    m: int
    entries: int
    nbytes: int
    symmetric: bool
    directed: bool | None = None
    weighted: bool | None = None
    length: int = 1
    links: int | None = None
    linked: int = 0
    squares: int = 0
    weights: tuple[float, float] | None = None
    unlike: bool = False

    @classmethod
    def of(cls, affinity: Affinity) -> Facts:
        """Measure an affinity."""
        from softvec.affinity.spectrum import unlike_linked

        operator, counts = affinity.operator, affinity.counts
        links, linked, squares, weights = None, 0, 0, None
        if counts is not None:
            neighbours = np.diff(counts.indptr).astype(np.int64)
            links, linked = int(counts.nnz), int(np.count_nonzero(neighbours))
            squares = int(neighbours @ neighbours)
            if counts.dtype != bool and counts.nnz:
                weights = float(counts.data.min()), float(counts.data.max())
        facts = cls(
            affinity.kind,
            *affinity.shape,
            operator.nnz,
            operator.nbytes,
            affinity.symmetric,
            affinity.directed,
            affinity.weighted,
            int(affinity.parameters.get("length") or 1),
            links,
            linked,
            squares,
            weights,
        )
        undirected = facts.kind == "graph" and facts.symmetric and not facts.directed
        if counts is None or not undirected or facts.ends >= DENSE or counts.nnz > _MEASURED:
            return facts
        return replace(facts, unlike=unlike_linked(counts))

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.n, self.m

    @property
    def mean_neighbours(self) -> float:
        """Mean number of neighbours of the items that have any."""
        return (self.links or 0) / max(self.linked, 1)

    @property
    def ends(self) -> float:
        """Mean number of neighbours of the ends of the edges: of k neighbours, mean k^2 / mean k."""
        return self.squares / max(self.links or 0, 1)

    @property
    def even_weights(self) -> bool:
        """Whether products of two weights fit into single precision."""
        return not self.links or self.weights is None or self.weights[0] > _EVEN * self.weights[1]


@dataclass(frozen=True, eq=False, repr=False)
class Affinity:
    """A non-negative matrix P, as a linear operator, with names for rows and columns.

    Attributes
    ----------
    operator : Operator
        P, as estimators use it. Row-stochastic by default.
    rows, columns : Names
        Item names; the same object if rows and columns are the same items.
    kind : str
        Kind of data: ``"graph"``, ``"pairs"``, ``"bipartite"``, ``"temporal"``, ``"corpus"``,
        ``"features"``, ``"dense"`` or ``"operator"``.
    summary : str
        One-line description of the data.
    counts : csr_array or None
        The matrix before normalisation; boolean if unweighted. See :attr:`matrix`.
    parameters : mapping
        The settings it was built with.
    directed, weighted : bool or None
        Whether edges have a direction, and weights; None if the data has no edges.
    frequency : ndarray of int or None
        How often each word occurs in a corpus.
    contacts : Contacts or None
        The aggregated contacts of temporal data.
    error : float or None
        The relative error of a dense P that was sparsified or factorised.
    attributes : Attributes or None
        Attributes of the nodes of a graph.
    signed : csr_array or None
        The matrix of a graph whose links have signs; ``counts`` holds its absolute values.
    types : Types or None
        Types of the nodes of a graph.

    Examples
    --------
    >>> from softvec.affinity import pairs
    >>> affinity = pairs([("a", "b"), ("b", "c")])
    >>> affinity.summary
    '3 nodes, 2 edges, undirected, unweighted'
    >>> affinity.shape, affinity.rows[1]
    ((3, 3), 'b')
    """

    operator: Operator
    rows: Names
    columns: Names
    kind: str
    summary: str
    counts: sparse.csr_array | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    directed: bool | None = None
    weighted: bool | None = None
    frequency: NDArray[np.int64] | None = None
    contacts: Contacts | None = None
    error: float | None = None
    attributes: Attributes | None = None
    signed: sparse.csr_array | None = None
    types: Types | None = None

    def __post_init__(self) -> None:
        if self.operator.shape != (len(self.rows), len(self.columns)):
            raise InputError(
                f"P has shape {self.operator.shape}, but there are {len(self.rows):,} row names and "
                f"{len(self.columns):,} column names"
            )
        for names in {id(names): names for names in (self.rows, self.columns)}.values():
            names.refuse_unsaved()
        logger.info("%s", self.summary)

    @property
    def symmetric(self) -> bool:
        """Whether rows and columns are the same items, so that one set of vectors serves both."""
        return self.rows is self.columns

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.operator.shape

    @cached_property
    def facts(self) -> Facts:
        """What the data is like, measured once."""
        return Facts.of(self)

    @property
    def details(self) -> Mapping[str, Any]:
        """The fields specific to this kind of data, by name."""
        names = ("frequency", "directed", "weighted", "contacts", "error")
        return MappingProxyType({n: getattr(self, n) for n in names if getattr(self, n) is not None})

    @property
    def matrix(self) -> sparse.csr_array:
        """The matrix before normalisation (adjacency, counts) as floating CSR, a copy at each call."""
        if self.counts is None:
            raise InputError(f"this {self.kind} affinity is a linear operator; it has no matrix")
        kind = np.promote_types(self.counts.dtype, np.float32)  # bool and float32 give float32
        values = self.counts.data.astype(kind)
        return sparse.csr_array((values, self.counts.indices, self.counts.indptr), shape=self.shape)

    @property
    def sizes(self) -> NDArray[np.float64]:
        """Size of each row: its word count, or its row sum before normalisation."""
        if self.frequency is not None:
            return np.asarray(self.frequency, dtype=np.float64)
        if self.counts is None:
            return self.operator.row_sums()
        if self.counts.dtype == bool:
            return np.diff(self.counts.indptr).astype(np.float64)
        with np.errstate(over="ignore"):  # sums that overflow become the largest float
            sums = np.asarray(self.counts.sum(axis=1), dtype=np.float64).reshape(-1)
        return np.minimum(sums, np.finfo(np.float64).max)

    def __repr__(self) -> str:
        return f"<Affinity from {self.kind}: {self.summary}>"


def check_graph(affinity: Affinity, option: str) -> None:
    """Raise an error if an option of the nodes of a graph is given with other data."""
    if affinity.kind not in ("graph", "pairs") or affinity.counts is None or not affinity.symmetric:
        raise InputError(Option(option), f" are for graphs, and this is {affinity.kind} data; leave them out")


def name_sides(
    shape: tuple[int, int], names: Any, column_names: Any, two_sided: bool = False
) -> tuple[Names, Names]:
    """Return the names of rows and columns; a square matrix without names of columns has one set of items."""
    n, m = shape
    rows = name_rows(Names.range(n), names)
    one = n == m and column_names is None and not two_sided
    return rows, rows if one else name_rows(Names.range(m), column_names)


def name_rows(rows: Names, names: Any) -> Names:
    """Replace row numbers, or integer ids, by names: ``names[i]`` is the name of ``i``."""
    if names is None:
        return rows
    named = Names(names)
    if rows == Names.range(len(rows)):
        if len(named) != len(rows):
            raise InputError(f"{len(named):,} names for {len(rows):,} rows; expected one name for each row")
        return named
    ids = rows.to_numpy()
    if ids.dtype.kind not in "iu":
        raise InputError(f"the items already have names (first: {rows[0]!r}); leave out names")
    if ids.min() < 0 or ids.max() >= len(named):
        bad: Hashable = int(ids.min() if ids.min() < 0 else ids.max())
        raise InputError(f"id {bad} has no name; names are given for ids 0 to {len(named) - 1:,}")
    return named.take(ids)
