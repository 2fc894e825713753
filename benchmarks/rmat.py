"""R-MAT graphs: skewed degrees and communities within communities, at any size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from experiments.generators.random import draw
from experiments.generators.seeds import RandomState, block_seeds
from softvec.affinity.compress import edges_to_csr
from softvec.core.errors import InputError
from softvec.core.machine import machine
from softvec.core.threads import row_blocks
from softvec.kernels._jit import njit

_LOW32 = np.uint64(0xFFFFFFFF)
EDGES_PER_BLOCK = 1 << 18


def rmat(
    n: int,
    n_edges: int,
    *,
    a: float = 0.57,
    b: float = 0.19,
    c: float = 0.19,
    d: float | None = None,
    shuffle: bool = True,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> sp.csr_array:
    """Draw an undirected R-MAT graph; 100 million edges take a minute and under 3 GiB.

    Each edge falls into one of the four quadrants of the adjacency matrix with probabilities a, b, c, d,
    then into a quadrant of that quadrant, and so on (Chakrabarti, Zhan and Faloutsos, 2004). The default is
    Graph500's.

    Parameters
    ----------
    n : int
        Number of nodes; need not be a power of two.
    n_edges : int
        Number of edges drawn. Loops and repeated edges are dropped, so the graph has somewhat fewer.
    a, b, c, d : float
        Probabilities of the quadrants; by default ``d`` is 1 - a - b - c.
    shuffle : bool
        Give the nodes random numbers; otherwise low numbers have high degrees.
    random_state : int, Generator or None
        Seed; the same seed gives the same graph for any number of threads.
    n_jobs : int or None
        Threads; ``None`` is all cores.

    Returns
    -------
    csr_array of shape (n, n)
        Symmetric, int8 ones, no loops. Some nodes may have no edge.

    Examples
    --------
    >>> from benchmarks.rmat import rmat
    >>> A = rmat(1000, 5000, random_state=0)
    >>> A.shape, A.nnz <= 10000, abs(A - A.T).nnz
    ((1000, 1000), True, 0)
    """
    if not 2 <= n < 2**31:
        raise InputError(f"n is {n}; it must lie between 2 and 2^31 - 1")
    if n_edges < 0:
        raise InputError(f"n_edges is {n_edges}; it must not be negative")
    d = 1.0 - a - b - c if d is None else d
    if min(a, b, c, d) < -1e-9 or abs(a + b + c + d - 1.0) > 1e-6:
        raise InputError(f"a, b, c, d are {a}, {b}, {c}, {d}; they must be >= 0 and sum to 1")
    rng = np.random.default_rng(random_state)
    levels = int(n - 1).bit_length()
    thresholds = np.round(np.array([a, a + b, a + b + c]) * 2.0**32).astype(np.uint64)
    # Within the upper half the right quadrant starts at a, within the lower half at a + b + c.
    relabel = np.arange(n, dtype=np.int32)
    if shuffle:
        rng.shuffle(relabel)

    def kernel(seed: np.uint64, lo: int, hi: int, src: np.ndarray, dst: np.ndarray) -> None:
        rmat_edges(seed, lo, hi, n, levels, thresholds, relabel, src, dst)

    edges = draw_edges(int(n_edges), rng, kernel, n_jobs=n_jobs)
    return edges_to_csr([edges], (n, n), both=True, loops=0, n_jobs=n_jobs)[0].astype(np.int8)


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


@njit(nogil=True, cache=True)
def rmat_edges(seed, lo, hi, n, levels, thresholds, relabel, src, dst):
    """Draw edges lo .. hi of an R-MAT graph; ``thresholds`` are a, a + b, a + b + c times 2^32 (uint64).

    A draw outside 0 .. n - 1 (if n is not a power of two) is repeated.
    """
    k = np.uint64(0)
    for e in range(lo, hi):
        while True:
            i, j = np.int64(0), np.int64(0)
            bits = np.uint64(0)
            for level in range(levels):
                if level & 1:
                    bits = bits >> np.uint64(32)
                else:
                    bits = draw(seed, k)
                    k += np.uint64(1)
                u = bits & _LOW32
                below = np.int64(u >= thresholds[1])
                i = 2 * i + below
                j = 2 * j + np.int64(u >= thresholds[0 if below == 0 else 2])
            if i < n and j < n:
                break
        src[e] = relabel[i]
        dst[e] = relabel[j]
