"""Vector files for tables and arrays: csv, the projector's pair of tsv files, npy; parquet and feather."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from softvec.core.errors import InputError
from softvec.core.files import atomic_write, locked
from softvec.core.untrusted import reading
from softvec.embedding.core import Embedding
from softvec.embedding.files import arrow
from softvec.embedding.files.formats import npy_chunks, open_source, require_finite, title, written
from softvec.embedding.files.word2vec import atomic_maybe_gzip, number_lines, parse_names, text_names
from softvec.names import Names
from softvec.read.arrays import length_of, map_array, read_array

if TYPE_CHECKING:
    from softvec.embedding.files.parts import Stored


def write(emb: Embedding | Stored, path: str | os.PathLike[str], format: str) -> list[Path]:
    """Write vectors as parquet, feather, csv, tsv or npy."""
    return {
        "parquet": arrow.write,
        "feather": arrow.write,
        "csv": _write_csv,
        "tsv": _write_tsv,
        "npy": _write_npy,
    }[format](emb, path, format)


def read(source: Path | io.BytesIO, format: str, *, mmap: bool = False) -> Embedding:
    """Read parquet, feather, csv, tsv or npy."""
    with reading(title(source), f"{format} file", passing=gzip.BadGzipFile):
        if format in ("parquet", "feather"):
            return arrow.read(source, format)
        if format == "npy":
            return _read_npy(source, mmap)
        return _read_csv(source) if format == "csv" else _read_tsv(source)


# csv


def _write_csv(emb: Embedding | Stored, path: str | os.PathLike[str], format: str) -> list[Path]:
    import pyarrow as pa
    import pyarrow.csv as csv

    if arrow.name_encoding(emb.names) == "integer":
        names = pa.array(emb.names.to_numpy())
    else:
        names = pa.array(text_names(emb.names, spaces=True))
    n, d = emb.vectors.shape
    schema = pa.schema([("name", names.type), *((str(j), pa.float32()) for j in range(d))])
    with atomic_maybe_gzip(path) as file, csv.CSVWriter(file, schema) as writer:
        for lo in range(0, n, arrow.ROWS):
            V = np.ascontiguousarray(emb.vectors[lo : lo + arrow.ROWS].T)
            writer.write_table(pa.table([names[lo : lo + arrow.ROWS], *V], schema=schema))
    return written(path)


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
    plain = arrow.from_arrow(table.remove_column(at), title(source))
    return Embedding(plain.vectors, names, copy=False)


# the TensorBoard projector: vectors.tsv without a header, metadata.tsv with one name a line


def metadata_path(path: str | os.PathLike[str]) -> Path:
    """Return the file of names that goes with ``path``: ``a.tsv`` has ``a_metadata.tsv``."""
    file = Path(path)
    return file.with_name(f"{file.stem}_metadata{file.suffix}")


def _write_tsv(emb: Embedding | Stored, path: str | os.PathLike[str], format: str) -> list[Path]:
    if os.fspath(path) == "-":
        raise InputError("the tsv format is two files and cannot go to standard output; try csv")
    names = text_names(emb.names, spaces=True)
    beside = metadata_path(path)
    with _pair(path, beside) as (file, meta):
        for lo in range(0, len(names), 4096):
            V = emb.vectors[lo : lo + 4096]
            file.write(b"".join(line + b"\n" for line in number_lines(V, "\t")))
            lines = "".join(f"{name}\n" for name in names[lo : lo + 4096])
            meta.write(lines.encode("utf-8", "surrogatepass"))
    return written(path, beside)


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
            f"{title(source)} holds text; the vectors of a projector pair are numbers only "
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


def _write_npy(emb: Embedding | Stored, path: str | os.PathLike[str], format: str) -> list[Path]:
    if os.fspath(path) == "-":
        raise InputError("the npy format is two files and cannot go to standard output; try csv")
    beside = names_path(path)
    with _pair(path, beside) as (file, text):
        header, chunks = npy_chunks(emb.vectors)
        file.writelines(chain([header], chunks))
        lines = "".join(f"{name}\n" for name in text_names(emb.names, spaces=True))
        text.write(lines.encode("utf-8", "surrogatepass"))
    return written(path, beside)


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

    The vectors are renamed first. Just before that, a note replaces the old names until the new ones are
    renamed, so that a kill in between never leaves vectors with the wrong names.
    """
    with ExitStack() as held, atomic_write(beside, "wb") as names, atomic_write(path, "wb") as vectors:
        yield vectors, names
        for file in (vectors, names):  # a full disk is found while the old names are in place
            file.flush()
            os.fsync(file.fileno())
        held.enter_context(locked(beside.parent, wait=True))  # until both are renamed
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
        raise InputError(
            f"{title(source)} holds {n:,} vectors, but the file of names beside it holds {len(names):,}"
        )
    return parse_names(names)
