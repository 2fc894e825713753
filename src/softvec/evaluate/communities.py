"""Communities from vectors, compared with known ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import (
    adjusted_mutual_info_score,
    adjusted_rand_score,
    normalized_mutual_info_score,
    silhouette_score,
)

from softvec.core.errors import InputError
from softvec.evaluate.common import Scores, as_vectors, collect, progress, repeat_seeds, unit_rows
from softvec.names.align import align_labels, label_codes


def find_communities(
    X: Any,
    n_communities: int | None = None,
    *,
    max_communities: int = 30,
    normalize: bool = True,
    n_init: int = 10,
    random_state: int | np.random.Generator | None = 0,
) -> np.ndarray:
    """Cluster vectors by k-means.

    Parameters
    ----------
    X : ndarray of shape (n, d) or Embedding
        Vectors.
    n_communities : int or None
        Number of clusters; ``None`` takes the one from 2 to ``max_communities`` of the largest silhouette,
        measured on at most 5,000 vectors.
    max_communities : int
        Largest number tried.
    normalize : bool
        Divide the vectors by their norms first, so that angles alone count.
    n_init : int
        Starts of k-means; the best one is kept.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    ndarray of shape (n,)
        Cluster numbers from 0 on.

    Examples
    --------
    >>> import numpy as np
    >>> from softvec.evaluate import find_communities
    >>> X = np.repeat(np.eye(3), 20, axis=0) + 0.01 * np.random.default_rng(0).standard_normal((60, 3))
    >>> len(np.unique(find_communities(X)))
    3
    """
    X = as_vectors(X)
    if normalize:
        X = unit_rows(X)
    rng = np.random.default_rng(random_state)
    if n_communities is None:
        n_communities = _best_number(X, max_communities, rng)
    if not 1 <= n_communities <= len(X):
        raise InputError(f"n_communities is {n_communities}; it must lie between 1 and the {len(X)} vectors")
    kmeans = KMeans(n_communities, n_init=n_init, random_state=int(rng.integers(2**31)))
    labels: np.ndarray = kmeans.fit_predict(X)
    return labels


def partition_scores(truth: np.ndarray, found: np.ndarray) -> dict[str, float]:
    """Return the normalised and adjusted mutual information and the adjusted Rand index of two partitions."""
    return {
        "nmi": float(normalized_mutual_info_score(truth, found)),
        "ami": float(adjusted_mutual_info_score(truth, found)),
        "ari": float(adjusted_rand_score(truth, found)),
    }


def communities(
    X: Any,
    labels: Any,
    *,
    n_communities: int | str | None = "known",
    scored: np.ndarray | None = None,
    normalize: bool = True,
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
        NaN) are left out, of the clustering too.
    n_communities : "known", int or None
        "known" takes the number of different labels, ``None`` estimates it by the silhouette.
    scored : ndarray of shape (n,), bool, optional
        The nodes to cluster and score. A node without edges holds no information about its community: pass
        ``degrees > 0`` to leave such nodes out, as softvec's experiments do for all methods alike.
    normalize : bool
        Divide the vectors by their norms first.
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
    names = getattr(X, "names", None)
    X = as_vectors(X)
    aligned = align_labels(labels, len(X), names)
    if aligned.ndim != 1:
        raise InputError(f"labels has shape {aligned.shape}; one per vector, {len(X)} in all, is expected")
    labels, _ = label_codes(aligned)
    chosen = labels >= 0
    if scored is not None:
        scored = np.asarray(scored, dtype=bool)
        if scored.shape != labels.shape:
            raise InputError(f"scored has shape {scored.shape}; one value per vector is expected")
        chosen &= scored
    if chosen.sum() < 2:
        raise InputError(f"{int(chosen.sum())} nodes are left to score; at least 2 are needed")
    X, labels = X[chosen], labels[chosen]
    if isinstance(n_communities, str):
        if n_communities != "known":
            raise InputError(f"n_communities is {n_communities!r}; pass 'known', a number or None")
        n_communities = len(np.unique(labels))
    rows, sizes = [], []
    for rng in progress(repeat_seeds(random_state, repeats), verbose, "communities"):
        found = find_communities(X, n_communities, normalize=normalize, n_init=n_init, random_state=rng)
        rows.append(partition_scores(labels, found))
        sizes.append(len(np.unique(found)))
    return collect("communities", rows, n_communities=sizes, n_nodes=len(X), repeats=repeats)


def _best_number(X: np.ndarray, largest: int, rng: np.random.Generator) -> int:
    """Return the number of clusters of the largest silhouette on a sample of the vectors."""
    sample = X if len(X) <= 5000 else X[rng.choice(len(X), 5000, replace=False)]
    distinct = len(np.unique(sample.round(6), axis=0))
    best, best_score = 1, -np.inf
    for k in range(2, min(largest, distinct, len(sample) - 1) + 1):
        kmeans = KMeans(k, n_init=3, random_state=int(rng.integers(2**31)))
        found = kmeans.fit_predict(sample)
        if len(np.unique(found)) < 2:
            continue
        score = silhouette_score(sample, found, sample_size=min(2000, len(sample)), random_state=0)
        if score > best_score:
            best, best_score = k, float(score)
    return best
