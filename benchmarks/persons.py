"""One vector per person from contacts in time: which way finds the classes of a school?

python -m benchmarks.persons [--page-only]
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from benchmarks.common import RESULTS, ROOT, measure_and_write, provenance
from benchmarks.datasets import data_dir

RESULT = RESULTS / "persons.json"
PAGE = ROOT / "docs" / "inputs" / "temporal.md"
SEEDS, WINDOW = 3, 1200  # twenty minutes


def school() -> tuple[pd.DataFrame, dict[int, str]]:
    """Return contacts (t, i, j), and the class of each pupil; teachers have none."""
    path = data_dir() / "temporal" / "primaryschool.csv"
    table = pd.read_csv(path, sep="\t", header=None, names=["t", "i", "j", "of_i", "of_j"])
    classes = dict(zip(table["i"], table["of_i"])) | dict(zip(table["j"], table["of_j"]))
    return table[["t", "i", "j"]], {name: group for name, group in classes.items() if group != "Teachers"}


def means(contacts: pd.DataFrame, seed: int) -> Any:
    """Return the mean direction of each person over its times."""
    from softvec import embed
    from softvec.embedding.persons import of_persons

    emb = embed(contacts, kind="temporal", window=WINDOW, columns=("t", "i", "j"), random_state=seed)
    return of_persons(emb, [emb.names[0][0]])


def measure() -> dict[str, Any]:
    """Embed in several ways, and compare groups with classes."""
    from sklearn.metrics import adjusted_rand_score

    from softvec import embed

    contacts, classes = school()
    counted = contacts.groupby(["i", "j"]).size().reset_index(name="weight")
    ways = {
        "graph of counted contacts, one walk": lambda s: embed(
            counted, kind="graph", view="walk", random_state=s
        ),
        "graph of counted contacts": lambda s: embed(counted, kind="graph", random_state=s),
        "graph without counts": lambda s: embed(counted[["i", "j"]], kind="graph", random_state=s),
        "mean over the times of (person, time), windows of 20 minutes": lambda s: means(contacts, s),
    }
    scores: dict[str, dict[str, list[float]]] = {}
    for way, fit in ways.items():
        rows: dict[str, list[float]] = {"detected": [], "groups": [], "ten": []}
        for seed in range(SEEDS):
            emb = fit(seed)
            pupils = [k for k, name in enumerate(emb.names) if name in classes]
            truth = [classes[emb.names[k]] for k in pupils]
            found = emb.cluster(random_state=seed)
            rows["groups"].append(int(found.max()) + 1)
            rows["detected"].append(adjusted_rand_score(truth, found[pupils]))
            rows["ten"].append(adjusted_rand_score(truth, emb.cluster(10, random_state=seed)[pupils]))
        scores[way] = rows
    return {**provenance(1), "seeds": SEEDS, "pupils": len(pupils), "scores": scores}


def page(result: dict[str, Any]) -> str:
    """Return the table of the documentation."""
    lines = [
        f"{result['pupils']} pupils, mean of {result['seeds']} seeds:",
        "",
        "| vectors | `cluster()` finds | adjusted Rand index | with `cluster(10)` |",
        "|---|---|---|---|",
    ]
    for way, rows in result["scores"].items():
        detected, ten = np.mean(rows["detected"]), np.mean(rows["ten"])
        groups = " to ".join(str(k) for k in sorted({min(rows["groups"]), max(rows["groups"])}))
        lines.append(f"| {way} | {groups} groups | {detected:.3f} | {ten:.3f} |")
    return "\n".join(lines)


def main() -> None:
    """Measure unless told only to write the page again."""
    measure_and_write(__doc__, RESULT, measure, PAGE, "persons", page)


if __name__ == "__main__":
    main()
