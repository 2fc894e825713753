"""Matrices in files: SciPy .npz, NumPy .npy, Matrix Market, text; graphs in GraphML and the like.

SciPy's ``mmread`` crashes on zero bytes and on truncated files, so a Matrix Market file is checked here and
parsed in blocks by Arrow's CSV reader.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.core.errors import InputError, Option, guess, optional_package, printable
from softvec.core.untrusted import reading
from softvec.names import Names
from softvec.read.arrays import check_shape, length_of, read_archive, read_array, sparse_matrix, stored_names
from softvec.read.detect import Detected
from softvec.read.dialect import delimiter_byte
from softvec.read.edges import warn_total
from softvec.read.kinds import neighbours, numeric_columns, row_names
from softvec.read.objects import Graph, from_networkx
from softvec.read.streams import BLOCK, Source, text_blocks, whole_text
from softvec.read.table import Table, TableOptions, all_integers
from softvec.read.text_table import Columns, Dialect, TextBlock, is_data, split, table_blocks

_FIELDS = {"real": "f8", "double": "f8", "integer": "i8", "unsigned-integer": "i8", "pattern": ""}
_DIRECTED = {"general": None, "symmetric": False, "skew-symmetric": None}
_SIZES = {"coordinate": 3, "array": 2}  # numbers of the line of sizes
_HEADER = re.compile("%%matrixmarket matrix (coordinate|array) [^ ]+ [^ ]+")
_START = re.compile(rb"([^\n]*)\n?((?:[ \t\r]*(?:%[^\n]*)?\n)*)([^\n]*)\n?")  # header, comments, sizes
_ROWS_OF_A_BLOCK = 4096  # bytes of a block for each column: Arrow takes 25 us for each column of a block


def read_npz(source: Source) -> Graph:
    """Read a SciPy sparse matrix (or a single array) from .npz, with names if softvec wrote it."""
    with source.seekable() as stream:
        arrays = read_archive(stream, source.name)
    if "format" in arrays:
        matrix = sparse_matrix(arrays, source.size, source.name)
        own = [
            {k.removeprefix(side): array for k, array in arrays.items() if k.startswith(side)}
            for side in ("rows.", "columns.")
        ]
        rows, columns = (stored_names(parts, source.name) if parts else None for parts in own)
        return Graph(matrix, rows, None, columns)
    if len(arrays) == 1:
        return Graph(_two_dimensions(next(iter(arrays.values())), source.name))
    held = ", ".join(map(printable, sorted(arrays)[:8]))
    raise InputError(f"{source.name} holds {held}, not a sparse matrix; write one with scipy.sparse.save_npz")


def _two_dimensions(array: np.ndarray, name: str) -> np.ndarray:
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise InputError(f"{name} holds {array.dtype} of shape {array.shape}; expected a numeric matrix")
    return array.astype(np.float32) if array.dtype == np.float16 else array


def read_npy(source: Source) -> Graph:
    """Read a matrix from .npy."""
    with source.seekable() as stream:
        return Graph(_two_dimensions(read_array(stream, length_of(stream), source.name), source.name))


def read_network(source: Source, format: str, weight: Any = None) -> Graph:
    """Read a GraphML, GML, GEXF or Pajek file through networkx."""
    needs = f"{source.name} is {format}, which needs networkx: pip install 'softvec[graphs]'"
    nx = optional_package("networkx", needs)
    with source.seekable() as stream, reading(source.name, f"{format} file"):
        if format in ("graphml", "gexf"):
            _refuse_declarations(stream, source.name)
        read = {"graphml": nx.read_graphml, "gexf": nx.read_gexf, "pajek": _read_pajek}.get(format, _read_gml)
        return _named_by_attribute(from_networkx(graph := read(stream), weight), graph, source.name)


def _named_by_attribute(read: Graph, graph: Any, where: str) -> Graph:
    """Name the nodes by their attribute name or label if each has one of its own; say so."""
    for key in ("name", "label"):
        names = [data.get(key) for _, data in graph.nodes(data=True)]
        plain = all(isinstance(name, str) and name for name in names)
        if plain and len(set(names)) == len(names) and names != list(map(str, read.names)):
            text = f"{where}: nodes are named by their attribute {key}, not by their ids; "
            guess(text, Option("names", ...), " names them otherwise")
            return replace(read, names=names)
    return read


def _read_pajek(stream: Any) -> Any:
    """Read a Pajek file; networkx merges vertices of one label, and takes all lines for one kind of edges."""
    import networkx as nx

    heads = [line.lower().split() for line in stream.read().splitlines() if line.startswith(b"*")]
    sections = [head[0].decode() for head in heads if head[0].startswith((b"*arcs", b"*edges"))]
    if len(sections) > 1 or any(section.endswith("list") for section in sections):
        raise ValueError(f"its sections are {', '.join(sections)}; write one of *Arcs or *Edges")
    stream.seek(0)
    graph = nx.read_pajek(stream)
    n = next((int(head[1]) for head in heads if head[0] == b"*vertices"), None)
    if len(graph) != n:
        raise ValueError(
            f"it declares {n} vertices, but their labels name {len(graph)}; give each one of its own"
        )
    return graph


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
    whole = bool(shown) and all_integers([name.encode() for name in shown])
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
    byte = 0 if options.delimiter is None else delimiter_byte(options.delimiter)
    text = whole_text(source, options.encoding)
    lines = (raw for raw in text.split(b"\n") if is_data(raw, options.comments))
    fields = (list(filter(None, split(raw, byte))) for raw in lines)
    rows = neighbours(list(filter(None, fields)))
    whole = options.ids != "string" and all(map(all_integers, rows))
    name = int if whole else bytes.decode
    pairs = [(name(row[0]), name(other)) for row in rows for other in row[1:]]
    if not pairs:
        raise InputError(f"{source.name} is empty: it has no edges")
    return pairs


def read_matrix_market(source: Source) -> Graph:
    """Read a Matrix Market file; its header says whether it is symmetric."""
    blocks = text_blocks(source)
    block, _ = next(blocks, (b"", 1))
    parts = _START.match(block)
    assert parts is not None  # it matches any text
    words = parts[1].decode("utf-8", "replace").lower().split()
    if _HEADER.fullmatch(" ".join(words)) is None:
        raise InputError(
            f"{source.name}, line 1: {' '.join(words)!r} is not the header of a Matrix Market file"
        )
    layout, field, symmetry = words[2:]
    if field == "complex" or symmetry == "hermitian":
        raise InputError(f"{source.name} holds complex numbers; affinities are real and >= 0")
    known = field in _FIELDS and symmetry in _DIRECTED
    if not known or (layout, field) == ("array", "pattern"):
        raise InputError(f"{source.name}, line 1: unknown Matrix Market header {' '.join(words[2:])!r}")
    line = block.count(b"\n", 0, parts.start(3)) + 1
    shape = _sizes(parts[3], _SIZES[layout], source.name, line)
    rest = chain([(block[parts.end() :], line + 1)], blocks)
    dense, kind = layout == "array", _FIELDS[field]
    if not dense:
        check_shape(tuple(shape[:2]), source.size, source.name)
    if symmetry != "general" and shape[0] != shape[1]:
        raise InputError(f"{source.name} is {symmetry}, but its shape is {shape[0]:,} x {shape[1]:,}")
    columns = _entries(rest, [kind] if dense else ["i8", "i8", *filter(None, [kind])], source.name)
    build = _dense if dense else _sparse
    return Graph(build(columns, shape, symmetry, source.name), directed=_DIRECTED[symmetry])


def _sizes(text: bytes, count: int, name: str, line: int) -> list[int]:
    """Return the whole numbers of the line of sizes."""
    parts = text.split()
    if not parts:
        raise InputError(f"{name} is truncated: it has no line of sizes")
    if len(parts) != count or not all(part.isdigit() and len(part) < 19 for part in parts):
        shown = text.strip()[:60].decode("utf-8", "replace")
        raise InputError(f"{name}, line {line}: {shown!r} is not a line of {count} sizes")
    return [int(part) for part in parts]


def _entries(blocks: Iterable[tuple[bytes, int]], types: list[str], name: str) -> list[NDArray[Any]]:
    """Return the columns of the entries."""
    import pyarrow as pa

    dialect = Dialect(0, b"%", n_fields=len(types))
    kinds = {at: pa.from_numpy_dtype(np.dtype(kind)) for at, kind in enumerate(types)}
    parts: list[list[NDArray[Any]]] = [[np.empty(0, kind)] for kind in types]
    for text, line in blocks:
        block = TextBlock(text, line, dialect, name)
        try:
            columns = [column.to_numpy() for column in block.columns(kinds).values()]
        except pa.ArrowInvalid:
            columns = _by_lines(block, types)
        for part, column in zip(parts, columns):
            part.append(column)
    return [np.concatenate(part) for part in parts]


def _by_lines(block: TextBlock, types: list[str]) -> list[NDArray[Any]]:
    """Return the columns of lines that Arrow does not read, such as ``+1 2``; raise an error for others."""
    rows = []
    for number, raw in block.records():
        fields = raw.decode("utf-8", "replace").split()
        try:
            rows.append([np.dtype(kind).type(text) for text, kind in zip(fields, types, strict=True)])
        except (ValueError, OverflowError):
            expected = ("a number", "a row and a column", "a row, a column and a value")[len(types) - 1]
            shown = raw[:60].decode("utf-8", "replace")
            raise InputError(f"{block.name}, line {number}: {shown!r}; expected {expected}") from None
    return [np.array(column, kind) for column, kind in zip(zip(*rows), types)]


def _sparse(columns: list[NDArray[Any]], shape: list[int], symmetry: str, name: str) -> sparse.csr_array:
    n, m, entries = shape
    i, j, *rest = columns
    values = rest[0] if rest else np.ones(len(i))
    if len(i) != entries:
        raise InputError(f"{name} declares {entries:,} entries, but {len(i):,} follow")
    outside = (i < 1) | (i > n) | (j < 1) | (j > m)
    if outside.any():
        at = int(np.argmax(outside))
        raise InputError(f"{name}: entry {at + 1:,} is at {i[at]}, {j[at]}, outside {n:,} x {m:,}")
    i, j = i - 1, j - 1
    if symmetry != "general":
        mirror = i != j
        values = np.concatenate([values, values[mirror] * (1 if symmetry == "symmetric" else -1)])
        i, j = np.concatenate([i, j[mirror]]), np.concatenate([j, i[mirror]])
    return sparse.coo_array((values, (i, j)), shape=(n, m)).tocsr()


def _dense(columns: list[NDArray[Any]], shape: list[int], symmetry: str, name: str) -> sparse.csr_array:
    """Return a dense matrix, stored by columns; of a symmetric one the part below the diagonal."""
    (n, m), (values,) = shape, columns
    strict = symmetry == "skew-symmetric"
    expected = n * m if symmetry == "general" else n * (n - 1) // 2 if strict else n * (n + 1) // 2
    if len(values) != expected:
        raise InputError(f"{name} declares {expected:,} numbers, but {len(values):,} follow")
    if symmetry == "general":
        return sparse.csr_array(values.reshape((n, m), order="F"))
    dense = np.zeros((n, n), values.dtype)
    column, row = np.triu_indices(n, int(strict))  # by columns of the lower part
    dense[row, column] = values
    dense[column, row] = -values if strict else values
    return sparse.csr_array(dense)
