"""Group vectors, into a given or an automatic number of groups.

By default the groups are those of largest modularity in the graph that the vectors imply: item i is
joined to item j with the softmax weight exp(beta cos(i, j)), as in the model that embeddings are fitted to.
On a sample of the vectors, items are first joined with their nearest neighbour; the joined items are grouped
by greedy moves (Louvain), once for each of a few values of beta, from coarse to fine. Of these partitions the
one is kept that is sharp (items are nearer to their own centroid than to the next) and that comes out again
when only a random half of the items is grouped: the agreement of two halves is near 1 for groups that exist,
and low for a random graph, which then has no groups beyond chance. All vectors are then assigned to the
nearest centroid in a few passes. Time and memory are linear in the number of vectors.

The two degree coordinates of fused vectors are left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softvec.core.checks import integer, recorded
from softvec.core.machine import Machine, machine
from softvec.core.progress import progress
from softvec.core.threads import one_blas_thread, row_blocks
from softvec.embedding.search import inverse_norms, unit_rows

if TYPE_CHECKING:
    from softvec.embedding.core import Embedding

_DEGREE_COORDINATES = 2  # the last of fused vectors (softvec.fit.views)
_SAMPLE = (1500, 3000)  # vectors of the sample, a quarter of all in between: 2 to 9 million cosines
_SCALES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)  # beta, from two or three groups to groups of a few items
# Power of the silhouette of tight groups: it is 0.9 and more for small cliques, 0.8 at most for pieces of
# trees and 0.5 for random graphs (benchmarks/groups.py), whose choice it leaves as it is.
_TIGHT = 4
_TIE = 0.005  # scores this close are a tie, at least
_SPLITS = 4  # pairs of halves of the sample
_COMPARED = 1500  # items whose groups are compared between halves, at most
_FEW = 20  # items, below which the halves tell nothing
_PASSES = 5  # over all vectors; after them less than 1% still change their group
_ROWS = 8192  # of a block of all vectors
_SAMPLE_ROWS = 512  # of a block of the sample
_ALL_ROWS = 50_000  # k-means with a given number reads all rows at a time up to here, batches above
# scikit-learn's OpenMP threads spin while they wait: on a busy machine small problems take ten times as
# long with them as without
_ONE_THREAD = 20_000


def cluster(
    emb: Embedding,
    n_clusters: int | None = None,
    *,
    random_state: int | None = 0,
    max_clusters: int | None = None,
    verbose: bool = False,
) -> NDArray[np.int64]:
    """Group the vectors by their directions; groups are numbered by decreasing size.

    Parameters
    ----------
    n_clusters : int, optional
        Number of groups, for k-means on the unit sphere. By default the groups maximise modularity in the
        softmax graph of the vectors (:func:`softvec.embedding.groups.find_groups`), and those that a random
        half of the items would not have are no groups: a random graph has one group, with a warning.
    random_state : int or None
        Seed.
    max_clusters : int, optional
        Maximum number of groups if ``n_clusters`` is not given (default: no limit).
    verbose : bool
        Show a progress bar.

    Returns
    -------
    ndarray of shape (n,)
        Group of each vector; -1 for a zero vector, which has no direction.
    """
    groups = find_groups(
        grouping_vectors(emb), n_clusters, max_groups=max_clusters, random_state=random_state,
        verbose=verbose, neighbours=recorded(emb, "data").get("mean_neighbours"),
    )  # fmt: skip
    if n_clusters is None and max_clusters != 1 and len(emb) >= _FEW and groups.max(initial=-1) == 0:
        text = (
            "no groups beyond chance: random halves of the items disagree on them, so all items are one group"
        )
        warnings.warn(text, stacklevel=2)
    return groups


def grouping_vectors(emb: Embedding) -> NDArray[np.floating]:
    """Return the vectors to group, without coordinates for the degree.

    Items with few neighbours have short vectors, so that the degree would dominate their direction: near the
    detection threshold of a block model, k-means would group items of similar degree.
    """
    fit = recorded(emb, "parameters")
    has_degree = "degree_scale" in fit and fit.get("n_components") == emb.n_components
    if has_degree and "aligned_with" not in emb.provenance:  # a rotation mixes the coordinates
        return emb.vectors[:, :-_DEGREE_COORDINATES]
    return emb.vectors


def find_groups(
    V: NDArray[np.floating],
    n_groups: int | None = None,
    *,
    max_groups: int | None = None,
    random_state: int | np.random.Generator | None = 0,
    verbose: bool = False,
    neighbours: float | None = None,
) -> NDArray[np.int64]:
    """Group vectors by their directions, as :func:`cluster` does; -1 for a zero vector.

    A vector shorter than the median counts less: little is known about its direction. ``neighbours`` is the
    mean number of neighbours in a graph: the fewer, the more reproducible are groups by chance.
    """
    groups = np.full(len(V), -1, np.int64)
    scale = inverse_norms(V)
    rows = np.flatnonzero(scale)
    if n_groups is not None:
        integer("n_clusters", n_groups, 1, len(rows), f"{len(V):,} vectors, {len(rows):,} other than zero")
    if max_groups is not None:
        integer("max_clusters", max_groups)
    if len(rows) < len(V):
        V, scale = V[rows], scale[rows]
    if n_groups is None:
        groups[rows] = _by_size(_automatic(V, scale, max_groups, random_state, verbose, neighbours))
    else:
        groups[rows] = _by_size(k_means(unit_rows(V), n_groups, random_state=random_state))
    return groups


def k_means(
    X: NDArray[np.floating],
    k: int,
    *,
    n_init: int = 4,
    random_state: int | np.random.Generator | None = 0,
    batches: bool | None = None,
) -> NDArray[np.int64]:
    """Return the clusters of scikit-learn's k-means; by default in mini-batches above 50,000 rows."""
    from sklearn.cluster import KMeans, MiniBatchKMeans
    from sklearn.exceptions import ConvergenceWarning

    if isinstance(random_state, np.random.Generator):
        random_state = int(random_state.integers(2**31))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points than clusters
        if len(X) > _ALL_ROWS if batches is None else batches:
            model: Any = MiniBatchKMeans(k, n_init=n_init, batch_size=8192, random_state=random_state)
        else:
            model = KMeans(k, n_init=n_init, random_state=random_state)
        with one_blas_thread() if len(X) <= _ONE_THREAD else nullcontext():
            return model.fit_predict(X).astype(np.int64)


