"""Edges to compressed rows: a counting sort, then rows are sorted and merged in place.

The caller passes over blocks of edges twice (count, place) and never concatenates them, so the peak memory is
the edges, the result and little else. Placing is memory-bound and fastest on one thread (two that share the
rows mispredict a branch for every edge: 1.2 s instead of 0.4 s of CPU time for 10 million edges); all threads
share the sorting. Tests compare the result with ``scipy.sparse``.
"""

from __future__ import annotations

import numpy as np

from softvec.kernels._intrinsics import prefetch
from softvec.kernels._jit import njit

_AHEAD = 16
_INSERTION = 24  # entries below which insertion beats partition


@njit(nogil=True, cache=True)
def count_rows(codes, both, loops, counts):
    """Add to ``counts`` the entries of each row; return the number of self loops.

    ``loops``: 1 keeps self loops, 0 drops them, -1 means that rows and columns are different items.
    """
    n_loops = 0
    for e in range(codes.shape[0]):
        i, j = codes[e, 0], codes[e, 1]
        if i == j and loops >= 0:
            n_loops += 1
            counts[i] += loops
        else:
            counts[i] += 1
            if both:
                counts[j] += 1
    return n_loops


@njit(nogil=True, cache=True)
def place(codes, weights, both, loops, cursor, indices, values):
    """Write each edge at the cursor of its row (and, if ``both``, of its column) and advance the cursor.

    ``indices`` has a second axis of size 1, for prefetching, as writes are scattered.
    """
    weighted = values.shape[0] > 0
    last = codes.shape[0] - 1
    for e in range(codes.shape[0]):
        ahead = min(e + _AHEAD, last)
        prefetch(indices, np.int64(cursor[codes[ahead, 0]]))
        if both:
            prefetch(indices, np.int64(cursor[codes[ahead, 1]]))
        i, j = codes[e, 0], codes[e, 1]
        if i == j and loops == 0:
            continue
        at = cursor[i]
        indices[at, 0] = j
        if weighted:
            values[at] = weights[e]
        cursor[i] = at + 1
        if both and i != j:
            at = cursor[j]
            indices[at, 0] = i
            if weighted:
                values[at] = weights[e]
            cursor[j] = at + 1


@njit(nogil=True, cache=True)
def is_symmetric(indptr, indices, values, cursor, rounding):
    """Whether a square matrix of sorted rows without duplicates equals its transpose, up to ``rounding``.

    Row by row, entry (i, j) must match the next entry (j, i) of row j; ``cursor`` holds the row starts.
    """
    weighted = values.shape[0] > 0
    for i in range(indptr.shape[0] - 1):
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            at = cursor[j]
            if at == indptr[j + 1] or indices[at] != i:
                return False
            if weighted and abs(values[at] - values[k]) > rounding:
                return False
            cursor[j] = at + 1
    return True


@njit(nogil=True, cache=True)
def _sort(indices, values, weighted, start, stop, stack):
    """Sort a row in place: quicksort, the smaller part first, insertion for short parts."""
    depth = 0
    stack[0, 0], stack[0, 1] = start, stop
    while depth >= 0:
        lo, hi = stack[depth, 0], stack[depth, 1]
        depth -= 1
        while hi - lo > _INSERTION:
            mid = (lo + hi) >> 1
            a, b, c = indices[lo], indices[mid], indices[hi - 1]
            pivot = max(min(a, b), min(max(a, b), c))  # the median of three
            p, q = lo, hi - 1
            while p <= q:
                while indices[p] < pivot:
                    p += 1
                while indices[q] > pivot:
                    q -= 1
                if p <= q:
                    indices[p], indices[q] = indices[q], indices[p]
                    if weighted:
                        values[p], values[q] = values[q], values[p]
                    p += 1
                    q -= 1
            depth += 1
            if q + 1 - lo < hi - p:  # the larger part is pushed: the stack stays below log2 of the row length
                stack[depth, 0], stack[depth, 1] = p, hi
                hi = q + 1
            else:
                stack[depth, 0], stack[depth, 1] = lo, q + 1
                lo = p
        for k in range(lo + 1, hi):
            column = indices[k]
            value = values[k] if weighted else values.dtype.type(0)
            q = k
            while q > lo and indices[q - 1] > column:
                indices[q] = indices[q - 1]
                if weighted:
                    values[q] = values[q - 1]
                q -= 1
            indices[q] = column
            if weighted:
                values[q] = value


@njit(nogil=True, cache=True)
def merge_rows(indptr, indices, values, lo, hi, lengths):
    """Sort the rows lo..hi-1 and merge equal columns, adding their values from the smallest to the largest.

    So sums do not depend on the order of the edges.
    """
    weighted = values.shape[0] > 0
    stack = np.empty((64, 2), dtype=np.int64)
    for i in range(lo, hi):
        k, end = indptr[i], indptr[i + 1]
        _sort(indices, values, weighted, k, end, stack)
        write = k
        while k < end:
            column, stop = indices[k], k + 1
            while stop < end and indices[stop] == column:
                stop += 1
            indices[write] = column
            if weighted:
                if stop - k > 2:  # a + b is b + a
                    values[k:stop].sort()
                total = values[k]
                for at in range(k + 1, stop):
                    total += values[at]
                values[write] = total
            write += 1
            k = stop
        lengths[i] = write - indptr[i]


@njit(nogil=True, cache=True)
def close_gaps(old, new, indices, values):
    """Move each row from ``old[i]`` down to ``new[i]``, in place."""
    weighted = values.shape[0] > 0
    for i in range(new.shape[0] - 1):
        source, target = old[i], new[i]
        for k in range(new[i + 1] - target):
            indices[target + k] = indices[source + k]
            if weighted:
                values[target + k] = values[source + k]
