"""Word similarity and word analogies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from softvec.core.checks import choice, unit_rows
from softvec.core.errors import InputError
from softvec.core.progress import progress
from softvec.evaluate.common import Scores, as_vectors, collect
from softvec.read.streams import text_lines

Pairs = str | PathLike[str] | Iterable[tuple[str, str, float]]
Quadruples = str | PathLike[str] | Iterable[tuple[str, str, str, str]]


def word_similarity(X: Any, pairs: Pairs, *, words: Sequence[str] | None = None) -> Scores:
    """Compare cosines with human scores of word pairs, by Spearman's rank correlation.

    Parameters
    ----------
    X : Embedding, or ndarray of shape (n, d) with ``words``
        Vectors and their names.
    pairs : path or iterable of (word, word, score)
        A text file with two words and a number per line, separated by tabs, commas or blanks; lines that
        start with # and a header line are skipped.
    words : sequence of str, optional
        Names of the rows of ``X``.

    Returns
    -------
    Scores
        ``spearman`` over the pairs with both words known, ``coverage``, the share of such pairs, and
        ``spearman_all``, where a pair with an unknown word counts as similarity 0. The settings hold the
        counts. A word that is not found is looked up in lower case.

    Examples
    --------
    >>> import numpy as np
    >>> from softvec.evaluate import word_similarity
    >>> X = np.array([[1, 0], [0.9, 0.1], [0, 1.0]])
    >>> pairs = [("cat", "dog", 9), ("cat", "car", 1), ("dog", "car", 2), ("dog", "zebra", 5)]
    >>> scores = word_similarity(X, pairs, words=["cat", "dog", "car"])
    >>> scores["spearman"], scores["coverage"]
    (1.0, 0.75)
    """
    vectors, rows = _vectors_and_rows(X, words)
    triples = _read_pairs(pairs) if isinstance(pairs, str | PathLike) else list(pairs)
    if len(triples) < 2:
        source = pairs if isinstance(pairs, str | PathLike) else "pairs"
        raise InputError(
            f"{source} holds {len(triples)} lines of word, word, score; a correlation needs at least 2"
        )
    left = np.array([_row(rows, a) for a, _, _ in triples])
    right = np.array([_row(rows, b) for _, b, _ in triples])
    human = np.array([float(score) for _, _, score in triples])
    known = (left >= 0) & (right >= 0)
    if known.sum() < 2:
        raise InputError(f"{int(known.sum())} of {len(triples)} pairs have both words in the vocabulary")
    unit = unit_rows(vectors)
    cosines = np.where(known, np.einsum("ij,ij->i", unit[left], unit[right]), 0.0)
    scores = {
        "spearman": _spearman(cosines[known], human[known]),
        "spearman_all": _spearman(cosines, human),
        "coverage": float(known.mean()),
    }
    counts = {"n_pairs": len(triples), "n_known": int(known.sum()), "n_unknown": int((~known).sum())}
    return collect("word similarity", [scores], **counts)


def word_analogy(
    X: Any,
    quadruples: Quadruples,
    *,
    words: Sequence[str] | None = None,
    method: str = "add",
    verbose: bool = False,
) -> Scores:
    """Answer questions "a is to b as c is to ?" and count the right answers.

    The answer is another word than the three of the question.

    Parameters
    ----------
    X : Embedding, or ndarray of shape (n, d) with ``words``
        Vectors and their names.
    quadruples : path or iterable of (a, b, c, d)
        A text file with four words per line; a line that starts with ":" names a section.
    words : sequence of str, optional
        Names of the rows of ``X``.
    method : {"add", "mul"}
        "add" looks for the largest cosine with b - a + c, "mul" for the largest cos(b) cos(c) / cos(a),
        cosines shifted to be positive.
    verbose : bool
        Show a progress bar.

    Returns
    -------
    Scores
        ``accuracy`` over the questions whose four words are known, and ``coverage``; the settings hold the
        accuracy of each section.

    Examples
    --------
    >>> import numpy as np
    >>> from softvec.evaluate import word_analogy
    >>> X = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1.0]])
    >>> names = ["man", "king", "woman", "queen"]
    >>> word_analogy(X, [("man", "king", "woman", "queen")], words=names)["accuracy"]
    1.0
    """
    choice("method", method, ("add", "mul"))
    vectors, rows = _vectors_and_rows(X, words)
    unit = unit_rows(vectors)
    questions, sections = _read_quadruples(quadruples)
    if not questions:
        raise InputError("quadruples holds no question")
    index = np.array([[_row(rows, word) for word in question] for question in questions])
    known = (index >= 0).all(axis=1)
    if not known.any():
        raise InputError(f"none of the {len(questions)} questions has all of its words in the vocabulary")
    index = index[known]
    right = np.zeros(len(index), dtype=bool)
    blocks = range(0, len(index), 256)  # 256 x vocabulary scores at a time
    for lo in progress(blocks, verbose, "analogies"):
        block = index[lo : lo + 256]
        a, b, c = (unit[block[:, k]] for k in range(3))
        if method == "add":
            scores = unit_rows(b - a + c) @ unit.T
        else:
            near_a, near_b, near_c = ((1 + part @ unit.T) / 2 for part in (a, b, c))
            scores = near_b * near_c / (near_a + 1e-3)
        np.put_along_axis(scores, block[:, :3], -np.inf, axis=1)
        right[lo : lo + 256] = scores.argmax(axis=1) == block[:, 3]
    names = np.array(sections)[known]
    by_section = {str(name): float(right[names == name].mean()) for name in dict.fromkeys(names)}
    shares = {"accuracy": float(right.mean()), "coverage": float(known.mean())}
    counts = {"n_questions": len(questions), "n_known": int(known.sum()), "method": method}
    return collect("word analogy", [shares], **counts, sections=by_section)


def _vectors_and_rows(X: Any, words: Sequence[str] | None) -> tuple[np.ndarray, dict[str, int]]:
    vectors = as_vectors(X)
    names = getattr(X, "names", None) if words is None else words
    if names is None:
        raise InputError("pass words, the names of the rows of X, or an Embedding")
    if len(names) != len(vectors):
        raise InputError(f"{len(names)} words for {len(vectors)} vectors; expected one for each")
    return vectors, {str(name): i for i, name in reversed(list(enumerate(names)))}


def _row(rows: dict[str, int], word: str) -> int:
    return rows.get(word, rows.get(word.lower(), -1))


def _spearman(x: np.ndarray, y: np.ndarray) -> float:
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return 0.0  # a constant has no rank correlation; SciPy would warn and give NaN
    return float(spearmanr(x, y).statistic)


def _read_pairs(path: str | PathLike[str]) -> list[tuple[str, str, float]]:
    triples: list[tuple[str, str, float]] = []
    for number, line in enumerate(text_lines(path, "pairs of words"), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        parts = line.replace(",", "\t").replace(";", "\t").split()
        try:
            triples.append((parts[0], parts[1], float(parts[2])))
        except (IndexError, ValueError):
            if triples:
                raise InputError(f"{path}, line {number}: expected word, word, score; got {line!r}") from None
    return triples


def _read_quadruples(source: Quadruples) -> tuple[list[tuple[str, ...]], list[str]]:
    questions: list[tuple[str, ...]] = []
    sections: list[str] = []
    section = "all"
    lines = text_lines(source, "questions") if isinstance(source, str | PathLike) else source
    for number, line in enumerate(lines, 1):
        parts = tuple(line.split()) if isinstance(line, str) else tuple(line)
        if parts and parts[0].startswith(":"):
            section = " ".join(parts)[1:].strip() or "all"
        elif len(parts) == 4:
            questions.append(parts)
            sections.append(section)
        elif parts:
            raise InputError(f"question {number}: expected four words, got {len(parts)}: {line!r}")
    return questions, sections
