"""Tables in parquet, Arrow and Feather files, and records in JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from softvec.core.checks import Json
from softvec.core.errors import InputError, Option, guess
from softvec.core.untrusted import check_expanded, one_line, reading
from softvec.read.columns import add_table
from softvec.read.detect import Detected
from softvec.read.edges import EdgeBuilder
from softvec.read.formats import ARROW, find_format
from softvec.read.frames import matrix_of_frame, square, stacked
from softvec.read.objects import Graph
from softvec.read.streams import Source, existing_file, whole_text
from softvec.read.table import MISSING, NUMBER, ColumnSample, Table, describe, is_number

_LEVEL = "__index_level_"  # columns that pandas makes of an index
_BATCH = 262_144  # rows held at a time


def arrow_batches(source: Source, format: str) -> tuple[Any, Iterator[Any]]:
    """Return the schema of a parquet, Arrow, Feather or JSON file and its record batches."""
    parts = _schema_and_batches(source, format)
    return next(parts), parts


def _schema_and_batches(source: Source, format: str) -> Iterator[Any]:
    """Yield them, validated before any value is used; by default Arrow trusts offsets, codes and text."""
    import pyarrow as pa

    size = 0
    with reading(source.name, f"{format} file"), source.seekable() as stream:
        magic = stream.read(6)
        stream.seek(0)
        held: Any
        if format == "parquet":
            from pyarrow import parquet

            held = parquet.ParquetFile(stream)
            check_rows(held.metadata, source.size, source.name)
            schema, batches = held.schema_arrow, held.iter_batches(_BATCH)
        elif format == "json" or magic.startswith(b"FEA1"):
            from pyarrow import feather

            held = json_table(stream.read(), source.name) if format == "json" else feather.read_table(stream)
            schema, batches = held.schema, held.to_batches(_BATCH)
        elif magic.startswith(b"ARROW1"):
            held = pa.ipc.open_file(stream)
            schema, batches = held.schema, map(held.get_batch, range(held.num_record_batches))
        else:
            batches = held = pa.ipc.open_stream(stream)
            schema = held.schema
        zones = (getattr(kind, "tz", None) or "" for kind in schema.types)
        "".join([*schema.names, *zones]).encode("utf-8")  # an error for what is no Unicode
        yield schema
        for batch in batches:
            batch.validate(full=True)
            size += batch.nbytes
            check_expanded(size, source.size, source.name, "its rows")
            yield batch


def json_table(text: bytes, name: str) -> Any:
    """Return the records in JSON lines, in an array, or the links of a graph with nodes and links."""
    import pyarrow as pa
    from pyarrow import json as arrow_json

    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        if not error.msg.startswith("Extra data"):
            raise
        if not text.lstrip().startswith(b"["):
            return arrow_json.read_json(pa.BufferReader(text))  # one record a line
        data = [json.loads(line) for line in text.splitlines() if line.strip()]
    rows = _with_names(_rows_of_json(data, name), data)
    titles = dict.fromkeys(title for row in rows for title in row)  # any row may be the first to have one
    check_expanded(8 * len(titles) * len(rows), len(text), name, "its rows")
    return pa.table({title: [row.get(title) for row in rows] for title in titles})


def _rows_of_json(data: Any, name: str) -> list[Json]:
    """Return the records of an array, of the links or edges of a graph, or of rows without titles."""
    if isinstance(data, dict):
        data = next((data[key] for key in ("links", "edges") if isinstance(data.get(key), list)), [data])
    if not isinstance(data, list) or not data:
        raise InputError(f"{name} holds no records; expected an array of them, or one a line")
    if all(isinstance(row, list) for row in data):
        return [{str(at): value for at, value in enumerate(row)} for row in data]
    if not all(isinstance(row, dict) for row in data):
        raise InputError(f"{name} holds an array of other things than records; expected records or pairs")
    return data


def _with_names(rows: list[Json], data: Any) -> list[Json]:
    """Return links whose ends are positions among nodes with the names of these, as D3 writes them."""
    nodes = data.get("nodes") if isinstance(data, dict) else None
    if not isinstance(nodes, list) or any(not isinstance(node, dict) or "id" in node for node in nodes):
        return rows

    def named(row: Json) -> Json:
        ends = {key: row[key] for key in ("source", "target") if isinstance(row.get(key), int)}
        names = {key: nodes[at].get("name") for key, at in ends.items() if 0 <= at < len(nodes)}
        return {**row, **{key: value for key, value in names.items() if value is not None}}

    return [named(row) for row in rows]


def check_rows(metadata: Any, stored: int, name: str) -> None:
    """Raise an error if a parquet file declares row groups too large for its size."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    claimed = sum(abs(group.total_byte_size) for group in groups)
    cells = 8 * max([abs(metadata.num_rows), *(abs(g.num_rows) for g in groups)]) * metadata.num_columns
    check_expanded(max(claimed, cells), stored, name, "its rows")


def table_head(source: Source, format: str) -> tuple[list[ColumnSample], bool]:
    """Inspect the start of a parquet, Arrow or Feather file.

    Returns a description of its columns, except for an index stored by pandas, and whether they are a square
    matrix of numbers.
    """
    schema, batches = arrow_batches(source, format)
    titles = schema.names  # a new list at each look
    shown = _positions(schema)
    may_be_square = len(shown) > 3 and all(is_number(schema.field(at).type) for at in shown)
    described, n_rows = None, 0
    for batch in batches:
        n_rows += len(batch)
        if described is None and n_rows:
            with reading(source.name, f"{format} file"):  # months, and hostile decimals, raise errors
                described = [describe(titles[at], batch.column(at)) for at in shown]
        if n_rows and not (may_be_square and n_rows <= len(shown)):
            break
    if described is None:
        raise InputError(f"{source.name} is empty: it has no edges")
    return described, may_be_square and n_rows == len(shown)


