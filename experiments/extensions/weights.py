"""Any non-negative P: row sums as weights of the rows.

`normalize=False` keeps the sums. Here rows of the walk matrix (three steps) are multiplied by a power of the
degree, or the walk is replaced by the symmetrically normalised adjacency D^-1/2 A D^-1/2, whose rows sum to
anything.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import datasets
from experiments.common import COLORS, Results, mean_spread, table
from experiments.extensions.temporal_distance import matched_distance
from experiments.generators import dcsbm
from softvec import EDRep
from softvec.core.checks import unit_rows
from softvec.embedding.groups import k_means
from softvec.evaluate import node_classification, partition_scores
from softvec.operators import Operator, Powers, as_operator, row_normalize

SYMMETRIC = "symmetric"


def matrix(A: sp.csr_array, kind: float | str) -> Operator:
    """Return D^kind times the walk matrix, or the mean of powers of D^-1/2 A D^-1/2."""
    degrees = np.maximum(np.diff(A.indptr), 1).astype(np.float64)
    if kind == SYMMETRIC:
        root = sp.diags_array(degrees**-0.5)
        return Powers(as_operator(sp.csr_array(root @ A @ root)), 3)
    return Powers(row_normalize(as_operator(A)), 3).scale_rows(degrees ** float(kind))


def run(settings: dict[str, Any], results: Results) -> None:
    """Fill in the records that are missing."""
    kinds = [*settings["powers"], SYMMETRIC]
    for sample in range(settings["samples"]):
        for problem in [settings["graph"], *settings["alphas"]]:
            if results.has(method="weights", problem=str(problem), sample=sample):
                continue
            A, labels = _problem(problem, settings, sample)
            for gradient in settings["gradients"]:
                first = None
                for kind in sorted(kinds, key=lambda kind: kind != 0):  # no weights first
                    model = EDRep(settings["d"], gradient=gradient, normalize=False, random_state=sample)
                    X = model.fit(matrix(A, kind)).embedding_
                    first = X if first is None else first
                    results.add(
                        method="weights", problem=str(problem), sample=sample, gradient=gradient,
                        weights=str(kind), score=_score(problem, X, labels, settings, sample),
                        moved=matched_distance(first, X),
                    )  # fmt: skip
        print(f"weights: sample {sample} done", flush=True)


def _problem(problem: float | str, settings: dict[str, Any], sample: int) -> tuple[sp.csr_array, Any]:
    if isinstance(problem, str):
        graph = datasets.load(problem)
        return sp.csr_array(graph.adjacency, dtype=np.float64), graph.labels
    made = dcsbm(settings["n"], c=10, q=4, alpha=problem, random_state=sample)
    kept = np.flatnonzero(np.diff(made.adjacency.indptr))
    return sp.csr_array(made.adjacency[kept][:, kept], dtype=np.float64), made.labels[kept]


def _score(problem: float | str, X: np.ndarray, labels: Any, settings: dict[str, Any], seed: int) -> float:
    if isinstance(problem, str):
        scores = node_classification(X, labels, repeats=settings["repeats"], C=1.0, random_state=seed)
        return scores[0.5]["micro_f1"]
    groups = k_means(
        unit_rows(X),
        len(np.unique(labels)),
        n_init=5,
        random_state=np.random.default_rng(seed),
        batches=False,
    )
    return partition_scores(labels, groups)["nmi"]


def summarize(settings: dict[str, Any], results: Results) -> dict[str, Any]:
    """Return mean scores by gradient, weights and problem, and how far weights move the vectors."""
    problems = [str(problem) for problem in (settings["graph"], *settings["alphas"])]
    scores: dict[str, Any] = {}
    moved: dict[str, list[float]] = {}
    for gradient in settings["gradients"]:
        for kind in map(str, (*settings["powers"], SYMMETRIC)):
            for problem in problems:
                rows = results.select(method="weights", gradient=gradient, weights=kind, problem=problem)
                mean, spread = mean_spread([row["score"] for row in rows])
                entry = {"score": mean, "spread": spread}
                scores.setdefault(gradient, {}).setdefault(kind, {})[problem] = entry
                if kind != SYMMETRIC:
                    moved.setdefault(gradient, []).extend(row["moved"] for row in rows)
    largest = {gradient: max(found) for gradient, found in moved.items()}
    return {"scores": scores, "moved": largest, "problems": problems, "n": settings["n"]}


def draw(axis: Any, summary: dict[str, Any]) -> None:
    """Draw the NMI of the block models against the weights."""
    for gradient, color in (("row", "softvec"), ("full", "authors")):
        by_kind = summary["scores"][gradient]
        for problem, marker, line in zip(summary["problems"][1:], "os", ("-", "--")):
            entries = [found[problem] for found in by_kind.values()]
            values, spread = ([entry[key] for entry in entries] for key in ("score", "spread"))
            axis.errorbar(
                range(len(values)), values, spread, color=COLORS[color], marker=marker, ls=line, ms=4,
                capsize=2, label=f"{gradient} gradient, $\\alpha$ = {problem}",
            )  # fmt: skip
    kinds = summary["scores"]["row"]
    names = [kind if kind == SYMMETRIC else f"$D^{{{float(kind):g}}}W$" for kind in kinds]
    axis.set_xticks(range(len(names)), names)
    axis.set_ylim(None, 1.3 * axis.get_ylim()[1])
    axis.set(xlabel="P ($W$: walk, $D$: degrees)", ylabel="normalised mutual information")
    axis.legend(fontsize=7, ncol=2, loc="upper center")


def _name(kind: str) -> str:
    return kind if kind == SYMMETRIC else f"degree ^{float(kind):g}"


_TEXT = """**Any non-negative P.** Rows of the walk matrix times a power of the degree, and the
symmetrically normalised adjacency; micro-F1 on {graph} and NMI on block models of {n:,} nodes, in percent.
With the row gradient (the default) the row sums change nothing, by construction: they scale each row's own
gradient, of which only the direction counts. The vectors move by {row:.1e} (root mean square of all cosines),
which is rounding; near the threshold of a block model even rounding can change the result. With the full
gradient the vectors do change ({full:.2f}): each row pulls its targets with its weight."""


def report(summary: dict[str, Any]) -> str:
    """Return the results in Markdown."""
    problems = summary["problems"]
    text = _TEXT.format(
        graph=problems[0].upper(), n=summary["n"], row=summary["moved"]["row"], full=summary["moved"]["full"]
    )
    rows: list[list[str]] = []
    gains: list[tuple[float, str]] = []
    for gradient, by_kind in summary["scores"].items():
        for kind, found in by_kind.items():
            cells = [
                f"{100 * found[problem]['score']:.1f} ± {100 * found[problem]['spread']:.1f}"
                for problem in problems
            ]
            rows.append([gradient, _name(kind), *cells])
            if kind not in ("0.0", SYMMETRIC) and gradient == "full":
                gains += [(found[p]["score"] - by_kind["0.0"][p]["score"], p) for p in problems]
    best, where = max(gains)
    closing = (
        f"With the full gradient, weighted rows gain at most {100 * best:+.1f} points "
        f"({where.upper() if where == problems[0] else f'alpha {where}'}), where the row gradient has "
        f"{100 * summary['scores']['row']['0.0'][where]['score']:.1f}."
    )
    header = ["gradient", "rows of P", problems[0], *(f"alpha {problem}" for problem in problems[1:])]
    return "\n\n".join([text, table(header, rows), closing])
