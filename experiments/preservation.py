"""How well vectors preserve the neighbours and the order of affinities."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from softvec.core.checks import unit_rows
from softvec.core.errors import InputError
from softvec.core.progress import progress
from softvec.core.threads import row_blocks
from softvec.evaluate.common import Scores, as_vectors, collect, repeat_seeds
from softvec.operators import checked_csr


def neighbor_preservation(
    X: Any,
    P: sp.sparray | sp.spmatrix,
    *,
    n_neighbors: int | None = None,
    n_rows: int = 2000,
    repeats: int = 1,
    random_state: int | np.random.Generator | None = 0,
    verbose: bool = False,
) -> Scores:
    """Measure how many of the strongest affinities of a row are among its nearest vectors.

    For a row with k affinities (at most ``n_neighbors``, the largest ones), the k nearest other vectors by
    cosine are found exactly.

    Parameters
    ----------
    X : ndarray of shape (n, d) or Embedding
        Vectors.
    P : sparse matrix of shape (n, n)
        Affinities: a graph or a probability matrix.
    n_neighbors : int, optional
        Largest k; by default all affinities of a row count.
    n_rows : int
        Rows per repeat, drawn from those with affinities.
    repeats, random_state, verbose
        Number of samples of rows, seed, progress bar.

    Returns
    -------
    Scores
        ``recall``: 1 if the nearest vectors are exactly those with affinities; ``chance``: recall of random
        vectors.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from experiments.preservation import neighbor_preservation
    >>> angles = np.linspace(0, np.pi, 50)
    >>> X = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    >>> path = sp.diags_array([np.ones(49), np.ones(49)], offsets=[-1, 1])
    >>> neighbor_preservation(X, path)["recall"] > 0.95
    True
    """
    X = unit_rows(as_vectors(X))
    P = _without_diagonal(P, len(X))
    candidates = np.flatnonzero(np.diff(P.indptr))
    if not len(candidates):
        raise InputError("P has no affinities outside its diagonal")
    scores = []
    for rng in progress(repeat_seeds(random_state, repeats), verbose, "neighbours"):
        chosen = rng.permutation(candidates)[:n_rows]
        recalls, chances = [], []
        for lo, hi in row_blocks(len(chosen), 256):
            rows = chosen[lo:hi]
            cosines = X[rows] @ X.T  # (256, n)
            cosines[np.arange(len(rows)), rows] = -np.inf
            for row, values in zip(rows, cosines):
                entries = slice(P.indptr[row], P.indptr[row + 1])
                true = P.indices[entries]
                if n_neighbors is not None and len(true) > n_neighbors:
                    true = true[np.argsort(-P.data[entries], kind="stable")[:n_neighbors]]
                k = len(true)
                nearest = np.argpartition(-values, k - 1)[:k]
                recalls.append(len(np.intersect1d(nearest, true)) / k)
                chances.append(k / (len(X) - 1))
        scores.append({"recall": float(np.mean(recalls)), "chance": float(np.mean(chances))})
    return collect("neighbour preservation", scores, n_rows=min(n_rows, len(candidates)), repeats=repeats)


def triplet_preservation(
    X: Any,
    P: sp.sparray | sp.spmatrix,
    *,
    n_triplets: int = 100_000,
    repeats: int = 1,
    random_state: int | np.random.Generator | None = 0,
) -> Scores:
    """Measure how often the stronger of two affinities has the larger cosine.

    A triplet is a row i, one of its affinities j drawn in proportion to ``P[i, j]``, and a random k with a
    smaller affinity (most often none).

    Parameters
    ----------
    X : ndarray of shape (n, d) or Embedding
        Vectors.
    P : sparse matrix of shape (n, n)
        Affinities.
    n_triplets : int
        Triplets per repeat.
    repeats, random_state
        Number of samples and seed.

    Returns
    -------
    Scores
        ``accuracy``: 1 if the order is always preserved, 0.5 for random vectors (ties count half).

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.generators import dcsbm
    >>> from experiments.preservation import triplet_preservation
    >>> A, labels, _ = dcsbm(400, q=2, c_in=30.0, c_out=0.0, theta="constant", random_state=0)
    >>> triplet_preservation(np.eye(2)[labels], A)["accuracy"] > 0.7
    True
    """
    X = unit_rows(as_vectors(X))
    P = _without_diagonal(P, len(X))
    if P.nnz == 0:
        raise InputError("P has no affinities outside its diagonal")
    rows = np.repeat(np.arange(len(X)), np.diff(P.indptr))
    cumulated = np.cumsum(P.data, dtype=np.float64)
    scores = []
    for rng in repeat_seeds(random_state, repeats):
        entry = np.searchsorted(cumulated, rng.random(n_triplets) * cumulated[-1], side="right")
        entry = np.minimum(entry, P.nnz - 1)
        i, j, k = rows[entry], P.indices[entry], rng.integers(0, len(X), n_triplets)
        weaker = np.asarray(P[i, k]).ravel() < P.data[entry]
        valid = weaker & (k != i) & (k != j)
        if not valid.any():
            raise InputError("P offers no triplet: every row has the same affinity to all others")
        i, j, k = i[valid], j[valid], k[valid]
        near = np.einsum("ij,ij->i", X[i], X[j])
        far = np.einsum("ij,ij->i", X[i], X[k])
        scores.append({"accuracy": float((near > far).mean() + 0.5 * (near == far).mean())})
    return collect("triplet preservation", scores, n_triplets=n_triplets, repeats=repeats)


def _without_diagonal(P: sp.sparray | sp.spmatrix, n: int) -> sp.csr_array:
    P = sp.csr_array(checked_csr(P), copy=True)
    if P.shape != (n, n):
        raise InputError(
            f"P has shape {P.shape} but there are {n} vectors; a square matrix of that size is expected"
        )
    P.setdiag(0)
    P.eliminate_zeros()
    P.sort_indices()
    return P
