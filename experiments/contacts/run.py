"""Contacts in time (the paper's figure "use cases", panels E and F): reconstruct an epidemic from few
observations.

Contacts are added up in equal windows of the whole span: 180 of them (the paper's "180 windows of about 15
minutes" fits no simple reading of the data; these last 635 s for SFHH). Items are the active (person,
window) pairs; the supra-adjacency matrix is the one of the paper's appendix: (i, t) points to i's next
active window with weight 1 and to the next active window of each contact j with the number of records of the
contact. (The appendix writes (i, t_j) for (j, t_j) in two places; read here as what the text says.)

An SIR epidemic runs on the windows: infection with probability 1 - (1 - beta)^w for a contact of w records,
recovery with probability mu per window, one infected person at the start; epidemics that never reach a fifth
of the people are drawn again. Each person is observed once, in a random active window; a logistic regression
on standardised vectors predicts all others. The number of infected is the sum of the predicted
probabilities; the sum of predicted states, as the paper may have it, is recorded too.

"softvec" relates a pair to its past and its future alike (the supra-adjacency plus its transpose), as the
window of DyANE's skip-gram does; "forward only" is the paper's P, the row-normalised supra-adjacency.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import softvec
from benchmarks import datasets
from experiments.common import COLORS, Results, mean_spread, median_times, style, table, timed
from experiments.common import main as common_main
from experiments.contacts.reconstruct import infected_states, reconstruct_epidemic
from experiments.generators import sir
from experiments.rivals import authors_edrep, deepwalk, printed_edrep, row_stochastic
from softvec.affinity import supra_adjacency

NO_VECTORS = "no vectors: 30 bumps of the window"
SHOWN = {"softvec": COLORS["softvec"], "DyANE": COLORS["authors"], NO_VECTORS: COLORS["grey"]}


class Problem:
    """A temporal graph in windows, its supra-adjacency matrix, and epidemics on it."""

    def __init__(self, name: str, config: dict[str, Any]):
        data = datasets.load(name)
        self.records = np.column_stack([data.times, data.contacts])
        self.n_windows = config["n_windows"]
        affinity = self.affinity()
        contacts = affinity.contacts
        self.supra = sp.csr_array(affinity.matrix, dtype=np.float64)
        self.n_people = len(contacts.nodes)
        keys = [contacts.time * self.n_people + side for side in (contacts.source, contacts.target)]
        active = np.unique(
            np.concatenate(keys)
        )  # the order of the rows of the matrix: by time, then by person
        self.times, self.nodes = np.divmod(active, self.n_people)
        self.epidemics = self._epidemics(contacts, config)

    def affinity(self) -> Any:
        """Build the supra-adjacency; part of what is timed."""
        return supra_adjacency(self.records, n_windows=self.n_windows)

    def _epidemics(self, contacts: Any, config: dict[str, Any]) -> list[np.ndarray]:
        edges = np.column_stack([contacts.time, contacts.source, contacts.target])
        found: list[np.ndarray] = []
        for seed in range(1000):
            run = sir(
                edges,
                config["beta"],
                config["mu"],
                weights=contacts.weight,
                n_nodes=self.n_people,
                n_steps=self.n_windows,
                random_state=seed,
            )
            if run.counts[:, 1].max() >= config["least_peak"] * self.n_people:
                found.append(infected_states(run, self.nodes, self.times))
            if len(found) == config["epidemics"]:
                return found
        raise RuntimeError("too few epidemics spread; lower least_peak")


def embed(problem: Problem, method: dict[str, Any], d: int, seed: int) -> tuple[np.ndarray, dict[str, float]]:
    """Return vectors of the (person, window) pairs and the seconds they took."""
    options = method["options"]
    if method["function"] == "softvec":
        supra = problem.supra
        options = {"shrinkage": 0.0, "n_epochs": 30, **options}  # unit vectors, as in the paper
        if method["both_ways"]:
            return timed(
                lambda: softvec.embed(sp.csr_array(supra + supra.T), d, random_state=seed, **options).vectors
            )
        return timed(lambda: softvec.embed(supra, d, kind="graph", random_state=seed, **options).vectors)
    if method["function"] == "dyane":
        return timed(lambda: deepwalk(problem.supra, d, seed=seed, **options))
    if method["function"] == "bumps":
        return timed(lambda: window_bumps(problem.times, problem.n_windows, d))
    run_edrep = authors_edrep if method["function"] == "authors" else printed_edrep
    # The last appearance of a person has no future; it points to itself.
    return run_edrep(row_stochastic(problem.supra), d, seed=seed, **options)


def window_bumps(times: np.ndarray, n_windows: int, d: int) -> np.ndarray:
    """Return d Gaussian bumps of the number of the window: no contact, no person, no vector is looked at."""
    centers = np.linspace(0, n_windows - 1, d)
    return np.exp(-0.5 * ((times[:, None] - centers) * (d - 1) / (n_windows - 1)) ** 2)


def run(config: dict[str, Any], results: Results) -> None:
    """Fill in the records that are missing."""
    warm = sp.csr_array(np.roll(np.eye(50), 1, axis=1) + np.roll(np.eye(50), -1, axis=1))
    softvec.embed(warm, 4, n_epochs=2, random_state=0)
    for name in config["datasets"]:
        problem = Problem(name, config)
        # Epidemics of another version of the generator are another problem: records name the infected states.
        total = int(sum(infected.sum() for infected in problem.epidemics))
        results.records = [r for r in results.records if r["data"] != name or r.get("infected") == total]
        for seed in range(config["embeddings"]):
            for d, method_name in product(config["dimensions"], config["methods"]):
                method = config["methods"][method_name]
                key = {"data": name, "method": method_name, "d": d, "seed": seed, "infected": total}
                wanted = seed < method.get("embeddings", config["embeddings"])
                if wanted and d in method.get("dimensions", config["dimensions"]) and not results.has(**key):
                    X, times = embed(problem, method, d, seed)
                    scores = reconstruct(problem, X, config, curves=seed == 0)
                    results.add(**key, rows=len(X), **times, **scores)
                    print(
                        f"{name}, d {d}, seed {seed}, {method_name}: error {scores['mae']:.2f}",
                        flush=True,
                    )
    results.summary = summarize(config, results)


def reconstruct(problem: Problem, X: np.ndarray, config: dict[str, Any], curves: bool) -> dict[str, Any]:
    """Score the vectors on all epidemics; curves of the first one are kept for the figure."""
    found = [
        reconstruct_epidemic(
            X,
            problem.nodes,
            problem.times,
            infected,
            C=config["C"],
            count="probabilities",
            standardize=True,
            repeats=config["observations"],
            random_state=number,
        )
        for number, infected in enumerate(problem.epidemics)
    ]
    content = found[0].to_dict() if curves else {}
    kept = {
        k: content[k] for k in ("times", "infected", "predicted_mean", "predicted_spread") if k in content
    }
    result: dict[str, Any] = {
        "mae_by_epidemic": [one["mae"] for one in found],
        **{
            metric: float(np.mean([one[metric] for one in found]))
            for metric in ("mae", "mae_states", "accuracy")
        },
    }
    return {**result, "curves": kept} if kept else result


def summarize(config: dict[str, Any], results: Results) -> dict[str, Any]:
    """Return means, deviations over embeddings, standard errors over epidemics, and ratios of times."""
    table: dict[str, Any] = {}
    for name in config["datasets"]:
        for d in config["dimensions"]:
            for method in config["methods"]:
                rows = results.select(data=name, d=d, method=method)
                if not rows:
                    continue
                by_epidemic = np.mean([row["mae_by_epidemic"] for row in rows], axis=0)
                entry = {
                    "starts": len(rows),
                    "mae": float(np.mean([row["mae"] for row in rows])),
                    "mae_spread": mean_spread([row["mae"] for row in rows])[1],
                    "mae_states": float(np.mean([row["mae_states"] for row in rows])),
                    "standard_error": mean_spread(by_epidemic.tolist())[1] / np.sqrt(len(by_epidemic)),
                    "accuracy": float(np.mean([row["accuracy"] for row in rows])),
                    **median_times(rows),
                }
                table.setdefault(name, {}).setdefault(str(d), {})[method] = entry
    ours = [name for name, method in config["methods"].items() if method["function"] == "softvec"]
    ratios = {
        method: {
            name: {
                d: {key: rows["DyANE"][key] / rows[method][key] for key in ("seconds", "cpu_seconds")}
                for d, rows in by_d.items()
                if "DyANE" in rows and method in rows
            }
            for name, by_d in table.items()
        }
        for method in ours
    }
    return {"table": table, "faster_than_DyANE": ratios}


def plot(content: dict[str, Any], path: Path) -> None:
    """Draw true and reconstructed numbers of infected over time, and one against the other."""
    plt = style()
    names = content["config"]["datasets"]
    figure, axes = plt.subplots(
        len(names), 2, figsize=(8.2, 2.9 * len(names)), squeeze=False, width_ratios=(2, 1)
    )
    for (left, right), name in zip(axes, names):
        for method, color in SHOWN.items():
            drawn = [
                r for r in content["records"]
                if r["data"] == name and r["method"] == method and "curves" in r
            ]  # fmt: skip
            if not drawn:
                continue
            row = max(drawn, key=lambda r: r["d"])
            curves = _with_gaps({key: np.array(values, float) for key, values in row["curves"].items()})
            mean, spread, true = curves["predicted_mean"], curves["predicted_spread"], curves["infected"]
            if method == "softvec":
                left.plot(curves["times"], true, color="black", lw=1.4, label="true")
            left.plot(curves["times"], mean, color=color, lw=1.1, ls="--", label=method)
            left.fill_between(curves["times"], mean - spread, mean + spread, color=color, alpha=0.2, lw=0)
            right.plot(true, mean, ".", ms=3.5, color=color, alpha=0.7, label=method)
        end = max(right.get_xlim()[1], right.get_ylim()[1])
        right.plot([0, end], [0, end], color=COLORS["grey"], lw=0.8)
        left.set(xlabel="window", ylabel="infected people in contact", title=name)
        right.set(xlabel="true number", ylabel="predicted number")
        left.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def _with_gaps(curves: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Break the curves where nobody met: windows without contacts have no points."""
    times = curves["times"]
    breaks = np.flatnonzero(np.diff(times) > 1) + 1
    return {key: np.insert(values, breaks, np.nan) for key, values in curves.items()}


