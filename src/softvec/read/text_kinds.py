"""The kind of data in a text: that of its table, a square matrix, or prose."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from softvec.core.errors import InputError, Option, guess
from softvec.read.dialect import Dialect, Sample, all_integers, split
from softvec.read.header import repeats_header
from softvec.read.kinds import ends_are_named, kind_of_table, wide_kind
from softvec.read.numbers import INTEGER
from softvec.read.roles import known_names, names_two_kinds
from softvec.read.table import Table

_TABLE_SUFFIXES = (".csv", ".tsv", ".tab", ".edges", ".edgelist", ".el", ".ncol", ".wel", ".pairs", ".sif")


def kind_of_text(
    sample: Sample, dialect: Dialect, table: Table, square: bool | None, suffix: str, name: str
) -> str:
    """Return the kind of a table in text: that of the table, unless its lines are prose."""
    timed = dialect.header is not None and "time" in table.roles
    is_table = suffix in _TABLE_SUFFIXES or timed or table.chosen or names_two_kinds(dialect.header)
    if not is_table and wide_kind(table) is None and not _is_table(sample, dialect, table):
        return kind_of_prose(sample, name)
    if names_two_kinds(dialect.header):
        return kind_of_table(table, name)
    if square is not None:
        return "graph"
    if _looks_temporal(sample, dialect):
        times = table.columns[0].values
        if len(set(times)) == len(times) or any(column.numeric for column in table.columns[3:]):
            guess(
                f"{name} is read as temporal contacts, with the times in column 0; "
                "if that column only numbers the lines, pass ",
                Option("kind", "graph"), " and ", Option("columns", ...),
            )  # fmt: skip
        return "temporal"
    kind = kind_of_table(table, name)
    if not table.chosen and wide_kind(table) is not None:
        _warn_wide(table, kind, name)
    return kind


def _warn_wide(table: Table, kind: str, name: str) -> None:
    """Warn of what is uncertain about a table of numbers."""
    words = [title for title in table.header or () if len(title) > 1]
    if known_names(words) > 1 and ends_are_named(table):
        ends = " and ".join(table.show(table.roles[role]) for role in ("source", "target"))
        guess(
            f"{name} is read as a matrix of numbers; if {ends} are the ends of edges, pass ",
            Option("kind", "graph"),
        )
    if table.header is None and kind == "bipartite" and all(column.numeric for column in table.columns):
        guess(
            f"{name} is read as a matrix of counts, its rows and columns two kinds of items; ",
            Option("kind", "features"), " if its rows are feature vectors, ",
            Option("kind", "corpus"), " if they are sequences",
        )  # fmt: skip


def is_square(sample: Sample, dialect: Dialect, table: Table, name: str) -> bool | None:
    """Whether a text is a square matrix of numbers: True with names around it, False without; else None.

    Names of rows or columns alone are those of both if the matrix is symmetric. Without names, a table is
    only recognised as square if it is completely in the sample.
    """
    n, header = dialect.n_fields, dialect.header
    numeric = [column.numeric for column in table.columns]
    rows = sample.rows(dialect.delimiter)
    if any(len(row) != n for row in rows[1:]):
        return None
    if header is not None and n > 2:
        body = [[row[0].decode("utf-8", "replace"), *row[1:]] for row in rows[1:]]
        if not repeats_header(header, body):
            return False if all(numeric) and _is_symmetric(rows[1:], n) else None
        if any(field == b"" for row in rows[1:] for field in row[1:]):
            raise InputError(f"{name}: the matrix has empty cells; fill them with 0 or with the other half")
        return True if all(numeric[1:]) else None
    if header is not None or not all(numeric[1:]):
        return None
    if not numeric[0]:
        return False if _is_symmetric([row[1:] for row in rows], n - 1) else None
    if n < 4 or len(rows) != n:
        return None
    matrix = np.array([[float(f) for f in row] for row in rows])
    return False if np.array_equal(matrix, matrix.T) or set(np.unique(matrix)) <= {0.0, 1.0} else None


def _is_symmetric(rows: Sequence[Sequence[bytes]], n: int) -> bool:
    """Whether rows of text are a square, symmetric matrix of more than three rows."""
    return 3 < n == len(rows) and [list(row) for row in rows] == [list(row) for row in zip(*rows)]


def _looks_temporal(sample: Sample, dialect: Dialect) -> bool:
    """Whether a table without a header looks like ``t i j``: sorted times, then two columns of like ids."""
    if dialect.header is not None or dialect.n_fields < 3 or len(sample.lines) < 10:
        return False
    rows = [row[:3] for row in sample.rows(dialect.delimiter)]
    if any(len(row) < 3 or not all_integers(row) for row in rows):
        return False
    t, i, j = np.array(rows).astype(np.int64).T
    left, right, times = set(i.tolist()), set(j.tolist()), set(t.tolist())
    alike = len(left & right) >= 0.3 * len(left | right)
    return bool(np.all(np.diff(t) >= 0) and alike and len(left | right) > 4 and not times & (left | right))


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


def neighbours(row: list[bytes]) -> list[bytes]:
    """Return a node and its neighbours without the punctuation of ``node: one, two``.

    >>> neighbours([b"ann:", b"bob,", b"cyd"])
    [b'ann', b'bob', b'cyd']
    """
    words = [row[0].removesuffix(b":"), *(word.removesuffix(b",") for word in row[1:])]
    return [word for word in words if word]


def _refuse_adjacency(sample: Sequence[bytes], name: str) -> None:
    """Raise an error if a text may be an adjacency list, or edges written with arrows."""
    marks = bytes.maketrans(b",;|", b"   ")
    plain = [line if b" " in line.strip() else line.translate(marks) for line in sample[:2000]]
    rows = [words for words in (split(line, 0) for line in plain) if words]
    middles = {row[1] if len(row) == 3 else b"" for row in rows}
    if len(middles) == 1 and re.fullmatch(rb"[^\w\s]+", mark := middles.pop()):
        raise InputError(f"{name}: names are separated by {mark.decode()!r}; write a tab or a comma instead")
    if rows and all(row[0].endswith(b":") for row in rows):
        rows = [neighbours(row) for row in rows]
    firsts = [row[0] for row in rows]
    others = [word for row in rows for word in row[1:]]
    heads = set(firsts)
    share = sum(word in heads for word in others) / max(1, len(others))
    alike = len(rows) > 2 and len(heads) == len(firsts) and share >= 0.8
    numbers = len(rows) > 2 and all(INTEGER.fullmatch(word) for row in rows for word in row)
    if alike or numbers:
        raise InputError(
            f"{name} may be an adjacency list (a node and its neighbours on each line) or text; pass ",
            Option("format", "adjlist"), " or ", Option("kind", "corpus"),
        )  # fmt: skip


def _is_table(sample: Sample, dialect: Dialect, table: Table) -> bool:
    """Whether lines have the same number of fields, and few enough of them, or numbers, to be a table."""
    n, share = sample.modal(dialect.delimiter, skip=int(dialect.header is not None))
    columns, numeric = table.columns, [column.numeric for column in table.columns]
    if n < 2:
        return False
    if dialect.delimiter != 0 or (dialect.header is not None and ends_are_named(table)):
        return share >= 0.8
    if n > 2 and len(columns) > 2 and columns[2].stamps and not columns[0].stamps:
        return share >= 0.8
    least = 0.5 if all(numeric[:2]) else 0.8
    if n == 2 or all(column.empty for column in columns[2:]):
        return share >= least
    if n == 3 and share == 1 and len(sample.lines) > 2 and numeric == [False, True, False]:
        return True  # a weight between two names
    return len(numeric) > 2 and numeric[2] and share >= least
