"""Measure what a scratch folder costs: one graph in memory, on disk, and on disk with a third of the memory.

    python -m benchmarks.disk [--nodes 2000000] [--edges 10] [--dim 128] [--epochs 5] [--scratch FOLDER]

Each run is a process of its own, from a text file of edges to a .svec file. The third run may take a third of
the private memory that the first one took (RLIMIT_DATA), and its whole resident memory, mapped files
included, is kept below the same limit: a thread writes pages out and drops them while it is above, as the
system would if that were all the memory there is. Vectors of all runs must have the same bits. Linux only.
Writes benchmarks/results/disk.json and the table of docs/scaling.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.common import RESULTS, ROOT, child, provenance, replace_section, write_json

RUNS = ("in memory", "on disk, plenty of memory", "on disk, a third of the memory")
LEAST = 400 << 20  # private memory of a process that has loaded and compiled all it needs
CHILD = r"""
import hashlib, json, mmap, os, random, resource, sys, threading, time, weakref
job = json.loads(sys.argv[1])
if job["limit"]:
    resource.setrlimit(resource.RLIMIT_DATA, (job["limit"], job["limit"]))

def status(*keys):
    lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return [int(lines[key].split()[0]) << 10 for key in keys]

files, peak = weakref.WeakSet(), {"data": 0, "resident": 0}

class Recorded(mmap.mmap):
    def __init__(self, *arguments):
        files.add(self)

def drop(excess, step=16 << 20):
    for _ in range(-(-excess // step)):
        pages = random.choice(list(files) or [None])
        if pages is not None:
            at = random.randrange(0, len(pages), step)
            size = min(step, len(pages) - at)
            pages.flush(at, size)  # only clean pages can be dropped
            pages.madvise(21, at, size)  # MADV_PAGEOUT
        del pages

def watch():
    while True:
        data, resident = status("VmData", "VmRSS")
        peak["data"], peak["resident"] = max(peak["data"], data), max(peak["resident"], resident)
        if job["limit"] and resident > job["limit"]:
            drop(resident - job["limit"] * 9 // 10)
        time.sleep(0.01)

import numpy as np
import softvec
from softvec.core import scratch
scratch.mmap.mmap = Recorded
threading.Thread(target=watch, daemon=True).start()
options = {"random_state": 0, "view": "walk", "check_memory": False, "n_jobs": job["threads"]}
warm = np.random.default_rng(0).integers(0, 200_000, (1_100_000, 2))
softvec.embed(warm[:, :2], 8, kind="graph", n_epochs=2, scratch=job["scratch"], **options)  # compiles
peak.update(data=0, resident=0)
started = time.perf_counter()
emb = softvec.embed(job["source"], job["dim"], n_epochs=job["epochs"], scratch=job["scratch"], **options)
fitted = time.perf_counter()
emb.save(job["target"])
written = time.perf_counter()
digest = hashlib.sha256()
for lo in range(0, len(emb), 65536):
    digest.update(emb.vectors[lo : lo + 65536].tobytes())
spent = emb.provenance["seconds"]
print(json.dumps({
    "seconds": {"reading": spent["reading"], "fitting": spent["fitting"], "writing": written - fitted,
                "total": written - started},
    "seconds_per_epoch": float(np.median(emb.provenance["history"]["seconds"])),
    "peak_data": peak["data"], "peak_resident": peak["resident"], "vectors": digest.hexdigest()[:16],
    "nodes": len(emb),
}))
"""


def run(job: dict[str, Any], threads: int) -> dict[str, Any]:
    """Return what one run took."""
    job = {**job, "threads": threads}
    return child([sys.executable, "-W", "ignore", "-c", CHILD, json.dumps(job)], threads)


def write_edges(path: Path, n_nodes: int, per_node: int) -> int:
    """Write an R-MAT graph as text; return the number of its edges."""
    from benchmarks.rmat import rmat

    graph = rmat(n_nodes, per_node * n_nodes, random_state=0).tocoo()
    below = graph.row < graph.col
    with open(path, "w") as file:
        for i, j in zip(graph.row[below].tolist(), graph.col[below].tolist()):
            file.write(f"{i} {j}\n")
    return int(below.sum())


def measure(arguments: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Run all three in turn; the limit of the last comes from the first."""
    rows: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as folder:
        source, scratch = Path(folder) / "edges.txt", Path(folder) / "scratch"
        scratch.mkdir()
        edges = write_edges(source, arguments.nodes, arguments.edges)
        for name in RUNS:
            limit = rows[RUNS[0]]["peak_data"] // 3 if name == RUNS[2] else 0
            job = {
                "source": str(source), "target": str(Path(folder) / "v.svec"), "limit": limit,
                "scratch": None if name == RUNS[0] else str(scratch), "dim": arguments.dim,
                "epochs": arguments.epochs,
            }  # fmt: skip
            if limit and limit < LEAST:
                raise SystemExit(f"too few nodes: a third of {3 * limit:,} bytes does not hold Python")
            rows[name] = {**run(job, arguments.threads), "limit": limit, "edges": edges}
            print(f"{name}: {json.dumps(rows[name])}", flush=True)
    if len({row["vectors"] for row in rows.values()}) != 1:
        raise RuntimeError("the vectors differ")
    return rows


def table(result: dict[str, Any]) -> str:
    """Return the rows as markdown."""
    lines = [
        f"{result['nodes']:,} nodes, {result['edges']:,} edges, d = {result['dim']}, "
        f"{result['epochs']} epochs, {result['threads']} threads; all three give the same bits.",
        "",
        "| | reading | an epoch | writing | total | private memory | resident, files included |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in result["runs"].items():
        spent, gib = row["seconds"], {key: row[f"peak_{key}"] / 2**30 for key in ("data", "resident")}
        lines.append(
            f"| {name} | {spent['reading']:.1f} s | {row['seconds_per_epoch']:.2f} s "
            f"| {spent['writing']:.1f} s | {spent['total']:.1f} s "
            f"| {gib['data']:.2f} GiB | {gib['resident']:.2f} GiB |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--nodes", type=int, default=2_000_000)
    parser.add_argument("--edges", type=int, default=10, help="Edges a node (default: 10).")
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--scratch", default=None, help="Folder on a disk (default: for temporary files).")
    parser.add_argument("--dry", action="store_true", help="Write no results: to try it on a small graph.")
    arguments = parser.parse_args()
    rows = measure(arguments)
    first = rows[RUNS[0]]
    sizes = {"nodes": first["nodes"], "edges": first["edges"]}
    chosen = {"dim": arguments.dim, "epochs": arguments.epochs}
    result = {**provenance(arguments.threads), **sizes, **chosen, "runs": rows}
    if arguments.dry:
        print(table(result))
        return
    write_json(RESULTS / "disk.json", result)
    replace_section(ROOT / "docs" / "scaling.md", "disk", table(result))


if __name__ == "__main__":
    main()
