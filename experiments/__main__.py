"""Run experiments: `python -m experiments [--quick] [NAME ...]`; without a name, all of them."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path

from benchmarks.common import replace_section

ROOT = Path(__file__).resolve().parent


def names() -> list[str]:
    """Return the names of all experiments."""
    return sorted(path.parent.name for path in ROOT.glob("*/run.py"))


def write_report(chosen: list[str]) -> None:
    """Write each experiment into its section of docs/results.md, or of the page that it names."""
    for name in chosen:
        module = importlib.import_module(f"experiments.{name}.run")
        path = ROOT / name / "results" / "full.json"
        page = ROOT.parent / "docs" / getattr(module, "PAGE", "results.md")
        if path.exists() and hasattr(module, "report"):
            replace_section(page, name, module.report(json.loads(path.read_text())))
            print(f"{name}: {page}")


def main() -> int:
    """Run the experiments named on the command line; a missing data set ends one of them, not the others."""
    from softvec.core.errors import InputError

    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("name", nargs="*", help=f"one of {', '.join(names())}")
    parser.add_argument("--quick", action="store_true", help="a small version of each, in minutes")
    parser.add_argument("--plot", action="store_true", help="only redraw the figures")
    parser.add_argument("--report", action="store_true", help="only write the pages from the results")
    options = parser.parse_args()
    unknown = set(options.name) - set(names())
    if unknown:
        parser.error(f"unknown experiment {', '.join(sorted(unknown))}; expected {', '.join(names())}")
    if options.report:
        write_report(options.name or names())
        return 0
    flags = ["--quick"] * options.quick + ["--plot"] * options.plot
    failed = 0
    for name in options.name or names():
        print(f"== {name}", flush=True)
        try:
            importlib.import_module(f"experiments.{name}.run").main(flags)
        except InputError as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed += 1
    return 2 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
