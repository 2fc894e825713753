"""Measure the peak memory of fits of many kinds, beside what :mod:`softvec.fit.memory` estimates for them.

    python -m benchmarks.memory [--only NAME ...]

Each fit is a process of its own: it builds its data, compiles what it needs in a fit of two dimensions, and
then fits. Measured is how far the resident memory rises in that fit. Linux only (/proc/self/clear_refs).
Writes benchmarks/results/memory.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from benchmarks.common import RESULTS, child, provenance, write_json

JOBS: dict[str, dict[str, Any]] = {
    "graph": {"data": "graph", "d": 128},
    "graph, walks of 3 steps": {"data": "graph", "d": 128, "walk_length": 3},
    "graph, weighted": {"data": "weighted", "d": 128},
    "graph, many edges": {"data": "many edges", "d": 128},
    "graph, directed, full gradient": {"data": "directed", "d": 64, "fit": {"gradient": "full"}},
    "graph, 8 classes": {"data": "graph", "d": 64, "fit": {"n_clusters": 8}},
    "graph, float64": {"data": "graph", "d": 64, "fit": {"dtype": "float64"}},
    "graph, base measure": {"data": "graph", "d": 64, "fit": {"base_measure": 0.75}},
    "graph, power start": {"data": "graph", "d": 128, "fit": {"init": "power"}},
    "graph, checkpoint": {"data": "graph", "d": 128, "checkpoint": True},
    "two sides": {"data": "pairs", "d": 128, "fit": {"symmetric": False}},
    "few nodes, 512 dimensions": {"data": "small", "d": 512},
    "exact normaliser": {"data": "tiny", "d": 64, "fit": {"normalizer": "exact"}},
}
CHILD = """
import ctypes, gc, json, sys, tempfile
import numpy as np
from scipy import sparse
from softvec import api
from softvec.fit import memory
from softvec.affinity import as_affinity

job = json.loads(sys.argv[1])
rng = np.random.default_rng(0)
n, m, entries = {
    "graph": (300_000, 0, 1_500_000), "weighted": (300_000, 0, 1_500_000),
    "directed": (300_000, 0, 2_000_000),
    "many edges": (100_000, 0, 5_000_000), "pairs": (200_000, 100_000, 1_500_000),
    "small": (60_000, 0, 300_000), "tiny": (20_000, 0, 100_000),
}[job["data"]]

def build():
    i, j = rng.integers(0, n, entries, np.int32), rng.integers(0, m or n, entries, np.int32)
    values = rng.random(entries, np.float32) if job["data"] == "weighted" else np.ones(entries, bool)
    A = sparse.coo_array((values, (i, j)), shape=(n, m or n)).tocsr()
    if job["data"] == "pairs":
        return as_affinity(A, kind="bipartite")
    if job["data"] != "directed":
        A = (A + A.T).tocsr()
    return api.to_affinity(A, kind="graph", walk_length=job.get("walk_length", 1))

fit = dict(job.get("fit", {}))
if job.get("checkpoint"):
    fit |= {"checkpoint": tempfile.mkdtemp() + "/run.npz", "checkpoint_every": 1}

def status(key):
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(key))

warm = {key: value for key, value in fit.items() if key != "checkpoint"}
api.embed_affinity(build(), 2, n_epochs=4, random_state=0, **warm)
affinity = build()  # anew: the first one may hold its transpose by now
gc.collect()
ctypes.CDLL("libc.so.6").malloc_trim(0)  # what was freed is not held
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak starts anew
held = status("VmRSS")
emb = api.embed_affinity(affinity, job["d"], n_epochs=4, random_state=0, **fit)
measured = status("VmHWM") - held
print(json.dumps({"measured": measured, "estimated": memory.needed_memory(affinity, job["d"], fit)}))
"""


def measure(job: dict[str, Any], threads: int = 2) -> dict[str, float]:
    """Return the measured and the estimated bytes of one fit, and their ratio."""
    sizes = child([sys.executable, "-W", "ignore", "-c", CHILD, json.dumps(job)], threads)
    return {**sizes, "ratio": round(sizes["estimated"] / sizes["measured"], 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(JOBS), default=list(JOBS))
    rows = {}
    for name in parser.parse_args().only:
        rows[name] = measure(JOBS[name])
        mib = {key: rows[name][key] / 2**20 for key in ("measured", "estimated")}
        print(f"{name:32} measured {mib['measured']:7.0f} MiB, estimated {mib['estimated']:7.0f} MiB, "
              f"ratio {rows[name]['ratio']:.2f}", flush=True)  # fmt: skip
    if len(rows) == len(JOBS):
        write_json(RESULTS / "memory.json", {**provenance(2), "jobs": rows})


if __name__ == "__main__":
    main()
