"""Simulated epidemics predicted from partial observations: ranking of hidden states, and the band.

python -m benchmarks.epidemics [--page-only]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.common import (
    RESULTS,
    ROOT,
    measure_and_write,
    provenance,
)

RESULT = RESULTS / "epidemics.json"
PAGE = ROOT / "docs" / "howto" / "epidemics.md"
N_GRAPHS, N_EPIDEMICS = 3, 4
PEOPLE, WINDOWS = 200, 40
PATTERNS = {"5 groups, 85% within": (5, 0.85), "10 groups, 97% within": (10, 0.97)}  # and share within
SHARES = {"each person once": None, "2% of the states": 0.02, "5%": 0.05, "20%": 0.2}


def contacts(seed: int, groups: int, inside: float) -> np.ndarray:
    """Return (window, person, person): 0.6 contacts a person and window, most of them within groups."""
    rng = np.random.default_rng(seed)
    activity = rng.permutation(np.linspace(0.3, 1.7, PEOPLE))
    a = rng.choice(PEOPLE, (WINDOWS, 3 * PEOPLE // 5), p=activity / activity.sum())
    b = rng.integers(0, PEOPLE, a.shape)
    within = rng.random(a.shape) < inside
    b[within] = (b // groups * groups + a % groups)[within]
    window = np.broadcast_to(np.arange(WINDOWS)[:, None], a.shape)
    rows = np.stack([window, a, b], axis=-1).reshape(-1, 3)
    return rows[a.ravel() != b.ravel()]


def outbreak(rows: np.ndarray, seed: int) -> np.ndarray:
    """Return the states of an epidemic that infects a fifth of the people at once or more."""
    from experiments.generators import sir

    while True:
        epidemic = sir(rows, beta=0.3, mu=0.05, random_state=seed)
        if epidemic.counts[:, 1].max() >= PEOPLE / 5:
            return epidemic.states
        seed += 1000


def observe(share: float | None, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Return the (person, window) pairs that are observed: a random share, or one of each person."""
    if share is None:
        return list(enumerate(rng.integers(0, WINDOWS, PEOPLE).tolist()))
    return list(map(tuple, np.argwhere(rng.random((PEOPLE, WINDOWS)) < share).tolist()))


def of_the_window(when: np.ndarray, truth: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return the share of infected among those observed in the same window; overall where nobody was."""
    count = np.bincount(when[seen], minlength=WINDOWS)
    infected = np.bincount(when[seen], weights=truth[seen], minlength=WINDOWS)
    return np.where(count > 0, infected / np.maximum(count, 1), truth[seen].mean())[when]


def share_of_contacts(rows: np.ndarray, who: np.ndarray, when: np.ndarray, tests: dict[Any, bool]) -> Any:
    """Return the infected share among the observed contacts of each person, smoothed in time: a baseline."""
    met = np.zeros((PEOPLE, PEOPLE))
    np.add.at(met, (rows[:, 1], rows[:, 2]), 1)
    met += met.T
    pairs = np.array(list(tests))
    state = np.array(list(tests.values()), float)
    result = np.empty(len(who))
    for k, (i, t) in enumerate(zip(who, when)):
        weight = (met[i, pairs[:, 0]] + 5.0 * (pairs[:, 0] == i)) * np.exp(-np.abs(pairs[:, 1] - t) / 3)
        result[k] = (weight @ state + 0.1 * state.mean()) / (weight.sum() + 0.1)
    return result


def score(emb: Any, blind: Any, rows: Any, truth: np.ndarray, seen: list[Any]) -> dict[str, float]:
    """Score the prediction with and without vectors (``blind`` has none to speak of) on the hidden states."""
    from sklearn.metrics import log_loss, roc_auc_score

    from softvec.evaluate import predict_epidemic

    tests = {(i, t): truth[t + 1, i] == 1 for i, t in seen}
    met = list(map(tuple, rows.tolist()))
    result = predict_epidemic(emb, tests, contacts=met)
    who, when, hidden = np.array(result.persons), np.array(result.times), ~result.observed
    infected = truth[when + 1, who] == 1
    p = {
        "prediction": result.probability,
        "no_vectors": predict_epidemic(blind, tests, contacts=met).probability,
        "no_contacts": predict_epidemic(emb, tests).probability,
        "share_of_contacts": share_of_contacts(rows, who, when, tests),
        "window": of_the_window(when, infected, result.observed),
    }
    curve = np.bincount(when, weights=infected)
    inside = (result.curve.low <= curve) & (curve <= result.curve.high)
    return {
        **{
            f"auc_{name}": float(roc_auc_score(infected[hidden], values[hidden]))
            for name, values in p.items()
        },
        **{
            f"log_loss_{name}": float(log_loss(infected[hidden], np.clip(values[hidden], 1e-6, 1 - 1e-6)))
            for name, values in p.items()
        },
        "coverage": float(inside.mean()),
        "error": float(np.abs(result.curve.expected - curve).mean()),
        "width": float((result.curve.high - result.curve.low).mean()),
        "infected": float(curve.mean()),
        "observed": float(len(seen)),
    }


def measure() -> dict[str, Any]:
    """Simulate, hide, predict."""
    import softvec

    mean = {}
    for pattern, (groups, inside) in PATTERNS.items():
        scores: dict[str, list[dict[str, float]]] = {name: [] for name in SHARES}
        for graph in range(N_GRAPHS):
            rows = contacts(graph, groups, inside)
            emb = softvec.embed(list(map(tuple, rows.tolist())), kind="temporal", random_state=graph)
            blind = softvec.Embedding(np.ones((len(emb), 1)), emb.names, provenance=emb.provenance)
            for epidemic in range(N_EPIDEMICS):
                truth = outbreak(rows, epidemic)
                for name, share in SHARES.items():
                    seen = observe(share, np.random.default_rng([graph, epidemic]))
                    scores[name].append(score(emb, blind, rows, truth, seen))
        mean[pattern] = {
            name: {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
            for name, runs in scores.items()
        }
    sizes = {"people": PEOPLE, "windows": WINDOWS, "epidemics": N_GRAPHS * N_EPIDEMICS}
    return {**provenance(2), **sizes, "mean": mean}


def page(result: dict[str, Any]) -> str:
    """Return the section of the documentation."""
    lines = [
        f"{result['epidemics']} simulated epidemics for each pattern of contacts, among {result['people']} "
        f"people in {result['windows']} windows:\nAUC over the hidden states, and the share of windows "
        "in which the 90% band contains the true number.",
        "",
        "| contacts | observed | AUC, log loss | without vectors | without contacts | "
        "infected share among contacts | "
        "share in the window | error of the curve | coverage |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for pattern, rows in result["mean"].items():
        for name, row in rows.items():
            keys = ("prediction", "no_vectors", "no_contacts", "share_of_contacts", "window")
            aucs = " | ".join(f"{row[f'auc_{key}']:.3f}, {row[f'log_loss_{key}']:.3f}" for key in keys)
            lines.append(
                f"| {pattern} | {name} ({row['observed']:.0f}) | {aucs} | {row['error']:.1f} of "
                f"{row['infected']:.0f} | {row['coverage']:.0%} |"
            )
    return "\n".join(lines)


def main() -> None:
    """Measure unless told only to write the page again."""
    measure_and_write(__doc__, RESULT, measure, PAGE, "epidemics", page)


if __name__ == "__main__":
    main()
