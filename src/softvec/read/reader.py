"""Read a source of any format into its contents: edges, a matrix or text.

A source is a file, or several: a folder, a pattern such as ``edges/*.parquet``, or a list of paths. Tables of
edges are read as one: the first file determines the kind of data and the layout, the others must have the
same. Other files are documents of a corpus.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from softvec.core.checks import counted
from softvec.core.errors import InputError, Option, guess
from softvec.core.storage import is_url
from softvec.read import matrices, tables
from softvec.read.columns import edge_roles
from softvec.read.detect import Detected, detect
from softvec.read.edges import EdgeBuilder, Edges, add_text, warn_names
from softvec.read.foreign import read_h5ad, read_mat
from softvec.read.formats import ARROW, find_format
from softvec.read.objects import Graph, edges_of_array, edges_of_rows, is_edge_array
from softvec.read.roles import known_names
from softvec.read.streams import Source, extension, first_bytes, open_source, text_blocks, text_lines
from softvec.read.table import MATRIX_KINDS, TableOptions
from softvec.read.tables import add_arrow

EDGE_KINDS = ("graph", "pairs", "bipartite", "temporal")
_DATA = frozenset(
    (".csv", ".tsv", ".tab", ".edges", ".edgelist", ".el", ".mtx", ".npz", ".npy", ".mat", ".parquet",
     ".arrow", ".feather", ".graphml", ".gml", ".h5ad", ".svec")
)  # fmt: skip


@dataclass(frozen=True)
class Contents:
    """The contents of a source, ready for the builder of its kind of data.

    Attributes
    ----------
    name : str
        For messages.
    kind : str or None
        A kind of data, such as ``"graph"``; None if the builder detects it.
    format : str
        One of ``softvec.read.formats.FORMATS``.
    data : Edges, Graph, AnnData or iterator of bytes
        Text is an iterator of blocks, read while its words are counted.
    guessed : bool
        Whether it is read as text only because it looks like nothing else.
    """

    name: str
    kind: str | None
    format: str
    data: Any
    guessed: bool = False


def read_source(
    where: Any, options: Mapping[str, Any], *, kind: str | None = None, likely: str | None = None
) -> Contents:
    """Open a source, detect its format and kind of data, and read it.

    Parameters
    ----------
    where : path, "-", binary file, folder, pattern or list of paths
        Several files are edges of one layout, or text, one document per file: tables are told from text by
        their extensions.
    options : mapping
        The user's options, for reader and builder.
    kind : str, optional
        Kind of data given by the user.
    likely : str, optional
        Kind implied by the options.
    """
    files = several_files(where, options.get("pattern", "*"))
    if files is not None and kind != "corpus":
        if kind is None and (likely == "corpus" or not are_tables(files)):
            return read_text(where, options)
        if len(files) > 1:
            return _read_several(files, options, kind or likely)
        where = files[0]
    kind = kind or likely
    if kind == "corpus":
        return read_text(where, options)
    detected = detect(where, TableOptions.of(options), kind=kind, format=options.get("format"))
    if detected.kind == "corpus":
        return replace(read_text(detected.source, options), guessed=True)
    if detected.format == "h5ad":
        data = read_h5ad(detected.source, kind, options.get("key"))
        return Contents(detected.name, kind, detected.format, data)
    if detected.kind == "graph" and options.get("directed") is None and detected.is_directed:
        guess(f"{detected.name} is marked as directed, but is read as undirected; pass ",
              Option("directed", True), " if the directions matter")  # fmt: skip
    contents = read_contents(detected, options.get("variable"))
    return Contents(detected.name, detected.kind, detected.format, contents)


def _read_several(files: list[Path], options: Mapping[str, Any], kind: str | None) -> Contents:
    if kind is not None and kind not in EDGE_KINDS:
        raise InputError(
            f"{files[0]} and {counted(len(files) - 1, 'other file')}: several files are read as edges or "
            f"text; pass one file for {kind} data"
        )
    asked, format = TableOptions.of(options), options.get("format")
    first = _detect_edges(files[0], asked, kind, format)
    others = [_detect_like(first, path, asked, format) for path in files[1:]]
    edges = read_edges([first, *others])
    return Contents(first.name, first.kind, first.format, edges)


def read_text(where: Any, options: Mapping[str, Any]) -> Contents:
    """Open text, one document per line; in a folder or a pattern, one document per file."""
    files, encoding = several_files(where, options.get("pattern", "*")), options.get("encoding")
    name = str(getattr(where, "name", where))
    if files is None:
        source = open_source(where)
        if first_bytes(source).startswith((b'{"', b'[{"')):
            raise InputError(f"{source.name} holds JSON; write its texts to a file, one per line")
        return Contents(name, "corpus", "text", _blocks(source, encoding))
    documents = (block for path in files for block in _document(open_source(path), encoding))
    return Contents(name, "corpus", "text", documents)


def _blocks(source: Source, encoding: str | None) -> Iterator[bytes]:
    return (block for block, _ in text_blocks(source, encoding=encoding, whole_lines=False))


def _document(source: Source, encoding: str | None) -> Iterator[bytes]:
    """Yield a file as one document: line ends become blanks, except for a final one."""
    yield from (block.replace(b"\n", b" ") for block in _blocks(source, encoding))
    yield b"\n"


def read_names(where: Any, *, encoding: str | None = None) -> list[str]:
    """Read names, one per line; lines end in LF or CRLF.

    Examples
    --------
    >>> import io
    >>> read_names(io.BytesIO(b"ada\\nbob\\n"))
    ['ada', 'bob']
    """
    return text_lines(where, "names", encoding)


def read_contents(detected: Detected, variable: str | None = None) -> Edges | Graph:
    """Read the edges or the matrix of a source; ``variable`` selects one of a MATLAB file."""
    name, kind, format, source = detected.name, detected.kind, detected.format, detected.source
    if format in ("text", *ARROW):
        return _read_table(detected)
    if kind == "temporal":
        raise InputError(f"{name} is {format}, which has no times; temporal edges must be a table")
    if format == "adjlist":
        if kind in MATRIX_KINDS:
            raise InputError(f"{name} holds edges, not a matrix; pass ", Option("kind", "graph"))
        pairs = matrices.read_adjacency_list(source, detected.options)
        return edges_of_rows(pairs, EdgeBuilder(detected.options.two_sided))
    if format == "mat":
        return read_mat(source, variable)
    readers = {"mtx": matrices.read_matrix_market, "npz": matrices.read_npz, "npy": matrices.read_npy}
    if format in readers:
        read = readers[format](source)
        if kind in EDGE_KINDS and is_edge_array(read.matrix):
            return edges_of_array(
                read.matrix, EdgeBuilder(detected.options.two_sided, detected.options.negative)
            )
        return read
    return matrices.read_network(source, format, detected.options.weight)


def _read_table(detected: Detected) -> Edges | Graph:
    """Read the edges or the matrix of a table in text or in an Arrow file."""
    in_text = detected.dialect is not None
    if (in_text or detected.kind != "features") and not detected.is_matrix:
        return read_edges([detected])
    if not in_text:
        if detected.square is None and detected.kind == "dense":
            raise InputError(f"{detected.name} holds edges, not a dense matrix")
        return tables.matrix_of_file(detected)
    if detected.square is False and detected.kind == "graph":
        guess(
            f"{detected.name} is read as a square matrix; if its lines are edges, name the two ends with ",
            Option("columns", ...),
        )
    return matrices.read_text(detected)


def is_path_list(data: Any) -> bool:
    """Whether data is a list of paths: path objects, or strings that all name files."""
    return (
        isinstance(data, list | tuple)
        and len(data) > 0
        and all(
            isinstance(item, os.PathLike)
            or (isinstance(item, str) and len(item) < 4096 and os.path.isfile(item))
            for item in data
        )
    )


def several_files(where: Any, pattern: str = "*") -> list[Path] | None:
    """Return the files of a folder, a pattern or a list, sorted by path; None if ``where`` is one file.

    Hidden files are left out, and those that begin with ``_``, in which other programs note that they are
    done. Files of a list are all read.
    """
    if is_path_list(where):
        return sorted(map(Path, where))
    if not isinstance(where, str | os.PathLike) or os.fspath(where) == "-":
        return None
    if is_url(where):
        if glob.has_magic(str(where)) or str(where).endswith("/"):
            raise InputError(f"{where}: a pattern or folder at a URL is not read; name one file")
        return None
    path, text = Path(where), os.fspath(where)
    files: Iterable[Path]
    if path.is_dir():
        files, missing = path.rglob(pattern), f"{where} holds no files that match {pattern!r}"
    elif isinstance(text, str) and glob.has_magic(text) and not path.exists():
        path, files, missing = Path(), map(Path, glob.glob(text, recursive=True)), f"no file matches {text!r}"
    else:
        return None
    shown = sorted(file for file in files if _is_shown(file, path) and file.is_file())
    if not shown:
        raise InputError(missing)
    return shown


def _is_shown(path: Path, folder: Path) -> bool:
    """Whether neither the name of a file, nor that of a folder below ``folder``, begins with . or _."""
    parts = [path.name] if folder == Path() else path.relative_to(folder).parts
    return not any(part.startswith((".", "_")) for part in parts)


def are_tables(files: list[Path]) -> bool:
    """Whether several files are tables of edges, not documents of text, by their extensions."""
    tables = [file for file in files if extension(file) in _DATA]
    if tables and len(tables) < len(files):
        other = next(file for file in files if file not in tables)
        raise InputError(
            f"{tables[0]} is a table, {other} is not; pass a pattern such as '*{tables[0].suffix}', or ",
            Option("kind", "corpus"), " to read all as text, or ", Option("kind", "graph"), " as edges"
        )  # fmt: skip
    return bool(tables)


def read_edges(files: Sequence[Detected]) -> Edges:
    """Read the edges of tables of one layout, one after the other; warn about guesses of the first."""
    first, options = files[0], files[0].options
    name = first.name if len(files) == 1 else f"{first.name} and {counted(len(files) - 1, 'other file')}"
    builder = EdgeBuilder(options.two_sided, options.negative, options.missing, options.min_weight)
    summary = ""
    for file in files:
        assert file.table is not None
        table = edge_roles(file.table, file.name, file.options)
        summary = summary or table.summary
        (add_text if file.dialect is not None else add_arrow)(builder, file, table)
    edges = builder.finish()
    if not len(edges):
        raise InputError(f"{name} is empty: it has no edges", "".join(f"; {note}" for note in edges.notes))
    warn_names(edges, name)
    notes = [counted(len(files), "file")] * (len(files) > 1) + [summary] * bool(summary)
    return replace(edges, notes=(*notes, *edges.notes))


def _detect_edges(path: Path, options: TableOptions, kind: str | None, format: str | None) -> Detected:
    file = detect(path, options, kind=kind, format=format)
    if file.kind not in EDGE_KINDS or file.format not in ("text", *ARROW):
        what = f"{file.kind} data" if file.kind not in EDGE_KINDS else file.format
        raise InputError(
            f"{path} is {what}; several files are read as edges, in text, parquet, Arrow or Feather; pass ",
            "one file, or ", Option("kind", "graph"), " if its lines are edges"
        )  # fmt: skip
    if file.is_matrix:
        raise InputError(
            f"{path} is a matrix; several files are read as edges; if its rows are edges, name two columns "
            "with ", Option("columns", ...)
        )  # fmt: skip
    return file


def _detect_like(first: Detected, path: Path, options: TableOptions, format: str | None) -> Detected:
    """Detect a file with the columns of the first one; raise an error if its layout differs."""
    assert first.table is not None
    like = first.dialect if find_format(open_source(path), format) == "text" else None
    header, roles = first.table.header, first.table.roles
    if header is None and (like is None) != (first.dialect is None):
        raise InputError(f"the files differ: {first.name} has no column names, {path} is a table")
    if like is None:
        columns = roles if header is None else {role: header[at] for role, at in roles.items()}
        asked = replace(options, columns=columns, weight=None)
    else:
        delimiter, decimal = chr(like.delimiter or 32), like.decimal.decode()
        asked = replace(options, columns=roles, weight=None, delimiter=delimiter, decimal=decimal)
    other = _detect_edges(path, asked, first.kind, format)
    assert other.table is not None
    other = replace(other, table=replace(other.table, guesses=[]))  # the first file has told them
    return other if like is None or other.dialect is None else _same_header(first, other, options)


def _same_header(first: Detected, other: Detected, options: TableOptions) -> Detected:
    """Return the other file with the first one's header, or none: the files may be parts of one text."""
    assert first.dialect is not None
    assert other.dialect is not None
    widths = [counted(dialect.n_fields, "column") for dialect in (first.dialect, other.dialect)]
    if widths[0] != widths[1]:
        raise InputError(
            f"the files differ: {first.name} has {widths[0]}, {other.name} has {widths[1]}; "
            "give files of one layout"
        )
    header, before = other.dialect.header, first.dialect.header
    if options.header is not None or header is None or header == before:
        return other
    if known_names(header) >= 2:
        raise InputError(
            f"the files differ: {other.name} has the header {', '.join(header)}, "
            f"{first.name} has {'none' if before is None else ', '.join(before)}; give files of one layout, "
            "or ",
            Option("header", False), " if none has one"
        )  # fmt: skip
    return replace(other, dialect=replace(other.dialect, header=None))  # an edge that looks like a header
