"""The contrastive term: pairs of genes that are known not to interact are pushed apart.

P is built from the positive training pairs, the second matrix N from the negative ones (rows divided by
their sums, times a weight c). The regression is trained on pairs that are in neither, and c is chosen on
yet others. Without the term, what N
knows can still be used: a second fit to N alone, and a regression on both cosines; or no vectors at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from experiments.common import COLORS, Results, mean_spread, table
from experiments.genes.run import counts, load
from experiments.pairs import pair_classification, pair_cosines, pair_features
from softvec import EDRep
from softvec.operators import as_operator, row_normalize

TWO_FITS, NO_VECTORS = "fits to P and to N, two cosines", "no vectors: common neighbours in P and in N"


def run(settings: dict[str, Any], results: Results) -> None:
    """Fill in the records that are missing."""
    pairs, labels, group, n = load(settings["pairs"])
    first = np.flatnonzero(group == 0)
    for split in range(settings["splits"]):
        if results.has(method="contrastive", split=split):
            continue
        order = np.random.default_rng(split).permutation(first)
        cut = round(settings["train_fraction"] * len(order))
        kept = round(settings["choose_fraction"] * cut)
        built, regress, choose = (
            order[: cut - 2 * kept],
            order[cut - 2 * kept : cut - kept],
            order[cut - kept : cut],
        )
        test = order[cut:]
        A, N = (counts(pairs[built[labels[built] == label]], n) for label in (1, 0))
        scores: dict[str, Any] = {}

        def judge(
            name: str,
            features: np.ndarray,
            regress: np.ndarray = regress,
            parts: tuple[tuple[str, np.ndarray], ...] = (("choose", choose), ("test", test)),
            scores: dict[str, Any] = scores,
        ) -> None:
            for part, held in parts:
                found = pair_classification(features, labels, train=regress, test=held).mean
                scores.setdefault(name, {})[part] = {key: found[key] for key in ("accuracy", "auc")}

        plain = np.empty(len(pairs))
        for c in settings["weights"]:
            cosines = pair_cosines(fit(A, N, c, settings["d"], split), pairs)
            plain = cosines if c == 0 else plain
            judge(str(c), cosines)
        other = pair_cosines(fit(N, None, 0, settings["d"], split), pairs)
        judge(TWO_FITS, np.column_stack([plain, other]))
        shared = [pair_features(matrix, pairs)["cosine_neighbors"] for matrix in (A, N)]
        judge(NO_VECTORS, np.column_stack(shared))
        results.add(method="contrastive", split=split, scores=scores)
        print(f"contrastive, split {split}: {_brief(scores)}", flush=True)


def _brief(scores: dict[str, Any]) -> str:
    return ", ".join(f"{name} {entry['test']['accuracy']:.4f}" for name, entry in scores.items())


def fit(A: sp.csr_array, N: sp.csr_array | None, c: float, d: int, seed: int) -> np.ndarray:
    """Return vectors of P from A, with c times the dissimilarities N."""
    weighted = None if N is None or c == 0 else row_normalize(as_operator(N)).scale_rows(c)
    return EDRep(d, random_state=seed).fit(A, dissimilarity=weighted).embedding_


def summarize(settings: dict[str, Any], results: Results) -> dict[str, Any]:
    """Return means by weight and by rival, and the weight that validation chose."""
    rows = [row["scores"] for row in results.select(method="contrastive")]
    scores: dict[str, Any] = {}
    for name in rows[0]:
        for part in ("choose", "test"):
            for key in ("accuracy", "auc"):
                mean, spread = mean_spread([row[name][part][key] for row in rows])
                scores.setdefault(name, {})[f"{part}_{key}"] = mean
                scores[name][f"{part}_{key}_spread"] = spread
    weights = [str(c) for c in settings["weights"]]
    chosen = max(weights, key=lambda c: scores[c]["choose_accuracy"])
    return {"scores": scores, "chosen": chosen, "splits": len(rows)}


def draw(axis: Any, summary: dict[str, Any]) -> None:
    """Draw the accuracy against the weight."""
    weights = [name for name in summary["scores"] if name not in (TWO_FITS, NO_VECTORS)]
    values, spread = (
        [100 * summary["scores"][c][key] for c in weights]
        for key in ("test_accuracy", "test_accuracy_spread")
    )
    axis.errorbar(
        range(len(weights)), values, spread, color=COLORS["softvec"], marker="o", ms=4, capsize=2,
        label="contrastive term",
    )  # fmt: skip
    for name, color, line in ((TWO_FITS, "authors", "--"), (NO_VECTORS, "grey", ":")):
        height = 100 * summary["scores"][name]["test_accuracy"]
        axis.axhline(
            height, color=COLORS[color], ls=line, lw=1.2, label=name.replace(": ", ":\n").replace(", ", ",\n")
        )
    axis.set(xlabel="weight $c$ of the dissimilarities", ylabel="accuracy on test pairs (%)")
    axis.set_xticks(range(len(weights)), weights)
    axis.legend(fontsize=6.5, loc="lower left")


_TEXT = """**Contrastive term.** Genes: P from the positive training pairs, N from the negative ones;
accuracy of a logistic regression on the cosine of test pairs, in percent, mean of {splits} splits.
Validation chooses c = {chosen}: {gain:+.2f} points over c = 0, {over:+.2f} over two separate fits (with
both cosines as features), {plain:+.2f} over counting common neighbours in both graphs without any vectors.
A weight of 1 does harm: the negative pairs then dominate."""


def report(summary: dict[str, Any]) -> str:
    """Return the results in Markdown."""
    scores, chosen = summary["scores"], summary["chosen"]
    best = scores[chosen]["test_accuracy"]
    gaps = [100 * (best - scores[name]["test_accuracy"]) for name in ("0", TWO_FITS, NO_VECTORS)]
    text = _TEXT.format(splits=summary["splits"], chosen=chosen, gain=gaps[0], over=gaps[1], plain=gaps[2])
    rows = [
        [
            name if name in (TWO_FITS, NO_VECTORS) else f"c = {name}",
            f"{100 * entry['test_accuracy']:.2f} ± {100 * entry['test_accuracy_spread']:.2f}",
            f"{100 * entry['test_auc']:.2f}",
        ]
        for name, entry in scores.items()
    ]
    return text + "\n\n" + table(["", "accuracy", "AUC"], rows)
