"""The operator interface, and the runtime of its products."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec import kernels
from softvec.core.errors import InputError
from softvec.core.machine import ALONE, Machine, machine
from softvec.core.scratch import empty
from softvec.core.threads import row_blocks

Array = NDArray[Any]
Rows = Callable[[int, int, Array, Array], None]  # rows(lo, hi, out, add): out = (op @ X)[lo:hi] + add


@dataclass
class Runtime:
    """Resources of a product: kernels, threads, block size, and scratch matrices reused across epochs."""

    kernels: ModuleType
    machine: Machine
    block: int = 4096
    _scratch: dict[tuple, Array] = field(default_factory=dict)

    def scratch(self, key: tuple, shape: tuple[int, int], dtype: np.dtype) -> Array:
        """Return an uninitialised matrix; the same key returns the same memory."""
        array = self._scratch.get((*key, shape, dtype))
        if array is None:
            array = self._scratch[(*key, shape, dtype)] = empty(shape, dtype, random=True)
        return array

    def copied(self, X: Array, half: bool = True) -> Array:
        """Return a copy of X for products to read; float32 is stored in half precision (as uint16)."""
        out = empty(X.shape, np.uint16 if half and X.dtype == np.float32 else X.dtype, random=True)
        self.machine.map(
            lambda lo, hi: self.kernels.to_half(X[lo:hi], out[lo:hi]), row_blocks(len(X), self.block)
        )
        return out

    def fill(self, rows: Rows, out: Array, add: Array) -> None:
        """Compute all rows of a planned product into ``out``."""
        none = add[:0]

        def fill_block(lo: int, hi: int) -> None:
            rows(lo, hi, out[lo:hi], add[lo:hi] if len(add) else none)

        self.machine.map(fill_block, row_blocks(len(out), self.block))


class Operator(ABC):
    """A real matrix, accessed only through its products; immutable."""

    shape: tuple[int, int]
    normal = False  # whether its rows are known to be non-negative, with sums of 1 or 0

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
    def plan(self, X: Array, runtime: Runtime, slot: tuple = ()) -> Rows:
        """Compute ``self @ X`` up to the last gather; return a function that computes blocks of its rows."""

    @abstractmethod
    def scale_rows(self, scale: float | Array) -> Operator:
        """Return ``diag(scale) @ self``."""

    @abstractmethod
    def contents(self) -> Iterator[Array | str]:
        """Yield everything the products depend on, for hashing: arrays, and strings for the structure."""

    @property
    def leaf(self) -> Operator:
        """The operator that determines the rows of this one: itself, or its first part's leaf."""
        return self

    def diagonal(self, values: Array) -> Operator:
        """Return the diagonal matrix with one value for each row."""
        if self.leaf is not self:
            return self.leaf.diagonal(values)
        from softvec.operators.sparse import Sparse

        return Sparse(sparse.diags_array(values, format="csr"), symmetric=True)

    def balanced(self) -> Operator:
        """Return the operator with rows rescaled to the range of float32; self if that is not needed."""
        return self

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
            runtime.fill(self.plan(columns, runtime), out, columns[:0])
        return out.reshape(-1) if X.ndim == 1 else out

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.shape[0]:,} x {self.shape[1]:,}, {self.nnz:,} stored entries>"
