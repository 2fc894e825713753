"""Matrices that are only ever multiplied: sparse, scaled, products, sums and means of powers.

Nothing is materialised. Each operator has an exact transpose, and every product ends in one sparse gather
whose rows can be asked for block by block (:meth:`Operator.plan`), so that the optimiser fuses it with the
rest of its step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec import kernels
from softvec._parallel import Workers, row_blocks, workers
from softvec.errors import InputError, InputTypeError

Array = NDArray[Any]
Rows = Callable[[int, int, Array, Array], None]  # rows(lo, hi, out, add): out = (op @ X)[lo:hi] + add
_NO_SCALE = np.empty(0, np.float64)
DANGLING = ("zero", "self", "error")


@dataclass
class Runtime:
    """What a product runs on: kernels, threads, block size, and scratch matrices that live across epochs."""

    kernels: ModuleType
    workers: Workers
    block: int = 4096
    _scratch: dict[tuple, Array] = field(default_factory=dict)

    def scratch(self, key: tuple, shape: tuple[int, int], dtype: np.dtype) -> Array:
        """Return a matrix to overwrite; the same key gets the same memory again."""
        found = self._scratch.get((*key, shape, dtype))
        if found is None:
            found = self._scratch[(*key, shape, dtype)] = np.empty(shape, dtype)
        return found

    def fill(self, rows: Rows, out: Array, add: Array) -> None:
        """Compute all rows of a planned product into ``out``."""
        none = add[:0]

        def one(lo: int, hi: int) -> None:
            rows(lo, hi, out[lo:hi], add[lo:hi] if len(add) else none)

        self.workers.map(one, row_blocks(len(out), self.block))


class Operator(ABC):
    """A real matrix known by its products; immutable."""

    shape: tuple[int, int]

    @property
    @abstractmethod
    def T(self) -> Operator:
        """The exact transpose, sharing memory where it can."""

    @property
    @abstractmethod
    def nnz(self) -> int:
        """Stored entries read by one product."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes held."""

    @abstractmethod
    def plan(self, X: Array, runtime: Runtime, slot: tuple = ()) -> Rows:
        """Do all of ``self @ X`` but its last gather; return the function that computes rows of it."""

    @abstractmethod
    def scale_rows(self, scale: float | Array) -> Operator:
        """Return ``diag(scale) @ self``."""

    def row_sums(self) -> NDArray[np.float64]:
        """Return ``self @ 1`` as float64."""
        return self @ np.ones(self.shape[1])

    def __matmul__(self, X: Array) -> Array:
        X = np.asarray(X)
        if X.ndim not in (1, 2) or X.shape[0] != self.shape[1]:
            raise InputError(f"cannot multiply {self!r} with an array of shape {X.shape}")
        single = X.dtype == np.float32
        columns = np.ascontiguousarray(X.reshape(len(X), -1), dtype=np.float32 if single else np.float64)
        out = np.empty((self.shape[0], columns.shape[1]), columns.dtype)
        with workers() as pool:
            runtime = Runtime(kernels.select(self.nnz * columns.shape[1]), pool)
            runtime.fill(self.plan(columns, runtime), out, columns[:0])
        return out.reshape(-1) if X.ndim == 1 else out

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.shape[0]:,} x {self.shape[1]:,}, {self.nnz:,} stored entries>"


