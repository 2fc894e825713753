"""Blocks of names: tokens of text in a buffer, and rows collected in large pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.scratch import empty, on_disk
from softvec.names import storage

Codes = NDArray[np.int32]


@dataclass(frozen=True)
class Tokens:
    """Names as bytes: name (row, c) is ``buf[starts[row, c]:ends[row, c]]``."""

    buf: NDArray[np.uint8]
    starts: NDArray[np.integer]  # (rows, columns)
    ends: NDArray[np.integer]  # (rows, columns)
    hashes: NDArray[np.uint64]  # (rows, columns)

    @classmethod
    def hashed(cls, buf: NDArray[np.uint8], starts: NDArray[np.integer], ends: NDArray[np.integer]) -> Tokens:
        """Return tokens with their hashes."""
        from softvec.kernels import names

        hashes = np.empty(starts.shape, np.uint64)
        names.hash_tokens(buf, starts, ends, hashes)
        return cls(buf, starts, ends, hashes)

    @classmethod
    def of_strings(cls, rows: Sequence[Sequence[Any]]) -> Tokens:
        """Return rows of strings as tokens."""
        packed = storage.pack([name for row in rows for name in row])
        shape = (len(rows), -1 if len(rows) else 1)
        return cls.hashed(packed.data, packed.offsets[:-1].reshape(shape), packed.offsets[1:].reshape(shape))

    def to_strings(self) -> list[tuple[str, ...]]:
        """Return the rows as tuples of strings."""
        data = self.buf.tobytes()
        spans = zip(self.starts.tolist(), self.ends.tolist())
        return [tuple(str(data[lo:hi], "utf-8") for lo, hi in zip(*row)) for row in spans]

    @classmethod
    def of_integers(cls, ids: NDArray[np.integer]) -> Tokens:
        """Return integers as tokens of their decimal digits."""
        width = 20  # of -2**63, the longest
        text = ids.reshape(-1).astype(f"S{width}")
        starts = (np.arange(ids.size) * width).reshape(ids.shape)
        lengths = np.char.str_len(text).reshape(ids.shape)
        return cls.hashed(text.view(np.uint8), starts, starts + lengths)


class Segments:
    """Rows collected in large pieces of equal length, which avoids memory fragmentation.

    Segments with equally many rows are cut at the same rows.
    """

    ROWS = 1 << 22  # 32 MB at 8 bytes per row: the allocator returns pieces of this size to the system
    ROWS_ON_DISK = 1 << 24  # each piece is an open file, and a process may only open about a thousand

    def __init__(self) -> None:
        self.parts: list[NDArray[Any]] = []
        self._used = self._rows = 0

    def add(self, block: NDArray[Any]) -> None:
        """Append rows; a wider dtype widens the current piece."""
        done = 0
        while done < len(block):
            if self._used == self._rows:
                self._rows = self.ROWS_ON_DISK if on_disk() and len(self.parts) > 3 else self.ROWS
                self.parts.append(empty((self._rows, *block.shape[1:]), block.dtype))
                self._used = 0
            wide = np.promote_types(self.parts[-1].dtype, block.dtype)
            if wide != self.parts[-1].dtype:
                grown = empty(self.parts[-1].shape, wide)
                grown[: self._used] = self.parts[-1][: self._used]
                self.parts[-1] = grown
            size = min(len(block) - done, self._rows - self._used)
            self.parts[-1][self._used : self._used + size] = block[done : done + size]
            self._used += size
            done += size

    def finish(self) -> list[NDArray[Any]]:
        """Return the pieces and reset this object."""
        parts, self.parts = self.parts, []
        if parts:
            parts[-1] = parts[-1][: self._used]
        self._used = self._rows = 0
        return parts
