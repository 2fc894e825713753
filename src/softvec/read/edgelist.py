"""Edge lists in text: streamed in blocks of lines, parsed by compiled kernels on several threads.

Names are integers if all of them are, else strings. Quoted fields are left to Arrow's CSV reader.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError, Option, guess
from softvec.core.machine import machine
from softvec.kernels import worth_compiling
from softvec.names.coding import Tokens
from softvec.read import lines
from softvec.read.columns import check_weights, edge_roles
from softvec.read.edges import EdgeBuilder, Edges, edges_of
from softvec.read.lines import Table
from softvec.read.opened import Opened, TextOptions
from softvec.read.streams import Source, text_blocks

_POWERS = 10.0 ** np.arange(23)
MISSING = ("NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL", "None", "\\N")
_TOTALS = ("Total", "TOTAL", "Totals", "Sum", "Grand Total")
_ZONE = re.compile(r".*:\d\d(\.\d+)?[+-]\d\d:?\d\d")


class Quoted(Exception):
    """The text has a quoted field and must be read by Arrow."""


@dataclass
class Parsed:
    """A parsed block of lines: the names of both ends of each edge, weights, times, and line numbers."""

    ids: Any  # an integer array or Tokens of two columns
    weights: NDArray[Any] | None = None
    times: NDArray[Any] | None = None
    line_of: Any = field(default=None, repr=False)


def edge_table(opened: Opened) -> Table:
    """Return the layout of an edge list, with the roles of its columns; warn about guesses."""
    assert opened.text is not None
    source, options, table = opened.source, opened.options, opened.text.table
    layout = edge_roles(table.layout, source.name, options, table.guesses)
    table = replace(table, roles=layout.roles, layout=layout, guesses=())
    if options.weighted and "weight" not in table.roles:
        raise InputError(
            f"weighted is True, but {source.name} has no column of weights; name it with ",
            Option("columns", ...),
        )
    if options.ids != "string":
        _refuse_mixed_ids(table, source.name)
    times = layout.columns[layout.roles["time"]] if "time" in layout.roles else None
    if times is not None and times.stamps and any(map(_ZONE.fullmatch, times.values)):
        guess(f"{source.name}: the times have time zones; they are used in UTC")
    return table


def read_edges(opened: Opened) -> Edges:
    """Read the edges in a text file."""
    source, options = opened.source, opened.options
    table = edge_table(opened)
    edges = _read(source, table, options)
    warn_names(edges, source.name)
    columns = table.layout.summary
    return replace(edges, notes=(columns, *edges.notes)) if columns else edges


def warn_names(edges: Edges, where: str) -> None:
    """Warn about names that may stand for a missing value or a total."""
    for missing in MISSING:
        if missing in edges.rows or missing in edges.columns:
            warn_missing(where, missing)
    warn_total(where, edges.rows)


def warn_missing(where: str, word: str) -> None:
    """Warn that a word that may stand for a missing value is read as a name."""
    guess(f"{where}: {word} is read as a name; remove these lines if it means missing")


def warn_total(where: str, names: Any) -> None:
    """Warn that a word for a total names an item."""
    for word in _TOTALS:
        if word in names:
            guess(f"{where}: {word} is read as a name; remove it if it is a total")


def _refuse_mixed_ids(table: Table, name: str) -> None:
    """Raise an error if one column has ids such as 1 and the other 1.0, which would be different items."""
    ends = [table.layout.columns[table.roles[role]] for role in ("source", "target")]
    if all(end.numeric for end in ends) and ends[0].whole != ends[1].whole:
        float_side = ends[1] if ends[0].whole else ends[0]
        if all(value == value // 1 for value in float_side.values):
            raise InputError(
                f"{name}: ids are written as 1 in one column and 1.0 in the other; write integers, or pass ",
                Option("ids", "string"),
            )


def needs_arrow(table: Table) -> bool:
    """Whether a text must be read by Arrow: it has quoted fields, dates, or decimal commas."""
    stamped = "time" in table.roles and not table.numeric[table.roles["time"]]
    marked = "weight" in table.roles and not table.plain
    return table.quoted or stamped or marked


def _read(source: Source, table: Table, options: TextOptions) -> Edges:
    from softvec.read.tables import edges_of_csv

    if needs_arrow(table):
        return edges_of_csv(source, table, options)
    try:
        return _stream(source, table, options)
    except Quoted:
        return edges_of_csv(source, table, options)


def _stream(source: Source, table: Table, options: TextOptions) -> Edges:
    builder = EdgeBuilder(options.two_sided, options.negative)
    add_text(builder, source, table, options)
    return edges_of(builder, source.name)


def add_text(builder: EdgeBuilder, source: Source, table: Table, options: TextOptions) -> None:
    """Add the edges of a text to a builder; raises Quoted if Arrow must read it."""
    integers = options.ids != "string" and builder.maybe_integers
    rest = text_blocks(source, encoding=options.encoding)
    block, line = next(rest, (b"", 1))
    if table.header is not None:
        block, line = after_header(block, line, table)
    second = next(rest, None)
    if second is None and not worth_compiling(len(block)):
        add_parsed(builder, _parse_small(block, line, table, source.name, integers, options.ids), options)
        return

    def parse(text: bytes, start: int) -> Parsed:
        return parse_block(text, start, table, source.name, integers, options.ids)

    blocks = chain([(block, line)], [] if second is None else [second], rest)
    with machine(options.n_jobs) as pool:
        builder.use(pool)
        while batch := list(islice(blocks, pool.n_jobs)):
            for parsed in pool.map(parse, batch):
                add_parsed(builder, parsed, options)
                integers = integers and not isinstance(parsed.ids, Tokens)
        builder.use(None)


def after_header(block: bytes, line: int, table: Table) -> tuple[bytes, int]:
    """Return a text without its header, the first line that is not a comment, and its first line number."""
    at = 0
    while at < len(block):
        end = block.find(b"\n", at) + 1 or len(block)
        line += 1
        if lines.is_data(block[at:end].rstrip(b"\n"), table.comments):
            return block[end:], line
        at = end
    return b"", line


def add_parsed(builder: EdgeBuilder, parsed: Parsed, options: TextOptions) -> None:
    """Check the weights of a parsed block and add it to a builder."""
    if parsed.weights is not None:
        check_weights(parsed.weights, options.negative, parsed.line_of)
    ids = parsed.ids
    if not options.two_sided:
        builder.add([ids], parsed.weights, parsed.times)
    elif isinstance(ids, Tokens):
        sides = [
            Tokens(ids.buf, ids.starts[:, c : c + 1], ids.ends[:, c : c + 1], ids.hashes[:, c : c + 1])
            for c in (0, 1)
        ]
        builder.add(sides, parsed.weights, parsed.times)
    elif isinstance(ids, np.ndarray):
        builder.add([ids[:, :1], ids[:, 1:]], parsed.weights, parsed.times)
    else:
        builder.add([[row[:1] for row in ids], [row[1:] for row in ids]], parsed.weights, parsed.times)


def _parse_small(text: bytes, line: int, table: Table, name: str, integers: bool, ids: str) -> Parsed:
    if lines.has_quotes(text, table.delimiter):
        raise Quoted
    rows, numbers = lines.parse(text, table, name, line)
    s, t = table.roles["source"], table.roles["target"]
    for row, number in zip(rows, numbers):
        if not row[s] or not row[t]:
            raise lines.field_error("source" if not row[s] else "target", b"", name, number)
    weights = times = None
    if "weight" in table.roles:
        w = table.roles["weight"]
        weights = np.array([lines.number_of(r[w], "weight", name, k) for r, k in zip(rows, numbers)])
    if "time" in table.roles:
        at = table.roles["time"]
        if lines.all_integers([row[at] for row in rows]):
            times = np.array([int(row[at]) for row in rows], dtype=np.int64)
        else:
            times = np.array([lines.number_of(r[at], "time", name, k) for r, k in zip(rows, numbers)])
    flat = [field for row in rows for field in (row[s], row[t])]
    pairs: Any
    if integers and lines.all_integers(flat):
        pairs = np.array([int(field) for field in flat], dtype=np.int64).reshape(-1, 2)
    elif ids == "integer":
        bad = next(k for k, field in enumerate(flat) if not lines.all_integers([field]))
        raise _not_integer(flat[bad], name, numbers[bad // 2])
    else:
        words = [field.decode("utf-8") for field in flat]
        pairs = list(zip(words[::2], words[1::2]))
    return Parsed(pairs, weights, times, lambda row: f"{name}, line {numbers[row]}")


def _not_integer(field: bytes, name: str, number: int) -> InputError:
    shown = field[:60].decode("utf-8", "replace")
    return InputError(f"{name}, line {number}: {shown!r} is not an integer, though ids='integer'")


def parse_block(text: bytes, line: int, table: Table, name: str, integers: bool, ids: str) -> Parsed:
    """Parse whole lines, starting with number ``line``; with ``integers``, try to parse ids as integers."""
    from softvec.kernels import text as kernels

    buf = np.frombuffer(text, np.uint8)
    opens = np.zeros(256, dtype=bool)
    opens[list(table.comments)] = True
    room = text.count(b"\n") + 1
    if integers and table.n_fields == 2 and table.roles == {"source": 0, "target": 1}:
        pairs = _parse_pairs(buf, opens, room, table)
        if pairs is not None:
            return Parsed(pairs)
    order = [role for role in ("source", "target", "weight", "time") if role in table.roles]
    slots = np.full(max(table.roles.values()) + 1, -1, dtype=np.int64)
    for slot, role in enumerate(order):
        slots[table.roles[role]] = slot
    starts, ends = np.empty((room, len(order)), np.int32), np.empty((room, len(order)), np.int32)
    n, status, at = kernels.split_fields(buf, table.delimiter, opens, slots, table.n_fields, starts, ends)
    if status == kernels.QUOTED:
        raise Quoted
    if status == kernels.RAGGED:
        raw = text[at:].split(b"\n", 1)[0]
        number = line + text.count(b"\n", 0, at)
        raise InputError(lines.ragged(raw, lines.split(raw, table.delimiter), table, name, number))
    block = _Block(text, buf, starts[:n], ends[:n], line, name)
    block.refuse_empty()
    weights = block.decimals(order.index("weight"), "weight") if "weight" in order else None
    times = block.times(order.index("time")) if "time" in order else None
    whole = block.integers(ids) if integers else None
    return Parsed(
        block.tokens() if whole is None else whole,
        weights,
        times,
        lambda row: f"{name}, line {block.line_of(row)}",
    )


def _parse_pairs(buf: Any, opens: Any, room: int, table: Table) -> NDArray[np.integer] | None:
    """Parse two columns of integers in one pass; None if there is anything else."""
    from softvec.kernels import text as kernels

    pairs = np.empty((room, 2), dtype=np.int64)
    span = np.empty(2, dtype=np.int64)
    n, status, _ = kernels.parse_pairs(buf, table.delimiter, opens, pairs, span)
    if status != kernels.OK:
        return None
    small = n > 0 and span[0] >= -(2**31) and span[1] < 2**31
    return pairs[:n].astype(np.int32) if small else pairs[:n]


@dataclass(frozen=True)
class _Block:
    """Lines of text split into fields; the first two columns of ``starts`` and ``ends`` are the ids."""

    text: bytes
    buf: NDArray[np.uint8]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    line: int
    name: str

    def line_of(self, row: int) -> int:
        return self.line + self.text.count(b"\n", 0, int(self.starts[row, 0]))

    def field(self, row: int, column: int) -> bytes:
        return self.text[self.starts[row, column] : self.ends[row, column]]

    def refuse_empty(self) -> None:
        empty = self.ends[:, :2] <= self.starts[:, :2]
        if empty.any():
            row = int(np.argmax(empty.any(axis=1)))
            role = "source" if empty[row, 0] else "target"
            raise lines.field_error(role, b"", self.name, self.line_of(row))

    def integers(self, ids: str) -> NDArray[np.int64] | None:
        """Return the ids as integers, or None if one is not an integer."""
        from softvec.kernels import text as kernels

        pairs = np.empty((len(self.starts), 2), dtype=np.int64)
        bad = kernels.parse_integers(self.buf, self.starts, self.ends, 2, pairs)
        if bad < 0:
            return pairs
        if ids != "integer":
            return None
        fields = [self.field(bad, 0), self.field(bad, 1)]
        wrong = fields[0] if not lines.all_integers(fields[:1]) else fields[1]
        raise _not_integer(wrong, self.name, self.line_of(bad))

    def tokens(self) -> Tokens:
        return Tokens.hashed(self.buf, self.starts[:, :2], self.ends[:, :2])

    def decimals(self, column: int, role: str) -> NDArray[np.float64]:
        from softvec.kernels import text as kernels

        out = np.empty(len(self.starts), dtype=np.float64)
        hard = np.empty(len(self.starts), dtype=np.int64)
        n_hard = kernels.parse_decimals(self.buf, self.starts, self.ends, column, _POWERS, out, hard)
        for row in hard[:n_hard].tolist():
            token = self.field(row, column)
            try:
                out[row] = float(token)
            except ValueError:
                raise lines.field_error(role, token, self.name, self.line_of(row)) from None
            if b"_" in token:  # Python accepts 1_000 as a number
                raise lines.field_error(role, token, self.name, self.line_of(row))
        return out

    def times(self, column: int) -> NDArray[Any]:
        from softvec.kernels import text as kernels

        whole = np.empty((len(self.starts), 1), dtype=np.int64)
        starts, ends = self.starts[:, column:], self.ends[:, column:]
        if kernels.parse_integers(self.buf, starts, ends, 1, whole) < 0:
            return whole[:, 0]
        return self.decimals(column, "time")
