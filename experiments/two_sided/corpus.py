"""Passages of novels and their words: a matrix with two kinds of items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import datasets

#: Authors of the novels, in the order of the file, with the number of books that follow each other.
AUTHORS = (
    ("Blackmore", 1), ("Barclay", 3), ("Bennett", 3), ("Blackmore", 3), ("Braddon", 3), ("Burnett", 3),
    ("Brontë", 3), ("Chesterton", 3), ("Conrad", 3), ("Corelli", 3), ("Dickens", 3), ("Doyle", 3),
    ("Eliot", 3), ("Ford", 3), ("Forster", 2),
)  # fmt: skip
_TITLE = 300  # words at the head of a book that may name its author


@dataclass(frozen=True)
class Passages:
    """How often each word stands in each passage, and where the passage is from.

    Attributes
    ----------
    counts : csr_array of shape (n, m)
    words : list of str
    book, author : ndarray of shape (n,)
    """

    counts: sp.csr_array
    words: list[str]
    book: np.ndarray
    author: np.ndarray


@dataclass(frozen=True)
class Split:
    """Counts to fit, and (passage, word) pairs that are kept from the fit."""

    train: sp.csr_array
    validation: sp.csr_array
    test: sp.csr_array


def load(config: dict[str, Any]) -> Passages:
    """Cut the novels into passages; keep words that are neither rare nor everywhere."""
    names = [name for name, books in AUTHORS for _ in range(books)]
    texts = datasets.load("novels")[: config["books"]]
    vocabulary: dict[str, int] = {}
    rows, columns, book = [], [], []
    for number, text in enumerate(texts):
        words = text.split()[_TITLE:]
        codes = np.array([vocabulary.setdefault(word, len(vocabulary)) for word in words])
        for lo in range(0, len(codes) - config["length"] + 1, config["length"]):
            columns.append(codes[lo : lo + config["length"]])
            rows.append(np.full(config["length"], len(book)))
            book.append(number)
    row, column = np.concatenate(rows), np.concatenate(columns)
    shape = (len(book), len(vocabulary))
    counts = sp.csr_array((np.ones(len(row)), (row, column)), shape=shape)
    counts.sum_duplicates()
    spread = np.bincount(counts.indices, minlength=shape[1])
    kept = np.flatnonzero((spread >= config["least_passages"]) & (spread <= config["most"] * len(book)))
    inverse = list(vocabulary)
    authors = sorted(set(names))
    author = np.array([authors.index(names[number]) for number in book])
    return Passages(sp.csr_array(counts[:, kept]), [inverse[w] for w in kept], np.array(book), author)


def split_pairs(counts: sp.csr_array, config: dict[str, Any], seed: int) -> Split:
    """Keep a share of the (passage, word) pairs for validation and for the test, at random."""
    draw = np.random.default_rng(seed).random(counts.nnz)
    held, last = config["validation"], config["validation"] + config["test"]
    parts = []
    for keep in (draw >= last, draw < held, (draw >= held) & (draw < last)):
        coo = counts.tocoo()
        parts.append(sp.csr_array((coo.data[keep], (coo.row[keep], coo.col[keep])), shape=counts.shape))
    return Split(*parts)


def split_books(passages: Passages, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the passages to train on, to choose settings on, and to test on: whole books of each author."""
    rng = np.random.default_rng([seed, 7])
    role = np.zeros(passages.book.max() + 1, dtype=int)
    for author in np.unique(passages.author):
        books = rng.permutation(np.unique(passages.book[passages.author == author]))
        if len(books) > 1:
            role[books[0]] = 2
        if len(books) > 2:
            role[books[1]] = 1
    of_passage = role[passages.book]
    train, choose, test = (np.flatnonzero(of_passage == part) for part in range(3))
    return train, choose, test