_TEXT = """{n_windows} equal windows, infection {beta}, recovery {mu}, {epidemics} epidemics, {observations}
choices of the observed states each, {embeddings} seeds for every method. Error: mean over the windows of
|predicted - true| number of infected, ± standard error over the epidemics, with the standard deviation over
the seeds in brackets, from predicted probabilities and from predicted states; share of correctly predicted
states; wall time / processor time. Epidemics that never infect {least_peak:.0%} of the people at once are
drawn again; the regression has C = {C}. The paper finds the two methods barely distinguishable, and EDRep
more than 5 times faster. The fit with 10 epochs was added after the times of the others were known.

Only "EDRep as printed" and "EDRep (authors)" use the paper's P, the row-normalised supra-adjacency A, the
former with the printed gradient, the latter with the row form; "softvec" uses A + A', "forward only" walks of
up to three steps on A. "No vectors" gives the regression {bumps} Gaussian bumps over the window number, and
neither people nor contacts."""


def report(content: dict[str, Any]) -> str:
    """Return the results in Markdown."""
    config, summary = content["config"], content["summary"]
    rows = []
    for name, by_d in summary["table"].items():
        for d, found in by_d.items():
            for method, entry in found.items():
                error = f"{entry['mae']:.2f} ± {entry['standard_error']:.2f} ({entry['mae_spread']:.2f})"
                times = f"{entry['seconds']:.2f} / {entry['cpu_seconds']:.2f}"
                accuracy = f"{100 * entry['accuracy']:.1f}"
                rows.append([name, d, method, error, f"{entry['mae_states']:.2f}", accuracy, times])
    faster = [
        [method, *(f"{ratio['seconds']:.0f}x" for by_d in by_data.values() for ratio in by_d.values())]
        for method, by_data in summary["faster_than_DyANE"].items()
    ]
    heads = [f"{name}, d = {d}" for name, by_d in summary["table"].items() for d in by_d]
    return "\n\n".join(
        [
            '## Temporal contacts (figure "use cases", panels E and F)',
            "![True and reconstructed number of infected](../experiments/contacts/figure.png)",
            _TEXT.format(**config, bumps=min(config["dimensions"])),
            table(
                ["data", "d", "method", "error", "error (states)", "correct (%)", "time (s)"],
                rows,
            ),
            _verdict(config, summary["table"]),
            "Time of DyANE divided by that of softvec:",
            table(["", *heads], faster),
        ]
    )


def _verdict(config: dict[str, Any], found: dict[str, Any]) -> str:
    """Say, from the numbers, where what is not softvec has a lower error than every softvec row."""
    functions = {name: method["function"] for name, method in config["methods"].items()}
    lines = []
    for metric, words in (("mae", "probabilities"), ("mae_states", "states")):
        for other in ("bumps", "printed", "dyane"):
            ahead = []
            for data, by_d in found.items():
                rows_of_all = {m: row for rows in by_d.values() for m, row in rows.items()}
                for d, rows in by_d.items():
                    rival = [
                        row[metric] for m, row in {**rows_of_all, **rows}.items() if functions[m] == other
                    ]
                    best = min(row[metric] for m, row in rows.items() if functions[m] == "softvec")
                    if rival and rival[0] < best:
                        ahead.append(f"{data}, d = {d} ({rival[0]:.1f} against {best:.1f})")
            name = {"bumps": "no vectors", "printed": "EDRep as printed", "dyane": "DyANE"}[other]
            lines.append(f"- By {words}, {name} beats every softvec row: {'; '.join(ahead) or 'nowhere'}.")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    common_main("contacts", run, plot, arguments)


if __name__ == "__main__":
    main()