def _by_size(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    _, inverse, counts = np.unique(groups, return_inverse=True, return_counts=True)
    rank = np.empty(len(counts), np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    return rank[inverse]


def _automatic(
    V: NDArray[np.floating],
    scale: NDArray[np.float32],
    most: int | None,
    random_state: int | np.random.Generator | None,
    verbose: bool,
    neighbours: float | None,
) -> NDArray[np.int64]:
    n = len(V)
    if n < 4 or most == 1:
        return np.zeros(n, np.int64)
    weights = np.minimum(1.0, np.median(scale) / scale)  # (n,) length over the median, at most 1
    weights = weights.astype(np.float32)
    chosen = np.arange(n)
    size = int(np.clip(n // 4, *_SAMPLE))
    if n > size:
        chosen = np.sort(np.random.default_rng(random_state).choice(n, size, replace=False))
    with machine() as pool:
        scales = progress(_SCALES, verbose, "groups")
        partitions = _partitions(unit_rows(V[chosen]), weights[chosen], pool, scales)
        partitions = [p for p in partitions if most is None or len(p.centroids) <= most]
        if not partitions:
            return k_means(unit_rows(V), min(most or n, n), random_state=random_state)
        best = max(partitions, key=lambda p: p.score)
        least = best.score - max(best.error, _TIE)
        found = next(p for p in partitions if p.score >= least)  # the coarsest within one standard error
        if found.agreement < _chance(V.shape[1], neighbours) and n >= _FEW:
            return np.zeros(n, np.int64)
        passes = progress(range(_PASSES), verbose, "assignment")
        return _assign(V, scale * weights, found.centroids, pool, passes)[0]


def _chance(d: int, neighbours: float | None) -> float:
    """Return the agreement of two halves below which groups are chance.

    A graph of few edges falls into reproducible pieces, as directions in few dimensions do. Of graphs with
    shuffled edges and random graphs, the sparsest comes nearest: citeseer's 2.8 neighbours have an agreement
    of 0.61, the limit is 0.66 (benchmarks/groups.py).
    """
    return min(0.7, 0.3 + max(1 / max(neighbours or np.inf, 1.0), 1.5 / d))


class _Partition(NamedTuple):
    """Centroids, and how good their groups are."""

    centroids: NDArray[np.float32]  # (k, d)
    agreement: float  # adjusted mutual information of the groups of two random halves, the mean
    score: float  # agreement times sharpness, largest for the best partition
    error: float  # standard error of the score, from the halves


def _partitions(
    X: NDArray[np.float32], weights: NDArray[np.float32], pool: Machine, scales: Iterable[float]
) -> list[_Partition]:
    """Group a sample for each beta, and pairs of random halves of it on their own."""
    from sklearn.metrics import adjusted_mutual_info_score

    rng, m = np.random.default_rng(0), min(len(X), _COMPARED)
    whole, pairs, compared = _Sample(X, weights, pool), [], np.arange(0)
    for _ in range(_SPLITS):
        order = rng.permutation(len(X))[:m]
        halves = np.sort(order[: m // 2]), np.sort(order[m // 2 :])
        pairs.append([_Sample(X[half], weights[half], pool) for half in halves])
        compared = np.sort(order)

    partitions = []
    for beta in scales:
        centroids = whole.centroids(beta, pool)
        scores = []
        for pair in pairs:
            a, b = ((X[compared] @ half.centroids(beta, pool).T).argmax(axis=1) for half in pair)
            scores.append(float(adjusted_mutual_info_score(a, b)) if a.any() or b.any() else 0.0)
        agreement, sharpness = float(np.mean(scores)), whole.sharpness(centroids)
        error = float(np.std(scores, ddof=1)) * sharpness / np.sqrt(_SPLITS)
        partitions.append(_Partition(centroids, agreement, agreement * sharpness, error))
    return partitions


class _Sample:
    """Unit vectors X (m, d), their weights (m,), cosines (m, m) and cliques (m,).

    Cliques are the components of the graph that joins each item to its nearest neighbour.
    """

    def __init__(self, X: NDArray[np.float32], weights: NDArray[np.float32], pool: Machine):
        from scipy.sparse.csgraph import connected_components

        self.X, self.weights, m = X, weights, len(X)
        self.cosines = cosines = np.empty((m, m), np.float32)  # minus infinity on the diagonal

        def compare(lo: int, hi: int) -> NDArray[np.intp]:
            np.matmul(X[lo:hi], X.T, out=cosines[lo:hi])
            cosines[np.arange(lo, hi), np.arange(lo, hi)] = -np.inf
            return cosines[lo:hi].argmax(axis=1)

        nearest = np.concatenate(pool.map(compare, row_blocks(m, _SAMPLE_ROWS)))
        links = sp.csr_array((np.ones(m, bool), nearest, np.arange(m + 1)), shape=(m, m))
        self.cliques: NDArray[np.int32] = connected_components(links, directed=False)[1]

    def centroids(self, beta: float, pool: Machine) -> NDArray[np.float32]:
        """Return the centroids of the groups of largest modularity in the softmax graph of this ``beta``."""
        k = int(self.cliques.max()) + 1

        def weigh(lo: int, hi: int) -> NDArray[np.float32]:
            E = np.float32(beta) * self.cosines[:, lo:hi]  # (m, columns)
            np.exp(E, out=E)
            E = _sums(E, self.weights, self.cliques, k)  # (cliques, columns)
            share = self.weights[lo:hi] / E.sum(axis=0)  # the edges of an item add up to its weight
            return _sums(E.T, share, self.cliques[lo:hi], k)  # (cliques, cliques)

        W = pool.fold(weigh, row_blocks(len(self.X), _SAMPLE_ROWS), np.add).astype(np.float64)
        groups = louvain(W + W.T)[self.cliques]
        centroids = unit_rows(_sums(self.X, self.weights, groups, int(groups.max()) + 1))
        return _assign(self.X, self.weights, centroids, pool, range(3))[1]

    def sharpness(self, centroids: NDArray[np.float32]) -> float:
        """Return how far apart the groups are, from two means over items.

        The margin is the cosine of an item with its own centroid, minus that with the next one; the
        silhouette is the same as a share of the distance to the next one, each item left out of its own
        centroid. The margin alone prefers few groups, the silhouette many. A silhouette near 1 counts for
        itself: cliques of three to five are tight, and next to each other.
        """
        if len(centroids) < 2:
            return 0.0
        S = self.X @ centroids.T  # (m, k)
        groups = S.argmax(axis=1)
        best, second = -np.partition(-S, 1, axis=1)[:, :2].T
        others = _sums(self.X, np.ones_like(self.weights), groups, len(centroids))[groups] - self.X
        own = np.einsum("ij,ij->i", unit_rows(others), self.X)
        share = (own - second) / np.maximum(1 - np.minimum(own, second), 1e-9)
        means = (np.average(values, weights=self.weights) for values in (best - second, share))
        margin, silhouette = (max(float(mean), 0.0) for mean in means)
        return float(max(np.sqrt(margin * silhouette), silhouette**_TIGHT))


def louvain(W: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return groups of about the largest modularity of a dense symmetric weight matrix.

    Items move one by one to the group of largest gain; groups then become the items of a smaller matrix,
    until none moves (Blondel et al., 2008).
    """
    from softvec.kernels import select

    groups, kernels = np.arange(len(W)), select(30 * W.size)
    while True:
        part = np.arange(len(W))
        kernels.move_groups(W, part, 30)
        numbers, part = np.unique(part, return_inverse=True)
        groups = part[groups]
        if len(numbers) == len(W):
            return groups
        H = sp.csr_array((np.ones(len(W)), (part, np.arange(len(W)))), shape=(len(numbers), len(W)))
        W = H @ (H @ W).T


def _sums(
    X: NDArray[np.floating], factors: NDArray[np.float32], groups: NDArray[np.integer], k: int
) -> NDArray[np.float32]:
    """Return the weighted sums (k, d) of the rows of each group."""
    H = sp.csr_array((factors, (groups, np.arange(len(X)))), shape=(k, len(X)))
    return H @ np.asarray(X, dtype=np.float32)


def _assign(
    V: NDArray[np.floating],
    factors: NDArray[np.float32],
    centroids: NDArray[np.float32],
    pool: Machine,
    passes: Any,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Assign rows to the nearest centroid and update the centroids, in a few passes.

    Returns the groups, and the centroids of nonempty groups.
    """
    groups = np.full(len(V), -1, np.int64)

    def assign(lo: int, hi: int) -> tuple[int, NDArray[np.float32]]:
        S = np.asarray(V[lo:hi], dtype=np.float32) @ centroids.T  # (rows, k)
        nearest = S.argmax(axis=1)
        changed = int((nearest != groups[lo:hi]).sum())
        groups[lo:hi] = nearest
        return changed, _sums(V[lo:hi], factors[lo:hi], nearest, len(centroids))

    for _ in passes:
        changed, sums = pool.fold(assign, row_blocks(len(V), _ROWS), lambda a, b: (a[0] + b[0], a[1] + b[1]))
        occupied = np.flatnonzero(np.bincount(groups, minlength=len(centroids)))
        if len(occupied) == len(centroids) and changed <= len(V) // 1000:
            break
        centroids = unit_rows(sums[occupied])
        groups = np.searchsorted(occupied, groups)
    return groups, centroids
