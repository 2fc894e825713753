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
from softvec.core.untrusted import one_line, reading
from softvec.names import Names
from softvec.operators import checked_csr
from softvec.read.frames import as_list, frame_columns, in_memory, is_frame
from softvec.read.matrices import read_npy, read_npz
from softvec.read.objects import is_anndata, is_igraph, is_networkx
from softvec.read.streams import open_source

_INDEX = "\0index"  # no column has this title
_MISSING = ["", "NA", "N/A", "nan", "NaN", "null", "None", "?"]


@dataclass(frozen=True)
class Table:
    """Cells by column, with the name of the node of each row.

    A column is an array of numbers (NaN: missing), a list of texts, booleans or sets, or a whole matrix;
    ``titles`` are those of the columns of a matrix.
    """

    keys: Sequence[Hashable]
    cells: Mapping[str, Any]
    titles: Sequence[str] | None = None


def is_missing(cell: Any) -> bool:
    """Whether a cell holds nothing: None, NaN, NaT, NA or an empty text."""
    if isinstance(cell, str):
        return not cell.strip()
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(cell, float | np.floating) and cell != cell


def table_of(given: Any, names: Names, data: Any = None) -> Table:
    """Read attributes; ``names`` are the nodes of the graph, ``data`` what it was read from."""
    is_file = isinstance(given, str | os.PathLike)
    given = in_memory(_read(Path(given)) if is_file else given)
    if isinstance(given, list | tuple) and given and all(isinstance(name, str) for name in given):
        return graph_columns(given, data)
    if is_anndata(given):
        titles = [str(name) for name in given.var_names]
        return Table(list(given.obs_names), {"": _numeric(given.X)}, titles)
    if sparse.issparse(given) or (isinstance(given, np.ndarray) and given.ndim == 2):
        return Table(_keys_in_order(given.shape[0], names, data), {"": _numeric(given)})
    if isinstance(given, Mapping) and not is_file and not _of_columns(given, names):
        return _of_nodes(given)
    if is_frame(given):
        return _of_frame(given, names)
    raise InputError(
        f"attributes are a {type(given).__name__}; expected a table, a mapping of nodes to values, a matrix "
        "with a row for each node, or names of attributes of a networkx or igraph graph"
    )


def table_of_new(given: Any, titles: Collection[str]) -> Table:
    """Read attributes of new nodes: by node, or a table with ``titles`` and, in the index or first, names."""
    is_file = isinstance(given, str | os.PathLike)
    given = in_memory(_read(Path(given)) if is_file else given)
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
    return Table(keys, {title: _cells(as_list(column)) for title, column in columns.items()})


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


def graph_columns(given: Sequence[str], data: Any) -> Table:
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
    return Table(keys, {name: _cells(column) for name, column in columns.items()})


def _of_columns(given: Mapping[Any, Any], names: Names) -> bool:
    """Whether a mapping holds columns of a table, not the values of nodes."""
    return not any(key in names for key in given) and is_frame(given) and not _of_sets(given)


def _of_sets(given: Mapping[Any, Any]) -> bool:
    return any(isinstance(value, set | frozenset | Mapping) for value in given.values())


def _of_nodes(given: Mapping[Any, Any]) -> Table:
    """Read ``{node: {attribute: value}}``, ``{node: keywords}`` or ``{node: value}``."""
    keys, values = list(given), list(given.values())
    if values and all(isinstance(value, np.ndarray) and value.ndim == 1 for value in values):
        if len({len(value) for value in values}) > 1:
            raise InputError(
                "attributes are arrays of different lengths; expected as many numbers for each node"
            )
        return Table(keys, {"": _numeric(np.stack(values))})
    if not any(isinstance(value, Mapping) for value in values):
        return Table(keys, {"": _cells(values)}, ["value"])
    wrong = [key for key, value in given.items() if not isinstance(value, Mapping) and not is_missing(value)]
    if wrong:
        raise InputError(f"attributes of {wrong[0]!r} are not a mapping, but those of other nodes are")
    titles = list(dict.fromkeys(str(title) for value in values if not is_missing(value) for title in value))
    rows = [{} if is_missing(value) else {str(k): v for k, v in value.items()} for value in values]
    return Table(keys, {title: _cells([row.get(title) for row in rows]) for title in titles})


