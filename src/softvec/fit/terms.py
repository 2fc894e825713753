"""The parts of the gradient that are sums over all rows: context terms and the exact normaliser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.threads import Workers, row_blocks
from softvec.fit.moments import Moments, Sums

Array = NDArray[Any]


@dataclass(frozen=True)
class Context:
    """Derivative of the loss through the moments of the context vectors (DESIGN's last line of ``full``).

    Item a of class c with weight v_a receives ``v_a (shift_c + y_a @ matrix_c)``.
    """

    shift: Array  # (k, d)
    matrix: Array  # (k, d, d)

    def rows(self, Y: Array, labels: Array | None, weight: Array | None, out: Array) -> None:
        """Write the term for a block of context vectors."""
        if labels is None:
            np.matmul(Y, self.matrix[0], out=out)
            out += self.shift[0]
        else:
            for c in np.unique(labels):
                inside = labels == c
                out[inside] = Y[inside] @ self.matrix[c] + self.shift[c]
        if weight is not None:
            out *= weight[:, None]


def context(pulled: Sums, of: Moments, beta: float, dtype: np.dtype) -> Context:
    """Build :class:`Context` from s_c, T_c (``pulled.first``, ``pulled.second``) and the moments of Y."""
    scale = np.divide(beta, of.divisor, out=np.zeros_like(of.divisor), where=of.divisor > 0)
    matrix = scale[:, None, None] * pulled.second
    shift = pulled.first / of.weight[:, None] - np.einsum("cij,cj->ci", matrix, of.mu)
    return Context(shift.astype(dtype), matrix.astype(dtype))


def exact_term(
    X: Array,
    Y: Array,
    rho: Array,
    weight: Array | None,
    beta: float,
    pool: Workers,
    sign: float = 1.0,
    *,
    columns: bool = True,
) -> tuple[Array, Array, Array]:
    """Return the exact normaliser's gradient on X, log Z, and its gradient on Y, in O(n m d).

    With S = softmax of ``sign * beta * X Y'``: ``sign rho S Y``, ``log Z`` and ``sign S' rho X``; the last is
    left out (empty) without ``columns``. Scores and exponentials are of the precision of X, sums of them of
    double precision.
    """
    V, log_z = np.empty_like(X), np.empty(len(X))
    log_v = None if weight is None else np.log(np.maximum(weight, 1e-300)).astype(X.dtype)

    def one(lo: int, hi: int) -> Array:
        S = (X[lo:hi] * X.dtype.type(sign * beta)) @ Y.T  # (block, m): scores, then their exponentials
        if log_v is not None:
            S += log_v
        top = S.max(axis=1)
        np.subtract(S, top[:, None], out=S)
        np.exp(S, out=S)
        Z = S.sum(axis=1, dtype=np.float64)
        log_z[lo:hi] = top + np.log(Z)
        scale = (sign * rho[lo:hi] / Z).astype(X.dtype)[:, None]
        np.multiply(S @ Y, scale, out=V[lo:hi])
        return S.T @ (X[lo:hi] * scale) if columns else Y[:0]

    E = np.zeros(Y.shape if columns else (0, Y.shape[1]))
    blocks = row_blocks(len(X), max(16, min(256, 2_000_000 // max(1, len(Y)))))  # 8 MB of scores in float32
    for first in range(0, len(blocks), 8):  # a few at a time: each part is as large as Y
        for part in pool.map(one, blocks[first : first + 8]):
            E += part
    return V, log_z, E.astype(Y.dtype)
