"""Word co-occurrence, in one pass over a corpus and with memory bounded by the result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.affinity.base import Affinity
from softvec.affinity.compress import canonical_csr, equal_shares, row_starts
from softvec.affinity.corpus import Corpus, Tokenizer, as_corpus
from softvec.affinity.matrices import EdgeRules, assemble
from softvec.core.checks import choice, counted, integer, number
from softvec.core.machine import machine

WEIGHTINGS = ("linear", "harmonic", "uniform")
_ROWS_OUT = 4_000_000  # entries of the result that one task may produce (32 MB)


def cooccurrence(
    corpus: Any,
    *,
    window: int = 5,
    weighting: str = "linear",
    min_count: int = 5,
    subsample: float | None = None,
    context_subsample: float | None = None,
    max_vocab: int | None = None,
    self_loops: str = "drop",
    tokenizer: Tokenizer = "words",
    lowercase: bool = True,
    length: int = 1,
    dangling: str = "zero",
    n_jobs: int | None = None,
) -> Affinity:
    """Build P from text: how often words occur near each other, words by frequency, then by bytes.

    Parameters
    ----------
    corpus : Corpus, or iterable of documents
        A document is a text, or a sequence of words, which are used unchanged.
    window : int
        Words further apart than this do not count. Windows do not cross documents.
    weighting : {"linear", "harmonic", "uniform"}
        Weight of a pair at distance s: (window + 1 - s) / window, the mean of word2vec's random window;
        1 / s, as in GloVe; or 1.
    min_count : int
        Rarer words are removed before windows are taken, as in word2vec.
    subsample : float, optional
        Threshold t for frequent words, such as 1e-5: a word of relative frequency f > t has weight
        sqrt(t / f), the mean of word2vec's random removal, which also moves the other words closer together.
    context_subsample : float, optional
        The same for contexts only: it weights the columns of P, with frequencies among the words kept.
        :func:`softvec.embed` uses 1e-5 unless ``subsample`` is given.
    max_vocab : int, optional
        Keep only this many of the most frequent words.
    self_loops : {"drop", "keep"}
        Pairs of a word with itself.
    tokenizer, lowercase
        See :class:`Corpus`.
    length, dangling
        As in :func:`random_walk`.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.

    Examples
    --------
    >>> P = cooccurrence(["the cat sat", "the dog sat"], window=2, min_count=1)
    >>> P.rows.to_list()
    ['sat', 'the', 'cat', 'dog']
    >>> P.matrix[[0], :].toarray()[0].tolist()  # next to cat and dog, one word from the, twice
    [0.0, 1.0, 1.0, 1.0]
    """
    window, min_count = integer("window", window), integer("min_count", min_count)
    max_vocab = None if max_vocab is None else integer("max_vocab", max_vocab)
    choice("self_loops", self_loops, ("drop", "keep"))
    for name, threshold in (("subsample", subsample), ("context_subsample", context_subsample)):
        if threshold is not None:
            number(name, threshold, above=0, most=1)
    weights = _distance_weights(window, weighting)
    corpus = as_corpus(corpus, tokenizer, lowercase, n_jobs)
    words, counts, numbers = corpus.vocabulary(min_count, max_vocab)
    matrix = _count(corpus, numbers, len(words), weights, self_loops == "keep", n_jobs)
    if weighting == "linear":
        matrix.data /= window
    if subsample is not None:
        matrix = _weighted(matrix, np.minimum(1.0, np.sqrt(subsample * corpus.n_words / counts)))
    rules = EdgeRules("corpus", length=length, dangling=dangling)
    weight = None
    if context_subsample is not None:
        weight = np.minimum(1.0, np.sqrt(context_subsample / (counts / counts.sum())))
    affinity = assemble(matrix, words, words, rules, True, column_weight=weight)
    summary = (
        f"{corpus.n_words:,} words in {counted(corpus.n_documents, 'document')}; vocabulary {len(words):,} "
        f"of {len(numbers):,} (min_count {min_count}), {matrix.nnz // 2:,} pairs within {window} words"
    )
    parameters = {
        **affinity.parameters, "window": window, "weighting": weighting, "min_count": min_count,
        "subsample": context_subsample if subsample is None else subsample, "max_vocab": max_vocab,
    }  # fmt: skip
    return replace(affinity, summary=summary, parameters=parameters, frequency=counts)


def _distance_weights(window: int, weighting: str) -> NDArray[np.float32]:
    """Return the weights of the distances 1..window; linear ones are still to be divided by the window."""
    steps = np.arange(1, window + 1)
    weights = {
        "linear": window + 1 - steps,  # integers, whose sums are exact
        "harmonic": 1 / steps,
        "uniform": np.ones(window),
    }[choice("weighting", weighting, WEIGHTINGS)]
    return weights.astype(np.float32)


def _weighted(matrix: sparse.csr_array, weight: NDArray[np.float64]) -> sparse.csr_array:
    """Return the matrix with weighted rows and columns."""
    values = matrix.data * np.repeat(weight, np.diff(matrix.indptr)) * weight[matrix.indices]
    return sparse.csr_array((values, matrix.indices, matrix.indptr), matrix.shape)


def _count(
    corpus: Corpus,
    numbers: NDArray[np.int32],
    n: int,
    weights: NDArray[np.float32],
    self_pairs: bool,
    n_jobs: int | None,
) -> sparse.csr_array:
    """Count segment by segment; partial sums of similar size are added first, as in merge sort."""
    partial: list[tuple[int, sparse.csr_array]] = []
    tail = np.empty(0, dtype=np.int32)
    for segment in corpus.segments():
        tokens = _renumbered(segment, numbers)
        counts = _count_segment(tokens, n, weights, self_pairs, n_jobs)
        if len(tail) and len(tokens) and segment[0] >= 0:
            counts = counts + _across(tail, tokens[: len(weights)], n, weights, self_pairs)
        partial.append((1, counts))
        tail = np.concatenate([tail, tokens[-len(weights) :]])[-len(weights) :]
        while len(partial) > 1 and partial[-1][0] == partial[-2][0]:
            size, last = partial.pop()
            partial[-1] = (2 * size, partial[-1][1] + last)
    total = partial[-1][1] if partial else sparse.csr_array((n, n), dtype=np.float32)
    for _, part in reversed(partial[:-1]):
        total = total + part
    return total


def _renumbered(tokens: NDArray[np.int32], numbers: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the new numbers of words, without those that have none; documents end with one -1 at most."""
    new = numbers[tokens]  # of an end of a document: that of the last word
    new[tokens < 0] = -1
    new = new[(tokens < 0) | (new >= 0)]
    again = new < 0
    again[1:] &= new[:-1] < 0
    return new[~again]


