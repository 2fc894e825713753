"""Read attributes of nodes, from any object or file, as named columns of cells."""

from __future__ import annotations

import os
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from softvec.core.checks import counted
from softvec.core.errors import InputError, guess
from softvec.names import Names
from softvec.operators import checked_csr
from softvec.read.frames import as_list, frame_columns, in_memory, is_frame
from softvec.read.matrices import read_npy, read_npz
from softvec.read.objects import is_anndata, is_igraph, is_networkx
from softvec.read.streams import existing_file
from softvec.read.table import is_missing
from softvec.read.tables import read_table

_INDEX = "\0index"  # no column has this title
_WHAT = "table of attributes"


@dataclass(frozen=True)
class AttributeTable:
    """Cells by column, with the name of the node of each row.

    A column is an array of numbers (NaN: missing), a list of texts, booleans or sets, or a whole matrix;
    ``titles`` are those of the columns of a matrix.
    """

    keys: Sequence[Hashable]
    cells: Mapping[str, Any]
    titles: Sequence[str] | None = None


def table_of(given: Any, names: Names, data: Any = None) -> AttributeTable:
    """Read attributes; ``names`` are the nodes of the graph, ``data`` what it was read from."""
    given, is_file = _read([given] if _names_attribute(given, data) else given)
    if isinstance(given, list | tuple) and given and all(isinstance(name, str) for name in given):
        return graph_columns(given, data)
    if is_anndata(given):
        titles = [str(name) for name in given.var_names]
        return AttributeTable(list(given.obs_names), {"": _numeric(given.X)}, titles)
    if sparse.issparse(given) or (isinstance(given, np.ndarray) and given.ndim == 2):
        return AttributeTable(_keys_in_order(given.shape[0], names, data), {"": _numeric(given)})
    if isinstance(given, Mapping) and not is_file and not _of_columns(given, names):
        return _of_nodes(given)
    if is_frame(given):
        return _of_frame(given, names)
    raise InputError(
        f"attributes are a {type(given).__name__}; expected a table, a mapping of nodes to values, a matrix "
        "with a row for each node, or names of attributes of a networkx or igraph graph"
    )


def _names_attribute(given: Any, data: Any) -> bool:
    """Whether a text names an attribute of a graph, not a file."""
    return isinstance(given, str) and (is_networkx(data) or is_igraph(data)) and not Path(given).suffix


def table_of_new(given: Any, titles: Collection[str]) -> AttributeTable:
    """Read attributes of new nodes: by node, or a table with ``titles`` and, in the index or first, names."""
    given, is_file = _read(given)
    if isinstance(given, Mapping) and not is_file:
        return _of_nodes(given)
    if not is_frame(given):
        raise InputError(
            f"attributes of new items are a {type(given).__name__}; expected a mapping or a table"
        )
    columns = {str(title): column for title, column in frame_columns(given).items()}
    if hasattr(given, "iloc") and type(given.index).__name__ != "RangeIndex":
        columns.pop(str(given.index.name), None)
        keys = list(given.index)
    else:
        first = next((title for title in columns if title not in titles), None)
        if first is None:
            raise InputError("attributes of new items have no names; put them into the index or a column")
        keys = as_list(columns.pop(first))
    return AttributeTable(keys, {title: _cells(as_list(column)) for title, column in columns.items()})


def _numeric(matrix: Any) -> Any:
    matrix = checked_csr(matrix, "attributes") if sparse.issparse(matrix) else np.asarray(matrix)
    if matrix.dtype.kind not in "fiub":
        raise InputError(f"attributes are a matrix of {matrix.dtype}; expected numbers, or a DataFrame")
    return matrix.astype(np.float64)


def _keys_in_order(n: int, names: Names, data: Any) -> Sequence[Hashable]:
    """Return the nodes that the rows of a matrix belong to."""
    if is_networkx(data):
        own: Sequence[Hashable] = list(data.nodes)
    elif names == Names.range(len(names)) or not all(isinstance(name, int | np.integer) for name in names):
        own = names.to_list()
        if isinstance(data, str | os.PathLike | list) and not isinstance(names[0], int | np.integer):
            raise InputError(
                "attributes are a matrix, but the nodes have names, in no order of their own; pass a mapping "
                "or a table with the names"
            )
    else:
        own = range(n) if min(names) >= 0 and max(names) < n else names.to_list()  # type: ignore[type-var,operator]
    if len(own) != n:
        raise InputError(
            f"attributes have {n:,} rows for {len(own):,} nodes; expected a row for each node, in order, or "
            "a table with the names of the nodes"
        )
    return own


def graph_columns(given: Sequence[str], data: Any) -> AttributeTable:
    """Read attributes that the nodes of a networkx or igraph graph carry."""
    if is_networkx(data):
        keys: list[Hashable] = list(data.nodes)
        columns = {name: [data.nodes[key].get(name) for key in keys] for name in given}
        present = {name for _, own in data.nodes(data=True) for name in own}
    elif is_igraph(data):
        present = set(data.vs.attributes())
        keys = list(data.vs["name"]) if "name" in present else list(range(data.vcount()))
        columns = {name: list(data.vs[name]) if name in present else [] for name in given}
    else:
        raise InputError(
            "names of attributes need a networkx or igraph graph; pass a table or a mapping of nodes"
        )
    unknown = [name for name in given if name not in present]
    if unknown:
        have = "they have " + ", ".join(sorted(map(str, present))) if present else "they have none"
        raise InputError(f"no node has the attribute {unknown[0]!r}; {have}")
    return AttributeTable(keys, {name: _cells(column) for name, column in columns.items()})


