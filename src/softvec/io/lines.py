"""Tables in text, line by line in plain Python: the rules of the format, and messages about bad lines.

Small files are read this way; large ones by :mod:`softvec.kernels.text`, which follows the same rules.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from softvec.affinity._roles import Column, Layout, find_roles, is_stamp, known_names, paired, word_of
from softvec.errors import InputError

INTEGER = re.compile(rb"0|-?[1-9][0-9]{0,18}")
NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(nan|inf|infinity)", re.I)
COMMENTS = b"#%"
_BLANKS = bytes(32 if byte < 32 else byte for byte in range(256))
_CONTROL = bytes(range(33))
_NAMES = {0: "blanks", 9: "tabs", 44: "commas", 59: "semicolons", 124: "bars"}


@dataclass(frozen=True)
class Table:
    """How a text table is laid out.

    Attributes
    ----------
    delimiter : int
        The byte between fields, or 0 for runs of blanks.
    comments : bytes
        Bytes that open a comment line.
    header : tuple of str or None
        Names of the columns, if the first line has them.
    n_fields : int
        Fields on each line.
    roles : dict
        Column of ``source``, ``target``, ``weight`` and ``time``.
    quoted : bool
        Whether fields may be quoted, which leaves the reading to Arrow.
    layout : Layout
        What the columns hold.
    guesses : tuple of str
        What is not certain about it, one line each.
    decimal : bytes
        The decimal mark of numbers: a comma where they are written so.
    """

    delimiter: int
    comments: bytes
    header: tuple[str, ...] | None
    n_fields: int
    roles: dict[str, int]
    quoted: bool = False
    layout: Layout = field(default_factory=lambda: Layout((), {}))
    guesses: tuple[str, ...] = ()
    decimal: bytes = b"."
    separators: bool = False  # thousands are set apart by the mark that is not the decimal one

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Whether each column looks numeric."""
        return tuple(column.numeric for column in self.layout.columns)

    @property
    def plain(self) -> bool:
        """Whether numbers are written as programs write them."""
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
        fields = next(csv.reader([text], delimiter=chr(delimiter), skipinitialspace=True))
        return [field.encode("utf-8", "surrogateescape") for field in fields]
    return [field.lstrip(b" ").rstrip(_CONTROL) for field in line.split(bytes([delimiter]))]


def has_quotes(text: bytes, delimiter: int) -> bool:
    """Whether a field somewhere in a text starts with a quote."""
    if delimiter == 0 or b'"' not in text:
        return False
    return re.search(rb"(?m)(^|" + re.escape(bytes([delimiter])) + rb') *"', text) is not None


def is_data(line: bytes, comments: bytes) -> bool:
    """Whether a line is neither empty nor a comment."""
    stripped = line.lstrip(_CONTROL)
    return bool(stripped) and stripped[0] not in comments


def sample_lines(head: bytes, comments: bytes) -> list[bytes]:
    """Return the data lines in the first lines of a text."""
    return [line for line in head.split(b"\n") if is_data(line, comments)]


def marked_names(head: bytes, comments: bytes) -> bytes | None:
    """Return the first line among the data that looks like a name, as ``#tag other``, but is a comment."""
    seen = False
    for line in head.split(b"\n"):
        stripped = line.strip()
        if is_data(line, comments):
            seen = True
        elif seen and re.match(rb"[" + re.escape(comments) + rb"]\w+[^\w ]?[,;\t |]\S", stripped or b" "):
            return stripped
    return None


def modal_fields(lines: Sequence[bytes], delimiter: int) -> tuple[int, float]:
    """Return the most frequent number of fields and the share of lines that have it."""
    counts = Counter(len(split(line, delimiter)) for line in lines)
    number, times = counts.most_common(1)[0]
    return number, times / len(lines)


def find_delimiter(lines: Sequence[bytes]) -> int:
    """Return the delimiter that cuts most lines into the same number of fields, at least two.

    >>> [chr(find_delimiter([line])) for line in (b"Rome, Italy\\tParis, France", b"1;2;0,5", b"a,b")]
    ['\\t', ';', ',']
    """
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
    # blanks of any kind, where they cut more lines alike than a single character does
    return 0 if number >= 2 and share > best_share else best


