"""The kind of data in a text: that of its table, a square matrix, or prose."""

from __future__ import annotations

import re
from collections.abc import Sequence

from softvec.core.errors import InputError, Option, guess
from softvec.read.dialect import repeats_header
from softvec.read.kinds import ends_are_named, kind_of_table, wide_kind
from softvec.read.roles import names_two_kinds
from softvec.read.table import INTEGER, NUMBER, Table
from softvec.read.text_table import Dialect, Sample, split

_TABLE_SUFFIXES = (".csv", ".tsv", ".tab", ".edges", ".edgelist", ".el", ".ncol", ".wel", ".pairs", ".sif")


def kind_of_text(
    sample: Sample, dialect: Dialect, table: Table, square: bool | None, suffix: str, name: str
) -> str:
    """Return the kind of a table in text: that of the table, unless its lines are prose."""
    certain = table.chosen or names_two_kinds(table.header) or wide_kind(table) is not None
    if suffix not in _TABLE_SUFFIXES and not certain and not _is_table(sample, dialect, table):
        return kind_of_prose(sample, name)
    if square is not None:
        return "graph"
    if _looks_temporal(table):
        times = table.columns[0].values
        if len(set(times)) == len(times) or any(column.numeric for column in table.columns[3:]):
            guess(
                f"{name} is read as temporal contacts, with the times in column 0; "
                "if that column only numbers the lines, pass ",
                Option("kind", "graph"), " and ", Option("columns", ...),
            )  # fmt: skip
        return "temporal"
    kind = kind_of_table(table, name)
    if not table.chosen and wide_kind(table) == "bipartite" and _is_bare(table):
        guess(
            f"{name} is read as a matrix of counts, its rows and columns two kinds of items; ",
            Option("kind", "features"), " if its rows are feature vectors, ",
            Option("kind", "corpus"), " if they are sequences",
        )  # fmt: skip
    return kind


def _is_bare(table: Table) -> bool:
    """Whether a table holds numbers and no names."""
    return table.header is None and all(column.numeric for column in table.columns)


def is_square(sample: Sample, dialect: Dialect, table: Table, name: str) -> bool | None:
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
    if header is not None and _names_around(header, body, name):
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


def _looks_temporal(table: Table) -> bool:
    """Whether a table without a header looks like ``t i j``: sorted times, then two columns of like ids."""
    if table.header is not None or len(table.columns) < 3:
        return False
    times, left, right = (list(column.values) if column.whole else [] for column in table.columns[:3])
    if not 10 <= len(times) == len(left) == len(right) or times != sorted(times):
        return False
    ids = set(left) | set(right)
    alike = len(set(left) & set(right)) >= 0.3 * len(ids)
    return alike and len(ids) > 4 and not ids & set(times)


def kind_of_prose(sample: Sample, name: str) -> str:
    """Take a text for a corpus; say so where its lines have tabs or all the same number of words."""
    _refuse_adjacency(sample.lines, name)
    body = list(dict.fromkeys(sample.lines[:2000]))
    n, share = Sample(body).modal(0)
    tabs = sum(b"\t" in line.strip() for line in body) > 0.8 * len(body)
    if len(body) > 9 and (tabs or (n > 2 and share > 0.95)):
        why = "have tabs" if tabs else f"all have {n} words"
        guess(
            f"{name} is read as text, though its lines {why}; ",
            Option("kind", "graph"), " and ", Option("columns", ...), " if it is a table, ",
            Option("kind", "corpus"), " if not",
        )  # fmt: skip
    return "corpus"


def neighbours(rows: list[list[bytes]]) -> list[list[bytes]]:
    """Return nodes and their neighbours without the punctuation of ``node: one, two``, if all lines have it.

    >>> neighbours([[b"ann:", b"bob,", b"cyd"]])
    [[b'ann', b'bob', b'cyd']]
    """
    if not all(row[0].endswith(b":") for row in rows):
        return rows
    plain = ([row[0][:-1], *(word.removesuffix(b",") for word in row[1:])] for row in rows)
    return [list(filter(None, row)) for row in plain]


def _refuse_adjacency(sample: Sequence[bytes], name: str) -> None:
    """Raise an error if a text may be an adjacency list, or edges written with arrows."""
    marks = bytes.maketrans(b",;|", b"   ")
    plain = [line if b" " in line.strip() else line.translate(marks) for line in sample[:2000]]
    rows = [words for words in (split(line, 0) for line in plain) if words]
    middles = {row[1] if len(row) == 3 else b"" for row in rows}
    if len(middles) == 1 and re.fullmatch(rb"[^\w\s]+", mark := middles.pop()):
        raise InputError(f"{name}: names are separated by {mark.decode()!r}; write a tab or a comma instead")
    if len(rows) > 2 and (_are_neighbours(rows) or all(INTEGER.fullmatch(w) for row in rows for w in row)):
        raise InputError(
            f"{name} may be an adjacency list (a node and its neighbours on each line) or text; pass ",
            Option("format", "adjlist"), " or ", Option("kind", "corpus"),
        )  # fmt: skip


def _are_neighbours(rows: list[list[bytes]]) -> bool:
    """Whether each line starts with another node, and most other words are nodes, too."""
    rows = neighbours(rows)
    heads = {row[0] for row in rows}
    others = [word for row in rows for word in row[1:]]
    return len(heads) == len(rows) and sum(word in heads for word in others) >= 0.8 * max(1, len(others))


def _is_table(sample: Sample, dialect: Dialect, table: Table) -> bool:
    """Whether lines have the same number of fields, and few enough of them, or numbers, to be a table."""
    n, share = sample.modal(dialect.delimiter, skip=int(dialect.header is not None))
    if n < 2 or len(table.columns) < 2:
        return False
    first, second, *others = table.columns
    few = share >= (0.5 if first.numeric and second.numeric else 0.8)
    if dialect.delimiter != 0 or _has_title_or_date(table):
        return share >= 0.8
    if n == 2 or all(column.empty for column in others):
        return few
    if others[0].numeric:
        return few
    # a weight between two names
    return (first.numeric, second.numeric, n, share) == (False, True, 3, 1) and len(sample.lines) > 2


def _has_title_or_date(table: Table) -> bool:
    """Whether a header names the ends of edges or times, or the third column holds dates."""
    if table.header is not None and ("time" in table.roles or ends_are_named(table)):
        return True
    return any(column.stamps for column in table.columns[2:3]) and not table.columns[0].stamps
