"""Groups found from vectors, beside Leiden on the graph itself and k-means with a silhouette.

    python -m benchmarks.groups [--quick]

needs `pip install igraph`. On graphs with known communities, block models, LFR graphs and rings of small
groups, partitions are compared with the known one, over nodes that have edges and a label. Random graphs and
graphs with shuffled edges have no groups: there the number of groups is the result. Leiden is run for
modularity, and, with the known communities at hand, at the best of several resolutions. Writes
`benchmarks/results/groups.json` and the tables in `docs/embedding.md`.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse as sp

import softvec
from benchmarks import datasets
from benchmarks.common import RESULTS, ROOT, provenance, replace_section, summary, versions, write_json
from experiments.generators import dcsbm
from softvec.core.checks import unit_rows
from softvec.evaluate import modularity, partition_scores

GRAPHS = (
    "karate", "polbooks", "football", "polblogs", "cora", "citeseer", "amazon_edrep", "pubmed",
)  # fmt: skip
# nodes, communities, mean degree, alpha (1 is the detection threshold)
BLOCKS = ((2000, 5, 15, 4.0), (10_000, 10, 15, 4.0), (10_000, 50, 20, 6.0), (10_000, 5, 15, 2.5))
LARGE = (100_000, 30, 15, 5.0)
# nodes, p
RANDOM = ((200, 0.05), (500, 0.02), (500, 0.06), (3000, 0.001))
OURS, LEIDEN, BEST, SILHOUETTE = "softvec", "Leiden", "Leiden, best resolution", "k-means, silhouette"
RESOLUTIONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
_MOST = 1500  # nodes up to which the silhouettes are computed
_TRUE_NONE = -1


def cases(quick: bool, large: bool) -> Iterator[tuple[str, sp.csr_array, np.ndarray]]:
    """Yield name, adjacency matrix and known communities (negative: none)."""
    for name in GRAPHS[:3] if quick else GRAPHS:
        graph = datasets.load(name)
        yield name, sp.csr_array(graph.adjacency), np.asarray(graph.labels)
    blocks = BLOCKS[:1] if quick else BLOCKS + (LARGE,) * large
    for n, q, c, alpha in blocks:
        made = dcsbm(n, c=c, q=q, alpha=alpha, random_state=1)
        yield f"block model, {n:,} nodes, {q} groups, alpha {alpha:g}", made.adjacency, made.labels
    yield from small_groups()
    yield from lfr(quick)
    yield from without_groups(quick)


def matrix(graph: nx.Graph) -> sp.csr_array:
    """Return the adjacency matrix, without self-loops."""
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    return sp.csr_array(nx.to_scipy_sparse_array(nx.Graph(graph), dtype=np.float64))


def small_groups() -> Iterator[tuple[str, sp.csr_array, np.ndarray]]:
    """Yield rings of caves and cliques."""
    for count, size in ((30, 6), (50, 4), (200, 5)):
        graph = nx.connected_caveman_graph(count, size)
        yield f"{count} caves of {size}", matrix(graph), np.arange(count * size) // size
    relaxed = nx.relaxed_caveman_graph(30, 6, 0.2, seed=1)
    yield "30 caves of 6, a fifth of the edges rewired", matrix(relaxed), np.arange(180) // 6
    for count, size in ((30, 3), (30, 5), (50, 4), (200, 5)):
        graph = nx.ring_of_cliques(count, size)
        yield f"ring of {count} cliques of {size}", matrix(graph), np.arange(count * size) // size


def lfr(quick: bool) -> Iterator[tuple[str, sp.csr_array, np.ndarray]]:
    """Yield LFR graphs of 1,000 nodes; mu is the share of edges that leave a community."""
    for mu in (0.3,) if quick else (0.3, 0.5, 0.6):
        made = nx.LFR_benchmark_graph(
            1000, 3, 1.5, mu, average_degree=15, max_degree=50, min_community=20, max_community=80, seed=3
        )
        communities = sorted({frozenset(made.nodes[v]["community"]) for v in made}, key=min)
        labels = np.empty(1000, np.int64)
        for k, members in enumerate(communities):
            labels[list(members)] = k
        yield f"LFR, mu {mu}", matrix(made), labels


def without_groups(quick: bool) -> Iterator[tuple[str, sp.csr_array, np.ndarray]]:
    """Yield random graphs, and known graphs with shuffled edges: all nodes without a label."""
    for n, p in RANDOM[:1] if quick else RANDOM:
        yield f"G({n}, {p})", matrix(nx.gnp_random_graph(n, p, seed=1)), np.full(n, _TRUE_NONE)
    scale_free = nx.barabasi_albert_graph(500, 3, seed=1)
    yield "preferential attachment, 500 nodes", matrix(scale_free), np.full(500, _TRUE_NONE)
    for name in GRAPHS[:2] if quick else GRAPHS[:6]:
        graph = nx.Graph(nx.from_scipy_sparse_array(sp.csr_array(datasets.load(name).adjacency)))
        graph.remove_edges_from(list(nx.selfloop_edges(graph)))
        edges = graph.number_of_edges()
        nx.double_edge_swap(graph, nswap=5 * edges, max_tries=500 * edges, seed=1)
        yield f"{name}, edges shuffled", matrix(graph), np.full(len(graph), _TRUE_NONE)


def leiden(A: sp.csr_array, seed: int, resolution: float = 1.0) -> np.ndarray:
    """Return the partition of Leiden for modularity at a resolution, on the graph."""
    import igraph

    upper = sp.triu(A, 1).tocoo()
    graph = igraph.Graph(n=A.shape[0], edges=np.stack([upper.row, upper.col], axis=1))
    igraph.set_random_number_generator(random.Random(seed))
    partition = graph.community_leiden("modularity", resolution=resolution, n_iterations=-1)
    return np.array(partition.membership)


def best_leiden(A: sp.csr_array, labels: np.ndarray, scored: np.ndarray, seed: int) -> np.ndarray:
    """Return the partition of the resolution that agrees best with the known communities."""
    tried = [leiden(A, seed, resolution) for resolution in RESOLUTIONS]
    return max(tried, key=lambda groups: partition_scores(labels[scored], groups[scored])["ami"])


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
    known = bool((labels >= 0).any())
    scored = (labels >= 0 if known else labels < 0) & (np.diff(A.indptr) > 0)
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
        if known:
            methods[BEST] = lambda seed=seed: best_leiden(A, labels, scored, seed)
        if A.shape[0] <= _MOST and seed == 0 and known:
            methods[SILHOUETTE] = lambda emb=emb: silhouette(emb.vectors, 0)
        for name, method in methods.items():
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # no groups beyond chance: that is the result
                groups = method()
            seconds = time.perf_counter() - start
            rows.setdefault(name, []).append(
                {
                    "seconds": seconds,
                    "groups": len(np.unique(groups[scored])),
                    "modularity": modularity(A, groups),
                    **(partition_scores(labels[scored], groups[scored]) if known else {}),
                }
            )
    return {
        "nodes": A.shape[0],
        "edges": A.nnz // 2,
        "communities": len(np.unique(labels[scored])) if known else 0,
        "embedding_seconds": summary(embedding),
        "methods": {
            name: {key: summary([r[key] for r in runs]) for key in runs[0]} for name, runs in rows.items()
        },
    }


def table(results: dict[str, Any]) -> str:
    """Return the Markdown table of a result file."""
    lines = [
        f"| graph | known | {OURS} | {LEIDEN} | {BEST} | {SILHOUETTE} | embedding |",
        "|---|---|---|---|---|---|---|",
    ]
    graphs = {name: row for name, row in results["graphs"].items() if row["communities"]}
    for name, row in graphs.items():
        cells = []
        best = max(m["ami"]["median"] for name, m in row["methods"].items() if name != BEST)
        for method in (OURS, LEIDEN, BEST, SILHOUETTE):
            if method not in row["methods"]:
                cells.append("")
                continue
            m = row["methods"][method]
            score = f"{100 * m['ami']['median']:.1f}"
            score = f"**{score}**" if m["ami"]["median"] == best and method != BEST else score
            cells.append(f"{score}, {m['groups']['median']:.0f}, {_seconds(m['seconds']['median'])}")
        cells.append(_seconds(row["embedding_seconds"]["median"]))
        lines.append(f"| {name} | {row['communities']} | " + " | ".join(cells) + " |")
    means = [
        statistics.mean(100 * row["methods"][method]["ami"]["median"] for row in graphs.values())
        for method in (OURS, LEIDEN, BEST)
    ]
    lines.append(f"| mean AMI | | {means[0]:.1f} | {means[1]:.1f} | {means[2]:.1f} | | |")
    return "\n".join(lines)


def table_of_noise(results: dict[str, Any]) -> str:
    """Return the Markdown table of the graphs without groups: how many each method finds."""
    lines = [f"| graph | nodes | edges | {OURS} | {LEIDEN} |", "|---|---|---|---|---|"]
    for name, row in results["graphs"].items():
        if not row["communities"]:
            found = (f"{row['methods'][method]['groups']['median']:.0f}" for method in (OURS, LEIDEN))
            lines.append(f"| {name} | {row['nodes']:,} | {row['edges']:,} | {' | '.join(found)} |")
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
        import igraph  # noqa: F401
    except ImportError:
        sys.exit("the rival is missing: pip install igraph")
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    softvec.embed(dcsbm(3000, c=10, q=3, alpha=4.0, random_state=0).adjacency).cluster()  # compile
    path = RESULTS / ("groups_quick.json" if options.quick else "groups.json")
    header = provenance(threads)
    header["versions"] |= versions(["igraph", "networkx"])
    results: dict[str, Any] = {"provenance": header, "graphs": {}}
    for name, A, labels in cases(options.quick, options.large):
        row = results["graphs"][name] = measure(A, labels, 2 if options.quick else 5)
        key = "ami" if row["communities"] else "groups"
        print(name, key, {m: round(v[key]["median"], 3) for m, v in row["methods"].items()}, flush=True)
        write_json(path, results)
        if not options.quick:
            replace_section(ROOT / "docs" / "embedding.md", "groups", table(results))
            replace_section(ROOT / "docs" / "embedding.md", "noise", table_of_noise(results))
    print(path)


if __name__ == "__main__":
    main()
