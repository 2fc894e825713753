"""The part of a fit that one worker runs: the same code on every rank, on its own rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from softvec.cluster.checkpoint import Store
from softvec.cluster.operator import Tree, join
from softvec.cluster.seam import Group
from softvec.cluster.shard import Shard
from softvec.core.scratch import large_arrays_in
from softvec.core.threads import Workers, workers
from softvec.fit.loop import State, optimize
from softvec.fit.problem import Problem
from softvec.fit.run import start
from softvec.fit.settings import Settings
from softvec.fit.start import find_classes

Array = NDArray[Any]
T = TypeVar("T")


class SharedRows(Workers):
    """The threads of one rank; sums and gathered values go over all ranks."""

    def __init__(self, threads: Workers, group: Group, unit: int, block: int | None):
        super().__init__(threads.n_jobs, threads._pool)
        self.rank, self.unit, self.block, self._group = group.rank, unit, block, group

    def gather(self, value: T) -> list[T]:
        """Return the small values of all ranks, in their order."""
        return self._group.gather(value)

    def fold(
        self, function: Callable[..., T], blocks: Sequence[tuple[Any, ...]], add: Callable[[T, T], T]
    ) -> T:
        """Add up over the blocks of all ranks, in their order."""
        totals: list[T] = []
        self._fold_units(function, blocks, add, totals.append)
        return self._group.fold(totals, add)


@dataclass
class Task:
    """What a rank needs to run its part of a fit; of all arrays its own rows.

    Attributes
    ----------
    P : Tree or Shard
    row_sums : ndarray of float64
        Of the own rows of P.
    settings : Settings
        With ``symmetric`` decided, and without what belongs to the driver: callbacks, checkpoint.
    seed : int
    item_weight : ndarray or None
        Of the own columns, of mean 1 over all.
    state : State or None
        Where to begin; None for the start that the settings name.
    classes_first : bool
        Whether classes are found before the first epoch.
    rows, columns : tuple of int
        The own rows and columns, numbered in the whole.
    store : Store or None
        Where the run is saved on its way.
    manifest : dict or None
        The checkpoint to go on from.
    unit, block : int, int or None
        How rows are cut; see :class:`softvec.core.threads.Workers`.
    """

    P: Tree | Shard
    row_sums: Array
    settings: Settings
    seed: int
    item_weight: Array | None = None
    state: State | None = None
    classes_first: bool = False
    rows: tuple[int, int] = (0, 0)
    columns: tuple[int, int] = (0, 0)
    store: Store | None = None
    manifest: dict[str, Any] | None = None
    unit: int = Workers.unit
    block: int | None = None


@dataclass(frozen=True)
class Report:
    """How far a fit is: epochs done, loss before the last one, bytes exchanged, and workers alive."""

    epoch: int
    loss: float
    sent: int
    workers: int


def run(task: Task, group: Group, on_epoch: Callable[[Report, State], None] | None = None) -> State:
    """Fit this rank's rows together with the other ranks; return its part of the vectors.

    All ranks call it together. ``on_epoch`` sees the report and this rank's state after every epoch.
    """
    settings, store = task.settings, task.store
    problem = _problem(task, group)

    def after_epoch(state: State) -> None:
        report = Report(state.epoch, state.history[-1]["loss"], sum(group.gather(group.sent)), group.size)
        if store is not None and state.epoch % store.every == 0 and state.epoch < settings.n_epochs:
            store.save(state, task.seed, task.rows, task.columns, group)
        if on_epoch is not None:
            on_epoch(report, state)

    with large_arrays_in(settings.scratch), workers(settings.n_jobs) as threads:
        pool = SharedRows(threads, group, task.unit, task.block)
        state = task.state
        if store is not None and task.manifest is not None:
            state = store.load(task.manifest, task.rows, task.columns)
        if state is None:
            state = start(problem, settings, task.seed, pool)
        if task.classes_first and state.labels is None:
            context = state.X if state.Y is None else state.Y
            state.labels = find_classes(context, settings.n_clusters, task.seed, pool)
        finished = state.done
        optimize(problem, state, settings, pool, seed=task.seed, on_epoch=after_epoch)
        if store is not None and not finished:
            store.save(state, task.seed, task.rows, task.columns, group)
        return state


def _problem(task: Task, group: Group) -> Problem:
    settings = task.settings
    P = join(task.P, group)
    P.__dict__["_sums"] = np.asarray(task.row_sums)  # known already: the rows of the whole were normalised
    return Problem(
        P,
        bool(settings.symmetric),
        float(settings.beta),
        settings.gradient,
        float(settings.regularization),
        settings.constraint,
        settings.normalizer,
        None,
        task.item_weight,
    )
