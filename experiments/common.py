"""What the experiments share: configuration, results that can be continued, data, figures.

An experiment is a directory with `config.json` (the full size under "full", what differs in a small run under
"quick"), `run.py` with `run(config, results)` and `plot(results, path)`, `results/full.json` and
`figure.png`. A small run writes `results/quick.json` and `quick.png`, which are not kept in the repository.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import provenance, write_json

ROOT = Path(__file__).resolve().parent
COLORS = {
    "softvec": "#0072B2",
    "authors": "#E69F00",
    "deepwalk": "#8C564B",
    "spectral": "#009E73",
    "other": "#CC79A7",
    "grey": "#6E6E6E",
}


_SIZES = (
    "samples",
    "graph_samples",
    "splits",
    "embeddings",
    "timing_repeats",
    "timing_alphas",
    "alphas",
    "graphs",
    "held_back",
    "invariance",
    "coverage_items",
    "paper",
    "grids",  # records name their own setting
)


class Results:
    """Records of an experiment, written after each one, so that a stopped run goes on where it was."""

    def __init__(self, path: Path, config: dict[str, Any]):
        self.path = path
        self.config = config
        old = json.loads(path.read_text()) if path.exists() else {}
        self.records: list[dict[str, Any]] = _still_valid(old, json.loads(json.dumps(config)))
        self.summary: dict[str, Any] = {}
        self.only: list[str] = []
        self.scores_only = False

    def has(self, **key: Any) -> bool:
        """Whether there is a record with these values, or its method is not among those to run."""
        if self.only and key.get("method") not in {None, *self.only}:
            return True
        return any(all(record.get(k) == v for k, v in key.items()) for record in self.records)

    def add(self, **record: Any) -> None:
        """Add a record and save."""
        self.records.append(record)
        self.save()

    def select(self, **key: Any) -> list[dict[str, Any]]:
        """Return the records with these values."""
        return [record for record in self.records if all(record.get(k) == v for k, v in key.items())]

    def save(self) -> None:
        """Write everything, whole or not at all."""
        threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        content = {
            "provenance": provenance(threads),
            "config": self.config,
            "summary": self.summary,
            "records": self.records,
        }
        write_json(self.path, plain(content))


def _still_valid(old: dict[str, Any], config: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the old records but those of methods that have changed, if nothing else has."""
    before = old.get("config", {})
    if not before or _essence(before) != _essence(config):
        return []
    known = before["methods"]
    same = {n for n, m in config["methods"].items() if n in known and _essence(known[n]) == _essence(m)}
    return [
        r for r in old["records"]
        if r.get("kind") == "baseline" or r["method"] in same or r["method"] not in known
    ]  # fmt: skip


def _essence(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that a record depends on: neither their number nor the other methods."""
    return {key: value for key, value in settings.items() if key not in (*_SIZES, "methods")}


def plain(value: Any) -> Any:
    """Turn NumPy values into what JSON knows, floats to 6 digits."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        value = value.item()
    return float(f"{value:.6g}") if isinstance(value, float) else value


def mean_spread(values: list[float]) -> tuple[float, float]:
    """Return the mean and the standard deviation."""
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def timed(function: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Return a result, and the seconds it took: by the clock, and of all cores together."""
    start, used = time.perf_counter(), time.process_time()
    result = function()
    return result, {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - used}


def median_times(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return the medians of both kinds of seconds."""
    return {key: float(np.median([row[key] for row in rows])) for key in ("seconds", "cpu_seconds")}


def table(header: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def style() -> Any:
    """Return pyplot with the settings of all figures."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update(
        {
            "figure.dpi": 150,
            "savefig.bbox": "tight",
            "font.size": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.alpha": 0.25,
            "legend.frameon": False,
        }
    )
    return plt


def config_of(name: str, quick: bool) -> dict[str, Any]:
    """Return the configuration of an experiment, with its changes for a small run."""
    found = json.loads((ROOT / name / "config.json").read_text())
    return {**found["full"], **(found["quick"] if quick else {})}


def main(
    name: str,
    run: Callable[[dict[str, Any], Results], None],
    plot: Callable[[dict[str, Any], Path], None],
    arguments: list[str] | None = None,
) -> None:
    """Run an experiment from the command line: `--quick` small, `--plot` only draws what is there."""
    parser = argparse.ArgumentParser(prog=f"experiments.{name}")
    parser.add_argument("--quick", action="store_true", help="a small version, in a minute or two")
    parser.add_argument("--plot", action="store_true", help="draw the figure from the results that are there")
    parser.add_argument("--only", action="append", default=[], metavar="METHOD", help="run no other method")
    parser.add_argument("--redo", action="append", default=[], metavar="METHOD", help="forget its records")
    parser.add_argument("--scores-only", action="store_true", help="time nothing: for a busy machine")
    parser.add_argument("--redo-times", action="store_true", help="forget the timings first")
    parser.add_argument(
        "--output", type=Path, help="directory for results and figure (default: the experiment's)"
    )
    options = parser.parse_args(arguments)
    size = "quick" if options.quick else "full"
    home = options.output or ROOT / name
    path = home / "results" / f"{size}.json"
    if not options.plot:
        results = Results(path, config_of(name, options.quick))
        results.only, results.scores_only = options.only, options.scores_only
        unknown = {*options.redo, *options.only} - set(results.config["methods"])
        if unknown:
            parser.error(f"no method {', '.join(unknown)}; there are {', '.join(results.config['methods'])}")
        results.records = [
            record
            for record in results.records
            if record["method"] not in options.redo
            and not (options.redo_times and record.get("part") == "time")
        ]
        run(results.config, results)
        results.save()
    figure = home / ("quick.png" if options.quick else "figure.png")
    plot(json.loads(path.read_text()), figure)
    print(f"{name}: {path} and {figure}")
