"""Nearest neighbours by cosine: methods of :class:`softvec.Embedding`, and the exact search behind them.

The search runs in blocks, with one block of scores in memory for each thread.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softvec.core.checks import choice, integer, recorded
from softvec.core.errors import InputError
from softvec.core.machine import machine
from softvec.core.threads import row_blocks
from softvec.embedding.attributes import rows_of_type
from softvec.embedding.fields import is_many, listed
from softvec.embedding.persons import of_persons
from softvec.embedding.relations import known_weights
from softvec.kernels import worth_compiling

if TYPE_CHECKING:
    from softvec.embedding.core import Embedding

Answer = list[tuple[Any, float]]  # a name may be of any type
Many = list[Any] | NDArray[Any]
Found = tuple[NDArray[np.intp], NDArray[np.float32]]  # row numbers and cosines, of shape (queries, n)
ROWS = 8192  # rows of one block: 8,192 x 128 float32 is 4 MB, the size of a second-level cache or two
BLOCK = 8 * ROWS  # rows read from disk at a time; whole blocks, so that scores have the same bits
QUERIES = 256  # queries of one block: its scores take 8 MB
_MOST_KEPT = 1000  # neighbours; more are found by sorting all scores
_SHORTEST = 1e-37  # a length with an inverse in float32


@overload
def similarity(emb: Embedding, a: Many, b: Any) -> NDArray[np.float32]: ...
@overload
def similarity(emb: Embedding, a: Any, b: Many) -> NDArray[np.float32]: ...
@overload
def similarity(emb: Embedding, a: Hashable, b: Hashable) -> float: ...
def similarity(emb: Embedding, a: Any, b: Any) -> Any:
    """Return the cosine between two names; lists of names give an array, pair by pair.

    Examples
    --------
    >>> from softvec import Embedding
    >>> emb = Embedding([[1.0, 0.0], [0.0, 1.0]], ["a", "b"])
    >>> emb.similarity("a", "b"), emb.similarity(["a", "a"], ["a", "b"])
    (0.0, array([1., 0.], dtype=float32))
    """
    emb, many = of_persons(emb, [*listed(a), *listed(b)]), (is_many(a), is_many(b))
    if many == (False, False):
        i, j = emb._row(a), emb._row(b)
        dot = float(np.dot(emb.vectors[i], emb.vectors[j]))
        return dot * float(emb._scale[i]) * float(emb._scale[j])
    left, right = emb._rows(a), emb._rows(b)
    if many == (True, True) and len(left) != len(right):
        raise InputError(f"similarity of {len(left)} names and {len(right)} names; give as many of each")
    dots = np.einsum("ij,ij->i", *np.broadcast_arrays(emb.vectors[left], emb.vectors[right]))
    return dots * emb._scale[left] * emb._scale[right]


def most_similar(
    emb: Embedding,
    positive: Any,
    negative: Any = None,
    n: int = 10,
    *,
    among: str = "rows",
    exclude: Any = None,
    rank: str = "auto",
    type: str | None = None,
) -> Answer:
    """Return the names nearest to a name, or to a sum and difference of names.

    Parameters
    ----------
    positive, negative : hashable, or list of hashable
        Unit vectors of the names in ``positive`` are added, those in ``negative`` subtracted. None of
        them is returned. Of contacts in time, whose names are (person, time), a person stands for the mean
        over its times, and is compared with those of other persons.
    n : int
        Number of names.
    among : {"rows", "context"}
        Where to search. With ``"context"`` the names come from the second side: the items that go
        with a user.
    exclude : name, list of names, graph, edges, frame, sparse matrix or path, optional
        Names to leave out; or data, whose neighbours of the query are left out, such as what a user
        already has.
    rank : {"auto", "cosine"}
        "auto" ranks by the cosine times the length of a vector where the fit made lengths a measure of
        confidence (``shrinkage``, the default for graphs): else the nearest of a hub are leaves, whose only
        edge leads to it. Other vectors are ranked by the cosine.
    type : str, optional
        Only items of this type, if the graph was embedded with ``types``.

    Returns
    -------
    list of (name, cosine)
        Ranked by cosine times length, the cosines need not decrease. A zero vector, as of an isolated node,
        has no neighbours and is none.
    """
    plus, minus = listed(positive), listed(negative)
    if not plus and not minus:
        raise InputError("most_similar needs at least one name")
    emb = of_persons(emb, (*plus, *minus))
    rows = [emb._row(name) for name in (*plus, *minus)]
    unit = unit_rows(emb.vectors[rows])
    query = unit[: len(plus)].sum(axis=0) - unit[len(plus) :].sum(axis=0)
    skip = np.unique(np.concatenate(left_out(emb, np.array(rows), among, exclude)))
    return _answers(emb, query[None], [skip], n, among, rank, type)[0]


def most_similar_batch(
    emb: Embedding,
    names: Iterable[Hashable],
    n: int = 10,
    *,
    among: str = "rows",
    exclude: Any = None,
    rank: str = "auto",
    type: str | None = None,
) -> list[Answer]:
    """Return the nearest neighbours of each of many names, without the name itself."""
    names = listed(names)
    emb = of_persons(emb, names)
    rows = emb._rows(names)
    return _answers(emb, emb.vectors[rows], left_out(emb, rows, among, exclude), n, among, rank, type)


def analogy(emb: Embedding, a: Any, b: Any, c: Any, n: int = 10) -> Answer:
    """Return what is to ``c`` as ``b`` is to ``a``: the names nearest to b - a + c."""
    return most_similar(emb, [b, c], [a], n)


def left_out(emb: Embedding, rows: NDArray[np.int64], among: str, exclude: Any) -> list[NDArray[np.int64]]:
    """Return the rows to leave out of the answers for each row: itself, and those of ``exclude``."""
    own = rows[:, None] if among == "rows" else np.empty((len(rows), 0), np.int64)
    if exclude is None:
        return list(own)
    side = emb._side(among)
    if isinstance(exclude, str | tuple | set | frozenset) or is_many(exclude):
        names = listed(exclude)
        if all(isinstance(name, Hashable) and name in side.names for name in names):
            also = side._rows(names)
            return [np.concatenate([mine, also]) for mine in own]
    known = known_weights(emb, exclude, side)
    return [
        np.concatenate([mine, known.indices[known.indptr[i] : known.indptr[i + 1]]])
        for mine, i in zip(own, rows)
    ]


def _answers(
    emb: Embedding, Q: NDArray[np.float32], skips: Sequence[NDArray[np.int64]], n: int, among: str, rank: str,
    type: str | None,
) -> list[Answer]:  # fmt: skip
    choice("rank", rank, ("auto", "cosine"))
    by_length = rank == "auto" and among == "rows" and bool(recorded(emb, "parameters").get("shrinkage"))
    side = emb._side(among)
    extra = max(map(len, skips), default=0)
    wanted = integer("n", n) + extra
    chosen = None if type is None else rows_of_type(side, type)
    rows, cosines = _search(side, Q, wanted, by_length=by_length, zeros=False, rows=chosen)
    cosines[~Q.any(axis=1)] = -np.inf
    answers = []
    for near, scores, skip in zip(rows, cosines, skips):
        kept = np.flatnonzero(np.isfinite(scores) & ~np.isin(near, skip))[:n]
        answers.append([(side.names[int(near[at])], float(scores[at])) for at in kept])
    return answers


def nearest(emb: Embedding, vectors: ArrayLike, n: int = 10, *, among: str = "rows") -> Found:
    """Return row numbers and cosines of the vectors nearest to given vectors; the search is exact.

    Parameters
    ----------
    vectors : array of shape (d,) or (q, d)
    n : int
    among : {"rows", "context"}

    Returns
    -------
    rows, cosines : ndarrays of shape (q, n), or (n,) for a single vector
    """
    Q = np.asarray(vectors, dtype=np.float32)
    if Q.ndim not in (1, 2) or Q.shape[-1] != emb.n_components:
        raise InputError(f"query has shape {Q.shape}; expected ({emb.n_components},) or (q, same)")
    if not np.isfinite(Q).all():
        raise InputError("the query holds NaN or infinite values")
    rows, cosines = _search(emb._side(among), np.atleast_2d(Q), integer("n", n))
    return (rows, cosines) if Q.ndim == 2 else (rows[0], cosines[0])


def _search(
    emb: Embedding,
    Q: NDArray[Any],
    n: int,
    *,
    by_length: bool = False,
    zeros: bool = True,
    rows: NDArray[np.int64] | None = None,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return rows and cosines among all rows or some of them, in the order of the rank."""
    V = emb.vectors if rows is None else np.asarray(emb.vectors[rows])
    kept = rows is None and isinstance(V, np.ndarray)  # norms of vectors on disk would take long
    scale = emb._scale if kept else None
    at, scores = exact_nearest(Q, V, n, scale=scale, by_length=by_length, zeros=zeros)
    if by_length:
        ranked = np.isfinite(scores)
        unique, where = np.unique(at[ranked], return_inverse=True)
        scores[ranked] *= inverse_norms(V[unique])[where]
    return at if rows is None else rows[np.minimum(at, len(rows) - 1)], scores  # those left out are beyond


