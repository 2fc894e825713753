"""Which views of a graph should the vectors hold? Classification over views, fusions and starts.

A view is one fit of unit vectors to one walk on the graph. A recipe fits some of them, puts them side by
side, shortens the vectors of nodes with few neighbours, keeps the leading principal axes and adds two
coordinates that tell the degree.

    python -m benchmarks.views                       # every recipe on every graph, an hour on one core
    python -m benchmarks.views --graphs ppi cora     # some graphs
    python -m benchmarks.views --recipes today fused # some recipes

Chosen with scores of `CHOSEN_ON` in view; the others are shown beside them. Writes
benchmarks/results/views.json and a table of docs/decisions.md; a cell that is there is not run again.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

import softvec
from benchmarks.common import RESULTS, ROOT, provenance, read_json, replace_section, write_json
from benchmarks.peers import netmf, prone
from benchmarks.peers.graphs import Graph, load
from benchmarks.peers.scoring import classification, clustering, scaled
from softvec import EDRep
from softvec.operators import Operator, Powers, Product, Sparse, row_normalize

CHOSEN_ON = (
    *("usa_airports", "musae_chameleon", "wikipedia_pos", "cora", "citeseer", "ppi"),
    *("polblogs", "football", "blogcatalog", "musae_fr", "musae_facebook"),
)
SHOWN_ON = ("karate", "polbooks", "amazon_edrep", "pubmed", "dblp_prone", "dcsbm_1.5", "dcsbm_2", "dcsbm_3")
D, SEEDS = 128, 3
#: Mean number of neighbours from which a graph has several views. Below it, neighbourhoods are too small to
#: compare, and block models near the detection threshold lose their communities to the other views.
DENSE = 16.0
#: Root mean square of a degree coordinate, of vectors whose mean square length is 1.
DEGREE_SCALE = 0.1


@dataclass(frozen=True)
class View:
    """A walk on the graph and how it is fitted; no beta is that of `softvec.embed`.

    ``powers``: mean of the first `steps` powers of the walk; ``two``: exactly two steps, the node in the
    middle weighted by its degree to the power ``-damping`` (1 is the plain walk).
    """

    walk: str
    steps: int = 3
    damping: float = 1.0
    beta: float | None = None
    n_epochs: int = 20
    init: str = "random"


@dataclass(frozen=True)
class Recipe:
    """Views, the share of d that each is fitted with, and whether two coordinates tell the degree."""

    views: tuple[View, ...]
    share: float = 1.0
    degree: bool = True
    dense_only: bool = False


def operator(A: sp.csr_array, view: View) -> Operator:
    """Return the rows-sum-to-one operator of a view."""
    plain = Sparse(A, symmetric=True)
    if view.walk == "powers":
        return Powers(row_normalize(plain), view.steps)
    degree = np.asarray(A.sum(axis=1), dtype=np.float64)
    weight = np.where(degree > 0, np.maximum(degree, 1e-300) ** -view.damping, 0.0)
    return row_normalize(Product([Sparse(A, col_scale=weight, symmetric=True), plain]))


def mean_neighbours(A: sp.csr_array) -> float:
    """Return the mean number of neighbours of the nodes that have any."""
    neighbours = np.diff(A.indptr)
    return float(neighbours[neighbours > 0].mean())


def lengths(A: sp.csr_array, shrinkage: float = 0.5) -> np.ndarray:
    """Return the default lengths of `softvec.embed`, (n, 1)."""
    m = np.maximum(np.diff(A.indptr), 1e-3)
    return np.sqrt(m / (m + shrinkage * mean_neighbours(A))).astype(np.float32)[:, None]


def degree_coordinates(A: sp.csr_array) -> np.ndarray:
    """Return the log degree and its square, uncorrelated and of root mean square DEGREE_SCALE, (n, 2)."""
    log_degree = np.log1p(np.asarray(A.sum(axis=1), dtype=np.float64))
    first = log_degree - log_degree.mean()
    first /= max(first.std(), 1e-9)
    second = first**2 - 1
    second -= first * (second @ first) / max(first @ first, 1e-9)
    second -= second.mean()
    second /= max(second.std(), 1e-9)
    return (DEGREE_SCALE * np.stack([first, second], axis=1)).astype(np.float32)


def principal(X: np.ndarray, d: int) -> np.ndarray:
    """Return the coordinates of the rows on the d leading principal axes, (n, d)."""
    X = X - X.mean(axis=0, dtype=np.float64).astype(X.dtype)
    _, axes = np.linalg.eigh((X.T @ X).astype(np.float64))
    return X @ np.ascontiguousarray(axes[:, ::-1][:, :d].astype(X.dtype))


def embed(A: sp.csr_array, d: int, seed: int, *, recipe: Recipe) -> np.ndarray:
    """Return the vectors of a recipe, (n, d)."""
    if recipe.dense_only and mean_neighbours(A) < DENSE:
        return today(A, d, seed)
    views, tail = recipe.views, 2 if recipe.degree and d >= 8 else 0
    width = d - tail if len(views) == 1 else max(1, round(recipe.share * d))
    default = float(np.clip(mean_neighbours(A) / 2, 3.0, 6.0))
    parts = [
        EDRep(
            width,
            beta=default if view.beta is None else view.beta,
            n_epochs=view.n_epochs,
            init=view.init,
            random_state=1000 * number + seed,
            n_jobs=1,
        ).fit_transform(operator(A, view))
        for number, view in enumerate(views)
    ]
    X = np.hstack(parts) * lengths(A)
    if X.shape[1] > d - tail:
        X = principal(X, d - tail)
    return np.hstack([scaled(X), degree_coordinates(A)]) if tail else X


WALK = View("powers")
HUBS = View("two", damping=0.5, n_epochs=10)  # shared neighbours, hubs among them heard
PAIRS = View("two", beta=12.0, n_epochs=10)  # shared neighbours, finely told apart
RECIPES: dict[str, Recipe] = {
    "walk, degree": Recipe((WALK,)),
    "hubs": Recipe((View("two", damping=0.5),)),
    "hubs, beta 12": Recipe((View("two", damping=0.5, beta=12.0),)),
    "damping 0.75, beta 12": Recipe((View("two", damping=0.75, beta=12.0),)),
    "pairs": Recipe((View("two"),)),
    "pairs, beta 12": Recipe((View("two", beta=12.0),)),
    "walk and hubs": Recipe((WALK, HUBS)),
    "walk and pairs": Recipe((WALK, PAIRS)),
    "three views": Recipe((WALK, HUBS, PAIRS)),
    "three views, side by side": Recipe((WALK, HUBS, PAIRS), share=1 / 3),
    "fused": Recipe(
        (
            View("powers", steps=2, n_epochs=16),
            View("two", damping=0.5, n_epochs=4, init="power"),
            View("two", beta=12.0, n_epochs=8, init="power"),
        ),
        dense_only=True,
    ),
}


def today(A: sp.csr_array, d: int, seed: int) -> np.ndarray:
    """Return the vectors of `softvec.embed` with its defaults."""
    return np.asarray(softvec.embed(A, d, kind="graph", random_state=seed, n_jobs=1).vectors)


def methods() -> dict[str, Callable[[sp.csr_array, int, int], np.ndarray]]:
    """Return every row of the table by name: today's default, the recipes, two rivals."""
    rows: dict[str, Callable[[sp.csr_array, int, int], np.ndarray]] = {"today": today}
    for name, recipe in RECIPES.items():
        rows[name] = partial(embed, recipe=recipe)
    rows["NetMF T=1"] = lambda A, d, seed: netmf.embed(A, d, window=1, seed=seed)
    rows["ProNE"] = lambda A, d, seed: prone.embed(A, d, seed=seed)
    return rows


