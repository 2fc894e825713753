"""Two sides with default settings: vectors of rows of counts, and recommendations, beside obvious baselines.

    python -m benchmarks.two_sided --ratings ml-100k.inter --ratings ml-small.tsv --cells pbmc68k_reduced.h5ad

Tables: the nearest row of the same class, and logistic regression from half of the rows; beside TF-IDF + SVD
of scikit-learn. Recommendations: ten hidden items of each user (one of clicks), precision of the best ten;
beside popularity, ALS of implicit at its default and tuned on hidden pairs of the training part, and EASE
tuned alike. MovieLens 100k is in the wheel of recbole, its small sibling in Debian's r-cran-dslabs, the cells
in the wheel of scanpy. Needs implicit and h5py. Writes `benchmarks/results/two_sided.json` and a section of
`docs/results.md`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression

import softvec
from benchmarks import datasets
from benchmarks.common import RESULTS, ROOT, provenance, replace_section, write_json

# Chose the defaults of the fit or of the recommendations, or were seen while they were chosen.
CHOSE = (
    "novels",
    "cora_ml",
    "citeseer_full",
    "PBMC cells",
    "ml-100k",
    "ml-small",
    "clicks",
    "clicks without taste",
)
ATTRIBUTES = ("cora_ml", "citeseer_full", "acm_paper", "uai2010")
ALS_GRID = [(factors, ridge) for factors in (16, 32, 64) for ridge in (1.0, 10.0, 50.0)]
EASE_GRID = (50.0, 200.0, 500.0, 1000.0)
Scores = Callable[[sp.csr_array], np.ndarray]


def novels(length: int = 1000, count: int = 2000) -> tuple[sp.csr_array, np.ndarray]:
    """Return how often each word stands in passages of novels, and the book of each."""
    numbers: dict[str, int] = {}
    passages, book = [], []
    for number, text in enumerate(datasets.load("novels")):
        words = text.split()
        for lo in range(0, len(words) - length, length):
            passages.append([numbers.setdefault(word, len(numbers)) for word in words[lo : lo + length]])
            book.append(number)
    kept = np.random.default_rng(0).permutation(len(book))[:count]
    rows = np.repeat(np.arange(len(kept)), length)
    columns = np.concatenate([passages[i] for i in kept])
    _, columns = np.unique(columns, return_inverse=True)
    A = sp.csr_array((np.ones(len(rows)), (rows, columns)))
    A.sum_duplicates()
    return A, np.array(book)[kept]


def attributes(name: str) -> tuple[sp.csr_array, np.ndarray]:
    """Return the attributes of the nodes of a graph, and their labels."""
    folder = datasets.data_dir() / "attributed"
    A, y = sp.load_npz(folder / f"{name}_features.npz"), np.load(folder / f"{name}_labels.npy")
    kept = np.flatnonzero(np.diff(sp.csr_array(A).indptr))
    return sp.csr_array(A)[kept].astype(float), y[kept]


def cells(path: str) -> tuple[sp.csr_array, np.ndarray]:
    """Return counts of genes in cells, and the types of the cells, from scanpy's pbmc68k_reduced."""
    import h5py

    with h5py.File(path) as file:
        X = file["raw/X"] if "raw/X" in file else file["raw.X"]
        values = [X[key][:] for key in ("data", "indices", "indptr")]
        obs = file["obs"]
        y = obs["bulk_labels"]["codes"][:] if isinstance(obs, h5py.Group) else obs["bulk_labels"][:]
    A = sp.csr_array(tuple(values), shape=(len(y), int(values[1].max()) + 1)).astype(float)
    A.data = np.expm1(A.data)
    least = np.array([A.data[lo:hi].min() for lo, hi in zip(A.indptr[:-1], A.indptr[1:])])
    return sp.csr_array(sp.diags_array(1 / least) @ A), np.unique(y, return_inverse=True)[1]


