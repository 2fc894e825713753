"""A sparse matrix with scaled rows and columns, sharing the memory of the original."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.core.errors import InputError
from softvec.core.resources import SMALL, available_memory
from softvec.core.threads import row_blocks
from softvec.operators.base import Array, Operator, Plan, Rows, Runtime

_NO_SCALE = np.empty(0, np.float64)
# Products run in float32, whose range is 1e-38 to 3e38: rows whose largest entry is within these bounds keep
# their precision, with room for sums over many entries.
SAFE = (1e-25, 1e25)


def checked_csr(A: Any, name: str = "the matrix") -> Any:
    """Return a dense matrix, or a SciPy one of any format, as CSR, with all indices checked.

    Compiled code, SciPy's and softvec's, trusts indices and reads wherever they point, and SciPy does not
    check them when a matrix is built, loaded or modified. So every matrix comes through here. The check is
    one pass over the indices, cheap compared with reading them from a file.
    """
    if not sparse.issparse(A):
        return sparse.csr_array(np.asarray(A))
    if A.ndim != 2:
        raise InputError(f"{name} has {A.ndim} dimensions; expected rows and columns")
    pointers = 8 * max(A.shape)  # bytes of the row pointers alone; damaged files claim such shapes
    free = available_memory() if pointers > SMALL else None
    if free is not None and pointers > free:
        raise InputError(f"{name} claims the shape {A.shape}, which does not fit in memory")
    if A.format == "coo":
        for indices, size, what in zip((A.row, A.col), A.shape, ("row", "column")):
            if len(indices) != len(A.data):
                raise InputError(f"{name} is damaged: {len(indices):,} indices for {len(A.data):,} values")
            _check_indices(indices, size, what, name)
        return A.tocsr()
    if A.format in ("csr", "csc", "bsr"):
        _check_compressed(A, name)
        return A.tocsr()
    if A.format == "dia":
        n, m = A.shape
        if A.data.ndim != 2 or len(A.offsets) != len(A.data):
            raise InputError(f"{name} is damaged: {len(A.offsets):,} offsets for {len(A.data):,} diagonals")
        if len(A.offsets) and not -n <= A.offsets.min() <= A.offsets.max() <= m:
            raise InputError(f"{name} is damaged: a diagonal lies outside its {n:,} x {m:,} entries")
    csr = A.tocsr()
    _check_compressed(csr, name)
    return csr


def _check_compressed(A: Any, name: str) -> None:
    """Check the arrays of a CSR, CSC or BSR matrix."""
    tall, wide = (
        A.shape if A.format != "bsr" else (A.shape[0] // A.blocksize[0], A.shape[1] // A.blocksize[1])
    )
    outer, inner = (wide, tall) if A.format == "csc" else (tall, wide)
    starts = A.indptr
    if A.data.ndim != (3 if A.format == "bsr" else 1):
        raise InputError(f"{name} is damaged: its values have the shape {A.data.shape}")
    if starts.ndim != 1 or starts.dtype.kind not in "iu" or len(starts) != outer + 1:
        raise InputError(f"{name} is damaged: its indptr has {starts.size:,} entries; expected {outer + 1:,}")
    if starts[0] != 0 or (starts[1:] < starts[:-1]).any():
        raise InputError(f"{name} is damaged: its indptr does not start at 0, or decreases")
    if not len(A.data) >= starts[-1] <= len(A.indices):
        raise InputError(
            f"{name} is damaged: its indptr ends at {starts[-1]:,}, but there are {len(A.indices):,} indices "
            f"and {len(A.data):,} values"
        )
    what = "row" if A.format == "csc" else "column"
    _check_indices(A.indices[: starts[-1]], inner, what, name)


def _check_indices(indices: Array, size: int, what: str, name: str) -> None:
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        raise InputError(
            f"{name} is damaged: its {what} indices are {indices.dtype} of shape {indices.shape}"
        )
    # as unsigned numbers, negative indices exceed any size: one pass instead of two
    if len(indices) and indices.view(f"u{indices.dtype.itemsize}").max() >= size:
        bad = indices[(indices < 0) | (indices >= size)][0]
        raise InputError(f"{name} has an entry in {what} {bad}, outside its {size:,} {what}s")


class Sparse(Operator):
    """``diag(row_scale) A diag(col_scale)`` for a sparse A; shares A's memory.

    Parameters
    ----------
    A : SciPy sparse matrix or array, of any format
        Values are not stored when all of them are 1.
    row_scale, col_scale : array_like, optional
        Diagonal scalings, applied on the fly.
    symmetric : bool, optional
        Whether ``A`` equals its transpose; by default checked when the transpose is first needed.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> A = Sparse(sp.csr_array(np.array([[0.0, 2.0], [1.0, 3.0]])))
    >>> A @ np.array([1.0, 1.0])
    array([2., 4.])
    >>> A.T @ np.array([1.0, 1.0])
    array([1., 5.])
    """

    _checked = False  # whether the values are known to be finite and non-negative

    def __init__(
        self,
        A: Any,
        *,
        row_scale: Array | None = None,
        col_scale: Array | None = None,
        symmetric: bool | None = None,
    ):
        A = checked_csr(A)
        if A.dtype.kind not in "fiub":
            raise InputError(f"a matrix of dtype {A.dtype} is not numeric; convert it to float")
        self.shape = (int(A.shape[0]), int(A.shape[1]))
        self._indptr = A.indptr.astype(np.int64, copy=False)
        indices = A.indices[: A.nnz]
        self._indices = indices if indices.dtype in (np.int32, np.int64) else indices.astype(np.int64)
        if A.nnz and A.data.dtype != bool and not _all_ones(A.data):
            values = A.data[: A.nnz]
            self._values = values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)
        else:
            self._values = _NO_SCALE
        self._row_scale = _scale("row_scale", row_scale, self.shape[0])
        self._col_scale = _scale("col_scale", col_scale, self.shape[1])
        self._symmetric = symmetric

    @classmethod
    def of_arrays(
        cls,
        shape: tuple[int, int],
        arrays: tuple[Array, Array, Array],
        row_scale: Array = _NO_SCALE,
        col_scale: Array = _NO_SCALE,
    ) -> Sparse:
        """Return an operator on trusted arrays: indptr, indices, values. Empty values or scales are all 1."""
        new = object.__new__(cls)
        new.shape, new._symmetric = shape, False
        new._indptr, new._indices, new._values = arrays
        new._row_scale, new._col_scale = row_scale, col_scale
        return new

    def _with(self, row_scale: Array, col_scale: Array) -> Sparse:
        other = copy(self)
        for cached in ("T", "_sums", "_normal"):
            other.__dict__.pop(cached, None)
        other._row_scale, other._col_scale = row_scale, col_scale
        return other

    def scale_rows(self, scale: float | Array) -> Sparse:
        old = self._row_scale if len(self._row_scale) else np.ones(self.shape[0])
        return self._with(old * scale, self._col_scale)

    def scale_columns(self, scale: Array) -> Sparse:
        """Return ``self @ diag(scale)``."""
        old = self._col_scale if len(self._col_scale) else np.ones(self.shape[1])
        return self._with(self._row_scale, old * scale)

    def unweighted(self) -> tuple[Array, Array, Array] | None:
        """Return row pointers, columns and scales of rows if all else is 1, and None if not."""
        if len(self._values) or len(self._col_scale):
            return None
        scale = self._row_scale if len(self._row_scale) else np.ones(self.shape[0])
        return self._indptr, self._indices, scale.astype(np.float32)

    def balanced(self) -> Sparse:
        """Return the matrix with rows rescaled by powers of 2 to the range of float32; self if not needed.

        Only exponents change, so no precision is lost.
        """
        if not len(self._values) and not len(self._col_scale):
            return self
        top = self._row_tops()
        far = (top > 0) & ~((top >= SAFE[0]) & (top <= SAFE[1]))
        if not far.any():
            return self
        values = self.unscaled().data.astype(np.float64)
        per_row = np.diff(self._indptr)
        # in two steps: the factor from 1e-308 to 1 exceeds the largest power of 2
        shift = np.where(far, -np.frexp(top)[1], 0)
        for part in (shift // 2, shift - shift // 2):
            values = np.ldexp(values, np.repeat(part, per_row))
        A = sparse.csr_array((values, self._indices, self._indptr), shape=self.shape)
        return Sparse(A, symmetric=False)._with(self._row_scale, self._col_scale)

    def _row_tops(self) -> NDArray[np.float64]:
        """Return the largest entry of each row, before row_scale; 0 for an empty row."""
        values = self._values if len(self._values) else np.ones(1)
        scale = self._col_scale if len(self._col_scale) else np.ones(1)
        with np.errstate(over="ignore", under="ignore"):
            least, most = values.min() * scale.min(), values.max() * scale.max()
        if least >= SAFE[0] and most <= SAFE[1]:
            return np.ones(self.shape[0])  # the common case, without a pass over the rows
        if len(self._col_scale):
            values = values * self._col_scale[self._indices]
        top = np.zeros(self.shape[0])
        filled = np.flatnonzero(np.diff(self._indptr))
        top[filled] = np.maximum.reduceat(values, self._indptr[filled])
        return top

    @cached_property
    def T(self) -> Sparse:  # type: ignore[override]
        flipped: Any = None if self._symmetric else self.unscaled().T.tocsr()
        if self._symmetric is None:
            self._symmetric = (
                np.array_equal(flipped.indptr, self._indptr)
                and np.array_equal(flipped.indices, self._indices)
                and (not len(self._values) or np.array_equal(flipped.data, self._values))
            )
        other = self if self._symmetric else Sparse(flipped, symmetric=False)
        return other._with(self._col_scale, self._row_scale)

    def unscaled(self) -> sparse.csr_array:
        """Return A as a SciPy array that shares its memory (a value-free A gets int8 ones)."""
        data = self._values if len(self._values) else np.ones(len(self._indices), np.int8)
        return sparse.csr_array((data, self._indices, self._indptr), shape=self.shape)

    def tocsr(self) -> sparse.csr_array:
        """Return the scaled matrix as a SciPy array, with its own values."""
        A = self.unscaled()
        values = A.data.astype(np.float64)
        if len(self._col_scale):
            values *= self._col_scale[self._indices]
        if len(self._row_scale):
            values *= np.repeat(self._row_scale, np.diff(self._indptr))
        return sparse.csr_array((values, self._indices, self._indptr), shape=self.shape)

    @property
    def nnz(self) -> int:
        return len(self._indices)

    @property
    def nbytes(self) -> int:
        parts = (self._indptr, self._indices, self._values, self._row_scale, self._col_scale)
        return sum(part.nbytes for part in parts)

    def contents(self) -> Iterator[Array | str]:
        yield f"sparse {self.shape}"
        yield from (self._indptr, self._indices, self._values, self._row_scale, self._col_scale)

    def _row_sums(self) -> NDArray[np.float64]:
        if len(self._values):
            return super()._row_sums()
        if len(self._col_scale):
            sums = self._with(_NO_SCALE, _NO_SCALE) @ self._col_scale
        else:
            sums = np.diff(self._indptr).astype(np.float64)
        return sums * self._row_scale if len(self._row_scale) else sums

    def plan(self, runtime: Runtime, slot: tuple = ()) -> Plan:
        call = runtime.kernels.gather

        @cache
        def scales(real: type) -> tuple[Array, Array]:
            return self._row_scale.astype(real), self._col_scale.astype(real)

        def rows_of(X: Array) -> Rows:
            row_scale, col_scale = scales(np.float64 if X.dtype == np.float64 else np.float32)

            def rows(lo: int, hi: int, out: Array, add: Array) -> None:
                call(
                    self._indptr, self._indices, self._values, col_scale, row_scale, X, add, out, lo, hi
                )  # fmt: skip

            return rows

        return rows_of


def _all_ones(values: Array) -> bool:
    return all(bool(np.all(values[lo:hi] == 1)) for lo, hi in row_blocks(len(values), 1 << 20))


def _scale(name: str, scale: Array | None, size: int) -> NDArray[np.float64]:
    if scale is None:
        return _NO_SCALE
    scale = np.asarray(scale, np.float64)
    if scale.shape != (size,):
        raise InputError(f"{name} has shape {scale.shape}; expected ({size},)")
    return scale
