"""Threads over fixed blocks of rows.

Every hot loop of softvec has the same shape: a list of row blocks that does not depend on the number
of threads, and a function that works on one block with the GIL released (Numba ``nogil`` kernels and
BLAS). Threads take blocks from a shared queue, so skewed work balances itself; results come back in
block order, so sums over blocks have the same bits for any number of threads.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from softvec.core.errors import InputError
from softvec.core.signals import interrupts_put_off, let_interrupts_through

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

T = TypeVar("T")


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Return the number of threads: ``None`` is every core this process may use, -1 too, -2 all but one."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows have no affinity mask
        cores = os.cpu_count() or 1
    if n_jobs is None:
        return cores
    if not hasattr(n_jobs, "__index__") or n_jobs == 0:
        raise InputError(f"n_jobs is {n_jobs!r}; pass None for all cores, or a number of threads")
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def row_blocks(n: int, size: int) -> list[tuple[int, int]]:
    """Cut ``range(n)`` into consecutive (start, stop) blocks of ``size`` rows, the last one shorter."""
    return [(lo, min(lo + size, n)) for lo in range(0, n, size)]


class Workers:
    """A group of threads that share the blocks of one computation; made by :func:`workers`."""

    def __init__(self, n_jobs: int, pool: ThreadPoolExecutor | None):
        self.n_jobs = n_jobs
        self._pool = pool

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
        """Add up ``function(*block)`` over the blocks, in their order, holding few results at a time."""
        lock, waiting = Lock(), dict[int, T]()
        total: list[T] = []
        done = [0]

        def merge(i: int, result: T) -> None:
            with lock:
                waiting[i] = result
                while done[0] in waiting:
                    part = waiting.pop(done[0])
                    total[:] = [add(total[0], part) if total else part]
                    done[0] += 1

        self._share(function, blocks, merge)
        return total[0]

    def _share(
        self, function: Callable[..., T], blocks: Sequence[tuple[Any, ...]], take: Callable[[int, T], None]
    ) -> None:
        """Let all threads work through the blocks; each result goes to ``take`` with its place."""
        queue = deque(enumerate(blocks))

        def drain() -> None:
            while True:
                try:
                    i, block = queue.popleft()
                except IndexError:
                    return
                take(i, function(*block))
                let_interrupts_through()

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
        let_interrupts_through()


@lru_cache(1)
def _blas(modules: int) -> ThreadpoolController:
    """Return the control of the BLAS libraries, looked for anew once modules were imported meanwhile."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def workers(n_jobs: int | None = None) -> Iterator[Workers]:
    """Open ``n_jobs`` threads and keep BLAS to one thread each while they are in use.

    Ctrl-C takes effect between two blocks.
    """
    count = resolve_n_jobs(n_jobs)
    with interrupts_put_off(), _blas(len(sys.modules)).limit(limits=1):
        if count == 1:
            yield Workers(1, None)
            return
        with ThreadPoolExecutor(count - 1, thread_name_prefix="softvec") as pool:
            yield Workers(count, pool)