def _within_numbers(lines: Sequence[bytes]) -> bool:
    """Whether all commas are decimal marks of fields between blanks: ``ann bob 0,5``."""
    decimal = re.compile(rb"([^,]*\s[0-9]+,[0-9]+)+[^,]*")
    return all(decimal.fullmatch(line) for line in lines if b"," in line)


def _mostly_spaced(lines: Sequence[bytes], delimiter: int) -> bool:
    """Whether fields read like prose (blanks inside most of them), as the commas of a text leave them."""
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
    """Work out the layout of a table from some of its data lines; what is given is not guessed."""
    if not lines:
        raise InputError(
            f"{name} is empty: there are no edges in it (lines that start with one of "
            f"{comments.decode()} are comments; comment=None reads them)"
        )
    byte = find_delimiter(lines) if delimiter is None else delimiter_byte(delimiter)
    rows = [split(line, byte) for line in lines]
    n_fields, _ = modal_fields(lines if len(lines) < 4 else lines[1:], byte)
    quoted = any(has_quotes(line, byte) for line in lines)
    first = [field.decode("utf-8", "replace") for field in rows[0]]
    guesses: list[str] = []
    if header is None:
        header, guesses = find_header(rows, n_fields, _wanted_names(columns, weight))
    body = rows[1:] if header else rows
    if header and len(first) != n_fields:
        if len(first) == n_fields - 1 and len(body) and _is_count_or_text(body):
            first = ["", *first]  # R leaves the name of the row names out
        else:
            raise InputError(
                f"{name}: the header has {len(first)} columns, the lines below it {n_fields}; give "
                "header=False or repair it"
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


def _is_count_or_text(body: list[list[bytes]]) -> bool:
    return len({row[0] for row in body}) == len(body)


def _wanted_names(columns: Any, weight: Any) -> list[str]:
    """Return the columns that the user names: then there is a header that has them."""
    given = list(columns.values()) if isinstance(columns, dict) else columns
    given = list(given) if isinstance(given, list | tuple) else []
    return [column for column in [*given, weight] if isinstance(column, str)]


def _describe(title: str | None, fields: list[bytes], mark: bytes, separators: bool) -> Column:
    """Say what a column of text holds."""
    present = [f for f in fields if f]
    plain = mark == b"." and not separators
    shown = [f if plain or not _GROUPED.fullmatch(f) else plain_number(f, mark) for f in present]
    # four in five will do: a weight that is no number shall be an error, not a reason to ignore all weights
    numeric = len(shown) > 0 and sum(bool(NUMBER.fullmatch(f)) for f in shown) >= 0.8 * len(fields)
    if numeric:
        whole = all(_DIGITS.fullmatch(f) for f in shown if NUMBER.fullmatch(f))
        numbers: list[Any] = [int(f) if whole else float(f) for f in shown if NUMBER.fullmatch(f)]
        return Column(title, True, whole, values=numbers)
    texts = [f.decode("utf-8", "replace") for f in present]
    dates = len(texts) > 0 and sum(map(is_stamp, texts)) >= 0.8 * len(fields)
    return Column(title, stamps=dates, values=texts)


_DIGITS = re.compile(rb"[+-]?[0-9]+")  # 007 names an item as well as 7 does
_GROUPED = re.compile(rb"[+-]?[0-9.,]*[0-9]([eE][+-]?[0-9]+)?")
_COMMA = re.compile(rb"[+-]?([0-9]{1,3}(\.[0-9]{3})+|[0-9]+)(,[0-9]+)?([eE][+-]?[0-9]+)?")
_POINT = re.compile(rb"[+-]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?")
_EITHER = re.compile(rb"[+-]?[1-9][0-9]{0,2},[0-9]{3}")


def find_decimal(
    rows: list[list[bytes]], delimiter: int, decimal: str | None, name: str, guesses: list[str]
) -> tuple[bytes, bool]:
    """Return the decimal mark of a table, and whether thousands are set apart in it."""
    if decimal not in (None, ".", ","):
        raise InputError(f"decimal is {decimal!r}; expected '.' or ','")
    for c in range(len(rows[0]) if rows else 0):
        fields = [row[c] for row in rows if row[c]]
        with_comma = [f for f in fields if b"," in f]
        if delimiter == 59 and decimal is None and fields and _all(rb"[1-9][0-9]{0,2}\.[0-9]{3}", fields):
            guesses.append(
                f"numbers such as {fields[0].decode()} are read with a decimal point; decimal=',' if they "
                "are thousands"
            )
        if not with_comma or not all(NUMBER.fullmatch(f) or _GROUPED.fullmatch(f) for f in fields):
            continue
        point = all(NUMBER.fullmatch(f) or _POINT.fullmatch(f) for f in fields)
        comma = all(_COMMA.fullmatch(f) for f in fields)
        if decimal == "," or (decimal is None and comma and not point):
            return b",", any(b"." in f for f in fields)
        if (
            decimal is None
            and point
            and comma
            and delimiter != 44
            and all(map(_EITHER.fullmatch, with_comma))
        ):
            raise InputError(
                f"{name}: {with_comma[0].decode()} may be a decimal or thousands; say which with decimal=',' "
                "or decimal='.'"
            )
        if point:
            return b".", True
    return (b"," if decimal == "," else b"."), False


def _all(pattern: bytes, fields: list[bytes]) -> bool:
    return all(re.fullmatch(pattern, f) for f in fields)


def plain_number(field: bytes, mark: bytes) -> bytes:
    """Return a number with a decimal point and without marks between thousands.

    >>> plain_number(b"1.234,5", b","), plain_number(b"1,234.5", b".")
    (b'1234.5', b'1234.5')
    """
    return field.replace(b".", b"").replace(b",", b".") if mark == b"," else field.replace(b",", b"")


def delimiter_byte(delimiter: str) -> int:
    """Return the byte of a delimiter given by the user; blanks of any kind are 0."""
    named = {"tab": "\t", "comma": ",", "semicolon": ";", "space": " ", "whitespace": " ", "\\t": "\t"}
    text = named.get(delimiter, delimiter)
    if text == " ":
        return 0
    if len(text) != 1 or not text.isascii() or text in "\n\r\"'":
        raise InputError(f"delimiter is {delimiter!r}; expected one character, or ' ' for blanks of any kind")
    return ord(text)


_MISSING = frozenset((b"", b"NA", b"N/A", b"#N/A", b"NaN", b"nan", b"null", b"NULL", b"None", b"-", b"."))


def find_header(rows: list[list[bytes]], n_fields: int, wanted: Sequence[str] = ()) -> tuple[bool, list[str]]:
    """Say whether the first line is a header, and what is not certain about that.

    It is where the user names columns; where words stand above numbers or dates; where names such as source
    and target, of one stem (gene_a, gene_b) or unlike all those below occur nowhere else. Words that never
    occur again are a header too where the words of other lines mostly do, and that is said.
    """
    first = rows[0]
    words = [f.decode("utf-8", "replace") for f in first]
    if wanted and (set(wanted) <= set(words) or not any(NUMBER.fullmatch(f) for f in first)):
        return True, []
    below = [row for row in rows[1:] if len(row) == n_fields]
    if len(first) == n_fields and first[0] == b"" and below and all(row[0] for row in below):
        return len(set(first)) == len(first), []  # a corner left empty above the names of rows
    if any(NUMBER.fullmatch(f) or is_stamp(f.decode("utf-8", "replace")) for f in first):
        return False, []
    elsewhere = {f for row in below for f in row}
    again = any(f in elsewhere for f in first if f)
    if below and len(first) in (n_fields, n_fields - 1) and _above_numbers(first, below, n_fields):
        return (not again) or known_names(words) >= 2, []
    known = known_names([word for word in words if len(word) > 1])
    if again or not below:
        return known >= 2 and not again, []
    if known >= 2:
        return True, []
    return _unlike_the_rest(first, words, below)


def _above_numbers(first: list[bytes], below: list[list[bytes]], n_fields: int) -> bool:
    """Whether a word of the first line stands above a column of numbers or dates."""
    shift = n_fields - len(first)
    for c, word in enumerate(first):
        fields = [row[c + shift] for row in below if row[c + shift]]
        if word in _MISSING or not fields:
            continue
        dates = all(is_stamp(f.decode("utf-8", "replace")) for f in fields)
        if dates or all(NUMBER.fullmatch(f) or _GROUPED.fullmatch(f) for f in fields):
            return True
    return False


def _unlike_the_rest(
    first: list[bytes], words: list[str], below: list[list[bytes]]
) -> tuple[bool, list[str]]:
    """Judge a first line of words that never occur again."""
    counts = Counter(f for row in below for f in row)
    alone = sum(all(counts[f] == row.count(f) for f in row) for row in below)
    plain = [bool(re.fullmatch(r"[A-Za-z][A-Za-z _.#-]*[12]?", word)) for word in words]
    digits = all(any(chr(b).isdigit() for b in f) for row in below for f in row[:2])
    pair = paired(words) is not None and word_of(words[0])[:3] not in {
        f.decode("utf-8", "replace").lower()[:3] for row in below for f in row
    }
    shown = ", ".join(words[:4])
    if len(below) > 1 and all(plain) and (digits or pair):
        return True, []
    if len(below) > 1 and alone <= 0.2 * len(below):
        return True, [f"line 1 ({shown}) is taken for a header; header=False if it is data"]
    if len(below) < 2:
        return False, []
    return False, [f"line 1 ({shown}) is taken for data; header=True if it is a header"]


def parse(
    text: bytes, table: Table, name: str, line: int = 1, skip: bool = False
) -> tuple[list[list[bytes]], list[int]]:
    """Return the fields of all data lines of a text, and their line numbers; a bad line is an error.

    With ``skip`` the first data line, a header, is left out.
    """
    rows, numbers = [], []
    for number, raw in enumerate(text.split(b"\n"), start=line):
        if not is_data(raw, table.comments):
            continue
        if skip:
            skip = False
            continue
        fields = split(raw, table.delimiter)
        if len(fields) != table.n_fields:
            raise InputError(ragged(raw, fields, table, name, number))
        rows.append(fields)
        numbers.append(number)
    return rows, numbers


def ragged(raw: bytes, fields: list[bytes], table: Table, name: str, number: int) -> str:
    """Say what is wrong with a line of too many or too few fields."""
    shown = raw[:60].decode("utf-8", "replace").rstrip("\r")
    found = f"{len(fields)} column{'s' * (len(fields) != 1)}"
    between = _NAMES.get(table.delimiter, repr(chr(table.delimiter)))
    return (
        f"{name}, line {number}: {found} where other lines have {table.n_fields}, separated by {between}: "
        f"{shown!r}"
    )


def field_error(role: str, field: bytes, name: str, number: int) -> InputError:
    """Return the error for a missing name, or a weight or time that is not a number."""
    if not field:
        return InputError(f"{name}, line {number}: the {role} is missing")
    shown = field[:60].decode("utf-8", "replace")
    return InputError(f"{name}, line {number}: the {role} {shown!r} is not a number")


def number_of(field: bytes, role: str, name: str, number: int, table: Table | None = None) -> float:
    """Return a field as a float, written as the table writes numbers."""
    if table is not None and not table.plain:
        field = plain_number(field, table.decimal)
    try:
        if not NUMBER.fullmatch(field):
            raise ValueError
        return float(field)
    except ValueError:
        raise field_error(role, field, name, number) from None


def all_integers(fields: Sequence[bytes]) -> bool:
    """Whether all fields are canonical integers that fit into 64 bits."""
    limit = 2**63
    return all(INTEGER.fullmatch(field) and (len(field) < 19 or abs(int(field)) < limit) for field in fields)


def looks_temporal(table: Table, lines: Sequence[bytes]) -> bool:
    """Whether a table without a header reads ``t i j``: sorted times apart from ids that fill two columns."""
    if table.header is not None or table.n_fields < 3 or len(lines) < 10:
        return False
    rows = [split(line, table.delimiter)[:3] for line in lines]
    if any(len(row) < 3 or not all_integers(row) for row in rows):
        return False
    t, i, j = np.array(rows).astype(np.int64).T
    left, right, times = set(i.tolist()), set(j.tolist()), set(t.tolist())
    alike = len(left & right) >= 0.3 * len(left | right)
    return bool(np.all(np.diff(t) >= 0) and alike and len(left | right) > 4 and not times & (left | right))
