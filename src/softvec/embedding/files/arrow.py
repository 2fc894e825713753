"""Vectors as parquet and feather: a column ``name``, a column ``vector`` (fixed-size lists of float32).

A two-sided embedding has a column ``side``; the provenance is in the metadata of the schema.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError
from softvec.core.files import atomic_write
from softvec.embedding.core import Embedding
from softvec.embedding.files.formats import open_source, require_finite, title, written
from softvec.names import Names
from softvec.read.arrays import length_of
from softvec.read.tables import check_rows

if TYPE_CHECKING:
    from softvec.embedding.files.parts import Stored

_KEY = b"softvec"
ROWS = 65_536  # of a row group
# options of a parquet file: random-looking floats do not compress; names do
PARQUET: dict[str, Any] = {"compression": {"name": "zstd"}, "use_dictionary": False}


def _plain(name: Any) -> Any:
    """Write a tuple as a JSON list; names are hashable, so a list can only have been a tuple."""
    return [_plain(part) for part in name] if isinstance(name, tuple) else name


def unplain(item: Any) -> Any:
    """Return a name that was a JSON list as the tuple it was."""
    return tuple(unplain(part) for part in item) if isinstance(item, list) else item


def decoded(texts: Iterable[Any], where: str) -> Names:
    """Decode names that were each written as JSON."""
    try:
        names = [unplain(json.loads(text)) for text in texts]
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


def to_arrow(emb: Embedding) -> Any:
    """Return a pyarrow table with the columns name, vector and, if two-sided, side."""
    import pyarrow as pa

    schema, tables = _tables(emb, max(len(emb), *(len(V) for _, V, _ in sides_of(emb)[0])))
    return pa.concat_tables([schema.empty_table(), *tables])


def sides_of(emb: Embedding | Stored) -> tuple[list[tuple[str, Any, Names]], str]:
    """Return the sides, with vectors and names, and the encoding of all names."""
    sides: list[tuple[str, Any, Names]] = [("rows", emb.vectors, emb.names)]
    if emb.context_vectors is not None and emb.context_names is not None:
        sides.append(("context", emb.context_vectors, emb.context_names))
    encodings = {name_encoding(names) for _, _, names in sides}
    return sides, encodings.pop() if len(encodings) == 1 else "json"


def vector_array(V: NDArray[Any]) -> Any:
    """Return vectors as an Arrow array of lists."""
    import pyarrow as pa

    return pa.FixedSizeListArray.from_arrays(
        pa.array(np.ascontiguousarray(V, np.float32).reshape(-1)), V.shape[1]
    )


def _tables(emb: Embedding | Stored, rows: int) -> tuple[Any, Iterator[Any]]:
    """Return the schema of an embedding, and its tables of at most ``rows`` rows each."""
    import pyarrow as pa

    sides, encoding = sides_of(emb)
    d = emb.vectors.shape[1]
    flags = pa.dictionary(pa.int8(), pa.string())
    fields = [("name", name_array(sides[0][2][:0], encoding).type), ("vector", pa.list_(pa.float32(), d))]
    fields += [("size", pa.float64())] if emb.sizes is not None else []
    fields += [("side", flags)] if len(sides) == 2 else []
    meta = {"version": 1, "names": encoding, "provenance": emb.provenance}
    schema = pa.schema(fields, {_KEY: json.dumps(meta).encode()})

    def tables() -> Iterator[Any]:
        for side, (_, vectors, names) in enumerate(sides):
            for lo in range(0, len(names), rows):
                V = vectors[lo : lo + rows]
                columns = [name_array(names[lo : lo + rows], encoding), vector_array(V)]
                if emb.sizes is not None:
                    missing = pa.nulls(len(V), pa.float64())
                    columns.append(missing if side else pa.array(emb.sizes[lo : lo + rows]))
                if len(sides) == 2:
                    codes = pa.array(np.full(len(V), side, np.int8))
                    columns.append(pa.DictionaryArray.from_arrays(codes, ["rows", "context"]))
                yield pa.table(columns, schema=schema)

    return schema, tables()


def from_arrow(table: Any, name: str) -> Embedding:
    """Read a table: softvec's own columns, or any with names and numbers.

    Names are the column ``name``, else the first column that is not of floats; vectors are the column of
    lists, else all columns of floats in order.
    """
    import pyarrow as pa

    if table.num_rows == 0:
        raise InputError(f"{name} holds no vectors: its table has no rows")
    meta = checked_metadata((table.schema.metadata or {}).get(_KEY), name)
    sizes = None
    if meta and "size" in table.column_names:
        sizes = table.column("size").drop_null().to_numpy()
        table = table.drop_columns(["size"])
    fields = list(enumerate(table.schema))  # by position: names may repeat
    lists = [at for at, f in fields if _is_list(f.type)]
    floats = [at for at, f in fields if pa.types.is_floating(f.type)]
    others = [f.name for at, f in fields if at not in {*lists, *floats} and f.name != "side"]
    if not lists and not floats:
        raise InputError(f"{name} has no column of vectors or of floats; its columns: {table.column_names}")
    vectors = _vectors(table, lists[0] if lists else None, floats, name)
    side = table.column("side").to_pylist() if "side" in table.column_names and meta else []
    if "context" not in side:
        names = Names.range(table.num_rows)
        if others:
            key = "name" if "name" in others else others[0]
            names = _names(table.column(key), meta.get("names"), None, name)
        return Embedding(vectors, names, sizes=sizes, provenance=meta.get("provenance", {}), copy=False)
    second = np.array([s == "context" for s in side])
    column = table.column("name")
    return Embedding(
        vectors[~second],
        _names(column, meta.get("names"), ~second, name),
        context_vectors=vectors[second],
        context_names=_names(column, meta.get("names"), second, name),
        sizes=sizes,
        provenance=meta.get("provenance", {}),
        copy=False,
    )


def checked_metadata(raw: bytes | str | None, name: str) -> dict[str, Any]:
    """Return softvec's own metadata of a file, empty if another program wrote it."""
    if raw is None:
        return {}
    try:
        meta = json.loads(raw)
    except ValueError as error:
        raise InputError(f"{name} is damaged: its softvec metadata is not JSON") from error
    if not isinstance(meta, dict) or not isinstance(meta.get("provenance"), dict):
        raise InputError(f"{name} is damaged: its softvec metadata lacks the provenance")
    return meta


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    lists = (pa.types.is_fixed_size_list, pa.types.is_list, pa.types.is_large_list)
    return any(check(kind) for check in lists) and pa.types.is_floating(kind.value_type)


