"""From endpoints to a symmetric CSR matrix without values, in little memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from softvec.core.threads import resolve_n_jobs, row_blocks, workers
from softvec.generators._random import block_seeds
from softvec.kernels import generate

EDGES_PER_BLOCK = 1 << 18
ROWS_PER_BLOCK = 1 << 14

#: Called with (lo, hi, indptr, counts, indices): drops entries of rows lo .. hi in place.
Thinning = Callable[[int, int, np.ndarray, np.ndarray, np.ndarray], None]


def draw_edges(
    n_edges: int, rng: np.random.Generator, kernel: Callable[..., None], *, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Fill two endpoint arrays by ``kernel(seed, lo, hi, src, dst)``, one seed per block of edges."""
    src = np.empty(n_edges, np.int32)
    dst = np.empty(n_edges, np.int32)
    blocks = row_blocks(n_edges, EDGES_PER_BLOCK)
    seeds = block_seeds(rng, len(blocks))
    with workers(n_jobs) as pool:
        pool.map(kernel, [(seed, lo, hi, src, dst) for seed, (lo, hi) in zip(seeds, blocks)])
    return src, dst


def symmetric_csr(
    n: int, src: np.ndarray, dst: np.ndarray, *, n_jobs: int | None, thin: Thinning | None = None
) -> sp.csr_array:
    """Return the symmetric 0/1 matrix of the edges: loops and repeated edges dropped, rows sorted, int8
    values.

    Peak memory is 8 bytes per drawn edge for the endpoints, 8 for the matrix and 16 per node.
    """
    counts = np.zeros(n, np.int64)
    indptr = np.zeros(n + 1, np.int64)
    threads = resolve_n_jobs(n_jobs)
    ranges = row_blocks(n, -(-n // threads))  # each thread reads every edge and keeps those of its own rows
    rows = row_blocks(n, ROWS_PER_BLOCK)
    with workers(n_jobs) as pool:
        pool.map(lambda lo, hi: generate.count_rows(lo, hi, src, dst, counts), ranges)
        np.cumsum(counts, out=indptr[1:])
        counts[:] = 0
        indices = np.empty(indptr[-1], np.int32)
        pool.map(lambda lo, hi: generate.fill_rows(lo, hi, src, dst, indptr, counts, indices), ranges)
        pool.map(lambda lo, hi: generate.sort_rows(lo, hi, indptr, counts, indices), rows)
        if thin is not None:
            pool.map(lambda lo, hi: thin(lo, hi, indptr, counts, indices), rows)
    generate.close_gaps(indptr, counts, indices)
    nnz = int(indptr[-1])
    indices.resize(nnz, refcheck=False)
    if nnz < 2**31:
        indptr = indptr.astype(np.int32)
    matrix = sp.csr_array((np.ones(nnz, np.int8), indices, indptr), shape=(n, n))
    matrix.has_sorted_indices = True
    matrix.has_canonical_format = True
    return matrix