class Sparse(Operator):
    """``diag(row_scale) A diag(col_scale)`` for a sparse A; shares A's memory.

    Parameters
    ----------
    A : SciPy sparse matrix or array, of any format
        Values are not stored when all of them are 1.
    row_scale, col_scale : array_like, optional
        Diagonal scalings, applied on the fly.
    symmetric : bool, optional
        Whether ``A`` equals its transpose, if known; otherwise found out when the transpose is asked for.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> A = Sparse(sp.csr_array(np.array([[0.0, 2.0], [1.0, 3.0]])))
    >>> A @ np.array([1.0, 1.0])
    array([2., 4.])
    >>> A.T @ np.array([1.0, 1.0])
    array([1., 5.])
    """

    def __init__(
        self,
        A: Any,
        *,
        row_scale: Array | None = None,
        col_scale: Array | None = None,
        symmetric: bool | None = None,
    ):
        A = A.tocsr() if sparse.issparse(A) else sparse.csr_array(np.asarray(A))
        if A.dtype.kind not in "fiub":
            raise InputError(f"a matrix of dtype {A.dtype} is not numeric; convert it to float")
        self.shape = (int(A.shape[0]), int(A.shape[1]))
        self._indptr = A.indptr.astype(np.int64, copy=False)
        self._indices = A.indices
        if A.nnz and A.data.dtype != bool and not np.all(A.data == 1):
            exact = A.data.dtype in (np.float32, np.float64)
            self._values = A.data if exact else A.data.astype(np.float64)
        else:
            self._values = _NO_SCALE
        self._row_scale = _scale("row_scale", row_scale, self.shape[0])
        self._col_scale = _scale("col_scale", col_scale, self.shape[1])
        self._symmetric = symmetric

    def _with(self, row_scale: Array, col_scale: Array) -> Sparse:
        other = object.__new__(Sparse)
        other.__dict__.update(self.__dict__)
        other.__dict__.pop("T", None)
        other._row_scale, other._col_scale = row_scale, col_scale
        return other

    def scale_rows(self, scale: float | Array) -> Sparse:
        old = self._row_scale if len(self._row_scale) else np.ones(self.shape[0])
        return self._with(old * scale, self._col_scale)

    @cached_property
    def T(self) -> Sparse:  # type: ignore[override]
        if self._symmetric is None and self.shape[0] == self.shape[1]:
            flipped = self.unscaled().T.tocsr()
            self._symmetric = (
                np.array_equal(flipped.indptr, self._indptr)
                and np.array_equal(flipped.indices, self._indices)
                and (not len(self._values) or np.array_equal(flipped.data, self._values))
            )
        elif not self._symmetric:
            flipped = self.unscaled().T.tocsr()
        if self._symmetric:
            return self._with(self._col_scale, self._row_scale)
        other = Sparse(flipped, symmetric=False)
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

    def row_sums(self) -> NDArray[np.float64]:
        if len(self._values) or len(self._col_scale):
            return super().row_sums()
        degrees = np.diff(self._indptr).astype(np.float64)
        return degrees * self._row_scale if len(self._row_scale) else degrees

    def plan(self, X: Array, runtime: Runtime, slot: tuple = ()) -> Rows:
        real = np.dtype(np.float64 if X.dtype == np.float64 else np.float32)
        row_scale, col_scale = self._row_scale.astype(real), self._col_scale.astype(real)
        call = runtime.kernels.gather

        def rows(lo: int, hi: int, out: Array, add: Array) -> None:
            call(
                self._indptr, self._indices, self._values, col_scale, row_scale, X, add, out, lo, hi
            )  # fmt: skip

        return rows


def _scale(name: str, scale: Array | None, size: int) -> NDArray[np.float64]:
    if scale is None:
        return _NO_SCALE
    scale = np.asarray(scale, np.float64)
    if scale.shape != (size,):
        raise InputError(f"{name} has shape {scale.shape}; expected ({size},)")
    return scale


class Product(Operator):
    """The product of a list of operators, applied right to left."""

    def __init__(self, factors: Sequence[Any]):
        self._factors = tuple(as_operator(factor) for factor in factors)
        if not self._factors:
            raise InputError("a product needs at least one factor")
        for left, right in zip(self._factors, self._factors[1:]):
            if left.shape[1] != right.shape[0]:
                raise InputError(f"factors of shapes {left.shape} and {right.shape} cannot be multiplied")
        self.shape = (self._factors[0].shape[0], self._factors[-1].shape[1])

    @property
    def T(self) -> Product:
        return Product([factor.T for factor in reversed(self._factors)])

    @property
    def nnz(self) -> int:
        return sum(factor.nnz for factor in self._factors)

    @property
    def nbytes(self) -> int:
        return sum(factor.nbytes for factor in self._factors)

    def scale_rows(self, scale: float | Array) -> Product:
        return Product([self._factors[0].scale_rows(scale), *self._factors[1:]])

    def plan(self, X: Array, runtime: Runtime, slot: tuple = ()) -> Rows:
        for i, factor in enumerate(reversed(self._factors[1:])):
            key = (*slot, "product", i % 2)  # two scratch matrices in turn
            Y = runtime.scratch(key, (factor.shape[0], X.shape[1]), X.dtype)
            runtime.fill(factor.plan(X, runtime, (*slot, i)), Y, X[:0])
            X = Y
        return self._factors[0].plan(X, runtime, (*slot, "first"))


