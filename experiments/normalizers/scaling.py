"""Scale the norms of vectors, as the paper does before it measures Z."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from softvec.core.errors import InputError
from softvec.normalizers.base import Array, check_vectors


def rescale(vectors: ArrayLike, norms: str = "raw") -> Array:
    """Return vectors unchanged, divided by their mean norm, or each divided by its own norm.

    Parameters
    ----------
    vectors : array of shape (m, d)
    norms : {"raw", "mean", "unit"}

    Examples
    --------
    >>> rescale([[3.0, 4.0], [0.0, 2.0]], "unit")
    array([[0.6, 0.8],
           [0. , 1. ]])
    """
    X = check_vectors("vectors", vectors)
    if norms == "raw":
        return X
    if norms not in ("mean", "unit"):
        raise InputError(f"norms is {norms!r}; pass 'raw', 'mean' or 'unit'")
    length = np.linalg.norm(X.astype(np.float64), axis=1)
    if norms == "unit" and (length == 0).any():
        row = int(np.flatnonzero(length == 0)[0])
        raise InputError(f"row {row} of vectors is zero and has no direction; drop it, or pass norms='mean'")
    if length.max() == 0:
        raise InputError("all vectors are zero, so they cannot be divided by their mean norm")
    divisor = length[:, None] if norms == "unit" else length.mean()
    return (X / divisor).astype(X.dtype)
