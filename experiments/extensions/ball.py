"""Bounded vectors: norms of at most 1 instead of exactly 1.

A row whose affinities are spread over many items wants a flat softmax. On the sphere it cannot have one when
beta is large; in the ball its vector may shrink. The gradient is the whole derivative, so that the loss is
what is minimised; the exact normaliser shows the constraint alone, the mixture what a large fit would get.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import spearmanr

from benchmarks import datasets
from experiments.common import COLORS, Results, mean_spread, table
from softvec import EDRep
from softvec.evaluate import node_classification

SHAPES = ("sphere", "ball")
KEYS = ("exact_loss", "micro_f1", "inside", "degree_rank")


def run(settings: dict[str, Any], results: Results) -> None:
    """Fill in the records that are missing."""
    graph = datasets.load(settings["graph"])
    A = sp.csr_array(graph.adjacency, dtype=np.float64)
    degrees = np.diff(A.indptr)
    for sample in range(settings["samples"]):
        for normalizer in settings["normalizers"]:
            for beta in settings["betas"]:
                for shape in SHAPES:
                    key = {"normalizer": normalizer, "beta": beta, "shape": shape, "sample": sample}
                    if results.has(method="ball", **key):
                        continue
                    model = EDRep(
                        settings["d"], beta=beta, constraint=shape, normalizer=normalizer, gradient="full",
                        random_state=sample,
                    )  # fmt: skip
                    with warnings.catch_warnings():  # a poor normaliser is part of what is measured
                        warnings.filterwarnings("ignore", "the normaliser is off")
                        X = model.fit(A).embedding_
                        loss = model.diagnose(len(X)).exact_loss
                    norms = np.linalg.norm(X, axis=1)
                    inside = norms < 0.99
                    rank = float(spearmanr(norms, degrees)[0]) if shape == "ball" else 0.0
                    scores = node_classification(
                        X, graph.labels, repeats=settings["repeats"], C=1.0, random_state=sample
                    )
                    results.add(
                        method="ball", **key, exact_loss=loss, micro_f1=scores[0.5]["micro_f1"],
                        inside=float(inside.mean()), degree_rank=rank,
                    )  # fmt: skip
        print(f"ball: sample {sample} done", flush=True)


def summarize(settings: dict[str, Any], results: Results) -> dict[str, Any]:
    """Return means by normaliser, beta and shape."""
    found: dict[str, Any] = {}
    for normalizer in settings["normalizers"]:
        for beta in settings["betas"]:
            for shape in SHAPES:
                rows = results.select(method="ball", normalizer=normalizer, beta=beta, shape=shape)
                entry = {}
                for key in KEYS:
                    entry[key], entry[f"{key}_spread"] = mean_spread([row[key] for row in rows])
                found.setdefault(normalizer, {}).setdefault(str(beta), {})[shape] = entry
    return {"by_normalizer": found, "graph": settings["graph"], "d": settings["d"]}


def draw(axis: Any, summary: dict[str, Any]) -> None:
    """Draw the exact loss against beta, with the exact normaliser."""
    by_beta = summary["by_normalizer"]["exact"]
    for shape, color, marker in (("sphere", "grey", "s"), ("ball", "softvec", "o")):
        values, spread = (
            [entry[shape][key] for entry in by_beta.values()] for key in ("exact_loss", "exact_loss_spread")
        )
        axis.errorbar(
            [float(beta) for beta in by_beta], values, spread, color=COLORS[color], marker=marker, ms=4,
            capsize=2, label=shape,
        )  # fmt: skip
    axis.set(xscale="log", xlabel="$\\beta$", ylabel="exact loss (nats per row)")
    ticks = [float(beta) for beta in by_beta]
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    axis.legend(fontsize=7)


_TEXT = """**Bounded vectors.** {graph}, d = {d}, P = one step of the walk, full gradient; exact loss in
nats per row, micro-F1 in percent at half of the labels (same classifier, vectors unchanged), share of
norms below 0.99, and rank correlation of norm and degree. {verdict} For labels the norms give {labels}: the
ball changes micro-F1 by {least:+.1f} to {most:+.1f} points. With the mixture, the exact loss of both grows
again for large beta, because the normaliser is then inaccurate, and the ball does not correct that."""


def report(summary: dict[str, Any]) -> str:
    """Return the results in Markdown."""
    rows, gaps, lower = [], [], []
    for normalizer, by_beta in summary["by_normalizer"].items():
        for beta, entry in by_beta.items():
            sphere, ball = entry["sphere"], entry["ball"]
            gaps.append(100 * (ball["micro_f1"] - sphere["micro_f1"]))
            if normalizer == "exact" and ball["exact_loss"] < sphere["exact_loss"]:
                lower.append(beta)
            rows.append(
                [
                    normalizer,
                    beta,
                    f"{sphere['exact_loss']:.3f}",
                    f"{ball['exact_loss']:.3f}",
                    f"{100 * sphere['micro_f1']:.1f}",
                    f"{100 * ball['micro_f1']:.1f}",
                    f"{100 * ball['inside']:.0f}%",
                    f"{ball['degree_rank']:.2f}",
                ]
            )
    verdict = (
        f"With exact sums the ball reaches a lower loss for beta {', '.join(lower)}; there norms follow the "
        "degree, the number of entries in a row. For smaller beta nearly all vectors lie on the boundary, "
        "and the loss of the ball is no lower than that of the sphere."
        if lower
        else "The ball gains nothing here: its vectors stay on the boundary."
    )
    text = _TEXT.format(
        graph=summary["graph"].upper(), d=summary["d"], verdict=verdict, least=min(gaps), most=max(gaps),
        labels="no gain" if max(gaps) < 1 else "a gain",
    )  # fmt: skip
    header = [
        "normaliser", "beta", "loss, sphere", "loss, ball", "F1, sphere", "F1, ball", "inside",
        "norm and degree",
    ]  # fmt: skip
    return text + "\n\n" + table(header, rows)
