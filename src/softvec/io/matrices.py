"""Matrices in files: Matrix Market, SciPy .npz, NumPy .npy, MATLAB .mat, and GraphML and GML graphs."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from softvec.affinity._objects import Graph, from_networkx
from softvec.affinity._table_kinds import row_names
from softvec.errors import InputError, guess
from softvec.io import lines
from softvec.io.edgelist import TextOptions, find_layout
from softvec.io.formats import square_names
from softvec.io.streams import Source, text_blocks
from softvec.labels import Labels


def read_matrix_market(source: Source) -> Graph:
    """Read a Matrix Market file; its header says whether it is symmetric."""
    from scipy.io import mmread

    words = source.head(200).splitlines()[0].decode("ascii", "replace").lower().split()
    if len(words) != 5 or words[1] != "matrix":
        raise InputError(
            f"{source.name}, line 1: {' '.join(words)!r} is not the header of a Matrix Market file"
        )
    try:
        if source.path is not None and source.compression is None:
            matrix = mmread(source.path, spmatrix=False)
        else:
            with source.open() as stream:
                matrix = mmread(io.BytesIO(stream.read()), spmatrix=False)
    except (ValueError, OverflowError, TypeError) as error:
        raise InputError(f"{source.name} is not a readable Matrix Market file: {error}") from None
    if np.iscomplexobj(matrix):
        raise InputError(f"{source.name} holds complex numbers; affinities are real and >= 0")
    directed = False if words[4] == "symmetric" else None
    return Graph(sparse.csr_array(matrix), directed=directed)


def read_npz(source: Source) -> Graph:
    """Read a SciPy sparse matrix (or a single array) from .npz, with the names this library adds."""
    with source.seekable() as stream:
        try:
            with np.load(stream, allow_pickle=False) as archive:
                keys = set(archive.files)
                if "format" in keys:
                    stream.seek(0)
                    matrix = sparse.load_npz(stream)
                    names = _stored_names(archive, "rows.")
                    return Graph(sparse.csr_array(matrix), names, None, _stored_names(archive, "columns."))
                if len(keys) == 1:
                    return Graph(_two_dimensions(archive[next(iter(keys))], source.name))
        except (ValueError, OSError, KeyError, EOFError, zipfile.BadZipFile) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{source.name} is not a readable .npz file: {error}") from None
    raise InputError(
        f"{source.name} holds {', '.join(sorted(keys)[:8])}, not a sparse matrix; write one with "
        "scipy.sparse.save_npz"
    )


def _stored_names(archive: Any, prefix: str) -> Labels | None:
    arrays = {key[len(prefix) :]: archive[key] for key in archive.files if key.startswith(prefix)}
    return Labels.from_arrays(arrays) if arrays else None


def _two_dimensions(array: np.ndarray, name: str) -> np.ndarray:
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise InputError(f"{name} holds {array.dtype} of shape {array.shape}; expected a numeric matrix")
    return array


def read_npy(source: Source) -> np.ndarray:
    """Read a matrix from .npy."""
    with source.seekable() as stream:
        try:
            array = np.load(stream, allow_pickle=False)
        except (ValueError, OSError, EOFError) as error:
            raise InputError(f"{source.name} is not a readable .npy file: {error}") from None
    array = _two_dimensions(array, source.name)
    return array.astype(np.float32) if array.dtype == np.float16 else array


def read_mat(source: Source, variable: str | None = None) -> Graph:
    """Read a matrix from a MATLAB file: the variable named, or the largest square (else sparse) one."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    with source.seekable() as stream:
        if stream.read(8) == b"\x89HDF\r\n\x1a\n":
            raise InputError(f"{source.name} is a MATLAB 7.3 file; save it with the option -v7")
        stream.seek(0)
        try:
            loaded = loadmat(stream)
        except (ValueError, TypeError, OSError, NotImplementedError, MatReadError) as error:
            raise InputError(f"{source.name} is not a readable MATLAB file: {error}") from None
    found = {key: value for key, value in loaded.items() if not key.startswith("__")}
    matrices = {
        key: value
        for key, value in found.items()
        if (sparse.issparse(value) or getattr(value, "dtype", np.dtype("O")).kind in "fiub")
        and value.ndim == 2
        and min(value.shape) > 1
    }
    if variable is not None:
        if variable not in matrices:
            raise InputError(
                f"{source.name} has no matrix {variable!r}; it has {', '.join(matrices) or 'none'}"
            )
        return _with_names(matrices[variable], found)
    if not matrices:
        raise InputError(f"{source.name} holds no matrix; its variables are {', '.join(found) or 'none'}")

    def rank(key: str) -> tuple[bool, bool, int]:
        value = matrices[key]
        return sparse.issparse(value), value.shape[0] == value.shape[1], value.shape[0] * value.shape[1]

    return _with_names(matrices[max(matrices, key=rank)], found)


