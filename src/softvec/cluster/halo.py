"""The halo of a worker: the rows of other workers that it reads, and their exchange."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.machine import Group, Machine
from softvec.core.threads import row_blocks

Array = NDArray[Any]
_ROUND_BYTES = 64 << 20  # bytes that a worker sends at a time: small buffers, but large messages
_COPY_ROWS = 8192


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

    @property
    def sent_rows(self) -> int:
        """Number of rows that an exchange sends to others."""
        return sum(len(rows) for rows in self._sent)

    def fill(self, X: Array, out: Array, pool: Machine) -> None:
        """Write the own rows to ``out``, and after them those of others, in the order of their numbers."""
        pool.map(
            lambda lo, hi: np.copyto(out[lo:hi], X[lo:hi]),
            row_blocks(self.own, _COPY_ROWS),
        )
        step = max(1, _ROUND_BYTES // max(1, X.shape[1] * X.itemsize * self.group.size))
        for begin in range(0, self._longest, step):
            parts = [
                # from the copy, which is contiguous; mode="raise" would copy again
                np.take(out[: self.own], rows[begin : begin + step], axis=0, mode="clip")
                for rows in self._sent
            ]
            for place, part in zip(self._read, self.group.exchange(parts)):
                out[place + begin : place + begin + len(part)] = part

    def spread(self, values: Array | None) -> Array | None:
        """Return the values of the own rows and of those read from others."""
        if not any(self.group.gather(values is not None)):
            return None
        if values is None:
            raise ValueError("some workers have scales, others have none")
        out = np.empty((self.size, 1), values.dtype)
        self.fill(values[:, None], out, Machine(1, None))
        return out[:, 0]
