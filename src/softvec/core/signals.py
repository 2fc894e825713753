"""Deferred signals: Ctrl-C takes effect between two blocks of work, never inside one.

Python raises ``KeyboardInterrupt`` wherever the main thread happens to be. Inside a library that holds a
lock (llvmlite while it compiles, a future while it hands over a result) the lock is never released, and
the threads that wait for it hang. So while threads share work, signals are recorded, and their handlers are
called where no lock is held.
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
_handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}  # replaced while signals are deferred
_pending: list[int] = []


@contextmanager
def deferred_signals() -> Iterator[None]:
    """Defer signals until :func:`handle_deferred_signals` is called or the block ends.

    Only the main thread receives signals; in other threads, and when nested, this does nothing.
    """
    if _handlers or threading.current_thread() is not threading.main_thread():
        yield
        return
    for number in _SIGNALS:
        handler = signal.getsignal(number)
        if callable(handler):
            _handlers[number] = handler
            signal.signal(number, _defer)
    try:
        yield
    finally:
        for number in list(_handlers):
            signal.signal(number, _handlers.pop(number))
        remaining, _pending[:] = _pending[:], []
        for number in remaining:
            signal.raise_signal(number)


def handle_deferred_signals() -> None:
    """Call the handler of the first deferred signal; does nothing outside the main thread."""
    if _pending and threading.current_thread() is threading.main_thread():
        number = _pending.pop(0)
        _handlers[number](number, None)


def _defer(number: int, frame: FrameType | None) -> None:
    _pending.append(number)


def _after_fork() -> None:
    """Restore the handlers in a child process, which defers nothing."""
    for number in list(_handlers):
        signal.signal(number, _handlers.pop(number))
    _pending.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
