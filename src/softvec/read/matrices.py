"""Matrices in files: SciPy .npz, NumPy .npy, MATLAB .mat, and GraphML and GML graphs."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.core.errors import InputError, guess, optional_package, printable
from softvec.core.untrusted import reading
from softvec.names import Names
from softvec.read import dialect as dialects
from softvec.read.arrays import length_of, read_archive, read_array, sparse_matrix, stored_names
from softvec.read.detect import Detected
from softvec.read.edgelist import warn_total
from softvec.read.kinds import row_names, warn_labels
from softvec.read.matlab import check_version_4, read_variables
from softvec.read.objects import Graph, from_networkx
from softvec.read.options import TableOptions
from softvec.read.streams import BLOCK, Source, whole_text
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
    raise InputError(
        f"{source.name} holds {_listed(sorted(arrays))}, not a sparse matrix; write one with "
        "scipy.sparse.save_npz"
    )


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


def read_mat(source: Source, variable: str | None = None) -> Graph:
    """Read a matrix from a MATLAB file: the named variable, or a sparse, square, large one, in this order."""
    with source.seekable() as stream:
        head = stream.read(128)
        if head.startswith(b"\x89HDF\r\n\x1a\n"):
            raise InputError(f"{source.name} is a MATLAB 7.3 file; save it with the option -v7")
        stream.seek(0)
        newer = 0 not in head[:4] and len(head) > 4  # version 4 starts with a small number of 32 bits
        variables = read_variables(stream, source.name) if newer else _read_version_4(stream, source)
    matrices = {
        key: value
        for key, value in variables.items()
        if (sparse.issparse(value) or getattr(value, "dtype", np.dtype("O")).kind in "fiub")
        and value.ndim == 2
        and min(value.shape) > 1
    }
    if variable is not None:
        if variable not in matrices:
            raise InputError(
                f"{source.name} has no matrix {variable!r}; it has {_listed(matrices) or 'none'}"
            )
        return _with_names(matrices[variable], variables)
    if not matrices:
        raise InputError(f"{source.name} holds no matrix; its variables are {_listed(variables) or 'none'}")

    def rank(key: str) -> tuple[bool, bool, int]:
        value = matrices[key]
        return sparse.issparse(value), value.shape[0] == value.shape[1], value.shape[0] * value.shape[1]

    return _with_names(matrices[max(matrices, key=rank)], variables)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(printable(name) for name in islice(names, 8))


def load_mat(stream: Any, **options: Any) -> dict[str, Any]:
    """Call SciPy's ``loadmat``; from SciPy 1.17 on, sparse variables are arrays."""
    from scipy.io import loadmat

    if "spmatrix" in inspect.signature(loadmat).parameters:
        options["spmatrix"] = False
    loaded: dict[str, Any] = loadmat(stream, **options)
    return loaded


def _read_version_4(stream: Any, source: Source) -> dict[str, Any]:
    with reading(source.name, "MATLAB file"):
        check_version_4(stream, source.name)
        loaded = load_mat(stream)
    return {key: value for key, value in loaded.items() if not key.startswith("__")}


def _with_names(matrix: Any, variables: dict[str, Any]) -> Graph:
    sides: list[list[str] | None] = []
    for key, size in (("names", matrix.shape[0]), ("column_names", matrix.shape[1])):
        stored = variables.get(key)
        names = None
        if stored is not None and np.size(stored) == size:
            names = [str(item) for item in (stored if isinstance(stored, list) else stored.reshape(-1))]
        sides.append(names)
    return Graph(matrix, sides[0], None, sides[1])


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
    named = row_names(table.columns)
    if detected.square is None and named is not None and table.columns[named].numeric and not dialect.header:
        named = None  # row numbers without a title may be data
    body = _columns_of_numbers(detected, named)
    parts: list[NDArray[np.float64]] = []
    names: list[Any] = []
    size = max(BLOCK, _ROWS_OF_A_BLOCK * dialect.n_fields)
    for block in table_blocks(detected.source, dialect, detected.options.encoding, size):
        parts.append(_numbers(block, body))
        names += [] if named is None else block.texts([named])[named].to_pylist()
    if names and dialects.all_integers([name.encode() for name in names]):
        names = [int(name) for name in names]
    titles = None if dialect.header is None else [dialect.header[at] for at in body]
    return _square_matrix(detected, np.concatenate(parts), names, titles)


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


def _square_matrix(detected: Detected, matrix: Any, names: list[Any], titles: list[str] | None) -> Graph:
    """Return a matrix with its names; of a square one, rows and columns in the same order."""
    shown = list(map(str, names))
    if detected.square and titles and len(titles) == len(names) and titles != shown:
        matrix, titles = matrix[:, [titles.index(name) for name in shown]], shown
    if detected.square is False and titles and detected.kind in ("graph", "dense"):
        names = titles
    if names and matrix.shape[0] == matrix.shape[1]:
        warn_total(detected.name, Names(names[-1:]))
    return Graph(matrix, names or None, None, titles)


def _columns_of_numbers(detected: Detected, named: int | None) -> list[int]:
    """Return the columns of a text table that make up its matrix; warn of what is left out or a label."""
    assert detected.table is not None
    columns, name = detected.table.columns, detected.name
    filled = [at for at, column in enumerate(columns) if at != named and not column.empty]
    body = [at for at in filled if columns[at].numeric]
    text = [detected.table.show(at) for at in filled if at not in body]
    if not body or (text and detected.table.header is None):
        raise InputError(f"{name}: column {text[0]} does not hold numbers, as a matrix must")
    if text:
        guess(f"{name}: columns without numbers are not used: {', '.join(text[:4])}")
    if detected.kind == "features":
        warn_labels([columns[at] for at in body], name)
    return body


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
