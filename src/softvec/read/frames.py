"""Data frames and tables of other libraries: pandas, polars, Arrow, DuckDB, or a mapping of columns."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from softvec.core.errors import GuessWarning, InputError, Option, guess
from softvec.core.untrusted import one_line
from softvec.read.columns import add_table, edge_roles
from softvec.read.edges import EdgeBuilder, Edges
from softvec.read.kinds import (
    ends_are_named,
    kind_of_numbers,
    kind_of_table,
    numeric_columns,
    row_names,
    wide_kind,
)
from softvec.read.objects import Graph
from softvec.read.roles import find_roles
from softvec.read.table import Table, TableOptions, describe, is_number

_WIDE = 64  # columns of a wide frame that are inspected


def in_memory(data: Any) -> Any:
    """Return a table of polars or DuckDB, lazy or streamed, as an Arrow table; anything else unchanged."""
    if type(data).__module__.startswith("networkx.") and not hasattr(data, "is_directed"):
        raise InputError(f"this is a {type(data).__name__} of a networkx graph; pass the graph itself")
    if type(data).__name__ == "LazyFrame" and hasattr(data, "collect"):
        data = data.collect()
    if hasattr(data, "get_columns") and hasattr(data, "to_arrow"):  # polars
        return data.to_arrow()
    known = any(hasattr(data, name) for name in ("iloc", "column_names", "dtype"))
    if known or not hasattr(data, "__arrow_c_stream__"):
        return data
    import pyarrow as pa

    try:
        return pa.RecordBatchReader.from_stream(data).read_all()
    except pa.ArrowException as error:
        raise InputError(f"{type(data).__name__} is not a table of columns: {one_line(error)}") from None


def is_frame(data: Any) -> bool:
    """Whether data is a pandas or polars frame, an Arrow table, or a mapping of columns."""
    if isinstance(data, Graph) or sparse.issparse(data):  # dok_array is a mapping, too
        return False
    if isinstance(data, Mapping):
        columns = data.values()
        return len(data) > 0 and all(
            hasattr(c, "__len__") and not isinstance(c, str | bytes) for c in columns
        )
    return (hasattr(data, "columns") and hasattr(data, "dtypes")) or hasattr(data, "column_names")


def frame_columns(frame: Any) -> dict[Any, Any]:
    """Return the columns of a frame by name, in order; a named index of pandas comes first."""
    frame = in_memory(frame)
    if isinstance(frame, Mapping):
        lengths = {name: len(column) for name, column in frame.items()}
        shown = ", ".join(f"{name!r}: {length:,}" for name, length in list(lengths.items())[:3])
        wrong = f"its columns differ in length ({shown})" if len(set(lengths.values())) > 1 else ""
        wrong = wrong or ("its columns hold its keys" if _holds_neighbours(frame) else "")
        if wrong:
            raise InputError(
                f"a mapping is read as a table, but {wrong}; "
                "for a mapping of nodes to neighbours pass networkx.Graph(mapping)"
            )
        return dict(frame)
    if is_pandas(frame):
        return {**_named_levels(frame.index), **_own_columns(frame)}
    return _own_columns(frame)


def _holds_neighbours(mapping: Mapping[Any, Any]) -> bool:
    """Whether most of the names in the lists of a mapping are its keys."""
    if not all(isinstance(column, list | tuple | set | frozenset) for column in mapping.values()):
        return False
    try:
        names = set().union(*mapping.values())
    except TypeError:  # values that are no names
        return False
    return 2 * len(names & mapping.keys()) > len(names)


def is_pandas(frame: Any) -> bool:
    """Whether a frame is one of pandas, which has an index."""
    return hasattr(frame, "iloc")


def _own_columns(frame: Any) -> dict[Any, Any]:
    """Return the columns of a frame by name, without an index; raise an error if two have one name."""
    if is_pandas(frame):  # names may be numbers
        names, column = list(frame.columns), lambda at: frame.iloc[:, at]
    else:
        names, column = list(frame.column_names), frame.column
    columns = {name: column(at) for at, name in enumerate(names)}
    if len(columns) < len(names):
        twice = next(name for name in columns if names.count(name) > 1)
        raise InputError(f"the frame has more than one column {twice!r}; rename them")
    return columns


def _named_levels(index: Any) -> dict[Any, Any]:
    """Return the levels of a pandas index by name; none for one level without a name."""
    if index.nlevels == 1 and index.name is None:
        return {}
    levels = [index.get_level_values(k) for k in range(index.nlevels)]
    return {f"level_{k}" if level.name is None else level.name: level for k, level in enumerate(levels)}


def frame_table(frame: Any, columns: Any = None, weight: Any = None) -> Table:
    """Return the columns of a frame and their roles."""
    described = [describe(name, column) for name, column in frame_columns(frame).items()]
    return find_roles(described, columns, weight, "the frame")


def kind_of_frame(frame: Any, columns: Any = None, weight: Any = None) -> str:
    """Return the kind of data in a frame; warn of what is uncertain."""
    if columns is None and weight is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GuessWarning)
            square = square_frame(frame) is not None
        wide = "graph" if square else kind_of_wide(frame)
        if wide is not None:
            return wide
    if columns is not None and not isinstance(columns, Mapping) and len(columns) > 2:
        return "graph"
    return kind_of_table(frame_table(frame, columns, weight), "the frame")


def kind_of_wide(frame: Any) -> str | None:
    """Return the kind of a frame that is a matrix: "features", or "bipartite" for counts; else None."""
    frame = _bools_as_numbers(frame)
    numbers = is_pandas(frame) and _all_numbers(frame)
    if numbers and len(frame.columns) > _WIDE:
        frame = frame.iloc[:, :_WIDE]
    described = [describe(name, column) for name, column in frame_columns(frame).items()]
    if len(described) < 2:
        return None
    try:
        table = find_roles(described, None, None, "the frame")
    except InputError:
        table = Table(described, {})
    kind = wide_kind(table)
    if kind is not None or not numbers or len(frame.columns) < 2:
        return kind
    # index and columns name items, as those of pivot and crosstab do
    named = None not in (frame.index.name, frame.columns.name)
    if not named and (not _text_index(frame) or ends_are_named(table)):
        return None
    return kind_of_numbers(described[-len(frame.columns) :])


def _bools_as_numbers(frame: Any) -> Any:
    """Convert a pandas frame of booleans with a text index to 1 and 0; return anything else unchanged."""
    indexed = is_pandas(frame) and len(frame.columns) > 1 and _text_index(frame)
    boolean = indexed and all(getattr(dtype, "kind", "") == "b" for dtype in frame.dtypes)
    return frame.astype(int) if boolean else frame


def _all_numbers(frame: Any) -> bool:
    return all(getattr(dtype, "kind", "O") in "fiub" for dtype in frame.dtypes)


def _text_index(frame: Any) -> bool:
    return frame.index.nlevels > 1 or isinstance(frame.index[0] if len(frame) else None, str)


def matrix_of_frame(frame: Any, where: str = "the frame") -> Graph:
    """Return the numbers of a wide frame, its rows named by the index or by a first column of text."""
    frame = _bools_as_numbers(frame)
    default = not is_pandas(frame) or type(frame.index).__name__ == "RangeIndex"
    names = None if default else list(frame.index)
    if is_pandas(frame):
        sparsely = all(hasattr(dtype, "fill_value") for dtype in frame.dtypes)
        if sparsely or (len(frame.columns) > _WIDE and _all_numbers(frame)):
            whole = sparse.csr_array(frame.sparse.to_coo()) if sparsely else frame.to_numpy()
            return Graph(whole, names, None, list(frame.columns))
    table = dict(frame) if isinstance(frame, Mapping) else _own_columns(frame)
    described = Table([describe(name, column) for name, column in table.items()], {})
    named = row_names(described.columns) if names is None else None
    titles, columns = list(table), list(table.values())
    if named is not None:
        names = as_list(columns[named])
    kept = numeric_columns(described, named, where)
    return Graph(stacked([columns[at] for at in kept]), names, None, [titles[at] for at in kept])


def stacked(columns: list[Any]) -> np.ndarray:
    """Return columns of numbers side by side, as integers if all are whole."""
    matrix = np.stack([np.asarray(column, dtype=float) for column in columns], axis=1)
    whole = np.isfinite(matrix).all() and (matrix == matrix.round()).all()
    return matrix.astype(np.int64) if whole else matrix


def as_list(column: Any) -> list[Any]:
    """Return a column as a list: Arrow, pandas, polars, NumPy, or any sequence."""
    for convert in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, convert):
            return list(getattr(column, convert)())
    return list(column)


def square_frame(frame: Any) -> Graph | None:
    """Return a frame that is a square table of numbers as a matrix, or None."""
    if isinstance(frame, Mapping):
        return None
    if is_pandas(frame):
        names = list(frame.columns)
        if len(frame) != len(names) or not _all_numbers(frame):
            return None
        return square(frame.to_numpy(), list(frame.index), names)
    names, columns = list(frame.column_names), list(frame.columns)
    numbers = [is_number(column.type) for column in columns]
    if len(frame) == len(names) and all(numbers):
        return _symmetric(stacked(columns), names)
    titled = len(frame) == len(names) - 1 and not numbers[0] and all(numbers[1:])
    if titled and set(rows := list(map(str, columns[0].to_pylist()))) == set(names[1:]):
        return square(stacked(columns[1:]), rows, names[1:])
    return None


def square(matrix: np.ndarray, rows: list[Any], names: list[Any]) -> Graph | None:
    """Return a square matrix as a graph if its rows and columns have the same names, or it is symmetric."""
    at = {name: k for k, name in enumerate(names)}
    if len(at) < len(names) or set(rows) != at.keys():
        return _symmetric(matrix, names)
    return Graph(matrix[:, [at[name] for name in rows]], rows)


def _symmetric(matrix: np.ndarray, names: list[Any]) -> Graph | None:
    """Return a square matrix without row names as a graph if it is symmetric, else None."""
    if len(names) < 4 or not np.array_equal(matrix, matrix.T):
        return None
    guess(
        "the frame is square and symmetric, and is read as a graph named by its columns; to override, pass ",
        Option("kind", ...),
    )
    return Graph(matrix, names)


def edges_of_frame(frame: Any, builder: EdgeBuilder, columns: Any, weight: Any, told: bool) -> Edges:
    """Return the edges in a frame; ``told``: whether the user set ``weighted``."""
    table = frame_columns(frame)
    options = TableOptions(columns=columns, weighted=True if told else None)
    options = options.for_kind("temporal" if builder.timed else "graph")
    roles = edge_roles(frame_table(frame, options.columns, weight), "the frame", options)
    values = list(table.values())
    add_table(builder, {role: values[at] for role, at in roles.roles.items()}, where="the frame")
    edges = builder.finish()
    return replace(edges, notes=(roles.summary, *edges.notes))
