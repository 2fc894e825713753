"""Send edges to the workers that own their rows, and sort them there, with duplicates merged.

Bands of 65,536 rows are filled in the order of edges and then sorted one by one by the code of a single
process, so values are added in the same order. The memory of edges is freed as they are sent: a worker never
holds both its edges and its entries for long.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.affinity.compress import edges_to_csr
from softvec.cluster.seam import Group
from softvec.core.memory import give_back
from softvec.kernels.shuffle import BAND
from softvec.names.coding import Segments

Array = NDArray[Any]
ROWS = 1 << 18  # edges sent at a time
_NONE = np.empty(0, np.float32)


class Spool:
    """The edges that a worker read: codes and weights of its pieces, in order."""

    def __init__(self) -> None:
        self._codes, self._weights = Segments(), Segments()
        self.counts: list[int] = []  # edges of each piece
        self.weighted = False

    def start_piece(self) -> None:
        """Begin the next piece."""
        self.counts.append(0)

    def add(self, codes: Array, weights: Array | None) -> None:
        """Add edges to the current piece."""
        self._codes.add(codes)
        if weights is not None:
            self.weighted = True
            self._weights.add(weights)
        self.counts[-1] += len(codes)

    def __len__(self) -> int:
        return sum(self.counts)

    def close(self) -> None:
        """Finish adding."""
        self.codes, self.weights = self._codes.finish(), self._weights.finish()

    def blocks(self, lo: int, hi: int) -> Iterator[tuple[Array, Array]]:
        """Yield views of the edges lo..hi-1, at most ``ROWS`` at a time, and of their weights (or empty)."""
        for start, size in self._cuts(lo, hi):
            part, at = divmod(start, Segments.ROWS)
            weights = self.weights[part][at : at + size] if self.weighted else _NONE
            yield self.codes[part][at : at + size], weights

    def spans(self, lo: int, hi: int) -> list[tuple[int, Array]]:
        """Return where blocks of the edges lo..hi-1 begin, and views of their codes."""
        starts = [start for start, _ in self._cuts(lo, hi)]
        return list(zip(starts, (codes for codes, _ in self.blocks(lo, hi))))

    def whole(self) -> tuple[Array, Array]:
        """Return all codes and weights (empty if none), and empty the spool."""
        codes = np.concatenate([np.empty((0, 2), np.int32), *self.codes])
        weights = np.concatenate([np.empty(0), *self.weights]) if self.weighted else np.empty(0)
        self.codes, self.weights = [], []
        return codes, weights

    def steps(self) -> Array:
        """Return the number of blocks of each piece."""
        stops = np.cumsum(self.counts)
        return np.array([sum(1 for _ in self._cuts(hi - size, hi)) for size, hi in zip(self.counts, stops)])

    @staticmethod
    def _cuts(lo: int, hi: int) -> Iterator[tuple[int, int]]:
        while lo < hi:
            size = min(hi - lo, ROWS, Segments.ROWS - lo % Segments.ROWS)
            yield lo, size
            lo += size

    def release(self, done: int) -> None:
        """Free the memory of the first ``done`` edges, in whole segments."""
        held = [part for part in range(done // Segments.ROWS) if len(self.codes[part])]
        for part in held:  # a slice would keep its array
            self.codes[part] = np.empty((0, 2), np.int32)
            if self.weighted:
                self.weights[part] = _NONE
        if held:
            give_back()


@dataclass(frozen=True)
class Bands:
    """Bands of 65,536 rows, counted from the first row of each worker."""

    unit: int
    bounds: Array  # rows of each worker
    where: Array  # for each unit, the first row and the first band of its worker
    starts: Array  # the first band of each worker, and their number

    @classmethod
    def of(cls, bounds: Array, unit: int) -> Bands:
        """Return the bands of workers whose rows begin at ``bounds``, multiples of ``unit``."""
        rows = np.diff(bounds)
        starts = np.concatenate([[0], np.cumsum(-(-rows >> BAND))])
        firsts = np.arange(0, max(int(bounds[-1]), 1), unit)
        owner = np.searchsorted(bounds, firsts, side="right") - 1
        where = np.stack([bounds[owner], starts[owner]], axis=1)
        return cls(unit, bounds, where.astype(np.int64), starts.astype(np.int64))


@dataclass(frozen=True)
class Rows:
    """Own rows, sorted and without duplicates, and the number of entries merged."""

    indptr: Array
    indices: Array
    values: Array | None
    merged: int


def shuffle(
    group: Group, spool: Spool, bands: Bands, *, both: bool, loops: int, dtype: Any, n_jobs: int | None
) -> tuple[Rows, int]:
    """Return the own rows, and the number of self loops that this worker read. Collective.

    Parameters
    ----------
    both, loops
        As in :func:`softvec.affinity.compress.edges_to_csr`.
    dtype : dtype or None
        Type of the values; None for no values.
    """
    from softvec.kernels import shuffle as kernels

    weighted = spool.weighted  # else edges count 1
    counts = np.zeros(int(bands.starts[-1]), np.int64)
    met = sum(
        kernels.count_bands(codes, both, loops, bands.unit, bands.where, counts)
        for codes, _ in spool.blocks(0, len(spool))
    )
    total = group.fold([counts], np.add)
    own = slice(bands.starts[group.rank], bands.starts[group.rank + 1])
    entries = _Entries(total[own], dtype if weighted else None)
    done = 0
    for k, steps in enumerate(np.max(group.gather(spool.steps()), axis=0)):
        size = spool.counts[k]
        blocks = spool.blocks(done, done + size)
        for _ in range(steps):
            codes, weights = next(blocks, (np.empty((0, 2), np.int32), _NONE))
            weights = weights.astype(dtype, copy=False) if weighted else _NONE
            entries.take(group.exchange(_messages(bands, codes, weights, both, loops, weighted, dtype)))
        entries.end_piece()
        done += size
        codes = weights = _NONE  # views of what is released
        spool.release(done)
    spool.codes.clear()
    spool.weights.clear()
    give_back()
    lo, hi = bands.bounds[group.rank], bands.bounds[group.rank + 1]
    return entries.rows(int(hi - lo), dtype, n_jobs), met


def _messages(
    bands: Bands, codes: Array, weights: Array, both: bool, loops: int, weighted: bool, dtype: Any
) -> list[Array]:
    """Return a message of bytes for each worker: counts of each band, then values, columns and places."""
    from softvec.kernels import shuffle as kernels

    counts = np.zeros(int(bands.starts[-1]), np.int64)
    kernels.count_bands(codes, both, loops, bands.unit, bands.where, counts)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    n = int(offsets[-1])
    places, columns = np.empty(n, np.uint16), np.empty(n, np.int32)
    values = np.empty(n if weighted else 0, dtype or np.float32)
    kernels.place_bands(
        codes, weights, both, loops, bands.unit, bands.where, offsets[:-1].copy(), places, columns, values
    )
    cuts = offsets[bands.starts]
    return [
        np.concatenate(
            [
                np.ascontiguousarray(part).view(np.uint8)
                for part in (counts[first:last], values[lo:hi], columns[lo:hi], places[lo:hi])
            ]
        )
        for first, last, lo, hi in zip(bands.starts[:-1], bands.starts[1:], cuts[:-1], cuts[1:])
    ]


class _Entries:
    """The entries of the own rows, gathered by band."""

    def __init__(self, counts: Array, dtype: Any):
        self._starts = np.concatenate([[0], np.cumsum(counts)])
        self._cursor = self._starts[:-1].copy()
        n = int(self._starts[-1])
        self._places, self._columns = np.empty(n, np.uint16), np.empty(n, np.int32)
        self._dtype = np.dtype(dtype) if dtype is not None else None
        self._values = np.empty(n if dtype is not None else 0, dtype or np.float32)
        self._late: list[list[Array]] = []  # messages that wait for those of lower ranks

    def take(self, messages: list[Array]) -> None:
        """Take the messages of all workers; their order matters only if values are added."""
        if self._dtype is None:
            for message in messages:
                self._put(message)
            return
        self._put(messages[0])
        self._late = self._late or [[] for _ in messages]
        for waiting, message in zip(self._late[1:], messages[1:]):
            waiting.append(message)

    def end_piece(self) -> None:
        """Take the waiting messages, in the order of ranks, which is that of pieces."""
        for waiting in self._late:
            for message in waiting:
                self._put(message)
        self._late = []

    def _put(self, message: Array) -> None:
        bands = len(self._cursor)
        counts = message[: 8 * bands].view(np.int64)
        n = int(counts.sum())
        at = 8 * bands
        width = self._dtype.itemsize if self._dtype is not None else 0
        values = message[at : at + width * n].view(self._dtype) if self._dtype is not None else None
        at += width * n
        columns, places = message[at : at + 4 * n].view(np.int32), message[at + 4 * n :].view(np.uint16)
        lo = 0
        for band in np.flatnonzero(counts):
            size = int(counts[band])
            to = slice(int(self._cursor[band]), int(self._cursor[band]) + size)
            self._places[to], self._columns[to] = places[lo : lo + size], columns[lo : lo + size]
            if values is not None:
                self._values[to] = values[lo : lo + size]
            self._cursor[band] += size
            lo += size

    def rows(self, n: int, dtype: Any, n_jobs: int | None) -> Rows:
        """Return the sorted rows, in the memory of the entries, which are lost."""
        indptr = np.zeros(n + 1, np.int64)
        values = (
            self._values
            if self._dtype is not None
            else np.empty(0 if dtype is None else len(self._columns), dtype or np.float32)
        )
        written = 0
        for band, (lo, hi) in enumerate(zip(self._starts[:-1], self._starts[1:])):
            first = band << BAND
            size = min(n - first, 1 << BAND)
            codes = np.empty((int(hi - lo), 2), np.int32)
            codes[:, 0], codes[:, 1] = self._places[lo:hi], self._columns[lo:hi]
            weights = [self._values[lo:hi].copy()] if self._dtype is not None else None
            part = edges_to_csr(
                [codes], size, both=False, loops=-1, weights=weights, values_of=dtype, n_jobs=n_jobs
            )
            indptr[first + 1 : first + size + 1] = part.indptr[1:] + written
            end = written + len(part.indices)
            self._columns[written:end] = part.indices
            if dtype is not None:
                values[written:end] = part.values
            written = end
        merged = len(self._columns) - written
        self._columns.resize(written, refcheck=False)
        self._places = np.empty(0, np.uint16)
        if dtype is not None:
            values.resize(written, refcheck=False)
        return Rows(indptr, self._columns, values if dtype is not None else None, merged)
