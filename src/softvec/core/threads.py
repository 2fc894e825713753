"""Work in threads: blocks of rows, scratch arrays of a thread, and one BLAS thread for each of ours."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock, local
from typing import Any

import numpy as np
from numpy.typing import NDArray


def row_blocks(n: int, size: int) -> list[tuple[int, int]]:
    """Cut ``range(n)`` into consecutive (start, stop) blocks of ``size`` rows, the last one shorter."""
    return [(lo, min(lo + size, n)) for lo in range(0, n, size)]


class Buffers(local):
    """Scratch arrays of one thread, by name; contiguous for any number of rows."""

    def __init__(self) -> None:
        self._flat: dict[str, NDArray[Any]] = {}

    def get(self, name: str, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        size = math.prod(shape)
        flat = self._flat.get(name)
        if flat is None or flat.size < size or flat.dtype != dtype:
            flat = self._flat[name] = np.empty(size, dtype)
        return flat[:size].reshape(shape)

    def several(self, **wanted: tuple[tuple[int, ...], Any]) -> list[NDArray[Any]]:
        """Return arrays of some names, each of a shape and a dtype."""
        return [self.get(name, shape, dtype) for name, (shape, dtype) in wanted.items()]


@lru_cache(1)
def blas_libraries(modules: int) -> tuple[list[Any], list[Any]]:
    """Return the BLAS and OpenMP controllers with a process-wide limit, and those with a per-thread one.

    ``modules`` is the cache key: libraries are searched again after an import.
    """
    from threadpoolctl import ThreadpoolController

    libraries = ThreadpoolController().lib_controllers
    of_thread = ["openmp" in (lib.user_api, getattr(lib, "threading_layer", "")) for lib in libraries]
    shared = [lib for lib, own in zip(libraries, of_thread) if not own]
    return shared, [lib for lib, own in zip(libraries, of_thread) if own]


def _set_threads(library: Any, count: int) -> None:
    # since version 3.7, threadpoolctl lets only one thread of the process set the limit
    getattr(library, "_real_set_num_threads", library.set_num_threads)(count)


class _SharedLimit:
    """One BLAS thread for the whole process while anyone needs it; the last to leave restores the old limit.

    If each fit set and restored the limit itself, the first of two to end would give the other more threads,
    and so different last bits.
    """

    def __init__(self) -> None:
        self._lock, self._users = Lock(), 0
        self._before: dict[str, tuple[Any, int]] = {}

    def enter(self, libraries: list[Any]) -> None:
        with self._lock:
            self._users += 1
            for library in libraries:
                if library.filepath not in self._before:
                    self._before[library.filepath] = library, library.num_threads
                    _set_threads(library, 1)

    def leave(self) -> None:
        with self._lock:
            self._users = max(0, self._users - 1)
            if not self._users:
                self._restore()

    def reset(self) -> None:
        """Forget the users of the parent process after a fork."""
        self._lock, self._users = Lock(), 0
        self._restore()

    def _restore(self) -> None:
        for library, count in self._before.values():
            _set_threads(library, count)
        self._before.clear()


_shared_limit = _SharedLimit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_shared_limit.reset)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS, process-wide, and OpenMP, in this thread, to one thread."""
    shared, own = blas_libraries(len(sys.modules))
    before = [library.num_threads for library in own]
    _shared_limit.enter(shared)
    limit_this_thread(own)
    try:
        yield
    finally:
        for library, count in zip(own, before):
            _set_threads(library, count)
        _shared_limit.leave()


def limit_this_thread(libraries: list[Any]) -> None:
    """Limit the libraries with a limit of each thread to one thread, in this one."""
    for library in libraries:
        _set_threads(library, 1)
