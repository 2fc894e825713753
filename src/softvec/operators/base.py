"""Operators and the runtime of their products: the interface, products, sums, powers, SciPy operators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec import kernels
from softvec.core.errors import InputError, InputTypeError
from softvec.core.machine import ALONE, Machine, machine
from softvec.core.scratch import empty
from softvec.core.threads import row_blocks

Array = NDArray[Any]
Rows = Callable[[int, int, Array, Array], None]  # rows(lo, hi, out, add): out = (op @ X)[lo:hi] + add
Plan = Callable[[Array], Rows]  # of X; used again for another X of the same shape and dtype


@dataclass
class Runtime:
    """Resources of a product: kernels, threads, block size, and scratch matrices reused across epochs."""

    kernels: ModuleType
    machine: Machine
    block: int = 4096
    _scratch: dict[tuple, Array] = field(default_factory=dict)
    _blocks: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    def scratch(self, key: tuple, shape: tuple[int, int], dtype: np.dtype) -> Array:
        """Return an uninitialised matrix; the same key returns the same memory."""
        array = self._scratch.get((*key, shape, dtype))
        if array is None:
            array = self._scratch[(*key, shape, dtype)] = empty(shape, dtype, random=True)
        return array

    def copied(self, X: Array, half: bool = True) -> Array:
        """Return a copy of X for products to read; float32 is stored in half precision (as uint16)."""
        out = empty(X.shape, np.uint16 if half and X.dtype == np.float32 else X.dtype, random=True)
        self._map(lambda lo, hi: self.kernels.to_half(X[lo:hi], out[lo:hi]), len(X))
        return out

    def _map(self, function: Callable[[int, int], None], n: int) -> None:
        if n not in self._blocks:  # a walk of three steps asks for them twice an epoch
            self._blocks[n] = row_blocks(n, self.block)
        self.machine.map(function, self._blocks[n])

    def fill(self, rows: Rows, out: Array, add: Array) -> None:
        """Compute all rows of a planned product into ``out``."""
        self._map(lambda lo, hi: rows(lo, hi, out[lo:hi], add[lo:hi]), len(out))


class Operator(ABC):
    """A real matrix, accessed only through its products; immutable."""

    shape: tuple[int, int]
    times = 1  # how often a product reads each of its parts
    _normal = False  # whether its rows are known to be non-negative, with sums of 1 or 0

    @property
    @abstractmethod
    def T(self) -> Operator:
        """The exact transpose, sharing memory if possible."""

    @property
    @abstractmethod
    def nnz(self) -> int:
        """Stored entries read by one product."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes held."""

    @abstractmethod
    def plan(self, runtime: Runtime, slot: tuple = ()) -> Plan:
        """Return a function of X that computes ``self @ X`` up to the last gather, and returns one for it."""

    def scale_rows(self, scale: float | Array) -> Operator:
        """Return ``diag(scale) @ self``."""
        from softvec.operators.sparse import Sparse

        values = np.broadcast_to(np.asarray(scale, float), self.shape[0])
        return Product([Sparse(sparse.diags_array(values, format="csr"), symmetric=True), self])

    @abstractmethod
    def contents(self) -> Iterator[Array | str]:
        """Yield everything the products depend on, for hashing: arrays, and strings for the structure."""

    def leaves(self) -> Iterator[Operator]:
        """Yield the operators that this one is composed of."""
        yield self

    def row_sums(self) -> NDArray[np.float64]:
        """Return ``self @ 1`` as float64; cached and read-only."""
        if "_sums" not in self.__dict__:
            self.__dict__["_sums"] = self._row_sums()
            self.__dict__["_sums"].flags.writeable = False
        return self.__dict__["_sums"]

    def _row_sums(self) -> NDArray[np.float64]:
        return self @ np.ones(self.shape[1])

    def __matmul__(self, X: Array) -> Array:
        X = np.asarray(X)
        if X.ndim not in (1, 2) or X.shape[0] != self.shape[1]:
            raise InputError(f"cannot multiply {self!r} with an array of shape {X.shape}")
        single = X.dtype == np.float32
        columns = np.ascontiguousarray(
            X if X.ndim == 2 else X[:, None], dtype=np.float32 if single else np.float64
        )
        out = empty((self.shape[0], columns.shape[1]), columns.dtype)
        work = self.nnz * columns.shape[1]
        with machine() if kernels.worth_compiling(work) else nullcontext(ALONE) as pool:
            runtime = Runtime(kernels.select(work), pool)
            runtime.fill(self.plan(runtime)(columns), out, columns[:0])
        return out.reshape(-1) if X.ndim == 1 else out

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.shape[0]:,} x {self.shape[1]:,}, {self.nnz:,} stored entries>"


class Composite(Operator):
    """An operator made of parts."""

    parts: tuple[Operator, ...]

    @property
    def compose(self) -> Callable[[Sequence[Any]], Operator]:
        """The function that makes an operator like this one of other parts; it can be pickled."""
        return type(self)

    @property
    def nnz(self) -> int:
        return self.times * sum(part.nnz for part in self.parts)

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self.parts)

    def contents(self) -> Iterator[Array | str]:
        yield f"{type(self).__name__.lower()} of {len(self.parts)}"
        for part in self.parts:
            yield from part.contents()

    def leaves(self) -> Iterator[Operator]:
        for part in self.parts:
            yield from part.leaves()

    @property
    def T(self) -> Operator:
        return self.compose([part.T for part in self.parts])