class Sum(Operator):
    """A weighted sum of operators of one shape."""

    def __init__(self, operators: Sequence[Any], weights: Sequence[float] | None = None):
        parts = [as_operator(operator) for operator in operators]
        if not parts:
            raise InputError("a sum needs at least one operator")
        if any(part.shape != parts[0].shape for part in parts):
            raise InputError(f"operators of shapes {[part.shape for part in parts]} cannot be added")
        if weights is not None:
            if len(weights) != len(parts):
                raise InputError(f"{len(weights)} weights for {len(parts)} operators")
            parts = [part.scale_rows(float(weight)) for part, weight in zip(parts, weights)]
        self._parts = tuple(parts)
        self.shape = parts[0].shape

    @property
    def T(self) -> Sum:
        return Sum([part.T for part in self._parts])

    @property
    def nnz(self) -> int:
        return sum(part.nnz for part in self._parts)

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self._parts)

    def scale_rows(self, scale: float | Array) -> Sum:
        return Sum([part.scale_rows(scale) for part in self._parts])

    def plan(self, X: Array, runtime: Runtime, slot: tuple = ()) -> Rows:
        plans = [part.plan(X, runtime, (*slot, "sum", i)) for i, part in enumerate(self._parts)]

        def rows(lo: int, hi: int, out: Array, add: Array) -> None:
            for one in plans:
                one(lo, hi, out, add)
                add = out

        return rows


class Powers(Operator):
    """The mean of the powers 1..length of a square operator, by Horner's rule: ``length`` products."""

    def __init__(self, operator: Any, length: int):
        self._base = as_operator(operator)
        if self._base.shape[0] != self._base.shape[1]:
            raise InputError(f"powers need a square operator, not one of shape {self._base.shape}")
        if length < 1:
            raise InputError(f"length is {length}; the mean of powers needs at least 1")
        self._length = int(length)
        self._last = self._base.scale_rows(1.0 / length)
        self.shape = self._base.shape

    @property
    def T(self) -> Powers:
        return Powers(self._base.T, self._length)

    @property
    def nnz(self) -> int:
        return self._length * self._base.nnz

    @property
    def nbytes(self) -> int:
        return self._base.nbytes

    def scale_rows(self, scale: float | Array) -> Operator:
        diagonal = sparse.diags_array(np.broadcast_to(np.asarray(scale, float), self.shape[0]), format="csr")
        return Product([Sparse(diagonal, symmetric=True), self])

    def plan(self, X: Array, runtime: Runtime, slot: tuple = ()) -> Rows:
        # (1/w) A (X + A (X + A X)): inner sums go to two scratch matrices in turn; the last to one of its own,
        # the one before it to one that all powers share
        inner = X
        for i in range(self._length - 1):
            own = (self._length - i) % 2 == 0
            Y = runtime.scratch((*slot, "powers") if own else ("shared",), X.shape, X.dtype)
            runtime.fill(self._base.plan(inner, runtime, (*slot, "base")), Y, X)
            inner = Y
        return self._last.plan(inner, runtime, (*slot, "last"))


class Foreign(Operator):
    """A SciPy ``LinearOperator`` (or anything with ``shape``, ``matmat`` and ``T``)."""

    def __init__(self, operator: Any):
        self._operator = operator
        self.shape = (int(operator.shape[0]), int(operator.shape[1]))

    @property
    def T(self) -> Foreign:
        return Foreign(self._operator.T)

    @property
    def nnz(self) -> int:
        return self.shape[0] + self.shape[1]  # unknown; enough to rank it above an empty matrix

    @property
    def nbytes(self) -> int:
        return 0

    def scale_rows(self, scale: float | Array) -> Operator:
        diagonal = sparse.diags_array(np.broadcast_to(np.asarray(scale, float), self.shape[0]), format="csr")
        return Product([Sparse(diagonal, symmetric=True), self])

    def plan(self, X: Array, runtime: Runtime, slot: tuple = ()) -> Rows:
        real = X.view(np.float16).astype(np.float32) if X.dtype == np.uint16 else X
        Y = np.ascontiguousarray(self._operator.matmat(real), dtype=real.dtype)

        def rows(lo: int, hi: int, out: Array, add: Array) -> None:
            part = Y[lo:hi]
            if len(add):
                part = part + (add.view(np.float16) if add.dtype == np.uint16 else add)
            out[...] = part.astype(np.float16).view(np.uint16) if out.dtype == np.uint16 else part

        return rows


