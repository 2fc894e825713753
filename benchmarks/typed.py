"""Signed links, typed nodes and sets, beside what anybody would try first, and nulls.

    python -m benchmarks.typed                 # every part that is missing from the JSON
    python -m benchmarks.typed --only signs    # measure one part anew
    python -m benchmarks.typed --page-only     # write the pages from the JSON

Writes benchmarks/results/typed.json and sections of the pages in docs/inputs.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, roc_auc_score

import softvec
from benchmarks.attributes import svd, tfidf, unit
from benchmarks.common import RESULTS, ROOT, provenance, read_json, replace_section, write_json
from benchmarks.datasets import data_dir
from softvec.core.errors import GuessWarning
from softvec.evaluate import sign_prediction
from softvec.evaluate.signs import _hidden

RESULT, INPUTS = RESULTS / "typed.json", ROOT / "docs" / "inputs"
D, SEEDS = 128, 3


def fitted(data: Any, seed: int = 0, d: int = D, **options: Any) -> np.ndarray:
    """Return the vectors of a fit with one thread."""
    return softvec.embed(data, d, random_state=seed, n_jobs=1, **options).vectors


def signs() -> dict[str, Any]:
    """Return the sign AUC of Bitcoin OTC, of softvec, of rivals, and with signs shuffled."""
    A = sp.csr_array(sp.load_npz(data_dir() / "typed" / "bitcoin_otc_signed.npz"))
    null = A.copy()
    null.data = np.random.default_rng(7).permutation(A.data)
    fits: dict[str, Callable[[sp.csr_array], np.ndarray]] = {
        "softvec": lambda known: fitted(known),
        "sign ignored": lambda known: fitted(known, signed=False, directed=False),
        "dissimilarity": _pushed_apart,
    }
    result = {name: 100 * sign_prediction(fit, A, repeats=SEEDS)["auc"] for name, fit in fits.items()}
    result["trust of the ends"] = 100 * _trust(A)
    result["softvec, signs shuffled"] = 100 * sign_prediction(fits["softvec"], null, repeats=SEEDS)["auc"]
    return result


def _pushed_apart(known: sp.csr_array) -> np.ndarray:
    """Return the vectors of positive links, with negative links as dissimilarities."""
    links = sp.csr_array(known + known.T)
    friends, foes = (sp.csr_array(sign * links).maximum(0) for sign in (1, -1))
    model = softvec.EDRep(D, random_state=0, n_jobs=1, n_epochs=20)
    with warnings.catch_warnings(action="ignore"):
        return model.fit_transform(friends, dissimilarity=foes)


def _trust(A: sp.csr_array) -> float:
    """Return the AUC of a regression on the share of positive links that each end gave and received."""
    links, scores = A.tocoo(), []
    n, i, j, positive = A.shape[0], links.row, links.col, links.data > 0
    for rng in np.random.default_rng(0).spawn(SEEDS):
        hidden = _hidden(positive, 0.2, rng)
        i_, j_, sign = i[~hidden], j[~hidden], links.data[~hidden]
        given, received = (np.bincount(e, sign, n) / (1 + np.bincount(e, minlength=n)) for e in (i_, j_))
        F = np.stack([given[i], received[j]], axis=1)
        model = LogisticRegression().fit(F[~hidden], positive[~hidden])
        scores.append(roc_auc_score(positive[hidden], model.decision_function(F[hidden])))
    return float(np.mean(scores))


def signs_page(cell: dict[str, Any]) -> str:
    """Return the table of signs."""
    lines = [
        "AUC in percent of the signs of a fifth of the links of Bitcoin OTC, hidden; 128 numbers a node, "
        "mean of three splits (`python -m benchmarks.typed`). *Trust of the ends* is a regression on the "
        "shares of positive links that the source gave and the target received; *dissimilarity* fits the "
        "positive links and pushes the negative ones apart. The default was chosen among these rows.",
        "",
        "| | AUC |",
        "|---|---|",
    ]
    return "\n".join([*lines, *(f"| {name} | {value:.1f} |" for name, value in cell.items())])


HETEROGENEOUS = {"dblp_hin": "author", "acm_hin": "paper"}  # the type with labels and attributes


def hin(name: str) -> tuple[sp.csr_array, sp.csr_array, np.ndarray, np.ndarray, Any]:
    """Return a typed graph, attributes of its labelled nodes, their rows, labels and splits."""
    file = data_dir() / "typed" / name
    A = sp.csr_array(sp.load_npz(f"{file}.npz"))
    rows = np.flatnonzero(np.load(f"{file}_types.npy") == 0)
    F = sp.coo_array(sp.load_npz(f"{file}_{HETEROGENEOUS[name]}_features.npz"))
    F = sp.csr_array(sp.coo_array((F.data, (rows[F.row], F.col)), (A.shape[0], F.shape[1])))
    return A, F, rows, np.load(f"{file}_labels.npy")[rows], np.load(f"{file}_splits.npz")


def f1(X: np.ndarray, labels: np.ndarray, splits: Any, size: str) -> tuple[float, float]:
    """Return macro- and micro-F1 on the published test nodes; C is chosen on the validation nodes."""
    train, valid, test = (splits[f"{part}_{size}"] for part in ("train", "val", "test"))
    X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    models = [
        LogisticRegression(C=C, max_iter=300).fit(X[train], labels[train]) for C in np.logspace(-1, 3, 9)
    ]
    best = max(models, key=lambda model: f1_score(labels[valid], model.predict(X[valid]), average="macro"))
    macro, micro = (
        100 * f1_score(labels[test], best.predict(X[test]), average=way) for way in ("macro", "micro")
    )
    return float(macro), float(micro)


def types() -> dict[str, Any]:
    """Return macro- and micro-F1 with published splits: the graph, with attributes, and attributes alone."""
    result: dict[str, Any] = {}
    for name in HETEROGENEOUS:
        A, F, rows, labels, splits = hin(name)
        order = np.arange(A.shape[0])
        order[rows] = np.random.default_rng(3).permutation(rows)
        mixed = F[order]
        own = unit(svd(tfidf(F[rows]), 0))
        fits: dict[str, Callable[[int], np.ndarray]] = {
            "graph": lambda seed, A=A, rows=rows: fitted(A, seed)[rows],
            "graph and attributes": lambda seed, A=A, F=F, rows=rows: fitted(A, seed, attributes=F)[rows],
            "attributes": lambda seed, own=own: own,
            "attributes shuffled": lambda seed, A=A, F=mixed, rows=rows: fitted(A, seed, attributes=F)[rows],
        }
        result[name] = {
            method: {
                size: np.mean([f1(X, labels, splits, size) for X in vectors], axis=0).tolist()
                for size in ("20", "60")
            }
            for method, fit in fits.items()
            for vectors in [[fit(seed) for seed in range(SEEDS)]]
        }
    return result


def types_page(cell: dict[str, Any]) -> str:
    """Return the table of typed graphs."""
    lines = [
        "Macro-F1 / micro-F1 in percent with 20 and 60 labels a class, published splits, types ignored by "
        "the fit, 128 numbers a node, mean of three seeds (`python -m benchmarks.typed`). HeCo, a graph "
        "neural network that uses types and attributes (Wang et al., KDD 2021), reports 88.6 / 88.1 on ACM "
        "with 20 labels, and 90 to 92 on DBLP. How attributes of one type count was chosen on these graphs.",
        "",
        "| | labels | graph | graph and attributes | attributes | attributes shuffled |",
        "|---" * 6 + "|",
    ]
    for name, methods in cell.items():
        for size in ("20", "60"):
            values = [method[size] for method in methods.values()]
            shown = " | ".join(f"{macro:.1f} / {micro:.1f}" for macro, micro in values)
            lines.append(f"| {name.removesuffix('_hin').upper()} | {size} | {shown} |")
    return "\n".join(lines)


PARTS: dict[str, tuple[Callable[[], Any], str, Callable[[Any], str]]] = {
    "signs": (signs, "signs.md", signs_page),
    "types": (types, "types.md", types_page),
}


def main() -> None:
    """Measure what is missing; write the pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page-only", action="store_true", help="write the pages from the JSON")
    parser.add_argument("--only", choices=list(PARTS), help="measure this part anew")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", GuessWarning)
    results = read_json(RESULT, {"parts": {}})
    for name, (measure, _, _) in ({} if asked.page_only else PARTS).items():
        if name == asked.only or (asked.only is None and name not in results["parts"]):
            results = {**provenance(1), "parts": {**results["parts"], name: measure()}}
            write_json(RESULT, results)
    for name, (_, page, render) in PARTS.items():
        if name in results["parts"]:
            replace_section(INPUTS / page, name, render(results["parts"][name]))


if __name__ == "__main__":
    main()
