"""Scores of an embedding, the same for every method: classification, communities, links."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from sklearn.metrics import f1_score
from threadpoolctl import threadpool_limits

from softvec.evaluate.classification import node_classification, top_labels
from softvec.evaluate.common import repeat_seeds
from softvec.evaluate.communities import communities
from softvec.evaluate.links import LinkSplit, score_links, split_edges
from softvec.names.align import label_matrix

from .graphs import Graph

RATIO = 0.5
HIDDEN = 0.2


def scaled(X: np.ndarray) -> np.ndarray:
    """Return the vectors divided by one number, so that one grid of C serves methods of every scale."""
    X = np.asarray(X, dtype=np.float32)
    mean_square = float((X.astype(np.float64) ** 2).sum(axis=1).mean())
    return X / np.float32(max(np.sqrt(mean_square), 1e-30))


def classification(
    X: np.ndarray, graph: Graph, *, repeats: int, threads: int = 2, ratio: float = RATIO
) -> dict[str, Any]:
    """Return micro and macro F1 in percent at a share of labels; split r is the same for every method.

    Intercepts are free, so centring changes no classifier, but a mean far from 0 would hide the scale.
    """
    X = scaled(X - X.mean(axis=0, dtype=np.float64))

    def split(r: int) -> tuple[float, float]:
        found = node_classification(X, graph.labels, ratios=(ratio,), repeats=1, C="cv", random_state=r)
        return found[ratio]["micro_f1"], found[ratio]["macro_f1"]

    # one split for each thread: faster than two threads inside products this small
    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        micro, macro = zip(*pool.map(split, range(repeats)))
    return _in_percent(micro, macro)


def neighbour_votes(graph: Graph, *, repeats: int, ratio: float = RATIO) -> dict[str, Any]:
    """Return F1 in percent without vectors, on the same splits: the commonest labels of the neighbours."""
    Y, _ = label_matrix(graph.labels, graph.A.shape[0])
    known = np.flatnonzero(Y.any(axis=1))
    A, Y = graph.A[known][:, known], Y[known][:, Y.any(axis=0)]
    rows = []
    for r in range(repeats):
        order = repeat_seeds(r, 1)[0].permutation(len(Y))
        train, test = np.split(order, [round(ratio * len(Y))])
        votes = A[test][:, train] @ Y[train].astype(float) + Y[train].mean(axis=0) / 2  # else the commonest
        predicted = top_labels(votes, Y[test].sum(axis=1))
        rows.append([f1_score(Y[test], predicted, average=a, zero_division=0) for a in ("micro", "macro")])
    return _in_percent(*zip(*rows))


def _in_percent(micro: Sequence[float], macro: Sequence[float]) -> dict[str, Any]:
    return {
        "micro_f1": 100 * float(np.mean(micro)),
        "macro_f1": 100 * float(np.mean(macro)),
        "micro_f1_splits": [round(100 * value, 3) for value in micro],
        "macro_f1_splits": [round(100 * value, 3) for value in macro],
    }


def mean_of_starts(cells: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the scores of several starts as one: means, split by split, and the spread of micro-F1."""
    result: dict[str, Any] = {}
    for key, first in cells[0].items():
        values = np.array([cell[key] for cell in cells])
        result[key] = (
            values.mean(axis=0).round(3).tolist() if isinstance(first, list) else float(values.mean())
        )
    micro = [cell["micro_f1"] for cell in cells]
    if len(micro) > 1:
        result |= {
            "micro_f1_starts": [round(m, 3) for m in micro],
            "micro_f1_spread": float(np.std(micro, ddof=1)),
        }
    return result


def clustering(X: np.ndarray, graph: Graph) -> dict[str, float]:
    """Return the NMI in percent of k-means, nodes without edges left out; nothing for multi-label graphs."""
    if graph.multilabel:
        return {}
    linked = np.diff(graph.A.indptr) > 0
    starts = 10 if len(X) <= 12_000 else 2
    with threadpool_limits(2):
        found = communities(X, np.where(linked, graph.labels, -1), n_init=starts, random_state=0)
    return {"nmi": 100 * found["nmi"], "ari": 100 * found["ari"]}


def hidden_links(graph: Graph) -> LinkSplit:
    """Return the split of the edges that every method is tested on."""
    return split_edges(graph.A, HIDDEN, random_state=0)


def links(X: np.ndarray, split: LinkSplit) -> dict[str, float]:
    """Return the AUC in percent of a logistic regression on the products of two nodes' vectors."""
    with threadpool_limits(2):
        found = score_links(scaled(X), split, scorer="hadamard", random_state=0)
    return {f"{key}": 100 * found[key] for key in ("auc_random", "auc_degree")}
