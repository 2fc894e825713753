"""Graphs and tables of other libraries, recognised by what they offer, never by import."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from softvec.core.errors import InputError
from softvec.core.untrusted import one_line
from softvec.names import Labels
from softvec.read.columns import add_table, check_weights, find_columns, to_arrow
from softvec.read.edges import EdgeBuilder, Edges

_BATCH = 100_000  # rows of an iterable coded at a time


@dataclass(frozen=True)
class Graph:
    """A matrix with names, as another library hands it over; ``directed`` is None where it cannot say."""

    matrix: Any
    names: Any = None
    directed: bool | None = None
    column_names: Any = None


def is_networkx(data: Any) -> bool:
    return type(data).__module__.split(".")[0] == "networkx" or (
        hasattr(data, "is_directed") and hasattr(data, "is_multigraph") and hasattr(data, "adjacency")
    )


def is_igraph(data: Any) -> bool:
    return all(hasattr(data, name) for name in ("get_edgelist", "vcount", "is_directed", "vs", "es"))


def is_torch_geometric(data: Any) -> bool:
    return hasattr(data, "edge_index") and (hasattr(data, "num_nodes") or hasattr(data, "edge_weight"))


def is_frame(data: Any) -> bool:
    """Whether data is a pandas or polars frame, an Arrow table, or a mapping of columns."""
    if isinstance(data, Mapping):
        return bool(data) and all(hasattr(column, "__len__") for column in data.values())
    return (hasattr(data, "columns") and hasattr(data, "dtypes")) or hasattr(data, "column_names")


def from_networkx(graph: Any, weight: str | None = "weight") -> Graph:
    import networkx as nx

    if len(graph) == 0:
        raise InputError("the networkx graph has no nodes")
    try:
        matrix = nx.to_scipy_sparse_array(graph, weight=weight, dtype=float, format="csr")
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the networkx graph has an edge whose {weight} is no number: {one_line(error)}"
        ) from error
    return Graph(matrix, list(graph.nodes), graph.is_directed())


def from_igraph(graph: Any, weight: str | None = "weight") -> Graph:
    n = graph.vcount()
    pairs = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    weighted = weight is not None and weight in graph.es.attributes()
    values = np.array(graph.es[weight], dtype=float) if weighted else np.ones(len(pairs))
    i, j = pairs.T
    if not graph.is_directed():
        mirror = i != j
        i, j = np.concatenate([i, j[mirror]]), np.concatenate([j, i[mirror]])
        values = np.concatenate([values, values[mirror]])
    matrix = sparse.coo_array((values, (i, j)), shape=(n, n)).tocsr()
    names = graph.vs["name"] if "name" in graph.vs.attributes() else None
    return Graph(matrix, names, graph.is_directed())


def from_torch_geometric(data: Any) -> Graph:
    index = _numpy(data.edge_index)
    if index.ndim != 2 or index.shape[0] != 2:
        raise InputError(f"edge_index has shape {index.shape}; expected (2, number of edges)")
    n = getattr(data, "num_nodes", None)
    n = int(index.max()) + 1 if n is None else int(n)
    if index.size and not 0 <= index.min() <= index.max() < n:
        raise InputError(f"edge_index names the nodes {index.min()} to {index.max()}, but num_nodes is {n}")
    weight = getattr(data, "edge_weight", None)
    values = np.ones(index.shape[1]) if weight is None else _numpy(weight).reshape(-1).astype(float)
    matrix = sparse.coo_array((values, (index[0], index[1])), shape=(n, n)).tocsr()
    return Graph(matrix)


def _numpy(tensor: Any) -> np.ndarray:
    for step in ("detach", "cpu", "numpy"):
        tensor = getattr(tensor, step)() if hasattr(tensor, step) else tensor
    return np.asarray(tensor)


def frame_columns(frame: Any) -> dict[Any, Any]:
    """Return the columns of a frame by name, in order."""
    if isinstance(frame, Mapping):
        lengths = {name: len(column) for name, column in frame.items()}
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{name!r}: {length:,}" for name, length in list(lengths.items())[:3])
            raise InputError(
                f"a mapping is read as a table, but its columns differ in length ({shown}); "
                "a mapping of nodes to neighbours: networkx.Graph(mapping)"
            )
        return dict(frame)
    if hasattr(frame, "column_names"):  # Arrow
        return {name: frame.column(i) for i, name in enumerate(frame.column_names)}
    if hasattr(frame, "iloc"):  # pandas: names may repeat or be numbers
        return {name: frame.iloc[:, i] for i, name in enumerate(frame.columns)}
    return {name: frame[name] for name in frame.columns}


def square_frame(frame: Any) -> Graph | None:
    """Return a frame that is a square table of numbers as a matrix, or None."""
    if isinstance(frame, Mapping) or hasattr(frame, "column_names"):
        return None
    names = list(frame.columns)
    rows = len(frame)
    if hasattr(frame, "index"):
        numeric = all(dtype.kind in "fiub" for dtype in frame.dtypes if hasattr(dtype, "kind"))
        same = rows == len(names) and (list(frame.index) == names or rows > 3)
        if numeric and same and all(hasattr(dtype, "kind") for dtype in frame.dtypes):
            return Graph(frame.to_numpy(), names)
        return None
    numbers = [bool(dtype.is_numeric()) for dtype in frame.dtypes]
    if rows == len(names) and rows > 3 and all(numbers):
        return Graph(frame.to_numpy(), names)
    titled = rows == len(names) - 1 and not numbers[0] and all(numbers[1:])
    if titled and frame[names[0]].to_list() == names[1:]:  # the first column repeats the header
        return Graph(frame[:, 1:].to_numpy(), names[1:])
    return None


def edges_of_frame(
    frame: Any, *, columns: Any = None, two_sided: bool = False, negative: str = "error", timed: bool = False
) -> Edges:
    """Return the edges in a frame, its columns found by name or position."""
    table = frame_columns(frame)
    header = list(table)
    if timed and columns is not None and not isinstance(columns, Mapping):
        columns = dict(zip(("time", "source", "target", "weight"), columns))
    numeric = [_is_numeric(column) for column in table.values()]
    roles = find_columns(header, len(header), numeric, columns, "the frame")
    if timed and "time" not in roles:
        if len(header) < 3 or columns is not None:
            raise InputError(f"the frame has no time column among {header}; name it with columns=")
        roles = dict(zip(("time", "source", "target", "weight"), range(len(header))))
    if not timed:
        roles.pop("time", None)
    builder = EdgeBuilder(two_sided, negative)
    values = list(table.values())
    add_table(builder, {role: values[at] for role, at in roles.items()}, where="the frame")
    return builder.finish()


def _is_numeric(column: Any) -> bool:
    import pyarrow as pa

    array = to_arrow(column)
    if isinstance(array, list):
        return False
    return pa.types.is_integer(array.type) or pa.types.is_floating(array.type)


def edges_of_array(
    array: np.ndarray, *, two_sided: bool = False, negative: str = "error", timed: bool = False
) -> Edges:
    """Return the edges in an array of two columns, or three with weights; a time stands before them."""
    least = 3 if timed else 2
    if array.ndim != 2 or array.shape[1] not in (least, least + 1):
        raise InputError(f"an array of edges has {least} or {least + 1} columns, not shape {array.shape}")
    ids: Any = array[:, least - 2 : least]
    if ids.dtype.kind == "f" and np.all(ids == np.round(ids)) and np.all(np.abs(ids) < 2**53):
        ids = ids.astype(np.int64)  # a float array because of its weights
    sides = [ids[:, :1], ids[:, 1:]] if two_sided else [ids]
    if ids.dtype.kind not in "iu":
        sides = [side.tolist() for side in sides]
    weights = None
    if array.shape[1] == least + 1:
        weights = array[:, least].astype(float)
        check_weights(weights, negative, lambda row: f"edge {row}")
    builder = EdgeBuilder(two_sided, negative)
    builder.add(sides, weights, array[:, 0] if timed else None)
    return builder.finish()


def edges_of_rows(
    rows: Iterable[Any],
    *,
    weights: Any = None,
    two_sided: bool = False,
    negative: str = "error",
    timed: bool = False,
) -> Edges:
    """Return the edges in an iterable of (i, j) or (i, j, weight); timed: (t, i, j) or (t, i, j, weight)."""
    builder = EdgeBuilder(two_sided, negative)
    iterator = enumerate(rows)
    extra = None if weights is None else np.asarray(weights, dtype=float)
    least = 3 if timed else 2
    size = None
    done = 0
    while batch := list(itertools.islice(iterator, _BATCH)):
        for at, row in batch:
            if isinstance(row, str) or not isinstance(row, Sequence | np.ndarray):
                raise InputError(f"item {at} is {row!r}; expected a tuple of {least} or {least + 1} entries")
            size = len(row) if size is None else size
            if len(row) != size or not least <= size <= least + 1:
                raise InputError(
                    f"item {at} is {row!r}, of {len(row)} entries; expected {least}, or {least + 1} "
                    "with a weight, and as many as in the first"
                )
        items = [row for _, row in batch]
        times = _float_column(items, 0, "time", done) if timed else None
        values = _float_column(items, least, "weight", done) if size == least + 1 else None
        if extra is not None:
            values = extra[done : done + len(items)]
            if len(values) != len(items):
                raise InputError(f"there are {len(extra):,} weights for at least {done + len(items):,} pairs")
        if values is not None:
            start = done
            check_weights(values, negative, lambda row: f"item {start + row}")  # noqa: B023 - used at once
        left, right = least - 2, least - 1
        if two_sided:
            builder.add([[(r[left],) for r in items], [(r[right],) for r in items]], values, times)
        else:
            builder.add([[(_py(r[left]), _py(r[right])) for r in items]], values, times)
        done += len(items)
    if extra is not None and len(extra) != done:
        raise InputError(f"there are {len(extra):,} weights for {done:,} pairs")
    return builder.finish()


def _py(name: Any) -> Any:
    return name.item() if isinstance(name, np.generic) else name


def _float_column(items: list[Any], at: int, role: str, done: int) -> np.ndarray:
    try:
        values = np.array([row[at] for row in items])
        if values.dtype.kind in "iu" and role == "time":
            return values
        if values.dtype.kind == "M":
            return values.astype("datetime64[us]").astype(np.int64) / 1e6
        return np.array([float(row[at]) for row in items])
    except (TypeError, ValueError):
        for k, row in enumerate(items):
            try:
                float(row[at])
            except (TypeError, ValueError):
                raise InputError(f"item {done + k} is {row!r}; its {role} is not a number") from None
        raise


def labels_or_none(names: Any) -> Labels | None:
    """Return names as Labels."""
    return None if names is None else names if isinstance(names, Labels) else Labels(names)
