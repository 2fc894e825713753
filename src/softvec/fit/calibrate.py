"""Probabilities of links: a softmax with two parameters, fitted on links that the vectors did not see.

A share of the links is hidden, the others are embedded with the same settings, and a and c maximise the
likelihood of the hidden ones under

    p_ij = exp(a cos(x_i, y_j)) d_j^c / sum_k exp(a cos(x_i, y_k)) d_k^c,

where d are the numbers of known links; the sum goes over all k but i and its known neighbours. With a = 0
this is popularity, the baseline. How many unknown links a row has is expected by a power of its known ones,
fitted likewise. All three then serve the vectors of all links: their gain on links that
nobody saw is close to what is claimed here (docs/results.md, "Probabilities on hidden links").
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.affinity import Affinity
from softvec.affinity.matrices import EdgeRules, assemble
from softvec.core.errors import InputError
from softvec.core.machine import Machine
from softvec.core.threads import row_blocks
from softvec.fit.link_softmax import Softmax, pair_scores
from softvec.fit.run import seed_of
from softvec.fit.settings import Settings
from softvec.fit.vectors import fit_vectors

Array = NDArray[Any]
Fitted = Callable[[Affinity], tuple[Array, Array | None]]  # row vectors, column vectors
_SHARE = 0.05  # of the links, hidden in one fit
_FITS, _ENOUGH = 5, 300  # fits at most, until so many links were hidden
_SCORES, _LEAST = 20_000_000, 200  # about so many scores in one pass, but at least so many rows
_BLOCK = 1 << 21  # scores computed at a time
_FINE = 500  # bins of a nat, for deciles
_PRIOR = np.array([[0.01, 0.0], [0.0, 1.0]])  # precision of a around 0 and c around 1: one observation
_POPULARITY = np.array([0.0, 1.0])
_STEEPEST = 20.0  # power of the known links of a row: regular graphs come near -8


@dataclass(frozen=True)
class Calibration:
    """Parameters of the softmax of links, and what they are worth on hidden links.

    Attributes
    ----------
    cosine, popularity : float
        a and c.
    activity : float
        Power of the known links of a row to which its unknown ones are expected.
    nats_gained, standard_error : float
        Log-likelihood of a hidden link, less that of the best popularity, and its standard error.
    auc : float
        Area under the ROC curve, hidden links against random pairs without a link.
    n_hidden, n_fits : int
        Hidden links that were scored, and the fits that did not see them.
    share_hidden : float
        Share of the links hidden in a fit.
    deciles : tuple of float
        Observed over expected number of hidden links, in ten groups of pairs of equal expectation, from
        the least to the most probable.
    """

    cosine: float
    popularity: float
    activity: float
    nats_gained: float
    standard_error: float
    auc: float
    n_hidden: int
    n_fits: int
    share_hidden: float
    deciles: tuple[float, ...]

    @property
    def beats_popularity(self) -> bool:
        """Whether the gain is more than two standard errors above 0."""
        return self.nats_gained > 2 * self.standard_error


@dataclass(frozen=True, eq=False)
class _Hidden:
    """A fit, and the links (i, j) that it did not see, in each direction that counts."""

    softmax: Softmax
    i: Array
    j: Array


class NothingToHide(InputError):
    """Data of which no link can be hidden."""


def refit(settings: Settings, pool: Machine) -> Fitted:
    """Return a function that fits an affinity with these settings."""
    alone = replace(settings, checkpoint=None, callbacks=None, verbose=0, rounds=0)

    def fit(affinity: Affinity) -> tuple[Array, Array | None]:
        with warnings.catch_warnings(action="ignore"):  # those of the fit of all links are enough
            made = fit_vectors(affinity, alone, pool)
        return made.X, made.Y

    return fit


def best_for_links(affinity: Affinity, candidates: Mapping[str, Settings], pool: Machine) -> Settings:
    """Return the settings whose vectors rank hidden links best, with their calibration.

    Without links to hide, the last candidate is taken as it is.
    """
    *_, last = candidates.values()
    try:
        results = {
            name: calibrate(affinity, refit(each, pool), each.random_state, pool)
            for name, each in candidates.items()
        }
    except NothingToHide:
        return last
    best = max(results, key=lambda name: results[name].auc)
    shown = ", ".join(f"{name} {result.auc:.3f}" for name, result in results.items())
    why = f"{best}: area under the ROC curve of hidden links, {shown}"
    chosen = candidates[best]
    return replace(chosen, origin={**chosen.origin, "view": why}, softmax=asdict(results[best]))


def calibrate(affinity: Affinity, fit: Fitted, random_state: Any, pool: Machine) -> Calibration:
    """Hide links, fit the others, and fit the softmax to the hidden ones.

    Parameters
    ----------
    affinity : Affinity
        A graph or two-sided data.
    fit : callable
        Returns the vectors of an affinity.
    random_state : int, RandomState or None
    pool : Machine
    """
    counts = affinity.counts
    assert counts is not None
    mutual = affinity.symmetric and not affinity.directed
    rng = np.random.default_rng([seed_of(random_state) if random_state is not None else 0, 91])
    folds, n_links = _folds(counts, mutual, affinity.symmetric, rng)
    limit = max(_LEAST, _SCORES // counts.shape[1]) // (2 * len(folds) if mutual else len(folds))
    tasks = []
    for i, j in folds:
        kept = _without(affinity, i, j, mutual)
        known = sparse.csr_array(kept.counts, dtype=bool)
        model = Softmax.of(*fit(kept), known, same=affinity.symmetric, mutual=mutual)
        i, j = i[:limit], j[:limit]
        ends = (np.concatenate([i, j]), np.concatenate([j, i])) if mutual else (i, j)
        tasks.append(_Hidden(model, *ends))
    best, own = _newton(tasks, np.array([True, True]), pool)
    point = np.append(best, _power_of_rows(tasks))
    _, popular = _newton(tasks, np.array([False, True]), pool)
    gains = own - popular
    if mutual:  # one observation for each link
        gains = np.concatenate([part.reshape(2, -1).mean(axis=0) for part in _split(gains, tasks)])
    share = len(folds[0][0]) / n_links
    deciles = _deciles(tasks, folds, point, share, rng, pool)
    return Calibration(
        float(best[0]),
        float(best[1]),
        float(point[2]),
        float(gains.mean()),
        float(gains.std(ddof=1) / np.sqrt(len(gains))) if len(gains) > 1 else np.inf,
        float(np.mean([_auc(task, point, rng) for task in tasks])),
        len(gains),
        len(tasks),
        share,
        deciles,
    )


def removable_links(i: Array, j: Array, n: int, rng: np.random.Generator) -> Array:
    """Return the positions of the links outside a random spanning forest of n nodes, in random order."""
    from scipy.sparse.csgraph import minimum_spanning_tree

    weights = sparse.csr_array((rng.random(len(i)) + 0.5, (i, j)), shape=(n, n))
    forest = minimum_spanning_tree(weights).tocoo()
    keys = i.astype(np.int64) * n + j
    return rng.permutation(np.flatnonzero(~np.isin(keys, forest.row.astype(np.int64) * n + forest.col)))


def _folds(
    counts: sparse.csr_array, mutual: bool, same: bool, rng: np.random.Generator
) -> tuple[list[tuple[Array, Array]], int]:
    """Return the links (i, j) that each fit does not see, and the number of all links."""
    i = np.repeat(np.arange(counts.shape[0], dtype=np.int64), np.diff(counts.indptr))
    j = counts.indices.astype(np.int64)
    if same:
        proper = i < j if mutual else i != j
        i, j = i[proper], j[proper]
    n, m = counts.shape
    # of a directed graph, each node keeps a link as a source and one as a target
    free = removable_links(i, j, n, rng) if mutual else removable_links(i, n + j, n + m, rng)
    if not len(free):
        raise NothingToHide(
            f"links cannot be calibrated: hiding any of the {len(i):,} links would cut the data in two"
        )
    size = max(1, round(_SHARE * len(i)))
    fits = max(1, min(_FITS, -(-_ENOUGH // size), len(free) // size))
    chosen = [free[fold * size : (fold + 1) * size] for fold in range(fits)]
    return [(i[part], j[part]) for part in chosen], len(i)


def _without(affinity: Affinity, i: Array, j: Array, mutual: bool) -> Affinity:
    """Return the affinity without links."""
    counts = affinity.counts
    assert counts is not None
    if mutual:
        i, j = np.concatenate([i, j]), np.concatenate([j, i])
    m = counts.shape[1]
    rows = np.repeat(np.arange(counts.shape[0], dtype=np.int64), np.diff(counts.indptr))
    keep = ~np.isin(rows * m + counts.indices, i * m + j)
    ends = np.concatenate([[0], np.cumsum(keep)])[counts.indptr].astype(counts.indptr.dtype)
    matrix = sparse.csr_array((counts.data[keep], counts.indices[keep], ends), shape=counts.shape)
    kept = assemble(matrix, affinity.rows, affinity.columns, EdgeRules.of(affinity), mutual)
    return replace(kept, attributes=affinity.attributes)


def _split(values: Array, tasks: Sequence[_Hidden]) -> list[Array]:
    return np.split(values, np.cumsum([len(task.i) for task in tasks])[:-1])


def _likelihood(tasks: Sequence[_Hidden], point: Array, pool: Machine) -> tuple[Array, Array, Array]:
    """Return the log-likelihood of each hidden link, and the gradient and negative Hessian of their sum."""

    def block(task: int, lo: int, hi: int) -> tuple[Array, Array, Array]:
        model, i, j = tasks[task].softmax, tasks[task].i[lo:hi], tasks[task].j[lo:hi]
        log_p, _, C = model.log_probabilities(i, point)
        at, size = np.arange(len(i)), model.log_size
        p = np.exp(log_p)
        weighted = p * C
        means = np.stack([weighted.sum(axis=1), p @ size]).astype(np.float64)  # (2, rows)
        mixed = float(np.sum(weighted @ size, dtype=np.float64))
        second = np.array(
            [
                [np.einsum("ij,ij->", weighted, C, dtype=np.float64), mixed],
                [mixed, np.sum(p @ size**2, dtype=np.float64)],
            ]
        )
        observed = np.stack([C[at, j], size[j]])
        return log_p[at, j].astype(np.float64), (observed - means).sum(axis=1), second - means @ means.T

    blocks = _blocks([len(task.i) for task in tasks], tasks[0].softmax.known.shape[1])
    values, gradients, hessians = zip(*pool.map(block, blocks))
    return np.concatenate(values), np.sum(gradients, axis=0), np.sum(hessians, axis=0)


def _newton(tasks: Sequence[_Hidden], free: Array, pool: Machine) -> tuple[Array, Array]:
    """Maximise the likelihood over the free parameters; return the point and the likelihood of each link."""

    def evaluate(point: Array) -> tuple[float, Array, Array, Array]:
        values, gradient, hessian = _likelihood(tasks, point, pool)
        away = point - _POPULARITY
        return (
            float(values.sum() - away @ _PRIOR @ away / 2), values, gradient - _PRIOR @ away, hessian + _PRIOR
        )  # fmt: skip

    point = _POPULARITY
    value, values, gradient, hessian = evaluate(point)
    for _ in range(20):
        step = np.zeros(2)
        step[free] = np.linalg.solve(hessian[np.ix_(free, free)], gradient[free])
        if step @ gradient < 2e-5 * len(values):  # twice what the step would gain
            break
        scale = 1.0
        while (trial := evaluate(point + scale * step))[0] <= value and scale > 1e-3:
            scale /= 2
        point = point + scale * step
        value, values, gradient, hessian = trial
    return point, values


def _power_of_rows(tasks: Sequence[_Hidden]) -> float:
    """Return the power of the known links of rows by which the hidden ones are most likely shared."""
    from scipy.optimize import brentq

    def gradient(power: float) -> float:
        total = 1.0 - power  # one observation of 1
        for task in tasks:
            size = np.log(np.maximum(task.softmax.degrees, 1))
            p = task.softmax.activity(power)
            total += float(np.sum(size[task.i] - p @ size / p.sum()))
        return total

    return float(brentq(gradient, -_STEEPEST, _STEEPEST))  # it falls, from above 0 to below


def _deciles(
    tasks: Sequence[_Hidden],
    folds: Sequence[tuple[Array, Array]],
    point: Array,
    share: float,
    rng: np.random.Generator,
    pool: Machine,
) -> tuple[float, ...]:
    """Return observed over expected links in ten groups of pairs, of a sample of rows."""
    n, m = tasks[0].softmax.known.shape
    rows = np.sort(rng.permutation(n)[: max(_LEAST, _SCORES // m)])
    hidden = []
    for i, j in folds:
        ends = (np.concatenate([i, j]), np.concatenate([j, i])) if tasks[0].softmax.mutual else (i, j)
        hidden.append(sparse.csr_array((np.ones(len(ends[0]), bool), ends), shape=(n, m)))

    def block(task: int, lo: int, hi: int) -> tuple[Array, Array]:
        chosen = rows[lo:hi]
        p = -np.expm1(-tasks[task].softmax.expected(chosen, point, share)[0])
        place = (_FINE * (np.log(np.maximum(p, 1e-13)) + 30)).astype(np.int32)
        part = hidden[task][chosen]
        at = np.repeat(np.arange(len(chosen)), np.diff(part.indptr)), part.indices
        size = 30 * _FINE + 1
        return np.bincount(place.ravel(), p.ravel(), size), np.bincount(place[at], minlength=size)

    parts = pool.map(block, _blocks([len(rows)] * len(tasks), m))
    expected, observed = (np.sum(part, axis=0) for part in zip(*parts))
    middle = np.cumsum(expected) - expected / 2
    group = np.minimum((10 * middle / max(expected.sum(), 1e-300)).astype(int), 9)
    found, forecast = np.bincount(group, observed, 10), np.bincount(group, expected, 10)
    return tuple(float(f"{a / b:.3g}") if b > 0 else np.nan for a, b in zip(found, forecast))


def _blocks(rows: Sequence[int], m: int) -> list[tuple[int, int, int]]:
    """Return (task, first row, last row) of blocks of scores with m columns."""
    size = max(1, _BLOCK // m)
    return [(task, lo, hi) for task, count in enumerate(rows) for lo, hi in row_blocks(count, size)]


def _auc(task: _Hidden, point: Array, rng: np.random.Generator) -> float:
    """Return the area under the ROC curve, hidden links against random pairs without a link."""
    model = task.softmax
    n, m = model.known.shape
    a, b = rng.integers(0, n, 4 * len(task.i) + 100), rng.integers(0, m, 4 * len(task.i) + 100)
    possible = ~np.asarray(model.known[a, b]).ravel()
    if model.same:
        possible &= a != b
    if model.sides is not None:
        possible &= model.sides[1][a] == model.sides[0][b]
    a, b = a[possible], b[possible]
    if not len(a):
        return 0.5
    hidden, others = pair_scores(model, point, task.i, task.j), np.sort(pair_scores(model, point, a, b))
    below = sum(np.searchsorted(others, hidden, side) for side in ("left", "right"))
    return float(np.mean(below) / (2 * len(others)))
