"""Text tables, parsed line by line in plain Python: layout detection, and messages about bad lines.

Small files are read this way, large ones by :mod:`softvec.kernels.text`, which follows the same rules.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from softvec.core.checks import counted
from softvec.core.dates import is_stamp
from softvec.core.errors import InputError, Message, Option
from softvec.read.foreign import refuse_layout
from softvec.read.headers import (
    DIGITS,
    GROUPED,
    INTEGER,
    NUMBER,
    find_decimal,
    find_header,
    plain_number,
)
from softvec.read.roles import Column, Layout, find_roles

COMMENTS = b"#%"
_OPENS = re.compile(rb'(?:^|[,;\t|]) *"[^"]*(?:""[^"]*)*$')  # a quoted field that goes on in the next line
_CLOSES = re.compile(rb'[^"]*(?:""[^"]*)*"[ \r]*(?:[,;\t|]|$)')
_EMPTY = re.compile(rb"\n[\0-\x20]*\n")
_LINES_OF_A_FIELD = 100
_BLANKS = bytes(32 if byte < 32 else byte for byte in range(256))
_CONTROL = bytes(range(33))
_NAMES = {0: "blanks", 9: "tabs", 32: "blanks", 44: "commas", 59: "semicolons", 124: "bars"}
_MISSING = ("na", "n/a", "nan", "null", "none", "?", "-", "\\n")


@dataclass(frozen=True)
class Table:
    """The layout of a text table.

    Attributes
    ----------
    delimiter : int
        The byte between fields, or 0 for runs of blanks.
    comments : bytes
        Bytes that start a comment line.
    header : tuple of str or None
        Column names, if the first line is a header.
    n_fields : int
        Fields per line.
    roles : dict
        Positions of ``source``, ``target``, ``weight`` and ``time``.
    quoted : bool
        Whether fields may be quoted; such tables are read by Arrow.
    layout : Layout
        Contents of the columns.
    guesses : tuple of Message
        Guesses about the layout, one line each.
    decimal : bytes
        The decimal mark: a point or a comma.
    """

    delimiter: int
    comments: bytes
    header: tuple[str, ...] | None
    n_fields: int
    roles: dict[str, int]
    quoted: bool = False
    layout: Layout = field(default_factory=lambda: Layout((), {}))
    guesses: tuple[Message, ...] = ()
    decimal: bytes = b"."
    separators: bool = False  # the other mark separates thousands

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Whether each column looks numeric."""
        return tuple(column.numeric for column in self.layout.columns)

    @property
    def plain(self) -> bool:
        """Whether numbers have a decimal point and no thousands separators."""
        return self.decimal == b"." and not self.separators


def split(line: bytes, delimiter: int) -> list[bytes]:
    """Split one line into fields.

    >>> split(b" 1\\t 2 \\r", 0), split(b"a, b c,", ord(","))
    ([b'1', b'2'], [b'a', b'b c', b''])
    """
    if delimiter == 0:
        return line.translate(_BLANKS).split()
    line = line.lstrip(b" " if delimiter == 9 else _CONTROL)
    if has_quotes(line, delimiter):
        text = line.rstrip(b"\r").decode("utf-8", "surrogateescape")
        try:
            fields = next(csv.reader([text], delimiter=chr(delimiter), skipinitialspace=True))
        except csv.Error as error:
            raise InputError(f"{text[:60]!r} is not a line of quoted fields: {error}") from None
        return [field.encode("utf-8", "surrogateescape") for field in fields]
    return [field.lstrip(b" ").rstrip(_CONTROL) for field in line.split(bytes([delimiter]))]


def neighbours(row: list[bytes]) -> list[bytes]:
    """Return a node and its neighbours without the punctuation of ``node: one, two``.

    >>> neighbours([b"ann:", b"bob,", b"cyd"])
    [b'ann', b'bob', b'cyd']
    """
    words = [row[0].removesuffix(b":"), *(word.removesuffix(b",") for word in row[1:])]
    return [word for word in words if word]


def has_quotes(text: bytes, delimiter: int) -> bool:
    """Whether a field of a text starts with a quote."""
    if delimiter == 0 or b'"' not in text:
        return False
    return re.search(rb"(?m)(^|" + re.escape(bytes([delimiter])) + rb') *"', text) is not None


