"""The sweep behind softvec's defaults: one setting varied at a time.

Chosen on some graphs, confirmed on others.

    python -m benchmarks.defaults                 # all parts, an hour on two cores
    python -m benchmarks.defaults --only confirm  # one part alone: sweep, confirm, betas or epochs

Writes benchmarks/results/defaults.json and the tables of docs/log/defaults.md.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from scipy import sparse

import softvec
from benchmarks.common import RESULTS, ROOT, provenance, read_json, replace_section, write_json
from benchmarks.peers.graphs import load
from experiments.generators import dcsbm
from softvec import EDRep
from softvec.evaluate.classification import node_classification
from softvec.evaluate.communities import communities
from softvec.operators import Powers, row_normalize

DEFAULT: dict[str, Any] = {"walk_length": 3}
SWEEP: list[dict[str, Any]] = [
    {},
    *({"gradient": form} for form in ("paper", "full")),
    *({"beta": beta} for beta in (1.0, 2.0, 4.0, 8.0, 12.0)),
    *({"walk_length": length} for length in (1, 2, 5)),
    *({"regularization": weight} for weight in (0.3, 1.0)),
    *({"n_epochs": epochs} for epochs in (10, 15, 60)),
    *({"learning_rate": rate} for rate in (0.3, 1.0)),
    {"init": "power"},
    {"n_clusters": 5},
    {"gradient": "paper", "regularization": 1.0, "beta": 1.0},
    {"gradient": "row", "regularization": 1.0, "beta": 1.0},
]
CHOSEN_ON = ("ppi", "cora", "polblogs", "dcsbm 10000 1.5", "dcsbm 10000 2")
CONFIRM: list[dict[str, Any]] = [
    {},
    {"gradient": "full"},
    {"regularization": 1.0},
]
BETAS: list[dict[str, Any]] = [{"beta": beta} for beta in (1.0, 2.0, 3.0, 4.0, 6.0, 8.0)]
BETAS_ON = (
    *("cora", "dblp_prone", "dcsbm 10000 2", "ppi", "polblogs"),
    *("citeseer", "pubmed", "karate", "football", "wikipedia_pos", "blogcatalog"),
)
EPOCHS: list[dict[str, Any]] = [{"n_epochs": epochs} for epochs in (10, 12, 15, 20, 30, 60)]
EPOCHS_ON = (
    *("ppi", "cora", "polblogs", "dcsbm 10000 1.5", "dcsbm 10000 2"),
    *("citeseer", "pubmed", "wikipedia_pos"),
)
CONFIRMED_ON = ("citeseer", "wikipedia_pos", "dcsbm 30000 1.5", "dcsbm 30000 2", "blogcatalog", "pubmed")


def graph(name: str) -> tuple[sparse.csr_array, Any]:
    """Return adjacency and labels of a data set, or of a DCSBM written ``dcsbm n alpha``."""
    if name.startswith("dcsbm"):
        _, n, alpha = name.split()
        made = dcsbm(int(n), 10, 4, alpha=float(alpha), random_state=1)
        return made.adjacency, made.labels
    found = load(name)
    return found.A, found.labels


def score(name: str, A: sparse.csr_array, X: np.ndarray, labels: Any, repeats: int) -> float:
    """Return micro-F1 at half of the labels (C by cross-validation), or NMI of nodes that have an edge."""
    if name.startswith("dcsbm"):
        return 100 * communities(X, np.where(np.diff(A.indptr) > 0, labels, -1), n_init=5)["nmi"]
    found = node_classification(X, labels, ratios=(0.5,), repeats=repeats, C="cv", random_state=0)
    return 100 * found[0.5]["micro_f1"]


def measure(
    part: str, name: str, setting: dict[str, Any], seeds: tuple[int, ...], repeats: int
) -> dict[str, Any]:
    """Fit and score one setting on one graph: of `softvec.embed` for the epochs, of `EDRep` elsewhere."""
    A, labels = graph(name)
    options = {**DEFAULT, **setting}
    P = Powers(row_normalize(A), options.pop("walk_length"))
    d = min(128, A.shape[0] // 4)
    scores, seconds = [], []
    for seed in seeds:
        begin = time.perf_counter()
        if part == "epochs":
            X = softvec.embed(A, d, kind="graph", random_state=seed, **options).vectors
        else:
            X = EDRep(d, random_state=seed, **options).fit_transform(P)
        seconds.append(time.perf_counter() - begin)
        scores.append(score(name, A, X, labels, repeats if len(X) < 15_000 else 1))
    return {"scores": scores, "mean": float(np.mean(scores)), "seconds": float(np.median(seconds))}


def describe(setting: dict[str, Any]) -> str:
    """Return a setting as a short label."""
    return ", ".join(f"{key} {value}" for key, value in setting.items()) or "the defaults"


def table(results: dict[str, dict[str, Any]], names: tuple[str, ...]) -> str:
    """Return one row per setting, one column per graph."""
    lines = ["| setting | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    for label, row in results.items():
        cells = [f"{row[name]['mean']:.1f}" if name in row else "" for name in names]
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run what is missing and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("sweep", "confirm", "betas", "epochs"), help="only this part")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    arguments = parser.parse_args()
    path = RESULTS / "defaults.json"
    data = {} if arguments.fresh else read_json(path, {})
    jobs = [
        ("sweep", CHOSEN_ON, SWEEP, (0, 1), 1),
        ("confirm", CONFIRMED_ON, CONFIRM, (0,), 1),
        ("betas", BETAS_ON, BETAS, (0,), 4),
        ("epochs", EPOCHS_ON, EPOCHS, (0, 1), 2),
    ]
    for part, names, settings, seeds, repeats in jobs:
        if arguments.only not in (None, part):
            continue
        results = data.setdefault(part, {})
        for name in names:
            for setting in settings:
                row = results.setdefault(describe(setting), {})
                if name in row:
                    continue
                row[name] = measure(part, name, setting, seeds, repeats)
                print(part, name, describe(setting), f"{row[name]['mean']:.2f}", flush=True)
                data.update(provenance(2))
                write_json(path, data)
    page = ROOT / "docs" / "log" / "defaults.md"
    replace_section(page, "sweep", table(data.get("sweep", {}), CHOSEN_ON))
    replace_section(page, "betas", table(data.get("betas", {}), BETAS_ON))
    replace_section(page, "epochs", table(data.get("epochs", {}), EPOCHS_ON))
    replace_section(page, "confirm", table(data.get("confirm", {}), CONFIRMED_ON))


if __name__ == "__main__":
    main()
