"""The text and binary formats of word2vec, which gensim, fastText, GloVe and many others share.

A name ends at the first space, so spaces in names are written as underscores. If all names are whole numbers,
they are read as integers.
"""

from __future__ import annotations

import io
import os
from collections.abc import Hashable
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.checks import counted
from softvec.core.errors import InputError
from softvec.embedding.core import Embedding
from softvec.embedding.files.common import Options, atomic_maybe_gzip, for_terminal, require_finite, written
from softvec.names import Names
from softvec.read.streams import Source

_SPACES = str.maketrans(dict.fromkeys(" \t\n\r", "_"))
_BREAKS = str.maketrans(dict.fromkeys("\t\n\r", " "))
MOST_COLUMNS = 4096  # that Arrow parses or writes at once: each takes kilobytes


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
    if {"range", "integers"} & set(names.to_arrays()):
        return ""
    digits = len(names) > 0
    changed, first = 0, None
    for name in names:
        text = _as_text(name, spaces)
        digits = digits and _is_integer(text)
        if text != name:
            changed, first = changed + 1, (name, text) if first is None else first
    if first is not None:
        return f"{counted(changed, 'name')} changed (first: {first[0]!r} is written {first[1]!r})"
    return "all names are digits, and will be read as integers" if digits else ""


def parse_names(texts: list[str]) -> Names:
    """Return names from text: integers if all are whole numbers as Python would print them.

    >>> parse_names(["3", "-1"])[0], parse_names(["3", "01"])[0]
    (3, '3')
    """
    if texts and all(_is_integer(text) for text in texts):
        return Names([int(text) for text in texts])
    return Names(texts)


def _is_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    plain = digits.isascii() and digits.isdigit() and len(digits) < 19
    return plain and (digits[0] != "0" or text == "0")


def number_lines(V: NDArray[np.float32], delimiter: str) -> list[bytes]:
    """Return the rows as text, each number in the fewest digits that read back as the same float32.

    Arrow formats 7 million numbers a second, three times what Python's ``%`` does.
    """
    import pyarrow as pa
    import pyarrow.csv as csv

    n, d = V.shape
    wide = d > MOST_COLUMNS  # then all numbers in one column
    columns = [V.reshape(-1)] if wide else [np.ascontiguousarray(V[:, j]) for j in range(d)]
    table = pa.table({str(j): column for j, column in enumerate(columns)})
    sink = io.BytesIO()
    csv.write_csv(table, sink, csv.WriteOptions(include_header=False, delimiter=delimiter))
    lines = sink.getvalue().split(b"\n")[:-1]
    if not wide:
        return lines
    return [delimiter.encode().join(lines[i * d : (i + 1) * d]) for i in range(n)]


def write(emb: Embedding, path: str | os.PathLike[str], options: Options) -> list[Path]:
    """Write one side in word2vec's text or binary format."""
    names = for_terminal(text_names(emb.names, spaces=False), path)
    n, d = emb.vectors.shape
    with atomic_maybe_gzip(path) as file:
        file.write(f"{n} {d}\n".encode())
        for lo in range(0, n, 4096):
            block = np.ascontiguousarray(emb.vectors[lo : lo + 4096], dtype="<f4")
            encoded = [name.encode() for name in names[lo : lo + 4096]]
            if options.format == "word2vec-binary":
                file.write(b"".join(b"%s %s\n" % (a, v.tobytes()) for a, v in zip(encoded, block)))
                continue
            file.write(b"".join(b"%s %s\n" % pair for pair in zip(encoded, number_lines(block, " "))))
    return written(path)


def read(source: Source, options: Options) -> Embedding:
    """Read word2vec's text format (with or without its header line, as GloVe's) or the binary one."""
    parse = _read_binary if options.format == "word2vec-binary" else _read_text
    with source.seekable() as file:
        texts, vectors = parse(file, source.name)
    require_finite(vectors, source.name, texts)
    return Embedding(vectors, parse_names(texts), copy=False)


def _header(line: bytes) -> tuple[int, int] | None:
    parts = line.split()
    if len(parts) == 2 and all(part.isdigit() and len(part) < 19 for part in parts):
        return int(parts[0]), int(parts[1])
    return None


def _read_binary(file: IO[bytes], name: str) -> tuple[list[str], NDArray[np.float32]]:
    header = _header(file.readline(64))
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
    if n == 0 < d and not body.strip():
        return [], np.empty((0, d), np.float32)
    if d < 1 or not body.strip():
        raise InputError(f"{name} holds no vectors; expected lines of a name and numbers")
    try:
        if d > MOST_COLUMNS:
            raise ValueError
        texts, vectors = parse_columns(body, d + 1, 0, " ")
    except (ValueError, KeyError):  # Arrow's: trailing spaces, names with spaces, or an error to locate
        texts, vectors = _parse_lines(body, d, line, name)
    if n >= 0 and len(texts) != n:
        raise InputError(f"{name} is truncated: its header declares {n:,} vectors, {len(texts):,} follow")
    return texts, vectors


def parse_columns(
    data: bytes, width: int, at: int, delimiter: str, **reading: Any
) -> tuple[list[str], NDArray[np.float32]]:
    """Parse columns of numbers, and one of names at ``at``, with Arrow's parallel reader.

    It has ten times the speed of a loop over lines.
    """
    import pyarrow as pa
    import pyarrow.csv as csv

    columns = [str(j) for j in range(width)]
    types = {column: pa.string() if j == at else pa.float32() for j, column in enumerate(columns)}
    quoted = delimiter == ","
    table = csv.read_csv(
        pa.BufferReader(data),
        csv.ReadOptions(column_names=columns, block_size=max(1 << 22, 64 * width), **reading),
        csv.ParseOptions(delimiter=delimiter, quote_char='"' if quoted else False),
        csv.ConvertOptions(column_types=types, strings_can_be_null=False, null_values=None if quoted else []),
    )
    V = np.empty((table.num_rows, width - 1), np.float32)
    for j, column in enumerate(columns[:at] + columns[at + 1 :]):
        V[:, j] = table.column(column).to_numpy()
    return table.column(at).to_pylist(), V


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
