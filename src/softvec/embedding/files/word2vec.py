"""The text and binary formats of word2vec, which gensim, fastText, GloVe and many others share.

A name ends at the first space, so spaces in names are written as underscores. If all names are whole numbers,
they are read as integers.
"""

from __future__ import annotations

import gzip
import io
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError
from softvec.core.files import atomic_write
from softvec.embedding.core import Embedding
from softvec.embedding.files.formats import open_source, require_finite, title, written
from softvec.names import Names

if TYPE_CHECKING:
    from softvec.embedding.files.parts import Stored

_SPACES = str.maketrans(dict.fromkeys(" \t\n\r", "_"))


def text_names(names: Names, *, spaces: bool) -> list[str]:
    """Return names as unique text for a file; without ``spaces`` white space becomes underscores.

    Parts of a tuple are joined by ``@``: ``("ada", 3)`` is written ``ada@3``.
    """
    texts = ["@".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in names]
    bad = _SPACES if not spaces else {ord(c): " " for c in "\t\n\r"}
    written = ((text, text.translate(bad) or "_") for text in texts)
    clean = [text if text == new else new for text, new in written]  # one string a name, not two
    changed = sum(a != b for a, b in zip(texts, clean))
    if len(set(clean)) < len(clean):
        seen: dict[str, Any] = {}
        for name, text in zip(names, clean):
            if text in seen:
                raise InputError(
                    f"the names {seen[text]!r} and {name!r} are both written {text!r} in this format; "
                    "rename one, or save as .svec or .parquet"
                )
            seen[text] = name
    if changed and not spaces:
        example = next(a for a, b in zip(texts, clean) if a != b)
        warnings.warn(
            f"{changed:,} names hold white space, written as underscores (first: {example!r})", stacklevel=4
        )
    return clean


def parse_names(texts: list[str]) -> Names:
    """Return names from text: integers if all are whole numbers as Python would print them.

    >>> parse_names(["3", "-1"])[0], parse_names(["3", "01"])[0]
    (3, '3')
    """
    if all(_is_integer(text) for text in texts):
        return Names([int(text) for text in texts])
    return Names(texts)


def _is_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    plain = digits.isascii() and digits.isdigit() and len(digits) < 19
    return plain and (digits[0] != "0" or text == "0")


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


def number_lines(V: NDArray[np.float32], delimiter: str) -> list[bytes]:
    """Return the rows as text, each number in the fewest digits that read back as the same float32.

    Arrow formats 7 million numbers a second, three times what Python's ``%`` does.
    """
    import pyarrow as pa
    import pyarrow.csv as csv

    columns = {str(j): np.ascontiguousarray(V[:, j]) for j in range(V.shape[1])}
    sink = io.BytesIO()
    csv.write_csv(pa.table(columns), sink, csv.WriteOptions(include_header=False, delimiter=delimiter))
    return sink.getvalue().split(b"\n")[:-1]


def write(emb: Embedding | Stored, path: str | os.PathLike[str], *, binary: bool) -> list[Path]:
    """Write one side in word2vec's text or binary format."""
    names = text_names(emb.names, spaces=False)
    n, d = emb.vectors.shape
    with atomic_maybe_gzip(path) as file:
        file.write(f"{n} {d}\n".encode())
        for lo in range(0, n, 4096):
            block = np.ascontiguousarray(emb.vectors[lo : lo + 4096], dtype="<f4")
            encoded = [name.encode("utf-8", "surrogatepass") for name in names[lo : lo + 4096]]
            if binary:
                file.write(b"".join(b"%s %s\n" % (a, v.tobytes()) for a, v in zip(encoded, block)))
                continue
            file.write(b"".join(b"%s %s\n" % pair for pair in zip(encoded, number_lines(block, " "))))
    return written(path)


def read(source: Path | io.BytesIO, *, binary: bool) -> Embedding:
    """Read word2vec's text format (with or without its header line, as GloVe's) or the binary one."""
    with open_source(source) as file:
        texts, vectors = _read_binary(file, title(source)) if binary else _read_text(file, title(source))
    require_finite(vectors, title(source), texts)
    return Embedding(vectors, parse_names(texts), copy=False)


def _header(line: bytes) -> tuple[int, int] | None:
    parts = line.split()
    if len(parts) == 2 and all(part.isdigit() and len(part) < 19 for part in parts):
        return int(parts[0]), int(parts[1])
    return None


