"""Link prediction: rank hidden edges against non-edges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import average_precision_score, roc_auc_score

from softvec.core.checks import choice, unit_rows
from softvec.core.errors import InputError
from softvec.core.progress import progress
from softvec.embedding import Embedding
from softvec.embedding.links import pair_logits
from softvec.embedding.logistic import decision, fit_one_vs_rest
from softvec.evaluate.common import Scores, as_vectors, collect, repeat_seeds
from softvec.fit.calibrate import removable_links
from softvec.operators import checked_csr

SCORERS = ("dot", "cosine", "hadamard", "softmax")


@dataclass(frozen=True)
class LinkSplit:
    """A graph with some edges hidden.

    Attributes
    ----------
    graph : csr_array of shape (n, n)
        The remaining graph, to embed, with the same connected components.
    positives : ndarray of shape (m, 2)
        The hidden edges.
    negatives : dict of str to ndarray of shape (m, 2)
        Non-edges: "random" pairs of nodes, and "degree" pairs whose ends are drawn like the ends of edges, so
        that degrees alone do not separate them from edges.
    """

    graph: sp.csr_array
    positives: np.ndarray
    negatives: dict[str, np.ndarray]


def split_edges(
    A: sp.sparray | sp.spmatrix,
    fraction: float = 0.2,
    *,
    random_state: int | np.random.Generator | None = 0,
) -> LinkSplit:
    """Hide a share of the edges of an undirected graph without disconnecting anything.

    A random spanning forest is kept, and hidden edges are drawn from the other edges; if these are fewer than
    requested, all of them are hidden.

    Parameters
    ----------
    A : sparse matrix of shape (n, n)
        Symmetric; loops are ignored.
    fraction : float
        Share of the edges to hide.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    LinkSplit
        The remaining graph, the hidden edges, and as many non-edges of each kind.

    Examples
    --------
    >>> import networkx as nx
    >>> from softvec.evaluate import split_edges
    >>> split = split_edges(nx.to_scipy_sparse_array(nx.karate_club_graph(), weight=None), 0.1)
    >>> split.positives.shape == split.negatives["random"].shape
    True
    """
    A = sp.csr_array(checked_csr(A))
    n = A.shape[0]
    if A.shape[0] != A.shape[1] or abs(A - A.T).nnz:
        raise InputError("A must be the symmetric matrix of an undirected graph")
    if not 0 < fraction < 1:
        raise InputError.of("fraction", fraction, "a number between 0 and 1")
    rng = np.random.default_rng(random_state)
    upper = sp.triu(A, 1).tocoo()
    rows, columns = upper.row.astype(np.int64), upper.col.astype(np.int64)
    m = len(rows)
    if n * (n - 1) // 2 - m < 1:
        raise InputError("A is a complete graph (or has one node): there are no pairs without an edge")
    removable = removable_links(rows, columns, n, rng)
    if not len(removable):
        raise InputError(f"A is a forest: hiding any of its {m} edges would disconnect it")
    hidden = removable[: max(1, round(fraction * m))]
    kept = np.ones(m, dtype=bool)
    kept[hidden] = False
    half = sp.csr_array((upper.data[kept], (rows[kept], columns[kept])), shape=(n, n))
    graph = sp.csr_array(half + half.T)
    keys = rows * n + columns
    positives = np.stack([rows[hidden], columns[hidden]], axis=1)
    ends = np.concatenate([rows[kept], columns[kept]])
    count = min(len(hidden), n * (n - 1) // 2 - m)
    negatives = {
        "random": _absent_pairs(n, keys, count, lambda size: rng.integers(0, n, size)),
        "degree": _absent_pairs(n, keys, count, lambda size: ends[rng.integers(0, len(ends), size)]),
    }
    return LinkSplit(graph, positives, negatives)


def score_links(
    X: Any,
    split: LinkSplit,
    *,
    scorer: str = "cosine",
    random_state: int | np.random.Generator | None = 0,
) -> dict[str, float]:
    """Return the AUC and the average precision of the hidden edges against both kinds of negatives.

    Parameters
    ----------
    X : ndarray of shape (n, d) or Embedding
        Vectors of ``split.graph``.
    split : LinkSplit
        From :func:`split_edges`.
    scorer : {"cosine", "dot", "hadamard", "softmax"}
        How a pair is scored; "hadamard" is a logistic regression on the products x_i * x_j, trained on the
        remaining edges and as many random non-edges; "softmax" is the softmax of an Embedding of a graph,
        with popularity: best with ``softvec.embed(split.graph, view="links")``.
    random_state : int, Generator or None
        Seed of the pairs that the "hadamard" scorer is trained on.

    Returns
    -------
    dict
        ``auc_random``, ``ap_random``, ``auc_degree``, ``ap_degree``.
    """
    choice("scorer", scorer, SCORERS)
    if scorer == "softmax":
        if not isinstance(X, Embedding):
            raise InputError("scorer 'softmax' needs an Embedding; pass the result of softvec.embed")
        score = pair_logits(X, split.graph)
    else:
        V, n = as_vectors(X), split.graph.shape[0]
        if len(V) != n:
            raise InputError(f"X has shape {V.shape}; the graph has {n} nodes")
        V = unit_rows(V) if scorer == "cosine" else V
        score = _hadamard(V, split, random_state) if scorer == "hadamard" else _inner(V)
    hidden = score(*split.positives.T)
    scores = {}
    for kind, pairs in split.negatives.items():
        values = np.concatenate([hidden, score(*pairs.T)])
        truth = np.repeat([1, 0], [len(hidden), len(pairs)])
        scores[f"auc_{kind}"] = float(roc_auc_score(truth, values))
        scores[f"ap_{kind}"] = float(average_precision_score(truth, values))
    return scores


def link_prediction(
    embed: Callable[[sp.csr_array], Any],
    A: sp.sparray | sp.spmatrix,
    *,
    fraction: float = 0.2,
    scorer: str = "cosine",
    repeats: int = 5,
    random_state: int | np.random.Generator | None = 0,
    verbose: bool = False,
) -> Scores:
    """Hide edges, embed the remaining graph, and rank the hidden edges against non-edges.

    Parameters
    ----------
    embed : callable
        Takes the remaining graph, a CSR matrix, and returns vectors of shape (n, d) or an Embedding.
    A : sparse matrix of shape (n, n)
        The whole undirected graph.
    fraction, scorer
        As in :func:`split_edges` and :func:`score_links`.
    repeats : int
        Number of splits, each embedded separately.
    random_state : int, Generator or None
        Seed of the splits.
    verbose : bool
        Show a progress bar.

    Returns
    -------
    Scores
        ``auc_random``, ``ap_random``, ``auc_degree`` and ``ap_degree``.

    Examples
    --------
    >>> import networkx as nx, numpy as np
    >>> from softvec.evaluate import link_prediction
    >>> A = nx.to_scipy_sparse_array(nx.planted_partition_graph(2, 150, 0.11, 0.02, seed=0))
    >>> groups = np.repeat([0, 1], 150)
    >>> scores = link_prediction(lambda graph: np.eye(2)[groups], A, repeats=2)
    >>> scores["auc_random"] > 0.65
    True
    """
    rows = []
    for rng in progress(repeat_seeds(random_state, repeats), verbose, "link prediction"):
        split = split_edges(A, fraction, random_state=rng)
        rows.append(score_links(embed(split.graph), split, scorer=scorer, random_state=rng))
    n_hidden = len(split.positives)
    return collect(
        "link prediction", rows, fraction=fraction, scorer=scorer, repeats=repeats, n_hidden=n_hidden
    )


def _inner(X: np.ndarray) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    return lambda i, j: np.einsum("ij,ij->i", X[i], X[j])


def _hadamard(
    X: np.ndarray, split: LinkSplit, random_state: int | np.random.Generator | None
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Score a pair by a logistic regression on the products of its vectors."""
    rng = np.random.default_rng(random_state)
    upper = sp.triu(split.graph, 1).tocoo()
    n = split.graph.shape[0]
    chosen = rng.permutation(upper.nnz)[:50_000]  # plenty for d weights; keeps large graphs fast
    edges = np.stack([upper.row[chosen], upper.col[chosen]], axis=1).astype(np.int64)
    # Only the remaining edges are kept out of the negatives: leaving out hidden ones would leak the answer.
    keys = upper.row.astype(np.int64) * n + upper.col
    others = _absent_pairs(n, keys, len(edges), lambda size: rng.integers(0, n, size))
    features = np.concatenate([X[pairs[:, 0]] * X[pairs[:, 1]] for pairs in (edges, others)])
    truth = np.repeat([True, False], [len(edges), len(others)])[:, None]
    weights = fit_one_vs_rest(features, truth, C=1.0)
    return lambda i, j: decision(X[i] * X[j], weights)[:, 0]


def _absent_pairs(n: int, keys: np.ndarray, count: int, draw: Callable[[int], np.ndarray]) -> np.ndarray:
    """Draw distinct pairs i < j that are not among the ``keys`` i * n + j.

    If ``draw`` yields too few such pairs (hubs joined to everything), uniformly random ones are added.
    """
    pairs = np.empty(0, dtype=np.int64)
    for attempt in range(60):
        size = 2 * (count - len(pairs)) + 16
        if attempt < 30:
            i, j = draw(size), draw(size)
        else:
            rng = np.random.default_rng(attempt)
            i, j = rng.integers(0, n, size), rng.integers(0, n, size)
        low, high = np.minimum(i, j).astype(np.int64), np.maximum(i, j).astype(np.int64)
        new = (low * n + high)[low != high]
        merged = np.concatenate([pairs, new[~np.isin(new, keys)]])
        _, first = np.unique(merged, return_index=True)
        pairs = merged[np.sort(first)][:count]
        if len(pairs) == count:
            break
    return np.stack([pairs // n, pairs % n], axis=1)
