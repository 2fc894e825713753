"""Two kinds of items: passages of novels and their words (the paper's remark on SoftMax(XY') for X != Y).

42 English novels by 14 authors are cut into passages; entry (i, a) counts word a in passage i. Words in
fewer than 10 passages or in more than a fifth of them are left out. Part of the (passage, word) pairs is kept
from the fit. Three questions to the same vectors, the same d for all methods:

- words: rank all words that the passage is not known to hold; the kept ones should come first (area under
  the ROC curve, and recall among the first 100; mean over passages).
- book: which novel is a passage from, with one passage in ten labelled; logistic regression.
- author: who wrote a novel none of whose passages is labelled; one book of each author is the test.

Settings are chosen by method and by question on validation data (other kept pairs; other passages; another
book of each author), never on what is reported. The first setting of each grid is the method's default.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler, normalize

from benchmarks.peers import environments
from experiments.common import COLORS, Results, mean_spread, style, table
from experiments.common import main as common_main
from experiments.two_sided.corpus import Passages, Split, load, split_books, split_pairs
from experiments.two_sided.methods import Fit, fit, popularity

QUESTIONS = {"auc": "words, AUC", "recall": "words, recall at 100", "book": "book", "author": "author"}
LOOK = {
    "softvec": COLORS["softvec"],
    "truncated SVD": COLORS["spectral"],
    "implicit ALS": COLORS["authors"],
    "popularity": COLORS["grey"],
}


def run(config: dict[str, Any], results: Results) -> None:
    """Fill in the records that are missing."""
    passages = load(config)
    methods = {name: method for name, method in config["methods"].items() if _there(name, method)}
    for sample in range(config["samples"]):
        split = split_pairs(passages.counts, config, sample)
        for name, method in methods.items():
            for number, options in enumerate(method["grid"]):
                if results.has(method=name, setting=number, sample=sample):
                    continue
                if method["function"] == "popularity":
                    found = popularity(split.train)
                else:
                    with warnings.catch_warnings():  # a poor normaliser is part of what is measured
                        warnings.filterwarnings("ignore", "the normaliser is off")
                        if sample == 0:  # once more, so that compilation stays out of the times
                            fit(method["function"], split.train[:500], config["d"], 0, options)
                        found = fit(method["function"], split.train, config["d"], sample, options)
                scores = {
                    **rank_words(found, split, config["ranked_passages"], sample),
                    **classify(found, passages, config, sample),
                }
                results.add(
                    method=name, setting=number, options=options, sample=sample, **found.times, **scores
                )
                print(f"sample {sample} {name} {options}: {_brief(scores)}", flush=True)
    results.summary = {
        **summarize(config, results),
        "passages": passages.counts.shape[0],
        "words": passages.counts.shape[1],
        "entries": passages.counts.nnz,
        "books": int(passages.book.max()) + 1,
        "authors": len(np.unique(passages.author)),
    }


def _there(name: str, method: dict[str, Any]) -> bool:
    """Whether a method can run: ALS needs an environment that is made from the network once."""
    if method["function"] == "als":
        try:
            environments.ensure("implicit")
        except RuntimeError as error:
            print(f"{name} is left out: {error}", flush=True)
            return False
    return True


def _brief(scores: dict[str, float]) -> str:
    return ", ".join(f"{key} {scores[f'{key}_test']:.3f}" for key in QUESTIONS if f"{key}_test" in scores)


def rank_words(found: Fit, split: Split, limit: int, seed: int) -> dict[str, float]:
    """Return AUC and recall at 100 of the kept words, for validation and test, over some passages."""
    usable = np.flatnonzero((np.diff(split.test.indptr) > 0) & (np.diff(split.validation.indptr) > 0))
    rng = np.random.default_rng([seed, 3])
    chosen = np.sort(rng.choice(usable, min(limit, len(usable)), replace=False))
    scores: dict[str, list[float]] = {f"{key}_{part}": [] for key in ("auc", "recall") for part in _PARTS}
    for lo in range(0, len(chosen), 256):
        block = chosen[lo : lo + 256]
        values = found.rows[block] @ found.columns.T + found.bias
        for i, passage in enumerate(block):
            known = _row(split.train, passage)
            for part, wanted, other in (
                ("choose", split.validation, split.test),
                ("test", split.test, split.validation),
            ):
                # words of the other part are neither right nor wrong
                auc, recall = rank_one(values[i], _row(wanted, passage), np.r_[known, _row(other, passage)])
                scores[f"auc_{part}"].append(auc)
                scores[f"recall_{part}"].append(recall)
    return {key: float(np.mean(found)) for key, found in scores.items()}


_PARTS = ("choose", "test")


def _row(A: sp.csr_array, i: int) -> np.ndarray:
    return A.indices[A.indptr[i] : A.indptr[i + 1]]


def rank_one(
    values: np.ndarray, wanted: np.ndarray, left_out: np.ndarray, first: int = 100
) -> tuple[float, float]:
    """Return the AUC of the wanted items among those not left out, and their share among the first ones.

    Ties count half.
    """
    candidate = np.ones(len(values), dtype=bool)
    candidate[left_out] = False
    right = np.zeros(len(values), dtype=bool)
    right[wanted] = True
    good, bad = values[candidate & right], np.sort(values[candidate & ~right])
    below = np.searchsorted(bad, good, side="left") + np.searchsorted(bad, good, side="right")
    auc = float(below.mean() / (2 * len(bad)))
    pool = np.sort(values[candidate])
    cut = pool[-min(first, len(pool))]
    hits = float((good > cut).sum())
    ties = float((good == cut).sum())
    if ties:  # as many of the ties as still fit, at random in the mean
        room = first - float((pool > cut).sum())
        hits += ties * room / float((pool == cut).sum())
    return auc, hits / min(len(good), first)


def classify(found: Fit, passages: Passages, config: dict[str, Any], seed: int) -> dict[str, float]:
    """Return the accuracy for books and authors, for validation and test."""
    if not found.rows.any():
        return {}
    X = normalize(found.rows.astype(np.float64))
    order = np.random.default_rng([seed, 5]).permutation(len(X))
    cut = round(config["labelled"] * len(X))
    half = cut + (len(X) - cut) // 2
    train, choose, test = order[:cut], order[cut:half], order[half:]
    C = config["C"]
    scores = {
        "book_choose": accuracy(X, passages.book, train, choose, C),
        "book_test": accuracy(X, passages.book, train, test, C),
    }
    train, choose, test = split_books(passages, seed)
    scores["author_choose"] = accuracy(X, passages.author, train, choose, C)
    scores["author_test"] = accuracy(X, passages.author, np.r_[train, choose], test, C)
    return scores


def accuracy(X: np.ndarray, labels: np.ndarray, train: np.ndarray, test: np.ndarray, C: float) -> float:
    """Return the share of right answers of a logistic regression."""
    scaler = StandardScaler().fit(X[train])
    model = LogisticRegression(C=C, max_iter=300, tol=1e-3).fit(scaler.transform(X[train]), labels[train])
    return float(model.score(scaler.transform(X[test]), labels[test]))


def summarize(config: dict[str, Any], results: Results) -> dict[str, Any]:
    """Return for each method and question: the default, and the setting that validation chose."""
    summary: dict[str, Any] = {}
    for name, method in config["methods"].items():
        entry: dict[str, Any] = {}
        for key in QUESTIONS:
            rows = results.select(method=name)
            if not rows or f"{key}_test" not in rows[0]:
                continue
            by_setting = []
            for number in range(len(method["grid"])):
                found = [row for row in rows if row["setting"] == number]
                choose, _ = mean_spread([row[f"{key}_choose"] for row in found])
                mean, spread = mean_spread([row[f"{key}_test"] for row in found])
                by_setting.append({"choose": choose, "test": mean, "spread": spread, "samples": len(found)})
            best = int(np.argmax([setting["choose"] for setting in by_setting]))
            entry[key] = {
                "default": by_setting[0],
                "chosen": {**by_setting[best], "options": method["grid"][best]},
            }
        times = [row["seconds"] for row in results.select(method=name) if "seconds" in row]
        default = [row["seconds"] for row in results.select(method=name, setting=0) if "seconds" in row]
        if times:
            entry["seconds"] = {"default": float(np.median(default)), "all": float(np.median(times))}
        summary[name] = entry
    return {"methods": summary}


def plot(content: dict[str, Any], path: Path) -> None:
    """Draw a group of bars for each question: default in light, chosen in full colour."""
    plt = style()
    summary, config = content["summary"]["methods"], content["config"]
    figure, axes = plt.subplots(1, len(QUESTIONS), figsize=(8.4, 3.0))
    for axis, (key, title) in zip(axes, QUESTIONS.items()):
        names = [name for name in summary if key in summary[name]]
        for place, name in enumerate(names):
            entry = summary[name][key]
            for shift, kind, alpha in ((-0.2, "default", 0.4), (0.2, "chosen", 1.0)):
                value, spread = entry[kind]["test"], entry[kind]["spread"]
                axis.bar(
                    place + shift, value, 0.38, yerr=spread, color=LOOK[name], alpha=alpha,
                    error_kw={"lw": 0.8}, label=name if kind == "chosen" else None,
                )  # fmt: skip
        lowest = min(summary[name][key]["default"]["test"] for name in names)
        axis.set_ylim(max(0.0, np.floor(10 * lowest - 0.5) / 10), None)
        axis.set(xticks=[], title=title)
        axis.title.set_fontsize(9)
        axis.grid(axis="x", visible=False)
    axes[0].set_ylabel("test score")
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="upper center", ncol=4, bbox_to_anchor=(0.5, 1.08)
    )
    text = (
        f"d = {config['d']}, mean and standard deviation of {config['samples']}; "
        "light: default settings, full: chosen on validation data. Axes do not begin at 0."
    )
    figure.text(0.5, -0.02, text, ha="center", fontsize=8)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


_TEXT = """{passages:,} passages of {length} words of {books} novels by {authors} authors, {words:,} words,
{entries:,} entries; {test:.0%} of the entries are held out for the test, {validation:.0%} to choose settings.
d = {d} for all methods, mean of {samples} splits. Words: rank the words that a passage is not known to hold.
Book: accuracy with {labelled:.0%} of the passages labelled. Author: accuracy on novels without any labelled
passage, with vectors from all passages. Each cell: default / chosen on validation data. The paper mentions
the two-sided problem without an experiment, so we compare only with other tools."""


def report(content: dict[str, Any]) -> str:
    """Return the results in Markdown."""
    summary, config = content["summary"], content["config"]
    rows, chosen = [], []
    for name, entry in summary["methods"].items():
        cells = [name]
        for key in QUESTIONS:
            both = entry.get(key)
            cells.append(
                f"{100 * both['default']['test']:.1f} / {100 * both['chosen']['test']:.1f}" if both else ""
            )
            if both:
                chosen.append((name, key, both["chosen"]["options"]))
        rows.append([*cells, f"{entry['seconds']['default']:.2f}" if "seconds" in entry else ""])
    settings: dict[str, list[str]] = {}
    for name, key, options in chosen:
        shown = json.dumps(options).strip("{}").replace('"', "") or "the default"
        if name != "popularity":
            settings.setdefault(name, []).append(f"{QUESTIONS[key]}: {shown}")
    return "\n\n".join(
        [
            "## Bipartite data: passages and words",
            "![Scores of words, books and authors](../experiments/two_sided/figure.png)",
            _TEXT.format(**{**config, **{k: v for k, v in summary.items() if k != "methods"}}),
            table(["percent", *QUESTIONS.values(), "time of the default (s)"], rows),
            verdict(summary["methods"]),
            "Chosen settings. "
            + " ".join(f"{name}: {'; '.join(found)}." for name, found in settings.items()),
        ]
    )


def verdict(methods: dict[str, Any]) -> str:
    """Say, from the numbers, who is ahead in each question."""
    lines = []
    for key, title in QUESTIONS.items():
        scores = {name: entry[key]["chosen"]["test"] for name, entry in methods.items() if key in entry}
        order = sorted(scores, key=lambda name: -scores[name])
        gap = 100 * (scores[order[0]] - scores["softvec"])
        place = (
            f"softvec is ahead of {order[1]} by {100 * (scores[order[0]] - scores[order[1]]):.1f} points"
            if order[0] == "softvec"
            else f"{order[0]} is ahead of softvec by {gap:.1f} points"
        )
        lines.append(f"- {title}: {place}.")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    common_main("two_sided", run, plot, arguments)


if __name__ == "__main__":
    main()
