"""Formats of names and numbers alone, which many programs read.

Text has a name and its numbers on each line: csv, and word2vec's format, which GloVe, fastText and gensim
share; there a name ends at the first space, so spaces in names are written as underscores. word2vec's binary
format has float32 instead. Two formats have the names in a second file: the tsv pair of TensorBoard's
projector, and npy. If all names are whole numbers, they are read as integers.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import sys
from collections.abc import Hashable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.checks import counted
from softvec.core.errors import InputError, printable
from softvec.core.files import atomic_write, locked
from softvec.embedding.core import Embedding
from softvec.embedding.files.common import npy_chunks, require_finite
from softvec.names import Names
from softvec.read.arrays import length_of, map_array, read_array
from softvec.read.streams import Source

Parsed = tuple[list[str], NDArray[np.float32]]
_SPACES = str.maketrans(dict.fromkeys(" \t\n\r", "_"))
_BREAKS = str.maketrans(dict.fromkeys("\t\n\r", " "))
_MOST_COLUMNS = 4096  # that Arrow parses or writes at once: each takes kilobytes
_MARK = b"\xef\xbb\xbf"  # of byte order
ROWS = 4096  # written at once
# the files of names that go with ``a.tsv`` and ``a.npy``; the first is written
_BESIDE = {"tsv": ("{0}_metadata{1}",), "npy": ("{0}_names.txt", "{0}_words.txt")}
_UNFINISHED = "softvec: the save of these names was interrupted"


# names


def text_names(names: Names, *, spaces: bool) -> list[str]:
    """Return names as unique text for a file; without ``spaces`` white space becomes underscores.

    Parts of a tuple are joined by ``@``: ``("ada", 3)`` is written ``ada@3``.
    """
    clean = [_as_text(name, spaces) for name in names]
    if len(set(clean)) < len(clean):
        seen: dict[str, Hashable] = {}
        for name, text in zip(names, clean):
            if text in seen:
                raise InputError(
                    f"the names {seen[text]!r} and {name!r} are both written {text!r} in this format; "
                    "rename one, or save as .svec or .parquet"
                )
            seen[text] = name
    return clean


def _as_text(name: Any, spaces: bool) -> str:
    text = "@".join(map(str, name)) if isinstance(name, tuple) else str(name)
    clean = text.translate(_BREAKS if spaces else _SPACES) or "_"
    return text if clean == text else clean  # one string a name, not two


def changed_names(names: Names, *, spaces: bool) -> str:
    """Return a note on names that are not read back as they were, "" if all are."""
    if names.kind == "integer":
        return ""
    texts = [_as_text(name, spaces) for name in names]
    changed = [(name, text) for name, text in zip(names, texts) if text != name]
    if changed:
        (name, text), *_ = changed
        return f"{counted(len(changed), 'name')} changed (first: {name!r} is written {text!r})"
    digits = len(texts) > 0 and all(map(_is_integer, texts))
    return "all names are digits, and will be read as integers" if digits else ""


def parse_names(texts: list[str]) -> Names:
    """Return names from text: integers if all are whole numbers as Python would print them.

    >>> parse_names(["3", "-1"])[0], parse_names(["3", "01"])[0]
    (3, '3')
    """
    if texts and all(map(_is_integer, texts)):
        return Names([int(text) for text in texts])
    return Names(texts)


def _is_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    plain = digits.isascii() and digits.isdigit() and len(digits) < 19
    return plain and (digits[0] != "0" or text == "0")


# writing


@contextmanager
def _atomic_maybe_gzip(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
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
    import pyarrow.csv as arrow_csv

    n, d = V.shape
    wide = d > _MOST_COLUMNS  # then all numbers in one column
    columns = [V.reshape(-1)] if wide else [np.ascontiguousarray(V[:, j]) for j in range(d)]
    table = pa.table({str(j): column for j, column in enumerate(columns)})
    sink = io.BytesIO()
    arrow_csv.write_csv(table, sink, arrow_csv.WriteOptions(include_header=False, delimiter=delimiter))
    lines = sink.getvalue().split(b"\n")[:-1]
    if not wide:
        return lines
    return [delimiter.encode().join(lines[i * d : (i + 1) * d]) for i in range(n)]


def write(emb: Embedding, path: str | os.PathLike[str], format: str) -> None:
    """Write one side."""
    (_write_pair if format in _BESIDE else _write_lines)(emb, path, format)


def _write_lines(emb: Embedding, path: str | os.PathLike[str], format: str) -> None:
    """Write csv, or word2vec's text or binary format."""
    as_csv, binary = format == "csv", format == "word2vec-binary"
    names = text_names(emb.names, spaces=as_csv)
    if os.fspath(path) == "-" and sys.stdout.isatty():
        names = [printable(name) for name in names]  # control codes escaped
    if as_csv and emb.names.kind != "integer":
        names = [f'"{name.replace(chr(34), chr(34) * 2)}"' for name in names]
    n, d = emb.vectors.shape
    header = ",".join(['"name"', *(f'"{j}"' for j in range(d))]) if as_csv else f"{n} {d}"
    mark = "," if as_csv else " "
    with _atomic_maybe_gzip(path) as file:
        file.write(header.encode() + b"\n")
        for lo in range(0, n, ROWS):
            V = np.ascontiguousarray(emb.vectors[lo : lo + ROWS], "<f4")
            lines = [row.tobytes() for row in V] if binary else number_lines(V, mark)
            starts = [f"{name}{mark}".encode() for name in names[lo : lo + ROWS]]
            file.write(b"".join(b"%s%s\n" % pair for pair in zip(starts, lines)))


