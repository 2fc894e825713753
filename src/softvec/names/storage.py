"""Storage classes behind :class:`softvec.names.Names`."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from softvec.core.errors import InputError

if TYPE_CHECKING:
    from softvec.names import Names

_DICT_LIMIT = 250_000  # above this, a sorted array of hashes (12 bytes a name) instead of a dict (~150)
_SUGGESTION_SAMPLE = 5_000  # difflib takes ~20 us per candidate: at most 0.1 s for an error message


class DuplicateName(InputError):
    """A name occurs twice."""


class Store(ABC):
    """Interface of a storage; ``find`` returns -1 for an unknown name."""

    __slots__ = ()

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def get(self, i: int) -> Hashable: ...

    @abstractmethod
    def find(self, name: Hashable) -> int: ...

    @abstractmethod
    def take(self, rows: np.ndarray) -> Store: ...

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]: ...

    def to_list(self, lo: int, hi: int) -> list[Hashable]:
        return [self.get(i) for i in range(lo, hi)]

    def decomposed(self) -> list[Hashable]:
        return []

    def similar(self, name: str) -> list[Hashable]:
        return []


class Range(Store):
    __slots__ = ("n",)

    def __init__(self, n: int):
        if n < 0:
            raise InputError(f"the number of names is {n}; it must not be negative")
        self.n = n

    def __len__(self) -> int:
        return self.n

    def get(self, i: int) -> int:
        return i

    def find(self, name: Hashable) -> int:
        return int(name) if isinstance(name, int) and 0 <= name < self.n else -1

    def take(self, rows: np.ndarray) -> Store:
        return integers(rows)

    def arrays(self) -> dict[str, np.ndarray]:
        return {"range": np.int64(self.n)}  # type: ignore[dict-item]


class Integers(Store):
    __slots__ = ("_order", "values")

    def __init__(self, values: np.ndarray):
        self.values = values
        self._order: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.values)

    def get(self, i: int) -> int:
        return int(self.values[i])

    def to_list(self, lo: int, hi: int) -> list[Hashable]:
        return self.values[lo:hi].tolist()

    def find(self, name: Hashable) -> int:
        info = np.iinfo(self.values.dtype)
        if not isinstance(name, int) or not info.min <= name <= info.max:
            return -1
        if self._order is None:
            self._order = np.argsort(self.values, kind="stable")
        key = self.values.dtype.type(name)
        at = int(np.searchsorted(self.values, key, sorter=self._order))
        return int(self._order[at]) if at < len(self.values) and self.values[self._order[at]] == key else -1

    def take(self, rows: np.ndarray) -> Store:
        return integers(self.values[rows])

    def arrays(self) -> dict[str, np.ndarray]:
        return {"integers": self.values}


class Strings(Store):
    """Packed UTF-8. Lookups: a dict for few names, binary search on 64-bit hashes for many."""

    __slots__ = ("_hashes", "_order", "_table", "data", "offsets")

    def __init__(self, data: np.ndarray, offsets: np.ndarray):
        self.data = data
        self.offsets = offsets
        self._table: dict[Hashable, int] | None = None
        self._hashes: np.ndarray | None = None
        self._order: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def _bytes(self, i: int) -> bytes:
        return self.data[self.offsets[i] : self.offsets[i + 1]].tobytes()

    def get(self, i: int) -> str:
        return self._bytes(i).decode("utf-8", "surrogatepass")

    def to_list(self, lo: int, hi: int) -> list[Hashable]:
        start = int(self.offsets[lo])
        block = self.data[start : self.offsets[hi]].tobytes()
        cuts = (self.offsets[lo : hi + 1] - start).tolist()
        return [block[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(cuts)]

    def find(self, name: Hashable) -> int:
        if not isinstance(name, str):
            return -1
        if len(self) <= _DICT_LIMIT:
            if self._table is None:
                self._table = dict(zip(self.to_list(0, len(self)), range(len(self))))
            return self._table.get(name, -1)
        hashes, order = self.sorted_hashes()
        wanted = name.encode("utf-8", "surrogatepass")
        key = self._hash(np.frombuffer(wanted, np.uint8), np.array([0, len(wanted)]))[0]
        at = int(np.searchsorted(hashes, key))
        while at < len(hashes) and hashes[at] == key:
            if self._bytes(int(order[at])) == wanted:
                return int(order[at])
            at += 1
        return -1

    def sorted_hashes(self) -> tuple[np.ndarray, np.ndarray]:
        if self._hashes is None or self._order is None:
            hashes = self._hash(self.data, self.offsets)
            self._order = np.argsort(hashes, kind="stable").astype(
                np.int32 if len(self) < 2**31 else np.int64, copy=False
            )
            self._hashes = hashes[self._order]
        return self._hashes, self._order

    @staticmethod
    def _hash(data: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        from softvec.kernels import names

        hashes = np.empty((len(offsets) - 1, 1), np.uint64)
        names.hash_tokens(np.asarray(data), offsets[:-1, None], offsets[1:, None], hashes)
        return hashes[:, 0]

    def similar(self, name: str) -> list[Hashable]:
        """Return a bounded sample of names of similar length, those with the most matching bytes first."""
        wanted = name.lower().encode("utf-8", "surrogatepass")
        rows = np.flatnonzero(np.abs(np.diff(self.offsets) - len(wanted)) <= 1 + len(wanted) // 4)
        if len(rows) > _SUGGESTION_SAMPLE:
            equal = np.zeros(len(rows), dtype=np.int8)
            for k, byte in enumerate(wanted[:16]):
                at = np.minimum(self.offsets[rows] + k, len(self.data) - 1)
                equal += (self.data[at] | 32) == (byte | 32)  # in any case
            rows = rows[np.argsort(-equal, kind="stable")[:_SUGGESTION_SAMPLE]]
        return [self.get(i) for i in rows.tolist()]

    def decomposed(self) -> list[Hashable]:
        """Return the names with combining marks, U+0300 to U+036F."""
        marks = np.flatnonzero((self.data == 0xCC) | (self.data == 0xCD))
        rows = np.unique(np.searchsorted(self.offsets, marks, side="right") - 1)
        return [self.get(i) for i in rows.tolist()]

    def take(self, rows: np.ndarray) -> Store:
        sizes = np.diff(self.offsets)[rows]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        source = np.repeat(self.offsets[rows] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return Strings(self.data[source], offsets)

    def arrays(self) -> dict[str, np.ndarray]:
        return {"utf8": self.data, "offsets": self.offsets}


class Pairs(Store):
    __slots__ = ("_keys", "_order", "first", "left", "right", "second")

    def __init__(self, first: Names, second: Names, left: np.ndarray, right: np.ndarray):
        self.first, self.second, self.left, self.right = first, second, left, right
        self._keys: np.ndarray | None = None
        self._order: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.left)

    def get(self, i: int) -> tuple[Hashable, Hashable]:
        return self.first[self.left[i]], self.second[self.right[i]]

    def to_list(self, lo: int, hi: int) -> list[Hashable]:
        left, right = self.left[lo:hi].tolist(), self.right[lo:hi].tolist()
        first = {code: self.first[code] for code in set(left)}
        second = {code: self.second[code] for code in set(right)}
        return [(first[a], second[b]) for a, b in zip(left, right)]

    def find(self, name: Hashable) -> int:
        if not isinstance(name, tuple) or len(name) != 2:
            return -1
        a, b = self.first._store.find(plain(name[0])), self.second._store.find(plain(name[1]))
        if a < 0 or b < 0:
            return -1
        if self._keys is None or self._order is None:
            keys = self.left.astype(np.int64) * len(self.second) + self.right
            self._order = np.argsort(keys, kind="stable")
            self._keys = keys[self._order]
        key = a * len(self.second) + b
        at = int(np.searchsorted(self._keys, key))
        return int(self._order[at]) if at < len(self._keys) and self._keys[at] == key else -1

    def take(self, rows: np.ndarray) -> Store:
        return Pairs(self.first, self.second, self.left[rows], self.right[rows])

    def arrays(self) -> dict[str, np.ndarray]:
        out = {"codes": np.stack([self.left, self.right])}
        out |= {f"first.{k}": v for k, v in self.first.to_arrays().items()}
        return out | {f"second.{k}": v for k, v in self.second.to_arrays().items()}


class Objects(Store):
    __slots__ = ("_table", "names")

    def __init__(self, names: tuple[Hashable, ...]):
        self.names = names
        self._table: dict[Hashable, int] | None = None

    def __len__(self) -> int:
        return len(self.names)

    def get(self, i: int) -> Hashable:
        return self.names[i]

    def find(self, name: Hashable) -> int:
        if self._table is None:
            self._table = {name: i for i, name in enumerate(self.names)}
        return self._table.get(name, -1)

    def take(self, rows: np.ndarray) -> Store:
        return Objects(tuple(self.names[i] for i in rows))

    def similar(self, name: str) -> list[Hashable]:
        return list(self.names[:_SUGGESTION_SAMPLE])

    def arrays(self) -> dict[str, np.ndarray]:
        text = json.dumps([tag(name) for name in self.names], ensure_ascii=False)
        return {"json": np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)}


def plain(name: Any) -> Hashable:
    """Convert a NumPy scalar to a Python one, so that both find the same name."""
    return name.item() if isinstance(name, np.generic) else name


def known(store: Store, names: Iterable[Hashable]) -> list[Hashable]:
    """Return those of some names that a store holds."""
    return [name for name in names if store.find(plain(name)) >= 0]


def integers(values: np.ndarray) -> Store:
    if len(values) and values[0] == 0 and np.array_equal(values, np.arange(len(values))):
        return Range(len(values))
    return Integers(values) if len(values) else Range(0)


def pack(names: list[str]) -> Strings:
    encoded = [name.encode("utf-8", "surrogatepass") for name in names]
    offsets = np.zeros(len(names) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=offsets[1:])
    return Strings(np.frombuffer(b"".join(encoded), np.uint8), offsets)


def joined(first: Store, second: Store) -> Store:
    """Concatenate two stores."""
    if isinstance(first, Strings) and isinstance(second, Strings):
        offsets = np.concatenate([first.offsets, second.offsets[1:] + first.offsets[-1]])
        return Strings(np.concatenate([first.data, second.data]), offsets)
    if isinstance(first, Range | Integers) and isinstance(second, Range | Integers):
        return integers(np.concatenate([_numbers(first), _numbers(second)]))
    both = [*first.to_list(0, len(first)), *second.to_list(0, len(second))]
    return store_of(both)


def _numbers(store: Range | Integers) -> np.ndarray:
    return np.arange(len(store)) if isinstance(store, Range) else store.values


def store_of(names: Any) -> Store:
    """Return the most compact storage of names."""
    if isinstance(names, int | np.integer) and not isinstance(names, bool):
        return Range(int(names))
    if isinstance(names, range) and names.start == 0 and names.step == 1:
        return Range(len(names))
    if isinstance(names, np.ndarray) or hasattr(names, "to_numpy"):
        array = np.asarray(names)
        if array.ndim != 1:
            raise InputError(f"names have shape {array.shape}; expected a flat sequence of names")
        if array.dtype.kind in "iu":
            return integers(array.copy())
        names = array.tolist()
    return _store_of_items([plain(name) for name in names])


def _store_of_items(items: list[Any]) -> Store:
    types = set(map(type, items))
    if types == {str}:
        return pack(items)
    if types <= {int} and all(-(2**63) <= item < 2**63 for item in items):
        return integers(np.array(items, dtype=np.int64))
    for i, item in enumerate(items):
        if not isinstance(item, Hashable):
            raise InputError(f"name {i} is {item!r}, which is not hashable; use strings, numbers or tuples")
    return Objects(tuple(items))


def _surely_unique(store: Store) -> bool:
    """Whether a cheap check proves the names unique; False if a name repeats or two hashes collide."""
    if isinstance(store, Range):
        return True
    if isinstance(store, Pairs):
        parts = _surely_unique(store.first._store) and _surely_unique(store.second._store)
        return parts and _no_repeats(np.sort(store.left.astype(np.int64) * len(store.second) + store.right))
    if isinstance(store, Integers):
        return _no_repeats(np.sort(store.values))
    if isinstance(store, Strings) and len(store) > _DICT_LIMIT:
        return _no_repeats(store.sorted_hashes()[0])
    return False


def _no_repeats(ordered: np.ndarray) -> bool:
    return not (ordered[1:] == ordered[:-1]).any()


def refuse_duplicates(store: Store) -> None:
    """Raise an error for the first name that occurs twice."""
    if _surely_unique(store):
        return
    seen: dict[Hashable, int] = {}
    for i, name in enumerate(store.to_list(0, len(store))):
        if name in seen:
            raise DuplicateName(f"duplicate name {name!r} (rows {seen[name]} and {i}); names must be unique")
        seen[name] = i


def tag(name: Hashable) -> Any:
    """Return a name as JSON that preserves its type: tuples become {"t": [...]}, scalars stay as they are."""
    if isinstance(name, tuple):
        return {"t": [tag(item) for item in name]}
    if name is None or isinstance(name, str | int | float | bool):
        return name
    raise InputError(
        f"the name {name!r} of type {type(name).__name__} cannot be saved; use strings or numbers"
    )


def untag(item: Any) -> Hashable:
    return tuple(untag(part) for part in item["t"]) if isinstance(item, dict) else item
