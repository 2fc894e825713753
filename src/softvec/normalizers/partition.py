"""Cut items into many small cells in O(m d sqrt(k)): a coarse cut, then each part cut again."""

from __future__ import annotations

from dataclasses import dataclass
from threading import local

import numpy as np

from softvec._parallel import Workers
from softvec.normalizers.base import Array
from softvec.normalizers.moments import nearest_center

_STEPS = 3  # Lloyd steps on a sample; random centres (0 steps) leave about 5% more variance inside cells
_PER_CENTER = 16  # rows of that sample, per centre
_BLOCK = 4096  # rows of one float32 product


def _centers(Y: Array, k: int, rng: np.random.Generator, pool: Workers) -> Array:
    """Return k centres: a few Lloyd steps on a sample of the rows."""
    size = min(len(Y), max(_PER_CENTER * k, k))
    sample = Y[np.sort(rng.choice(len(Y), size, replace=False))]
    centers = sample[np.sort(rng.choice(size, k, replace=False))]
    for _ in range(_STEPS):
        labels = nearest_center(sample, centers, pool)
        counts = np.bincount(labels, minlength=k)
        starts = np.cumsum(counts) - counts
        found = counts > 0
        sums = np.add.reduceat(sample[np.argsort(labels, kind="stable")], starts[found], axis=0)
        centers[found] = sums / counts[found, None]
    return centers


@dataclass(frozen=True)
class Cells:
    """Rows listed cell after cell, each cell sorted by a permanent random key (see softvec.kernels.cells).

    ``counts`` (cells,), ``centers`` (cells, d), ``radius`` the mean squared distance to the centre (cells,),
    ``order`` (m,), ``draws`` keys and boosts (2, m), ``within`` the covariance inside cells (d, d).
    """

    counts: Array
    centers: Array
    radius: Array
    order: Array
    draws: Array
    within: Array


def cut_into_cells(Y: Array, k: int, rng: np.random.Generator, pool: Workers) -> Cells:
    """Return about ``k`` cells, none empty; one task cuts and sorts one part while it is in cache."""
    from softvec.kernels.cells import arrange, copy_rows

    m, d = Y.shape
    middles = _centers(Y, max(1, round(np.sqrt(k))), rng, pool)
    coarse = nearest_center(Y, middles, pool)
    listed = np.argsort(coarse.astype(np.uint16), kind="stable")  # 16 bits: NumPy sorts in linear time
    counts = np.bincount(coarse)
    bounds = np.concatenate([[0], np.cumsum(counts)])
    seeds = rng.integers(2**63, size=len(counts))
    order, draws = np.empty(m, np.int32 if m < 2**31 else np.int64), np.empty((2, m), np.float32)
    alone = Workers(1, None)
    scratch = local()  # one buffer per thread: fresh memory for every part costs more than its use

    def one(c: int) -> tuple[Array, Array, Array, Array]:
        lo, hi = bounds[c], bounds[c + 1]
        if not hasattr(scratch, "rows"):
            scratch.rows = np.empty((int(counts.max()), d), Y.dtype)
        inside = scratch.rows[: hi - lo]
        copy_rows(Y, listed[lo:hi], middles[c], inside)  # about the middle of the part: no cancellation below
        own = np.random.default_rng(seeds[c])
        pieces = min(max(1, round(k * (hi - lo) / m)), hi - lo)
        labels = nearest_center(inside, _centers(inside, pieces, own, alone), alone)
        sizes = np.bincount(labels, minlength=pieces)
        found = sizes > 0
        labels, sizes = (np.cumsum(found) - 1)[labels], sizes[found]
        cuts = np.concatenate([[0], np.cumsum(sizes)])
        centers, radius = np.empty((len(sizes), d), Y.dtype), np.empty(len(sizes))
        draws[0, lo:hi] = own.random(hi - lo)
        arrange(inside, listed[lo:hi], labels, cuts, order[lo:hi], draws[:, lo:hi], centers, radius)
        # sum of (y - c)(y - c)' over cells = that of y y' less that of c c'
        means = centers.astype(np.float64)
        scatter = -(means.T * sizes) @ means
        for a in range(0, hi - lo, _BLOCK):
            scatter += inside[a : a + _BLOCK].T @ inside[a : a + _BLOCK]
        return sizes, centers + middles[c], radius, scatter

    parts = pool.map(one, [(c,) for c in np.flatnonzero(counts)])
    sizes, centers, radius = (np.concatenate([part[i] for part in parts]) for i in range(3))
    return Cells(sizes, centers, radius, order, draws, sum(part[3] for part in parts) / m)
