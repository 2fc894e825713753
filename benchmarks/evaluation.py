"""Time and memory of the generators, and of the classifier behind node classification.

    python -m benchmarks.evaluation [--quick]

Writes `benchmarks/results/evaluation.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import RESULTS, ROOT, interleave, peak_rss, provenance, summary, write_json

_DEGREE = 20  # mean degree of the generated graphs: ten edges per node


def generate(kind: str, edges: int) -> dict[str, Any]:
    """Draw a graph in this process, after a small one for compilation, and report time and peak memory."""
    from softvec.generators import dcsbm, rmat

    def draw(n: int) -> Any:
        if kind == "rmat":
            return rmat(n, n * _DEGREE // 2, random_state=0)
        return dcsbm(n, c=_DEGREE, q=100, alpha=4.0, random_state=0).adjacency

    draw(1000)
    start = time.perf_counter()
    A = draw(2 * edges // _DEGREE)
    return {
        "kind": kind,
        "drawn": edges,
        "edges": A.nnz // 2,
        "seconds": time.perf_counter() - start,
        "peak_rss": peak_rss(),
    }


def in_child(kind: str, edges: int) -> dict[str, Any]:
    """Run :func:`generate` in a process of its own, so that its peak memory is its own."""
    command = [sys.executable, "-m", "benchmarks.evaluation", "--generate", kind, str(edges)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def classifiers(repeats: int) -> dict[str, Any]:
    """Time one-vs-rest logistic regressions on half of BlogCatalog, on spectral vectors of 128 dimensions."""
    import scipy.sparse as sp
    from scipy.sparse.linalg import svds
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import f1_score
    from sklearn.multiclass import OneVsRestClassifier

    from softvec import datasets
    from softvec.embedding.logistic import decision, fit_one_vs_rest
    from softvec.evaluate.classification import top_labels

    beside = ROOT.parent / "shared" / "data"
    if "SOFTVEC_DATA" not in os.environ and beside.is_dir():
        os.environ["SOFTVEC_DATA"] = str(beside)
    graph = datasets.load("blogcatalog")
    Y = graph.labels.toarray() != 0
    scale = sp.diags_array(1 / np.sqrt(np.diff(graph.adjacency.indptr) + 1.0))
    X, _, _ = svds(scale @ graph.adjacency.astype(float) @ scale, k=128, random_state=0)
    X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
    train, test = np.split(np.random.default_rng(0).permutation(len(X)), [len(X) // 2])
    fits: dict[str, Any] = {}
    for C in (1.0, 10.0):
        fits[f"softvec, C = {C:g}"] = lambda C=C: decision(X[test], fit_one_vs_rest(X[train], Y[train], C))
        for solver in ("liblinear", "newton-cholesky"):
            model = OneVsRestClassifier(LogisticRegression(C=C, solver=solver))
            fits[f"{solver}, C = {C:g}"] = lambda model=model: model.fit(
                X[train], Y[train].astype(int)
            ).decision_function(X[test])
    found = {
        name: {"seconds": summary(seconds)} for name, seconds in interleave(fits, repeats, warm_up=0).items()
    }
    for name, fit in fits.items():
        predicted = top_labels(fit(), Y[test].sum(axis=1))
        for average in ("micro", "macro"):
            found[name][f"{average}_f1"] = float(
                f1_score(Y[test], predicted, average=average, zero_division=0)
            )
    return found


def main() -> None:
    """Run everything and write the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.evaluation", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a million edges, two repeats")
    parser.add_argument("--generate", nargs=2, metavar=("KIND", "EDGES"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.generate:
        print(json.dumps(generate(options.generate[0], int(options.generate[1]))))
        return
    sizes = [10**6] if options.quick else [10**6, 10**7, 10**8]
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    content = {
        "provenance": provenance(threads),
        "generators": [in_child(kind, size) for kind in ("rmat", "dcsbm") for size in sizes],
        "classifiers": classifiers(2 if options.quick else 5),
    }
    path: Path = RESULTS / ("evaluation_quick.json" if options.quick else "evaluation.json")
    write_json(path, content)
    print(path)


if __name__ == "__main__":
    main()
