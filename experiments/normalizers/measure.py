"""Errors of every method on real vectors, coverage of intervals, and the scores of one item."""

from __future__ import annotations

import zlib
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.stats import norm

from experiments.common import Results, plain, timed
from experiments.normalizers import rivals
from experiments.normalizers.rivals.cost import cost_of
from experiments.normalizers.scaling import rescale
from softvec import normalizers
from softvec.core.errors import InputError
from softvec.normalizers import Exact, GaussianMixture, control_variate

WARM: set[str] = set()  # classes that have been used in this process
LEVELS = np.linspace(0, 1, 41)  # quantiles that are kept of each distribution of errors


def load(source: str, limit: int | None) -> np.ndarray:
    """Return the vectors of a data set of the experiment, or of any file of vectors."""
    from benchmarks.datasets import data_dir

    known = data_dir() / "embeddings" / f"{source}.npy"
    path = known if known.exists() else Path(source)
    if not path.exists():
        raise InputError(
            f"no vectors {source!r}: neither {known} nor such a file; set SOFTVEC_DATA or pass a path"
        )
    if path.suffix == ".npy":
        vectors = np.load(path, allow_pickle=False)
    else:
        from softvec.affinity import read_vectors

        vectors = np.asarray(read_vectors(path).vectors)
    return np.ascontiguousarray(vectors[:limit], dtype=np.float32)


def name_of(source: str) -> str:
    """Return what an embedding is called in records: a data set's name, or the name of its file."""
    return Path(source).stem if "/" in source or "." in source else source


def seed_of(*words: Any) -> int:
    """Return a seed that depends on the words alone."""
    return zlib.crc32("|".join(map(str, words)).encode())


