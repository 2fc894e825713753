"""What the softmax knows beyond the degrees: exact cross-entropy of the steps of a walk, in nats a row.

Popularity gives every step from any node the same probabilities, the degrees. "As fitted" is the softmax
that a fit of one walk ends with: unit vectors times beta, all items of equal weight. "Refitted" is the
softmax of three numbers that every embedding of an undirected graph holds (`softvec.fit.calibrate`), which
are fitted on up to 200 rows; here it is scored on rows of its own, against all items. All rows are of edges
that the vectors were fitted to, so this measures how closely they follow these edges, not prediction.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import softvec
from experiments.common import COLORS, Results, mean_spread, style, table
from experiments.common import main as common_main
from experiments.links.run import load
from experiments.rivals import row_stochastic

POPULARITY = "popularity"
LOOK = {
    "as fitted": COLORS["grey"],
    "refitted, one walk": COLORS["other"],
    "refitted, default": COLORS["softvec"],
}


def cross_entropy(logits: np.ndarray, P: sp.csr_array) -> float:
    """Return the mean over rows of -sum_j P_ij log softmax(logits_i)_j."""
    top = logits.max(axis=1, keepdims=True)
    log_z = np.log(np.exp(logits - top).sum(axis=1)) + top.ravel()
    rows = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
    return float((log_z.sum() - P.data @ logits[rows, P.indices]) / P.shape[0])


def logits_of(emb: softvec.Embedding, rows: np.ndarray, sizes: np.ndarray, refitted: bool) -> np.ndarray:
    """Return the logits of some rows against all items."""
    X = np.asarray(emb.vectors, dtype=np.float64)
    if not refitted:
        return emb.provenance["parameters"]["beta"] * (X[rows] @ X.T)
    softmax = emb.provenance["softmax"]
    return (X[rows] * np.asarray(softmax["weights"])) @ X.T + softmax["popularity"] * np.log(sizes)


def run(config: dict[str, Any], results: Results) -> None:
    """Fill in the records that are missing."""
    for name in config["graphs"]:
        A = load(name)
        kept = np.flatnonzero(np.diff(A.indptr))
        A = sp.csr_array(A[kept][:, kept])
        sizes = np.diff(A.indptr).astype(np.float64)
        d = min(config["d"], A.shape[0] // 4)
        for sample in range(config["samples"]):
            rng = np.random.default_rng([7, sample])
            rows = np.sort(rng.choice(A.shape[0], min(config["rows"], A.shape[0]), replace=False))
            P = row_stochastic(A)[rows]
            plain = cross_entropy(np.broadcast_to(np.log(sizes), (len(rows), len(sizes))), P)
            for method, how in config["methods"].items():
                if results.has(method=method, graph=name, sample=sample):
                    continue
                emb = softvec.embed(A, d, kind="graph", random_state=sample, **how["options"])
                loss = cross_entropy(logits_of(emb, rows, sizes, how["refitted"]), P)
                results.add(method=method, graph=name, sample=sample, loss=loss, popularity=plain)
                print(name, sample, method, f"{loss:.3f}, popularity {plain:.3f}", flush=True)
    results.summary = summarize(config, results)


def summarize(config: dict[str, Any], results: Results) -> dict[str, Any]:
    """Return the mean losses and what is gained over popularity."""
    summary: dict[str, Any] = {}
    for graph in config["graphs"]:
        for method in config["methods"]:
            found = results.select(graph=graph, method=method)
            if not found:
                continue
            entry = summary.setdefault(graph, {})
            entry[POPULARITY] = float(np.mean([row["popularity"] for row in found]))
            gained, spread = mean_spread([row["popularity"] - row["loss"] for row in found])
            loss = float(np.mean([row["loss"] for row in found]))
            entry[method] = {"loss": loss, "gained": gained, "spread": spread}
    return summary


def plot(content: dict[str, Any], path: Path) -> None:
    """Draw the nats gained over popularity."""
    plt = style()
    figure, axis = plt.subplots(figsize=(7.2, 2.8))
    graphs = list(content["summary"])
    for place, (method, color) in enumerate(LOOK.items()):
        values = [content["summary"][graph][method]["gained"] for graph in graphs]
        axis.bar(np.arange(len(graphs)) + 0.27 * (place - 1), values, 0.25, color=color, label=method)
    axis.axhline(0, color="black", lw=0.8)
    axis.set_xticks(range(len(graphs)), graphs, rotation=30, ha="right")
    axis.set_ylabel("nats gained over popularity")
    axis.legend()
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


_TEXT = """Exact cross-entropy in nats of one step of the walk from a node, and in brackets what is gained
over popularity, that is, over probabilities from degrees alone; mean of {samples} starts, {rows:,} rows
each, all items in the sum; d = {d}, or a quarter of the nodes. All rows are of edges that the vectors
were fitted to: this measures how closely vectors follow these edges, not what they know about others.
"As fitted" is the softmax that a fit of one walk ends with: unit vectors times beta, all items of equal
weight. "Refitted" is what an embedding holds (`emb.provenance["softmax"]`) and `emb.links` uses: three
parameters fitted to the finished vectors. The paper fits walks of several steps and reports no
cross-entropy."""


def report(content: dict[str, Any]) -> str:
    """Return the results in Markdown."""
    summary, methods = content["summary"], list(content["config"]["methods"])
    rows = [
        [
            graph,
            f"{entry[POPULARITY]:.2f}",
            *(f"{entry[m]['loss']:.2f} ({entry[m]['gained']:+.2f})" for m in methods),
        ]
        for graph, entry in summary.items()
    ]
    lines = []
    for method in methods:
        behind = [graph for graph, entry in summary.items() if entry[method]["gained"] <= 0]
        where = (
            f"worse than popularity on {', '.join(behind)}" if behind else "better than popularity everywhere"
        )
        lines.append(f"- {method}: {where}.")
    return "\n\n".join(
        [
            "## The softmax against popularity",
            "![nats gained over popularity](../experiments/softmax/figure.png)",
            _TEXT.format(**content["config"]),
            table(["", POPULARITY, *methods], rows),
            "\n".join(lines),
        ]
    )


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    common_main("softmax", run, plot, arguments)


if __name__ == "__main__":
    main()
