"""The seam between a fit and the engine that runs it on several workers.

A fit needs four things of an engine, all of them collective: every rank calls them, in the same order.
Ranks own consecutive ranges of rows, so what is folded in the order of ranks is folded in the order of rows,
and sums have the same bits for any number of ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from numpy.typing import NDArray

__all__ = ["Group", "Single"]

Array = NDArray[Any]
T = TypeVar("T")


class Group(Protocol):
    """The workers of one fit, as one of them sees them."""

    rank: int
    size: int
    sent: int  # bytes sent to other ranks so far
    in_background: bool  # whether another thread may call it while this one computes: one thread at a time

    def exchange(self, parts: Sequence[Array]) -> list[Array]:
        """Send ``parts[r]`` to rank r; return what each rank sent here, in the order of ranks.

        Parts have any length, and one dtype and one shape of an entry for all ranks.
        """
        ...

    def fold(self, parts: Sequence[T], add: Callable[[T, T], T]) -> T:
        """Return, on every rank, the sum of all parts of rank 0, then of rank 1 and so on, added one by one.

        A rank may have no part, but not all of them. Parts are small: sums over rows, not rows. ``add`` may
        write to its first argument.
        """
        ...

    def gather(self, value: T) -> list[T]:
        """Return, on every rank, the small values of all ranks, in their order."""
        ...

    def barrier(self) -> None:
        """Wait until every rank is here."""
        ...


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
        total, *rest = parts
        for part in rest:
            total = add(total, part)
        return total

    def gather(self, value: T) -> list[T]:
        """Return the one value."""
        return [value]

    def barrier(self) -> None:
        """Return at once."""