def is_data(line: bytes, comments: bytes) -> bool:
    """Whether a line is neither empty nor a comment."""
    stripped = line.lstrip(_CONTROL)
    return bool(stripped) and stripped[0] not in comments


def sample_lines(head: bytes, comments: bytes) -> list[bytes]:
    """Return the data lines at the start of a text; a quoted field may contain line breaks."""
    done: list[bytes] = []
    record: list[bytes] = []  # lines of a quoted field that is still open
    for line in _EMPTY.sub(b"\n", head).split(b"\n"):
        if not record:
            if is_data(line, comments):
                (record if _OPENS.search(line) else done).append(line)
            continue
        record.append(line)
        if _CLOSES.match(line):
            if not _OPENS.search(line):  # else another field opens on the same line
                done.append(b" ".join(record))
                record = []
        elif b'"' in line or len(record) > _LINES_OF_A_FIELD:  # no quoted field after all
            done += [part for part in record if is_data(part, comments)]
            record = []
    return [*done, *(part for part in record if is_data(part, comments))]


def marked_names(head: bytes, comments: bytes) -> bytes | None:
    """Return the first comment after a data line that looks like data, such as ``#tag other``."""
    seen = False
    for line in _EMPTY.sub(b"\n", head).split(b"\n"):
        stripped = line.strip()
        if is_data(line, comments):
            seen = True
        elif seen and re.match(rb"[" + re.escape(comments) + rb"]\w+[^\w ]?[,;\t |]\S", stripped or b" "):
            return stripped
    return None


def modal_fields(lines: Sequence[bytes], delimiter: int) -> tuple[int, float]:
    """Return the most common number of fields, and the share of lines that have it."""
    counts = Counter(len(split(line, delimiter)) for line in lines)
    number, times = counts.most_common(1)[0]
    return number, times / len(lines)


def is_cut(lines: Sequence[bytes]) -> bool:
    """Whether tabs or bars cut nearly all lines into the same number of fields, as they cut no prose."""
    cuts = (modal_fields(lines, delimiter) for delimiter in (9, 124))
    return len(lines) > 3 and any(number > 2 and share >= 0.8 for number, share in cuts)


def find_delimiter(lines: Sequence[bytes]) -> int:
    """Return the delimiter that splits most lines into the same number of fields, at least two.

    >>> [chr(find_delimiter([line])) for line in (b"Rome, Italy\\tParis, France", b"1;2;0,5", b"a,b")]
    ['\\t', ';', ',']
    """
    if _is_spaced_and_quoted(lines):
        return 32
    best, best_share, best_number = 0, 0.0, 0
    for delimiter in (9, 44, 59, 124):
        if not any(delimiter in line for line in lines):
            continue
        number, share = modal_fields(lines, delimiter)
        if number < 2 or (delimiter != 9 and _mostly_spaced(lines, delimiter)):
            continue
        if delimiter == 44 and _within_numbers(lines):
            continue
        if delimiter == 9 and share == 1:
            return 9
        if (share, number) > (best_share, best_number):
            best, best_share, best_number = delimiter, share, number
    number, share = modal_fields(lines, 0)
    # blanks, if they split more lines alike than any single character does
    return 0 if number >= 2 and share > best_share else best


def _is_spaced_and_quoted(lines: Sequence[bytes]) -> bool:
    """Whether fields are quoted and set apart by single blanks, as R's write.table sets them."""
    quoted = re.compile(rb'("[^"]*"|[^"\s]+)( ("[^"]*"|[^"\s]+))+\r?')
    titled = re.fullmatch(rb'"[^"]*"( "[^"]*")+\r?', lines[0])
    if not all(quoted.fullmatch(line) and (titled or line.startswith(b'"')) for line in lines[:200]):
        return False
    return len(lines) > 2 and modal_fields(lines[1:], 32)[1] == 1


def _within_numbers(lines: Sequence[bytes]) -> bool:
    """Whether all commas are decimal marks in fields separated by blanks: ``ann bob 0,5``."""
    decimal = re.compile(rb"([^,]*\s[0-9]+,[0-9]+)+[^,]*")
    return all(decimal.fullmatch(line) for line in lines if b"," in line)


