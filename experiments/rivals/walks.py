"""Random walks on a graph, as in DeepWalk."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from experiments.generators.seeds import RandomState, block_seeds
from experiments.rivals import walk_kernels as kernels
from softvec.core.errors import InputError
from softvec.core.machine import machine
from softvec.core.threads import row_blocks

_WALKS_PER_BLOCK = 1 << 13


def random_walks(
    A: sp.sparray | sp.spmatrix,
    n_walks: int = 10,
    length: int = 80,
    *,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Walk at random on a graph, ``n_walks`` times from each node.

    Parameters
    ----------
    A : sparse matrix of shape (n, n)
        Non-negative weights; a step from i goes to j in proportion to ``A[i, j]``.
    n_walks : int
        Walks per node. Each pass over the nodes takes them in a new random order.
    length : int
        Nodes per walk, the first included.
    random_state : int, Generator or None
        Seed; the same seed gives the same walks for any number of threads.
    n_jobs : int or None
        Threads; ``None`` is all cores.

    Returns
    -------
    ndarray of shape (n * n_walks, length)
        int32 node numbers. A walk that reaches a node without out-edges ends there and is padded with -1.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from experiments.rivals.walks import random_walks
    >>> path = sp.csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> sorted(random_walks(path, n_walks=1, length=3, random_state=0).tolist())
    [[0, 1, 2], [1, 2, -1], [2, -1, -1]]
    """
    A = sp.csr_array(A)
    n = A.shape[0]
    if A.shape[0] != A.shape[1]:
        raise InputError(f"A has shape {A.shape}; random walks need a square matrix")
    if n_walks < 1 or length < 1:
        raise InputError(f"n_walks is {n_walks} and length is {length}; both must be at least 1")
    values = A.data
    if not np.isfinite(values).all() or (values < 0).any():
        raise InputError("A has negative or non-finite weights; random walks need weights >= 0")
    if (values == 0).any():
        A = A.copy()
        A.eliminate_zeros()
        values = A.data
    indptr, indices = A.indptr.astype(np.int64), A.indices.astype(np.int32, copy=False)
    rng = np.random.default_rng(random_state)
    starts = np.concatenate([rng.permutation(n) for _ in range(n_walks)]).astype(np.int32)
    walks = np.empty((len(starts), length), np.int32)
    blocks = row_blocks(len(starts), _WALKS_PER_BLOCK)
    seeds = block_seeds(rng, len(blocks))
    jobs = [(seed, starts[lo:hi], walks[lo:hi]) for seed, (lo, hi) in zip(seeds, blocks)]
    with machine(n_jobs) as pool:
        if len(values) == 0 or (values == values[0]).all():
            pool.map(lambda seed, s, w: kernels.uniform_walks(seed, s, indptr, indices, w), jobs)
        else:
            cumulated = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
            pool.map(lambda seed, s, w: kernels.weighted_walks(seed, s, indptr, indices, cumulated, w), jobs)
    return walks
