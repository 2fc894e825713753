"""Edges to a sparse matrix, in one way: count the entries of each row, place them, sort and merge each row.

If the arrays are on disk (:mod:`softvec.core.scratch`), edges are first copied to buckets of consecutive
rows, each of which is then sorted in memory. A few edges are sorted by NumPy, without compiled kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.core.checks import counted
from softvec.core.errors import InputError, Option
from softvec.core.machine import Machine, machine
from softvec.core.scratch import copied, empty, kept, on_disk
from softvec.core.threads import row_blocks
from softvec.kernels import worth_compiling
from softvec.names.coding import Codes
from softvec.read.edges import Edges

NO_CODES = np.empty((0, 2), np.int32)
Rows = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]  # indptr, indices, values
BUCKET = 1 << 22  # entries per bucket on disk, about; sorting takes 50 MB with float64 values
_PIECE = 1 << 22  # edges whose weights are converted at a time


def compress(
    edges: Edges, *, both: bool, weighted: bool, self_loops: bool, merge: str
) -> tuple[sparse.csr_array, list[str]]:
    """Return ``edges``, which are consumed, as sorted, duplicate-free CSR, and notes on special edges.

    Parameters
    ----------
    edges : Edges
    both : bool
        Add each edge in both directions.
    weighted : bool
        Use the weights; otherwise, or without weights, the matrix is boolean unless duplicates are summed.
    self_loops : bool
        Keep edges from a node to itself (two-sided edges have none).
    merge : {"sum", "merge", "error"}
        Sum duplicates (count them, without weights), merge them into one edge, or raise an error.
    """
    if not edges.codes and len(edges.rows):
        raise InputError("these edges were already converted to a matrix; read them again")
    zeros = _drop_zeros(edges) if weighted else 0
    weights = edges.weights if weighted else None
    matrix, loops, duplicates = edges_to_csr(
        edges.codes,
        (len(edges.rows), len(edges.columns)),
        both=both,
        loops=-1 if edges.two_sided else int(self_loops),
        weights=weights,
        values_of=_value_type(weights, len(edges)) if weighted or merge == "sum" else None,
    )
    notes = [*loop_notes(loops, self_loops), *duplicate_notes(duplicates, merge, weighted)]
    notes += [f"{counted(zeros, 'edge')} of weight 0 dropped"] if zeros else []
    only_ones = not weighted and not duplicates
    return pattern(matrix) if only_ones else matrix, notes


def loop_notes(loops: int, kept: bool) -> list[str]:
    """Say what became of self loops."""
    return [f"{counted(loops, 'self loop')} {'kept' if kept else 'dropped'}"] if loops else []


def duplicate_notes(duplicates: int, merge: str, weighted: bool) -> list[str]:
    """Say what became of duplicates; an error if they are not allowed, or weighted and cannot be merged."""
    if not duplicates:
        return []
    if merge == "error":
        raise InputError(
            f"{counted(duplicates, 'duplicate edge')}; pass ",
            Option("duplicates", "sum"),
            " or ",
            Option("duplicates", "merge"),
        )
    if merge == "merge" and weighted:
        raise InputError(
            f"there are weights on {counted(duplicates, 'duplicate edge')}, and ",
            Option("duplicates", "merge"),
            " cannot choose between them; pass ",
            Option("duplicates", "sum"),
            " or ",
            Option("weighted", False),
        )
    return [f"{counted(duplicates, 'duplicate')} {'summed' if merge == 'sum' else 'merged'}"]


def _value_type(weights: list[NDArray[Any]] | None, count: int) -> type:
    """Return the type of summed weights: float32 for many, in half the memory, where nothing is lost."""
    if weights is None or not worth_compiling(2 * count):
        return np.float64
    return np.float32 if all(map(_exact_in_single, weights)) else np.float64


def pattern(matrix: sparse.csr_array) -> sparse.csr_array:
    """Return the boolean matrix with the same entries."""
    return sparse.csr_array((_true(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)


def _drop_zeros(edges: Edges) -> int:
    """Drop edges of weight 0, in place, but not their nodes. Return how many were dropped."""
    zeros = 0
    weights = edges.weights or []
    for b in range(len(weights)):  # only one block at a time is copied
        nonzero = weights[b] != 0
        dropped = len(nonzero) - int(np.count_nonzero(nonzero))
        if dropped:
            zeros += dropped
            edges.codes[b], weights[b] = kept(edges.codes[b], nonzero), kept(weights[b], nonzero)
    return zeros


def _exact_in_single(weights: NDArray[Any]) -> bool:
    """Whether float32 represents all weights exactly."""
    return all(np.array_equal(w, w.astype(np.float32)) for w in np.array_split(weights, 16))


def _true(size: int) -> NDArray[np.bool_]:
    ones = empty(size, bool)
    ones[:] = True
    return ones


def canonical_csr(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]
) -> sparse.csr_array:
    """Return a CSR matrix from rows that are already sorted and free of duplicates."""
    wide = np.int32 if len(indices) < 2**31 else np.int64
    indices = indices if indices.dtype == wide else copied(indices, wide)
    matrix = sparse.csr_array((data, indices, indptr.astype(wide)), shape=shape)
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix


def edges_to_csr(
    blocks: list[Codes],
    shape: tuple[int, int],
    *,
    both: bool,
    loops: int,
    weights: list[NDArray[Any]] | None = None,
    values_of: type | None = None,
    n_jobs: int | None = None,
) -> tuple[sparse.csr_array, int, int]:
    """Sort edges into the rows of a matrix; return it, and the numbers of self loops and of duplicates.

    Parameters
    ----------
    blocks : list of ndarray of shape (edges, 2)
        Consumed, as are ``weights``: released one by one, to save memory.
    shape : tuple of int
    both : bool
        Add each edge in both directions.
    loops : {1, 0, -1}
        Keep self loops, drop them, or treat rows and columns as different items.
    weights : list of ndarray, optional
        One array for each block; by default all weights are 1.
    values_of : dtype, optional
        Type of the values, the summed weights of equal edges; None for a boolean matrix.
    """
    count = sum(map(len, blocks))
    edges = _Edges(blocks, weights, both, loops, None if values_of is None else np.dtype(values_of))
    if worth_compiling(2 * count):
        with machine(n_jobs) as pool:
            (indptr, indices, values), n_loops = _sorted(edges, shape[0], pool)
    else:
        (indptr, indices, values), n_loops = _sorted_by_numpy(edges, shape[0])
    matrix = canonical_csr(values if edges.dtype else _true(len(indices)), indices, indptr, shape)
    kept_loops = n_loops if loops == 1 else 0
    merged = (1 + both) * (count - n_loops) + kept_loops - matrix.nnz
    on_diagonal = kept_loops - int(pattern(matrix).diagonal().sum()) if kept_loops and both else 0
    return matrix, n_loops, on_diagonal + (merged - on_diagonal) // (1 + both)


def _sorted(edges: _Edges, n: int, pool: Machine) -> tuple[Rows, int]:
    """Return the rows of many edges, and the number of self loops."""
    from softvec.kernels import graph

    lengths = np.zeros(n, dtype=np.int64)  # with duplicates, until they are merged
    n_loops = sum(graph.count_rows(codes, edges.both, edges.loops, lengths) for codes in edges.blocks)
    indptr = row_starts(lengths)
    nnz = int(indptr[-1])
    buckets = equal_shares(indptr, -(-nnz // BUCKET)) if on_disk() else [(0, n)]
    parts = edges.spilled(buckets, indptr) if len(buckets) > 1 else iter([edges])
    indices, values = empty(nnz, np.int32), edges.room(nnz)
    at = 0
    for (lo, hi), part in zip(buckets, parts):
        starts = indptr[lo : hi + 1] - indptr[lo]
        end = at + int(starts[-1])
        out, own = indices[at:end], values[at:end]
        part.place(starts, out, own)
        _merge(starts, out, own, lengths[lo:hi], pool)
        out = out[: int(lengths[lo:hi].sum())]
        if lo:
            np.add(out, lo, out=out)  # columns of a bucket are relative to its first row
        at += len(out)
        del out, own
    return (row_starts(lengths), _cut(indices, at), _cut(values, at)), n_loops


def _merge(
    starts: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[Any],
    lengths: NDArray[np.int64],
    pool: Machine,
) -> None:
    """Sort and merge rows in place, write their new lengths, and close the gaps."""
    from softvec.kernels import graph

    def merge(lo: int, hi: int) -> None:
        graph.merge_rows(starts, indices, values, lo, hi, lengths)

    pool.map(merge, equal_shares(starts, 16 * pool.n_jobs))
    new = row_starts(lengths)
    if new[-1] < starts[-1]:
        graph.close_gaps(starts, new, indices, values)


def _sorted_by_numpy(edges: _Edges, n: int) -> tuple[Rows, int]:
    """Return the rows of a few edges, and the number of self loops."""
    loops = [np.count_nonzero(codes[:, 0] == codes[:, 1]) for codes in edges.blocks]
    parts = list(edges.entries(_PIECE)) or [(NO_CODES, edges.room(0))]
    i, j = np.concatenate([codes for codes, _ in parts]).T
    values = np.concatenate([weight for _, weight in parts]) if edges.dtype else np.ones(len(i))
    (i, j), sums = sums_of_equal((i, j), values)
    rows = row_starts(np.bincount(i, minlength=n)), j.astype(np.int32), sums
    return rows, int(sum(loops)) if edges.loops >= 0 else 0


@dataclass(frozen=True)
class _Edges:
    """Blocks of edges, and what becomes of them; each block is released when it is used."""

    blocks: list[Codes]
    weights: list[NDArray[Any]] | None  # only with values
    both: bool
    loops: int
    dtype: np.dtype[Any] | None  # of the values

    def room(self, size: int) -> NDArray[Any]:
        """Return an uninitialised array for this many values; without values an empty one."""
        return empty(size if self.dtype else 0, self.dtype or np.float32)

    def pieces(self, size: int) -> Iterator[tuple[Codes, NDArray[Any]]]:
        """Yield edges and weights in pieces of at most ``size``; consumes them."""
        for b in range(len(self.blocks)):
            codes, self.blocks[b] = self.blocks[b], NO_CODES
            weight = None
            if self.weights:
                weight, self.weights[b] = self.weights[b], np.empty(0)
            for lo, hi in row_blocks(len(codes), size):
                values = self.room(hi - lo) if weight is None else weight[lo:hi]
                if weight is None:
                    values[:] = 1
                yield codes[lo:hi], values.astype(self.dtype or np.float32, copy=False)
            del codes, weight  # and their files
        self.blocks.clear()

    def place(self, starts: NDArray[np.int64], indices: NDArray[np.int32], values: NDArray[Any]) -> None:
        """Write the entries of each row from its start on, in the order of the edges."""
        from softvec.kernels import graph

        cursor = starts[:-1].astype(np.int32 if len(indices) < 2**31 else np.int64)
        for codes, weight in self.pieces(_PIECE):
            graph.place(codes, weight, self.both, self.loops, cursor, indices[:, None], values)

    def entries(self, size: int) -> Iterator[tuple[Codes, NDArray[Any]]]:
        """Yield the entries (row, column) of edges, and their values, in pieces; consumes the edges."""
        for codes, weight in self.pieces(size):
            apart = (codes[:, 0] != codes[:, 1]) | (self.loops < 0)
            for way, own in ((codes, apart | (self.loops != 0)), (codes[:, ::-1], apart & self.both)):
                yield way[own], weight[own] if self.dtype else weight

    def spilled(self, buckets: list[tuple[int, int]], indptr: NDArray[np.int64]) -> Iterator[_Edges]:
        """Copy the entries to buckets of rows, relative to the first row of each."""
        nnz = int(indptr[-1])
        entries, values = empty((nnz, 2), np.int32), self.room(nnz)
        first_row = np.array([lo for lo, _ in buckets], np.int32)
        cursor = indptr[first_row]
        for codes, weight in self.entries(_PIECE // 4):
            bucket = np.searchsorted(first_row, codes[:, 0], side="right") - 1
            order = np.argsort(bucket, kind="stable")
            ends = np.cumsum(np.bincount(bucket, minlength=len(buckets)))
            for b in np.flatnonzero(np.diff(ends, prepend=0)):
                own = order[ends[b - 1] if b else 0 : ends[b]]
                at = slice(cursor[b], cursor[b] + len(own))
                entries[at] = codes[own] - first_row[b]
                if self.dtype:
                    values[at] = weight[own]
                cursor[b] += len(own)
        for lo, hi in buckets:
            span = slice(int(indptr[lo]), int(indptr[hi]))
            yield _Edges([entries[span]], [values[span]] if self.dtype else None, False, -1, self.dtype)


def sums_of_equal(
    keys: tuple[NDArray[Any], ...], values: NDArray[Any]
) -> tuple[list[NDArray[Any]], NDArray[Any]]:
    """Sort entries by several keys, and add the values of equal ones from the smallest to the largest.

    So sums do not depend on the order of the entries.
    """
    order = np.lexsort((values, *reversed(keys)))
    keys, new = tuple(key[order] for key in keys), np.ones(len(order), bool)
    new[1:] = np.any([np.diff(key) != 0 for key in keys], axis=0)
    first = np.flatnonzero(new)
    sums = np.add.reduceat(values[order], first) if len(first) else values
    return [key[first] for key in keys], sums


def row_starts(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indptr of rows of these lengths."""
    indptr = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=indptr[1:])
    return indptr


