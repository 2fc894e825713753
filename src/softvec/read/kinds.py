"""The kind of data: a graph, two kinds of items, contacts, a text, feature vectors.

All that is told by the data itself is told once: of tables in text, in Arrow files and in frames by
:func:`kind_of_table`, of lines that may be prose by :func:`kind_of_text`, of names of files and options
by :func:`kind_unread`, and of other objects by :func:`softvec.read.objects.kind_of_object`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from softvec.core.errors import InputError, Message, Option, guess
from softvec.read.roles import by_name, names_two_kinds, paired, word_of
from softvec.read.streams import extension
from softvec.read.table import INTEGER, ColumnSample, Table
from softvec.read.text_table import Dialect, Sample, split

_DATE = re.compile(r"\d{1,2}([./-])\d{1,2}\1(\d{2}|\d{4})([ t,].*)?")
_LABELS = frozenset(
    ("label", "labels", "class", "target", "y", "species", "category", "cluster", "group", "diagnosis",
     "outcome")
)  # fmt: skip
_SIGNS = ({"+", "-"}, {"pos", "neg"}, {"+", "\N{MINUS SIGN}"})
_TABLE_SUFFIXES = (".csv", ".tsv", ".tab", ".edges", ".edgelist", ".el", ".ncol", ".wel", ".pairs", ".sif")
# (kind, options of which one must be present, and of these too, if any)
_TELLING = (("corpus", ("window", "n_windows"), ("min_count", "weighting")),
            ("temporal", ("n_windows", "self_weight"), ()))  # fmt: skip


def kind_unread(where: Any, options: Iterable[str]) -> str | None:
    """Return the kind implied by the extension of a file, or by the option names; else None."""
    if isinstance(where, str | os.PathLike) and extension(Path(where)) in (".gmt", ".gaf"):
        return "sets"
    names = set(options)
    for kind, some, others in _TELLING:
        if names & set(some) and (not others or names & set(others)):
            return kind
    return None


def kind_of_table(table: Table, where: str) -> str:
    """Return the kind of a table of edges or numbers; warn of what is uncertain."""
    return (None if table.chosen else wide_kind(table)) or _told_kind_of_edges(table, where)


def _told_kind_of_edges(table: Table, where: str) -> str:
    """Return the kind of a table of edges; warn of what is uncertain."""
    kind, remarks = _kind_of_edges(table, where)
    for text in [
        *remarks,
        *(Message(f"{where}: ", text) for text in (*_unused(table), *_ends_in_doubt(table))),
    ]:
        guess(text)
    return kind


def wide_kind(table: Table) -> str | None:
    """Return the kind of a table that is a matrix: ``features``, or ``bipartite`` for counts; else None.

    It is a matrix if fewer than two columns can name the ends of edges, or if it has four or more columns,
    all of numbers, whose names do not suggest the ends of edges. The first column may name the rows.
    """
    columns = [column for column in table.columns if not column.empty]
    if len(columns) < 2 or _are_edges(table, columns):
        return None
    body = columns[1:] if _names_rows(columns[0]) else columns
    numbers = [column for column in body if column.numeric]
    if len(numbers) < 2:
        return None
    decimals = sum(not column.whole for column in numbers)
    if decimals and not _hold_ends(columns, body):
        return "features"
    enough = len(body) >= _least_columns(columns[0], table.header is not None)
    if len(numbers) < len(body) or not (enough or 2 * decimals > len(body) >= 4):
        return None
    return kind_of_numbers(numbers)


def kind_of_numbers(columns: Sequence[ColumnSample]) -> str:
    """Return the kind of a matrix: ``bipartite`` if it holds counts, else ``features``."""
    counts = all(column.whole and min(column.values, default=0) >= 0 for column in columns)
    return "bipartite" if counts else "features"


def _hold_ends(columns: Sequence[ColumnSample], body: Sequence[ColumnSample]) -> bool:
    """Whether two columns can name the ends of edges, and are not the rows of a matrix and their labels."""
    named = [column for column in columns if column.holds_names and not column.running]
    return len(named) > 1 and not (len(body) < len(columns) and _are_labels(columns[0], body))


def _warn_labels(columns: Sequence[ColumnSample], where: str) -> None:
    """Warn of integer columns beside decimals that look like labels: by name, with few distinct values."""
    for column in () if all(column.whole for column in columns) else columns:
        few = column.whole and 2 < 2 * len(set(column.values)) <= len(column.values)
        if few and word_of(column.name) in _LABELS:
            guess(f"{where}: column {column.name} is used as a feature; remove it if it is a label")


def _ends_hold_ids(table: Table) -> bool:
    """Whether the ends of edges hold names, or whole numbers written as 1.0 or 1e5."""
    if not table.roles:
        return True
    ends = [table.columns[table.roles[role]] for role in ("source", "target")]
    if all(end.holds_names for end in ends):
        return True
    plain = all(len(word_of(end.name)) > 1 for end in ends) and paired(table.header or ()) is None
    return plain and all(end.numeric and all(value % 1 == 0 for value in end.values) for end in ends)


def _are_edges(table: Table, columns: Sequence[ColumnSample]) -> bool:
    """Whether titles name the ends of edges, or three columns are ids, ids that count 0, 1, ..., weights."""
    if table.header is not None:
        return ends_are_named(table) and _ends_hold_ids(table)
    ids = [column for column in columns if column.whole]
    if len(columns) != 3 or len(ids) != 2 or not any(column.running for column in ids):
        return False
    first, second = (set(column.values) for column in ids)
    return len(first & second) >= 0.8 * min(len(first), len(second))


def _are_labels(first: ColumnSample, body: Sequence[ColumnSample]) -> bool:
    """Whether the text columns are labels of the rows, which the first column names."""
    texts = [column for column in body if not column.numeric and column.holds_names]
    few = all(2 * len(set(column.values)) <= len(column.values) for column in texts)
    return (
        bool(texts) and _unique(first) and few and not any(set(first.values) & set(c.values) for c in texts)
    )


def _unique(column: ColumnSample) -> bool:
    return len(column.values) > 2 and len(set(column.values)) == len(column.values)


def _least_columns(first: ColumnSample, header: bool) -> int:
    """Return the least number of numeric columns of a matrix; fewer may be data of edges."""
    if not header:
        return 6
    return 3 if not first.numeric and _unique(first) else 4


def ends_are_named(table: Table) -> bool:
    """Whether two columns have names that suggest the ends of edges."""
    named = Table(table.columns, {})
    by_name(named)
    return {"source", "target"} <= set(named.roles)


def _names_rows(column: ColumnSample) -> bool:
    """Whether a first column names the rows: text, or row numbers."""
    return column.holds_names and (not column.numeric or column.running)


def row_names(columns: Sequence[ColumnSample]) -> int | None:
    """Return the position of the first column of a wide table if it names the rows."""
    first = next((at for at, column in enumerate(columns) if not column.empty), None)
    return first if first is not None and _names_rows(columns[first]) else None


def numeric_columns(table: Table, named: int | None, where: str) -> list[int]:
    """Return the columns that make up a matrix; ``named`` names its rows. Say which are not used."""
    filled = [at for at, column in enumerate(table.columns) if at != named and not column.empty]
    body = [at for at in filled if table.columns[at].numeric]
    text = [table.show(at) for at in filled if not table.columns[at].numeric]
    if text and table.header is None:
        raise InputError(f"{where}: column {text[0]} does not hold numbers, as a matrix must")
    if not body:
        raise InputError(f"{where} has no columns of numbers")
    if text:
        guess(f"{where}: columns without numbers are not used: {', '.join(text[:4])}")
    _warn_labels([table.columns[at] for at in body], where)
    return body


def _share_no_name(table: Table) -> bool:
    """Whether the two ends of edges have no name in common in the sample, such as visitors and pages."""
    left, right = (table.columns[table.roles[role]].values for role in ("source", "target"))
    return len(left) >= 10 and not set(left) & set(right)


def _ends_in_doubt(table: Table) -> list[str | Message]:
    """Say which ends of edges may be times or sentences, or share numbers without being of one kind."""
    ends = [table.roles["source"], table.roles["target"]]
    left, right = (table.columns[at] for at in ends)
    remarks: list[str | Message] = [
        f"column {table.show(at)} holds sentences, each read as one name; to embed their words, "
        "write them to a file of their own, one per line"
        for at in ends
        if _holds_sentences(table.columns[at])
    ]
    if table.header is None:
        timed = "time" in table.roles or len(table.columns) < 3 or not left.unix
        if (
            not timed
            and list(left.values) == sorted(left.values)
            and not set(left.values) & set(right.values)
        ):
            text = f"column {ends[0]} is read as names, though its numbers are sorted and may be times; "
            remarks.append(Message(text, Option("kind", "temporal"), " reads them as times"))
    elif left.whole and right.whole and not _ends_are_known(table):
        text = f"{left.name} and {right.name} are read as ids of the same kind of items; pass "
        remarks.append(Message(text, Option("kind", "bipartite"), " if they are two kinds"))
    return remarks


def _holds_sentences(column: ColumnSample) -> bool:
    texts = [value for value in column.values if isinstance(value, str)]
    return len(texts) > 2 and sum(text.count(" ") for text in texts) > 5 * len(texts)


def _ends_are_known(table: Table) -> bool:
    """Whether names of columns, or names in common, tell whether the ends are of one kind of items."""
    plain = [replace(column, name=re.sub("_?id$", "", word_of(column.name))) for column in table.columns]
    if names_two_kinds(table.header) or ends_are_named(table) or ends_are_named(Table(plain, {})):
        return True
    words = {word_of(table.columns[table.roles[role]].name) for role in ("source", "target")}
    return len(words) < 2 or min(map(len, words)) < 2 or _share_no_name(table)


def _unused(table: Table) -> list[str]:
    """Return remarks on unused columns that hold booleans, signs, or dates in an unsupported format."""
    remarks = []
    for at, column in enumerate(table.columns):
        values = {str(value).strip().lower() for value in column.values if value not in (None, "")}
        if at in table.roles.values() or not values:
            continue
        if values <= {"true", "false"} and len(values) == 2:
            remarks.append(
                f"column {table.show(at)} (true or false) is not used; drop the rows that are not edges"
            )
        elif {value[:3] for value in values} in _SIGNS:
            remarks.append(f"column {table.show(at)} is not used; write 1 and -1 if it holds signs of links")
        elif all(_DATE.fullmatch(value) for value in values):
            remarks.append(
                f"column {table.show(at)} looks like dates and is not used; write them as 2024-03-01 to use "
                "it"
            )
    return remarks


def _kind_of_edges(table: Table, where: str) -> tuple[str, list[Message]]:
    if names_two_kinds(table.header):
        return "bipartite", []
    kind = {name: Option("kind", name) for name in ("graph", "bipartite", "temporal")}
    ends = f"{table.show(table.roles['source'])} and {table.show(table.roles['target'])}"
    if "time" not in table.roles or len(table.columns) < 3:
        if table.header is None or not _share_no_name(table):
            return "graph", []
        text = f"{where} is read as one graph, though {ends} share no name; "
        return "graph", [
            Message(text, kind["bipartite"], " if they are two kinds of items, ", kind["graph"], " if not")
        ]
    if _share_no_name(table):
        text = f"{where} is read as two kinds of items without times, as {ends} share no name; "
        return "bipartite", [Message(text, kind["temporal"], " if they are of one kind")]
    at = table.roles["time"]
    if table.header is None and not table.columns[at].stamps:
        text = f"column {table.show(at)} of {where} reads as Unix times and is not used; "
        or_two = (", ", kind["bipartite"], " if the ids are of two kinds") if "weight" in table.roles else ()
        return "graph", [Message(text, kind["temporal"], " uses it", *or_two)]
    if at == 0:
        return "temporal", []
    text = f"{where} is read as temporal contacts, by column {table.show(at)}; "
    return "temporal", [Message(text, kind["graph"], " leaves the times out")]


def kind_of_text(sample: Sample, dialect: Dialect, table: Table, square: bool | None) -> str:
    """Return the kind of a table in text: that of the table, unless its lines are prose."""
    wide, name = wide_kind(table), sample.name
    certain = table.chosen or names_two_kinds(table.header) or wide is not None
    if sample.suffix not in _TABLE_SUFFIXES and not certain and not _is_table(sample, dialect, table):
        return kind_of_prose(sample)
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
    if table.chosen or wide is None:
        return _told_kind_of_edges(table, name)
    if wide == "bipartite" and table.bare:
        guess(
            f"{name} is read as a matrix of counts, its rows and columns two kinds of items; ",
            Option("kind", "features"), " if its rows are feature vectors, ",
            Option("kind", "corpus"), " if they are sequences",
        )  # fmt: skip
    return wide


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


def kind_of_prose(sample: Sample) -> str:
    """Take a text for a corpus; say so where its lines have tabs or all the same number of words."""
    _refuse_adjacency(sample.lines, sample.name)
    body = list(dict.fromkeys(sample.lines[:2000]))
    n, share = Sample(body).modal(0)
    tabs = sum(b"\t" in line.strip() for line in body) > 0.8 * len(body)
    if len(body) > 9 and (tabs or (n > 2 and share > 0.95)):
        why = "have tabs" if tabs else f"all have {n} words"
        guess(
            f"{sample.name} is read as text, though its lines {why}; ",
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
