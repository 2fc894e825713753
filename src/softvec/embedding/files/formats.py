"""Vector files: detect the format, read and write.

Formats: ``softvec`` (own, see :mod:`softvec.embedding.files.svec`), ``word2vec`` and ``word2vec-binary``
(read by gensim and many others), ``parquet`` and ``feather``, ``safetensors``, ``csv``, ``tsv`` (the two
files of the TensorBoard projector) and ``npy`` (with a second file for the names). Text formats and word2vec
may be gzipped (``.gz``). A path that ends in a slash is a ``folder`` of parquet parts with a manifest.
"""

from __future__ import annotations

import gzip
import io
import os
import sys
import warnings
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import AdviceWarning, InputError, Option
from softvec.core.files import locked
from softvec.names.storage import DuplicateName
from softvec.read.arrays import length_of
from softvec.read.streams import Bounded

if TYPE_CHECKING:
    from softvec.embedding.core import Embedding
    from softvec.embedding.files.parts import Stored

EXTENSIONS = {
    ".svec": "softvec",
    ".npz": "softvec",
    ".txt": "word2vec",
    ".vec": "word2vec",
    ".w2v": "word2vec",
    ".bin": "word2vec-binary",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".safetensors": "safetensors",
    ".csv": "csv",
    ".tsv": "tsv",
    ".npy": "npy",
}
FORMATS = (*dict.fromkeys(EXTENSIONS.values()), "folder")
MANIFEST = "manifest.json"  # of a folder of vectors
WHOLE = ("safetensors",)  # formats that are written from memory; the others also from a folder, part by part
ONE_SIDED = ("word2vec", "word2vec-binary", "csv", "tsv", "npy")
NO_GZIP = (
    "softvec",
    "parquet",
    "feather",
    "safetensors",
    "tsv",
    "npy",
)  # compressed already, mapped, or two files


def format_of(path: str | os.PathLike[str], format: str | None = None) -> str:
    """Return the format to write ``path`` in, from ``format`` or from the extension.

    >>> format_of("words.bin"), format_of("words.vec.gz")
    ('word2vec-binary', 'word2vec')
    """
    if format is not None:
        if format not in FORMATS:
            raise InputError(f"format is {format!r}; expected one of {', '.join(FORMATS)}")
        return format
    name = os.fspath(path)
    if name == "-":
        return "word2vec"
    if is_folder(name):
        return "folder"
    extension = os.path.splitext(name.removesuffix(".gz"))[1]
    if extension.lower() not in EXTENSIONS:
        known = ", ".join(EXTENSIONS)
        raise InputError(
            f"{path} has the extension {extension!r}, which is not a known vector format; "
            f"use one of {known}, or name the format"
        )
    return EXTENSIONS[extension.lower()]


def is_folder(path: str) -> bool:
    """Whether a path is, or is meant to be, a folder of vectors: it ends in a slash, or has a manifest."""
    return path.endswith(("/", os.sep)) or os.path.isfile(os.path.join(path, MANIFEST))


def write_vectors(
    emb: Embedding | Stored,
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    side: str | None = None,
    index: bool = False,
) -> list[Path]:
    """Write named vectors; a reader sees the old file or the new one, never half of it.

    Parameters
    ----------
    emb : Embedding or Stored
    path : path-like
        ``-`` writes to standard output.
    format : str, optional
        By default that of the extension.
    side : {"rows", "context"}, optional
        Write one side of a two-sided embedding. Formats that hold one side write the rows by default.
    index : bool
        Write the search index too (own format).

    Returns
    -------
    list of Path
        The files written.
    """
    chosen = format_of(path, format)
    zipped = os.fspath(path).endswith(".gz")
    if zipped and chosen in NO_GZIP:
        raise InputError(f"{path}: the {chosen} format is not written gzipped; drop the .gz")
    if index and chosen != "softvec":
        raise InputError(f"index is True, but {path} is not a .svec file; other formats cannot hold an index")
    if side is not None:
        emb = _one_side(emb, side)
    elif emb.two_sided and chosen in ONE_SIDED:
        text = f"the {chosen} format holds one side: the context vectors are left out (write them with "
        warnings.warn(AdviceWarning(text, Option("side", "context"), ")"), stacklevel=3)
        emb = _one_side(emb, "rows")
    from softvec.embedding.files import svec, tables, tensors, word2vec

    if chosen == "folder":
        from softvec.embedding.files import folder

        with locked(folder.make_folder(path), wait=False):
            return folder.write(emb, path)
    if chosen == "softvec":
        return svec.write(emb, path, index=index)
    if chosen == "safetensors":
        return tensors.write(cast("Embedding", emb), path)
    if chosen in ("word2vec", "word2vec-binary"):
        return word2vec.write(emb, path, binary=chosen == "word2vec-binary")
    return tables.write(emb, path, chosen)


