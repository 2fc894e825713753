"""Edge lists in text: streamed in blocks of lines, parsed by Arrow on several threads.

Names are integers if all of them are, else strings. Two columns of integers have a kernel of their own, which
takes half of Arrow's time (10 million edges: 0.5 s of processor time instead of 1.0 s).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError, Option, guess
from softvec.core.machine import machine
from softvec.kernels import worth_compiling
from softvec.names import Names
from softvec.read.columns import RoleColumns, add_table, gaps_as_nulls
from softvec.read.detect import Detected
from softvec.read.edges import EdgeBuilder, Edges
from softvec.read.table import MISSING, Table, TableOptions, all_integers
from softvec.read.text_table import TextBlock, bad_field, has_pair, table_blocks

_TOTALS = ("Total", "TOTAL", "Totals", "Sum", "Grand Total")
_ZONE = re.compile(r".*:\d\d(\.\d+)?[+-]\d\d:?\d\d")
_ENDS = ("source", "target")


def check_text(table: Table, name: str, options: TableOptions) -> None:
    """Raise an error for columns of a text that cannot be edges; warn about time zones."""
    if options.weighted and "weight" not in table.roles:
        raise InputError(
            f"weighted is True, but {name} has no column of weights; name it with ", Option("columns", ...)
        )
    if options.ids != "string":
        _refuse_mixed_ids(table, name)
    times = table.columns[table.roles["time"]] if "time" in table.roles else None
    if times is not None and times.stamps and any(map(_ZONE.fullmatch, times.values)):
        guess(f"{name}: the times have time zones; they are used in UTC")


def warn_names(edges: Edges, where: str) -> None:
    """Warn about names that may stand for a missing value or a total."""
    named = edges.rows.known(MISSING) + (edges.columns.known(MISSING) if edges.two_sided else [])
    for missing in dict.fromkeys(named):
        guess(f"{where}: {missing} is read as a name; remove these lines if it means missing")
    warn_total(where, edges.rows)


def warn_total(where: str, names: Names) -> None:
    """Warn that a word for a total names an item."""
    for word in names.known(_TOTALS):
        guess(f"{where}: {word} is read as a name; remove it if it is a total")


def _refuse_mixed_ids(table: Table, name: str) -> None:
    """Raise an error if one column has ids such as 1 and the other 1.0, which would be different items."""
    ends = [table.columns[table.roles[role]] for role in ("source", "target")]
    if all(end.numeric for end in ends) and ends[0].whole != ends[1].whole:
        float_side = ends[1] if ends[0].whole else ends[0]
        if all(value == value // 1 for value in float_side.values):
            raise InputError(
                f"{name}: ids are written as 1 in one column and 1.0 in the other; write integers, or pass ",
                Option("ids", "string"),
            )


def add_text(builder: EdgeBuilder, detected: Detected, table: Table) -> None:
    """Add the edges of a text to a builder; ``table`` has the roles that edges use."""
    source, options, dialect = detected.source, detected.options, detected.dialect
    assert dialect is not None
    integers = options.ids != "string" and builder.maybe_integers
    blocks = table_blocks(source, dialect, options.encoding)
    start = list(islice(blocks, 2))
    large = len(start) > 1 or any(worth_compiling(len(block.text)) for block in start)
    blocks = chain(start, blocks)

    def parse(block: TextBlock) -> tuple[TextBlock, Any]:
        pairs = _pairs(block, table) if integers and large else None
        if pairs is not None:
            return block, pairs
        columns = _EdgeColumns(block, table, integers, options.ids, options.missing == "drop")
        return block, columns.read()

    with machine(options.n_jobs) as pool:
        builder.use(pool)
        while batch := list(islice(blocks, pool.n_jobs)):
            for block, parsed in pool.map(parse, [(block,) for block in batch]):
                if isinstance(parsed, np.ndarray):
                    builder.add([parsed[:, :1], parsed[:, 1:]] if options.two_sided else [parsed])
                else:
                    add_table(builder, parsed, source.name, block.place, large=large)
            integers = integers and builder.maybe_integers
        builder.use(None)


def _pairs(block: TextBlock, table: Table) -> NDArray[np.integer] | None:
    """Return two columns of integers; None if there is anything else."""
    from softvec.kernels import text as kernels

    if block.dialect.n_fields != 2 or table.roles != {"source": 0, "target": 1}:
        return None
    out = np.empty((block.text.count(b"\n") + 1, 2), dtype=np.int64)
    n = kernels.parse_pairs(np.frombuffer(block.text, np.uint8), block.dialect.delimiter or 32, out)
    if n < 0:
        return None
    small = n > 0 and out[:n].min() >= -(2**31) and out[:n].max() < 2**31
    return out[:n].astype(np.int32) if small else out[:n]


@dataclass(frozen=True)
class _EdgeColumns:
    """Reads the columns of a block by role: ids as integers or text, weights and times as numbers."""

    block: TextBlock
    table: Table
    integers: bool  # whether all ids so far are integers
    ids: str
    dropping: bool  # rows with missing values

    def read(self) -> RoleColumns:
        import pyarrow as pa

        typed = dict.fromkeys(self.table.roles, pa.string())
        if "weight" in typed and self.block.dialect.plain:
            typed["weight"] = pa.float64()
        if self._numeric_times:
            times = self.table.columns[self.table.roles["time"]]
            typed["time"] = pa.int64() if times.whole else pa.float64()
        if self.integers:
            typed |= dict.fromkeys(_ENDS, pa.int64())
        if not self.integers or not _has_odd_integers(self.block.cleaned):
            roles = self.table.roles
            try:
                parsed = self.block.columns({roles[role]: kind for role, kind in typed.items()})
            except pa.ArrowInvalid:
                return self._checked()
            columns = {role: parsed[at] for role, at in roles.items()}
            if self.integers or not self._has_empty(columns):
                return columns
        return self._checked()

    @property
    def _numeric_times(self) -> bool:
        return "time" in self.table.roles and self.table.columns[self.table.roles["time"]].numeric

    def _has_empty(self, columns: RoleColumns) -> bool:
        import pyarrow.compute as pc

        return self.dropping or any(pc.any(pc.equal(columns[role], "")).as_py() for role in _ENDS)

    def _checked(self) -> RoleColumns:
        """Return columns of text as what they are to be; raise an error for a field that is not."""
        block = self.block
        texts = block.texts(self.table.roles.values())
        columns = {role: texts[at] for role, at in self.table.roles.items()}
        if self.dropping:
            columns = {role: gaps_as_nulls(column) for role, column in columns.items()}
        for role in _ENDS:
            block.refuse(columns[role], role, lambda field: field == "", bad_field)
        if self.integers:
            whole = _integers(columns)
            if whole is None and self.ids == "integer":
                for role in _ENDS:
                    block.refuse(columns[role], role, _is_no_integer, _not_integer)
            columns |= whole or {}
        numeric = {"weight": "weight" in columns, "time": self._numeric_times}
        return columns | {role: block.numbers(columns[role], role) for role in numeric if numeric[role]}


def _has_odd_integers(text: bytes) -> bool:
    """Whether a text may hold integers that Arrow reads and softvec does not: 007, -0, 0x1F."""
    if any(has_pair(text, pair) for pair in (b"-0", b"0x", b"0X")):
        return True
    bytes_ = np.frombuffer(text, np.uint8)
    zeros = np.flatnonzero(bytes_[:-1] == 48)
    zeros = zeros[bytes_[zeros + 1] - np.uint8(48) < 10]  # before a digit
    before = bytes_[zeros - 1]
    within = (before == 46) | (before - np.uint8(48) < 10)  # after a point or a digit
    within[: len(zeros[:1])] &= zeros[:1] > 0  # the first byte of all has none before it
    return not bool(within.all())


def _integers(columns: Mapping[str, Any]) -> RoleColumns | None:
    """Return the ends of edges as integers; None if one is not an integer (007 is a name)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = {}
    for role in _ENDS:
        try:
            whole[role] = columns[role].cast(pa.int64())
        except pa.ArrowInvalid:
            return None
        if not pc.all(pc.equal(whole[role].cast(pa.string()), columns[role])).as_py():
            return None
    return whole


def _is_no_integer(field: str) -> bool:
    return not all_integers([field.encode()])


def _not_integer(role: str, field: str) -> str:
    return f"{field[:60]!r} is not an integer, though ids='integer'"
