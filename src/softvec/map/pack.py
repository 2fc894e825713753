"""The data of a map as bytes: a JSON header and arrays as byte planes, compressed.

Layout, before gzip: ``b"SVM1"``, the length of the header (uint32, little-endian), the header (UTF-8 JSON),
the arrays one after another. ``header["arrays"][name]`` is ``[type, length, offset]``; offsets count from
the end of the header. A type is ``u1`` to ``u4`` (unsigned integers of 1 to 4 bytes), ``f4`` or ``f8``. An
array is stored as planes: all lowest bytes, then all second bytes, and so on, which compresses far better
than whole numbers one after another. Texts are one UTF-8 blob (``u1``) and their lengths in UTF-16 units, as
browsers count them.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"SVM1"
GRID = 65_535  # coordinates are whole numbers from 0 to this


class Packer:
    """Collects arrays and writes them after a header.

    Examples
    --------
    >>> packer = Packer()
    >>> packer.add("x", np.array([1, 2, 70_000]))
    'x'
    >>> packer.arrays["x"][:2]
    ['u3', 3]
    """

    def __init__(self) -> None:
        self.arrays: dict[str, list[Any]] = {}
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, name: str, values: NDArray[Any]) -> str:
        """Add an array of whole numbers from 0 or of floats; return its name."""
        values = np.ascontiguousarray(values).reshape(-1)
        if values.dtype.kind == "f":
            kind = f"f{values.dtype.itemsize}"
            planes = _planes(values.astype(values.dtype.newbyteorder("<")), values.dtype.itemsize)
        else:
            width = _width(int(values.max(initial=0)))
            kind = f"u{width}"
            planes = _planes(values.astype("<u4"), width)
        self.arrays[name] = [kind, len(values), self._size]
        self._parts.append(planes)
        self._size += len(planes)
        return name

    def add_texts(self, name: str, texts: Sequence[str]) -> str:
        """Add texts as the arrays ``name.text`` and ``name.length``; return ``name``."""
        joined = "".join(texts)
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        if joined and max(joined) > "\uffff":  # such characters count twice in UTF-16
            lengths = np.fromiter(map(_utf16_length, texts), np.int64, len(texts))
        blob = np.frombuffer(joined.encode("utf-8", "replace"), np.uint8)
        self.add(f"{name}.text", blob)
        self.add(f"{name}.length", lengths)
        return name

    def to_bytes(self, header: dict[str, object]) -> bytes:
        """Return the uncompressed bytes."""
        text = json.dumps(header | {"arrays": self.arrays}, ensure_ascii=True, allow_nan=False).encode()
        return b"".join([MAGIC, len(text).to_bytes(4, "little"), text, *self._parts])


def _width(largest: int) -> int:
    return max(1, (largest.bit_length() + 7) // 8)


def _planes(values: NDArray[Any], width: int) -> bytes:
    """Return the ``width`` low bytes of each value, transposed."""
    rows = values.view(np.uint8).reshape(len(values), values.dtype.itemsize)
    return np.ascontiguousarray(rows[:, :width].T).tobytes()


def _utf16_length(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text)


def encode(data: bytes) -> str:
    """Compress bytes and write them as base64; the same bytes give the same text."""
    return base64.b64encode(gzip.compress(data, 6, mtime=0)).decode("ascii")


def quantise(coordinates: NDArray[np.floating]) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Return x and y as integers 0..65535, on one scale, centred.

    Examples
    --------
    >>> x, y = quantise(np.array([[0.0, 0.0], [2.0, 1.0]]))
    >>> x.tolist(), y.tolist()
    ([0, 65535], [16384, 49151])
    """
    Z = np.asarray(coordinates, np.float64)
    if len(Z) == 0:
        return np.empty(0, np.uint16), np.empty(0, np.uint16)
    low, high = Z.min(axis=0), Z.max(axis=0)
    span = float((high - low).max()) or 1.0
    unit = (Z - (low + high) / 2) / span + 0.5
    whole = np.clip(np.rint(unit * GRID), 0, GRID).astype(np.uint16)
    return whole[:, 0], whole[:, 1]


def pack_cosines(cosines: NDArray[np.floating]) -> NDArray[np.uint16]:
    """Return cosines as integers 0..2000, thousandths above -1: the page shows three decimals."""
    return np.clip(np.rint((np.asarray(cosines, np.float64) + 1) * 1000), 0, 2000).astype(np.uint16)
