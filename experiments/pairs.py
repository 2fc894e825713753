"""Pair classification: logistic regression on cosines, and baselines without vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import accuracy_score, roc_auc_score

from softvec.core.checks import unit_rows
from softvec.core.errors import InputError
from softvec.core.progress import progress
from softvec.embedding.logistic import decision, fit_one_vs_rest
from softvec.evaluate.common import Scores, as_vectors, collect, repeat_seeds, standardized
from softvec.operators import checked_csr


def pair_cosines(X: Any, pairs: np.ndarray, Y: Any = None) -> np.ndarray:
    """Return the cosine of each pair of rows; with context vectors ``Y``, of row i of X and row j of Y."""
    X = unit_rows(as_vectors(X))
    Y = X if Y is None else unit_rows(as_vectors(Y, "Y"))
    pairs = _check_pairs(pairs, len(X), len(Y))
    cosines: np.ndarray = np.einsum("ij,ij->i", X[pairs[:, 0]], Y[pairs[:, 1]])
    return cosines


def pair_features(A: sp.sparray | sp.spmatrix, pairs: np.ndarray) -> dict[str, np.ndarray]:
    """Return baselines for each pair from the graph alone.

    Parameters
    ----------
    A : sparse matrix of shape (n, n)
        Symmetric graph; only which entries are non-zero matters.
    pairs : ndarray of shape (m, 2)
        Node numbers.

    Returns
    -------
    dict of str to ndarray of shape (m,)
        ``log_degree_product``, ``least_degree``, ``common_neighbors``, and ``cosine_neighbors``, common
        neighbours divided by the root of the product of the degrees.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from experiments.pairs import pair_features
    >>> star = sp.csr_array([[0, 1, 1], [1, 0, 0], [1, 0, 0]])
    >>> pair_features(star, [[1, 2]])["common_neighbors"].tolist()
    [1.0]
    """
    A = sp.csr_array(checked_csr(A), dtype=np.float64, copy=True)
    A.setdiag(0)
    A.eliminate_zeros()
    A.data[:] = 1.0
    pairs = _check_pairs(pairs, A.shape[0], A.shape[1])
    degrees = np.diff(A.indptr).astype(np.float64)
    i, j = pairs.T
    product = degrees[i] * degrees[j]
    common = np.empty(len(pairs))
    for lo in range(0, len(pairs), 65536):
        block = slice(lo, lo + 65536)
        common[block] = np.asarray(A[i[block]].multiply(A[j[block]]).sum(axis=1)).ravel()
    return {
        "log_degree_product": np.log1p(product),
        "least_degree": np.minimum(degrees[i], degrees[j]),
        "common_neighbors": common,
        "cosine_neighbors": common / np.sqrt(np.maximum(product, 1.0)),
    }


def pair_classification(
    features: np.ndarray,
    labels: Any,
    *,
    train_fraction: float = 0.7,
    train: np.ndarray | None = None,
    test: np.ndarray | None = None,
    C: float = 1.0,
    repeats: int = 10,
    random_state: int | np.random.Generator | None = 0,
    verbose: bool = False,
) -> Scores:
    """Predict the binary label of each pair from its feature(s) by logistic regression.

    Parameters
    ----------
    features : ndarray of shape (m,) or (m, f)
        For instance :func:`pair_cosines`; standardised over the training pairs.
    labels : ndarray of shape (m,)
        0 or 1 for each pair.
    train_fraction : float
        Share of the pairs to train on, drawn at random in each repeat.
    train, test : ndarray of int, optional
        Fixed row numbers to train and to test on, instead of random ones; then there is one repeat.
    C : float
        Inverse regularisation of the logistic regression.
    repeats, random_state, verbose
        Number of random splits, seed, progress bar.

    Returns
    -------
    Scores
        ``accuracy`` and ``auc`` on the test pairs; ``threshold``, the accuracy of the best threshold on the
        training pairs (for skewed features a logistic regression may place it elsewhere); ``majority``, the
        accuracy of always predicting the more frequent label.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.pairs import pair_classification
    >>> pair_classification(np.arange(100), np.arange(100) >= 50, C=100.0)["accuracy"] > 0.95
    True
    """
    features = np.asarray(features, dtype=np.float64)
    features = features[:, None] if features.ndim == 1 else features
    truth = np.asarray(labels).astype(int)
    if features.ndim != 2 or truth.shape != (len(features),) or not np.isin(truth, [0, 1]).all():
        raise InputError(
            f"labels must be 0 or 1, one per pair; got shape {truth.shape} for {len(features)} pairs"
        )
    if not np.isfinite(features).all():
        raise InputError("features has values that are not finite")
    splits: list[tuple[np.ndarray, np.ndarray]]
    if train is not None and test is not None:
        splits = [(np.asarray(train), np.asarray(test))]
    elif train is not None or test is not None:
        raise InputError("pass both train and test, or neither")
    elif not 0 < train_fraction < 1:
        raise InputError.of("train_fraction", train_fraction, "a number between 0 and 1")
    else:
        cut = round(train_fraction * len(truth))
        orders = [rng.permutation(len(truth)) for rng in repeat_seeds(random_state, repeats)]
        splits = [(order[:cut], order[cut:]) for order in orders]
    rows = [_score_split(features, truth, *split, C) for split in progress(splits, verbose, "pairs")]
    return collect("pair classification", rows, n_pairs=len(truth), C=C, repeats=len(rows))


def _score_split(
    features: np.ndarray, truth: np.ndarray, train: np.ndarray, test: np.ndarray, C: float
) -> dict[str, float]:
    if len(np.unique(truth[train])) < 2 or len(np.unique(truth[test])) < 2:
        raise InputError("a split has pairs of one label only; there are too few pairs")
    scaled = standardized(features, train)
    weights = fit_one_vs_rest(scaled[train], truth[train][:, None] == 1, C)
    scores = decision(scaled[test], weights)[:, 0]
    cut = _best_cut(decision(scaled[train], weights)[:, 0], truth[train])
    share = truth[test].mean()
    return {
        "accuracy": float(accuracy_score(truth[test], scores > 0)),
        "threshold": float(accuracy_score(truth[test], scores > cut)),
        "auc": float(roc_auc_score(truth[test], scores)),
        "majority": float(max(share, 1 - share)),
    }


def _best_cut(scores: np.ndarray, truth: np.ndarray) -> float:
    """Return the threshold with the highest accuracy."""
    order = np.argsort(scores, kind="stable")
    ranked, labels = scores[order], truth[order]
    # Cut after k scores: zeros among the first k and ones among the others are right.
    right = np.concatenate([[0], np.cumsum(labels == 0)]) + np.concatenate(
        [np.cumsum(labels[::-1])[::-1], [0]]
    )
    possible = np.flatnonzero(
        np.concatenate([[True], np.diff(ranked) > 0, [True]])
    )  # not between equal scores
    k = int(possible[np.argmax(right[possible])])
    if k == 0:
        return float(ranked[0]) - 1.0
    return float(ranked[k - 1]) if k == len(ranked) else float(ranked[k - 1] + ranked[k]) / 2


def _check_pairs(pairs: Any, n: int, m: int) -> np.ndarray:
    pairs = np.asarray(pairs)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not np.issubdtype(pairs.dtype, np.integer):
        raise InputError(f"pairs must be integers of shape (m, 2); got {pairs.dtype} of shape {pairs.shape}")
    if len(pairs) and (pairs.min() < 0 or pairs[:, 0].max() >= n or pairs[:, 1].max() >= m):
        raise InputError(f"pairs holds numbers outside 0 .. {min(n, m) - 1}")
    return pairs