class Product(Composite):
    """The product of a list of operators, applied right to left."""

    def __init__(self, factors: Sequence[Any]):
        self.parts = tuple(as_operator(factor) for factor in factors)
        if not self.parts:
            raise InputError("a product needs at least one factor")
        for left, right in zip(self.parts, self.parts[1:]):
            if left.shape[1] != right.shape[0]:
                raise InputError(f"factors of shapes {left.shape} and {right.shape} cannot be multiplied")
        self.shape = (self.parts[0].shape[0], self.parts[-1].shape[1])

    @property
    def T(self) -> Product:
        return Product([factor.T for factor in reversed(self.parts)])

    def scale_rows(self, scale: float | Array) -> Product:
        return Product([self.parts[0].scale_rows(scale), *self.parts[1:]])

    def plan(self, runtime: Runtime, slot: tuple = ()) -> Plan:
        first, *others = self.parts
        last = first.plan(runtime, (*slot, "first"))
        plans = [factor.plan(runtime, (*slot, i)) for i, factor in enumerate(reversed(others))]

        def rows_of(X: Array) -> Rows:
            for i, (factor, plan) in enumerate(zip(reversed(others), plans)):
                key = (*slot, "product", i % 2)  # two scratch matrices in turn
                Y = runtime.scratch(key, (factor.shape[0], X.shape[1]), X.dtype)
                runtime.fill(plan(X), Y, X[:0])
                X = Y
            return last(X)

        return rows_of


class Sum(Composite):
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
        self.parts = tuple(parts)
        self.shape = parts[0].shape

    def scale_rows(self, scale: float | Array) -> Sum:
        return Sum([part.scale_rows(scale) for part in self.parts])

    def plan(self, runtime: Runtime, slot: tuple = ()) -> Plan:
        plans = [part.plan(runtime, (*slot, "sum", i)) for i, part in enumerate(self.parts)]

        def rows_of(X: Array) -> Rows:
            parts = [plan(X) for plan in plans]

            def rows(lo: int, hi: int, out: Array, add: Array) -> None:
                for part in parts:
                    part(lo, hi, out, add)
                    add = out

            return rows

        return rows_of


class Powers(Composite):
    """The mean of the powers 1..length of a square operator, by Horner's rule: ``length`` products."""

    def __init__(self, operator: Any, length: int):
        base = as_operator(operator)
        if base.shape[0] != base.shape[1]:
            raise InputError(f"powers need a square operator, not one of shape {base.shape}")
        if length < 1:
            raise InputError(f"length is {length}; expected at least 1")
        self.parts, self.times, self.shape = (base,), int(length), base.shape
        self._last = base.scale_rows(1.0 / length)

    @property
    def compose(self) -> Callable[[Sequence[Any]], Operator]:
        return partial(_powers, length=self.times)

    def contents(self) -> Iterator[Array | str]:
        yield f"powers up to {self.times}"
        yield from self.parts[0].contents()

    def _row_sums(self) -> NDArray[np.float64]:
        base = self.parts[0]
        first = base.row_sums()
        second = first if self.times == 1 else base @ first
        # if the second step preserves the sums, so do all later ones
        kept = np.allclose(first, second, rtol=1e-12, atol=0)
        return first if kept else super()._row_sums()

    def plan(self, runtime: Runtime, slot: tuple = ()) -> Plan:
        base, last = self.parts[0].plan(runtime, (*slot, "base")), self._last.plan(runtime, (*slot, "last"))

        # (1/w) A (X + A (X + A X)): inner sums alternate between two scratch matrices, the last one in a
        # matrix of its own, the one before it in a matrix shared by all powers
        def rows_of(X: Array) -> Rows:
            inner = X
            for i in range(self.times - 1):
                own = (self.times - i) % 2 == 0
                Y = runtime.scratch((*slot, "powers") if own else ("shared", len(slot)), X.shape, X.dtype)
                runtime.fill(base(inner), Y, X)
                inner = Y
            return last(inner)

        return rows_of


def _powers(parts: Sequence[Any], length: int) -> Powers:
    return Powers(parts[0], length)


class LinearOperatorAdapter(Operator):
    """A SciPy ``LinearOperator`` (or anything with ``shape``, ``matmat`` and ``T``)."""

    def __init__(self, operator: Any):
        self._operator = operator
        self.shape = (int(operator.shape[0]), int(operator.shape[1]))

    @property
    def T(self) -> LinearOperatorAdapter:
        return LinearOperatorAdapter(self._operator.T)

    @property
    def nnz(self) -> int:
        return self.shape[0] + self.shape[1]  # unknown; more than an empty matrix has

    @property
    def nbytes(self) -> int:
        return 0

    def contents(self) -> Iterator[Array | str]:
        # only products are available: a random one distinguishes two operators
        yield f"foreign {self.shape}"
        probe = np.random.default_rng(0).standard_normal((self.shape[1], 2))
        yield np.asarray(self._operator.matmat(probe))

    def plan(self, runtime: Runtime, slot: tuple = ()) -> Plan:
        return self._rows_of

    def _rows_of(self, X: Array) -> Rows:
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
    from softvec.operators.sparse import Sparse

    if isinstance(P, Operator):
        return P
    if sparse.issparse(P):
        return Sparse(P)
    if hasattr(P, "matmat") and hasattr(P, "shape"):
        return LinearOperatorAdapter(P)
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
