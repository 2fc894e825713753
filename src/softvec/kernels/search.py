"""Exact search: the rows of a matrix with the largest products, scores and comparison in one pass.

Queries lie side by side in panels of 64 columns, or of 16: a row of the matrix is multiplied by all of them
at once, and its scores are compared with the worst that each query keeps, in vector registers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.kernels._jit import njit
from softvec.kernels.products import FUSED, add_products

__all__ = ["FUSED", "largest_products"]

Array = NDArray[Any]

_WIDTHS = (16, 64)
_ROWS, _BLOCK = 60, 1024  # multiplied at once; that stay in the second cache for all panels


@njit(nogil=True, cache=True)
def _keep(score, row, scores, rows):
    """Put a score and its row into the sorted ones; a later row of the same score comes after."""
    place = scores.shape[0] - 1
    while place > 0 and scores[place - 1] < score:
        scores[place], rows[place] = scores[place - 1], rows[place - 1]
        place -= 1
    scores[place], rows[place] = score, row


@njit(nogil=True, cache=True)
def _scan(V, factors, first, panels, scores, rows):
    count, d, width = panels.shape
    n = scores.shape[2]
    products = np.empty((_ROWS, width), np.float32)
    worst = np.full((count, width), -np.inf, np.float32)
    for begin in range(0, V.shape[0], _BLOCK):
        stop = min(V.shape[0], begin + _BLOCK)
        for p in range(count):
            for lo in range(begin, stop, _ROWS):
                hi = min(stop, lo + _ROWS)
                products[:] = 0
                add_products(V[lo:hi], d, 1, panels[p], products, 0, hi - lo, 0, width, 0, d)
                for i in range(hi - lo):
                    better = 0
                    for q in range(width):
                        products[i, q] *= factors[lo + i]
                        better += products[i, q] > worst[p, q]
                    if better == 0:
                        continue
                    for q in range(width):
                        if products[i, q] > worst[p, q]:
                            _keep(products[i, q], first + lo + i, scores[p, q], rows[p, q])
                            worst[p, q] = scores[p, q, n - 1]


def largest_products(Q: Array, V: Array, factors: Array, first: int, n: int) -> tuple[Array, Array]:
    """Return numbers, from ``first`` on, and scores of the ``n`` rows of V with the largest ``Q V' factors``.

    Sorted by decreasing score, equal scores by row number; a factor that is NaN leaves a row out. Places
    without a row hold the largest integer and -inf.
    """
    width = _WIDTHS[len(Q) > _WIDTHS[0]]
    count = -(-len(Q) // width)
    padded = np.zeros((count * width, Q.shape[1]), np.float32)
    padded[: len(Q)] = Q
    panels = np.ascontiguousarray(padded.reshape(count, width, -1).transpose(0, 2, 1))
    scores = np.full((count, width, n), -np.inf, np.float32)
    rows = np.full(scores.shape, np.iinfo(np.intp).max)
    _scan(np.ascontiguousarray(V, np.float32), factors, first, panels, scores, rows)
    return rows.reshape(-1, n)[: len(Q)], scores.reshape(-1, n)[: len(Q)]
