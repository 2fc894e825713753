"""What must hold for softvec's defaults, computed from the result file; failures are told as such."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .campaign import PUBLISHED
from .methods import METHODS

US = "softvec"
CLOSE, FAR = 0.5, 1.0
SIGNIFICANT = 2
SHARE = 2 / 3
FLOORS = {
    "blogcatalog": 43.0,
    "ppi": 25.2,
    "wikipedia_pos": 53.0,
    "musae_chameleon": 63.0,
    "usa_airports": 64.0,
}
SPEEDUP = 100.0
WALKERS = frozenset(method.name for method in METHODS if method.walks)


@dataclass(frozen=True)
class Check:
    """One statement: whether it holds, and the evidence in one line."""

    statement: str
    holds: bool | None
    evidence: str

    def __str__(self) -> str:
        word = {True: "holds", False: "FAILS", None: "not measured"}[self.holds]
        return f"[{word}] {self.statement}: {self.evidence}"


def published(data: dict[str, Any], graph: str) -> dict[str, dict[str, Any]]:
    """Return the cells of a graph at published settings that succeeded, by method."""
    cells = data["cells"].get(graph, {}).values()
    return {c["method"]: c for c in cells if c["variant"] == PUBLISHED and "micro_f1" in c}


def settings_of(data: dict[str, Any], graph: str, method: str) -> list[dict[str, Any]]:
    """Return all cells of a method on a graph that succeeded, sweep included."""
    cells = data["cells"].get(graph, {}).values()
    return [c for c in cells if c["method"] == method and "micro_f1" in c]


def measured_graphs(data: dict[str, Any]) -> list[str]:
    """Return the graphs on which softvec was measured."""
    return [name for name in data["cells"] if US in published(data, name)]


def difference(a: dict[str, Any], b: dict[str, Any]) -> tuple[float, float]:
    """Return the mean difference a - b in micro-F1 over the common splits, and its standard error."""
    gaps = np.subtract(a["micro_f1_splits"], b["micro_f1_splits"])
    error = gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else 0.0
    return float(gaps.mean()), float(error)


def undominated(data: dict[str, Any]) -> list[Check]:
    """Check that no rival is both faster and better; then, better by more than chance."""
    found, clear, graphs = [], [], measured_graphs(data)
    for graph in graphs:
        cells = published(data, graph)
        for name, cell in cells.items():
            ours = cells[US]
            if name == US or cell["seconds"] >= ours["seconds"]:
                continue
            gap, error = difference(cell, ours)
            if gap > 0:
                ratio = ours["seconds"] / cell["seconds"]
                found.append(f"{graph}: {name} +{gap:.2f} (s.e. {error:.2f}), {ratio:.1f}x faster")
                if gap > SIGNIFICANT * error:
                    clear.append(found[-1])
    statement = "no other method is both faster and better"
    return [
        Check(words, not pairs if graphs else None, "; ".join(pairs) or f"none on {len(graphs)} graphs")
        for words, pairs in (
            (statement, found),
            (f"{statement} by {SIGNIFICANT} standard errors over the splits", clear),
        )
    ]


def near_best(data: dict[str, Any]) -> list[Check]:
    """Check that softvec is the best method on half of the graphs, close on most, and far behind on none."""
    gaps = {}
    for graph in measured_graphs(data):
        cells = published(data, graph)
        rivals = [cell for name, cell in cells.items() if name != US]
        if rivals:
            best = max(rivals, key=lambda cell: cell["micro_f1"])
            gaps[graph] = best["micro_f1"] - cells[US]["micro_f1"], best["method"]
    total = len(gaps)

    def check(statement: str, bound: float, share: float) -> Check:
        behind = [f"{graph} (-{gap:.2f} to {name})" for graph, (gap, name) in gaps.items() if gap > bound]
        text = f"{total - len(behind)} of {total}" + (f"; not on {', '.join(behind)}" if behind else "")
        return Check(statement, total - len(behind) >= share * total if total else None, text)

    return [
        check("best micro-F1 on half of the graphs", 0.0, 1 / 2),
        check(f"within {CLOSE} points of the best micro-F1 on two thirds of the graphs", CLOSE, SHARE),
        check(f"within {FAR:g} point of the best micro-F1 on every graph", FAR, 1.0),
    ]


def floors(data: dict[str, Any]) -> list[Check]:
    """Check the least scores on some graphs."""
    checks = []
    for graph, floor in FLOORS.items():
        cell = published(data, graph).get(US)
        holds = None if cell is None else cell["micro_f1"] >= floor
        text = "" if cell is None else f"{cell['micro_f1']:.2f}"
        checks.append(Check(f"{graph} at 50% labels at least {floor}", holds, text))
    return checks


def walk_speedup(data: dict[str, Any]) -> list[Check]:
    """Check the advantage over walk-based methods: with the defaults, and with any setting of the sweep."""
    default, fastest = [], []
    for graph in measured_graphs(data):
        cells = published(data, graph)
        for name in sorted(WALKERS & set(cells)):
            walk = cells[name]
            # PecanPy compiles anew in every call; that is not held against it
            spent = max(walk["seconds"] - walk.get("second_call_seconds", 0.0), 0.0)
            text = f"{graph}, {name}"
            enough = cells[US]["micro_f1"] >= walk["micro_f1"]
            ratio = spent / cells[US]["seconds"] if enough else 0.0
            default.append((ratio, text))
            reach = [c for c in settings_of(data, graph, US) if c["micro_f1"] >= walk["micro_f1"]]
            ratio = spent / min((c["seconds"] for c in reach), default=np.inf)
            fastest.append((ratio, text))
    checks = []
    for kind, pairs in (("defaults", default), ("the fastest setting that reaches it", fastest)):
        statement = f"{SPEEDUP:g}x faster than walk-based methods at their score, with {kind}"
        if not pairs:
            checks.append(Check(statement, None, ""))
            continue
        ratios = np.array([ratio for ratio, _ in pairs])
        low = sorted((r, t) for r, t in pairs if r < SPEEDUP)
        text = f"{(ratios >= SPEEDUP).sum()} of {len(ratios)} pairs, median {np.median(ratios):.0f}x"
        if low:
            text += "; below: " + "; ".join(
                f"{t} {'score not reached' if r == 0 else f'{r:.0f}x'}" for r, t in low
            )
        checks.append(Check(statement, not low, text))
    return checks


def all_checks(data: dict[str, Any]) -> list[Check]:
    """Return every check."""
    return [*undominated(data), *near_best(data), *floors(data), *walk_speedup(data)]
