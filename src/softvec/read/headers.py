"""Detect the header of a text table, and its number format."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from softvec.core.dates import is_stamp
from softvec.core.errors import InputError, Message, Option
from softvec.read.roles import known_names, paired, word_of

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


_MISSING = frozenset(
    (b"", b"NA", b"N/A", b"#N/A", b"NaN", b"nan", b"null", b"NULL", b"None", b"-", b".", rb"\N")
)


def find_header(
    rows: list[list[bytes]], n_fields: int, wanted: Sequence[str] = ()
) -> tuple[bool, list[Message]]:
    """Return whether the first line is a header, and messages about what is uncertain.

    It is a header if the user names columns; if it has words above numbers or dates; or if it has names that
    do not occur below and are known words (source, target), share a stem (gene_a, gene_b), or look unlike the
    names below. If its words never occur again but those of other lines mostly do, it is read as a header,
    with a message.
    """
    first = rows[0]
    words = [f.decode("utf-8", "replace") for f in first]
    if wanted and (set(wanted) <= set(words) or not any(NUMBER.fullmatch(f) for f in first)):
        return True, []
    below = [row for row in rows[1:] if len(row) == n_fields]
    if len(first) == n_fields and first[0] == b"" and below and all(row[0] for row in below):
        return len(set(first)) == len(first), []  # an empty corner above the row names
    if len(first) == n_fields > 2 and len(below) > 2 and repeats_header(first, below):
        return True, []
    if len(first) == n_fields - 1 > 2 and len(below) > 2 and repeats_header([b"", *first], below):
        return True, []  # R leaves the corner out
    if any(NUMBER.fullmatch(f) or is_stamp(f.decode("utf-8", "replace")) for f in first):
        return False, []
    elsewhere = {f for row in below for f in row}
    again = any(f in elsewhere for f in first if f)
    if below and len(first) in (n_fields, n_fields - 1) and _above_numbers(first, below, n_fields):
        return (not again) or known_names(words) >= 2, []
    known = known_names([word for word in words if len(word) > 1])
    if again or not below:
        header = (known >= 2 and not again) or (known == len(words) > 2)
        return header, [_read_as_data(words)] if known == len(words) and not header else []
    if known >= 2:
        return True, []
    return _unlike_the_rest(first, words, below)


def repeats_header(first: Sequence[Any], below: Sequence[Sequence[Any]]) -> bool:
    """Whether the first fields of the lines repeat the first line, as the names around a square matrix do.

    If there are fewer lines than names, as in a sample, they must be in the same order.
    """
    rows, titles = [row[0] for row in below], list(first[1:])
    if len(rows) < len(titles):
        return rows == titles[: len(rows)]
    return len(rows) == len(titles) and len(set(rows)) == len(rows) and set(rows) == set(titles)


def _above_numbers(first: list[bytes], below: list[list[bytes]], n_fields: int) -> bool:
    """Whether the first line has a word above a column of numbers or dates."""
    shift = n_fields - len(first)
    for c, word in enumerate(first):
        fields = [row[c + shift] for row in below if row[c + shift]]
        if word in _MISSING or not fields:
            continue
        dates = all(is_stamp(f.decode("utf-8", "replace")) for f in fields)
        if dates or all(NUMBER.fullmatch(f) or GROUPED.fullmatch(f) for f in fields):
            return True
    return False


def _unlike_the_rest(
    first: list[bytes], words: list[str], below: list[list[bytes]]
) -> tuple[bool, list[Message]]:
    """Decide whether a first line of words that never occur again is a header."""
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
        return True, [
            Message(f"line 1 ({shown}) is read as a header; ", Option("header", False), " if it is data")
        ]
    if len(below) < 2:
        return False, []
    return False, [_read_as_data(words)]


def _read_as_data(words: list[str]) -> Message:
    shown = ", ".join(words[:4])
    return Message(f"line 1 ({shown}) is read as data; ", Option("header", True), " if it is a header")