def _with_names(matrix: Any, found: dict[str, Any]) -> Graph:
    labels = []
    for key, size in (("names", matrix.shape[0]), ("column_names", matrix.shape[1])):
        stored = found.get(key)
        names = None
        if stored is not None and stored.size == size:
            flat = stored.reshape(-1)
            names = [
                str(item[0]) if isinstance(item, np.ndarray) and item.size else str(item) for item in flat
            ]
        labels.append(names)
    return Graph(sparse.csr_array(matrix), labels[0], None, labels[1])


def read_network(source: Source, format: str, weight: Any = None) -> Graph:
    """Read a GraphML or GML file through networkx."""
    try:
        import networkx as nx
    except ImportError:
        raise InputError(
            f"{source.name} is {format}, which needs networkx: pip install 'softvec[graphs]'"
        ) from None
    import xml.etree.ElementTree as ElementTree

    with source.seekable() as stream:
        try:
            graph = nx.read_graphml(stream) if format == "graphml" else _read_gml(stream)
        except (nx.NetworkXError, ElementTree.ParseError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{source.name} is not a readable {format} file: {error}") from None
    return from_networkx(graph, weight)


def _read_gml(stream: Any) -> Any:
    import networkx as nx

    try:
        return nx.read_gml(stream)
    except nx.NetworkXError as error:
        if "no 'label' attribute" not in str(error):
            raise
    stream.seek(0)
    return nx.read_gml(stream, label="id")


def read_text(source: Source, options: TextOptions) -> Graph:
    """Read a text table of numbers; a first column may name the rows, a header the columns."""
    table, sample = find_layout(source, replace(options, columns=None, weight=None, timed=False), wide=True)
    columns = table.layout.columns
    named = row_names(table.layout)
    if square_names(table, sample) is None and named is not None and columns[named].numeric:
        named = named if table.header is not None else None  # a count without a title may be data
    body = [at for at in range(table.n_fields) if at != named and not columns[at].empty]
    text = [at for at in body if not columns[at].numeric]
    if len(text) == len(body) or (text and table.header is None):
        raise InputError(f"{source.name}: column {text[0]} does not hold numbers; a matrix has only numbers")
    if text:
        shown = ", ".join(str(columns[at].name) for at in text[:4])
        guess(f"{source.name}: {shown} holds no numbers and is not used")
        body = [at for at in body if at not in text]
    rows: list[list[float]] = []
    labels: list[Any] = []
    skip = table.header is not None
    for block, line in text_blocks(source, encoding=options.encoding):
        parsed, numbers = lines.parse(block, table, source.name, line, skip)
        for row, number in zip(parsed, numbers):
            if named is not None:
                labels.append(row[named].decode("utf-8"))
            rows.append([lines.number_of(row[at], "entry", source.name, number, table) for at in body])
        skip = False
    if labels and lines.all_integers([label.encode() for label in labels]):
        labels = [int(label) for label in labels]
    titles = None if table.header is None else [table.header[at] for at in body]
    return Graph(np.array(rows), labels or None, None, titles)


def read_adjacency_list(source: Source, options: TextOptions) -> list[tuple[Any, Any]]:
    """Read lines of a node and its neighbours, as networkx writes them, into pairs."""
    byte = 0 if options.delimiter is None else lines.delimiter_byte(options.delimiter)
    rows = []
    for block, _ in text_blocks(source, encoding=options.encoding):
        data = [raw for raw in block.split(b"\n") if lines.is_data(raw, options.comments)]
        rows += [[field for field in lines.split(raw, byte) if field] for raw in data]
    fields = [field for row in rows for field in row]
    whole = options.ids != "string" and lines.all_integers(fields)
    name = int if whole else lambda field: field.decode("utf-8")
    pairs = [(name(row[0]), name(other)) for row in rows for other in row[1:]]
    if not pairs:
        raise InputError(f"{source.name} is empty: there are no edges in it")
    return pairs
