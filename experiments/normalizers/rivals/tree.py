"""A binary tree that draws items with probability proportional to 1 + alpha (x.y)^2.

Leaves are runs of items. A node has the second moment of its items, packed (upper triangle, off-diagonal
entries doubled), so that the sum of (x.y)^2 over a node is a dot product with the packed x x'. Nodes are
numbered as in a heap: the children of v are 2 v + 1 and 2 v + 2. Only left children (odd v) store a moment;
that of the right child is the difference to the parent.
"""

from __future__ import annotations

import math

import numpy as np

from experiments.generators.random import uniform
from softvec.kernels._jit import njit

_FAST = {"contract", "reassoc", "nsz", "arcp", "nnan"}


@njit(nogil=True, cache=True, fastmath=_FAST)
def pack(x, out):
    """Write x_i x_j, i <= j, row after row."""
    p = 0
    for i in range(x.shape[0]):
        for j in range(i, x.shape[0]):
            out[p] = x[i] * x[j]
            p += 1


@njit(nogil=True, cache=True, fastmath=_FAST, forceinline=True)
def _dot(a, b):
    s = a.dtype.type(0)
    for j in range(a.shape[0]):
        s += a[j] * b[j]
    return s


@njit(nogil=True, cache=True, fastmath=_FAST, forceinline=True)
def _leaf(x, items, lo, hi, alpha, running):
    """Write the running sums of 1 + alpha (x.y)^2 over the items lo..hi-1; return the total."""
    total = 0.0
    for a in range(lo, hi):
        s = np.float64(_dot(x, items[a]))
        total += 1.0 + alpha * s * s
        running[a - lo] = total
    return total


@njit(nogil=True, cache=True)
def draw_rows(X, root, items, moments, bounds, leaf_size, alpha, seeds, logs, scores):
    """Draw ``scores.shape[1]`` items for each row of X: their scores and the logarithm of 1 / probability.

    ``root`` is the packed moment of all items, ``moments[v // 2]`` that of the odd node v, ``bounds`` (2,
    nodes) the first item and the number of items of each node, in heap order.
    """
    nodes = bounds.shape[1]
    first_leaf = nodes // 2
    packed = np.empty(root.shape[0], X.dtype)
    known = np.empty(nodes)
    running = np.empty(leaf_size)
    m = bounds[1, 0]
    for i in range(X.shape[0]):
        x = X[i]
        pack(x, packed)
        known[:] = -1.0
        known[0] = m + alpha * _dot(packed, root)
        for t in range(scores.shape[1]):
            k = np.uint64(t)
            u = uniform(seeds[i], k) * known[0]
            v = 0
            while v < first_leaf:
                left = 2 * v + 1
                if known[left] < 0.0:
                    value = bounds[1, left] + alpha * _dot(packed, moments[v])
                    # rounding must not push the right child's weight below its number of items
                    known[left] = min(value, known[v] - bounds[1, left + 1])
                    known[left + 1] = known[v] - known[left]
                if u < known[left]:
                    v = left
                else:
                    u -= known[left]
                    v = left + 1
            lo = bounds[0, v]
            size = bounds[1, v]
            total = _leaf(x, items, lo, lo + size, alpha, running)
            u *= total / known[v]
            a = np.searchsorted(running[:size], u, side="right")
            a = min(a, size - 1)
            s = np.float64(_dot(x, items[lo + a]))
            scores[i, t] = s
            # the probability actually used: that of the path, then that within the leaf
            logs[i, t] = math.log(known[0] * total / (known[v] * (1.0 + alpha * s * s)))
