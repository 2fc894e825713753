"""Streaming graph partitioning (linear deterministic greedy: Stanton and Kliot 2012, restreamed)."""

from __future__ import annotations

from softvec.kernels._jit import njit


@njit(nogil=True, cache=True)
def stream_rows(indptr, indices, part, load, counts, capacity):
    """Move each row, in order, to the part with the highest score; return the number of rows moved.

    The score of a part is the number of the row's neighbours in it times ``1 - load / capacity``. A row
    without a positive score goes to the emptiest part. ``part`` is -1 for unassigned rows; ``load`` counts
    the rows of each part, ``counts`` is scratch, all zero.
    """
    moved = 0
    for i in range(indptr.shape[0] - 1):
        old = part[i]
        if old >= 0:
            load[old] -= 1
        part[i] = -1  # a self loop is not a neighbour
        for e in range(indptr[i], indptr[i + 1]):
            p = part[indices[e]]
            if p >= 0:
                counts[p] += 1
        best, top = -1, 0.0
        for e in range(indptr[i], indptr[i + 1]):
            p = part[indices[e]]
            if p < 0 or counts[p] == 0:  # 0: seen already
                continue
            score = counts[p] * (1.0 - load[p] / capacity)
            counts[p] = 0
            if score > top or (score == top and 0 <= p < best):
                best, top = p, score
        if best < 0:
            best = 0
            for p in range(1, load.shape[0]):
                if load[p] < load[best]:
                    best = p
        part[i] = best
        load[best] += 1
        if best != old:
            moved += 1
    return moved
