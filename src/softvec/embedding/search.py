"""Nearest vectors by cosine: an exact search in blocks, one block of scores in memory for each thread."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError
from softvec.core.machine import machine
from softvec.core.threads import row_blocks

ROWS = 8192  # rows of one block: 8,192 x 128 float32 is 4 MB, the size of a second-level cache or two
BLOCK = 8 * ROWS  # rows read from disk at a time; whole blocks, so that scores have the same bits
QUERIES = 256  # queries of one block: its scores take 8 MB
_SHORTEST = 1e-37  # a length with an inverse in float32


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


def _ordered(
    rows: NDArray[np.intp], scores: NDArray[np.float32], n: int
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """Sort candidates of each query by decreasing score, equal scores by row number, and keep ``n``."""
    order = np.lexsort((rows, -scores), axis=1)[:, :n]
    return np.take_along_axis(rows, order, axis=1), np.take_along_axis(scores, order, axis=1)


def _merge(
    best: tuple[NDArray[np.intp], NDArray[np.float32]], S: NDArray[np.float32], lo: int
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """Put the scores of rows ``lo, lo + 1, ...`` that beat the worst of ``best`` into their places.

    After a few blocks almost nothing beats the n-th best so far, so one comparison per score is enough.
    """
    rows, scores = best
    query, column = np.nonzero(scores[:, -1:] < S)
    if len(query) == 0:
        return best
    n = scores.shape[1]
    counts = np.bincount(query, minlength=len(S))
    slot = np.arange(len(query)) - np.repeat(np.cumsum(counts) - counts, counts)
    width = n + int(counts.max())
    all_rows = np.full((len(S), width), np.iinfo(np.intp).max)
    all_scores = np.full((len(S), width), -np.inf, np.float32)
    all_rows[:, :n], all_scores[:, :n] = rows, scores
    all_rows[query, n + slot] = column + lo
    all_scores[query, n + slot] = S[query, column]
    return _ordered(all_rows, all_scores, n)


def exact_nearest(
    Q: NDArray[np.floating],
    V: NDArray[np.floating],
    n: int,
    *,
    scale: NDArray[np.float32] | None = None,
    by_length: bool = False,
    zeros: bool = True,
    n_jobs: int | None = None,
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
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
    best = np.empty((len(Q), 0), np.intp), np.empty((len(Q), 0), np.float32)
    if not n or not len(Q):
        return np.empty((len(Q), n), np.intp), np.empty((len(Q), n), np.float32)
    Q = unit_rows(Q)
    step = len(V) if isinstance(V, np.ndarray) else BLOCK
    for lo, hi in row_blocks(len(V), step):
        block = V[lo:hi]
        factors = inverse_norms(block) if scale is None else scale[lo:hi]
        dead = (factors == 0) & (not zeros)
        factors = np.where(dead, np.float32(np.nan), np.ones_like(factors) if by_length else factors)
        rows, cosines = _search(Q, block, min(n, len(block)), factors, n_jobs)
        best = _ordered(np.hstack([best[0], rows + lo]), np.hstack([best[1], cosines]), n)
    return best


def _search(
    Q: NDArray[np.float32], V: NDArray[np.floating], n: int, factors: NDArray[np.float32], n_jobs: int | None
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """Multiply unit vectors ``Q`` by ``V`` and its ``factors``; a row whose factor is NaN scores -inf."""
    dead = np.flatnonzero(np.isnan(factors))

    def search(qlo: int, qhi: int, first: int, last: int) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        best = (
            np.full((qhi - qlo, n), np.iinfo(np.intp).max),
            np.full((qhi - qlo, n), -np.inf, np.float32),
        )
        for lo in range(first, last, ROWS):
            hi = min(lo + ROWS, last)
            S = Q[qlo:qhi] @ np.asarray(V[lo:hi], dtype=np.float32).T  # (q, rows)
            S *= factors[lo:hi]
            S[:, dead[(dead >= lo) & (dead < hi)] - lo] = -np.inf
            start = 0
            if lo == first:  # sort a few columns: a threshold that most of the others fail
                start = min(max(n, 256), hi - lo)
                columns = np.broadcast_to(np.arange(lo, lo + start), (qhi - qlo, start))
                best = _ordered(np.hstack([best[0], columns]), np.hstack([best[1], S[:, :start]]), n)
            best = _merge(best, S[:, start:], lo + start)
        return best

    query_spans = row_blocks(len(Q), QUERIES)
    shares = 1 if len(query_spans) >= 8 else 8  # few queries: the threads share the rows instead
    spans = row_blocks(len(V), -(-len(V) // (ROWS * shares)) * ROWS)
    with machine(n_jobs) as pool:
        parts = pool.map(search, [(*q, *rows) for q in query_spans for rows in spans])
    rows, scores = [], []
    for i in range(0, len(parts), len(spans)):
        group = parts[i : i + len(spans)]
        merged = _ordered(np.hstack([r for r, _ in group]), np.hstack([s for _, s in group]), n)
        rows.append(merged[0])
        scores.append(merged[1])
    if not (scores[-1] < np.inf).all():
        raise InputError("the vectors hold NaN or infinite values, so they have no nearest neighbours")
    return np.concatenate(rows), np.concatenate(scores)