def _positions(schema: Any) -> list[int]:
    """Return those of the columns that are not an index which pandas stored."""
    return [at for at, column in enumerate(schema.names) if not column.startswith(_LEVEL)]


def read_table(path: Path, what: str) -> dict[str, list[Any]]:
    """Read the columns of a table by title: parquet, Arrow, Feather, JSON, or text with a header."""
    source = existing_file(path, what)
    with reading(source.name, what):
        format = find_format(source)
        if format in ARROW:
            table = whole_table(source, format)
        elif format == "text":
            table = _titled_text(source)
        else:
            raise InputError(
                f"{source.name} is {format}; expected a {what}: text with a header, parquet, Arrow or JSON"
            )
    titles = table.column_names
    columns = {title: column.to_pylist() for title, column in zip(titles, table.columns)}
    if len(columns) < len(titles):
        repeated = next(title for title in columns if titles.count(title) > 1)
        raise InputError(f"{source.name}: two columns are called {repeated!r}; rename one")
    if format in ARROW:
        return columns
    return {
        title: _numbers_or_texts(values, f"{source.name}: column {title}")
        for title, values in columns.items()
    }


def _titled_text(source: Source) -> Any:
    """Return text with a header, separated by tabs, semicolons, commas or bars, as columns of text."""
    import pyarrow as pa
    from pyarrow import csv

    text = whole_text(source)
    first = text.split(b"\n", 1)[0]
    delimiter = max("\t;,|", key=lambda mark: first.count(mark.encode()))
    if delimiter.encode() not in first:
        raise InputError(
            f"{source.name}: the first line has one column ({first[:40].decode(errors='replace')!r}); "
            "expected a header, separated by commas, semicolons or tabs"
        )
    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    try:
        titles = csv.read_csv(pa.BufferReader(text), parse_options=parse).column_names
        as_text = csv.ConvertOptions(
            column_types=dict.fromkeys(titles, pa.string()),
            null_values=["", "?", *MISSING],
            strings_can_be_null=True,
        )
        return csv.read_csv(pa.BufferReader(text), parse_options=parse, convert_options=as_text)
    except pa.ArrowException as error:
        raise InputError(
            f"{source.name}: {one_line(error)}; expected a header and rows of as many fields"
        ) from None


def _numbers_or_texts(values: list[str | None], where: str) -> list[Any]:
    """Return texts as numbers if all of them are, except those with leading zeros, which are codes.

    Say which texts among numbers, or commas in them, are the reason if they are not.
    """
    if any(value and value[0] == "0" and value[1:2].isdigit() for value in values):
        return values
    for number in (int, float):
        try:
            return [None if value is None else number(value) for value in values]
        except ValueError:
            continue
    texts = [value for value in values if value is not None and not NUMBER.fullmatch(value.encode())]
    if 0 < 2 * len(texts) < len(values) or any(re.fullmatch(r"[+-]?\d+,\d+", text) for text in texts):
        guess(f"{where} is read as words, as {texts[0]!r} is no number; correct or empty such cells if it is")
    return values


def matrix_of_file(detected: Detected) -> Graph:
    """Read a table of numbers from a parquet, Arrow or Feather file; an index of pandas names its rows."""
    table = whole_table(detected.source, detected.format)
    levels = [name for name in table.column_names if name.startswith(_LEVEL)]
    body = table.drop_columns(levels) if levels else table
    names = table.column(levels[0]).to_pylist() if levels else None
    if detected.square is not None and detected.kind != "features":
        matrix, titles = stacked(body.columns), body.column_names
        if names is None:
            return Graph(matrix, titles)
        if detected.kind == "bipartite":
            return Graph(matrix, names, None, titles)
        if (graph := square(matrix, list(map(str, names)), titles)) is not None:
            return graph
        text = f"{detected.name}: rows are called {names[0]!r}, ..., columns {titles[0]!r}, ...; "
        raise InputError(text, "pass ", Option("kind", "bipartite"), " if they are two kinds of items")
    read = matrix_of_frame(body, detected.name)
    return read if names is None else replace(read, names=names)


def whole_table(source: Source, format: str) -> Any:
    """Return all rows of a parquet, Arrow or Feather file, or of records in JSON."""
    import pyarrow as pa

    schema, batches = arrow_batches(source, format)
    return pa.Table.from_batches(batches, schema)


def add_arrow(builder: EdgeBuilder, detected: Detected, table: Table) -> None:
    """Add the edges of a file to a builder; ``table`` has the roles that edges use."""
    import pyarrow as pa

    row, as_text = 0, detected.options.ids == "string"
    for batch in arrow_batches(detected.source, detected.format)[1]:
        shown = _positions(batch.schema)
        columns = {role: batch.column(shown[at]) for role, at in table.roles.items()}
        for role in ("source", "target"):
            if as_text and pa.types.is_integer(columns[role].type):
                columns[role] = columns[role].cast(pa.string())
        add_table(builder, columns, detected.name, first_row=row)
        row += len(batch)
