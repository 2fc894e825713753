"""What kind of data a table holds: edges, contacts, two kinds of items, or a matrix whose rows are items."""

from __future__ import annotations

from softvec.core.errors import Message, Option
from softvec.read.roles import Column, Layout, by_name, names_two_kinds


def wide_kind(layout: Layout) -> str | None:
    """Say whether a table is a matrix, its rows items: ``features`` or, of counts, ``bipartite``; else None.

    It is where fewer than two columns can name the ends of edges, or where there are only numbers, four or
    more, under names that are no words for ends of edges. Its first column may name the rows.
    """
    columns = [column for column in layout.columns if not column.empty]
    if len(columns) < 2:
        return None
    names = layout.header
    if ends_are_named(layout) and all(
        layout.columns[layout.roles[role]].holds_names for role in ("source", "target")
    ):
        return None
    body = columns[1:] if _names_rows(columns[0]) else columns
    numbers = [column for column in body if column.numeric]
    if len(numbers) < 2:
        return None
    decimals = [column for column in numbers if not column.whole]
    named = [column for column in columns if column.holds_names and not column.running]
    counts = not decimals and all(value >= 0 for column in numbers for value in column.values)
    if len(named) < 2 and decimals:
        return "features"
    if len(numbers) == len(body) and len(body) >= (4 if names is not None else 6):
        return "bipartite" if counts else "features"
    if len(numbers) == len(body) and len(body) >= 4 and 2 * len(decimals) > len(body):
        return "features"
    return None


def ends_are_named(layout: Layout) -> bool:
    """Whether the names of two columns tell that they are the ends of edges."""
    named = Layout(layout.columns, {})
    by_name(named)
    return {"source", "target"} <= set(named.roles)


def _names_rows(column: Column) -> bool:
    """Whether a first column names rows: text, or a count of them."""
    return column.holds_names and (not column.numeric or column.running)


def row_names(layout: Layout) -> int | None:
    """Return the column of a wide table that names its rows, if its first does."""
    first = next((at for at, column in enumerate(layout.columns) if not column.empty), None)
    return first if first is not None and _names_rows(layout.columns[first]) else None


def two_kinds(layout: Layout) -> bool:
    """Whether the ends of edges share no name in the sample, as visitors and pages do not."""
    left, right = (layout.columns[layout.roles[role]].values for role in ("source", "target"))
    return len(left) >= 10 and not set(left) & set(right)


def guess_kind(layout: Layout, where: str) -> tuple[str, list[Message]]:
    """Return the kind of data of a table of edges, and remarks on what is not certain."""
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
