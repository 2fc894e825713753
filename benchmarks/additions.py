"""New items and changed edges: how good, and how soon, against fitting anew.

Three questions, each with its rival in the same run:

- quality: a tenth of Cora's nodes is hidden, the rest embedded, the hidden ones added by their edges, and
  their labels predicted; against `EDRep.transform` of the same rows, and nodes that were never hidden;
- bulk: a million additions against the bare sparse product of their edges with the vectors;
- updates: 1% of the edges changed, `softvec.embed(graph, init=emb)` against a new fit: time and exact loss.

    python -m benchmarks.additions    # some minutes on two cores

Writes benchmarks/results/additions.json and a table of docs/embedding.md.
"""

from __future__ import annotations

import statistics
import time
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

import softvec
from benchmarks.common import RESULTS, ROOT, provenance, read_json, replace_section, write_json
from benchmarks.peers.graphs import load
from softvec import EDRep, Embedding
from softvec.operators import Powers, row_normalize

SPLITS, REPEATS, D = 5, 3, 128
UPDATED = ("ppi", "blogcatalog", "pubmed", "dblp_prone")


def quality(seed: int) -> dict[str, float]:
    """Return the accuracy on hidden nodes that have a neighbour: added, transformed, and never hidden."""
    graph = load("cora")
    A, y = sp.csr_array(graph.A), np.asarray(graph.labels)
    order = np.random.default_rng(seed).permutation(len(y))
    old, hidden = np.sort(order[len(y) // 10 :]), np.sort(order[: len(y) // 10])
    E = sp.csr_array(A[hidden][:, old])
    hidden, E = hidden[np.diff(E.indptr) > 0], E[np.diff(E.indptr) > 0]
    emb = softvec.embed(sp.csr_array(A[old][:, old]), D, names=old.tolist(), random_state=seed)
    known = dict(zip(old.tolist(), y[old].tolist()))
    fit = emb.provenance["parameters"]
    walk = Powers(row_normalize(sp.csr_array(A[old][:, old])), 3)
    model = EDRep(D, beta=fit["beta"], n_epochs=fit["n_epochs"], random_state=seed).fit(walk)
    transformed = Embedding(
        np.concatenate([model.embedding_, model.transform(E)]), [*old.tolist(), *hidden.tolist()]
    )
    runs = {
        "added": emb.add(E, names=hidden.tolist()),
        "transformed": transformed,
        "never hidden": softvec.embed(A, D, random_state=seed),
    }
    truth = dict(zip(hidden.tolist(), y[hidden].tolist()))
    scores = {}
    for name, run in runs.items():
        found = run.predict(known).to_dict()
        scores[name] = 100 * float(np.mean([found[node] == label for node, label in truth.items()]))
    return scores


def bulk(n: int = 100_000, k: int = 1_000_000, edges: int = 10) -> dict[str, float]:
    """Return seconds of a million additions, and of the product of their edges with the vectors alone."""
    rng = np.random.default_rng(0)
    V = rng.standard_normal((n, D)).astype(np.float32)
    emb = Embedding(V / np.linalg.norm(V, axis=1)[:, None], provenance={"parameters": {"beta": 6.0}})
    indices = np.sort(rng.integers(0, n, (k, edges)), axis=1).ravel()
    matrix = sp.csr_array(
        (np.ones(k * edges, np.float32), indices, np.arange(0, k * edges + 1, edges)), (k, n)
    )
    matrix.sum_duplicates()
    names = np.arange(n, n + k)
    operator, found = row_normalize(matrix), {"add": [], "operator product": [], "scipy product": []}
    emb.add(matrix[:2000], names=names[:2000])  # compiles
    operator @ emb.vectors
    for _ in range(REPEATS):
        found["add"].append(seconds(lambda: emb.add(matrix, names=names)))
        found["operator product"].append(seconds(lambda: operator @ emb.vectors))
        found["scipy product"].append(seconds(lambda: matrix @ emb.vectors))
    return {"items": k, "edges": int(matrix.nnz), **{key: statistics.median(v) for key, v in found.items()}}


def seconds(work: Any) -> float:
    """Return how long a call takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def changed(A: sp.csr_array, share: float, seed: int) -> sp.csr_array:
    """Return a graph with a share of its edges changed: half of them removed, as many new ones at random."""
    rng = np.random.default_rng(seed)
    upper = sp.triu(A, 1).tocoo()
    keep = rng.permutation(upper.nnz)[round(share * upper.nnz / 2) :]
    new = rng.integers(0, A.shape[0], (2, round(share * upper.nnz / 2)))
    new = new[:, new[0] != new[1]]
    i, j = np.concatenate([upper.row[keep], new[0]]), np.concatenate([upper.col[keep], new[1]])
    B = sp.coo_array((np.ones(len(i)), (i, j)), shape=A.shape).tocsr()
    B = sp.csr_array(B + B.T)
    B.data[:] = 1
    return B


def exact_loss(emb: Embedding, A: sp.csr_array) -> float:
    """Return the exact loss on 2,000 rows of the walk of three steps."""
    unit = emb.vectors / np.linalg.norm(emb.vectors, axis=1, keepdims=True)
    beta = emb.provenance["parameters"]["beta"]
    model = EDRep(emb.n_components, beta=beta, n_epochs=0, init=unit, random_state=0)
    return float(model.fit(Powers(row_normalize(A), 3)).diagnose(2000).exact_loss)


def update(name: str) -> dict[str, Any]:
    """Return seconds and exact loss of updates and of new fits of a graph with 1% of its edges changed."""
    A = sp.csr_array(load(name).A).astype(float)
    A = sp.csr_array(A.maximum(A.T))
    A.setdiag(0)
    A.eliminate_zeros()
    A.data[:] = 1
    B = changed(A, 0.01, 0)
    losses, times = {"before": [], "update": [], "new fit": []}, {"update": [], "new fit": []}
    for seed in range(REPEATS):
        old = softvec.embed(A, D, random_state=seed)
        losses["before"].append(exact_loss(old, B))
        for kind, options in (("update", {"init": old}), ("new fit", {"random_state": seed + 100})):
            if not times[kind]:
                softvec.embed(B, D, **options)  # compiles
            run = softvec.embed(B, D, **options)
            times[kind].append(run.provenance["seconds"]["fitting"])
            losses[kind].append(exact_loss(run, B))
    return {
        "nodes": A.shape[0],
        "edges": A.nnz // 2,
        "seconds": {kind: statistics.median(values) for kind, values in times.items()},
        "sooner": statistics.median(b / a for a, b in zip(times["update"], times["new fit"])),
        "exact_loss": {kind: statistics.mean(values) for kind, values in losses.items()},
        "spread": max(losses["new fit"]) - min(losses["new fit"]),
    }


def table(data: dict[str, Any]) -> str:
    """Return the updates as Markdown."""
    lines = [
        "| graph | edges | new fit | update | speed-up | exact loss: before | update | new fit |",
        "|---" * 8 + "|",
    ]
    for name, row in data["updates"].items():
        times = " | ".join(f"{row['seconds'][kind]:.2f} s" for kind in ("new fit", "update"))
        losses = " | ".join(f"{row['exact_loss'][kind]:.4f}" for kind in ("before", "update", "new fit"))
        lines.append(f"| {name} | {row['edges']:,} | {times} | {row['sooner']:.1f}x | {losses} |")
    return "\n".join(lines)


def text(data: dict[str, Any]) -> str:
    """Return the quality of additions and the time of many, as a sentence each."""
    added, transformed, there = (f"{value['mean']:.1f}%" for value in data["quality"].values())
    bulk, product = data["bulk"], data["bulk"]["operator product"]
    return "\n".join(
        [
            "A tenth of Cora's nodes is hidden and then added by their edges: `emb.predict` is right for",
            f"{added} of them, for {transformed} with vectors of `EDRep.transform`, and for {there} if they",
            f"were never hidden ({SPLITS} splits). Adding {bulk['items']:,} items with {bulk['edges']:,}",
            f"edges takes {bulk['add']:.1f} s, the bare product of edges and vectors {product:.1f} s",
            f"({bulk['scipy product']:.1f} s with SciPy); `python -m benchmarks.additions`.",
        ]
    )


def main() -> None:
    """Measure what is missing, and write the JSON and the table."""
    warnings.simplefilter("ignore")
    path = RESULTS / "additions.json"
    data: dict[str, Any] = read_json(path, {"updates": {}})
    if "quality" not in data:
        splits = [quality(seed) for seed in range(SPLITS)]
        data["quality"] = {
            key: {
                "mean": statistics.mean(s[key] for s in splits),
                "spread": statistics.stdev(s[key] for s in splits),
            }
            for key in splits[0]
        }
        print(data["quality"], flush=True)
    for name in UPDATED:
        if name not in data["updates"]:
            data["updates"][name] = update(name)
            print(name, data["updates"][name], flush=True)
            write_json(path, {**provenance(2), **data})
    if "bulk" not in data:
        data["bulk"] = bulk()
        print(data["bulk"], flush=True)
    write_json(path, {**provenance(2), **data})
    page = ROOT / "docs" / "embedding.md"
    replace_section(page, "updates", table(data))
    replace_section(page, "additions", text(data))


if __name__ == "__main__":
    main()
