"""Vector files that table tools read: parquet, feather, csv, the projector's tsv pair, and npy.

Parquet and feather hold a column ``name``, a column ``vector`` (fixed-size lists of float32), and, for a
two-sided embedding, a column ``side``. The provenance is in the metadata of the schema.
"""

from __future__ import annotations

import gzip
import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError
from softvec.core.files import atomic_write
from softvec.core.untrusted import reading
from softvec.embedding.core import Embedding
from softvec.embedding.files.formats import open_source, require_finite, title
from softvec.embedding.files.word2vec import atomic_maybe_gzip, number_lines, parse_names, text_names
from softvec.names import Names
from softvec.read.arrays import length_of, map_array, read_array
from softvec.read.tables import check_rows

_KEY = b"softvec"


def write(emb: Embedding, path: str | os.PathLike[str], format: str) -> list[Path]:
    """Write vectors as parquet, feather, csv, tsv or npy."""
    return {
        "parquet": _write_arrow,
        "feather": _write_arrow,
        "csv": _write_csv,
        "tsv": _write_tsv,
        "npy": _write_npy,
    }[format](emb, path, format)


def read(source: Path | io.BytesIO, format: str, *, mmap: bool = False) -> Embedding:
    """Read parquet, feather, csv, tsv or npy."""
    with reading(title(source), f"{format} file", passing=gzip.BadGzipFile):
        if format in ("parquet", "feather"):
            return _read_arrow(source, format)
        if format == "npy":
            return _read_npy(source, mmap)
        return _read_csv(source) if format == "csv" else _read_tsv(source)


def _written(path: str | os.PathLike[str], *others: Path) -> list[Path]:
    return [] if os.fspath(path) == "-" else [Path(path), *others]


# Arrow: parquet and feather


def _plain(name: Any) -> Any:
    """Write a tuple as a JSON list; names are hashable, so a list can only have been a tuple."""
    return [_plain(part) for part in name] if isinstance(name, tuple) else name


def unplain(item: Any) -> Any:
    """Return a name that was a JSON list as the tuple it was."""
    return tuple(unplain(part) for part in item) if isinstance(item, list) else item


def name_encoding(names: Names) -> str:
    """Say how names are written to a column: as text, as integers, or each as JSON."""
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

    sides = [(emb.vectors, emb.names)]
    if emb.context_vectors is not None and emb.context_names is not None:
        sides.append((emb.context_vectors, emb.context_names))
    encodings = {name_encoding(names) for _, names in sides}
    encoding = encodings.pop() if len(encodings) == 1 else "json"
    d = emb.vectors.shape[1]
    vectors = [
        pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(V).reshape(-1), pa.float32()), d)
        for V, _ in sides
    ]
    columns = {
        "name": pa.chunked_array([name_array(names, encoding) for _, names in sides]),
        "vector": pa.chunked_array(vectors),
    }
    if emb.sizes is not None:
        missing = pa.nulls(0 if len(sides) == 1 else len(sides[1][0]), pa.float64())
        columns["size"] = pa.chunked_array([pa.array(emb.sizes), missing])
    if len(sides) == 2:
        flags = np.repeat([0, 1], [len(V) for V, _ in sides]).astype(np.int8)
        columns["side"] = pa.DictionaryArray.from_arrays(pa.array(flags), ["rows", "context"])
    meta = {"version": 1, "names": encoding, "provenance": emb.provenance}
    return pa.table(columns).replace_schema_metadata({_KEY: json.dumps(meta).encode()})


def from_arrow(table: Any, name: str) -> Embedding:
    """Read a table: softvec's own columns, or any with names and numbers.

    Names are the column ``name``, else the first column that is no float; the vector is the column of
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
    plain = [f.name for at, f in fields if at not in {*lists, *floats} and f.name != "side"]
    if not lists and not floats:
        raise InputError(f"{name} has no column of vectors or of floats; its columns: {table.column_names}")
    vectors = _vectors(table, lists[0] if lists else None, floats, name)
    names = Names.range(table.num_rows)
    if plain:
        names = _names(table.column("name" if "name" in plain else plain[0]), meta.get("names"), None)
    side = table.column("side").to_pylist() if "side" in table.column_names and meta else []
    if "context" not in side:
        return Embedding(vectors, names, sizes=sizes, provenance=meta.get("provenance", {}), copy=False)
    second = np.array([s == "context" for s in side])
    column = table.column("name")
    return Embedding(
        vectors[~second],
        _names(column, meta.get("names"), ~second),
        context_vectors=vectors[second],
        context_names=_names(column, meta.get("names"), second),
        sizes=sizes,
        provenance=meta.get("provenance", {}),
        copy=False,
    )


def checked_metadata(raw: bytes | str | None, name: str) -> dict[str, Any]:
    """Return softvec's own metadata of a file, empty where another program wrote it."""
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


