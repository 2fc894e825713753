"""Edges to compressed rows: a counting sort, then rows sorted and merged in place.

The caller walks over blocks of edges twice (count, place) and never joins them, so the peak is the
edges, the result and little else. ``scipy.sparse`` states the same in the tests.
"""

from __future__ import annotations

import numpy as np
from numba import njit

# Ciura's gaps, continued by 2.25
_GAPS = np.array(
    [1149070, 510698, 226977, 100879, 44835, 19927, 8858, 3937, 1750, 701, 301, 132, 57, 23, 10, 4, 1]
)


@njit(nogil=True, cache=True)
def count_rows(codes, both, loops, counts):
    """Add to ``counts`` the entries of each row; return the self loops met (``loops``: keep them)."""
    met = 0
    for e in range(codes.shape[0]):
        i, j = codes[e, 0], codes[e, 1]
        if i == j and loops >= 0:
            met += 1
            counts[i] += loops
        else:
            counts[i] += 1
            if both:
                counts[j] += 1
    return met


@njit(nogil=True, cache=True)
def place(codes, weights, both, loops, cursor, indices, values):
    """Write each edge at the cursor of its row (and, if ``both``, of its column) and move it on.

    ``loops``: 1 keeps self loops, 0 drops them, -1 says that rows and columns have different names.
    """
    weighted = values.shape[0] > 0
    for e in range(codes.shape[0]):
        i, j = codes[e, 0], codes[e, 1]
        if i == j and loops == 0:
            continue
        indices[cursor[i]] = j
        if weighted:
            values[cursor[i]] = weights[e]
        cursor[i] += 1
        if both and i != j:
            indices[cursor[j]] = i
            if weighted:
                values[cursor[j]] = weights[e]
            cursor[j] += 1


@njit(nogil=True, cache=True)
def merge_rows(indptr, indices, values, lo, hi, lengths):
    """Sort each row and merge equal columns, adding their values.

    Returns the entries merged away off the diagonal and on it.
    """
    weighted = values.shape[0] > 0
    off, on = 0, 0
    for i in range(lo, hi):
        start, end = indptr[i], indptr[i + 1]
        ordered = True
        for k in range(start + 1, end):
            ordered = ordered and indices[k - 1] < indices[k]
        if ordered:
            lengths[i] = end - start
            continue
        for g in range(_GAPS.shape[0]):  # Shell sort: in place, with values, and quick to compile
            gap = _GAPS[g]
            for k in range(start + gap, end):
                column = indices[k]
                value = values[k] if weighted else values.dtype.type(0)
                q = k
                while q >= start + gap and indices[q - gap] > column:
                    indices[q] = indices[q - gap]
                    if weighted:
                        values[q] = values[q - gap]
                    q -= gap
                indices[q] = column
                if weighted:
                    values[q] = value
        write = start
        for k in range(start + 1, end):
            if indices[k] == indices[write]:
                if weighted:
                    values[write] += values[k]
                if indices[k] == i:
                    on += 1
                else:
                    off += 1
            else:
                write += 1
                indices[write] = indices[k]
                if weighted:
                    values[write] = values[k]
        lengths[i] = write + 1 - start
    return off, on


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
