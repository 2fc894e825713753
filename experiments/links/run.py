"""Hidden links: what counting without vectors gives, beside softvec and ProNE.

A fifth of the edges is hidden, the rest is scored: degree product (which is preferential attachment), number
of common neighbours, Adamic-Adar (each weighted by 1 / log degree), resource allocation (by 1 / degree). The
split, the negatives and the scorer of vectors are those of the comparison with other tools. "Calibrated": the
score and the degrees of both ends are weighed by a logistic regression on a twentieth of the known edges,
hidden once more, against random pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import softvec
from benchmarks.datasets import data_dir
from benchmarks.peers import netmf, prone, scoring
from experiments.common import COLORS, Results, mean_spread, style, table
from experiments.common import main as common_main
from softvec.core.checks import unit_rows
from softvec.core.errors import InputError
from softvec.evaluate.links import LinkSplit, score_links, split_edges

BASELINES = {
    "degree product (preferential attachment)": None,
    "common neighbours": lambda degree: np.ones_like(degree),
    "Adamic-Adar": lambda degree: 1 / np.log(np.maximum(degree, 2)),
    "resource allocation": lambda degree: 1 / np.maximum(degree, 1),
}
KINDS = ("auc_random", "auc_degree")
OWN = ("softvec", "softvec, one walk", "softvec for links", "softvec, fast")
_SHOWN = {
    "softvec": COLORS["softvec"],
    "softvec, one walk": COLORS["spectral"],
    "softvec for links": COLORS["authors"],
    "softvec, fast": COLORS["other"],
}


def load(name: str) -> sp.csr_array:
    """Return the adjacency matrix of a graph of the data directory."""
    path = data_dir() / "graphs" / f"{name}.npz"
    if not path.exists():
        raise InputError(f"no graph {path}; set SOFTVEC_DATA")
    return sp.csr_array(sp.load_npz(path), dtype=np.float64)


def count(name: str, A: sp.csr_array, pairs: np.ndarray) -> np.ndarray:
    """Return the score of each pair by a baseline; weights are of the neighbour that both share."""
    degree = np.asarray(A.sum(axis=1)).ravel()
    weigh = BASELINES[name]
    i, j = pairs.T
    if weigh is None:
        return degree[i] * degree[j]
    weighted = sp.csr_array(A @ sp.diags_array(weigh(degree)))
    parts = [
        np.asarray(weighted[i[lo : lo + 20_000]].multiply(A[j[lo : lo + 20_000]]).sum(axis=1)).ravel()
        for lo in range(0, len(i), 20_000)
    ]
    return np.concatenate(parts)


def baseline(name: str, split: LinkSplit) -> dict[str, float]:
    """Return the AUC of a baseline in percent, against both kinds of negatives."""
    hidden = count(name, split.graph, split.positives)
    scores = {}
    for kind, pairs in split.negatives.items():
        truth = np.repeat([1, 0], [len(hidden), len(pairs)])
        values = np.concatenate([hidden, count(name, split.graph, pairs)])
        scores[f"auc_{kind}"] = 100 * float(roc_auc_score(truth, values))
    return scores


def calibrated(method: dict[str, Any], split: LinkSplit, d: int, seed: int) -> dict[str, float]:
    """Return the AUC in percent of a count or of cosines, weighed with the degrees on an inner split."""
    inner = split_edges(split.graph, 0.05, random_state=seed)
    known, others = (
        features(method, inner.graph, d, seed)(pairs)
        for pairs in (inner.positives, inner.negatives["random"])
    )
    truth = np.repeat([1, 0], [len(known), len(others)])
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(np.concatenate([known, others]), truth)
    outer = features(method, split.graph, d, seed)
    hidden = model.decision_function(outer(split.positives))
    scores = {}
    for kind, pairs in split.negatives.items():
        values = np.concatenate([hidden, model.decision_function(outer(pairs))])
        truth = np.repeat([1, 0], [len(hidden), len(pairs)])
        scores[f"auc_{kind}"] = 100 * float(roc_auc_score(truth, values))
    return scores


def features(
    method: dict[str, Any], A: sp.csr_array, d: int, seed: int
) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function of pairs: the score of a method on a graph, and the log degrees of both ends."""
    size = np.log(np.maximum(np.asarray(A.sum(axis=1)).ravel(), 0.5))
    if "count" in method:
        name = method["count"]
        some = count(name, A, np.argwhere(sp.triu(A, 1).toarray())[:5000])
        least = 0.1 * float(np.median(some[some > 0])) if (some > 0).any() else 1.0

        def score(pairs: np.ndarray) -> np.ndarray:
            return np.log(count(name, A, pairs) + least)
    else:
        X = unit_rows({"ProNE": prone.embed, "NetMF": netmf.embed}[method["vectors"]](A, d, seed=seed))

        def score(pairs: np.ndarray) -> np.ndarray:
            return np.einsum("ij,ij->i", X[pairs[:, 0]], X[pairs[:, 1]])

    return lambda pairs: np.stack([score(pairs), size[pairs].sum(axis=1)], axis=1)


def scored(emb: softvec.Embedding, split: LinkSplit, scorer: str) -> dict[str, float]:
    """Return the AUC in percent by the scorer of the comparison, or by the softmax of the embedding."""
    if scorer == "hadamard":
        return scoring.links(emb.vectors, split)
    scores = score_links(emb, split, scorer=scorer)
    return {kind: 100 * scores[kind] for kind in KINDS}


