"""Run experiments: `python -m experiments [--quick] [NAME ...]`; without a name, all of them."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent


def names() -> list[str]:
    """Return the names of all experiments."""
    return sorted(path.parent.name for path in ROOT.glob("*/run.py"))


def main() -> int:
    """Run the experiments named on the command line; a missing data set ends one of them, not the others."""
    from softvec.errors import InputError

    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("name", nargs="*", help=f"one of {', '.join(names())}")
    parser.add_argument("--quick", action="store_true", help="a small version of each, in minutes")
    parser.add_argument("--plot", action="store_true", help="only draw the figures again")
    options = parser.parse_args()
    unknown = set(options.name) - set(names())
    if unknown:
        parser.error(f"no experiment {', '.join(sorted(unknown))}; there are {', '.join(names())}")
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
