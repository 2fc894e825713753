"""Write affinities and matrices to files for :func:`softvec.affinity.read` and other tools."""

from __future__ import annotations

import contextlib
import csv
import io
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy import sparse

from softvec.affinity import Affinity
from softvec.affinity.matrices import canonical, is_symmetric
from softvec.core.errors import InputError, optional_package
from softvec.core.files import atomic_write
from softvec.names import Names
from softvec.operators.normalize import isolated_nodes
from softvec.read.dialect import COMMENTS
from softvec.read.streams import SUFFIXES

logger = logging.getLogger("softvec")
_FORMATS = {
    ".txt": "txt", ".edges": "txt", ".edgelist": "txt", ".tsv": "tsv", ".tab": "tsv", ".csv": "csv",
    ".mtx": "mtx", ".npz": "npz", ".mat": "mat", ".graphml": "graphml", ".gml": "gml",
    ".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow",
}  # fmt: skip
_COMPRESSED_FORMATS = ("npz", "mat", "parquet", "arrow")  # formats that compress by themselves


def write(data: Any, path: str | os.PathLike[str], *, names: Any = None, format: str | None = None) -> None:
    """Write the matrix of an affinity, or a sparse or dense matrix, with its names.

    Parameters
    ----------
    data : Affinity, SciPy sparse or array_like of shape (n, m)
        Of an affinity, the matrix before normalisation. A symmetric one is written as an undirected
        graph, each edge once.
    path : path-like
        The extension chooses the format: ``.txt``, ``.tsv``, ``.csv`` (edge lists), ``.mtx``, ``.npz``,
        ``.mat``, ``.graphml``, ``.gml``, ``.parquet``, ``.arrow``, ``.feather``; ``.gz`` and ``.zst``
        after it compress. Matrix Market holds no names: see :func:`write_names`.
    names : sequence, optional
        Names of the rows of a plain matrix.
    format : str, optional
        The format (default: from the extension).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from softvec.affinity import pairs
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "pairs.csv"
    >>> write(pairs([("a", "b"), ("b", "c")]), path)
    >>> path.read_text().splitlines()
    ['source,target', 'a,b', 'b,c']
    """
    matrix, rows, columns = _parts(data, names)
    chosen, compression = _format_of(path, format)
    symmetric = rows is columns and is_symmetric(matrix)
    with _opened(path, compression) as stream:
        if chosen in ("txt", "tsv", "csv"):
            _write_text(stream, matrix, rows, columns, symmetric, chosen)
        elif chosen in ("parquet", "arrow"):
            _write_arrow(stream, matrix, rows, columns, symmetric, chosen)
        elif chosen == "npz":
            _write_npz(stream, matrix, rows, columns)
        elif chosen == "mtx":
            _write_mtx(stream, matrix, symmetric)
        elif chosen == "mat":
            _write_mat(stream, matrix, rows, columns)
        else:
            _write_network(stream, matrix, rows, columns, symmetric, chosen)


def write_names(names: Any, path: str | os.PathLike[str]) -> None:
    """Write names, one per line, for :func:`softvec.affinity.read_names`."""
    names = Names(names)
    for i, name in enumerate(names):
        if "\n" in str(name):
            raise InputError(
                f"the name {name!r} of row {i} contains a line break; it cannot be written on one line"
            )
    compression = SUFFIXES.get(Path(path).suffix.lower())
    with _opened(path, compression) as stream:
        for name in names:
            stream.write(f"{name}\n".encode())


def _parts(data: Any, names: Any) -> tuple[sparse.csr_array, Names, Names]:
    if isinstance(data, Affinity):
        if data.counts is None:
            raise InputError(f"this {data.kind} affinity is a linear operator; it has no matrix to write")
        return data.counts, data.rows, data.columns
    matrix = canonical(data)
    rows = Names(names) if names is not None else Names.range(matrix.shape[0])
    if len(rows) != matrix.shape[0]:
        raise InputError(f"{len(rows):,} names for {matrix.shape[0]:,} rows; expected one for each")
    return matrix, rows, rows if matrix.shape[0] == matrix.shape[1] else Names.range(matrix.shape[1])


