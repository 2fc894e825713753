"""An error of one worker is the error of all: none is left waiting for the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from softvec.cluster.seam import Group
from softvec.core.errors import InputError
from softvec.core.untrusted import one_line

T = TypeVar("T")


def agreed(group: Group, work: Callable[[], T]) -> T:
    """Return ``work()``, or raise on all workers what it raised on the first of those where it failed."""
    result: T | None = None
    error: Exception | None = None
    try:
        result = work()
    except Exception as caught:
        error = caught
    raise_first(group, group.gather(portable(group, error)), error)
    return result  # type: ignore[return-value]


def portable(group: Group, error: Exception | None) -> Exception | None:
    """Return an error as other workers can raise it: a user's mistake as it is, else one line about it."""
    if error is None or isinstance(error, InputError):
        return error
    return RuntimeError(f"worker {group.rank} failed: {type(error).__name__}: {one_line(error)}")


def raise_first(group: Group, errors: Sequence[Exception | None], own: Exception | None = None) -> None:
    """Raise the first of the errors of all workers; a worker whose own it is keeps its traceback."""
    for rank, error in enumerate(errors):
        if error is not None:
            raise own if rank == group.rank and own is not None else error
