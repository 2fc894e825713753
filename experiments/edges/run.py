"""A sharp softmax: exact terms for the neighbours, Gaussians for all other items (`normalizer="edges"`).

Walks of one step on graphs, all fits from the same start. The exact loss of each fit is compared with that of
the fit with exact sums; times are processor seconds of an epoch in one thread, methods in turn.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import datasets
from experiments.common import COLORS, Results, style, table, timed
from experiments.common import main as common_main
from softvec import EDRep
from softvec.evaluate import node_classification
from softvec.normalizers import Exact
from softvec.operators import Operator, row_normalize

PAGE = "normalizers.md"
EXACT, PLAIN = "exact", "one Gaussian"
TIMED_EPOCHS = 10


def load(name: str) -> tuple[Operator, Any]:
    """Return the walk of one step on a graph without isolated nodes, and the labels."""
    graph = datasets.load(name)
    linked = np.flatnonzero(np.diff(graph.adjacency.indptr))
    return row_normalize(graph.adjacency[linked][:, linked].tocsr()), graph.labels[linked]


def exact_loss(P: Operator, X: np.ndarray, beta: float) -> float:
    """Return the cross-entropy of the true softmax, per node."""
    log_z = Exact(beta=beta).fit(X).log_partition(X)
    return float(log_z.mean() - beta * np.einsum("ij,ij->", X, P @ X, dtype=np.float64) / len(X))


def model(config: dict[str, Any], method: str, beta: float, seed: int, n_epochs: int | None = None) -> EDRep:
    """Return the estimator of a method."""
    options = config["methods"][method]
    epochs = n_epochs or config["n_epochs"]
    return EDRep(config["d"], beta=beta, n_epochs=epochs, random_state=seed, n_jobs=1, **options)


def run(config: dict[str, Any], results: Results) -> None:
    """Fill in the records that are missing."""
    warnings.filterwarnings("ignore", "the normaliser is off")  # it is what is measured
    for name, beta in config["cases"]:
        P, labels = load(name)
        for seed in range(config["seeds"]):
            for method in config["methods"]:
                if results.has(graph=name, beta=beta, seed=seed, method=method):
                    continue
                X = model(config, method, beta, seed).fit(P).embedding_
                f1 = node_classification(X, labels, repeats=5, C=1.0)[0.5].mean["micro_f1"]
                results.add(
                    graph=name, beta=beta, seed=seed, method=method, loss=exact_loss(P, X, beta), f1=f1
                )
                print(name, beta, method, results.records[-1]["loss"], f1, flush=True)
        if not results.has(graph=name, part="time"):
            results.add(graph=name, part="time", method="all", **time_epochs(config, P, beta))
    results.summary = summarize(config, results)


def time_epochs(config: dict[str, Any], P: Operator, beta: float) -> dict[str, float]:
    """Return the least processor seconds of an epoch of each method, methods in turn."""
    least: dict[str, float] = {}
    for repeat in range(config["repeats"] + 1):
        for method in config["methods"]:
            if method != EXACT:
                fit = model(config, method, beta, 0, TIMED_EPOCHS)
                seconds = timed(lambda fit=fit: fit.fit(P))[1]["cpu_seconds"] / TIMED_EPOCHS
                if repeat:  # the first compiles
                    least[method] = min(seconds, least.get(method, np.inf))
    return least


def summarize(config: dict[str, Any], results: Results) -> dict[str, Any]:
    """Return, by case and method, excess of the loss, micro-F1, and the time of an epoch."""
    summary = {}
    for name, beta in config["cases"]:
        fits = {method: results.select(graph=name, beta=beta, method=method) for method in config["methods"]}
        mean = {m: {k: float(np.mean([f[k] for f in fs])) for k in ("loss", "f1")} for m, fs in fits.items()}
        times = results.select(graph=name, part="time")[0]
        summary[f"{name}, {beta:g}"] = {
            method: {
                "excess": entry["loss"] - mean[EXACT]["loss"],
                "f1": entry["f1"],
                "time": times[method] / times[PLAIN] if method in times else None,
            }
            for method, entry in mean.items()
        }
    return summary


def plot(content: dict[str, Any], path: Path) -> None:
    """Draw the excess of each method."""
    plt = style()
    methods = [method for method in content["config"]["methods"] if method != EXACT]
    figure, axis = plt.subplots(figsize=(7.0, 3.0))
    for place, (method, color) in enumerate(zip(methods, COLORS.values())):
        values = [entries[method]["excess"] for entries in content["summary"].values()]
        axis.bar(np.arange(len(values)) + 0.16 * (place - 2), values, 0.15, color=color, label=method)
    axis.set_xticks(range(len(content["summary"])), content["summary"], rotation=20)
    axis.set(yscale="symlog", ylabel="excess of the exact loss")
    axis.set_yscale("symlog", linthresh=0.1)
    axis.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


_TEXT = """Excess of the exact loss (nats per node) over the fit with exact sums; walks of one step, d = {d},
{n_epochs} epochs, the same start. Below 0: the full gradient also moves the items that a row is compared
with, which the row gradient of the exact fit does not. `python -m experiments edges` writes this section."""


def report(content: dict[str, Any]) -> str:
    """Return the results in Markdown."""
    summary, methods = content["summary"], list(content["config"]["methods"])
    header = ["graph, beta", *summary]

    def rows(key: str, show: str, left_out: tuple[str, ...] = ()) -> list[list[str]]:
        return [
            [method, *(show.format(entries[method][key]) for entries in summary.values())]
            for method in methods
            if method not in left_out
        ]

    parts = [
        _TEXT.format(**content["config"]),
        table(header, rows("excess", "{:.2f}", (EXACT,))),
        "Processor time of an epoch, in times that of one Gaussian:",
        table(header, rows("time", "{:.1f}", (EXACT, PLAIN))),
        "Labels do not gain: micro-F1 in percent, half of the nodes labelled, logistic regression.",
        table(
            header,
            [[row[0], *(f"{100 * float(value):.1f}" for value in row[1:])] for row in rows("f1", "{}")],
        ),
        "![Excess of the exact loss](../experiments/edges/figure.png)",
    ]
    return "\n\n".join(parts)


def main(arguments: list[str] | None = None) -> None:
    """Run the experiment."""
    common_main("edges", run, plot, arguments)


if __name__ == "__main__":
    main()
