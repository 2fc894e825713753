"""What a second worker gains: time of an epoch on one process, on two ranks of MPI, on two actors of Ray.

    python -m benchmarks.cluster [--n 1000000] [--rounds 5] [--epochs 6]

An R-MAT graph with ten edges a node, d = 128, one thread for each worker, walks of one and of three steps.
Rounds are interleaved; each measurement is a process of its own. Efficiency is t(1) / (2 t(2)), of
medians over the epochs of all rounds but the first epoch of each. The bytes exchanged in an epoch are set
against the count that the halo gives. Writes benchmarks/results/cluster.json,
docs/figures/cluster.png and the table of docs/scaling.md.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.common import RESULTS, ROOT, child, provenance, replace_section, write_json

DIMENSION, EDGES_PER_NODE = 128, 10
ENGINES = {"one process": None, "MPI": "mpi", "Ray": "local:2"}
WALKS = (1, 3)

FIT = """
import json, sys
from scipy import sparse
from benchmarks.common import peak_rss
from softvec.cluster.choose import ClusterWorkers, choose
from softvec.cluster.plan import plan
from softvec.cluster.plan import halo_rows
from softvec.core.machine import machine
from softvec.fit.problem import Problem
from softvec.fit.run import fit
from softvec.fit.settings import Settings
from softvec.operators import Powers, Sparse, row_normalize

path, d, walk, epochs, cluster = sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5]

def main():
    settings = Settings(n_components=d, n_epochs=epochs, n_jobs=1, random_state=0, beta=6.0)
    if cluster == "none":
        return measure(settings, None)
    with choose(cluster, 1) as workers:
        if workers.driver:
            measure(settings, workers)

def measure(settings, workers):
    A = sparse.load_npz(path)
    leaf = row_normalize(Sparse(A, symmetric=True))
    P = Powers(leaf, walk) if walk > 1 else leaf
    result, reports = {"n": A.shape[0], "nnz": int(A.nnz)}, []
    elsewhere = None if workers is None else ClusterWorkers(workers, reports.append)
    with machine(1, workers=elsewhere) as pool:
        done = fit(P, settings, pool, diagnosed=False)
    if workers is not None:
        cut = plan(Problem(P), settings, False, workers.workers)
        rows = sum(halo_rows(leaf, cut, rank) for rank in range(cut.size))
        first, last = reports[0], reports[-1]
        result |= {"workers": cut.size, "halo_rows": rows, "expected_bytes": rows * d * 2 * walk}
        if last.epoch > first.epoch:
            result["bytes"] = (last.sent - first.sent) / (last.epoch - first.epoch)
    import zlib
    result |= {"seconds": done.history["seconds"][1:].tolist(), "crc": zlib.crc32(done.state.X.tobytes())}
    print(json.dumps({**result, "peak_rss_of_driver": peak_rss()}))

main()
"""


def measured(graph: Path, walk: int, epochs: int, cluster: str | None) -> dict[str, Any]:
    """Fit in processes of their own; return seconds of epochs, bytes, and a checksum of the vectors."""
    ranks = [str(Path(sys.executable).with_name("mpiexec")), "-n", "2"] if cluster == "mpi" else []
    words = [graph, DIMENSION, walk, epochs, cluster or "none"]
    return child([*ranks, sys.executable, "-c", FIT, *words], 1)


def summary(runs: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return a row for each engine: medians, efficiency, bytes, and whether the bits are those of one."""
    alone = statistics.median(t for run in runs["one process"] for t in run["seconds"])
    rows = []
    for engine, of_engine in runs.items():
        seconds = statistics.median(t for run in of_engine for t in run["seconds"])
        row = {"engine": engine, "seconds": seconds, "rounds": [run["seconds"] for run in of_engine]}
        if engine != "one process":
            row |= {
                "efficiency": alone / (2 * seconds),
                "bytes": of_engine[0].get("bytes"),
                "expected_bytes": of_engine[0]["expected_bytes"],
                "same_bits": all(run["crc"] == runs["one process"][0]["crc"] for run in of_engine),
            }
        rows.append(row)
    return rows


def table(results: dict[str, Any]) -> str:
    """Return the Markdown table."""
    lines = [
        "| walk | engine | seconds per epoch | efficiency | MiB exchanged | MiB expected | same bits |",
        "|---|---|---|---|---|---|---|",
    ]
    for walk, rows in results["walks"].items():
        for row in rows:
            rest = " | | | |"
            if "efficiency" in row:
                sent = "" if row["bytes"] is None else f"{row['bytes'] / 2**20:,.0f}"
                halo = f"{row['expected_bytes'] / 2**20:,.0f}"
                same = "yes" if row["same_bits"] else "no"
                rest = f" {row['efficiency']:.2f} | {sent} | {halo} | {same} |"
            lines.append(f"| {walk} | {row['engine']} | {row['seconds']:.2f} |{rest}")
    return "\n".join(lines)


def plot(results: dict[str, Any], target: Path) -> None:
    """Draw the efficiency of each engine by the length of the walk."""
    import matplotlib.pyplot as plt
    import numpy as np

    figure, axes = plt.subplots(figsize=(5, 3))
    walks = list(results["walks"])
    for place, engine in enumerate(name for name in ENGINES if name != "one process"):
        values = [
            row["efficiency"] for walk in walks for row in results["walks"][walk] if row["engine"] == engine
        ]
        axes.bar(np.arange(len(walks)) + 0.35 * (place - 0.5), values, 0.33, label=engine)
    axes.axhline(1, color="grey", linewidth=0.8)
    axes.set_xticks(range(len(walks)), [f"walks of {walk}" for walk in walks])
    axes.set_ylabel("efficiency, two workers")
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(target, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--output", type=Path, default=RESULTS / "cluster.json")
    options = parser.parse_args()
    from scipy import sparse

    from benchmarks.rmat import rmat

    results: dict[str, Any] = {"n": options.n, "dimension": DIMENSION, "walks": {}}
    with tempfile.TemporaryDirectory() as folder:
        graph = Path(folder, "graph.npz")
        sparse.save_npz(graph, rmat(options.n, EDGES_PER_NODE * options.n, random_state=0), compressed=False)
        for walk in WALKS:
            runs: dict[str, list[dict[str, Any]]] = {engine: [] for engine in ENGINES}
            for turn in range(options.rounds):
                for engine, cluster in ENGINES.items():
                    runs[engine].append(measured(graph, walk, options.epochs, cluster))
                    print(
                        f"walk {walk}, round {turn + 1}, {engine}: {runs[engine][-1]['seconds']}", flush=True
                    )
            results["walks"][str(walk)] = summary(runs)
    write_json(options.output, {**provenance(1), **results})
    print(table(results))
    if options.output.parent == RESULTS:
        plot(results, ROOT / "docs" / "figures" / "cluster.png")
        replace_section(ROOT / "docs" / "scaling.md", "cluster", table(results))


if __name__ == "__main__":
    main()
