"""Coordinates of the camps of a signed graph: friends on one side, foes on the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.affinity.spectrum import SURE, hide_edges, leading_axes
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
    axes, values = _axes(A, k, np.random.default_rng([seed, 26]))
    return unit_or_zero(axes * np.sqrt(np.abs(values)))


def signs_are_told(A: sparse.csr_array) -> bool:
    """Return whether the leading axis of a signed matrix tells the signs of hidden links.

    Random signs have axes too, which would show as groups.
    """
    rng = np.random.default_rng(27)
    rest, (u, v, _) = hide_edges(A, rng)
    if not len(u):
        return False
    axes, values = _axes(rest, 1, rng)
    score, positive = (axes[u] * values * axes[v])[:, 0], np.asarray(A[u, v]) > 0
    friends, foes = score[positive], np.sort(score[~positive])
    if not len(friends) or not len(foes):
        return False
    below = np.searchsorted(foes, friends, "left") + np.searchsorted(foes, friends, "right")
    error = np.sqrt((1 / len(friends) + 1 / len(foes)) / 12)
    return bool(below.mean() / (2 * len(foes)) > 0.5 + SURE * error)


def _axes(A: sparse.csr_array, k: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return the leading axes of the balanced matrix, and their eigenvalues."""
    total = np.asarray(abs(A).sum(axis=1), np.float64)
    scale = sparse.diags_array(np.divide(1, np.sqrt(total), out=np.zeros_like(total), where=total > 0))
    balanced = sparse.csr_array(scale @ A @ scale).astype(np.float32)
    axes = leading_axes(balanced, k, rng)
    return axes, np.einsum("ij,ij->j", axes, balanced @ axes)
