"""Softmax normalisers (the paper's figure "Evaluation of the softmax normalization constants approximation").

For each embedding, with mean norm 1 and with unit norms: the scores of one item against the mixture's, and
|Z - Zest| / m on 1,000 random items for every method. Beyond the paper: norms 2, 3 and 4 (beta 4, 9, 16),
error against time, coverage of the intervals of ControlVariate, growth with the number of items, and the
mixture and the exact sum against the bare matrix products.

    python -m experiments.normalizers.run [--quick] [--plot] [--redo METHOD] [--coverage] [--file VECTORS ...]

``--file`` measures other vectors (word2vec text or binary, .npy, ...) and writes beside the results; with
``--coverage`` the intervals alone, which the page then shows too.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from experiments.common import ROOT, Results, config_of
from experiments.normalizers import figure, measure, speed, tables

HOME = ROOT / "normalizers"


def run(config: dict[str, Any], results: Results) -> None:
    """Run all parts that have no record yet."""
    for source, norms in measure.settings(config):
        key = {"embedding": measure.name_of(source), "norms": norms}
        data = measure.Vectors(source, norms, config)
        measure.one_item(results, data, key)
        measure.accuracy(config, results, data, key)
        results.save()
        measure.coverage(config, results, source, norms)
        measure.ablation(config, results, data, key)
        speed.race(config, results, data, key)
        results.save()
    speed.growth(config, results)
    results.save()
    speed.mixture_speed(config, results)
    speed.exact_speed(config, results)
    results.save()


def run_coverage(config: dict[str, Any], results: Results) -> None:
    """Measure the intervals alone."""
    for source, norms in measure.settings(config):
        measure.coverage(config, results, source, norms)
        results.save()


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="experiments.normalizers", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small version, in a minute or two")
    parser.add_argument("--plot", action="store_true", help="draw and tabulate the results that are there")
    parser.add_argument("--redo", action="append", default=[], metavar="METHOD", help="forget its records")
    parser.add_argument("--redo-part", action="append", default=[], metavar="PART", help="forget a part")
    parser.add_argument("--coverage", action="store_true", help="measure the intervals alone")
    parser.add_argument("--file", action="append", default=[], help="measure these vectors instead")
    options = parser.parse_args(arguments)
    config = config_of("normalizers", options.quick)
    size = "quick" if options.quick else "full"
    if options.file:
        config["embeddings"] = options.file
        size += "_" + "_".join(measure.name_of(name) for name in options.file)
    path = HOME / "results" / f"{size}.json"
    if not options.plot:
        results = Results(path, config)
        results.records = [
            record
            for record in results.records
            if record["method"] not in options.redo and record["part"] not in options.redo_part
        ]
        (run_coverage if options.coverage else run)(config, results)
        if options.file:  # names of vectors, not places on this machine
            results.config = {**config, "embeddings": [measure.name_of(name) for name in options.file]}
            results.save()
    if options.file and options.coverage:
        print(f"normalizers: {path}")
        return
    found = json.loads(path.read_text())
    pictures = [HOME / f"{'figure' if size == 'full' else size}{suffix}.png" for suffix in ("", "_beyond")]
    figure.paper_figure(found, pictures[0])
    figure.beyond_figure(found, pictures[1])
    if size == "full":
        more = [json.loads(other.read_text()) for other in sorted((HOME / "results").glob("full_*.json"))]
        tables.write(found, Path("docs") / "normalizers.md", more)
    print(f"normalizers: {path}, {', '.join(map(str, pictures))}")


if __name__ == "__main__":
    main()
