"""Matrices in files: Matrix Market, SciPy .npz, NumPy .npy, MATLAB .mat, and GraphML and GML graphs."""

from __future__ import annotations

import inspect
import io
import zipfile
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from softvec.core.errors import InputError
from softvec.names import Labels
from softvec.read import lines
from softvec.read.edgelist import TextOptions, find_layout
from softvec.read.objects import Graph, from_networkx
from softvec.read.streams import Source, text_blocks


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


def load_mat(stream: Any, **options: Any) -> dict[str, Any]:
    """Call SciPy's ``loadmat``; where SciPy has the choice (1.17 and later), sparse variables are arrays."""
    from scipy.io import loadmat

    if "spmatrix" in inspect.signature(loadmat).parameters:
        options["spmatrix"] = False
    loaded: dict[str, Any] = loadmat(stream, **options)
    return loaded


def read_mat(source: Source, variable: str | None = None) -> Graph:
    """Read a matrix from a MATLAB file: the variable named, or the largest square (else sparse) one."""
    from scipy.io.matlab import MatReadError

    with source.seekable() as stream:
        if stream.read(8) == b"\x89HDF\r\n\x1a\n":
            raise InputError(f"{source.name} is a MATLAB 7.3 file; save it with the option -v7")
        stream.seek(0)
        try:
            loaded = load_mat(stream)
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


def read_network(source: Source, format: str) -> Graph:
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
    weighted = any("weight" in data for _, _, data in graph.edges(data=True))
    return from_networkx(graph, "weight" if weighted else None)


def _read_gml(stream: Any) -> Any:
    import networkx as nx

    try:
        return nx.read_gml(stream)
    except nx.NetworkXError as error:
        if "no 'label' attribute" not in str(error):
            raise
    stream.seek(0)
    return nx.read_gml(stream, label="id")


def read_text(source: Source, options: TextOptions) -> tuple[np.ndarray, Any]:
    """Read a text table of numbers; its first column may hold names."""
    table, _ = find_layout(source, replace(options, columns=None))
    if not all(table.numeric[1:]) or (table.n_fields == 1 and not table.numeric[0]):
        bad = table.numeric.index(False, 1) if False in table.numeric[1:] else 0
        raise InputError(f"{source.name}: column {bad} does not hold numbers; a matrix has only numbers")
    rows: list[list[float]] = []
    labels: list[str] = []
    named = not table.numeric[0]
    skip = table.header is not None
    for block, line in text_blocks(source, encoding=options.encoding):
        parsed, numbers = lines.parse(block, table, source.name, line)
        for row, number in zip(parsed[skip:], numbers[skip:]):
            if named:
                labels.append(row[0].decode("utf-8"))
            rows.append([lines.number_of(f, "entry", source.name, number) for f in row[named:]])
        skip = False
    return np.array(rows), labels or None
