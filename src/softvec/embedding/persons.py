"""One person (or node) across times, in an embedding of contacts."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.core.dates import shortest, to_dates
from softvec.core.errors import InputError
from softvec.names import Names, UnknownName
from softvec.names.align import keys_of
from softvec.read.labels import Groups, read_labels

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
    pairs = emb.names.owners()
    if pairs is None:
        raise InputError("the names of these vectors are not (person, time); embed temporal data")
    persons, owner = pairs
    rows = np.flatnonzero(owner == persons.find(name))
    if not len(rows):
        raise UnknownName(persons._unknown(name))
    times = np.array([emb.names[int(row)][1] for row in rows])
    dates = to_dates(times.tolist())
    times = times if dates is None else shortest(dates)
    order = np.argsort(times, kind="stable")
    return Person(times[order], emb.vectors[rows[order]])


def of_persons(emb: Embedding, names: Iterable[Hashable]) -> Embedding:
    """Return one vector for each person, the mean direction over its times, if names are those of persons.

    If one of the names is that of a vector, or none is a person's, return the vectors as they are.
    """
    names = list(names)
    pairs = None if any(name in emb.names for name in names) else emb.names.owners()
    if pairs is None or not any(name in pairs[0] for name in names):
        return emb
    return _means(emb, pairs)[0]


def of_labels(emb: Any, labels: Any) -> tuple[Any, Any]:
    """Return the vectors that labels are of, one for each person if labels are by person, and the labels.

    Labels are a mapping, a Series, or groups that are read from a file. A person's times in both parts
    of a cross-validation would tell its label.
    """
    if isinstance(labels, str | os.PathLike):
        labels = read_labels(labels, emb.names)
    if isinstance(labels, Groups):
        pairs = emb.names.owners() if labels.persons else None
        if pairs is None:
            return emb, labels
        people, rows = _means(emb, pairs)
        return people, replace(labels, members=labels.members[rows])
    names = keys_of(labels) if hasattr(emb, "names") else None
    return (emb if names is None else of_persons(emb, names)), labels


def _means(emb: Embedding, pairs: tuple[Names, NDArray[Any]]) -> tuple[Embedding, NDArray[np.int64]]:
    """Return the mean directions of persons, and the first row of each."""
    present, first, owner = np.unique(pairs[1], return_index=True, return_inverse=True)
    sums = sparse.csr_array((emb._scale, (owner, np.arange(len(owner)))), shape=(len(present), len(owner)))
    vectors = (sums @ np.asarray(emb.vectors)) / np.bincount(owner)[:, None]
    return type(emb)(vectors, pairs[0].take(present)), first
