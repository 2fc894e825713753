"""What every operator can do, and what a product runs on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec import kernels
from softvec.core.errors import InputError
from softvec.core.scratch import empty
from softvec.core.threads import Workers, row_blocks, workers

Array = NDArray[Any]
Rows = Callable[[int, int, Array, Array], None]  # rows(lo, hi, out, add): out = (op @ X)[lo:hi] + add


@dataclass
class Runtime:
    """What a product runs on: kernels, threads, block size, and scratch matrices that live across epochs."""

    kernels: ModuleType
    workers: Workers
    block: int = 4096
    _scratch: dict[tuple, Array] = field(default_factory=dict)

    def scratch(self, key: tuple, shape: tuple[int, int], dtype: np.dtype) -> Array:
        """Return a matrix to overwrite; the same key gets the same memory again."""
        array = self._scratch.get((*key, shape, dtype))
        if array is None:
            array = self._scratch[(*key, shape, dtype)] = empty(shape, dtype, random=True)
        return array

    def copied(self, X: Array, half: bool = True) -> Array:
        """Return a copy of X for products to read: of float32, in half precision (kept as uint16)."""
        out = empty(X.shape, np.uint16 if half and X.dtype == np.float32 else X.dtype, random=True)
        self.workers.map(
            lambda lo, hi: self.kernels.to_half(X[lo:hi], out[lo:hi]), row_blocks(len(X), self.block)
        )
        return out

    def fill(self, rows: Rows, out: Array, add: Array) -> None:
        """Compute all rows of a planned product into ``out``."""
        none = add[:0]

        def fill_block(lo: int, hi: int) -> None:
            rows(lo, hi, out[lo:hi], add[lo:hi] if len(add) else none)

        self.workers.map(fill_block, row_blocks(len(out), self.block))


class Operator(ABC):
    """A real matrix, known only by its products; immutable."""

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

    @abstractmethod
    def contents(self) -> Iterator[Array | str]:
        """Yield all that the products depend on, for a hash: arrays, and words for what joins them."""

    def row_sums(self) -> NDArray[np.float64]:
        """Return ``self @ 1`` as float64; computed once, not to be written to."""
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
        columns = np.ascontiguousarray(X.reshape(len(X), -1), dtype=np.float32 if single else np.float64)
        out = empty((self.shape[0], columns.shape[1]), columns.dtype)
        work = self.nnz * columns.shape[1]
        with workers() if kernels.worth_compiling(work) else nullcontext(Workers(1, None)) as pool:
            runtime = Runtime(kernels.select(work), pool)
            runtime.fill(self.plan(columns, runtime), out, columns[:0])
        return out.reshape(-1) if X.ndim == 1 else out

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.shape[0]:,} x {self.shape[1]:,}, {self.nnz:,} stored entries>"
