"""Detect the dialect of a table in text from its first lines: delimiter, quotes, header, decimal mark."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from softvec.core.checks import counted
from softvec.core.dates import is_stamp
from softvec.core.errors import InputError, Message, Option
from softvec.read.formats import refuse_layout
from softvec.read.roles import known_names, paired, word_of
from softvec.read.table import (
    DIGITS,
    GROUPED,
    NO_NUMBER,
    NUMBER,
    ColumnSample,
    Table,
    TableOptions,
    all_integers,
    find_decimal,
    plain_number,
)
from softvec.read.text_table import Dialect, Sample

Fields = Sequence[bytes]
_NO_VALUE = (b"", b"{}", rb"\N")  # networkx writes {} where an edge has no data, MySQL \N


def is_cut(sample: Sample) -> bool:
    """Whether tabs or bars cut nearly all lines into the same number of fields, as they cut no prose."""
    cuts = (sample.modal(delimiter) for delimiter in (9, 124))
    return len(sample.lines) > 3 and any(number > 2 and share >= 0.8 for number, share in cuts)


def find_delimiter(sample: Sample) -> int:
    """Return the delimiter that splits most lines into the same number of fields, at least two.

    >>> lines = (b"Rome, Italy\\tParis, France", b"1;2;0,5", b"a,b")
    >>> [chr(find_delimiter(Sample([line]))) for line in lines]
    ['\\t', ';', ',']
    """
    lines = sample.lines
    if _is_spaced_and_quoted(sample):
        return 32
    best, best_share, best_number = 0, 0.0, 0
    for delimiter in (9, 44, 59, 124):
        if not any(delimiter in line for line in lines):
            continue
        number, share = sample.modal(delimiter)
        if number < 2 or (delimiter != 9 and _mostly_spaced(sample, delimiter)):
            continue
        if delimiter == 44 and _within_numbers(lines):
            continue
        if delimiter == 9 and share == 1:
            return 9
        if (share, number) > (best_share, best_number):
            best, best_share, best_number = delimiter, share, number
    number, share = sample.modal(0)
    # blanks, if they split more lines alike than any single character does
    return 0 if number >= 2 and share > best_share else best


def _is_spaced_and_quoted(sample: Sample) -> bool:
    """Whether fields are quoted and set apart by single blanks, as R's write.table sets them."""
    lines = sample.lines
    quoted = re.compile(rb'("[^"]*"|[^"\s]+)( ("[^"]*"|[^"\s]+))+\r?')
    titled = re.fullmatch(rb'"[^"]*"( "[^"]*")+\r?', lines[0])
    if not all(quoted.fullmatch(line) and (titled or line.startswith(b'"')) for line in lines[:200]):
        return False
    return len(lines) > 2 and sample.modal(32, skip=1)[1] == 1


def _within_numbers(lines: Sequence[bytes]) -> bool:
    """Whether all commas are decimal marks in fields separated by blanks: ``ann bob 0,5``."""
    decimal = re.compile(rb"([^,]*\s[0-9]++,[0-9]++)++[^,]*")
    return all(decimal.fullmatch(line) for line in lines if b"," in line)


def _mostly_spaced(sample: Sample, delimiter: int) -> bool:
    """Whether most fields contain blanks, as in prose with commas, and not as in a table of full names."""
    if sample.suffix == ".csv" or sample.has_quotes(delimiter, 200):
        return False
    mark = bytes([delimiter])
    joined = delimiter == 124 or not any(mark + b" " in line for line in sample.lines)
    if joined and sample.modal(delimiter)[1] == 1 and all(map(all, sample.rows(delimiter))):
        return False
    fields = [field for row in sample.rows(delimiter)[:200] for field in row]
    return sum(b" " in field for field in fields) > 0.5 * len(fields)


