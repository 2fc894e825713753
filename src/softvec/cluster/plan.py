"""The plan of a fit on a cluster: which rows each worker owns, what memory it needs, its task.

Rows are split into blocks, and a fixed number of blocks make a unit: sums are folded within units, then over
them. A worker owns whole units, so that sums have the same bits for any number of workers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.affinity.base import Facts
from softvec.cluster.halo import Counts, pays
from softvec.cluster.operator import split
from softvec.cluster.worker import Task
from softvec.core.errors import InputError, Option
from softvec.core.machine import Machine
from softvec.fit.memory import estimate_memory
from softvec.fit.problem import Problem, State
from softvec.fit.run import Start
from softvec.fit.settings import Settings
from softvec.operators import Operator, Sparse
from softvec.operators.base import Composite

Array = NDArray[Any]
logger = logging.getLogger("softvec")


@dataclass(frozen=True)
class Plan:
    """A problem split over workers; ``rows`` and ``columns`` are where those of each worker begin."""

    problem: Problem
    settings: Settings
    start: Start
    rows: Array
    columns: Array

    @property
    def size(self) -> int:
        """Number of workers."""
        return len(self.rows) - 1

    def bounds(self, size: int) -> Array:
        """Return where the rows of each worker begin, for a range of ``size`` rows."""
        n, m = self.problem.P.shape
        if size == n:
            return self.rows
        return self.columns if size == m else np.linspace(0, size, self.size + 1).astype(np.int64)

    def task(self, rank: int) -> Task:
        """Return the task of one worker."""
        (lo, hi), (begin, end) = self.rows[rank : rank + 2], self.columns[rank : rank + 2]
        problem, weight = self.problem, self.problem.item_weight
        rows, columns, start = (int(lo), int(hi)), (int(begin), int(end)), self.start
        state = None
        if start.state is not None:
            state = mapped(start.state, lambda X: X[lo:hi].copy(), lambda Y: Y[begin:end].copy())
        return Task(
            split(problem.P, rank, self.bounds),
            problem.P.row_sums()[lo:hi],
            self.settings,
            replace(start, rows=rows, columns=columns, state=state),
            None if weight is None else weight[begin:end],
            Machine.unit,
            Machine.block,
        )

    def with_threads(self, n_jobs: int) -> Plan:
        """Return the same plan for workers of ``n_jobs`` threads, unless the user set a number."""
        return replace(self, settings=replace(self.settings, n_jobs=self.settings.n_jobs or n_jobs))

    @property
    def kept_every(self) -> int:
        """Epochs between two states that the engine keeps; 0 if a checkpoint keeps them."""
        return 0 if self.start.saved is not None else self.settings.checkpoint_every


def mapped(
    state: State, of_rows: Callable[[Array], Array], of_columns: Callable[[Array], Array] | None = None
) -> State:
    """Return a state with functions applied to its arrays by row and by column; by default the same."""
    of_columns = of_columns or of_rows
    of_items = of_rows if state.Y is None else of_columns
    return replace(
        state,
        X=of_rows(state.X),
        Y=None if state.Y is None else of_columns(state.Y),
        classes=None if state.classes is None else of_items(state.classes),
        history=list(state.history),
    )


def whole_of(parts: list[State]) -> State:
    """Join the parts of all workers."""
    first = parts[0]
    return replace(
        first,
        X=np.concatenate([part.X for part in parts]),
        Y=None if first.Y is None else np.concatenate([part.Y for part in parts if part.Y is not None]),
        classes=None
        if first.classes is None
        else np.concatenate([part.classes for part in parts if part.classes is not None]),
    )


def plan(problem: Problem, settings: Settings, warm: bool, workers: int) -> Plan:
    """Split a problem over some workers, or fewer: each owns whole units of rows, with about equal work."""
    if problem.normalizer != "mixture":
        raise InputError(
            Option("normalizer", problem.normalizer),
            " needs all vectors in one process; leave out the cluster",
        )
    if settings.callbacks:
        raise InputError("callbacks need all vectors, which no worker of a cluster holds; leave them out")
    n, m = problem.P.shape
    d = int(settings.n_components)
    unit = rows_per_unit(d)
    per_row = _entries(problem.P, n) + d / 4  # the other work on a row is that of about d / 4 entries
    work = np.add.reduceat(per_row, np.arange(0, n, unit))
    size = min(workers, len(work))
    if size < workers:
        logger.warning(
            "%d of %d workers are used: %s rows are %d units of %s, and a worker has at least one",
            size, workers, f"{n:,}", len(work), f"{unit:,}",
        )  # fmt: skip
    rows = balanced_bounds(work, n, unit, size)
    columns = rows
    if m != n:
        columns = balanced_bounds(np.ones(-(-m // unit)), m, unit, size)
    start = Start.of(problem, settings, None, warm)
    chosen = replace(
        settings,
        symmetric=problem.symmetric,
        callbacks=None,
        verbose=0,
        random_state=start.seed,
        init=settings.init if isinstance(settings.init, str) else "random",  # the state has the vectors
    )
    return Plan(problem, chosen, start, rows, columns)


def _entries(operator: Operator, n: int) -> NDArray[np.float64]:
    """Return the number of entries that a product reads for each of n rows; other factors count 0."""
    if isinstance(operator, Composite):
        return operator.times * np.sum([_entries(part, n) for part in operator.parts], axis=0)
    if isinstance(operator, Sparse) and operator.shape[0] == n:
        return np.diff(operator._indptr).astype(float)
    return np.zeros(n)


def rows_per_unit(n_components: int) -> int:
    """Return the minimum number of rows of a worker: its ranges begin at multiples of this number."""
    return Machine.unit * Machine(1, None).block_rows(n_components)


def balanced_bounds(entries: Array, n: int, unit: int, workers: int) -> Array:
    """Return where the rows of each worker begin, so that their work is about equal.

    Parameters
    ----------
    entries : array_like of int
        Work of each unit of rows: its non-zeros, and a share for the rows themselves.
    n : int
        Total number of rows.
    unit : int
        Rows of a unit; the last may have fewer.
    workers : int
        At most as many as there are units, else the last have no rows.

    Examples
    --------
    >>> balanced_bounds([5, 1, 1, 1], 13, 4, 2)
    array([ 0,  4, 13])
    """
    work = np.cumsum(np.asarray(entries, np.float64))
    units, cuts = len(work), [0]
    for worker in range(1, workers):
        cut = int(np.searchsorted(work, work[-1] * worker / workers)) + 1
        # at least a unit for each, if there are enough
        least, most = cuts[-1] + 1, units - (workers - worker)
        cuts.append(min(max(cut, least), max(most, min(least, units))))
    return np.minimum(np.array([*cuts, units], np.int64) * unit, n)


def needed_memory(plan: Plan) -> list[int]:
    """Estimate the peak memory of each worker in bytes: rows, entries, halo, buffers, interpreter."""
    problem, settings, needed = plan.problem, plan.settings, []
    leaves, two_sided = sparse_leaves(problem.P), not problem.symmetric
    d, dtype = int(settings.n_components), np.dtype(settings.dtype)
    stored = np.uint16 if dtype == np.float32 else dtype  # float32 vectors are sent in half precision
    counts = [_counts(leaf, plan) for leaf in leaves]
    in_rounds = [pays(each, d, stored) for each in counts]
    own = sum(leaf.nbytes for leaf in leaves) / max(1, sum(leaf.nnz for leaf in leaves))
    transposed = two_sided or (problem.both_ways and not all(leaf._symmetric for leaf in leaves))
    fit = replace(settings, symmetric=problem.symmetric, walk_length=problem.P.times)
    for rank, (n, m) in enumerate(zip(np.diff(plan.rows).tolist(), np.diff(plan.columns).tolist())):
        bounds = [(leaf._indptr, plan.bounds(leaf.shape[0])[rank : rank + 2]) for leaf in leaves]
        entries = sum(int(indptr[hi] - indptr[lo]) for indptr, (lo, hi) in bounds)
        held = max(each[rank].held(d, stored, in_rounds=rounds) for each, rounds in zip(counts, in_rounds))
        units = n // (16 * max(256, 131072 // d)) + 1
        totals = 2 * units.bit_length() * settings.n_clusters * d * d * 8  # of the tree of units
        part = Facts("part", n, m, entries, int(own * entries), problem.symmetric, transposed)
        copies = 2 if problem.both_ways or two_sided else 1
        needed.append(estimate_memory(part, fit) + copies * held + totals)
    return needed


def refuse_if_too_big(plan: Plan, free: int | None, copies: int = 0) -> None:
    """Raise an error, before a fit, if its workers have too little memory for it and so many copies."""
    if free is None:
        return
    settings, rows = plan.settings, np.diff(plan.rows)
    rows = rows if plan.problem.symmetric else rows + np.diff(plan.columns)
    kept = copies * rows * int(settings.n_components) * np.dtype(settings.dtype).itemsize
    need = int(np.max(needed_memory(plan) + kept))
    if need <= free:
        return
    nothing = Facts("part", 0, 0, 0, 0, symmetric=True)
    fixed = estimate_memory(nothing, Settings(settings.n_components, n_clusters=settings.n_clusters))
    advice = "use workers with more memory"
    if free > fixed:  # the variable part shrinks with the rows; halos less so
        advice = f"use about {int(np.ceil(1.2 * plan.size * (need - fixed) / (free - fixed)))} such workers"
    who = "the worker" if plan.size == 1 else f"each of {plan.size} workers"
    raise InputError(
        f"{who} needs about {need / 2**30:,.1f} GiB, and {free / 2**30:,.1f} GiB are free; {advice} "
        "(to try anyway, pass ",
        Option("check_memory", False),
        ")",
    )


def sparse_leaves(operator: Operator) -> list[Sparse]:
    """Return the sparse matrices that an operator is made of."""
    return [leaf for leaf in operator.leaves() if isinstance(leaf, Sparse)]


def _counts(leaf: Sparse, plan: Plan) -> list[Counts]:
    """Return the rows of a product of each worker; for two sides, those of the larger."""
    rows, columns = (np.diff(plan.bounds(size)) for size in leaf.shape)
    sizes = np.maximum(rows, columns).tolist()
    return [Counts(size, size, halo_rows(leaf, plan, rank)) for rank, size in enumerate(sizes)]


def halo_rows(leaf: Sparse, plan: Plan, rank: int) -> int:
    """Return the number of columns of other workers that a worker's rows read."""
    lo, hi = plan.bounds(leaf.shape[0])[rank : rank + 2]
    begin, end = plan.bounds(leaf.shape[1])[rank : rank + 2]
    remote = np.zeros(leaf.shape[1], bool)
    remote[leaf._indices[leaf._indptr[lo] : leaf._indptr[hi]]] = True
    remote[begin:end] = False
    return int(np.count_nonzero(remote))
