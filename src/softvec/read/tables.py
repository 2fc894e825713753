"""Tables read by Arrow: parquet, Arrow and Feather files, and CSV with quoted fields."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from softvec.core.errors import InputError
from softvec.core.untrusted import check_expanded, reading
from softvec.read import lines
from softvec.read.columns import add_table, describe, edge_roles
from softvec.read.edges import EdgeBuilder, Edges, edges_of
from softvec.read.lines import Table
from softvec.read.objects import Graph
from softvec.read.opened import Opened, TextOptions
from softvec.read.roles import Column, Layout
from softvec.read.streams import Source, text_blocks

_BATCH = 262_144  # rows held at a time


class _Lines(io.RawIOBase):
    """A text as a file object for Arrow: UTF-8, with comment lines blanked."""

    def __init__(self, blocks: Iterator[tuple[bytes, int]], comments: bytes):
        self._blocks = blocks
        self._comment = re.compile(rb"(?m)^[ \t]*[" + re.escape(comments) + rb"].*$") if comments else None
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._left = self._comment.sub(b"", block[0]) if self._comment else block[0]
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        return size


def csv_batches(source: Source, table: Table, encoding: str | None, text: set[int]) -> Iterator[Any]:
    """Yield the record batches of a CSV file; the columns in ``text`` are read as strings."""
    import pyarrow as pa
    from pyarrow import csv

    names = [str(c) for c in range(table.n_fields)]  # by position: header names may repeat
    stream = io.BufferedReader(_Lines(text_blocks(source, encoding=encoding), table.comments), 1 << 20)
    try:
        reader = csv.open_csv(
            stream,
            read_options=csv.ReadOptions(
                column_names=names,
                skip_rows_after_names=int(table.header is not None),
                block_size=4 << 20,
                use_threads=False,
            ),
            parse_options=csv.ParseOptions(delimiter=chr(table.delimiter), newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                column_types={names[c]: pa.string() for c in text},
                strings_can_be_null=False,
                null_values=[""],
            ),
        )
        yield from reader
    except pa.ArrowInvalid as error:
        raise InputError(f"{source.name}{_explain(str(error), source, encoding)}") from None


def _explain(message: str, source: Source, encoding: str | None) -> str:
    """Return an error of Arrow with the line number, found by its text, as Arrow counts rows."""
    ragged = re.search(r"Expected (\d+) columns, got (\d+): (.*)", message, re.S)
    if not ragged:
        return ": " + message.replace("\n", " ")
    expected, got, text = ragged.groups()
    wanted = text.split("\n")[0].rstrip("\r").encode()
    for block, line in text_blocks(source, encoding=encoding):
        for number, raw in enumerate(block.split(b"\n"), start=line):
            if raw.rstrip(b"\r") == wanted:
                return f", line {number}: {got} columns where other lines have {expected}: {text[:60]!r}"
    return f": {got} columns where other lines have {expected}: {text[:60]!r}"


def edges_of_csv(source: Source, table: Table, options: TextOptions) -> Edges:
    """Read edges from a CSV file whose fields may be quoted."""
    builder = EdgeBuilder(options.two_sided, options.negative)
    for _ in add_csv(builder, source, table, options):
        pass
    return edges_of(builder, source.name)


def add_csv(builder: EdgeBuilder, source: Source, table: Table, options: TextOptions) -> Iterator[None]:
    """Add the edges of a CSV file to a builder, one batch per step."""
    import pyarrow.compute as pc

    if table.delimiter == 0:
        raise InputError(
            f"{source.name}: quoted names, dates and decimal commas need a delimiter other than blanks; use "
            "tabs or commas"
        )
    integers = options.ids != "string"
    texts = {table.roles["source"], table.roles["target"]}
    if "weight" in table.roles and not table.plain:
        texts.add(table.roles["weight"])
    row = 0
    for batch in csv_batches(source, table, options.encoding, texts):
        columns = {role: batch.column(at) for role, at in table.roles.items()}
        if "weight" in columns and not table.plain:
            columns["weight"] = _plain_numbers(columns["weight"], table.decimal)
        for role in [role for role, at in table.roles.items() if at in texts]:
            empty = pc.equal(columns[role], "")
            if pc.any(empty).as_py():
                at = _line_of(source, table, options, row + pc.index(empty, True).as_py())
                raise InputError(
                    f"{source.name}, line {at}: the {role} is missing; fill it in, or drop the row"
                )
        whole = _integers(columns) if integers else None
        if integers and whole is None:
            if options.ids == "integer":
                raise InputError(f"{source.name}: not all ids are integers, though ids='integer'")
            integers = False
        columns |= whole or {}
        first = row

        def place(at: int, first: int = first) -> str:
            return f"{source.name}, line {_line_of(source, table, options, first + at)}"

        add_table(builder, columns, source.name, place)
        row += len(batch)
        yield


def _line_of(source: Source, table: Table, options: TextOptions, row: int) -> int:
    """Return the line on which a row of data starts; a quoted field may hold line ends."""
    left = row + (table.header is not None)
    quoted = False
    for block, line in text_blocks(source, encoding=options.encoding):
        for number, raw in enumerate(block.split(b"\n"), start=line):
            if not quoted and lines.is_data(raw, table.comments):
                if left == 0:
                    return number
                left -= 1
            quoted ^= raw.count(b'"') % 2 == 1
    return line


def _integers(columns: dict[str, Any]) -> dict[str, Any] | None:
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


def _plain_numbers(column: Any, mark: bytes) -> Any:
    """Return numbers in text with a decimal point and without thousands separators."""
    import pyarrow.compute as pc

    if mark == b",":
        column = pc.replace_substring(column, ".", "")
        return pc.replace_substring(column, ",", ".")
    return pc.replace_substring(column, ",", "")


def arrow_batches(source: Source, format: str, parts: range | None = None) -> tuple[Any, Iterator[Any]]:
    """Return the schema of a parquet, Arrow or Feather file and the record batches of all or some parts."""
    import pyarrow as pa

    def parquet() -> Iterator[Any]:
        import pyarrow.parquet as pq

        with source.seekable() as stream:
            file = pq.ParquetFile(stream)
            check_rows(file.metadata, source.size, source.name)
            yield file.schema_arrow
            yield from file.iter_batches(_BATCH, row_groups=None if parts is None else list(parts))

    def arrow() -> Iterator[Any]:
        with source.seekable() as stream:
            magic = stream.read(6)
            stream.seek(0)
            if magic.startswith(b"FEA1"):
                from pyarrow import feather

                table = feather.read_table(stream)
                yield table.schema
                yield from table.to_batches(_BATCH)
            elif magic.startswith(b"ARROW1"):
                file = pa.ipc.open_file(stream)
                yield file.schema
                for i in parts or range(file.num_record_batches):
                    yield file.get_batch(i)
            else:
                reader = pa.ipc.open_stream(stream)
                yield reader.schema
                yield from reader

    def checked(inner: Iterator[Any]) -> Iterator[Any]:
        """Validate each batch before any value is used; by default Arrow trusts offsets, codes and text."""
        with reading(source.name, f"{format} file"):
            for part in inner:
                _check_names(part) if isinstance(part, pa.Schema) else part.validate(full=True)
                yield part

    batches = checked(parquet() if format == "parquet" else arrow())
    return next(batches), batches


def check_rows(metadata: Any, stored: int, name: str) -> None:
    """Raise an error if a parquet file declares row groups too large for its size."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    claimed = sum(abs(group.total_byte_size) for group in groups)
    cells = 8 * max([abs(metadata.num_rows), *(abs(g.num_rows) for g in groups)]) * metadata.num_columns
    check_expanded(max(claimed, cells), stored, name, "its rows")


