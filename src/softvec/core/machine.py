"""Where a computation runs: threads of this process, and a group of processes that share the rows.

Every hot loop has the same shape: a list of row blocks that does not depend on the number of threads, and a
function that processes one block with the GIL released. Threads take blocks from a shared queue; results come
back in block order. Sixteen blocks make a unit; sums run in order within a unit, and over a fixed binary tree
of units, so that they have the same bits for any number of threads and processes.

While blocks are processed, signals wait until one of them ends. Python raises ``KeyboardInterrupt`` wherever
the main thread happens to be. Inside a library that holds a lock (llvmlite while it compiles, a future while
it hands over a result) the lock is never released, and the threads that wait for it hang.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import FrameType
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from softvec.core.resources import resolve_n_jobs
from softvec.core.scratch import large_arrays_in
from softvec.core.threads import (
    blas_libraries,
    limit_this_thread,
    one_blas_thread,
    row_blocks,
)

__all__ = ["ALONE", "BLOCK", "Group", "Machine", "Single", "Workers", "deferred_signals", "machine"]

Array = NDArray[Any]
T = TypeVar("T")
_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}  # replaced while signals are deferred
_pending: list[int] = []
BLOCK = 131_072  # numbers in a block of float32 vectors: 512 KiB, which fit in the L2 cache
_AHEAD = 8  # results per thread that may wait for an earlier one: some ms of work, the time a core is taken


class Group(Protocol):
    """Processes that share the rows of a computation, as seen by one of them.

    Ranks own consecutive ranges of rows. All methods are collective: all ranks call them, in the same order.
    """

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

    def reduce(self, value: T, merge: Callable[[T, T], T]) -> T:
        """Return, on every rank, the values of all ranks, merged in the order of ranks.

        ``merge`` takes the values of neighbouring ranges of ranks, in any grouping, and may overwrite its
        first argument. Values are small: sums over rows, not rows.
        """
        ...

    def gather(self, value: T) -> list[T]:
        """Return, on every rank, the (small) values of all ranks, in order; waits for every rank."""
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

    def reduce(self, value: T, merge: Callable[[T, T], T]) -> T:
        """Return the one value."""
        return value

    def gather(self, value: T) -> list[T]:
        """Return the one value."""
        return [value]


class Workers(Protocol):
    """Processes elsewhere that share the rows of a fit; the one that asks them is not among them."""

    def run(self, problem: Any, settings: Any, warm: bool) -> tuple[Any, int]:
        """Run the epochs of a problem; return the final state, with all rows, and the seed."""
        ...


class _Node(NamedTuple, Generic[T]):
    """The sum of units ``number * 2**level`` to ``(number + 1) * 2**level - 1``."""

    level: int
    number: int
    total: T


class _Units(Generic[T]):
    """Sums of consecutive units: the largest complete subtrees of a binary tree over all units."""

    def __init__(self, add: Callable[[T, T], T], first: int):
        self.nodes: list[_Node[T]] = []
        self._add, self._next = add, first

    def append(self, total: T) -> None:
        """Add the next unit."""
        self._push(_Node(0, self._next, total))
        self._next += 1

    def _push(self, node: _Node[T]) -> None:
        while self.nodes and node.number % 2 and self.nodes[-1].level == node.level:
            left = self.nodes.pop()
            node = _Node(node.level + 1, node.number // 2, self._add(left.total, node.total))
        self.nodes.append(node)

    def merge(self, nodes: list[_Node[T]], others: list[_Node[T]]) -> list[_Node[T]]:
        """Return the nodes of two neighbouring ranges."""
        self.nodes = nodes
        for node in others:
            self._push(node)
        return self.nodes

    def total(self, nodes: list[_Node[T]]) -> T:
        """Return the sum of all units, from the nodes of the whole range."""
        *rest, last = nodes
        total = last.total
        for node in reversed(rest):
            total = self._add(node.total, total)
        return total


class Machine:
    """Threads of this process and the processes that share its work; made by :func:`machine`.

    Attributes
    ----------
    n_jobs : int
        Number of threads.
    group : Group
        The processes that share the rows, of which this is one; by default this one alone.
    workers : Workers or None
        Processes elsewhere that run the epochs of a fit.
    """

    unit = 16  # blocks; a process owns whole units
    block: int | None = None  # overrides the result of `block_rows`

    def __init__(
        self,
        n_jobs: int = 1,
        pool: ThreadPoolExecutor | None = None,
        group: Group | None = None,
        workers: Workers | None = None,
    ):
        self.n_jobs, self._pool, self.workers = n_jobs, pool, workers
        self.group: Group = group or Single()

    @property
    def rank(self) -> int:
        """Number of this process in its group."""
        return self.group.rank

    def block_rows(self, d: int) -> int:
        """Return the rows per block of d-dimensional vectors."""
        return self.block or max(256, min(8192, BLOCK // d))

    def gather(self, value: T) -> list[T]:
        """Return a small value from each process, in the order of their rows."""
        return self.group.gather(value)

    def whole(self, n: int) -> tuple[int, int]:
        """Return the global number of the first of this process's ``n`` rows, and the global row count."""
        counts = self.gather(n)
        return sum(counts[: self.rank]), sum(counts)

    def take(self, X: Array, rows: Array) -> Array:
        """Return the same rows on every process; ``rows`` are ascending global numbers."""
        first, _ = self.whole(len(X))
        own = X[rows[(rows >= first) & (rows < first + len(X))] - first]
        return np.concatenate(self.gather(own))

    def sum(self, values: Array, d: int) -> Any:
        """Return the sum over rows in double precision, using the blocks of d-dimensional vectors."""
        return self.fold(
            lambda lo, hi: values[lo:hi].sum(axis=0, dtype=float),
            row_blocks(len(values), self.block_rows(d)),
            lambda a, b: a + b,
        )

    def mean(self, values: Array, d: int) -> Any:
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
        """Sum ``function(*block)`` over the blocks of all processes, holding few results at a time.

        ``add`` may overwrite its first argument.
        """
        if len(blocks) == 1 and self.group.size == 1:  # as many loops over small data
            return self.map(function, blocks)[0]
        first = self.whole(-(-len(blocks) // self.unit))[0]
        units = _Units(add, first)
        self._fold_units(function, blocks, add, units.append)
        return units.total(self.group.reduce(units.nodes, units.merge))

    def _fold_units(
        self,
        function: Callable[..., T],
        blocks: Sequence[tuple[Any, ...]],
        add: Callable[[T, T], T],
        take: Callable[[T], None],
    ) -> None:
        """Sum the blocks of each unit in order, and pass the sums of the units to ``take``, in order."""
        changed, waiting = threading.Condition(), dict[int, T]()
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
                _handle_deferred_signals()

        if len(blocks) == 1:  # as many loops over small data
            return drain()
        with deferred_signals():
            if self._pool is None:
                return drain()
            others = [self._pool.submit(drain) for _ in range(min(self.n_jobs, len(blocks)) - 1)]
            try:
                drain()
            except BaseException:
                queue.clear()  # an error or Ctrl-C: the other threads stop after their current block
                raise
            finally:
                for other in others:
                    other.result()


ALONE = Machine()  # one thread of one process


@contextmanager
def machine(
    n_jobs: int | None = None,
    *,
    scratch: str | os.PathLike[str] | None = None,
    group: Group | None = None,
    workers: Workers | None = None,
) -> Iterator[Machine]:
    """Open a pool of ``n_jobs`` threads, with BLAS limited to one thread each.

    Large arrays that are allocated meanwhile lie in the folder ``scratch``, if one is given.
    """
    count = resolve_n_jobs(n_jobs)
    with large_arrays_in(scratch), one_blas_thread():
        if count == 1:
            yield Machine(1, None, group, workers)
            return
        own = blas_libraries(len(sys.modules))[1]
        with ThreadPoolExecutor(count - 1, "softvec", limit_this_thread, (own,)) as pool:
            yield Machine(count, pool, group, workers)


@contextmanager
def deferred_signals() -> Iterator[None]:
    """Defer signals until a block of work ends, or this block does.

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


def _handle_deferred_signals() -> None:
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
