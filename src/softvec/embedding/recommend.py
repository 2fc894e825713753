"""Recommend items of the second side to users: a linear map from the items of a user to all items.

A user is the sum of the vectors of known items, and their number; ridge regression maps this to the known
items of all users. That is EASE (Steck, WWW 2019) restricted to the space of the item vectors: linear in the
number of pairs, and it serves users that have no vector. The ridge is chosen on hidden pairs, with vectors
that were fitted without them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.core.checks import integer
from softvec.core.errors import InputError, Option, warn
from softvec.core.machine import Machine, machine
from softvec.core.threads import row_blocks
from softvec.embedding.fields import listed
from softvec.embedding.relations import known_table, two_kinds
from softvec.names import Names

if TYPE_CHECKING:
    from softvec.embedding.core import Embedding

Array = NDArray[Any]
_BLOCK = 1 << 21  # scores computed at a time
_RIDGES = 10.0 ** np.arange(-2, 3.1, 0.5)  # weights of the ridge over the mean square of a coordinate
_HIDDEN, _JUDGED = 0.1, 1 << 23  # share of pairs that are hidden, and scores that judge a ridge, to choose it


def recommend(
    emb: Embedding,
    users: Any = None,
    n: int = 10,
    *,
    known: Any = None,
    n_jobs: int | None = None,
    **options: Any,
) -> dict[Any, list[tuple[Any, float]]]:
    """Return the best new items of users, with scores; the rows are users, the second side items.

    A user is the sum of the vectors of known items; ridge regression maps it to all items. How strong the
    ridge is, is chosen on hidden pairs, with vectors fitted to the others: that takes as long as the fit.

    Parameters
    ----------
    users : name or list of names, optional
        Users in ``known``, also those without a vector (default: all).
    n : int
        Number of items of each user.
    known : edges, frame, sparse matrix or path
        The known pairs, usually the embedded data, which are left out. A user without any gets the most
        popular items.
    options
        Passed to the reader of ``known``, such as ``columns``.

    Examples
    --------
    >>> import softvec
    >>> tea = [(f"t{i}", item) for i in range(9) for item in ("pot", "cup", "leaf")[: 2 + i % 2]]
    >>> ink = [(f"i{i}", item) for i in range(9) for item in ("pen", "nib", "pad")[: 2 + i % 2]]
    >>> emb = softvec.embed(tea + ink, 4, kind="bipartite", random_state=0)
    >>> [item for item, score in emb.recommend("t0", 1, known=tea + ink)["t0"]]
    ['leaf']
    """
    from softvec.affinity.compress import pattern

    if not two_kinds(emb):
        raise InputError(
            "recommendations need two sides, users and items; for the links of a graph use emb.links"
        )
    if known is None:
        raise InputError(
            "recommendations need the known pairs, usually the embedded data: they are left out, and tell "
            "what a user likes; pass ",
            Option("known", ...),
        )
    names, weights = known_table(emb, known, emb.context, **options)
    matrix = sparse.csr_array(pattern(weights).astype(np.float64))
    asked = list(names) if users is None else list(listed(users))
    empty = len(names)  # the row of users with a vector, but without known items
    rows = np.array([names.index(u) if u in names or u not in emb.names else empty for u in asked], dtype=int)
    items, n = emb.context.names, integer("n", n)
    with machine(n_jobs) as pool:
        ridge = _ridge(emb, names, weights, min(n, len(items)), pool)
        model = _Model(np.asarray(emb.context_vectors), matrix, ridge)
        blocks = row_blocks(len(rows), max(1, _BLOCK // len(items)))
        taste = sparse.vstack([matrix, sparse.csr_array((1, len(items)))], format="csr")
        tops = pool.map(lambda lo, hi: model.best(taste[rows[lo:hi]], n), blocks)
    best = (pair for part in tops for pair in part)
    return {
        user: [(items[j], score) for j, score in zip(top, scores)] for user, (top, scores) in zip(asked, best)
    }


def _ridge(emb: Embedding, names: Names, weights: sparse.csr_array, n: int, pool: Machine) -> float:
    """Return the ridge that finds most hidden pairs again, with vectors fitted to the others."""
    from softvec.affinity.compress import pattern
    from softvec.affinity.matrices import EdgeRules, assemble
    from softvec.fit.calibrate import refit
    from softvec.fit.vectors import settings_of

    settings, rng = settings_of(emb.provenance), np.random.default_rng(0)
    hidden, coo = rng.random(weights.nnz) < _HIDDEN, weights.tocoo()
    seen, held = (
        sparse.csr_array((coo.data[part], (coo.row[part], coo.col[part])), shape=weights.shape)
        for part in (~hidden, hidden)
    )
    judges = np.flatnonzero((np.diff(seen.indptr) > 0) & (np.diff(held.indptr) > 0))
    judges = rng.permutation(judges)[: max(1, _JUDGED // weights.shape[1])]
    if not len(judges):
        raise InputError("too few known pairs to hide some: no user has two items")
    Y = refit(settings, pool)(assemble(seen, names, emb.context.names, EdgeRules("bipartite"), False))[1]
    assert Y is not None
    seen = sparse.csr_array(pattern(seen).astype(np.float64))
    truth = held[judges].toarray() > 0
    models = (_Model(Y, seen, float(ridge)) for ridge in _RIDGES)
    hits = [_hits(model.scores(seen[judges]), seen[judges], truth, n) for model in models]
    popular = _hits(np.tile(seen.sum(axis=0), (len(judges), 1)), seen[judges], truth, n)
    if max(hits) <= popular + 2 * popular**0.5:  # two standard errors of the count
        warn(
            f"these vectors find hidden items no better than popularity, within two standard errors: of "
            f"{np.count_nonzero(truth):,}, the vectors find {max(hits):,} and popularity {popular:,} among "
            f"the best {n}"
        )
    return float(_RIDGES[int(np.argmax(hits))])


def _hits(S: Array, known: sparse.csr_array, truth: Array, n: int) -> int:
    """Return how many true pairs are among the n best unknown ones of their row."""
    S[known.nonzero()] = -np.inf
    top = np.argpartition(-S, n - 1, axis=1)[:, :n]
    return int(np.take_along_axis(truth, top, axis=1).sum())


class _Model:
    """Scores of items from the sum of the features of known ones, (m, d + 1), by a decoder, (d + 1, m)."""

    def __init__(self, Y: Array, known: sparse.csr_array, ridge: float):
        """Fit the decoder: the number of items is not shrunk, so that popularity is the limit."""
        from scipy.linalg import solve

        self.features = np.hstack([Y.astype(np.float64), np.ones((len(Y), 1))])
        U = known @ self.features  # (n, d + 1)
        gram = U.T @ U
        scale = np.trace(gram[:-1, :-1]) / Y.shape[1]
        penalty = np.append(np.full(Y.shape[1], ridge * scale), 0) + 1e-9 * np.trace(gram)
        gram[np.diag_indices_from(gram)] += penalty
        self.decoder = solve(gram, (known.T @ U).T, assume_a="pos")
        self.popularity = known.sum(axis=0)  # (m,)

    def scores(self, known: sparse.csr_array) -> Array:
        """Return the scores of all items for rows of known ones; popularity for empty rows."""
        S = (known @ self.features) @ self.decoder
        S[np.diff(known.indptr) == 0] = self.popularity / max(self.popularity.sum(), 1)
        return S

    def best(self, known: sparse.csr_array, n: int) -> list[tuple[list[int], list[float]]]:
        """Return the n best new items of each row with their scores, ties by the number of the item."""
        S = self.scores(known)
        S[known.nonzero()] = -np.inf
        order = np.argsort(-S, axis=1, kind="stable")[:, :n]
        values = np.take_along_axis(S, order, axis=1)
        return [
            (top[np.isfinite(row)].tolist(), row[np.isfinite(row)].tolist())
            for top, row in zip(order, values)
        ]
