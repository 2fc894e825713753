"""The rows of a power step, in Numba; specified in :func:`softvec.kernels.reference.unit_rows`."""

from __future__ import annotations

import math

from softvec.kernels._intrinsics import load, store
from softvec.kernels._jit import njit

__all__ = ["unit_rows"]

_FAST = {"contract", "reassoc", "nsz", "arcp"}
_TINY = 1e-12  # squared length below which a row has no direction


@njit(nogil=True, cache=True, fastmath=_FAST)
def unit_rows(G, centre, weight, previous, out, total):
    d = G.shape[1]
    one = G.dtype.type(1)
    for i in range(G.shape[0]):
        row = G[i]
        square = G.dtype.type(0)
        for j in range(d):
            row[j] -= centre[j]
            square += row[j] * row[j]
        if square > _TINY:
            scale = one / math.sqrt(square)
            if previous.shape[0] > 0:
                square = G.dtype.type(0)
                for j in range(d):
                    row[j] = scale * row[j] + load(previous[i, j])
                    square += row[j] * row[j]
                scale = one / math.sqrt(max(square, G.dtype.type(_TINY)))
        else:
            scale = G.dtype.type(0)
        w = weight[i]
        for j in range(d):
            value = scale * row[j]
            store(out, i, j, value)
            total[j] += w * value
