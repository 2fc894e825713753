"""Detect what a file is: its format, the columns and roles of its table, and its kind of data."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from softvec.core.errors import InputError, Message, Option, guess
from softvec.read.arrays import read_header
from softvec.read.dialect import describe_text, find_dialect, is_cut, is_square
from softvec.read.formats import ARROW, ForeignLayout, find_format
from softvec.read.kinds import ends_are_named, kind_of_prose, kind_of_table, kind_of_text, wide_kind
from softvec.read.roles import find_roles
from softvec.read.streams import Source, open_source, text_blocks
from softvec.read.table import MATRIX_KINDS, Table, TableOptions
from softvec.read.text_table import Dialect, Sample, commented_header, comments_as_data, sample_lines

_EXPONENT = re.compile(rb"[0-9]+[eE][0-9]+")  # some programs write ids like this
_KONECT = re.compile(rb"%\s*bip\s+\w*(weighted|signed|positive|dynamic)")  # first line of a KONECT file
_DIRECTED = re.compile(rb"(#\s*Directed graph\b(?! \(each unordered pair)|%\s*asym\b)")
_COMMENTS_SAMPLED = 16 << 20  # bytes without a line of data after which a text is refused


@dataclass(frozen=True)
class Detected:
    """A source, what it is, and the user's options completed for it.

    Attributes
    ----------
    source : Source
    format : str
        One of ``softvec.read.formats.FORMATS``.
    kind : str
        A kind of data, such as ``"graph"``.
    options : TableOptions
    table : Table or None
        The columns of a table in text, or in a parquet, Arrow or Feather file, and their roles.
    dialect : Dialect or None
        How a table is written as text.
    square : bool or None
        Whether a table is a square matrix of numbers: True with names around it, False without.
    """

    source: Source
    format: str
    kind: str
    options: TableOptions = field(default_factory=TableOptions)
    table: Table | None = None
    dialect: Dialect | None = None
    square: bool | None = None

    @property
    def name(self) -> str:
        """For messages."""
        return self.source.name

    @property
    def is_directed(self) -> bool:
        """Whether a text calls its edges directed: in its first line, or in a column."""
        if self.dialect is None or self.table is None or self.square is not None:
            return False
        columns = ({str(value).lower() for value in column.values} for column in self.table.columns)
        return _DIRECTED.match(self.source.start) is not None or {"directed"} in columns

    @property
    def is_matrix(self) -> bool:
        """Whether a table is a matrix, not edges: a square one, or a wide one of two kinds of items."""
        assert self.table is not None
        if self.kind in MATRIX_KINDS:
            return True
        if self.options.columns is not None or self.options.weight is not None or self.options.timed:
            return False
        return self.square is not None or (self.kind == "bipartite" and wide_kind(self.table) is not None)


def detect(
    where: Any, options: TableOptions | None = None, *, kind: str | None = None, format: str | None = None
) -> Detected:
    """Open a file and detect what it is.

    Parameters
    ----------
    where : path, "-" or binary file
    options : TableOptions, optional
        The user's options about a table.
    kind, format : str, optional
        Kind of data and format (default: detected).

    Examples
    --------
    >>> detected = detect(io.BytesIO(b"source,target,weight\\na,b,2\\nb,c,1\\n"))
    >>> detected.format, detected.kind, detected.table.roles
    ('text', 'graph', {'source': 0, 'target': 1, 'weight': 2})
    """
    options = options or TableOptions()
    source = open_source(where)
    format = find_format(source, format)
    if format == "text":
        return _detect_text(source, options, kind)
    if format in ARROW:
        return _detect_arrow(source, format, options, kind)
    if kind is None:
        kind = _kind_of_npy(source) if format == "npy" else "graph"
    return Detected(source, format, kind, options.for_kind(kind))


def _detect_text(source: Source, options: TableOptions, kind: str | None) -> Detected:
    if kind == "corpus":
        return Detected(source, "text", kind, options)
    if kind is None and _KONECT.match(source.start):
        kind = "bipartite"
    chosen = options if kind is None else options.for_kind(kind)
    try:
        sample, dialect, table = _text_table(source, options, chosen)
    except ForeignLayout:
        raise
    except InputError:
        words = text_blocks(source, encoding=options.encoding, whole_lines=False, detecting=True)
        head = next(words, (b"", 1))[0] if kind is None else b""
        prose = Sample(sample_lines(head, options.comments), name=source.name)
        if not prose.lines or prose.modal(0)[0] <= 3 or is_cut(prose):
            raise  # too few words per line for text: the error about the table is more helpful
        return Detected(source, "text", kind_of_prose(prose), options)
    square = is_square(sample, dialect, table)
    told = kind is not None
    if kind is None:
        kind = kind_of_text(sample, dialect, table, square)
        chosen = options.for_kind(kind)
        if (chosen.columns, chosen.weight) != (options.columns, options.weight):
            roles = find_roles(table.columns, chosen.columns, chosen.weight, source.name)
            table = replace(roles, guesses=[*table.guesses, *roles.guesses])
    detected = Detected(source, "text", kind, chosen, table, dialect, square)
    _warn_of_ids(detected, sample, told)
    return detected


def _warn_of_ids(detected: Detected, sample: Sample, told: bool) -> None:
    """Say what is uncertain about numbers that may be ids; ``told``: whether the user gave the kind."""
    table, dialect, kind = detected.table, detected.dialect, detected.kind
    assert table is not None
    assert dialect is not None
    wide, rows = kind in MATRIX_KINDS, sample.full_rows(dialect)
    if not (told and wide):
        titled = dialect.header is not None or detected.options.columns is not None
        exponents = not titled and _warn_exponents(rows, table, sample.name)
        if kind == "features" and not exponents:
            _warn_whole_numbers(table, sample.name)
    if not wide and kind != "corpus" and detected.square is None:
        _warn_padded([row[table.roles[role]] for row in rows for role in ("source", "target")], sample.name)


def _text_table(source: Source, options: TableOptions, chosen: TableOptions) -> tuple[Sample, Dialect, Table]:
    """Return the first lines of a text, how they are written, and their columns with roles and guesses."""
    sample, said = _sample(source, options)
    dialect, guesses = find_dialect(sample, options, chosen.column_names)
    columns = describe_text(sample, dialect)
    table = find_roles(columns, chosen.columns, chosen.weight, source.name)
    return sample, dialect, replace(table, guesses=[*guesses, *table.guesses, *said])


def _warn_whole_numbers(table: Table, name: str) -> None:
    """Warn that two or three columns of whole numbers, written as decimals, may be edges."""
    whole = all(c.numeric and all(value % 1 == 0 for value in c.values) for c in table.columns[:2])
    if table.header is None and len(table.columns) < 4 and whole:
        guess(f"{name} is read as feature vectors; ", Option("kind", "graph"), " if its lines are edges")


def _warn_exponents(rows: Sequence[Sequence[bytes]], table: Table, name: str) -> bool:
    """Warn that values such as ``1E5``, which may be ids, are read as numbers; return whether any are."""
    for at, column in enumerate(table.columns[:2]):
        fields = [row[at] for row in rows]
        ids = [field for field in fields if _EXPONENT.fullmatch(field)]
        if ids and column.numeric and all(field.isalnum() for field in fields):
            guess(
                f"{name}: values such as {ids[0].decode()} in column {at} are read as numbers; if they are "
                "names, pass ", Option("kind", "graph"), " and ", Option("columns", ...),
            )  # fmt: skip
            return True
    return False


def _warn_padded(fields: Iterable[bytes], name: str) -> None:
    """Say that ids such as 007 and 7, both of which occur, are two items."""
    ids = set(fields)
    padded = (field for field in ids if field[:1] == b"0" and field.isdigit() and len(field) > 1)
    both = next((field for field in sorted(padded) if (field.lstrip(b"0") or b"0") in ids), None)
    if both is not None:
        short = (both.lstrip(b"0") or b"0").decode()
        guess(f"{name}: {both.decode()} and {short} are read as two items; write ids alike if they are one")


def _sample(source: Source, options: TableOptions) -> tuple[Sample, list[Message]]:
    """Return the first data lines of a text, and a guess about a comment that looks like data."""
    lines: list[bytes] = []
    above = marked = None
    seen = 0
    # more than one block only where long lines or comments come first
    for block, _ in text_blocks(source, encoding=options.encoding, detecting=True):
        seen += len(block)
        comment, after = comments_as_data(block, options.comments)
        above, marked = above if lines else comment or above, marked or after
        lines += sample_lines(block, options.comments)
        if len(lines) > 1:
            break
        if not lines and seen > _COMMENTS_SAMPLED:
            raise InputError(
                f"{source.name} starts with {seen >> 20} MiB of empty lines and comments; remove them"
            )
    title = None
    if options.header is None and above and lines:
        title = commented_header(above, lines[0])
    sample = Sample([title, *lines] if title else lines, title is not None, source.name, source.suffix)
    if marked is None:
        return sample, []
    shown = marked[:40].decode("utf-8", "replace")
    text = Message(f"lines such as {shown!r} are read as comments; ", Option("comment", None), " reads them")
    return sample, [text]


def _detect_arrow(source: Source, format: str, options: TableOptions, kind: str | None) -> Detected:
    from softvec.read.tables import table_head

    columns, square = table_head(source, format)
    if kind is None:
        table = find_roles(columns, options.columns, options.weight, source.name)
        if format == "json":
            _refuse_records(table, source.name)
        kind = "graph" if square and options.columns is None else kind_of_table(table, source.name)
    chosen = options.for_kind(kind)
    if kind == "features":
        return Detected(source, format, kind, chosen)
    table = find_roles(columns, chosen.columns, chosen.weight, source.name)
    return Detected(source, format, kind, chosen, table, None, False if square else None)


def _refuse_records(table: Table, name: str) -> None:
    """Raise an error for records in JSON that do not say which fields are the ends of edges."""
    fields = [str(column.name) for column in table.columns]
    if table.chosen or ends_are_named(table) or wide_kind(table) is not None or fields[0] == "0":
        return
    raise InputError(
        f"{name} holds records of {', '.join(fields[:6])}; name the ends of edges with ",
        Option("columns", ...), ", or write texts to a file of their own, one per line"
    )  # fmt: skip


def _kind_of_npy(source: Source) -> str:
    """Return the kind of an array by its header: a square one is a graph, others are features."""
    size = source.size if source.compression is None else 1 << 62  # checked when it is read
    shape, _, dtype = read_header(io.BytesIO(source.start), size, source.name)
    if len(shape) != 2 or dtype.kind not in "fiub":
        raise InputError(f"{source.name} holds {dtype} of shape {shape}; expected a numeric matrix")
    if shape[0] == shape[1]:
        return "graph"
    features = Option("kind", "features")
    if shape[0] == 2 and dtype.kind in "iu":
        raise InputError(
            f"{source.name} has shape {shape}; if it holds edges, save its transpose; else pass ", features
        )
    if shape[1] in (2, 3):
        text = f"{source.name} has {shape[1]} columns, which may be edges or points; pass "
        raise InputError(text, Option("kind", "graph"), " or ", features)
    return "features"