def find_dialect(
    sample: Sample, options: TableOptions, names: Sequence[str]
) -> tuple[Dialect, list[Message]]:
    """Detect the dialect of a table, except for what the user gave, and say what is uncertain.

    ``names`` are column names that the user gave, which must be in the header.
    """
    name, comments, delimiter, header = sample.name, options.comments, options.delimiter, options.header
    if not sample.lines:
        raise InputError(
            f"{name} is empty: it has no edges (lines that start with one of {comments.decode()} are "
            "comments; ", Option("comment", None), " reads them)",
        )  # fmt: skip
    byte = find_delimiter(sample) if delimiter is None else delimiter_byte(delimiter)
    refuse_layout(sample.lines, byte, name, cut=sample.modal(byte)[0] > 1)
    rows = sample.rows(byte)
    n_fields, _ = sample.modal(byte, skip=int(len(rows) > 3))
    guesses: list[Message] = []
    if sample.titled:
        header = True
    if header is None:
        header, guesses = find_header(rows, n_fields, names)
        if not header and _counts_lines(rows):
            shown = " ".join(field.decode() for field in rows[0])
            guesses.append(Message(f"line 1 ({shown}) is read as data; remove it if it counts the lines"))
    titles = _titles(rows, n_fields, name) if header else None
    full = [row for row in rows[int(header) :] if len(row) == n_fields]
    mark, separators = find_decimal(full, byte, options.decimal or None, name, guesses)
    return Dialect(
        byte, comments, titles, n_fields, sample.has_quotes(byte), mark, separators, sample.titled
    ), guesses


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
        return True, [_read_as(words, header=True)] * (again and known_names(words) < 2)
    known = known_names([word for word in words if len(word) > 1])
    if known >= 2 and not again:
        return True, []
    if below and not again:
        return _unlike_the_rest(words, below)
    if known < len(words):
        return False, []
    return (True, []) if known > 2 else (False, [_read_as(words, header=False)])


