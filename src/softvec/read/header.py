"""Decide whether the first line of a table in text is a header."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from softvec.core.dates import is_stamp
from softvec.core.errors import Message, Option
from softvec.read.numbers import GROUPED, NUMBER, is_none
from softvec.read.roles import known_names, paired
from softvec.read.table import word_of

Fields = Sequence[bytes]


def find_header(
    rows: Sequence[Fields], n_fields: int, wanted: Sequence[str] = ()
) -> tuple[bool, list[Message]]:
    """Return whether the first line is a header, and messages about what is uncertain.

    It is a header if the user names columns; if it has words above numbers or dates; or if it has names that
    do not occur below and are known words (source, target), share a stem (gene_a, gene_b), or look unlike the
    names below. If its words never occur again but those of other lines mostly do, it is read as a header,
    with a message.
    """
    first, below = rows[0], [row for row in rows[1:] if len(row) == n_fields]
    words = [field.decode("utf-8", "replace") for field in first]
    around = _around_a_matrix(first, below, n_fields)
    if wanted and (set(wanted) <= set(words) or not any(NUMBER.fullmatch(f) for f in first)):
        return True, []
    if around is not None:
        return around, []
    if any(NUMBER.fullmatch(f) or GROUPED.fullmatch(f) or is_stamp(word) for f, word in zip(first, words)):
        return False, []
    return _by_words(first, words, below, n_fields)


def _around_a_matrix(first: Fields, below: Sequence[Fields], n_fields: int) -> bool | None:
    """Whether the first line names the columns of a matrix; None if nothing says so."""
    corner = [b"", *first] if len(first) == n_fields - 1 else first  # R leaves the corner out
    if first[0] == b"" and len(first) == n_fields and below and all(row[0] for row in below):
        return len(set(first)) == len(first)
    square = len(corner) == n_fields and len(first) > 2 and len(below) > 2
    return True if square and repeats_header(corner, below) else None


def repeats_header(first: Sequence[Any], below: Sequence[Sequence[Any]]) -> bool:
    """Whether the first fields of the lines repeat the first line, as the names around a square matrix do.

    If there are fewer lines than names, as in a sample, they must be in the same order.
    """
    rows, titles = [row[0] for row in below], list(first[1:])
    if len(rows) < len(titles):
        return rows == titles[: len(rows)]
    return len(rows) == len(titles) and len(set(rows)) == len(rows) and set(rows) == set(titles)


def _by_words(
    first: Fields, words: list[str], below: Sequence[Fields], n_fields: int
) -> tuple[bool, list[Message]]:
    """Decide by the words of a first line that has no numbers."""
    again = bool({*first} & {field for row in below for field in row} - {b""})
    if _above_numbers(first, below, n_fields):
        return True, [_read_as_header(words)] * (again and known_names(words) < 2)
    known = known_names([word for word in words if len(word) > 1])
    if known >= 2 and not again:
        return True, []
    if below and not again:
        return _unlike_the_rest(words, below)
    if known < len(words):
        return False, []
    return (True, []) if known > 2 else (False, [_read_as_data(words)])


def _above_numbers(first: Fields, below: Sequence[Fields], n_fields: int) -> bool:
    """Whether the first line has a word above a column of numbers or dates."""
    columns = list(zip(*below))[n_fields - len(first) :]  # R leaves the title of the first column out
    return len(first) in (n_fields, n_fields - 1) and any(
        not is_none(word) and _are_numbers(column) for word, column in zip(first, columns)
    )


def _are_numbers(column: Fields) -> bool:
    """Whether all fields that are not empty are numbers, or all are dates."""
    fields = [field for field in column if field]
    numbers = all(NUMBER.fullmatch(field) or GROUPED.fullmatch(field) for field in fields)
    return bool(fields) and (numbers or all(is_stamp(field.decode("utf-8", "replace")) for field in fields))


def _unlike_the_rest(words: list[str], below: Sequence[Fields]) -> tuple[bool, list[Message]]:
    """Decide whether a first line of words that never occur again is a header."""
    if len(below) < 2:
        return False, []
    plain = all(re.fullmatch(r"[A-Za-z][A-Za-z _.#-]*[12]?", word) for word in words)
    if plain and (_all_hold_digits(below) or _is_pair_of_its_own(words, below)):
        return True, []
    counts = Counter(field for row in below for field in row)
    alone = sum(all(counts[field] == row.count(field) for field in row) for row in below)
    return (True, [_read_as_header(words)]) if alone <= 0.2 * len(below) else (False, [_read_as_data(words)])


def _all_hold_digits(below: Sequence[Fields]) -> bool:
    return all(re.search(rb"[0-9]", field) for row in below for field in row[:2])


def _is_pair_of_its_own(words: list[str], below: Sequence[Fields]) -> bool:
    """Whether the words are a pair such as gene_a and gene_b, and no field below starts like them."""
    starts = {field.decode("utf-8", "replace").lower()[:3] for row in below for field in row}
    return paired(words) is not None and word_of(words[0])[:3] not in starts


def _read_as_header(words: list[str]) -> Message:
    shown = ", ".join(words[:4])
    return Message(f"line 1 ({shown}) is read as a header; ", Option("header", False), " if it is data")


def _read_as_data(words: list[str]) -> Message:
    shown = ", ".join(words[:4])
    return Message(f"line 1 ({shown}) is read as data; ", Option("header", True), " if it is a header")
