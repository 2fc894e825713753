"""Does renumbering the nodes, so that neighbours lie close in memory, pay for itself?

    SOFTVEC_DATA=... python -m benchmarks.reordering

An epoch reads the rows of all neighbours. For each graph and order: seconds to find the order and to permute
the matrix, seconds of an epoch before and after, and the epochs it takes to earn the first back. Graphs come
as they are, and with their nodes shuffled: a graph read from a file has the order of the file, which often is
a good one. Writes benchmarks/results/reordering.json and the table of docs/log/engineering.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, reverse_cuthill_mckee

from benchmarks.common import RESULTS, ROOT, interleave, provenance, replace_section, summary, write_json
from benchmarks.datasets import load
from benchmarks.rmat import rmat
from softvec.core.machine import machine
from softvec.fit.engine import Engine
from softvec.fit.problem import Problem, random_start
from softvec.operators import Sparse, row_normalize

DIMENSION, THREADS = 128, 2


def by_degree(A: sparse.csr_array) -> np.ndarray:
    """Return the nodes from hub to leaf: the rows that everybody reads come to lie together."""
    return np.argsort(-np.diff(A.indptr), kind="stable")


def by_breadth(A: sparse.csr_array) -> np.ndarray:
    """Return the nodes as a breadth-first search from the largest hub meets them, then the rest."""
    met = breadth_first_order(A, int(np.argmax(np.diff(A.indptr))), return_predecessors=False)
    rest = np.ones(A.shape[0], bool)
    rest[met] = False
    return np.concatenate([met, np.flatnonzero(rest)])


ORDERS: dict[str, Callable[[sparse.csr_array], np.ndarray]] = {
    "degree": by_degree,
    "breadth-first": by_breadth,
    "reverse Cuthill-McKee": lambda A: reverse_cuthill_mckee(A, symmetric_mode=True),
}


def graphs() -> dict[str, Callable[[], sparse.csr_array]]:
    """Return how to make each graph."""
    return {
        "blogcatalog": lambda: load("blogcatalog").adjacency,
        "dblp_prone": lambda: load("dblp_prone").adjacency,
        "moby": lambda: load("moby").adjacency,
        "R-MAT, 1,000,000 nodes": lambda: rmat(1_000_000, 10_000_000, random_state=0),
    }


def permuted(A: sparse.csr_array, order: np.ndarray) -> sparse.csr_array:
    """Return A with the node ``order[i]`` at place i."""
    return A[order][:, order].tocsr()


def epochs(matrices: dict[str, sparse.csr_array]) -> dict[str, dict[str, Any]]:
    """Time an epoch on each matrix, in turn."""
    with machine(THREADS) as pool:
        engines = {}
        for name, A in matrices.items():
            X = random_start(A.shape[0], DIMENSION, 0, 0, np.float32, pool)
            problem = Problem(row_normalize(Sparse(A, symmetric=True)), beta=6.0, regularization=0.0)
            engines[name] = Engine(problem, X, None, pool, epochs=1000)
        found = interleave(
            {name: lambda engine=engine: engine.epoch(0.1) for name, engine in engines.items()}, 5
        )
    return {name: summary(values) for name, values in found.items()}


def study(A: sparse.csr_array) -> dict[str, Any]:
    """Return costs and gains of every order, for the graph as it is and shuffled."""
    A = sparse.csr_array(A)
    A.data = np.ones(len(A.data), np.float32)
    shuffled = permuted(A, np.random.default_rng(0).permutation(A.shape[0]))
    results = {}
    for start, matrix in (("as it is", A), ("shuffled", shuffled)):
        matrices, cost = {"none": matrix}, {}
        for name, order in ORDERS.items():
            begin = time.perf_counter()
            matrices[name] = permuted(matrix, order(matrix))
            cost[name] = time.perf_counter() - begin
        seconds = epochs(matrices)
        results[start] = {"seconds": seconds, "cost": cost}
    return {"nodes": A.shape[0], "entries": A.nnz, "results": results}


def table(data: dict[str, Any]) -> str:
    """Return the results as Markdown."""
    lines = ["| graph | order | epoch | to reorder | paid back after |", "|---|---|---|---|---|"]
    for graph, found in data["graphs"].items():
        for start, one in found["results"].items():
            before = one["seconds"]["none"]["median"]
            lines.append(f"| {graph}, {start} | none | {1000 * before:.0f} ms | | |")
            for name, cost in one["cost"].items():
                after = one["seconds"][name]["median"]
                gain = before - after
                back = f"{cost / gain:.0f} epochs" if gain > 0.02 * before else "never"
                lines.append(
                    f"| {graph}, {start} | {name} | {1000 * after:.0f} ms | {1000 * cost:.0f} ms | {back} |"
                )
    return "\n".join(lines)


def main() -> None:
    """Measure all graphs and write JSON and table."""
    data: dict[str, Any] = {**provenance(THREADS), "graphs": {}}
    for name, make in graphs().items():
        data["graphs"][name] = study(make())
        print(name, {k: v["cost"] for k, v in data["graphs"][name]["results"].items()}, flush=True)
    write_json(RESULTS / "reordering.json", data)
    replace_section(ROOT / "docs" / "log" / "engineering.md", "reordering", table(data))
    print(table(data))


if __name__ == "__main__":
    main()
