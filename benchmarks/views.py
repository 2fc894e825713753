"""Which views of a graph should the vectors hold? Classification with one walk, with single views, and fused.

A view is one fit of unit vectors to one walk on the graph (`softvec.fit.resolve.FUSED`). Fused, they are put
side by side, turned to their principal axes, and two coordinates tell the degree.

    python -m benchmarks.views                          # every row on every graph
    python -m benchmarks.views --graphs ppi cora        # some graphs
    python -m benchmarks.views --rows walk default      # some rows

Chosen with scores of `CHOSEN_ON` in view; the others are shown beside them. Writes
benchmarks/results/views.json and a table of docs/log/views.md; a cell that is there is not run again.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp

import softvec
from benchmarks.common import RESULTS, ROOT, provenance, read_json, replace_section, write_json
from benchmarks.peers import netmf, prone
from benchmarks.peers.graphs import Graph, load
from benchmarks.peers.scoring import classification, clustering, scaled
from softvec import EDRep
from softvec.fit.resolve import FUSED, View
from softvec.fit.views import view_operator

Make = Callable[[sp.csr_array, int, int], np.ndarray]
CHOSEN_ON = (
    *("usa_airports", "musae_chameleon", "wikipedia_pos", "cora", "citeseer", "ppi"),
    *("polblogs", "football", "blogcatalog", "musae_fr", "musae_facebook"),
)
SHOWN_ON = ("karate", "polbooks", "amazon_edrep", "pubmed", "dblp_prone", "dcsbm_1.5", "dcsbm_2", "dcsbm_3")
# How often nodes of blocks of 500 are linked, in thousandths: nodes have about ten neighbours
UNLIKE = {
    "two blocks, each linked to the other": ((1, 19), (19, 1)),
    "three blocks, each linked to the others": ((1, 12, 12), (12, 1, 12), (12, 12, 1)),
    "three blocks, two of them linked to each other": ((1, 18, 1), (18, 1, 1), (1, 1, 18)),
    "two blocks, each linked to itself": ((19, 1), (1, 19)),
}
LOSSES = ("usa_airports", "musae_chameleon", "wikipedia_pos", "ppi", "polblogs", "blogcatalog")
D, SEEDS = 128, 3


def embed(A: sp.csr_array, d: int, seed: int, *, view: str) -> np.ndarray:
    """Return the vectors of `softvec.embed`."""
    return np.asarray(softvec.embed(A, d, kind="graph", random_state=seed, n_jobs=1, view=view).vectors)


def fused_of(A: sp.csr_array, d: int, seed: int, *, views: Sequence[View]) -> np.ndarray:
    """Return vectors that fuse other views than the default does."""
    with patch("softvec.fit.resolve.FUSED", tuple(views)):
        return embed(A, d, seed, view="fused")


def single(A: sp.csr_array, d: int, seed: int, *, view: View) -> np.ndarray:
    """Return the unit vectors of one view, fitted for twenty epochs."""
    model = EDRep(d, beta=view.beta, n_epochs=20, random_state=seed, n_jobs=1)
    return np.asarray(model.fit_transform(view_operator(A, view)))


def methods() -> dict[str, Make]:
    """Return the rows of the table by name: one walk, the default, fused, single views, two rivals."""
    rows: dict[str, Make] = {
        "walk": partial(embed, view="walk"),
        "default": partial(embed, view="auto"),
        "fused": partial(embed, view="fused"),
        # the third view does not minimise its loss at beta 32: what is it worth?
        "fused, no pairs": partial(fused_of, views=FUSED[:2]),
        "fused, pairs at beta 6": partial(fused_of, views=(*FUSED[:2], replace(FUSED[2], beta=6.0))),
    }
    for view in FUSED:
        rows[f"{view.name} alone"] = partial(single, view=view)
    rows["NetMF T=1"] = lambda A, d, seed: netmf.embed(A, d, window=1, seed=seed)
    rows["ProNE"] = lambda A, d, seed: prone.embed(A, d, seed=seed)
    return rows


def splits(graph: Graph) -> int:
    """Return how many splits the comparison with rivals scores this graph on."""
    if graph.A.shape[0] < 2000:
        return 20
    return 2 if graph.A.shape[0] * graph.n_labels > 1_000_000 else 5


def measure(graph: Graph, make: Callable[[sp.csr_array, int, int], np.ndarray]) -> dict[str, Any]:
    """Return micro-F1 at half of the labels, and NMI, for each start, with the processor time of a fit."""
    d = min(D, graph.A.shape[0] // 4)
    micro, nmi, seconds = [], [], []
    for seed in range(SEEDS):
        begin = time.process_time()
        X = make(graph.A, d, seed)
        seconds.append(time.process_time() - begin)
        micro.append(classification(X, graph, repeats=splits(graph), threads=1)["micro_f1"])
        if graph.A.shape[0] <= 12_000:
            nmi.append(clustering(scaled(X), graph).get("nmi", float("nan")))
    cell = {"micro_f1": micro, "mean": float(np.mean(micro)), "spread": float(np.std(micro))}
    if nmi and not np.isnan(nmi).any():
        cell["nmi"] = nmi
    return {**cell, "cpu_seconds": float(np.median(seconds))}


def diagnosis(graph: Graph) -> dict[str, Any]:
    """Return exact loss and median error of log Z of each fused view, and the loss of equal probabilities."""
    emb = softvec.embed(graph.A, D, kind="graph", random_state=0, n_jobs=1, view="fused")
    views = emb.provenance["diagnosis"]["views"]
    kept = {
        name: {key: each[key] for key in ("exact_loss", "log_z_error_median")} for name, each in views.items()
    }
    return {"uniform": float(np.log(len(emb))), "views": kept}


def blocks(name: str) -> Graph:
    """Return a graph of blocks, ten neighbours a node."""
    import networkx as nx

    rates = np.array(UNLIKE[name]) / 1000
    graph = nx.stochastic_block_model([500] * len(rates), rates.tolist(), seed=0)
    labels = np.repeat(np.arange(len(rates)), 500)
    return Graph(name, sp.csr_array(nx.to_scipy_sparse_array(graph, dtype=float)), labels)


def losses(diagnoses: dict[str, Any]) -> str:
    """Return the losses of views as Markdown."""
    lines = ["| graph | equal probabilities | " + " | ".join(view.name for view in FUSED) + " |"]
    lines.append("|---" * (len(FUSED) + 2) + "|")
    for graph, each in diagnoses.items():
        cells = [f"{v['exact_loss']:.1f} ({v['log_z_error_median']:.1f})" for v in each["views"].values()]
        lines.append(f"| {graph} | {each['uniform']:.1f} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def table(scores: dict[str, dict[str, Any]], graphs: Sequence[str]) -> str:
    """Return mean and spread of micro-F1 as Markdown, one line a graph."""
    names = [name for name in methods() if any(name in scores.get(graph, {}) for graph in graphs)]
    lines = ["| graph | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for graph in graphs:
        row = scores.get(graph, {})
        cells = [f"{row[n]['mean']:.1f} ± {row[n]['spread']:.1f}" if n in row else "" for n in names]
        if any(cells):
            lines.append(f"| {graph} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure what is missing and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", nargs="+", default=[*CHOSEN_ON, *SHOWN_ON, *UNLIKE], help="graphs")
    parser.add_argument("--rows", nargs="+", choices=list(methods()), help="rows of the table")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # a high beta warns that its normaliser is rough, which is known here
    path = RESULTS / "views.json"
    data = read_json(path, {"scores": {}})
    told = data.setdefault("diagnosis", {})
    for name in arguments.graphs:
        graph = blocks(name) if name in UNLIKE else load(name)
        row = data["scores"].setdefault(name, {})
        for label, make in methods().items():
            chosen = arguments.rows is None or label in arguments.rows
            too_big = label == "NetMF T=1" and graph.A.shape[0] > 20_000  # a dense matrix of n x n
            too_big |= label.startswith("fused") and graph.A.shape[0] < 40  # fewer than eight dimensions
            if label in row or not chosen or too_big:
                continue
            row[label] = measure(graph, make)
            print(name, label, f"{row[label]['mean']:.2f} ± {row[label]['spread']:.2f}", flush=True)
            write_json(path, {**provenance(1), "diagnosis": told, "scores": data["scores"]})
        if name in LOSSES and name not in told:
            told[name] = diagnosis(graph)
            write_json(path, {**provenance(1), "diagnosis": told, "scores": data["scores"]})
    page = ROOT / "docs" / "log" / "views.md"
    replace_section(page, "view_losses", losses(told))
    replace_section(page, "views", table(data["scores"], CHOSEN_ON + SHOWN_ON))
    replace_section(page, "unlike", table(data["scores"], tuple(UNLIKE)))


if __name__ == "__main__":
    main()
