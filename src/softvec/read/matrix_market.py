"""Matrix Market files: a header, a line of sizes, then one entry per line.

SciPy's ``mmread`` crashes on zero bytes and on truncated files, so the text is checked here and parsed in
blocks by Arrow's CSV reader.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.core.errors import InputError
from softvec.read.arrays import check_shape
from softvec.read.dialect import Dialect
from softvec.read.edgelist import cleaned, split_columns
from softvec.read.objects import Graph
from softvec.read.streams import Source, text_blocks

_FIELDS = {"real": "f8", "double": "f8", "integer": "i8", "unsigned-integer": "i8", "pattern": ""}
_SYMMETRIES = ("general", "symmetric", "skew-symmetric")


def read_matrix_market(source: Source) -> Graph:
    """Read a Matrix Market file; its header says whether it is symmetric."""
    blocks = text_blocks(source)
    block, line = next(blocks, (b"", 1))
    first, _, rest = block.partition(b"\n")
    words = first.decode("utf-8", "replace").lower().split()
    if (
        len(words) != 5
        or words[:2] != ["%%matrixmarket", "matrix"]
        or words[2] not in ("coordinate", "array")
    ):
        raise InputError(
            f"{source.name}, line 1: {' '.join(words)!r} is not the header of a Matrix Market file"
        )
    field, symmetry = words[3:]
    if field == "complex" or symmetry == "hermitian":
        raise InputError(f"{source.name} holds complex numbers; affinities are real and >= 0")
    if field not in _FIELDS or symmetry not in _SYMMETRIES or (words[2] == "array" and field == "pattern"):
        raise InputError(f"{source.name}, line 1: unknown Matrix Market header {' '.join(words[2:])!r}")
    body = _Body(source.name, chain([(rest, line + 1)], blocks))
    if words[2] == "array":
        matrix: Any = _array(body, _FIELDS[field], symmetry, source)
    else:
        matrix = _coordinate(body, _FIELDS[field], symmetry, source)
    return Graph(sparse.csr_array(matrix), directed=False if symmetry == "symmetric" else None)


class _Body:
    """The lines after the header: the sizes, then blocks of entries."""

    def __init__(self, name: str, blocks: Iterator[tuple[bytes, int]]):
        self.name, self._blocks = name, blocks

    def sizes(self, count: int) -> list[int]:
        """Skip comments and blank lines; return the whole numbers of the line of sizes."""
        for block, line in self._blocks:
            at = 0
            while at < len(block):
                end = block.find(b"\n", at) + 1 or len(block)
                text = block[at:end].strip()
                line += 1
                at = end
                if not text or text.startswith(b"%"):
                    continue
                self._blocks = chain([(block[at:], line)], self._blocks)
                parts = text.split()
                if len(parts) != count or not all(part.isdigit() and len(part) < 19 for part in parts):
                    raise InputError(
                        f"{self.name}, line {line - 1}: {text[:60].decode('utf-8')!r} is not a line of "
                        f"{count} sizes"
                    )
                return [int(part) for part in parts]
        raise InputError(f"{self.name} is truncated: it has no line of sizes")

    def columns(self, types: list[str]) -> list[NDArray[Any]]:
        """Return the columns of all remaining lines."""
        parts: list[list[NDArray[Any]]] = [[np.empty(0, kind)] for kind in types]
        for block, line in self._blocks:
            for column, values in zip(parts, self._parse(block, line, types)):
                column.append(values)
        return [np.concatenate(column) for column in parts]

    def _parse(self, block: bytes, line: int, types: list[str]) -> list[NDArray[Any]]:
        import pyarrow as pa

        dialect = Dialect(0, b"%", n_fields=len(types))
        columns = {str(at): at for at in range(len(types))}
        kinds = {name: pa.from_numpy_dtype(np.dtype(types[at])) for name, at in columns.items()}
        text = cleaned(block, dialect)
        if not text.strip():
            return []
        try:
            return [column.to_numpy() for column in split_columns(text, dialect, columns, kinds).values()]
        except pa.ArrowInvalid:
            return self._by_lines(block, line, types)

    def _by_lines(self, block: bytes, line: int, types: list[str]) -> list[NDArray[Any]]:
        rows = []
        for number, raw in enumerate(block.split(b"\n"), start=line):
            fields = raw.split()
            if not fields or fields[0].startswith(b"%"):
                continue
            try:
                row = [np.dtype(kind).type(text.decode("ascii")) for text, kind in zip(fields, types)]
            except (ValueError, OverflowError):
                row = []
            if len(row) != len(types) or len(fields) != len(types):
                expected = {1: "a number", 2: "a row and a column", 3: "a row, a column and a value"}[
                    len(types)
                ]
                shown = raw[:60].decode("utf-8", "replace")
                raise InputError(f"{self.name}, line {number}: {shown!r}; expected {expected}")
            rows.append(row)
        return [np.array(column, kind) for column, kind in zip(zip(*rows), types)] if rows else []


def _coordinate(body: _Body, field: str, symmetry: str, source: Source) -> sparse.csr_array:
    n, m, entries = body.sizes(3)
    check_shape((n, m), source.size, source.name)
    i, j, *rest = body.columns(["i8", "i8", *([field] if field else [])])
    values = rest[0] if rest else np.ones(len(i))
    if len(i) != entries:
        raise InputError(f"{source.name} declares {entries:,} entries, but {len(i):,} follow")
    outside = (i < 1) | (i > n) | (j < 1) | (j > m)
    if outside.any():
        at = int(np.argmax(outside))
        raise InputError(f"{source.name}: entry {at + 1:,} is at {i[at]}, {j[at]}, outside {n:,} x {m:,}")
    i, j = i - 1, j - 1
    if symmetry != "general":
        _square(n, m, symmetry, source.name)
        mirror = i != j
        values = np.concatenate([values, values[mirror] * (1 if symmetry == "symmetric" else -1)])
        i, j = np.concatenate([i, j[mirror]]), np.concatenate([j, i[mirror]])
    return sparse.coo_array((values, (i, j)), shape=(n, m)).tocsr()


def _array(body: _Body, field: str, symmetry: str, source: Source) -> NDArray[Any]:
    """Read a dense matrix, stored by columns; of a symmetric one the part below the diagonal."""
    n, m = body.sizes(2)
    (values,) = body.columns([field])
    if symmetry != "general":
        _square(n, m, symmetry, source.name)
    strict = symmetry == "skew-symmetric"
    expected = n * m if symmetry == "general" else n * (n - 1) // 2 if strict else n * (n + 1) // 2
    if len(values) != expected:
        raise InputError(f"{source.name} declares {expected:,} numbers, but {len(values):,} follow")
    if symmetry == "general":
        return values.reshape((n, m), order="F")
    dense = np.zeros((n, n), values.dtype)
    column, row = np.triu_indices(n, int(strict))  # by columns of the lower part
    dense[row, column] = values
    dense[column, row] = -values if strict else values
    return dense


def _square(n: int, m: int, symmetry: str, name: str) -> None:
    if n != m:
        raise InputError(f"{name} is {symmetry}, but its shape is {n:,} x {m:,}")
