"""Tables through Arrow: parquet, Arrow and Feather files, and CSV with quoted fields."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from softvec.core.errors import InputError, guess
from softvec.core.untrusted import check_expanded, reading
from softvec.read.columns import add_table, describe
from softvec.read.edges import EdgeBuilder, Edges
from softvec.read.lines import Table
from softvec.read.objects import Graph
from softvec.read.roles import Layout, find_roles
from softvec.read.streams import Source, text_blocks

_BATCH = 262_144  # rows held at a time


class _Lines(io.RawIOBase):
    """A text as a file for Arrow: UTF-8, comment lines blanked."""

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
    """Yield the record batches of a CSV file; the columns in ``text`` stay strings."""
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
    """Say where and what: Arrow counts rows, so the line is found by its text."""
    found = re.search(r"Expected (\d+) columns, got (\d+): (.*)", message, re.S)
    if not found:
        return ": " + message.replace("\n", " ")
    expected, got, text = found.groups()
    wanted = text.split("\n")[0].rstrip("\r").encode()
    for block, line in text_blocks(source, encoding=encoding):
        for number, raw in enumerate(block.split(b"\n"), start=line):
            if raw.rstrip(b"\r") == wanted:
                return f", line {number}: {got} columns where other lines have {expected}: {text[:60]!r}"
    return f": {got} columns where other lines have {expected}: {text[:60]!r}"


class _NotIntegers(Exception):
    pass


def edges_of_csv(source: Source, table: Table, options: Any) -> Edges:
    """Read edges from a CSV file whose fields may be quoted."""
    if options.ids == "string":
        return _edges_of_csv(source, table, options, False)
    try:
        return _edges_of_csv(source, table, options, True)
    except _NotIntegers:
        if options.ids == "integer":
            raise InputError(f"{source.name}: not all ids are integers, though ids='integer'") from None
        return _edges_of_csv(source, table, options, False)


def _edges_of_csv(source: Source, table: Table, options: Any, integers: bool) -> Edges:
    import pyarrow as pa
    import pyarrow.compute as pc

    builder = EdgeBuilder(options.two_sided, options.negative)
    texts = {table.roles["source"], table.roles["target"]}
    if "weight" in table.roles and not table.plain:
        texts.add(table.roles["weight"])
    row = 2 if table.header is not None else 1
    for batch in csv_batches(source, table, options.encoding, texts):
        columns = {role: batch.column(at) for role, at in table.roles.items()}
        if "weight" in columns and not table.plain:
            columns["weight"] = _plain_numbers(columns["weight"], table.decimal)
        for role in ("source", "target"):
            empty = pc.equal(columns[role], "")
            if pc.any(empty).as_py():
                at = row + pc.index(empty, True).as_py()
                raise InputError(f"{source.name}, row {at}: the {role} is missing")
            if integers:
                try:
                    whole = columns[role].cast(pa.int64())
                except pa.ArrowInvalid:
                    raise _NotIntegers from None
                if not pc.all(pc.equal(whole.cast(pa.string()), columns[role])).as_py():
                    raise _NotIntegers  # 007 is a name
                columns[role] = whole
        add_table(builder, columns, row, source.name)
        row += len(batch)
    edges = builder.finish()
    if not len(edges):
        raise InputError(f"{source.name} is empty: there are no edges in it")
    return edges


def _plain_numbers(column: Any, mark: bytes) -> Any:
    """Return texts of numbers with a decimal point and nothing between thousands."""
    import pyarrow.compute as pc

    if mark == b",":
        column = pc.replace_substring(column, ".", "")
        return pc.replace_substring(column, ",", ".")
    return pc.replace_substring(column, ",", "")


def arrow_batches(source: Source, format: str) -> tuple[Any, Iterator[Any]]:
    """Return the schema of a parquet, Arrow or Feather file and its record batches."""
    import pyarrow as pa

    def parquet() -> Iterator[Any]:
        import pyarrow.parquet as pq

        with source.seekable() as stream:
            file = pq.ParquetFile(stream)
            check_rows(file.metadata, source.size, source.name)
            yield file.schema_arrow
            yield from file.iter_batches(_BATCH)

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
                for i in range(file.num_record_batches):
                    yield file.get_batch(i)
            else:
                reader = pa.ipc.open_stream(stream)
                yield reader.schema
                yield from reader

    def checked(inner: Iterator[Any]) -> Iterator[Any]:
        """Arrow trusts offsets, codes and text until asked to look: before any value is touched."""
        with reading(source.name, f"{format} file"):
            for part in inner:
                _check_names(part) if isinstance(part, pa.Schema) else part.validate(full=True)
                yield part

    batches = checked(parquet() if format == "parquet" else arrow())
    return next(batches), batches


def check_rows(metadata: Any, stored: int, name: str) -> None:
    """Raise an error where a parquet file claims row groups that its size cannot explain."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    claimed = sum(abs(group.total_byte_size) for group in groups)
    cells = 8 * max([abs(metadata.num_rows), *(abs(g.num_rows) for g in groups)]) * metadata.num_columns
    check_expanded(max(claimed, cells), stored, name, "its rows")


