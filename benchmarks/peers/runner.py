"""Embed one graph with one method and report time and memory: a child process of the benchmark.

    python runner.py ADAPTER graph.npz vectors.npy report.json '{"d": 128, "seed": 0, "params": {}}'

The thread settings come from the parent's environment. A tiny graph is embedded first, so that
imports and just-in-time compilation stay out of the time.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp


def tiny_graph() -> sp.csr_array:
    """Return a ring of eight cliques of eight nodes."""
    A = np.kron(np.eye(8), np.ones((8, 8)))
    for i in range(0, 64, 8):
        A[i, (i + 8) % 64] = A[(i + 8) % 64, i] = 1
    np.fill_diagonal(A, 0)
    return sp.csr_array(A)


def peak_rss() -> int:
    """Return the peak resident memory of this process in bytes.

    Linux's own counter starts at the program; getrusage would include the parent's peak before it.
    """
    try:
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * 1024
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Run the adapter named on the command line."""
    name, graph, vectors, report, options = sys.argv[1:]
    load = os.getloadavg()[0]  # a busy machine shows in the result file
    job = json.loads(options)
    start = time.perf_counter()
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
    from benchmarks.peers import adapters

    prepare, embed = getattr(adapters, name)()
    imported = time.perf_counter() - start
    A = sp.csr_array(sp.load_npz(graph))
    A.sort_indices()
    d, seed = job["d"], job["seed"]
    start = time.perf_counter()
    embed(prepare(tiny_graph()), 8, seed, dict(job["params"]))
    warm = time.perf_counter() - start
    start = time.perf_counter()  # what a call costs whatever the graph, such as compiling anew each time
    embed(prepare(tiny_graph()), 8, seed, dict(job["params"]))
    second = time.perf_counter() - start
    base = peak_rss()
    prepares, seconds, cpu = [], [], []
    for _ in range(job.get("repeats", 1)):
        start = time.perf_counter()
        prepared = prepare(A)
        prepares.append(time.perf_counter() - start)
        start, used = time.perf_counter(), time.process_time()
        X = embed(prepared, d, seed, dict(job["params"]))
        seconds.append(time.perf_counter() - start)
        cpu.append(time.process_time() - used)
        # quick methods are repeated for a stable median, slow ones are not
        if sum(seconds) > job.get("budget", 5.0):
            break
    X = np.array(X, dtype=np.float32, order="C")
    finite = np.isfinite(X).all(axis=1)
    X[~finite] = 0
    np.save(vectors, X)
    result = {
        "load": load,
        "seconds": float(np.median(seconds)),
        "all_seconds": seconds,
        "cpu_seconds": float(np.median(cpu)),
        "prepare_seconds": float(np.median(prepares)),
        "import_seconds": imported,
        "first_call_seconds": warm,
        "second_call_seconds": second,
        "peak_rss": peak_rss(),
        "base_rss": base,
        "shape": list(X.shape),
        "not_finite_rows": int((~finite).sum()),
    }
    with open(report, "w") as file:
        json.dump(result, file)


if __name__ == "__main__":
    main()
