"""Numbers in text: how they are written, words for none, and the decimal mark of a table."""

from __future__ import annotations

import re

from softvec.core.errors import InputError, Message, Option

MISSING = ("NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL", "None", r"\N")  # also as names
_NONE = frozenset((b"", b"?", b"-", b".", *(word.lower().encode() for word in MISSING)))
INTEGER = re.compile(rb"0|-?[1-9][0-9]{0,18}")
NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(nan|inf|infinity)", re.I)
DIGITS = re.compile(rb"[+-]?[0-9]+")  # includes ids such as 007
GROUPED = re.compile(rb"[+-]?[0-9.,]*[0-9]([eE][+-]?[0-9]+)?")
_COMMA = re.compile(rb"[+-]?([0-9]{1,3}(\.[0-9]{3})+|[0-9]+)(,[0-9]+)?([eE][+-]?[0-9]+)?")
_POINT = re.compile(rb"[+-]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?|" + NUMBER.pattern, re.I)
_ANY = re.compile(GROUPED.pattern + b"|" + NUMBER.pattern, re.I)
_THOUSANDS = re.compile(rb"[1-9][0-9]{0,2}\.[0-9]{3}")
_EITHER = re.compile(rb"[+-]?[1-9][0-9]{0,2},[0-9]{3}")


def is_none(field: bytes) -> bool:
    """Whether a field of a column of numbers stands for a missing one."""
    return field.lower() in _NONE


def find_decimal(
    rows: list[list[bytes]], delimiter: int, decimal: str | None, name: str, guesses: list[Message]
) -> tuple[bytes, bool]:
    """Return the decimal mark of a table, and whether it has thousands separators."""
    if decimal not in (None, ".", ","):
        raise InputError.of("decimal", decimal, "'.' or ','")
    for column in zip(*rows):
        fields = [field for field in column if field]
        if delimiter == 59 and decimal is None and fields and all(map(_THOUSANDS.fullmatch, fields)):
            text = f"numbers such as {fields[0].decode()} are read with a decimal point; "
            guesses.append(Message(text, Option("decimal", ","), " if they are thousands"))
        if (marks := _marks_of(fields, delimiter, decimal, name)) is not None:
            return marks
    return (b"," if decimal == "," else b"."), False


def _marks_of(
    fields: list[bytes], delimiter: int, decimal: str | None, name: str
) -> tuple[bytes, bool] | None:
    """Return what a column says about decimal mark and thousands; None if it says nothing."""
    with_comma = [field for field in fields if b"," in field]
    if not with_comma or not all(map(_ANY.fullmatch, fields)):
        return None
    point, comma = all(map(_POINT.fullmatch, fields)), all(map(_COMMA.fullmatch, fields))
    if decimal == "," or (decimal is None and comma and not point):
        return b",", b"." in b"".join(fields)
    either = decimal is None and delimiter != 44 and all(map(_EITHER.fullmatch, with_comma))
    if either and point and comma:
        text = f"{name}: {with_comma[0].decode()} may be a decimal or thousands; pass "
        raise InputError(text, Option("decimal", ","), " or ", Option("decimal", "."))
    return (b".", True) if point else None


def plain_number(field: bytes, mark: bytes) -> bytes:
    """Return a number with a decimal point and without thousands separators.

    >>> plain_number(b"1.234,5", b","), plain_number(b"1,234.5", b".")
    (b'1234.5', b'1234.5')
    """
    return field.replace(b".", b"").replace(b",", b".") if mark == b"," else field.replace(b",", b"")
