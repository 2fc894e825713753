"""Measure the house: lines a room, wide and complex functions, modules and calls of one ``embed``.

    python tools/house.py            # the table
    python tools/house.py --check    # exit code 1 where a budget of pyproject.toml is exceeded

Budgets are in ``[tool.softvec.rooms]`` (lines of Python; rooms that share a budget are joined by ``+``) and
``[tool.softvec.limits]``. Raising one needs a reason in the commit.
"""

from __future__ import annotations

import argparse
import ast
import os
import sys
import tempfile
import tomllib
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "softvec"
MOST_PARAMETERS, MOST_COMPLEX = 8, 15
_BRANCHES = (ast.If, ast.IfExp, ast.For, ast.While, ast.ExceptHandler, ast.Assert, ast.match_case)
_EDGES = "source,target\na,b\nb,c\nc,a\n"


def rooms() -> Counter[str]:
    """Return the lines of Python of each room: a folder, or a module on its own."""
    lines: Counter[str] = Counter()
    for path in SOURCE.rglob("*.py"):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        lines[room] += len(path.read_text(encoding="utf-8").splitlines())
    return lines


def functions() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield the place and the definition of every function outside the kernels."""
    for path in sorted(SOURCE.rglob("*.py")):
        if path.is_relative_to(SOURCE / "kernels"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{path.relative_to(SOURCE)}:{node.lineno} {node.name}", node


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the number of parameters, without ``self`` and ``cls``."""
    names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def complexity(node: ast.AST) -> int:
    """Return 1 plus the number of branches, loops, handlers, comprehensions, and terms of conditions."""
    total = 1
    for child in ast.walk(node):
        total += isinstance(child, _BRANCHES)
        if isinstance(child, ast.comprehension):
            total += 1 + len(child.ifs)
        if isinstance(child, ast.BoolOp):
            total += len(child.values) - 1
    return total


def calls_of_embed() -> tuple[int, int]:
    """Return the modules that ``embed("edges.csv")`` runs through, and its calls from one into another.

    The file has three edges. Functions made within others, and comprehensions, are part of those.
    """
    import softvec

    prefix = str(SOURCE) + os.sep
    modules: set[str] = set()
    switches = 0

    def place(frame: FrameType | None) -> str:
        while frame is not None and not frame.f_code.co_filename.startswith(prefix):
            frame = frame.f_back
        return "" if frame is None else frame.f_code.co_filename

    def imported(frame: FrameType | None) -> bool:
        while frame is not None:
            if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(prefix):
                return True
            frame = frame.f_back
        return False

    def call(frame: FrameType, event: str, value: Any) -> None:
        nonlocal switches
        if event != "call" or not frame.f_code.co_filename.startswith(prefix) or imported(frame):
            return
        here, caller = frame.f_code.co_filename, place(frame.f_back)
        modules.add(here)
        switches += bool(caller) and caller != here and "<" not in frame.f_code.co_qualname

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "edges.csv"
        path.write_text(_EDGES, encoding="utf-8")
        sys.setprofile(call)
        try:
            softvec.embed(str(path), random_state=0, n_jobs=1)
        finally:
            sys.setprofile(None)
    return len(modules), switches


def measure() -> tuple[list[tuple[str, int, int]], dict[str, list[str]]]:
    """Return (what, found, budget) of each room and limit, and the functions beyond the limits."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["softvec"]
    lines = rooms()
    rows = [("total", sum(lines.values()), settings["rooms"].pop("total"))]
    for names, budget in settings["rooms"].items():
        rows.append((names, sum(lines.pop(name, 0) for name in names.split(" + ")), budget))
    rows += [(f"{name}, which has no budget", count, 0) for name, count in lines.items()]
    known = list(functions())
    beyond = {
        "wide": [place for place, node in known if parameters(node) > MOST_PARAMETERS],
        "complex": [place for place, node in known if complexity(node) > MOST_COMPLEX],
    }
    dicts = sum(path.read_text(encoding="utf-8").count("dict[str, Any]") for path in SOURCE.rglob("*.py"))
    limits = settings["limits"]
    rows.append((f"functions of more than {MOST_PARAMETERS} parameters", len(beyond["wide"]), limits["wide"]))
    rows.append((f"functions of complexity above {MOST_COMPLEX}", len(beyond["complex"]), limits["complex"]))
    rows.append(("dict[str, Any]", dicts, limits["dicts"]))
    return rows, beyond


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="only what exceeds its budget")
    options = parser.parse_args()
    rows, beyond = measure()
    over = [row for row in rows if row[1] > row[2]]
    if not options.check:
        modules, switches = calls_of_embed()
        rows += [('modules of embed("edges.csv")', modules, 35), ("calls between them", switches, 500)]
        for what, found, budget in rows:
            print(f"{what:60} {found:7,} of {budget:7,}")
        for title, places in beyond.items():
            print(f"\n{title}:", *places, sep="\n  ")
    for what, found, budget in over:
        print(f"pyproject.toml: {what}: {found:,}, the budget is {budget:,}", file=sys.stderr)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
