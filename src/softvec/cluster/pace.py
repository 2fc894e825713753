"""Notice a worker that is slower than the others, which wait for it in every epoch."""

from __future__ import annotations

import platform
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from numpy.typing import NDArray

from softvec.cluster.seam import Group

Array = NDArray[Any]
T = TypeVar("T")
_TIMES = 2.0  # as long as the others take
_LEAST = 0.5  # seconds of an epoch that are worth a word
_IN_A_ROW = 3  # epochs


class Timed:
    """A group that counts the seconds of its calls: what is sent, and the wait for others."""

    def __init__(self, group: Group):
        self._group, self.spent = group, 0.0
        self.rank, self.size, self.in_background = group.rank, group.size, group.in_background

    @property
    def sent(self) -> int:
        """Bytes sent to other ranks so far."""
        return self._group.sent

    def _timed(self, call: Callable[..., T], *arguments: Any) -> T:
        began = time.perf_counter()
        try:
            return call(*arguments)
        finally:
            self.spent += time.perf_counter() - began

    def exchange(self, parts: Sequence[Array]) -> list[Array]:
        """Send a part to every rank; return the parts received."""
        return self._timed(self._group.exchange, parts)

    def fold(self, parts: Sequence[T], add: Callable[[T, T], T]) -> T:
        """Add up the parts in the order of ranks."""
        return self._timed(self._group.fold, parts, add)

    def gather(self, value: T) -> list[T]:
        """Return the values of all ranks."""
        return self._timed(self._group.gather, value)

    def barrier(self) -> None:
        """Wait for all ranks."""
        self._timed(self._group.barrier)


class Pace:
    """Compares what workers do between their calls, epoch by epoch; all of them make it together."""

    def __init__(self, group: Group):
        self._group, self._row = group, (-1, 0)  # the slowest worker, and for how many epochs it was
        self._hosts = group.gather(platform.node())
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
        work = [own for _, own in epochs]
        slowest = max(range(len(work)), key=work.__getitem__)
        others = statistics.median([*work[:slowest], *work[slowest + 1 :]] or [work[slowest]])
        slow = work[slowest] > _TIMES * others and work[slowest] > max(_LEAST, epochs[slowest][0] / 2)
        before, times = self._row
        self._row = (slowest, times + 1 if before == slowest else 1) if slow else (-1, 0)
        if self._row[1] < _IN_A_ROW:
            return ""
        return (
            f"worker {slowest} of {len(work)}, on {self._hosts[slowest]}, is slow: it takes "
            f"{work[slowest]:.1f} s for its part of an epoch, the others {others:.1f} s, and they wait; see "
            "what else runs there"
        )


def watched(on_report: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return a function that warns of a slow worker, once, and passes each report on."""
    said: set[str] = set()

    def tell(report: Any) -> None:
        if report.slow and not said:
            said.add(report.slow)
            warnings.warn(report.slow, stacklevel=2)
        on_report(report)

    return tell
