"""Vector files of names and numbers alone: csv, the projector's pair of tsv files, npy."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError
from softvec.core.files import atomic_write, locked
from softvec.embedding.core import Embedding
from softvec.embedding.files.common import (
    Options,
    atomic_maybe_gzip,
    for_terminal,
    npy_chunks,
    opened,
    require_finite,
    written,
)
from softvec.embedding.files.word2vec import (
    MOST_COLUMNS,
    number_lines,
    parse_columns,
    parse_names,
    text_names,
)
from softvec.names import Names
from softvec.read.arrays import length_of, map_array, read_array
from softvec.read.streams import Source


def write(emb: Embedding, path: str | os.PathLike[str], options: Options) -> list[Path]:
    """Write names and vectors as csv, tsv or npy."""
    return {"csv": _write_csv, "tsv": _write_tsv, "npy": _write_npy}[options.format](emb, path)


def read(source: Source, options: Options) -> Embedding:
    """Read csv, tsv or npy."""
    with opened(source, f"{options.format} file") as file:
        if options.format == "npy":
            return _read_npy(source, file, options.mmap)
        return (_read_csv if options.format == "csv" else _read_tsv)(source, file.read())


# csv


_CSV_ROWS = 4096


def _write_csv(emb: Embedding, path: str | os.PathLike[str]) -> list[Path]:
    names = for_terminal(text_names(emb.names, spaces=True), path)
    if not {"range", "integers"} & set(emb.names.to_arrays()):
        names = [f'"{name.replace(chr(34), chr(34) * 2)}"' for name in names]
    n, d = emb.vectors.shape
    with atomic_maybe_gzip(path) as file:
        file.write(",".join(['"name"', *(f'"{j}"' for j in range(d))]).encode() + b"\n")
        for lo in range(0, n, _CSV_ROWS):
            lines = number_lines(emb.vectors[lo : lo + _CSV_ROWS], ",")
            pairs = zip(names[lo : lo + _CSV_ROWS], lines)
            file.write(b"".join(b"%s,%s\n" % (name.encode(), line) for name, line in pairs))
    return written(path)


def _read_csv(source: Source, data: bytes) -> Embedding:
    data = data.removeprefix(b"\xef\xbb\xbf")
    header = next(csv.reader(io.StringIO(data[: data.find(b"\n") + 1 or None].decode())))
    at = header.index("name") if "name" in header else 0
    if len(header) < 2:
        raise InputError(f"{source.name} has one column; expected names and numbers, separated by commas")
    if len(header) <= MOST_COLUMNS:
        texts, V = parse_columns(data, len(header), at, ",", skip_rows=1)
    else:
        texts, V = _parse_wide_csv(data, len(header), at)
    require_finite(V, source.name)
    return Embedding(V, parse_names(texts), copy=False)


def _parse_wide_csv(data: bytes, width: int, at: int) -> tuple[list[str], NDArray[np.float32]]:
    """Parse row by row: Arrow takes kilobytes for each column."""
    texts, rows = [], [np.empty((0, width - 1), np.float32)]
    for row in islice(csv.reader(io.StringIO(data.decode(), newline="")), 1, None):
        if row:
            texts.append(row.pop(at))
            rows.append(np.array(row, np.float32).reshape(1, width - 1))
    return texts, np.concatenate(rows)


# the TensorBoard projector: vectors.tsv without a header, metadata.tsv with one name a line


def metadata_path(path: str | os.PathLike[str]) -> Path:
    """Return the file of names that goes with ``path``: ``a.tsv`` has ``a_metadata.tsv``."""
    file = Path(path)
    return file.with_name(f"{file.stem}_metadata{file.suffix}")


def _write_tsv(emb: Embedding, path: str | os.PathLike[str]) -> list[Path]:
    if os.fspath(path) == "-":
        raise InputError("the tsv format is two files and cannot go to standard output; try csv")
    if not len(emb.names):
        raise InputError("the tsv format cannot hold 0 vectors; save as .svec")
    names = text_names(emb.names, spaces=True)
    beside = metadata_path(path)
    with _pair(path, beside) as (file, meta):
        for lo in range(0, len(names), 4096):
            V = emb.vectors[lo : lo + 4096]
            file.write(b"".join(line + b"\n" for line in number_lines(V, "\t")))
            lines = "".join(f"{name}\n" for name in names[lo : lo + 4096])
            meta.write(lines.encode())
    return written(path, beside)


def _read_tsv(source: Source, data: bytes) -> Embedding:
    try:
        V = np.array([line.split(b"\t") for line in data.split(b"\n") if line.strip()], np.float32)
    except ValueError:
        raise InputError(
            f"{source.name} holds text, or rows of different lengths; the vectors of a projector pair are "
            "numbers only (the names are in the *_metadata.tsv file beside it)"
        ) from None
    require_finite(V, source.name)
    names = None if source.path is None else _names_beside(source.path, metadata_path(source.path))
    if names is not None and len(names) == len(V) + 1:
        names = names[1:]  # a table of several columns has a header
    return Embedding(V, _match(names, len(V), source), copy=False)


# npy and a text file of names


def names_path(path: str | os.PathLike[str]) -> Path:
    """Return the file of names that goes with ``path``: ``a.npy`` has ``a_names.txt``."""
    return Path(path).with_name(f"{Path(path).stem}_names.txt")


def _write_npy(emb: Embedding, path: str | os.PathLike[str]) -> list[Path]:
    if os.fspath(path) == "-":
        raise InputError("the npy format is two files and cannot go to standard output; try csv")
    beside = names_path(path)
    with _pair(path, beside) as (file, text):
        header, chunks = npy_chunks(emb.vectors)
        file.writelines(chain([header], chunks))
        lines = "".join(f"{name}\n" for name in text_names(emb.names, spaces=True))
        text.write(lines.encode())
    return written(path, beside)


def _read_npy(source: Source, file: IO[bytes], mmap: bool) -> Embedding:
    if mmap and source.path is not None and source.compression is None:
        V = map_array(source.path, source.name)
    else:
        V = read_array(file, length_of(file), source.name)
    if V.ndim != 2 or V.dtype.kind not in "fiu":
        raise InputError(f"{source.name} holds {V.dtype} of shape {V.shape}; expected rows of numbers")
    if V.dtype != np.float32:
        with np.errstate(over="ignore"):  # what is too large for float32 is refused as infinite
            V = V.astype(np.float32)
    if not isinstance(V, np.memmap):  # a mapped file is left unread
        require_finite(V, source.name)
    names = None
    if source.path is not None:
        for beside in (names_path(source.path), source.path.with_name(f"{source.path.stem}_words.txt")):
            names = names or _names_beside(source.path, beside)
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


def _match(names: list[str] | None, n: int, source: Source) -> Names:
    if names is None:
        return Names.range(n)
    if len(names) != n:
        raise InputError(
            f"{source.name} holds {n:,} vectors, but the file of names beside it holds {len(names):,}"
        )
    return parse_names(names)
