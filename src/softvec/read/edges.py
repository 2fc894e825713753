"""Edges: blocks of coded pairs with weights and times, from any table.

Text is streamed in blocks of lines, which Arrow parses on several threads. Names are integers if all of them
are, else strings. Two columns of integers have a kernel of their own, which takes half of Arrow's time (10
million edges: 0.5 s of processor time instead of 1.0 s).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.checks import choice, counted
from softvec.core.errors import InputError, Option, guess
from softvec.core.machine import Machine, machine
from softvec.core.scratch import Segments, empty
from softvec.kernels import worth_compiling
from softvec.names import Names
from softvec.names.coding import Block, Codes, NameCoder, Tokens
from softvec.read.columns import RoleColumns, add_table, gaps_as_nulls
from softvec.read.detect import Detected
from softvec.read.table import MISSING, Table, TableOptions, all_integers
from softvec.read.text_table import TextBlock, bad_field, has_pair, table_blocks

_TOTALS = ("Total", "TOTAL", "Totals", "Sum", "Grand Total")
_ZONE = re.compile(r".*:\d\d(\.\d+)?[+-]\d\d:?\d\d")
_ENDS = ("source", "target")
NEGATIVE = ("auto", "sign", "error", "drop", "abs")  # auto: whole numbers are signs, others an error


@dataclass(frozen=True)
class Edges:
    """Pairs of row and column numbers in blocks, with their names and optional weights and times."""

    codes: list[Codes]  # each (edges, 2)
    rows: Names
    columns: Names
    weights: list[NDArray[np.floating]] | None = None
    times: list[NDArray[Any]] | None = None
    notes: tuple[str, ...] = ()
    zoned: bool = False  # the times are dates with a zone, in UTC

    def __len__(self) -> int:
        return sum(map(len, self.codes))

    @property
    def two_sided(self) -> bool:
        """Whether rows and columns are different items."""
        return self.rows is not self.columns

    @property
    def data_kind(self) -> str:
        """The kind of data: temporal with times, bipartite if rows and columns differ, else graph."""
        return "temporal" if self.times is not None else "bipartite" if self.two_sided else "graph"

    def pairs(self) -> Codes:
        """Return all pairs in one array of shape (edges, 2)."""
        return np.concatenate(self.codes) if self.codes else np.empty((0, 2), np.int32)


@dataclass
class EdgeBuilder:
    """Collects blocks of edges, of one file or several."""

    two_sided: bool = False
    negative: str = "error"
    missing: str = "error"
    min_weight: float | None = None
    timed: bool = False  # rows of lists and arrays start with a time
    _names: list[NameCoder] = field(default_factory=list)
    _weights: Segments = field(default_factory=Segments)
    _times: Segments = field(default_factory=Segments)
    _zoned: bool = False
    dropped: int = 0  # rows with negative weights
    incomplete: int = 0  # rows with missing values
    light: int = 0  # rows with weights below the minimum

    def __post_init__(self) -> None:
        choice("negative", self.negative, NEGATIVE)
        self._names = [NameCoder() for _ in range(1 + self.two_sided)]

    def use(self, pool: Machine | None) -> None:
        """Look names up in the threads of this pool."""
        for names in self._names:
            names.pool = pool

    def blocks_of(self, side: int) -> type | None:
        """Return the kind of the blocks added so far: Tokens, ndarray, list, or None."""
        return self._names[side].kind

    @property
    def maybe_integers(self) -> bool:
        """Whether all names so far are integers."""
        return all(names.kind in (None, np.ndarray) for names in self._names)

    def add(
        self,
        sides: Sequence[Block],
        weights: NDArray[np.floating] | None = None,
        times: NDArray[Any] | None = None,
        zoned: bool = False,
    ) -> None:
        """Add a block: one side of two columns, or two sides of one column each. ``zoned``: times in UTC."""
        sides, weights, times = self.kept(sides, weights, times)
        if weights is not None:
            self._weights.add(weights)
        if times is not None:
            before = self._times.parts[-1].dtype.kind if self._times.parts else times.dtype.kind
            if (before == "M") != (times.dtype.kind == "M"):
                raise InputError("some times are dates and others numbers; write all of them as dates")
            if self._times.parts and self._zoned != zoned:
                raise InputError("some times have a time zone and others none; expected all or none")
            self._zoned = zoned
            self._times.add(times)
        for names, side in zip(self._names, sides):
            names.add(side)

    def kept(
        self, sides: Sequence[Block], weights: NDArray[Any] | None, times: NDArray[Any] | None
    ) -> tuple[Sequence[Block], NDArray[Any] | None, NDArray[Any] | None]:
        """Apply ``negative`` and ``min_weight``: take absolute weights, or drop rows."""
        if weights is None or not len(weights):
            return sides, weights, times
        if self.negative == "abs":
            weights = np.abs(weights)
        if self.negative != "drop" and self.min_weight is None:
            return sides, weights, times
        keep = weights >= 0 if self.negative == "drop" else np.ones(len(weights), bool)
        self.dropped += int(len(keep) - keep.sum())
        if self.min_weight is not None:
            light = keep & (weights < self.min_weight)
            self.light += int(light.sum())
            keep &= ~light
        if keep.all():
            return sides, weights, times
        times = None if times is None else times[keep]
        return [_select(side, keep) for side in sides], weights[keep], times

    def finish(self) -> Edges:
        """Return the edges; the builder cannot be used again."""
        done = [names.finish() for names in self._names]
        if self.two_sided:
            (left, rows), (right, columns) = done
            codes = [empty((len(part), 2), part.dtype) for part in left]
            for pairs, *sides in zip(codes, left, right):
                pairs[:, :1], pairs[:, 1:] = sides
        else:
            codes, rows = done[0]
            columns = rows
        for names in (rows, columns) if self.two_sided else (rows,):
            if (twice := names.written_twice()) is not None:
                text = (
                    f"{twice[1]!r} is written with composed and with separate marks, and read as two items; "
                )
                guess(text, "bring the names to one form (NFC)")
        weights, times = self._weights.finish() or None, self._times.finish() or None
        return Edges(codes, rows, columns, weights, times, self._notes(), self._zoned)

    def _notes(self) -> tuple[str, ...]:
        """Return notes on the numbers of rows that were dropped."""
        counts = (
            (self.dropped, "negative weight", "dropped"),
            (self.incomplete, "row", "with missing values dropped"),
            (self.light, "edge", f"below {self.min_weight} dropped"),
        )
        return tuple(f"{counted(count, what)} {done}" for count, what, done in counts if count)


def _select(side: Block, keep: NDArray[np.bool_]) -> Block:
    if isinstance(side, Tokens):
        return Tokens(side.buf, side.starts[keep], side.ends[keep], side.hashes[keep])
    return side[keep] if isinstance(side, np.ndarray) else [row for row, k in zip(side, keep) if k]


def _check_text(table: Table, name: str, options: TableOptions) -> None:
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
    _check_text(table, source.name, options)
    integers = options.ids != "string" and builder.maybe_integers
    blocks = table_blocks(source, dialect, options.encoding)
    start = list(islice(blocks, 2))
    large = len(start) > 1 or any(worth_compiling(len(block.text)) for block in start)
    blocks = chain(start, blocks)

    def parse(block: TextBlock) -> tuple[TextBlock, Any]:
        pairs = _pairs(block, table) if integers and large else None
        return block, _columns_of(block, table, integers, options) if pairs is None else pairs

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


def _numeric_roles(table: Table) -> RoleColumns:
    """Return the Arrow types of the columns of numbers: weights, and times that are not dates."""
    import pyarrow as pa

    numeric = {"weight": pa.float64()} if "weight" in table.roles else {}
    if "time" in table.roles and (times := table.columns[table.roles["time"]]).numeric:
        numeric["time"] = pa.int64() if times.whole else pa.float64()
    return numeric


def _columns_of(block: TextBlock, table: Table, integers: bool, options: TableOptions) -> RoleColumns:
    """Read the columns of a block by role: weights and times as numbers, ids as integers or text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    roles, numeric = table.roles, _numeric_roles(table)
    typed = dict.fromkeys(roles, pa.string()) | numeric
    if not block.dialect.plain and "weight" in roles:
        typed["weight"] = pa.string()
    if integers:
        typed |= dict.fromkeys(_ENDS, pa.int64())
    if not integers or not _has_odd_integers(block.cleaned):
        with contextlib.suppress(pa.ArrowInvalid):
            parsed = block.columns({roles[role]: kind for role, kind in typed.items()})
            columns = {role: parsed[at] for role, at in roles.items()}
            gaps = () if integers else (pc.any(pc.equal(columns[role], "")).as_py() for role in _ENDS)
            if integers or not (options.missing == "drop" or any(gaps)):
                return columns
    return _checked(block, roles, integers, options, numeric)


def _checked(
    block: TextBlock, roles: Mapping[str, int], integers: bool, options: TableOptions, numeric: Iterable[str]
) -> RoleColumns:
    """Return columns of text as what they are to be; raise an error for a field that is not."""
    texts = block.texts(roles.values())
    columns = {role: texts[at] for role, at in roles.items()}
    if options.missing == "drop":
        columns = {role: gaps_as_nulls(column) for role, column in columns.items()}
    for role in _ENDS:
        block.refuse(columns[role], role, lambda field: field == "", bad_field)
    if integers:
        whole = _integers(columns)
        if whole is None and options.ids == "integer":
            for role in _ENDS:
                block.refuse(
                    columns[role], role, lambda field: not all_integers([field.encode()]),
                    lambda role, field: f"{field[:60]!r} is not an integer, though ids='integer'",
                )  # fmt: skip
        columns |= whole or {}
    return columns | {role: block.numbers(columns[role], role) for role in numeric}


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
