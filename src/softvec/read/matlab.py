"""MATLAB files of versions 5 to 7: matrices and names, with every size checked.

SciPy's compiled reader crashes on damaged variables (a segmentation fault in 2 of 100 files with a few bytes
changed), so the parts that matter are read in Python here: numeric and sparse matrices, text, and cells of
text. Other variables are listed, but not read.
"""

from __future__ import annotations

import math
import struct
import zlib
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.core.errors import InputError
from softvec.core.untrusted import check_expanded, most_expanded, reading
from softvec.operators.sparse import checked_csr
from softvec.read.arrays import check_shape, length_of

_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_TEXT = {2: "utf-8", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
_VERSION_4 = {0: 8, 1: 4, 2: 4, 3: 2, 4: 2, 5: 1}  # bytes a number, by the type
_FLOATS = {8: "f8", 4: "f4"}
_MATRIX, _COMPRESSED = 14, 15
_CELL, _CHAR, _SPARSE = 1, 4, 5
_CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
_COMPLEX, _LOGICAL = 0x08, 0x02


def read_variables(stream: IO[bytes], name: str) -> dict[str, Any]:
    """Return the variables of a MATLAB file by name.

    A numeric matrix is an ndarray, a sparse one a csr_array, text or a cell of text a list of strings; None
    stands for anything else.
    """
    stored = length_of(stream)
    with reading(name, "MATLAB file"):
        head = stream.read(128)
        order = {b"IM": "<", b"MI": ">"}.get(head[126:128])
        if order is None:
            raise InputError(f"{name} is not a readable MATLAB file: its header is damaged")
        variables: dict[str, Any] = {}
        spent = 0
        while tag := stream.read(8):
            kind, size = struct.unpack(order + "II", tag)
            body = stream.read(size)
            if len(body) < size:
                raise InputError(
                    f"{name} is truncated: a variable of {size:,} bytes ends after {len(body):,}"
                )
            if kind == _COMPRESSED:
                kind, body = _inflate(body, order, stored, name)
                spent += len(body)
                check_expanded(spent, stored, name, "its variables")
            if kind == _MATRIX:
                title, value = _variable(memoryview(body), order, stored, name)
                variables[title] = value
    return variables


def _inflate(body: bytes, order: str, stored: int, name: str) -> tuple[int, bytes]:
    most = most_expanded(stored)
    data = zlib.decompressobj().decompress(body, most + 1)
    check_expanded(len(data), stored, name, "a variable")
    kind, size = struct.unpack_from(order + "II", data)
    if len(data) < 8 + size:
        raise InputError(f"{name} is damaged: a variable of {size:,} bytes has {len(data) - 8:,}")
    return kind, data[8 : 8 + size]


def _elements(body: memoryview, order: str) -> list[tuple[int, memoryview]]:
    """Split the body of a matrix into its parts: (type, bytes)."""
    parts = []
    at = 0
    while at + 8 <= len(body):
        word, size = struct.unpack_from(order + "II", body, at)
        if word >> 16:  # a small element: its size, type and up to four bytes in one word
            kind, size = word & 0xFFFF, word >> 16
            start, end = at + 4, at + 8
            if size > 4:
                raise ValueError(f"a small element of {size} bytes")
        else:
            kind = word
            start = at + 8
            end = start + size + -size % 8
        if start + size > len(body):
            raise ValueError(f"an element of {size:,} bytes ends beyond its variable")
        parts.append((kind, body[start : start + size]))
        at = end
    return parts


def _variable(body: memoryview, order: str, stored: int, name: str) -> tuple[str, Any]:
    parts = _elements(body, order)
    if len(parts) < 3:
        raise ValueError("a variable without type, shape or name")
    flags = int(_numbers(parts[0], order)[0])
    shape = tuple(int(side) for side in _numbers(parts[1], order).tolist())
    title = bytes(parts[2][1]).decode("latin-1")
    kind, flags = flags & 0xFF, flags >> 8 & 0xFF
    rest = parts[3:]
    if len(shape) < 2 or min(shape) < 0:
        raise ValueError(f"the variable {title!r} has the shape {shape}")
    if kind == _SPARSE:
        return title, _sparse(rest, shape, flags, order, stored, f"{name}, variable {title!r}")
    if kind == _CHAR:
        return title, _strings(rest, shape, order)
    if kind == _CELL:
        return title, _cell(rest, order, stored, name)
    if kind in _CLASSES:
        return title, _dense(rest, shape, kind, flags, order)
    return title, None


def _numbers(part: tuple[int, memoryview], order: str) -> NDArray[Any]:
    kind, data = part
    if kind not in _NUMBERS:
        raise ValueError(f"numbers of the unknown type {kind}")
    return np.frombuffer(data, np.dtype(order + _NUMBERS[kind]))


def _dense(parts: list[Any], shape: tuple[int, ...], kind: int, flags: int, order: str) -> NDArray[Any]:
    stored = _numbers(parts[0], order)
    if len(stored) != math.prod(shape):
        raise ValueError(f"{len(stored):,} numbers for a matrix of shape {shape}")
    values = stored.astype(_CLASSES[kind])
    if flags & _COMPLEX:
        values = values + 1j * _numbers(parts[1], order).astype(np.float64)
    if flags & _LOGICAL:
        values = values != 0
    return values.reshape(shape, order="F")


def _sparse(
    parts: list[Any], shape: tuple[int, ...], flags: int, order: str, stored: int, name: str
) -> sparse.csr_array:
    check_shape(shape, stored, name)
    rows, starts, values = (_numbers(part, order) for part in parts[:3])
    values = values.astype(values.dtype.newbyteorder("="))
    if flags & _COMPLEX:
        values = values + 1j * _numbers(parts[3], order)
    if flags & _LOGICAL:
        values = values != 0
    n = int(starts[-1]) if len(starts) else 0  # MATLAB may reserve space for more entries
    data, indices = values[: max(0, n)], rows[: max(0, n)].astype(np.int64)
    return checked_csr(sparse.csc_array((data, indices, starts.astype(np.int64)), shape=shape), name)


def _strings(parts: list[Any], shape: tuple[int, ...], order: str) -> list[str]:
    """Return the rows of a matrix of characters, which is stored by columns."""
    if not math.prod(shape):
        return [""]
    kind, data = parts[0]
    if kind not in _TEXT:
        raise ValueError(f"text of the unknown type {kind}")
    suffix = "" if kind in (2, 16) else "-le" if order == "<" else "-be"
    text = bytes(data).decode(_TEXT[kind] + suffix)
    if len(text) != math.prod(shape):
        raise ValueError(f"{len(text):,} characters for text of shape {shape}")
    return [text[row :: shape[0]] for row in range(shape[0])]


def _cell(parts: list[Any], order: str, stored: int, name: str) -> list[str] | None:
    """Return a cell of texts (or of single numbers) as strings, None for a cell of anything else."""
    texts = []
    for kind, body in parts:
        inner = _elements(body, order)
        if kind != _MATRIX or len(inner) < 3 or (int(_numbers(inner[0], order)[0]) & 0xFF) == _CELL:
            return None  # no nested cells, whose depth a file could choose
        value = _variable(body, order, stored, name)[1]
        if isinstance(value, np.ndarray) and value.size == 1:
            value = [str(value.reshape(-1)[0])]
        if not isinstance(value, list) or len(value) != 1:
            return None
        texts += value
    return texts


def check_version_4(stream: IO[bytes], name: str) -> None:
    """Raise an error if a variable of a version 4 file declares more than the file can hold."""
    stored = length_of(stream)
    at = 0
    while at + 20 <= stored:
        stream.seek(at)
        head = stream.read(20)
        order = "<" if struct.unpack("<i", head[:4])[0] < 10_000 else ">"
        kind, rows, columns, imaginary, length = struct.unpack(order + "5i", head)
        width = _VERSION_4.get(kind // 10 % 10)
        size = rows * columns * (width or 0) * (2 if imaginary else 1)
        if width is None or min(rows, columns, length) < 0 or at + 20 + length + size > stored:
            raise InputError(f"{name} is damaged: a variable of {rows:,} x {columns:,} is cut short")
        if kind % 10 == 2 and rows:  # sparse: the last row holds the shape
            sides = []
            for column in range(2):
                stream.seek(at + 20 + length + ((column + 1) * rows - 1) * width)
                sides.append(int(np.frombuffer(stream.read(width), order + _FLOATS.get(width, "f8"))[0]))
            check_shape(tuple(sides), stored, name)
        at += 20 + length + size
    stream.seek(0)