def _check_names(schema: Any) -> None:
    """Raise an error for column names that are not valid Unicode."""
    for name in schema.names:
        name.encode("utf-8")


def table_head(source: Source, format: str) -> tuple[list[str], list[Column], list[int], bool]:
    """Inspect the start of a parquet, Arrow or Feather file.

    Returns its column names; a description of the columns, except for an index stored by pandas; their
    positions; and whether they are a square matrix of numbers.
    """
    schema, batches = arrow_batches(source, format)
    shown = [at for at, column in enumerate(schema.names) if not column.startswith("__index_level_")]
    may_be_square = len(shown) > 3 and all(_is_number(schema.field(at).type) for at in shown)
    described, n_rows = None, 0
    for batch in batches:
        n_rows += len(batch)
        if described is None and n_rows:
            described = [describe(schema.names[at], batch.column(at)) for at in shown]
        if n_rows and not (may_be_square and n_rows <= len(shown)):
            break
    if described is None:
        raise InputError(f"{source.name} is empty: it has no edges")
    return schema.names, described, shown, may_be_square and n_rows == len(shown)


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    return pa.types.is_floating(kind) or pa.types.is_integer(kind)


def edges_of_arrow(opened: Opened) -> Edges | Graph:
    """Read edges (or a square matrix of numbers) from a parquet, Arrow or Feather file."""
    source, options, table = opened.source, opened.options, opened.arrow
    assert table is not None
    if table.square and options.columns is None and not options.timed:
        names = [table.names[at] for at in table.shown]
        return Graph(numeric_columns(source, opened.format, names)[0], names)
    layout = edge_layout(opened)
    builder = EdgeBuilder(options.two_sided, options.negative)
    for _ in add_arrow(builder, opened, layout):
        pass
    edges = edges_of(builder, source.name)
    return replace(edges, notes=(layout.summary, *edges.notes))


