"""Points of a picture that would hide each other, moved side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.plotting.style import Axes

MOST = 1000  # items; more are drawn as dots, of which density is seen, not each
APART = 0.8  # distance of two discs, in sums of their radii
STEPS = 60


def spread(axes: Axes, Z: NDArray[np.float64], area: NDArray[Any]) -> NDArray[np.float64]:
    """Return the layout with discs of these areas pushed apart, the smaller one of two further.

    Nodes with the same neighbours, such as the leaves of a star, have equal vectors and one place.
    """
    if not 1 < len(Z) <= MOST:
        return Z
    scale = axes.get_figure().dpi / 72
    radius = np.sqrt(area) / 2 * scale
    points = separated(axes.transData.transform(Z), radius)
    return axes.transData.inverted().transform(points)  # type: ignore[no-any-return]


def separated(points: NDArray[np.float64], radius: NDArray[Any]) -> NDArray[np.float64]:
    """Return points (n, 2) such that discs of these radii overlap little; those that do not stay.

    >>> separated(np.array([[0.0, 0.0], [1.0, 0.0], [9.0, 0.0]]), np.ones(3)).round(2).tolist()
    [[-0.3, 0.0], [1.3, 0.0], [9.0, 0.0]]
    """
    from scipy.spatial import cKDTree

    points = _unstacked(points, radius)
    for _ in range(STEPS):
        pairs = cKDTree(points).query_pairs(2 * APART * radius.max(), output_type="ndarray")
        i, j = pairs[np.lexsort(pairs.T[::-1])].T
        way = points[j] - points[i]  # (pairs, 2)
        distance = np.hypot(*way.T)
        lacking = np.maximum(APART * (radius[i] + radius[j]) - distance, 0)
        if not (lacking > 1e-3 * radius.max()).any():
            break
        push = way * (lacking / np.maximum(distance, 1e-9 * radius.max()))[:, None]
        share = (radius[j] ** 2 / (radius[i] ** 2 + radius[j] ** 2))[:, None]
        moves = np.zeros_like(points)
        np.add.at(moves, i, -push * share)
        np.add.at(moves, j, push * (1 - share))
        length = np.hypot(*moves.T)
        points = points + moves * np.minimum(1, radius / np.maximum(length, 1e-9 * radius))[:, None]
    return points


def _unstacked(points: NDArray[np.float64], radius: NDArray[Any]) -> NDArray[np.float64]:
    """Return points with those at one place arranged like the seeds of a sunflower, the first inside."""
    cells = np.unique(np.round(points / (0.25 * radius.max())), axis=0, return_inverse=True)[1].ravel()
    order = np.argsort(cells, kind="stable")
    rank = np.empty(len(points))
    rank[order] = np.arange(len(points)) - np.searchsorted(cells[order], cells[order])
    angle = rank * (3 - 5**0.5) * np.pi
    away = 1.1 * APART * radius * np.sqrt(rank)  # discs of this distance touch
    return points + np.c_[away * np.cos(angle), away * np.sin(angle)]