def _read_binary(file: IO[bytes], name: str) -> tuple[list[str], NDArray[np.float32]]:
    header = _header(file.readline(64))
    if header is None or 0 in header:
        raise InputError(f"{name} is not a word2vec binary file: its first line is not two numbers above 0")
    n, d = header
    data = file.read()
    if len(data) < n * (4 * d + 1):
        raise InputError(
            f"{name} is truncated: it declares {n:,} vectors of {d} numbers, but {len(data):,} bytes follow"
        )
    vectors = np.empty((n, d), np.float32)
    texts = []
    at = 0
    for i in range(n):
        space = data.find(b" ", at)
        stop = space + 1 + 4 * d
        if space < 0 or stop > len(data):
            raise InputError(f"{name} is truncated: it ends in vector {i + 1:,} of {n:,}")
        texts.append(_decode(data[at:space].lstrip(b"\n"), name, i))
        vectors[i] = np.frombuffer(data, "<f4", d, space + 1)
        at = stop
    return texts, vectors


def _decode(word: bytes, name: str, row: int) -> str:
    try:
        return word.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: the name of vector {row + 1:,} is not UTF-8 ({error.reason})") from error


def _read_text(file: IO[bytes], name: str) -> tuple[list[str], NDArray[np.float32]]:
    data = file.read().removeprefix(b"\xef\xbb\xbf")
    first, _, rest = data.partition(b"\n")
    header = _header(first)
    if header is not None:
        n, d = header
        if d and rest.strip():
            fields = len(rest.partition(b"\n")[0].split(b" "))
            if fields < d + 1:
                raise InputError(f"{name}, line 2: {fields - 1} numbers, but the header declares {d}")
        body, line = rest, 2
    else:
        body, line = data, 1
        d = len(first.rstrip().split(b" ")) - 1
        n = -1
    if d < 1 or not body.strip():
        raise InputError(f"{name} holds no vectors; expected lines of a name and numbers")
    try:
        texts, vectors = _parse_fast(body, d)
    except _Irregular:
        texts, vectors = _parse_lines(body, d, line, name)
    if n >= 0 and len(texts) != n:
        raise InputError(f"{name} is truncated: its header declares {n:,} vectors, {len(texts):,} follow")
    return texts, vectors


class _Irregular(Exception):
    """The file needs the line parser: trailing spaces, names with spaces, or an error to locate."""


def _parse_fast(body: bytes, d: int) -> tuple[list[str], NDArray[np.float32]]:
    """Parse with Arrow's parallel reader, ten times the speed of a loop over lines."""
    import pyarrow as pa
    import pyarrow.csv as csv

    columns = [str(j) for j in range(d + 1)]
    types = {column: pa.float32() for column in columns[1:]} | {"0": pa.string()}
    try:
        table = csv.read_csv(
            pa.BufferReader(body),
            read_options=csv.ReadOptions(column_names=columns, block_size=max(1 << 22, 64 * d)),
            parse_options=csv.ParseOptions(delimiter=" ", quote_char=False, escape_char=False),
            convert_options=csv.ConvertOptions(column_types=types, null_values=[], strings_can_be_null=False),
        )
        vectors = np.empty((table.num_rows, d), np.float32)
        for j in range(d):
            vectors[:, j] = table.column(j + 1).to_numpy()
        return table.column(0).to_pylist(), vectors
    except (pa.ArrowInvalid, pa.ArrowKeyError, UnicodeDecodeError) as error:
        raise _Irregular from error


def _parse_lines(body: bytes, d: int, line: int, name: str) -> tuple[list[str], NDArray[np.float32]]:
    texts, rows = [], []
    for number, raw in enumerate(body.split(b"\n"), start=line):
        parts = raw.rstrip().split(b" ")
        if parts == [b""]:
            continue
        if len(parts) < d + 1:
            raise InputError(
                f"{name}, line {number:,}: {len(parts) - 1} numbers after the name, expected {d}"
            )
        try:
            rows.append(np.array(parts[-d:], dtype=np.float32))
            texts.append(b" ".join(parts[:-d]).decode("utf-8", "surrogatepass"))
        except (ValueError, UnicodeDecodeError) as error:
            raise InputError(f"{name}, line {number:,}: {_reason(error)}") from error
    return texts, np.array(rows, dtype=np.float32).reshape(len(rows), d)


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "the name is not UTF-8"
    return "expected a name and numbers (to embed data: softvec embed)"