def equal_shares(indptr: NDArray[np.int64], parts: int) -> list[tuple[int, int]]:
    """Split rows into ranges with about the same number of entries."""
    cuts = np.searchsorted(indptr, np.linspace(0, indptr[-1], max(1, parts) + 1).astype(np.int64))
    cuts[0], cuts[-1] = 0, len(indptr) - 1
    return [(int(lo), int(hi)) for lo, hi in pairwise(cuts) if hi > lo]


def _cut(array: NDArray[Any], size: int) -> NDArray[Any]:
    """Return the first entries of an array, in place where it is in memory: a copy would raise the peak."""
    if not array.flags.owndata or not len(array):
        return array[:size]
    array.resize(size, refcheck=False)
    return array


def off_diagonal(csr: sparse.csr_array) -> sparse.csr_array:
    """Return a canonical square matrix without its diagonal."""
    rows = np.repeat(np.arange(csr.shape[0], dtype=csr.indices.dtype), np.diff(csr.indptr))
    keep = rows != csr.indices
    before = np.concatenate([[0], np.cumsum(keep, dtype=csr.indptr.dtype)])
    indptr = before[csr.indptr].astype(csr.indptr.dtype)
    return sparse.csr_array((csr.data[keep], csr.indices[keep], indptr), shape=csr.shape)