def _beside(path: str | os.PathLike[str], format: str) -> list[Path]:
    file = Path(path)
    return [file.with_name(name.format(file.stem, file.suffix)) for name in _BESIDE[format]]


def _write_pair(emb: Embedding, path: str | os.PathLike[str], format: str) -> None:
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


# reading


def read(source: Source, format: str, mmap: bool) -> Embedding:
    """Read one side; a pair without a file of names has numbered rows."""
    texts: list[str] | None = None
    with source.seekable() as file:
        if format == "npy":
            vectors = _read_npy(source, file, mmap)
        elif format == "tsv":
            vectors = _read_tsv(file, source.name)
        else:
            parse = {"csv": _read_csv, "word2vec": _read_text, "word2vec-binary": _read_binary}[format]
            texts, vectors = parse(file, source.name)
    if not isinstance(vectors, np.memmap):  # a mapped file is left unread
        require_finite(vectors, source.name, texts)
    if texts is None:
        texts = _names_beside(source, format, len(vectors))
    names = Names.range(len(vectors)) if texts is None else parse_names(texts)
    return Embedding(vectors, names, copy=False)


def header_of(line: bytes) -> tuple[int, int] | None:
    """Return the number of vectors and of dimensions in a first line, None if it is no such line."""
    parts = line.split()
    if len(parts) == 2 and all(part.isdigit() and len(part) < 19 for part in parts):
        return int(parts[0]), int(parts[1])
    return None


def _read_binary(file: IO[bytes], name: str) -> Parsed:
    header = header_of(file.readline(64))
    if header is None or not header[1]:
        raise InputError(f"{name} is not a word2vec binary file: its first line is not two numbers above 0")
    n, d = header
    data = file.read()
    if len(data) < n * (4 * d + 1) or (data and not n):
        raise InputError(
            f"{name} is damaged: it declares {n:,} vectors of {d} numbers, but {len(data):,} bytes follow"
        )
    vectors = np.empty((n, d), np.float32)
    texts = []
    at = 0
    for i in range(n):
        space = data.find(b" ", at)
        stop = space + 1 + 4 * d
        if space < 0 or stop > len(data):
            raise InputError(f"{name} is truncated: it ends in vector {i + 1:,} of {n:,}")
        try:
            texts.append(data[at:space].lstrip(b"\n").decode("utf-8", "surrogatepass"))
        except UnicodeDecodeError:
            raise InputError(f"{name}: the name of vector {i + 1:,} is not UTF-8") from None
        vectors[i] = np.frombuffer(data, "<f4", d, space + 1)
        at = stop
    return texts, vectors


def _read_text(file: IO[bytes], name: str) -> Parsed:
    data = file.read().removeprefix(_MARK)
    first, _, rest = data.partition(b"\n")
    header = header_of(first)
    n, d = header or (-1, len(first.rstrip().split(b" ")) - 1)
    body = data if header is None else rest
    if d < 1 or (n and not body.strip()):
        raise InputError(f"{name} holds no vectors; expected lines of a name and numbers")
    texts, vectors = parse(body, d + 1, " ", name, line=1 if header is None else 2)
    if n >= 0 and len(texts) != n:
        raise InputError(f"{name} is truncated: its header declares {n:,} vectors, {len(texts):,} follow")
    return texts, vectors


def _read_csv(file: IO[bytes], name: str) -> Parsed:
    first, end, body = file.read().removeprefix(_MARK).partition(b"\n")
    header = next(csv.reader([first.decode()]))
    if not end:
        raise InputError(f"{name} is truncated: it ends in its header")
    if len(header) < 2:
        raise InputError(f"{name} has one column; expected names and numbers, separated by commas")
    at = header.index("name") if "name" in header else 0
    return parse(body, len(header), ",", name, at=at, line=2)


