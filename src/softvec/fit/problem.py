"""The optimisation problem (matrices, terms of the loss, item weights, vector lengths), and its state."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError, Option
from softvec.fit.settings import Settings
from softvec.operators import Operator

Array = NDArray[Any]


@dataclass(frozen=True)
class Problem:
    """A non-negative P (n x m) and the terms of the loss.

    Parameters
    ----------
    P : Operator
        Similarities; rows need not sum to 1.
    symmetric : bool
        One set of vectors for rows and columns (P square), or two.
    beta : float
        Inverse temperature.
    gradient : {"row", "paper", "full"}
        Gradient of a symmetric problem (that of a two-sided one is always exact).
    regularization : float
        Weight of the term that centres the vectors.
    constraint : {"sphere", "ball"}
        Vectors of norm sqrt(beta), or of norm sqrt(beta) at most.
    normalizer : {"mixture", "edges", "exact"}
        Eq. main, the same with exact terms for each item and its neighbours, or the exact sum in O(n m).
    N : Operator, optional
        Dissimilarities of the contrastive term.
    item_weight : ndarray of shape (m,), optional
        Base measure v: Z_i = sum_a v_a exp(beta x_i.y_a).
    """

    P: Operator
    symmetric: bool = True
    beta: float = Settings.beta
    gradient: str = Settings.gradient
    regularization: float = Settings.regularization
    constraint: str = Settings.constraint
    normalizer: str = Settings.normalizer
    N: Operator | None = None
    item_weight: Array | None = None

    def __post_init__(self) -> None:
        n, m = self.P.shape
        if self.symmetric and n != m:
            raise InputError(
                f"P has shape ({n}, {m}); a symmetric fit needs a square P. Pass ", Option("symmetric", False)
            )
        if self.N is not None and self.N.shape != self.P.shape:
            raise InputError(
                f"dissimilarities have shape {self.N.shape}, P has {self.P.shape}; make them equal"
            )
        if self.N is not None and self.normalizer == "edges":
            raise InputError(Option("normalizer", "edges"), " has no dissimilarities; leave one of them out")
        if self.item_weight is not None and self.item_weight.shape != (m,):
            raise InputError(f"item weights have shape {self.item_weight.shape}; expected ({m},)")

    @classmethod
    def of(
        cls, P: Operator, settings: Settings, N: Operator | None = None, item_weight: Array | None = None
    ) -> Problem:
        """Return the problem that settings pose."""
        return cls(
            P,
            settings.one_sided(P.shape),
            float(settings.beta),
            settings.gradient,
            float(settings.regularization),
            settings.constraint,
            settings.normalizer,
            N,
            item_weight,
        )

    @cached_property
    def both_ways(self) -> bool:
        """Whether the gradient of X includes P' X."""
        return self.symmetric and self.gradient != "row"

    @cached_property
    def through_context(self) -> bool:
        """Whether the gradient of X includes the derivative through the means and covariances."""
        return self.symmetric and self.gradient == "full"


@dataclass
class State:
    """Everything an interrupted run needs to resume with the same bits."""

    X: Array
    Y: Array | None = None
    classes: Array | None = None
    epoch: int = 0
    history: list[dict[str, float]] = field(default_factory=list)
    done: bool = False


def length_of(neighbours: NDArray[Any], shrinkage: float, mean: float) -> NDArray[np.float64]:
    """Return the vector length sqrt(m / (m + shrinkage * mean)) of items with m neighbours.

    The fewer neighbours, the stronger the shrinkage.
    """
    return np.sqrt(neighbours / (neighbours + shrinkage * mean))


def base_measure(sizes: NDArray[Any], power: float) -> NDArray[np.float64]:
    """Return size ** power for each item; a size of 0 counts as the smallest positive one."""
    least = float(sizes[sizes > 0].min(initial=np.inf))
    return np.maximum(sizes, least if np.isfinite(least) else 1.0) ** power
