"""Predict infections over time from some observed states, with the epidemic curve and its band."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softvec.core.checks import counted, integer, number
from softvec.core.errors import InputError, optional_package
from softvec.core.machine import machine
from softvec.embedding.logistic import sigmoid
from softvec.evaluate.observations import (
    Observations,
    contact_matrix,
    match_observations,
    own_states,
    states_of_contacts,
)

if TYPE_CHECKING:
    from softvec.embedding import Embedding

Array = NDArray[Any]
_GRID = (0.1, 1.0, 10.0, 100.0, 1000.0)  # prior variances of the log odds, tried in a cross-validation
_FOLDS = 5
_NEWTON_STEPS = 30
_WIDER = 1.25  # people who meet are infected together; the draws are independent (benchmarks/epidemics.py)
_COARSE = 0.3  # deviation of the corrections by time of the share of infected among the people met
_BUMPS = 8  # Gaussian functions of the window number: the features of time


class Curve(NamedTuple):
    """Number of infected people over time: ``times, expected, low, high``."""

    times: Array
    expected: Array
    low: Array
    high: Array


class PairProbability(NamedTuple):
    """Probability that a person is infected in the window that starts at a time."""

    person: Any
    time: Any
    probability: float
    observed: bool
    active: bool


@dataclass(frozen=True, repr=False)
class EpidemicPrediction:
    """Result of :func:`predict_epidemic`; an iterable of :class:`PairProbability`.

    Attributes
    ----------
    persons, times : list of length D
        Every person in every window (or only those active in it), in order of time.
    probability : ndarray of shape (D,)
        Probability of being infected; 0 or 1 where the state was observed.
    observed : ndarray of bool of shape (D,)
        Where the state was observed.
    active : ndarray of bool of shape (D,)
        Where the person had a contact in the window.
    curve : Curve
        Expected number of infected people in each window, with a band.
    level : float
        Nominal coverage of the band.
    scores : dict
        Cross-validated ``auc`` and ``log_loss`` over the observed states, of ``"prediction"`` and of
        baselines without vectors: ``"no_vectors"`` (the time, the person's other observed states and those
        of the people met, if ``contacts`` were passed), ``"time"`` (the window number alone) and
        ``"prevalence"`` (one share for all).
    """

    persons: list[Any]
    times: list[Any]
    probability: Array
    observed: NDArray[np.bool_]
    active: NDArray[np.bool_]
    curve: Curve
    level: float
    scores: dict[str, dict[str, float]]

    def __len__(self) -> int:
        return len(self.persons)

    def __iter__(self) -> Iterator[PairProbability]:
        columns = (self.probability.tolist(), self.observed.tolist(), self.active.tolist())
        return map(PairProbability, self.persons, self.times, *columns)

    def to_dataframe(self) -> Any:
        """Return a pandas frame of person, time, probability, observed, active; dates as dates."""
        pd = optional_package("pandas", "to_dataframe needs pandas: pip install 'softvec[frames]'")
        from softvec.core.dates import to_dates

        dates = to_dates(self.times)
        times = self.times if dates is None else dates
        columns = {"probability": self.probability, "observed": self.observed, "active": self.active}
        return pd.DataFrame({"person": pd.Series(self.persons), "time": times, **columns})

    def plot(self, *, title: str | None = None, ax: Any = None) -> Any:
        """Draw the curve with its band; see :func:`softvec.plotting.plot_epidemic`."""
        from softvec.plotting import plot_epidemic

        return plot_epidemic(self, title=title, ax=ax)

    def __repr__(self) -> str:
        peak = int(np.argmax(self.curve.expected))
        return (
            f"<EpidemicPrediction for {counted(len(self), '(person, time) pair')} from "
            f"{counted(int(self.observed.sum()), 'observation')}: peak of {self.curve.expected[peak]:.1f} "
            f"infected at {self.curve.times[peak]}, AUC {self.scores['prediction']['auc']:.3f} "
            f"({self.scores['no_vectors']['auc']:.3f} without vectors, {self.scores['time']['auc']:.3f} from "
            "time alone)>"
        )


def predict_epidemic(
    emb: Embedding,
    observations: Any,
    *,
    contacts: Any = None,
    everyone: bool = True,
    level: float = 0.9,
    n_draws: int = 400,
    random_state: int | np.random.Generator | None = 0,
    n_jobs: int | None = None,
) -> EpidemicPrediction:
    """Predict who is infected when, and the epidemic curve, from partial observations.

    A logistic regression is fitted to the observed states. Its features are the time, the person's other
    observed states and those of the people met (closer ones count more), and the vector of the (person, time)
    pair. Regularisation is chosen by cross-validation; features that do not help are left out.

    Parameters
    ----------
    emb : Embedding
        An embedding of temporal contacts: its names are (person, time).
    observations : mapping, frame, Series or path
        States 1 (infected), 0 (not), or NaN or None (not observed): a mapping from (person, time); a frame
        or a table file with the columns person, time, state; or a Series indexed by person and time. A time
        (a number or a date, as in the contacts) stands for its window.
    contacts : path, frame, iterable of (t, i, j) or Affinity, optional
        The contacts that were embedded. Pass them: the states of the people someone met say more than the
        vectors do.
    everyone : bool
        Predict every person in every window with contacts. Where a person has none, the vector is
        interpolated between those of the windows before and after. False: only people with a contact in
        the window, also in the curve.
    level : float
        Nominal coverage of the band.
    n_draws : int
        Draws from the Laplace approximation of the posterior. For each, the unobserved states are drawn too:
        the band covers the uncertainty of the parameters and of the states.
    random_state : int, Generator or None
    n_jobs : int, optional
        Threads; they do not change the result.

    Returns
    -------
    EpidemicPrediction
        Probabilities, curve with band, and scores compared with baselines.

    Examples
    --------
    >>> import numpy as np
    >>> from softvec import Embedding
    >>> from softvec.evaluate import predict_epidemic
    >>> names = [(person, time) for person in range(40) for time in range(10)]
    >>> sick = np.array([person < 20 and time >= 5 for person, time in names])
    >>> emb = Embedding(np.stack([sick, ~sick], axis=1), names)
    >>> seen = {name: state for name, state in zip(names[::3], sick[::3])}
    >>> result = predict_epidemic(emb, seen)
    >>> len(result), result.curve.expected[[2, 8]].round().tolist()
    (400, [0.0, 20.0])
    """
    level = number("level", level, above=0)
    if not level < 1:
        raise InputError.of("level", level, "a number between 0 and 1")
    n_draws = integer("n_draws", n_draws)
    seen = match_observations(emb, observations, everyone)
    met = None if contacts is None else contact_matrix(contacts, seen)
    rng = np.random.default_rng(random_state)
    with machine(n_jobs):  # one BLAS thread: the same bits everywhere
        model, scores = _select(seen, met, rng)
        probability, curve = _draw(model, seen, level, n_draws, rng)
    return EpidemicPrediction(
        seen.persons, seen.times, probability, seen.observed, seen.active, curve, float(level), scores
    )


def _bumps(seen: Observations) -> Array:
    """Return smooth functions of the window number, of shape (D, _BUMPS)."""
    place = seen.window / max(len(seen.starts) - 1, 1)
    centres = np.linspace(0, 1, _BUMPS)
    return _scaled(np.exp(-0.5 * ((place[:, None] - centres) * (_BUMPS - 1)) ** 2))


def _scaled(X: Array) -> Array:
    """Centre the features, and scale them so that their squared length is 1 on average."""
    X = X - X.mean(axis=0, dtype=np.float64)
    length = np.sqrt((X**2).sum(axis=1).mean())
    return X / length if length > 0 else X


class _Model(NamedTuple):
    """Features scaled by their prior deviations, (D, p), and the log odds they start from, (D,)."""

    F: Array
    start: Array

    def at(self, rows: Array) -> _Model:
        return _Model(self.F[rows], self.start[rows])

    def wider(self, group: Array) -> list[_Model]:
        """Return the model itself, and with a group of features of several prior variances."""
        return [self, *(_Model(np.hstack([self.F, np.sqrt(c) * group]), self.start) for c in _GRID)]


class _Trials:
    """Observed states and their folds, on which models are compared; the infected are spread evenly."""

    def __init__(self, seen: Observations, rng: np.random.Generator):
        self.rows, self.y = np.flatnonzero(seen.observed), seen.state[seen.observed]
        order = rng.permutation(len(self.y))
        self.fold = np.empty(len(self.y), dtype=np.int64)
        self.fold[order[np.argsort(self.y[order], kind="stable")]] = np.arange(len(self.y)) % _FOLDS

    def prevalence(self) -> Array:
        """Return the share of infected in the other folds, for each observation."""
        shares = np.array([self.y[self.fold != fold].mean() for fold in range(_FOLDS)])
        return shares[self.fold]

    def best(self, candidates: list[_Model], known: Array | None = None) -> tuple[_Model, Array]:
        """Return the model with the lowest log loss, and its probabilities; the first may be known."""
        p = [] if known is None else [known]
        p += [self.probabilities(model) for model in candidates[len(p) :]]
        best = int(np.argmin([_log_loss(self.y, values) for values in p]))
        return candidates[best], p[best]

    def probabilities(self, model: _Model) -> Array:
        """Return the probability of each observation from the other folds, averaged over the posterior.

        The average of a sigmoid over a normal distribution is taken as sigmoid(mean / sqrt(1 + pi variance
        / 8)).
        """
        from scipy.linalg import solve_triangular

        model, p = model.at(self.rows), np.empty(len(self.y))
        for fold in range(_FOLDS):
            train, test = self.fold != fold, self.fold == fold
            weights, factor = _fit(model.at(train), self.y[train])
            G = _with_ones(model.F[test])
            variance = (solve_triangular(factor, G.T, trans="T") ** 2).sum(axis=0)
            p[test] = sigmoid((model.start[test] + G @ weights) / np.sqrt(1 + np.pi * variance / 8))
        return p


def _select(
    seen: Observations, met: Any, rng: np.random.Generator
) -> tuple[_Model, dict[str, dict[str, float]]]:
    """Return the model with the lowest cross-validated log loss, and the scores of simpler ones.

    Groups of features are tried in turn; a group that does not help is left out.
    """
    trials = _Trials(seen, rng)
    y = trials.y
    scores = {"prevalence": {"auc": 0.5, "log_loss": _log_loss(y, trials.prevalence())}}  # ranks nobody
    bumps, nowhere = _bumps(seen), np.zeros(len(seen.vectors))
    model, p = trials.best([_Model(np.sqrt(c) * bumps, nowhere) for c in _GRID])
    scores["time"] = _score(y, p)
    states = _scaled(own_states(seen, y - p))
    if met is not None:  # the share of the people met is a prediction already, which the rest corrects
        share = states_of_contacts(seen, met)
        model, p = trials.best([model, *(_Model(_COARSE * bumps, column) for column in share.T)], p)
        states = np.hstack([states, _scaled(share)])
    for name, group in (("no_vectors", states), ("prediction", _scaled(seen.vectors))):
        if np.ptp(group[trials.rows], axis=0).any():  # constant features have nothing to learn from
            model, p = trials.best(model.wider(group), p)
        scores[name] = _score(y, p)
    return model, dict(reversed(scores.items()))


def _score(y: Array, p: Array) -> dict[str, float]:
    from sklearn.metrics import roc_auc_score

    return {"auc": float(roc_auc_score(y, p)), "log_loss": _log_loss(y, p)}


def _fit(model: _Model, y: Array) -> tuple[Array, Array]:
    """Return the mode (p + 1,) of the posterior, and R of its precision R'R there, upper triangular."""
    from scipy.linalg import cho_solve, cholesky

    G = _with_ones(model.F)
    prior = np.ones(G.shape[1])
    prior[-1] = 1e-2  # of the intercept: a deviation of 10 keeps its draws finite
    weights = np.zeros(G.shape[1])
    loss = np.inf
    for _ in range(_NEWTON_STEPS):
        logit = model.start + G @ weights
        p = sigmoid(logit)
        factor = cholesky((G * (p * (1 - p))[:, None]).T @ G + np.diag(prior))
        step = cho_solve((factor, False), G.T @ (p - y) + prior * weights)
        before, loss = loss, float(np.logaddexp(0, logit).sum() - logit @ y + 0.5 * prior @ weights**2)
        if before - loss < 1e-9 * max(1.0, abs(loss)):
            break
        weights = weights - step
    return weights, factor


