"""Edges in several files: a folder, a pattern such as ``edges/*.parquet``, or a list of paths.

The first file determines the kind of data and the layout; the others must have the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from softvec.core.checks import counted
from softvec.core.errors import InputError, Option
from softvec.read import edgelist, tables
from softvec.read.detect import ARROW, detect
from softvec.read.edges import EdgeBuilder, Edges, edges_of
from softvec.read.formats import find_format
from softvec.read.lines import Table
from softvec.read.opened import Opened, TextOptions
from softvec.read.roles import Layout, known_names
from softvec.read.streams import open_source

EDGE_KINDS = ("graph", "pairs", "bipartite", "temporal")


@dataclass(frozen=True)
class EdgeFile:
    """A file of edges and its columns."""

    opened: Opened
    layout: Layout
    table: Table | None = None  # of a text


def read_edge_files(
    paths: Sequence[Path], options: TextOptions, kind: str | None, format: str | None
) -> tuple[str, str, Edges]:
    """Read the edges of several files, one after the other; return their kind and format, too."""
    first = _open(paths[0], options, kind, format)
    files = [first, *(_open_like(first, path, options, format) for path in paths[1:])]
    name = f"{paths[0]} and {counted(len(paths) - 1, 'other file')}"
    builder = EdgeBuilder(first.opened.options.two_sided, options.negative)
    for file in files:
        if file.table is not None:
            edgelist.add_text(builder, file.opened.source, file.table, file.opened.options)
        else:
            for _ in tables.add_arrow(builder, file.opened, file.layout):
                pass
    edges = edges_of(builder, name)
    edgelist.warn_names(edges, name)
    notes = [counted(len(files), "file"), *([first.layout.summary] if first.layout.summary else [])]
    return first.opened.kind, first.opened.format, replace(edges, notes=(*notes, *edges.notes))


def _open(
    path: Path, options: TextOptions, kind: str | None, format: str | None, quiet: bool = False
) -> EdgeFile:
    """Detect the layout of a file; ``quiet`` leaves out guesses, which the first file has told."""
    from softvec.read.contents import is_matrix

    opened = detect(path, options, kind=kind, format=format)
    if opened.kind not in EDGE_KINDS or opened.format not in ("text", *ARROW):
        what = f"{opened.kind} data" if opened.kind not in EDGE_KINDS else opened.format
        raise InputError(
            f"{path} is {what}; several files are read as edges, in text, parquet, Arrow or Feather; pass ",
            "one file, or ", Option("kind", "graph"), " if its lines are edges"
        )  # fmt: skip
    if opened.text is not None:
        if is_matrix(opened):
            raise _matrix(path)
        if quiet:
            opened = replace(opened, text=replace(opened.text, table=replace(opened.text.table, guesses=())))
        table = edgelist.edge_table(opened)
        return EdgeFile(opened, table.layout, table)
    assert opened.arrow is not None
    if opened.arrow.square and opened.options.columns is None:
        raise _matrix(path)
    if quiet:
        opened.arrow.layout.guesses.clear()
    return EdgeFile(opened, tables.edge_layout(opened))


def _matrix(path: Path) -> InputError:
    return InputError(
        f"{path} is a matrix; several files are read as edges; if its rows are edges, name two columns with ",
        Option("columns", ...),
    )


def _open_like(first: EdgeFile, path: Path, options: TextOptions, format: str | None) -> EdgeFile:
    """Open a file with the columns of the first one; raise an error if its layout differs."""
    text = find_format(open_source(path), format) == "text"
    header, roles = first.layout.header, first.layout.roles
    if text != (first.table is not None) and header is None:
        raise InputError(f"the files differ: {first.opened.name} has no column names, {path} is a table")
    named = header is not None and not (text and first.table is not None)
    columns = {role: header[at] if header is not None and named else at for role, at in roles.items()}
    asked = replace(options, columns=columns, weight=None)
    if text and first.table is not None:
        table = first.table
        asked = replace(asked, delimiter=chr(table.delimiter or 32), decimal=table.decimal.decode())
    other = _open(path, asked, first.opened.kind, format, quiet=True)
    if first.table is None or other.table is None:
        return other
    if other.table.n_fields != first.table.n_fields:
        counts = [counted(file.n_fields, "column") for file in (first.table, other.table)]
        raise InputError(
            f"the files differ: {first.opened.name} has {counts[0]}, {path} has {counts[1]}; give files of "
            "one layout"
        )
    return _same_header(first, other, options)


def _same_header(first: EdgeFile, other: EdgeFile, options: TextOptions) -> EdgeFile:
    """Return the other file with the first one's header, or none: the files may be parts of one text."""
    assert first.table is not None
    assert other.table is not None
    header = other.table.header
    if options.header is not None or header is None or header == first.table.header:
        return other
    if known_names(header) >= 2:
        before = "none" if first.table.header is None else ", ".join(first.table.header)
        raise InputError(
            f"the files differ: {other.opened.name} has the header {', '.join(header)}, "
            f"{first.opened.name} has {before}; give files of one layout, or ",
            Option("header", False), " if none has one"
        )  # fmt: skip
    return replace(other, table=replace(other.table, header=None))  # an edge that only looks like a header
