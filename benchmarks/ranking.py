"""Rank nearest neighbours by the cosine, or by the cosine times the length of a vector.

    python -m benchmarks.ranking

On labelled graphs: the share of an item's ten nearest with a label in common, and the share of leaves (nodes
with one neighbour) among the five nearest of a hub (the tenth of the nodes with the most neighbours). Writes
`benchmarks/results/ranking.json` and the table in `docs/embedding.md`.
"""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
import scipy.sparse as sp

import softvec
from benchmarks import datasets
from benchmarks.common import RESULTS, ROOT, provenance, replace_section, write_json
from softvec.names.align import label_matrix

GRAPHS = ("karate", "polbooks", "football", "polblogs", "cora", "citeseer", "ppi")
RANKS = ("cosine", "auto")
SEEDS = 3


def measure(A: sp.csr_array, labels: Any, seed: int) -> dict[str, dict[str, float]]:
    """Return the two shares for each way to rank."""
    Y, degree = label_matrix(labels, A.shape[0])[0], np.diff(A.indptr)
    emb = softvec.embed(A, random_state=seed)
    labelled = np.flatnonzero(Y.any(axis=1) & (degree > 0))
    hubs = np.argsort(-degree, kind="stable")[: max(1, A.shape[0] // 10)]
    shares = {}
    for rank in RANKS:
        near = [[name for name, _ in row] for row in emb.most_similar_batch(labelled.tolist(), 10, rank=rank)]
        common = [(Y[row] & Y[i]).any(axis=1).mean() for i, row in zip(labelled, near)]
        around = [[name for name, _ in row] for row in emb.most_similar_batch(hubs.tolist(), 5, rank=rank)]
        shares[rank] = {"label": float(np.mean(common)), "leaves": float((degree[around] == 1).mean())}
    return shares


def table(results: dict[str, Any]) -> str:
    """Return the Markdown table of a result file."""
    lines = [
        "| graph | label: cosine | cosine times length | leaves: cosine | cosine times length |",
        "|---|---|---|---|---|",
    ]
    for name, row in results["graphs"].items():
        cells = [f"{100 * row[rank][key]:.1f}" for key in ("label", "leaves") for rank in RANKS]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Run everything and write the results."""
    results: dict[str, Any] = {"provenance": provenance(1), "seeds": SEEDS, "graphs": {}}
    for name in GRAPHS:
        graph = datasets.load(name)
        runs = [measure(sp.csr_array(graph.adjacency), graph.labels, seed) for seed in range(SEEDS)]
        row = results["graphs"][name] = {
            rank: {key: statistics.mean(run[rank][key] for run in runs) for key in ("label", "leaves")}
            for rank in RANKS
        }
        print(name, row, flush=True)
    write_json(RESULTS / "ranking.json", results)
    replace_section(ROOT / "docs" / "embedding.md", "ranking", table(results))


if __name__ == "__main__":
    main()
