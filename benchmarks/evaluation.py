"""Time and memory of the generators, and of the classifier behind node classification.

    python -m benchmarks.evaluation [--quick] [--only classifiers]

Writes `benchmarks/results/evaluation.json` and the table of classifiers in `docs/tasks.md`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import (
    RESULTS,
    ROOT,
    child,
    cores,
    interleave,
    peak_rss,
    provenance,
    read_json,
    replace_section,
    summary,
    write_json,
)

_DEGREE = 20  # mean degree of the generated graphs: ten edges per node


def generate(kind: str, edges: int) -> dict[str, Any]:
    """Draw a graph in this process, after a small one for compilation, and report time and peak memory."""
    from benchmarks.rmat import rmat
    from experiments.generators import dcsbm

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
    return child([sys.executable, "-m", "benchmarks.evaluation", "--generate", kind, edges], None)


def classifiers(repeats: int) -> dict[str, Any]:
    """Measure the processor time of one-vs-rest logistic regressions on half of the nodes of two graphs."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    import softvec
    from benchmarks import datasets
    from softvec.embedding.logistic import decision, fit_one_vs_rest
    from softvec.evaluate.classification import top_labels
    from softvec.names.align import label_matrix

    results: dict[str, Any] = {}
    for name in ("cora", "ppi"):
        graph = datasets.load(name)
        X = softvec.embed(graph.adjacency, random_state=0).vectors
        Y, _ = label_matrix(graph.labels, len(X))
        train, test = np.split(np.random.default_rng(0).permutation(len(X)), [len(X) // 2])
        fits: dict[str, Any] = {}
        for C in (1.0, 10.0):
            fits[f"softvec, C = {C:g}"] = lambda C=C, X=X, Y=Y, train=train, test=test: decision(
                X[test], fit_one_vs_rest(X[train], Y[train], C)
            )
            for solver in ("lbfgs", "liblinear", "newton-cholesky"):
                model = OneVsRestClassifier(LogisticRegression(C=C, solver=solver))
                fits[f"{solver}, C = {C:g}"] = lambda m=model, X=X, Y=Y, train=train, test=test: m.fit(
                    X[train], Y[train].astype(int)
                ).decision_function(X[test])
        times = interleave(fits, repeats, clock=time.process_time)
        results[name] = {label: {"seconds": summary(seconds)} for label, seconds in times.items()}
        for label, fit in fits.items():
            predicted = top_labels(fit(), Y[test].sum(axis=1))
            results[name][label]["micro_f1"] = float((predicted & Y[test]).sum() / Y[test].sum())
        results[name]["softvec, C by cross-validation"] = cross_validated(X, graph.labels, repeats)
    return results


def cross_validated(X: np.ndarray, labels: Any, repeats: int) -> dict[str, Any]:
    """Time the default of node classification, one split at a time."""
    from softvec.evaluate import node_classification

    seconds, scores = [], []
    for seed in range(repeats):
        start = time.process_time()
        scores.append(node_classification(X, labels, repeats=1, random_state=seed)[0.5]["micro_f1"])
        seconds.append(time.process_time() - start)
    return {"seconds": summary(seconds), "micro_f1": float(np.mean(scores))}


def table(results: dict[str, Any]) -> str:
    """Return the Markdown table of the classifiers: seconds, and micro-F1 in percent."""
    names = list(results)
    lines = ["| classifier | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    for label in results[names[0]]:
        cells = [
            f"{results[name][label]['seconds']['median']:.2g} s, {100 * results[name][label]['micro_f1']:.1f}"
            for name in names
        ]
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run a part, or everything, and write the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.evaluation", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a million edges, two repeats")
    parser.add_argument("--large", action="store_true", help="also 100 million edges")
    parser.add_argument("--only", choices=("generators", "classifiers"), help="run one part")
    parser.add_argument("--generate", nargs=2, metavar=("KIND", "EDGES"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.generate:
        print(json.dumps(generate(options.generate[0], int(options.generate[1]))))
        return
    path: Path = RESULTS / ("evaluation_quick.json" if options.quick else "evaluation.json")
    content = read_json(path, {})
    if options.only != "classifiers":
        sizes = [10**6] if options.quick else [10**6, 10**7] + [10**8] * options.large
        graphs = [in_child(kind, size) for kind in ("rmat", "dcsbm") for size in sizes]
        content["generators"] = {"provenance": provenance(cores()), "graphs": graphs}
    if options.only != "generators":
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):
            rows = classifiers(2 if options.quick else 5)
        content["classifiers"] = {"provenance": provenance(1), "clock": "processor time", "graphs": rows}
        if not options.quick:
            replace_section(ROOT / "docs" / "tasks.md", "classifiers", table(rows))
    write_json(path, content)
    print(path)


if __name__ == "__main__":
    main()