def make(method: dict[str, Any], beta: float, seed: int, items: int) -> normalizers.Normalizer:
    """Return an unfitted normaliser; sizes are cut down to the number of items."""
    options = dict(method.get("options", {}))
    for key in ("n_samples", "n_landmarks", "n_clusters", "n_cells"):
        if key in options:
            options[key] = min(options[key], items // 2)
    room = rivals if hasattr(rivals, method["class"]) else normalizers
    return getattr(room, method["class"])(beta=beta, random_state=seed, **options)


def errors(log_z: np.ndarray, exact: np.ndarray, m: int) -> dict[str, Any]:
    """Return medians, 95th percentiles and quantiles of |Z - Zest| / m and of |Z - Zest| / Z."""
    with np.errstate(over="ignore"):
        relative = np.abs(np.expm1(log_z - exact))
        scaled = relative * np.exp(exact - np.log(m))
    return {
        "median": np.median(scaled),
        "p95": np.quantile(scaled, 0.95),
        "relative_median": np.median(relative),
        "relative_p95": np.quantile(relative, 0.95),
        "quantiles": [float(f"{q:.3g}") for q in np.quantile(scaled, LEVELS)],
    }


def keep(results: Results, **record: Any) -> None:
    """Add a record; the file is written after each embedding, not after each of hundreds of records."""
    results.records.append(plain(record))


def settings(config: dict[str, Any]) -> list[tuple[str, str]]:
    """Return all pairs of an embedding and a way to scale its norms."""
    return [(source, norms) for source in config["embeddings"] for norms in config["norms"]]


class Vectors:
    """One embedding at one scaling: items, queries, and the exact log Z for each beta."""

    def __init__(self, source: str, norms: str, config: dict[str, Any], most: int | None = None):
        vectors = load(source, config["items"])
        rng = np.random.default_rng(seed_of(source))
        if most is not None and len(vectors) > most:
            vectors = vectors[np.sort(rng.choice(len(vectors), most, replace=False))]
        self.Y = rescale(vectors, norms)
        self.rows = np.sort(rng.choice(len(self.Y), min(config["rows"], len(self.Y)), replace=False))
        self.X = self.Y[self.rows]
        self.indexes: dict[str, Any] = {}
        self._exact: dict[float, np.ndarray] = {}

    def exact(self, beta: float) -> np.ndarray:
        """Return the exact log Z of the queries, in float64."""
        if beta not in self._exact:
            model = Exact(beta=beta).fit(self.Y.astype(np.float64))
            self._exact[beta] = model.log_partition(self.X.astype(np.float64))
        return self._exact[beta]


def one_method(data: Vectors, method: dict[str, Any], beta: float, draws: int) -> dict[str, Any]:
    """Return the errors of a method over several draws, and the times of the first."""
    found, times = [], {}
    if method["class"] not in WARM:  # compile outside the clock
        make(method, beta, 0, 1000).fit(data.Y[:1000]).log_partition(data.X[:300])
        WARM.add(method["class"])
    for draw in range(draws):
        model = make(method, beta, seed_of(method["class"], draw), len(data.Y))
        shared = isinstance(model, rivals.TopK) and "index" in data.indexes
        if shared:
            model.index = data.indexes["index"]
        _, fit = timed(lambda model=model: model.fit(data.Y))
        log_z, query = timed(lambda model=model: model.log_partition(data.X))
        if isinstance(model, rivals.TopK):
            if not shared:
                data.indexes.update(index=model.index_, fit=fit)
            fit = data.indexes["fit"]
        if draw == 0:
            times = {"fit": fit, "query": query, "cost": cost_of(model)._asdict()}
            if isinstance(model, normalizers.ControlVariate):
                times["read_mean"] = model.n_read(data.X).mean()
                times["read_most"] = model.n_read(data.X).max()
        found.append(log_z)
    exact = np.tile(data.exact(beta), draws)
    summary = errors(np.concatenate(found), exact, len(data.Y))
    if beta != 1:
        del summary["quantiles"]  # drawn at beta 1 only
    return {**summary, **times}


def accuracy(config: dict[str, Any], results: Results, data: Vectors, key: dict[str, Any]) -> None:
    """Measure every method at every beta."""
    for beta in config["betas"]:
        for name, method in config["methods"].items():
            where = {**key, "part": "accuracy", "beta": beta, "method": name}
            if beta not in method.get("betas", config["betas"]) or results.has(**where):
                continue
            draws = min(config["draws"], method.get("draws", config["draws"]))
            if method["class"] in ("Exact", "GaussianMixture"):
                draws = 1
            keep(results, **where, m=len(data.Y), d=data.Y.shape[1], **one_method(data, method, beta, draws))
            print(f"{key['embedding']} {key['norms']} beta {beta} {name}", flush=True)


def coverage(config: dict[str, Any], results: Results, source: str, norms: str) -> None:
    """Count how often nominal 95% intervals hold the exact value, over queries and draws.

    The queries are drawn apart from those that a fit learns its tails from, so few of them are the same.
    """
    key = {"embedding": name_of(source), "norms": norms}
    data = Vectors(source, norms, config, config["coverage_items"])
    for beta in config["betas"]:
        for name in config["coverage"]:
            where = {**key, "part": "coverage", "beta": beta, "method": name}
            if results.has(**where):
                continue
            inside, ratio = [], []
            exact = data.exact(beta)
            for draw in range(config["coverage_draws"]):
                model = make(config["methods"][name], beta, seed_of("coverage", draw), len(data.Y)).fit(
                    data.Y
                )
                low, high = model.confidence_interval(data.X)
                inside.append((low <= exact) & (exact <= high))
                ratio.append(np.expm1(model.log_partition(data.X) - exact))
            tenth = np.argsort(np.argsort(np.linalg.norm(data.X, axis=1), kind="stable")) * 10 // len(data.X)
            deciles = [np.mean(np.array(inside)[:, tenth == part]) for part in range(10)]
            bias = np.mean(ratio) / (np.std(np.mean(ratio, axis=1)) / np.sqrt(len(ratio)) + 1e-300)
            keep(
                results, **where, m=len(data.Y), pairs=np.size(inside), coverage=np.mean(inside),
                deciles=deciles, bias_z=bias,
            )  # fmt: skip


def one_item(results: Results, data: Vectors, key: dict[str, Any]) -> None:
    """Keep the distribution of the scores of one item, and the mixture's (k = 5)."""
    where = {**key, "part": "scores", "method": "GaussianMixture(5)"}
    if results.has(**where):
        return
    x = data.X[len(data.X) // 2].astype(np.float64)
    scores = np.sort(data.Y.astype(np.float64) @ x)
    grid = np.linspace(*np.quantile(scores, [0.0005, 0.9995]), 81)
    model = GaussianMixture(5, random_state=0).fit(data.Y)
    deviation = np.sqrt(np.maximum(np.einsum("i,kij,j->k", x, model.covariance_, x), 1e-30))
    share = model.weight_ / model.weight_.sum()
    fitted = (share * norm.cdf((grid[:, None] - model.mean_ @ x) / deviation)).sum(axis=1)
    real = np.searchsorted(scores, grid, side="right") / len(scores)
    keep(results, **where, item=data.rows[len(data.rows) // 2], grid=grid, real=real, mixture=fitted)


ABLATIONS: dict[str, dict[str, float]] = {
    "as it is": {},
    "no whole cells": {"_WHOLE": 0.0},
    "even rates": {"_EVEN": 1.0},
    "no parabola": {"_BEND": 0.0},
    "variance of the sample alone": {"_PRIOR": 1e-6},
}


def ablation(config: dict[str, Any], results: Results, data: Vectors, key: dict[str, Any]) -> None:
    """Leave out one idea of ControlVariate(1000) at a time: errors and coverage."""
    for beta in config["ablation_betas"]:
        exact = np.tile(data.exact(beta), config["draws"])
        for name, changes in ABLATIONS.items():
            where = {
                **key,
                "part": "ablation",
                "beta": beta,
                "method": "ControlVariate(1000)",
                "change": name,
            }
            if results.has(**where):
                continue
            found, inside = [], []
            with patch.multiple(control_variate, **changes) if changes else nullcontext():
                for draw in range(config["draws"]):
                    model = make(config["methods"]["ControlVariate(1000)"], beta, draw, len(data.Y)).fit(
                        data.Y
                    )
                    found.append(model.log_partition(data.X))
                    low, high = model.confidence_interval(data.X)
                    inside.append((low <= data.exact(beta)) & (data.exact(beta) <= high))
            summary = errors(np.concatenate(found), exact, len(data.Y))
            del summary["quantiles"]
            keep(results, **where, **summary, coverage=np.mean(inside))
