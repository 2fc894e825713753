"""Detect communities from vectors, and compare them with known ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import (
    adjusted_mutual_info_score,
    adjusted_rand_score,
    normalized_mutual_info_score,
)

from softvec.core.checks import integer, unit_rows
from softvec.core.errors import InputError
from softvec.core.progress import progress
from softvec.embedding.groups import find_groups, grouping_vectors, k_means
from softvec.embedding.persons import of_labels
from softvec.evaluate.common import Scores, as_vectors, collect, repeat_seeds
from softvec.names.align import align_labels, label_codes


def modularity(graph: Any, groups: Any) -> float:
    """Return Newman's modularity of a partition of a graph.

    It is the share of the edge weight inside groups minus its expectation for random edges with the same
    degrees.

    Parameters
    ----------
    graph : sparse matrix or array of shape (n, n), or Affinity
        Adjacency matrix with non-negative weights; symmetric for an undirected graph.
    groups : array of shape (n,), mapping or pandas Series
        Group of each node; a mapping and a Series are matched with the names of an Affinity. A node without
        a group (-1, None) is a group of its own.

    Returns
    -------
    float
        At most 1; 0 for a single group.

    Examples
    --------
    >>> import numpy as np
    >>> from softvec.evaluate import modularity
    >>> two_pairs = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    >>> modularity(two_pairs, [0, 0, 1, 1])
    0.5
    """
    signed = getattr(graph, "signed", None)
    A = sp.coo_array(getattr(graph, "matrix", graph) if signed is None else signed)
    if A.shape[0] != A.shape[1]:
        raise InputError(f"graph has shape {A.shape}; expected a square adjacency matrix")
    weights = A.data.astype(np.float64)
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise InputError("graph has weights that are negative or not finite; modularity needs weights >= 0")
    total = weights.sum()
    if not total > 0:
        raise InputError("graph has no edges; modularity is not defined")
    codes, classes = label_codes(align_labels(groups, A.shape[0], getattr(graph, "rows", None)))
    alone = np.flatnonzero(codes < 0)
    codes[alone] = len(classes) + np.arange(len(alone))
    out = np.bincount(codes[A.row], weights, minlength=int(codes.max()) + 1) / total
    into = np.bincount(codes[A.col], weights, minlength=len(out)) / total
    inside = weights[codes[A.row] == codes[A.col]].sum() / total
    return float(inside - out @ into)


def partition_scores(truth: np.ndarray, groups: np.ndarray) -> dict[str, float]:
    """Return the normalised and adjusted mutual information and the adjusted Rand index of two partitions."""
    return {
        "nmi": float(normalized_mutual_info_score(truth, groups)),
        "ami": float(adjusted_mutual_info_score(truth, groups)),
        "ari": float(adjusted_rand_score(truth, groups)),
    }


def communities(
    X: Any,
    labels: Any,
    *,
    n_communities: int | str | None = "known",
    n_init: int = 10,
    repeats: int = 1,
    random_state: int | np.random.Generator | None = 0,
    verbose: bool = False,
) -> Scores:
    """Cluster vectors and compare the clusters with known communities.

    Parameters
    ----------
    X : ndarray of shape (n, d) or Embedding
        Vectors.
    labels : array of shape (n,), mapping or pandas Series
        Known communities, matched as in :func:`node_classification`; nodes without one (negative, None or
        NaN) are neither clustered nor scored. Nothing reveals the community of a node without edges: give it
        none, as softvec's experiments do for all methods.
    n_communities : "known", int or None
        "known" uses the number of distinct labels, ``None`` detects it.
    n_init : int
        Starts of k-means.
    repeats : int
        Number of runs of k-means with different seeds.
    random_state : int, Generator or None
        Seed.
    verbose : bool
        Show a progress bar.

    Returns
    -------
    Scores
        ``nmi``, ``ami``, ``ari``; the settings hold the number of clusters and of scored nodes.

    Examples
    --------
    >>> import numpy as np
    >>> from softvec.evaluate import communities
    >>> labels = np.repeat([0, 1, 2], 20)
    >>> communities(np.eye(3)[labels], labels)["nmi"]
    1.0
    """
    X, labels = of_labels(X, labels)
    names = getattr(X, "names", None)
    X = as_vectors(grouping_vectors(X) if hasattr(X, "provenance") else X)
    aligned = align_labels(labels, len(X), names)
    if aligned.ndim != 1:
        raise InputError(f"labels has shape {aligned.shape}; one per vector, {len(X)} in all, is expected")
    labels, _ = label_codes(aligned)
    chosen = labels >= 0
    if chosen.sum() < 2:
        raise InputError(f"{int(chosen.sum())} nodes are left to score; at least 2 are needed")
    X, labels = X[chosen], labels[chosen]
    if isinstance(n_communities, str):
        if n_communities != "known":
            raise InputError.of("n_communities", n_communities, "'known', an integer or None")
        n_communities = len(np.unique(labels))
    if n_communities is not None:
        integer("n_communities", n_communities, 1, len(X), "the number of vectors")
        X = unit_rows(X)
    rows, sizes = [], []
    for rng in progress(repeat_seeds(random_state, repeats), verbose, "communities"):
        if n_communities is None:
            groups = find_groups(X, random_state=rng)
        else:
            groups = k_means(X, n_communities, n_init=n_init, random_state=rng, batches=False)
        rows.append(partition_scores(labels, groups))
        sizes.append(len(np.unique(groups)))
    return collect("communities", rows, n_communities=sizes, n_nodes=len(X), repeats=repeats)
