"""Load files of the data directory as arrays."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.datasets.dataset import Dataset
from softvec.core.errors import InputError


@dataclass(frozen=True)
class Graph:
    """An undirected graph.

    Attributes
    ----------
    adjacency : csr_array of shape (n, n)
        Symmetric, int8 ones, no loops.
    labels : ndarray of shape (n,), csr_array of shape (n, k), or None
        One class per node (negative: none), or a 0/1 matrix for several labels per node.
    names : tuple of str or None
        Names of the nodes.
    """

    adjacency: sp.csr_array
    labels: Any = None
    names: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Pairs:
    """Labelled pairs in three parts that share no item.

    Attributes
    ----------
    names : tuple of str
        Items.
    pairs, labels : dict of str to ndarray
        For "train", "valid" and "test": pairs (m, 2) of item numbers, and 0 or 1 for each.
    """

    names: tuple[str, ...]
    pairs: dict[str, np.ndarray]
    labels: dict[str, np.ndarray]


@dataclass(frozen=True)
class Temporal:
    """Contacts over time.

    Attributes
    ----------
    times : ndarray of shape (m,)
        Seconds.
    contacts : ndarray of shape (m, 2)
        Node numbers.
    names : tuple of str
        Names of the nodes.
    classes : tuple of str or None
        Group of each node.
    """

    times: np.ndarray
    contacts: np.ndarray
    names: tuple[str, ...]
    classes: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Vectors:
    """Pre-trained vectors (float32) and their words, if known."""

    vectors: np.ndarray
    words: tuple[str, ...] | None = None


def _graph(dataset: Dataset, paths: dict[str, Path]) -> Graph:
    adjacency, labels, names = None, None, None
    for file, path in paths.items():
        if file.endswith("_labels.npy"):
            labels = np.load(path, allow_pickle=False)
        elif file.endswith("_labels.npz"):
            labels = sp.csr_array(sp.load_npz(path))
        elif file.endswith(".npz"):
            adjacency = sp.csr_array(sp.load_npz(path)).astype(np.int8)
        else:
            names = tuple(path.read_text(encoding="utf-8").split("\n"))
    assert adjacency is not None  # every graph of the registry has one
    if names is not None and len(names) == adjacency.shape[0] + 1 and names[-1] == "":
        names = names[:-1]
    counts = {"nodes": adjacency.shape[0], "edges": adjacency.nnz // 2}
    if labels is not None:
        one_each = labels.ndim == 1
        counts["classes"] = len(np.unique(labels[labels >= 0])) if one_each else labels.shape[1]
        if labels.shape[0] != adjacency.shape[0]:
            raise InputError(f"{dataset.name}: {labels.shape[0]} labels for {adjacency.shape[0]} nodes")
    wrong = [f"{k} {counts[k]:,} instead of {v:,}" for k, v in dataset.facts.items() if counts.get(k) != v]
    if wrong:
        raise InputError(f"{dataset.name} differs from the known data set: {', '.join(wrong)}")
    return Graph(adjacency, labels, names)


def _pairs(dataset: Dataset, paths: dict[str, Path]) -> Pairs:
    raw, labels = {}, {}
    for part in ("train", "valid", "test"):
        lines = paths[f"genes/{part}_text.txt"].read_text(encoding="utf-8").split("\n")
        raw[part] = np.array([line.split() for line in lines if line.strip()])
        labels[part] = np.loadtxt(paths[f"genes/{part}_label.txt"], dtype=np.int8, ndmin=1)
        if raw[part].ndim != 2 or raw[part].shape != (len(labels[part]), 2):
            raise InputError(
                f"{dataset.name}: {part} has {len(raw[part])} pairs and {len(labels[part])} labels"
            )
    names = np.unique(np.concatenate(list(raw.values())))
    pairs = {part: np.searchsorted(names, identifiers) for part, identifiers in raw.items()}
    return Pairs(tuple(names.tolist()), pairs, labels)


def _temporal(dataset: Dataset, paths: dict[str, Path]) -> Temporal:
    (path,) = paths.values()
    rows = [line.split() for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    width = {len(row) for row in rows}
    if len(width) != 1 or width & {0, 1, 2, 4}:
        raise InputError(f"{dataset.name}: {path} does not hold lines of t, i, j")
    table = np.array(rows)
    names, codes = np.unique(table[:, 1:3], return_inverse=True)
    codes = codes.reshape(-1, 2)
    classes = None
    if table.shape[1] >= 5:
        groups = np.empty(len(names), dtype=object)
        groups[codes[:, 0]] = table[:, 3]
        groups[codes[:, 1]] = table[:, 4]
        classes = tuple(map(str, groups))
    return Temporal(table[:, 0].astype(np.int64), codes, tuple(names.tolist()), classes)


def _vectors(dataset: Dataset, paths: dict[str, Path]) -> Vectors:
    words = None
    for file, path in paths.items():
        if file.endswith(".npy"):
            vectors = np.load(path, allow_pickle=False).astype(np.float32)
        else:
            words = tuple(path.read_text(encoding="utf-8").rstrip("\n").split("\n"))
    if words is not None and len(words) != len(vectors):
        raise InputError(f"{dataset.name}: {len(words)} words for {len(vectors)} vectors")
    return Vectors(vectors, words)


def _text(dataset: Dataset, paths: dict[str, Path]) -> list[str]:
    (path,) = paths.values()
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return stream.read().splitlines()


def _words(dataset: Dataset, paths: dict[str, Path]) -> list[tuple[str, str, float]]:
    (path,) = paths.values()
    rows = [line.split() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [(a, b, float(score)) for a, b, score in rows]


LOADERS: dict[str, Callable[[Dataset, dict[str, Path]], Any]] = {
    "graph": _graph,
    "pairs": _pairs,
    "temporal": _temporal,
    "vectors": _vectors,
    "text": _text,
    "words": _words,
}
