"""Graphs and tables of other libraries, recognised by what they offer, never by import."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from softvec.core.dates import to_dates
from softvec.core.errors import GuessWarning, InputError, guess
from softvec.core.untrusted import one_line
from softvec.names import Labels
from softvec.read.columns import add_table, check_weights, describe
from softvec.read.edges import EdgeBuilder, Edges
from softvec.read.kinds import ends_are_named, row_names, wide_kind
from softvec.read.roles import Layout, find_roles

_BATCH = 100_000  # rows of an iterable coded at a time
_WIDE = 64  # columns of a wide frame that tell what it is


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
    if isinstance(data, Graph):
        return False
    if isinstance(data, Mapping):
        return bool(data) and all(hasattr(column, "__len__") for column in data.values())
    return (hasattr(data, "columns") and hasattr(data, "dtypes")) or hasattr(data, "column_names")


def is_anndata(data: Any) -> bool:
    return all(hasattr(data, name) for name in ("obs_names", "var_names", "X"))


def from_networkx(graph: Any, weight: Any = None, told: bool = False) -> Graph:
    """Return the matrix of a networkx graph; ``told`` whether the user has said if it is weighted."""
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
    used = _weight_attribute(weight, held, counts, graph.number_of_edges(), told)
    try:
        matrix = nx.to_scipy_sparse_array(graph, weight=used, dtype=float, format="csr")
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the networkx graph has an edge whose {used} is no number: {one_line(error)}"
        ) from error
    return Graph(matrix, list(graph.nodes), graph.is_directed())


def from_igraph(graph: Any, weight: Any = None, told: bool = False) -> Graph:
    """Return the matrix of an igraph graph; ``told`` whether the user has said if it is weighted."""
    n = graph.vcount()
    pairs = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    held = set(graph.es.attributes())
    counts = {key: sum(isinstance(v, int | float | np.number) for v in graph.es[key]) for key in held}
    used = _weight_attribute(weight, held, {k: c for k, c in counts.items() if c}, len(pairs), told)
    try:
        values = np.ones(len(pairs)) if used is None else np.array(graph.es[used], dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"the igraph graph has an edge whose {used} is no number: {error}") from error
    i, j = pairs.T
    if not graph.is_directed():
        mirror = i != j
        i, j = np.concatenate([i, j[mirror]]), np.concatenate([j, i[mirror]])
        values = np.concatenate([values, values[mirror]])
    matrix = sparse.coo_array((values, (i, j)), shape=(n, n)).tocsr()
    names = graph.vs["name"] if "name" in graph.vs.attributes() else None
    return Graph(matrix, names, graph.is_directed())


def _weight_attribute(
    weight: Any, held: set[Any], counts: Mapping[Any, int], n_edges: int, told: bool
) -> Any:
    """Return the attribute of edges that holds their weights; None for none."""
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
            guess(f"{lacking:,} of {n_edges:,} edges have no weight and count 1; weighted=False for all")
        return "weight"
    if counts and not told:
        shown = ", ".join(sorted(map(str, counts))[:4])
        guess(f"no weights are used, though edges have {shown}; name one with weight=, or weighted=False")
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
        guess("no weights are used: edge_attr is none; set edge_weight")
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
    if hasattr(frame, "iloc"):  # pandas: names may repeat or be numbers; a named index is a column
        levels = [frame.index.get_level_values(k) for k in range(frame.index.nlevels)]
        named = len(levels) > 1 or frame.index.name is not None
        left = {f"level_{k}" if one.name is None else one.name: one for k, one in enumerate(levels)}
        columns = {name: frame.iloc[:, i] for i, name in enumerate(frame.columns)}
        if len(columns) < len(frame.columns):
            twice = frame.columns[frame.columns.duplicated()][0]
            raise InputError(f"the frame has more than one column {twice!r}; rename them")
        return {**(left if named else {}), **columns}
    return {name: frame[name] for name in frame.columns}


def frame_layout(frame: Any, columns: Any = None, weight: Any = None) -> Layout:
    """Say what the columns of a frame are."""
    described = [describe(name, column) for name, column in frame_columns(frame).items()]
    return find_roles(described, columns, weight, "the frame")


def wide_frame(frame: Any) -> str | None:
    """Say whether a frame is a matrix, its rows items: "features", or "bipartite" for counts; else None."""
    if hasattr(frame, "iloc") and len(frame.columns) > _WIDE and _all_numbers(frame):
        frame = frame.iloc[:, :_WIDE]
    described = [describe(name, column) for name, column in frame_columns(frame).items()]
    if len(described) < 2:
        return None
    try:
        layout = find_roles(described, None, None, "the frame")
    except InputError:
        layout = Layout(described, {})
    kind = wide_kind(layout)
    own = described[-len(frame.columns) :] if hasattr(frame, "iloc") else []
    if kind is None and _text_index(frame) and len(own) > 1 and all(column.numeric for column in own):
        whole = all(c.whole and all(value >= 0 for value in c.values) for c in own)
        kind = None if ends_are_named(layout) else "bipartite" if whole else "features"
    return kind


def _all_numbers(frame: Any) -> bool:
    return all(getattr(dtype, "kind", "O") in "fiub" for dtype in frame.dtypes)


def _text_index(frame: Any) -> bool:
    index = getattr(frame, "index", None)
    return (
        index is not None
        and hasattr(frame, "iloc")
        and not hasattr(index, "start")
        and (getattr(index, "nlevels", 1) > 1 or isinstance(index[0] if len(index) else None, str))
    )


def matrix_of_frame(frame: Any) -> Graph:
    """Return the numbers of a wide frame; its rows are named by its index, or by a first column of text."""
    if hasattr(frame, "iloc") and all(hasattr(dtype, "sparse") or hasattr(dtype, "fill_value")
                                      for dtype in frame.dtypes):  # fmt: skip
        numbers: Any = sparse.csr_array(frame.sparse.to_coo())
        return Graph(numbers, _index_names(frame), None, list(frame.columns))
    if hasattr(frame, "iloc") and len(frame.columns) > _WIDE and _all_numbers(frame):
        return Graph(frame.to_numpy(), _index_names(frame), None, list(frame.columns))
    table = {n: c for n, c in frame_columns(frame).items() if n in set(getattr(frame, "columns", ())) or
             not hasattr(frame, "iloc")}  # fmt: skip
    described = [describe(name, column) for name, column in table.items()]
    names, named = _index_names(frame), None
    if names is None:
        named = row_names(Layout(described, {}))
        names = None if named is None else list(described_values(list(table.values())[named]))
    body = [at for at, column in enumerate(described) if at != named and not column.empty]
    text = [at for at in body if not described[at].numeric]
    if len(text) == len(body):
        raise InputError("the frame has no columns of numbers")
    if text:
        shown = ", ".join(str(described[at].name) for at in text[:4])
        guess(f"columns that hold no numbers are not used: {shown}")
    kept = [at for at in body if at not in text]
    values = list(table.values())
    matrix = np.stack([np.asarray(values[at], dtype=float) for at in kept], axis=1)
    if all(described[at].whole for at in kept) and np.isfinite(matrix).all():
        matrix = matrix.astype(np.int64) if (matrix == matrix.round()).all() else matrix
    return Graph(matrix, names, None, [described[at].name for at in kept])


def described_values(column: Any) -> list[Any]:
    """Return a column of any frame as a list."""
    return column.to_pylist() if hasattr(column, "to_pylist") else list(column)


def _index_names(frame: Any) -> list[Any] | None:
    """Return the index of a pandas frame, unless pandas made it."""
    if not hasattr(frame, "iloc") or type(frame.index).__name__ == "RangeIndex":
        return None
    return list(frame.index)


def square_frame(frame: Any) -> Graph | None:
    """Return a frame that is a square table of numbers as a matrix, or None."""
    if isinstance(frame, Mapping) or hasattr(frame, "column_names"):
        return None
    names = list(frame.columns)
    rows = len(frame)
    if hasattr(frame, "index"):
        if rows != len(names) or not _all_numbers(frame):
            return None
        if list(frame.index) == names:
            return Graph(frame.to_numpy(), names)
        return _symmetric(frame.to_numpy(), names)
    numbers = [bool(dtype.is_numeric()) for dtype in frame.dtypes]
    if rows == len(names) and all(numbers):
        return _symmetric(frame.to_numpy(), names)
    titled = rows == len(names) - 1 and not numbers[0] and all(numbers[1:])
    if titled and frame[names[0]].to_list() == names[1:]:  # the first column repeats the header
        return Graph(frame[:, 1:].to_numpy(), names[1:])
    return None


def square_kind(frame: Any) -> bool:
    """Whether a frame is a square table of numbers; says nothing about it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GuessWarning)
        return square_frame(frame) is not None


