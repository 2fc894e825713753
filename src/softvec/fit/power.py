"""Vectors of a graph by power steps alone, without epochs: ``effort="fast"``.

A step multiplies the vectors by the walk, centres the rows and makes them unit vectors. The mean of the last
two steps leaves out negative eigenvalues, whose sign changes with every step. No product of the vectors with
a d x d matrix is needed on a sparse graph.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec import kernels
from softvec.core.machine import Machine
from softvec.core.scratch import empty
from softvec.core.threads import Buffers, row_blocks
from softvec.fit.start import random_start
from softvec.fit.views import degree_coordinates
from softvec.operators import Operator, Runtime, Sparse, row_normalize

Array = NDArray[Any]

STEPS = 24  # on a sparse graph (benchmarks/effort.py)
# On a dense graph: steps; the exponent of the covariance that evens out the axes; the scale of the two
# coordinates for the degree; and some columns of three steps that prefer neighbours of high degree, because
# one walk cannot say that unlike nodes are linked. The third step tells more: where it hardly agrees with the
# second, unlike nodes are linked and half of the columns prefer hubs; where it does, groups are so clear that
# more steps find more of them.
DENSE_STEPS, HUB_STEPS, EXPONENT, DEGREE_SCALE = 8, 3, 0.4, 0.2
HUB_SHARE, UNLIKE_SHARE, UNLIKE = 1 / 8, 1 / 2, 0.12
CLEAR, CLEAR_STEPS = 0.5, 20
FEW = 1000  # nodes of a graph that is dense in any case


class Steps:
    """Vectors under power steps: in half precision, with a second copy for the next step.

    Parameters
    ----------
    P : Operator of shape (n, n)
        Rows of sum 1, or 0.
    X : ndarray of shape (n, d)
        Unit vectors.
    pool : Machine
    steps : int
        Number of steps to come; decides whether compiling pays off.
    """

    def __init__(self, P: Operator, X: Array, pool: Machine, steps: int):
        n, d = X.shape
        self.P, self.pool, self.block = P, pool, pool.block_rows(d)
        self.runtime = Runtime(kernels.select(steps * P.nnz * d), pool, self.block)
        self.weight = (P.T @ np.full(n, 1 / n)).astype(X.dtype)  # the mean of P X is weight' X
        self.source = self.runtime.copied(X)
        self.spare = empty(self.source.shape, self.source.dtype, random=True)
        self.centre = self._folded(lambda lo, hi: self.weight[lo:hi] @ X[lo:hi])
        self.buffers = Buffers()

    def _folded(self, part: Any) -> Array:
        return self.pool.fold(part, row_blocks(len(self.source), self.block), np.add)

    def step(self, out: Array | None = None) -> None:
        """Do one step; with ``out``, write the mean of the last two steps there instead."""
        rows, dtype = self.P.plan(self.source, self.runtime), self.weight.dtype
        target = self.spare if out is None else out
        width = self.source.shape[1]

        def step_of_rows(lo: int, hi: int) -> Array:
            G, total = self.buffers.get("G", (hi - lo, width), dtype), np.zeros(width, dtype)
            rows(lo, hi, G, G[:0])
            previous = self.source[:0] if out is None else self.source[lo:hi]
            self.runtime.kernels.unit_rows(G, self.centre, self.weight[lo:hi], previous, target[lo:hi], total)
            return total

        centre = self._folded(step_of_rows)
        if out is None:
            self.source, self.spare, self.centre = self.spare, self.source, centre

    def go(self, steps: int) -> None:
        """Do some steps."""
        for _ in range(steps):
            self.step()

    def agreement(self) -> float:
        """Return the mean cosine between the vectors and those before the last step."""

        def cosines(lo: int, hi: int) -> float:
            now, before = (half[lo:hi].view(np.float16) for half in (self.source, self.spare))
            return float(np.einsum("ij,ij->", now, before, dtype=np.float32))

        return float(self._folded(cosines)) / len(self.source)

    def keep_columns(self, count: int) -> None:
        """Go on with the first columns only."""
        self.source = np.ascontiguousarray(self.source[:, :count])
        self.spare = np.empty_like(self.source)
        self.centre = self.centre[:count]

    def vectors(self) -> Array:
        """Return the vectors in single precision."""
        return self.source.view(np.float16).astype(np.float32)


class PowerVectors(NamedTuple):
    """Vectors, the steps they took, and the scale of the two coordinates for the degree (0: none)."""

    X: Array
    steps: int
    degree_scale: float


def power_vectors(
    P: Operator, graph: sparse.csr_array | None, d: int, seed: int, pool: Machine
) -> PowerVectors:
    """Return the vectors of a walk by power steps; rows without entries are zero.

    Parameters
    ----------
    P : Operator of shape (n, n)
        One step of the walk: rows of sum 1, or 0.
    graph : csr_array of shape (n, n), optional
        The undirected graph behind P, if its nodes have so many neighbours that few steps reach most of it
        and that vectors can tell hubs apart.
    d : int
        Dimension of the vectors.
    seed : int
    pool : Machine
    """
    n = P.shape[0]
    X = empty((n, d), np.float32)
    if graph is None or d < 8:
        walk = Steps(P, random_start(n, d, seed, 0, np.float32, pool), pool, STEPS)
        walk.go(STEPS - 1)
        walk.step(X)
        X[P.row_sums() == 0] = 0
        return PowerVectors(X, STEPS, 0.0)
    hubs = round((d - 2) * HUB_SHARE)
    walk = Steps(P, random_start(n, d - 2 - hubs, seed, 0, np.float32, pool), pool, DENSE_STEPS)
    walk.go(HUB_STEPS)
    agreement = walk.agreement()
    if agreement < UNLIKE:
        hubs = round((d - 2) * UNLIKE_SHARE)
        walk.keep_columns(d - 2 - hubs)
    steps = DENSE_STEPS if agreement < CLEAR else CLEAR_STEPS
    walk.go(steps - HUB_STEPS - 1)
    walk.step(X[:, : d - 2 - hubs])
    degree = np.asarray(graph.sum(axis=1, dtype=np.float64)).reshape(-1)
    preferring = row_normalize(Sparse(graph, symmetric=True).scale_columns(np.sqrt(degree)))
    walk = Steps(preferring, random_start(n, hubs, seed, 1, np.float32, pool), pool, HUB_STEPS)
    walk.go(HUB_STEPS)
    X[:, d - 2 - hubs : -2] = walk.vectors()
    even_out(X[:, :-2], EXPONENT, pool, pool.block_rows(d))
    X[:, -2:] = degree_coordinates(degree, DEGREE_SCALE, d=d, pool=pool)
    X[degree == 0] = 0
    return PowerVectors(X, steps, DEGREE_SCALE)


def even_out(X: Array, exponent: float, pool: Machine, block: int) -> None:
    """Multiply X by a negative power of its covariance and make its rows unit vectors, in place.

    Axes on which all nodes differ count less, those of small groups more.
    """
    blocks = row_blocks(len(X), block)
    gram = pool.fold(lambda lo, hi: (X[lo:hi].T @ X[lo:hi]).astype(np.float64), blocks, np.add)
    squares, axes = np.linalg.eigh(gram)
    squares = np.maximum(squares, 1e-6 * squares[-1]) / squares[-1]
    factor = ((axes * squares**-exponent) @ axes.T).astype(X.dtype)

    def transform(lo: int, hi: int) -> None:
        rows = X[lo:hi] @ factor
        length = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        X[lo:hi] = rows / np.maximum(length, 1e-12)[:, None]

    pool.map(transform, blocks)
