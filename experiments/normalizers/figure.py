"""Two figures from the results: one laid out like the paper's, one of what goes beyond it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.common import style
from experiments.normalizers.measure import LEVELS

TITLES = {
    "glove6b_50d": "GloVe, 400,000 x 50",
    "googlenews_w2v_300d": "word2vec, 26,423 x 300",
    "fr_fasttext_300d": "fastText, 20,000 x 300",
}
NORMS = {"mean": "mean norm 1", "unit": "unit norms"}
# the paper's line styles, in colours that differ for the colour-blind
LINES = {
    "GaussianMixture(1)": ("mixture, k = 1", "#9ECAE1", "-"),
    "GaussianMixture(2)": ("mixture, k = 2", "#4292C6", "-"),
    "GaussianMixture(5)": ("mixture, k = 5", "#08306B", "-"),
    "ControlVariate(1000)": ("control variate, 1,000", "#D55E00", "-"),
    "Sampling(1000)": ("sampling, 1,000", "#000000", (0, (1, 1))),
    "AdaptiveSampling(250), alpha 1": ("adaptive sampling, 250, its best alpha", "#CC79A7", "-."),
    "RandomFeatures(1000)": ("random features, 1,000", "#A50F15", (0, (5, 5))),
    "PositiveRandomFeatures(1000)": ("positive features, 1,000", "#E69F00", "--"),
    "Nystrom(50)": ("Nyström, 50", "#7F7F7F", ":"),
    "TopK(25, 25)": ("top 25 + 25", "#009E73", (0, (3, 1, 1, 1, 1, 1))),
}
FAMILIES = {
    "Exact": ("exact", "#000000", "*"),
    "GaussianMixture": ("mixture", "#08519C", "o"),
    "ControlVariate": ("control variate", "#D55E00", "s"),
    "Sampling": ("sampling", "#555555", "v"),
    "AdaptiveSampling": ("adaptive sampling", "#CC79A7", "^"),
    "RandomFeatures": ("random features", "#A50F15", "D"),
    "PositiveRandomFeatures": ("positive features", "#E69F00", "P"),
    "Nystrom": ("Nyström", "#7F7F7F", "X"),
    "TopK": ("top-k", "#009E73", "<"),
}


def _select(found: dict[str, Any], **key: Any) -> list[dict[str, Any]]:
    return [r for r in found["records"] if all(r.get(k) == v for k, v in key.items())]


def _names(found: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(r["embedding"] for r in found["records"] if "embedding" in r))


def family(method: str) -> str:
    """Return the class of a method: what stands before the bracket."""
    return method.split("(")[0].split(",")[0]


def paper_figure(found: dict[str, Any], path: Path) -> None:
    """Draw, per embedding and scaling, the scores of one item and the distribution of errors."""
    plt = style()
    names = _names(found)
    figure, axes = plt.subplots(len(names), 4, figsize=(11, 2.25 * len(names) + 0.8), squeeze=False)
    for place, (row, name) in enumerate(zip(axes, names)):
        for column, norms in enumerate(NORMS):
            left, right = row[2 * column], row[2 * column + 1]
            for record in _select(found, part="scores", embedding=name, norms=norms):
                left.plot(record["grid"], record["real"], color="#D55E00", lw=2.5, alpha=0.6, label="real")
                left.plot(record["grid"], record["mixture"], "k-.", lw=1, label="mixture, k = 5")
            for record in _select(found, part="accuracy", embedding=name, norms=norms, beta=1):
                if record["method"] in LINES:
                    label, color, line = LINES[record["method"]]
                    values = np.maximum(record["quantiles"], 1e-9)
                    right.plot(values, LEVELS, color=color, ls=line, lw=1.6, label=label)
            right.set_xscale("log")
            right.set_xlim(1e-7, 1)
            right.set_ylim(0, 1)
            left.set_ylabel("CDF")
            if place == 0:
                left.set_title(f"{NORMS[norms]}: scores of one item", fontsize=9)
                right.set_title(f"{NORMS[norms]}: error", fontsize=9)
            if place == len(names) - 1:
                left.set_xlabel(r"$x_i \cdot y_a$")
                right.set_xlabel(r"$|Z_i - Z_i^{\mathrm{est}}|\,/\,m$")
        row[0].annotate(
            TITLES.get(name, name),
            (-0.42, 0.5),
            xycoords="axes fraction",
            rotation=90,
            va="center",
            fontsize=9,
        )
    axes[0, 0].legend(fontsize=7, loc="lower right")
    handles, labels = axes[0, 1].get_legend_handles_labels()
    figure.tight_layout(rect=(0.01, 0.085, 1, 1))
    figure.legend(handles, labels, loc="lower center", ncol=5, fontsize=8)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def beyond_figure(found: dict[str, Any], path: Path) -> None:
    """Draw error against time, error against beta, and growth with the number of items."""
    plt = style()
    names = _names(found)
    figure, axes = plt.subplots(3, max(3, len(names)), figsize=(11, 9.4), squeeze=False)
    for ax, name in zip(axes[0], names):
        _error_against_time(ax, found, name)
    for ax, name in zip(axes[1], names):
        _error_against_beta(ax, found, name)
    for ax in (*axes[0, len(names) :], *axes[1, len(names) :]):
        ax.axis("off")
    _growth(axes[2, 0], found)
    _coverage(axes[2, 1], found)
    for ax in axes[2, 2:]:
        ax.axis("off")
    axes[0, 0].set_ylabel("median relative error of Z")
    axes[1, 0].set_ylabel("median relative error of Z")
    handles = [
        plt.Line2D([], [], color=color, marker=mark, ls="-", label=label)
        for label, color, mark in FAMILIES.values()
    ]
    axes[2, 2].legend(handles=handles, loc="center", fontsize=9)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _error_against_time(ax: Any, found: dict[str, Any], name: str) -> None:
    for kind, (_, color, mark) in FAMILIES.items():
        rows = [
            r
            for r in _select(found, part="accuracy", embedding=name, norms="unit", beta=1)
            if family(r["method"]) == kind
        ]
        points = sorted(
            (r["fit"]["cpu_seconds"] + r["query"]["cpu_seconds"], max(r["relative_median"], 1e-9))
            for r in rows
        )
        if points and kind == "Exact":
            ax.axvline(points[0][0], color=color, ls=":", lw=1)
        elif points:
            ax.loglog(*zip(*points), color=color, marker=mark, ms=5, lw=0.8)
    ax.set_title(f"{TITLES.get(name, name)}, unit norms", fontsize=9)
    ax.set_xlabel("core seconds, fit + 1,000 queries (dotted: exact)")


def _error_against_beta(ax: Any, found: dict[str, Any], name: str) -> None:
    for kind, (_, color, mark) in FAMILIES.items():
        chosen = {"ControlVariate": "ControlVariate(1000)", "GaussianMixture": "GaussianMixture(5)",
                  "Sampling": "Sampling(1000)", "TopK": "TopK(100, 1000)", "Nystrom": "Nystrom(1000)",
                  "AdaptiveSampling": "AdaptiveSampling(50)", "RandomFeatures": "RandomFeatures(1000)",
                  "PositiveRandomFeatures": "PositiveRandomFeatures(1000)"}.get(kind)  # fmt: skip
        rows = _select(found, part="accuracy", embedding=name, norms="unit", method=chosen)
        if rows:
            ax.semilogy(
                [r["beta"] for r in rows], [min(max(r["relative_median"], 1e-9), 10) for r in rows],
                color=color, marker=mark, ms=5, lw=1,
            )  # fmt: skip
    rows = _select(found, part="accuracy", embedding=name, norms="unit", method="ControlVariate(10000)")
    ax.semilogy(
        [r["beta"] for r in rows], [max(r["relative_median"], 1e-9) for r in rows],
        color="#D55E00", marker="s", ms=4, lw=1, ls="--",
    )  # fmt: skip
    ax.axhline(0.01, color="#999999", lw=0.8, ls=":")
    ax.set_title(f"{TITLES.get(name, name)}, unit norms", fontsize=9)
    ax.set_xlabel(r"$\beta$ (dashed: 10,000 samples; dotted: 1%)")


def _growth(ax: Any, found: dict[str, Any]) -> None:
    methods = list(dict.fromkeys(r["method"] for r in _select(found, part="growth")))
    for method in methods:
        rows = _select(found, part="growth", method=method)
        _, color, mark = FAMILIES[family(method)]
        ax.loglog(
            [r["items"] for r in rows], [r["fit"]["cpu_seconds"] + r["query"]["cpu_seconds"] for r in rows],
            color=color, marker=mark, ms=4, lw=1, ls="--" if method == "GaussianMixture(1)" else "-",
        )  # fmt: skip
    ax.set_xlabel("items m (dashed: mixture, k = 1)")
    ax.set_ylabel("core seconds, fit + 1,000 queries")
    ax.set_title("growth", fontsize=9)


def _coverage(ax: Any, found: dict[str, Any]) -> None:
    rows = [r for r in _select(found, part="coverage") if r["method"] == "ControlVariate(1000)"]
    for name in _names(found):
        for norms, line in (("mean", "--"), ("unit", "-")):
            mine = [r for r in rows if r["embedding"] == name and r["norms"] == norms]
            color = dict(zip(_names(found), ("#0072B2", "#009E73", "#CC79A7"))).get(name, "#000000")
            ax.plot([r["beta"] for r in mine], [r["coverage"] for r in mine], line, color=color, marker=".",
                    label=TITLES.get(name, name).split(",")[0] + f", {NORMS[norms]}")  # fmt: skip
    ax.axhspan(0.93, 0.97, color="#DDDDDD", zorder=0)
    ax.set_xlabel(r"$\beta$")
    ax.set_title("coverage of nominal 95% intervals, 1,000 samples", fontsize=9)
    ax.set_ylim(0.5, 1.01)
    ax.legend(fontsize=6.5, loc="lower left")
