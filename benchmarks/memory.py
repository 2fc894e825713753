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

from benchmarks.common import RESULTS, ROOT, child, provenance, read_json, replace_section, write_json

PAGE = ROOT / "docs" / "reliability.md"

JOBS: dict[str, dict[str, Any]] = {
    "graph": {"data": "graph", "d": 128},
    "graph, walks of 3 steps": {"data": "graph", "d": 128, "options": {"walk_length": 3}},
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
    "exact normaliser": {"data": "tiny", "d": 64, "epochs": 2, "fit": {"normalizer": "exact"}},
    "graph, fused views": {"data": "dense graph", "d": 96, "fit": {"view": "fused"}},
    "graph, fused views, weighted": {"data": "dense weighted", "d": 72, "fit": {"view": "fused"}},
    "graph, less effort": {"data": "graph", "d": 64, "fit": {"effort": "fast"}},
    "graph, 20 dimensions": {"data": "graph", "d": 20, "options": {"walk_length": 3}},
    "graph, walks of 6 steps": {"data": "small", "d": 160, "options": {"walk_length": 6}},
    "graph, full gradient, walks": {
        "data": "small",
        "d": 192,
        "options": {"walk_length": 3},
        "fit": {"gradient": "full"},
    },
    "graph, directed, walks": {"data": "directed", "d": 48, "options": {"walk_length": 3}},
    "graph, directed, full gradient, walks": {
        "data": "directed",
        "d": 40,
        "options": {"walk_length": 4},
        "fit": {"gradient": "full"},
    },
    "graph, float64, walks": {
        "data": "small",
        "d": 128,
        "options": {"walk_length": 3},
        "fit": {"dtype": "float64"},
    },
    "graph, given start": {"data": "small", "d": 200, "options": {"walk_length": 1}, "given": True},
    "graph, regularised": {"data": "small", "d": 160, "fit": {"regularization": 1.0}},
    "graph file with names": {"data": "names", "d": 112, "options": {"walk_length": 2}},
    "pairs file with names": {"data": "names", "d": 144, "options": {"kind": "pairs"}},
    "contacts": {"data": "contacts", "d": 80, "options": {"kind": "temporal"}},
    "text": {"data": "text", "d": 300, "options": {"kind": "corpus"}},
    "feature vectors": {"data": "points", "d": 256, "options": {"kind": "features"}},
    "two sides, 8 classes": {"data": "pairs", "d": 48, "fit": {"symmetric": False, "n_clusters": 8}},
    "exact normaliser, full gradient": {
        "data": "tiny",
        "d": 160,
        "epochs": 2,
        "fit": {"normalizer": "exact", "gradient": "full"},
    },
    "exact normaliser, float64": {
        "data": "tiny",
        "d": 100,
        "epochs": 2,
        "fit": {"normalizer": "exact", "dtype": "float64"},
    },
}
CHILD = """
import ctypes, gc, json, sys, tempfile
from dataclasses import replace
import numpy as np
from scipy import sparse
from softvec import api
import softvec.fit.resolve as defaults
from softvec.fit import memory
from softvec.fit.resolve import resolve
from softvec.request import Request

defaults.FUSED = tuple(replace(view, n_epochs=2) for view in defaults.FUSED)  # epochs take time, not memory
job = json.loads(sys.argv[1])
rng = np.random.default_rng(0)
SIZES = {
    "graph": (300_000, 0, 1_500_000), "weighted": (300_000, 0, 1_500_000),
    "directed": (300_000, 0, 2_000_000), "many edges": (100_000, 0, 5_000_000),
    "pairs": (200_000, 100_000, 1_500_000), "small": (60_000, 0, 300_000), "tiny": (20_000, 0, 100_000),
    "dense graph": (70_000, 0, 1_500_000), "dense weighted": (70_000, 0, 1_500_000),
}

def matrix():
    n, m, entries = SIZES[job["data"]]
    i, j = rng.integers(0, n, entries, np.int32), rng.integers(0, m or n, entries, np.int32)
    weighted = "weighted" in job["data"]
    values = rng.random(entries, np.float32) if weighted else np.ones(entries, bool)
    A = sparse.coo_array((values, (i, j)), shape=(n, m or n)).tocsr()
    return A if job["data"] in ("directed", "pairs") else (A + A.T).tocsr()

def table(columns, rows):
    path = tempfile.mkdtemp() + "/table.tsv"
    with open(path, "w") as file:
        file.write("\\t".join(columns) + "\\n")
        file.writelines("\\t".join(map(str, row)) + "\\n" for row in rows)
    return path

def data():
    if job["data"] == "names":
        ends = rng.integers(0, 80_000, (400_000, 2)).tolist()
        return table(("source", "target"), ((f"item {a}", f"item {b}") for a, b in ends))
    if job["data"] == "contacts":
        rows = np.stack([*rng.integers(0, 20_000, (2, 300_000)), rng.integers(0, 12, 300_000)], axis=1)
        return table(("source", "target", "time"), rows[rows[:, 0] != rows[:, 1]].tolist())
    if job["data"] == "text":
        words = np.minimum(rng.zipf(1.15, (20_000, 60)), 60_000)
        return [" ".join(f"w{word}" for word in row) for row in words.tolist()]
    if job["data"] == "points":
        return rng.standard_normal((30_000, 6))
    return matrix()

options = {**job.get("options", {}), **job.get("fit", {})}
if "kind" not in options:
    options["kind"] = "bipartite" if job["data"] == "pairs" else "graph"
    if options.get("view") != "fused" and "effort" not in options:
        options.setdefault("walk_length", 1)
if job["data"] == "directed":
    options["directed"] = True
if "effort" not in options and options.get("view") != "fused":
    options["n_epochs"] = job.get("epochs", 4)
source = data()

def request(d, **more):
    return Request.of(n_components=d, random_state=0, **{**options, **more})

def build():
    return api.requested_affinity(source, request(8))

saved = {}
if job.get("checkpoint"):
    saved = {"checkpoint": tempfile.mkdtemp() + "/run", "checkpoint_every": 1}
affinity = build()

def run(d, **more):
    start = {"init": rng.standard_normal((affinity.shape[0], d), np.float32)} if job.get("given") else {}
    return lambda: api.embed_affinity(affinity, request(d, **start, **more))

def status(key):
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(key))

# compiles what is needed; a small fit in few dimensions would not, so that it is run whole. In one thread:
# what others free at the end of their memory would stay resident, malloc_trim or not
warm_d = job["d"] if affinity.shape[0] * job["d"] < 5e6 else 8
run(warm_d, n_jobs=1)()
affinity = build()  # anew: the first one may hold its transpose by now
measured_fit = run(job["d"], **saved)
gc.collect()
ctypes.CDLL("libc.so.6").malloc_trim(0)  # what was freed is not held
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak starts anew
held = status("VmRSS")
emb = measured_fit()
measured = status("VmHWM") - held
settings = resolve(request(job["d"], **saved), affinity.facts)
print(json.dumps({"measured": measured, "estimated": memory.needed_memory(affinity.facts, settings)}))
"""