def _names(column: Any, encoding: str | None, keep: NDArray[np.bool_] | None) -> Names:
    if keep is not None:
        import pyarrow as pa

        column = column.filter(pa.array(keep))
    names = column.to_pylist()
    if encoding == "json":
        names = [unplain(json.loads(name)) for name in names]
    return Names(names)


def _write_arrow(emb: Embedding, path: str | os.PathLike[str], format: str) -> list[Path]:
    with atomic_write(path, "wb") as file:
        if format == "parquet":
            import pyarrow.parquet as pq

            # random-looking floats do not compress; names do
            pq.write_table(to_arrow(emb), file, compression={"name": "zstd"}, use_dictionary=False)
        else:
            import pyarrow.feather as feather

            feather.write_feather(to_arrow(emb), file, compression="uncompressed")
    return _written(path)


def _read_arrow(source: Path | io.BytesIO, format: str) -> Embedding:
    with open_source(source) as file:
        if format == "parquet":
            import pyarrow.parquet as pq

            parquet = pq.ParquetFile(file)
            check_rows(parquet.metadata, length_of(file), title(source))
            table = parquet.read()
        else:
            import pyarrow.feather as feather

            table = feather.read_table(file)
        table.validate(full=True)  # Arrow trusts offsets and text until asked to look
        return from_arrow(table, title(source))


# csv


def _write_csv(emb: Embedding, path: str | os.PathLike[str], format: str) -> list[Path]:
    import pyarrow as pa
    import pyarrow.csv as csv

    if name_encoding(emb.names) == "integer":
        names = pa.array(emb.names.to_numpy())
    else:
        names = pa.array(text_names(emb.names, spaces=True))
    columns = {"name": names}
    columns |= {str(j): np.ascontiguousarray(emb.vectors[:, j]) for j in range(emb.vectors.shape[1])}
    with atomic_maybe_gzip(path) as file:
        csv.write_csv(pa.table(columns), file)
    return _written(path)


def _read_csv(source: Path | io.BytesIO) -> Embedding:
    import pyarrow as pa
    import pyarrow.csv as csv

    with open_source(source) as file:
        data = file.read()
    header = csv.open_csv(pa.BufferReader(data), convert_options=csv.ConvertOptions()).schema.names
    named = "name" if "name" in header else header[0]
    types = {column: pa.string() if column == named else pa.float32() for column in header}
    options = csv.ConvertOptions(column_types=types, strings_can_be_null=False)
    table = csv.read_csv(pa.BufferReader(data), convert_options=options)
    at = table.schema.get_field_index(named)
    names = parse_names(table.column(at).to_pylist())
    plain = from_arrow(table.remove_column(at), title(source))
    return Embedding(plain.vectors, names, copy=False)


# the TensorBoard projector: vectors.tsv without a header, metadata.tsv with one name a line


def metadata_path(path: str | os.PathLike[str]) -> Path:
    """Return the file of names that goes with ``path``: ``a.tsv`` has ``a_metadata.tsv``."""
    file = Path(path)
    return file.with_name(f"{file.stem}_metadata{file.suffix}")


def _write_tsv(emb: Embedding, path: str | os.PathLike[str], format: str) -> list[Path]:
    if os.fspath(path) == "-":
        raise InputError("the tsv format is two files and cannot go to standard output; try csv")
    names = text_names(emb.names, spaces=True)
    V = np.asarray(emb.vectors, dtype=np.float32)
    beside = metadata_path(path)
    with _pair(path, beside) as (file, meta):
        for lo in range(0, len(V), 4096):
            file.write(b"".join(line + b"\n" for line in number_lines(V[lo : lo + 4096], "\t")))
            lines = "".join(f"{name}\n" for name in names[lo : lo + 4096])
            meta.write(lines.encode("utf-8", "surrogatepass"))
    return _written(path, beside)