def _vectors(table: Any, column: int | None, floats: list[int], name: str) -> NDArray[np.float32]:
    import pyarrow as pa

    if column is None:
        V = np.empty((table.num_rows, len(floats)), np.float32)
        for j, at in enumerate(floats):
            V[:, j] = table.column(at).to_numpy()
    else:
        lists = table.column(column).combine_chunks()
        if isinstance(lists, pa.ChunkedArray):
            lists = pa.concat_arrays(lists.chunks)
        sizes = (
            {lists.type.list_size}
            if pa.types.is_fixed_size_list(lists.type)
            else set(lists.value_lengths().to_pylist())
        )
        if len(sizes) != 1 or lists.null_count:
            title = table.column_names[column]
            raise InputError(f"{name}: the lists of column {title!r} differ in length or are missing")
        V = lists.flatten().cast(pa.float32()).to_numpy(zero_copy_only=False).reshape(table.num_rows, -1)
    require_finite(V, name)
    return V


def _names(column: Any, encoding: str | None, keep: NDArray[np.bool_] | None, where: str) -> Names:
    if keep is not None:
        import pyarrow as pa

        column = column.filter(pa.array(keep))
    names = column.to_pylist()
    return decoded(names, where) if encoding == "json" else Names(names)


def write(emb: Embedding | Stored, path: str | os.PathLike[str], format: str) -> list[Path]:
    """Write parquet, or feather, which is the file format of Arrow."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema, tables = _tables(emb, ROWS)
    with atomic_write(path, "wb") as file:
        parquet = format == "parquet"
        with (
            pq.ParquetWriter(file, schema, **PARQUET) if parquet else pa.ipc.new_file(file, schema) as writer
        ):
            for table in tables:
                writer.write_table(table)
    return written(path)


def read(source: Path | io.BytesIO, format: str) -> Embedding:
    with open_source(source) as file:
        if format == "parquet":
            import pyarrow.parquet as pq

            parquet = pq.ParquetFile(file)
            check_rows(parquet.metadata, length_of(file), title(source))
            table = parquet.read()
        else:
            import pyarrow.feather as feather

            table = feather.read_table(file)
        table.validate(full=True)  # Arrow does not check offsets and text unless asked
        return from_arrow(table, title(source))
