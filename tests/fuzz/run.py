"""Read many damaged files in child processes, and count what becomes of them.

``python -m tests.fuzz.run --reads 200000`` writes ``benchmarks/results/fuzz.json`` and the table in
``docs/reliability.md``; cases that fail are made smaller and kept in ``--failures``.
"""

from __future__ import annotations

import argparse
import json
import os
import selectors
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
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

    def add(self, started: list[Any], outcome: str, message: str) -> None:
        number, reader, name = started
        group = f"{reader} {'.'.join(name.split('.')[1:])}"
        with self.lock:
            self.counts.setdefault(group, Counter())[outcome] += 1
            if outcome in BAD:
                self.failures.append(
                    {"number": number, "reader": reader, "name": name, "outcome": outcome, "message": message}
                )


def _child(seed: int, first: int, last: int, step: int, compiled: bool) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.fuzz.worker", *map(str, (seed, first, last, step, int(compiled)))]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )


def read_all(tally: Tally, seed: int, first: int, last: int, step: int, compiled: bool) -> None:
    """Read the cases first, first + step, ... before last; a dead or stuck child is replaced."""
    while first < last:
        child = _child(seed, first, last, step, compiled)
        assert child.stdout is not None
        started: list[Any] | None = None
        stuck = False
        with selectors.DefaultSelector() as ready:
            ready.register(child.stdout, selectors.EVENT_READ)
            patience = START
            for line in iter(lambda: _line(ready, child, patience), ""):  # noqa: B023 - called at once
                if line == "stuck":
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
        code = child.wait()
        child.stdout.close()
        if started is None:
            if code == 0:
                return
            raise RuntimeError(f"a fuzzing process ended with code {code} between reads")
        tally.add(started, "hang" if stuck else "crash", f"exit code {code}")


def _line(ready: selectors.BaseSelector, child: subprocess.Popen[str], patience: float) -> str:
    """Return the next line of a child, "" at its end, or "stuck"."""
    assert child.stdout is not None
    return child.stdout.readline() if ready.select(patience) else "stuck"


def fuzz(reads: int, seed: int = 0, jobs: int = 1, first: int = 0) -> Tally:
    """Read ``reads`` damaged files with ``jobs`` processes; every second process uses compiled kernels."""
    tally = Tally()
    step = max(2, jobs)
    threads: list[threading.Thread] = []
    for worker in range(step):
        arguments = (tally, seed, first + worker, first + reads, step, worker % 2 == 1)
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


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line; exit with 1 where a read failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.run", description=__doc__)
    parser.add_argument("--reads", type=int, default=20_000, help="damaged files to read")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--failures", type=Path, help="folder for the cases that fail, made smaller")
    parser.add_argument("--json", type=Path, help="where the counts go")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    tally = fuzz(options.reads, options.seed, options.jobs)
    result = {
        "reads": options.reads,
        "seed": options.seed,
        "seconds": round(time.perf_counter() - start),
        "total": total(tally),
        "readers": {name: dict(count) for name, count in sorted(tally.counts.items())},
        "failures": tally.failures[:1000],
    }
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    sys.stdout.write(json.dumps(result["total"]) + "\n")
    return int(bool(tally.failures))


if __name__ == "__main__":
    sys.exit(main())
