"""Find files of edges, detect their contents, and split them into pieces for the workers."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from softvec.cluster.ingest.agree import agreed
from softvec.cluster.seam import Group
from softvec.core.checks import counted
from softvec.core.errors import InputError, Option
from softvec.read import edgelist, tables
from softvec.read.contents import is_matrix
from softvec.read.detect import ARROW, detect
from softvec.read.folders import visible_files
from softvec.read.formats import find_format
from softvec.read.lines import Table
from softvec.read.opened import Opened, TextOptions
from softvec.read.ranges import is_cuttable, text_range
from softvec.read.roles import Layout, known_names
from softvec.read.streams import BLOCK, Source, open_source

KINDS = ("graph", "pairs", "bipartite")
PIECE = 16 << 20  # bytes of text
ROWS = 1 << 20  # rows of a table


@dataclass(frozen=True)
class EdgeFile:
    """A file of edges: its columns, and where it can be cut."""

    opened: Opened  # without the samples of the detection
    layout: Layout
    table: Table | None  # of a text
    by_arrow: bool  # a text that Arrow reads
    cuts: tuple[int, ...]  # starts of its pieces, and its end, in bytes or parts; empty for a single piece
    rows: tuple[int, ...] = ()  # rows before each piece, if known

    @property
    def name(self) -> str:
        """Name of the file in messages."""
        return self.opened.name


@dataclass(frozen=True)
class Piece:
    """A part of a file that one worker reads."""

    file: int
    start: int = 0
    stop: int = -1  # -1 for the end
    first_row: int = 0


def find_files(where: Any) -> list[Path]:
    """Return the files of a pattern, a folder or a list, in the order in which they are read.

    Files of a pattern or a folder are sorted by path, without hidden ones and those that begin with ``_``; a
    list keeps its order.
    """
    if not isinstance(where, str | os.PathLike):
        files = [Path(path) for path in where]
        if not files:
            raise InputError("no files to read: the list of paths is empty")
        return files
    path = Path(where)
    if path.is_dir():
        files = visible_files(path.iterdir(), path)
    elif glob.has_magic(os.fspath(where)) and not path.exists():
        files = visible_files(map(Path, glob.glob(os.fspath(where), recursive=True)), Path())
    else:
        return [path]
    files = [file for file in files if not file.name.startswith("_")]
    if not files:
        raise InputError(
            f"no file of edges in {where}" if path.is_dir() else f"no file matches {str(where)!r}"
        )
    return files


def open_files(
    where: Any, group: Group, options: TextOptions, kind: str | None, format: str | None, piece: int
) -> list[EdgeFile]:
    """Open all files; collective.

    The first file determines the kind of data and the layout, as in a single process; the others, shared
    among workers, must have the same.
    """
    paths = agreed(group, lambda: find_files(where))
    first = agreed(group, lambda: _open(paths[0], options, kind, format, piece) if group.rank == 0 else None)
    start = group.gather(first)[0]
    assert start is not None

    def mine() -> list[EdgeFile]:
        own = range(group.rank or group.size, len(paths), group.size)
        return [_open_like(start, paths[at], options, format, piece) for at in own]

    shares = group.gather(agreed(group, mine))
    shares[0].insert(0, start)
    return [shares[at % group.size][at // group.size] for at in range(len(paths))]


def is_shared(path: Path, options: TextOptions, kind: str | None, format: str | None) -> bool:
    """Whether workers share a file: a table of edges whose names are integers or text."""
    file = _open(path, options, kind, format, PIECE, quiet=True)
    return file.table is not None or tables.names_are_plain(file.opened, file.layout)


def _open_like(first: EdgeFile, path: Path, options: TextOptions, format: str | None, piece: int) -> EdgeFile:
    """Open a file like the first one; raise an error if its layout differs."""
    text = find_format(open_source(path), format) == "text"
    header, roles = first.layout.header, first.layout.roles
    named = header is not None and not (text and first.table is not None)
    columns = {role: header[at] if header is not None and named else at for role, at in roles.items()}
    asked = replace(options, columns=columns, weight=None)
    if text and first.table is not None:
        table = first.table
        asked = replace(asked, delimiter=chr(table.delimiter or 32), decimal=table.decimal.decode())
    other = _open(path, asked, first.opened.kind, format, piece, quiet=True)
    if first.table is None or other.table is None:
        return other
    if other.table.n_fields != first.table.n_fields:
        counts = [counted(file.n_fields, "column") for file in (first.table, other.table)]
        raise InputError(
            f"the files differ: {first.name} has {counts[0]}, {path} has {counts[1]}; give files of one "
            "layout"
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
        shown = ", ".join(header)
        before = "none" if first.table.header is None else ", ".join(first.table.header)
        raise InputError(
            f"the files differ: {other.name} has the header {shown}, {first.name} has {before}; give files "
            "of one layout, or ",
            Option("header", False),
            " if none has one",
        )
    return replace(other, table=replace(other.table, header=None))  # an edge that only looks like a header


def _open(
    path: Path, options: TextOptions, kind: str | None, format: str | None, piece: int, quiet: bool = False
) -> EdgeFile:
    opened = detect(path, options, kind=kind, format=format)
    if opened.kind not in KINDS:
        raise InputError(
            f"{path} holds {opened.kind} data; workers share files of edges: ",
            Option("kind", "graph"),
            ", pairs or bipartite, if it is",
        )
    if opened.format not in ("text", *ARROW):
        raise InputError(f"{path} is {opened.format}; workers share parquet, Arrow, Feather and text files")
    if opened.format == "text":
        return _open_text(opened, piece, quiet)
    return _open_arrow(opened, piece, quiet)


def _open_text(opened: Opened, piece: int, quiet: bool) -> EdgeFile:
    assert opened.text is not None
    if is_matrix(opened):
        raise _matrix(opened.name)
    if quiet:
        opened = replace(opened, text=replace(opened.text, table=replace(opened.text.table, guesses=())))
    table = edgelist.edge_table(opened)
    by_arrow = edgelist.needs_arrow(table)
    cuts: tuple[int, ...] = ()
    if not by_arrow and is_cuttable(opened.source, opened.options.encoding):
        cuts = _cut_text(opened.source, table, piece)
    layout = _without_samples(table.layout)
    light = replace(opened, source=replace(opened.source, start=b""), text=None)
    return EdgeFile(light, layout, replace(table, layout=layout, guesses=()), by_arrow, cuts)


def _cut_text(source: Source, table: Table, piece: int) -> tuple[int, ...]:
    """Return where the pieces of a text begin, and its end; the header and lines above are in the first."""
    size, first = source.size, piece
    if table.header is not None:
        block = next(text_range(source, 0, min(size, BLOCK)), (b"", 1))[0]
        rest = edgelist.after_header(block, 1, table)[0]
        first = max(piece, len(block) - len(rest) + 16)  # a byte-order mark and "sep=;" are cut off
    return (0, *range(first, size, piece), size)


def _open_arrow(opened: Opened, piece: int, quiet: bool) -> EdgeFile:
    assert opened.arrow is not None
    if opened.arrow.square and opened.options.columns is None:
        raise _matrix(opened.name)
    if quiet:
        opened.arrow.layout.guesses.clear()
    layout = _without_samples(tables.edge_layout(opened))
    parts = tables.arrow_parts(opened.source, opened.format)
    cuts, rows = _cut_parts(parts, opened.source.size, piece) if parts else ((), ())
    light = replace(
        opened, source=replace(opened.source, start=b""), arrow=replace(opened.arrow, layout=layout)
    )
    return EdgeFile(light, layout, None, False, cuts, rows)


def _cut_parts(parts: list[int], size: int, piece: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Join row groups or record batches into pieces of about ``piece`` bytes and ``ROWS`` rows."""
    share = max(size // len(parts), 1)
    cuts, rows, held, held_rows, before = [0], [0], 0, 0, 0
    for at, count in enumerate(parts):
        if held and (held + share > piece or held_rows + count > ROWS):
            cuts.append(at)
            rows.append(before)
            held = held_rows = 0
        held, held_rows, before = held + share, held_rows + max(count, 0), before + max(count, 0)
    return (*cuts, len(parts)), tuple(rows)


def _without_samples(layout: Layout) -> Layout:
    columns = [replace(column, values=()) for column in layout.columns]
    return Layout(columns, layout.roles, index=layout.index)


def _matrix(name: str) -> InputError:
    return InputError(
        f"{name} is a matrix; workers share files of edges; if its rows are edges, name two columns with ",
        Option("columns", ...),
    )


def pieces(files: Sequence[EdgeFile], whole: set[int]) -> list[Piece]:
    """Return the pieces of all files, in order; the files in ``whole`` are not cut."""
    out = []
    for at, file in enumerate(files):
        if at in whole or len(file.cuts) < 2:
            out.append(Piece(at))
            continue
        rows = file.rows or (0,) * (len(file.cuts) - 1)
        out += [Piece(at, lo, hi, row) for lo, hi, row in zip(file.cuts, file.cuts[1:], rows)]
    return out