def _check_names(schema: Any) -> None:
    """Raise an error for column names that are not text."""
    for name in schema.names:
        name.encode("utf-8")


def table_layout(
    source: Source, format: str, columns: Any, timed: bool, weight: Any = None
) -> tuple[Layout, list[int]]:
    """Say which column of an Arrow file plays which role; positions are those among the columns shown."""
    schema, batches = arrow_batches(source, format)
    name = source.name
    if timed and columns is not None and not isinstance(columns, dict):
        columns = dict(zip(("time", "source", "target", "weight"), columns))
    shown = [at for at, column in enumerate(schema.names) if not column.startswith("__index_level_")]
    first = next((batch for batch in batches if len(batch)), None)
    if first is None:
        raise InputError(f"{name} is empty: there are no edges in it")
    layout = find_roles([describe(schema.names[at], first.column(at)) for at in shown], columns, weight, name)
    if timed and "time" not in layout.roles:
        if columns is not None or len(shown) < 3:
            raise InputError(f"{name} has no time column among {schema.names}; name it with columns=")
        roles = dict(zip(("time", "source", "target", "weight"), range(len(shown))))
        layout = Layout(layout.columns, roles)
    return layout, shown


def edges_of_arrow(source: Source, format: str, options: Any) -> Edges | Graph:
    """Read edges (or a square matrix of numbers) from a parquet, Arrow or Feather file."""
    schema, batches = arrow_batches(source, format)
    if options.columns is None and not options.timed:
        square = _square(schema, source, format)
        if square is not None:
            return square
    layout, shown = table_layout(source, format, options.columns, options.timed, options.weight)
    for text in layout.guesses:
        if options.weighted is None or "weighted=False" not in text:
            guess(f"{source.name}: {text}")
    if not options.timed:
        layout.roles.pop("time", None)
    if options.weighted is False:
        layout.roles.pop("weight", None)
    roles = {role: shown[at] for role, at in layout.roles.items()}
    builder = EdgeBuilder(options.two_sided, options.negative)
    row = 0
    for batch in batches:
        columns = {role: _names_as(batch.column(at), role, options.ids) for role, at in roles.items()}
        add_table(builder, columns, row, source.name)
        row += len(batch)
    edges = builder.finish()
    if not len(edges):
        raise InputError(f"{source.name} is empty: there are no edges in it")
    return replace(edges, notes=(layout.summary, *edges.notes))


def _names_as(column: Any, role: str, ids: str) -> Any:
    import pyarrow as pa

    if ids == "string" and role in ("source", "target") and pa.types.is_integer(column.type):
        return column.cast(pa.string())
    return column


def is_square(source: Source, format: str) -> bool:
    """Whether a file holds a square table of numbers."""
    return _square(arrow_batches(source, format)[0], source, format) is not None


def _square(schema: Any, source: Source, format: str) -> Graph | None:
    import pyarrow as pa

    shown = [field for field in schema if not field.name.startswith("__index_level_")]
    names = [field.name for field in shown]
    if len(names) <= 3 or not all(
        pa.types.is_floating(field.type) or pa.types.is_integer(field.type) for field in shown
    ):
        return None
    matrix = numeric_columns(source, format, names)[0]
    return Graph(matrix, names) if matrix.shape[0] == matrix.shape[1] else None


def numeric_columns(source: Source, format: str, names: list[str] | None = None) -> tuple[np.ndarray, Any]:
    """Return the numeric columns of a file as a matrix, and its first column of text as names or None."""
    import pyarrow as pa

    schema, batches = arrow_batches(source, format)
    table = pa.Table.from_batches(list(batches), schema)
    labels = None
    columns = []
    for at, name in enumerate(schema.names):  # by position: names may repeat
        column, kind = table.column(at), schema.field(at).type
        text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        if (names is None or name in names) and (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
            columns.append(column.to_numpy())
        elif labels is None and text:
            labels = column.to_pylist()
    if not columns:
        raise InputError(f"{source.name} has no numeric columns")
    return np.stack(columns, axis=1), labels
