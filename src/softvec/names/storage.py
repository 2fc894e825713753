"""Storage classes behind :class:`softvec.names.Names`."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from softvec.core.errors import InputError

_DICT_LIMIT = 250_000  # above this, a sorted array of hashes (12 bytes a name) instead of a dict (~150)
_SUGGESTION_SAMPLE = 5_000  # difflib takes ~20 us per candidate: at most 0.1 s for an error message


class DuplicateName(InputError):
    """A name occurs twice."""


class Store:
    """Names of any kind, as Python objects; subclasses hold them in less memory."""

    kind = "other"

    def __init__(self, names: tuple[Hashable, ...]):
        self.names = names

    def __len__(self) -> int:
        return len(self.names)

    def to_list(self, lo: int, hi: int) -> list[Hashable]:
        return list(self.names[lo:hi])

    def get(self, i: int) -> Hashable:
        return self.to_list(i, i + 1)[0]

    @cached_property
    def table(self) -> dict[Hashable, int]:
        return {name: i for i, name in enumerate(self.to_list(0, len(self)))}

    def find(self, name: Hashable) -> int:
        """Return the row of a name, -1 if it is unknown."""
        return self.table.get(name, -1)

    def rows(self, names: Iterable[Hashable]) -> list[int]:
        """Return the row of each name, as :meth:`find` does; numbers of NumPy are plain ones here."""
        return [self.find(plain(name)) for name in names]

    def surely_unique(self) -> bool:
        """Whether a cheap check proves the names unique; False if a name repeats or two hashes collide."""
        return False

    def take(self, rows: np.ndarray) -> Store:
        return Store(tuple(self.names[i] for i in rows))

    def arrays(self) -> dict[str, np.ndarray]:
        text = json.dumps([tag(name) for name in self.names], ensure_ascii=False)
        return {"json": np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)}

    def similar(self, name: str) -> list[Hashable]:
        """Return a bounded sample of names that may be like one."""
        return self.to_list(0, min(len(self), _SUGGESTION_SAMPLE))

    def decomposed(self) -> list[Hashable]:
        """Return the names with combining marks, U+0300 to U+036F."""
        return []


class Keyed(Store, ABC):
    """Names with a number each, equal for equal names: a lookup is a binary search."""

    @abstractmethod
    def keys(self) -> np.ndarray:
        """Return the numbers, in the order of the names."""

    @cached_property
    def in_order(self) -> tuple[np.ndarray, np.ndarray]:
        """The numbers, ascending, and their rows."""
        keys = self.keys()
        order = np.argsort(keys, kind="stable").astype(
            np.int32 if len(keys) < 2**31 else np.int64, copy=False
        )
        return keys[order], order

    def rows_of(self, key: Any) -> Iterator[int]:
        keys, order = self.in_order
        at = int(np.searchsorted(keys, key))
        while at < len(keys) and keys[at] == key:
            yield int(order[at])
            at += 1

    def surely_unique(self) -> bool:
        keys = np.sort(self.keys())
        return not (keys[1:] == keys[:-1]).any()


class Integers(Keyed):
    """Integers as an array, or 0..n-1 as a range, which takes no memory."""

    kind = "integer"

    def __init__(self, values: np.ndarray | range):
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def keys(self) -> np.ndarray:
        return np.asarray(self.values)

    def to_list(self, lo: int, hi: int) -> list[Hashable]:
        return np.asarray(self.values[lo:hi]).tolist()

    def find(self, name: Hashable) -> int:
        if not isinstance(name, int):
            return -1
        if isinstance(self.values, range):
            return int(name) if name in self.values else -1
        info = np.iinfo(self.values.dtype)
        if not info.min <= name <= info.max:
            return -1
        return next(self.rows_of(self.values.dtype.type(name)), -1)

    def surely_unique(self) -> bool:
        return isinstance(self.values, range) or super().surely_unique()

    def take(self, rows: np.ndarray) -> Store:
        return integers(rows if isinstance(self.values, range) else self.values[rows])

    def arrays(self) -> dict[str, np.ndarray]:
        if isinstance(self.values, range):
            return {"range": np.array(len(self.values), np.int64)}
        return {"integers": self.values}


class Strings(Keyed):
    """Packed UTF-8. Lookups: a dict for few names, binary search on 64-bit hashes for many."""

    kind = "text"

    def __init__(self, data: np.ndarray, offsets: np.ndarray):
        self.data = data
        self.offsets = offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def to_list(self, lo: int, hi: int) -> list[Hashable]:
        start = int(self.offsets[lo])
        block = self.data[start : self.offsets[hi]].tobytes()
        cuts = (self.offsets[lo : hi + 1] - start).tolist()
        return [block[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(cuts)]

    def find(self, name: Hashable) -> int:
        if not isinstance(name, str):
            return -1
        if len(self) <= _DICT_LIMIT:
            return super().find(name)
        wanted = np.frombuffer(name.encode("utf-8", "surrogatepass"), np.uint8)
        key = self._hash(wanted, np.array([0, len(wanted)]))[0]
        return next((row for row in self.rows_of(key) if self.get(row) == name), -1)

    def keys(self) -> np.ndarray:
        return self._hash(self.data, self.offsets)

    def surely_unique(self) -> bool:
        if len(self) <= _DICT_LIMIT:
            return False
        hashes = self.in_order[0]  # kept for lookups
        return not (hashes[1:] == hashes[:-1]).any()

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
        marks = np.flatnonzero((self.data == 0xCC) | (self.data == 0xCD))
        rows = np.unique(np.searchsorted(self.offsets, marks, side="right") - 1)
        return [self.get(i) for i in rows.tolist()]

    def take(self, rows: np.ndarray) -> Store:
        import pyarrow as pa

        buffers = [None, pa.py_buffer(self.offsets), pa.py_buffer(self.data)]
        taken = pa.Array.from_buffers(pa.large_binary(), len(self), buffers).take(pa.array(rows))
        _, offsets, data = taken.buffers()
        return Strings(
            np.frombuffer(data or b"", np.uint8),
            np.frombuffer(offsets, np.int64, len(rows) + 1, 8 * taken.offset),
        )

    def arrays(self) -> dict[str, np.ndarray]:
        return {"utf8": self.data, "offsets": self.offsets}


class Pairs(Keyed):
    """Pairs such as (node, time), as the rows of their parts in two other stores."""

    def __init__(self, first: Store, second: Store, left: np.ndarray, right: np.ndarray):
        self.first, self.second, self.left, self.right = first, second, left, right

    def __len__(self) -> int:
        return len(self.left)

    def to_list(self, lo: int, hi: int) -> list[Hashable]:
        left, right = self.left[lo:hi].tolist(), self.right[lo:hi].tolist()
        first = {code: self.first.get(code) for code in set(left)}
        second = {code: self.second.get(code) for code in set(right)}
        return [(first[a], second[b]) for a, b in zip(left, right)]

    def keys(self) -> np.ndarray:
        return self.left.astype(np.int64) * len(self.second) + self.right

    def find(self, name: Hashable) -> int:
        if not isinstance(name, tuple) or len(name) != 2:
            return -1
        a, b = self.first.find(plain(name[0])), self.second.find(plain(name[1]))
        return -1 if a < 0 or b < 0 else next(self.rows_of(a * len(self.second) + b), -1)

    def surely_unique(self) -> bool:
        return self.first.surely_unique() and self.second.surely_unique() and super().surely_unique()

    def take(self, rows: np.ndarray) -> Store:
        return Pairs(self.first, self.second, self.left[rows], self.right[rows])

    def arrays(self) -> dict[str, np.ndarray]:
        out = {"codes": np.stack([self.left, self.right])}
        out |= {f"first.{k}": v for k, v in self.first.arrays().items()}
        return out | {f"second.{k}": v for k, v in self.second.arrays().items()}


def plain(name: Any) -> Hashable:
    """Convert a NumPy scalar to a Python one, so that both find the same name."""
    return name.item() if isinstance(name, np.generic) else name


def of_range(n: int) -> Store:
    """Return 0..n-1."""
    if n < 0:
        raise InputError(f"the number of names is {n}; it must not be negative")
    return Integers(range(n))


def integers(values: np.ndarray) -> Store:
    """Return integers, as a range if they are one; those beyond int64 as objects."""
    if values.dtype == np.uint64:
        if values.max(initial=0) >= 2**63:
            return Store(tuple(values.tolist()))
        values = values.astype(np.int64)
    running = not len(values) or (values[0] == 0 and np.array_equal(values, np.arange(len(values))))
    return of_range(len(values)) if running else Integers(values)


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
    if isinstance(first, Integers) and isinstance(second, Integers):
        return integers(np.concatenate([first.values, second.values]))
    return store_of([*first.to_list(0, len(first)), *second.to_list(0, len(second))])


def of_arrays(arrays: Mapping[str, np.ndarray]) -> Store:
    """Return the names whose ``arrays`` these are."""
    if "range" in arrays:
        return of_range(int(arrays["range"]))
    if "integers" in arrays:
        return integers(arrays["integers"])
    if "utf8" in arrays:
        return Strings(np.asarray(arrays["utf8"], np.uint8), np.asarray(arrays["offsets"], np.int64))
    if "json" in arrays:
        items = json.loads(bytes(arrays["json"]).decode("utf-8", "surrogatepass"))
        return store_of([untag(item) for item in items])
    if "codes" in arrays:
        first, second = (
            of_arrays({k.removeprefix(p): v for k, v in arrays.items() if k.startswith(p)})
            for p in ("first.", "second.")
        )
        return Pairs(first, second, *arrays["codes"])
    raise InputError(f"the arrays {sorted(arrays)} hold no names; pass the result of Names.to_arrays()")


def store_of(names: Any) -> Store:
    """Return the most compact storage of names."""
    if isinstance(names, int | np.integer) and not isinstance(names, bool):
        return of_range(int(names))
    if isinstance(names, range) and names.start == 0 and names.step == 1:
        return of_range(len(names))
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
    return Store(tuple(items))


def refuse_duplicates(store: Store) -> None:
    """Raise an error for the first name that occurs twice."""
    if store.surely_unique():
        return
    seen: dict[Hashable, int] = {}
    for i, name in enumerate(store.to_list(0, len(store))):
        if name in seen:
            raise DuplicateName(f"duplicate name {name!r} (rows {seen[name]} and {i}); names must be unique")
        seen[name] = i


def tag(name: Hashable) -> Any:
    """Return a name as JSON that keeps its type: a tuple becomes a list, which is no name, scalars stay."""
    if isinstance(name, tuple):
        return [tag(item) for item in name]
    if name is None or isinstance(name, str | int | float | bool):
        return name
    raise InputError(
        f"the name {name!r} of type {type(name).__name__} cannot be saved; use strings or numbers"
    )


def untag(item: Any) -> Hashable:
    """Return the name that :func:`tag` wrote."""
    return tuple(map(untag, item)) if isinstance(item, list) else item
