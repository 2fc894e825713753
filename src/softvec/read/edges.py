"""Edges: blocks of coded pairs with weights and times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.checks import choice, counted
from softvec.core.errors import InputError, guess
from softvec.core.machine import Machine
from softvec.core.scratch import Segments, empty
from softvec.names import Names
from softvec.names.coding import Block, Codes, NameCoder, Tokens

NEGATIVE = ("auto", "sign", "error", "drop", "abs")  # auto: whole numbers are signs, others an error


@dataclass(frozen=True)
class Edges:
    """Pairs of row and column numbers in blocks, with their names and optional weights and times."""

    codes: list[Codes]  # each (edges, 2)
    rows: Names
    columns: Names
    weights: list[NDArray[np.floating]] | None = None
    times: list[NDArray[Any]] | None = None
    notes: tuple[str, ...] = ()
    zoned: bool = False  # the times are dates with a zone, in UTC

    def __len__(self) -> int:
        return sum(map(len, self.codes))

    @property
    def two_sided(self) -> bool:
        """Whether rows and columns are different items."""
        return self.rows is not self.columns

    @property
    def data_kind(self) -> str:
        """The kind of data: temporal with times, bipartite if rows and columns differ, else graph."""
        return "temporal" if self.times is not None else "bipartite" if self.two_sided else "graph"

    def pairs(self) -> Codes:
        """Return all pairs in one array of shape (edges, 2)."""
        return np.concatenate(self.codes) if self.codes else np.empty((0, 2), np.int32)


@dataclass
class EdgeBuilder:
    """Collects blocks of edges, of one file or several."""

    two_sided: bool = False
    negative: str = "error"
    missing: str = "error"
    min_weight: float | None = None
    _names: list[NameCoder] = field(default_factory=list)
    _weights: Segments = field(default_factory=Segments)
    _times: Segments = field(default_factory=Segments)
    _zoned: bool = False
    dropped: int = 0  # rows with negative weights
    incomplete: int = 0  # rows with missing values
    light: int = 0  # rows with weights below the minimum

    def __post_init__(self) -> None:
        choice("negative", self.negative, NEGATIVE)
        self._names = [NameCoder() for _ in range(1 + self.two_sided)]

    def use(self, pool: Machine | None) -> None:
        """Look names up in the threads of this pool."""
        for names in self._names:
            names.pool = pool

    def blocks_of(self, side: int) -> type | None:
        """Return the kind of the blocks added so far: Tokens, ndarray, list, or None."""
        return self._names[side].kind

    @property
    def maybe_integers(self) -> bool:
        """Whether all names so far are integers."""
        return all(names.kind in (None, np.ndarray) for names in self._names)

    def add(
        self,
        sides: Sequence[Block],
        weights: NDArray[np.floating] | None = None,
        times: NDArray[Any] | None = None,
        zoned: bool = False,
    ) -> None:
        """Add a block: one side of two columns, or two sides of one column each. ``zoned``: times in UTC."""
        sides, weights, times = self.kept(sides, weights, times)
        if weights is not None:
            self._weights.add(weights)
        if times is not None:
            before = self._times.parts[-1].dtype.kind if self._times.parts else times.dtype.kind
            if (before == "M") != (times.dtype.kind == "M"):
                raise InputError("some times are dates and others numbers; write all of them as dates")
            if self._times.parts and self._zoned != zoned:
                raise InputError("some times have a time zone and others none; expected all or none")
            self._zoned = zoned
            self._times.add(times)
        for names, side in zip(self._names, sides):
            names.add(side)

    def kept(
        self, sides: Sequence[Block], weights: NDArray[Any] | None, times: NDArray[Any] | None
    ) -> tuple[Sequence[Block], NDArray[Any] | None, NDArray[Any] | None]:
        """Apply ``negative`` and ``min_weight``: take absolute weights, or drop rows."""
        if weights is None or not len(weights):
            return sides, weights, times
        if self.negative == "abs":
            weights = np.abs(weights)
        if self.negative != "drop" and self.min_weight is None:
            return sides, weights, times
        keep = weights >= 0 if self.negative == "drop" else np.ones(len(weights), bool)
        self.dropped += int(len(keep) - keep.sum())
        if self.min_weight is not None:
            light = keep & (weights < self.min_weight)
            self.light += int(light.sum())
            keep &= ~light
        if keep.all():
            return sides, weights, times
        times = None if times is None else times[keep]
        return [_select(side, keep) for side in sides], weights[keep], times

    def finish(self) -> Edges:
        """Return the edges; the builder cannot be used again."""
        done = [names.finish() for names in self._names]
        if self.two_sided:
            (left, rows), (right, columns) = done
            codes = [_side_by_side(*part) for part in zip(left, right)]
        else:
            codes, rows = done[0]
            columns = rows
        for names in (rows, columns) if self.two_sided else (rows,):
            if (twice := names.written_twice()) is not None:
                text = (
                    f"{twice[1]!r} is written with composed and with separate marks, and read as two items; "
                )
                guess(text, "bring the names to one form (NFC)")
        weights, times = self._weights.finish() or None, self._times.finish() or None
        return Edges(codes, rows, columns, weights, times, self._notes(), self._zoned)

    def _notes(self) -> tuple[str, ...]:
        """Return notes on the numbers of rows that were dropped."""
        negative = f"{counted(self.dropped, 'negative weight')} dropped"
        incomplete = f"{counted(self.incomplete, 'row')} with missing values dropped"
        light = f"{counted(self.light, 'edge')} below {self.min_weight} dropped"
        counts = ((self.dropped, negative), (self.incomplete, incomplete), (self.light, light))
        return tuple(note for count, note in counts if count)


def edges_of(builder: EdgeBuilder, source: str) -> Edges:
    """Return the edges of a file; raise an error if there are none."""
    edges = builder.finish()
    if not len(edges):
        raise InputError(f"{source} is empty: it has no edges")
    return edges


def _side_by_side(left: Codes, right: Codes) -> Codes:
    codes = empty((len(left), 2), left.dtype)
    codes[:, :1], codes[:, 1:] = left, right
    return codes


def _select(side: Block, keep: NDArray[np.bool_]) -> Block:
    if isinstance(side, Tokens):
        return Tokens(side.buf, side.starts[keep], side.ends[keep], side.hashes[keep])
    return side[keep] if isinstance(side, np.ndarray) else [row for row, k in zip(side, keep) if k]
