"""What it costs to read edges on two workers instead of one machine: processor time, and memory of a worker.

    python -m benchmarks.cluster_ingest                    # 100 million edges with string names, in 16 files
    python -m benchmarks.cluster_ingest --edges 1000000 --runs 1

Edges are written to parquet files in a temporary folder, block by block, and once more as one file for one
machine. Each run is a fresh process (or ``mpiexec`` of two) of one thread a worker; the two take turns. A
first run on few edges, not recorded, compiles what is to be compiled. Peak memory is that of a process,
interpreter and libraries included. Both give the same matrix, which is checked by sums over its entries.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import (
    RESULTS,
    ROOT,
    child,
    peak_rss,
    provenance,
    replace_section,
    summary,
    versions,
    write_json,
)

OUTPUT = RESULTS / "cluster_ingest.json"
PAGE = ROOT / "docs" / "scaling.md"
WORKERS = 2
UNIT = 16_384  # rows of a unit for 128 dimensions
_BLOCK = 1_000_000


def write_edges(folder: Path, n_edges: int, files: int, seed: int = 0) -> None:
    """Write edges among n_edges / 10 nodes of uneven degrees, named by text: several files, and one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed)
    (folder / "parts").mkdir(parents=True)
    schema = pa.schema([("source", pa.string()), ("target", pa.string())])
    per_file = -(-n_edges // files)
    with pq.ParquetWriter(folder / "whole.parquet", schema) as whole:
        for file in range(files):
            with pq.ParquetWriter(folder / "parts" / f"part-{file:05d}.parquet", schema) as part:
                for lo in range(file * per_file, min((file + 1) * per_file, n_edges), _BLOCK):
                    size = min(_BLOCK, (file + 1) * per_file - lo, n_edges - lo)
                    ends = (n_edges / 10 * rng.random((size, 2)) ** 2).astype(np.int64)
                    names = [pa.array(np.char.add("user-", column.astype("U10"))) for column in ends.T]
                    table = pa.table(names, schema=schema)
                    whole.write_table(table)
                    part.write_table(table)


def spent() -> float:
    """Return the processor seconds of this process, of all its threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def checked(indptr: Any, indices: Any) -> dict[str, int]:
    """Return sums that two equal matrices share, whichever way their rows are cut."""
    return {"entries": len(indices), "columns": int(indices.sum(dtype=np.uint64))}


def read_alone(folder: Path) -> dict[str, Any]:
    """Read on one machine; run in a process of its own."""
    from softvec.affinity import read_graph

    start, before = time.perf_counter(), spent()
    affinity = read_graph(folder / "whole.parquet", n_jobs=1)
    matrix = affinity.counts
    seconds, cpu = time.perf_counter() - start, spent() - before
    return {"seconds": seconds, "cpu": cpu, "peak": [peak_rss()], "nodes": matrix.shape[0],
            **checked(matrix.indptr, matrix.indices)}  # fmt: skip


def read_shared(folder: Path) -> dict[str, Any] | None:
    """Read on the ranks of MPI; rank 0 returns what all spent."""
    from softvec.cluster.ingest import ingest
    from softvec.cluster.mpi import MpiGroup, world

    group = MpiGroup(world())
    group.barrier()
    start, before = time.perf_counter(), spent()
    shard = ingest(folder / "parts", group, unit=UNIT, n_jobs=1).shard
    seconds, cpu = time.perf_counter() - start, spent() - before
    told = group.gather((seconds, cpu, peak_rss(), group.sent, checked(shard.indptr, shard.indices)))
    if group.rank:
        return None
    return {
        "seconds": max(row[0] for row in told),
        "cpu": sum(row[1] for row in told),
        "peak": [row[2] for row in told],
        "sent": sum(row[3] for row in told),
        "nodes": shard.shape[0],
        **{key: sum(row[4][key] for row in told) for key in ("entries", "columns")},
    }


READERS = {"alone": read_alone, "shared": read_shared}


def run(reader: str, folder: Path) -> dict[str, Any]:
    """Run a reader in fresh processes."""
    command = [sys.executable, "-m", "benchmarks.cluster_ingest", "--reader", reader, "--folder", str(folder)]
    if reader == "shared":
        mpiexec = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or "mpiexec"
        command = [mpiexec, "-n", str(WORKERS), *command]
    return child(command, 1)


def compare(n_edges: int, files: int, runs: int) -> dict[str, Any]:
    """Let both readers take turns; return their runs and the ratios."""
    with tempfile.TemporaryDirectory() as name:
        few, many = Path(name) / "few", Path(name) / "many"
        write_edges(few, 1_200_000, 2)
        for reader in READERS:
            run(reader, few)
        write_edges(many, n_edges, files)
        results: dict[str, list[dict[str, Any]]] = {reader: [] for reader in READERS}
        for _ in range(runs):
            for reader in READERS:
                results[reader].append(run(reader, many))
    same = {(row["nodes"], row["entries"], row["columns"]) for rows in results.values() for row in rows}
    if len(same) != 1:
        raise SystemExit(f"the readers differ: {same}")
    cpu = {reader: summary([row["cpu"] for row in rows]) for reader, rows in results.items()}
    peak = {reader: summary([max(row["peak"]) for row in rows]) for reader, rows in results.items()}
    return {
        "edges": n_edges, "files": files, "workers": WORKERS, "results": results,
        "cpu_ratio": cpu["shared"]["median"] / cpu["alone"]["median"],
        "peak_ratio": peak["shared"]["median"] / peak["alone"]["median"],
        "cpu": cpu, "peak": peak,
    }  # fmt: skip


def table(record: dict[str, Any]) -> str:
    """Return the table for the page on scaling."""
    rows = [
        f"| {title} | {record['cpu'][reader]['median']:,.0f} s "
        f"| {record['peak'][reader]['median'] / 2**30:.2f} GiB |"
        for reader, title in (("alone", "one machine"), ("shared", f"{record['workers']} workers"))
    ]
    return "\n".join(
        [
            f"{record['edges']:,} edges with names of text in {record['files']} parquet files, one thread a "
            f"worker, on {record['machine']['processor']}:",
            "",
            "| | processor time, all workers | peak memory of a worker |",
            "|---|---|---|",
            *rows,
            f"| ratio | {record['cpu_ratio']:.2f} | {record['peak_ratio']:.2f} |",
        ]
    )


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--edges", type=int, default=100_000_000)
    parser.add_argument("--files", type=int, default=16)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--reader", choices=list(READERS), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.reader:
        done = READERS[args.reader](args.folder)
        if done is not None:
            print(json.dumps(done))
        return
    record = provenance(threads=1) | compare(args.edges, args.files, args.runs)
    record["versions"] |= versions(["pyarrow", "mpi4py"])
    write_json(args.output, record)
    print(table(record))
    if args.output == OUTPUT and PAGE.exists():
        replace_section(PAGE, "cluster-ingest", table(record))


if __name__ == "__main__":
    main()
