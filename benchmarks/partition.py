"""How many rows workers read of each other, by the order of rows, and by a partition in two dimensions.

    SOFTVEC_DATA=... python -m benchmarks.partition

Counts alone, no times. For each graph and number of workers: rows that all workers read of others, over the
rows there are, with rows in the order of the data, at random, in the order of softvec.cluster.partition, and
by METIS where pymetis is installed; and the share of local rows, whose neighbours all lie with their worker.
Ranges of rows are cut where entries, and 32 for each row, are even; not at whole units: such graphs have few.
In two dimensions a worker holds a block of rows and columns: it reads the vectors of the columns, and sends
partial sums of the rows in single precision, which count twice. Writes benchmarks/results/partition.json and
a table of docs/scaling.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.common import RESULTS, ROOT, provenance, replace_section, write_json
from benchmarks.datasets import load
from benchmarks.rmat import rmat
from softvec.cluster.partition import PARTS, stream_order

GRIDS = {2: (2, 1), 8: (4, 2), 64: (8, 8)}
METIS_ENTRIES = 5_000_000  # above, METIS takes minutes and gibibytes
PER_ROW = 32  # entries that the rest of a row's step takes, at 128 dimensions


def owners(A: sparse.csr_array, order: np.ndarray, workers: int) -> np.ndarray:
    """Return which worker each row lies with, by ranges of about even work in an order."""
    work = np.cumsum((np.diff(A.indptr) + PER_ROW)[order])
    owner = np.empty(len(order), np.int64)
    owner[order] = np.minimum(work * workers // (work[-1] + 1), workers - 1)
    return owner


def metis(A: sparse.csr_array, workers: int) -> np.ndarray | None:
    """Return a partition by METIS, balanced by work; None where it is not installed, or for a large graph."""
    if A.nnz > METIS_ENTRIES:
        return None
    try:
        import pymetis
    except ImportError:
        return None
    weights = (np.diff(A.indptr) + PER_ROW).tolist()
    adjacency = pymetis.CSRAdjacency(A.indptr, A.indices)
    return np.asarray(pymetis.part_graph(workers, adjacency=adjacency, vweights=weights)[1])


def count_pairs(worker: np.ndarray, row: np.ndarray, n: int) -> int:
    """Count the distinct pairs of a worker and one of n rows."""
    met = np.zeros((max(GRIDS), n), bool)
    met[worker, row] = True
    return int(np.count_nonzero(met))


def in_one_dimension(A: sparse.csr_array, owner: np.ndarray) -> dict[str, float]:
    """Return the halo over the own rows, the share of local rows, and that of their entries."""
    n = A.shape[0]
    reader = np.repeat(owner, np.diff(A.indptr))
    remote = reader != owner[A.indices]
    local = np.ones(n, bool)
    local[np.repeat(np.arange(n), np.diff(A.indptr))[remote]] = False
    return {
        "halo": count_pairs(reader[remote], A.indices[remote], n) / n,
        "local_rows": float(local.mean()),
        "local_entries": float(np.diff(A.indptr)[local].sum() / A.nnz),
    }


def in_two_dimensions(A: sparse.csr_array, owner: np.ndarray, grid: tuple[int, int]) -> float:
    """Return what workers on a grid read and send, in vectors of half precision over the own rows.

    Worker (a, b) owns the rows of number a * columns + b, and holds the entries of the rows of all (a, *) in
    the columns of all (*, b).
    """
    n, (_, across) = A.shape[0], grid
    rows = np.repeat(np.arange(n), np.diff(A.indptr))
    worker = owner[rows] // across * across + owner[A.indices] % across
    read, summed = worker != owner[A.indices], worker != owner[rows]
    vectors = count_pairs(worker[read], A.indices[read], n)
    return (vectors + 2 * count_pairs(worker[summed], rows[summed], n)) / n


def study(A: sparse.csr_array) -> dict[str, Any]:
    """Count everything for one graph."""
    n = A.shape[0]
    A = A.tocsr()
    orders = {
        "data": np.arange(n),
        "random": np.random.default_rng(0).permutation(n),
        "stream": stream_order(A.indptr, A.indices),
    }
    result: dict[str, Any] = {"nodes": n, "entries": int(A.nnz), "workers": {}}
    for workers, grid in GRIDS.items():
        owner = {name: owners(A, order, workers) for name, order in orders.items()}
        by_metis = metis(A, workers)
        if by_metis is not None:
            owner["metis"] = by_metis
        result["workers"][str(workers)] = {
            name: {**in_one_dimension(A, who), "two_dimensions": in_two_dimensions(A, who, grid)}
            for name, who in owner.items()
        }
    return result


def table(graphs: dict[str, Any]) -> str:
    """Return the table of the documentation."""
    lines = [
        "| graph | workers | order of the data | random | stream | METIS | two dimensions: random / stream "
        "| local rows (their entries): data, stream |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, graph in graphs.items():
        for workers, by in graph["workers"].items():
            halos = [f"{by[o]['halo']:.2f}" if o in by else "" for o in ("data", "random", "stream", "metis")]
            flat = [f"{by[order]['two_dimensions']:.2f}" for order in ("random", "stream")]
            local = [
                f"{by[order]['local_rows']:.0%} ({by[order]['local_entries']:.0%})"
                for order in ("data", "stream")
            ]
            cells = [name, workers, *halos, " / ".join(flat), ", ".join(local)]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Count, write the results and the table."""
    graphs = {
        "Pubmed": load("pubmed").adjacency,
        "dblp_prone": load("dblp_prone").adjacency,
        "moby": load("moby").adjacency,
        "BlogCatalog": load("blogcatalog").adjacency,
        "R-MAT, 1,000,000 nodes": rmat(1_000_000, 10_000_000, random_state=0),
    }
    counted = {name: study(A) for name, A in graphs.items()}
    write_json(RESULTS / "partition.json", {**provenance(1), "parts": PARTS, "graphs": counted})
    replace_section(ROOT / "docs" / "scaling.md", "partition", table(counted))


if __name__ == "__main__":
    main()
