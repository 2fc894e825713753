"""Products of a block of rows with d x d matrices: own kernels beside BLAS, one thread.

    python -m benchmarks.products

Times X W and X' X for 131,072 numbers of X, in turns, with the kernels that BLAS takes by itself and, on x86,
with those of Haswell and SkylakeX (`OPENBLAS_CORETYPE`). Writes `benchmarks/results/products.json` and the
table in `docs/performance.md`.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np

from benchmarks.common import RESULTS, ROOT, pinned, provenance, replace_section, write_json

DIMENSIONS = (8, 16, 32, 64, 100, 128, 256, 512)
CORES = ("automatic", "Haswell", "SkylakeX")
NUMBERS, TURNS = 131_072, 200


def speeds(d: int) -> dict[str, float]:
    """Return gigaflops of both products, counting all of X' X, by own kernels and by BLAS."""
    from softvec.kernels import products, reference

    rng = np.random.default_rng(d)
    X = rng.standard_normal((NUMBERS // d, d)).astype(np.float32)
    W = rng.standard_normal((d, d)).astype(np.float32)
    cases = {"multiply": (X, W, np.empty_like(X)), "second_moments": (X, X, np.empty_like(W))}
    spent: dict[str, list[int]] = {}
    for turn in range(TURNS + 1):  # the first compiles
        for name, arrays in cases.items():
            for kind, module in (("own", products), ("BLAS", reference)):
                begin = time.process_time_ns()
                getattr(module, name)(*arrays)
                if turn:
                    spent.setdefault(f"{name}, {kind}", []).append(time.process_time_ns() - begin)
    return {name: 2 * X.size * d / statistics.median(times) for name, times in spent.items()}


def table(results: dict[str, Any]) -> str:
    """Return the speeds in gigaflops as Markdown."""
    cores = list(results["cores"])
    lines = [
        "| d | X W: own | " + " | ".join(f"BLAS, {c}" for c in cores) + " | X' X: own | "
        + " | ".join(f"BLAS, {c}" for c in cores) + " |",
        "|---" * (2 * len(cores) + 3) + "|",
    ]  # fmt: skip
    for d in DIMENSIONS:
        cells = [str(d)]
        for name in ("multiply", "second_moments"):
            rows = [results["cores"][core][str(d)] for core in cores]
            values = [statistics.median(row[f"{name}, own"] for row in rows)]
            values += [row[f"{name}, BLAS"] for row in rows]
            cells += [f"{value:.0f}" for value in values]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Time each kind of kernels in a process of its own and write the results."""
    if sys.argv[1:] == ["--child"]:
        print(json.dumps({str(d): speeds(d) for d in DIMENSIONS}))
        return
    cores: dict[str, Any] = {}
    for core in CORES:
        environment = {key: value for key, value in pinned(1).items() if key != "OPENBLAS_CORETYPE"}
        if core != "automatic":
            environment["OPENBLAS_CORETYPE"] = core
        words = [sys.executable, "-m", "benchmarks.products", "--child"]
        done = subprocess.run(words, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
        cores[core] = json.loads(done.stdout.splitlines()[-1])
        print(core, cores[core]["128"], flush=True)
    os.environ.pop("OPENBLAS_CORETYPE", None)
    results = {**provenance(1), "cores": cores}
    write_json(RESULTS / "products.json", results)
    replace_section(ROOT / "docs" / "performance.md", "products", table(results))


if __name__ == "__main__":
    main()
