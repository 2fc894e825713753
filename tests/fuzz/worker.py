"""A child process that reads damaged files, and says before each which one it is."""

from __future__ import annotations

import json
import os
import random
import resource
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.fuzz.mutations import mutate
from tests.fuzz.readers import outcome, use_compiled_kernels
from tests.fuzz.seeds import Seed, seeds

MEMORY = 4 << 30  # address space a read may take beyond what the process has when it starts


def case(found: list[Seed], seed: int, number: int) -> tuple[Seed, dict[str, bytes]]:
    """Return a seed file and its damaged files by name; the same for the same numbers, everywhere."""
    rng = random.Random(f"{seed} {number}")
    chosen = found[rng.randrange(len(found))]
    files = {chosen.name: chosen.data, **chosen.beside}
    name = rng.choice(list(files)) if rng.random() < 0.3 else chosen.name
    files[name] = mutate(files[name], rng)
    return chosen, files


def read_case(chosen: Seed, files: dict[str, bytes], folder: Path) -> tuple[str, str]:
    """Write the files, read the first, remove them."""
    for name, data in files.items():
        (folder / name).write_bytes(data)
    try:
        return outcome(chosen.reader, folder / chosen.name, chosen.options)
    finally:
        for name in files:
            (folder / name).unlink(missing_ok=True)


def limit_memory() -> None:
    """Let an absurd allocation fail at once instead of taking the machine's memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def check(cases: Path) -> dict[str, dict[str, tuple[str, str]]]:
    """Read the seeds undamaged, and the cases kept in a folder; return what became of each."""
    ended: dict[str, dict[str, tuple[str, str]]] = {"seeds": {}, "odd": {}, "cases": {}}
    with tempfile.TemporaryDirectory() as name:
        for at, one in enumerate(seeds()):
            found = read_case(one, {one.name: one.data, **one.beside}, Path(name))
            kind = "odd" if one.odd else "seeds"
            ended[kind][f"{at} {one.reader} {one.name}"] = found
        limit_memory()
        for told in sorted(cases.glob("*/case.json")):
            kept = Seed(data=b"", **json.loads(told.read_text()))
            files = {file.name: file.read_bytes() for file in told.parent.iterdir() if file != told}
            ended["cases"][told.parent.name] = read_case(kept, files, Path(name))
    return ended


def main(arguments: list[str]) -> None:
    """Read the cases first, first + step, ... before last; report each on standard output."""
    if arguments[0] == "check":
        sys.stdout.write(json.dumps(check(Path(arguments[1]))))
        return
    seed, first, last, step, compiled = map(int, arguments[:5])
    report = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    found = seeds(*arguments[5:])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for one in found:  # compiles kernels, and shows that the seeds themselves are read
            read_case(one, {one.name: one.data, **one.beside}, folder)
        if compiled:
            use_compiled_kernels()
            for one in found:
                read_case(one, {one.name: one.data, **one.beside}, folder)
        limit_memory()
        for number in range(first, last, step):
            chosen, files = case(found, seed, number)
            report.write(f"{json.dumps([number, chosen.reader, chosen.name])}\n")
            ended: Any = read_case(chosen, files, folder)
            report.write(f"{json.dumps(ended)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