def run(config: dict[str, Any], results: Results) -> None:
    """Fill in the records that are missing."""
    for graph in config["graphs"]:
        split = split_edges(load(graph), config["fraction"], random_state=0)
        d = min(config["d"], split.graph.shape[0] // 4)
        for name, method in config["methods"].items():
            function = method["function"]
            starts = (
                1 if function == "baseline" or "count" in method else method.get("samples", config["samples"])
            )
            for seed in range(starts):
                if results.has(method=name, graph=graph, seed=seed):
                    continue
                if function == "baseline":
                    scores = baseline(name, split)
                elif function == "calibrated":
                    scores = calibrated(method, split, d, seed)
                elif function == "prone":
                    scores = scoring.links(prone.embed(split.graph, d, seed=seed), split)
                else:
                    emb = softvec.embed(split.graph, d, random_state=seed, **method["options"])
                    scores = scored(emb, split, method.get("scorer", "hadamard"))
                results.add(method=name, graph=graph, seed=seed, **scores)
                print(graph, name, seed, scores, flush=True)
    results.summary = summarize(config, results)


def summarize(config: dict[str, Any], results: Results) -> dict[str, Any]:
    """Return mean and deviation over starts, by kind of negatives, graph and method."""
    summary: dict[str, Any] = {kind: {} for kind in KINDS}
    for kind in KINDS:
        for graph in config["graphs"]:
            for name in config["methods"]:
                rows = results.select(method=name, graph=graph)
                if rows:
                    mean, spread = mean_spread([row[kind] for row in rows])
                    entry = {"starts": len(rows), "mean": mean, "spread": spread}
                    summary[kind].setdefault(graph, {})[name] = entry
    return summary


def plot(content: dict[str, Any], path: Path) -> None:
    """Draw softvec less the best of the others."""
    plt = style()
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.2), sharey=True)
    for axis, kind in zip(axes, KINDS):
        found = content["summary"][kind]
        for name, color in _SHOWN.items():
            gaps = [rows[name]["mean"] - best_other(rows)[1] for rows in found.values()]
            axis.plot(gaps, range(len(found)), "o", color=color, label=name)
        axis.axvline(0, color=COLORS["grey"], lw=0.8)
        axis.set_yticks(range(len(found)), list(found))
        axis.set(xlabel="AUC less that of the best other (points)", title=_NEGATIVES[kind])
    axes[0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def best_other(rows: dict[str, Any]) -> tuple[str, float]:
    """Return the method of others with the highest score, and the score."""
    name = max((name for name in rows if name not in OWN), key=lambda name: rows[name]["mean"])
    return name, rows[name]["mean"]


_NEGATIVES = {"auc_random": "random pairs", "auc_degree": "degree-matched pairs"}
_TEXT = """AUC in percent of hidden edges ({fraction:.0%} of all) against non-edges, random / degree-matched;
d = {d}, or a quarter of the nodes. softvec: the defaults, which fuse several views of dense graphs, and one
walk (`view="walk"`); mean ± standard deviation of {samples} seeds; means count. Fast: `effort="fast"`, one
seed. Vectors are scored by a logistic regression on their products, trained against random pairs. "softvec
for links" is `view="links"`, which chooses between three fits and calibrates its softmax on a twentieth of
the known edges (`score_links(emb, split, scorer="softmax")`). "Calibrated": the score of others, and the
degrees, weighed by a logistic regression on a twentieth of the known edges, hidden once more. In italics:
counts in the remaining graph, without vectors. Degree product and preferential attachment are the same."""


def report(content: dict[str, Any]) -> str:
    """Return the results in Markdown."""
    summary, config = content["summary"], content["config"]
    graphs = list(summary[KINDS[0]])
    rows = []
    for name in config["methods"]:
        cells = []
        for graph in graphs:
            if name not in summary[KINDS[0]][graph]:
                cells.append("not run")
                continue
            entries = [summary[kind][graph][name] for kind in KINDS]
            cells.append(
                " / ".join(
                    f"{e['mean']:.1f}" + (f" ± {e['spread']:.1f}" if e["starts"] > 1 else "") for e in entries
                )
            )
        rows.append([f"*{name}*" if name.split(",")[0] in BASELINES else name, *cells])
    lines = []
    for kind in KINDS:
        behind = []
        for graph in graphs:
            name, best = best_other(summary[kind][graph])
            own = max(summary[kind][graph][own]["mean"] for own in OWN)
            if best > own:
                behind.append(f"{graph} ({name}, by {best - own:.1f})")
        where = f"on {len(behind)} of {len(graphs)} graphs: {', '.join(behind)}" if behind else "on no graph"
        lines.append(f"- Against {_NEGATIVES[kind]} another method is ahead of every softvec row {where}.")
    return "\n\n".join(
        [
            "## Links: counts without vectors",
            "![softvec minus the best other method](../experiments/links/figure.png)",
            _TEXT.format(**config),
            table(["", *graphs], rows),
            "\n".join(lines),
        ]
    )


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    common_main("links", run, plot, arguments)


if __name__ == "__main__":
    main()
