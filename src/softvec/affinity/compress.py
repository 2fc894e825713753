"""Edges to sparse matrices: few edges by SciPy, many by a counting sort."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.core.checks import counted
from softvec.core.errors import InputError, Option
from softvec.core.machine import machine
from softvec.core.scratch import copied, empty, kept, on_disk
from softvec.kernels import worth_compiling
from softvec.names.coding import Codes
from softvec.read.edges import Edges

NO_CODES = np.empty((0, 2), np.int32)


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
    build = _compress_large if worth_compiling(2 * len(edges)) else _compress_small
    matrix, loops, off, on = build(edges, both, weighted or counted, self_loops)
    duplicates = (off // 2 if both else off) + on
    refuse_duplicates(duplicates, merge, weighted)
    return pattern(matrix) if counted and not duplicates else matrix, Report(loops, duplicates, zeros)


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
    return matrix if valued else pattern(matrix), int(is_loop.sum()), entered - matrix.nnz - on, on


def equal_shares(indptr: NDArray[np.int64], parts: int) -> list[tuple[int, int]]:
    """Split rows into ranges with about the same number of entries."""
    cuts = np.searchsorted(indptr, np.linspace(0, indptr[-1], parts + 1).astype(np.int64))
    cuts[0], cuts[-1] = 0, len(indptr) - 1
    return [(int(lo), int(hi)) for lo, hi in pairwise(cuts) if hi > lo]


def exact_in_single(weights: NDArray[Any]) -> bool:
    """Whether float32 represents all weights exactly."""
    return all(np.array_equal(w, w.astype(np.float32)) for w in np.array_split(weights, 16))


def _compress_large(
    edges: Edges, both: bool, valued: bool, self_loops: bool
) -> tuple[sparse.csr_array, int, int, int]:
    exact = edges.weights is not None and all(map(exact_in_single, edges.weights))
    kind = (np.float32 if exact else np.float64) if valued else None
    loops = -1 if edges.two_sided else int(self_loops)
    if on_disk():
        from softvec.affinity.spill import edges_to_csr_on_disk as sort
    else:
        sort = edges_to_csr
    rows = sort(edges.codes, len(edges.rows), both=both, loops=loops, weights=edges.weights, values_of=kind)
    data = rows.values if valued else _true(len(rows.indices))
    matrix = canonical_csr(data, rows.indices, rows.indptr, (len(edges.rows), len(edges.columns)))
    return matrix, rows.loops, rows.merged_off, rows.merged_on


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


#: Called with (lo, hi, indptr, counts, indices): drops entries of rows lo .. hi in place.
Thinning = Callable[[int, int, NDArray[Any], NDArray[Any], NDArray[Any]], None]


def row_starts(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indptr of rows of these lengths."""
    indptr = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=indptr[1:])
    return indptr


def row_lengths(
    blocks: list[Codes], n: int, both: bool, loops: int
) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of self loops, and the lengths and starts of rows, with duplicates."""
    from softvec.kernels import graph

    counts = np.zeros(n, dtype=np.int64)
    n_loops = sum(graph.count_rows(codes, both, loops, counts) for codes in blocks)
    return n_loops, counts, row_starts(counts)


def edges_to_csr(
    blocks: list[Codes],
    n: int,
    *,
    both: bool,
    loops: int,
    weights: list[NDArray[Any]] | None = None,
    values_of: type | None = None,
    thin: Thinning | None = None,
    n_jobs: int | None = None,
) -> CompressedRows:
    """Sort edges into rows: count, place, sort and merge. ``blocks`` and ``weights`` are consumed.

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
    thin : callable, optional
        Drops some of the merged entries.
    """
    from softvec.kernels import graph

    n_loops, counts, indptr = row_lengths(blocks, n, both, loops)
    nnz = int(indptr[-1])
    indices = np.empty(nnz, dtype=np.int32)
    values: NDArray[Any] = np.empty(0 if values_of is None else nnz, dtype=values_of or np.float32)
    cursor = indptr[:-1].astype(np.int32 if nnz < 2**31 else np.int64)
    for b in range(len(blocks)):
        codes, blocks[b] = blocks[b], NO_CODES
        if weights:
            weight, weights[b] = weights[b].astype(values.dtype, copy=False), np.empty(0)
        else:
            weight = np.ones(0 if values_of is None else len(codes), dtype=values.dtype)
        graph.place(codes, weight, both, loops, cursor, indices[:, None], values)
        del codes, weight
    blocks.clear()

    def merge(lo: int, hi: int) -> tuple[int, int]:
        merged = graph.merge_rows(indptr, indices, values, lo, hi, counts)
        if thin is not None:
            thin(lo, hi, indptr, counts, indices)
        return merged

    with machine(n_jobs) as pool:
        merged = pool.map(merge, equal_shares(indptr, 16 * pool.n_jobs))
    off, on = (sum(part) for part in zip(*merged)) if merged else (0, 0)
    if off or on or thin is not None:
        closed = row_starts(counts)  # now the lengths of the merged rows
        graph.close_gaps(indptr, closed, indices, values)
        indptr, nnz = closed, int(closed[-1])
        indices.resize(nnz, refcheck=False)  # in place: a copy would raise the peak memory
        values.resize(0 if values_of is None else nnz, refcheck=False)
    return CompressedRows(indptr, indices, values, n_loops, off, on)
