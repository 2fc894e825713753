"""Time per epoch and peak memory against size, and ten million nodes from a file to vectors.

    python -m benchmarks.scaling [--sizes 10000 100000 1000000 10000000] [--file] [--rivals]

R-MAT graphs with ten edges a node, d = 128, walks of one step. Each measurement is a process of its own.
Writes benchmarks/results/scaling.json, docs/scaling.png and the table of docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import RESULTS, ROOT, child, pinned, provenance, read_json, replace_section, write_json

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
DIMENSION = 128
EDGES_PER_NODE = 10
RIVALS = ("fastrp", "cleora")

EPOCHS = """
import json, sys, time
import numpy as np
from benchmarks.common import peak_rss
from softvec import kernels
from softvec.core.machine import machine
from softvec.core.threads import row_blocks
from benchmarks.rmat import rmat
from softvec.operators import Runtime, Sparse, row_normalize
from softvec.fit.engine import Engine
from softvec.fit.problem import Problem, random_start

n, d, threads = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
begin = time.perf_counter()
A = rmat(n, int(sys.argv[4]) * n, random_state=0)
made, nnz = time.perf_counter() - begin, A.nnz
P = row_normalize(Sparse(A, symmetric=True))
del A
with machine(threads) as pool:
    X = random_start(n, d, 0, 0, np.float32, pool)
    engine = Engine(Problem(P, beta=6.0, regularization=0.0), X, None, pool, epochs=100)
    engine.epoch(0.5)
    blocks = engine.rows.blocks
    runtime = Runtime(kernels.select(10**12), pool, engine.runtime.block)
    omega = np.eye(d, dtype=np.float32) / d

    def gather():
        rows = P.plan(runtime)(engine.rows.source)
        pool.map(lambda lo, hi: rows(lo, hi, np.empty((hi - lo, d), np.float32), X[:0]), blocks)

    def products():
        pool.map(lambda lo, hi: (X[lo:hi] @ omega, X[lo:hi].T @ X[lo:hi])[0].shape, blocks)

    times = []
    for _ in range(5 if n <= 10**6 else 3):
        turn = []
        for part in (gather, products, lambda: engine.epoch(0.1)):
            begin = time.perf_counter()
            part()
            turn.append(time.perf_counter() - begin)
        times.append(turn)
