"""Build a symmetric CSR matrix from drawn edges, in little memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from softvec.affinity.compress import Thinning, canonical_csr, edges_to_csr
from softvec.core.machine import machine
from softvec.core.threads import row_blocks
from softvec.generators._random import block_seeds

EDGES_PER_BLOCK = 1 << 18


def draw_edges(
    n_edges: int, rng: np.random.Generator, kernel: Callable[..., None], *, n_jobs: int | None
) -> np.ndarray:
    """Fill an array of shape (n_edges, 2) by ``kernel(seed, lo, hi, src, dst)``, one seed per block."""
    codes = np.empty((n_edges, 2), np.int32)
    src, dst = codes[:, 0], codes[:, 1]
    blocks = row_blocks(n_edges, EDGES_PER_BLOCK)
    seeds = block_seeds(rng, len(blocks))
    with machine(n_jobs) as pool:
        pool.map(kernel, [(seed, lo, hi, src, dst) for seed, (lo, hi) in zip(seeds, blocks)])
    return codes


def symmetric_csr(
    n: int, edges: np.ndarray, *, n_jobs: int | None, thin: Thinning | None = None
) -> sp.csr_array:
    """Return the symmetric int8 matrix of the edges, without loops and repeated edges, rows sorted.

    Peak memory is 8 bytes per drawn edge for the endpoints, 8 for the matrix and 20 per node.
    """
    rows = edges_to_csr([edges], n, both=True, loops=0, thin=thin, n_jobs=n_jobs)
    return canonical_csr(np.ones(len(rows.indices), np.int8), rows.indices, rows.indptr, (n, n))