def _above_numbers(first: Fields, below: Sequence[Fields], n_fields: int) -> bool:
    """Whether the first line has a word above a column of numbers or dates."""
    columns = list(zip(*below))[n_fields - len(first) :]  # R leaves the title of the first column out
    return len(first) in (n_fields, n_fields - 1) and any(
        word.lower() not in NO_NUMBER and _are_numbers(column) for word, column in zip(first, columns)
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
    if all(re.fullmatch(r"[A-Za-z][A-Za-z _.#-]*[12]?", word) for word in words):
        digits = all(re.search(rb"[0-9]", field) for row in below for field in row[:2])
        starts = {field.decode("utf-8", "replace").lower()[:3] for row in below for field in row}
        # or a pair such as gene_a and gene_b, and no field below starts like them
        if digits or (paired(words) is not None and word_of(words[0])[:3] not in starts):
            return True, []
    counts = Counter(field for row in below for field in row)
    alone = sum(all(counts[field] == row.count(field) for field in row) for row in below)
    header = alone <= 0.2 * len(below)
    return header, [_read_as(words, header=header)]


def _read_as(words: list[str], *, header: bool) -> Message:
    """Return the message about a first line that may be a header."""
    here, there = ("a header", "data") if header else ("data", "a header")
    text = f"line 1 ({', '.join(words[:4])}) is read as {here}; "
    return Message(text, Option("header", not header), f" if it is {there}")


def _titles(rows: Sequence[Sequence[bytes]], n_fields: int, name: str) -> tuple[str, ...]:
    """Return the column names in a header; R writes none for the column of row names."""
    titles, body = [field.decode("utf-8", "replace") for field in rows[0]], rows[1:]
    if len(titles) == n_fields - 1 and body and len({row[0] for row in body}) == len(body):
        titles = ["", *titles]
    if len(titles) != n_fields:
        raise InputError(
            f"{name}: the header has {counted(len(titles), 'column')}, the lines below it {n_fields}; "
            "repair it, remove it if it is a title, or pass ",
            Option("header", False),
        )
    if not body:
        raise InputError(f"{name} has a header, {', '.join(titles)}, and nothing below it")
    return tuple(titles)


def _counts_lines(rows: Sequence[Sequence[bytes]]) -> bool:
    """Whether the first line may count nodes (at least every id) and edges (the lines below it)."""
    if not all(len(row) == 2 and all_integers(row) for row in rows):
        return False
    nodes, edges = map(int, rows[0])
    return edges == len(rows) - 1 > 3 and nodes >= max(int(field) for row in rows[1:] for field in row)


def is_square(sample: Sample, dialect: Dialect, table: Table) -> bool | None:
    """Whether a text is a square matrix of numbers: True with names around it, False without; else None.

    Names of rows or columns alone are those of both if the matrix is symmetric. Without names, a table is
    only recognised as square if it is completely in the sample.
    """
    n, header = dialect.n_fields, dialect.header
    rows = sample.rows(dialect.delimiter)
    body = rows[int(header is not None) :]
    if n < 3 or {n} != set(map(len, rows[1:])):
        return None
    first, *others = (column.numeric for column in table.columns)
    if header is not None and _names_around(header, body, sample.name):
        return all(others) or None
    if not all(others) or (header is not None and not first):
        return None
    flags = header is None and first and _are_flags(body)
    return False if flags or _is_symmetric([row[int(not first) :] for row in body]) else None


def _are_flags(rows: Sequence[Sequence[bytes]]) -> bool:
    """Whether rows of numbers in text are a square matrix of 0 and 1, of more than three rows."""
    fields = (field for row in rows for field in row)
    square = 3 < len(rows) == len(rows[0])
    return square and all(NUMBER.fullmatch(field) and float(field) in (0, 1) for field in fields)


def _names_around(header: Sequence[str], body: Sequence[Sequence[bytes]], name: str) -> bool:
    """Whether lines start with the names of the header; raise an error if such a matrix has empty cells."""
    if not repeats_header([title.encode() for title in header], body):
        return False
    if any(b"" in row[1:] for row in body):
        raise InputError(f"{name}: the matrix has empty cells; fill them with 0 or with the other half")
    return True


def _is_symmetric(rows: Sequence[Sequence[bytes]]) -> bool:
    """Whether rows of numbers in text are a square, symmetric matrix of more than three rows."""
    plain = [[field.removesuffix(b".0") for field in row] for row in rows]
    return 3 < len(rows) == len(rows[0]) and plain == [list(column) for column in zip(*plain)]


def describe_text(sample: Sample, dialect: Dialect) -> list[ColumnSample]:
    """Describe the columns of a text."""
    titles: Sequence[str | None] = dialect.header or [None] * dialect.n_fields
    full = sample.full_rows(dialect)
    return [_describe(titles[c], [row[c] for row in full], dialect) for c in range(dialect.n_fields)]


def _describe(title: str | None, fields: list[bytes], dialect: Dialect) -> ColumnSample:
    """Describe one column, as :func:`softvec.read.table.describe` does for columns with a type."""
    present = [field for field in fields if field not in _NO_VALUE]
    shown = present
    if not dialect.plain:
        shown = [plain_number(f, dialect.decimal) if GROUPED.fullmatch(f) else f for f in present]
    known = [field for field in shown if field.lower() not in NO_NUMBER]
    # 80% is enough: a weight that is not a number should be an error, not a reason to ignore all weights
    if sum(map(bool, map(NUMBER.fullmatch, known))) >= max(1, 0.8 * len(known), 0.5 * len(fields)):
        numbers = list(filter(NUMBER.fullmatch, shown))
        whole = all(map(DIGITS.fullmatch, numbers))
        return ColumnSample(title, True, whole, values=[int(f) if whole else float(f) for f in numbers])
    texts = [field.decode("utf-8", "replace") for field in present]
    stamps = len(texts) > 0 and sum(map(is_stamp, texts)) >= 0.8 * len(fields)
    return ColumnSample(title, stamps=stamps, values=texts)


def delimiter_byte(delimiter: str) -> int:
    """Return the byte of the user's delimiter; 0 for runs of blanks."""
    named = {"tab": "\t", "comma": ",", "semicolon": ";", "space": " ", "whitespace": " ", "\\t": "\t"}
    text = named.get(delimiter, delimiter)
    if text == " ":
        return 0
    if len(text) != 1 or not text.isascii() or text in "\n\r\"'":
        raise InputError.of("delimiter", delimiter, "one character, or ' ' for blanks of any kind")
    return ord(text)
