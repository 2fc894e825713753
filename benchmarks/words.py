"""Word vectors of the novels, scored on human judgements of similarity, beside gensim's word2vec.

Each run is a process of its own, methods in turn. softvec's time is from the file to the vectors; compilation
is apart (a tiny corpus first). gensim reads the text in its fastest way, from a prepared file of short lines.

SOFTVEC_DATA=... python -m benchmarks.words [--repeats 3] [--methods softvec sg1] [--page-only]
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.common import (
    RESULTS,
    ROOT,
    child,
    peak_rss,
    provenance,
    read_json,
    replace_section,
    versions,
    write_json,
)

RESULT = RESULTS / "words.json"
PAGE = ROOT / "docs" / "words.md"
SETS = ["men", "mturk771", "rg65", "simlex999", "ws353_rel", "ws353_sim"]
D, WINDOW, MIN_COUNT, THREADS = 128, 5, 5, 2
METHODS = {  # title, epochs; one epoch of gensim takes at least as long as all of softvec
    "softvec": ("softvec", 0),
    "cbow1": ("gensim word2vec, CBOW, 1 epoch", 1),
    "sg1": ("gensim word2vec, skip-gram, 1 epoch", 1),
    "cbow5": ("gensim word2vec, CBOW, 5 epochs (its default)", 5),
    "sg5": ("gensim word2vec, skip-gram, 5 epochs", 5),
}


class Clock:
    """Wall time and processor time, of all threads, since it was made."""

    def __init__(self) -> None:
        self._start = time.perf_counter(), time.process_time()

    def read(self) -> dict[str, float]:
        """Return both in seconds."""
        wall, cpu = time.perf_counter() - self._start[0], time.process_time() - self._start[1]
        return {"seconds": wall, "cpu_seconds": cpu}


def run_softvec(path: str, seed: int) -> tuple[Any, dict[str, float]]:
    """Return the embedding and its times, compiling apart."""
    import softvec

    warm_up = Clock()
    tiny = [" ".join(f"w{(i * j) % 50}" for i in range(200)) for j in range(50)]
    softvec.embed(tiny, D, window=WINDOW, min_count=1, random_state=0, n_jobs=THREADS)
    compiling = warm_up.read()["cpu_seconds"]
    clock = Clock()
    emb = softvec.embed(
        path, D, kind="corpus", window=WINDOW, min_count=MIN_COUNT, random_state=seed, n_jobs=THREADS
    )
    return emb, {**clock.read(), "compiling_cpu_seconds": compiling}


def run_gensim(lines: str, method: str, seed: int) -> tuple[Any, dict[str, float]]:
    """Return the embedding of gensim's word2vec and its times."""
    from gensim.models import Word2Vec

    from softvec import Embedding

    clock = Clock()
    model = Word2Vec(
        corpus_file=lines, vector_size=D, window=WINDOW, min_count=MIN_COUNT, sg=int(method.startswith("sg")),
        epochs=METHODS[method][1], workers=THREADS, seed=seed,
    )  # fmt: skip
    times = clock.read()
    return Embedding.from_gensim(model), times


def run_method(method: str, seed: int, text: str, lines: str) -> None:
    """Run one method in this process and print what was measured."""
    from benchmarks.datasets import load
    from softvec.evaluate import word_similarity

    run = run_softvec(text, seed) if method == "softvec" else run_gensim(lines, method, seed)
    emb, times = run
    peak = peak_rss()
    scores = {name: 100 * word_similarity(emb, load(name))["spearman"] for name in SETS}
    print(json.dumps({**times, "peak_gib": peak / 2**30, "scores": scores, "words": len(emb)}))


def measure(repeats: int, methods: list[str]) -> None:
    """Run methods in turn, so that a slow moment falls on all alike; go on where the last run stopped."""
    from benchmarks.datasets import paths

    (text,) = paths("novels").values()
    settings = {"dimensions": D, "window": WINDOW, "min_count": MIN_COUNT}
    header = {**provenance(THREADS), "gensim": versions(["gensim"]), "settings": settings}
    runs = read_json(RESULT, {"runs": {}})["runs"]
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "lines.txt"
        _short_lines(text, lines)
        for seed in range(repeats):
            for method in methods:
                of_method = runs.setdefault(method, [])
                if len(of_method) > seed:
                    continue
                words = ["--child", method, seed, text, lines]
                of_method.append(child([sys.executable, "-m", "benchmarks.words", *words], THREADS))
                print(method, seed, of_method[-1], flush=True)
                ordered = {name: runs[name] for name in METHODS if name in runs}
                write_json(RESULT, {**header, "runs": ordered})


def _short_lines(text: Path, lines: Path, words: int = 1000) -> None:
    """Cut each book into lines of 1,000 words: gensim ignores what exceeds 10,000 in a line."""
    with gzip.open(text, "rt") as books, lines.open("w") as out:
        for book in books:
            tokens = book.split()
            out.writelines(" ".join(tokens[i : i + words]) + "\n" for i in range(0, len(tokens), words))


def page(result: dict[str, Any]) -> str:
    """Return the table of the documentation."""
    settings = result["settings"]
    head = " | ".join(SETS)
    rows = [f"| | runs | CPU s | peak GiB | mean | {head} |", "|---|" + "---|" * (4 + len(SETS))]
    for method, runs in result["runs"].items():
        middle = {name: statistics.median(run["scores"][name] for run in runs) for name in SETS}
        seconds = statistics.median(run["cpu_seconds"] for run in runs)
        peak = statistics.median(run["peak_gib"] for run in runs)
        cells = " | ".join(f"{middle[name]:.1f}" for name in SETS)
        mean = sum(middle.values()) / len(SETS)
        rows.append(
            f"| {METHODS[method][0]} | {len(runs)} | {seconds:.1f} | {peak:.2f} | **{mean:.1f}** | {cells} |"
        )
    machine = result["machine"]
    note = (
        f"Spearman correlation in percent; processor time of all threads, from text to vectors; "
        f"medians of interleaved runs. "
        f"{settings['dimensions']} dimensions, window {settings['window']}, words that occur at least "
        f"{settings['min_count']} times, "
        f"{result['threads']} threads of {machine['processor']}, gensim {result['gensim']['gensim']}."
    )
    return "\n".join([*rows, "", note])


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--fresh", action="store_true", help="forget earlier runs")
    parser.add_argument("--page-only", action="store_true", help="write the page from the JSON")
    parser.add_argument(
        "--child", nargs=4, metavar=("METHOD", "SEED", "TEXT", "LINES"), help=argparse.SUPPRESS
    )
    options = parser.parse_args()
    if options.child:
        method, seed, text, lines = options.child
        run_method(method, int(seed), text, lines)
        return
    if options.fresh:
        RESULT.unlink(missing_ok=True)
    if not options.page_only:
        measure(options.repeats, options.methods)
    replace_section(PAGE, "words", page(read_json(RESULT)))


if __name__ == "__main__":
    main()