def _read_tsv(source: Path | io.BytesIO) -> Embedding:
    import pyarrow as pa
    import pyarrow.csv as csv

    with open_source(source) as file:
        table = csv.read_csv(
            pa.BufferReader(file.read()),
            read_options=csv.ReadOptions(autogenerate_column_names=True),
            parse_options=csv.ParseOptions(delimiter="\t", quote_char=False),
        )
    if not all(pa.types.is_floating(f.type) or pa.types.is_integer(f.type) for f in table.schema):
        raise InputError(
            f"{title(source)} holds text; the vectors of a projector pair are numbers alone "
            "(the names are in the *_metadata.tsv file beside it)"
        )
    V = np.column_stack([table.column(j).to_numpy() for j in range(table.num_columns)]).astype(np.float32)
    require_finite(V, title(source))
    names = _names_beside(source, metadata_path(source)) if isinstance(source, Path) else None
    if names is not None and len(names) == len(V) + 1:
        names = names[1:]  # a table of several columns has a header
    return Embedding(V, _match(names, len(V), source), copy=False)


# npy and a text file of names


def names_path(path: str | os.PathLike[str]) -> Path:
    """Return the file of names that goes with ``path``: ``a.npy`` has ``a_names.txt``."""
    return Path(path).with_name(f"{Path(path).stem}_names.txt")


def _write_npy(emb: Embedding, path: str | os.PathLike[str], format: str) -> list[Path]:
    if os.fspath(path) == "-":
        raise InputError("the npy format is two files and cannot go to standard output; try csv")
    beside = names_path(path)
    with _pair(path, beside) as (file, text):
        np.save(file, np.asarray(emb.vectors), allow_pickle=False)
        lines = "".join(f"{name}\n" for name in text_names(emb.names, spaces=True))
        text.write(lines.encode("utf-8", "surrogatepass"))
    return _written(path, beside)


def _read_npy(source: Path | io.BytesIO, mmap: bool) -> Embedding:
    if mmap and isinstance(source, Path):
        V = map_array(source, title(source))
    else:
        with open_source(source) as file:
            V = read_array(file, length_of(file), title(source))
    if V.ndim != 2 or V.dtype.kind not in "fiu":
        raise InputError(f"{title(source)} holds {V.dtype} of shape {V.shape}; expected rows of numbers")
    if V.dtype != np.float32:
        with np.errstate(over="ignore"):  # what is too large for float32 is refused as infinite
            V = V.astype(np.float32)
    if not isinstance(V, np.memmap):  # a mapped file is left unread
        require_finite(V, title(source))
    names = None
    if isinstance(source, Path):
        for beside in (names_path(source), source.with_name(f"{source.stem}_words.txt")):
            names = names or _names_beside(source, beside)
    return Embedding(V, _match(names, len(V), source), copy=False)


_UNFINISHED = "softvec: the save of these names was interrupted"


@contextmanager
def _pair(path: str | os.PathLike[str], beside: Path) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Open a file of vectors and one of names that are replaced together, as far as two files can be.

    The vectors are renamed first. From just before that until the names are renamed too, a note stands in
    place of the names, so that a kill in between never leaves vectors with the names of others.
    """
    with atomic_write(beside, "wb") as names, atomic_write(path, "wb") as vectors:
        yield vectors, names
        for file in (vectors, names):  # a full disk is found while the old names are in place
            file.flush()
            os.fsync(file.fileno())
        with atomic_write(beside, "w", encoding="utf-8") as note:
            note.write(f"{_UNFINISHED}\n")


def _names_beside(source: Path, beside: Path) -> list[str] | None:
    if not beside.is_file():
        return None
    try:
        # split on \n alone: names may hold other line separators of Unicode
        lines = beside.read_bytes().decode("utf-8-sig", "surrogatepass").split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{beside} is not UTF-8 text") from error
    if lines[0] == _UNFINISHED:
        raise InputError(
            f"{source} has no names: its save was interrupted. Save it again, "
            f"or delete {beside} to number the rows"
        )
    return lines[:-1] if lines[-1] == "" else lines


def _match(names: list[str] | None, n: int, source: Path | io.BytesIO) -> Names:
    if names is None:
        return Names.range(n)
    if len(names) != n:
        raise InputError(f"{title(source)} holds {n:,} vectors, but {len(names):,} names stand beside it")
    return parse_names(names)
