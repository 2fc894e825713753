"""Ctrl-C between two blocks of work, never inside one.

Python raises ``KeyboardInterrupt`` wherever the main thread happens to be. Inside a library that holds a
lock (llvmlite while it compiles, a future while it hands over a result) the lock is never released, and
the threads that wait for it hang. So while threads share work, a signal is noted, and its handler is called
where nothing is held.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_SIGNALS: tuple[int, ...] = (signal.SIGINT, signal.SIGTERM)
_handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}  # those put off, while they are
_noted: list[int] = []


@contextmanager
def interrupts_put_off() -> Iterator[None]:
    """Note signals that Python handles and leave them to :func:`let_interrupts_through`, or to the end.

    Only the main thread receives signals; elsewhere, and inside another such block, this does nothing.
    """
    if _handlers or threading.current_thread() is not threading.main_thread():
        yield
        return
    for number in _SIGNALS:
        handler = signal.getsignal(number)
        if callable(handler):
            _handlers[number] = handler
            signal.signal(number, _note)
    try:
        yield
    finally:
        for number in list(_handlers):
            signal.signal(number, _handlers.pop(number))
        late, _noted[:] = _noted[:], []
        for number in late:
            signal.raise_signal(number)


def let_interrupts_through() -> None:
    """Call the handlers of the signals noted so far; does nothing outside the main thread."""
    if _noted and threading.current_thread() is threading.main_thread():
        number = _noted.pop(0)
        _handlers[number](number, None)


def _note(number: int, frame: FrameType | None) -> None:
    _noted.append(number)


def _after_fork() -> None:
    """Give a child process, which is in no such block, its own handlers."""
    for number in list(_handlers):
        signal.signal(number, _handlers.pop(number))
    _noted.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
