"""Products of a block of rows with d x d matrices: ``X W`` and ``X' X``.

BLAS may take kernels of an older processor (OpenBLAS those of Haswell on a newer AMD), which reach half of
the speed (`benchmarks/products.py`), and its sums have another order on each kind of processor. Here each
number is one chain of fused multiply-adds, whose bits do not depend on the processor.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite.binding import get_host_cpu_features
from numpy.typing import NDArray

from softvec.kernels._intrinsics import add_product
from softvec.kernels._jit import njit

Array = NDArray[Any]

_FEWEST = 16  # columns below which BLAS wins
FUSED = get_host_cpu_features().get("fma", True)  # LLVM names it on x86 alone; without, each costs a call
_TERMS = 64  # rows whose columns stay in the first cache: 32 kB of 128 columns
_ROWS, _ALIGNED = 6, 16  # of a tile


@njit(nogil=True, cache=True)
def add_products(A, row_step, term_step, B, C, i0, i1, j0, j1, k0, k1):
    add_product(A, row_step, term_step, B, C, i0, i1, j0, j1, k0, k1)


@njit(nogil=True, cache=True)
def _multiply(X, W, out):
    out[:] = 0
    add_products(X, X.shape[1], 1, W, out, 0, X.shape[0], 0, W.shape[1], 0, X.shape[1])


@njit(nogil=True, cache=True)
def _second_moments(X, Y, out):
    n, d = X.shape
    out[:] = 0
    for lo in range(0, n, _TERMS):
        hi = min(n, lo + _TERMS)
        for i in range(0, d, _ROWS):  # the upper triangle, and a little more
            add_products(X, 1, d, Y, out, i, min(d, i + _ROWS), i - i % _ALIGNED, d, lo, hi)
    for i in range(d):
        for j in range(i):
            out[i, j] = out[j, i]


def _suits(*arrays: Array) -> bool:
    ours = all(a.dtype == np.float32 and a.flags.c_contiguous for a in arrays)
    return ours and FUSED and arrays[0].shape[1] >= _FEWEST


def multiply(X: Array, W: Array, out: Array) -> None:
    if _suits(X, W, out):
        _multiply(X, W, out)
    else:
        np.matmul(X, W, out=out)


def second_moments(X: Array, Y: Array, out: Array) -> None:
    if _suits(X, Y, out):
        _second_moments(X, Y, out)
    else:
        np.matmul(X.T, Y, out=out)