def as_operator(P: Any) -> Operator:
    """Return P as an :class:`Operator`.

    Parameters
    ----------
    P : Operator, SciPy sparse matrix or array, LinearOperator, or dense array of shape (n, m)

    Examples
    --------
    >>> as_operator([[0.0, 1.0], [1.0, 0.0]])
    <Sparse 2 x 2, 2 stored entries>
    """
    if isinstance(P, Operator):
        return P
    if sparse.issparse(P):
        return Sparse(P)
    if hasattr(P, "matmat") and hasattr(P, "shape"):
        return Foreign(P)
    try:
        dense = np.asarray(P)
    except ValueError as error:  # ragged nested lists
        raise InputError(f"P is not a matrix: {error}") from error
    if dense.ndim != 2:
        raise InputError(
            f"P has shape {dense.shape}; expected a matrix of two dimensions. Reshape your data, "
            "or pass a list of pairs to softvec.affinity.pairs"
        )
    if dense.dtype.kind not in "fiub":
        dense = _numeric(dense)
    return Sparse(sparse.csr_array(dense))


def _numeric(dense: Array) -> Array:
    if dense.dtype.kind == "c":
        raise InputError("Complex data not supported: P holds complex numbers; pass real, non-negative ones")
    try:
        return dense.astype(np.float64)
    except (TypeError, ValueError) as error:
        kind = InputTypeError if isinstance(error, TypeError) else InputError
        raise kind(f"P holds entries that are not numbers ({error}); convert it to float") from error


def check_nonnegative(P: Operator, name: str = "P") -> None:
    """Raise :class:`InputError` where a stored entry of ``P`` is negative, NaN or infinite."""
    parts: list[Operator] = [P]
    while parts:
        part = parts.pop()
        if isinstance(part, Sparse):
            for values in (part._values, part._row_scale, part._col_scale):
                _check_values(values, part, name)
        elif isinstance(part, Product):
            parts += part._factors
        elif isinstance(part, Sum):
            parts += part._parts
        elif isinstance(part, Powers):
            parts.append(part._base)


def _check_values(values: Array, part: Sparse, name: str) -> None:
    if not len(values) or (values.min() >= 0 and np.isfinite(values.sum(dtype=np.float64))):
        return
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if not len(bad):
        return
    where = f"position {bad[0]}"
    if values is part._values:
        row = int(np.searchsorted(part._indptr, bad[0], side="right")) - 1
        where = f"row {row}, column {part._indices[bad[0]]}"
    value = values[bad[0]]
    kind = "Negative values" if value < 0 else "NaN or infinite values"
    raise InputError(
        f"{kind} in data: {name} has {len(bad):,} such entries (first: {value} at {where}); "
        "affinities must be finite and >= 0"
    )


def row_normalize(P: Any, dangling: str = "zero") -> Operator:
    """Divide each row by its sum, without a copy of the matrix.

    Parameters
    ----------
    P : anything :func:`as_operator` takes
    dangling : {"zero", "self", "error"}
        What becomes of a row that sums to 0: it stays zero and has no weight in the loss, it points to
        itself (square P only), or it is an error.

    Examples
    --------
    >>> import numpy as np
    >>> row_normalize(np.array([[1.0, 3.0], [0.0, 0.0]]), dangling="self").row_sums()
    array([1., 1.])
    """
    if dangling not in DANGLING:
        raise InputError(f"dangling is {dangling!r}; expected one of {', '.join(DANGLING)}")
    operator = as_operator(P)
    check_nonnegative(operator)
    sums = operator.row_sums()
    empty = sums <= 0
    if dangling == "error" and empty.any():
        raise InputError(
            f"P has {empty.sum():,} rows that sum to 0 (first: row {int(np.argmax(empty))}); "
            'pass dangling="self" or dangling="zero", or drop them'
        )
    normal = operator.scale_rows(np.divide(1.0, sums, out=np.zeros_like(sums), where=~empty))
    if dangling == "self" and empty.any():
        if operator.shape[0] != operator.shape[1]:
            raise InputError('dangling="self" needs a square P; use "zero" for a two-sided one')
        loops = sparse.diags_array(empty.astype(np.float64), format="csr")
        loops.eliminate_zeros()
        return Sum([normal, Sparse(loops, symmetric=True)])
    return normal
