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
from scipy.sparse.linalg import svds
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, roc_auc_score

import softvec
from benchmarks.attributes import svd, tfidf, unit
from benchmarks.common import RESULTS, ROOT, provenance, read_json, replace_section, write_json
from benchmarks.datasets import data_dir
from softvec.core.errors import GuessWarning
from softvec.evaluate import node_classification, sign_prediction
from softvec.evaluate.signs import _hidden

RESULT, INPUTS = RESULTS / "typed.json", ROOT / "docs" / "inputs"
D, SEEDS = 128, 3


def fitted(data: Any, seed: int = 0, d: int = D, **options: Any) -> np.ndarray:
    """Return the vectors of a fit with one thread."""
    return softvec.embed(data, d, random_state=seed, n_jobs=1, **options).vectors


def _simulated(camps: int, flipped: float, seed: int = 0) -> sp.csr_array:
    """Return 500 nodes of so many camps, friends within and foes between; with 0, sympathies of the ends."""
    rng = np.random.default_rng(seed)
    linked = np.triu(rng.random((500, 500)) < 0.04, 1)
    if camps:
        camp = rng.integers(0, camps, 500)
        sign = np.where((camp[:, None] == camp) ^ (rng.random((500, 500)) < flipped), 1, -1)
    else:
        sympathy = rng.standard_normal(500)
        noise = 0.7 * rng.standard_normal((500, 500))
        sign = np.where(sympathy[:, None] + sympathy + noise + 0.8 > 0, 1, -1)
    A = sp.csr_array(linked * sign)
    return sp.csr_array(A + A.T)


def signs() -> dict[str, dict[str, float]]:
    """Return the AUC of signs of each graph, by softvec, by rivals, and with signs shuffled."""
    data = {
        "Bitcoin OTC": sp.csr_array(sp.load_npz(data_dir() / "typed" / "bitcoin_otc_signed.npz")),
        "two camps": _simulated(2, 0.1),
        "three camps": _simulated(3, 0.1),
        "sympathies": _simulated(0, 0.0),
    }
    fits: dict[str, Callable[[sp.csr_array], Any]] = {
        "softvec": lambda known: softvec.embed(known, D, random_state=0, n_jobs=1, signed=True),
        "sign ignored": lambda known: fitted(known, signed=False, directed=False),
        "dissimilarity": _pushed_apart,
    }
    table: dict[str, dict[str, float]] = {}
    for graph, A in data.items():
        null = sp.csr_array(sp.triu(A, 1) if not abs(A - A.T).nnz else A)
        both = null.nnz < A.nnz
        null.data = np.random.default_rng(7).permutation(null.data)
        scores = {name: sign_prediction(fit, A, repeats=SEEDS)["auc"] for name, fit in fits.items()}
        scores["trust of the ends"] = _other(_trust, A)
        scores["SVD"] = _other(_svd, A)
        shuffled = sp.csr_array(null + null.T) if both else null
        scores["softvec, signs shuffled"] = sign_prediction(fits["softvec"], shuffled, repeats=SEEDS)["auc"]
        for name, value in scores.items():
            table.setdefault(name, {})[graph] = 100 * value
        print(graph, {name: round(100 * value, 1) for name, value in scores.items()}, flush=True)
    return table


def _pushed_apart(known: sp.csr_array) -> np.ndarray:
    """Return the vectors of positive links, with negative links as dissimilarities."""
    links = sp.csr_array(known + known.T)
    friends, foes = (sp.csr_array(sign * links).maximum(0) for sign in (1, -1))
    model = softvec.EDRep(D, random_state=0, n_jobs=1, n_epochs=20)
    with warnings.catch_warnings(action="ignore"):
        return model.fit_transform(friends, dissimilarity=foes)


def _other(score: Callable[..., np.ndarray], A: sp.csr_array) -> float:
    """Return the AUC of a score of the hidden links, from the known ones."""
    links, aucs = (A if abs(A - A.T).nnz else sp.triu(A, 1)).tocoo(), []
    positive = links.data > 0
    for rng in np.random.default_rng(0).spawn(SEEDS):
        hidden = _hidden(positive, 0.2, rng)
        aucs.append(roc_auc_score(positive[hidden], score(links, hidden)))
    return float(np.mean(aucs))


def _trust(links: sp.coo_array, hidden: np.ndarray) -> np.ndarray:
    """Return a regression on the share of positive links that each end gave and received."""
    i, j, n = links.row, links.col, links.shape[0]
    i_, j_, sign = i[~hidden], j[~hidden], links.data[~hidden]
    given, received = (np.bincount(e, sign, n) / (1 + np.bincount(e, minlength=n)) for e in (i_, j_))
    F = np.stack([given[i], received[j]], axis=1)
    model = LogisticRegression().fit(F[~hidden], links.data[~hidden] > 0)
    return model.decision_function(F[hidden])


