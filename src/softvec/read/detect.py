"""Detect the format of a file, the layout of its table and its kind of data."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import Any

from softvec.core.errors import InputError, Message, Option, guess
from softvec.read import lines
from softvec.read.arrays import read_header
from softvec.read.foreign import ForeignLayout
from softvec.read.formats import find_format, square_names, text_kind
from softvec.read.kinds import guess_kind, wide_kind
from softvec.read.lines import Table
from softvec.read.opened import ArrowTable, Opened, TextOptions, TextTable
from softvec.read.roles import find_roles, timed_columns
from softvec.read.streams import HEAD, LONGEST_SAMPLED, Source, open_source, text_blocks

ARROW = ("parquet", "arrow")
_EXPONENT = re.compile(rb"[0-9]+[eE][0-9]+")  # some programs write ids like this
_KONECT = re.compile(rb"%\s*bip\s+\w*(weighted|signed|positive|dynamic)")  # first line of a KONECT file
_COMMENTS_SAMPLED = 16 << 20  # bytes without a line of data after which a text is refused
_MATRIX_KINDS = ("features", "dense")  # columns are numbers without roles


def detect(
    where: Any, options: TextOptions | None = None, *, kind: str | None = None, format: str | None = None
) -> Opened:
    """Open a file and detect what it is.

    Parameters
    ----------
    where : path, "-" or binary file
    options : TextOptions, optional
        The user's options about a table.
    kind, format : str, optional
        Kind of data and format (default: detected).

    Examples
    --------
    >>> opened = detect(io.BytesIO(b"source,target,weight\\na,b,2\\nb,c,1\\n"))
    >>> opened.format, opened.kind, opened.text.table.roles
    ('text', 'graph', {'source': 0, 'target': 1, 'weight': 2})
    """
    options = options or TextOptions()
    source = open_source(where)
    format = find_format(source, format)
    if format == "text":
        return _detect_text(source, options, kind)
    if format in ARROW:
        return _detect_arrow(source, format, options, kind)
    if kind is None:
        kind = "features" if format == "npy" and not _is_square_npy(source) else "graph"
    return Opened(source, format, kind, _for_kind(options, kind))


def _for_kind(options: TextOptions, kind: str) -> TextOptions:
    """Return the options, completed for the kind of data."""
    columns, weight = options.columns, options.weight
    if kind in _MATRIX_KINDS:
        columns = weight = None
    elif kind == "temporal":
        columns = timed_columns(columns)
    return replace(
        options, two_sided=kind == "bipartite", timed=kind == "temporal", columns=columns, weight=weight
    )


def _detect_text(source: Source, options: TextOptions, kind: str | None) -> Opened:
    if kind == "corpus":
        return Opened(source, "text", kind, options)
    if kind is None and _KONECT.match(source.start):
        kind = "bipartite"
    chosen = options if kind is None else _for_kind(options, kind)
    try:
        sample, comment = _sample_lines(source, options)
        table = _find_table(source, sample, comment, chosen)
    except ForeignLayout:
        raise
    except InputError:
        prose = _sample_words(source, options) if kind is None else []
        if not prose or lines.modal_fields(prose, 0)[0] <= 3 or lines.is_cut(prose):
            raise  # too few words per line for text: the error about the table is more helpful
        return Opened(source, "text", text_kind(prose, None, source.suffix, source.name), options)
    square = square_names(table, sample, source.name)
    if kind is None:
        kind = text_kind(sample, table, source.suffix, source.name, square)
        chosen = _for_kind(options, kind)
        if (chosen.columns, chosen.weight) != (options.columns, options.weight):
            table = _find_table(source, sample, comment, chosen)
        if not _warn_exponents(table, sample, source.name, chosen) and kind == "features":
            _warn_whole_numbers(table, source.name)
    elif kind not in _MATRIX_KINDS:
        _warn_exponents(table, sample, source.name, chosen)
    if kind not in (*_MATRIX_KINDS, "corpus") and square is None:
        _warn_padded(table, sample, source.name)
    return Opened(source, "text", kind, chosen, TextTable(table, sample, square))


def _warn_whole_numbers(table: Table, name: str) -> None:
    """Warn that two or three columns of whole numbers, written as decimals, may be edges."""
    ends = table.layout.columns[:2]
    whole = all(c.numeric and all(value % 1 == 0 for value in c.values) for c in ends)
    if table.header is None and table.n_fields < 4 and whole:
        guess(f"{name} is read as feature vectors; ", Option("kind", "graph"), " if its lines are edges")


def _warn_exponents(table: Table, sample: list[bytes], name: str, options: TextOptions) -> bool:
    """Warn that values such as ``1E5``, which may be ids, are read as numbers; return whether any are."""
    if table.header is not None or options.columns is not None:
        return False
    rows = [lines.split(line, table.delimiter) for line in sample]
    for at in range(min(2, table.n_fields)):
        fields = [row[at] for row in rows if len(row) == table.n_fields]
        ids = [field for field in fields if _EXPONENT.fullmatch(field)]
        if ids and table.numeric[at] and all(field.isalnum() for field in fields):
            guess(
                f"{name}: values such as {ids[0].decode()} in column {at} are read as numbers; if they are "
                "names, pass ",
                Option("kind", "graph"),
                " and ",
                Option("columns", ...),
            )
            return True
    return False


def _warn_padded(table: Table, sample: list[bytes], name: str) -> None:
    """Say that ids such as 007 and 7, both of which occur, are two items."""
    rows = [lines.split(line, table.delimiter) for line in sample]
    ends = [table.roles[role] for role in ("source", "target")]
    ids = {row[at] for row in rows if len(row) == table.n_fields for at in ends}
    padded = (field for field in ids if field[:1] == b"0" and field.isdigit() and len(field) > 1)
    both = next((field for field in sorted(padded) if (field.lstrip(b"0") or b"0") in ids), None)
    if both is not None:
        short = (both.lstrip(b"0") or b"0").decode()
        guess(f"{name}: {both.decode()} and {short} are read as two items; write ids alike if they are one")


def _sample_words(source: Source, options: TextOptions) -> list[bytes]:
    """Return the first lines of a text; the last one may be incomplete."""
    blocks = text_blocks(
        source,
        encoding=options.encoding,
        whole_lines=False,
        block=HEAD,
        longest=LONGEST_SAMPLED,
        detecting=True,
    )
    return lines.sample_lines(next(blocks, (b"", 1))[0], options.comments)


def _sample_lines(source: Source, options: TextOptions) -> tuple[list[bytes], bytes | None]:
    """Return the first data lines of a text, and a comment between them that looks like data."""
    sample: list[bytes] = []
    comment = None
    blocks = text_blocks(
        source, encoding=options.encoding, block=HEAD, longest=LONGEST_SAMPLED, detecting=True
    )
    seen = 0
    for block, _ in blocks:  # more than one only where long lines or comments come first
        seen += len(block)
        comment = comment or (lines.marked_names(block, options.comments) if options.comments else None)
        sample += lines.sample_lines(block, options.comments)
        if len(sample) > 1:
            break
        if not sample and seen > _COMMENTS_SAMPLED:
            raise InputError(
                f"{source.name} starts with {seen >> 20} MiB of empty lines and comments; remove them"
            )
    return sample, comment


def _find_table(source: Source, sample: list[bytes], comment: bytes | None, options: TextOptions) -> Table:
    table = lines.find_table(
        sample, delimiter=options.delimiter, header=options.header, comments=options.comments,
        columns=options.columns, weight=options.weight, decimal=options.decimal, name=source.name,
    )  # fmt: skip
    if comment is None:
        return table
    shown = comment[:40].decode("utf-8", "replace")
    text = Message(f"lines such as {shown!r} are read as comments; ", Option("comment", None), " reads them")
    return replace(table, guesses=(*table.guesses, text))


def _detect_arrow(source: Source, format: str, options: TextOptions, kind: str | None) -> Opened:
    from softvec.read.tables import table_head

    names, described, shown, square = table_head(source, format)
    layout = None
    if kind is None:
        layout = find_roles(described, options.columns, options.weight, source.name)
        wide = wide_kind(layout) if options.columns is None else None
        if wide is not None:
            kind = "graph" if square else wide
        else:
            kind, remarks = guess_kind(layout, source.name)
            for text in remarks:
                guess(text)
    chosen = _for_kind(options, kind)
    if kind == "features":
        return Opened(source, format, kind, chosen)
    if layout is None or chosen.columns != options.columns:
        layout = find_roles(described, chosen.columns, chosen.weight, source.name)
    return Opened(source, format, kind, chosen, arrow=ArrowTable(names, layout, shown, square))


def _is_square_npy(source: Source) -> bool:
    """Whether an array is square, according to its header."""
    size = source.size if source.compression is None else 1 << 62  # checked when it is read
    shape, _, dtype = read_header(io.BytesIO(source.start), size, source.name)
    if len(shape) != 2 or dtype.kind not in "fiub":
        raise InputError(f"{source.name} holds {dtype} of shape {shape}; expected a numeric matrix")
    return shape[0] == shape[1]