gathers, products, epochs = (sorted(column)[len(times) // 2] for column in zip(*times))
ratio = sorted(epoch / (gather + product) for gather, product, epoch in times)[len(times) // 2]
print(json.dumps({"n": n, "nnz": nnz, "generate_seconds": made, "gather": gathers, "products": products,
    "epoch": epochs, "ratio": ratio, "rounds": times, "peak_rss": peak_rss()}))
"""


def epochs_of(n: int, threads: int = 2) -> dict[str, Any]:
    """Time epochs on a graph of n nodes in a process of its own."""
    return child([sys.executable, "-c", EPOCHS, n, DIMENSION, threads, EDGES_PER_NODE], threads)


def from_file(n: int, epochs: int) -> dict[str, Any]:
    """Write an edge list, then run the real command on it; return its time and peak memory.

    A ring through all nodes is added: half of the nodes of an R-MAT graph have no edge, and would not be in
    the file.
    """
    from benchmarks.rmat import rmat

    with tempfile.TemporaryDirectory() as folder:
        edges, out = Path(folder) / "edges.txt", Path(folder) / "vectors.npy"
        A = rmat(n, EDGES_PER_NODE * n, random_state=0)
        undirected = A.nnz // 2 + n
        write_edges(A, edges)
        del A
        command = [sys.executable, "-m", "softvec", "embed", str(edges), "-o", str(out), "--quiet"]
        command += f"--dim {DIMENSION} --epochs {epochs} --walk-length 1 --seed 0".split()
        begin = time.perf_counter()
        process = subprocess.Popen(command, env=pinned(2), cwd=ROOT)
        peak = 0
        while process.poll() is None:
            peak = max(peak, peak_of(process.pid))
            time.sleep(0.5)
        seconds = time.perf_counter() - begin
        if process.returncode:
            raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
        X = np.load(out, mmap_mode="r")
        sample = X[:: max(1, len(X) // 1000)]
        return {
            "n": len(X),
            "edges": undirected,
            "file_bytes": edges.stat().st_size,
            "epochs": epochs,
            "seconds": seconds,
            "peak_rss": peak,
            "unit_rows": bool(np.allclose(np.linalg.norm(sample, axis=1), 1, atol=1e-4)),
        }


def write_edges(A: Any, path: Path, rows_at_a_time: int = 500_000) -> None:
    """Write the upper triangle and a ring through all nodes as text, a slab of rows at a time."""
    import pyarrow as pa
    from pyarrow import csv

    options = csv.WriteOptions(include_header=False, delimiter="\t")
    with open(path, "wb") as file:
        for lo in range(0, A.shape[0], rows_at_a_time):
            slab = A[lo : lo + rows_at_a_time].tocoo()
            row, column = slab.row + lo, slab.col
            keep = row < column
            csv.write_csv(pa.table({"i": row[keep], "j": column[keep]}), file, options)
            ring = np.arange(lo, min(lo + rows_at_a_time, A.shape[0]))
            csv.write_csv(pa.table({"i": ring, "j": (ring + 1) % A.shape[0]}), file, options)


def peak_of(pid: int) -> int:
    """Return the peak resident bytes of a running process, 0 once it has gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024
    except (OSError, StopIteration):
        return 0


def rivals(sizes: list[int]) -> dict[str, Any]:
    """Time the rivals that can run at each size, on the same graphs."""
    from scipy import sparse

    from benchmarks.peers.environments import ensure, python
    from benchmarks.peers.methods import METHODS
    from benchmarks.rmat import rmat

    results: dict[str, Any] = {}
    for n in sizes:
        with tempfile.TemporaryDirectory() as folder:
            graph, vectors, report = (Path(folder) / name for name in ("g.npz", "v.npy", "r.json"))
            sparse.save_npz(graph, rmat(n, EDGES_PER_NODE * n, random_state=0), compressed=False)
            for method in METHODS:
                if method.adapter not in RIVALS:
                    continue
                ensure(method.environment)
                job = {"d": DIMENSION, "seed": 0, "params": method.params, "repeats": 1}
                runner = ROOT / "benchmarks" / "peers" / "runner.py"
                words = [method.adapter, graph, vectors, report, json.dumps(job)]
                command = [str(python(method.environment)), str(runner), *map(str, words)]
                done = subprocess.run(command, capture_output=True, text=True, env=pinned(2))
                if done.returncode == 0:
                    found = json.loads(report.read_text())
                    results.setdefault(method.name, {})[str(n)] = {
                        "seconds": found["seconds"],
                        "peak_rss": found["peak_rss"],
                    }
    return results


def slope(data: dict[str, Any]) -> float:
    """Return the log-log slope of time per epoch against n."""
    sizes = sorted(data["sizes"].values(), key=lambda one: one["n"])
    n, t = (np.log([one[key] for one in sizes]) for key in ("n", "epoch"))
    return float(np.polyfit(n, t, 1)[0])


def table(data: dict[str, Any]) -> str:
    """Return the results as Markdown."""
    lines = [
        "## Size",
        "",
        "R-MAT graphs with ten edges per node, d = 128, walks of one step, two threads; "
        "`python -m benchmarks.scaling`.",
        "",
        "| nodes | stored entries | epoch | bare gather + products | ratio | peak memory |",
        "|---|---|---|---|---|---|",
    ]
    for one in sorted(data["sizes"].values(), key=lambda one: one["n"]):
        bare = one["gather"] + one["products"]
        lines.append(
            f"| {one['n']:,} | {one['nnz']:,} | {one['epoch']:.3g} s | {bare:.3g} s | {one['ratio']:.2f} | "
            f"{one['peak_rss'] / 2**30:.2f} GiB |"
        )
    if len(data["sizes"]) > 1:
        lines += ["", f"Log-log slope of time per epoch: {data['slope']:.2f} (target: at most 1.1)."]
    if "speedup" in data:
        lines.append(
            f"Two threads against one at 1,000,000 nodes: {data['speedup']['ratio']:.2f}x (target: 1.7x)."
        )
    if "file" in data:
        one = data["file"]
        lines.append(
            f"From a text file of {one['edges']:,} edges ({one['file_bytes'] / 2**30:.1f} GiB) to "
            f"{one['n']:,} vectors with {one['epochs']} epochs: {one['seconds'] / 60:.1f} minutes, peak "
            f"{one['peak_rss'] / 2**30:.1f} GiB."
        )
    lines += ["", "![Time and memory against size](scaling.png)"]
    return "\n".join(lines)


def plot(data: dict[str, Any], path: Path) -> None:
    """Draw time and memory against size."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    sizes = sorted(data["sizes"].values(), key=lambda one: one["n"])
    n = [one["n"] for one in sizes]
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    left.loglog(n, [30 * one["epoch"] for one in sizes], "o-", label="softvec, 30 epochs")
    right.loglog(n, [one["peak_rss"] / 2**30 for one in sizes], "o-", label="softvec")
    for name, found in data.get("rivals", {}).items():
        x = sorted(map(int, found))
        left.loglog(x, [found[str(i)]["seconds"] for i in x], "s--", label=name)
        right.loglog(x, [found[str(i)]["peak_rss"] / 2**30 for i in x], "s--", label=name)
    left.set(xlabel="nodes", ylabel="embedding time (s)")
    right.set(xlabel="nodes", ylabel="peak memory (GiB)")
    left.legend(frameon=False, fontsize=8)
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Measure what is asked for and write JSON, picture and table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument(
        "--threads", action="store_true", help="compare one and two threads at a million nodes"
    )
    parser.add_argument("--file", type=int, metavar="N", help="embed N nodes from a text file")
    parser.add_argument("--epochs", type=int, default=3, help="epochs of --file")
    parser.add_argument(
        "--rivals", type=int, nargs="*", metavar="N", help="time the quick rivals at these sizes"
    )
    arguments = parser.parse_args()
    path = RESULTS / "scaling.json"
    data = read_json(path, {"sizes": {}})
    for n in arguments.sizes:
        data["sizes"][str(n)] = epochs_of(n)
        print(n, {k: v for k, v in data["sizes"][str(n)].items() if k != "rounds"}, flush=True)
        write_json(path, data)
    if arguments.threads:
        runs = [epochs_of(10**6, t) for t in (1, 2, 1, 2)]
        one, two = (min(run["epoch"] for run in runs[i::2]) for i in (0, 1))
        data["speedup"] = {"one": one, "two": two, "ratio": one / two}
        write_json(path, data)
    if arguments.file:
        data["file"] = from_file(arguments.file, arguments.epochs)
        print(data["file"], flush=True)
        write_json(path, data)
    if arguments.rivals:
        data["rivals"] = rivals(arguments.rivals)
    data["slope"] = slope(data) if len(data["sizes"]) > 1 else None
    data.update(provenance(2))
    write_json(path, data)
    replace_section(ROOT / "docs" / "performance.md", "scaling", table(data))
    plot(data, ROOT / "docs" / "scaling.png")
    print(table(data), os.linesep)


if __name__ == "__main__":
    main()
