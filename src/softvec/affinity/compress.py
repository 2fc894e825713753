"""Edges to a sparse matrix, in one way: count the entries of each row, place them, sort and merge each row.

If the arrays are on disk (:mod:`softvec.core.scratch`), edges are first copied to buckets of consecutive
rows, each of which is then sorted in memory. A few edges are sorted by NumPy, without compiled kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
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
BUCKET = 1 << 22  # entries per bucket on disk, about; sorting takes 50 MB with float64 values
_PIECE = 1 << 22  # edges whose weights are converted at a time


@dataclass(frozen=True)
class Report:
    """Counts of special edges found while building a matrix."""

    self_loops: int = 0
    duplicates: int = 0
    zeros: int = 0


def compress(
    edges: Edges, *, both: bool, weighted: bool, self_loops: bool, merge: str
) -> tuple[sparse.csr_array, Report]:
    """Return the matrix of ``edges`` as sorted, duplicate-free CSR; ``edges`` is consumed.

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
    counted = merge == "sum" and not weighted
    if not weighted and edges.weights is not None:
        edges = replace(edges, weights=None)
    zeros = _drop_zeros(edges) if weighted else 0
    valued = weighted or counted
    rows = edges_to_csr(
        edges.codes,
        len(edges.rows),
        both=both,
        loops=-1 if edges.two_sided else int(self_loops),
        weights=edges.weights,
        values_of=_value_type(edges) if valued else None,
    )
    data = rows.values if valued else _true(len(rows.indices))
    matrix = canonical_csr(data, rows.indices, rows.indptr, (len(edges.rows), len(edges.columns)))
    duplicates = (rows.merged_off // 2 if both else rows.merged_off) + rows.merged_on
    refuse_duplicates(duplicates, merge, weighted)
    return pattern(matrix) if counted and not duplicates else matrix, Report(rows.loops, duplicates, zeros)


def _value_type(edges: Edges) -> type:
    """Return the type of summed weights: float32 for many, in half the memory, where nothing is lost."""
    if edges.weights is None or not worth_compiling(2 * len(edges)):
        return np.float64
    return np.float32 if all(map(_exact_in_single, edges.weights)) else np.float64


def pattern(matrix: sparse.csr_array) -> sparse.csr_array:
    """Return the boolean matrix with the same entries."""
    return sparse.csr_array((_true(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)


def refuse_duplicates(duplicates: int, merge: str, weighted: bool) -> None:
    """Raise an error if duplicates are not allowed, or have weights and cannot be merged."""
    if merge == "error" and duplicates:
        raise InputError(
            f"{counted(duplicates, 'duplicate edge')}; pass ",
            Option("duplicates", "sum"),
            " or ",
            Option("duplicates", "merge"),
        )
    if merge == "merge" and weighted and duplicates:
        raise InputError(
            f"there are weights on {counted(duplicates, 'duplicate edge')}, and ",
            Option("duplicates", "merge"),
            " cannot choose between them; pass ",
            Option("duplicates", "sum"),
            " or ",
            Option("weighted", False),
        )


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


@dataclass(frozen=True)
class CompressedRows:
    """Sorted rows without duplicates, and counts of self loops and merged entries."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[Any]  # empty without values
    loops: int  # self loops found
    merged_off: int  # entries off the diagonal that were merged into another
    merged_on: int  # the same on the diagonal


def edges_to_csr(
    blocks: list[Codes],
    n: int,
    *,
    both: bool,
    loops: int,
    weights: list[NDArray[Any]] | None = None,
    values_of: type | None = None,
    n_jobs: int | None = None,
) -> CompressedRows:
    """Sort edges into rows. ``blocks`` and ``weights`` are consumed.

    Parameters
    ----------
    blocks : list of ndarray of shape (edges, 2)
        Released one by one, to save memory.
    n : int
        Number of rows.
    both : bool
        Add each edge in both directions.
    loops : {1, 0, -1}
        Keep self loops, drop them, or treat rows and columns as different items.
    weights : list of ndarray, optional
        One array for each block; by default all weights are 1.
    values_of : dtype, optional
        Type of the values, the summed weights of equal edges; None for no values.
    """
    count = sum(map(len, blocks))
    ways = _Edges(blocks, weights, both, loops, np.dtype(values_of or np.float32), values_of is not None)
    if not worth_compiling(2 * count):
        return ways.sorted_by_numpy(n)
    n_loops, lengths = ways.lengths(n)
    indptr = row_starts(lengths)
    nnz = int(indptr[-1])
    buckets = equal_shares(indptr, -(-nnz // BUCKET)) if on_disk() else [(0, n)]
    parts = ways.spilled(buckets, indptr) if len(buckets) > 1 else iter([ways])
    indices, values = empty(nnz, np.int32), empty(nnz if ways.valued else 0, ways.dtype)
    at, merged = 0, np.zeros(2, np.int64)
    with machine(n_jobs) as pool:
        for (lo, hi), part in zip(buckets, parts):
            starts = indptr[lo : hi + 1] - indptr[lo]
            end = at + int(starts[-1])
            out, own = indices[at:end], values[at:end]
            part.place(starts, out, own)
            merged += _merge(starts, out, own, lengths[lo:hi], pool)
            out = out[: int(lengths[lo:hi].sum())]
            if lo:
                np.add(out, lo, out=out)  # columns of a bucket are relative to its first row
            at += len(out)
            del out, own
    off, on = map(int, merged)
    return CompressedRows(row_starts(lengths), _cut(indices, at), _cut(values, at), n_loops, off, on)


def _merge(
    starts: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[Any],
    lengths: NDArray[np.int64],
    pool: Machine,
) -> tuple[int, int]:
    """Sort and merge rows in place and close the gaps; return the entries merged off and on the diagonal."""
    from softvec.kernels import graph

    def merge(lo: int, hi: int) -> tuple[int, int]:
        return graph.merge_rows(starts, indices, values, lo, hi, lengths)

    merged = pool.map(merge, equal_shares(starts, 16 * pool.n_jobs))
    off, on = (sum(part) for part in zip(*merged)) if merged else (0, 0)
    if off or on:
        graph.close_gaps(starts, row_starts(lengths), indices, values)
    return off, on


@dataclass(frozen=True)
class _Edges:
    """Blocks of edges, and what becomes of them; each block is released when it is used."""

    blocks: list[Codes]
    weights: list[NDArray[Any]] | None
    both: bool
    loops: int
    dtype: np.dtype[Any]  # of the values
    valued: bool

    def lengths(self, n: int) -> tuple[int, NDArray[np.int64]]:
        """Return the number of self loops, and the lengths of rows, with duplicates."""
        from softvec.kernels import graph

        counts = np.zeros(n, dtype=np.int64)
        return sum(graph.count_rows(codes, self.both, self.loops, counts) for codes in self.blocks), counts

    def pieces(self, size: int) -> Iterator[tuple[Codes, NDArray[Any]]]:
        """Yield edges and weights in pieces of at most ``size``; consumes them."""
        for b in range(len(self.blocks)):
            codes, self.blocks[b] = self.blocks[b], NO_CODES
            weight = None
            if self.weights:
                weight, self.weights[b] = self.weights[b], np.empty(0)
            for lo, hi in row_blocks(len(codes), size):
                if weight is None or not self.valued:
                    yield codes[lo:hi], np.ones(hi - lo if self.valued else 0, self.dtype)
                else:
                    yield codes[lo:hi], weight[lo:hi].astype(self.dtype, copy=False)
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
                yield way[own], weight[own] if self.valued else weight

    def spilled(self, buckets: list[tuple[int, int]], indptr: NDArray[np.int64]) -> Iterator[_Edges]:
        """Copy the entries to buckets of rows, relative to the first row of each."""
        nnz = int(indptr[-1])
        entries, values = empty((nnz, 2), np.int32), empty(nnz if self.valued else 0, self.dtype)
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
                if self.valued:
                    values[at] = weight[own]
                cursor[b] += len(own)
        for lo, hi in buckets:
            span = slice(int(indptr[lo]), int(indptr[hi]))
            yield _Edges(
                [entries[span]], [values[span]] if self.valued else None, False, -1, self.dtype, self.valued
            )

    def sorted_by_numpy(self, n: int) -> CompressedRows:
        """Return the sorted rows of a few edges."""
        loops = sum(int(np.count_nonzero(codes[:, 0] == codes[:, 1])) for codes in self.blocks)
        loops = loops if self.loops >= 0 else 0
        parts = list(self.entries(_PIECE)) or [(NO_CODES, np.ones(0, self.dtype))]
        i, j = np.concatenate([codes for codes, _ in parts]).T
        values = np.concatenate([weight for _, weight in parts]) if self.valued else np.ones(len(i))
        on = np.count_nonzero(i == j)
        merged = len(i)
        (i, j), sums = sums_of_equal((i, j), values)
        on -= np.count_nonzero(i == j)
        indptr = row_starts(np.bincount(i, minlength=n))
        sums = sums if self.valued else np.empty(0, self.dtype)
        return CompressedRows(indptr, j.astype(np.int32), sums, loops, merged - len(i) - int(on), int(on))


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
