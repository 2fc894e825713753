"""Sparse matrices whose rows are spread over several workers, and operators made of them.

Each worker multiplies its own rows. Before a product it receives the rows of X that its entries refer to and
others own, in the precision of X. Entries keep their order and the kernel is the same, so each row of a
product has the bits of a single process. If these rows are many, they arrive in rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
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
    """The rows ``row_bounds[rank]`` to ``row_bounds[rank + 1]`` of a sparse matrix.

    Attributes
    ----------
    rank : int
    shape : tuple of int
        Shape of the whole matrix.
    row_bounds, column_bounds : ndarray of int64, shape (workers + 1,)
        Where the rows, and the vectors of the columns, of each worker begin; one array for both if rows and
        columns are the same items. Multiples of whole units of rows, except the last.
    indptr : ndarray of int64, shape (rows + 1,)
        Where the entries of each own row begin.
    indices : ndarray of int64
        Global column numbers of the entries; within a row in the order of the whole matrix.
    values : ndarray of float32 or float64, or None
        None if all entries of the whole matrix are 1.
    symmetric : bool
        Whether the whole matrix equals its transpose.
    row_scale, column_scale : ndarray of float64 or None
        Scales of the own rows and columns: the entry of row i and column j is
        ``row_scale[i] * value * column_scale[j]``.
    """

    rank: int
    shape: tuple[int, int]
    row_bounds: Array
    column_bounds: Array
    indptr: Array
    indices: Array
    values: Array | None = None
    symmetric: bool = False
    row_scale: Array | None = None
    column_scale: Array | None = None

    @property
    def rows(self) -> tuple[int, int]:
        """The first own row, and the one after the last."""
        return int(self.row_bounds[self.rank]), int(self.row_bounds[self.rank + 1])

    @property
    def columns(self) -> tuple[int, int]:
        """The first own column, and the one after the last."""
        return int(self.column_bounds[self.rank]), int(self.column_bounds[self.rank + 1])


class Sharded(Operator):
    """This worker's rows of a sparse matrix; all workers call its methods together.

    ``shape`` is that of the own rows and columns; ``nnz`` counts the entries of all workers, because it
    decides which kernels run, and these must be the same everywhere.
    """

    def __init__(self, shard: Shard, group: Group):
        first, last = shard.rows
        begin, end = shard.columns
        remote = np.zeros(shard.shape[1], bool)
        remote[shard.indices] = True
        remote[begin:end] = False
        halo = Halo(group, shard.column_bounds, np.flatnonzero(remote))
        small = halo.size < 2**31
        place = np.empty(shard.shape[1], np.int32 if small else np.int64)
        place[begin:end] = np.arange(halo.own)
        place[halo.needed] = np.arange(halo.own, halo.size)
        self._local = Sparse.of_arrays(
            (last - first, halo.size),
            (shard.indptr, place[shard.indices], shard.values),
            shard.row_scale,
            halo.spread(shard.column_scale),
        )
        ranks = group.gather((len(shard.indices), last - first, halo.own, len(halo.needed)))
        self._counts = [Counts(*rows) for _, *rows in ranks]
        none = np.empty(0, np.int64)
        self._shard = replace(shard, indptr=none, indices=none, values=None, row_scale=None)  # bounds alone
        self._halo, self._group, self._entries = halo, group, sum(entries for entries, *_ in ranks)
        self.shape = (self._local.shape[0], halo.own)

    @property
    def nnz(self) -> int:
        return self._entries

    @property
    def nbytes(self) -> int:
        return self._local.nbytes

    @property
    def halo(self) -> Halo:
        """The rows that a product reads from other workers."""
        return self._halo

    def contents(self) -> Iterator[Array | str]:
        yield f"shard {self._shard.rank} of {self._shard.shape}"
        yield from self._local.contents()

    def _with(self, local: Sparse) -> Sharded:
        other = object.__new__(Sharded)
        shared = ("_shard", "_halo", "_group", "_entries", "_counts", "shape")
        other.__dict__ |= {"_local": local, **{name: getattr(self, name) for name in shared}}
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
        if self._weighed:
            return self @ np.ones(self.shape[1])
        return self._local._row_sums()

    @property
    def _weighed(self) -> bool:
        """Whether any worker has entries other than 1 or scales of columns."""
        return any(self._group.gather(bool(len(self._local._values) or len(self._local._col_scale))))

    @property
    def T(self) -> Sharded:
        if "_transpose" not in self.__dict__:  # cached_property would lock out other ranks in threads
            self.__dict__["_transpose"] = self._transposed()
        return self.__dict__["_transpose"]

    def _transposed(self) -> Sharded:
        rows, columns = self._local._row_scale, self._local._col_scale[: self._halo.own]
        row_scale, column_scale = (scale if len(scale) else None for scale in (columns, rows))
        if self._shard.symmetric:
            local = Sparse.of_arrays(
                self._local.shape, self._arrays(), row_scale, self._halo.spread(column_scale)
            )
            return self._with(local)
        indptr, indices, values = self._flipped()
        shard = Shard(
            self._shard.rank,
            self._shard.shape[::-1],
            self._shard.column_bounds,
            self._shard.row_bounds,
            indptr,
            indices,
            values,
            False,
            row_scale,
            column_scale,
        )
        return Sharded(shard, self._group)

    def _arrays(self) -> tuple[Array, Array, Array | None]:
        local = self._local
        return local._indptr, local._indices, local._values if len(local._values) else None

    def _flipped(self) -> tuple[Array, Array, Array | None]:
        """Send each entry to the owner of its column; return the own columns as rows.

        As in one process, entries of a column are in the order of their rows.
        """
        indptr, indices, values = self._arrays()
        weighted = any(self._group.gather(values is not None))
        numbers = np.concatenate([np.arange(self._halo.own) + self._halo.first, self._halo.needed])
        columns = numbers[indices]
        rows = np.repeat(np.arange(self.shape[0]) + self._shard.rows[0], np.diff(indptr))
        owner = np.searchsorted(self._shard.column_bounds, columns, side="right") - 1
        parts = [np.flatnonzero(owner == rank) for rank in range(self._group.size)]
        rows = np.concatenate(self._group.exchange([rows[part] for part in parts]))
        columns = np.concatenate(self._group.exchange([columns[part] for part in parts])) - self._halo.first
        data: Array = np.ones(len(rows), np.int8)
        if weighted:
            dtype = np.result_type(
                *self._group.gather(np.dtype(np.float32) if values is None else values.dtype)
            )
            own = np.empty(0, dtype) if values is None else values.astype(dtype, copy=False)
            data = np.concatenate(self._group.exchange([own[part] for part in parts]))
        starts = np.flatnonzero(np.diff(rows, prepend=-1))  # rows come in ascending order
        flipped = sparse.csr_array(
            (data, columns, np.append(starts, len(rows))), shape=(len(starts), self._halo.own)
        ).T.tocsr()
        return (
            flipped.indptr.astype(np.int64),
            rows[starts][flipped.indices],
            flipped.data if weighted else None,
        )


def own_work(operator: Operator, d: int) -> float:
    """Return the work of this worker in an epoch, in entries: a row takes as long as d / 4 of them."""
    leaf = operator.leaf
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
    return Shard(
        rank,
        operator.shape,
        row_bounds,
        column_bounds,
        operator._indptr[lo : hi + 1] - a,
        operator._indices[a:b],
        operator._values[a:b] if len(operator._values) else None,
        bool(operator._symmetric),
        operator._row_scale[lo:hi] if len(operator._row_scale) else None,
        operator._col_scale[begin:end] if len(operator._col_scale) else None,
    )


def join(tree: Tree | Shard, group: Group) -> Operator:
    """Return the operator of one worker; collective."""
    if isinstance(tree, Shard):
        return Sharded(tree, group)
    return tree.compose([join(part, group) for part in tree.parts])
