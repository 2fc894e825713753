"""What the modules of all formats share: open files, write gzipped ones, check JSON and vectors."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError, printable
from softvec.core.files import atomic_write
from softvec.core.untrusted import one_line, reading
from softvec.read.streams import Source

MANIFEST = "manifest.json"  # of a folder of vectors
Json = dict[str, Any]  # an object of JSON
MOST_JSON = 8 << 20  # bytes: parsed and checked within two seconds


@dataclass(frozen=True)
class Options:
    """How a file is read or written: its format, vectors left on disk, with the search index."""

    format: str
    mmap: bool = False
    index: bool = False


def is_folder(path: str) -> bool:
    """Whether a path is, or is meant to be, a folder of vectors: it ends in a slash, or has a manifest."""
    return path.endswith(("/", os.sep)) or os.path.isfile(os.path.join(path, MANIFEST))


@contextmanager
def opened(source: Source, what: str) -> Iterator[IO[bytes]]:
    """Open the decompressed bytes of a source; an error of a parser names the file."""
    with source.seekable() as file, reading(source.name, what):
        yield file


def written(path: str | os.PathLike[str], *others: Path) -> list[Path]:
    """Return the files that a writer wrote, none for standard output."""
    return [] if os.fspath(path) == "-" else [Path(path), *others]


@contextmanager
def atomic_maybe_gzip(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open ``path`` for atomic binary writing, gzipped if its name ends in ``.gz``."""
    with atomic_write(path, "wb") as file:
        if not os.fspath(path).endswith(".gz"):
            yield file
            return
        # mtime 0: the same vectors give the same bytes
        with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=3, mtime=0, filename="") as zipped:
            yield zipped  # type: ignore[misc]


def check_json(text: str) -> str:
    """Return JSON to be written; raise an error if it is too long to be read again."""
    if len(text) > MOST_JSON:
        raise InputError(f"the provenance has {len(text):,} bytes of JSON; at most {MOST_JSON:,} are saved")
    return text


def parse_json(raw: bytes | str, what: str, most: int = MOST_JSON) -> Any:
    """Parse the JSON in a file; ``what`` is named in an error."""
    if len(raw) > most:
        raise InputError(f"{what} has {len(raw):,} bytes of JSON, more than the {most:,} allowed")
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{what} is not JSON ({one_line(error)})") from None


def for_terminal(names: list[str], path: str | os.PathLike[str]) -> list[str]:
    """Return names with control codes escaped if they are printed on a terminal."""
    return [printable(name) for name in names] if os.fspath(path) == "-" and sys.stdout.isatty() else names


def require_finite(
    vectors: NDArray[Any], name: str, texts: Sequence[str] | None = None, *, first: int = 0
) -> None:
    """Raise an error that names the first row with missing, NaN or infinite values.

    ``first`` is the number of row 0 of ``vectors`` in the file.
    """
    if not np.isfinite(vectors).all():
        row = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
        where = f"in row {first + row + 1:,}" if texts is None else f"of {texts[row]!r}"
        raise InputError(f"{name}: the vector {where} holds missing, NaN or infinite values")


def npy_chunks(array: Any) -> tuple[bytes, Iterator[memoryview]]:
    """Return the header of a .npy file, and its data in pieces of 4 MiB."""
    dtype = array.dtype.newbyteorder("<")
    header = io.BytesIO()
    shape = tuple(array.shape)
    layout = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, layout)
    rows = array if shape else np.asarray(array).reshape(1)
    step = max(1, (1 << 22) // max(1, dtype.itemsize * int(np.prod(shape[1:]))))
    pieces = (np.ascontiguousarray(rows[lo : lo + step], dtype) for lo in range(0, len(rows), step))
    return header.getvalue(), (piece.reshape(-1).view(np.uint8).data for piece in pieces)