def _with_ones(F: Array) -> Array:
    return np.hstack([F, np.ones((len(F), 1))])


def _log_loss(y: Array, p: Array) -> float:
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return float(-np.mean(np.where(y, np.log(p), np.log(1 - p))))


def _draw(
    model: _Model, seen: Observations, level: float, n_draws: int, rng: np.random.Generator
) -> tuple[Array, Curve]:
    """Return the probabilities, and the curve with its band, over draws from the posterior."""
    from scipy.linalg import solve_triangular

    rows, y = np.flatnonzero(seen.observed), seen.state[seen.observed]
    hidden = np.flatnonzero(~seen.observed)
    window, T = seen.window[hidden], len(seen.starts)
    weights, factor = _fit(model.at(rows), y)
    draws = weights + solve_triangular(factor, rng.standard_normal((len(weights), n_draws))).T
    G, start = _with_ones(model.F[hidden]), model.start[hidden]
    mean = np.zeros(len(hidden))
    counts = np.empty((n_draws, T))
    for k, w in enumerate(draws):  # one at a time, to save memory
        p = sigmoid(start + G @ w)
        mean += p / n_draws
        counts[k] = np.bincount(window, weights=rng.random(len(p)) < p, minlength=T)
    known = np.bincount(seen.window[rows], weights=y, minlength=T)
    probability = seen.state.astype(np.float64)
    probability[hidden] = mean
    expected = known + np.bincount(window, weights=mean, minlength=T)
    low, high = known + np.quantile(counts, [(1 - level) / 2, (1 + level) / 2], axis=0)
    below, above = _WIDER * np.maximum(expected - low, 0), _WIDER * np.maximum(high - expected, 0)
    people = np.bincount(seen.window, minlength=T)
    return probability, Curve(
        seen.starts, expected, np.maximum(expected - below, known), np.minimum(expected + above, people)
    )
