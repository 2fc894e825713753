"""The part of a fit that one worker runs, on its own rows; the code is the same on every rank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from softvec.cluster.checkpoint import Store
from softvec.cluster.operator import Tree, join, own_work
from softvec.cluster.pace import Pace, Timed
from softvec.cluster.shard import Shard
from softvec.core.machine import Group, Machine, machine
from softvec.fit.loop import State, optimize
from softvec.fit.problem import Problem
from softvec.fit.run import start
from softvec.fit.settings import Settings
from softvec.fit.start import find_classes

Array = NDArray[Any]
T = TypeVar("T")


@dataclass(kw_only=True)
class Epochs:
    """One rank's part of the epochs of a fit; all arrays hold only its own rows.

    Attributes
    ----------
    settings : Settings
        With ``symmetric`` resolved, and without callbacks and checkpoint, which belong to the driver.
    seed : int
    state : State or None
        Initial state; None for the ``init`` of the settings.
    classes_first : bool
        Whether classes are found before the first epoch.
    rows, columns : tuple of int
        Global range of the own rows and columns.
    store : Store or None
        Where checkpoints are saved.
    manifest : dict or None
        The checkpoint to resume from.
    unit, block : int, int or None
        How rows are split; see :class:`softvec.core.machine.Machine`.
    """

    settings: Settings
    seed: int
    state: State | None = None
    classes_first: bool = False
    rows: tuple[int, int] = (0, 0)
    columns: tuple[int, int] = (0, 0)
    store: Store | None = None
    manifest: dict[str, Any] | None = None
    unit: int = Machine.unit
    block: int | None = None

    def fit(self, problem: Problem, group: Group, on_epoch: OnEpoch | None = None) -> State:
        """Run all epochs together with the other ranks; return this rank's part of the vectors."""
        settings, store, epochs = self.settings, self.store, self.settings.n_epochs
        pace = Pace(group, own_work(problem.P, settings.n_components))

        def after_epoch(state: State) -> None:
            told = group.gather((group.sent, pace.own()))
            sent, slow = sum(each for each, _ in told), pace.remark([spent for _, spent in told])
            report = Report(state.epoch, state.history[-1]["loss"], sent, group.size, slow)
            if store is not None and state.epoch % store.every == 0 and state.epoch < epochs:
                store.save(state, self.seed, self.rows, self.columns, group)
            if on_epoch is not None:
                on_epoch(report, state)
            pace.own()  # saving does not count

        with machine(settings.n_jobs, scratch=settings.scratch, group=group) as pool:
            pool.unit, pool.block = self.unit, self.block
            state = self._begin(problem, pool)
            finished = state.done
            pace.own()
            optimize(problem, state, settings, pool, seed=self.seed, on_epoch=after_epoch)
            if store is not None and not finished:
                store.save(state, self.seed, self.rows, self.columns, group)
            return state

    def _begin(self, problem: Problem, pool: Machine) -> State:
        state, settings = self.state, self.settings
        if self.store is not None and self.manifest is not None:
            state = self.store.load(self.manifest, self.rows, self.columns)
        if state is None:
            state = start(problem, settings, self.seed, pool)
        if self.classes_first and state.classes is None:
            context = state.X if state.Y is None else state.Y
            state.classes = find_classes(context, settings.n_clusters, self.seed, pool)
        return state


@dataclass(kw_only=True)
class Task(Epochs):
    """One rank's part of a matrix that the driver holds.

    Attributes
    ----------
    P : Tree or Shard
    row_sums : ndarray of float64
        Sums of the own rows of P.
    item_weight : ndarray or None
        Weights of the own columns; their mean over all columns is 1.
    """

    P: Tree | Shard
    row_sums: Array
    item_weight: Array | None = None

    def run(self, group: Group, on_epoch: OnEpoch | None = None) -> State:
        """Fit this rank's rows together with the other ranks; return its part of the vectors.

        All ranks call it together. ``on_epoch`` sees the report and this rank's state after every epoch.
        """
        group = Timed(group)
        return self.fit(self._problem(group), group, on_epoch)

    def _problem(self, group: Group) -> Problem:
        settings = self.settings
        P = join(self.P, group)
        P.__dict__["_sums"] = np.asarray(self.row_sums)  # known, as the whole matrix was normalised
        return Problem(
            P,
            bool(settings.symmetric),
            float(settings.beta),
            settings.gradient,
            float(settings.regularization),
            settings.constraint,
            settings.normalizer,
            None,
            self.item_weight,
        )


@dataclass(frozen=True)
class Report:
    """Progress of a fit: epochs done, loss before the last one, bytes sent, workers alive, a slow one."""

    epoch: int
    loss: float
    sent: int
    workers: int
    slow: str = ""


Kept = State | list[State]  # of one fit, or of several: those that ended, and the last
OnEpoch = Callable[[Report, Kept], None]


class Work(Protocol):
    """What a cluster runs: one task for each worker."""

    @property
    def size(self) -> int:
        """Number of workers."""
        ...

    @property
    def given(self) -> State | None:
        """The joint initial state of the workers."""
        ...

    @property
    def store(self) -> Store | None:
        """Where checkpoints of the driver are saved."""
        ...

    def task(self, rank: int) -> Any:
        """Return the task of a worker: a dataclass with ``state``, ``manifest`` and ``run``, like `Task`."""
        ...

    def with_threads(self, n_jobs: int) -> Work:
        """Return the same work for workers of ``n_jobs`` threads, unless the user set a number."""
        ...

    @property
    def kept_every(self) -> int:
        """Epochs between two states that the engine keeps; 0 for none."""
        ...
