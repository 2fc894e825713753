"""What is optimised: matrices, sizes and settings, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError
from softvec.operators import Operator

Array = NDArray[Any]
GRADIENTS = ("row", "paper", "full")
CONSTRAINTS = ("sphere", "ball")
NORMALIZERS = ("mixture", "exact")


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
        Which derivative is followed in the symmetric problem (a two-sided one is always exact).
    regularization : float
        Weight of the term that centres the vectors.
    constraint : {"sphere", "ball"}
        Vectors of norm sqrt(beta), or of norm sqrt(beta) at most.
    normalizer : {"mixture", "exact"}
        Eq. main, or the exact sum in O(n m).
    N : Operator, optional
        Dissimilarities of the contrastive term.
    item_weight : ndarray of shape (m,), optional
        Base measure v: Z_i = sum_a v_a exp(beta x_i.y_a).
    """

    P: Operator
    symmetric: bool = True
    beta: float = 1.0
    gradient: str = "row"
    regularization: float = 1.0
    constraint: str = "sphere"
    normalizer: str = "mixture"
    N: Operator | None = None
    item_weight: Array | None = None

    def __post_init__(self) -> None:
        n, m = self.P.shape
        for name, value, allowed in (
            ("gradient", self.gradient, GRADIENTS),
            ("constraint", self.constraint, CONSTRAINTS),
            ("normalizer", self.normalizer, NORMALIZERS),
        ):
            if value not in allowed:
                raise InputError(f"{name} is {value!r}; expected one of {', '.join(allowed)}")
        if not (np.isfinite(self.beta) and self.beta > 0):
            raise InputError(f"beta is {self.beta}; expected a positive number")
        if not (np.isfinite(self.regularization) and self.regularization >= 0):
            raise InputError(f"regularization is {self.regularization}; expected a number >= 0")
        if self.symmetric and n != m:
            raise InputError(
                f"P has shape ({n}, {m}); a symmetric fit needs a square P. Pass symmetric=False"
            )
        if self.N is not None and self.N.shape != self.P.shape:
            raise InputError(
                f"dissimilarities have shape {self.N.shape}, P has {self.P.shape}; make them equal"
            )
        if self.item_weight is not None and self.item_weight.shape != (m,):
            raise InputError(f"item weights have shape {self.item_weight.shape}; expected ({m},)")

    @property
    def both_ways(self) -> bool:
        """Whether P' X is part of the gradient of X."""
        return self.symmetric and self.gradient != "row"

    @property
    def through_context(self) -> bool:
        """Whether the derivative through the means and covariances is part of the gradient of X."""
        return self.symmetric and self.gradient == "full"


@dataclass(frozen=True)
class Schedule:
    """How long and how fast."""

    n_epochs: int = 30
    learning_rate: float = 0.7
    tol: float | None = None

    def __post_init__(self) -> None:
        if self.n_epochs < 0:
            raise InputError(f"n_epochs is {self.n_epochs}; expected 0 or more")
        if not 0 < self.learning_rate <= 1:
            raise InputError(f"learning_rate is {self.learning_rate}; expected a number in (0, 1]")
        if self.tol is not None and not self.tol >= 0:
            raise InputError(f"tol is {self.tol}; expected a number >= 0, or None")

    def rate(self, epoch: int) -> float:
        """Learning rate of an epoch: from ``learning_rate`` linearly to 0 (Algorithm 1, last line)."""
        return self.learning_rate * (1 - epoch / self.n_epochs)
