"""The rows of a power step, in Numba; specified in :func:`softvec.kernels.reference.unit_rows`."""

from __future__ import annotations

import math

import numpy as np

from softvec.kernels._intrinsics import add_rows, load, store
from softvec.kernels._jit import njit

__all__ = ["unit_rows"]

_FAST = {"contract", "reassoc", "nsz", "arcp"}
_TINY = 1e-12  # squared length below which a row has no direction
_APART, _AHEAD = 64, 16  # as in `compiled`


@njit(nogil=True, cache=True, fastmath=_FAST)
def unit_rows(indptr, indices, row_scale, X, centre, weight, length, previous, out, total):
    # one pass over a row, which stays in the first cache
    d, one = X.shape[1], centre.dtype.type(1)
    row = np.empty(d + 2 * _APART, dtype=centre.dtype)[_APART:-_APART]
    for i in range(indptr.shape[0] - 1):
        add_rows(X, indices, indptr[i], indptr[i + 1], _AHEAD, row, 0)
        share = row_scale[i]
        square = centre.dtype.type(0)
        for j in range(d):
            value = share * row[j] - centre[j]
            row[j] = value
            square += value * value
        scale = centre.dtype.type(0)
        if square > _TINY:
            scale = one / math.sqrt(square)
            if previous.shape[0] > 0:
                square = centre.dtype.type(0)
                for j in range(d):
                    row[j] = scale * row[j] + load(previous[i, j])
                    square += row[j] * row[j]
                scale = one / math.sqrt(max(square, centre.dtype.type(_TINY)))
        if length.shape[0] > 0:
            scale *= length[i]
        w = weight[i]
        for j in range(d):
            value = scale * row[j]
            store(out, i, j, value)
            total[j] += w * value