def _format_of(path: str | os.PathLike[str], format: str | None) -> tuple[str, str | None]:
    suffix = Path(path).suffix.lower()
    compression = SUFFIXES.get(suffix)
    if compression:
        suffix = Path(Path(path).stem).suffix.lower()
    chosen = format or _FORMATS.get(suffix) or ("txt" if os.fspath(path) == "-" else None)
    if chosen is None or chosen not in _FORMATS.values():
        known = ", ".join(_FORMATS)
        raise InputError(
            f"{path}: {suffix or 'no extension'} is not a format for a matrix; expected one of {known}"
        )
    if compression and chosen in _COMPRESSED_FORMATS:
        raise InputError(f"{path}: {chosen} files are compressed already; leave out {Path(path).suffix}")
    if compression not in (None, "gzip", "zstd"):
        raise InputError(f"{path}: softvec writes .gz and .zst only")
    return chosen, compression


class _Unclosed:
    """An output stream that ignores ``close``."""

    def __init__(self, stream: IO[bytes]):
        self._stream = stream
        self.closed = False

    def write(self, data: Any) -> int:
        return self._stream.write(data)

    def flush(self) -> None:
        self._stream.flush()

    def close(self) -> None:
        self.closed = True


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str], compression: str | None) -> Iterator[IO[bytes]]:
    with atomic_write(path, "wb") as stream:
        if compression is None:
            yield stream
        else:
            import pyarrow as pa

            with pa.CompressedOutputStream(pa.PythonFile(_Unclosed(stream), mode="w"), compression) as packed:
                yield packed  # type: ignore[misc]


