"""Kill, interrupt and terminate the commands of softvec at random moments; count what is lost.

    python tools/kills.py [--kills 500] [--signals 200] [--cluster 40] [--seed 0] [--record] [--resume]

A killed ``embed --checkpoint`` is run again: it must end with the bits of an uninterrupted run. A killed
command must leave the old file, the new one, or (formats of two files) a refusal in one line; the next one
must clean up. SIGINT, SIGTERM and SIGHUP must end a command with code 130, 143 and 129 within two seconds.
``--cluster`` does as many of both to ``embed --cluster local:2``, which may take longer to stop, and leaves
no process of Ray.

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
from contextlib import suppress
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
CLUSTER = "embed cluster"
SIGNALS = (signal.SIGINT, signal.SIGTERM)
ALL_SIGNALS = (*SIGNALS, signal.SIGHUP)
PATIENCE = 2.0  # seconds by the clock to stop in; a busy machine may need more
CLUSTER_PATIENCE = 20.0  # of a cluster: Ray ends its processes one after the other
LINGER = 60.0  # after a kill: agents of Ray end when they notice it, after half a minute
MARK = "SOFTVEC_KILLS"  # in the environment of all processes of a command
# a byte through a pipe tells whether softvec's first line was reached
START = "import os, sys; from softvec.cli import main; os.write(int(sys.argv[1]), b'.'); main(sys.argv[2:])"
SMALL = (
    "from softvec.core.machine import Machine; Machine.block, Machine.unit = 32, 4; "  # rows for two workers
)


Record = Callable[[dict[str, Any]], None]


class Child:
    """A softvec command that has just been started."""

    def __init__(self, folder: Path, *words: str):
        self._ready, write = os.pipe()
        first = SMALL if "--cluster" in words else ""
        command = [sys.executable, "-c", first + START, str(write), *words]
        paths = os.pathsep.join(map(os.path.abspath, filter(None, sys.path)))
        self.mark = f"{os.getpid()}-{time.monotonic_ns()}"
        self.begun = time.monotonic()
        self.spent = self.work = 0.0  # processor time before and after the signal
        self.process = subprocess.Popen(
            command, cwd=folder, pass_fds=[write], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": paths, MARK: self.mark}, preexec_fn=_default_interrupt,
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

    def running(self, patience: float) -> list[str]:
        """Return the commands of its processes that still run after so many seconds."""
        until = time.monotonic() + patience
        while (left := _marked(self.mark)) and time.monotonic() < until:
            time.sleep(0.1)
        return left


def _marked(mark: str) -> list[str]:
    """Return the commands of all processes with a mark in their environment."""
    left, wanted = [], f"{MARK}={mark}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # ended meanwhile, or another user's
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                left.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:60])
    return left


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
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as nohup does


def prepare(folder: Path, seed: int, commands: tuple[str, ...]) -> dict[str, float]:
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
    for name in commands:
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
    if command == CLUSTER:
        words += ["--cluster", "local:2", "--threads", "1", "--view", "walk", "--epochs", "100"]
    return [*words, "--checkpoint", f"{target}.run", "--set", "checkpoint_every=1"]


def kill(folder: Path, command: str, target: str, delay: float) -> tuple[bool, str | None]:
    """Kill a command that replaces an old file; return whether it still ran, and what is wrong then."""
    Embedding.load(folder / "old.svec").save(folder / target)
    child = Child(folder, *words_of(command, target))
    ran = child.signal_after(delay, signal.SIGKILL)
    child.end()
    left = child.running(LINGER)
    wrong = f"{command} to {target}, killed: still running: {', '.join(left)}" if left else None
    return ran, wrong or torn(folder, command, target)


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
    left = child.running(CLUSTER_PATIENCE)
    saved = (folder / "z.svec").exists()
    for path in folder.glob("z.svec*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    if code == 0 and not sent:
        return None, "not_sent", time.monotonic() - child.begun, 0.0
    # Python dies of the signal, which a shell shows as 128 + number; while it loads, it ends with code 1
    if code in (-number, 1) and not child.reached_softvec:
        return None, "before_softvec", seconds, child.work
    late = seconds > (CLUSTER_PATIENCE if command == CLUSTER else PATIENCE)
    if late or left or code not in (0, 128 + number) or "Traceback" in text or not (code or saved):
        wrong = f"{command}, {number.name}: code {code} after {seconds:.1f} s: {text[-500:]}{' '.join(left)}"
        return wrong, "wrong", seconds, child.work
    return left_behind(folder, "z.svec"), "stopped" if code else "done", seconds, child.work


def campaign(
    kills: int,
    signals: int,
    seed: int,
    result: dict[str, Any] | None = None,
    record: Record = lambda result: None,
    cluster: int = 0,
) -> dict[str, Any]:
    """Run the cases that ``result`` does not have yet; return the counts."""
    begun = {"seed": seed, "formats": len(FORMATS), "kills": {}, "signals": {}, "failures": []}
    result = begun | (result or {})
    with tempfile.TemporaryDirectory() as made:
        commands = COMMANDS if kills or signals else ()
        seconds = prepare(Path(made), seed, (*commands, CLUSTER) if cluster else commands)
        run = Campaign(Path(made), seconds, result, record)
        run.signals("signals", signals, COMMANDS, SIGNALS)
        run.kills("kills", kills, COMMANDS)
        if cluster:
            run.signals("cluster signals", cluster, (CLUSTER,), ALL_SIGNALS)
            run.kills("cluster kills", cluster, (CLUSTER,))
    return result


class Campaign:
    """A folder with data, how long the commands take, the counts, and what records them."""

    def __init__(self, folder: Path, seconds: dict[str, float], result: dict[str, Any], record: Record):
        self.folder, self.seconds, self.result, self.record = folder, seconds, result, record

    def signals(
        self, group: str, wanted: int, commands: tuple[str, ...], numbers: tuple[signal.Signals, ...]
    ) -> None:
        """Send signals until so many met a running command."""
        counts = self.result.setdefault(group, {})
        while struck(counts) < wanted:
            case = total(counts)
            command = commands[case // len(numbers) % len(commands)]
            number = numbers[case % len(numbers)]
            delay = random.Random(f"{self.result['seed']} {group[:-1]} {case}").uniform(
                0, self.seconds[command]
            )
            wrong, ending, took, work = stop(self.folder, command, number, delay)
            if ending == "not_sent":  # the machine is less busy than before
                self.seconds[command] = took
            else:
                for what, value in (("slowest", took), ("most_processor", work)):
                    key = f"{group} {what}"
                    self.result[key] = max(self.result.get(key, 0.0), round(value, 2))
            self._count(group, number.name, wrong, ending)

    def kills(self, group: str, wanted: int, commands: tuple[str, ...]) -> None:
        """Kill commands, and run them again, until so many kills met a running command."""
        counts = self.result.setdefault(group, {})
        while struck(counts) < wanted:
            case = total(counts)
            command = commands[case % len(commands)]
            target = f"x.{FORMATS[case // len(commands) % len(FORMATS)]}"
            delay = random.Random(f"{self.result['seed']} {group[:-1]} {case}").uniform(
                0, self.seconds[command]
            )
            ran, wrong = kill(self.folder, command, target, delay)
            wrong_again, self.seconds[command] = again(self.folder, command, target)
            self._count(group, command, wrong or wrong_again, "killed" if ran else "not_sent")

    def _count(self, group: str, name: str, wrong: str | None, ending: str) -> None:
        row = self.result[group].setdefault(name, {})
        ending = "wrong" if wrong else ending
        row[ending] = row.get(ending, 0) + 1
        self.result["failures"] += [wrong] if wrong else []
        self.record(self.result)


def struck(group: dict[str, dict[str, int]]) -> int:
    """Return how many cases met a running command."""
    return total(group) - sum(row.get("not_sent", 0) for row in group.values())


def total(group: dict[str, dict[str, int]]) -> int:
    """Return how many cases were run."""
    return sum(sum(row.values()) for row in group.values())


def table(result: dict[str, Any]) -> str:
    """Return the counts as tables."""
    lines: list[str] = []
    for group, what in {
        "": f"kills, seed {result['seed']}, over {result['formats']} formats of vectors",
        "cluster ": "kills of the driver of two workers on Ray, of which no process may run a minute later",
    }.items():
        kills, signals = (result.get(f"{group}{name}", {}) for name in ("kills", "signals"))
        slowest, most = (result.get(f"{group}signals {of}", 0.0) for of in ("slowest", "most_processor"))
        if kills or signals:
            lines += [
                f"{struck(kills)} {what}.", "", *_kills(kills), "",
                f"{struck(signals)} signals, sent to the same commands; the slowest took {slowest} s to "
                f"stop, and none more than {most} s of processor time.", "", *_signals(signals), "",
            ]  # fmt: skip
    return "\n".join(lines[:-1])


def _kills(counts: dict[str, dict[str, int]]) -> list[str]:
    lines = ["| command | runs | killed | had ended before | something lost |", "|---|---|---|---|---|"]
    titles = {"embed dense": "`softvec embed`, fused views", CLUSTER: "`softvec embed --cluster local:2`"}
    for name, row in counts.items():
        cells = [sum(row.values()), *(row.get(ending, 0) for ending in ("killed", "not_sent", "wrong"))]
        lines.append(f"| {titles.get(name, f'`softvec {name}`')} | {' | '.join(map(str, cells))} |")
    return lines


def _signals(counts: dict[str, dict[str, int]]) -> list[str]:
    lines = [
        "| signal | runs | code 128 + its number | before softvec's first line | work was done: code 0 | "
        "had ended before | wrong |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in counts.items():
        endings = ("stopped", "before_softvec", "done", "not_sent", "wrong")
        cells = [sum(row.values()), *(row.get(ending, 0) for ending in endings)]
        lines.append(f"| {name} | {' | '.join(map(str, cells))} |")
    return lines


def main() -> None:
    """Run from the command line; exit with 1 where something was lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--signals", type=int, default=200)
    parser.add_argument("--cluster", type=int, default=0, help="kills and signals of a fit on two workers")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", action="store_true", help=f"write {RESULTS.name} and {PAGE.name}")
    parser.add_argument("--resume", action="store_true", help=f"go on from {RESULTS.name}")
    given = parser.parse_args()
    before = read_json(RESULTS) if given.resume else None
    header = {"provenance": provenance(1)}

    def record(result: dict[str, Any]) -> None:
        if given.record:
            write_json(RESULTS, result | header)

    result = campaign(given.kills, given.signals, given.seed, before, record, given.cluster)
    if given.record:
        replace_section(PAGE, "kills", table(result))
    sys.stdout.write(table(result) + "\n" + "\n".join(result["failures"]) + "\n")
    sys.exit(bool(result["failures"]))


if __name__ == "__main__":
    main()
