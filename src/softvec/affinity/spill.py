"""Edges to compressed rows if neither fits in memory: an external bucket sort.

Edges are copied to buckets of consecutive rows; each bucket is sorted and merged in memory, and the result is
appended to the output. Within a row entries keep the order of the edges, so that equal edges are summed in
the same order as in :func:`softvec.affinity.compress.edges_to_csr`: the bits are the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.affinity.compress import NO_CODES, CompressedRows, equal_shares, row_lengths, row_starts
from softvec.core.machine import Machine, machine
from softvec.core.scratch import empty
from softvec.core.threads import row_blocks
from softvec.names.coding import Codes

BUCKET = 1 << 22  # entries per bucket, about; sorting takes 120 MB with float64 values and their copies
_PIECE = 1 << 20  # edges whose weights are converted at a time


def edges_to_csr_on_disk(
    blocks: list[Codes],
    n: int,
    *,
    both: bool,
    loops: int,
    weights: list[NDArray[Any]] | None = None,
    values_of: type | None = None,
) -> CompressedRows:
    """Sort edges into rows; parameters as in :func:`softvec.affinity.compress.edges_to_csr`."""
    n_loops, counts, indptr = row_lengths(blocks, n, both, loops)
    nnz = int(indptr[-1])
    buckets = equal_shares(indptr, max(1, -(-nnz // BUCKET)))
    entries, weight_of = _spilled(blocks, weights, buckets, indptr, both, loops, values_of)
    indices = empty(nnz, np.int32)
    values = empty(0 if values_of is None else nnz, values_of or np.float32)
    at, merged = 0, np.zeros(2, np.int64)
    with machine() as pool:
        for lo, hi in buckets:
            span = slice(int(indptr[lo]), int(indptr[hi]))
            rows = _sorted(
                entries[span], weight_of[span] if len(values) else values, indptr[lo : hi + 1], pool
            )
            end = at + len(rows.indices)
            np.add(rows.indices, lo, out=indices[at:end])
            if len(values):
                values[at:end] = rows.values
            counts[lo:hi] = np.diff(rows.indptr)
            merged += rows.merged_off, rows.merged_on
            at = end
    off, on = map(int, merged)
    return CompressedRows(row_starts(counts), indices[:at], values[:at], n_loops, off, on)


def _spilled(
    blocks: list[Codes],
    weights: list[NDArray[Any]] | None,
    buckets: list[tuple[int, int]],
    indptr: NDArray[np.int64],
    both: bool,
    loops: int,
    values_of: type | None,
) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return entries (row, column) by bucket, relative to its first row, and values; consumes the edges."""
    from softvec.kernels import graph

    nnz = int(indptr[-1])
    entries = empty((nnz, 2), np.int32)
    values = empty(0 if values_of is None else nnz, values_of or np.float32)
    first_row = np.array([lo for lo, _ in buckets], np.int64)
    bucket_of = np.repeat(np.arange(len(buckets), dtype=np.int32), [hi - lo for lo, hi in buckets])
    cursor = indptr[first_row]
    for b in range(len(blocks)):
        codes, blocks[b] = blocks[b], NO_CODES
        weight = None
        if weights:
            weight, weights[b] = weights[b], np.empty(0)
        for lo, hi in row_blocks(len(codes), _PIECE):
            if weight is None:
                part = np.ones(0 if values_of is None else hi - lo, values.dtype)
            else:
                part = weight[lo:hi].astype(values.dtype, copy=False)
            graph.spill(codes[lo:hi], part, both, loops, bucket_of, first_row, cursor, entries, values)
        del codes, weight  # and their files
    blocks.clear()
    return entries, values


def _sorted(
    entries: NDArray[np.int32], weights: NDArray[Any], starts: NDArray[np.int64], pool: Machine
) -> CompressedRows:
    """Sort and merge the entries of one bucket, in memory."""
    from softvec.kernels import graph

    indptr = starts - starts[0]
    indices = np.empty(len(entries), np.int32)
    values = np.empty(len(weights), weights.dtype)
    cursor, lengths = indptr[:-1].copy(), np.zeros(len(indptr) - 1, np.int64)
    graph.place(entries, weights, False, -1, cursor, indices[:, None], values)
    shares = equal_shares(indptr, 16 * pool.n_jobs)
    merged = pool.map(lambda lo, hi: graph.merge_rows(indptr, indices, values, lo, hi, lengths), shares)
    closed = row_starts(lengths)
    graph.close_gaps(indptr, closed, indices, values)
    size = int(closed[-1])
    off, on = (sum(part) for part in zip(*merged)) if merged else (0, 0)
    return CompressedRows(closed, indices[:size], values[:size], 0, off, on)
