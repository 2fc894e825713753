"""Edges in tables: one file, or a folder, a pattern such as ``edges/*.parquet``, or a list of paths.

The first file determines the kind of data and the layout; the others must have the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from softvec.core.checks import counted
from softvec.core.errors import InputError, Option
from softvec.read.columns import edge_roles
from softvec.read.detect import Detected, detect
from softvec.read.edgelist import add_text, check_text, warn_names
from softvec.read.edges import EdgeBuilder, Edges, edges_of
from softvec.read.formats import ARROW, find_format
from softvec.read.options import TableOptions
from softvec.read.roles import known_names
from softvec.read.streams import open_source
from softvec.read.table import Table
from softvec.read.tables import add_arrow

EDGE_KINDS = ("graph", "pairs", "bipartite", "temporal")


def read_edges(files: Sequence[Detected]) -> Edges:
    """Read the edges of tables of one layout, one after the other; warn about guesses of the first."""
    first, options = files[0], files[0].options
    name = first.name if len(files) == 1 else f"{first.name} and {counted(len(files) - 1, 'other file')}"
    builder = EdgeBuilder(options.two_sided, options.negative, options.missing, options.min_weight)
    summary = ""
    for file in files:
        table = _edge_columns(file)
        summary = summary or table.summary
        (add_text if file.dialect is not None else add_arrow)(builder, file, table)
    edges = edges_of(builder, name)
    warn_names(edges, name)
    notes = [counted(len(files), "file")] * (len(files) > 1) + [summary] * bool(summary)
    return replace(edges, notes=(*notes, *edges.notes))


def _edge_columns(file: Detected) -> Table:
    """Return the columns of a table with the roles that edges use; warn about guesses."""
    assert file.table is not None
    table = edge_roles(file.table, file.name, file.options)
    if file.dialect is not None:
        check_text(table, file.name, file.options)
    return table


def detect_all(
    paths: Sequence[Path], options: TableOptions, kind: str | None, format: str | None
) -> list[Detected]:
    """Detect what several files of edges hold; raise an error if their layouts differ."""
    first = _detect_edges(paths[0], options, kind, format)
    return [first, *(_detect_like(first, path, options, format) for path in paths[1:])]


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
