"""Exact nearest neighbours by cosine: softvec's blocked search beside scikit-learn and usearch.

    python -m benchmarks.search [--quick]

Single queries and many, on random unit vectors of 128 dimensions; all methods are exact and give the same
neighbours. Writes `benchmarks/results/search.json` and the table in `docs/embedding.md`.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from benchmarks.common import (
    RESULTS,
    ROOT,
    cores,
    interleave,
    provenance,
    replace_section,
    summary,
    versions,
    write_json,
)

CASES = ((10_000, 1), (10_000, 300), (100_000, 1), (100_000, 30))  # vectors, queries
_NEIGHBOURS = 10


def measure(n: int, queries: int, repeats: int, threads: int) -> dict[str, Any]:
    """Time the methods in turn, and compare their answers."""
    from sklearn.neighbors import NearestNeighbors
    from usearch.index import MetricKind, search

    from softvec.embedding.search import exact_nearest, inverse_norms, unit_rows

    rng = np.random.default_rng(0)
    V = unit_rows(rng.standard_normal((n, 128), dtype=np.float32))
    Q = unit_rows(rng.standard_normal((queries, 128), dtype=np.float32))
    scale = inverse_norms(V)
    brute = NearestNeighbors(n_neighbors=_NEIGHBOURS, metric="cosine", algorithm="brute", n_jobs=threads).fit(
        V
    )
    ball = NearestNeighbors(n_neighbors=_NEIGHBOURS, algorithm="brute", n_jobs=threads).fit(V)
    methods = {
        "softvec": lambda: exact_nearest(Q, V, _NEIGHBOURS, scale=scale)[0],
        "scikit-learn, cosine": lambda: brute.kneighbors(Q, return_distance=False),
        "scikit-learn, Euclidean": lambda: ball.kneighbors(Q, return_distance=False),
        "usearch, exact": lambda: np.atleast_2d(
            search(V, Q, _NEIGHBOURS, MetricKind.IP, exact=True, threads=threads).keys
        ),
    }
    answers = {name: np.sort(method(), axis=1) for name, method in methods.items()}
    return {
        "vectors": n,
        "queries": queries,
        "methods": {
            name: {
                "seconds": summary(seconds),
                "same_neighbours": float((answers[name] == answers["softvec"]).mean()),
            }
            for name, seconds in interleave(methods, repeats, warm_up=0).items()
        },
    }


def table(cases: list[dict[str, Any]]) -> str:
    """Return the Markdown table: times in milliseconds."""
    names = list(cases[0]["methods"])
    lines = ["| vectors | queries | " + " | ".join(names) + " |", "|---|---|" + "---|" * len(names)]
    for case in cases:
        times = [1000 * case["methods"][name]["seconds"]["median"] for name in names]
        shown = [f"{t:,.0f} ms" if t >= 10 else f"{t:.1f} ms" for t in times]
        cells = [f"**{text}**" if t == min(times) else text for t, text in zip(times, shown)]
        lines.append(f"| {case['vectors']:,} | {case['queries']:,} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run everything and write the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="10,000 vectors, two repeats, no documentation")
    options = parser.parse_args()
    threads = cores()
    repeats = 2 if options.quick else 5
    cases = [measure(n, q, repeats, threads) for n, q in (CASES[:2] if options.quick else CASES)]
    header = provenance(threads)
    header["versions"] |= versions(["usearch"])
    path = RESULTS / ("search_quick.json" if options.quick else "search.json")
    write_json(path, {"provenance": header, "cases": cases})
    if not options.quick:
        replace_section(ROOT / "docs" / "embedding.md", "search", table(cases))
    print(path)


if __name__ == "__main__":
    main()
