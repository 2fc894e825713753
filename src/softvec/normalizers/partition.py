"""Partition items into many small cells in O(m d sqrt(k)): coarse parts first, then each part again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softvec.core.machine import ALONE, Machine
from softvec.normalizers.base import Array
from softvec.normalizers.kmeans import nearest_center

_STEPS = 3  # Lloyd steps on a sample; random centres (0 steps) leave about 5% more variance inside cells
_PER_CENTER = 16  # sampled rows per centre
_BLOCK = 4096  # rows copied, assigned and multiplied while they are in cache


def _centers(Y: Array, k: int, rng: np.random.Generator, pool: Machine) -> Array:
    """Return k centres: a few Lloyd steps on a sample of the rows."""
    size = min(len(Y), max(_PER_CENTER * k, k))
    sample = Y[np.sort(rng.choice(len(Y), size, replace=False))]
    centers = sample[np.sort(rng.choice(size, k, replace=False))]
    for _ in range(_STEPS):
        cell_of = nearest_center(sample, centers, pool)
        counts = np.bincount(cell_of, minlength=k)
        starts = np.cumsum(counts) - counts
        filled = counts > 0
        sums = np.add.reduceat(sample[np.argsort(cell_of, kind="stable")], starts[filled], axis=0)
        centers[filled] = sums / counts[filled, None]
    return centers


@dataclass(frozen=True)
class Cells:
    """Rows listed cell by cell, each cell sorted by a permanent random key (see softvec.kernels.cells).

    ``counts`` (cells,), ``centers`` (cells, d), ``radius`` the mean squared distance to the centre (cells,),
    ``order`` (m,), ``draws`` keys and boosts (2, m), ``within`` the covariance inside cells (d, d).
    """

    counts: Array
    centers: Array
    radius: Array
    order: Array
    draws: Array
    within: Array


def cut_into_cells(Y: Array, k: int, rng: np.random.Generator, pool: Machine) -> Cells:
    """Return about ``k`` non-empty cells: a coarse partition, then one task for each of its parts."""
    m = len(Y)
    middles = _centers(Y, max(1, round(np.sqrt(k))), rng, pool)
    coarse = nearest_center(Y, middles, pool)
    listed = np.argsort(coarse.astype(np.uint16), kind="stable")  # 16 bits: NumPy sorts in linear time
    counts = np.bincount(coarse)
    ends = np.cumsum(counts)
    seeds = rng.integers(2**63, size=len(counts))
    order, draws = np.empty(m, np.int32 if m < 2**31 else np.int64), np.empty((2, m), np.float32)

    def cut(c: int) -> tuple[Array, Array, Array, Array]:
        part = slice(ends[c] - counts[c], ends[c])
        pieces = min(max(1, round(k * counts[c] / m)), int(counts[c]))
        own = np.random.default_rng(seeds[c])
        return _cut_part(Y, listed[part], middles[c], pieces, order[part], draws[:, part], own)

    parts = pool.map(cut, [(c,) for c in np.flatnonzero(counts)])
    sizes, centers, radius = (np.concatenate([part[i] for part in parts]) for i in range(3))
    return Cells(sizes, centers, radius, order, draws, np.sum([part[3] for part in parts], axis=0) / m)


def _cut_part(
    Y: Array, rows: Array, middle: Array, k: int, order: Array, draws: Array, rng: np.random.Generator
) -> tuple[Array, Array, Array, Array]:
    """Partition the chosen rows into k cells in one pass; return sizes, means, mean squared radii, scatter.

    Rows are centred at the middle of the part, so that differences of squares lose no digits.
    """
    from softvec.kernels.cells import arrange, assign_rows, copy_rows

    d, m = Y.shape[1], len(rows)
    chosen = rows[np.sort(rng.choice(m, min(m, _PER_CENTER * k), replace=False))]
    guesses = _centers(Y[chosen] - middle, k, rng, ALONE)
    half = (0.5 * np.einsum("ij,ij->i", guesses, guesses, dtype=np.float64)).astype(Y.dtype)
    cell_of, radii, sums = np.empty(m, np.int32), np.empty(m, np.float32), np.zeros((k, d))
    scatter, buffer = np.zeros((d, d)), np.empty((min(m, _BLOCK), d), Y.dtype)
    for lo in range(0, m, _BLOCK):
        hi = min(lo + _BLOCK, m)
        block = buffer[: hi - lo]
        copy_rows(Y, rows[lo:hi], middle, block)
        assign_rows(block, block @ guesses.T, half, cell_of[lo:hi], sums, radii[lo:hi])
        scatter += block.T @ block
    sizes = np.bincount(cell_of, minlength=k)
    square = np.bincount(cell_of, weights=radii, minlength=k)
    filled = sizes > 0
    cell_of, sizes = (np.cumsum(filled) - 1)[cell_of], sizes[filled]
    means = sums[filled] / sizes[:, None]
    # shift from the guesses to the means: subtract the sum of c c', and the squared offset
    scatter -= (means.T * sizes) @ means
    offset = means - guesses[filled].astype(np.float64)
    radius = np.maximum(square[filled] / sizes - np.einsum("ij,ij->i", offset, offset), 0.0)
    draws[0] = rng.random(m)
    arrange(rows, cell_of, np.concatenate([[0], np.cumsum(sizes)]), radii, order, draws)
    return sizes, (means + middle).astype(Y.dtype), radius, scatter
