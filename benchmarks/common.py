"""What the benchmarks share: the machine and the commit, pinned threads, timing, memory, JSON files."""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "SOFTVEC_NUM_THREADS",
)


def pinned(threads: int) -> dict[str, str]:
    """Return the environment of a child process that may use so many threads in every library."""
    return {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads))}


def cores() -> int:
    """Return the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def child(command: Sequence[object], threads: int | None) -> dict[str, Any]:
    """Run a command with pinned threads (None: as they are); return the JSON of its last line."""
    words = [str(word) for word in command]
    environment = None if threads is None else pinned(threads)
    done = subprocess.run(words, capture_output=True, text=True, env=environment, cwd=ROOT)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words[:4])[:200]} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def machine() -> dict[str, Any]:
    """Return what the timings depend on: processor, cores, memory, system, Python."""
    return {
        "processor": _processor(),
        "cores": cores(),
        "memory_gib": round(_memory() / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 0


def commit() -> str:
    """Return the commit of the working tree, with "+" when tracked files of `src` differ from it."""
    try:
        head = _git("rev-parse", "--short=12", "HEAD")
        return head + ("+" if _git("status", "--porcelain", "--untracked-files=no", "src") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the installed versions of the named packages; absent ones are left out."""
    installed = {}
    for package in packages:
        try:
            installed[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return installed


def provenance(threads: int) -> dict[str, Any]:
    """Return the header of every result file."""
    return {
        "machine": machine(),
        "commit": commit(),
        "threads": threads,
        "versions": versions(["softvec", "numpy", "scipy", "scikit-learn", "numba"]),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def fingerprint(*paths: Path) -> str:
    """Return a short hash of Python sources (files, or all files under directories)."""
    digest = hashlib.sha256()
    for path in paths:
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]


def peak_rss() -> int:
    """Return the peak resident memory of this process in bytes.

    Linux's own counter starts at the program; getrusage would include the parent's peak before it.
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024
    except (OSError, StopIteration):
        pass
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def interleave(
    functions: Mapping[str, Callable[[], Any]],
    repeats: int = 5,
    *,
    warm_up: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Time functions in turn, so that a slow moment of the machine falls on all of them alike.

    Parameters
    ----------
    functions : mapping of str to callable
    repeats : int
        Timed rounds.
    warm_up : int
        Untimed rounds first (compilation, caches).
    clock : callable
        ``time.process_time`` counts the processor time of this process alone, which other programs disturb
        least.

    Returns
    -------
    dict of str to list of float
        Seconds of each round.
    """
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for turn in range(warm_up + repeats):
        for name, function in functions.items():
            start = clock()
            function()
            if turn >= warm_up:
                seconds[name].append(clock() - start)
    return seconds


def summary(values: list[float]) -> dict[str, Any]:
    """Return the median, the extremes and the values themselves."""
    return {
        "median": statistics.median(values),
        "least": min(values),
        "most": max(values),
        "values": list(values),
    }


def write_json(path: Path, data: Any) -> None:
    """Write a JSON file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".part")
    draft.write_text(json.dumps(data, indent=1, sort_keys=False) + "\n")
    os.replace(draft, path)


def read_json(path: Path, default: Any = None) -> Any:
    """Read a JSON file; return the default where there is none."""
    return json.loads(path.read_text()) if path.exists() else default


def replace_section(path: Path, name: str, text: str) -> None:
    """Put text between ``<!-- name:begin -->`` and ``<!-- name:end -->``; append the section if absent."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    page = path.read_text() if path.exists() else ""
    block = f"{begin}\n{text.strip()}\n{end}"
    if begin in page and end in page:
        head, rest = page.split(begin, 1)
        page = head + block + rest.split(end, 1)[1]
    else:
        page = page.rstrip() + ("\n\n" if page.strip() else "") + block + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page)


def measure_and_write(
    description: str | None,
    result: Path,
    measure: Callable[[], Any],
    page: Path,
    section: str,
    render: Callable[[Any], str],
) -> None:
    """Measure, unless ``--page-only`` is given, keep the JSON, and write a section of a page from it."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--page-only", action="store_true", help="write the page from the JSON")
    if not parser.parse_args().page_only:
        write_json(result, measure())
    replace_section(page, section, render(read_json(result)))
