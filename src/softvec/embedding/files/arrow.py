"""Vectors as Arrow tables: parquet and feather files, the parts of a folder, polars frames.

Columns: ``name``; ``vector``, fixed-size lists of float32; ``size`` and arrays of the fit, one number for
each row, if known; ``side`` for a two-sided embedding in one table. The provenance is in the metadata of the
schema.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.checks import Json
from softvec.core.errors import InputError
from softvec.core.files import atomic_write
from softvec.core.untrusted import check_expanded, unpacked_size
from softvec.embedding.core import Embedding
from softvec.embedding.fields import EXTRAS
from softvec.embedding.files.common import check_json, checked_embedding, parse_json, require_finite
from softvec.names import Names
from softvec.names.storage import tag, untag
from softvec.read.arrays import stored_names
from softvec.read.streams import Source
from softvec.read.tables import whole_table

_KEY = b"softvec"
ROWS = 65_536  # of a row group
# what is one number for each row, and so a column; the matrices of the fit are in the metadata
COLUMNS: Mapping[str, type] = {"size": np.float64} | {
    key: dtype for key, (side, dtype) in EXTRAS.items() if side in ("rows", "columns")
}
_MATRICES = {key: dtype for key, (_, dtype) in EXTRAS.items() if key not in COLUMNS}


@dataclass(frozen=True)
class Side:
    """One side of an embedding as columns; names are text, integers or each JSON."""

    side: str
    vectors: Any
    names: Names
    encoding: str
    columns: Mapping[str, NDArray[Any]]

    def fields(self) -> Mapping[str, Any]:
        """Return the types of the columns."""
        import pyarrow as pa

        own = {key: pa.from_numpy_dtype(array.dtype) for key, array in self.columns.items()}
        vector = pa.list_(pa.float32(), self.vectors.shape[1])
        return {"name": name_type(self.encoding), "vector": vector, **own}

    def tables(self, schema: Any, rows: range) -> Iterator[Any]:
        """Yield tables of a row group each; a column of the other side is null."""
        import pyarrow as pa

        for lo in rows[::ROWS]:
            part = slice(lo, min(lo + ROWS, rows.stop))
            V = np.ascontiguousarray(self.vectors[part], np.float32)
            arrays = {"name": _name_array(self.names[part], self.encoding)}
            arrays["vector"] = pa.FixedSizeListArray.from_arrays(pa.array(V.reshape(-1)), V.shape[1])
            arrays |= {key: pa.array(column[part]) for key, column in self.columns.items()}
            if "side" in schema.names:
                codes = pa.array(np.full(len(V), self.side == "context", np.int8))
                arrays["side"] = pa.DictionaryArray.from_arrays(codes, ["rows", "context"])
            columns = [arrays.get(field.name, pa.nulls(len(V), field.type)) for field in schema]
            yield pa.table([c.cast(f.type) for c, f in zip(columns, schema)], schema=schema)


def name_type(encoding: str) -> Any:
    """Return the type of a column of names."""
    import pyarrow as pa

    return pa.int64() if encoding == "integer" else pa.large_string()


def _name_array(names: Names, encoding: str) -> Any:
    import pyarrow as pa

    if encoding == "integer":
        return pa.array(names.to_numpy())
    if encoding == "json":
        return pa.array([json.dumps(tag(name)) for name in names], pa.large_string())
    data, offsets = names.to_strings()
    return pa.LargeStringArray.from_buffers(len(names), pa.py_buffer(offsets), pa.py_buffer(data))


def sides_of(emb: Embedding) -> list[Side]:
    """Return the sides of an embedding, whose names have one encoding."""
    both = [emb.names] if emb.context_names is None else [emb.names, emb.context_names]
    kinds = {names.kind for names in both}
    encoding = kinds.pop() if len(kinds) == 1 and "other" not in kinds else "json"
    columns: list[dict[str, NDArray[Any]]] = [{} if emb.sizes is None else {"size": emb.sizes}, {}]
    for key, array in emb.extras.items():
        if key in COLUMNS:
            columns[EXTRAS[key][0] == "columns" and emb.two_sided][key] = array
    vectors = (emb.vectors, emb.context_vectors)
    return [
        Side(side, V, names, encoding, own)
        for side, V, names, own in zip(("rows", "context"), vectors, both, columns)
    ]


def description(emb: Embedding, encoding: str) -> Json:
    """Return what is no column: the encoding of the names, the provenance and the matrices of the fit."""
    matrices = {
        key: {"columns": array.shape[1], "base64": base64.b64encode(array.tobytes()).decode()}
        for key, array in emb.extras.items()
        if key in _MATRICES
    }
    return {"names": encoding, "provenance": emb.provenance} | ({"arrays": matrices} if matrices else {})


def write(emb: Embedding, path: str | os.PathLike[str], format: str) -> None:
    """Write parquet, or feather, which is the file format of Arrow."""
    import pyarrow as pa

    sides = sides_of(emb)
    fields = {key: kind for side in sides for key, kind in side.fields().items()}
    if len(sides) == 2:
        fields["side"] = pa.dictionary(pa.int8(), pa.string())
    text = check_json(json.dumps({"version": 1, **description(emb, sides[0].encoding)}))
    schema = pa.schema(list(fields.items()), {_KEY: text.encode()})
    tables = (table for side in sides for table in side.tables(schema, range(len(side.names))))
    with atomic_write(path, "wb") as file:
        write_tables(file, schema, tables, format)


def write_tables(file: IO[bytes], schema: Any, tables: Iterator[Any], format: str) -> None:
    """Write tables to one file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if format == "feather":
        writer = pa.ipc.new_file(file, schema)
    else:  # random-looking floats do not compress; names do
        writer = pq.ParquetWriter(file, schema, compression={"name": "zstd"}, use_dictionary=False)
    with writer as out:
        for table in tables:
            out.write_table(table)


