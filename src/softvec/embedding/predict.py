"""Predict the labels of unlabelled items, by logistic regression on the vectors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softvec.core.checks import counted, number
from softvec.core.errors import InputError, optional_package
from softvec.embedding.logistic import decision, fit_one_vs_rest, sigmoid
from softvec.names import Names
from softvec.names.align import label_matrix

if TYPE_CHECKING:
    from softvec.embedding.core import Embedding

Array = NDArray[Any]
C_GRID = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
_SAMPLE = 5000  # labelled items on which C is chosen, at most
_FOLDS = 3


class Prediction(NamedTuple):
    """One predicted label."""

    name: Any
    label: Any
    probability: float


@dataclass(frozen=True, eq=False, repr=False)
class Predictions:
    """Predicted labels of unlabelled items; iterate for (name, label, probability).

    Attributes
    ----------
    names : Names
        The items.
    labels : list
        The most likely label of each.
    probability : ndarray of shape (k,)
        Its probability.
    classes : list
        All labels, in the order of the columns of ``probabilities``.
    probabilities : ndarray of shape (k, len(classes))
        They add up to 1 for each item, unless items may have several labels.
    accuracy : float
        Share of labelled items whose label is predicted correctly, by cross-validation.
    n_labelled : int
        Items that had a label.
    C : float
        Inverse regularisation of the classifier.
    """

    names: Names
    labels: list[Any]
    probability: Array
    classes: list[Any]
    probabilities: Array
    accuracy: float
    n_labelled: int
    C: float

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Prediction]:
        return map(Prediction, self.names, self.labels, self.probability.tolist())

    def to_dict(self) -> dict[Any, Any]:
        """Return the predicted label of each name."""
        return dict(zip(self.names, self.labels))

    def to_dataframe(self) -> Any:
        """Return a pandas frame: label, probability, and a column for each class."""
        pd = optional_package("pandas", "to_dataframe needs pandas: pip install 'softvec[frames]'")
        index = pd.Index(self.names.to_list(), name="name", tupleize_cols=False)
        frame = pd.DataFrame(self.probabilities, index=index, columns=self.classes)
        frame.insert(0, "label", self.labels, allow_duplicates=True)
        frame.insert(1, "probability", self.probability, allow_duplicates=True)
        return frame

    def __repr__(self) -> str:
        return (
            f"<Predictions for {counted(len(self), 'item')} from {self.n_labelled:,} labelled: "
            f"{counted(len(self.classes), 'class', 'classes')}, accuracy {self.accuracy:.1%}>"
        )


def predict(emb: Embedding, labels: Any, C: float | str, n_jobs: int | None = None) -> Predictions:
    """Predict the missing labels; see :meth:`softvec.Embedding.predict`."""
    from softvec.core.machine import machine

    Y, classes, several = _targets(emb, labels)
    known = np.flatnonzero(Y.any(axis=1))
    wanted = np.flatnonzero(~Y.any(axis=1))
    used = np.asarray(Y.any(axis=0))
    if used.sum() < 2 or len(known) < _FOLDS:
        raise InputError(
            f"{counted(len(known), 'labelled item')} of {counted(int(used.sum()), 'class', 'classes')}; "
            "expected at least 3 items and 2 classes to learn from"
        )
    Y, classes = Y[:, used], [c for c, is_used in zip(classes, used) if is_used]
    X = emb.vectors * emb._scale[:, None]  # directions: better for new items
    with machine(n_jobs):  # one BLAS thread: the same bits everywhere
        strength, accuracy, scale = _choose(X[known], Y[known], C, several)
        weights = fit_one_vs_rest(X[known], Y[known], strength)
        P = _probabilities(scale * decision(X[wanted], weights), several)
    best = np.argmax(P, axis=1) if len(wanted) else np.empty(0, np.int64)
    return Predictions(
        emb.names.take(wanted),
        [classes[j] for j in best.tolist()],
        P[np.arange(len(P)), best],
        classes,
        P,
        accuracy,
        len(known),
        strength,
    )


def _targets(emb: Embedding, labels: Any) -> tuple[Array, list[Any], bool]:
    """Return which item has which label (n, k), the labels, and whether an item may have several."""
    if isinstance(labels, str | os.PathLike):
        from softvec.read.labels import read_labels

        groups = read_labels(labels, emb.names)
        return groups.members.toarray() != 0, list(groups.classes), groups.multiple
    Y, classes = label_matrix(labels, len(emb), emb.names)
    return Y, classes, bool((Y.sum(axis=1) > 1).any())


def _probabilities(scores: Array, several: bool) -> Array:
    """Return sigmoids of the scores, divided by their sum unless items have several labels."""
    P = sigmoid(scores)
    return P if several else P / np.maximum(P.sum(axis=1, keepdims=True), 1e-300)


def _choose(X: Array, Y: Array, C: float | str, several: bool) -> tuple[float, float, float]:
    """Return C, chosen by cross-validation unless it is a number, its accuracy, and a scale for the scores.

    The scale of the probabilities maximises the likelihood of held-out labels.
    """
    if isinstance(C, str) and C != "cv":
        raise InputError.of("C", C, "a number above 0 or 'cv'")
    grid = C_GRID if C == "cv" else (number("C", C, above=0),)
    order = np.random.default_rng(0).permutation(len(X))[:_SAMPLE]
    folds = np.arange(len(order)) * _FOLDS // len(order)
    scores, T = np.empty((len(grid), len(order), Y.shape[1])), Y[order]
    for fold in range(_FOLDS):
        train, test = order[folds != fold], order[folds == fold]
        for c, strength in enumerate(grid):
            weights = fit_one_vs_rest(X[train], Y[train], float(strength), tol=1e-3)
            scores[c, folds == fold] = decision(X[test], weights)
    right = np.take_along_axis(T[None], np.argmax(scores, axis=2)[:, :, None], axis=2).mean(axis=(1, 2))
    best = int(np.argmax(right))
    return float(grid[best]), float(right[best]), _scale(scores[best], T, several)


def _scale(scores: Array, T: Array, several: bool) -> float:
    """Return the factor of the scores that maximises the likelihood of the known labels."""
    from scipy.optimize import minimize_scalar

    def loss(log_factor: float) -> float:
        P = np.clip(_probabilities(np.exp(log_factor) * scores, several), 1e-12, 1 - 1e-12)
        return -float(np.log(P[T]).sum() + (np.log(1 - P[~T]).sum() if several else 0.0))

    return float(np.exp(minimize_scalar(loss, bounds=(-5, 3), method="bounded").x))
