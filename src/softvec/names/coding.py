"""Encode names as row numbers, block by block, in sorted order: integers ascending, text by its bytes.

The numbers depend on the names alone, not on the order of rows or files. If the ids are 0..n-1, row i is item
i and arrays of labels line up.

A :class:`NameCoder` takes blocks of one or two columns. There is one encoder for each kind of block: integers
(a lookup table if they are dense, else a hash table), tokens (UTF-8 bytes in a buffer, interned without
creating Python strings), and any Python objects (a dict).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError
from softvec.core.machine import ALONE, Machine
from softvec.core.scratch import Segments, empty
from softvec.core.threads import row_blocks
from softvec.names import Names
from softvec.names.storage import pack

_ROWS = 1 << 16  # per task of a thread
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
        packed = pack([name for row in rows for name in row])
        shape = (len(rows), -1 if len(rows) else 1)
        return cls.hashed(packed.data, packed.offsets[:-1].reshape(shape), packed.offsets[1:].reshape(shape))

    def to_strings(self) -> list[tuple[str, ...]]:
        """Return the rows as tuples of strings."""
        data = self.buf.tobytes()
        spans = zip(self.starts.tolist(), self.ends.tolist())
        return [tuple(str(data[lo:hi], "utf-8") for lo, hi in zip(*row)) for row in spans]


Block = Any  # Tokens, an integer array of shape (rows, columns), or a list of rows of names


class NameCoder:
    """Encodes blocks of any kind; if later blocks are of another kind, the names so far follow.

    Integers beside text are names in text. Objects other than text, beside anything, are kept as they are.

    Examples
    --------
    >>> coder = NameCoder()
    >>> coder.add(np.array([[7, 5], [5, 9]]))
    >>> coder.add([("x", "5")])
    >>> codes, names = coder.finish()
    >>> names.to_list(), np.concatenate(codes).tolist()
    (['5', '7', '9', 'x'], [[1, 0], [0, 2], [3, 0]])
    """

    def __init__(self, pool: Machine | None = None) -> None:
        self.pool = pool
        self._encoder: IntegerNames | TokenNames | ObjectNames | None = None

    @property
    def kind(self) -> type | None:
        """The kind of the blocks so far: Tokens, ndarray, list, or None."""
        return None if self._encoder is None else self._encoder.takes

    def add(self, block: Block) -> None:
        """Add a block of names."""
        if not isinstance(block, Tokens) and not len(block):
            return
        if isinstance(block, np.ndarray) and block.dtype.kind not in "iu":
            block = block.tolist()
        kind = type(block) if isinstance(block, Tokens | np.ndarray) else list
        if self._encoder is None:
            self._encoder = {each.takes: each for each in (TokenNames, IntegerNames, ObjectNames)}[kind]()
        elif kind is not self.kind:
            block = self._meet(block, self._encoder)
        if isinstance(self._encoder, TokenNames):
            self._encoder.pool = self.pool or ALONE
        self._encoder.add(block)

    def _meet(self, block: Block, encoder: IntegerNames | TokenNames | ObjectNames) -> Block:
        """Return a block as the kind of the names so far, or turn these into the kind of the block."""
        if isinstance(block, np.ndarray) and isinstance(encoder, TokenNames):  # digits become the names
            block = [tuple(map(str, row)) for row in block.tolist()]
        if isinstance(block, list) and all(isinstance(name, str) for row in block for name in row):
            block = Tokens.of_strings(block)
        if isinstance(block, Tokens) and encoder.may_be_text:
            if not isinstance(encoder, TokenNames):
                self._encoder = TokenNames.of(*encoder.finish())
            return block
        if isinstance(block, list) and not isinstance(encoder, ObjectNames):
            self._encoder = ObjectNames.of(*encoder.finish())
        if not isinstance(self._encoder, ObjectNames):
            return block
        return block.to_strings() if isinstance(block, Tokens) else list(map(tuple, block))

    def finish(self) -> tuple[list[Codes], Names]:
        """Return the codes of all blocks, in pieces of equal length, and the names; consumes this object."""
        codes, names = ([], Names.range(0)) if self._encoder is None else self._encoder.finish()
        if "" in (names[:1] if names.kind == "text" else names):  # in sorted order it is the first
            raise InputError("an edge has an empty name; fill it in, or drop the edge")
        return codes, names


class IntegerNames:
    """Encodes integers; they are numbered at the end, when their range is known."""

    takes = np.ndarray
    may_be_text = True

    def __init__(self) -> None:
        self._blocks = Segments()

    def add(self, ids: NDArray[np.integer]) -> None:
        """Add a block of shape (rows, columns)."""
        if ids.size:
            fits = int(ids.min()) >= -(2**31) and int(ids.max()) < 2**31
            self._blocks.add(ids.astype(np.int32 if fits else np.int64, copy=False))

    def finish(self) -> tuple[list[Codes], Names]:
        """Return the codes and the names, in ascending order."""
        blocks = self._blocks.finish()
        lowest = min((int(block.min()) for block in blocks), default=0)
        span = max((int(block.max()) for block in blocks), default=-1) - lowest + 1
        few = span <= 2 * sum(block.size for block in blocks)
        return self._by_table(blocks, lowest, span) if few else self._by_hash(blocks)

    @staticmethod
    def _by_table(blocks: list[Codes], lowest: int, span: int) -> tuple[list[Codes], Names]:
        """Look each integer up in a table of all that lie between the lowest and the highest."""
        rank = empty(span, np.int32, random=True)
        rank[:] = 0
        for block in blocks:
            for lo, hi in row_blocks(len(block), _ROWS):
                rank[np.subtract(block[lo:hi], lowest, dtype=np.int64)] = 1
        names = Names.from_integers(np.flatnonzero(rank) + lowest)
        np.cumsum(rank, out=rank)
        rank -= 1
        for b, ids in enumerate(blocks):
            blocks[b] = codes = ids if ids.dtype == np.int32 else empty(ids.shape, np.int32)
            for lo, hi in row_blocks(len(ids), _ROWS):
                codes[lo:hi] = rank[np.subtract(ids[lo:hi], lowest, dtype=np.int64)]
        return blocks, names

    @staticmethod
    def _by_hash(blocks: list[Codes]) -> tuple[list[Codes], Names]:
        """Number the integers of each block with Arrow's hash table, then those of all blocks."""
        import pyarrow as pa

        seen = [np.empty(0, np.int64)]
        for b, ids in enumerate(blocks):
            numbered = pa.array(ids.reshape(-1)).dictionary_encode()
            blocks[b] = codes = ids if ids.dtype == np.int32 else empty(ids.shape, np.int32)
            codes[:] = numbered.indices.to_numpy().reshape(ids.shape)
            seen.append(numbered.dictionary.to_numpy().astype(np.int64))
        values, numbers = np.unique(np.concatenate(seen), return_inverse=True)
        starts = np.cumsum(list(map(len, seen)))
        for codes, start in zip(blocks, starts):
            np.take(numbers[start:].astype(np.int32), codes, out=codes, mode="clip")
        return blocks, Names.from_integers(values)


