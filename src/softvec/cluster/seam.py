"""The interface between a fit and the engine that runs it on several workers.

A fit needs four operations of an engine, all collective: every rank calls them, in the same order. Ranks own
consecutive ranges of rows, so a fold in the order of ranks is a fold in the order of rows, and sums have the
same bits for any number of ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import reduce
from typing import Any, Protocol, TypeVar

from numpy.typing import NDArray

__all__ = ["Group", "Single", "waiting"]

Array = NDArray[Any]
T = TypeVar("T")


class Group(Protocol):
    """The workers of a fit, as seen by one of them."""

    rank: int
    size: int
    in_background: bool  # whether another thread may call it while this one computes: one thread at a time

    @property
    def sent(self) -> int:
        """Bytes sent to other ranks so far."""
        ...

    def exchange(self, parts: Sequence[Array]) -> list[Array]:
        """Send ``parts[r]`` to rank r; return the parts received, in the order of ranks.

        Parts may differ in length; their dtype and the shape of an entry are the same on all ranks.
        """
        ...

    def fold(self, parts: Sequence[T], add: Callable[[T, T], T]) -> T:
        """Return, on every rank, the sum of the parts of rank 0, then of rank 1 and so on, added one by one.

        A rank may have no parts, but not all of them. Parts are small: sums over rows, not rows. ``add`` may
        overwrite its first argument.
        """
        ...

    def gather(self, value: T) -> list[T]:
        """Return, on every rank, the (small) values of all ranks, in order."""
        ...

    def barrier(self) -> None:
        """Wait until every rank is here."""
        ...


def waiting(group: Group) -> AbstractContextManager[None]:
    """Return a block in which this thread waits for what another one receives; some groups count it."""
    return getattr(group, "waiting", nullcontext)()


class Single:
    """The group of one process: nothing is sent."""

    rank = 0
    size = 1
    sent = 0
    in_background = True

    def exchange(self, parts: Sequence[Array]) -> list[Array]:
        """Return the part that this rank keeps."""
        return list(parts)

    def fold(self, parts: Sequence[T], add: Callable[[T, T], T]) -> T:
        """Return the sum of the parts, added one by one."""
        return reduce(add, parts)

    def gather(self, value: T) -> list[T]:
        """Return the one value."""
        return [value]

    def barrier(self) -> None:
        """Return at once."""