def _one_side(emb: Embedding | Stored, side: str) -> Embedding | Stored:
    """Return the rows or the context as an embedding; the rows keep their measured stability."""
    if side == "rows":
        stability = {key: array for key, array in emb.extras.items() if key.startswith("stable_")}
        return emb._with(context_vectors=None, context_names=None, extras=stability)
    if side != "context":
        raise InputError(f"side is {side!r}; expected 'rows' or 'context'")
    if not emb.two_sided:
        raise InputError("side is 'context', but this embedding has one side only")
    return emb.context


def read_vectors(
    path: str | os.PathLike[str], format: str | None = None, *, mmap: bool = False, index: bool = False
) -> Embedding:
    """Read named vectors; the format is detected from the content, then from the extension.

    Parameters
    ----------
    path : path-like
        ``-`` reads standard input.
    format : str, optional
    mmap : bool
        Leave the vectors on disk and read pages as they are used (own format and npy).
    index : bool
        Read the search index too, if the file has one (own format).
    """
    from softvec.embedding.files.record import check_record

    if format is not None:
        format_of("x", format)  # an unknown name is an error before anything is read
    if os.fspath(path) != "-" and Path(path).is_dir():
        from softvec.embedding.files import parts

        emb = parts.read(path, mmap=mmap)
    else:
        emb = _read_file(path, format, mmap=mmap, index=index)
    name = "standard input" if os.fspath(path) == "-" else os.fspath(path)
    check_record(emb.provenance, emb.n_components, name)
    return emb


def _read_file(path: str | os.PathLike[str], format: str | None, *, mmap: bool, index: bool) -> Embedding:
    from softvec.embedding.files import svec, tables, tensors, word2vec

    source = _source(path)
    try:
        chosen = format or _sniff(source, os.fspath(path))
        if chosen == "softvec":
            return svec.read(source, mmap=mmap, index=index)
        if chosen == "safetensors":
            return tensors.read(source)
        if chosen in ("word2vec", "word2vec-binary"):
            return word2vec.read(source, binary=chosen == "word2vec-binary")
        return tables.read(source, chosen, mmap=mmap)
    except DuplicateName as error:
        raise InputError(f"{title(source)}: {error}") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{title(source)} is a damaged or truncated gzip file: {error}") from error


def _source(path: str | os.PathLike[str]) -> Path | io.BytesIO:
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


def written(path: str | os.PathLike[str], *others: Path) -> list[Path]:
    """Return the files that a writer wrote, none for standard output."""
    return [] if os.fspath(path) == "-" else [Path(path), *others]


def title(source: Path | io.BytesIO) -> str:
    """Return the name of a source in messages."""
    return str(source) if isinstance(source, Path) else "standard input"


def _sniff(source: Path | io.BytesIO, name: str) -> str:
    with open_source(source) as file:
        head = file.read(4096)
    if head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return "softvec"
    if head[:4] == b"PAR1":
        return "parquet"
    if head[:6] == b"ARROW1":
        return "feather"
    if head[:6] == b"\x93NUMPY":
        return "npy"
    if head[4:9] == b"\0\0\0\0{":  # a 64-bit length below 4 GiB, then JSON
        return "safetensors"
    extension = os.path.splitext(name.removesuffix(".gz"))[1].lower()
    by_name = EXTENSIONS.get(extension)
    if by_name in ("csv", "tsv", "word2vec-binary"):
        return by_name
    if by_name in ("softvec", "parquet", "feather", "safetensors", "npy"):
        raise InputError(f"{title(source)} is not a {by_name} file: it is truncated, or has the wrong name")
    return "word2vec-binary" if _looks_binary(head) else "word2vec"


def _looks_binary(head: bytes) -> bool:
    """Whether this is word2vec's binary format: a header of two numbers, then bytes that are not text."""
    first, _, rest = head.partition(b"\n")
    if len(first.split()) != 2 or not all(part.isdigit() for part in first.split()):
        return False
    line, _, _ = rest.partition(b"\n")
    numbers = line.split(b" ")[1:]
    if len(rest) > len(line):
        numbers = numbers[-min(int(first.split()[1]), len(numbers)) :]
    else:
        numbers = numbers[:-1]  # the last number is cut off where the head ends
    try:
        if numbers and all(np.isfinite(float(part)) for part in numbers if part.strip()):
            return False
    except ValueError:
        pass
    return any(byte < 9 or 13 < byte < 32 for byte in rest) or not _is_text(rest)


def _is_text(head: bytes) -> bool:
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return error.start > len(head) - 4  # a character cut at the end of the head
    return True
