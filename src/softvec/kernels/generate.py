"""Random graphs in time linear in the number of edges.

A draw depends on the seed of its block and on its position in the block, never on the thread (see
:mod:`softvec.kernels.random`). Kernels here draw the ends of edges; :mod:`softvec.kernels.graph` builds the
matrix.
"""

from __future__ import annotations

import numpy as np

from softvec.kernels._jit import njit
from softvec.kernels.random import uniform


@njit(nogil=True, cache=True)
def alias_tables(weights, order, starts, keep, nodes):
    """Fill one Walker alias table per group; ``order[starts[g]:starts[g + 1]]`` are the members of group g.

    ``keep[s]`` is the probability that slot s yields its own member ``nodes[s, 0]``, not ``nodes[s, 1]``.
    """
    n = order.shape[0]
    stack = np.empty(n, np.int32)
    for g in range(starts.shape[0] - 1):
        lo, hi = starts[g], starts[g + 1]
        total = 0.0
        for s in range(lo, hi):
            total += weights[order[s]]
        small, large = lo, hi  # two stacks that grow towards each other inside stack[lo:hi]
        for s in range(lo, hi):
            nodes[s, 0] = order[s]
            nodes[s, 1] = order[s]
            keep[s] = weights[order[s]] * (hi - lo) / total if total > 0 else 1.0
            if keep[s] < 1.0:
                stack[small] = s
                small += 1
            else:
                large -= 1
                stack[large] = s
        while small > lo and large < hi:
            small -= 1
            s = stack[small]
            b = stack[large]
            nodes[s, 1] = order[b]
            keep[b] -= 1.0 - keep[s]
            if keep[b] < 1.0:
                large += 1
                stack[small] = b
                small += 1


@njit(nogil=True, cache=True, inline="always")
def _member(seed, k, lo, size, keep, nodes):
    """Draw one member of the group in slots lo .. lo + size, in proportion to its weight."""
    u = uniform(seed, k) * size
    slot = min(np.int64(u), size - 1)
    if u - slot < keep[lo + slot]:
        return nodes[lo + slot, 0]
    return nodes[lo + slot, 1]


@njit(nogil=True, cache=True)
def block_model_edges(seed, lo, hi, offsets, pairs, starts, keep, nodes, src, dst):
    """Draw the endpoints of edges lo .. hi; edges offsets[b]:offsets[b + 1] join the groups ``pairs[b]``."""
    b = np.searchsorted(offsets, lo, side="right") - 1
    k = np.uint64(0)
    for e in range(lo, hi):
        while e >= offsets[b + 1]:
            b += 1
        first, second = pairs[b, 0], pairs[b, 1]
        src[e] = _member(seed, k, starts[first], starts[first + 1] - starts[first], keep, nodes)
        k += np.uint64(1)
        dst[e] = _member(seed, k, starts[second], starts[second + 1] - starts[second], keep, nodes)
        k += np.uint64(1)


@njit(nogil=True, cache=True)
def thin_rows(lo, hi, seed, boost, indptr, counts, indices, theta, labels, rates):
    """Thin the distinct edges so that each one is kept with its exact probability.

    An edge of probability p was drawn at a Poisson rate ``boost * p``. The coin is a hash of (seed, i, j),
    so that both copies of an edge get the same outcome.
    """
    n = np.uint64(theta.shape[0])
    for i in range(lo, hi):
        size = 0
        start = indptr[i]
        for s in range(start, start + counts[i]):
            j = indices[s]
            p = theta[i] * theta[j] * rates[labels[i], labels[j]]
            first, second = np.uint64(min(i, j)), np.uint64(max(i, j))
            if uniform(seed, first * n + second) * -np.expm1(-boost * p) < p:
                indices[start + size] = j
                size += 1
        counts[i] = size
