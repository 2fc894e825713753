"""Records of a table in text, one by one: for messages about bad lines, and for numbers in unusual forms."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from softvec.core.checks import counted
from softvec.core.errors import InputError, Message, Option
from softvec.read.dialect import MISSING, Dialect, is_data, split
from softvec.read.numbers import NUMBER, plain_number

_SHOWN = {0: "blanks", 9: "tabs", 32: "blanks", 44: "commas", 59: "semicolons", 124: "bars"}


def data_records(text: bytes, line: int, dialect: Dialect) -> Iterator[tuple[int, int, bytes]]:
    """Yield the position, the line number and the bytes of each record of data; quotes may hold line ends."""
    at, held, start, number = 0, b"", 0, line
    for raw in text.split(b"\n"):
        if held or is_data(raw, dialect.comments):
            held = held + b"\n" + raw if held else raw
            if dialect.delimiter == 0 or held.count(b'"') % 2 == 0:
                yield start, number, held
                held = b""
        at += len(raw) + 1
        line += 1
        if not held:
            start, number = at, line
    if held:
        yield start, number, held


def parse_lines(
    text: bytes, dialect: Dialect, name: str, line: int, skip: bool
) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the line number and the fields of each record; raise an error for a bad line.

    With ``skip``, skip the first record, the header.
    """
    for _, number, raw in islice(data_records(text, line, dialect), int(skip), None):
        fields = split(raw, dialect.delimiter)
        if len(fields) != dialect.n_fields:
            raise InputError(ragged(raw, fields, dialect, name, number))
        yield number, fields


def ragged(raw: bytes, fields: list[bytes], dialect: Dialect, name: str, number: int) -> str:
    """Return the message for a line with too many or too few fields."""
    shown = raw[:60].decode("utf-8", "replace").rstrip("\r")
    between = _SHOWN.get(dialect.delimiter, repr(chr(dialect.delimiter)))
    return (
        f"{name}, line {number}: {counted(len(fields), 'column')} where other lines have {dialect.n_fields}, "
        f"separated by {between}: {shown!r}"
    )


def bad_field(role: str, field: str) -> Message:
    """Return the message for a missing name, or a weight or time that is not a number."""
    drop = () if role == "entry" else (", or pass ", Option("missing", "drop"))
    if not field:
        return Message(f"the {role} is missing; fill it in", *drop)
    remedy = ("; fill in missing values", *drop) if field.lower() in MISSING else ()
    return Message(f"the {role} {field[:60]!r} is not a number", *remedy)


def number_of(field: bytes, name: str, number: int, dialect: Dialect) -> float:
    """Return an entry of a matrix, in the number format of the dialect."""
    field = field if dialect.plain else plain_number(field, dialect.decimal)
    if not NUMBER.fullmatch(field):
        shown = field.decode("utf-8", "replace")
        raise InputError(f"{name}, line {number}: ", bad_field("entry", shown))
    return float(field)
