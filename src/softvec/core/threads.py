"""Threads over fixed blocks of rows.

Every hot loop in softvec has the same shape: a list of row blocks that does not depend on the number
of threads, and a function that processes one block with the GIL released (Numba ``nogil`` kernels and
BLAS). Threads take blocks from a shared queue, so uneven work balances itself; results come back in
block order, so sums over blocks have the same bits for any number of threads.
"""

from __future__ import annotations

import math
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from threading import Condition, Lock, local
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from softvec.core.container import processors
from softvec.core.errors import InputError
from softvec.core.signals import deferred_signals, handle_deferred_signals

T = TypeVar("T")
_AHEAD = 8  # results per thread that may wait for an earlier one: some ms of work, the time a core is taken


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Return the number of threads: None and -1 mean every core this process may use, -2 all but one."""
    if n_jobs is None:
        n_jobs = -1
    if not hasattr(n_jobs, "__index__") or n_jobs == 0:
        raise InputError(f"n_jobs is {n_jobs!r}; pass None for all cores, or a number of threads")
    return n_jobs if n_jobs > 0 else max(1, _cores() + 1 + n_jobs)


def _cores() -> int:
    """Return the cores this process may use: the affinity mask, limited by a container's quota."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows have no affinity mask
        cores = os.cpu_count() or 1
    quota = processors()
    return cores if quota is None else max(1, min(cores, math.ceil(quota)))


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


class Workers:
    """A pool of threads that share the blocks of a computation; created by :func:`workers`.

    On a cluster (:mod:`softvec.cluster`) processes share the rows, and :meth:`fold` and :meth:`gather` span
    all of them. Here there is one process.
    """

    rank = 0  # of this process
    # Blocks per unit. Sums are folded within units, then over units, so that processes that own whole units
    # add the same numbers in the same order as a single process.
    unit = 16
    block: int | None = None  # overrides the result of `block_rows`

    def __init__(self, n_jobs: int, pool: ThreadPoolExecutor | None):
        self.n_jobs = n_jobs
        self._pool = pool

    def block_rows(self, d: int) -> int:
        """Return the rows per block of d-dimensional vectors: 512 KiB, which fit in the L2 cache."""
        return self.block or max(256, min(8192, 131072 // d))

    def gather(self, value: T) -> list[T]:
        """Return a small value from each process, in the order of their rows."""
        return [value]

    def whole(self, n: int) -> tuple[int, int]:
        """Return the global number of the first of this process's ``n`` rows, and the global row count."""
        counts = self.gather(n)
        return sum(counts[: self.rank]), sum(counts)

    def take(self, X: NDArray[Any], rows: NDArray[Any]) -> NDArray[Any]:
        """Return the same rows on every process; ``rows`` are ascending global numbers."""
        first, _ = self.whole(len(X))
        own = X[rows[(rows >= first) & (rows < first + len(X))] - first]
        return np.concatenate(self.gather(own))

    def fetch(self, X: NDArray[Any], rows: NDArray[Any]) -> NDArray[Any]:
        """Return the rows that this process asks for, by their global numbers."""
        return X[rows]

    def sum(self, values: NDArray[Any], d: int) -> Any:
        """Return the sum over rows in double precision, using the blocks of d-dimensional vectors."""
        return self.fold(
            lambda lo, hi: values[lo:hi].sum(axis=0, dtype=float),
            row_blocks(len(values), self.block_rows(d)),
            lambda a, b: a + b,
        )

    def mean(self, values: NDArray[Any], d: int) -> Any:
        """Return the mean over rows; see :meth:`sum`."""
        return self.sum(values, d) / self.whole(len(values))[1]

    def map(self, function: Callable[..., T], blocks: Sequence[tuple[Any, ...]]) -> list[T]:
        """Call ``function(*block)`` for each block; results in the order of ``blocks``."""
        results: list[Any] = [None] * len(blocks)

        def keep(i: int, result: T) -> None:
            results[i] = result

        self._share(function, blocks, keep)
        return results

    def fold(
        self, function: Callable[..., T], blocks: Sequence[tuple[Any, ...]], add: Callable[[T, T], T]
    ) -> T:
        """Sum ``function(*block)`` over the blocks, in order, holding few results at a time."""
        total: list[T] = []

        def take(part: T) -> None:
            total[:] = [add(total[0], part) if total else part]

        self._fold_units(function, blocks, add, take)
        return total[0]

    def _fold_units(
        self,
        function: Callable[..., T],
        blocks: Sequence[tuple[Any, ...]],
        add: Callable[[T, T], T],
        take: Callable[[T], None],
    ) -> None:
        """Sum the blocks of each unit in order, and pass the sums of the units to ``take``, in order."""
        changed, waiting = Condition(), dict[int, T]()
        unit: list[T] = []
        done, failed = [0], [False]

        def add_up() -> None:
            while done[0] in waiting:
                part = waiting.pop(done[0])
                unit[:] = [add(unit[0], part) if unit else part]
                done[0] += 1
                if done[0] % self.unit == 0 or done[0] == len(blocks):
                    take(unit.pop())

        def merge(i: int, result: T) -> None:
            with changed:
                if failed[0]:
                    return
                waiting[i] = result
                try:
                    add_up()
                except BaseException:
                    failed[0] = True
                    raise
                finally:
                    changed.notify_all()
                while i >= done[0] + _AHEAD * self.n_jobs and not failed[0]:
                    changed.wait()  # for a thread whose core another program has taken

        def call(*block: Any) -> T:
            try:
                return function(*block)
            except BaseException:
                with changed:
                    failed[0] = True
                    changed.notify_all()
                raise

        self._share(call, blocks, merge)

    def _share(
        self, function: Callable[..., T], blocks: Sequence[tuple[Any, ...]], take: Callable[[int, T], None]
    ) -> None:
        """Process the blocks on all threads; call ``take`` with the position and result of each."""
        queue = deque(enumerate(blocks))

        def drain() -> None:
            while True:
                try:
                    i, block = queue.popleft()
                except IndexError:
                    return
                take(i, function(*block))
                handle_deferred_signals()

        if self._pool is None or len(blocks) == 1:
            drain()
            return
        others = [self._pool.submit(drain) for _ in range(min(self.n_jobs, len(blocks)) - 1)]
        try:
            drain()
        except BaseException:
            queue.clear()  # an error or Ctrl-C: the other threads stop after their current block
            raise
        finally:
            for other in others:
                other.result()
        handle_deferred_signals()


ALONE = Workers(1, None)  # one thread of one process


@lru_cache(1)
def _libraries(modules: int) -> tuple[list[Any], list[Any]]:
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
    shared, own = _libraries(len(sys.modules))
    before = [library.num_threads for library in own]
    _shared_limit.enter(shared)
    _limit_this_thread(own)
    try:
        yield
    finally:
        for library, count in zip(own, before):
            _set_threads(library, count)
        _shared_limit.leave()


def _limit_this_thread(libraries: list[Any]) -> None:
    for library in libraries:
        _set_threads(library, 1)


@contextmanager
def workers(n_jobs: int | None = None) -> Iterator[Workers]:
    """Open a pool of ``n_jobs`` threads, with BLAS limited to one thread each.

    Ctrl-C takes effect between two blocks.
    """
    count = resolve_n_jobs(n_jobs)
    with deferred_signals(), one_blas_thread():
        if count == 1:
            yield Workers(1, None)
            return
        own = _libraries(len(sys.modules))[1]
        with ThreadPoolExecutor(count - 1, "softvec", _limit_this_thread, (own,)) as pool:
            yield Workers(count, pool)
