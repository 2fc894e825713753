"""Number names on several workers, with the numbers of a single process for any number of workers.

The hash of a name determines the worker that keeps it. While edges are read, names have a provisional code:
the keeper, and the number that the keeper gave. At the end all names are sorted, integers by value and text
by the position where it first occurs, which gives each its row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.cluster.seam import Group
from softvec.core.errors import InputError
from softvec.core.threads import Workers
from softvec.names import Names
from softvec.names.coding import IntegerTable, TokenNames, Tokens

Array = NDArray[Any]
RECENT = 1 << 19  # names in a worker's cache of codes, which is cleared when full
_SAMPLES = 256  # samples of each worker's keys, which split a global sort
_NOWHERE = np.iinfo(np.int64).max


def by_rank(owner: Array, size: int) -> tuple[Array, Array]:
    """Return the order that sorts entries by destination rank, and where those of each rank begin."""
    from softvec.kernels import shuffle

    counts, order = np.empty(size, np.int64), np.empty(len(owner), np.int64)
    shuffle.counting_order(owner, counts, order)
    return order, np.concatenate([[0], np.cumsum(counts)])


def cut(rows: Array, bounds: Array) -> list[Array]:
    """Cut an array at the bounds of ranks."""
    return [rows[lo:hi] for lo, hi in pairwise(bounds)]


class Space(ABC):
    """Names of one type: those that this worker keeps, and a cache of codes of those kept by others."""

    none: Any  # a block without names

    def __init__(self, group: Group, pool: Workers | None = None, recent: int = RECENT) -> None:
        self.group, self._pool, self._most = group, pool, recent
        self._kept = self._table()
        self._first = np.full(1 << 13, _NOWHERE)  # where each kept name first occurs
        self._forget()
        self.ids: Array = np.empty(0, np.int32)  # rows of the kept names, once they are numbered

    def _forget(self) -> None:
        self._recent: Any = self._table()
        self._codes = np.empty(1 << 13, np.int32)  # of the recent names

    def __len__(self) -> int:
        return self._kept.count

    @property
    def first(self) -> Array:
        """Where each kept name first occurs, until names are numbered."""
        return self._first[: len(self)]

    def add(self, names: Any, position: int) -> Array:
        """Return the provisional codes of a block of names that begins at ``position``.

        Collective; a worker without blocks left passes an empty one.
        """
        before = self._recent.count
        recent = self._recent.encode(names)  # (rows, columns)
        new = _first_met(recent.reshape(-1), before)
        while len(self._codes) < self._recent.count:
            self._codes = np.concatenate([self._codes, np.empty_like(self._codes)])
        self._codes[before : self._recent.count] = self.ask(names, new, new + position)
        codes = self._codes[recent]
        if self._recent.count > self._most:
            self._forget()
        return codes

    def ask(self, names: Any, chosen: Array, positions: Array) -> Array:
        """Return the codes of some names of a block from their keepers; collective."""
        size = self.group.size
        order, bounds = by_rank(self._owner(names, chosen), size)
        parts = self._messages(names, chosen[order], positions[order], bounds)
        received = [self._unpack(part) for part in self.group.exchange(parts)]
        asked = np.concatenate([[0], np.cumsum([len(where) for _, where in received])])
        numbers = self._kept.encode(self._joined([block for block, _ in received]))[:, 0]
        self._note_first(numbers, np.concatenate([where for _, where in received]))
        answers = self.group.exchange(cut(numbers, asked))
        codes = np.empty(len(chosen), np.int64)
        codes[order] = np.concatenate([part.astype(np.int64) * size + r for r, part in enumerate(answers)])
        return codes.astype(np.int32)  # they fit: see check_size

    def _note_first(self, numbers: Array, positions: Array) -> None:
        from softvec.kernels import shuffle

        while len(self._first) < len(self):
            self._first = np.concatenate([self._first, np.full(len(self._first), _NOWHERE)])
        shuffle.least(numbers, positions, self._first)

    def number(self, keys: Array) -> int:
        """Number all names by their distinct keys; return the number of names. Collective."""
        check_size(self.group.gather(len(self)))
        self._forget()
        ranks, total = global_ranks(self.group, keys)
        self.ids = ranks.astype(np.int32)
        self._first = np.empty(0, np.int64)
        return total

    def rows(self, codes: Array) -> Array:
        """Return the rows of provisional codes, of any shape. Collective."""
        size = self.group.size
        flat = codes.reshape(-1)
        order, bounds = by_rank(flat % size, size)
        asked = self.group.exchange(cut(flat[order] // size, bounds))
        answers = self.group.exchange([self.ids[part] for part in asked])
        rows = np.empty(len(flat), np.int32)
        rows[order] = np.concatenate(answers)
        return rows.reshape(codes.shape)

    # what differs between integers and text
    @abstractmethod
    def _table(self) -> Any: ...

    @abstractmethod
    def _owner(self, names: Any, chosen: Array) -> Array: ...

    @abstractmethod
    def _messages(self, names: Any, chosen: Array, positions: Array, bounds: Array) -> list[Array]: ...

    @abstractmethod
    def _unpack(self, message: Array) -> tuple[Any, Array]: ...

    @abstractmethod
    def _joined(self, blocks: Sequence[Any]) -> Any: ...


class IntegerSpace(Space):
    """Integer names; a message has two columns, values and positions."""

    none = np.empty((0, 1), np.int64)

    def _table(self) -> IntegerTable:
        return IntegerTable()

    def _owner(self, names: Array, chosen: Array) -> Array:
        hashes = names.reshape(-1)[chosen].astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        return ((hashes >> np.uint64(40)) % np.uint64(self.group.size)).astype(np.int64)

    def _messages(self, names: Array, chosen: Array, positions: Array, bounds: Array) -> list[Array]:
        return cut(np.stack([names.reshape(-1)[chosen], positions], axis=1).astype(np.int64), bounds)

    def _unpack(self, message: Array) -> tuple[Array, Array]:
        return message[:, :1], message[:, 1]

    def _joined(self, blocks: Sequence[Array]) -> Array:
        return np.concatenate(blocks)

    def values(self) -> Array:
        """The kept integers."""
        return self._kept.values()

    def deliver(self, bounds: Array) -> Names:
        """Return the names of the own rows; collective."""
        owner = np.searchsorted(bounds, self.ids, side="right") - 1
        order, cuts = by_rank(owner, self.group.size)
        pairs = np.stack([self.ids, self.values()], axis=1)[order]
        lo, hi = bounds[self.group.rank], bounds[self.group.rank + 1]
        named = np.empty(hi - lo, np.int64)
        for part in self.group.exchange(cut(pairs, cuts)):
            named[part[:, 0] - lo] = part[:, 1]
        return Names.from_integers(named)


class TextSpace(Space):
    """Names in UTF-8; a message is bytes: number of names, positions, lengths, and the names."""

    none = Tokens.hashed(np.empty(0, np.uint8), np.empty((0, 1), np.int64), np.empty((0, 1), np.int64))

    def _table(self) -> TokenNames:
        return TokenNames(self._pool)

    def _owner(self, names: Tokens, chosen: Array) -> Array:
        hashes = names.hashes.reshape(-1)[chosen]  # the tables use the low bits
        return ((hashes >> np.uint64(40)) % np.uint64(self.group.size)).astype(np.int64)

    def _messages(self, names: Tokens, chosen: Array, positions: Array, bounds: Array) -> list[Array]:
        starts, ends = names.starts.reshape(-1)[chosen], names.ends.reshape(-1)[chosen]
        return pack_text(names.buf, starts, ends, positions, bounds)

    def _unpack(self, message: Array) -> tuple[tuple[Array, Array], Array]:
        data, lengths, positions = unpack_text(message)
        return (data, lengths), positions

    def _joined(self, blocks: Sequence[tuple[Array, Array]]) -> Tokens:
        offsets = np.concatenate([[0], np.cumsum(np.concatenate([lengths for _, lengths in blocks]))])
        offsets = offsets.astype(np.int64)
        data = np.concatenate([data for data, _ in blocks])
        return Tokens.hashed(data, offsets[:-1, None], offsets[1:, None])

    def contains(self, word: str) -> bool:
        """Whether this worker keeps a word."""
        buf = np.frombuffer(word.encode(), np.uint8)
        token = Tokens.hashed(buf, np.array([[0]]), np.array([[len(buf)]]))
        return bool(self._kept.find(token)[0, 0] >= 0)

    def number(self, keys: Array) -> int:
        """Number all names and free the hash tables. Collective."""
        self._names = self._kept.names()
        self._kept = _Counted(len(self))
        return super().number(keys)

    def deliver(self, bounds: Array) -> Names:
        """Return the names of the own rows; collective, a slice of the kept names at a time."""
        from softvec.kernels import shuffle

        group, lo = self.group, int(bounds[self.group.rank])
        data, offsets = self._names.to_strings()
        lengths = np.zeros(int(bounds[group.rank + 1]) - lo, np.int64)
        received = []
        rounds = max(group.gather(-(-len(self.ids) // RECENT)))
        for k in range(rounds):
            part = np.arange(min(k * RECENT, len(self.ids)), min((k + 1) * RECENT, len(self.ids)))
            order, cuts = by_rank(np.searchsorted(bounds, self.ids[part], side="right") - 1, group.size)
            part = part[order]
            sent = pack_text(data, offsets[part], offsets[part + 1], self.ids[part], cuts)
            for message in group.exchange(sent):
                text, sizes, ids = unpack_text(message)
                lengths[ids - lo] = sizes
                received.append((text, sizes, ids - lo))
        starts = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=starts[1:])
        named = np.empty(int(starts[-1]), np.uint8)
        while received:
            text, sizes, rows = received.pop()
            begin = np.zeros(len(sizes) + 1, np.int64)
            np.cumsum(sizes, out=begin[1:])
            shuffle.scatter_bytes(text, begin, starts[rows], named)
        return Names.from_utf8(named, starts)


class Side:
    """Names of the rows, of the columns, or of both: integers if all are integers, else text.

    As in a single process, one text makes all names text; integers read before become their digits.
    """

    def __init__(self, group: Group, pool: Workers | None = None, recent: int = RECENT) -> None:
        self.integers = IntegerSpace(group, pool, recent)
        self.texts = TextSpace(group, pool, recent)
        self.met: set[type] = set()  # types of blocks, on any worker

    def block(self, names: Array | Tokens | None) -> Array | Tokens | None:
        """Return a block to add: integers become text once any worker has met text."""
        return Tokens.of_integers(names) if isinstance(names, np.ndarray) and Tokens in self.met else names

    def add(self, names: Array | Tokens | None, position: int, types: set[type]) -> Array | None:
        """Return the codes of a block; ``types`` are those of the blocks of all workers. Collective."""
        self.met |= types
        codes = None
        for kind, space in ((np.ndarray, self.integers), (Tokens, self.texts)):
            if kind in types:
                own = isinstance(names, kind)
                asked = space.add(names if own else space.none, position)
                codes = asked if own else codes
        return codes

    def number(self) -> int:
        """Number the names; return their number. Collective."""
        if Tokens not in self.met:
            return self.integers.number(self.integers.values())
        codes = None
        if np.ndarray in self.met:
            texts = Tokens.of_integers(self.integers.values()[:, None])
            codes = self.texts.ask(texts, np.arange(len(self.integers)), self.integers.first)
        total = self.texts.number(self.texts.first)
        if codes is not None:
            self.integers.ids = self.texts.rows(codes)
        return total

    def rows(self, codes: Array | None, text: bool, types: set[type]) -> Array | None:
        """Return the rows of a block of codes, of text or of integers; collective."""
        rows = None
        for kind, space in ((np.ndarray, self.integers), (Tokens, self.texts)):
            if kind in types:
                own = codes if text == (kind is Tokens) else None
                asked = space.rows(np.empty((0, 1), np.int32) if own is None else own)
                rows = rows if own is None else asked
        return rows

    def deliver(self, bounds: Array) -> Names:
        """Return the names of the own rows; collective."""
        return (self.texts if Tokens in self.met else self.integers).deliver(bounds)


def check_size(kept: Sequence[int]) -> None:
    """Raise an error if there are so many names that codes do not fit into 32 bits."""
    if max(kept) * len(kept) >= 2**31:
        raise InputError(f"{sum(kept):,} names or more; softvec uses 32-bit row numbers")


class _Counted:
    """Placeholder for a freed table, with its number of names."""

    def __init__(self, count: int) -> None:
        self.count = count


def _first_met(codes: Array, before: int) -> Array:
    """Return where each code from ``before`` on first occurs; new codes ascend in order of appearance."""
    new = np.flatnonzero(codes >= before)
    highest = np.maximum.accumulate(codes[new]) if len(new) else codes[new]
    return new[np.flatnonzero(np.diff(highest, prepend=before - 1) > 0)]


def pack_text(buf: Array, starts: Array, ends: Array, numbers: Array, bounds: Array) -> list[Array]:
    """Return a message of bytes for each rank: number of texts, their numbers and lengths, and the texts."""
    from softvec.kernels import shuffle

    lengths = (ends - starts).astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    text = np.empty(int(offsets[-1]), np.uint8)
    shuffle.gather_bytes(buf, starts, ends, np.arange(len(starts)), text)
    numbers = numbers.astype(np.int64)
    return [
        np.concatenate(
            [
                np.array([hi - lo], np.int64).view(np.uint8),
                numbers[lo:hi].view(np.uint8),
                lengths[lo:hi].view(np.uint8),
                text[offsets[lo] : offsets[hi]],
            ]
        )
        for lo, hi in pairwise(bounds)
    ]


def unpack_text(message: Array) -> tuple[Array, Array, Array]:
    """Return the texts, their lengths and numbers of a message."""
    count = int(message[:8].view(np.int64)[0])
    numbers = message[8 : 8 + 8 * count].view(np.int64)
    lengths = message[8 + 8 * count : 8 + 12 * count].view(np.int32)
    return message[8 + 12 * count :], lengths, numbers


def global_ranks(group: Group, keys: Array) -> tuple[Array, int]:
    """Return the rank of each own key among the keys of all workers, and the number of keys.

    Keys are distinct. Each worker sorts a range of them, chosen from samples.
    """
    order = np.argsort(keys)
    ascending = keys[order]
    sample = ascending[np.linspace(0, len(keys) - 1, min(_SAMPLES, len(keys))).astype(np.int64)]
    samples = np.sort(np.concatenate(group.gather(sample)))
    at = (np.arange(1, group.size) * len(samples)) // group.size
    limits = samples[at] if len(samples) else np.empty(0, keys.dtype)
    bounds = np.concatenate([[0], np.searchsorted(ascending, limits), [len(keys)]])
    received = group.exchange(cut(ascending, bounds))
    merged = np.concatenate(received)
    counts = group.gather(len(merged))
    rank = np.empty(len(merged), np.int64)
    rank[np.argsort(merged)] = np.arange(len(merged)) + sum(counts[: group.rank])
    sizes = np.concatenate([[0], np.cumsum([len(part) for part in received])])
    answers = np.concatenate(group.exchange(cut(rank, sizes)))
    ranks = np.empty(len(keys), np.int64)
    ranks[order] = answers
    return ranks, sum(counts)
