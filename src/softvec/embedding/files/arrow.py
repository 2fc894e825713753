"""Vectors as Arrow tables: parquet and feather files, the parts of a folder, polars frames.

Columns: ``name``; ``vector``, fixed-size lists of float32; ``size`` and arrays of the fit, one number for
each row, if known; ``side`` for a two-sided embedding in one table. The provenance is in the metadata of the
schema.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError
from softvec.core.files import atomic_write
from softvec.core.untrusted import check_expanded, reading, unpacked_size
from softvec.embedding.checks import EXTRAS
from softvec.embedding.core import Embedding
from softvec.embedding.files.common import (
    Json,
    Options,
    check_json,
    opened,
    parse_json,
    require_finite,
    written,
)
from softvec.embedding.files.content import checked_embedding
from softvec.names import Names
from softvec.read.arrays import stored_names
from softvec.read.streams import Source
from softvec.read.tables import arrow_batches

_KEY = b"softvec"
ROWS = 65_536  # of a row group
# options of a parquet file: random-looking floats do not compress; names do
PARQUET: Mapping[str, Any] = {"compression": {"name": "zstd"}, "use_dictionary": False}
SIZE = "size"
# columns of the arrays of the fit, and their dtypes; matrices are in the metadata
FIT_COLUMNS = {key: dtype for key, (side, dtype) in EXTRAS.items() if side in ("rows", "columns")}
_MATRICES = {key: dtype for key, (_, dtype) in EXTRAS.items() if key not in FIT_COLUMNS}


# names


def _plain(name: Any) -> Any:
    """Write a tuple as a JSON list; names are hashable, so a list can only have been a tuple."""
    return [_plain(part) for part in name] if isinstance(name, tuple) else name


def _unplain(item: Any) -> Any:
    """Return a name that was a JSON list as the tuple it was."""
    return tuple(_unplain(part) for part in item) if isinstance(item, list) else item


def decoded(texts: Iterable[Any], where: str) -> Names:
    """Decode names that were each written as JSON."""
    try:
        names = [_unplain(json.loads(text)) for text in texts]
        hash(tuple(names))
    except (TypeError, ValueError, RecursionError):  # not text or unhashable, not JSON, too deep
        raise InputError(f"{where} is damaged: a name is not valid JSON") from None
    return Names(names)


def name_encoding(names: Names) -> str:
    """Return how names are written to a column: as text, as integers, or each as JSON."""
    arrays = names.to_arrays()
    return "text" if "utf8" in arrays else "integer" if {"range", "integers"} & set(arrays) else "json"


def name_array(names: Names, encoding: str) -> Any:
    """Return names as an Arrow array."""
    import pyarrow as pa

    if encoding == "integer":
        return pa.array(names.to_numpy())
    if encoding == "json":
        return pa.array([json.dumps(_plain(name)) for name in names], pa.large_string())
    data, offsets = names.to_strings()
    return pa.LargeStringArray.from_buffers(len(names), pa.py_buffer(offsets), pa.py_buffer(data))


# writing


@dataclass(frozen=True)
class SideRows:
    """One side of an embedding: vectors, names, and columns of one number for each row."""

    side: str
    vectors: Any
    names: Names
    columns: Mapping[str, NDArray[Any]]

    def taken(self, lo: int, hi: int) -> SideRows:
        """Return some of the rows."""
        columns = {key: column[lo:hi] for key, column in self.columns.items()}
        return SideRows(self.side, self.vectors[lo:hi], self.names[lo:hi], columns)

    def fields(self, encoding: str) -> list[tuple[str, Any]]:
        """Return the names and types of the columns."""
        import pyarrow as pa

        own = [(key, pa.from_numpy_dtype(array.dtype)) for key, array in self.columns.items()]
        vector = pa.list_(pa.float32(), self.vectors.shape[1])
        return [("name", name_array(self.names[:0], encoding).type), ("vector", vector), *own]

    def tables(self, schema: Any, encoding: str, rows: int) -> Iterator[Any]:
        """Yield tables of at most ``rows`` rows; a column of the other side is null."""
        import pyarrow as pa

        for lo in range(0, len(self.names), rows):
            V = np.ascontiguousarray(self.vectors[lo : lo + rows], np.float32)
            arrays = {"name": name_array(self.names[lo : lo + rows], encoding)}
            arrays["vector"] = pa.FixedSizeListArray.from_arrays(pa.array(V.reshape(-1)), V.shape[1])
            arrays |= {key: pa.array(column[lo : lo + rows]) for key, column in self.columns.items()}
            if "side" in schema.names:
                codes = pa.array(np.full(len(V), self.side == "context", np.int8))
                arrays["side"] = pa.DictionaryArray.from_arrays(codes, ["rows", "context"])
            columns = [arrays.get(field.name, pa.nulls(len(V), field.type)) for field in schema]
            yield pa.table([c.cast(f.type) for c, f in zip(columns, schema)], schema=schema)


def sides_of(emb: Embedding) -> tuple[list[SideRows], str]:
    """Return the sides, and the encoding of all names."""
    of_rows = {} if emb.sizes is None else {SIZE: emb.sizes}
    of_context: dict[str, NDArray[Any]] = {}
    for key, array in emb.extras.items():
        if key in FIT_COLUMNS:
            (of_context if EXTRAS[key][0] == "columns" and emb.two_sided else of_rows)[key] = array
    sides = [SideRows("rows", emb.vectors, emb.names, of_rows)]
    if emb.context_vectors is not None and emb.context_names is not None:
        sides.append(SideRows("context", emb.context_vectors, emb.context_names, of_context))
    encodings = {name_encoding(side.names) for side in sides}
    return sides, encodings.pop() if len(encodings) == 1 else "json"


def description(emb: Embedding) -> Json:
    """Return what is no column: the provenance and the matrices of the fit."""
    arrays = {key: emb.extras[key] for key in _MATRICES if key in emb.extras}
    texts = {
        key: {"columns": array.shape[1], "base64": base64.b64encode(array.tobytes()).decode()}
        for key, array in arrays.items()
    }
    return {"provenance": emb.provenance} | ({"arrays": texts} if texts else {})


def matrices(meta: Mapping[str, Any], name: str) -> dict[str, NDArray[Any]]:
    """Return the matrices of :func:`description`."""
    arrays = {}
    for key, entry in (meta.get("arrays") or {}).items():
        if key in _MATRICES:
            try:
                data = np.frombuffer(base64.b64decode(entry["base64"], validate=True), _MATRICES[key])
                arrays[key] = data.reshape(-1, entry["columns"])
            except (TypeError, ValueError, KeyError):
                raise InputError(f"{name} is damaged: its {key} is not a matrix") from None
    return arrays


def _tables(emb: Embedding, rows: int) -> tuple[Any, Iterator[Any]]:
    """Return the schema of an embedding, and its tables of at most ``rows`` rows each."""
    import pyarrow as pa

    sides, encoding = sides_of(emb)
    fields = dict(pair for side in sides for pair in side.fields(encoding))
    if len(sides) == 2:
        fields["side"] = pa.dictionary(pa.int8(), pa.string())
    meta = {"version": 1, "names": encoding, **description(emb)}
    schema = pa.schema(list(fields.items()), {_KEY: check_json(json.dumps(meta)).encode()})
    return schema, (table for side in sides for table in side.tables(schema, encoding, rows))


def write(emb: Embedding, path: str | os.PathLike[str], options: Options) -> list[Path]:
    """Write parquet, or feather, which is the file format of Arrow."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema, tables = _tables(emb, ROWS)
    with atomic_write(path, "wb") as file:
        parquet = options.format == "parquet"
        with (
            pq.ParquetWriter(file, schema, **PARQUET) if parquet else pa.ipc.new_file(file, schema) as writer
        ):
            for table in tables:
                writer.write_table(table)
    return written(path)


