"""Processors and memory that this process may use.

A container or a batch system sets limits by Linux control groups. Every group from the process's own up to
the root may set one, in cgroup version 1 or 2; the tightest one applies. Functions take the root of the file
system, so that tests can use a fake one.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

from softvec.core.errors import InputError

T = TypeVar("T")

SMALL = 1 << 26  # bytes below which the free memory need not be looked up, which takes a millisecond


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Return the number of threads: None and -1 mean every core this process may use, -2 all but one."""
    if n_jobs is None:
        n_jobs = -1
    if not hasattr(n_jobs, "__index__") or n_jobs == 0:
        raise InputError(f"n_jobs is {n_jobs!r}; pass None for all cores, or a number of threads")
    return n_jobs if n_jobs > 0 else max(1, _cores() + 1 + n_jobs)


def _cores() -> int:
    """Return the cores this process may use: the affinity mask, limited by a container's quota."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows have no affinity mask
        cores = os.cpu_count() or 1
    quota = processors()
    return cores if quota is None else max(1, min(cores, math.ceil(quota)))


def available_memory() -> int | None:
    """Return the bytes this process may still allocate (free memory, control groups); None if unknown."""
    limits = [value for value in (_meminfo(), memory_left()) if value is not None]
    if limits:
        return min(limits)
    try:  # macOS and the BSDs: all physical memory, which is at least an upper bound
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def peak_memory() -> int | None:
    """Return the most bytes that this process has held so far; None if unknown."""
    try:
        from resource import RUSAGE_SELF, getrusage
    except ImportError:  # Windows
        return None
    return getrusage(RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _meminfo() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def memory_left(root: Path = Path("/")) -> int | None:
    """Return the bytes that the control groups still allow, with reclaimable file cache; None: no limit."""
    v2 = partial(_memory, limit="memory.max", usage="memory.current", cache="inactive_file")
    limit, usage = "memory.limit_in_bytes", "memory.usage_in_bytes"
    v1 = partial(_memory, limit=limit, usage=usage, cache="total_inactive_file")
    return min(_readings(root, "memory", v2, v1), default=None)


def processors(root: Path = Path("/")) -> float | None:
    """Return the CPU quota of the control groups, in processors; None where there is no quota."""
    return min(_readings(root, "cpu", _quota_v2, _quota_v1), default=None)


def _readings(root: Path, controller: str, v2: Callable[[Path], T], v1: Callable[[Path], T]) -> Iterator[T]:
    """Yield the limit of each group of the process that sets one."""
    for folder, read in [
        *((folder, v2) for folder in _folders(root, "")),
        *((folder, v1) for folder in _folders(root, controller)),
    ]:
        try:
            yield read(folder)
        except (OSError, ValueError, ZeroDivisionError):  # no such file, the word "max", or a quota of -1
            continue


def _folders(root: Path, controller: str) -> Iterator[Path]:
    """Yield the folders of the process's group and of its parents; "" is the version 2 hierarchy."""
    group, mounts = "/", [controller] if controller else ["", "unified"]
    try:
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers == controller or (controller and controller in controllers.split(",")):
                group, mounts = path, [controllers, controller] if controller else mounts
    except (OSError, ValueError):
        pass  # no process file: the mounted root is all there is
    steps = [step for step in group.split("/") if step and step != ".."]
    for mount in dict.fromkeys(mounts):
        base = root / "sys/fs/cgroup" / mount
        for depth in range(len(steps), -1, -1):
            yield base.joinpath(*steps[:depth])


def _memory(folder: Path, limit: str, usage: str, cache: str) -> int:
    most, used = int((folder / limit).read_text()), int((folder / usage).read_text())
    stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    return max(0, most - used + int(stat.get(cache, 0)))


def _quota_v2(folder: Path) -> float:
    quota, period = (folder / "cpu.max").read_text().split()
    return int(quota) / int(period)


def _quota_v1(folder: Path) -> float:
    quota = int((folder / "cpu.cfs_quota_us").read_text())
    if quota <= 0:
        raise ValueError("no quota")
    return quota / int((folder / "cpu.cfs_period_us").read_text())
