"""The missing links that the vectors rank first."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.core.checks import integer
from softvec.core.errors import AdviceWarning, Option
from softvec.core.machine import machine
from softvec.core.threads import row_blocks
from softvec.embedding.add import Model, softmax_model
from softvec.embedding.relations import known_pairs, mutual, positions, two_kinds

if TYPE_CHECKING:
    from softvec.embedding.core import Embedding

Array = NDArray[Any]
_ROWS = 256  # rows of one block of scores
_EXACT = 4_000_000_000  # pairs up to which the normalisers are summed exactly: 63,000 items squared


class Link(NamedTuple):
    """A possibly missing link.

    The numbers rank links. They are fitted to the known edges, so they overstate what is known about others.

    Attributes
    ----------
    a, b : hashable
        The names.
    probability : float
        Softmax probability of b given a: that one step of the embedded walk leads from a to b.
    error : float
        Standard error of the probability due to the estimated normaliser alone; 0 if that is an exact sum.
    expected : float
        Expected weight of the pair, by which links are ranked: the probability times the size of a (its
        degree), plus the same from b if both are on the same side.
    """

    a: Hashable
    b: Hashable
    probability: float
    error: float
    expected: float


@dataclass(frozen=True)
class _Scores:
    """The softmax of all rows: ``probability[i, j] = exp(beta rows[i].columns[j]) weight[j] / Z_i``."""

    rows: Array
    columns: Array
    beta: float
    sizes: Array  # of the rows
    log_z: Array
    error: Array  # of log Z
    log_weight: Array  # of the columns
    both: bool  # whether a pair counts in both directions: its items are of one kind
    symmetric: bool  # whether both directions have the same product of vectors

    def expected(self, lo: int, hi: int) -> Array:
        """Return the expected weights of rows lo..hi with all columns."""
        S = np.float32(self.beta) * (self.rows[lo:hi] @ self.columns.T)  # (rows, m)
        weight = self.log_weight.astype(np.float32)
        with np.errstate(divide="ignore"):
            own = (np.log(self.sizes) - self.log_z).astype(np.float32)
        other = None
        if self.both:  # here the row is the target
            back = S if self.symmetric else np.float32(self.beta) * (self.columns[lo:hi] @ self.rows.T)
            other = back + (weight[lo:hi, None] + own[None, :])
        S += weight
        S += own[lo:hi, None]
        np.exp(S, out=S)
        return S if other is None else S + np.exp(other, out=other)

    def log_probability(self, i: int, j: int) -> float:
        """Return the logarithm of the probability of column j given row i."""
        dot = np.dot(self.rows[i].astype(np.float64), self.columns[j].astype(np.float64))
        return float(self.beta * dot + self.log_weight[j] - self.log_z[i])


def links(
    emb: Embedding, n: int, item: Any, exclude: Any, n_jobs: int | None, options: dict[str, Any]
) -> list[Link]:
    """Return the links of one item, or of all; see :meth:`softvec.Embedding.links`."""
    n = integer("n", n)
    among = "context" if emb.two_sided else "rows"
    model = softmax_model(emb)
    if exclude is None:
        text = "known pairs are not left out; pass "
        warnings.warn(AdviceWarning(text, Option("exclude", ...)), stacklevel=3)
        known = sparse.csr_array((len(emb), len(model.columns)), dtype=bool)
    else:
        known = known_pairs(emb, exclude, among, **options)
    rows = emb.vectors if model.constraint != "sphere" else emb.vectors * emb._scale[:, None]
    chosen = np.arange(len(emb)) if item is None else np.array([emb._row(item)])
    scores = _softmax(emb, model, rows, chosen, n_jobs)
    selves = positions(emb._side(among).names, emb.names) if not two_kinds(emb) else np.full(len(emb), -1)
    pairs = _best_pairs(scores, known, selves, chosen, n, item is None, n_jobs)
    return [_link(emb, scores, among, *pair) for pair in pairs]


def _softmax(emb: Embedding, model: Model, rows: Array, chosen: Array, n_jobs: int | None) -> _Scores:
    from softvec.normalizers import ControlVariate, Exact

    Y, weights = model.columns, model.weights
    exact = len(chosen) * len(Y) <= _EXACT
    log_z, error = np.zeros(len(rows)), np.zeros(len(rows))
    if exact:
        log_z[chosen] = Exact(beta=model.beta, n_jobs=n_jobs).fit(Y, weights).log_partition(rows[chosen])
    else:
        X = rows
        if weights is not None:  # a weight is one more coordinate: exp(x.y) w = exp(x.y + 1 log w)
            X = np.column_stack([rows, np.ones(len(rows), rows.dtype)])
            Y = np.column_stack([Y, (np.log(weights) / model.beta).astype(Y.dtype)])
        estimate = ControlVariate(beta=model.beta, random_state=0, n_jobs=n_jobs).fit(Y, X)
        log_z[chosen], error[chosen] = estimate.log_partition(X), estimate.std_error(X)
        Y = model.columns
    sizes = np.ones(len(rows)) if emb.sizes is None else emb.sizes
    log_weight = np.zeros(len(Y)) if weights is None else np.log(weights)
    both = mutual(emb) and len(chosen) == len(rows)
    return _Scores(rows, Y, model.beta, sizes, log_z, error, log_weight, both, not emb.two_sided)


def _best_pairs(
    scores: _Scores,
    known: sparse.csr_array,
    selves: Array,
    chosen: Array,
    n: int,
    every: bool,
    n_jobs: int | None,
) -> list[tuple[int, int, float]]:
    """Return the n best (row, column, expected weight), ties by row and column."""

    def best(lo: int, hi: int) -> tuple[Array, Array, Array]:
        first, last = int(chosen[lo]), int(chosen[hi - 1]) + 1
        S = scores.expected(first, last)
        part = known[first:last]
        S[np.repeat(np.arange(last - first), np.diff(part.indptr)), part.indices] = -1
        own = np.flatnonzero(selves[first:last] >= 0)
        S[own, selves[first:last][own]] = -1
        if every and scores.both:  # each pair once
            S[np.arange(S.shape[1]) < np.arange(first, last)[:, None]] = -1
        flat = S.ravel()
        if flat.size > n:
            least = np.partition(flat, flat.size - n)[flat.size - n]
            at = np.flatnonzero(flat >= max(least, 0))
        else:
            at = np.flatnonzero(flat >= 0)
        at = at[np.argsort(-flat[at], kind="stable")[:n]]
        return at // S.shape[1] + first, at % S.shape[1], flat[at]

    with machine(n_jobs) as pool:
        blocks = pool.map(best, row_blocks(len(chosen), _ROWS))
    i, j, value = (np.concatenate(part) for part in zip(*blocks))
    order = np.lexsort((j, i, -value))[:n]
    return list(zip(i[order].tolist(), j[order].tolist(), value[order].tolist()))


def _link(emb: Embedding, scores: _Scores, among: str, i: int, j: int, expected: float) -> Link:
    """Return a pair by name, in its more probable direction if both count."""
    log_p = scores.log_probability(i, j)
    if scores.both and scores.log_probability(j, i) > log_p:
        i, j, log_p = j, i, scores.log_probability(j, i)
    p = float(np.exp(log_p))
    return Link(emb.names[i], emb._side(among).names[j], p, p * float(scores.error[i]), expected)
