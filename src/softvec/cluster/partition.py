"""Reorder the rows so that linked rows are close together, and workers exchange fewer.

Rows are put into a fixed number of parts, and parts that share many entries next to each other. The order
depends only on the matrix, not on the number of workers: each owns a range of rows, as without reordering. A
fit runs on the renumbered matrix; its vectors are returned in the order of the data.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.cluster.plan import Plan, halo_rows, mapped, plan, rows_per_unit, sparse_leaves
from softvec.core.errors import InputError, Option
from softvec.fit.problem import Problem, State
from softvec.fit.settings import Settings
from softvec.operators import Operator, Sparse
from softvec.operators.base import Composite

Array = NDArray[Any]
PARTITIONS = ("none", "stream")
PARTS = 256  # four for each of 64 workers, so that a range that ends inside a part loses little
_PASSES = 10
_SLACK = 1.1  # largest part, relative to the mean
_SMALLEST = 32  # minimum mean number of rows of a part
_DECIDED_FOR = 8  # workers
_WORTH = 0.95  # halo after reordering, relative to before, above which the order is kept
logger = logging.getLogger("softvec")


def stream_order(indptr: Array, indices: Array) -> NDArray[np.int64]:
    """Return the new order of the rows of a square sparse matrix, by a few passes over its entries."""
    from softvec.kernels.partition import stream_rows

    n = len(indptr) - 1
    k = max(1, min(PARTS, n // _SMALLEST))
    part, load = np.full(n, -1, np.int32), np.zeros(k, np.int64)
    for _ in range(_PASSES):
        if not stream_rows(indptr, indices, part, load, np.zeros(k, np.int64), _SLACK * n / k):
            break
    place = np.empty(k, np.int64)
    place[_order_of_parts(_shared(indptr, indices, part, k))] = np.arange(k)
    return np.argsort(place[part], kind="stable")


def _shared(indptr: Array, indices: Array, part: Array, k: int) -> NDArray[np.int64]:
    """Return the number of entries between each two parts, of shape (k, k)."""
    shared = np.zeros(k * k, np.int64)
    step = 1 << 20
    for lo in range(0, len(part), step):
        rows = part[lo : lo + step]
        own = np.repeat(rows.astype(np.int64), np.diff(indptr[lo : lo + len(rows) + 1]))
        columns = part[indices[indptr[lo] : indptr[lo + len(rows)]]]
        shared += np.bincount(own * k + columns, minlength=k * k)
    counts = shared.reshape(k, k)
    return counts + counts.T


def _order_of_parts(shared: NDArray[np.int64]) -> list[int]:
    """Return the parts in an order that keeps those with many shared entries together.

    Parts are matched in pairs, most shared entries first, then pairs of pairs, and so on: each half, quarter,
    ... of the order is a group of the matching.
    """
    groups = [[p] for p in range(len(shared))]
    while len(groups) > 1:
        first, second = np.triu_indices(len(groups), 1)
        free = np.ones(len(groups), bool)
        pairs: list[list[int]] = []
        for at in np.argsort(-shared[first, second], kind="stable"):
            a, b = int(first[at]), int(second[at])
            if free[a] and free[b]:
                free[[a, b]] = False
                pairs.append([a, b])
        pairs += [[int(p)] for p in np.flatnonzero(free)]
        member = np.zeros((len(pairs), len(groups)), np.int64)
        for at, pair in enumerate(pairs):
            member[at, pair] = 1
        shared = member @ shared @ member.T
        groups = [[p for g in pair for p in groups[g]] for pair in pairs]
    return groups[0]


def renumbered(operator: Operator, order: Array) -> Operator:
    """Return an operator with its rows and columns in another order; columns ascend within each row."""
    if isinstance(operator, Composite):
        return operator.compose([renumbered(part, order) for part in operator.parts])
    if not isinstance(operator, Sparse):
        raise InputError(f"{operator!r} cannot be renumbered; pass a sparse matrix")
    A = operator.unscaled()[order]
    place = np.empty(len(order), A.indices.dtype)
    place[order] = np.arange(len(order))
    A.indices = place[A.indices]
    A.has_sorted_indices = False
    A.sort_indices()
    scales = operator._row_scale, operator._col_scale
    moved = Sparse.of_arrays(
        operator.shape,
        (
            A.indptr.astype(np.int64, copy=False),
            A.indices.astype(operator._indices.dtype, copy=False),
            A.data if len(operator._values) else operator._values,
        ),
        *(scale[order] if len(scale) else scale for scale in scales),
    )
    moved._symmetric = operator._symmetric
    return moved


def cut(
    problem: Problem,
    settings: Settings,
    warm: bool,
    workers: int,
    partition: str = "none",
    say: Callable[[str], None] | None = None,
) -> tuple[Plan, Array | None]:
    """Split a problem over some workers, in a new order of its rows if that is asked for and pays.

    Returns the plan and the order, None for that of the data. ``say`` reports the gain. Whether it pays is
    decided for 8 workers, whatever their number, as the vectors must not depend on it.
    """
    if partition == "none":
        return plan(problem, settings, warm, workers), None
    n, leaves = problem.P.shape[0], sparse_leaves(problem.P)
    if not leaves or any(leaf.shape != (n, n) for leaf in leaves):
        raise InputError(
            Option("partition", partition),
            " is for one kind of items, related by a square matrix; leave it out",
        )
    largest = max(leaves, key=lambda leaf: leaf.nnz)
    order = stream_order(largest._indptr, largest._indices)
    weight = problem.item_weight
    weight = None if weight is None else weight[order]
    moved = replace(problem, P=renumbered(problem.P, order), item_weight=weight)
    probe = replace(settings, checkpoint=None, random_state=0, init="random")
    pays = _gain(problem, moved, probe, warm, _DECIDED_FOR)[2]
    before, after, _ = _gain(problem, moved, probe, warm, workers)
    (say or logger.info)(
        f"partition: a worker reads {before['rows'] / n:.2f} rows of others per own row, "
        f"{after['rows'] / n:.2f} in the new order ({before['bytes'] / 2**20:,.1f} and "
        f"{after['bytes'] / 2**20:,.1f} MiB per epoch)"
        + ("" if pays else f"; no gain for {_DECIDED_FOR} workers, so the order is kept")
    )
    if not pays:
        return plan(problem, settings, warm, workers), None
    init = settings.init
    if not isinstance(init, str):
        several = isinstance(init, tuple | list)
        init = tuple(np.asarray(X)[order] for X in init) if several else np.asarray(init)[order]
    return plan(moved, replace(settings, init=init), warm, workers), order


def _gain(
    problem: Problem, moved: Problem, probe: Settings, warm: bool, workers: int
) -> tuple[dict[str, int], dict[str, int], bool]:
    """Return what is exchanged in the old order and in the new one, and whether the new one pays."""
    units = -(-problem.P.shape[0] // rows_per_unit(int(probe.n_components)))
    before, after = (exchanged(plan(each, probe, warm, min(workers, units))) for each in (problem, moved))
    return before, after, after["rows"] < _WORTH * before["rows"]


def exchanged(plan: Plan) -> dict[str, int]:
    """Return the rows that all workers read from others for the matrices of P, and the bytes per epoch."""
    problem, settings = plan.problem, plan.settings
    rows = sum(halo_rows(leaf, plan, rank) for leaf in sparse_leaves(problem.P) for rank in range(plan.size))
    size = 2 if np.dtype(settings.dtype) == np.float32 else 8
    sides = 1 if problem.symmetric and not problem.both_ways else 2
    return {"rows": rows, "bytes": rows * int(settings.n_components) * size * problem.P.times * sides}


def back(state: State, order: Array | None) -> State:
    """Return a state in the order of the data, from one of renumbered rows."""
    if order is None:
        return state
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return mapped(state, lambda X: X[place])
