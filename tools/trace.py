"""Trace ``softvec embed edges.txt.gz``: which room calls which, what they hand on, opened files.

    python tools/trace.py [FILE]

Without a file, a small gzipped edge list is embedded. A call belongs to the nearest function of softvec above
it. ``calls`` lists, for each room, the rooms that it calls; ``path`` the rooms that ``api`` calls, in order;
``switches`` counts consecutive calls in different modules. Nothing is left out but what runs while a module
is imported: class bodies and decorators are no part of the work.
"""

from __future__ import annotations

import gzip
import os
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import softvec

SOURCE = os.path.dirname(os.path.abspath(softvec.__file__)) + os.sep
# What the rooms hand on, in this order.
OBJECTS = ("Request", "Contents", "Affinity", "Facts", "Settings", "Fit", "Vectors", "Embedding")


@dataclass
class Trace:
    """What a traced command called and opened."""

    calls: dict[str, set[str]] = field(default_factory=dict)  # rooms that each room calls
    path: list[str] = field(default_factory=list)  # rooms that api calls, in order
    handed: list[str] = field(default_factory=list)  # classes of OBJECTS, in the order of their first return
    modules: set[str] = field(default_factory=set)
    switches: int = 0  # consecutive calls in different modules
    opened: dict[str, int] = field(default_factory=dict)  # real path: how often
    _module: str = ""

    def call(self, frame: FrameType, event: str, value: Any) -> None:
        if event == "return" and type(value).__name__ in OBJECTS and type(value).__name__ not in self.handed:
            self.handed.append(type(value).__name__)
        module = _module(frame)
        if event != "call" or not module or _imports(frame):
            return
        self.modules.add(module)
        self.switches += module != self._module
        self._module = module
        room, caller = _room(module), _room(_caller(frame.f_back))
        if room in (caller, "__init__"):  # the package only imports
            return
        self.calls.setdefault(caller, set()).add(room)
        if caller == "api" and self.path[-1:] != [room]:
            self.path.append(room)

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
            path = os.path.realpath(os.fsdecode(arguments[0]))
            self.opened[path] = self.opened.get(path, 0) + 1


def _room(module: str) -> str:
    return module.split(".")[0]


def _module(frame: FrameType) -> str:
    """Return the module of a function of softvec, else nothing."""
    name = frame.f_code.co_filename
    if not name.startswith(SOURCE):
        return ""
    return name[len(SOURCE) :].removesuffix(".py").replace(os.sep, ".")


def _caller(frame: FrameType | None) -> str:
    """Return the module of the nearest function of softvec; that of the command if there is none."""
    while frame is not None:
        if module := _module(frame):
            return module
        frame = frame.f_back
    return "cli"


def _imports(frame: FrameType | None) -> bool:
    """Whether a module of softvec is being imported."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and _module(frame):
            return True
        frame = frame.f_back
    return False


def traced(path: Path, output: Path, *options: str) -> Trace:
    """Run ``softvec embed`` in this process and return its trace.

    An audit hook cannot be taken away, so a process traces one command.
    """
    from softvec.cli import main

    trace = Trace()
    sys.addaudithook(trace.audit)
    old = sys.argv
    sys.argv = ["softvec", "embed", str(path), "-o", str(output), "--quiet", *options]
    threading.setprofile(trace.call)
    sys.setprofile(trace.call)
    try:
        main()
    except SystemExit as error:
        if error.code:
            raise
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
        sys.argv = old
    return trace


def example(path: Path, n: int = 40) -> Path:
    """Write a ring with chords as a gzipped edge list."""
    with gzip.open(path, "wt") as file:
        file.writelines(f"n{i}\tn{(i + step) % n}\n" for i in range(n) for step in (1, 2, 7))
    return path


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(sys.argv[1]) if len(sys.argv) > 1 else example(Path(folder) / "edges.txt.gz")
        trace = traced(path, Path(folder) / "vectors.svec")
        for room, called in sorted(trace.calls.items()):
            print(f"calls: {room} -> {', '.join(sorted(called))}")
        print("path:", " ".join(trace.path))
        print("handed on:", " ".join(trace.handed))
        print(f"{len(trace.modules)} modules, {trace.switches} switches")
        print(f"{path.name} opened {trace.opened.get(os.path.realpath(path), 0)} times")


if __name__ == "__main__":
    main()
