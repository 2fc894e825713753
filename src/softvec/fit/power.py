"""Vectors of a graph by power steps alone, without epochs: ``effort="fast"``.

A step multiplies the vectors by the walk, centres the rows and makes them unit vectors. The mean of the last
two steps leaves out negative eigenvalues, whose sign changes with every step. No product of the vectors with
a d x d matrix is needed on a sparse graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec import kernels
from softvec.core.machine import Machine
from softvec.core.scratch import empty
from softvec.core.threads import Buffers, row_blocks
from softvec.fit.views import degree_coordinates
from softvec.operators import Operator, Runtime, Sparse

Array = NDArray[Any]

_Product = Callable[[int, int], tuple[Array, ...]]
_NONE, _HALF = np.empty(0, np.float32), np.empty((0, 0), np.uint16)
_SAMPLE = 1000  # rows, about, of which the agreement of two steps and the covariance are taken
_BLOCK = 4096  # rows: a step needs no other memory, and small graphs are one block
STEPS = 20  # on a sparse graph (benchmarks/effort.py)
# On a dense graph: steps; the exponent of the covariance that evens out the axes; the scale of the two
# coordinates for the degree; and some columns of three steps that prefer neighbours of high degree, because
# one walk cannot say that unlike nodes are linked. The third step tells more: where it hardly agrees with the
# second, unlike nodes are linked and half of the columns prefer hubs; where it does, groups are so clear that
# more steps find more of them.
DENSE_STEPS, HUB_STEPS, EXPONENT, DEGREE_SCALE = 8, 3, 0.4, 0.2
HUB_SHARE, UNLIKE_SHARE, UNLIKE, UNLIKE_STEPS = 1 / 8, 1 / 2, 0.12, 6
CLEAR, CLEAR_STEPS = 0.5, 20
FEW = 1000  # nodes of a graph that is dense in any case
# Mean neighbours of the ends of edges in a larger one. Few steps and columns that prefer hubs lose the groups
# of a block model of ten neighbours, whose ends have 29; labelled dense graphs have 61 and more.
CROWDED = 40.0


class Steps:
    """Random vectors under power steps: in half precision, with a second copy for the next step.

    Parameters
    ----------
    P : Operator of shape (n, n)
        Rows of sum 1, or 0.
    d : int
        Dimension of the vectors.
    seed : tuple of int
        Of the random signs that are the first vectors.
    pool : Machine
    steps : int
        Number of steps to come; decides whether compiling pays off.
    length : ndarray of shape (n,), optional
        Lengths of the stored vectors, by which columns of P weigh in the product; 1 by default.
    memory : ndarray, optional
        Holds one of the copies, to save memory; the last step may overwrite it.
    """

    def __init__(
        self,
        P: Operator,
        d: int,
        seed: tuple[int, ...],
        pool: Machine,
        steps: int,
        *,
        length: Array = _NONE,
        memory: Array | None = None,
    ):
        n = P.shape[0]
        self.P, self.pool, self.length = P, pool, length
        self.csr = P.unweighted() if isinstance(P, Sparse) else None
        self.blocks = row_blocks(n, _BLOCK)
        self.runtime = Runtime(kernels.select(steps * P.nnz * d), pool, _BLOCK)
        self.plan = P.plan(self.runtime)
        self.weight = (self._column_sums() / n).astype(np.float32)  # the mean of P X is weight' X
        self.centre, self.buffers = np.zeros(d, np.float32), Buffers()
        self.source = empty((n, d), np.uint16, random=True)
        memory = empty((n, d), np.uint16, random=True) if memory is None else memory
        self.spare = memory.reshape(-1).view(np.uint16)[: n * d].reshape(n, d)
        pool.map(lambda lo, hi: _random_signs(self.source[lo:hi], (*seed, lo)), self.blocks)
        self._unit(lambda lo, hi: _each(self.source[lo:hi]), self.spare, length)

    def _column_sums(self) -> Array:
        """Return those of P, by the kernels of the steps."""
        ones, sums = np.ones((self.P.shape[0], 1)), np.empty((self.P.shape[1], 1))
        self.runtime.fill(self.P.T.plan(self.runtime)(ones), sums, ones[:0])
        return sums[:, 0]

    def step(self) -> None:
        """Multiply the vectors by P, centre them and make them unit vectors."""
        self._unit(self._product(), self.spare, self.length)

    def finish(self, out: Array, *, mean: bool) -> None:
        """Do a last step in single precision; with ``mean``, take the direction of the last two steps."""
        if np.may_share_memory(self.source, out):
            self.source = self.source.copy()
        self._unit(self._product(), out, _NONE, self.source if mean else self.source[:0])

    def _unit(self, product: _Product, out: Array, length: Array, previous: Array | None = None) -> None:
        """Write unit rows of a product to ``out``, which is the next source."""

        def unit_rows(lo: int, hi: int) -> Array:
            total = np.zeros(len(self.centre), np.float32)
            self.runtime.kernels.unit_rows(
                *product(lo, hi), self.centre, self.weight[lo:hi], length[lo:hi],
                self.source[:0] if previous is None else previous[lo:hi], out[lo:hi], total,
            )  # fmt: skip
            return total

        self.centre = self.pool.fold(unit_rows, self.blocks, np.add)
        self.source, self.spare = out, self.source

    def _product(self) -> _Product:
        """Return a function that gives rows of P X as CSR of ones, scales of rows, and vectors."""
        source = self.source
        if self.csr is not None:
            indptr, indices, scale = self.csr
            return lambda lo, hi: (indptr[lo : hi + 1], indices, scale[lo:hi], source)
        rows = self.plan(source)

        def product(lo: int, hi: int) -> tuple[Array, ...]:
            G = self.buffers.get("G", (hi - lo, source.shape[1]), np.float32)
            rows(lo, hi, G, G[:0])
            return _each(G)

        return product

    def go(self, steps: int) -> None:
        """Do some steps."""
        for _ in range(steps):
            self.step()

    def agreement(self) -> float:
        """Return the mean cosine between the vectors of some rows and those before the last step."""
        some = slice(None, None, 1 + len(self.source) // _SAMPLE)
        now, before = (half[some].view(np.float16).astype(np.float32) for half in (self.source, self.spare))
        return float(np.einsum("ij,ij->i", now, before).mean())

    def keep_columns(self, count: int) -> None:
        """Go on with the first columns only."""
        self.source = np.ascontiguousarray(self.source[:, :count])
        self.spare = np.empty_like(self.source)
        self.centre = self.centre[:count]


def _each(X: Array) -> tuple[Array, ...]:
    """Return X as the product of a unit matrix and X."""
    rows = np.arange(len(X) + 1)
    return rows, rows[:-1], np.ones(len(X), np.float32), X


def _random_signs(X: Array, seed: tuple[int, ...]) -> None:
    """Fill X, in half precision, with 1 and -1."""
    bits, one = np.random.SFC64(seed), np.float16(1).view(np.uint16)
    for lo, hi in row_blocks(len(X), 256):  # which stay in cache
        part = X[lo:hi]
        raw = bits.random_raw(-(-part.size // 4)).astype("<u8", copy=False).view("<u2")
        np.bitwise_and(raw[: part.size].reshape(part.shape), 0x8000, out=part)  # the bit of the sign
        np.bitwise_or(part, one, out=part)


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
    X = empty((P.shape[0], d), np.float32)
    walk = Steps(P, d, (seed, 0), pool, STEPS, memory=X)
    if graph is None or d < 8:
        walk.go(STEPS - 1)
        walk.finish(X, mean=True)
        X[P.row_sums() == 0] = 0
        return PowerVectors(X, STEPS, 0.0)
    walk.go(HUB_STEPS)
    agreement, hubs = walk.agreement(), round(d * HUB_SHARE)
    steps = DENSE_STEPS if agreement < CLEAR else CLEAR_STEPS
    if agreement < UNLIKE:
        hubs, steps = round(d * UNLIKE_SHARE), UNLIKE_STEPS
        walk.keep_columns(d - hubs)
    walk.go(steps - HUB_STEPS - 1)
    walk.finish(X[:, : walk.source.shape[1]], mean=True)
    A = Sparse(graph, symmetric=True)
    degree = A.row_sums()
    prefer_hubs(A, degree, X[:, d - 2 - hubs : d - 2], (seed, 1), pool)
    even_out(X[:, :-2], EXPONENT, pool, pool.block_rows(d))
    X[:, -2:] = degree_coordinates(degree, DEGREE_SCALE, d=d, pool=pool)
    X[degree == 0] = 0
    return PowerVectors(X, steps, DEGREE_SCALE)


def prefer_hubs(A: Sparse, degree: Array, out: Array, seed: tuple[int, ...], pool: Machine) -> None:
    """Write the vectors of few steps of a walk that prefers neighbours of high degree."""
    length = np.sqrt(degree / degree.max())
    sums = A @ length
    P = A.scale_rows(np.divide(1, sums, out=np.zeros_like(sums), where=sums > 0))
    walk = Steps(P, out.shape[1], seed, pool, HUB_STEPS, length=length.astype(np.float32))
    walk.go(HUB_STEPS - 1)
    walk.finish(out, mean=False)


def even_out(X: Array, exponent: float, pool: Machine, block: int) -> None:
    """Multiply X by a negative power of its covariance and make its rows unit vectors, in place.

    Axes on which all nodes differ count less, those of small groups more.
    """
    blocks = row_blocks(len(X), block)
    some = X[:: max(1, len(X) // _SAMPLE)]
    gram = pool.fold(
        lambda lo, hi: (some[lo:hi].T @ some[lo:hi]).astype(np.float64), row_blocks(len(some), block), np.add
    )
    squares, axes = np.linalg.eigh(gram)
    squares = np.maximum(squares, 1e-6 * squares[-1]) / squares[-1]
    factor = ((axes * squares**-exponent) @ axes.T).astype(X.dtype)
    unit_rows = kernels.select(X.size * X.shape[1]).unit_rows
    buffers, none = Buffers(), np.zeros(X.shape[1], X.dtype)

    def transform(lo: int, hi: int) -> None:
        rows = buffers.get("rows", (hi - lo, X.shape[1]), X.dtype)
        np.matmul(X[lo:hi], factor, out=rows)
        unit_rows(*_each(rows), none, rows[:, 0], _NONE, _HALF, X[lo:hi], none.copy())

    pool.map(transform, blocks)
