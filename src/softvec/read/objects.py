"""Graphs and edges from objects of other libraries, recognised by their attributes, without imports."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from softvec.core.dates import has_zone, to_dates
from softvec.core.errors import InputError, Option, guess
from softvec.core.resources import available_memory
from softvec.core.untrusted import one_line
from softvec.names.storage import plain
from softvec.read.columns import check_weights
from softvec.read.edges import EdgeBuilder, Edges
from softvec.read.table import is_missing

_BATCH = 100_000  # rows of an iterable encoded at a time
_BYTES_OF_A_PAIR = 16  # two codes, and a weight or time
_DROP = Option("missing", "drop")


@dataclass(frozen=True)
class Graph:
    """A matrix with names; ``directed`` is None if unknown.

    ``parallel`` edges of a multigraph are summed in the matrix, which holds their ``counts`` without weights.
    """

    matrix: Any
    names: Any = None
    directed: bool | None = None
    column_names: Any = None
    parallel: int = 0
    counts: bool = False


def kind_of_object(data: Any) -> str:
    """Return the kind of an object that is no table: a matrix, a graph, texts, or pairs."""
    told = getattr(data, "data_kind", None)  # of edges, contacts and corpora
    if isinstance(told, str):
        return told
    if sparse.issparse(data):
        return "graph" if data.shape[0] == data.shape[1] else "bipartite"
    if isinstance(data, np.ndarray) and data.ndim == 2:
        return _kind_of_array(data)
    return _kind_of_list(data) if isinstance(data, list | tuple) and data else "graph"


def _kind_of_list(data: Sequence[Any]) -> str:
    """Return the kind of a list: of texts or words, of lists of numbers, or of pairs."""
    first, n = data[0], len(data)
    if isinstance(first, str):
        return "corpus"
    if not isinstance(first, list) or len(first) <= 3:
        return "graph"
    if len(first) == n and isinstance(first[0], int | float):
        text = f"{n} lists of {n} numbers may be a matrix or points; "
        raise InputError(text, "pass numpy.array(data), or ", Option("kind", "features"))
    return "corpus" if all(isinstance(word, str) for word in first) else "features"


def is_edge_array(data: Any) -> bool:
    """Whether an array looks like a list of edges, not a matrix: names, or whole numbers and a weight."""
    if not isinstance(data, np.ndarray) or data.ndim != 2 or data.shape[0] == data.shape[1]:
        return False
    if data.shape[1] not in (2, 3) or data.dtype.kind not in "iufUSO":
        return False
    if data.dtype.kind in "USO" or (data.dtype.kind in "iu" and data.shape[1] == 2):
        return True
    ends = data[:, :2]
    return len(data) > 3 and bool(np.all(ends >= 0) and np.all(ends == np.round(ends)))


def _kind_of_array(data: np.ndarray) -> str:
    if is_edge_array(data):
        if data.dtype.kind == "f" or (data.shape[1] == 3 and data.dtype.kind in "iu"):
            text = f"an array of {data.shape[1]} columns, the first two of whole numbers, is read as edges; "
            guess(text, Option("kind", "features"), " if its rows are points")
        return "graph"
    if data.shape[0] == data.shape[1]:
        return "graph"
    if data.shape[0] == 2 and data.shape[1] > 3 and data.dtype.kind in "iu":
        guess(
            "an array of 2 rows is read as a matrix of 2 items; if its columns are edges, as in an "
            "edge_index, pass its transpose"
        )
    return "bipartite" if data.dtype.kind in "iub" and not (data < 0).any() else "features"


def is_networkx(data: Any) -> bool:
    return type(data).__module__.split(".")[0] == "networkx" or (
        hasattr(data, "is_directed") and hasattr(data, "is_multigraph") and hasattr(data, "adjacency")
    )


def is_igraph(data: Any) -> bool:
    return all(hasattr(data, name) for name in ("get_edgelist", "vcount", "is_directed", "vs", "es"))


def is_torch_geometric(data: Any) -> bool:
    return hasattr(data, "edge_index") and (hasattr(data, "num_nodes") or hasattr(data, "edge_weight"))


def is_anndata(data: Any) -> bool:
    return all(hasattr(data, name) for name in ("obs_names", "var_names", "X"))


def from_anndata(data: Any, key: str = "connectivities") -> Graph:
    """Return a graph of the observations of an AnnData."""
    if not is_anndata(data):
        raise InputError(f"key is {key!r}, but {type(data).__name__} is not an AnnData; leave it out")
    graphs = getattr(data, "obsp", None) or {}
    if key in graphs and key.endswith("distances"):
        raise InputError(
            f"obsp[{key!r}] holds distances, but affinities are large where items are close; pass ",
            Option("key", key.removesuffix("distances") + "connectivities"),
            " or ",
            Option("kind", "features"),
        )
    if key in graphs:
        return Graph(graphs[key], list(data.obs_names))
    if not graphs:
        raise InputError(
            "the AnnData has no graph in obsp; run scanpy.pp.neighbors, or ", Option("kind", "features")
        )
    known = ", ".join(map(repr, sorted(graphs)))
    raise InputError(
        f"the AnnData has no obsp[{key!r}]; expected ",
        Option("key", ...),
        f" one of {known}, or ",
        Option("kind", "features"),
    )


def kind_of_anndata(data: Any, key: str | None) -> str:
    """Return the kind of an AnnData: the graph of its neighbours if it has one, else features."""
    if key is not None:
        return "graph"
    if "connectivities" in (getattr(data, "obsp", None) or {}):
        guess(
            "the AnnData is read as the graph obsp['connectivities']; ",
            "pass ", Option("key", ...), " for another graph, or ", Option("kind", "features"), " for X"
        )  # fmt: skip
        return "graph"
    guess("the AnnData is read as the features X; ", Option("kind", "bipartite"), " takes X as counts")
    return "features"


def from_networkx(graph: Any, weight: Any = None, told: bool = False) -> Graph:
    """Return the matrix of a networkx graph; ``told``: whether the user set ``weighted``."""
    import networkx as nx

    if len(graph) == 0:
        raise InputError("the networkx graph has no nodes")
    counts: dict[Any, int] = {}
    held: set[Any] = set()
    for _, _, data in graph.edges(data=True):
        held.update(data)
        for key, value in data.items():
            if isinstance(value, int | float | np.number):
                counts[key] = counts.get(key, 0) + 1
    key = "weight" if weight is None else weight
    if any(value is None for _, _, value in graph.edges(data=key, default=1)):
        raise InputError(f"the networkx graph has edges whose {key} is None; give them a number or delete it")
    used = _weight_attribute(weight, held, counts, graph.number_of_edges(), told)
    try:
        matrix = nx.to_scipy_sparse_array(graph, weight=used, dtype=float, format="csr")
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the networkx graph has an edge whose {used} is not a number: {one_line(error)}"
        ) from error
    parallel = _parallel(matrix, graph.number_of_edges(), graph.is_directed())
    return Graph(matrix, list(graph.nodes), graph.is_directed(), parallel=parallel, counts=used is None)


def two_sided(graph: Graph, nodes: Any) -> Graph:
    """Return a bipartite networkx graph as a matrix: its nodes have the attribute ``bipartite``, 0 or 1."""
    sides = [data.get("bipartite") for _, data in nodes]
    if set(sides) != {0, 1}:
        raise InputError(
            "the networkx graph does not tell its two sides; set the node attribute bipartite to 0 and 1 "
            "(networkx.bipartite.sets finds them), or pass a list of (row, column)"
        )
    rows, columns = np.flatnonzero(np.array(sides) == 0), np.flatnonzero(np.array(sides) == 1)
    matrix = graph.matrix.tocsr()
    if matrix[rows][:, rows].nnz or matrix[columns][:, columns].nnz:
        raise InputError("the networkx graph has edges within one side of its bipartition; correct bipartite")
    ways = matrix[rows][:, columns]
    if graph.directed:
        ways = ways + matrix[columns][:, rows].T
    names = [[graph.names[at] for at in side] for side in (rows, columns)]
    return Graph(ways, names[0], None, names[1])


def _parallel(matrix: Any, n_edges: int, directed: bool) -> int:
    """Return how many edges join the same nodes as another."""
    loops = int(
        np.count_nonzero(
            matrix.indices == np.repeat(np.arange(len(matrix.indptr) - 1), np.diff(matrix.indptr))
        )
    )
    return n_edges - (matrix.nnz if directed else (matrix.nnz + loops) // 2)


def from_igraph(graph: Any, weight: Any = None, told: bool = False) -> Graph:
    """Return the matrix of an igraph graph; ``told``: whether the user set ``weighted``."""
    n = graph.vcount()
    pairs = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    held = set(graph.es.attributes())
    counts = {key: sum(isinstance(v, int | float | np.number) for v in graph.es[key]) for key in held}
    used = _weight_attribute(weight, held, {k: c for k, c in counts.items() if c}, len(pairs), told)
    try:
        values = np.ones(len(pairs)) if used is None else np.array(graph.es[used], dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"the igraph graph has an edge whose {used} is not a number: {error}") from error
    i, j = pairs.T
    if not graph.is_directed():
        mirror = i != j
        i, j = np.concatenate([i, j[mirror]]), np.concatenate([j, i[mirror]])
        values = np.concatenate([values, values[mirror]])
    matrix = sparse.coo_array((values, (i, j)), shape=(n, n)).tocsr()
    names = graph.vs["name"] if "name" in graph.vs.attributes() else None
    parallel = _parallel(matrix, len(pairs), graph.is_directed())
    return Graph(matrix, names, graph.is_directed(), parallel=parallel, counts=used is None)


def _weight_attribute(
    weight: Any, held: set[Any], counts: Mapping[Any, int], n_edges: int, told: bool
) -> Any:
    """Return the edge attribute that holds the weights, or None."""
    if weight is not None:
        if weight not in held:
            known = ", ".join(sorted(map(str, counts))) or "none with numbers"
            raise InputError(f"weight is {weight!r}, but no edge has it; attributes of edges: {known}")
        if counts.get(weight, 0) < n_edges:
            raise InputError(
                f"weight is {weight!r}, but {n_edges - counts.get(weight, 0):,} of {n_edges:,} edges have no "
                "number there"
            )
        return weight
    if "weight" in held:
        if 0 < counts.get("weight", 0) < n_edges and not told:
            lacking = n_edges - counts["weight"]
            guess(
                f"{lacking:,} of {n_edges:,} edges have no weight and get weight 1; ",
                Option("weighted", False),
                " for all",
            )
        return "weight"
    if counts and not told:
        shown = ", ".join(sorted(map(str, counts))[:4])
        guess(
            f"no weights are used, though edges have {shown}; name one with ",
            Option("weight", ...),
            ", or ",
            Option("weighted", False),
        )
    return None


def from_torch_geometric(data: Any) -> Graph:
    index = _numpy(data.edge_index)
    if index.ndim != 2 or index.shape[0] != 2:
        raise InputError(f"edge_index has shape {index.shape}; expected (2, number of edges)")
    n = getattr(data, "num_nodes", None)
    n = int(index.max()) + 1 if n is None else int(n)
    if index.size and not 0 <= index.min() <= index.max() < n:
        raise InputError(f"edge_index names the nodes {index.min()} to {index.max()}, but num_nodes is {n}")
    weight = getattr(data, "edge_weight", None)
    if weight is None and getattr(data, "edge_attr", None) is not None:
        guess("edge_attr is not used as the weight; set edge_weight if it is one")
    values = np.ones(index.shape[1]) if weight is None else _numpy(weight).reshape(-1).astype(float)
    matrix = sparse.coo_array((values, (index[0], index[1])), shape=(n, n)).tocsr()
    return Graph(matrix)


def _numpy(tensor: Any) -> np.ndarray:
    for step in ("detach", "cpu", "numpy"):
        tensor = getattr(tensor, step)() if hasattr(tensor, step) else tensor
    return np.asarray(tensor)


def edges_of_array(array: np.ndarray, builder: EdgeBuilder) -> Edges:
    """Return the edges in an array with the columns [time,] source, target[, weight]."""
    least = 3 if builder.timed else 2
    if array.ndim != 2 or array.shape[1] not in (least, least + 1):
        raise InputError(f"an array of edges has {least} or {least + 1} columns, not shape {array.shape}")
    if array.dtype.kind not in "iuf":
        return edges_of_rows(array.tolist(), builder)
    gaps = np.isnan(array).any(axis=1)
    if gaps.any() and builder.missing == "error":
        raise InputError(f"edge {int(np.argmax(gaps))} has a missing value; fill it in, or pass ", _DROP)
    builder.incomplete, array = int(gaps.sum()), array[~gaps]
    ids: Any = array[:, least - 2 : least]
    if ids.dtype.kind == "f" and np.all(ids == np.round(ids)) and np.all(np.abs(ids) < 2**53):
        ids = ids.astype(np.int64)  # floats only because of the weights
    sides = [ids[:, :1], ids[:, 1:]] if builder.two_sided else [ids]
    weights = None
    if array.shape[1] == least + 1:
        weights = array[:, least].astype(float)
        check_weights(weights, builder.negative, lambda row: f"edge {row}")
    builder.add(sides, weights, array[:, 0] if builder.timed else None)
    return builder.finish()


def edges_of_rows(rows: Iterable[Any], builder: EdgeBuilder) -> Edges:
    """Return the edges in an iterable of (i, j) or (i, j, weight); timed: (t, i, j) or (t, i, j, weight)."""
    least, most = 3 if builder.timed else 2, (available_memory() or 2**62) // _BYTES_OF_A_PAIR
    for batch in _batches(rows, least, builder):
        times = _float_column(batch, 0, "time") if builder.timed else None
        values = _float_column(batch, least, "weight") if len(batch[0][1]) > least else None
        if values is not None:
            check_weights(values, builder.negative, lambda row, batch=batch: f"item {batch[row][0]}")  # type: ignore[misc]
        ends = [(plain(row[least - 2]), plain(row[least - 1])) for _, row in batch]
        _check_ends(batch, ends)
        sides = [[pair[:1] for pair in ends], [pair[1:] for pair in ends]] if builder.two_sided else [ends]
        builder.add(sides, values, times, has_zone(batch[0][1][0]))
        if batch[-1][0] >= most:
            raise InputError(
                f"more than {most:,} pairs in the iterable take more than the memory available; write them "
                "to a file, or stop a generator that has no end"
            )
    return builder.finish()


def _check_ends(batch: list[Any], ends: list[tuple[Any, Any]]) -> None:
    """Raise an error for the first pair that lacks an end; say that ids are decimals."""
    if {type(end) for pair in ends for end in pair} <= {str, int, tuple}:
        return  # an empty text is refused later
    if any(isinstance(end, float) and end % 1 == 0 for pair in ends for end in pair):
        guess("ids are decimals, such as 1.0, and so are the names; convert them to integers")
    for (at, row), pair in zip(batch, ends):
        if any(map(is_missing, pair)):
            raise InputError(f"item {at} is {row!r}, which lacks an end; fill it in, or pass ", _DROP)


def _batches(rows: Iterable[Any], least: int, builder: EdgeBuilder) -> Iterator[list[tuple[int, Any]]]:
    """Yield rows in batches, with positions; raise an error for one that has not the size of the first."""
    iterator, size = enumerate(rows), None
    while batch := list(itertools.islice(iterator, _BATCH)):
        for at, row in batch:
            if isinstance(row, str) or not isinstance(row, Sequence | np.ndarray):
                raise InputError(
                    f"item {at} is {row!r}; expected a tuple of {least} or {least + 1} entries",
                    *_words_hint(row),
                )
            size = len(row) if size is None else size
            if len(row) != size or not least <= size <= least + 1:
                raise InputError(
                    f"item {at} is {row!r}, of {len(row)} entries; expected {least}, or {least + 1} "
                    "with a weight, and as many as in the first",
                    *_words_hint(row),
                )
        if builder.missing == "drop":
            complete = [(at, row) for at, row in batch if not any(map(is_missing, row))]
            builder.incomplete += len(batch) - len(complete)
            batch = complete
        if batch:
            yield batch


def _words_hint(row: Any) -> tuple[str | Option, ...]:
    """Return a hint if a row is a list of words, which other libraries accept as text, or a set."""
    if not isinstance(row, list | set | frozenset) or not all(isinstance(word, str) for word in row):
        return ()
    text = (
        ("; if these are words of a text, pass ", Option("kind", "corpus")) if isinstance(row, list) else ()
    )
    return (*text, "; if these are sets, pass ", Option("kind", "sets"))


def _float_column(batch: list[tuple[int, Any]], at: int, role: str) -> np.ndarray:
    values = [row[at] for _, row in batch]
    dates = to_dates(values) if role == "time" else None
    if dates is not None:
        return dates
    if role == "time" and np.array(values).dtype.kind in "iu":
        return np.array(values)
    for k, value in enumerate(values):
        try:
            values[k] = float(value)
        except (TypeError, ValueError):
            dated = " or a date such as 2024-03-01T09:00" if role == "time" else ""
            k = next((j for j in range(k, len(values)) if is_missing(values[j])), k)
            hint = ("; fill it in, or pass ", _DROP) if is_missing(values[k]) else _words_hint(batch[k][1])
            text = f"item {batch[k][0]} is {batch[k][1]!r}; its {role} is not a number{dated}"
            raise InputError(text, *hint) from None
    return np.array(values)