def measure(job: dict[str, Any], threads: int = 2) -> dict[str, float]:
    """Return the measured and the estimated bytes of one fit, and their ratio."""
    sizes = child([sys.executable, "-W", "ignore", "-c", CHILD, json.dumps(job)], threads)
    return {**sizes, "ratio": round(sizes["estimated"] / sizes["measured"], 3)}


def table(result: dict[str, Any]) -> str:
    """Return the page's table, the lowest and the highest ratio above it."""
    jobs = result["jobs"]
    ratios = [row["ratio"] for row in jobs.values()]
    lines = [
        f"{len(jobs)} kinds of jobs; the estimate is {min(ratios):.2f} to {max(ratios):.2f} times the "
        "measured peak.",
        "",
        "| job | measured, MiB | estimated, MiB | ratio |",
        "|---|---|---|---|",
    ]
    for name, row in jobs.items():
        measured, estimated = (row[key] / 2**20 for key in ("measured", "estimated"))
        lines.append(f"| {name} | {measured:,.0f} | {estimated:,.0f} | {row['ratio']:.2f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(JOBS), default=list(JOBS))
    path, rows = RESULTS / "memory.json", {}
    for name in parser.parse_args().only:
        rows[name] = measure(JOBS[name])
        mib = {key: rows[name][key] / 2**20 for key in ("measured", "estimated")}
        print(f"{name:32} measured {mib['measured']:7.0f} MiB, estimated {mib['estimated']:7.0f} MiB, "
              f"ratio {rows[name]['ratio']:.2f}", flush=True)  # fmt: skip
        before = read_json(path, {"jobs": {}})["jobs"]  # of jobs that are not measured now
        kept = {job: {**before, **rows}[job] for job in JOBS if job in before or job in rows}
        write_json(path, {**provenance(2), "jobs": kept})
    replace_section(PAGE, "memory", table(read_json(path)))


if __name__ == "__main__":
    main()