def parse(body: bytes, width: int, delimiter: str, name: str, *, at: int | None = 0, line: int = 1) -> Parsed:
    """Parse lines of ``width`` fields: numbers, and a name at ``at``.

    Arrow's parallel reader has ten times the speed of a loop over lines, which reads what it does not: very
    many columns, trailing spaces, spaces in names; and it finds the line of an error.
    """
    if not body.strip():
        return [], np.empty((0, width - (at is not None)), np.float32)
    try:
        if width > _MOST_COLUMNS:
            raise ValueError
        return _parse_columns(body, width, delimiter, at)
    except (ValueError, KeyError):  # Arrow's
        return _parse_lines(body, width, delimiter, at, (name, line))


def _parse_columns(body: bytes, width: int, delimiter: str, at: int | None) -> Parsed:
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    columns = [str(j) for j in range(width)]
    types = {column: pa.string() if j == at else pa.float32() for j, column in enumerate(columns)}
    quoted = delimiter == ","
    table = arrow_csv.read_csv(
        pa.BufferReader(body),
        arrow_csv.ReadOptions(column_names=columns, block_size=max(1 << 22, 64 * width)),
        arrow_csv.ParseOptions(delimiter=delimiter, quote_char='"' if quoted else False),
        arrow_csv.ConvertOptions(
            column_types=types, strings_can_be_null=False, null_values=None if quoted else []
        ),
    )
    texts = [] if at is None else table.column(at).to_pylist()
    numbers = table if at is None else table.remove_column(at)
    V = np.empty((table.num_rows, numbers.num_columns), np.float32)
    for j, column in enumerate(numbers.columns):
        V[:, j] = column.to_numpy()
    return texts, V


def _parse_lines(body: bytes, width: int, delimiter: str, at: int | None, place: tuple[str, int]) -> Parsed:
    name, first = place
    text = body.decode("latin-1")  # one character a byte: only names need be UTF-8
    lines = (row.rstrip(" \t\r\v\f").split(delimiter) for row in text.split("\n"))
    rows: Iterable[tuple[int, list[str]]] = enumerate(lines, start=first)
    if delimiter == ",":  # a quoted name may have several lines
        reader = csv.reader(io.StringIO(text, newline=""))
        rows = ((first - 1 + reader.line_num, row) for row in reader)
    d = width - (at is not None)
    texts: list[str] = []
    numbers: list[NDArray[np.float32]] = []
    for number, row in rows:
        if row in ([], [""]):
            continue
        where = f"{name}, line {number:,}"
        if len(row) < width:
            raise InputError(f"{where}: {len(row) - width + d} numbers, but the first line declares {d:,}")
        if at is not None:
            stop = at + 1 + (len(row) - width if delimiter == " " else 0)  # a name with spaces
            try:
                texts.append(delimiter.join(row[at:stop]).encode("latin-1").decode("utf-8", "surrogatepass"))
            except UnicodeDecodeError:
                raise InputError(f"{where}: the name is not UTF-8") from None
            del row[at:stop]
        try:
            numbers.append(np.array(row, np.float32).reshape(d))
        except ValueError:
            raise InputError(f"{where}: expected a name and numbers (to embed data: softvec embed)") from None
    return texts, np.array(numbers, np.float32).reshape(len(numbers), d)


def _read_tsv(file: IO[bytes], name: str) -> NDArray[np.float32]:
    data = file.read()
    try:
        return parse(data, 1 + data.partition(b"\n")[0].count(b"\t"), "\t", name, at=None)[1]
    except InputError:
        raise InputError(
            f"{name} holds text, or rows of different lengths; the vectors of a projector pair are numbers "
            "only (the names are in the *_metadata.tsv file beside it)"
        ) from None


def _read_npy(source: Source, file: IO[bytes], mmap: bool) -> NDArray[np.float32]:
    if mmap and source.path is not None and source.compression is None:
        V = map_array(source.path, source.name)
    else:
        V = read_array(file, length_of(file), source.name)
    if V.ndim != 2 or V.dtype.kind not in "fiu":
        raise InputError(f"{source.name} holds {V.dtype} of shape {V.shape}; expected rows of numbers")
    with np.errstate(over="ignore"):  # what is too large for float32 is refused as infinite
        return V if V.dtype == np.float32 else V.astype(np.float32)


def _names_beside(source: Source, format: str, n: int) -> list[str] | None:
    """Return the n names in the file beside one of vectors, None if there is none."""
    files = [] if source.path is None else _beside(source.path, format)
    beside = next((file for file in files if file.is_file()), None)
    if beside is None:
        return None
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
    names = lines[:-1] if lines[-1] == "" else lines
    if format == "tsv" and len(names) == n + 1:
        names = names[1:]  # a table of several columns has a header
    if len(names) != n:
        raise InputError(
            f"{source.name} holds {n:,} vectors, but the file of names beside it holds {len(names):,}"
        )
    return names
