"""The halo of a worker: the rows of other workers that it reads, and their exchange.

A large halo is received in rounds, some columns at a time: while the columns of one round are multiplied,
those of the next are received, and a worker holds two rounds of its halo instead of all of it. Each number of
a product is the same sum, in the same order, because rounds split columns, not entries. (Rounds by owner
would split these sums.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from itertools import pairwise
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softvec.core.machine import ALONE, Group, Machine
from softvec.core.threads import row_blocks
from softvec.operators import Rows, Runtime, Sparse

Array = NDArray[Any]
Receive = Callable[[int], Array]
_ROUND_BYTES = 64 << 20  # bytes that a worker sends at a time: small buffers, but large messages
_COPY_ROWS = 8192
COLUMNS = 32  # of a round: a cache line in half precision, and the number that kernels sum at a time
_PROBE_ROWS, _PROBE_COLUMNS = 100, 64


class Halo:
    """The rows that this worker reads from others, and those that others read from it.

    Parameters
    ----------
    group : Group
    bounds : ndarray of int64
        Where the rows of each worker begin.
    needed : ndarray of int64
        Numbers of the rows that are read from others, ascending.
    """

    def __init__(self, group: Group, bounds: Array, needed: Array):
        self.group, self.needed = group, needed
        self.first = int(bounds[group.rank])
        self.own = int(bounds[group.rank + 1]) - self.first
        cuts = np.searchsorted(needed, bounds)
        wanted = [needed[a:b] for a, b in pairwise(cuts)]
        self._read = [int(cut) + self.own for cut in cuts]  # where the rows of each worker go, after the own
        self._sent = [rows - self.first for rows in group.exchange(wanted)]
        self._longest = max(group.gather(max(len(rows) for rows in (*wanted, *self._sent))))
        self.rounds: dict[Any, bool] = {}  # whether products arrive in rounds, by their kind

    @property
    def size(self) -> int:
        """Number of own rows and of rows read from others."""
        return self.own + len(self.needed)

    def fill(self, X: Array, out: Array, pool: Machine) -> None:
        """Write the own rows to ``out``, and after them those of others, in the order of their numbers."""
        pool.map(lambda lo, hi: np.copyto(out[lo:hi], X[lo:hi]), row_blocks(self.own, _COPY_ROWS))
        step = max(1, _ROUND_BYTES // max(1, X.shape[1] * X.itemsize * self.group.size))
        for begin in range(0, self._longest, step):
            parts = [
                # from the copy, which is contiguous; mode="raise" would copy again
                np.take(out[: self.own], rows[begin : begin + step], axis=0, mode="clip")
                for rows in self._sent
            ]
            for place, part in zip(self._read, self.group.exchange(parts)):
                out[place + begin : place + begin + len(part)] = part

    def spread(self, values: Array) -> Array:
        """Return the values of the own rows and of those read from others; empty if no worker has values."""
        if not any(self.group.gather(len(values) > 0)):
            return values
        out = np.empty((self.size, 1), values.dtype)
        self.fill(values[:, None], out, Machine(1, None))
        return out[:, 0]


def cuts(d: int) -> list[int]:
    """Return where the columns of each round begin, and the end; the last round takes the remainder."""
    return [*range(0, max(1, d - COLUMNS + 1), COLUMNS), d]


def _width(d: int) -> int:
    return max(end - begin for begin, end in pairwise(cuts(d)))


class Counts(NamedTuple):
    """Rows of a product on one worker, and its vectors: own ones and those of others."""

    rows: int
    own: int
    others: int

    def held(self, d: int, dtype: Any, *, in_rounds: bool) -> int:
        """Return the memory of a product, in bytes, for vectors of a type (uint16: half precision)."""
        stored = np.dtype(dtype).itemsize
        if not in_rounds:
            return (self.own + self.others) * d * stored
        return self.rows * (d * max(4, stored) + 8) + 2 * (self.own + self.others) * _width(d) * stored


def pays(counts: Sequence[Counts], d: int, dtype: Any) -> bool:
    """Whether rounds reduce the memory of the worker that needs the most.

    ``counts`` are those of all workers. For 128 dimensions, rounds pay if the halo has at least three times
    the own rows.
    """
    if len(cuts(d)) == 2:
        return False
    whole, rounds = (
        max(each.held(d, dtype, in_rounds=in_rounds) for each in counts) for in_rounds in (False, True)
    )
    return rounds < whole


def multiply(local: Sparse, halo: Halo, X: Array, runtime: Runtime, key: tuple) -> Rows:
    """Multiply the own rows of a matrix with X, in rounds; return a function that yields its rows."""
    n, d = local.shape[0], X.shape[1]
    real = np.dtype(np.float64 if X.dtype == np.float64 else np.float32)
    starts = cuts(d)
    held = [runtime.scratch(("round", i), (halo.size, _width(d)), X.dtype) for i in range(2)]
    product = runtime.scratch((*key, "product"), (n, d), real)
    col_scale = local._col_scale.astype(real)

    def receive(number: int) -> Array:
        begin, end = starts[number : number + 2]
        part = held[number % 2].reshape(-1)[: halo.size * (end - begin)].reshape(halo.size, end - begin)
        halo.fill(X[:, begin:end], part, ALONE)  # the threads of the pool multiply meanwhile
        return part

    with _ahead(receive, len(starts) - 1, halo.group) as parts:
        for begin, part in zip(starts, parts):

            def rows(lo: int, hi: int, begin: int = begin, part: Array = part) -> None:
                runtime.kernels.gather_columns(
                    local._indptr, local._indices, local._values, col_scale, part, begin, product[lo:hi],
                    lo, hi,
                )  # fmt: skip

            runtime.machine.map(rows, row_blocks(n, runtime.block))
    return _scaled(n, local._row_scale).plan(runtime)(product)


def _scaled(n: int, row_scale: Array) -> Sparse:
    """Return a diagonal matrix: a product with it scales rows and adds to them like the whole product."""
    places = np.arange(n + 1)
    return Sparse.of_arrays((n, n), (places, places[:-1], row_scale[:0]), row_scale)


@contextmanager
def _ahead(receive: Receive, rounds: int, group: Group) -> Iterator[Iterator[Array]]:
    """Yield the parts of all rounds in turn; where the group allows it, receive the next one meanwhile."""
    if not group.in_background:
        yield map(receive, range(rounds))
        return
    with ThreadPoolExecutor(1, "softvec-halo") as thread:

        def parts() -> Iterator[Array]:
            coming: Future[Array] = thread.submit(receive, 0)
            for number in range(1, rounds + 1):
                # some groups count the time that a thread waits for what another one receives
                with getattr(group, "waiting", nullcontext)():
                    part = coming.result()
                if number < rounds:
                    coming = thread.submit(receive, number)
                yield part

        yield parts()


def keeps_bits(kernels: ModuleType, local: Sparse, X: Array) -> bool:
    """Whether products in rounds have the bits of whole ones: compilers are free to reorder sums."""
    values = local._values.dtype.str if len(local._values) else ""
    scaled = bool(len(local._col_scale))
    return _probe(kernels, X.shape[1], X.dtype.str, local._indices.dtype.str, values, scaled, COLUMNS)


@lru_cache(64)
def _probe(
    kernels: ModuleType, d: int, dtype: str, index: str, values: str, scaled: bool, columns: int
) -> bool:
    """Compare both products for rows of up to 100 entries, with numbers that reveal the order of a sum."""
    rng = np.random.default_rng(0)
    n, m, half = _PROBE_ROWS, _PROBE_COLUMNS, np.dtype(dtype) == np.uint16
    real = np.dtype(np.float32 if half else dtype)

    def numbers(*shape: int) -> Array:
        drawn = (rng.standard_normal(shape) * 10 ** rng.uniform(-3, 1, shape)).astype(real)
        return drawn.astype(np.float16).view(np.uint16) if half else drawn

    indptr = np.cumsum(np.arange(n + 1))
    indices = rng.integers(m, size=indptr[-1]).astype(index)
    weights = rng.random(indptr[-1]).astype(values) if values else np.empty(0)
    scales = rng.random(n), rng.random(m if scaled else 0)
    local = Sparse.of_arrays((n, m), (indptr, indices, weights), *scales)
    X, add = numbers(m, d), numbers(n, d)
    runtime = Runtime(kernels, Machine(1, None))
    product = np.empty((n, d), real)
    for begin, end in pairwise(cuts(d)):
        kernels.gather_columns(
            indptr, indices, local._values, local._col_scale.astype(real),
            np.ascontiguousarray(X[:, begin:end]), begin, product, 0, n,
        )  # fmt: skip
    same = True
    for out_dtype, added in ((real, add[:0]), (X.dtype, add)):
        whole, rounds = np.empty((n, d), out_dtype), np.empty((n, d), out_dtype)
        runtime.fill(local.plan(runtime)(X), whole, added)
        runtime.fill(_scaled(n, local._row_scale).plan(runtime)(product), rounds, added)
        same = same and bool(np.array_equal(whole, rounds))
    return same