def _entries(matrix: sparse.csr_array, symmetric: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return rows, columns and, unless unweighted, values; only the upper half of a symmetric matrix."""
    i = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    j, values = matrix.indices, matrix.data
    if symmetric:
        upper = i <= j
        i, j, values = i[upper], j[upper], values[upper]
    return i, j, None if values.dtype == bool else values


def _warn_isolated(matrix: sparse.csr_array, rows: Names, columns: Names) -> None:
    alone = isolated_nodes(matrix) if rows is columns else np.empty(0, int)
    if len(alone):
        logger.warning(
            "%d nodes without edges are not in the edge list (first: %r)", len(alone), rows[alone[0]]
        )


def _write_text(
    stream: IO[bytes], matrix: sparse.csr_array, rows: Names, columns: Names, symmetric: bool, kind: str
) -> None:
    _warn_isolated(matrix, rows, columns)
    delimiter = {"txt": " ", "tsv": "\t", "csv": ","}[kind]
    left = [str(name) for name in rows]
    right = left if rows is columns else [str(name) for name in columns]
    if kind != "csv":
        for name in dict.fromkeys([*left, *right]):
            _check_plain(name, kind)
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
    quoting = csv.QUOTE_MINIMAL if not any(map(_needs_quotes, {*left, *right})) else csv.QUOTE_ALL
    plain = {"quoting": quoting} if kind == "csv" else {"quoting": csv.QUOTE_NONE, "quotechar": None}
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n", **plain)  # type: ignore[arg-type]
    i, j, values = _entries(matrix, symmetric)
    if kind != "txt":
        writer.writerow(["source", "target"] + (["weight"] if values is not None else []))
    for lo in range(0, len(i), 100_000):
        a = [left[k] for k in i[lo : lo + 100_000].tolist()]
        b = [right[k] for k in j[lo : lo + 100_000].tolist()]
        if values is None:
            writer.writerows(zip(a, b))
        else:
            writer.writerows(zip(a, b, map(_number, values[lo : lo + 100_000].tolist())))
    text.flush()
    text.detach()


def _number(value: float) -> str:
    return repr(int(value)) if value == int(value) and abs(value) < 2**53 else repr(value)


def _needs_quotes(name: str) -> bool:
    return name != name.strip() or not name or name[0] in COMMENTS.decode() or not name.isprintable()


def _check_plain(name: str, kind: str) -> None:
    blank = any(c in name for c in "\t\n\r\v\f") or (kind == "txt" and " " in name) or name != name.strip(" ")
    if not name or blank or name[0] in '#%"' or any(ord(c) < 33 and c != " " for c in name):
        raise InputError(f"name {name!r} cannot be written to a .{kind} edge list; write .csv or .parquet")


def _write_arrow(
    stream: IO[bytes], matrix: sparse.csr_array, rows: Names, columns: Names, symmetric: bool, kind: str
) -> None:
    import pyarrow as pa

    _warn_isolated(matrix, rows, columns)
    i, j, values = _entries(matrix, symmetric)
    table = {
        "source": _arrow_names(rows).take(pa.array(i)),
        "target": _arrow_names(columns).take(pa.array(j)),
    }
    if values is not None:
        table["weight"] = pa.array(values)
    arrow = pa.table(table)
    if kind == "parquet":
        import pyarrow.parquet as pq

        pq.write_table(arrow, stream)
    else:
        with pa.ipc.new_file(stream, arrow.schema) as writer:
            writer.write_table(arrow)


def _arrow_names(names: Names) -> Any:
    import pyarrow as pa

    plain = names.to_numpy()
    if plain.dtype.kind in "iu":
        return pa.array(plain)
    data, offsets = names.to_strings()
    buffers = [None, pa.py_buffer(np.ascontiguousarray(offsets)), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.Array.from_buffers(pa.large_string(), len(names), buffers)


def _write_npz(stream: IO[bytes], matrix: sparse.csr_array, rows: Names, columns: Names) -> None:
    arrays = {
        "format": np.array(b"csr"), "shape": np.array(matrix.shape), "_is_array": np.array(True),
        "data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr,
    }  # fmt: skip
    arrays |= {f"rows.{key}": value for key, value in rows.to_arrays().items()}
    if rows is not columns:
        arrays |= {f"columns.{key}": value for key, value in columns.to_arrays().items()}
    np.savez_compressed(stream, **arrays)


def _write_mtx(stream: IO[bytes], matrix: sparse.csr_array, symmetric: bool) -> None:
    from scipy.io import mmwrite

    pattern = matrix.dtype == bool
    values = matrix.astype(np.int8) if pattern else matrix
    mmwrite(
        stream, values, field="pattern" if pattern else None, precision=17,
        symmetry="symmetric" if symmetric else "general",
    )  # fmt: skip


def _write_mat(stream: IO[bytes], matrix: sparse.csr_array, rows: Names, columns: Names) -> None:
    from scipy.io import savemat

    content: dict[str, Any] = {"matrix": sparse.csc_matrix(matrix.astype(np.float64))}
    for key, names in (("names", rows), ("column_names", None if rows is columns else columns)):
        if names is not None and names != Names.range(len(names)):
            content[key] = np.array([str(name) for name in names], dtype=object)
    savemat(stream, content, do_compression=True)


def _write_network(
    stream: IO[bytes], matrix: sparse.csr_array, rows: Names, columns: Names, symmetric: bool, kind: str
) -> None:
    nx = optional_package("networkx", f"writing {kind} needs networkx: pip install 'softvec[graphs]'")
    if rows is not columns:
        raise InputError(f"a two-sided matrix cannot be written as {kind}; write .csv, .parquet or .npz")
    names = [name if isinstance(name, str | int) else str(name) for name in rows]
    graph = nx.Graph() if symmetric else nx.DiGraph()
    graph.add_nodes_from(names)
    i, j, values = _entries(matrix, symmetric)
    ends = zip((names[k] for k in i.tolist()), (names[k] for k in j.tolist()))
    if values is None:
        graph.add_edges_from(ends)
    else:
        graph.add_weighted_edges_from((a, b, w) for (a, b), w in zip(ends, values.astype(float).tolist()))
    (nx.write_graphml if kind == "graphml" else nx.write_gml)(graph, stream)