def edge_layout(opened: Opened) -> Layout:
    """Return the columns of a table of edges with their roles; warn about guesses."""
    assert opened.arrow is not None
    layout = opened.arrow.layout
    return edge_roles(layout, opened.name, opened.options, layout.guesses)


def add_arrow(
    builder: EdgeBuilder, opened: Opened, layout: Layout, parts: range | None = None, first_row: int = 0
) -> Iterator[None]:
    """Add the edges of a file, or of some of its parts, to a builder, one batch per step.

    ``first_row`` is the number of the first row of these parts, for messages.
    """
    assert opened.arrow is not None
    shown, ids = opened.arrow.shown, opened.options.ids
    for batch in arrow_batches(opened.source, opened.format, parts)[1]:
        columns = {role: _names_as(batch.column(shown[at]), role, ids) for role, at in layout.roles.items()}
        add_table(builder, columns, opened.name, first_row=first_row)
        first_row += len(batch)
        yield


def _names_as(column: Any, role: str, ids: str) -> Any:
    import pyarrow as pa

    if ids == "string" and role in ("source", "target") and pa.types.is_integer(column.type):
        return column.cast(pa.string())
    return column


def numeric_columns(source: Source, format: str, names: list[str] | None = None) -> tuple[np.ndarray, Any]:
    """Return the numeric columns of a file as a matrix, and its first column of text as names or None."""
    import pyarrow as pa

    schema, batches = arrow_batches(source, format)
    table = pa.Table.from_batches(list(batches), schema)
    wanted = set(schema.names if names is None else names)
    row_names = None
    columns = []
    for at, name in enumerate(schema.names):  # by position: names may repeat
        column, kind = table.column(at), schema.field(at).type
        text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        if name in wanted and _is_number(kind):
            columns.append(column.to_numpy())
        elif row_names is None and text:
            row_names = column.to_pylist()
    if not columns:
        raise InputError(f"{source.name} has no numeric columns")
    return np.stack(columns, axis=1), row_names
