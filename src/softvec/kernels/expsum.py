"""Sums of exponentials over blocks of scores, and the small row loops of the normalisers.

The C library's ``exp`` is a scalar call. Here 2**y is split into an exponent field and a polynomial, plain
arithmetic that LLVM vectorises. The relative error is below 2e-7 in float32 and 5e-16 in float64.
"""

from __future__ import annotations

import math

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from softvec.kernels._jit import njit

_FAST = {"contract", "reassoc", "nsz", "arcp", "nnan"}  # no NaN: inputs are checked
LOG2E = 1.4426950408889634
_CHUNK = 2048  # float32 partial sums run over this many terms, then float64


@intrinsic
def _power_of_two(typingctx, n, like):
    """Return 2**n for an int32 n in the normal range, in the type of ``like``: n is the exponent field."""
    if n != types.int32 or like not in (types.float32, types.float64):
        return None
    single = like == types.float32

    def codegen(context, builder, signature, args):
        width, bias, shift = (32, 127, 23) if single else (64, 1023, 52)
        kind = ir.IntType(width)
        value = args[0] if single else builder.sext(args[0], kind)
        field = builder.shl(builder.add(value, ir.Constant(kind, bias)), ir.Constant(kind, shift))
        return builder.bitcast(field, ir.FloatType() if single else ir.DoubleType())

    return like(types.int32, like), codegen


def exp2_down(y):
    """Return 2**y for y <= 0 in compiled kernels; below the normal range it is about 1e-37 or 1e-307."""
    raise TypeError("only for use inside compiled kernels")


@overload(exp2_down, inline="always")
def _exp2_down(y):
    # 2**f, f = y - round(y): degree 6 fitted at Chebyshev points, error 4e-9; Taylor in float64
    if y == types.float32:
        f32 = np.float32
        a1, a2, a3 = f32(6.93147188e-01), f32(2.40226509e-01), f32(5.55035710e-02)
        a4, a5, a6 = f32(9.61805667e-03), f32(1.33908674e-03), f32(1.54614475e-04)
        low, half, one = f32(-125.0), f32(0.5), f32(1.0)

        def single(y):
            y = max(y, low)
            n = np.int32(y - half)  # truncation of y - 1/2 rounds a non-positive y to nearest
            f = y - f32(n)
            p = one + f * (a1 + f * (a2 + f * (a3 + f * (a4 + f * (a5 + f * a6)))))
            return p * _power_of_two(n, y)

        return single
    if y == types.float64:
        ln2 = 0.6931471805599453

        def double(y):
            y = max(y, -1020.0)
            n = np.int32(y - 0.5)
            f = (y - n) * ln2
            # Taylor to degree 13: the next term is below 1e-17 for |f| <= ln(2)/2
            p = 1.0 / 479001600.0 + f * (1.0 / 6227020800.0)
            p = 1.0 / 3628800.0 + f * (1.0 / 39916800.0 + f * p)
            p = 1.0 / 40320.0 + f * (1.0 / 362880.0 + f * p)
            p = 1.0 / 720.0 + f * (1.0 / 5040.0 + f * p)
            p = 1.0 / 24.0 + f * (1.0 / 120.0 + f * p)
            p = 0.5 + f * (1.0 / 6.0 + f * p)
            return (1.0 + f * (1.0 + f * p)) * _power_of_two(n, y)

        return double
    return None


@njit(nogil=True, cache=True, fastmath=_FAST)
def add_exponentials(S, scale, top, total):
    """Add the terms exp(scale * S) of a block of scores to the running sums of the rows, scale > 0.

    A running sum is ``total * exp(scale * top)``: ``top`` is the largest score so far (start: -inf, in the
    type of S) and ``total`` a float64 (start: 0). Subtracting before scaling keeps float32 scores accurate.
    """
    n, m = S.shape
    factor = S.dtype.type(scale * LOG2E)
    for i in range(n):
        for lo in range(0, m, _CHUNK):
            hi = min(lo + _CHUNK, m)
            peak = S[i, lo]
            for j in range(lo, hi):
                peak = max(peak, S[i, j])
            if peak > top[i]:
                total[i] *= math.exp(scale * (top[i] - np.float64(peak)))
                top[i] = peak
            peak = top[i]
            part = S.dtype.type(0)
            for j in range(lo, hi):
                part += exp2_down(factor * (S[i, j] - peak))
            total[i] += part


@njit(nogil=True, cache=True, fastmath=_FAST, forceinline=True)
def nearest_center(S, i, half_norm):
    """Return the maximum of ``S[i] - half_norm`` and its column, the nearest centre of row i."""
    best, where = S[i, 0] - half_norm[0], 0
    for c in range(1, S.shape[1]):
        value = S[i, c] - half_norm[c]
        if value > best:
            best, where = value, c
    return best, where


@njit(nogil=True, cache=True, fastmath=_FAST)
def nearest(S, half_norm, classes):
    """Write the nearest centre of each row to ``classes``."""
    for i in range(S.shape[0]):
        classes[i] = nearest_center(S, i, half_norm)[1]


@njit(nogil=True, cache=True, fastmath=_FAST)
def row_dots(A, B, out):
    """Write the dot products of corresponding rows of A and B."""
    for i in range(A.shape[0]):
        a = A.dtype.type(0)
        for j in range(A.shape[1]):
            a += A[i, j] * B[i, j]
        out[i] = a
