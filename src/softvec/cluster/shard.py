"""One worker's part of a matrix, and the split of rows over workers.

Rows are split into blocks, and a fixed number of blocks make a unit: sums are folded within units, then over
them. A worker owns whole units, so that sums have the same bits for any number of workers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.machine import Machine

__all__ = ["Shard", "balanced_bounds", "rows_per_unit"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Shard:
    """The rows ``row_bounds[rank]`` to ``row_bounds[rank + 1]`` of a sparse matrix.

    Attributes
    ----------
    rank : int
    shape : tuple of int
        Shape of the whole matrix.
    row_bounds, column_bounds : ndarray of int64, shape (workers + 1,)
        Where the rows, and the vectors of the columns, of each worker begin; one array for both if rows and
        columns are the same items. Multiples of :func:`rows_per_unit`, except the last.
    indptr : ndarray of int64, shape (rows + 1,)
        Where the entries of each own row begin.
    indices : ndarray of int64
        Global column numbers of the entries; within a row in the order of the whole matrix.
    values : ndarray of float32 or float64, or None
        None if all entries of the whole matrix are 1.
    symmetric : bool
        Whether the whole matrix equals its transpose.
    row_scale, column_scale : ndarray of float64 or None
        Scales of the own rows and columns: the entry of row i and column j is
        ``row_scale[i] * value * column_scale[j]``.
    """

    rank: int
    shape: tuple[int, int]
    row_bounds: Array
    column_bounds: Array
    indptr: Array
    indices: Array
    values: Array | None = None
    symmetric: bool = False
    row_scale: Array | None = None
    column_scale: Array | None = None

    @property
    def rows(self) -> tuple[int, int]:
        """The first own row, and the one after the last."""
        return int(self.row_bounds[self.rank]), int(self.row_bounds[self.rank + 1])

    @property
    def columns(self) -> tuple[int, int]:
        """The first own column, and the one after the last."""
        return int(self.column_bounds[self.rank]), int(self.column_bounds[self.rank + 1])


def rows_per_unit(n_components: int) -> int:
    """Return the minimum number of rows of a worker: its ranges begin at multiples of this number."""
    return Machine.unit * Machine(1, None).block_rows(n_components)


def balanced_bounds(entries: Array, n: int, unit: int, workers: int) -> Array:
    """Return where the rows of each worker begin, so that their work is about equal.

    Parameters
    ----------
    entries : array_like of int
        Work of each unit of rows: its non-zeros, and a share for the rows themselves.
    n : int
        Total number of rows.
    unit : int
        Rows of a unit; the last may have fewer.
    workers : int
        At most as many as there are units, else the last have no rows.

    Examples
    --------
    >>> balanced_bounds([5, 1, 1, 1], 13, 4, 2)
    array([ 0,  4, 13])
    """
    work = np.cumsum(np.asarray(entries, np.float64))
    units, cuts = len(work), [0]
    for worker in range(1, workers):
        cut = int(np.searchsorted(work, work[-1] * worker / workers)) + 1
        # at least a unit for each, if there are enough
        least, most = cuts[-1] + 1, units - (workers - worker)
        cuts.append(min(max(cut, least), max(most, min(least, units))))
    return np.minimum(np.array([*cuts, units], np.int64) * unit, n)
