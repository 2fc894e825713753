"""Matrix Market files: a header, a line of sizes, then one entry per line.

SciPy's ``mmread`` crashes on zero bytes and on truncated files, so the text is checked here and parsed in
blocks by Arrow's CSV reader.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.core.errors import InputError
from softvec.read.arrays import check_shape
from softvec.read.dialect import Dialect
from softvec.read.objects import Graph
from softvec.read.streams import Source, text_blocks
from softvec.read.text_table import TextBlock

_FIELDS = {"real": "f8", "double": "f8", "integer": "i8", "unsigned-integer": "i8", "pattern": ""}
_DIRECTED = {"general": None, "symmetric": False, "skew-symmetric": None}
_SIZES = {"coordinate": 3, "array": 2}  # numbers of the line of sizes
_HEADER = re.compile("%%matrixmarket matrix (coordinate|array) [^ ]+ [^ ]+")
_START = re.compile(rb"([^\n]*)\n?((?:[ \t\r]*(?:%[^\n]*)?\n)*)([^\n]*)\n?")  # header, comments, sizes


def read_matrix_market(source: Source) -> Graph:
    """Read a Matrix Market file; its header says whether it is symmetric."""
    blocks = text_blocks(source)
    block, _ = next(blocks, (b"", 1))
    parts = _START.match(block)
    assert parts is not None  # it matches any text
    words = parts[1].decode("utf-8", "replace").lower().split()
    if _HEADER.fullmatch(" ".join(words)) is None:
        raise InputError(
            f"{source.name}, line 1: {' '.join(words)!r} is not the header of a Matrix Market file"
        )
    layout, field, symmetry = words[2:]
    if field == "complex" or symmetry == "hermitian":
        raise InputError(f"{source.name} holds complex numbers; affinities are real and >= 0")
    known = field in _FIELDS and symmetry in _DIRECTED
    if not known or (layout, field) == ("array", "pattern"):
        raise InputError(f"{source.name}, line 1: unknown Matrix Market header {' '.join(words[2:])!r}")
    line = block.count(b"\n", 0, parts.start(3)) + 1
    shape = _sizes(parts[3], _SIZES[layout], source.name, line)
    rest = chain([(block[parts.end() :], line + 1)], blocks)
    dense, kind = layout == "array", _FIELDS[field]
    if not dense:
        check_shape(tuple(shape[:2]), source.size, source.name)
    if symmetry != "general" and shape[0] != shape[1]:
        raise InputError(f"{source.name} is {symmetry}, but its shape is {shape[0]:,} x {shape[1]:,}")
    columns = _columns(rest, [kind] if dense else ["i8", "i8", *filter(None, [kind])], source.name)
    build = _dense if dense else _sparse
    return Graph(build(columns, shape, symmetry, source.name), directed=_DIRECTED[symmetry])


def _sizes(text: bytes, count: int, name: str, line: int) -> list[int]:
    """Return the whole numbers of the line of sizes."""
    parts = text.split()
    if not parts:
        raise InputError(f"{name} is truncated: it has no line of sizes")
    if len(parts) != count or not all(part.isdigit() and len(part) < 19 for part in parts):
        shown = text.strip()[:60].decode("utf-8", "replace")
        raise InputError(f"{name}, line {line}: {shown!r} is not a line of {count} sizes")
    return [int(part) for part in parts]


def _columns(blocks: Iterable[tuple[bytes, int]], types: list[str], name: str) -> list[NDArray[Any]]:
    """Return the columns of the entries."""
    import pyarrow as pa

    dialect = Dialect(0, b"%", n_fields=len(types))
    kinds = {at: pa.from_numpy_dtype(np.dtype(kind)) for at, kind in enumerate(types)}
    parts: list[list[NDArray[Any]]] = [[np.empty(0, kind)] for kind in types]
    for text, line in blocks:
        block = TextBlock(text, line, dialect, name)
        try:
            columns = [column.to_numpy() for column in block.columns(kinds).values()]
        except pa.ArrowInvalid:
            columns = _by_lines(block, types)
        for part, column in zip(parts, columns):
            part.append(column)
    return [np.concatenate(part) for part in parts]


def _by_lines(block: TextBlock, types: list[str]) -> list[NDArray[Any]]:
    """Return the columns of lines that Arrow does not read, such as ``+1 2``; raise an error for others."""
    rows = []
    for number, raw in block.records():
        fields = raw.decode("utf-8", "replace").split()
        try:
            rows.append([np.dtype(kind).type(text) for text, kind in zip(fields, types, strict=True)])
        except (ValueError, OverflowError):
            expected = ("a number", "a row and a column", "a row, a column and a value")[len(types) - 1]
            shown = raw[:60].decode("utf-8", "replace")
            raise InputError(f"{block.name}, line {number}: {shown!r}; expected {expected}") from None
    return [np.array(column, kind) for column, kind in zip(zip(*rows), types)]


def _sparse(columns: list[NDArray[Any]], shape: list[int], symmetry: str, name: str) -> sparse.csr_array:
    n, m, entries = shape
    i, j, *rest = columns
    values = rest[0] if rest else np.ones(len(i))
    if len(i) != entries:
        raise InputError(f"{name} declares {entries:,} entries, but {len(i):,} follow")
    outside = (i < 1) | (i > n) | (j < 1) | (j > m)
    if outside.any():
        at = int(np.argmax(outside))
        raise InputError(f"{name}: entry {at + 1:,} is at {i[at]}, {j[at]}, outside {n:,} x {m:,}")
    i, j = i - 1, j - 1
    if symmetry != "general":
        mirror = i != j
        values = np.concatenate([values, values[mirror] * (1 if symmetry == "symmetric" else -1)])
        i, j = np.concatenate([i, j[mirror]]), np.concatenate([j, i[mirror]])
    return sparse.coo_array((values, (i, j)), shape=(n, m)).tocsr()


def _dense(columns: list[NDArray[Any]], shape: list[int], symmetry: str, name: str) -> sparse.csr_array:
    """Return a dense matrix, stored by columns; of a symmetric one the part below the diagonal."""
    (n, m), (values,) = shape, columns
    strict = symmetry == "skew-symmetric"
    expected = n * m if symmetry == "general" else n * (n - 1) // 2 if strict else n * (n + 1) // 2
    if len(values) != expected:
        raise InputError(f"{name} declares {expected:,} numbers, but {len(values):,} follow")
    if symmetry == "general":
        return sparse.csr_array(values.reshape((n, m), order="F"))
    dense = np.zeros((n, n), values.dtype)
    column, row = np.triu_indices(n, int(strict))  # by columns of the lower part
    dense[row, column] = values
    dense[column, row] = -values if strict else values
    return sparse.csr_array(dense)
