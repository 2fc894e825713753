"""Detect the kind of data in a table: edges, contacts, two kinds of items, or a matrix with items as rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from softvec.core.errors import Message, Option
from softvec.read.roles import Column, Layout, by_name, names_two_kinds, paired, word_of

_DATE = re.compile(r"\d{1,2}([./-])\d{1,2}\1(\d{2}|\d{4})([ t,].*)?")
_LABELS = frozenset(
    ("label", "labels", "class", "target", "y", "species", "category", "cluster", "group", "diagnosis",
     "outcome")
)  # fmt: skip


def wide_kind(layout: Layout) -> str | None:
    """Return the kind of a table that is a matrix: ``features``, or ``bipartite`` for counts; else None.

    It is a matrix if fewer than two columns can name the ends of edges, or if it has four or more columns,
    all of numbers, whose names do not suggest the ends of edges. The first column may name the rows.
    """
    columns = [column for column in layout.columns if not column.empty]
    if len(columns) < 2:
        return None
    if ends_are_named(layout) and (
        not layout.roles or _ends_hold_names(layout) or _ends_hold_whole_decimals(layout)
    ):
        return None
    body = columns[1:] if _names_rows(columns[0]) else columns
    numbers = [column for column in body if column.numeric]
    if len(numbers) < 2:
        return None
    if layout.header is None and _are_weighted_edges(columns):
        return None
    decimals = [column for column in numbers if not column.whole]
    named = [column for column in columns if column.holds_names and not column.running]
    if decimals and (len(named) < 2 or (len(body) < len(columns) and _are_labels(columns[0], body))):
        return "features"
    counts = not decimals and all(value >= 0 for column in numbers for value in column.values)
    if len(numbers) == len(body) and len(body) >= _least_columns(columns[0], layout.header is not None):
        return "bipartite" if counts else "features"
    if len(numbers) == len(body) and len(body) >= 4 and 2 * len(decimals) > len(body):
        return "features"
    return None


def labels_among(columns: Sequence[Column]) -> list[str]:
    """Return the names of integer columns that look like labels: by name, and with few distinct values."""
    return [
        str(column.name)
        for column in columns
        if word_of(column.name) in _LABELS
        and column.whole
        and 2 * len(set(column.values)) <= len(column.values)
    ]


def _ends_hold_names(layout: Layout) -> bool:
    return all(layout.columns[layout.roles[role]].holds_names for role in ("source", "target"))


def _ends_hold_whole_decimals(layout: Layout) -> bool:
    """Whether the ends of edges are written as 1.0 or 1e5, as by programs that read ids as floats."""
    ends = [layout.columns[layout.roles[role]] for role in ("source", "target")]
    plain = all(len(word_of(end.name)) > 1 for end in ends) and paired(layout.header or ()) is None
    return plain and all(end.numeric and all(value % 1 == 0 for value in end.values) for end in ends)


def _are_weighted_edges(columns: Sequence[Column]) -> bool:
    """Whether three columns are ids, ids that happen to count 0, 1, 2, ..., and weights."""
    ids = [column for column in columns if column.whole]
    if len(columns) != 3 or len(ids) != 2 or not any(column.running for column in ids):
        return False
    first, second = (set(column.values) for column in ids)
    return len(first & second) >= 0.8 * min(len(first), len(second))


def _are_labels(first: Column, body: Sequence[Column]) -> bool:
    """Whether the text columns are labels of the rows, which the first column names."""
    texts = [column for column in body if not column.numeric and column.holds_names]
    few = all(2 * len(set(column.values)) <= len(column.values) for column in texts)
    return (
        bool(texts) and _unique(first) and few and not any(set(first.values) & set(c.values) for c in texts)
    )


def _unique(column: Column) -> bool:
    return len(column.values) > 2 and len(set(column.values)) == len(column.values)


def _least_columns(first: Column, header: bool) -> int:
    """Return the least number of numeric columns of a matrix; fewer may be data of edges."""
    if not header:
        return 6
    return 3 if not first.numeric and _unique(first) else 4


def ends_are_named(layout: Layout) -> bool:
    """Whether two columns have names that suggest the ends of edges."""
    named = Layout(layout.columns, {})
    by_name(named)
    return {"source", "target"} <= set(named.roles)


def _names_rows(column: Column) -> bool:
    """Whether a first column names the rows: text, or row numbers."""
    return column.holds_names and (not column.numeric or column.running)


def row_names(layout: Layout) -> int | None:
    """Return the position of the first column of a wide table if it names the rows."""
    first = next((at for at, column in enumerate(layout.columns) if not column.empty), None)
    return first if first is not None and _names_rows(layout.columns[first]) else None


def two_kinds(layout: Layout) -> bool:
    """Whether the two ends of edges have no name in common in the sample, such as visitors and pages."""
    left, right = (layout.columns[layout.roles[role]].values for role in ("source", "target"))
    return len(left) >= 10 and not set(left) & set(right)


def guess_kind(layout: Layout, where: str) -> tuple[str, list[Message]]:
    """Return the kind of data in a table of edges, and remarks on what is uncertain."""
    kind, remarks = _guess_kind(layout, where)
    doubts = [*_unused(layout), *_ends_in_doubt(layout)]
    return kind, [*remarks, *(Message(f"{where}: ", text) for text in doubts)]


def _ends_in_doubt(layout: Layout) -> list[str | Message]:
    """Say which ends of edges may be times or sentences, or share numbers without being of one kind."""
    ends = [layout.roles["source"], layout.roles["target"]]
    left, right = (layout.columns[at] for at in ends)
    remarks: list[str | Message] = []
    for at in ends:
        texts = [str(value) for value in layout.columns[at].values if isinstance(value, str)]
        if len(texts) > 2 and sum(text.count(" ") for text in texts) > 5 * len(texts):
            remarks.append(
                f"column {layout.show(at)} holds sentences, each read as one name; to embed their words, "
                "write them to a file of their own, one per line"
            )
    timed = "time" in layout.roles or len(layout.columns) < 3 or layout.header is not None
    shared = set(left.values) & set(right.values) if left.unix else set()
    if not timed and left.unix and not shared and list(left.values) == sorted(left.values):
        text = f"column {ends[0]} is read as names, though its numbers are sorted and may be times; "
        remarks.append(Message(text, Option("kind", "temporal"), " reads them as times"))
    plain = [replace(column, name=re.sub("_?id$", "", word_of(column.name))) for column in layout.columns]
    named = ends_are_named(layout) or ends_are_named(replace(layout, columns=plain))
    if layout.header is None or names_two_kinds(layout.header) or named:
        return remarks
    words = {word_of(left.name), word_of(right.name)}
    plain_words = len(words) == 2 and min(map(len, words)) > 1
    if left.whole and right.whole and plain_words and not two_kinds(layout):
        text = f"{left.name} and {right.name} are read as ids of the same kind of items; pass "
        remarks.append(Message(text, Option("kind", "bipartite"), " if they are two kinds"))
    return remarks


def _unused(layout: Layout) -> list[str]:
    """Return remarks on unused columns that hold booleans, or dates in an unsupported format."""
    remarks = []
    for at, column in enumerate(layout.columns):
        values = {str(value).strip().lower() for value in column.values if value not in (None, "")}
        if at in layout.roles.values() or not values:
            continue
        shown = layout.show(at)
        if values <= {"true", "false"} and len(values) == 2:
            remarks.append(f"column {shown} (true or false) is not used; drop the rows that are not edges")
        elif all(_DATE.fullmatch(value) for value in values):
            remarks.append(
                f"column {shown} looks like dates and is not used; write them as 2024-03-01 to use it"
            )
    return remarks


def _guess_kind(layout: Layout, where: str) -> tuple[str, list[Message]]:
    if names_two_kinds(layout.header):
        return "bipartite", []
    ends = f"{layout.show(layout.roles['source'])} and {layout.show(layout.roles['target'])}"
    if "time" not in layout.roles or len(layout.columns) < 3:
        if layout.header is None or not two_kinds(layout):
            return "graph", []
        return "graph", [
            Message(
                f"{where} is read as one graph, though {ends} share no name; ",
                Option("kind", "bipartite"),
                " if they are two kinds of items, ",
                Option("kind", "graph"),
                " if not",
            )
        ]
    if two_kinds(layout):
        return "bipartite", [
            Message(
                f"{where} is read as two kinds of items without times, as {ends} share no name; ",
                Option("kind", "temporal"),
                " if they are of one kind",
            )
        ]
    shown = layout.show(layout.roles["time"])
    if layout.header is None and not layout.columns[layout.roles["time"]].stamps:
        return "graph", [
            Message(
                f"column {shown} of {where} reads as Unix times and is not used; ",
                Option("kind", "temporal"),
                " uses it",
                *(
                    (", ", Option("kind", "bipartite"), " if the ids are of two kinds")
                    if "weight" in layout.roles
                    else ()
                ),
            )
        ]
    if layout.roles["time"] == 0:
        return "temporal", []
    return "temporal", [
        Message(
            f"{where} is read as temporal contacts, by column {shown}; ",
            Option("kind", "graph"),
            " leaves the times out",
        )
    ]
