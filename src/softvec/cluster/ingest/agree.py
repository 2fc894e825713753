"""Raise the error of one worker on all of them, so that none waits for the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from softvec.cluster.seam import Group
from softvec.core.errors import InputError
from softvec.core.untrusted import one_line

T = TypeVar("T")


def agreed(group: Group, work: Callable[[], T]) -> T:
    """Return ``work()``; if it fails on any worker, raise the first one's error on all. Collective."""
    result: T | None = None
    error: Exception | None = None
    try:
        result = work()
    except Exception as caught:
        error = caught
    raise_first(group, group.gather(portable(group, error)), error)
    return result  # type: ignore[return-value]


def portable(group: Group, error: Exception | None) -> Exception | None:
    """Return an error that can be sent to other workers: an InputError as it is, others as one line."""
    if error is None or isinstance(error, InputError):
        return error
    return RuntimeError(f"worker {group.rank} failed: {type(error).__name__}: {one_line(error)}")


def raise_first(group: Group, errors: Sequence[Exception | None], own: Exception | None = None) -> None:
    """Raise the first error of all workers; the worker that raised it keeps its traceback."""
    for rank, error in enumerate(errors):
        if error is not None:
            raise own if rank == group.rank and own is not None else error