def _renumbered(blocks: list[Codes], order: NDArray[np.int64]) -> list[Codes]:
    """Renumber codes in place: ``order[i]`` becomes i."""
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    for codes in blocks:
        np.take(rank, codes, out=codes, mode="clip")  # "raise" would buffer a copy
    return blocks


def byte_order(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the order of distinct names by their UTF-8 bytes, which is that of their code points.

    Eight bytes at a time are compared as one number; only names that are equal so far are sorted again.
    """
    from softvec.kernels import names as kernels

    n = len(offsets) - 1
    skip = kernels.common_prefix(data, offsets) if n > 1 else 0
    order, places = np.arange(n), np.arange(n)  # places whose names are still to be sorted
    group = np.zeros(n, dtype=np.int64)  # of names that are equal so far
    while len(places):
        rows = order[places]
        keys = np.empty(len(rows), np.uint64)
        kernels.byte_keys(data, offsets, rows, skip, keys)
        ended = offsets[rows + 1] - offsets[rows] <= skip  # bytes of value 0 apart: the shorter first
        if ended.all():
            keys = (offsets[rows + 1] - offsets[rows]).astype(np.uint64)
        by = np.lexsort((keys, group)) if group[-1] else np.argsort(keys)
        order[places], keys = rows[by], keys[by]
        same = (keys[1:] == keys[:-1]) & (group[1:] == group[:-1])
        tied = np.zeros(len(keys), dtype=bool)
        tied[1:] |= same
        tied[:-1] |= same
        group = np.cumsum(np.concatenate([[False], ~same]))[tied]
        places = places[tied]
        skip += 8
    return order


class TokenNames:
    """Encodes tokens of UTF-8 text; each block is numbered as it arrives.

    Threads look up known names, which are most of them after a few blocks; a single thread adds new names, so
    that numbers follow the order of appearance.
    """

    takes = Tokens
    may_be_text = True

    def __init__(self, pool: Machine | None = None) -> None:
        self.pool = pool or ALONE
        self._codes = Segments()
        self._table = np.zeros((2**14, 1), dtype=np.uint64)
        self._names = np.empty(2**17, dtype=np.uint8)
        self._offsets = np.zeros(2**13 + 1, dtype=np.int64)
        self.count = 0

    def add(self, tokens: Tokens) -> None:
        """Add a block of tokens."""
        self._codes.add(self.encode(tokens))

    def find(self, tokens: Tokens) -> Codes:
        """Return the numbers of a block's names, -1 for unknown ones."""
        from softvec.kernels import names

        codes = np.empty(tokens.hashes.shape, dtype=np.int32)

        def find_rows(lo: int, hi: int) -> None:
            names.find_tokens(
                tokens.buf, tokens.starts[lo:hi], tokens.ends[lo:hi], tokens.hashes[lo:hi], self._table,
                self._names[:, None], self._offsets[:, None], codes[lo:hi],
            )  # fmt: skip

        self.pool.map(find_rows, row_blocks(len(codes), _ROWS))
        return codes

    def encode(self, tokens: Tokens) -> Codes:
        """Return the numbers of a block's names, adding new ones."""
        from softvec.kernels import names

        codes = self.find(tokens)
        done = 0
        while True:
            done, self.count = names.intern_tokens(
                tokens.buf, tokens.starts, tokens.ends, tokens.hashes, done, self._table,
                self._names[:, None], self._offsets[:, None], self.count, codes,
            )  # fmt: skip
            if done == len(codes):
                return codes
            self._grow(int((tokens.ends[done] - tokens.starts[done]).sum()))

    def _grow(self, needed: int) -> None:
        from softvec.kernels import names

        used = int(self._offsets[self.count])
        if used + needed > len(self._names):
            self._names = np.concatenate([self._names, np.empty(len(self._names) + needed, np.uint8)])
        if self.count > len(self._table) // 2 - 4:
            if self.count > 2**30:
                raise InputError(f"more than {self.count:,} names; softvec uses 32-bit row numbers")
            self._offsets = np.concatenate([self._offsets, np.zeros(len(self._offsets), np.int64)])
            self._table = np.zeros((2 * len(self._table), 1), dtype=np.uint64)
            names.rehash(self._names, self._offsets, self.count, self._table)

    def packed(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return the names seen so far, in order of appearance, as bytes and offsets."""
        offsets = self._offsets[: self.count + 1]
        return self._names[: offsets[-1]], offsets

    def names(self, rows: NDArray[np.int64]) -> Names:
        """Return some of the names seen so far, in the order wanted."""
        return Names.from_utf8(*self.packed()).take(rows)

    @classmethod
    def of(cls, blocks: list[Codes], names: Names) -> TokenNames:
        """Return an encoder that has seen these blocks, with the names as text."""
        self = cls()
        data, offsets = names.to_strings()
        self.encode(Tokens.hashed(data, offsets[:-1, None], offsets[1:, None]))  # numbers them as they are
        for block in blocks:
            self._codes.add(block)
        return self

    def finish(self) -> tuple[list[Codes], Names]:
        """Return the codes and the names, in the order of their bytes."""
        self._table = self._table[:0]
        order = byte_order(*self.packed())
        return _renumbered(self._codes.finish(), order), self.names(order)


class ObjectNames:
    """Encodes any hashable Python objects."""

    takes = list

    def __init__(self) -> None:
        self._codes = Segments()
        self._table: dict[Hashable, int] = {}

    def add(self, rows: Sequence[Sequence[Hashable]]) -> None:
        """Add a block: rows of one or two names."""
        if not len(rows):
            return
        table = self._table
        try:
            flat = [table.setdefault(name, len(table)) for row in rows for name in row]
        except TypeError as error:
            raise InputError(f"a name is not hashable ({error}); use strings, numbers or tuples") from None
        self._codes.add(np.array(flat, dtype=np.int32).reshape(len(rows), -1))

    @classmethod
    def of(cls, blocks: list[Codes], names: Names) -> ObjectNames:
        """Return an encoder that has seen these blocks."""
        self = cls()
        self._table = {name: code for code, name in enumerate(names)}
        for block in blocks:
            self._codes.add(block)
        return self

    @property
    def may_be_text(self) -> bool:
        """Whether all names so far are text."""
        return all(isinstance(name, str) for name in self._table)

    def finish(self) -> tuple[list[Codes], Names]:
        """Return the codes and the names: numbers first, then text, then tuples, then anything else."""
        names = list(self._table)
        order = sorted(range(len(names)), key=lambda code: _sort_key(names[code]))
        codes = _renumbered(self._codes.finish(), np.array(order, dtype=np.int64))
        return codes, Names([names[code] for code in order])


def _sort_key(name: Any) -> tuple[Any, ...]:
    if isinstance(name, int | float | np.number):
        return (0, name)
    if isinstance(name, str):
        return (1, name)
    if isinstance(name, tuple):
        return (2, tuple(map(_sort_key, name)))
    shown = name.isoformat() if hasattr(name, "isoformat") else repr(name)  # dates in order of time
    return (3, type(name).__name__, shown)
