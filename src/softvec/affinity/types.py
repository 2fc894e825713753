"""Types of nodes: authors, papers and venues in one graph."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.affinity.base import Affinity, check_graph
from softvec.core.checks import Json, counted
from softvec.core.errors import InputError
from softvec.names.align import align_labels, label_codes
from softvec.read.attributes import graph_columns
from softvec.read.labels import read_labels
from softvec.read.objects import is_igraph, is_networkx

_MOST = 1000


@dataclass(frozen=True, eq=False)
class Types:
    """Types of the nodes of a graph.

    Attributes
    ----------
    codes : ndarray of int of shape (n,)
        Number of the type of each node; -1 if it has none.
    names : tuple of str
    linked : tuple of (str, str, int)
        Pairs of types that are linked, and how many links they have, most first.
    """

    codes: NDArray[np.int32]
    names: tuple[str, ...]
    linked: tuple[tuple[str, str, int], ...]

    @property
    def note(self) -> str:
        """How many nodes have each type: 'types: 3 author, 2 paper'."""
        sizes = np.bincount(self.codes[self.codes >= 0], minlength=len(self.names)).tolist()
        largest = sorted(zip(sizes, self.names), key=lambda pair: -pair[0])
        notes = [f"{size:,} {name}" for size, name in largest[:6]]
        notes += [f"{counted(len(largest) - 6, 'more type')}"] if len(largest) > 6 else []
        without = int(np.count_nonzero(self.codes < 0))
        notes += [f"{counted(without, 'node')} without a type"] if without else []
        return f"types: {', '.join(notes)}"

    @property
    def record(self) -> Json:
        """Return what the provenance of vectors tells."""
        return {"summary": self.note, "names": list(self.names), "linked": [list(row) for row in self.linked]}


def with_types(affinity: Affinity, given: Any, data: Any = None) -> Affinity:
    """Return the affinity of a graph with types of its nodes.

    Parameters
    ----------
    given : mapping, Series, array, path, or str
        See :func:`softvec.embed`.
    data : object
        What the affinity was read from: a str names an attribute of a networkx or igraph graph.

    Examples
    --------
    >>> from softvec.affinity import pairs
    >>> wrote = pairs([("ann", "p1"), ("bob", "p1"), ("bob", "p2")])
    >>> with_types(wrote, {"ann": "author", "bob": "author", "p1": "paper", "p2": "paper"}).summary
    '4 nodes, 3 edges, undirected, unweighted; types: 2 author, 2 paper'
    """
    check_graph(affinity, "types")
    names, n = affinity.rows, len(affinity.rows)
    if isinstance(given, str) and (is_networkx(data) or is_igraph(data)):
        table = graph_columns([given], data)
        given = dict(zip(table.keys, table.cells[given]))
    if isinstance(given, str | os.PathLike):
        labels: Any = read_labels(given, names).texts
    else:
        labels = align_labels(given, n, names)
    codes, classes = label_codes(labels)
    if not 0 < len(classes) <= _MOST:
        raise InputError(f"{counted(len(classes), 'type')} of {counted(n, 'node')}; expected 1 to {_MOST:,}")
    types = Types(codes.astype(np.int32), tuple(map(str, classes)), _linked(affinity, codes, classes))
    return replace(affinity, types=types, summary=f"{affinity.summary}; {types.note}")


def _linked(
    affinity: Affinity, codes: NDArray[np.int64], classes: list[Any]
) -> tuple[tuple[str, str, int], ...]:
    """Count the links of each pair of types."""
    counts, k = affinity.counts, len(classes)
    assert counts is not None
    a, b = np.repeat(codes, np.diff(counts.indptr)), codes[counts.indices]
    known = (a >= 0) & (b >= 0)
    table = np.bincount(a[known] * k + b[known], minlength=k * k).reshape(k, k)
    pairs = [(i, j, int(table[i, j] + (table[j, i] if i != j else 0))) for i in range(k) for j in range(i, k)]
    pairs = sorted((pair for pair in pairs if pair[2]), key=lambda pair: -pair[2])
    twice = 1 if affinity.directed else 2
    return tuple((str(classes[i]), str(classes[j]), -(-links // twice)) for i, j, links in pairs)
