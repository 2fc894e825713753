"""Run the cells of the benchmark, one for each graph, method and setting, and keep what is done.

A cell is embedded in a child process with pinned threads, then scored here. Each finished cell is
written to the result file at once: an interrupted run continues where it stopped. A cell is run
again when its settings, or for our own code its sources, have changed.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.common import ROOT, fingerprint, pinned, provenance, read_json, write_json

from . import environments, scoring
from .graphs import NAMES, REAL, Graph, load
from .methods import VOTES, Method

HERE = Path(__file__).resolve().parent
OURS = {
    "softvec": (ROOT / "src" / "softvec",),
    "prone": (HERE / "prone.py",),
    "netmf": (HERE / "netmf.py", HERE / "prone.py"),
}
PUBLISHED = "published"
SMALL = 2_000  # nodes: few to test on, so more splits
LARGE = 1_000_000  # nodes times labels: many regressions, so fewer splits


@dataclass(frozen=True)
class Protocol:
    """What holds for every cell of a run."""

    d: int = 128
    threads: int = 2
    splits: int = 5
    small_splits: int = 20
    large_splits: int = 2
    repeats: int = 5
    rounds: int = 2
    timing_budget: float = 3.0
    timeout: float = 600.0
    link_limit: float = 20.0
    sweep_limit: float = 5.0
    sweep_nodes: tuple[int, int] = (1_000, 12_000)
    sweep_regressions: int = 200_000  # nodes times labels
    seed: int = 0
    long: bool = False


@dataclass
class Campaign:
    """The result file and the work that fills it."""

    path: Path
    protocol: Protocol = field(default_factory=Protocol)

    def __post_init__(self) -> None:
        self.data: dict[str, Any] = read_json(self.path, {})
        self.data.setdefault("environments", {})
        self.data.setdefault("graphs", {})
        self.data.setdefault("cells", {})

    def save(self) -> None:
        """Write the result file, graphs in the order of the registry."""
        for key in ("graphs", "cells"):
            found = self.data[key]
            self.data[key] = {name: found[name] for name in NAMES if name in found}
        self.data = {**provenance(self.protocol.threads), "protocol": vars(self.protocol), **{
            key: self.data[key] for key in ("environments", "graphs", "cells")
        }}  # fmt: skip
        write_json(self.path, self.data)

    def run(self, graphs: list[str], methods: list[Method], *, sweep: bool, retime: bool = False) -> None:
        """Fill the cells that are still missing, or time anew those that are there."""
        for method in methods:
            environments.ensure(method.environment)
            key = method.environment or "softvec"
            self.data["environments"].setdefault(key, environments.installed(method.environment))
        for name in graphs:
            with tempfile.TemporaryDirectory() as scratch:
                bench = Bench(self, load(name), Path(scratch))
                (bench.retime if retime else bench.run)(methods, sweep=sweep)

    def cells(self, graph: str) -> dict[str, Any]:
        """Return the cells of a graph, keyed by method and setting."""
        return self.data["cells"].setdefault(graph, {})


def dimension(n: int, d: int) -> int:
    """Return the dimension for n nodes: a spectral method with d near n would hold the whole spectrum."""
    return max(2, min(d, n // 4))


def variants(method: Method, sweep: bool) -> list[tuple[str, dict[str, Any]]]:
    """Return the published settings and, when asked, those of the sweep."""
    found = [(PUBLISHED, method.params)]
    if sweep:
        found += [(json.dumps(params, sort_keys=True), params) for params in method.sweep]
    return found


def cell_key(method: Method, variant: str) -> str:
    """Return the key of a cell in the result file."""
    return f"{method.name} | {variant}"


class Bench:
    """The work on one graph: its files, its hidden links, its rounds of timing."""

    def __init__(self, campaign: Campaign, graph: Graph, scratch: Path) -> None:
        self.campaign, self.graph, self.scratch = campaign, graph, scratch
        self.protocol = campaign.protocol
        self.split = scoring.hidden_links(graph)
        self.whole, self.rest = scratch / "graph.npz", scratch / "rest.npz"
        sp.save_npz(self.whole, sp.csr_matrix(graph.A, dtype=np.float32))
        sp.save_npz(self.rest, sp.csr_matrix(self.split.graph, dtype=np.float32))
        n, k = graph.A.shape[0], graph.n_labels
        self.d = dimension(n, self.protocol.d)
        self.splits = self.protocol.large_splits if n * k > LARGE else self.protocol.splits
        self.splits = self.protocol.small_splits if n < SMALL else self.splits
        campaign.data["graphs"][graph.name] = {
            "nodes": n,
            "edges": graph.A.nnz // 2,
            "labels": k,
            "multilabel": graph.multilabel,
            "d": self.d,
            "splits": self.splits,
        }

    def run(self, methods: list[Method], *, sweep: bool) -> None:
        """Fill the missing cells: published settings in interleaved rounds, then the sweep."""
        todo = list(self.missing(methods, sweep))
        for published in (True, False):
            chosen = [job for job in todo if (job[1] == PUBLISHED) == published]
            self._fill([job for job in chosen if self._allowed(job[0], published)])
        self.retime(methods, sweep=sweep, only_stale=True)

    def missing(self, methods: list[Method], sweep: bool) -> Iterator[tuple[Method, str, dict[str, Any]]]:
        """Yield the (method, setting name, parameters) that no valid cell answers."""
        for method in methods:
            for variant, params in variants(method, sweep):
                cell = self.campaign.cells(self.graph.name).get(cell_key(method, variant))
                if cell is None or cell["recipe"] != self.recipe(method, params):
                    yield method, variant, params

    def recipe(self, method: Method, params: dict[str, Any]) -> dict[str, Any]:
        """Return what a cell depends on; another recipe means another cell."""
        recipe: dict[str, Any] = {"params": params, "d": self.d, "splits": self.splits}
        if method.starts > 1:
            recipe["starts"] = method.starts
        if method.adapter in OURS:
            recipe["sources"] = fingerprint(*OURS[method.adapter])
        elif method.environment is not None:
            recipe["packages"] = list(environments.ENVIRONMENTS[method.environment])
        return recipe

    def _allowed(self, method: Method, published: bool) -> bool:
        n = self.graph.A.shape[0]
        if n > method.max_nodes or self.graph.name.startswith(method.skip):
            return False
        if self.graph.name in method.long and not self.protocol.long:
            return False
        if published:
            return True
        done = self.campaign.cells(self.graph.name).get(cell_key(method, PUBLISHED), {})
        least, most = self.protocol.sweep_nodes
        swept = least <= n <= most and n * self.graph.n_labels <= self.protocol.sweep_regressions
        swept = swept and self.graph.name in REAL
        spent = min(done.get("seconds", 1e9), done.get("cpu_seconds", 1e9))
        return swept and spent <= self.protocol.sweep_limit

    def _fill(self, jobs: list[tuple[Method, str, dict[str, Any]]]) -> None:
        extra: list[tuple[Method, str, dict[str, Any]]] = []
        for method, variant, params in jobs:
            cell = self.cell(method, variant, params)
            self.campaign.cells(self.graph.name)[cell_key(method, variant)] = cell
            self.campaign.save()
            print(f"  {self.graph.name:14} {method.name:26} {describe(cell)}", flush=True)
            quick = cell.get("seconds", 1e9) < self.protocol.timing_budget
            if variant == PUBLISHED and quick and method.adapter != VOTES:
                extra.append((method, variant, params))
        self._more_rounds(extra, self.protocol.rounds - 1)

    def _more_rounds(self, jobs: list[tuple[Method, str, dict[str, Any]]], rounds: int) -> None:
        """Time the jobs again, in turn, so that noise falls on all alike."""
        for _ in range(rounds):
            for method, variant, params in jobs:
                again, _ = self.child(method, params, self.whole, self.protocol.repeats)
                cell = self.campaign.cells(self.graph.name)[cell_key(method, variant)]
                cell["all_seconds"] += again.get("all_seconds", [])
                cell["seconds"] = float(np.median(cell["all_seconds"]))
        self.campaign.save()

    def retime(self, methods: list[Method], *, sweep: bool, only_stale: bool = False) -> None:
        """Measure time and memory of finished cells anew and keep their scores.

        Stale are cells that were timed with other threads or fewer repeats than this run's.
        """
        extra = []
        for method in methods:
            for variant, params in variants(method, sweep):
                cell = self.campaign.cells(self.graph.name).get(cell_key(method, variant))
                if cell is None or "micro_f1" not in cell or method.adapter == VOTES:
                    continue
                if only_stale and cell.get("timing") == self.timing():
                    continue
                report, X = self.child(method, params, self.whole, self.protocol.repeats)
                if X is None:
                    continue
                cell.update(report, timing=self.timing())
                self._add_links(cell, method, params)
                print(f"  {self.graph.name:14} {method.name:26} {describe(cell)}", flush=True)
                if cell["seconds"] < self.protocol.timing_budget:
                    extra.append((method, variant, params))
        self._more_rounds(extra, self.protocol.rounds - 1)

    def timing(self) -> dict[str, int]:
        """Return how cells are timed in this run."""
        return {key: getattr(self.protocol, key) for key in ("threads", "repeats", "rounds")}

    def _add_links(self, cell: dict[str, Any], method: Method, params: dict[str, Any]) -> None:
        spent = min(cell["seconds"], cell["cpu_seconds"])
        if cell["variant"] != PUBLISHED or "auc_random" in cell or spent > self.protocol.link_limit:
            return
        _, X = self.child(method, params, self.rest, 1)
        if X is not None:
            cell.update(scoring.links(X, self.split))

    def cell(self, method: Method, variant: str, params: dict[str, Any]) -> dict[str, Any]:
        """Embed, time and score one setting; failures are recorded, not raised."""
        start = time.perf_counter()
        recipe = self.recipe(method, params)
        cell: dict[str, Any] = {"method": method.name, "variant": variant, "recipe": recipe}
        if method.adapter == VOTES:
            scores = scoring.neighbour_votes(self.graph, repeats=self.splits)
            spent = time.perf_counter() - start
            return cell | scores | {"seconds": spent / self.splits, "cell_seconds": spent}
        report, X = self.child(method, params, self.whole, self.protocol.repeats)
        cell.update(report, timing=self.timing())
        if X is None:
            return cell
        starts = [X]
        if variant == PUBLISHED:
            seeds = range(self.protocol.seed + 1, self.protocol.seed + method.starts)
            starts += [self.child(method, params, self.whole, 1, seed)[1] for seed in seeds]
        cell.update(scoring.mean_of_starts([self._score(V, variant) for V in starts if V is not None]))
        if variant == PUBLISHED:
            self._add_links(cell, method, params)
        cell["cell_seconds"] = time.perf_counter() - start
        return cell

    def _score(self, X: np.ndarray, variant: str) -> dict[str, Any]:
        labels = scoring.classification(X, self.graph, repeats=self.splits)
        return labels | (scoring.clustering(X, self.graph) if variant == PUBLISHED else {})

    def child(
        self, method: Method, params: dict[str, Any], graph: Path, repeats: int, seed: int | None = None
    ) -> tuple[dict[str, Any], np.ndarray | None]:
        """Run one embedding in the rival's environment; return its report and the vectors."""
        protocol = self.protocol
        job = {"d": self.d, "seed": protocol.seed if seed is None else seed, "params": params}
        job |= {"repeats": repeats, "budget": protocol.timing_budget}
        vectors, report = self.scratch / "vectors.npy", self.scratch / "report.json"
        command = [environments.python(method.environment), HERE / "runner.py", method.adapter]
        command += [graph, vectors, report, json.dumps(job)]
        try:
            done = subprocess.run(
                [str(word) for word in command],
                env=pinned(protocol.threads),
                capture_output=True,
                text=True,
                timeout=protocol.timeout,
            )
        except subprocess.TimeoutExpired:
            return {"error": f"stopped after {protocol.timeout:g} s"}, None
        if done.returncode:
            lines = done.stderr.strip().splitlines()
            return {"error": lines[-1] if lines else f"exit code {done.returncode}"}, None
        return json.loads(report.read_text()), np.load(vectors, allow_pickle=False)


def describe(cell: dict[str, Any]) -> str:
    """Return one line about a cell."""
    if "error" in cell:
        return f"failed: {cell['error'][:150]}"
    parts = [f"{cell['seconds']:9.3f} s", f"{cell.get('peak_rss', 0) / 2**20:6.0f} MiB"]
    names = {"micro_f1": "micro", "macro_f1": "macro", "nmi": "NMI", "auc_random": "AUC"}
    parts += [f"{label} {cell[key]:5.1f}" for key, label in names.items() if key in cell]
    return "  ".join(parts)
