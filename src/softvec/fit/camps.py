"""Coordinates of the camps of a signed graph: friends on one side, foes on the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.affinity.spectrum import leading_axes
from softvec.fit.attributes import unit_or_zero

Array = NDArray[Any]


def camps(A: sparse.csr_array, k: int, seed: int) -> Array:
    """Return the leading axes of a signed matrix, each node's of length 1, float32 of shape (n, k).

    The matrix is divided by the roots of the numbers of links of both ends, and each axis multiplied by the
    root of the size of its eigenvalue. A node without links has zeros.

    Parameters
    ----------
    A : csr_array of shape (n, n)
        Symmetric, with signs.
    k : int
        Number of axes.
    seed : int
    """
    if k == 0:
        return np.empty((A.shape[0], 0), np.float32)
    total = np.asarray(abs(A).sum(axis=1), np.float64)
    scale = sparse.diags_array(np.divide(1, np.sqrt(total), out=np.zeros_like(total), where=total > 0))
    balanced = sparse.csr_array(scale @ A @ scale).astype(np.float32)
    axes = leading_axes(balanced, k, np.random.default_rng([seed, 26]))
    values = np.einsum("ij,ij->j", axes, balanced @ axes)
    return unit_or_zero(axes * np.sqrt(np.abs(values)))