def _of_frame(frame: Any, names: Names) -> Table:
    """Read a table whose index, or the column that matches most names, holds the nodes."""
    columns = {str(title): as_list(column) for title, column in frame_columns(frame).items()}
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
        keys: list[Any] = candidates[best]
        if best not in (_INDEX, next(iter(columns))):
            guess(f"names of nodes are read from the column {best!r} of the attributes")
    elif numbered and all(name in index for name in names):
        keys = list(index)
    else:
        raise InputError(
            f"no column of the attributes holds names of nodes (first node: {names[0]!r}; columns: "
            f"{', '.join(columns)})"
        )
    nameless = sum(is_missing(key) for key in keys)
    if nameless:
        raise InputError(f"attributes have {counted(nameless, 'row')} without a name; name or drop them")
    cells = {title: _cells(column) for title, column in columns.items() if title != best}
    if not cells:
        raise InputError("attributes hold names of nodes, but no other column")
    return Table(keys, cells)


def _distinct(column: list[Any]) -> bool:
    """Whether nearly all values differ, as names do."""
    return len({str(value) for value in column}) > 0.9 * len(column)


def _cells(values: list[Any]) -> Any:
    """Return numbers as an array, dates as seconds, anything else as a list; missing as NaN or None."""
    cells = [None if is_missing(value) else value for value in values]
    given = [cell for cell in cells if cell is not None]
    if given and all(isinstance(c, int | float | np.number) and not isinstance(c, bool) for c in given):
        return np.array([np.nan if cell is None else float(cell) for cell in cells])
    if given and all(hasattr(cell, "timestamp") for cell in given):
        return np.array([np.nan if cell is None else cell.timestamp() for cell in cells])
    return [_plain(cell) for cell in cells]


def _plain(cell: Any) -> Any:
    if isinstance(cell, np.ndarray):
        return cell.tolist()
    return cell if cell is None or isinstance(cell, set | frozenset | list | tuple) else str(cell)


def _read(path: Path) -> Any:
    """Read a table (text with a header, parquet, feather) or a matrix (npz, npy) from a file."""
    if not path.exists():
        raise InputError(f"{path}: no such file")
    if path.is_dir():
        raise InputError(f"{path} is a directory; expected a table of attributes")
    source = open_source(path)
    if path.suffix == ".npz":
        return read_npz(source).matrix
    if path.suffix == ".npy":
        return read_npy(source)
    with reading(str(path), "table of attributes"), source.seekable() as stream:
        if path.suffix in (".parquet", ".pq"):
            import pyarrow.parquet

            return pyarrow.parquet.read_table(stream)
        if path.suffix in (".feather", ".arrow"):
            import pyarrow.feather

            return pyarrow.feather.read_table(stream)
        return _read_text(stream, path)


def _read_text(stream: Any, path: Path) -> dict[str, list[Any]]:
    """Read text with a header, separated by tabs, semicolons or commas; numbers stay numbers."""
    import pyarrow as pa
    from pyarrow import csv

    text = stream.read()
    first = text.lstrip(b"\xef\xbb\xbf").split(b"\n", 1)[0]
    delimiter = max("\t;,|", key=lambda mark: first.count(mark.encode()))
    if delimiter.encode() not in first:
        raise InputError(
            f"{path}: the first line has one column ({first[:40].decode(errors='replace')!r}); expected a "
            "header, separated by commas, semicolons or tabs"
        )
    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    try:
        titles = csv.read_csv(pa.BufferReader(text), parse_options=parse).column_names
        as_text = csv.ConvertOptions(
            column_types=dict.fromkeys(titles, pa.string()), null_values=_MISSING, strings_can_be_null=True
        )
        table = csv.read_csv(pa.BufferReader(text), parse_options=parse, convert_options=as_text)
    except pa.ArrowException as error:
        raise InputError(f"{path}: {one_line(error)}; expected a header and rows of as many fields") from None
    repeated = [title for title in table.column_names if table.column_names.count(title) > 1]
    if repeated:
        raise InputError(f"{path}: two columns are called {repeated[0]!r}; rename one")
    return {title: _numbers_or_texts(table.column(title).to_pylist()) for title in table.column_names}


def _numbers_or_texts(values: list[str | None]) -> list[Any]:
    """Return texts as numbers if all of them are, except those with leading zeros, which are codes."""
    if any(value and value[0] == "0" and value[1:2].isdigit() for value in values):
        return values
    for number in (int, float):
        try:
            return [None if value is None else number(value) for value in values]
        except ValueError:
            continue
    return values
