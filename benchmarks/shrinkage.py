"""How short should the vectors of items with few neighbours be? Classification and links over shrinkage.

Chosen on the graphs on which the other defaults were chosen, shown on further ones beside them.

    python -m benchmarks.shrinkage    # eight minutes on two cores

Writes benchmarks/results/shrinkage.json and a table of docs/log/defaults.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import softvec
from benchmarks.common import RESULTS, ROOT, provenance, read_json, replace_section, write_json
from benchmarks.peers.graphs import Graph, load
from benchmarks.peers.scoring import classification, hidden_links, links

CHOSEN_ON = ("ppi", "cora", "polblogs")
SHOWN_ON = ("citeseer", "wikipedia_pos", "blogcatalog", "polbooks", "football")
VALUES = (0.0, 0.125, 0.25, 0.5, 1.0)
D, SEEDS, SPLITS = 128, 2, 4


def measure(graph: Graph, shrinkage: float) -> dict[str, float]:
    """Return micro-F1 at half of the labels and the AUC of hidden links, means over seeds."""
    split, found = hidden_links(graph), []
    d = min(D, graph.A.shape[0] // 4)
    for seed in range(SEEDS):
        options: dict[str, Any] = {"random_state": seed, "shrinkage": shrinkage}
        scores = classification(softvec.embed(graph.A, d, **options).vectors, graph, repeats=SPLITS)
        edges = links(softvec.embed(split.graph, d, **options).vectors, split)
        found.append([scores["micro_f1"], edges["auc_random"], edges["auc_degree"]])
    return dict(zip(("micro_f1", "auc_random", "auc_degree"), np.mean(found, axis=0).tolist(), strict=True))


def table(data: dict[str, Any]) -> str:
    """Return the scores as Markdown, one line a graph."""
    lines = ["| graph | " + " | ".join(f"{value:g}" for value in VALUES) + " |", "|---" * 6 + "|"]
    for name in CHOSEN_ON + SHOWN_ON:
        rows = data["scores"][name]
        scores = [[f"{score:.1f}" for score in row.values()] for row in rows.values()]
        cells = [" / ".join(row) for row in scores]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure what is missing and write the table."""
    path = RESULTS / "shrinkage.json"
    data = read_json(path, {"scores": {}})
    for name in CHOSEN_ON + SHOWN_ON:
        graph, rows = load(name), data["scores"].setdefault(name, {})
        for value in VALUES:
            if str(value) not in rows:
                rows[str(value)] = measure(graph, value)
                print(name, value, rows[str(value)], flush=True)
                write_json(path, {**provenance(2), **data})
    replace_section(ROOT / "docs" / "log" / "defaults.md", "shrinkage", table(data))


if __name__ == "__main__":
    main()
