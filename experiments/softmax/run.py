"""Probabilities one can bet on: what a calibration claims, against links that nobody saw.

A tenth of the links is hidden from everything. The others are embedded and calibrated, which hides a
twentieth of what is left. The gain over popularity that is claimed is compared with that on the tenth.
Random graphs, where nothing can be known beyond the degrees, must claim nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import softvec
from experiments.common import COLORS, Results, mean_spread, style, table
from experiments.common import main as common_main
from experiments.links.run import load
from softvec.evaluate.links import split_edges
from softvec.fit.link_softmax import Softmax

NULLS = ("random, 6 neighbours", "random, 30 neighbours", "degrees of polblogs")


def random_graph(name: str, seed: int) -> sp.csr_array:
    """Return a graph without structure: of equal probabilities, or with the degrees of a graph."""
    rng = np.random.default_rng([17, seed])
    if name.startswith("random"):
        n, degree = 2000, int(name.split()[1])
        i, j = rng.integers(0, n, (2, n * degree // 2))
    else:
        A = load(name.split()[-1])
        n = A.shape[0]
        ends = rng.permutation(np.repeat(np.arange(n), np.diff(A.indptr)))
        i, j = ends[: len(ends) // 2], ends[-(len(ends) // 2) :]
    A = sp.csr_array((np.ones(len(i)), (i, j)), shape=(n, n))
    return plain(sp.csr_array(A + A.T))


def plain(A: sp.csr_array) -> sp.csr_array:
    """Return an undirected graph without weights and loops."""
    A = sp.csr_array(A.maximum(A.T))
    A.setdiag(0)
    A.eliminate_zeros()
    A.data[:] = 1
    return A


def true_gain(model: Softmax, point: np.ndarray, pairs: np.ndarray) -> tuple[float, float]:
    """Return the gain over the best popularity on links, and its standard error."""
    i, j = np.concatenate([pairs, pairs[:, ::-1]]).T

    def likelihood(at: np.ndarray) -> np.ndarray:
        parts = [
            model.log_probabilities(i[lo : lo + 256], at)[0][
                np.arange(len(i[lo : lo + 256])), j[lo : lo + 256]
            ]
            for lo in range(0, len(i), 256)
        ]
        return np.concatenate(parts).astype(np.float64)

    popular = max((likelihood(np.array([0.0, c])) for c in np.arange(0, 1.6, 0.1)), key=np.mean)
    gains = (likelihood(point) - popular).reshape(2, -1).mean(axis=0)
    return float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(len(gains)))


def run(config: dict[str, Any], results: Results) -> None:
    """Fill in the records that are missing."""
    for name in (*config["graphs"], *config["held_back"]):
        for sample in range(1 if name in config["held_back"] else config["samples"]):
            A = random_graph(name, sample) if name in NULLS else plain(load(name))
            split = split_edges(A, 0.1, random_state=sample)
            d = min(config["d"], A.shape[0] // 4)
            for method, options in config["methods"].items():
                if results.has(method=method, graph=name, sample=sample):
                    continue
                emb = softvec.embed(split.graph, d, kind="graph", random_state=sample, **options)
                emb = emb if emb.provenance["softmax"] else emb.calibrate(split.graph)
                claimed = emb.provenance["softmax"]
                known = sp.csr_array(split.graph, dtype=bool)
                model = Softmax.of(emb.vectors, emb.context_vectors, known, same=True, mutual=True)
                chosen = np.random.default_rng(sample).permutation(len(split.positives))[:1000]
                point = np.array([claimed["cosine"], claimed["popularity"]])
                true, error = true_gain(model, point, split.positives[chosen])
                results.add(
                    method=method,
                    graph=name,
                    sample=sample,
                    claimed=claimed["nats_gained"],
                    claimed_error=claimed["standard_error"],
                    deciles=list(claimed["deciles"]),
                    true=true,
                    true_error=error,
                )
                print(name, sample, method, f"{claimed['nats_gained']:+.3f} {true:+.3f}", flush=True)
    results.summary = summarize(config, results)


def summarize(config: dict[str, Any], results: Results) -> dict[str, Any]:
    """Return means over samples, and the largest distance of a claim from the truth."""
    summary: dict[str, Any] = {}
    for graph in (*config["graphs"], *config["held_back"]):
        for method in config["methods"]:
            rows = results.select(graph=graph, method=method)
            if not rows:
                continue
            entry: dict[str, Any] = {}
            for key in ("claimed", "true"):
                entry[key], entry[f"{key}_spread"] = mean_spread([row[key] for row in rows])
            entry["largest"] = max(abs(row["claimed"] - row["true"]) for row in rows)
            entry["in_errors"] = max(abs(row["claimed"]) / row["claimed_error"] for row in rows)
            entry["deciles"] = np.mean([row["deciles"] for row in rows], axis=0).tolist()
            summary.setdefault(graph, {})[method] = entry
    return summary


def plot(content: dict[str, Any], path: Path) -> None:
    """Draw the claims against the truth."""
    plt = style()
    figure, axis = plt.subplots(figsize=(4.4, 4.0))
    for method, color in zip(content["config"]["methods"], (COLORS["softvec"], COLORS["other"])):
        entries = [entry[method] for entry in content["summary"].values() if method in entry]
        axis.plot(
            [e["true"] for e in entries], [e["claimed"] for e in entries], "o", color=color, label=method
        )
    low, high = axis.get_xlim()
    axis.plot([low, high], [low, high], ":", color=COLORS["grey"])
    axis.set(xlabel="nats gained on links that nobody saw", ylabel="nats claimed")
    axis.legend()
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


_TEXT = """Nats gained over popularity on a hidden link, as `emb.calibrate(graph)` claims them, or the record
of `view="links"`, and on a tenth of the links that neither the vectors nor the calibration saw; in brackets
the standard deviation over {samples} splits and starts, one of the graphs held back, on which no choice was
made; d = {d}, or a quarter of the nodes. Popularity is the best power of the degree.
Deciles: observed over expected hidden links, least and most of ten groups of pairs of equal expectation.
Random graphs and one with the degrees of polblogs are the null test: nothing can be known there."""


def report(content: dict[str, Any]) -> str:
    """Return the results in Markdown."""
    rows, held_back = [], content["config"]["held_back"]
    for graph, entries in content["summary"].items():
        for method, entry in entries.items():
            shown = [f"{entry[key]:+.2f} ({entry[f'{key}_spread']:.2f})" for key in ("claimed", "true")]
            deciles = f"{min(entry['deciles']):.2f} to {max(entry['deciles']):.2f}"
            name = f"{graph}, held back" if graph in held_back else graph
            rows.append([name, method, *shown, f"{entry['largest']:.2f}", deciles])
    entries = [(graph, e) for graph, methods in content["summary"].items() for e in methods.values()]
    largest = max(entry["largest"] for _, entry in entries)
    nulls = [entry["in_errors"] for graph, entry in entries if graph in NULLS]
    lines = [f"- The largest distance of a claim from the truth, over all splits: {largest:.2f} nats."]
    if nulls:
        lines.append(f"- Random graphs: claims are at most {max(nulls):.1f} standard errors from 0.")
    return "\n\n".join(
        [
            "## Probabilities on hidden links",
            "![nats claimed against nats gained](../experiments/softmax/figure.png)",
            _TEXT.format(**content["config"]),
            table(["", "view", "claimed", "true", "largest distance", "deciles"], rows),
            "\n".join(lines),
        ]
    )


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    common_main("softmax", run, plot, arguments)


if __name__ == "__main__":
    main()