def _of_columns(given: Mapping[Any, Any], names: Names) -> bool:
    """Whether a mapping holds columns of a table, not the values of nodes."""
    return not any(key in names for key in given) and is_frame(given) and not _of_sets(given)


def _of_sets(given: Mapping[Any, Any]) -> bool:
    return any(isinstance(value, set | frozenset | Mapping) for value in given.values())


def _of_nodes(given: Mapping[Any, Any]) -> AttributeTable:
    """Read ``{node: {attribute: value}}``, ``{node: keywords}`` or ``{node: value}``."""
    keys, values = list(given), list(given.values())
    if values and all(isinstance(value, np.ndarray) and value.ndim == 1 for value in values):
        if len({len(value) for value in values}) > 1:
            raise InputError(
                "attributes are arrays of different lengths; expected as many numbers for each node"
            )
        return AttributeTable(keys, {"": _numeric(np.stack(values))})
    if not any(isinstance(value, Mapping) for value in values):
        return AttributeTable(keys, {"": _cells(values)}, ["value"])
    rows = [_texts_to_values(key, value) for key, value in given.items()]
    titles = dict.fromkeys(title for row in rows for title in row)
    return AttributeTable(keys, {title: _cells([row.get(title) for row in rows]) for title in titles})


def _texts_to_values(key: Hashable, value: Any) -> dict[str, Any]:
    """Return the attributes of one node by title."""
    if isinstance(value, Mapping):
        return {str(title): cell for title, cell in value.items()}
    if is_missing(value):
        return {}
    raise InputError(f"attributes of {key!r} are not a mapping, but those of other nodes are")


def _of_frame(frame: Any, names: Names) -> AttributeTable:
    """Read a table whose index, or the column that matches most names, holds the nodes."""
    columns = {str(title): as_list(column) for title, column in frame_columns(frame).items()}
    best, keys = _nodes_of_rows(frame, columns, names)
    nameless = sum(is_missing(key) for key in keys)
    if nameless:
        raise InputError(f"attributes have {counted(nameless, 'row')} without a name; name or drop them")
    cells = {title: _cells(column) for title, column in columns.items() if title != best}
    if not cells:
        raise InputError("attributes hold names of nodes, but no other column")
    return AttributeTable(keys, cells)


def _nodes_of_rows(frame: Any, columns: dict[str, list[Any]], names: Names) -> tuple[str, list[Any]]:
    """Return the title of the column of nodes, and the nodes; an index that is one leaves the columns."""
    index: Any = getattr(frame, "index", None)
    numbered = type(index).__name__ == "RangeIndex"
    candidates = {title: column for title, column in columns.items() if _distinct(column)}
    if hasattr(frame, "iloc") and not numbered and index.nlevels == 1:
        columns.pop(str(index.name), None)
        candidates = {_INDEX: list(index), **candidates}
    spelled = {str(name) for name in names}
    matches = {title: sum(str(key) in spelled for key in keys) for title, keys in candidates.items()}
    best = max(matches, key=lambda title: matches[title], default=_INDEX)
    if matches.get(best):
        if best not in (_INDEX, next(iter(columns))):
            guess(f"names of nodes are read from the column {best!r} of the attributes")
        return best, candidates[best]
    if numbered and all(name in index for name in names):
        return _INDEX, list(index)
    raise InputError(
        f"no column of the attributes holds names of nodes (first node: {names[0]!r}; columns: "
        f"{', '.join(columns)})"
    )


def _distinct(column: list[Any]) -> bool:
    """Whether nearly all values differ, as names do."""
    return len({str(value) for value in column}) > 0.9 * len(column)


def _cells(values: list[Any]) -> Any:
    """Return numbers as an array, dates as seconds, anything else as a list; missing as NaN or None."""
    cells = [None if is_missing(value) else value for value in values]
    given = [cell for cell in cells if cell is not None]
    if given and all(isinstance(c, int | float | np.number) and not isinstance(c, bool) for c in given):
        return np.array(cells, dtype=np.float64)  # None becomes NaN
    if given and all(hasattr(cell, "timestamp") for cell in given):
        return np.array([np.nan if cell is None else cell.timestamp() for cell in cells])
    return [_plain(cell) for cell in cells]


def _plain(cell: Any) -> Any:
    if isinstance(cell, np.ndarray):
        return cell.tolist()
    return cell if cell is None or isinstance(cell, set | frozenset | list | tuple) else str(cell)


def _read(given: Any) -> tuple[Any, bool]:
    """Return what a file or a lazy table holds, and whether it was a file."""
    if not isinstance(given, str | os.PathLike):
        return in_memory(given), False
    path = Path(given)
    if path.suffix in (".npz", ".npy"):
        return (read_npz if path.suffix == ".npz" else read_npy)(existing_file(path, _WHAT)).matrix, True
    return read_table(path, _WHAT), True
