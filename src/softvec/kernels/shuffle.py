"""Sort names and edges by the worker they are sent to.

Matrix entries are sent as a band of rows, the row's position in the band (16 bits) and the column (32 bits).
"""

from __future__ import annotations

import numpy as np

from softvec.kernels._jit import njit

BAND = 16  # bits of a row's position in its band


@njit(nogil=True, cache=True)
def counting_order(keys, counts, order):
    """Write the stable sorting order of keys 0, 1, ... to ``order``, and their frequencies to ``counts``."""
    counts[:] = 0
    for k in range(keys.shape[0]):
        counts[keys[k]] += 1
    cursor = np.zeros(counts.shape[0], np.int64)
    for key in range(1, counts.shape[0]):
        cursor[key] = cursor[key - 1] + counts[key - 1]
    for k in range(keys.shape[0]):
        key = keys[k]
        order[cursor[key]] = k
        cursor[key] += 1


@njit(nogil=True, cache=True)
def gather_bytes(buf, starts, ends, order, out):
    """Pack the tokens ``order[0]``, ``order[1]``, ... of a buffer back to back; return the byte count."""
    at = 0
    for k in order:
        for p in range(starts[k], ends[k]):
            out[at] = buf[p]
            at += 1
    return at


@njit(nogil=True, cache=True)
def scatter_bytes(buf, starts, targets, out):
    """Write token k of a packed buffer, ``buf[starts[k]:starts[k + 1]]``, to ``out[targets[k]:]``."""
    for k in range(targets.shape[0]):
        at = targets[k]
        for p in range(starts[k], starts[k + 1]):
            out[at] = buf[p]
            at += 1


@njit(nogil=True, cache=True)
def least(codes, positions, first):
    """Lower ``first[code]`` to the smallest position of each code."""
    for k in range(codes.shape[0]):
        code = codes[k]
        first[code] = min(first[code], positions[k])


@njit(nogil=True, cache=True)
def count_bands(codes, both, loops, unit, where, counts):
    """Count the entries of each band; return the number of self loops. As :func:`place_bands`."""
    n_loops = 0
    for e in range(codes.shape[0]):
        i, j = codes[e, 0], codes[e, 1]
        if i == j and loops >= 0:
            n_loops += 1
            if loops == 0:
                continue
        for side in range(2 if both and i != j else 1):
            row = i if side == 0 else j
            u = row // unit
            counts[where[u, 1] + ((row - where[u, 0]) >> BAND)] += 1
    return n_loops


@njit(nogil=True, cache=True)
def place_bands(codes, weights, both, loops, unit, where, cursor, places, columns, values):
    """Write each edge (and, if ``both``, its mirror image) at the cursor of its band, in the order of edges.

    ``where[row // unit]`` holds the first row and the first band of the worker that owns the row; bands are
    relative to its first row. ``loops`` as in :func:`softvec.kernels.graph.place`; without weights,
    ``weights`` and ``values`` are empty.
    """
    weighted = weights.shape[0] > 0
    for e in range(codes.shape[0]):
        i, j = codes[e, 0], codes[e, 1]
        if i == j and loops == 0:
            continue
        for side in range(2 if both and i != j else 1):
            row = i if side == 0 else j
            u = row // unit
            place = row - where[u, 0]
            band = where[u, 1] + (place >> BAND)
            at = cursor[band]
            places[at] = place & ((1 << BAND) - 1)
            columns[at] = j if side == 0 else i
            if weighted:
                values[at] = weights[e]
            cursor[band] = at + 1
