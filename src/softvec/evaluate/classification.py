"""Node classification: predict labels from vectors, one or several per node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import f1_score

from softvec.core.errors import InputError
from softvec.core.progress import progress
from softvec.embedding.logistic import checked_C, cross_validated, decision, fit_one_vs_rest
from softvec.embedding.persons import of_labels
from softvec.evaluate.common import Scores, as_vectors, collect, repeat_seeds
from softvec.names.align import label_matrix
from softvec.operators import checked_csr

#: Regularisations tried when ``C="cv"``.
C_GRID = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
MANY = 20_000  # training nodes from which on C is chosen on a sample
_SAMPLE = 5_000


def node_classification(
    X: Any,
    labels: Any,
    *,
    ratios: Sequence[float] = (0.5,),
    repeats: int = 10,
    C: float | str = "cv",
    random_state: int | np.random.Generator | None = 0,
    verbose: bool = False,
) -> dict[float, Scores]:
    """Predict the labels of nodes from their vectors by one-vs-rest logistic regression.

    A test node with m true labels gets its m highest-scoring ones, the usual convention for multi-label
    graphs; with one label per node that is the best class. Nodes without labels are ignored.

    Parameters
    ----------
    X : ndarray of shape (n, d) or Embedding
        Vectors.
    labels : array of shape (n,), matrix of shape (n, k), mapping, pandas Series or DataFrame
        One class per node, an integer or a text (negative, None or NaN: no label), or a 0/1 matrix, dense or
        sparse, for several labels per node. A mapping is matched with the names of an Embedding, a Series or
        DataFrame by its index; an array is in the order of the vectors.
    ratios : sequence of float
        Shares of labelled nodes to train on, each between 0 and 1.
    repeats : int
        Random splits per ratio.
    C : float or "cv"
        Inverse regularisation; "cv", the default, chooses the best micro-F1 of :data:`C_GRID` in a 3-fold
        cross-validation within the training nodes of each split, of 20,000 and more on 5,000 of them. The
        grid is for vectors of length about 1: it is divided by their mean squared length, rounded to a power
        of ten. Lengths count; to compare directions only, pass unit vectors.
    random_state : int, Generator or None
        Seed of the splits.
    verbose : bool
        Show a progress bar.

    Returns
    -------
    dict of float to Scores
        Scores for each ratio: ``result[0.5]["micro_f1"]`` is the mean over the repeats; also ``macro_f1``,
        over the labels in use.

    Examples
    --------
    >>> import numpy as np
    >>> from softvec.evaluate import node_classification
    >>> labels = np.arange(90) % 3
    >>> result = node_classification(np.eye(3)[labels], labels, repeats=2)
    >>> result[0.5]["micro_f1"]
    1.0
    """
    X, labels = of_labels(X, labels)
    names = getattr(X, "names", None)
    X = as_vectors(X)
    if sp.issparse(labels):
        labels = checked_csr(labels, "the matrix of labels")
    Y, _ = label_matrix(labels, len(X), names)
    known = np.flatnonzero(Y.any(axis=1))
    if len(known) < 2:
        raise InputError(f"labels: {len(known)} of {len(Y)} nodes have a label; at least 2 are needed")
    X, Y = X[known], Y[known][:, Y.any(axis=0)]
    if Y.shape[1] < 2:
        raise InputError("all labelled nodes have one class; expected at least two (-1 means no label)")
    for ratio in ratios:
        if not 0 < ratio < 1 or not 1 <= round(ratio * len(X)) < len(X):
            raise InputError(
                f"ratio {ratio} leaves no node to train or to test on; {len(X)} nodes have labels"
            )
    C = checked_C(C)
    rngs = repeat_seeds(random_state, repeats)
    rows: dict[float, list[dict[str, float]]] = {float(ratio): [] for ratio in ratios}
    jobs = [(float(ratio), rng) for rng in rngs for ratio in ratios]
    for ratio, rng in progress(jobs, verbose, "classification"):
        order = rng.permutation(len(X))
        train, test = np.split(order, [round(ratio * len(X))])
        rows[ratio].append(_score_split(X, Y, train, test, C))
    settings = {"repeats": repeats, "C": C, "n_nodes": len(X), "n_labels": Y.shape[1]}
    return {ratio: collect("node classification", rows[ratio], ratio=ratio, **settings) for ratio in rows}


def top_labels(scores: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return a boolean matrix with the ``counts[i]`` best-scored labels of each row."""
    ranks = np.empty_like(scores, dtype=np.int64)
    order = np.argsort(-scores, axis=1, kind="stable")
    np.put_along_axis(ranks, order, np.arange(scores.shape[1])[None, :], axis=1)
    chosen: np.ndarray = ranks < counts[:, None]
    return chosen


def _score_split(
    X: np.ndarray, Y: np.ndarray, train: np.ndarray, test: np.ndarray, C: float | str
) -> dict[str, float]:
    if isinstance(C, str):
        C = _best_C(X[train], Y[train])
    weights = fit_one_vs_rest(X[train], Y[train], C)
    predicted = top_labels(decision(X[test], weights), Y[test].sum(axis=1))
    return {
        "micro_f1": f1_score(Y[test], predicted, average="micro", zero_division=0),
        "macro_f1": f1_score(Y[test], predicted, average="macro", zero_division=0),
    }


def _best_C(X: np.ndarray, Y: np.ndarray) -> float:
    """Choose C by 3-fold cross-validation on micro-F1; training rows are in random order already.

    All folds go up the grid together, each fit starting from the last one, and stop once two values of C in a
    row are worse than the best so far. Equal scores do not stop it: if the vectors differ little, the first
    values of C all predict the commonest label. Of equal scores the smallest C is taken.
    """
    if len(X) >= MANY:
        X, Y = X[:_SAMPLE], Y[:_SAMPLE]
    folds = [fold for fold in np.array_split(np.arange(len(X)), 3) if 0 < len(fold) < len(X)]
    if not folds:
        return 1.0
    grid = [C / _power_of_ten(X) for C in C_GRID]
    best, hits, worse = grid[0], -1, 0
    for C, scores in zip(grid, cross_validated(X, Y, grid, folds)):
        count = int((top_labels(scores, Y.sum(axis=1)) & Y).sum())  # micro-F1 up to a factor
        worse = worse + 1 if count < hits else 0
        if count > hits:
            best, hits = C, count
        if worse == 2:
            break
    return best


def _power_of_ten(X: np.ndarray) -> float:
    """Return the mean squared length of the vectors, to the nearest power of ten."""
    square = float(np.einsum("ij,ij->", X, X, dtype=np.float64)) / len(X)
    return 10.0 ** round(np.log10(square)) if square > 0 else 1.0
