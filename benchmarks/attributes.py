"""Graphs with attributes: one fit of both beside what anybody would try first, and nulls.

    python -m benchmarks.attributes                 # every set that is missing from the JSON
    python -m benchmarks.attributes --quick cora_ml # its times, links and new nodes anew
    python -m benchmarks.attributes --page-only     # write the page from the JSON

All rivals have 128 numbers a node and the same classifier, whose C is chosen on the training half. FastRP
with features needs ``pip install fastrp==0.1.1``; PANE is written here from its paper (Yang et al., VLDB
2020). In two nulls one source says nothing: the attributes of cora_ml are shuffled, or its edges replaced by
random ones.
Writes benchmarks/results/attributes.json and a section of docs/inputs/attributes.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import roc_auc_score
from sklearn.utils.extmath import randomized_svd

import softvec
from benchmarks.common import RESULTS, ROOT, provenance, read_json, replace_section, write_json
from benchmarks.datasets import data_dir
from softvec.embedding.links import pair_logits
from softvec.evaluate import node_classification
from softvec.fit.calibrate import removable_links

RESULT, PAGE = RESULTS / "attributes.json", ROOT / "docs" / "inputs" / "attributes.md"
REAL = ("cora_ml", "citeseer_full", "acm_paper", "blogcatalog_attr", "uai2010")
NULLS = {"cora_ml, attributes shuffled": "attributes", "cora_ml, random edges": "edges"}
D, SEEDS, STEPS, OWN = 128, 3, 8, 0.05
METHODS = ("attributes", "smoothed", "graph", "side by side", "PANE", "FastRP", "softvec")
RESTART, WALK = 0.5, 5  # of PANE: probability that its walk stops at a step, and steps (its defaults)


def load(name: str) -> tuple[sp.csr_array, sp.csr_array, np.ndarray]:
    """Return the graph, attributes and labels of a set or null."""
    file = data_dir() / "attributed" / name.split(",")[0]
    A, F = (sp.csr_array(sp.load_npz(f"{file}{end}.npz")) for end in ("", "_features"))
    labels = np.load(f"{file}_labels.npy")
    rng = np.random.default_rng(5)
    if NULLS.get(name) == "attributes":
        F = F[rng.permutation(len(labels))]
    if NULLS.get(name) == "edges":
        ends = rng.integers(0, len(labels), (2, A.nnz // 2))
        A = sp.coo_array((np.ones(ends.shape[1]), tuple(ends)), A.shape).tocsr()
        A = sp.csr_array((A + A.T) > 0)
        A.setdiag(False)
        A.eliminate_zeros()
    return A, F, labels


def tfidf(F: sp.csr_array, held: np.ndarray | None = None, n: int | None = None) -> sp.csr_array:
    """Return rows of length 1, columns weighted by rarity."""
    held = np.bincount(F.indices, minlength=F.shape[1]) if held is None else held
    weighted = F @ sp.diags_array(np.log((1 + (n or F.shape[0])) / (1 + held)) + 1)
    length = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1)).ravel())
    return sp.csr_array(sp.diags_array(1 / np.maximum(length, 1e-12)) @ weighted)


def svd(M: Any, seed: int) -> np.ndarray:
    """Return the coordinates of rows on the leading singular vectors."""
    U, s, _ = randomized_svd(M, min(D, min(M.shape) - 1), n_iter=4, random_state=seed)
    return U * s


def unit(X: np.ndarray) -> np.ndarray:
    """Return rows of length 1."""
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)


def smoothed(A: sp.csr_array, X: sp.csr_array) -> np.ndarray:
    """Return attributes averaged over 1 to 8 steps of the normalised graph with self loops (SSGC)."""
    loops = A + sp.eye_array(A.shape[0])
    scale = sp.diags_array(np.asarray(loops.sum(axis=1)).ravel() ** -0.5)
    step_matrix = sp.csr_array(scale @ loops @ scale).astype(np.float32)
    own = X.toarray().astype(np.float32)
    step, total = own, np.zeros_like(own)
    for _ in range(STEPS):
        step = step_matrix @ step
        total += step
    return (1 - OWN) / STEPS * total + OWN * own


def pane(A: sp.csr_array, F: sp.csr_array, seed: int) -> np.ndarray:
    """Return the forward and backward vectors of PANE, each of length 1, side by side.

    A walk stops with probability 0.5 at each step. The forward affinity of a node and an attribute is that of
    walks from the node which stop at a node that picks the attribute; the backward affinity is that of walks
    from the attribute which stop at the node. Their shifted logarithms share the vectors of the attributes:
    the best ones by squared error are those of the two matrices stacked, which the paper approaches by
    coordinate descent. The singular value decomposition is a randomised one.
    """
    n, p = F.shape
    walk = sp.csr_array(sp.diags_array(1 / np.maximum(A.sum(axis=1), 1)) @ A).astype(np.float32)

    def affinity(step_matrix: sp.csr_array, start: np.ndarray) -> np.ndarray:
        step, total = start, RESTART * start
        for _ in range(WALK):
            step = (1 - RESTART) * (step_matrix @ step)
            total += RESTART * step
        return total

    R = F.toarray().astype(np.float32)
    forward = affinity(walk, R / np.maximum(R.sum(axis=1, keepdims=True), 1e-12))
    backward = affinity(sp.csr_array(walk.T), R / np.maximum(R.sum(axis=0), 1e-12))
    forward = np.log1p(n * forward / np.maximum(forward.sum(axis=0), 1e-12))
    backward = np.log1p(p * backward / np.maximum(backward.sum(axis=1, keepdims=True), 1e-12))
    U, s, _ = randomized_svd(np.vstack([forward, backward]), D // 2, n_iter=4, random_state=seed)
    return np.hstack([unit(U[:n] * s), unit(U[n:] * s)])


def fastrp(A: sp.csr_array, X: sp.csr_array, seed: int) -> np.ndarray:
    """Return the vectors of FastRP with features; its walk weights are those of benchmarks/peers."""
    from fastrp import FastRP

    model = FastRP(dim=D, weights=[0.0, 0.0, 1.0, 6.0], seed=seed, undirected=False)
    return np.asarray(model.fit_transform(A.astype(float), node_features=X.toarray().astype(float)))


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    """Return a result and the processor time it took."""
    start = time.process_time()
    result = function()
    return result, time.process_time() - start


def seconds(A: sp.csr_array, F: sp.csr_array) -> dict[str, float]:
    """Return the processor times of a decomposition, of the graph alone and of the graph with attributes."""
    X = tfidf(F)
    jobs: dict[str, Callable[[], Any]] = {
        "svd": lambda: svd(X, 0),
        "graph": lambda: softvec.embed(A, D, random_state=0, n_jobs=1),
        "softvec": lambda: softvec.embed(A, D, attributes=F, random_state=0, n_jobs=1),
    }
    spent = {name: [timed(job)[1] for _ in range(SEEDS + 1)][1:] for name, job in jobs.items()}
    return {name: float(np.median(each)) for name, each in spent.items()}


def scores(A: sp.csr_array, F: sp.csr_array, labels: np.ndarray) -> dict[str, Any]:
    """Return micro-F1 at half of the labels of each method, mean of seeds, and the weights."""
    X, around = tfidf(F), None
    values: dict[str, list[float]] = {method: [] for method in METHODS}
    weights = {}
    for seed in range(SEEDS):
        own = svd(X, seed)
        around = unit(svd(smoothed(A, X), 0)) if around is None else around
        graph = softvec.embed(A, D, random_state=seed, n_jobs=1)
        half = softvec.embed(A, D // 2, random_state=seed, n_jobs=1)
        emb = softvec.embed(A, D, attributes=F, random_state=seed, n_jobs=1)
        weights = emb.provenance["attributes"]
        vectors = {
            "attributes": own,
            "smoothed": around,
            "graph": graph.vectors,
            "side by side": np.hstack([unit(half.vectors), unit(own[:, : D // 2])]),
            "PANE": pane(A, F, seed),
            "FastRP": fastrp(A, X, seed),
            "softvec": emb.vectors,
        }
        for method, V in vectors.items():
            result = node_classification(V, labels, repeats=3, random_state=seed)
            values[method].append(100 * result[0.5]["micro_f1"])
    return {
        "micro_f1": {method: float(np.mean(each)) for method, each in values.items()},
        "by_seed": values,
        "agreement": weights["agreement"],
        "weights": weights["weights"],
    }


def links(A: sp.csr_array, F: sp.csr_array) -> dict[str, Any]:
    """Return the AUC of cosines, and of ``emb.links``, on hidden edges against as many random pairs."""
    rng = np.random.default_rng(1)
    upper = sp.triu(A, 1).tocoo()
    hidden = removable_links(upper.row, upper.col, A.shape[0], rng)[: upper.nnz // 10]
    kept = np.setdiff1d(np.arange(upper.nnz), hidden)
    rest = sp.coo_array((np.ones(len(kept)), (upper.row[kept], upper.col[kept])), A.shape)
    pairs = rng.integers(0, A.shape[0], (2, len(hidden)))
    i, j = np.concatenate([[upper.row[hidden], upper.col[hidden]], pairs], axis=1)
    truth = np.repeat([1, 0], len(hidden))
    known = sp.csr_array(rest + rest.T)
    result: dict[str, Any] = {}
    for name, options in (("graph", {}), ("softvec", {"attributes": F})):
        emb = softvec.embed(known, D, random_state=0, n_jobs=1, **options)
        V = unit(emb.vectors)
        result[name] = float(roc_auc_score(truth, np.einsum("ij,ij->i", V[i], V[j])))
        emb = emb.calibrate(known, n_jobs=1, **options)
        logits = pair_logits(emb, known, 1, **options)
        result[f"{name}, calibrated"] = float(roc_auc_score(truth, logits(i, j)))
        result["told by"] = emb.provenance["softmax"].get("source")
    return result


def new_nodes(A: sp.csr_array, F: sp.csr_array, labels: np.ndarray) -> dict[str, float]:
    """Return the accuracy on a tenth of the nodes, hidden from the fit and added by attributes alone."""
    rng = np.random.default_rng(2)
    order = rng.permutation(len(labels))
    new, old = order[: len(order) // 10], np.sort(order[len(order) // 10 :])
    held = np.bincount(F[old].indices, minlength=F.shape[1])
    known, unseen = tfidf(F[old], held, len(old)), tfidf(F[new], held, len(old))
    _, _, V = randomized_svd(known, D, n_iter=4, random_state=0)
    emb = softvec.embed(A[old][:, old], D, attributes=F[old], random_state=0, n_jobs=1)
    rows = F[new].toarray()
    more = emb.add(attributes={f"new {k}": rows[k] for k in range(len(new))})
    result = {}
    for name, (train, test) in {
        "attributes": (known @ V.T, unseen @ V.T),
        "softvec": (emb.vectors, more.vectors[len(old) :]),
    }.items():
        model = LogisticRegressionCV(Cs=np.logspace(-1, 3, 7), cv=3, max_iter=300, scoring="accuracy")
        model.fit(unit(train), labels[old])
        result[name] = 100 * float(model.score(unit(test), labels[new]))
    return result


def render(results: dict[str, Any]) -> str:
    """Return the tables of the page."""
    sets = results["sets"]
    lines = [
        "Micro-F1 in percent at half of the labels, 128 numbers a node, mean of three seeds. *Smoothed* is "
        "SSGC, eight steps; *side by side* is half of the dimensions for each source; PANE is written from "
        "its paper, FastRP is the package fastrp with node features; - is not measured (`python -m "
        "benchmarks.attributes`):",
        "",
        "| | " + " | ".join(METHODS) + " |",
        "|---" * (len(METHODS) + 1) + "|",
    ]
    for name, cell in sets.items():
        best = max(cell["micro_f1"].values())
        shown = [cell["micro_f1"].get(method) for method in METHODS]
        row = ["-" if value is None else f"{value:.1f}" for value in shown]
        row = [f"**{text}**" if value == best else text for text, value in zip(row, shown)]
        lines.append(f"| {name} | " + " | ".join(row) + " |")
    lines += [
        "",
        "Links: AUC on a tenth of the edges, hidden, by cosines, and by what `emb.links` ranks, of "
        "vectors of the graph and of the graph with attributes. New nodes: accuracy on a tenth of the nodes, "
        "hidden, from attributes alone. Time: processor time of the fit beside that of the graph alone plus "
        "one singular value decomposition.",
        "",
        "| | cosine, graph | cosine, softvec | `links`, graph | `links`, softvec | told by | "
        "new nodes, attributes | new nodes, softvec | time |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, cell in sets.items():
        if name in NULLS:
            continue
        spent = cell["processor_seconds"]
        ratio = spent["softvec"] / (spent["graph"] + spent["svd"])
        told = cell["links"]
        shown = [told.get(key) for key in ("graph", "softvec", "graph, calibrated", "softvec, calibrated")]
        row = ["-" if value is None else f"{value:.3f}" for value in shown] + [told.get("told by", "-")]
        row += [f"{cell['new_nodes'][key]:.1f}" for key in ("attributes", "softvec")] + [f"{ratio:.1f}x"]
        lines.append(f"| {name} | " + " | ".join(row) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure what is missing; write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", metavar="SET", nargs="+", default=(), help="times, links and new nodes")
    parser.add_argument("--page-only", action="store_true", help="write the page from the JSON")
    chosen = parser.parse_args()
    results = read_json(RESULT, {"sets": {}})
    for name in () if chosen.page_only else (*REAL, *NULLS):
        cell = results["sets"].get(name)
        if cell is None or name in chosen.quick:
            A, F, labels = load(name)
            cell = scores(A, F, labels) if cell is None else cell
            if name in REAL:
                cell |= {"processor_seconds": seconds(A, F), "links": links(A, F)}
                cell |= {"new_nodes": new_nodes(A, F, labels)}
            results = {**provenance(1), "sets": {**results["sets"], name: cell}}
            write_json(RESULT, results)
    replace_section(PAGE, "attributes", render(results))


if __name__ == "__main__":
    main()
