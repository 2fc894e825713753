"""Edge lists in text: streamed in blocks of lines, parsed by Arrow on several threads.

Names are integers if all of them are, else strings. Two columns of integers have a kernel of their own, which
takes half of Arrow's time (10 million edges: 0.5 s of processor time instead of 1.0 s).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError, Message, Option, guess
from softvec.core.machine import machine
from softvec.kernels import worth_compiling
from softvec.read import dialect as dialects
from softvec.read import records
from softvec.read.columns import RoleColumns, add_table, to_arrow
from softvec.read.detect import Detected
from softvec.read.dialect import Dialect
from softvec.read.edges import EdgeBuilder, Edges
from softvec.read.numbers import NUMBER
from softvec.read.options import TableOptions
from softvec.read.streams import BLOCK, text_blocks
from softvec.read.table import Table

MISSING = ("NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL", "None", "\\N")
_TOTALS = ("Total", "TOTAL", "Totals", "Sum", "Grand Total")
_ZONE = re.compile(r".*:\d\d(\.\d+)?[+-]\d\d:?\d\d")
_BLANKS = bytes(32 if byte < 32 and byte != 10 else byte for byte in range(256))
_OPENING = (b"\n ", b"\n\t", b"\n\r")
_EMPTY_LINES = re.compile(rb"(?m)^[\0-\x09\x0b-\x20]+$")


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
    for missing in MISSING:
        if missing in edges.rows or missing in edges.columns:
            guess(f"{where}: {missing} is read as a name; remove these lines if it means missing")
    warn_total(where, edges.rows)


def warn_total(where: str, names: Any) -> None:
    """Warn that a word for a total names an item."""
    for word in _TOTALS:
        if word in names:
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
    blocks = whole_records(text_blocks(source, encoding=options.encoding), dialect)
    if dialect.has_header_line:
        blocks = _after_header(blocks, dialect)
    first = next(blocks, (b"", 1))
    second = next(blocks, None)
    large = second is not None or worth_compiling(len(first[0]))
    blocks = chain([first], [] if second is None else [second], blocks)

    def parse(block: bytes, line: int) -> _Parsed:
        parser = _BlockParser(block, line, dialect, table, source.name, options.missing == "drop")
        pairs = parser.pairs() if integers and large else None
        return (parser, parser.columns(integers, options.ids) if pairs is None else pairs)

    with machine(options.n_jobs) as pool:
        builder.use(pool)
        while batch := list(islice(blocks, pool.n_jobs)):
            for parser, parsed in pool.map(parse, batch):
                if isinstance(parsed, np.ndarray):
                    builder.add([parsed[:, :1], parsed[:, 1:]] if options.two_sided else [parsed])
                else:
                    add_table(builder, parsed, source.name, parser.place, large=large)
            integers = integers and builder.maybe_integers
        builder.use(None)


def whole_records(blocks: Iterator[tuple[bytes, int]], dialect: Dialect) -> Iterator[tuple[bytes, int]]:
    """Move the end of each block into the next one from the line on in which a quoted field begins."""
    held, line = b"", 1
    for block, start in blocks:
        line, block = (line, held + block) if held else (start, block)
        quotes = block.count(b'"') if dialect.delimiter else 0
        cut = len(block)
        if quotes % 2 and len(held) < BLOCK:  # a longer field is none: a quote within a name
            cut = block.rfind(b"\n", 0, block.rfind(b'"')) + 1
        if cut:
            yield block[:cut], line
        held, line = block[cut:], line + block.count(b"\n", 0, cut)
    if held:
        yield held, line


def _after_header(blocks: Iterator[tuple[bytes, int]], dialect: Dialect) -> Iterator[tuple[bytes, int]]:
    """Return blocks without the header, the first record of data."""
    for block, line in blocks:
        first = next(records.data_records(block, line, dialect), None)
        if first is not None:
            start, number = first[0], first[1] + first[2].count(b"\n") + 1
            rest = block[start + len(first[2]) + 1 :]
            return chain([(rest, number)], blocks) if rest else blocks
    return iter(())


class _BlockParser:
    """Parses whole lines, the first of which has the number ``line``."""

    def __init__(self, block: bytes, line: int, dialect: Dialect, table: Table, name: str, dropping: bool):
        self._dropping = dropping  # rows with missing values
        self._block, self._line, self._dialect, self._name = block, line, dialect, name
        self._roles, self._columns = table.roles, table.columns

    def pairs(self) -> NDArray[np.integer] | None:
        """Return two columns of integers; None if there is anything else."""
        from softvec.kernels import text as kernels

        if self._dialect.n_fields != 2 or self._roles != {"source": 0, "target": 1}:
            return None
        out = np.empty((self._block.count(b"\n") + 1, 2), dtype=np.int64)
        n = kernels.parse_pairs(np.frombuffer(self._block, np.uint8), self._dialect.delimiter or 32, out)
        if n < 0:
            return None
        small = n > 0 and out[:n].min() >= -(2**31) and out[:n].max() < 2**31
        return out[:n].astype(np.int32) if small else out[:n]

    def columns(self, integers: bool, ids: str) -> RoleColumns:
        """Return the columns by role: ids as integers or text, weights and times as numbers or dates."""
        import pyarrow as pa

        text = cleaned(self._block, self._dialect)
        plain = dict.fromkeys(self._roles, pa.string())
        typed = dict(plain)
        if "weight" in typed and self._dialect.plain:
            typed["weight"] = pa.float64()
        times = self._columns[self._roles["time"]] if "time" in typed else None
        if times is not None and times.numeric:
            typed["time"] = pa.int64() if times.whole else pa.float64()
        attempts = [typed | dict.fromkeys(("source", "target"), pa.int64())] * (
            integers and not _has_odd_integers(text)
        )
        for kinds in [*attempts, typed]:
            try:
                columns = split_columns(text, self._dialect, self._roles, kinds)
            except pa.ArrowInvalid:
                continue
            if kinds["source"] == pa.int64() or (not integers and not self._has_empty(columns)):
                return columns
            break
        return self._checked(self._as_text(text, plain), integers, ids)

    def _has_empty(self, columns: Mapping[str, Any]) -> bool:
        import pyarrow.compute as pc

        ends = (columns[role] for role in ("source", "target"))
        return self._dropping or any(pc.any(pc.equal(column, "")).as_py() for column in ends)

    def _as_text(self, text: bytes, kinds: Mapping[str, Any]) -> RoleColumns:
        """Return all columns as text; raise an error for a line with too many or too few columns."""
        import pyarrow as pa

        try:
            return split_columns(text, self._dialect, self._roles, kinds)
        except pa.ArrowInvalid as error:
            for _, number, raw in records.data_records(self._block, self._line, self._dialect):
                fields = dialects.split(raw, self._dialect.delimiter)
                if len(fields) != self._dialect.n_fields:
                    raise InputError(records.ragged(raw, fields, self._dialect, self._name, number)) from None
            message = " ".join(str(error).split())
            raise InputError(f"{self._name}, line {self._line} or later: {message}") from None

    def _checked(self, columns: RoleColumns, integers: bool, ids: str) -> RoleColumns:
        """Return columns of text as what they are to be; raise an error for a field that is not."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self._dropping:
            missing = pa.array(["", *MISSING])
            columns = {
                role: pc.if_else(pc.is_in(column, missing), pa.scalar(None, pa.string()), column)
                for role, column in columns.items()
            }
        for role in ("source", "target"):
            self._refuse(columns[role], role, lambda field: field == "", records.bad_field)
        if integers:
            whole = _integers(columns)
            if whole is None and ids == "integer":
                for role in ("source", "target"):
                    self._refuse(columns[role], role, _is_no_integer, _not_integer)
            columns |= whole or {}
        if "weight" in columns:
            columns["weight"] = self._numbers(columns["weight"], "weight")
        if "time" in columns and self._columns[self._roles["time"]].numeric:
            columns["time"] = self._numbers(columns["time"], "time")
        return columns

    def _numbers(self, column: Any, role: str) -> Any:
        """Return text as numbers, in the number format of the table."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not self._dialect.plain:
            column = plain_numbers(column, self._dialect.decimal)
        for kind in (pa.int64(), pa.float64()) if role == "time" else (pa.float64(),):
            try:
                return pc.ascii_trim_whitespace(column).cast(kind)
            except pa.ArrowInvalid:
                continue
        self._refuse(column, role, lambda field: not NUMBER.fullmatch(field.encode()), records.bad_field)
        return pa.array([None if field is None else float(field) for field in column.to_pylist()])

    def _refuse(
        self,
        column: Any,
        role: str,
        is_bad: Callable[[str], Any],
        message: Callable[[str, str], str | Message],
    ) -> None:
        for row, field in enumerate(column.to_pylist()):
            if field is not None and is_bad(field):
                raise InputError(f"{self.place(row)}: ", message(role, field))

    def place(self, row: int) -> str:
        """Return the file and line of a row, for messages."""
        for at, (_, number, _) in enumerate(records.data_records(self._block, self._line, self._dialect)):
            if at == row:
                return f"{self._name}, line {number}"
        return self._name


_Parsed = tuple[_BlockParser, Any]


def cleaned(block: bytes, dialect: Dialect) -> bytes:
    """Return lines without comments, and with single blanks between fields if blanks separate them."""
    if any(byte in block for byte in dialect.comments):
        block = re.sub(rb"(?m)^[ \t]*[" + re.escape(dialect.comments) + rb"].*$", b"", block)
    if dialect.delimiter == 0:
        block = block.translate(_BLANKS)
        while _has_pair(block, b"  "):
            block = block.replace(b"  ", b" ")
        return block.replace(b"\n ", b"\n").replace(b" \n", b"\n").strip(b" ")
    mark = bytes([dialect.delimiter])
    if b'"' in block and _has_pair(block, mark + b" "):
        block = block.replace(mark + b' "', mark + b'"')
    odd = not dialect.quoted and (block[:1] <= b" " or any(_has_pair(block, pair) for pair in _OPENING))
    return _EMPTY_LINES.sub(b"", block) if odd else block


def _has_pair(text: bytes, pair: bytes) -> bool:
    """Whether two bytes follow each other; faster than ``pair in text`` if both are frequent."""
    if pair[0] not in text or pair[1] not in text:
        return False
    codes = np.frombuffer(text, np.uint8)
    return bool(((codes[:-1] == pair[0]) & (codes[1:] == pair[1])).any())


def split_columns(
    text: bytes, dialect: Dialect, roles: Mapping[str, int], kinds: Mapping[str, Any]
) -> RoleColumns:
    """Return columns of a table by role, as Arrow arrays of the given types; raises ArrowInvalid."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    names = [str(column) for column in range(dialect.n_fields)]
    quoted = dialect.delimiter != 0 and b'"' in text
    parsed = csv.read_csv(
        pa.BufferReader(text),
        csv.ReadOptions(column_names=names, use_threads=False, block_size=max(len(text), 1 << 16)),
        csv.ParseOptions(
            delimiter=chr(dialect.delimiter or 32),
            quote_char='"' if quoted else False,
            newlines_in_values=quoted,
        ),
        csv.ConvertOptions(
            column_types={names[roles[role]]: kind for role, kind in kinds.items()},
            include_columns=[names[roles[role]] for role in kinds],
            null_values=[],
            strings_can_be_null=False,
        ),
    )
    columns = {role: to_arrow(parsed.column(at)) for at, role in enumerate(kinds)}
    mark = bytes([dialect.delimiter])
    edges = (mark + b" ", b" " + mark, b"\n ", b" \n", b" \r")
    if dialect.delimiter and b" " in text and any(_has_pair(text, edge) for edge in edges):
        text_roles = [role for role, column in columns.items() if pa.types.is_string(column.type)]
        columns |= {role: pc.ascii_trim_whitespace(columns[role]) for role in text_roles}
    return columns


def _has_odd_integers(text: bytes) -> bool:
    """Whether a text may hold integers that Arrow reads and softvec does not: 007, -0, 0x1F."""
    if any(_has_pair(text, pair) for pair in (b"-0", b"0x", b"0X")):
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
    for role in ("source", "target"):
        try:
            whole[role] = columns[role].cast(pa.int64())
        except pa.ArrowInvalid:
            return None
        if not pc.all(pc.equal(whole[role].cast(pa.string()), columns[role])).as_py():
            return None
    return whole


def plain_numbers(column: Any, mark: bytes) -> Any:
    """Return numbers in text with a decimal point and without thousands separators."""
    import pyarrow.compute as pc

    if mark == b",":
        column = pc.replace_substring(column, ".", "")
        return pc.replace_substring(column, ",", ".")
    return pc.replace_substring(column, ",", "")


def _is_no_integer(field: str) -> bool:
    return not dialects.all_integers([field.encode()])


def _not_integer(role: str, field: str) -> str:
    return f"{field[:60]!r} is not an integer, though ids='integer'"
