"""Matrices in files: SciPy .npz, NumPy .npy, tables of numbers in text; graphs in GraphML and the like."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError, guess, optional_package, printable
from softvec.core.untrusted import reading
from softvec.names import Names
from softvec.read import dialect as dialects
from softvec.read.arrays import length_of, read_archive, read_array, sparse_matrix, stored_names
from softvec.read.detect import Detected
from softvec.read.dialect import Dialect
from softvec.read.edgelist import warn_total
from softvec.read.kinds import numeric_columns, row_names, warn_labels
from softvec.read.objects import Graph, from_networkx
from softvec.read.options import TableOptions
from softvec.read.streams import BLOCK, Source, whole_text
from softvec.read.table import Table
from softvec.read.text_kinds import neighbours
from softvec.read.text_table import Columns, TextBlock, table_blocks

_ROWS_OF_A_BLOCK = 4096  # bytes of a block for each column: Arrow takes 25 us for each column of a block


def read_npz(source: Source) -> Graph:
    """Read a SciPy sparse matrix (or a single array) from .npz, with names if softvec wrote it."""
    with source.seekable() as stream:
        arrays = read_archive(stream, source.name)
    if "format" in arrays:
        matrix = sparse_matrix(arrays, source.size, source.name)
        rows, columns = (_stored_names(arrays, side, source.name) for side in ("rows.", "columns."))
        return Graph(matrix, rows, None, columns)
    if len(arrays) == 1:
        return Graph(_two_dimensions(next(iter(arrays.values())), source.name))
    held = ", ".join(map(printable, sorted(arrays)[:8]))
    raise InputError(f"{source.name} holds {held}, not a sparse matrix; write one with scipy.sparse.save_npz")


def _stored_names(arrays: dict[str, np.ndarray], prefix: str, name: str) -> Names | None:
    parts = {key[len(prefix) :]: array for key, array in arrays.items() if key.startswith(prefix)}
    return stored_names(parts, name) if parts else None


def _two_dimensions(array: np.ndarray, name: str) -> np.ndarray:
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise InputError(f"{name} holds {array.dtype} of shape {array.shape}; expected a numeric matrix")
    return array.astype(np.float32) if array.dtype == np.float16 else array


def read_npy(source: Source) -> np.ndarray:
    """Read a matrix from .npy."""
    with source.seekable() as stream:
        return _two_dimensions(read_array(stream, length_of(stream), source.name), source.name)


def read_network(source: Source, format: str, weight: Any = None) -> Graph:
    """Read a GraphML, GML, GEXF or Pajek file through networkx."""
    needs = f"{source.name} is {format}, which needs networkx: pip install 'softvec[graphs]'"
    nx = optional_package("networkx", needs)
    with source.seekable() as stream, reading(source.name, f"{format} file"):
        if format in ("graphml", "gexf"):
            _refuse_declarations(stream, source.name)
        read = {"graphml": nx.read_graphml, "gexf": nx.read_gexf, "pajek": nx.read_pajek}.get(
            format, _read_gml
        )
        return _named_by_attribute(from_networkx(graph := read(stream), weight), graph, source.name)


def _named_by_attribute(read: Graph, graph: Any, where: str) -> Graph:
    """Name the nodes by their attribute name or label if each has one of its own; say so."""
    for key in ("name", "label"):
        names = [data.get(key) for _, data in graph.nodes(data=True)]
        plain = all(isinstance(name, str) and name for name in names)
        if plain and len(set(names)) == len(names) and names != list(map(str, read.names)):
            guess(f"{where}: nodes are named by their attribute {key}, not by their ids")
            return replace(read, names=names)
    return read


def _refuse_declarations(stream: Any, name: str) -> None:
    """Raise an error if XML declares entities or attributes, which can expand without bound."""
    from xml.parsers import expat

    class RootReached(Exception):
        pass

    def refuse(*declaration: Any) -> int:
        what = "entities or default attributes"
        raise InputError(f"{name} declares XML {what}, which are not supported for safety; remove them")

    def stop(*element: Any) -> None:
        raise RootReached

    parser = expat.ParserCreate()
    parser.EntityDeclHandler = parser.ExternalEntityRefHandler = parser.AttlistDeclHandler = refuse
    parser.StartElementHandler = stop  # declarations come before the first element
    with contextlib.suppress(RootReached):
        parser.ParseFile(stream)
    stream.seek(0)


def _read_gml(stream: Any) -> Any:
    import networkx as nx

    try:
        return nx.read_gml(stream)
    except nx.NetworkXError as error:
        if "no 'label' attribute" not in str(error):
            raise
    stream.seek(0)
    return nx.read_gml(stream, label="id")


def read_text(detected: Detected) -> Graph:
    """Read a text table of numbers; a first column may name the rows, a header the columns."""
    table, dialect = detected.table, detected.dialect
    assert table is not None
    assert dialect is not None
    named = _column_of_names(detected, table, dialect)
    body = numeric_columns(table, named, detected.name)
    if detected.kind == "features":
        warn_labels([table.columns[at] for at in body], detected.name)
    parts: list[NDArray[np.float64]] = []
    names: list[str] = []
    size = max(BLOCK, _ROWS_OF_A_BLOCK * dialect.n_fields)
    for block in table_blocks(detected.source, dialect, detected.options.encoding, size):
        parts.append(_numbers(block, body))
        names += [] if named is None else block.texts([named])[named].to_pylist()
    titles = None if dialect.header is None else [dialect.header[at] for at in body]
    return _square_matrix(detected, np.concatenate(parts), names, titles)


def _column_of_names(detected: Detected, table: Table, dialect: Dialect) -> int | None:
    """Return the column that names the rows; row numbers without a title may be data."""
    named = row_names(table.columns)
    if detected.square is None and named is not None and table.columns[named].numeric and not dialect.header:
        return None
    return named


def _numbers(block: TextBlock, body: list[int]) -> NDArray[np.float64]:
    """Return columns of a block as a matrix; raise an error for a field that is not a number."""
    import pyarrow as pa

    columns: Columns | None = None
    if block.dialect.plain:
        with contextlib.suppress(pa.ArrowInvalid):
            columns = block.columns(dict.fromkeys(body, pa.float64()))
    if columns is None:
        columns = {at: block.numbers(column, "entry") for at, column in block.texts(body).items()}
    return np.stack([columns[at].to_numpy() for at in body], axis=1)


def _square_matrix(detected: Detected, matrix: Any, shown: list[str], titles: list[str] | None) -> Graph:
    """Return a matrix with its names; of a square one, rows and columns in the same order."""
    whole = bool(shown) and dialects.all_integers([name.encode() for name in shown])
    names: list[Any] = list(map(int, shown)) if whole else shown
    if detected.square and titles and len(titles) == len(names) and titles != shown:
        matrix, titles = matrix[:, [titles.index(name) for name in shown]], shown
    if detected.square is False and titles and detected.kind in ("graph", "dense"):
        names = titles
    if names and matrix.shape[0] == matrix.shape[1]:
        warn_total(detected.name, Names(names[-1:]))
    return Graph(matrix, names or None, None, titles)


def read_adjacency_list(source: Source, options: TableOptions) -> list[tuple[Any, Any]]:
    """Read the pairs of an adjacency list: lines of a node and its neighbours, as networkx writes them."""
    byte = 0 if options.delimiter is None else dialects.delimiter_byte(options.delimiter)
    text = whole_text(source, options.encoding)
    lines = (raw for raw in text.split(b"\n") if dialects.is_data(raw, options.comments))
    fields = (list(filter(None, dialects.split(raw, byte))) for raw in lines)
    rows = neighbours(list(filter(None, fields)))
    whole = options.ids != "string" and all(map(dialects.all_integers, rows))
    name = int if whole else bytes.decode
    pairs = [(name(row[0]), name(other)) for row in rows for other in row[1:]]
    if not pairs:
        raise InputError(f"{source.name} is empty: it has no edges")
    return pairs
