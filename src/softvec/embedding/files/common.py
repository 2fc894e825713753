"""What the modules of all formats share: open sources, write gzipped files, check vectors."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError, printable
from softvec.core.files import atomic_write
from softvec.core.untrusted import one_line
from softvec.read.arrays import length_of
from softvec.read.streams import Bounded

MANIFEST = "manifest.json"  # of a folder of vectors
MOST_JSON = 8 << 20  # bytes: parsed and checked within two seconds


def is_folder(path: str) -> bool:
    """Whether a path is, or is meant to be, a folder of vectors: it ends in a slash, or has a manifest."""
    return path.endswith(("/", os.sep)) or os.path.isfile(os.path.join(path, MANIFEST))


def title(source: Path | io.BytesIO) -> str:
    """Return the name of a source in messages."""
    return str(source) if isinstance(source, Path) else "standard input"


def source_of(path: str | os.PathLike[str]) -> Path | io.BytesIO:
    """Return the path of an existing file, or the contents of standard input or of a pipe."""
    if os.fspath(path) == "-":
        data = sys.stdin.buffer.read()
        if not data:
            raise InputError("standard input is empty; expected a file of vectors")
        return io.BytesIO(data)
    file = Path(path)
    if not file.exists():
        raise InputError(f"{path}: no such file")
    if file.stat().st_size == 0 and file.is_file():
        raise InputError(f"{path} is empty; expected a file of vectors")
    if not file.is_file():  # a pipe, e.g. <(zcat ...), can be read once only
        return io.BytesIO(file.read_bytes())
    return file


def open_source(source: Path | io.BytesIO) -> IO[bytes]:
    """Open a file, gunzipping it if needed, or rewind the contents of standard input."""
    try:
        file: IO[bytes] = source.open("rb") if isinstance(source, Path) else io.BytesIO(source.getbuffer())
    except PermissionError as error:
        raise InputError(f"{source}: permission denied") from error
    zipped = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    if not zipped:
        return file
    stored = length_of(file)
    if isinstance(source, Path):
        file.close()  # gzip.open closes only a file that it opened itself
    unzipped = gzip.open(source if isinstance(source, Path) else file, "rb")  # noqa: SIM115 - closed by Bounded
    return io.BufferedReader(Bounded(unzipped, stored, title(source)), 1 << 16)  # type: ignore[return-value]


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
