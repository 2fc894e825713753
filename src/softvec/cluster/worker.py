"""What runs on a worker, the same on every rank: its part of a fit, how fast it is, and its machine."""

from __future__ import annotations

import logging
import os
import platform
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from softvec._version import __version__
from softvec.cluster.operator import Shard, Tree, join, own_work
from softvec.core.errors import InputError
from softvec.core.machine import Group, Machine, machine
from softvec.fit.problem import Problem, State
from softvec.fit.run import Start, run_epochs
from softvec.fit.settings import Settings

Array = NDArray[Any]
T = TypeVar("T")
logger = logging.getLogger("softvec")
_TIMES = 2.0  # a slow worker takes as long as this times the others for the same work
_LEAST = 0.5  # seconds of an epoch that are worth a word
_IN_A_ROW = 3  # epochs


@dataclass(frozen=True)
class Host:
    """The machine and process of a worker."""

    name: str
    process: int
    versions: dict[str, str]
    processor: str


def this_host() -> Host:
    """Describe the machine and process of the caller."""
    from threadpoolctl import threadpool_info

    blas = {str(each.get("architecture", "")) for each in threadpool_info() if each["user_api"] == "blas"}
    versions = {"softvec": __version__, "Python": platform.python_version(), "NumPy": np.__version__}
    return Host(platform.node(), os.getpid(), versions, " ".join(sorted(blas | {platform.machine()})))


def compare(hosts: Sequence[Host]) -> None:
    """Refuse other versions than those of the first; say that other processors may give other bits."""
    first = hosts[0]
    for host in hosts[1:]:
        others = [
            f"{package} {host.versions.get(package)} (here {version})"
            for package, version in first.versions.items()
            if host.versions.get(package) != version
        ]
        if others:
            raise InputError(
                f"{host.name} has {', '.join(others)}; install the same versions on all machines"
            )
    kinds = {host.processor: host.name for host in reversed(hosts)}
    if len(kinds) > 1:
        listed = ", ".join(f"{name}: {kind}" for kind, name in kinds.items())
        logger.warning(
            "the machines have different processors (%s), so the last bits may differ from those of one "
            "process",
            listed,
        )


class Timed:
    """A group that counts the seconds that its thread spends in it: what is sent, and the wait for others."""

    def __init__(self, group: Group):
        self._group, self._thread, self.spent = group, threading.get_ident(), 0.0
        self.rank, self.size, self.in_background = group.rank, group.size, group.in_background

    @property
    def sent(self) -> int:
        """Bytes sent to other ranks so far."""
        return self._group.sent

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count the seconds of the block; those of another thread pass while this one works."""
        began = time.perf_counter()
        try:
            yield
        finally:
            if threading.get_ident() == self._thread:
                self.spent += time.perf_counter() - began

    def exchange(self, parts: Sequence[Array]) -> list[Array]:
        """Send a part to every rank; return the parts received."""
        with self.waiting():
            return self._group.exchange(parts)

    def reduce(self, value: T, merge: Callable[[T, T], T]) -> T:
        """Merge the values of all ranks."""
        with self.waiting():
            return self._group.reduce(value, merge)

    def gather(self, value: T) -> list[T]:
        """Return the values of all ranks."""
        with self.waiting():
            return self._group.gather(value)


class Pace:
    """Compares how fast workers are, epoch by epoch; all of them make it together.

    ``work`` is this worker's share of an epoch, in any unit: whole units of rows cannot be shared evenly.
    """

    def __init__(self, group: Group, work: float):
        self._group, self._row = group, (-1, 0)  # the slowest worker, and for how many epochs it was
        self._hosts, self._work = zip(*group.gather((platform.node(), max(work, 1.0))))
        self._mark = self._now()

    def _now(self) -> tuple[float, float]:
        return time.perf_counter(), getattr(self._group, "spent", 0.0)

    def own(self) -> tuple[float, float]:
        """Return the seconds since the last call, and how many of them were this worker's own work."""
        (began, before), self._mark = self._mark, self._now()
        seconds = self._mark[0] - began
        return seconds, seconds - (self._mark[1] - before)

    def remark(self, epochs: Sequence[tuple[float, float]]) -> str:
        """Return a line on a slow worker, "" if there is none; takes what :meth:`own` gave on each."""
        pace = [own / work for (_, own), work in zip(epochs, self._work)]
        slowest = max(range(len(pace)), key=pace.__getitem__)
        others = statistics.median([*pace[:slowest], *pace[slowest + 1 :]] or [pace[slowest]])
        seconds, own = epochs[slowest]
        slow = pace[slowest] > _TIMES * others and own > max(_LEAST, seconds / 2)
        before, times = self._row
        self._row = (slowest, times + 1 if before == slowest else 1) if slow else (-1, 0)
        if self._row[1] < _IN_A_ROW:
            return ""
        return (
            f"worker {slowest} of {len(pace)}, on {self._hosts[slowest]}, is slow: it takes {own:.1f} s for "
            f"its part of an epoch, where the others would take {others * self._work[slowest]:.1f} s, and "
            "they wait; see what else runs there"
        )


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
            return run_epochs(problem, settings, pool, self.start, after_epoch)


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