def _symmetric(matrix: np.ndarray, names: list[Any]) -> Graph | None:
    """Return a square matrix whose rows have no names of their own, if it is symmetric."""
    if len(names) < 4 or not np.array_equal(matrix, matrix.T):
        return None
    guess("the frame is square and symmetric, and is read as a graph named by its columns; kind= to override")
    return Graph(matrix, names)


def edges_of_frame(
    frame: Any, *, columns: Any = None, weight: Any = None, two_sided: bool = False, negative: str = "error",
    timed: bool = False, told: bool = False,
) -> Edges:  # fmt: skip
    """Return the edges in a frame, its columns found by name or position."""
    table = frame_columns(frame)
    header = list(table)
    if timed and columns is not None and not isinstance(columns, Mapping):
        columns = dict(zip(("time", "source", "target", "weight"), columns))
    layout = frame_layout(frame, columns, weight)
    if timed and "time" not in layout.roles:
        if len(header) < 3 or columns is not None:
            raise InputError(f"the frame has no time column among {header}; name it with columns=")
        layout = Layout(layout.columns, dict(zip(("time", "source", "target", "weight"), range(len(header)))))
    if not timed:
        layout.roles.pop("time", None)
    for text in layout.guesses:
        if not told or "weighted=False" not in text:
            guess(f"the frame: {text}")
    builder = EdgeBuilder(two_sided, negative)
    values = list(table.values())
    add_table(builder, {role: values[at] for role, at in layout.roles.items()}, where="the frame")
    edges = builder.finish()
    return replace(edges, notes=(layout.summary, *edges.notes))


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
    dates = to_dates([row[at] for row in items]) if role == "time" else None
    if dates is not None:
        return dates
    try:
        values = np.array([row[at] for row in items])
        if values.dtype.kind in "iu" and role == "time":
            return values
        return np.array([float(row[at]) for row in items])
    except (TypeError, ValueError):
        dated = " or a date such as 2024-03-01T09:00" if role == "time" else ""
        for k, row in enumerate(items):
            try:
                float(row[at])
            except (TypeError, ValueError):
                raise InputError(f"item {done + k} is {row!r}; its {role} is not a number{dated}") from None
        raise


def labels_or_none(names: Any) -> Labels | None:
    """Return names as Labels."""
    return None if names is None else names if isinstance(names, Labels) else Labels(names)
