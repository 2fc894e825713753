"""How many steps a directed graph with two sets of vectors takes: hidden edges, and which way they point.

    python -m benchmarks.direction

A tenth of the edges is hidden; `softvec.embed(graph, symmetric=False)` sees the others. Scores are x_i.y_j.
AUC in percent: hidden edges against random pairs, and against their own reverses, of those that have no
reverse edge. "Circle": four groups, edges lead from each to the next, so that three steps lead back. Null
test: the edges of a graph with directions drawn at random. Writes
`benchmarks/results/direction.json` and the table in `docs/embedding.md`.
"""

from __future__ import annotations

import statistics
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse as sp

import softvec
from benchmarks.common import RESULTS, ROOT, provenance, replace_section, write_json
from benchmarks.datasets import data_dir

STEPS, SEEDS, DIMENSION = (1, 2, 3), 2, 64


def graphs() -> dict[str, np.ndarray]:
    """Return the edges (source, target) of each graph."""
    folder, rng = data_dir() / "typed", np.random.default_rng(0)
    trust = sp.coo_array(sp.load_npz(folder / "bitcoin_otc_signed.npz"))
    triples = np.load(folder / "fb15k237_triples.npz")["train"]
    growing = nx.scale_free_graph(3000, seed=0)
    circle = rng.integers(0, 2000, (48_000, 2))
    edges = {
        "trust (bitcoin_otc)": np.stack([trust.row, trust.col], axis=1)[trust.data > 0],
        "facts (fb15k237)": triples[:, [0, 2]],
        "circle of 4 groups": circle[(circle[:, 0] + 1) % 4 == circle[:, 1] % 4],
        "growing graph": np.array([(i, j) for i, j, _ in growing.edges]),
    }
    plain = {name: np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0) for name, pairs in edges.items()}
    null = np.unique(np.sort(plain["trust (bitcoin_otc)"], axis=1), axis=0)
    flip = rng.random(len(null)) < 0.5
    plain["trust, directions at random"] = np.where(flip[:, None], null[:, ::-1], null)
    return plain


def auc(high: np.ndarray, low: np.ndarray) -> float:
    """Return the share of pairs in the right order, in percent; ties count half."""
    low = np.sort(low)
    return 50 * float(np.mean(np.searchsorted(low, high) + np.searchsorted(low, high, "right"))) / len(low)


def measure(edges: np.ndarray, steps: int, seed: int) -> dict[str, float]:
    """Return both areas for a number of steps."""
    rng, n = np.random.default_rng(seed), int(edges.max()) + 1
    hidden = np.zeros(len(edges), bool)
    hidden[rng.choice(len(edges), len(edges) // 10, replace=False)] = True
    keys = edges[:, 0] * n + edges[:, 1]
    known = edges[~hidden]
    A = sp.csr_array((np.ones(len(known)), known.T), shape=(n, n))
    emb = softvec.embed(
        A, DIMENSION, directed=True, isolated="keep", symmetric=False, walk_length=steps, random_state=seed
    )
    X, Y = emb.vectors, emb.context_vectors

    def score(pairs: np.ndarray) -> np.ndarray:
        return np.einsum("ij,ij->i", X[pairs[:, 0]], Y[pairs[:, 1]])

    test = edges[hidden]
    others = rng.integers(0, n, (len(test), 2))
    others = others[~np.isin(others[:, 0] * n + others[:, 1], keys)]
    single = test[~np.isin(test[:, 1] * n + test[:, 0], keys)]
    right, wrong = score(single), score(single[:, ::-1])
    return {
        "random": auc(score(test), score(others)),
        "reverse": 100 * float(np.mean((right > wrong) + 0.5 * (right == wrong))),
    }


def table(results: dict[str, Any]) -> str:
    """Return the Markdown table of a result file."""
    header = " | ".join(f"{steps} step{'s' * (steps > 1)}" for steps in STEPS)
    lines = [f"| against random pairs / against the reverse | {header} |", "|---|" + "---|" * len(STEPS)]
    for name, row in results["graphs"].items():
        cells = [f"{row[str(s)]['random']:.1f} / {row[str(s)]['reverse']:.1f}" for s in STEPS]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Run everything and write the results."""
    results: dict[str, Any] = {"provenance": provenance(1), "seeds": SEEDS, "graphs": {}}
    for name, edges in graphs().items():
        results["graphs"][name] = {}
        for steps in STEPS:
            runs = [measure(edges, steps, seed) for seed in range(SEEDS)]
            mean = {key: round(statistics.mean(run[key] for run in runs), 2) for key in runs[0]}
            results["graphs"][name][str(steps)] = mean
            print(name, steps, mean, flush=True)
    write_json(RESULTS / "direction.json", results)
    replace_section(ROOT / "docs" / "embedding.md", "direction", table(results))


if __name__ == "__main__":
    main()