def _mostly_spaced(lines: Sequence[bytes], delimiter: int) -> bool:
    """Whether most fields contain blanks, as in prose with commas."""
    if any(has_quotes(line, delimiter) for line in lines[:200]):
        return False
    fields = [field for line in lines[:200] for field in split(line, delimiter)]
    return sum(b" " in field for field in fields) > 0.5 * len(fields)


def find_table(
    lines: Sequence[bytes],
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    comments: bytes = COMMENTS,
    columns: Any = None,
    weight: Any = None,
    decimal: str | None = None,
    name: str = "the table",
) -> Table:
    """Detect the layout of a table from some of its data lines, except for what is given."""
    if not lines:
        raise InputError(
            f"{name} is empty: it has no edges (lines that start with one of "
            f"{comments.decode()} are comments; ",
            Option("comment", None),
            " reads them)",
        )
    byte = find_delimiter(lines) if delimiter is None else delimiter_byte(delimiter)
    refuse_layout(lines, byte, name, cut=modal_fields(lines, byte)[0] > 1)
    rows = [split(line, byte) for line in lines]
    n_fields, _ = modal_fields(lines if len(lines) < 4 else lines[1:], byte)
    quoted = any(has_quotes(line, byte) for line in lines)
    first = [field.decode("utf-8", "replace") for field in rows[0]]
    guesses: list[Message] = []
    if header is None:
        header, guesses = find_header(rows, n_fields, _wanted_names(columns, weight))
        if not header and _counts_lines(rows):
            shown = " ".join(field.decode() for field in rows[0])
            guesses.append(Message(f"line 1 ({shown}) is read as data; remove it if it counts the lines"))
    body = rows[1:] if header else rows
    if header and len(first) != n_fields:
        if body and len(first) == n_fields - 1 and len({row[0] for row in body}) == len(body):
            first = ["", *first]  # R writes no name for the column of row names
        else:
            raise InputError(
                f"{name}: the header has {counted(len(first), 'column')}, the lines below it {n_fields}; "
                "repair it, remove it if it is a title, or pass ",
                Option("header", False),
            )
    if header and not body:
        raise InputError(f"{name} has a header, {', '.join(first)}, and nothing below it")
    full = [row for row in body if len(row) == n_fields]
    mark, separators = find_decimal(full, byte, decimal, name, guesses)
    titles: Sequence[str | None] = first if header else [None] * n_fields
    described = [_describe(titles[c], [row[c] for row in full], mark, separators) for c in range(n_fields)]
    layout = find_roles(described, columns, weight, name)
    return Table(
        byte, comments, tuple(first) if header else None, n_fields, layout.roles, quoted, layout,
        (*guesses, *layout.guesses), mark, separators,
    )  # fmt: skip


def _counts_lines(rows: Sequence[Sequence[bytes]]) -> bool:
    """Whether the first line may count nodes (at least every id) and edges (the lines below it)."""
    if not all(len(row) == 2 and all_integers(row) for row in rows):
        return False
    nodes, edges = map(int, rows[0])
    return edges == len(rows) - 1 > 3 and nodes >= max(int(field) for row in rows[1:] for field in row)


def _wanted_names(columns: Any, weight: Any) -> list[str]:
    """Return the column names that the user gave, which must be in the header."""
    wanted = list(columns.values()) if isinstance(columns, dict) else columns
    wanted = list(wanted) if isinstance(wanted, list | tuple) else []
    return [column for column in [*wanted, weight] if isinstance(column, str)]


def _describe(title: str | None, fields: list[bytes], mark: bytes, separators: bool) -> Column:
    """Describe a column of text."""
    # networkx writes {} where an edge has no data, MySQL \\N
    present = [f for f in fields if f not in (b"", b"{}", rb"\N")]
    plain = mark == b"." and not separators
    shown = [f if plain or not GROUPED.fullmatch(f) else plain_number(f, mark) for f in present]
    known = [f for f in shown if f.lower().decode("utf-8", "replace") not in _MISSING]
    # 80% is enough: a weight that is not a number should be an error, not a reason to ignore all weights
    wanted = max(1, 0.8 * len(known), 0.5 * len(fields))
    numeric = sum(bool(NUMBER.fullmatch(f)) for f in known) >= wanted
    if numeric:
        whole = all(DIGITS.fullmatch(f) for f in shown if NUMBER.fullmatch(f))
        numbers: list[Any] = [int(f) if whole else float(f) for f in shown if NUMBER.fullmatch(f)]
        return Column(title, True, whole, values=numbers)
    texts = [f.decode("utf-8", "replace") for f in present]
    dates = len(texts) > 0 and sum(map(is_stamp, texts)) >= 0.8 * len(fields)
    return Column(title, stamps=dates, values=texts)


