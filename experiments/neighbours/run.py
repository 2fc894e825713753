"""Which vectors keep the neighbours of a node nearest to it, and what that costs for labels and links."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import softvec
from benchmarks import datasets
from experiments.common import COLORS, Results, mean_spread, style, table, timed
from experiments.common import main as common_main
from experiments.preservation import neighbor_preservation
from experiments.rivals.graph_ne import graph_ne
from experiments.softmax.run import plain
from softvec.evaluate import node_classification

SCORES = ("recall", "micro_f1", "auc")


def run(config: dict[str, Any], results: Results) -> None:
    """Fill in the records that are missing."""
    for name in config["graphs"]:
        graph = datasets.load(name)
        linked = np.flatnonzero(np.diff(graph.adjacency.indptr))
        A, labels = plain(graph.adjacency[linked][:, linked].tocsr()), graph.labels[linked]
        for sample in range(config["samples"]):
            for method, options in config["methods"].items():
                if results.has(method=method, graph=name, sample=sample):
                    continue
                record: dict[str, Any] = {}
                if "tau" in options:
                    X, times = timed(lambda: graph_ne(A, config["d"], seed=sample, **options))  # noqa: B023
                else:
                    emb, times = timed(
                        lambda: softvec.embed(A, config["d"], kind="graph", random_state=sample, **options)  # noqa: B023
                    )
                    X = emb.vectors
                    record["auc"] = 100 * emb.calibrate(A).provenance["softmax"]["auc"]
                record["recall"] = 100 * neighbor_preservation(X, A)["recall"]
                scores = node_classification(X, labels, repeats=3, C=1.0)[0.5]
                record["micro_f1"] = 100 * scores.mean["micro_f1"]
                results.add(method=method, graph=name, sample=sample, cpu=times["cpu_seconds"], **record)
                print(name, sample, method, {k: round(v, 1) for k, v in record.items()}, flush=True)
    results.summary = summarize(config, results)


def summarize(config: dict[str, Any], results: Results) -> dict[str, Any]:
    """Return means over samples."""
    summary: dict[str, Any] = {}
    for graph in config["graphs"]:
        for method in config["methods"]:
            rows = results.select(graph=graph, method=method)
            entry = {key: mean_spread([r[key] for r in rows])[0] for key in SCORES if rows and key in rows[0]}
            if entry:
                summary.setdefault(graph, {})[method] = entry
    return summary


def plot(content: dict[str, Any], path: Path) -> None:
    """Draw the share of neighbours that are kept."""
    plt = style()
    figure, axis = plt.subplots(figsize=(5.4, 3.0))
    methods, graphs = list(content["config"]["methods"]), list(content["summary"])
    colors = [COLORS[name] for name in ("grey", "spectral", "softvec", "authors", "other")]
    for place, (method, color) in enumerate(zip(methods, colors)):
        heights = [content["summary"][graph].get(method, {}).get("recall", 0) for graph in graphs]
        axis.bar(np.arange(len(graphs)) + 0.17 * place, heights, 0.15, color=color, label=method)
    axis.set_xticks(np.arange(len(graphs)) + 0.34, graphs)
    axis.set(ylabel="neighbours kept (percent)", ylim=(0, 100))
    axis.legend(fontsize=7, loc="lower right")
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


_TEXT = """Share of a node's k neighbours among its k nearest vectors / micro-F1 with half of the labels / AUC
of hidden links against random pairs (of fits that did not see them), in percent; d = {d}, means of {samples}
starts. `view="neighbours"` keeps what is there, at a cost for the other two. Graph NE is implemented from its
description, with exact sums, so its time is quadratic in the nodes; its links were not calibrated. Fast:
`effort="fast"`."""


def report(content: dict[str, Any]) -> str:
    """Return the results in Markdown."""
    methods, summary = list(content["config"]["methods"]), content["summary"]
    rows = [
        [graph]
        + [" / ".join(f"{found.get(m, {})[k]:.1f}" for k in SCORES if k in found.get(m, {})) for m in methods]
        for graph, found in summary.items()
    ]
    return "\n\n".join(
        [
            "## Neighbours kept",
            "![share of neighbours kept](../experiments/neighbours/figure.png)",
            _TEXT.format(**content["config"]),
            table(["graph", *methods], rows),
        ]
    )


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    common_main("neighbours", run, plot, arguments)


if __name__ == "__main__":
    main()
