"""Trace ``softvec embed edges.txt.gz``: rooms in the order of their calls, functions, switches, opened files.

    python tools/trace.py [FILE]

Without a file, a small gzipped edge list is embedded. ``visits`` lists the rooms of the path as they are
called: a room that is called again after another one is listed twice. Rooms that all others use (SHARED) are
no visits, nor are the methods of the objects that rooms hand on: who holds an object may ask it. ``switches``
counts consecutive calls in different modules.
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
PATH = ("cli", "request", "api", "read", "affinity", "fit", "embedding")
SHARED = ("core", "names", "operators", "kernels", "normalizers")
# What the rooms hand on, in this order, and what these hold.
OBJECTS = ("Request", "Contents", "Affinity", "Facts", "Settings", "Fit", "Vectors", "Embedding")
PARTS = ("Edges", "Graph")
COMPREHENSIONS = ("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")


@dataclass
class Trace:
    """What a traced command called and opened."""

    rooms: list[str] = field(default_factory=list)  # in the order of their first call
    visits: list[str] = field(default_factory=list)  # rooms of the path, as they are called
    handed: list[str] = field(default_factory=list)  # classes of OBJECTS, in the order of their first return
    functions: set[tuple[str, str]] = field(default_factory=set)  # module, name
    switches: int = 0  # consecutive calls in different modules
    opened: dict[str, int] = field(default_factory=dict)  # real path: how often
    _module: str = ""

    @property
    def modules(self) -> list[str]:
        return sorted({module for module, _ in self.functions})

    def call(self, frame: FrameType, event: str, value: Any) -> None:
        if event == "return" and type(value).__name__ in OBJECTS and type(value).__name__ not in self.handed:
            self.handed.append(type(value).__name__)
        module, name = _place(frame)
        if event != "call" or not module or _imports(frame):
            return
        if name.rsplit(".", 1)[-1] in COMPREHENSIONS:  # part of the function that holds them
            return
        self.functions.add((module, name))
        self.switches += module != self._module
        self._module = module
        room = module.split(".")[0]
        if room not in self.rooms:
            self.rooms.append(room)
        if room in PATH and name.split(".")[0] not in (*OBJECTS, *PARTS) and self.visits[-1:] != [room]:
            self.visits.append(room)

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
            path = os.path.realpath(os.fsdecode(arguments[0]))
            self.opened[path] = self.opened.get(path, 0) + 1


def _place(frame: FrameType | None) -> tuple[str, str]:
    """Return module and name of a function of softvec, else nothing."""
    if frame is None or not frame.f_code.co_filename.startswith(SOURCE):
        return "", ""
    module = frame.f_code.co_filename[len(SOURCE) :].removesuffix(".py").replace(os.sep, ".")
    return module, frame.f_code.co_qualname


def _imports(frame: FrameType | None) -> bool:
    """Whether a module of softvec is being imported: class bodies and decorators are no part of the work."""
    while frame is not None:
        if _place(frame)[1] == "<module>":
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
        print("rooms:", " ".join(trace.rooms))
        print("visits:", " ".join(trace.visits))
        print("handed on:", " ".join(trace.handed))
        print(f"{len(trace.functions)} functions in {len(trace.modules)} modules, {trace.switches} switches")
        print(f"{path.name} opened {trace.opened.get(os.path.realpath(path), 0)} times")


if __name__ == "__main__":
    main()
