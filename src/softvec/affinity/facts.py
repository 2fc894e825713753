"""What the data is like: the facts of an affinity that decide how it is fitted, measured once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from softvec.affinity.base import Affinity

_EVEN = 1e-15  # smallest weight over largest: products of two weights fit into single precision above it


@dataclass(frozen=True)
class Facts:
    """Facts of an affinity.

    Attributes
    ----------
    kind : str
        Kind of data, as of :class:`softvec.affinity.Affinity`.
    n, m : int
        Rows and columns.
    entries, nbytes : int
        Stored entries of P, and the bytes they take.
    symmetric : bool
        Whether rows and columns are the same items.
    directed, weighted : bool or None
        None if the data has no edges.
    length : int
        Steps of the walk that P already is.
    links : int or None
        Entries of the matrix before normalisation; None if there is none.
    linked : int
        Rows of that matrix with an entry.
    squares : int
        Sum of the squared numbers of entries in its rows.
    weights : tuple of float or None
        Its smallest and largest value; None if it holds no values.

    Examples
    --------
    >>> Facts("graph", n=4, m=4, entries=6, nbytes=24, symmetric=True, links=6, linked=4, squares=12).ends
    2.0
    """

    kind: str
    n: int
    m: int
    entries: int
    nbytes: int
    symmetric: bool
    directed: bool | None = None
    weighted: bool | None = None
    length: int = 1
    links: int | None = None
    linked: int = 0
    squares: int = 0
    weights: tuple[float, float] | None = None

    @classmethod
    def of(cls, affinity: Affinity) -> Facts:
        """Measure an affinity."""
        operator, counts = affinity.operator, affinity.counts
        links, linked, squares, weights = None, 0, 0, None
        if counts is not None:
            neighbours = np.diff(counts.indptr).astype(np.int64)
            links, linked = int(counts.nnz), int(np.count_nonzero(neighbours))
            squares = int(neighbours @ neighbours)
            if counts.dtype != bool and counts.nnz:
                weights = float(counts.data.min()), float(counts.data.max())
        return cls(
            affinity.kind,
            *affinity.shape,
            operator.nnz,
            operator.nbytes,
            affinity.symmetric,
            affinity.directed,
            affinity.weighted,
            int(affinity.parameters.get("length") or 1),
            links,
            linked,
            squares,
            weights,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.n, self.m

    @property
    def mean_neighbours(self) -> float:
        """Mean number of neighbours of the items that have any."""
        return (self.links or 0) / max(self.linked, 1)

    @property
    def ends(self) -> float:
        """Mean number of neighbours of the ends of the edges: of k neighbours, mean k^2 / mean k."""
        return self.squares / max(self.links or 0, 1)

    @property
    def even_weights(self) -> bool:
        """Whether products of two weights fit into single precision."""
        return not self.links or self.weights is None or self.weights[0] > _EVEN * self.weights[1]