def _svd(links: sp.coo_array, hidden: np.ndarray) -> np.ndarray:
    """Return the entries of the best matrix of rank 2."""
    known = (links.data[~hidden].astype(float), (links.row[~hidden], links.col[~hidden]))
    A = sp.csr_array(sp.coo_array(known, links.shape))
    U, s, Vt = svds(sp.csr_array(A + A.T), 2, random_state=0)
    return np.einsum("ij,j,ij->i", U[links.row[hidden]], s, Vt.T[links.col[hidden]])


def signs_page(cell: dict[str, Any]) -> str:
    """Return the table of signs."""
    graphs = list(cell["softvec"])
    lines = [
        f"AUC in percent of the signs of a fifth of the links, hidden; {D} numbers a node, mean of three "
        "splits (`python -m benchmarks.typed`). Camps and sympathies are simulated: 500 nodes of 20 links; "
        "friends within two or three camps and foes between them, a tenth of the signs turned; or signs that "
        "depend on how liked both ends are. *Trust of the ends* is a regression on the shares of positive "
        "links that the source gave and the target received, *SVD* the best matrix of rank 2; "
        "*dissimilarity* fits the positive links and pushes the negative ones apart. Defaults were chosen on "
        "Bitcoin OTC and on graphs like the simulated ones.",
        "",
        "| | " + " | ".join(graphs) + " |",
        "|---" * (len(graphs) + 1) + "|",
    ]
    rows = (f"| {name} | {' | '.join(f'{row[g]:.1f}' for g in graphs)} |" for name, row in cell.items())
    return "\n".join([*lines, *rows])


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


def relations() -> dict[str, Any]:
    """Return macro- and micro-F1 if each relation, a pair of types, is divided by a power of its total."""
    result: dict[str, Any] = {}
    for name in HETEROGENEOUS:
        A, _, rows, labels, splits = hin(name)
        types, links = np.load(data_dir() / "typed" / f"{name}_types.npy").astype(int), A.tocoo()
        ends = np.sort([types[links.row], types[links.col]], axis=0)
        relation = ends[0] * (types.max() + 1) + ends[1]
        total = np.bincount(relation)[relation].astype(float)
        result[name] = {}
        for power in (0.0, 0.5, 1.0):
            weight = total**-power / np.mean(total**-power)
            W = sp.csr_array((weight, (links.row, links.col)), A.shape) if power else A
            runs = [f1(fitted(W, seed)[rows], labels, splits, "20") for seed in range(SEEDS)]
            result[name][str(power)] = np.mean(runs, axis=0).tolist()
    return result


def relations_page(cell: dict[str, Any]) -> str:
    """Return the table of weights of relations."""
    lines = [
        "A relation, such as that of papers and terms, may have many more links than another. Weights "
        "divided by the root or the whole of its total (macro-F1 / micro-F1, 20 labels, mean of three "
        "seeds) help on one graph and harm on the other, so that softvec takes links as they are:",
        "",
        "| | as they are | root | total |",
        "|---|---|---|---|",
    ]
    for name, powers in cell.items():
        shown = " | ".join(f"{macro:.1f} / {micro:.1f}" for macro, micro in powers.values())
        lines.append(f"| {name.removesuffix('_hin').upper()} | {shown} |")
    return "\n".join(lines)


def sets() -> dict[str, Any]:
    """Return micro-F1 of members, and how well a set, or the mean of its members, finds a hidden one."""
    file = data_dir() / "typed" / "hyper_coauthor_cora"
    H, labels = sp.csr_array(sp.load_npz(f"{file}.npz")), np.load(f"{file}_labels.npy")
    n, sizes = H.shape[0], np.asarray(H.sum(axis=0)).reshape(-1)
    pairs = sp.csr_array((H @ H.T).astype(float))
    pairs.setdiag(0)
    pairs.eliminate_zeros()
    degree = np.maximum(np.asarray(H.sum(axis=1)).reshape(-1), 1)
    scaled = sp.csr_array(sp.diags_array(degree**-0.5) @ H @ sp.diags_array(sizes**-0.5))
    F = sp.csr_array(sp.load_npz(f"{file}_features.npz"))
    all_rows = sp.csr_array(sp.vstack([F, sp.csr_array((H.shape[1], F.shape[1]))]))
    star = sp.csr_array(sp.block_array([[None, H], [H.T, None]]))
    fits: dict[str, Callable[[int], np.ndarray]] = {
        "softvec": lambda seed: _members_of(H, seed)[0],
        "two sides": lambda seed: fitted(H, seed, kind="bipartite"),
        "pairs of members": lambda seed: fitted(pairs, seed),
        "SVD": lambda seed: svd(scaled, seed),
        "softvec with attributes": lambda seed: fitted(star, seed, attributes=all_rows)[:n],
    }
    shares: dict[str, Any] = {}
    for name, fit in fits.items():
        runs = [node_classification(fit(s), labels, ratios=(0.1, 0.5), random_state=s) for s in range(SEEDS)]
        shares[name] = [
            100 * float(np.mean([run[ratio]["micro_f1"] for run in runs])) for ratio in (0.1, 0.5)
        ]
    null = H.copy()
    null.indices = np.random.default_rng(4).permutation(H.indices)
    null.sum_duplicates()
    return {"micro_f1": shares, "hidden": _completed(H), "hidden, sets shuffled": _completed(null)}


