"""Item names and their row numbers: immutable, any hashable, compact for millions of names.

The storage depends on the names: the range 0..n-1 (no memory), a NumPy array of integers, strings packed as
UTF-8 bytes and offsets (Arrow's layout), two arrays of codes for pairs such as (node, time), and a tuple of
Python objects for everything else. A string takes its bytes plus 8; Python objects are created on demand.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from typing import Any, overload

import numpy as np

from softvec.core.errors import InputError
from softvec.names import storage

__all__ = ["Names", "UnknownName"]


class UnknownName(InputError, KeyError):
    """An unknown name; both an ``InputError`` and a ``KeyError``."""

    def __str__(self) -> str:  # KeyError would show the repr of the message
        return str(self.args[0])


class Names:
    """The names of rows or columns, in order.

    Parameters
    ----------
    names : iterable of hashable, int, range, ndarray, Names
        Unique names. A single integer ``n`` stands for 0..n-1.

    Examples
    --------
    >>> names = Names(["ada", "bob", "cyd"])
    >>> names[1], names.index("cyd"), "eve" in names
    ('bob', 2, False)
    >>> Names.range(3) == Names([0, 1, 2])
    True
    """

    __slots__ = ("_store",)
    _store: storage.Store

    def __init__(self, names: Iterable[Hashable] | int):
        store = names._store if isinstance(names, Names) else storage.store_of(names)
        object.__setattr__(self, "_store", store)
        if not isinstance(names, Names):
            storage.refuse_duplicates(store)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("Names are immutable")

    @classmethod
    def _wrap(cls, store: storage.Store) -> Names:
        """Wrap a store whose names are known to be unique."""
        self = cls.__new__(cls)
        object.__setattr__(self, "_store", store)
        return self

    @classmethod
    def range(cls, n: int) -> Names:
        """Return the names 0..n-1, which take no memory."""
        return cls._wrap(storage.of_range(int(n)))

    @classmethod
    def from_utf8(cls, data: np.ndarray, offsets: np.ndarray) -> Names:
        """Wrap unique strings packed as UTF-8 bytes; string i is ``data[offsets[i]:offsets[i + 1]]``."""
        return cls._wrap(storage.Strings(np.asarray(data, np.uint8), np.asarray(offsets, np.int64)))

    @classmethod
    def from_integers(cls, values: np.ndarray) -> Names:
        """Wrap unique integers; 0..n-1 in order becomes a range."""
        return cls._wrap(storage.integers(np.asarray(values)))

    @classmethod
    def from_codes(cls, first: Names, second: Names, codes: tuple[np.ndarray, np.ndarray]) -> Names:
        """Build unique pairs: name i is ``(first[codes[0][i]], second[codes[1][i]])``."""
        return cls._wrap(
            storage.Pairs(first._store, second._store, np.asarray(codes[0]), np.asarray(codes[1]))
        )

    def pair_codes(self) -> tuple[Names, Names, tuple[np.ndarray, np.ndarray]] | None:
        """Return the arguments of :meth:`from_codes`, or None if the names are not stored as codes."""
        store = self._store
        if not isinstance(store, storage.Pairs):
            return None
        return Names._wrap(store.first), Names._wrap(store.second), (store.left, store.right)

    def owners(self) -> tuple[Names, np.ndarray] | None:
        """Return the first parts of names that are pairs, and which one each name has; None for others.

        >>> first, which = Names([("ada", 1), ("bob", 1), ("ada", 2)]).owners()
        >>> first.to_list(), which.tolist()
        (['ada', 'bob'], [0, 1, 0])
        """
        codes = self.pair_codes()
        if codes is not None:
            return codes[0], codes[2][0]
        if self.kind != "other" or not all(isinstance(name, tuple) and len(name) == 2 for name in self):
            return None
        first = Names(dict.fromkeys(name[0] for name in self))  # type: ignore[index]
        return first, first.indices(name[0] for name in self)  # type: ignore[index]

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Names:
        """Rebuild names from the arrays of :meth:`to_arrays`, which another program may have written."""
        store = storage.of_arrays(arrays)
        storage.refuse_duplicates(store)
        return cls._wrap(store)

    @property
    def kind(self) -> str:
        """What all names are: "integer" or "text"; else "other"."""
        return self._store.kind

    def refuse_unsaved(self) -> None:
        """Raise an error for names that no file can hold, such as UUID objects."""
        if self.kind == "other" and not isinstance(self._store, storage.Pairs):
            for name in self:
                storage.tag(name)

    def written_twice(self) -> tuple[str, str] | None:
        """Return two names that differ only in how Unicode composes a letter, or None."""
        for name in self._store.decomposed():
            composed = unicodedata.normalize("NFC", str(name))
            if composed != name and composed in self:
                return str(name), composed
        return None

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return plain arrays (no objects, no pickle) for :meth:`from_arrays`."""
        return self._store.arrays()

    def __len__(self) -> int:
        return len(self._store)

    @overload
    def __getitem__(self, i: slice) -> Names: ...

    @overload
    def __getitem__(self, i: int) -> Any: ...

    def __getitem__(self, i: int | slice) -> Any:
        if isinstance(i, slice):
            return self.take(np.arange(*i.indices(len(self))))
        n, at = len(self._store), int(i)
        if not -n <= at < n:  # IndexError, not InputError: iteration protocols rely on it
            raise IndexError(f"row {at} is out of range for {n} names")
        return self._store.get(at % n)

    def __iter__(self) -> Iterator[Any]:
        for lo in range(0, len(self), 65_536):
            yield from self._store.to_list(lo, min(lo + 65_536, len(self)))

    def __contains__(self, name: Hashable) -> bool:
        return self.find(name) >= 0

    def find(self, name: Hashable) -> int:
        """Return the row number of ``name``, -1 if it is unknown."""
        return self._store.rows([name])[0]

    def places(self, names: Iterable[Hashable]) -> np.ndarray:
        """Return the row number of each name, -1 for one that is unknown."""
        return np.array(self._store.rows(names), np.int64)

    def index(self, name: Hashable) -> int:
        """Return the row number of ``name``; the error for an unknown name suggests similar ones."""
        at = self.find(name)
        if at < 0:
            raise UnknownName(self._unknown(storage.plain(name)))
        return at

    def known(self, names: Collection[Hashable]) -> list[Hashable]:
        """Return those of some names that are among these.

        >>> Names("abc").known(["c", "x"])
        ['c']
        """
        return [name for name, at in zip(names, self._store.rows(names)) if at >= 0]

    def indices(self, names: Iterable[Hashable]) -> np.ndarray:
        """Return the row numbers of many names.

        >>> Names("abc").indices(["c", "a"])
        array([2, 0])
        """
        names = list(names)
        rows = self.places(names)
        for unknown in np.flatnonzero(rows < 0):
            self.index(names[unknown])  # raises
        return rows

    def take(self, rows: np.ndarray) -> Names:
        """Return the names of some rows (distinct row numbers, in the order wanted)."""
        return Names._wrap(self._store.take(np.asarray(rows, dtype=np.int64)))

    def append(self, more: Iterable[Hashable]) -> Names:
        """Return these names followed by new ones.

        >>> Names("ab").append(["c"]).to_list()
        ['a', 'b', 'c']
        """
        both = storage.joined(self._store, Names(more)._store)
        storage.refuse_duplicates(both)
        return Names._wrap(both)

    def to_list(self) -> list[Any]:
        """Return the names as a list of Python objects."""
        return self._store.to_list(0, len(self))

    def to_numpy(self) -> np.ndarray:
        """Return the names as an array: integers as such, everything else as objects."""
        if isinstance(self._store, storage.Integers):
            return self._store.keys()
        out = np.empty(len(self), dtype=object)
        for i, name in enumerate(self):  # element by element: a tuple must stay one object
            out[i] = name
        return out

    def to_strings(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the names as text: UTF-8 bytes and offsets, the layout of Arrow's large_string."""
        store = self._store
        packed = store if isinstance(store, storage.Strings) else storage.pack(list(map(str, self)))
        return packed.data, packed.offsets

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Names):
            return NotImplemented
        mine, theirs = self._store, other._store
        if mine is theirs or len(mine) != len(theirs):
            return mine is theirs
        if isinstance(mine, storage.Strings) and isinstance(theirs, storage.Strings):
            return np.array_equal(mine.offsets, theirs.offsets) and np.array_equal(mine.data, theirs.data)
        if isinstance(mine, storage.Integers) and isinstance(theirs, storage.Integers):
            return np.array_equal(mine.keys(), theirs.keys())
        return all(a == b for a, b in zip(self, other))

    def __hash__(self) -> int:
        return hash((len(self), *self._store.to_list(0, min(len(self), 8))))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Names._wrap, (self._store,))

    def __repr__(self) -> str:
        if isinstance(self._store, storage.Integers) and isinstance(self._store.values, range):
            return f"Names.range({len(self)})"
        shown = ", ".join(repr(name) for name in self._store.to_list(0, min(len(self), 4)))
        return f"Names([{shown}{', ...' if len(self) > 4 else ''}], {len(self):,} names)"

    def _unknown(self, name: Hashable) -> str:
        close = self._close(name) if isinstance(name, str) else [str(name)] if str(name) in self else []
        hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
        if not close and len(self) and type(name) is not type(self[0]):
            hint = f", such as {self[0]!r}"
        return f"no item is named {name!r} among {len(self):,} names{hint}"

    def _close(self, name: str) -> list[Hashable]:
        """Return up to three names that are like one."""
        if name.lstrip("-").isdigit() and len(name) < 19 and int(name) in self:
            return [int(name)]
        variants = (name.lower(), name.upper(), name.strip(), name.capitalize(), name.replace(" ", "_"))
        exact = [v for v in variants if v != name and v in self]
        lowered = {v.lower(): v for v in self._store.similar(name) if isinstance(v, str)}
        similar = [lowered[v] for v in difflib.get_close_matches(name.lower(), lowered, n=3, cutoff=0.6)]
        close: dict[Hashable, None] = dict.fromkeys([*exact, *similar])
        return list(close)[:3]
