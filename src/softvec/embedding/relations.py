"""Match edges, graphs and tables to the items of an embedding by name."""

from __future__ import annotations

import os
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.core.checks import recorded
from softvec.core.errors import InputError, Option, guess
from softvec.names import Names

if TYPE_CHECKING:
    from softvec.affinity import Affinity
    from softvec.embedding.core import Embedding


def two_kinds(emb: Embedding) -> bool:
    """Whether rows and columns are different things (users and items), not two vectors of the same items."""
    return emb.two_sided and recorded(emb, "data").get("kind", "bipartite") == "bipartite"


def mutual(emb: Embedding) -> bool:
    """Whether a pair of items is the same in both directions: one set of vectors, or an undirected graph."""
    if not emb.two_sided:
        return True
    undirected = recorded(emb, "data").get("directed") is False and not two_kinds(emb)
    return undirected and emb.context_names == emb.names


def refuse_signed(emb: Embedding, what: str) -> None:
    """Refuse what vectors of positive and negative links, fitted apart, cannot do."""
    if "signs" in emb.provenance:
        raise InputError(f"{what} vectors of signed links; embed the graph with ", Option("signed", False))


def relations(emb: Embedding, data: Any, **options: Any) -> Affinity:
    """Read a file, frame, graph or list of edges as data of the kind that was embedded."""
    from softvec.affinity import Affinity, as_affinity

    if isinstance(data, Affinity):
        return data
    is_file = isinstance(data, str | os.PathLike)
    kind = options.pop("kind", None)
    if kind is None:
        kind = "bipartite" if two_kinds(emb) else "graph"
        if is_file and set(recorded(emb, "types").get("names", ())) == {"member", "set"}:
            kind = "sets"
            guess(f"{data} is read as sets; pass ", Option("kind", "graph"), " if it holds edges")
    if kind != "sets" and is_file and len(emb) and isinstance(emb.names[0], str):
        options = {"ids": "string", **options}  # 007 stays 007
    if kind == "graph" and recorded(emb, "data").get("directed") is True:
        options = {"directed": True, **options}
    return as_affinity(data, kind=kind, **options)


def positions(names: Names, wanted: Names) -> NDArray[np.int64]:
    """Return the row of each wanted name, -1 where there is none.

    A string of digits that is not a name matches the integer: if one name of a file is not a number, all of
    its names are read as strings.
    """
    if names == wanted:
        return np.arange(len(wanted), dtype=np.int64)
    find = names.find
    rows = np.fromiter((find(name) for name in wanted), np.int64, len(wanted))
    for at in np.flatnonzero(rows < 0).tolist():
        name: Hashable = wanted[at]
        if isinstance(name, str) and name.isascii() and name.isdigit() and str(int(name)) == name:
            rows[at] = find(int(name))
    return rows


def known_weights(emb: Embedding, data: Any, side: Embedding, **options: Any) -> sparse.csr_array:
    """Return the weights of pairs of items and those of a side in ``data``, of shape (n, m)."""
    names, known = known_table(emb, data, side, **options)
    if names == emb.names:
        return known
    coo, row = known.tocoo(), positions(emb.names, names)
    row, shape = row[coo.row], (len(emb), known.shape[1])
    kept = row >= 0
    if not kept.any():
        raise _no_pair(names[0], emb.names[0])
    return sparse.csr_array((coo.data[kept], (row[kept], coo.col[kept])), shape=shape)


def known_table(emb: Embedding, data: Any, side: Embedding, **options: Any) -> tuple[Names, sparse.csr_array]:
    """Return the names of the rows of ``data``, known or new, and their weights with items of a side."""
    shape = len(emb), len(side)
    if sparse.issparse(data) or (isinstance(data, np.ndarray) and data.shape == shape):
        if data.shape != shape:
            raise InputError(
                f"the known pairs have shape {data.shape}; expected {shape}, that of the vectors"
            )
        names, matrix = emb.names, sparse.csr_array(data, copy=True)
    else:
        affinity = relations(emb, data, **options)
        names, coo = affinity.rows, affinity.matrix.tocoo()
        column = positions(side.names, affinity.columns)[coo.col]
        kept = column >= 0
        if len(kept) and not kept.any():
            raise _no_pair(affinity.columns[0], side.names[0])
        entries = coo.data[kept], (coo.row[kept], column[kept])
        matrix = sparse.csr_array(entries, shape=(len(names), len(side)))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return names, matrix


def _no_pair(first: Hashable, known: Hashable) -> InputError:
    return InputError(
        f"no known pair has both of its names among the vectors (first: {first!r}; the vectors "
        f"have {known!r})"
    )


def edges(emb: Embedding, data: Any) -> NDArray[np.int64]:
    """Return edges between items as rows (i, j), each once, from a graph, list of edges or file."""
    if two_kinds(emb):
        raise InputError("edges join rows and columns, but the map shows the rows alone; leave edges out")
    matrix = known_weights(emb, data, emb) != 0
    both = (matrix + matrix.T).tocoo()
    pairs = np.stack([both.row, both.col], axis=1).astype(np.int64)
    return pairs[pairs[:, 0] < pairs[:, 1]]
