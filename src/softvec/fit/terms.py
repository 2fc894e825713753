"""The derivative of the loss through the moments of the context vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.normalizers.moments import Moments, Sums

Array = NDArray[Any]


@dataclass(frozen=True)
class Context:
    """Derivative of the loss through the moments of the context vectors.

    Item a of class c with weight v_a receives ``v_a (shift_c + y_a @ matrix_c)``.
    """

    shift: Array  # (k, d)
    matrix: Array  # (k, d, d)

    def rows(self, Y: Array, classes: Array | None, weight: Array | None, out: Array) -> None:
        """Write the term for a block of context vectors."""
        if classes is None:
            np.matmul(Y, self.matrix[0], out=out)
            out += self.shift[0]
        else:
            for c in np.unique(classes):
                inside = classes == c
                out[inside] = Y[inside] @ self.matrix[c] + self.shift[c]
        if weight is not None:
            out *= weight[:, None]


def context(pulled: Sums, of: Moments, beta: float, dtype: np.dtype) -> Context:
    """Build :class:`Context` from s_c, T_c (``pulled.first``, ``pulled.second``) and the moments of Y."""
    scale = np.divide(beta, of.divisor, out=np.zeros_like(of.divisor), where=of.divisor > 0)
    matrix = scale[:, None, None] * pulled.second
    shift = pulled.first / of.weight[:, None] - np.einsum("cij,cj->ci", matrix, of.mu)
    return Context(shift.astype(dtype), matrix.astype(dtype))