# reading


def read(source: Source, options: Options) -> Embedding:
    """Read parquet or feather, whoever wrote it."""
    import pyarrow as pa

    if options.format == "feather":  # parquet declares its size in its footer
        with opened(source, "feather file") as file:
            check_expanded(unpacked_size(file), source.size, source.name, "its rows")
    schema, batches = arrow_batches(source, options.format)
    with reading(source.name, f"{options.format} file"):
        return from_arrow(pa.Table.from_batches(list(batches), schema), source.name)


def from_arrow(table: Any, name: str) -> Embedding:
    """Read a table: softvec's own columns, or any with names and numbers.

    Names are the column ``name``, else the first column that is not of floats; vectors are the column of
    lists, else all columns of floats in order.
    """
    import pyarrow as pa

    meta = checked_metadata((table.schema.metadata or {}).get(_KEY), name)
    if meta and {"name", "vector"} <= set(table.column_names):
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
    names = names_of(table.column(others[0]).chunks, None, name) if others else Names.range(len(vectors))
    return Embedding(vectors, names, copy=False)


def _own(table: Any, meta: Json, name: str) -> Embedding:
    """Read a table that softvec wrote."""
    import pyarrow as pa

    sides = {"": table}
    if "side" in table.column_names:
        flags = table.column("side").to_pylist()
        if not set(flags) <= {"rows", "context"}:
            raise InputError(f"{name} is damaged: a row is of no side")
        second = np.array([flag == "context" for flag in flags], bool)
        sides = {"": table.filter(pa.array(~second)), "context_": table.filter(pa.array(second))}
    contents: dict[str, Any] = {}
    extras = matrices(meta, name)
    for prefix, rows in sides.items():
        contents[f"{prefix}vectors"] = matrix_of(rows.column("vector"), name)
        require_finite(contents[f"{prefix}vectors"], name)
        contents[f"{prefix}names"] = names_of(rows.column("name").chunks, meta.get("names"), name)
        columns = {key: rows.column(key).drop_null() for key in FIT_COLUMNS if key in rows.column_names}
        extras |= {key: column.to_numpy() for key, column in columns.items() if len(column)}
    if SIZE in table.column_names:
        contents["sizes"] = sides[""].column(SIZE).to_numpy()
    return checked_embedding(name, **contents, provenance=meta["provenance"], extras=extras)


def checked_metadata(raw: bytes | str | None, name: str) -> Json:
    """Return softvec's own metadata of a file, empty if another program wrote it."""
    if raw is None:
        return {}
    meta = parse_json(raw, f"{name} is damaged: its softvec metadata")
    if not isinstance(meta, dict) or not isinstance(meta.get("provenance"), dict):
        raise InputError(f"{name} is damaged: its softvec metadata lacks the provenance")
    return meta


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


def names_of(columns: Sequence[Any], encoding: str | None, where: str) -> Names:
    """Return the names in arrays of one type; dates and bytes become text, as in data to embed."""
    import pyarrow as pa

    if not columns:
        return Names.range(0)
    column = pa.concat_arrays(columns)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if encoding == "json":
        return decoded(column.to_pylist(), where)
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
