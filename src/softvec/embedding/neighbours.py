"""Nearest neighbours: methods of :class:`softvec.Embedding`, as functions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softvec.core.checks import choice, integer, recorded
from softvec.core.errors import InputError
from softvec.embedding import search
from softvec.embedding.access import is_many, listed
from softvec.embedding.persons import of_persons
from softvec.embedding.relations import known_pairs
from softvec.embedding.types import rows_of_type

if TYPE_CHECKING:
    from softvec.embedding.core import Embedding

Answer = list[tuple[Any, float]]  # a name may be of any type
Many = list[Any] | NDArray[Any]


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
    unit = search.unit_rows(emb.vectors[rows])
    query = unit[: len(plus)].sum(axis=0) - unit[len(plus) :].sum(axis=0)
    skip = left_out(emb, np.array(rows), among, exclude)
    skip = [np.unique(np.concatenate(skip))]
    return _answers(emb, np.atleast_2d(query), skip, n, among, rank, type)[0]


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
    names = (
        listed(exclude) if isinstance(exclude, str | tuple | set | frozenset) or is_many(exclude) else None
    )
    if names is not None and all(isinstance(name, Hashable) and name in side.names for name in names):
        also = side._rows(names)
        return [np.concatenate([mine, also]) for mine in own]
    known = known_pairs(emb, exclude, among)
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


def nearest(
    emb: Embedding, vectors: ArrayLike, n: int = 10, *, among: str = "rows"
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
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
    at, scores = search.exact_nearest(Q, V, n, scale=scale, by_length=by_length, zeros=zeros)
    if by_length:
        ranked = np.isfinite(scores)
        unique, where = np.unique(at[ranked], return_inverse=True)
        scores[ranked] *= search.inverse_norms(V[unique])[where]
    return at if rows is None else rows[np.minimum(at, len(rows) - 1)], scores  # those left out are beyond
