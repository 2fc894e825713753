"""The normaliser with exact terms for each item and its neighbours, and Gaussians for all others.

At a sharp softmax the neighbours, which the fit pulls close, are most of Z, and no Gaussian describes them.
The Gaussians have the moments of the other items: those of all items less those of the near ones, of which
only scores are needed (:func:`softvec.kernels.reference.edges_term`).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.core.errors import InputError, Option
from softvec.core.scratch import empty
from softvec.core.threads import row_blocks
from softvec.fit.problem import Problem
from softvec.kernels.reference import Classes, EdgeTerms, Items, Near, edges_term
from softvec.normalizers.moments import Context, Moments, Sums, add_sums
from softvec.operators import Operator, Sparse
from softvec.operators.base import Composite

if TYPE_CHECKING:
    from softvec.fit.engine import Engine

Array = NDArray[Any]
_BLOCK = 4096  # rows whose second neighbours are found at a time


def _entries(P: Operator) -> Sparse:
    """Return the sparse matrix whose entries are the neighbours of a walk: its first step."""
    part: Operator = P
    while isinstance(part, Composite):
        part = next((factor for factor in part.parts if not _is_diagonal(factor)), part.parts[0])
    if isinstance(part, Sparse) and part.shape == P.shape:
        return part
    raise InputError(
        Option("normalizer", "edges"), f" needs a sparse matrix of neighbours, and P is {P!r}; leave it out"
    )


def _is_diagonal(part: Operator) -> bool:
    return isinstance(part, Sparse) and np.array_equal(part._indices, np.arange(part.shape[0]))


def near_items(problem: Problem, dtype: Any) -> sparse.csr_array:
    """Return the items near each row: the columns of its entries, and itself in a symmetric problem.

    The values are the entries of P, or all 0 where P is more than one sparse matrix; 0 of second neighbours,
    with which the item itself is left out.
    """
    P, symmetric = problem.P, problem.symmetric
    entries = _entries(P)
    values = entries.tocsr().data.astype(dtype) if entries is P else np.zeros(entries.nnz, dtype)
    rows = np.repeat(np.arange(P.shape[0], dtype=entries._indices.dtype), np.diff(entries._indptr))
    columns = entries._indices
    if symmetric:
        own = np.arange(P.shape[0], dtype=columns.dtype)
        rows, columns = np.concatenate([rows, own]), np.concatenate([columns, own])
        values = np.concatenate([values, np.zeros(len(own), dtype)])
    near = sparse.coo_array((values, (rows, columns)), shape=P.shape).tocsr()  # adds duplicates
    if not problem.second:
        return near
    if not symmetric:
        raise InputError(Option("normalizer", "near"), " is for one set of vectors")
    r, c = _second(near, problem.second)
    rows, columns = near.tocoo().coords
    others = (
        rows != columns
    )  # at a sharp softmax an item itself would be most of its sum, and hide the others
    coords = np.concatenate([rows[others], r]), np.concatenate([columns[others], c])
    values = np.concatenate([near.data[others], np.zeros(len(r), dtype)])
    return sparse.coo_array((values, coords), shape=P.shape).tocsr()


def _second(near: sparse.csr_array, count: int) -> tuple[Array, Array]:
    """Return rows and columns of the pairs two steps apart, at most ``count`` a row: most paths first.

    From the node between them, only the ``count`` neighbours of fewest neighbours are seen: time is linear.
    """
    step = sparse.csr_array((np.ones(near.nnz, np.float32), near.indices, near.indptr), shape=near.shape)
    rarity = 1 / np.diff(near.indptr)[near.indices]
    rare = _largest(sparse.csr_array((rarity, near.indices, near.indptr), shape=near.shape), count) > 0
    pairs = []
    for lo, hi in row_blocks(near.shape[0], _BLOCK):
        paths = step[lo:hi] @ rare
        rows, columns = _largest(paths - paths.multiply(step[lo:hi]), count).tocoo().coords
        pairs.append((rows + lo, columns))
    first, last = zip(*pairs)
    return np.concatenate(first), np.concatenate(last)


def _largest(S: sparse.csr_array, count: int) -> sparse.csr_array:
    """Return the largest entries above 0 of each row, at most ``count``."""
    rows = np.repeat(np.arange(S.shape[0]), np.diff(S.indptr))
    order = np.lexsort((-S.data, rows))
    kept = np.sort(order[(np.arange(S.nnz) - S.indptr[rows] < count) & (S.data[order] > 0)])
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=S.shape[0]))])
    return sparse.csr_array((S.data[kept], S.indices[kept], ends), shape=S.shape)


def _items(Y: Array, classes: Array | None, weight: Array | None) -> Items:
    return Items(
        Y, np.empty(0, np.int64) if classes is None else classes, np.empty(0) if weight is None else weight
    )


def edges_log_z(
    problem: Problem, chosen: Array, X: Array, Y: Array, classes: Array | None, mom: Moments
) -> Array:
    """Return log Z of some rows as this normaliser estimates it."""
    near, k = near_items(problem, X.dtype)[chosen], len(mom.weight)
    x, ends = X[chosen], near.indptr.astype(np.int64)
    out = EdgeTerms(np.empty_like(x), np.empty(near.nnz), np.empty((len(x), 2)), np.empty((0, k, 2)))
    edges_term(
        Near(ends, near.indices, near.data[:0]),
        _items(Y, classes, problem.item_weight),
        Classes(mom.mu, mom.weight, mom.count),
        x,
        np.stack([x @ omega for omega in mom.omega]),
        np.ones(len(x)),
        problem.beta,
        out,
    )
    return out.stats[:, 0]


class NearTerms:
    """Near items of all rows, and the terms of an engine's blocks."""

    def __init__(self, engine: Engine):
        problem, dtype = engine.problem, engine.rows.X.dtype
        self.engine = engine
        self.near = near_items(problem, dtype)
        # with one sparse matrix and the row gradient, the pass over the neighbours does the attraction too
        self.attracts = isinstance(problem.P, Sparse) and problem.gradient == "row" and problem.symmetric

    def block(self, lo: int, hi: int, mom: Moments, H: Array, out: EdgeTerms) -> None:
        """Write the terms of a block of rows."""
        engine, problem, near = self.engine, self.engine.problem, self.near
        first, last = near.indptr[[lo, hi]]
        none = np.empty(0, near.dtype)
        engine.kernels.edges_term(
            Near(
                near.indptr[lo : hi + 1].astype(np.int64) - first,
                near.indices[first:last],
                near.data[first:last] if self.attracts else none,
            ),
            _items(engine.columns.source, engine.classes, problem.item_weight),
            Classes(mom.mu.astype(near.dtype), mom.weight, mom.count),
            engine.rows.X[lo:hi],
            H,
            engine.rho[lo:hi],
            problem.beta,
            out,
        )

    def rows(self, lo: int, hi: int, mom: Moments, H: Array) -> EdgeTerms:
        """Return the terms of a block of rows, in this thread's scratch."""
        x, get = self.engine.rows.X[lo:hi], self.engine.buffers.get
        out = EdgeTerms(
            get("V", x.shape, x.dtype),
            get("e", (int(self.near.indptr[hi] - self.near.indptr[lo]),), x.dtype),
            get("stats", (hi - lo, 2), np.float64),
            np.empty((0, self.engine.k, 2)),
        )
        self.block(lo, hi, mom, H, out)
        return out

    @cached_property
    def _transposed(self) -> tuple[Array, Array, Array]:
        """Pointers and rows of the transposed near items, and where their entries are."""
        place = np.arange(self.near.nnz, dtype=np.int64)
        flipped = sparse.csr_array(
            (place, self.near.indices, self.near.indptr), shape=self.near.shape
        ).T.tocsr()
        return flipped.indptr.astype(np.int64), flipped.indices, flipped.data

    def gradients(self, mom: Moments, omega: Array) -> tuple[Array, Array, Array]:
        """Return the gradient on X, the weighted log Z and the gradient on Y, as of the exact normaliser."""
        engine, near = self.engine, self.near
        X, Y, k = engine.rows.X, engine.columns.X, engine.k
        V, total = empty(X.shape, X.dtype), np.empty(len(X))
        coefficients = np.empty(near.nnz, X.dtype)

        def run(lo: int, hi: int) -> Sums:
            x = X[lo:hi]
            stats, pulls = np.empty((hi - lo, 2)), np.empty((hi - lo, k, 2))
            entries = coefficients[near.indptr[lo] : near.indptr[hi]]
            self.block(lo, hi, mom, engine.products(x, omega), EdgeTerms(V[lo:hi], entries, stats, pulls))
            total[lo:hi] = engine.rho[lo:hi] * stats[:, 0]
            w = pulls.astype(x.dtype)
            second = np.empty((k, x.shape[1], x.shape[1]), x.dtype)
            for c in range(k):
                engine.kernels.second_moments(x * w[:, c, 1, None], x, second[c])
            return Sums(np.zeros(k), np.zeros(k), (w[:, :, 0].T @ x).astype(float), second.astype(float))

        pool = engine.runtime.machine
        sums = pool.fold(run, engine.rows.blocks, add_sums)
        far = Context(sums.first.astype(X.dtype), sums.second.astype(X.dtype))
        indptr, indices, place = self._transposed
        back = Sparse.of_arrays(near.shape[::-1], (indptr, indices, coefficients[place]))
        plan, E = back.plan(engine.runtime)(X), empty(Y.shape, Y.dtype)

        def columns(lo: int, hi: int) -> None:
            plan(lo, hi, E[lo:hi], engine.context_rows(far, Y[lo:hi], lo, hi))

        pool.map(columns, engine.columns.blocks)
        return V, total, E
