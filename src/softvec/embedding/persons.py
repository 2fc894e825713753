"""One person (or node) across times, in an embedding of contacts."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softvec.core.dates import shortest, to_dates
from softvec.core.errors import InputError
from softvec.names import Names, UnknownName

if TYPE_CHECKING:
    from softvec.embedding.core import Embedding


class Person(NamedTuple):
    """The vectors of one person, in order of time: ``times, vectors = emb.person("P1467")``.

    Times are those of the contacts: numbers, or datetime64 for dates.
    """

    times: NDArray[Any]
    vectors: NDArray[np.float32]


def person(emb: Embedding, name: Hashable) -> Person:
    """Return the times and the vectors of one person, from an embedding of temporal contacts.

    Examples
    --------
    >>> from softvec import Embedding
    >>> emb = Embedding(np.eye(3), [("ada", 20), ("bob", 10), ("ada", 10)])
    >>> times, vectors = emb.person("ada")
    >>> times.tolist(), vectors.shape
    ([10, 20], (2, 3))
    """
    rows, times = _rows(emb.names, name)
    dates = to_dates(times.tolist())
    times = times if dates is None else shortest(dates)
    order = np.argsort(times, kind="stable")
    return Person(times[order], emb.vectors[rows[order]])


def _rows(names: Names, name: Hashable) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the rows of the pairs (name, time), and the times."""
    codes = names.pair_codes()
    if codes is None:
        pairs = [pair for pair in names if isinstance(pair, tuple) and len(pair) == 2]
        if len(pairs) < len(names):
            raise InputError("the names of these vectors are not (person, time); embed temporal data")
        rows = np.array([i for i, pair in enumerate(pairs) if pair[0] == name], dtype=np.int64)
        persons = Names(list(dict.fromkeys(pair[0] for pair in pairs)))
        times = np.array([pairs[i][1] for i in rows])
    else:
        persons, stamps, (left, right) = codes
        rows = np.flatnonzero(left == persons.index(name)) if name in persons else np.empty(0, np.int64)
        times = np.array([stamps[int(code)] for code in right[rows]])
    if not len(rows):
        raise UnknownName(persons._unknown(name))
    return rows, times
