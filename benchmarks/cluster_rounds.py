"""What an exchange in rounds saves, and what rounds of other kinds would cost: counts alone, no times.

    SOFTVEC_DATA=... python -m benchmarks.cluster_rounds

For each graph, in the order of its file, and number of workers: the bytes that a product holds on the worker
that needs most, over the rows that a worker owns on average, all at once and in rounds of 32 columns. Then
two other ways to hold less of a halo. By owner: a worker receives the rows of one owner after the other, so
all ask the same one at the same time; counted is the rows that the busiest worker sends, added up over the
rounds, over the most that a worker sends or receives in one exchange. By batches of four parts of the own
rows: rows that several batches need are sent to each of them; counted is the rows sent, and those of two
batches, which a worker holds if one arrives while the other is used, over the halo. Writes
benchmarks/results/cluster_rounds.json and a table of docs/scaling.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.common import RESULTS, ROOT, provenance, replace_section, write_json
from benchmarks.datasets import load
from benchmarks.partition import owners
from softvec.cluster.halo import Counts, pays

GRAPHS = {"Pubmed": "pubmed", "dblp_prone": "dblp_prone", "moby": "moby", "BlogCatalog": "blogcatalog"}
WORKERS = (8, 64)
DIMENSIONS = (128, 512)
BATCHES = 4


def study(A: sparse.csr_array, workers: int) -> dict[str, Any]:
    """Count everything for one graph and number of workers."""
    n = A.shape[0]
    owner = owners(A, np.arange(n), workers)
    own = np.bincount(owner, minlength=workers)
    reads = np.zeros((workers, n), bool)
    reads[np.repeat(owner, np.diff(A.indptr)), A.indices] = True
    reads[owner, np.arange(n)] = False
    others = reads.sum(axis=1)
    sent = sum(np.bincount(owner, row, minlength=workers) for row in reads)  # by each worker
    first = np.searchsorted(owner, np.arange(workers))
    batch = owner * BATCHES + (np.arange(n) - first[owner]) * BATCHES // own[owner]
    in_batches = np.zeros((workers * BATCHES, n), bool)
    in_batches[np.repeat(batch, np.diff(A.indptr)), A.indices] = True
    for part in range(BATCHES):
        in_batches[owner * BATCHES + part, np.arange(n)] = False
    by_batch = in_batches.sum(axis=1).reshape(workers, BATCHES)
    counts = [Counts(int(a), int(a), int(b)) for a, b in zip(own, others)]
    return {
        "halo": float(others.sum() / n),
        "by_owner": float(sent.sum() / max(sent.max(), others.max())),
        "batches_sent": float(by_batch.sum() / others.sum()),
        "batches_held": float(np.sort(by_batch, axis=1)[:, -2:].sum(axis=1).max() / others.max()),
        "held": {str(d): held(counts, d) for d in DIMENSIONS},
    }


def held(counts: list[Counts], d: int) -> dict[str, Any]:
    """Return the bytes that a product holds on the worker that needs most, over the own rows of the mean."""
    own = sum(each.own for each in counts) / len(counts)
    whole, rounds = (
        max(each.held(d, np.uint16, in_rounds=in_rounds) for each in counts) / own
        for in_rounds in (False, True)
    )
    return {"whole": whole, "rounds": rounds, "pays": pays(counts, d, np.uint16)}


def table(graphs: dict[str, Any]) -> str:
    """Return the table of the documentation."""
    lines = [
        "| graph | workers | halo / own rows | "
        + " | ".join(f"bytes held per own row, d = {d}: at once, in rounds" for d in DIMENSIONS)
        + " | by owner: busiest sender | by batches of rows: sent, held |",
        "|---|---|---|" + "---|" * (len(DIMENSIONS) + 2),
    ]
    for name, by_workers in graphs.items():
        for workers, row in by_workers.items():
            bytes_held = [
                f"{each['whole']:,.0f}, {each['rounds']:,.0f}{' (used)' if each['pays'] else ''}"
                for each in row["held"].values()
            ]
            lines.append(
                f"| {name} | {workers} | {row['halo']:.2f} | {' | '.join(bytes_held)} "
                f"| {row['by_owner']:.1f}x | {row['batches_sent']:.1f}x, {row['batches_held']:.1f}x |"
            )
    return "\n".join(lines)


def main() -> None:
    """Count, write the results and the table."""
    graphs = {name: load(key).adjacency.tocsr() for name, key in GRAPHS.items()}
    counted = {name: {str(k): study(A, k) for k in WORKERS} for name, A in graphs.items()}
    write_json(RESULTS / "cluster_rounds.json", {**provenance(1), "graphs": counted})
    replace_section(ROOT / "docs" / "scaling.md", "cluster-rounds", table(counted))
    print(table(counted))


if __name__ == "__main__":
    main()
