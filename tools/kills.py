"""Kill, interrupt and terminate the commands of softvec at random moments; count what is lost.

    python tools/kills.py [--kills 500] [--signals 200] [--seed 0] [--output benchmarks/results/kills.json]

A killed ``embed --checkpoint`` is run again: it must end with the bits of an uninterrupted run. A killed
``convert`` must leave the old file, the new one, or (two files) a refusal in one line, and the next one must
clean up. SIGINT and SIGTERM must end a command with code 130 and 143.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from softvec.core.errors import InputError
from softvec.embedding import Embedding

FORMATS = ("svec", "npy", "tsv", "csv", "parquet", "feather", "txt", "bin")
# tells through a pipe when Python is up, so that delays are counted from the first line of softvec
START = "import os, sys; from softvec.cli import main; os.write(int(sys.argv[1]), b'.'); main(sys.argv[2:])"


class Child:
    """A softvec command that has just begun."""

    def __init__(self, folder: Path, *words: str):
        read, write = os.pipe()
        command = [sys.executable, "-c", START, str(write), *words]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(os.path.abspath, filter(None, sys.path))),
        }
        self.process = subprocess.Popen(
            command, cwd=folder, pass_fds=[write], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env=environment,
        )  # fmt: skip
        os.close(write)
        os.read(read, 1)
        os.close(read)
        self.begun = time.monotonic()

    def signal_after(self, seconds: float, number: int) -> None:
        """Send a signal so many seconds after the start, if the command still runs."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.send_signal(number)

    def end(self) -> tuple[int, str, float]:
        """Wait; return the exit code, the text of standard error and the seconds that it took."""
        begun = time.monotonic()
        text = self.process.communicate()[1].decode(errors="replace")
        return self.process.returncode, text, time.monotonic() - begun


def prepare(folder: Path, rng: np.random.Generator) -> dict[str, float]:
    """Make the data; return how long the commands take."""
    edges = rng.integers(0, 1500, (6000, 2))
    (folder / "edges.txt").write_text("".join(f"{i} {j}\n" for i, j in edges))
    for seed, name in ((1, "old"), (2, "new")):
        X = np.random.default_rng(seed).normal(size=(3000, 16)).astype(np.float32)
        Embedding(X, [f"{name}{i}" for i in range(3000)]).save(folder / f"{name}.svec")
    seconds = {}
    for name, words in {
        "embed": embed("whole.svec"),
        "convert": ["convert", "new.svec", "warm.parquet"],
    }.items():
        for _ in range(2):  # the first one compiles
            child = Child(folder, *words)
            code, text, _ = child.end()
            if code:
                raise RuntimeError(text)
            seconds[name] = time.monotonic() - child.begun
    return seconds


def embed(target: str) -> list[str]:
    words = ["embed", "edges.txt", "-o", target, "--seed", "0", "--dim", "32", "-q"]
    return [*words, "--checkpoint", f"{target}.npz", "--set", "checkpoint_every=1"]


def kill_embed(folder: Path, delay: float) -> str | None:
    """Kill a fit, go on; return what was wrong."""
    child = Child(folder, *embed("x.svec"))
    child.signal_after(delay, signal.SIGKILL)
    child.end()
    code, text, _ = Child(folder, *embed("x.svec")).end()
    if code:
        return f"embed after a kill: {text}"
    whole, again = (Embedding.load(folder / name).vectors for name in ("whole.svec", "x.svec"))
    if not np.array_equal(whole, again):
        return "embed after a kill: other bits"
    return left_behind(folder, "x.svec")


def kill_convert(folder: Path, extension: str, delay: float) -> str | None:
    """Kill a conversion over an old file; return what was wrong."""
    name = f"y.{extension}"
    Embedding.load(folder / "old.svec").save(folder / name)
    child = Child(folder, "convert", "new.svec", name)
    child.signal_after(delay, signal.SIGKILL)
    child.end()
    try:
        found = Embedding.load(folder / name)
    except InputError as error:
        if "its save was interrupted" not in str(error):
            return f"{name} after a kill: {error}"
    else:
        wanted = Embedding.load(folder / ("new.svec" if str(found.names[0]) == "new0" else "old.svec"))
        if list(found.names) != list(wanted.names) or not np.allclose(found.vectors, wanted.vectors):
            return f"{name} after a kill: names and vectors of two files"
    code, text, _ = Child(folder, "convert", "new.svec", name).end()
    if code:
        return f"{name} saved again: {text}"
    return left_behind(folder, name)


def left_behind(folder: Path, name: str) -> str | None:
    """Return what remains of killed runs beside a file that was saved since."""
    parts = [path.name for path in folder.glob(f".{name}*.part")]
    return f"left behind: {', '.join(parts)}" if parts else None


def stop(folder: Path, number: int, delay: float) -> tuple[str | None, float]:
    """Interrupt or terminate a fit; return what was wrong, and the seconds until it ended."""
    child = Child(folder, *embed("z.svec"))
    child.signal_after(delay, number)
    code, text, seconds = child.end()
    for path in (folder / "z.svec", folder / "z.svec.npz"):
        path.unlink(missing_ok=True)
    wanted = 128 + number
    if code not in (0, wanted):
        return f"code {code} instead of {wanted}: {text[-500:]}", seconds
    return ("a traceback" if "Traceback" in text else left_behind(folder, "z.svec")), seconds


def campaign(kills: int, signals: int, seed: int) -> dict[str, Any]:
    """Run all; return the counts."""
    chance, failures, slowest = random.Random(seed), [], 0.0
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        seconds = prepare(folder, np.random.default_rng(seed))
        for i in range(kills):
            if i % 2:
                wrong = kill_embed(folder, chance.uniform(0, seconds["embed"]))
            else:
                extension = FORMATS[i // 2 % len(FORMATS)]
                wrong = kill_convert(folder, extension, chance.uniform(0, seconds["convert"]))
            failures += [wrong] if wrong else []
        for i in range(signals):
            number = (signal.SIGINT, signal.SIGTERM)[i % 2]
            wrong, took = stop(folder, number, chance.uniform(0, seconds["embed"]))
            failures += [wrong] if wrong else []
            slowest = max(slowest, took)
    return {
        "kills": kills, "signals": signals, "seed": seed, "failures": len(failures), "first": failures[:5],
        "slowest_stop_seconds": round(slowest, 2),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--signals", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    result = campaign(given.kills, given.signals, given.seed)
    text = json.dumps(result, indent=1) + "\n"
    if given.output is None:
        sys.stdout.write(text)
    else:
        given.output.write_text(text)
    sys.exit(bool(result["failures"]))


if __name__ == "__main__":
    main()
