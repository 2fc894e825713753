"""Two files, one of vectors and one of names: the pair of tsv files of TensorBoard's projector, and npy."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError
from softvec.core.files import atomic_write, locked
from softvec.embedding.core import Embedding
from softvec.embedding.files.common import npy_chunks, require_finite
from softvec.embedding.files.text import ROWS, number_lines, parse, parse_names, text_names
from softvec.names import Names
from softvec.read.arrays import length_of, map_array, read_array
from softvec.read.streams import Source

# the files of names that go with ``a.tsv`` and ``a.npy``; the first is written
_BESIDE = {"tsv": ("{0}_metadata{1}",), "npy": ("{0}_names.txt", "{0}_words.txt")}
_UNFINISHED = "softvec: the save of these names was interrupted"


def _beside(path: str | os.PathLike[str], format: str) -> list[Path]:
    file = Path(path)
    return [file.with_name(name.format(file.stem, file.suffix)) for name in _BESIDE[format]]


def write(emb: Embedding, path: str | os.PathLike[str], format: str) -> None:
    """Write the vectors to ``path``, and the names to the file beside it."""
    if os.fspath(path) == "-":
        raise InputError(f"the {format} format is two files and cannot go to standard output; try csv")
    if format == "tsv" and not len(emb.names):
        raise InputError("the tsv format cannot hold 0 vectors; save as .svec")
    names = text_names(emb.names, spaces=True)
    with _pair(path, _beside(path, format)[0]) as (file, text):
        if format == "npy":
            header, chunks = npy_chunks(emb.vectors)
            file.writelines(chain([header], chunks))
        for lo in range(0, len(names), ROWS):
            if format == "tsv":
                file.writelines(line + b"\n" for line in number_lines(emb.vectors[lo : lo + ROWS], "\t"))
            text.write("".join(f"{name}\n" for name in names[lo : lo + ROWS]).encode())


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


def read(source: Source, format: str, mmap: bool) -> Embedding:
    """Read vectors, and their names if there is a file of them; else the rows are numbered."""
    with source.seekable() as file:
        V = _numbers(source, file.read()) if format == "tsv" else _array(source, file, mmap)
    if not isinstance(V, np.memmap):  # a mapped file is left unread
        require_finite(V, source.name)
    beside = [] if source.path is None else [each for each in _beside(source.path, format) if each.is_file()]
    if not beside:
        return Embedding(V, Names.range(len(V)), copy=False)
    names = _read_names(source, beside[0])
    if format == "tsv" and len(names) == len(V) + 1:
        names = names[1:]  # a table of several columns has a header
    if len(names) != len(V):
        raise InputError(
            f"{source.name} holds {len(V):,} vectors, but the file of names beside it holds {len(names):,}"
        )
    return Embedding(V, parse_names(names), copy=False)


def _numbers(source: Source, data: bytes) -> NDArray[np.float32]:
    try:
        return parse(data, 1 + data.partition(b"\n")[0].count(b"\t"), "\t", source.name, at=None)[1]
    except InputError:
        raise InputError(
            f"{source.name} holds text, or rows of different lengths; the vectors of a projector pair are "
            "numbers only (the names are in the *_metadata.tsv file beside it)"
        ) from None


def _array(source: Source, file: IO[bytes], mmap: bool) -> NDArray[np.float32]:
    if mmap and source.path is not None and source.compression is None:
        V = map_array(source.path, source.name)
    else:
        V = read_array(file, length_of(file), source.name)
    if V.ndim != 2 or V.dtype.kind not in "fiu":
        raise InputError(f"{source.name} holds {V.dtype} of shape {V.shape}; expected rows of numbers")
    with np.errstate(over="ignore"):  # what is too large for float32 is refused as infinite
        return V if V.dtype == np.float32 else V.astype(np.float32)


def _read_names(source: Source, beside: Path) -> list[str]:
    try:
        # split on \n alone: names may hold other line separators of Unicode
        lines = beside.read_bytes().decode("utf-8-sig", "surrogatepass").split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{beside} is not UTF-8 text") from error
    if lines[0] == _UNFINISHED:
        raise InputError(
            f"{source.name} has no names: its save was interrupted. Save it again, "
            f"or delete {beside} to number the rows"
        )
    return lines[:-1] if lines[-1] == "" else lines
