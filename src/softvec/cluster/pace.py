"""Notice a worker that is slower than the others, which wait for it in every epoch."""

from __future__ import annotations

import logging
import platform
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar

from numpy.typing import NDArray

from softvec.core.machine import Group

Array = NDArray[Any]
T = TypeVar("T")
logger = logging.getLogger("softvec")
_TIMES = 2.0  # as long as the others take for the same work
_LEAST = 0.5  # seconds of an epoch that are worth a word
_IN_A_ROW = 3  # epochs


def waiting(group: Group) -> AbstractContextManager[None]:
    """Return a block in which this thread waits for what another one receives; some groups count it."""
    return getattr(group, "waiting", nullcontext)()


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


def watched(on_report: Callable[[Any], None], said: set[str]) -> Callable[[Any], None]:
    """Return a function that passes reports on, and says that a worker is slow, unless ``said`` has it."""

    def tell(report: Any) -> None:
        if report.slow and not said:
            said.add(report.slow)
            logger.warning("%s", report.slow)
        on_report(report)

    return tell
