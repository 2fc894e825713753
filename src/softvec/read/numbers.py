"""Numbers in text: how they are written, and the decimal mark of a table."""

from __future__ import annotations

import re

from softvec.core.errors import InputError, Message, Option

INTEGER = re.compile(rb"0|-?[1-9][0-9]{0,18}")
NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(nan|inf|infinity)", re.I)
DIGITS = re.compile(rb"[+-]?[0-9]+")  # includes ids such as 007
GROUPED = re.compile(rb"[+-]?[0-9.,]*[0-9]([eE][+-]?[0-9]+)?")
_COMMA = re.compile(rb"[+-]?([0-9]{1,3}(\.[0-9]{3})+|[0-9]+)(,[0-9]+)?([eE][+-]?[0-9]+)?")
_POINT = re.compile(rb"[+-]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?")
_THOUSANDS = re.compile(rb"[1-9][0-9]{0,2}\.[0-9]{3}")
_EITHER = re.compile(rb"[+-]?[1-9][0-9]{0,2},[0-9]{3}")


def find_decimal(
    rows: list[list[bytes]], delimiter: int, decimal: str | None, name: str, guesses: list[Message]
) -> tuple[bytes, bool]:
    """Return the decimal mark of a table, and whether it has thousands separators."""
    if decimal not in (None, ".", ","):
        raise InputError.of("decimal", decimal, "'.' or ','")
    for c in range(len(rows[0]) if rows else 0):
        fields = [row[c] for row in rows if row[c]]
        with_comma = [f for f in fields if b"," in f]
        if delimiter == 59 and decimal is None and fields and all(map(_THOUSANDS.fullmatch, fields)):
            guesses.append(
                Message(
                    f"numbers such as {fields[0].decode()} are read with a decimal point; ",
                    Option("decimal", ","),
                    " if they are thousands",
                )
            )
        if not with_comma or not all(NUMBER.fullmatch(f) or GROUPED.fullmatch(f) for f in fields):
            continue
        point = all(NUMBER.fullmatch(f) or _POINT.fullmatch(f) for f in fields)
        comma = all(_COMMA.fullmatch(f) for f in fields)
        if decimal == "," or (decimal is None and comma and not point):
            return b",", any(b"." in f for f in fields)
        ambiguous = decimal is None and point and comma and delimiter != 44
        if ambiguous and all(map(_EITHER.fullmatch, with_comma)):
            raise InputError(
                f"{name}: {with_comma[0].decode()} may be a decimal or thousands; pass ",
                Option("decimal", ","),
                " or ",
                Option("decimal", "."),
            )
        if point:
            return b".", True
    return (b"," if decimal == "," else b"."), False


def plain_number(field: bytes, mark: bytes) -> bytes:
    """Return a number with a decimal point and without thousands separators.

    >>> plain_number(b"1.234,5", b","), plain_number(b"1,234.5", b".")
    (b'1234.5', b'1234.5')
    """
    return field.replace(b".", b"").replace(b",", b".") if mark == b"," else field.replace(b",", b"")