def splits(graph: Graph) -> int:
    """Return how many splits the comparison with rivals scores this graph on."""
    if graph.A.shape[0] < 2000:
        return 20
    return 2 if graph.A.shape[0] * graph.n_labels > 1_000_000 else 5


def measure(graph: Graph, make: Callable[[sp.csr_array, int, int], np.ndarray]) -> dict[str, Any]:
    """Return micro-F1 at half of the labels, and NMI, for each start, with the processor time of a fit."""
    d = min(D, graph.A.shape[0] // 4)
    micro, nmi, seconds = [], [], []
    for seed in range(SEEDS):
        begin = time.process_time()
        X = make(graph.A, d, seed)
        seconds.append(time.process_time() - begin)
        micro.append(classification(X, graph, repeats=splits(graph), threads=1)["micro_f1"])
        if graph.A.shape[0] <= 12_000:
            nmi.append(clustering(scaled(X), graph).get("nmi", float("nan")))
    cell = {"micro_f1": micro, "mean": float(np.mean(micro)), "spread": float(np.std(micro))}
    if nmi and not np.isnan(nmi).any():
        cell["nmi"] = nmi
    return {**cell, "cpu_seconds": float(np.median(seconds))}


def table(scores: dict[str, dict[str, Any]]) -> str:
    """Return mean and spread of micro-F1 as Markdown, one line a graph."""
    names = list(methods())
    lines = ["| graph | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for graph in CHOSEN_ON + SHOWN_ON:
        row = scores.get(graph, {})
        cells = [f"{row[n]['mean']:.1f} ± {row[n]['spread']:.1f}" if n in row else "" for n in names]
        if any(cells):
            lines.append(f"| {graph} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure what is missing and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", nargs="+", default=list(CHOSEN_ON + SHOWN_ON), help="names of graphs")
    parser.add_argument("--recipes", nargs="+", choices=list(methods()), help="rows of the table")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # a high beta warns that its normaliser is rough, which is known here
    path = RESULTS / "views.json"
    data = read_json(path, {"scores": {}})
    for name in arguments.graphs:
        graph, row = load(name), data["scores"].setdefault(name, {})
        for label, make in methods().items():
            chosen = arguments.recipes is None or label in arguments.recipes
            too_big = label == "NetMF T=1" and graph.A.shape[0] > 20_000  # a dense matrix of n x n
            if label in row or not chosen or too_big:
                continue
            row[label] = measure(graph, make)
            print(name, label, f"{row[label]['mean']:.2f} ± {row[label]['spread']:.2f}", flush=True)
            write_json(path, {**provenance(1), "scores": data["scores"]})
    replace_section(ROOT / "docs" / "decisions.md", "views", table(data["scores"]))


if __name__ == "__main__":
    main()
