"""Read a source of any format into its contents: edges, a matrix or text."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from softvec.core.checks import counted
from softvec.core.errors import InputError, Option, guess
from softvec.read import matrices, tables
from softvec.read.detect import Detected, detect
from softvec.read.edges import Edges
from softvec.read.foreign import read_h5ad, read_mat
from softvec.read.formats import ARROW
from softvec.read.matrix_market import read_matrix_market
from softvec.read.objects import Graph, edges_of_rows
from softvec.read.options import MATRIX_KINDS, TableOptions
from softvec.read.several import EDGE_KINDS, are_tables, detect_all, read_edges, several_files
from softvec.read.streams import Source, open_source, text_blocks, text_lines


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
    names : dict
        ``names`` and ``column_names`` from the user's options, if these are files.
    guessed : bool
        Whether it is read as text only because it looks like nothing else.
    """

    name: str
    kind: str | None
    format: str
    data: Any
    names: dict[str, list[str]] = field(default_factory=dict)
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
    return Contents(detected.name, detected.kind, detected.format, contents, _names_in_files(options))


def _names_in_files(options: Mapping[str, Any]) -> dict[str, list[str]]:
    named = ((key, options.get(key)) for key in ("names", "column_names"))
    return {key: read_names(value) for key, value in named if isinstance(value, str | os.PathLike)}


def _read_several(files: list[Path], options: Mapping[str, Any], kind: str | None) -> Contents:
    if kind is not None and kind not in EDGE_KINDS:
        raise InputError(
            f"{files[0]} and {counted(len(files) - 1, 'other file')}: several files are read as edges or "
            f"text; pass one file for {kind} data"
        )
    detected = detect_all(files, TableOptions.of(options), kind, options.get("format"))
    first = detected[0]
    return Contents(first.name, first.kind, first.format, read_edges(detected), _names_in_files(options))


def read_text(where: Any, options: Mapping[str, Any]) -> Contents:
    """Open text, one document per line; in a folder or a pattern, one document per file."""
    files, encoding = several_files(where, options.get("pattern", "*")), options.get("encoding")
    name = str(getattr(where, "name", where))
    if files is None:
        return Contents(name, "corpus", "text", _blocks(open_source(where), encoding))
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
        return edges_of_rows(pairs, two_sided=detected.options.two_sided)
    if format == "mtx":
        return read_matrix_market(source)
    if format == "npz":
        return matrices.read_npz(source)
    if format == "npy":
        return Graph(matrices.read_npy(source))
    if format == "mat":
        return read_mat(source, variable)
    return matrices.read_network(source, format, detected.options.weight)


def _read_table(detected: Detected) -> Edges | Graph:
    """Read the edges or the matrix of a table in text or in an Arrow file."""
    in_text = detected.dialect is not None
    if detected.kind == "features" and not in_text:
        return tables.matrix_of_file(detected)
    if not detected.is_matrix:
        return read_edges([detected])
    if not in_text:
        if detected.square is None:
            raise InputError(f"{detected.name} holds edges, not a dense matrix")
        return tables.matrix_of_file(detected)
    if detected.square is False and detected.kind == "graph":
        guess(
            f"{detected.name} is read as a square matrix; if its lines are edges, name the two ends with ",
            Option("columns", ...),
        )
    return matrices.read_text(detected)
