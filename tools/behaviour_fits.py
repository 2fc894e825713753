"""The fits that tools/behaviour.py records: every kind of data and every setting of a fit, small."""

from __future__ import annotations

import hashlib
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import softvec

# Data


def block_graph(n: int, groups: int, degree: float, seed: int) -> sparse.csr_array:
    """Return the adjacency matrix of a graph with equal groups, four edges of five within them."""
    rng = np.random.default_rng(seed)
    m = int(n * degree / 2)
    i = rng.integers(0, n, m)
    inside = rng.random(m) < 0.8
    j = np.where(
        inside, (i // (n // groups)) * (n // groups) + rng.integers(0, n // groups, m), rng.integers(0, n, m)
    )
    keep = (i != j) & (j < n)
    A = sparse.coo_array((np.ones(keep.sum()), (i[keep], j[keep])), shape=(n, n)).tocsr()
    A = ((A + A.T) > 0).astype(np.float64)
    return sparse.csr_array(A)


def weighted_graph() -> sparse.csr_array:
    A = block_graph(60, 3, 8, 1)
    A.data = np.random.default_rng(2).random(A.nnz) + 0.1
    return sparse.csr_array(A + A.T)


def directed_graph() -> sparse.csr_array:
    rng = np.random.default_rng(3)
    return sparse.csr_array((rng.random((50, 50)) < 0.12).astype(float))


def edge_names(A: sparse.csr_array) -> list[tuple[str, str]]:
    upper = sparse.coo_array(sparse.triu(A, 1))
    return [(f"n{i}", f"n{j}") for i, j in zip(upper.row.tolist(), upper.col.tolist())]


def gene_pairs() -> list[tuple[str, str]]:
    rng = np.random.default_rng(4)
    return [(f"G{a}", f"G{b}") for a, b in rng.integers(0, 40, (300, 2)).tolist() if a != b]


def purchases() -> list[tuple[str, str]]:
    rng = np.random.default_rng(5)
    return [
        (f"u{a}", f"p{b}")
        for a, b in zip(rng.integers(0, 30, 200).tolist(), rng.integers(0, 20, 200).tolist())
    ]


def contacts() -> list[tuple[int, int, int]]:
    rng = np.random.default_rng(6)
    rows = rng.integers(0, [6, 20, 20], (300, 3))
    return sorted((int(t) * 20, int(a), int(b)) for t, a, b in rows if a != b)


def texts() -> list[str]:
    rng = np.random.default_rng(7)
    rank = rng.zipf(1.4, (80, 25)) % 60
    return [" ".join(f"word{w}" for w in line) for line in rank.tolist()]


def features() -> np.ndarray:
    rng = np.random.default_rng(8)
    return rng.normal(size=(90, 6)) + 4 * rng.integers(0, 3, (90, 1))


def stochastic(n: int = 40, m: int = 40, seed: int = 9) -> np.ndarray:
    P = np.random.default_rng(seed).random((n, m)) ** 4
    return P / P.sum(1, keepdims=True)


# Fits


def embedded(data: Any, d: int = 8, **options: Any) -> list[np.ndarray]:
    emb = softvec.embed(data, d, **{"random_state": 0, "n_jobs": 1, **options})
    return [emb.vectors] if emb.context_vectors is None else [emb.vectors, emb.context_vectors]


def estimated(P: Any, d: int = 8, fit: dict[str, Any] | None = None, **options: Any) -> list[np.ndarray]:
    options = {"random_state": 0, "n_jobs": 1, "n_epochs": 12, **options}
    model = softvec.EDRep(d, **options).fit(P, **(fit or {}))
    same = model.embedding_ is model.context_embedding_
    return [model.embedding_] if same else [model.embedding_, model.context_embedding_]


def transformed(**options: Any) -> list[np.ndarray]:
    model = softvec.EDRep(8, n_epochs=12, random_state=0, n_jobs=1, **options).fit(stochastic())
    return [model.transform(stochastic(5, 40, 10))]


def warm_started() -> list[np.ndarray]:
    model = softvec.EDRep(8, n_epochs=6, random_state=0, n_jobs=1, warm_start=True)
    return [model.fit(stochastic()).fit(stochastic(seed=11)).embedding_]


class Interrupted(Exception):
    """Raised in a callback to leave a checkpoint behind."""


def resumed(how: Callable[..., list[np.ndarray]], data: Any, **options: Any) -> list[np.ndarray]:
    def interrupt(epoch: int, loss: float, X: Any) -> None:
        if epoch == 7:
            raise Interrupted

    with tempfile.TemporaryDirectory() as folder:
        options |= {"checkpoint": str(Path(folder) / "run"), "checkpoint_every": 2, "n_epochs": 12}
        try:
            how(data, callbacks=[interrupt], **options)
        except Interrupted:
            pass
        else:
            raise RuntimeError("the fit ended before the callback could interrupt it")
        return how(data, **options)


def fits() -> dict[str, Callable[[], list[np.ndarray]]]:
    """Return the fits by name; each makes arrays."""
    small, large, P = block_graph(60, 3, 8, 0), block_graph(3000, 5, 12, 12), stochastic()
    rectangle = stochastic(40, 25, 13)
    N = np.random.default_rng(14).random((40, 40)) * (np.random.default_rng(15).random((40, 40)) < 0.1)
    weight = np.random.default_rng(16).random(40) + 0.5
    start = np.random.default_rng(17).normal(size=(40, 8))
    cases: dict[str, Callable[[], list[np.ndarray]]] = {
        "graph": lambda: embedded(small),
        "graph, edges with names": lambda: embedded(edge_names(small)),
        "graph, directed": lambda: embedded(directed_graph()),
        "graph, directed=True": lambda: embedded(edge_names(small), directed=True),
        "graph, directed made undirected": lambda: embedded(directed_graph(), directed=False),
        "graph, weighted": lambda: embedded(weighted_graph()),
        "graph, weights ignored": lambda: embedded(weighted_graph(), weighted=False),
        "graph, shrinkage 0": lambda: embedded(small, shrinkage=0),
        "graph, base_measure 0.75": lambda: embedded(small, base_measure=0.75),
        "graph, walk_length 1": lambda: embedded(small, walk_length=1),
        "graph, walk_length 5": lambda: embedded(small, walk_length=5),
        "graph, two-sided": lambda: embedded(small, symmetric=False),
        "graph, fused views": lambda: embedded(block_graph(3000, 5, 40, 18), 32),
        "graph, fused views, weighted": lambda: embedded(weighted_graph(), view="fused"),
        "graph, view links": lambda: embedded(small, view="links"),
        "graph, effort fast": lambda: embedded(large, effort="fast"),
        "pairs": lambda: embedded(gene_pairs(), kind="pairs"),
        "bipartite": lambda: embedded(purchases(), kind="bipartite"),
        "temporal": lambda: embedded(contacts(), kind="temporal", window=40),
        "corpus": lambda: embedded(texts(), kind="corpus", window=3, min_count=2),
        "corpus, subsample 0.01": lambda: embedded(texts(), kind="corpus", min_count=1, subsample=0.01),
        "features": lambda: embedded(features(), kind="features", n_neighbors=7),
        "dense": lambda: embedded(P, kind="dense"),
        "large graph, 1 thread": lambda: embedded(large, 32),
        "large graph, 2 threads": lambda: embedded(large, 32, n_jobs=2),
        "large graph, full, 3 clusters": lambda: embedded(
            large, 16, gradient="full", n_clusters=3, n_epochs=8
        ),
        "large graph, two-sided, paper": lambda: embedded(
            large, 16, symmetric=False, gradient="paper", n_epochs=8, n_jobs=2
        ),
        "large graph, float64": lambda: embedded(large, 16, dtype="float64", n_epochs=8),
        "large graph, exact": lambda: embedded(large, 16, normalizer="exact", n_epochs=2),
        "large features": lambda: embedded(
            np.repeat(features(), 6, 0) + np.arange(540)[:, None] % 7, 16, kind="features"
        ),
        "estimator, row": lambda: estimated(P),
        "estimator, paper, 3 clusters": lambda: estimated(P, gradient="paper", n_clusters=3),
        "estimator, full, beta 1, regularization 1": lambda: estimated(
            P, gradient="full", beta=1.0, regularization=1.0
        ),
        "estimator, full, 3 clusters": lambda: estimated(P, gradient="full", n_clusters=3),
        "estimator, given classes": lambda: estimated(P, fit={"labels": np.arange(40) % 4}),
        "estimator, rectangular": lambda: estimated(rectangle),
        "estimator, rectangular, 3 clusters": lambda: estimated(rectangle, n_clusters=3),
        "estimator, two-sided": lambda: estimated(P, symmetric=False),
        "estimator, contrastive": lambda: estimated(P, fit={"dissimilarity": N}),
        "estimator, contrastive, two-sided": lambda: estimated(P, fit={"dissimilarity": N}, symmetric=False),
        "estimator, ball": lambda: estimated(P, constraint="ball", gradient="full"),
        "estimator, item_weight": lambda: estimated(P, fit={"item_weight": weight}),
        "estimator, exact normaliser": lambda: estimated(P, normalizer="exact"),
        "estimator, normalize=False": lambda: estimated(3 * P + N, normalize=False),
        "estimator, init power": lambda: estimated(P, init="power"),
        "estimator, init given": lambda: estimated(P, init=start),
        "estimator, tol": lambda: estimated(P, tol=0.01, n_epochs=100),
        "estimator, float64": lambda: estimated(P, dtype="float64"),
        "estimator, sparse": lambda: estimated(sparse.csr_array(small)),
        "estimator, powers": lambda: estimated(
            softvec.operators.Powers(softvec.operators.row_normalize(small), 3), gradient="paper"
        ),
        "estimator, large, 2 threads": lambda: estimated(large, 32, n_jobs=2, gradient="full", n_clusters=3),
        "estimator, warm start": warm_started,
        "transform": lambda: transformed(),
        "transform, 3 clusters": lambda: transformed(n_clusters=3),
        "transform, ball": lambda: transformed(constraint="ball"),
        "checkpoint, uninterrupted": lambda: estimated(P, n_clusters=3),
        "checkpoint, resumed": lambda: resumed(estimated, P, n_clusters=3),
        "checkpoint of embed, uninterrupted": lambda: embedded(small, n_epochs=12),
        "checkpoint of embed, resumed": lambda: resumed(embedded, small),
    }
    return cases


# Equal whatever the machine: the two names of each pair are the same fit done in two ways.
TWINS = (
    ("large graph, 1 thread", "large graph, 2 threads"),
    ("checkpoint, uninterrupted", "checkpoint, resumed"),
    ("checkpoint of embed, uninterrupted", "checkpoint of embed, resumed"),
)


def hash_of(arrays: list[np.ndarray]) -> str:
    digest = hashlib.sha256()
    for X in arrays:
        digest.update(repr(X.shape).encode() + np.ascontiguousarray(X, np.float32).tobytes())
    return digest.hexdigest()[:32]


def record_fits() -> dict[str, str]:
    hashes = {}
    for name, fit in fits().items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                hashes[name] = hash_of(fit())
        except Exception as error:
            hashes[name] = f"{type(error).__name__}: {error}"
    for one, other in TWINS:
        if hashes[one] != hashes[other]:
            hashes[other] += f" differs from {one!r}"
    return hashes