# reading


def read(source: Source, format: str, mmap: bool) -> Embedding:
    """Read parquet or feather, whoever wrote it."""
    if format == "feather":  # parquet declares its size in its footer
        with source.seekable() as file:
            check_expanded(unpacked_size(file), source.size, source.name, "its rows")
    return from_arrow(whole_table(source, format), source.name)


def from_arrow(table: Any, name: str) -> Embedding:
    """Read a table: softvec's own columns, or any with names and numbers.

    Names are the column ``name``, else the first column that is not of floats; vectors are the column of
    lists, else all columns of floats in order.
    """
    import pyarrow as pa

    meta = (table.schema.metadata or {}).get(_KEY)
    if meta is not None and {"name", "vector"} <= set(table.column_names):
        return _own(table, meta, name)
    kinds = [field.type for field in table.schema]  # by position: names may repeat
    lists = [at for at, kind in enumerate(kinds) if _is_list(kind)]
    floats = [at for at, kind in enumerate(kinds) if pa.types.is_floating(kind)]
    others = sorted({*range(len(kinds))} - {*lists, *floats}, key=lambda at: table.column_names[at] != "name")
    if lists:
        vectors = matrix_of(table.column(lists[0]), f"{name}, column {table.column_names[lists[0]]!r}")
    elif floats:
        vectors = np.empty((table.num_rows, len(floats)), np.float32)
        for j, at in enumerate(floats):
            vectors[:, j] = table.column(at).to_numpy()
    else:
        raise InputError(f"{name} has no column of vectors or of floats; its columns: {table.column_names}")
    require_finite(vectors, name)
    names = names_of(table.column(others[0]), None, name) if others else Names.range(len(vectors))
    return Embedding(vectors, names, copy=False)


