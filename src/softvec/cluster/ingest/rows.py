"""The rows that a worker owns, and counts over the whole matrix."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.affinity.compress import compress
from softvec.cluster.ingest.shuffle import Bands, Spool, shuffle
from softvec.cluster.seam import Group
from softvec.cluster.shard import Shard
from softvec.kernels import worth_compiling
from softvec.names import Names
from softvec.read.edges import Edges

Array = NDArray[Any]
_ENTRIES = 1 << 20  # entries processed at a time


@dataclass(frozen=True)
class Facts:
    """Counts over the whole matrix."""

    nnz: int
    loops: int  # self loops read
    duplicates: int  # edges merged into others
    diagonal: int
    isolated: int


def own_rows(
    group: Group, spool: Spool, shape: tuple[int, int], bounds: list[Array], unit: int, *, both: bool,
    loops: int, dtype: Any, n_jobs: int | None, edges: int,
) -> tuple[Shard, Facts]:  # fmt: skip
    """Return the own rows of the matrix of all edges, and facts about it; collective.

    ``dtype`` is None if the matrix has no values; few edges are sorted by every worker.
    """
    small = not worth_compiling(2 * edges)
    lo, hi = int(bounds[0][group.rank]), int(bounds[0][group.rank + 1])
    if small:
        two_sided = len(bounds) == 2
        indptr, indices, values, met, merged = _few(
            group, spool, shape, (lo, hi), two_sided, both, loops, dtype
        )
    else:
        rows, met = shuffle(
            group, spool, Bands.of(bounds[0], unit), both=both, loops=loops, dtype=dtype, n_jobs=n_jobs
        )
        indptr, indices, values, merged = rows.indptr, rows.indices, rows.values, rows.merged
    diagonal = _diagonal(indptr, indices, lo) if len(bounds) == 1 else 0
    ranks = group.gather((len(indices), met, merged, diagonal, values is None or bool(np.all(values == 1))))
    nnz, met, merged, diagonal = (sum(row[at] for row in ranks) for at in range(4))
    if all(row[4] for row in ranks):
        values = None
    symmetric = both or (len(bounds) == 1 and _is_symmetric(group, indptr, indices, values, lo))
    shard = Shard(group.rank, shape, bounds[0], bounds[-1], indptr, indices, values, symmetric=symmetric)
    if small:  # every worker has counted all edges
        met, merged = met // group.size, merged // group.size
    else:
        on = met - diagonal if loops == 1 else 0  # self loops are entered once
        merged = (merged - on) // 2 + on if both else merged
    isolated = _isolated(group, shard) if len(bounds) == 1 else 0
    return shard, Facts(nnz, met, merged, diagonal, isolated)


def _few(
    group: Group, spool: Spool, shape: tuple[int, int], own: tuple[int, int], two_sided: bool, both: bool,
    loops: int, dtype: Any,
) -> tuple[Array, Array, Array | None, int, int]:  # fmt: skip
    """Return the own rows of few edges: each worker sorts all of them, like a single process."""
    codes, weights = spool.whole()
    counts = group.gather(spool.counts)
    every = group.exchange([codes] * group.size)
    values = group.exchange([weights] * group.size)
    pieces, weighed = [], []
    starts = [np.concatenate([[0], np.cumsum(row)]).astype(int) for row in counts]
    for k in range(len(spool.counts)):
        for rank in range(group.size):
            part = slice(starts[rank][k], starts[rank][k + 1])
            pieces.append(every[rank][part])
            weighed.append(values[rank][part])
    rows = Names.range(shape[0])
    edges = Edges(
        [np.concatenate(pieces)], rows, Names.range(shape[1]) if two_sided else rows,
        [np.concatenate(weighed)] if spool.weighted else None,
    )  # fmt: skip
    merge = "sum" if dtype is not None else "merge"
    matrix, report = compress(edges, both=both, weighted=spool.weighted, self_loops=loops == 1, merge=merge)
    lo, hi = own
    first, last = matrix.indptr[lo], matrix.indptr[hi]
    indptr = matrix.indptr[lo : hi + 1].astype(np.int64) - first
    data = matrix.data[first:last].copy() if matrix.dtype != bool else None
    return indptr, matrix.indices[first:last].astype(np.int32), data, report.self_loops, report.duplicates


def _row_numbers(indptr: Array, lo: int, hi: int, first: int) -> Array:
    """Return the global row numbers of the entries lo..hi-1."""
    a, b = np.searchsorted(indptr, [lo, hi], side="right") - 1
    b = min(int(b) + 1, len(indptr) - 1)
    sizes = np.diff(np.clip(indptr[a : b + 1], lo, hi))
    return np.repeat(np.arange(a, b) + first, sizes)


def _diagonal(indptr: Array, indices: Array, first: int) -> int:
    return sum(
        int(np.count_nonzero(indices[lo : lo + _ENTRIES] == _row_numbers(indptr, lo, hi, first)))
        for lo in range(0, len(indices), _ENTRIES)
        for hi in [min(lo + _ENTRIES, len(indices))]
    )


def _is_symmetric(group: Group, indptr: Array, indices: Array, values: Array | None, first: int) -> bool:
    """Whether the matrix of all workers equals its transpose, by sums of 64-bit hashes of entries.

    The sums over (i, j, value) and (j, i, value) are compared, with two hashes each: one in 2**128 asymmetric
    matrices would pass.
    """
    total = _hash_sums(group, indptr, indices, values, first)
    return bool(np.array_equal(total[:2], total[2:]))


def entry_sums(group: Group, shard: Shard) -> Array:
    """Return sums of hashes of all entries, the same for any number of workers. Collective."""
    return _hash_sums(group, shard.indptr, shard.indices, shard.values, shard.rows[0])


def _hash_sums(group: Group, indptr: Array, indices: Array, values: Array | None, first: int) -> Array:
    sums = np.zeros(4, np.uint64)
    for lo in range(0, len(indices), _ENTRIES):
        hi = min(lo + _ENTRIES, len(indices))
        i = _row_numbers(indptr, lo, hi, first).astype(np.uint64)
        j = indices[lo:hi].astype(np.uint64)
        bits = np.uint64(0) if values is None else values[lo:hi].astype(np.float64).view(np.uint64)
        for seed in (0, 1):
            sums[seed] += _mix(i, j, bits, seed).sum(dtype=np.uint64)
            sums[2 + seed] += _mix(j, i, bits, seed).sum(dtype=np.uint64)
    return group.fold([sums], np.add)


def _mix(i: Array, j: Array, bits: Any, seed: int) -> Array:
    h = i * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
    for part in (j, bits):
        h = (h ^ (h >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        h = (h ^ (h >> np.uint64(32)) ^ part) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


def _isolated(group: Group, shard: Shard) -> int:
    """Count the items that have neither row nor column entries; collective."""
    empty = np.diff(shard.indptr) == 0
    if shard.symmetric:
        return sum(group.gather(int(np.count_nonzero(empty))))
    reached = np.zeros(shard.shape[1], bool)
    reached[shard.indices] = True
    bounds = shard.column_bounds
    parts = group.exchange([reached[lo:hi] for lo, hi in pairwise(bounds)])
    return sum(group.gather(int(np.count_nonzero(empty & ~np.any(parts, axis=0)))))
