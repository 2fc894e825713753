"""Analogies ("man is to king as woman is to ...") by word vectors of the novels, beside gensim's skip-gram.

The questions are all ordered pairs of word pairs of a section. Each run is a process of its own.

SOFTVEC_DATA=... python -m benchmarks.analogies [--repeats 2] [--page-only]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from itertools import permutations
from pathlib import Path
from typing import Any

from benchmarks.common import RESULTS, child, provenance, read_json, replace_section, versions, write_json
from benchmarks.words import PAGE, THREADS, _short_lines, run_gensim, run_softvec

RESULT = RESULTS / "analogies.json"
METHODS = {"softvec": "softvec", "sg5": "gensim word2vec, skip-gram, 5 epochs"}
PAIRS = {
    "family": "man woman king queen boy girl father mother brother sister son daughter uncle aunt prince "
    "princess husband wife he she his her grandfather grandmother nephew niece lord lady",
    "plural": "hand hands eye eyes house houses day days friend friends horse horses year years tree trees "
    "book books letter letters",
    "past": "go went see saw take took give gave come came know knew speak spoke write wrote stand stood "
    "fall fell",
    "comparative": "good better great greater old older young younger high higher strong stronger small "
    "smaller long longer deep deeper dark darker",
}


def questions(section: str) -> list[tuple[str, ...]]:
    """Return the questions (a, b, c, d) of a section: a is to b as c is to d."""
    words = PAIRS[section].split()
    return [(*first, *second) for first, second in permutations(zip(words[::2], words[1::2]), 2)]


def run_method(method: str, seed: int, text: str, lines: str) -> None:
    """Run one method in this process and print what was measured."""
    from softvec.evaluate import word_analogy

    emb, times = run_softvec(text, seed) if method == "softvec" else run_gensim(lines, method, seed)
    scores = {
        f"{section}, {way}": 100 * word_analogy(emb, questions(section), method=way)["accuracy"]
        for section in PAIRS
        for way in ("add", "mul")
    }
    print(json.dumps({"cpu_seconds": times["cpu_seconds"], "scores": scores}))


def measure(repeats: int) -> None:
    """Run the methods in turn."""
    from benchmarks.datasets import paths

    (text,) = paths("novels").values()
    runs: dict[str, list[Any]] = {method: [] for method in METHODS}
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "lines.txt"
        _short_lines(text, lines)
        for seed in range(repeats):
            for method in METHODS:
                words = ["--child", method, seed, text, lines]
                runs[method].append(child([sys.executable, "-m", "benchmarks.analogies", *words], THREADS))
                print(method, seed, runs[method][-1], flush=True)
    write_json(RESULT, {**provenance(THREADS), "gensim": versions(["gensim"]), "runs": runs})


def page(result: dict[str, Any]) -> str:
    """Return the table of the documentation."""
    rows = [f"| | CPU s | {' | '.join(PAIRS)} |", "|---|" + "---|" * (1 + len(PAIRS))]
    for method, runs in result["runs"].items():
        seconds = statistics.median(run["cpu_seconds"] for run in runs)
        for way, title in (("add", ""), ("mul", ", by products of cosines")):
            means = [statistics.mean(run["scores"][f"{name}, {way}"] for run in runs) for name in PAIRS]
            cells = " | ".join(f"{value:.0f}" for value in means)
            rows.append(f"| {METHODS[method]}{title} | {seconds:.1f} | {cells} |")
    note = (
        f"Right answers in percent of {sum(len(questions(name)) for name in PAIRS)} questions, mean of "
        f"{len(result['runs']['softvec'])} seeds; processor time of all threads (`python -m "
        "benchmarks.analogies`)."
    )
    return "\n".join([*rows, "", note])


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--page-only", action="store_true", help="write the page from the JSON")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        method, seed, text, lines = options.child
        run_method(method, int(seed), text, lines)
        return
    if not options.page_only:
        measure(options.repeats)
    replace_section(PAGE, "analogies", page(read_json(RESULT)))


if __name__ == "__main__":
    main()
