"""Theorem A.1 of the paper, checked against an exact probability, and what it gives at larger beta.

The law is the simplest that the theorem admits: x.y is h or -h, each with probability 1/2, independently. The
sum Z / m is then a binomial number, and the probability of a deviation is known exactly.

For real vectors (each of norm 1, so that h = beta) the number of terms that effectively make up Z is
Z(beta)^2 / Z(2 beta): m where all terms are alike, 1 where a single one rules.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom

from experiments.common import COLORS, Results, style, table
from experiments.common import main as common_main
from experiments.normalizers.scaling import rescale
from softvec.core.errors import InputError
from softvec.normalizers import Exact

PAGE = "theory.md"
BOUNDS = ("printed", "corrected", "hoeffding")


def bounds(h: float, m: int, t: float) -> dict[str, float]:
    """Return the bounds on P(|Z/m - E[Z/m]| >= t): as printed, with e^h for e, and Hoeffding's."""
    return {
        "printed": min(1.0, 4 * np.exp(-m * (t / (4 * np.e * h)) ** 2)),
        "corrected": min(1.0, 4 * np.exp(-m * (t / (4 * np.exp(h) * h)) ** 2)),
        "hoeffding": min(1.0, 2 * np.exp(-2 * m * (t / (2 * np.sinh(h))) ** 2)),
    }


def observed(h: float, m: int, t: float) -> float:
    """Return the exact probability for scores of h or -h with equal chance."""
    count = np.arange(m + 1)
    values = np.exp(-h) + count / m * 2 * np.sinh(h)  # Z / m
    far = np.abs(values - np.cosh(h)) >= t * (1 - 1e-12)
    return float(binom.pmf(count[far], m, 0.5).sum())


def items_needed(h: float, error: float, confidence: float) -> dict[str, float]:
    """Return the m from which a bound promises a relative error, for E[Z/m] = 1."""
    miss = 1 - confidence
    return {
        "corrected": 16 * h**2 * np.exp(2 * h) * np.log(4 / miss) / error**2,
        "hoeffding": 2 * np.sinh(h) ** 2 * np.log(2 / miss) / error**2,
    }


def run(config: dict[str, Any], results: Results) -> None:
    """Fill in the records that are missing."""
    m = config["m"]
    for h in config["h"]:
        if not results.has(method="two-point law", h=h):
            t = config["deviations"] * np.sinh(h) / np.sqrt(m)  # standard deviations of Z / m
            found = {"observed": observed(h, m, t), **bounds(h, m, t)}
            needed = items_needed(h, config["error"], config["confidence"])
            results.add(method="two-point law", h=h, **found, needed=needed)
    for name in config["embeddings"]:
        if not results.has(method="embedding", embedding=name):
            for beta, share in effective_terms(name, config).items():
                results.add(method="embedding", embedding=name, beta=beta, **share)
    results.summary = {
        "fails": [r["h"] for r in results.select(method="two-point law") if r["observed"] > r["printed"]]
    }


def effective_terms(name: str, config: dict[str, Any]) -> dict[float, dict[str, float]]:
    """Return quantiles over queries of Z(beta)^2 / Z(2 beta), the query's own term left out."""
    from benchmarks.datasets import data_dir

    path = data_dir() / "embeddings" / f"{name}.npy"
    if not path.exists():
        raise InputError(f"no vectors {path}; set SOFTVEC_DATA")
    rng = np.random.default_rng(0)
    vectors = np.load(path, allow_pickle=False)
    kept = rng.choice(len(vectors), min(len(vectors), config["items"] + config["queries"]), replace=False)
    Y = rescale(vectors[kept].astype(np.float64), "unit")
    X, Y = Y[: config["queries"]], Y[config["queries"] :]
    terms = {}
    for beta in config["betas"]:
        single, double = (Exact(beta=b, n_jobs=1).fit(Y).log_partition(X) for b in (beta, 2 * beta))
        middle, low = np.quantile(np.exp(2 * single - double), [0.5, 0.05])
        terms[beta] = {"m": len(Y), "median": middle, "p5": low}
    return terms


def plot(content: dict[str, Any], path: Path) -> None:
    """Draw the bounds beside the exact probability."""
    plt = style()
    rows = [r for r in content["records"] if r["method"] == "two-point law"]
    figure, axis = plt.subplots(figsize=(5.6, 3.2))
    h = [r["h"] for r in rows]
    axis.plot(h, [r["observed"] for r in rows], color="black", marker="o", label="exact probability")
    for name, color in zip(BOUNDS, (COLORS["authors"], COLORS["softvec"], COLORS["spectral"])):
        axis.plot(
            h, [max(r[name], 1e-30) for r in rows], color=color, marker="s", ms=3, label=f"bound, {name}"
        )
    axis.set(
        yscale="log", ylim=(1e-30, 3), xlabel="h", ylabel=f"P(off by {content['config']['deviations']:g} sd)"
    )
    axis.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def report(content: dict[str, Any]) -> str:
    """Return the tables in Markdown."""
    config = content["config"]
    law = [r for r in content["records"] if r["method"] == "two-point law"]
    rows = [
        [f"{r['h']:g}", f"{r['observed']:.3f}", *(f"{r[name]:.1g}" for name in BOUNDS),
         *(f"{r['needed'][name]:.1g}" for name in ("corrected", "hoeffding"))]
        for r in law
    ]  # fmt: skip
    head = ["h", "exact", "printed (e)", "corrected (e^h)", "Hoeffding",
            "m needed, corrected", "m needed, Hoeffding"]  # fmt: skip
    real = [r for r in content["records"] if r["method"] == "embedding"]
    terms = [
        [name, *(f"{r['median']:,.0f} / {r['p5']:,.0f}" for r in real if r["embedding"] == name)]
        for name in dict.fromkeys(r["embedding"] for r in real)
    ]
    fails = ", ".join(f"{h:g}" for h in content["summary"]["fails"])
    return "\n\n".join(
        [
            "![Bounds and exact probability](../experiments/theory/figure.png)",
            f"Probability that Z / m deviates from its mean by {config['deviations']:g} standard deviations "
            f"or more, for m = {config['m']:,} scores that are h or -h with equal probability; and the "
            f"number of items from which a bound guarantees an error of {config['error']:.0%} with "
            f"probability {config['confidence']:.0%}:",
            table(head, rows),
            f"The printed bound is below the exact probability, and so wrong, at h = {fails}.",
            f"Number of terms that effectively make up Z, median / 5th percentile over {config['queries']} "
            f"queries, out of {min(r['m'] for r in real):,} unit vectors or more:",
            table(["vectors", *(f"beta {beta}" for beta in config["betas"])], terms),
        ]
    )


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    common_main("theory", run, plot, arguments)


if __name__ == "__main__":
    main()
