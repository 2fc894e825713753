"""Predict the labels of unlabelled items, by logistic regression on the vectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softvec.core.checks import counted
from softvec.core.errors import InputError, optional_package
from softvec.core.machine import machine
from softvec.embedding.logistic import checked_C, cross_validated, decision, fit_one_vs_rest, sigmoid
from softvec.embedding.persons import of_labels
from softvec.names import Names
from softvec.names.align import label_matrix
from softvec.read.labels import Groups

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
        Share of labelled items whose most likely label is one of theirs, by cross-validation.
    n_labelled : int
        Items that had a label.
    C : float
        Inverse regularisation of the classifier.
    multiple : bool
        Whether items may have several labels.
    """

    names: Names
    labels: list[Any]
    probability: Array
    classes: list[Any]
    probabilities: Array
    accuracy: float
    n_labelled: int
    C: float
    multiple: bool = False

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Prediction]:
        return map(Prediction, self.names, self.labels, self.probability.tolist())

    def several(self, n: int | None = None, threshold: float = 0.0) -> list[Prediction]:
        """Return the ``n`` most likely labels of each item (None: all) that reach a probability."""
        order = np.argsort(-self.probabilities, axis=1, kind="stable")[:, :n]
        chosen = np.take_along_axis(self.probabilities, order, axis=1)
        return [
            Prediction(name, self.classes[j], p)
            for name, labels, own in zip(self.names, order.tolist(), chosen.tolist())
            for j, p in zip(labels, own)
            if p >= threshold
        ]

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


def predict(emb: Embedding, labels: Any, *, C: float | str = "cv", n_jobs: int | None = None) -> Predictions:
    """Predict the labels of unlabelled items, with probabilities.

    Parameters
    ----------
    labels : mapping, Series, array, 0/1 matrix, or path
        Known labels, by name; an array is in the order of the vectors. None, NaN, an empty text and
        a negative number mean no label. A matrix holds several labels per item. Labels of
        persons, where names are (person, time), are predicted for persons, from their mean vectors.
    C : float or "cv"
        Inverse regularisation of the logistic regression on the directions of the vectors; ``"cv"``
        chooses it by cross-validation, which also scales the probabilities.

    Returns
    -------
    Predictions
        Iterate for (name, label, probability); ``accuracy`` is measured by cross-validation on the items
        with labels: see :class:`softvec.embedding.predict.Predictions`.

    Examples
    --------
    >>> from softvec import Embedding
    >>> emb = Embedding([[1, 0], [0, 1], [1, 0.1], [0, 0.9], [0.9, 0]], ["a", "b", "c", "d", "e"])
    >>> emb.predict({"a": "left", "b": "right", "c": "left", "d": "right"}, C=10.0).to_dict()
    {'e': 'left'}
    """
    emb, Y, classes, several = _targets(emb, labels)
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
        several,
    )


def _targets(emb: Embedding, labels: Any) -> tuple[Embedding, Array, list[Any], bool]:
    """Return the vectors, which has which label (n, k), the labels, and whether one may have several."""
    emb, labels = of_labels(emb, labels)
    if isinstance(labels, Groups):
        return emb, labels.members.toarray() != 0, list(labels.classes), labels.multiple
    Y, classes = label_matrix(labels, len(emb), emb.names)
    return emb, Y, classes, bool((Y.sum(axis=1) > 1).any())


def _probabilities(scores: Array, several: bool) -> Array:
    """Return sigmoids of the scores, divided by their sum unless items have several labels."""
    P = sigmoid(scores)
    return P if several else P / np.maximum(P.sum(axis=1, keepdims=True), 1e-300)


def _choose(X: Array, Y: Array, C: float | str, several: bool) -> tuple[float, float, float]:
    """Return C, chosen by cross-validation unless it is a number, its accuracy, and a scale for the scores.

    The scale of the probabilities maximises the likelihood of held-out labels.
    """
    C = checked_C(C)
    grid = C_GRID if isinstance(C, str) else (C,)
    order = np.random.default_rng(0).permutation(len(X))[:_SAMPLE]
    folds, T = np.array_split(np.arange(len(order)), _FOLDS), Y[order]
    scores = np.stack(list(cross_validated(X[order], T, grid, folds)))
    right = np.take_along_axis(T[None], np.argmax(scores, axis=2)[:, :, None], axis=2).mean(axis=(1, 2))
    best = int(np.argmax(right))
    return grid[best], float(right[best]), _scale(scores[best], T, several)


def _scale(scores: Array, T: Array, several: bool) -> float:
    """Return the factor of the scores that maximises the likelihood of the known labels."""
    from scipy.optimize import minimize_scalar

    def loss(log_factor: float) -> float:
        P = np.clip(_probabilities(np.exp(log_factor) * scores, several), 1e-12, 1 - 1e-12)
        return -float(np.log(P[T]).sum() + (np.log(1 - P[~T]).sum() if several else 0.0))

    return float(np.exp(minimize_scalar(loss, bounds=(-5, 3), method="bounded").x))