def _across(
    before: NDArray[np.int32],
    after: NDArray[np.int32],
    n: int,
    weights: NDArray[np.float32],
    self_pairs: bool,
) -> sparse.csr_array:
    """Count the pairs that straddle two segments of one document."""
    left = before[np.flatnonzero(before < 0)[-1] + 1 :] if (before < 0).any() else before
    right = after[: np.argmax(after < 0)] if (after < 0).any() else after
    pairs = [
        (a, b, weights[i + j])
        for i, a in enumerate(left[::-1].tolist())
        for j, b in enumerate(right.tolist())
        if i + j < len(weights) and (self_pairs or a != b)
    ]
    rows, columns, values = (np.array(part) for part in zip(*pairs)) if pairs else ([], [], [])
    once = sparse.coo_array((values, (rows, columns)), shape=(n, n), dtype=np.float32)
    return (once + once.T).tocsr()


def _count_segment(
    tokens: NDArray[np.int32], n: int, weights: NDArray[np.float32], self_pairs: bool, n_jobs: int | None
) -> sparse.csr_array:
    from softvec.kernels import cooccurrence as kernels

    starts = np.zeros(n + 1, dtype=np.int64)
    places = np.empty(len(tokens), dtype=np.int32)
    kernels.places(tokens, starts, places)
    most = np.minimum(np.diff(starts) * (2 * len(weights)), n)  # entries of each row, at most
    ends = row_starts(most)

    def count_range(lo: int, hi: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        room = int(ends[hi] - ends[lo])
        indices, values = np.empty(room, np.int32), np.empty(room, np.float32)
        lengths = np.empty(hi - lo, np.int64)
        sums = np.zeros(n, np.float32)
        size = kernels.count_rows(
            tokens, starts, places, weights, self_pairs, lo, hi, sums, indices, values, lengths
        )  # fmt: skip
        return indices[:size].copy(), values[:size].copy(), lengths

    with machine(n_jobs) as pool:
        done = pool.map(count_range, equal_shares(ends, -(-int(ends[-1]) // _ROWS_OUT)))
    indptr = row_starts(np.concatenate([part[2] for part in done]))
    wide = np.int32 if indptr[-1] < 2**31 else np.int64
    indices, values = np.empty(indptr[-1], wide), np.empty(indptr[-1], np.float32)
    at = int(indptr[-1])
    while done:  # released one by one: concatenating all would hold them twice
        part_indices, part_values, _ = done.pop()
        indices[at - len(part_indices) : at] = part_indices
        values[at - len(part_indices) : at] = part_values
        at -= len(part_indices)
    return canonical_csr(values, indices, indptr, (n, n))
