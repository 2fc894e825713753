"""The part of a fit that one worker runs, on its own rows; the code is the same on every rank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from softvec.cluster.operator import Tree, join, own_work
from softvec.cluster.pace import Pace, Timed
from softvec.cluster.shard import Shard
from softvec.core.machine import Group, Machine, machine
from softvec.fit.problem import Problem, State
from softvec.fit.run import Start, run_epochs
from softvec.fit.settings import Settings

Array = NDArray[Any]
T = TypeVar("T")


@dataclass(frozen=True)
class Report:
    """Progress of a fit: epochs done, loss before the last one, bytes sent, workers alive, a slow one."""

    epoch: int
    loss: float
    sent: int
    workers: int
    slow: str = ""


OnEpoch = Callable[[Report, State], None]


@dataclass(frozen=True)
class Task:
    """One rank's part of a fit; all arrays hold only its own rows.

    Attributes
    ----------
    P : Tree or Shard
    row_sums : ndarray of float64
        Sums of the own rows of P.
    settings : Settings
        With ``symmetric`` resolved, and without callbacks, which belong to the driver.
    start : Start
    item_weight : ndarray or None
        Weights of the own columns; their mean over all columns is 1.
    unit, block : int, int or None
        How rows are split; see :class:`softvec.core.machine.Machine`.
    """

    P: Tree | Shard
    row_sums: Array
    settings: Settings
    start: Start
    item_weight: Array | None = None
    unit: int = Machine.unit
    block: int | None = None

    def run(self, group: Group, on_epoch: OnEpoch | None = None) -> State:
        """Run all epochs together with the other ranks; return this rank's part of the vectors.

        All ranks call it together. ``on_epoch`` sees the report and this rank's state after every epoch.
        """
        settings, group = self.settings, Timed(group)
        P = join(self.P, group)
        P.__dict__["_sums"] = np.asarray(self.row_sums)  # known, as the whole matrix was normalised
        pace = Pace(group, own_work(P, settings.n_components))

        def after_epoch(state: State) -> None:
            told = group.gather((group.sent, pace.own()))
            sent, slow = sum(each for each, _ in told), pace.remark([spent for _, spent in told])
            if on_epoch is not None:
                on_epoch(Report(state.epoch, state.history[-1]["loss"], sent, group.size, slow), state)

        with machine(settings.n_jobs, scratch=settings.scratch, group=group) as pool:
            pool.unit, pool.block = self.unit, self.block
            problem = Problem.of(P, settings, None, self.item_weight)
            return run_epochs(problem, settings, pool, self.start, on_epoch=after_epoch)


def reduce_in_pairs(
    group: Group,
    value: T,
    merge: Callable[[T, T], T],
    send: Callable[[int, T], None],
    receive: Callable[[int], T],
) -> T:
    """Merge the values of all ranks over a binary tree of ranks, and send the result back over it.

    ``send`` and ``receive`` move a value to and from another rank. Takes 2 log2(ranks) messages in a row.
    """
    span = group.rank & -group.rank or group.size  # ranks below this one in the tree, itself included
    steps = (1 << k for k in range(group.size.bit_length()))
    children = [group.rank + step for step in steps if step < span and group.rank + step < group.size]
    for child in children:
        value = merge(value, receive(child))
    if group.rank:
        parent = group.rank - (group.rank & -group.rank)
        send(parent, value)
        value = receive(parent)
    for child in reversed(children):
        send(child, value)
    return value
