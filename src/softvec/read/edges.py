"""Edges: blocks of coded pairs with weights and times, and how they become a sparse matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.core.checks import counted
from softvec.core.errors import InputError
from softvec.core.threads import Workers, workers
from softvec.names import Labels
from softvec.names.coding import Codes, IntegerNames, ObjectNames, Segments, TokenNames, Tokens

_SMALL = 1_000_000  # edges below which SciPy takes less than compiling the kernels once would
NEGATIVE = ("error", "drop", "abs")
_NONE = np.empty((0, 2), np.int32)
Block = Any  # Tokens, an integer array of shape (rows, columns), or a list of rows of names


@dataclass(frozen=True)
class Edges:
    """Pairs of row and column numbers in blocks, with their names; weights and times where given."""

    codes: list[Codes]  # each (edges, 2)
    rows: Labels
    columns: Labels
    weights: list[NDArray[np.floating]] | None = None
    times: list[NDArray[Any]] | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return sum(map(len, self.codes))

    @property
    def two_sided(self) -> bool:
        """Whether rows and columns have names of their own."""
        return self.rows is not self.columns

    def pairs(self) -> Codes:
        """Return all pairs in one array of shape (edges, 2)."""
        return np.concatenate(self.codes) if self.codes else np.empty((0, 2), np.int32)


@dataclass
class EdgeBuilder:
    """Collects blocks of edges; the kind of the first block decides how names are numbered."""

    two_sided: bool = False
    negative: str = "error"
    pool: Workers | None = None
    _names: list[Any] = field(default_factory=list)
    _weights: Segments = field(default_factory=Segments)
    _times: Segments = field(default_factory=Segments)
    _dropped: int = 0

    def __post_init__(self) -> None:
        if self.negative not in NEGATIVE:
            raise InputError(f"negative is {self.negative!r}; expected one of {', '.join(NEGATIVE)}")

    def blocks_of(self, side: int) -> type | None:
        """Return the kind of the blocks added so far: Tokens, ndarray, list, or None."""
        if not self._names:
            return None
        kinds = {TokenNames: Tokens, IntegerNames: np.ndarray, ObjectNames: list}
        return kinds[type(self._names[side])]

    def add(
        self,
        sides: Sequence[Block],
        weights: NDArray[np.floating] | None = None,
        times: NDArray[Any] | None = None,
    ) -> None:
        """Add a block: one side of two columns, or two sides of one column each."""
        if not self._names:
            self._names = [_encoder(side, self.pool) for side in sides]
        if weights is not None:
            weights, keep = self._checked(weights)
            if keep is not None:
                sides = [_select(side, keep) for side in sides]
                times = None if times is None else times[keep]
            self._weights.add(weights)
        if times is not None:
            before = self._times.parts[-1].dtype.kind if self._times.parts else times.dtype.kind
            if (before == "M") != (times.dtype.kind == "M"):
                raise InputError("the times are dates in some rows and numbers in others; write all as dates")
            self._times.add(times)
        for names, side in zip(self._names, sides):
            names.add(side)

    def _checked(self, weights: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        if not len(weights) or weights.min() >= 0 or self.negative == "error":
            return weights, None
        if self.negative == "abs":
            return np.abs(weights), None
        keep = weights >= 0
        self._dropped += int(len(keep) - keep.sum())
        return weights[keep], keep

    def finish(self) -> Edges:
        """Return the edges; the builder is spent."""
        done = [names.finish() for names in self._names] or [([], Labels.range(0))] * (1 + self.two_sided)
        if self.two_sided:
            (left, rows), (right, columns) = done
            codes = [np.hstack(part) for part in zip(left, right)]
        else:
            codes, rows = done[0]
            columns = rows
        notes = (f"{counted(self._dropped, 'negative weight')} dropped",) if self._dropped else ()
        weights, times = self._weights.finish() or None, self._times.finish() or None
        return Edges(codes, rows, columns, weights, times, notes)


def _encoder(side: Block, pool: Workers | None) -> Any:
    if isinstance(side, Tokens):
        return TokenNames(pool)
    return IntegerNames() if isinstance(side, np.ndarray) and side.dtype.kind in "iu" else ObjectNames()


def _select(side: Block, keep: NDArray[np.bool_]) -> Block:
    if isinstance(side, Tokens):
        return Tokens(side.buf, side.starts[keep], side.ends[keep], side.hashes[keep])
    return side[keep] if isinstance(side, np.ndarray) else [row for row, k in zip(side, keep) if k]


@dataclass(frozen=True)
class Report:
    """What was found while edges became a matrix."""

    self_loops: int = 0
    duplicates: int = 0
    zeros: int = 0


def compress(
    edges: Edges, *, both: bool, weighted: bool, self_loops: bool, merge: str
) -> tuple[sparse.csr_array, Report]:
    """Return the matrix of ``edges`` as sorted, duplicate-free CSR; ``edges`` is spent.

    Parameters
    ----------
    edges : Edges
    both : bool
        Enter each edge in both directions.
    weighted : bool
        Use the weights; otherwise (or where there are none) the matrix has boolean values, unless
        duplicates are summed.
    self_loops : bool
        Keep edges from a node to itself (two-sided edges have none).
    merge : {"sum", "merge", "error"}
        Duplicates are added up (counted, without weights), reduced to one edge, or refused.
    """
    if not edges.codes and len(edges.rows):
        raise InputError("these edges have become a matrix already and are gone; read them again")
    counted = merge == "sum" and not weighted
    if not weighted and edges.weights is not None:
        edges = replace(edges, weights=None)
    zeros = _drop_zeros(edges) if weighted else 0
    if len(edges) <= _SMALL:
        build = _compress_small
    else:
        build = _compress_large
    matrix, loops, off, on = build(edges, both, weighted or counted, self_loops)
    duplicates = (off // 2 if both else off) + on
    if merge == "error" and duplicates:
        raise InputError(f"{duplicates:,} edges are repeated; pass duplicates='sum' or 'merge'")
    if merge == "merge" and weighted and duplicates:
        raise InputError(
            f"{duplicates:,} weighted edges are repeated and duplicates='merge' would have to pick one; "
            "pass duplicates='sum' or weighted=False"
        )
    if counted and not duplicates:
        matrix = sparse.csr_array((np.ones(matrix.nnz, bool), matrix.indices, matrix.indptr), matrix.shape)
    return matrix, Report(loops, duplicates, zeros)


def _drop_zeros(edges: Edges) -> int:
    """Drop edges of weight 0, in place: they are no edges, but their ends stay. Return their number."""
    zeros = 0
    weights = edges.weights or []
    for b in range(len(weights)):  # one piece at a time is held twice
        some = weights[b] != 0
        dropped = len(some) - int(np.count_nonzero(some))
        if dropped:
            zeros += dropped
            edges.codes[b], weights[b] = edges.codes[b][some], weights[b][some]
    return zeros


def _compress_small(
    edges: Edges, both: bool, valued: bool, self_loops: bool
) -> tuple[sparse.csr_array, int, int, int]:
    pairs = edges.pairs()
    weights = np.concatenate(edges.weights).astype(float) if edges.weights else np.ones(len(pairs))
    is_loop = pairs[:, 0] == pairs[:, 1] if not edges.two_sided else np.zeros(len(pairs), bool)
    if not self_loops:
        pairs, weights = pairs[~is_loop], weights[~is_loop]
    i, j = pairs[:, 0], pairs[:, 1]
    if both:
        mirror = i != j
        i, j = np.concatenate([i, j[mirror]]), np.concatenate([j, i[mirror]])
        weights = np.concatenate([weights, weights[mirror]])
    entered, entered_loops = len(i), int(np.count_nonzero(i == j))
    shape = (len(edges.rows), len(edges.columns))
    matrix = sparse.coo_array((weights, (i, j)), shape=shape).tocsr()
    matrix.sum_duplicates()
    rows = np.repeat(np.arange(shape[0]), np.diff(matrix.indptr))
    diagonal = int(np.count_nonzero(matrix.indices == rows))
    on = entered_loops - diagonal
    if not valued:
        matrix = sparse.csr_array((np.ones(matrix.nnz, bool), matrix.indices, matrix.indptr), shape)
    return matrix, int(is_loop.sum()), entered - matrix.nnz - on, on


def _equal_shares(indptr: NDArray[np.int64], parts: int) -> list[tuple[int, int]]:
    """Cut rows into ranges of about equally many entries."""
    cuts = np.searchsorted(indptr, np.linspace(0, indptr[-1], parts + 1).astype(np.int64))
    cuts[0], cuts[-1] = 0, len(indptr) - 1
    return [(int(lo), int(hi)) for lo, hi in pairwise(cuts) if hi > lo]


def _exact_in_single(weights: NDArray[Any]) -> bool:
    return all(np.array_equal(w, w.astype(np.float32)) for w in np.array_split(weights, 16))


def _compress_large(
    edges: Edges, both: bool, valued: bool, self_loops: bool
) -> tuple[sparse.csr_array, int, int, int]:
    from softvec.kernels import graph

    n, m = len(edges.rows), len(edges.columns)
    loops = -1 if edges.two_sided else int(self_loops)
    counts = np.zeros(n, dtype=np.int64)
    exact = edges.weights is not None and all(map(_exact_in_single, edges.weights))
    kind = np.float32 if exact else np.float64

    met = sum(graph.count_rows(codes, both, loops, counts) for codes in edges.codes)
    indptr = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(counts, out=indptr[1:])
    nnz = int(indptr[-1])
    indices = np.empty(nnz, dtype=np.int32)
    values = np.empty(nnz if valued else 0, dtype=kind)
    cursor = indptr[:-1].astype(np.int32 if nnz < 2**31 else np.int64)
    for b in range(len(edges.codes)):
        codes, edges.codes[b] = edges.codes[b], _NONE  # released one by one
        if edges.weights:
            weights = edges.weights[b].astype(kind, copy=False)
            edges.weights[b] = np.empty(0)
        else:
            weights = np.ones(len(codes) if valued else 0, dtype=kind)
        graph.place(codes, weights, both, loops, cursor, indices[:, None], values)
        del codes, weights
    edges.codes.clear()

    def merge(lo: int, hi: int) -> tuple[int, int]:
        return graph.merge_rows(indptr, indices, values, lo, hi, counts)

    with workers() as pool:
        merged = pool.map(merge, _equal_shares(indptr, 16 * pool.n_jobs))
    off, on = (sum(part) for part in zip(*merged))
    if off or on:
        closed = np.zeros(n + 1, dtype=np.int64)
        np.cumsum(counts, out=closed[1:])  # now the lengths of the merged rows
        graph.close_gaps(indptr, closed, indices, values)
        indptr, nnz = closed, int(closed[-1])
        indices.resize(nnz, refcheck=False)  # in place: a copy would be the peak
        values.resize(nnz if valued else 0, refcheck=False)
    data = values if valued else np.ones(nnz, dtype=bool)
    wide = np.int32 if nnz < 2**31 else np.int64
    parts = (data, indices.astype(wide, copy=False), indptr.astype(wide))
    matrix = sparse.csr_array(parts, shape=(n, m))
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix, met, off, on