def scores(X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Return the share of rows whose nearest has their class, the score of a classifier, the mean cosine."""
    X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    S = X @ X.T
    cosine = float((S.sum() - len(S)) / (len(S) * (len(S) - 1)))
    np.fill_diagonal(S, -2)
    train = np.random.default_rng(0).random(len(y)) < 0.5
    model = LogisticRegression(max_iter=200, C=10).fit(X[train], y[train])
    accuracy = float(model.score(X[~train], y[~train]))
    return {"nearest": float(np.mean(y[S.argmax(1)] == y)), "classifier": accuracy, "mean_cosine": cosine}


def table(A: sp.csr_array, y: np.ndarray) -> dict[str, Any]:
    """Compare the vectors of rows."""
    tfidf = TruncatedSVD(64, random_state=0).fit_transform(TfidfTransformer().fit_transform(A))
    fitted = {
        "TF-IDF + SVD": tfidf,
        "softvec": softvec.embed(A, 64, kind="bipartite", random_state=0).vectors,
        "softvec, equal weights": softvec.embed(
            A, 64, kind="bipartite", base_measure=0, beta=6.0, random_state=0
        ).vectors,
    }
    return {"shape": list(A.shape), "methods": {name: scores(X, y) for name, X in fitted.items()}}


def ratings(path: str) -> sp.csr_array:
    """Return the pairs of the first two columns of a table with a header."""
    pairs = np.loadtxt(path, skiprows=1, usecols=(0, 1))
    users, items = (np.unique(column, return_inverse=True)[1] for column in pairs.T)
    return sp.csr_array((np.ones(len(users)), (users, items)))


def clicks(taste: float, n: int = 8000, m: int = 2000, topics: int = 30) -> sp.csr_array:
    """Draw about eight clicks a user: popular items, and those of two topics of the user."""
    rng = np.random.default_rng(0)
    rates, own = 1 / np.arange(1, m + 1) ** 0.8, rng.integers(topics, size=(n, 2))
    topic, count = rng.integers(topics, size=m), 2 + rng.poisson(6, n)
    rows = []
    for user in range(n):
        weight = rates * np.exp(taste * np.isin(topic, own[user]))
        rows.append(rng.choice(m, count[user], replace=False, p=weight / weight.sum()))
    pairs = (np.repeat(np.arange(n), count), np.concatenate(rows))
    return sp.csr_array((np.ones(count.sum()), pairs), shape=(n, m))


def hidden(A: sp.csr_array, k: int, seed: int) -> tuple[sp.csr_array, sp.csr_array]:
    """Return known pairs, and k hidden ones of each user who has at least twice as many."""
    coo, rng = A.tocoo(), np.random.default_rng(seed)
    order = np.lexsort((rng.random(A.nnz), coo.row))
    rank = np.empty(A.nnz, int)
    rank[order] = np.arange(A.nnz) - A.indptr[coo.row[order]]
    held = (rank < k) & (np.diff(A.indptr)[coo.row] >= 2 * k)
    parts = [(np.ones(part.sum()), (coo.row[part], coo.col[part])) for part in (~held, held)]
    return tuple(sp.csr_array(part, shape=A.shape) for part in parts)  # type: ignore[return-value]


def found(S: np.ndarray, known: sp.csr_array, held: sp.csr_array) -> dict[str, float]:
    """Return the share of users with a hit among their best ten, and the precision."""
    S = np.array(S, dtype=float)
    S[known.nonzero()] = -np.inf
    users = np.flatnonzero(np.diff(held.indptr))
    hits = np.take_along_axis((held > 0).toarray(), np.argpartition(-S, 10, axis=1)[:, :10], axis=1)[users]
    return {"hit": float(hits.any(axis=1).mean()), "precision": float(hits.mean())}


def als(factors: int, ridge: float) -> Scores:
    """Return the scores of implicit's ALS."""

    def fit(A: sp.csr_array) -> np.ndarray:
        from implicit.als import AlternatingLeastSquares

        model = AlternatingLeastSquares(factors, regularization=ridge, random_state=0, num_threads=1)
        model.fit(sp.csr_matrix(A), show_progress=False)
        return model.user_factors @ model.item_factors.T

    return fit


def ease(ridge: float) -> Scores:
    """Return the scores of EASE: ridge regression of each item on all others, cubic in their number."""

    def fit(A: sp.csr_array) -> np.ndarray:
        G = (A.T @ A).toarray()
        G[np.diag_indices_from(G)] += ridge
        B = np.linalg.inv(G)
        B /= -np.diag(B)
        np.fill_diagonal(B, 0)
        return A @ B

    return fit


def ours(A: sp.csr_array) -> np.ndarray:
    """Return the recommendations of softvec with defaults, the first with the highest score."""
    emb = softvec.embed(A, kind="bipartite", random_state=0)
    S = np.full(A.shape, -1e9)
    for user, tops in emb.recommend(known=A).items():
        S[user, [item for item, _ in tops]] = -np.arange(len(tops))
    return S


def tuned(methods: list[Scores], known: sp.csr_array, k: int) -> Scores:
    """Return the method that finds most hidden pairs of the training part."""
    inner, held = hidden(known, k, 7)
    return max(methods, key=lambda method: found(method(inner), inner, held)["precision"])


def recommendations(A: sp.csr_array, k: int) -> dict[str, Any]:
    """Compare recommendations of hidden items."""
    known, held = hidden(A, k, 0)
    methods: dict[str, Scores] = {
        "popularity": lambda A: np.tile(A.sum(axis=0), (A.shape[0], 1)),
        "ALS, default": als(100, 0.01),
        "ALS, tuned": tuned([als(*point) for point in ALS_GRID], known, k),
        "softvec": ours,
    }
    if A.shape[1] < 3000:
        methods["EASE, tuned"] = tuned([ease(ridge) for ridge in EASE_GRID], known, k)
    results = {}
    for name, method in methods.items():
        started = time.process_time()
        S = method(known)
        results[name] = {**found(S, known, held), "cpu_seconds": time.process_time() - started}
    return {"shape": list(A.shape), "pairs": int(A.nnz), "methods": results}


def page(results: dict[str, Any]) -> str:
    """Return the section of docs/results.md."""
    lines = [
        "## Two sides: rows of counts",
        "",
        "Default settings in 64 dimensions. Share of rows whose nearest has their class / logistic "
        "regression from half of the rows, in percent; mean cosine of the vectors in brackets.",
        "",
        "| table | rows, columns | TF-IDF + SVD | softvec | softvec, equal weights |",
        "|---|---|---|---|---|",
    ]
    for name, row in results["tables"].items():
        shown = [
            f"{100 * cell['nearest']:.1f} / {100 * cell['classifier']:.1f} ({cell['mean_cosine']:.2f})"
            for cell in row["methods"].values()
        ]
        size = "{:,} x {:,}".format(*row["shape"])
        lines.append(f"| {name}{' *' if name in CHOSE else ''} | {size} | {' | '.join(shown)} |")
    lines += [
        "",
        "## Recommendations",
        "",
        "Ten hidden items of each user (one of clicks). Users with a hit among the best ten / precision of "
        "the best ten, in percent. ALS is implicit's; tuned methods chose their settings on hidden pairs "
        "of the training part, softvec has its defaults. `*`: chose our defaults, or was seen meanwhile.",
        "",
    ]
    methods = list(dict.fromkeys(name for row in results["ratings"].values() for name in row["methods"]))
    lines += [f"| data | {' | '.join(methods)} |", "|---" * (len(methods) + 1) + "|"]
    for name, row in results["ratings"].items():
        found = [row["methods"].get(method) for method in methods]
        shown = [
            "" if cell is None else f"{100 * cell['hit']:.1f} / {100 * cell['precision']:.2f}"
            for cell in found
        ]
        lines.append(f"| {name}{' *' if name in CHOSE else ''} | {' | '.join(shown)} |")
    return "\n".join(lines)


def main() -> None:
    """Run everything and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--ratings", action="append", default=[], help="table of users and items, with a header"
    )
    parser.add_argument("--cells", help="scanpy's pbmc68k_reduced")
    given = parser.parse_args()
    data = {"novels": novels, **{name: (lambda name=name: attributes(name)) for name in ATTRIBUTES}}
    data |= {"PBMC cells": lambda: cells(given.cells)} if given.cells else {}
    results: dict[str, Any] = {"provenance": provenance(1), "chose": list(CHOSE), "tables": {}, "ratings": {}}
    for path in given.ratings:
        results["ratings"][Path(path).stem] = recommendations(ratings(path), 10)
        print(Path(path).stem, results["ratings"][Path(path).stem], flush=True)
    for name, taste in (("clicks", 2.5), ("clicks without taste", 0.0)):
        results["ratings"][name] = recommendations(clicks(taste), 1)
        print(name, results["ratings"][name], flush=True)
    for name, load in data.items():
        results["tables"][name] = table(*load())
        print(name, results["tables"][name], flush=True)
    write_json(RESULTS / "two_sided.json", results)
    replace_section(ROOT / "docs" / "results.md", "two_sided_defaults", page(results))


if __name__ == "__main__":
    main()
