"""Kill, interrupt and terminate the commands of softvec at random moments; count what is lost.

    python tools/kills.py [--kills 500] [--signals 200] [--seed 0] [--record] [--resume]

A killed ``embed --checkpoint`` is run again: it must end with the bits of an uninterrupted run. A killed
command must leave the old file, the new one, or (formats of two files) a refusal in one line; the next one
must clean up. SIGINT and SIGTERM must end a command with code 130 and 143 within two seconds.

``--record`` writes ``benchmarks/results/kills.json`` after every case, and at the end the table in
``docs/reliability.md``; ``--resume`` goes on from that file.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.common import provenance, read_json, replace_section, write_json  # noqa: E402
from softvec.core.errors import InputError  # noqa: E402
from softvec.embedding import Embedding  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "kills.json"
PAGE = ROOT / "docs" / "reliability.md"
FORMATS = ("svec", "npy", "tsv", "csv", "parquet", "feather", "txt", "bin")
COMMANDS = ("embed", "embed dense", "convert", "add")  # a dense graph is fitted three times
SIGNALS = (signal.SIGINT, signal.SIGTERM)
PATIENCE = 2.0  # seconds by the clock to stop in; a busy machine may need more
# a byte through a pipe tells whether softvec's first line was reached
START = "import os, sys; from softvec.cli import main; os.write(int(sys.argv[1]), b'.'); main(sys.argv[2:])"


class Child:
    """A softvec command that has just been started."""

    def __init__(self, folder: Path, *words: str):
        self._ready, write = os.pipe()
        command = [sys.executable, "-c", START, str(write), *words]
        paths = os.pathsep.join(map(os.path.abspath, filter(None, sys.path)))
        self.begun = time.monotonic()
        self.spent = self.work = 0.0  # processor time before and after the signal
        self.process = subprocess.Popen(
            command, cwd=folder, pass_fds=[write], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": paths}, preexec_fn=_default_interrupt,
        )  # fmt: skip
        os.close(write)

    def signal_after(self, seconds: float, number: int) -> bool:
        """Send a signal so many seconds after the start; return whether the command still ran."""
        try:
            self.process.wait(seconds)
            return False
        except subprocess.TimeoutExpired:
            self.spent = _processor_seconds(self.process.pid)
            self.process.send_signal(number)
            return True

    def end(self) -> tuple[int, str, float]:
        """Wait; return the exit code, the text of standard error and the seconds that it took."""
        begun, before = time.monotonic(), _children_seconds()
        text = self.process.communicate()[1].decode(errors="replace")
        took = time.monotonic() - begun
        self.work = _children_seconds() - before - self.spent
        self.reached_softvec = bool(os.read(self._ready, 1))
        os.close(self._ready)
        return self.process.returncode, text, took


def _processor_seconds(pid: int) -> float:
    """Return the processor time of a running process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # not Linux
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _children_seconds() -> float:
    """Return the processor time of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _default_interrupt() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells let background jobs ignore it


def prepare(folder: Path, seed: int) -> dict[str, float]:
    """Make the data and the undisturbed results; return how long the commands take."""
    rng = np.random.default_rng(seed)
    edges = rng.integers(0, 1500, (6000, 2))
    for name, pairs in (("edges", edges), ("dense", edges % 300)):
        (folder / f"{name}.txt").write_text("".join(f"{i} {j}\n" for i, j in pairs))
    (folder / "more.txt").write_text("".join(f"n{i} {j}\n" for i, j in enumerate(rng.integers(0, 500, 900))))
    for number, name in enumerate(("old", "new")):
        X = np.random.default_rng(number).normal(size=(3000, 16)).astype(np.float32)
        Embedding(X, [f"{name}{i}" for i in range(3000)]).save(folder / f"{name}.svec")
    seconds = {}
    for name in COMMANDS:
        for _ in range(2):  # the first one compiles
            child = Child(folder, *words_of(name, "whole.svec"))
            code, text, _ = child.end()
            if code:
                raise RuntimeError(text)
            seconds[name] = time.monotonic() - child.begun
        (folder / "whole.svec").rename(folder / whole(name))
    return seconds


def whole(command: str) -> str:
    """Return the file with the undisturbed result of a command."""
    return f"whole_{command.replace(' ', '_')}.svec"


def words_of(command: str, target: str) -> list[str]:
    """Return the words of a command that writes ``target``."""
    if command == "convert":
        return ["convert", "new.svec", target, "-q"]
    if command == "add":
        return ["add", "whole_embed.svec", "more.txt", "-o", target, "-q"]
    source = "dense.txt" if command == "embed dense" else "edges.txt"
    words = ["embed", source, "-o", target, "--seed", "0", "--dim", "32", "-q"]
    return [*words, "--checkpoint", f"{target}.run", "--set", "checkpoint_every=1"]


def kill(folder: Path, command: str, target: str, delay: float) -> bool:
    """Kill a command that replaces an old file; return whether it still ran."""
    Embedding.load(folder / "old.svec").save(folder / target)
    child = Child(folder, *words_of(command, target))
    ran = child.signal_after(delay, signal.SIGKILL)
    child.end()
    return ran


def torn(folder: Path, command: str, target: str) -> str | None:
    """Return what is wrong with a file right after a kill."""
    old, new = (Embedding.load(folder / name) for name in ("old.svec", whole(command)))
    try:
        if not (same(folder / target, old) or same(folder / target, new)):
            return f"{command} to {target}, killed: neither the old vectors nor the new"
    except InputError as error:
        if "its save was interrupted" not in str(error):
            return f"{command} to {target}, killed: {error}"
    return None


def again(folder: Path, command: str, target: str) -> tuple[str | None, float]:
    """Run a killed command to its end; return what is wrong then, and the seconds it took."""
    child = Child(folder, *words_of(command, target))
    code, text, _ = child.end()
    seconds = time.monotonic() - child.begun
    if code:
        return f"{command} to {target}, run again: {text[-500:]}", seconds
    if not same(folder / target, Embedding.load(folder / whole(command))):
        return f"{command} to {target}, run again: other vectors", seconds
    return left_behind(folder, target), seconds


def same(path: Path, wanted: Embedding) -> bool:
    """Return whether a file has these names and vectors, to the bit where the format keeps bits."""
    emb = Embedding.load(path)
    alike: Callable[..., bool] = np.allclose if path.suffix in (".txt", ".csv", ".tsv") else np.array_equal
    if len(emb.names) != len(wanted.names) or not alike(emb.vectors, wanted.vectors):
        return False
    return list(map(str, emb.names)) == list(map(str, wanted.names))


def left_behind(folder: Path, name: str) -> str | None:
    """Return what remains of killed runs beside a file that was saved since."""
    parts = [path.name for pattern in (f".{name}*.part", f"{name}.run*") for path in folder.glob(pattern)]
    return f"left behind: {', '.join(parts)}" if parts else None


def stop(
    folder: Path, command: str, number: signal.Signals, delay: float
) -> tuple[str | None, str, float, float]:
    """Interrupt or terminate a command.

    Return what was wrong, how it ended, the seconds until then by the clock, and those of the processor.
    """
    child = Child(folder, *words_of(command, "z.svec"))
    sent = child.signal_after(delay, number)
    code, text, seconds = child.end()
    saved = (folder / "z.svec").exists()
    for path in folder.glob("z.svec*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    if code == 0 and not sent:
        return None, "not_sent", time.monotonic() - child.begun, 0.0
    # Python dies of the signal, which a shell shows as 128 + number; while it loads, it ends with code 1
    if code in (-number, 1) and not child.reached_softvec:
        return None, "before_softvec", seconds, child.work
    if seconds > PATIENCE or code not in (0, 128 + number) or "Traceback" in text or not (code or saved):
        wrong = f"{command}, {number.name}: code {code} after {seconds:.1f} s: {text[-500:]}"
        return wrong, "wrong", seconds, child.work
    return left_behind(folder, "z.svec"), "stopped" if code else "done", seconds, child.work


def campaign(
    kills: int,
    signals: int,
    seed: int,
    result: dict[str, Any] | None = None,
    record: Callable[[dict[str, Any]], None] = lambda result: None,
) -> dict[str, Any]:
    """Run the cases that ``result`` does not have yet; return the counts."""
    result = {
        "seed": seed, "kills": {}, "signals": {}, "slowest_stop_seconds": 0.0, "most_processor_seconds": 0.0,
        "failures": [], **(result or {}),
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        seconds = prepare(folder, seed)
        while struck(result["signals"]) < signals:
            case = total(result["signals"])
            command, number = COMMANDS[case // 2 % len(COMMANDS)], SIGNALS[case % 2]
            delay = random.Random(f"{seed} signal {case}").uniform(0, seconds[command])
            wrong, ending, took, work = stop(folder, command, number, delay)
            if ending == "not_sent":  # the machine is less busy than before
                seconds[command] = took
            else:
                for key, value in (("slowest_stop_seconds", took), ("most_processor_seconds", work)):
                    result[key] = max(result[key], round(value, 2))
            _count(result, "signals", number.name, wrong, ending)
            record(result)
        while struck(result["kills"]) < kills:
            case = total(result["kills"])
            command = COMMANDS[case % len(COMMANDS)]
            target = f"x.{FORMATS[case // len(COMMANDS) % len(FORMATS)]}"
            delay = random.Random(f"{seed} kill {case}").uniform(0, seconds[command])
            ran = kill(folder, command, target, delay)
            wrong = torn(folder, command, target)
            wrong_again, seconds[command] = again(folder, command, target)
            _count(result, "kills", command, wrong or wrong_again, "killed" if ran else "not_sent")
            record(result)
    return result


def _count(result: dict[str, Any], group: str, name: str, wrong: str | None, ending: str) -> None:
    row = result[group].setdefault(name, {})
    ending = "wrong" if wrong else ending
    row[ending] = row.get(ending, 0) + 1
    result["failures"] += [wrong] if wrong else []


def struck(group: dict[str, dict[str, int]]) -> int:
    """Return how many cases met a running command."""
    return total(group) - sum(row.get("not_sent", 0) for row in group.values())


def total(group: dict[str, dict[str, int]]) -> int:
    """Return how many cases were run."""
    return sum(sum(row.values()) for row in group.values())


def table(result: dict[str, Any]) -> str:
    """Return the counts as two tables."""
    lines = [
        f"{struck(result['kills'])} kills, seed {result['seed']}, over {len(FORMATS)} formats of vectors.",
        "",
        "| command | runs | killed | had ended before | something lost |", "|---|---|---|---|---|",
    ]  # fmt: skip
    for name, row in result["kills"].items():
        cells = [sum(row.values()), *(row.get(ending, 0) for ending in ("killed", "not_sent", "wrong"))]
        command, _, graph = name.partition(" ")
        title = f"`softvec {command}`{graph and ', fused views'}"
        lines.append(f"| {title} | {' | '.join(map(str, cells))} |")
    lines += [
        "", f"{struck(result['signals'])} signals, sent to the same commands; the slowest took "
        f"{result['slowest_stop_seconds']} s to stop, and none more than "
        f"{result['most_processor_seconds']} s of processor time.", "",
        "| signal | runs | code 130 or 143 | before softvec's first line | work was done: code 0 | "
        "had ended before | wrong |",
        "|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for name, row in result["signals"].items():
        endings = ("stopped", "before_softvec", "done", "not_sent", "wrong")
        cells = [sum(row.values()), *(row.get(ending, 0) for ending in endings)]
        lines.append(f"| {name} | {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def main() -> None:
    """Run from the command line; exit with 1 where something was lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--signals", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", action="store_true", help=f"write {RESULTS.name} and {PAGE.name}")
    parser.add_argument("--resume", action="store_true", help=f"go on from {RESULTS.name}")
    given = parser.parse_args()
    before = read_json(RESULTS) if given.resume else None
    header = {"provenance": provenance(1)}

    def record(result: dict[str, Any]) -> None:
        if given.record:
            write_json(RESULTS, result | header)

    result = campaign(given.kills, given.signals, given.seed, before, record)
    if given.record:
        replace_section(PAGE, "kills", table(result))
    sys.stdout.write(table(result) + "\n" + "\n".join(result["failures"]) + "\n")
    sys.exit(bool(result["failures"]))


if __name__ == "__main__":
    main()