def _members_of(H: sp.csr_array, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the vectors of the members and of the sets; members of no set have zeros."""
    emb = softvec.embed(H, D, kind="sets", random_state=seed, n_jobs=1)
    names = [*range(H.shape[0]), *(f"set {j}" for j in range(H.shape[1]))]
    zero = np.zeros(D, np.float32)
    vectors = np.array([emb.get(name, zero) for name in names])
    return vectors[: H.shape[0]], vectors[H.shape[0] :]


def _completed(H: sp.csr_array) -> dict[str, float]:
    """Return the AUC of one hidden member of each set of three or more against random members."""
    rng, columns = np.random.default_rng(0), sp.csc_array(H)
    hidden = [
        (int(rng.choice(columns.indices[a:b])), j)
        for j, (a, b) in enumerate(zip(columns.indptr[:-1], columns.indptr[1:]))
        if b - a > 2
    ]
    member, of = np.array(hidden).T
    rest = sp.lil_array(H)
    rest[member, of] = 0
    rest = sp.csr_array(rest)
    X, S = (unit(part) for part in _members_of(rest, 0))
    other = rng.permutation(member)
    result = {}
    for name, Q in {"softvec": S, "mean of members": unit(rest.T @ X)}.items():
        good, bad = (np.einsum("ij,ij->i", Q[of], X[who]) for who in (member, other))
        truth = np.repeat([1, 0], len(good))
        result[name] = 100 * float(roc_auc_score(truth, np.concatenate([good, bad])))
    return result


def sets_page(cell: dict[str, Any]) -> str:
    """Return the tables of sets."""
    lines = [
        "Papers of Cora and their co-authors (2,708 papers, 1,072 sets). Micro-F1 in percent of the papers "
        "with a tenth and half of the labels, 128 numbers a node, mean of three seeds (`python -m "
        "benchmarks.typed`). The three ways to fit sets differ little; the first gives vectors of sets.",
        "",
        "| | 10% | 50% |",
        "|---|---|---|",
        *(f"| {name} | {few:.1f} | {half:.1f} |" for name, (few, half) in cell["micro_f1"].items()),
        "",
        "One member of each set of three or more is hidden: AUC in percent of its cosine against that of "
        "other hidden members.",
        "",
        "| | vector of the set | mean of its members |",
        "|---|---|---|",
    ]
    for name in ("hidden", "hidden, sets shuffled"):
        lines.append(f"| {name} | {cell[name]['softvec']:.1f} | {cell[name]['mean of members']:.1f} |")
    return "\n".join(lines)


def knowledge() -> dict[str, float]:
    """Return the filtered mean reciprocal rank of the tails of FB15k-237, relations ignored and counted."""
    with np.load(data_dir() / "typed" / "fb15k237_triples.npz") as file:
        train, test, n = file["train"], file["test"][::10], len(file["entities"])
        every = np.concatenate([train, file["valid"], file["test"]])
    A = sp.coo_array((np.ones(len(train)), (train[:, 0], train[:, 2])), (n, n)).tocsr()
    X = unit(fitted(sp.csr_array((A + A.T) > 0)))
    known = sp.csr_array((np.ones(len(every)), (every[:, 0] * 237 + every[:, 1], every[:, 2])), (237 * n, n))
    tails = sp.csr_array((np.ones(len(train)), (train[:, 1], train[:, 2])), (237, n)).toarray()
    ranks: dict[str, list[float]] = {"relations ignored": [], "frequent tails of the relation": []}
    for head, relation, tail in test:
        row = head * 237 + relation
        others = known.indices[known.indptr[row] : known.indptr[row + 1]]
        for name, scores in zip(ranks, (X @ X[head], tails[relation].copy())):
            right = scores[tail]
            scores[others] = -np.inf
            scores[head] = -np.inf
            ties = np.count_nonzero(scores == right)
            ranks[name].append(1 + np.count_nonzero(scores > right) + ties / 2)
    return {name: float(np.mean(1 / np.array(each))) for name, each in ranks.items()}


def knowledge_page(cell: dict[str, float]) -> str:
    """Return what a knowledge graph without its relations is worth."""
    ignored, frequent = cell.values()
    return (
        "On FB15k-237, a knowledge graph of 237 relations, vectors of softvec, which ignore the relation, "
        f"find the tail of a triple with a mean reciprocal rank of {ignored:.2f}, the most frequent tails "
        f"of the relation with {frequent:.2f} (filtered, a tenth of the test triples, `python -m "
        "benchmarks.typed`). RotatE reports 0.34 for heads and tails together (Sun et al., ICLR 2019)."
    )


PARTS: dict[str, tuple[Callable[[], Any], str, Callable[[Any], str]]] = {
    "signs": (signs, "signs.md", signs_page),
    "types": (types, "types.md", types_page),
    "relations": (relations, "types.md", relations_page),
    "sets": (sets, "sets.md", sets_page),
    "knowledge": (knowledge, "../limits.md", knowledge_page),
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
