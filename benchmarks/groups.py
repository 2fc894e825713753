"""Groups found from vectors, beside Leiden on the graph itself and k-means with a silhouette.

    python -m benchmarks.groups [--quick]

needs `pip install leidenalg`. On graphs with known communities, and block models, partitions are compared
with the known one, over nodes that have edges and a label. Writes `benchmarks/results/groups.json` and the
table in `docs/embedding.md`.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

import softvec
from benchmarks import datasets
from benchmarks.common import RESULTS, ROOT, provenance, replace_section, summary, versions, write_json
from softvec.core.checks import unit_rows
from softvec.evaluate import modularity, partition_scores
from softvec.generators import dcsbm

GRAPHS = (
    "karate", "polbooks", "football", "polblogs", "cora", "citeseer", "amazon_edrep", "pubmed",
)  # fmt: skip
# nodes, communities, mean degree, alpha (1 is the detection threshold)
BLOCKS = ((2000, 5, 15, 4.0), (10_000, 10, 15, 4.0), (10_000, 50, 20, 6.0), (10_000, 5, 15, 2.5))
LARGE = (100_000, 30, 15, 5.0)
OURS, LEIDEN, SILHOUETTE = "softvec", "Leiden", "k-means, silhouette"
_MOST = 1500  # nodes up to which the silhouettes are computed


def cases(quick: bool, large: bool) -> Iterator[tuple[str, sp.csr_array, np.ndarray]]:
    """Yield name, adjacency matrix and known communities (negative: none)."""
    for name in GRAPHS[:3] if quick else GRAPHS:
        graph = datasets.load(name)
        yield name, sp.csr_array(graph.adjacency), np.asarray(graph.labels)
    blocks = BLOCKS[:1] if quick else BLOCKS + (LARGE,) * large
    for n, q, c, alpha in blocks:
        made = dcsbm(n, c=c, q=q, alpha=alpha, random_state=1)
        yield f"block model, {n:,} nodes, {q} groups, alpha {alpha:g}", made.adjacency, made.labels


def leiden(A: sp.csr_array, seed: int) -> np.ndarray:
    """Return the partition of leidenalg for modularity, on the graph."""
    import igraph
    import leidenalg

    upper = sp.triu(A, 1).tocoo()
    graph = igraph.Graph(n=A.shape[0], edges=np.stack([upper.row, upper.col], axis=1))
    partition = leidenalg.find_partition(graph, leidenalg.ModularityVertexPartition, seed=seed)
    return np.array(partition.membership)


def silhouette(V: np.ndarray, seed: int) -> np.ndarray:
    """Return k-means with the number of clusters of the largest silhouette, from 2 to 50."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score

    X = unit_rows(V)
    best: tuple[float, np.ndarray] = (-1.0, np.zeros(len(X), int))
    k = 2
    while k <= min(50, int(np.sqrt(len(X)))):
        groups = KMeans(k, n_init=4, random_state=seed).fit_predict(X)
        best = max(best, (float(silhouette_score(X, groups)), groups), key=lambda pair: pair[0])
        k += max(1, k // 5)
    return best[1]


def measure(A: sp.csr_array, labels: np.ndarray, repeats: int) -> dict[str, Any]:
    """Embed once per seed; time the methods in turn and score their partitions."""
    scored = (labels >= 0) & (np.diff(A.indptr) > 0)
    rows: dict[str, list[dict[str, float]]] = {}
    embedding = []
    for seed in range(repeats):
        start = time.perf_counter()
        emb = softvec.embed(A, random_state=seed)
        embedding.append(time.perf_counter() - start)
        methods: dict[str, Callable[[], np.ndarray]] = {
            OURS: lambda emb=emb, seed=seed: emb.cluster(random_state=seed),
            LEIDEN: lambda seed=seed: leiden(A, seed),
        }
        if A.shape[0] <= _MOST and seed == 0:
            methods[SILHOUETTE] = lambda emb=emb: silhouette(emb.vectors, 0)
        for name, method in methods.items():
            start = time.perf_counter()
            groups = method()
            seconds = time.perf_counter() - start
            rows.setdefault(name, []).append(
                {
                    "seconds": seconds,
                    "groups": len(np.unique(groups[scored])),
                    "modularity": modularity(A, groups),
                    **partition_scores(labels[scored], groups[scored]),
                }
            )
    return {
        "nodes": A.shape[0],
        "edges": A.nnz // 2,
        "communities": len(np.unique(labels[scored])),
        "embedding_seconds": summary(embedding),
        "methods": {
            name: {key: summary([r[key] for r in runs]) for key in runs[0]} for name, runs in rows.items()
        },
    }


def table(results: dict[str, Any]) -> str:
    """Return the Markdown table of a result file."""
    lines = [
        f"| graph | known | {OURS} | {LEIDEN} | {SILHOUETTE} | embedding |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in results["graphs"].items():
        cells = []
        best = max(m["ami"]["median"] for m in row["methods"].values())
        for method in (OURS, LEIDEN, SILHOUETTE):
            if method not in row["methods"]:
                cells.append("")
                continue
            m = row["methods"][method]
            score = f"{100 * m['ami']['median']:.1f}"
            score = f"**{score}**" if m["ami"]["median"] == best else score
            cells.append(f"{score}, {m['groups']['median']:.0f}, {_seconds(m['seconds']['median'])}")
        cells.append(_seconds(row["embedding_seconds"]["median"]))
        lines.append(f"| {name} | {row['communities']} | " + " | ".join(cells) + " |")
    means = [
        statistics.mean(100 * row["methods"][method]["ami"]["median"] for row in results["graphs"].values())
        for method in (OURS, LEIDEN)
    ]
    lines.append(f"| mean AMI | | {means[0]:.1f} | {means[1]:.1f} | | |")
    return "\n".join(lines)


def _seconds(value: float) -> str:
    return f"{value:.2g} s" if value >= 0.01 else "< 0.01 s"


def main() -> None:
    """Run everything and write the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.groups", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="four small graphs, two repeats, no documentation"
    )
    parser.add_argument("--large", action="store_true", help="also a block model of 100,000 nodes")
    options = parser.parse_args()
    try:
        import leidenalg  # noqa: F401
    except ImportError:
        sys.exit("the rival is missing: pip install leidenalg")
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    softvec.embed(dcsbm(3000, c=10, q=3, alpha=4.0, random_state=0).adjacency).cluster()  # compile
    path = RESULTS / ("groups_quick.json" if options.quick else "groups.json")
    header = provenance(threads)
    header["versions"] |= versions(["leidenalg", "igraph"])
    results: dict[str, Any] = {"provenance": header, "graphs": {}}
    for name, A, labels in cases(options.quick, options.large):
        row = results["graphs"][name] = measure(A, labels, 2 if options.quick else 5)
        print(name, {m: round(v["ami"]["median"], 3) for m, v in row["methods"].items()}, flush=True)
        write_json(path, results)
        if not options.quick:
            replace_section(ROOT / "docs" / "embedding.md", "groups", table(results))
    print(path)


if __name__ == "__main__":
    main()