# the exact search


def inverse_norms(V: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return 1 / |v| for each row, 0 for a zero row (its cosine with anything is then 0).

    Raises an error for a row that is not finite, as a mapped file may have, or whose length or its inverse is
    out of the range of float32.
    """
    norms = np.empty(len(V), np.float32)
    with np.errstate(over="ignore"):
        for lo, hi in row_blocks(len(V), ROWS):
            norms[lo:hi] = np.sqrt(np.einsum("ij,ij->i", V[lo:hi], V[lo:hi], dtype=np.float64))
    bad = np.flatnonzero(~np.isfinite(norms) | ((norms > 0) & (norms < _SHORTEST)))
    if len(bad):
        row = int(bad[0])
        if not np.isfinite(V[row]).all():
            raise InputError(f"the vectors hold NaN or infinite values (first in row {row:,})")
        length = np.linalg.norm(np.asarray(V[row], np.float64))
        raise InputError(
            f"the vector in row {row:,} has length {length:.3g}, out of the range of single precision; "
            "multiply all vectors by a constant"
        )
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)


def unit_rows(V: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return a copy of ``V`` with rows of length 1; zero rows stay zero."""
    V = np.ascontiguousarray(V, dtype=np.float32)
    return V * inverse_norms(V)[:, None]


def _best(parts: Iterable[Found], n: int) -> Found:
    """Sort candidates of each query by decreasing score, equal scores by row number, and keep ``n``."""
    rows, scores = (np.hstack(part) for part in zip(*parts))
    order = np.lexsort((rows, -scores), axis=1)[:, :n]
    return np.take_along_axis(rows, order, axis=1), np.take_along_axis(scores, order, axis=1)


def _none(shape: tuple[int, int]) -> Found:
    """Return places for candidates, which any other candidate comes before."""
    return np.full(shape, np.iinfo(np.intp).max), np.full(shape, -np.inf, np.float32)


def exact_nearest(
    Q: NDArray[np.floating],
    V: NDArray[np.floating],
    n: int,
    *,
    scale: NDArray[np.float32] | None = None,
    by_length: bool = False,
    zeros: bool = True,
    n_jobs: int | None = None,
) -> Found:
    """Find the ``n`` rows of ``V`` with the largest cosine to each row of ``Q``.

    Parameters
    ----------
    Q : ndarray of shape (q, d)
    V : ndarray of shape (m, d)
        Or vectors on disk, of which one block at a time is in memory.
    n : int
        Neighbours per query; no more than m are returned.
    scale : ndarray of shape (m,), optional
        ``inverse_norms(V)``, if known already.
    by_length : bool
        Rank by the cosine times the length of a row of ``V``, and return that.
    zeros : bool
        Whether zero rows of ``V`` take part, with cosine 0; else their places hold -inf, after all others.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.

    Returns
    -------
    rows : ndarray of shape (q, n)
    cosines : ndarray of shape (q, n)
        In decreasing order; ties by row number.
    """
    n = min(n, len(V))
    best = _none((len(Q), 0))
    if not n or not len(Q):
        return _none((len(Q), n))
    Q = unit_rows(Q)
    kernel = _kernel(len(Q) * len(V) * Q.shape[1], n)
    step = len(V) if isinstance(V, np.ndarray) else BLOCK
    for lo, hi in row_blocks(len(V), step):
        block = V[lo:hi]
        factors = inverse_norms(block) if scale is None else scale[lo:hi]
        dead = (factors == 0) & (not zeros)
        factors = np.where(dead, np.float32(np.nan), np.ones_like(factors) if by_length else factors)
        rows, cosines = _in_blocks(Q, block, min(n, len(block)), factors, kernel, n_jobs)
        best = _best([best, (rows + lo, cosines)], n)
    return best


def _kernel(work: int, n: int) -> Callable[..., Found] | None:
    """Return the compiled search, if it suits the job."""
    if n > _MOST_KEPT or not worth_compiling(work):
        return None
    from softvec.kernels.search import FUSED, largest_products

    return largest_products if FUSED else None


def _in_blocks(
    Q: NDArray[np.float32],
    V: NDArray[np.floating],
    n: int,
    factors: NDArray[np.float32],
    kernel: Callable[..., Found] | None,
    n_jobs: int | None,
) -> Found:
    """Multiply unit vectors ``Q`` by ``V`` and its ``factors``; a row whose factor is NaN scores -inf."""

    def search(qlo: int, qhi: int, first: int, last: int) -> Found:
        if kernel:
            return kernel(Q[qlo:qhi], V[first:last], factors[first:last], first, n)
        best = _none((qhi - qlo, n))
        for lo in range(first, last, ROWS):
            hi = min(lo + ROWS, last)
            S = Q[qlo:qhi] @ np.asarray(V[lo:hi], dtype=np.float32).T  # (q, rows)
            S *= factors[lo:hi]
            S[:, np.isnan(factors[lo:hi])] = -np.inf
            best = _best([best, (np.broadcast_to(np.arange(lo, hi), S.shape), S)], n)
        return best

    query_spans = row_blocks(len(Q), QUERIES)
    shares = 1 if len(query_spans) >= 8 else 8  # few queries: the threads share the rows instead
    spans = row_blocks(len(V), -(-len(V) // (ROWS * shares)) * ROWS)
    with machine(n_jobs) as pool:
        parts = pool.map(search, [(*q, *rows) for q in query_spans for rows in spans])
    merged = [_best(parts[i : i + len(spans)], n) for i in range(0, len(parts), len(spans))]
    rows, scores = (np.concatenate(part) for part in zip(*merged))
    rows = np.minimum(rows, len(V) - 1)  # of places without a row
    if not (scores < np.inf).all():
        raise InputError("the vectors hold NaN or infinite values, so they have no nearest neighbours")
    return rows, scores
