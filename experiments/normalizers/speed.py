"""Times: growth with the number of items, the mixture and the exact sum against bare products."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np

from benchmarks.common import interleave, peak_rss, pinned, summary
from experiments.common import Results, timed
from experiments.normalizers.measure import Vectors, keep, make
from softvec.normalizers import Exact, GaussianMixture


def race(config: dict[str, Any], results: Results, data: Vectors, key: dict[str, Any]) -> None:
    """Time fitting and querying (1,000 rows) of a few methods, in turn, in seconds and core seconds."""
    where = {**key, "part": "race", "method": "all"}
    if results.has(**where):
        return
    names = config["race"]
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for turn in range(config["repeats"] + 1):
        for name in names:
            model = make(config["methods"][name], 1.0, turn, len(data.Y))
            _, fit = timed(lambda model=model: model.fit(data.Y))
            _, query = timed(lambda model=model: model.log_partition(data.X))
            if turn:  # the first round warms up
                rounds[name].append(
                    {f"{part}_{unit}": t[unit] for part, t in (("fit", fit), ("query", query)) for unit in t}
                )
    times = {
        name: {field: float(np.median([r[field] for r in rows])) for field in rows[0]}
        | {"total_seconds": summary([r["fit_seconds"] + r["query_seconds"] for r in rows])}
        for name, rows in rounds.items()
    }
    keep(results, **where, times=times)


def growth(config: dict[str, Any], results: Results) -> None:
    """Time fitting and 1,000 queries on synthetic unit vectors of growing number."""
    sizes = config["growth"]
    rng = np.random.default_rng(0)
    most = max(sizes["items"])
    everything = rng.standard_normal((most, sizes["d"]), dtype=np.float32)
    everything /= np.linalg.norm(everything, axis=1, keepdims=True)
    for m in sizes["items"]:
        Y = everything[:m]
        X = Y[: min(1000, m)].copy()
        for name in sizes["methods"]:
            where = {"part": "growth", "items": m, "method": name}
            if results.has(**where) or m > sizes["most"].get(name, most):
                continue
            model = make(config["methods"][name], 1.0, 0, m)
            model.fit(everything[:1000]).log_partition(everything[:300])  # compile and warm up
            model = make(config["methods"][name], 1.0, 0, m)
            _, fit = timed(lambda model=model, Y=Y: model.fit(Y))
            _, query = timed(lambda model=model, X=X: model.log_partition(X))
            keep(results, **where, fit=fit, query=query, rows=len(X))


def mixture_speed(config: dict[str, Any], results: Results) -> None:
    """Time log Z of all n items, k classes, against the k matrix products X @ omega it contains."""
    where = {"part": "mixture speed", "method": "GaussianMixture(5)"}
    if results.has(**where):
        return
    n, d, k = (config["mixture_speed"][name] for name in ("n", "d", "k"))
    X = np.random.default_rng(0).standard_normal((n, d), dtype=np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    model = GaussianMixture(k).fit(X, labels=np.arange(n) % k)
    omegas = [omega.astype(np.float32) for omega in model.covariance_]
    out = np.empty_like(X)

    def products() -> None:
        for omega in omegas:
            np.matmul(X, omega, out=out)

    seconds = interleave(
        {"products": products, "log_partition": lambda: model.log_partition(X)}, config["repeats"]
    )
    ratios = np.array(seconds["log_partition"]) / np.array(seconds["products"])
    keep(
        results, **where, **config["mixture_speed"], ratio=float(np.median(ratios)),
        products=summary(seconds["products"]), log_partition=summary(seconds["log_partition"]),
    )  # fmt: skip


def numpy_log_partition(X: np.ndarray, Y: np.ndarray, block: int = 512) -> np.ndarray:
    """Return log Z with NumPy alone, in blocks of rows and columns; BLAS may use every core."""
    out = np.empty(len(X))
    for lo in range(0, len(X), block):
        top, total = np.full(len(X[lo : lo + block]), -np.inf, np.float32), np.zeros(len(X[lo : lo + block]))
        for a in range(0, len(Y), 8192):
            S = X[lo : lo + block] @ Y[a : a + 8192].T
            new = np.maximum(top, S.max(axis=1))
            S -= new[:, None]
            np.exp(S, out=S)
            total = total * np.exp(top - new) + S.sum(axis=1, dtype=np.float64)
            top = new
        out[lo : lo + block] = top + np.log(total)
    return out


def exact_speed(config: dict[str, Any], results: Results) -> None:
    """Time the exact sum against blocked NumPy, and the memory of a whole problem in a process of its own."""
    where = {"part": "exact speed", "method": "Exact"}
    if results.has(**where):
        return
    size = config["exact_speed"]
    Y = np.random.default_rng(0).standard_normal((size["m"], size["d"]), dtype=np.float32)
    Y /= np.linalg.norm(Y, axis=1, keepdims=True)
    X = Y[: size["n"]]
    model = Exact().fit(Y)
    difference = float(np.abs(model.log_partition(X) - numpy_log_partition(X, Y)).max())
    seconds = interleave(
        {"numpy": lambda: numpy_log_partition(X, Y), "softvec": lambda: model.log_partition(X)},
        config["repeats"],
    )
    ratios = np.array(seconds["numpy"]) / np.array(seconds["softvec"])
    command = [sys.executable, "-m", "experiments.normalizers.speed", str(size["whole"]), str(size["d"])]
    whole = json.loads(
        subprocess.run(command, capture_output=True, text=True, check=True, env=pinned(2)).stdout
    )
    keep(
        results, **where, **size, times_faster=float(np.median(ratios)), difference=difference,
        numpy=summary(seconds["numpy"]), softvec=summary(seconds["softvec"]), whole_run=whole,
    )  # fmt: skip


def whole(n: int, d: int) -> None:
    """Print time and peak memory of the exact sum of n vectors against themselves."""
    Y = np.random.default_rng(0).standard_normal((n, d), dtype=np.float32)
    Y /= np.linalg.norm(Y, axis=1, keepdims=True)
    model = Exact().fit(Y)
    model.log_partition(Y[:10])
    before = peak_rss()
    _, spent = timed(lambda: model.log_partition(Y))
    print(json.dumps({"n": n, "d": d, **spent, "peak_bytes": peak_rss(), "before_bytes": before}))


if __name__ == "__main__":
    whole(int(sys.argv[1]), int(sys.argv[2]))
