"""Sparse matrices whose rows are spread over several workers, and operators made of them.

Each worker multiplies its own rows. Before a product it receives the rows of X that its entries refer to and
others own, in the precision of X. Entries keep their order and the kernel is the same, so each row of a
product has the bits of a single process. If these rows are many, they arrive in rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.cluster.halo import Counts, Halo, keeps_bits, multiply, pays
from softvec.core.errors import InputError
from softvec.core.machine import Group
from softvec.operators import Operator, Plan, Rows, Runtime, Sparse
from softvec.operators.base import Composite

Array = NDArray[Any]


@dataclass(frozen=True)
class Shard:
    """A worker's rows of a sparse matrix.

    Attributes
    ----------
    matrix : Sparse of shape (own rows, all columns)
        The own rows: within a row, entries are in the order of the whole matrix. Its columns have no scales.
    row_bounds, column_bounds : ndarray of int64, shape (workers + 1,)
        Where the rows, and the vectors of the columns, of each worker begin; one array for both if rows and
        columns are the same items. Multiples of whole units of rows, except the last.
    column_scale : ndarray of float64
        Scales of the own columns; empty if columns have none.
    symmetric : bool
        Whether the whole matrix equals its transpose.
    """

    matrix: Sparse
    row_bounds: Array
    column_bounds: Array
    column_scale: Array
    symmetric: bool = False


class Sharded(Operator):
    """This worker's rows of a sparse matrix; all workers call its methods together.

    ``shape`` is that of the own rows and columns; ``nnz`` counts the entries of all workers, because it
    decides which kernels run, and these must be the same everywhere.
    """

    def __init__(self, shard: Shard, group: Group):
        whole, (begin, end) = shard.matrix, shard.column_bounds[group.rank : group.rank + 2]
        remote = np.zeros(whole.shape[1], bool)
        remote[whole._indices] = True
        remote[begin:end] = False
        halo = Halo(group, shard.column_bounds, np.flatnonzero(remote))
        small = halo.size < 2**31
        place = np.empty(whole.shape[1], np.int32 if small else np.int64)
        place[begin:end] = np.arange(halo.own)
        place[halo.needed] = np.arange(halo.own, halo.size)
        n, indices, scale = whole.shape[0], place[whole._indices], halo.spread(shard.column_scale)
        arrays = whole._indptr, indices, whole._values
        self._local = Sparse.of_arrays((n, halo.size), arrays, whole._row_scale, scale)
        ranks = group.gather((len(indices), n, halo.own, len(halo.needed)))
        self._counts = [Counts(*rows) for _, *rows in ranks]
        self._bounds, self._symmetric = (shard.row_bounds, shard.column_bounds), shard.symmetric
        self._halo, self._group, self._entries = halo, group, sum(entries for entries, *_ in ranks)
        self.shape = (n, halo.own)

    @property
    def nnz(self) -> int:
        return self._entries

    @property
    def nbytes(self) -> int:
        return self._local.nbytes

    def contents(self) -> Iterator[Array | str]:
        yield f"shard {self._group.rank} of {tuple(int(bounds[-1]) for bounds in self._bounds)}"
        yield from self._local.contents()

    def _with(self, local: Sparse) -> Sharded:
        other = copy(self)
        for cached in ("_transpose", "_sums", "_normal"):
            other.__dict__.pop(cached, None)
        other._local = local
        return other

    def scale_rows(self, scale: float | Array) -> Sharded:
        return self._with(self._local.scale_rows(scale))

    def plan(self, runtime: Runtime, slot: tuple = ()) -> Plan:
        # factors of a product and steps of a walk can share a buffer, parts of a sum cannot
        key = slot if len(slot) < 2 or slot[-2] == "sum" else slot[:-1]
        plan = self._local.plan(runtime, slot)

        def rows_of(X: Array) -> Rows:
            if self._in_rounds(X, runtime.kernels):
                return multiply(self._local, self._halo, X, runtime, key)
            whole = runtime.scratch((*key, "halo"), (self._halo.size, X.shape[1]), X.dtype)
            self._halo.fill(X, whole, runtime.machine)
            return plan(whole)

        return rows_of

    def _in_rounds(self, X: Array, kernels: ModuleType) -> bool:
        """Whether a product receives its columns in rounds, the same on all workers."""
        halo, local, d = self._halo, self._local, X.shape[1]
        if not pays(self._counts, d, X.dtype):
            return False
        case = (kernels.__name__, d, X.dtype, len(local._values) > 0, len(local._col_scale) > 0)
        if case not in halo.rounds:
            halo.rounds[case] = all(self._group.gather(keeps_bits(kernels, local, X)))
        return halo.rounds[case]

    def _row_sums(self) -> NDArray[np.float64]:
        # where no worker has entries other than 1 or scales of columns, rows are counted
        if any(self._group.gather(bool(len(self._local._values) or len(self._local._col_scale)))):
            return self @ np.ones(self.shape[1])
        return self._local._row_sums()

    @property
    def T(self) -> Sharded:
        if "_transpose" not in self.__dict__:  # cached_property would lock out other ranks in threads
            self.__dict__["_transpose"] = self._transposed()
        return self.__dict__["_transpose"]

    def _transposed(self) -> Sharded:
        local, halo, (rows, columns) = self._local, self._halo, self._bounds
        row_scale, column_scale = local._col_scale[: halo.own], local._row_scale
        if self._symmetric:
            arrays, scale = (local._indptr, local._indices, local._values), halo.spread(column_scale)
            return self._with(Sparse.of_arrays(local.shape, arrays, row_scale, scale))
        flipped = Sparse.of_arrays((halo.own, int(rows[-1])), self._flipped(), row_scale)
        return Sharded(Shard(flipped, columns, rows, column_scale), self._group)

    def _flipped(self) -> tuple[Array, Array, Array]:
        """Send each entry to the owner of its column; return the own columns as rows.

        As in one process, entries of a column are in the order of their rows.
        """
        local, group, (row_bounds, column_bounds) = self._local, self._group, self._bounds
        weighted = any(group.gather(len(local._values) > 0))
        numbers = np.concatenate([np.arange(self._halo.own) + self._halo.first, self._halo.needed])
        columns = numbers[local._indices]
        rows = np.repeat(np.arange(self.shape[0]) + row_bounds[group.rank], np.diff(local._indptr))
        owner = np.searchsorted(column_bounds, columns, side="right") - 1
        parts = [np.flatnonzero(owner == rank) for rank in range(group.size)]
        rows = np.concatenate(group.exchange([rows[part] for part in parts]))
        columns = np.concatenate(group.exchange([columns[part] for part in parts])) - self._halo.first
        data: Array = np.ones(len(rows), np.int8)
        if weighted:
            own = local._values
            dtype = np.result_type(*group.gather(own.dtype if len(own) else np.dtype(np.float32)))
            own = own.astype(dtype, copy=False)
            data = np.concatenate(group.exchange([own[part] for part in parts]))
        starts = np.flatnonzero(np.diff(rows, prepend=-1))  # rows come in ascending order
        flipped = sparse.csr_array(
            (data, columns, np.append(starts, len(rows))), shape=(len(starts), self._halo.own)
        ).T.tocsr()
        values = flipped.data if weighted else local._values
        return flipped.indptr.astype(np.int64), rows[starts][flipped.indices], values


def own_work(operator: Operator, d: int) -> float:
    """Return the work of this worker in an epoch, in entries: a row takes as long as d / 4 of them."""
    leaf = next(operator.leaves())
    entries = len(leaf._local._indices) if isinstance(leaf, Sharded) else leaf.nnz
    return entries + leaf.shape[0] * d / 4


@dataclass(frozen=True)
class Tree:
    """A composed operator, as sent to a worker: its parts, and what makes an operator of them."""

    compose: Callable[[Sequence[Any]], Operator]
    parts: tuple[Tree | Shard, ...]


def split(operator: Operator, rank: int, bounds: Callable[[int], Array]) -> Tree | Shard:
    """Return one worker's part of an operator; ``bounds(size)`` splits a range of that many rows."""
    if isinstance(operator, Composite):
        return Tree(operator.compose, tuple(split(part, rank, bounds) for part in operator.parts))
    if not isinstance(operator, Sparse):
        raise InputError(f"{operator!r} cannot be split over a cluster; pass a sparse matrix")
    row_bounds, column_bounds = bounds(operator.shape[0]), bounds(operator.shape[1])
    lo, hi = row_bounds[rank : rank + 2]
    begin, end = column_bounds[rank : rank + 2]
    a, b = operator._indptr[lo], operator._indptr[hi]
    arrays = operator._indptr[lo : hi + 1] - a, operator._indices[a:b], operator._values[a:b]
    rows = Sparse.of_arrays((int(hi - lo), operator.shape[1]), arrays, operator._row_scale[lo:hi])
    scale, symmetric = operator._col_scale[begin:end], bool(operator._symmetric)
    return Shard(rows, row_bounds, column_bounds, scale, symmetric)


def join(tree: Tree | Shard, group: Group) -> Operator:
    """Return the operator of one worker; collective."""
    if isinstance(tree, Shard):
        return Sharded(tree, group)
    return tree.compose([join(part, group) for part in tree.parts])
