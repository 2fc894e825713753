"""The driver of a fit on a cluster: split the data, make the tasks of workers, join the vectors."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.cluster.operator import split
from softvec.cluster.rank import Task
from softvec.cluster.shard import balanced_bounds, rows_per_unit
from softvec.core.errors import InputError, Option
from softvec.core.machine import Machine
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
