"""Community detection (the paper's figure "use cases", panels A and B): NMI and time against the hardness
alpha.

Nodes without edges (30 in 100 for the paper's degree distribution) hold no information about their
community. They are taken out before any method sees the graph, and are not scored, for all methods alike.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import softvec
from experiments.common import COLORS, Results, mean_spread, style, timed
from experiments.common import main as common_main
from experiments.rivals import authors_edrep, deepwalk
from softvec import datasets
from softvec.errors import InputError
from softvec.generators import dcsbm
from softvec.tasks import bethe_hessian_vectors, find_communities, partition_scores

LOOK = {
    "softvec": (COLORS["softvec"], "o", "-"),
    "softvec, beta 1": (COLORS["softvec"], "s", "--"),
    "EDRep (authors)": (COLORS["authors"], "^", "-"),
    "DeepWalk": (COLORS["deepwalk"], "D", "-"),
    "DeepWalk, short walks": (COLORS["deepwalk"], "d", "--"),
    "spectral": (COLORS["spectral"], "v", "-"),
}


def embed(
    function: str, A: sp.csr_array, q: int, d: int, seed: int, options: dict[str, Any]
) -> tuple[np.ndarray, float]:
    """Return the vectors of a method and the seconds it took."""
    if function == "softvec":
        return timed(lambda: softvec.embed(A, d, random_state=seed, **options).vectors)
    if function == "spectral":
        return timed(lambda: bethe_hessian_vectors(A, q, random_state=seed)[0])
    if function == "deepwalk":
        return timed(lambda: deepwalk(A, d, seed=seed, **options))
    P = sp.diags_array(1.0 / np.diff(A.indptr)) @ sp.csr_array(A, dtype=float)
    return authors_edrep(P, d, seed=seed, **options)


def score(
    name: str, A: sp.csr_array, labels: np.ndarray, q: int, d: int, seed: int, config: dict[str, Any]
) -> dict[str, float]:
    """Embed, cluster into q communities, and compare."""
    method = config["methods"][name]
    X, seconds = embed(method["function"], A, q, d, seed, method["options"])
    starts = config["k_means_starts"]
    found, clustering = timed(lambda: find_communities(X, q, n_init=starts, random_state=seed))
    known = labels >= 0
    return {
        **partition_scores(labels[known], found[known]),
        "seconds": seconds,
        "cluster_seconds": clustering,
    }


def connected(A: sp.csr_array, labels: np.ndarray) -> tuple[sp.csr_array, np.ndarray]:
    """Leave out the nodes without edges."""
    kept = np.flatnonzero(np.diff(A.indptr))
    return sp.csr_array(A[kept][:, kept]), labels[kept]


def warm_up(config: dict[str, Any]) -> None:
    """Run everything once on a small graph, so that compilation stays out of the times."""
    A, labels = connected(*dcsbm(1000, c=10, q=config["q"], alpha=3.0, random_state=0)[:2])
    for name, method in config["methods"].items():
        if method["function"] in ("softvec", "spectral"):
            score(name, A, labels, config["q"], config["d"], 0, config)


def run(config: dict[str, Any], results: Results) -> None:
    """Fill in the records that are missing."""
    warm_up(config)
    d, q = config["d"], config["q"]
    for sample in range(config["samples"]):
        for alpha in config["alphas"]:
            missing = [
                name
                for name, method in config["methods"].items()
                if sample < method.get("samples", config["samples"])
                and not results.has(part="dcsbm", method=name, alpha=alpha, sample=sample)
            ]
            if not missing:
                continue
            graph = dcsbm(config["n"], c=config["c"], q=q, alpha=alpha, random_state=sample)
            A, labels = connected(graph.adjacency, graph.labels)
            for name in missing:
                found = score(name, A, labels, q, d, sample, config)
                results.add(part="dcsbm", method=name, alpha=alpha, sample=sample, nodes=A.shape[0], **found)
                print(
                    f"alpha {alpha} sample {sample} {name}: NMI {found['nmi']:.3f}, {found['seconds']:.2f} s",
                    flush=True,
                )
    for graph_name in config["graphs"]:
        try:
            graph = datasets.load(graph_name)
        except InputError as error:
            print(error)
            continue
        A, labels = connected(graph.adjacency, graph.labels)
        communities = len(np.unique(labels[labels >= 0]))
        for sample in range(config["graph_samples"]):
            for name in config["methods"]:
                if not results.has(part="graphs", method=name, graph=graph_name, sample=sample):
                    size = min(d, A.shape[0] // 2)
                    found = score(name, A, labels, communities, size, sample, config)
                    results.add(
                        part="graphs", method=name, graph=graph_name, sample=sample, nodes=A.shape[0], **found
                    )
    results.summary = summarize(config, results)


def summarize(config: dict[str, Any], results: Results) -> dict[str, Any]:
    """Return means and deviations by method and alpha, ratios of times, and what the figures show."""
    table: dict[str, Any] = {}
    for name in config["methods"]:
        for alpha in config["alphas"]:
            rows = results.select(part="dcsbm", method=name, alpha=alpha)
            if rows:
                nmi, seconds = (
                    mean_spread([r["nmi"] for r in rows]),
                    mean_spread([r["seconds"] for r in rows]),
                )
                table.setdefault(name, {})[str(alpha)] = {
                    "samples": len(rows),
                    "nmi": nmi[0],
                    "nmi_spread": nmi[1],
                    "seconds": seconds[0],
                    "seconds_spread": seconds[1],
                    "median_seconds": float(np.median([r["seconds"] for r in rows])),
                }
    graphs: dict[str, Any] = {}
    for graph in config["graphs"]:
        for name in config["methods"]:
            rows = results.select(part="graphs", method=name, graph=graph)
            if rows:
                nmi = mean_spread([r["nmi"] for r in rows])
                seconds = float(np.median([r["seconds"] for r in rows]))
                graphs.setdefault(graph, {})[name] = {
                    "nmi": nmi[0],
                    "nmi_spread": nmi[1],
                    "median_seconds": seconds,
                }
    speed = {
        name: float(np.median([r["seconds"] for r in results.select(part="dcsbm", method=name)]))
        for name in config["methods"]
        if results.select(part="dcsbm", method=name)
    }
    checks: dict[str, Any] = {}
    for name in (n for n, m in config["methods"].items() if m["function"] == "softvec"):
        gaps = {
            alpha: table["spectral"][alpha]["nmi"] - row["nmi"]
            for alpha, row in table.get(name, {}).items()
            if alpha in table.get("spectral", {}) and float(alpha) >= 1.5
        }
        checks[name] = {
            "largest_gap_to_spectral_from_alpha_1.5": max(gaps.values()) if gaps else None,
            "faster_than": {other: speed[other] / speed[name] for other in speed if other != name},
        }
    return {"dcsbm": table, "graphs": graphs, "median_seconds": speed, "checks": checks}


def plot(content: dict[str, Any], path: Path) -> None:
    """Draw NMI and time against alpha."""
    plt = style()
    table, config = content["summary"]["dcsbm"], content["config"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.3))
    for name, rows in table.items():
        color, marker, line = LOOK[name]
        alphas = [float(alpha) for alpha in rows]
        for axis, key in ((left, "nmi"), (right, "seconds")):
            values = [row[key] for row in rows.values()]
            spread = [row[f"{key}_spread"] for row in rows.values()]
            if key == "seconds":  # a lower bar below 0 would leave the logarithmic axis
                spread = [[min(s, 0.9 * v) for s, v in zip(spread, values)], spread]
            axis.errorbar(
                alphas,
                values,
                spread,
                color=color,
                marker=marker,
                ls=line,
                ms=4,
                lw=1.2,
                capsize=2,
                label=name,
            )
    left.set(
        xlabel="hardness $\\alpha$ (detectable above 1)",
        ylabel="normalised mutual information",
        ylim=(-0.02, None),
    )
    right.set(xlabel="hardness $\\alpha$", ylabel="time of the embedding (s)", yscale="log")
    left.axvline(1, color=COLORS["grey"], lw=0.8, ls=":")
    left.set_title("A", loc="left", fontweight="bold")
    right.set_title("B", loc="left", fontweight="bold")
    figure.legend(*left.get_legend_handles_labels(), loc="upper center", ncol=3, bbox_to_anchor=(0.5, 1.12))
    title = (
        f"DCSBM, n = {config['n']:,}, mean degree {config['c']}, {config['q']} communities, d = {config['d']}"
    )
    figure.text(0.5, -0.03, title + "; mean and standard deviation", ha="center", fontsize=8)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    common_main("communities", run, plot, arguments)


if __name__ == "__main__":
    main()
