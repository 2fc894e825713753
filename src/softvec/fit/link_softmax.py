"""The softmax of links: the probability that an unknown link of an item leads to another one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.affinity.spectrum import two_sides
from softvec.core.checks import unit_rows

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Softmax:
    """Unit vectors of both ends of links, and the links that are known.

    Attributes
    ----------
    X, Y : ndarray of shape (n, d), (m, d)
        Unit vectors; the same object for one set of vectors.
    known : csr_array of shape (n, m), bool
    same : bool
        Whether rows and columns are the same items.
    mutual : bool
        Whether a link is the same in both directions.
    """

    X: Array
    Y: Array
    known: sparse.csr_array
    same: bool
    mutual: bool

    @classmethod
    def of(cls, X: Array, Y: Array | None, known: sparse.csr_array, *, same: bool, mutual: bool) -> Softmax:
        """Normalise the vectors."""
        unit = unit_rows(X.astype(np.float32))
        return cls(unit, unit if Y is None else unit_rows(Y.astype(np.float32)), known, same, mutual)

    @cached_property
    def degrees(self) -> Array:
        """Known links of each row."""
        return np.diff(self.known.indptr).astype(np.float64)

    @cached_property
    def log_size(self) -> Array:
        """Logarithm of the known links of each column; none counts as a half."""
        counts = np.bincount(self.known.indices, minlength=self.known.shape[1])
        return np.log(np.maximum(counts, 0.5)).astype(np.float32)

    def activity(self, power: float) -> Array:
        """Return how the links are expected to be shared among rows: as this power of the known ones.

        A row without known links gets none: none of its links was ever hidden.
        """
        weight = np.where(self.degrees > 0, np.maximum(self.degrees, 1) ** power, 0)
        return weight * (self.known.nnz / weight.sum())

    def expected(self, rows: Array, point: Array, share: float) -> tuple[Array, Array]:
        """Return the expected links of rows to all columns, if this share of all links is unknown.

        The second array are the logarithms of the sums.
        """
        log_p, log_z, _ = self.log_probabilities(rows, point)
        scale = share / (1 - share) * self.activity(point[2])[rows, None]
        return np.exp(log_p, out=log_p) * scale.astype(np.float32), log_z

    @cached_property
    def sides(self) -> tuple[Array, Array] | None:
        """Side of each node, and the opposite, if all links join one side to the other; else None."""
        return two_sides(self.known) if self.same and self.mutual else None

    def _drop_impossible(self, S: Array, rows: Array) -> None:
        """Set the scores of known links, of an item with itself, and within a side, to minus infinity."""
        part = self.known[rows]
        S[np.repeat(np.arange(len(rows)), np.diff(part.indptr)), part.indices] = -np.inf
        if self.same:
            S[np.arange(len(rows)), rows] = -np.inf
        if self.sides is not None:
            side, opposite = self.sides
            S[opposite[rows][:, None] != side] = -np.inf

    def log_probabilities(self, rows: Array, point: Array) -> tuple[Array, Array, Array]:
        """Return the logarithms of p for rows and all columns, those of its sums, and the cosines."""
        C = self.X[rows] @ self.Y.T
        S = np.float32(point[0]) * C
        S += np.float32(point[1]) * self.log_size
        self._drop_impossible(S, rows)
        top = S.max(axis=1)
        top[~np.isfinite(top)] = 0  # a row without possible links: its sum is 0
        with np.errstate(divide="ignore"):
            log_z = top + np.log(np.exp(S - top[:, None]).sum(axis=1))
        S -= np.where(np.isfinite(log_z), log_z, 0)[:, None]
        return S, log_z, C


def pair_scores(model: Softmax, point: Array, i: Array, j: Array) -> Array:
    """Return the logits of pairs; of links without direction, the mean of both."""
    a, c, power = point
    score = a * np.einsum("ij,ij->i", model.X[i], model.Y[j]) + c * model.log_size[j]
    if not model.mutual:
        return score + power * np.log(np.maximum(model.degrees[i], 0.5))
    return (score + a * np.einsum("ij,ij->i", model.X[j], model.Y[i]) + c * model.log_size[i]) / 2
