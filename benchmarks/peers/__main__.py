"""Command line: ``python -m benchmarks.peers [--quick] [--graphs ...] [--methods ...]``."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from benchmarks.common import RESULTS, ROOT, read_json, replace_section

from . import graphs
from .campaign import Campaign, Protocol
from .checks import all_checks
from .methods import METHODS, Method
from .plots import draw_all
from .report import overview, render, summary

QUICK_PROTOCOL = Protocol(
    splits=2, small_splits=5, rounds=1, repeats=3, timing_budget=1.0, link_limit=5.0, timeout=60.0
)


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few graphs, quick rivals, two splits")
    parser.add_argument("--graphs", nargs="+", metavar="NAME", help=f"of {', '.join(graphs.NAMES)}")
    parser.add_argument("--methods", nargs="+", metavar="TEXT", help="parts of the names of the methods")
    parser.add_argument("--long", action="store_true", help="also walks on graphs that take them minutes")
    parser.add_argument("--sweep", action="store_true", help="also a few other settings of each method")
    parser.add_argument(
        "--once", action="store_true", help="time once: for a busy machine, with --retime later"
    )
    parser.add_argument("--threads", type=int, default=2, help="for every method alike (default: 2)")
    parser.add_argument("--output", type=Path, help="result file (default: benchmarks/results)")
    parser.add_argument("--report", action="store_true", help="tables, plots and checks of what is there")
    parser.add_argument("--retime", action="store_true", help="time the finished cells anew, keep the scores")
    parser.add_argument("--fresh", action="store_true", help="forget the cells that are there")
    return parser.parse_args(words)


def chosen_methods(texts: list[str] | None, quick: bool) -> list[Method]:
    """Return the methods whose names contain one of the texts; quick mode leaves the walkers out."""
    if not texts:
        return [m for m in METHODS if not (quick and m.walks)]
    found = [m for m in METHODS if any(text.lower() in m.name.lower() for text in texts)]
    if not found:
        raise SystemExit(f"no method is called {' or '.join(texts)}: {', '.join(m.name for m in METHODS)}")
    return found


def main(words: list[str] | None = None) -> int:
    """Run what is missing, then write the tables, the plots and the checks."""
    options = arguments(words)
    names = options.graphs or list(graphs.QUICK if options.quick else graphs.NAMES)
    unknown = [name for name in names if name not in graphs.NAMES]
    if unknown:
        raise SystemExit(f"no graph is called {', '.join(unknown)}; there are {', '.join(graphs.NAMES)}")
    path = options.output or RESULTS / ("peers-quick.json" if options.quick else "peers.json")
    if options.fresh:
        path.unlink(missing_ok=True)
    if not options.report:
        protocol = QUICK_PROTOCOL if options.quick else Protocol()
        protocol = replace(protocol, threads=options.threads, long=options.long)
        protocol = replace(protocol, repeats=1, rounds=1) if options.once else protocol
        campaign = Campaign(path, protocol)
        chosen = chosen_methods(options.methods, options.quick)
        campaign.run(names, chosen, sweep=options.sweep, retime=options.retime)
    data = read_json(path)
    if not data or not data["cells"]:
        raise SystemExit(f"{path} holds no results; run without --report first")
    main_file = path == RESULTS / "peers.json"
    figure = ROOT / "docs" / "figures" / "peers.png" if main_file else path.with_suffix(".png")
    draw_all(data, path.with_name(path.stem + "-plots"), figure)
    if main_file:
        replace_section(ROOT / "docs" / "benchmarks.md", "peers", render(data, "figures/peers.png"))
        replace_section(ROOT / "README.md", "peers", summary(data))
    print(overview(data), "", *all_checks(data), sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
