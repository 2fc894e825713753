"""Reconstruct an epidemic on a temporal graph from one observation of each person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from experiments.generators.epidemics import INFECTED, Epidemic
from softvec.core.checks import choice
from softvec.core.errors import InputError
from softvec.core.progress import progress
from softvec.embedding.logistic import decision, fit_one_vs_rest
from softvec.evaluate.common import Scores, as_vectors, collect, repeat_seeds, standardized
from softvec.evaluate.observations import known_states


@dataclass(frozen=True)
class Reconstruction:
    """Result of :func:`reconstruct_epidemic`.

    Attributes
    ----------
    scores : Scores
        ``mae``: mean over the snapshots of ``|predicted - true|`` infected nodes, counted as ``count`` says;
        ``mae_states`` and ``mae_probabilities``, counted either way; ``accuracy`` and ``majority`` over the
        unobserved states; ``n_observed``.
    times : ndarray of shape (T,)
        Snapshots in which somebody is active.
    truth : ndarray of shape (T,)
        Number of active infected nodes in each.
    predicted : ndarray of shape (repeats, T)
        The same from the vectors, one row per random choice of observations.
    """

    scores: Scores
    times: np.ndarray
    truth: np.ndarray
    predicted: np.ndarray

    @property
    def mean(self) -> dict[str, float]:
        """Mean of each metric over the repeats."""
        return self.scores.mean

    @property
    def spread(self) -> dict[str, float]:
        """Standard deviation of each metric over the repeats."""
        return self.scores.spread

    def __getitem__(self, metric: str) -> float:
        return self.scores[metric]

    def to_dict(self) -> dict[str, Any]:
        """Return the scores and the curves (mean and deviation of the prediction), ready for JSON."""
        return {
            **self.scores.to_dict(),
            "times": self.times.tolist(),
            "infected": self.truth.tolist(),
            "predicted_mean": self.predicted.mean(axis=0).round(4).tolist(),
            "predicted_spread": self.predicted.std(axis=0).round(4).tolist(),
        }

    def __str__(self) -> str:
        return str(self.scores)


def infected_states(epidemic: Epidemic, nodes: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return whether each (node, snapshot) pair is infected at the end of the snapshot."""
    nodes, times = np.asarray(nodes), np.asarray(times)
    n_steps, n = epidemic.states.shape[0] - 1, epidemic.states.shape[1]
    if nodes.min() < 0 or times.min() < 0 or nodes.max() >= n or times.max() >= n_steps:
        raise InputError(f"nodes and times must lie within {n} nodes and {n_steps} snapshots of the epidemic")
    infected: np.ndarray = epidemic.states[times + 1, nodes] == INFECTED
    return infected


def reconstruct_epidemic(
    X: Any,
    nodes: np.ndarray,
    times: np.ndarray,
    infected: np.ndarray,
    *,
    C: float = 1.0,
    count: str = "states",
    standardize: bool = False,
    repeats: int = 50,
    random_state: int | np.random.Generator | None = 0,
    verbose: bool = False,
) -> Reconstruction:
    """Observe each node in one of its active snapshots and predict its state in all others.

    A logistic regression from the vectors of (node, snapshot) pairs to their states is trained on the
    observed pairs. The number of infected active nodes per snapshot is compared with the true one.

    Parameters
    ----------
    X : ndarray of shape (D, d) or Embedding
        Vectors of the active (node, snapshot) pairs, the rows of a supra-adjacency matrix.
    nodes, times : ndarray of shape (D,)
        Node and snapshot of each row, integers.
    infected : ndarray of shape (D,)
        True state of each row, 0 or 1, see :func:`infected_states`. Rows of unknown state (NaN, None) are
        left out.
    C : float
        Inverse regularisation.
    count : {"states", "probabilities"}
        Add up predicted states (more likely infected than not), or their probabilities.
    standardize : bool
        Centre the features and divide them by their deviation over the observed rows.
    repeats : int
        Random choices of the observed snapshots.
    random_state, verbose
        Seed, progress bar.

    Returns
    -------
    Reconstruction
        Errors and curves.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.contacts.reconstruct import reconstruct_epidemic
    >>> nodes, times = np.divmod(np.arange(400), 20)
    >>> infected = times >= 10
    >>> X = np.stack([times >= 10, times < 10], axis=1).astype(float)
    >>> reconstruct_epidemic(X, nodes, times, infected, C=100.0, repeats=3)["mae"]
    0.0
    """
    X = as_vectors(X)
    nodes, times = np.asarray(nodes), np.asarray(times)
    known, infected = known_states(infected)
    if not nodes.shape == times.shape == infected.shape == (len(X),):
        raise InputError(
            f"nodes, times and infected have shapes {nodes.shape}, {times.shape}, {infected.shape}; "
            f"one value for each of the {len(X)} vectors is expected"
        )
    choice("count", count, ("states", "probabilities"))
    X, nodes, times, infected = X[known], nodes[known], times[known], infected[known]
    snapshots, place = np.unique(times, return_inverse=True)
    truth = np.bincount(place, weights=infected, minlength=len(snapshots))
    rows, curves = [], []
    for rng in progress(repeat_seeds(random_state, repeats), verbose, "reconstruction"):
        observed = _observe_once(nodes, rng)
        values = _predict(X, infected, observed, C, standardize)
        hits = _hidden_hits(values, infected, observed)
        both = {}
        for way, predicted in (("states", (values > 0.5).astype(float)), ("probabilities", values)):
            predicted[observed] = infected[observed]
            both[way] = np.bincount(place, weights=predicted, minlength=len(snapshots))
        curves.append(both[count])
        errors = {way: float(np.abs(curve - truth).mean()) for way, curve in both.items()}
        maes = {f"mae_{way}": error for way, error in errors.items()}
        rows.append({"mae": errors[count], **maes, **hits, "n_observed": float(len(observed))})
    scores = collect("epidemic reconstruction", rows, C=C, count=count, repeats=repeats, n_states=len(X))
    return Reconstruction(scores, snapshots, truth, np.array(curves))


def _hidden_hits(values: np.ndarray, infected: np.ndarray, observed: np.ndarray) -> dict[str, float]:
    """Return the accuracy on hidden states, and that of always predicting the more frequent one."""
    hidden = np.ones(len(infected), dtype=bool)
    hidden[observed] = False
    share = infected[hidden].mean() if hidden.any() else 0.0
    right = ((values > 0.5) == infected)[hidden]
    return {
        "accuracy": float(right.mean()) if len(right) else 1.0,
        "majority": float(max(share, 1 - share)),
    }


def _observe_once(nodes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return one random row of each node."""
    order = rng.permutation(len(nodes))
    _, first = np.unique(nodes[order], return_index=True)
    return order[first]


def _predict(
    X: np.ndarray, infected: np.ndarray, observed: np.ndarray, C: float, standardize: bool
) -> np.ndarray:
    """Return the probability of being infected for every row."""
    if standardize:
        X = standardized(X, observed)
    weights = fit_one_vs_rest(X[observed], infected[observed][:, None], C)
    probability: np.ndarray = expit(decision(X, weights)[:, 0].astype(np.float64))
    return probability