def delimiter_byte(delimiter: str) -> int:
    """Return the byte of the user's delimiter; 0 for runs of blanks."""
    named = {"tab": "\t", "comma": ",", "semicolon": ";", "space": " ", "whitespace": " ", "\\t": "\t"}
    text = named.get(delimiter, delimiter)
    if text == " ":
        return 0
    if len(text) != 1 or not text.isascii() or text in "\n\r\"'":
        raise InputError.of("delimiter", delimiter, "one character, or ' ' for blanks of any kind")
    return ord(text)


def data_records(text: bytes, line: int, table: Table) -> Iterator[tuple[int, int, bytes]]:
    """Yield the position, the line number and the bytes of each record of data; quotes may hold line ends."""
    at, held, start, number = 0, b"", 0, line
    for raw in text.split(b"\n"):
        if held or is_data(raw, table.comments):
            held = held + b"\n" + raw if held else raw
            if table.delimiter == 0 or held.count(b'"') % 2 == 0:
                yield start, number, held
                held = b""
        at += len(raw) + 1
        line += 1
        if not held:
            start, number = at, line
    if held:
        yield start, number, held


def parse(text: bytes, table: Table, name: str, line: int, skip: bool) -> tuple[list[list[bytes]], list[int]]:
    """Return the fields of all records of a text and their line numbers; raise an error for a bad line.

    With ``skip``, skip the first record, the header.
    """
    rows, numbers = [], []
    for _, number, raw in islice(data_records(text, line, table), int(skip), None):
        fields = split(raw, table.delimiter)
        if len(fields) != table.n_fields:
            raise InputError(ragged(raw, fields, table, name, number))
        rows.append(fields)
        numbers.append(number)
    return rows, numbers


def ragged(raw: bytes, fields: list[bytes], table: Table, name: str, number: int) -> str:
    """Return the message for a line with too many or too few fields."""
    shown = raw[:60].decode("utf-8", "replace").rstrip("\r")
    between = _NAMES.get(table.delimiter, repr(chr(table.delimiter)))
    return (
        f"{name}, line {number}: {counted(len(fields), 'column')} where other lines have {table.n_fields}, "
        f"separated by {between}: {shown!r}"
    )


def bad_field(role: str, field: str) -> str:
    """Return the message for a missing name, or a weight or time that is not a number."""
    if not field:
        return f"the {role} is missing; fill it in, or drop the row"
    shown = field[:60]
    remedy = "; fill in missing values, or drop the row" if shown.lower() in _MISSING else ""
    return f"the {role} {shown!r} is not a number{remedy}"


def number_of(field: bytes, role: str, name: str, number: int, table: Table | None = None) -> float:
    """Return a field as a float, in the number format of the table."""
    if table is not None and not table.plain:
        field = plain_number(field, table.decimal)
    try:
        if not NUMBER.fullmatch(field):
            raise ValueError
        return float(field)
    except ValueError:
        raise InputError(
            f"{name}, line {number}: {bad_field(role, field.decode('utf-8', 'replace'))}"
        ) from None


def all_integers(fields: Sequence[bytes]) -> bool:
    """Whether all fields are canonical 64-bit integers."""
    limit = 2**63
    return all(INTEGER.fullmatch(field) and (len(field) < 19 or abs(int(field)) < limit) for field in fields)


def looks_temporal(table: Table, lines: Sequence[bytes]) -> bool:
    """Whether a table without a header looks like ``t i j``: sorted times, then two columns of like ids."""
    if table.header is not None or table.n_fields < 3 or len(lines) < 10:
        return False
    rows = [split(line, table.delimiter)[:3] for line in lines]
    if any(len(row) < 3 or not all_integers(row) for row in rows):
        return False
    t, i, j = np.array(rows).astype(np.int64).T
    left, right, times = set(i.tolist()), set(j.tolist()), set(t.tolist())
    alike = len(left & right) >= 0.3 * len(left | right)
    return bool(np.all(np.diff(t) >= 0) and alike and len(left | right) > 4 and not times & (left | right))