def _own(table: Any, metadata: bytes, name: str) -> Embedding:
    """Read a table that softvec wrote."""
    import pyarrow as pa

    meta = parse_json(metadata, f"{name} is damaged: its softvec metadata")
    if not isinstance(meta, dict) or not isinstance(meta.get("provenance"), dict):
        raise InputError(f"{name} is damaged: its softvec metadata lacks the provenance")
    sides = [table]
    if "side" in table.column_names:
        flags = table.column("side").to_pylist()
        if not set(flags) <= {"rows", "context"}:
            raise InputError(f"{name} is damaged: a row is of no side")
        sides = [table.filter(pa.array([flag == each for flag in flags])) for each in ("rows", "context")]
    return embedding_of(name, meta, [matrix_of(rows.column("vector"), name) for rows in sides], sides)


def embedding_of(
    name: str, meta: Mapping[str, Any], vectors: Sequence[Any], sides: Sequence[Any]
) -> Embedding:
    """Return the embedding of vectors, and of tables with the names and the other columns of each side."""
    extras, names = _matrices(meta, name), []
    for rows in sides:
        names.append(names_of(rows.column("name"), meta.get("names"), name))
        columns = {key: rows.column(key).drop_null() for key in COLUMNS if key in rows.column_names}
        extras |= {key: column.to_numpy() for key, column in columns.items() if len(column)}
    return checked_embedding(name, vectors, names, extras.pop("size", None), meta["provenance"], extras)


def _matrices(meta: Mapping[str, Any], name: str) -> dict[str, NDArray[Any]]:
    arrays = {}
    for key, entry in (meta.get("arrays") or {}).items():
        if key in _MATRICES:
            try:
                data = np.frombuffer(base64.b64decode(entry["base64"], validate=True), _MATRICES[key])
                arrays[key] = data.reshape(-1, entry["columns"])
            except (TypeError, ValueError, KeyError):
                raise InputError(f"{name} is damaged: its {key} is not a matrix") from None
    return arrays


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    lists = (pa.types.is_fixed_size_list, pa.types.is_list, pa.types.is_large_list)
    return any(check(kind) for check in lists) and pa.types.is_floating(kind.value_type)


def matrix_of(column: Any, where: str) -> NDArray[np.float32]:
    """Return a column of lists of equal lengths as a matrix; missing numbers are NaN."""
    import pyarrow as pa

    fixed = pa.types.is_fixed_size_list(column.type)
    if not len(column):
        if not fixed:
            raise InputError(f"{where} holds no vectors: its table has no rows")
        return np.empty((0, column.type.list_size), np.float32)
    lists = column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)
    lengths = {column.type.list_size} if fixed else set(lists.value_lengths().to_pylist())
    if len(lengths) != 1 or lists.null_count:
        raise InputError(f"{where}: the lists differ in length or are missing")
    flat = lists.flatten().cast(pa.float32())
    return flat.to_numpy(zero_copy_only=False).reshape(len(column), -1)


def names_of(column: Any, encoding: str | None, where: str) -> Names:
    """Return the names in a column; dates and bytes become text, as in data to embed."""
    import pyarrow as pa

    if not len(column):
        return Names.range(0)
    column = pa.concat_arrays(column.chunks)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if encoding == "json":
        try:
            names = [untag(json.loads(text)) for text in column.to_pylist()]
            hash(tuple(names))
        except (TypeError, ValueError, KeyError, RecursionError):  # no text, no JSON, unhashable, too deep
            raise InputError(f"{where} is damaged: a name is not valid JSON") from None
        return Names(names)
    if column.null_count:
        row = column.to_pylist().index(None) + 1
        raise InputError(f"{where}: the name in row {row:,} is missing")
    if pa.types.is_integer(column.type):
        return stored_names({"integers": np.array(column.to_numpy())}, where)
    if pa.types.is_boolean(column.type) or pa.types.is_floating(column.type):
        return Names(column.to_pylist())
    column = column.cast(pa.large_string())
    offsets = np.frombuffer(column.buffers()[1], np.int64, len(column) + 1, 8 * column.offset)
    data = np.frombuffer(column.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    return stored_names({"utf8": data, "offsets": offsets - offsets[0]}, where)
