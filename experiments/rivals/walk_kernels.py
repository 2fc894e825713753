"""Random walks on a CSR graph."""

from __future__ import annotations

import numpy as np

from experiments.generators.random import uniform
from softvec.kernels._jit import njit


@njit(nogil=True, cache=True)
def uniform_walks(seed, starts, indptr, indices, walks):
    """Walk from each of ``starts`` along uniformly drawn out-edges; a dead end is followed by -1."""
    k = np.uint64(0)
    for w in range(starts.shape[0]):
        i = np.int64(starts[w])
        walks[w, 0] = i
        for t in range(1, walks.shape[1]):
            lo = indptr[i] if i >= 0 else np.int64(0)
            degree = indptr[i + 1] - lo if i >= 0 else np.int64(0)
            if degree == 0:
                i = np.int64(-1)
            else:
                i = np.int64(indices[lo + min(np.int64(uniform(seed, k) * degree), degree - 1)])
                k += np.uint64(1)
            walks[w, t] = i


@njit(nogil=True, cache=True)
def weighted_walks(seed, starts, indptr, indices, cumulated, walks):
    """Walk along out-edges drawn by weight; ``cumulated`` holds the running sums of all weights."""
    k = np.uint64(0)
    for w in range(starts.shape[0]):
        i = np.int64(starts[w])
        walks[w, 0] = i
        for t in range(1, walks.shape[1]):
            lo = indptr[i] if i >= 0 else np.int64(0)
            hi = indptr[i + 1] if i >= 0 else np.int64(0)
            base = cumulated[lo]
            total = cumulated[hi] - base
            if not total > 0.0:
                i = np.int64(-1)
            else:
                target = base + uniform(seed, k) * total
                k += np.uint64(1)
                first, last = lo, hi - 1  # the first entry whose running sum exceeds target
                while first < last:
                    middle = (first + last) >> 1
                    if cumulated[middle + 1] > target:
                        last = middle
                    else:
                        first = middle + 1
                i = np.int64(indices[first])
            walks[w, t] = i
