"""Read many damaged files in child processes, and count what becomes of them.

``python -m tests.fuzz.run --reads 200000 --record`` writes ``benchmarks/results/fuzz.json`` and the table in
``docs/reliability.md``; ``--failures FOLDER`` keeps the cases that fail, made smaller.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.common import provenance, read_json, replace_section, write_json

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "fuzz.json"
PAGE = ROOT / "docs" / "reliability.md"
OUTCOMES = ("refused", "accepted", "exception", "crash", "memory", "not_finite", "hang")
BAD = OUTCOMES[2:]
PATIENCE = 10.0  # seconds for one read
START = 300.0  # seconds to import, and to compile kernels where they are not cached


@dataclass
class Tally:
    """Counts by reader and outcome, and the cases that failed."""

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    failures: list[dict[str, Any]] = field(default_factory=list)
    lock: Any = field(default_factory=threading.Lock)
    end: float = float("inf")  # by the clock of time.monotonic
    only: str = ""  # the ending of the seeds' names

    def add(self, started: list[Any], outcome: str, message: str) -> None:
        number, reader, name = started
        group = f"{reader} {'.'.join(name.split('.')[1:])}"
        with self.lock:
            self.counts.setdefault(group, Counter())[outcome] += 1
            if outcome in BAD:
                self.failures.append(
                    {"number": number, "reader": reader, "name": name, "outcome": outcome, "message": message}
                )


def _child(seed: int, first: int, last: int, step: int, compiled: bool, only: str) -> subprocess.Popen[bytes]:
    arguments = map(str, (seed, first, last, step, int(compiled), only))
    command = [sys.executable, "-m", "tests.fuzz.worker", *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )


def read_all(tally: Tally, seed: int, first: int, last: int, step: int, compiled: bool) -> None:
    """Read the cases first, first + step, ... before last; a dead or stuck child is replaced.

    A read that takes too long is tried once more, in a new process: the machine may have been busy.
    """
    slow = -1
    while first < last:
        child = _child(seed, first, last, step, compiled, tally.only)
        assert child.stdout is not None
        lines = _Lines(child.stdout.fileno())
        started: list[Any] | None = None
        stuck = False
        patience = START
        while line := lines.next(patience):
            if line == b"stuck":
                stuck = True
                child.kill()
                break
            patience = PATIENCE
            value = json.loads(line)
            if started is None:
                started, first = value, value[0] + step
            else:
                tally.add(started, *value)
                started = None
                if time.monotonic() > tally.end:
                    child.kill()
                    child.wait()
                    child.stdout.close()
                    return
        code = child.wait()
        child.stdout.close()
        if started is None and code == 0:
            return
        at = first if started is None else started[0]
        if stuck and at != slow:
            slow = first = at
        elif started is None:
            raise RuntimeError(f"a fuzzing process ended with code {code} before case {first}")
        else:
            tally.add(started, "hang" if stuck else "crash", f"exit code {code}")


class _Lines:
    """The lines that a child writes, one at a time, each waited for no longer than asked."""

    def __init__(self, descriptor: int):
        self._descriptor, self._left = descriptor, b""

    def next(self, patience: float) -> bytes:
        """Return the next line, ``b""`` at the end, or ``b"stuck"``."""
        while b"\n" not in self._left:
            if not select.select([self._descriptor], [], [], patience)[0]:
                return b"stuck"
            block = os.read(self._descriptor, 65_536)
            if not block:
                return b""
            self._left += block
        line, _, self._left = self._left.partition(b"\n")
        return line


def fuzz(reads: int, seed: int = 0, jobs: int = 1, seconds: float = float("inf"), only: str = "") -> Tally:
    """Read ``reads`` damaged files with ``jobs`` processes; every second process uses compiled kernels."""
    tally = Tally(end=time.monotonic() + seconds, only=only)
    step = max(2, jobs)
    threads: list[threading.Thread] = []
    for worker in range(step):
        arguments = (tally, seed, worker, reads, step, worker % 2 == 1)
        threads.append(threading.Thread(target=read_all, args=arguments))
    for lo in range(0, step, jobs):
        for thread in threads[lo : lo + jobs]:
            thread.start()
        for thread in threads[lo : lo + jobs]:
            thread.join()
    return tally


def total(tally: Tally) -> dict[str, int]:
    """Return the counts over all readers."""
    return {outcome: sum(count[outcome] for count in tally.counts.values()) for outcome in OUTCOMES}


def added(result: dict[str, Any]) -> dict[str, Any]:
    """Return the recorded counts with those of a run over one format in place of its rows."""
    recorded = read_json(RESULTS)
    readers = dict(sorted({**recorded["readers"], **result["readers"]}.items()))
    sums = {outcome: sum(row.get(outcome, 0) for row in readers.values()) for outcome in OUTCOMES}
    failures = [*recorded["failures"], *result["failures"]]
    return {
        **recorded, "reads": sum(sums.values()), "seconds": recorded["seconds"] + result["seconds"],
        "total": sums, "readers": readers, "failures": failures,
    }  # fmt: skip


def table(result: dict[str, Any]) -> str:
    """Return the counts as a table, formats of one kind together."""
    rows: dict[str, Counter[str]] = {}
    for name, counts in result["readers"].items():
        reader, _, suffix = name.partition(" ")
        rows.setdefault(_title(reader, suffix), Counter()).update(counts)
    lines = [
        f"{result['reads']:,} damaged files, seed {result['seed']}, with limits of 10 s and 4 GiB per read.",
        "",
        "| file | read | clear error | accepted | raw exception | crash | memory | not finite | hang |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for title, counts in (*sorted(rows.items()), ("**all**", Counter(result["total"]))):
        cells = [f"{counts.get(outcome, 0):,}" for outcome in OUTCOMES]
        lines.append(f"| {title} | {sum(counts.values()):,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _title(reader: str, suffix: str) -> str:
    kinds = {"mapped": "vectors, mapped", "checkpoint": "checkpoint", "names": "names"}
    return f"{kinds.get(reader, reader)}: .{suffix}" if reader != "checkpoint" else "checkpoint"


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line; exit with 1 where a read failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.run", description=__doc__)
    parser.add_argument("--reads", type=int, default=20_000, help="damaged files to read")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--only", default="", help="one reader, or one extension; --record adds its rows")
    parser.add_argument("--failures", type=Path, help="folder for the cases that fail, made smaller")
    parser.add_argument("--json", type=Path, help="where the counts go")
    parser.add_argument("--record", action="store_true", help=f"write {RESULTS.name} and {PAGE.name}")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    tally = fuzz(options.reads, options.seed, options.jobs, options.seconds, options.only)
    result = {
        "reads": sum(total(tally).values()),
        "seed": options.seed,
        "seconds": round(time.perf_counter() - start),
        "total": total(tally),
        "readers": {name: dict(count) for name, count in sorted(tally.counts.items())},
        "failures": tally.failures[:1000],
    }
    if options.json is not None:
        write_json(options.json, result)
    if options.record:
        result = {"provenance": provenance(1), **result} if not options.only else added(result)
        write_json(RESULTS, result)
        replace_section(PAGE, "fuzz", table(result))
    if options.failures is not None and tally.failures:
        from tests.fuzz.minimise import save

        save(options.failures, options.seed, tally.failures, options.only)
    sys.stdout.write(json.dumps(result["total"]) + "\n")
    return int(bool(tally.failures))


if __name__ == "__main__":
    sys.exit(main())
