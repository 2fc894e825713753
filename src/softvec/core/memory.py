"""Memory this process may still allocate, and returning freed memory to the system."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from pathlib import Path

from softvec.core.container import memory_left

SMALL = 1 << 26  # bytes below which the free memory need not be looked up, which takes a millisecond


def available_memory() -> int | None:
    """Return the bytes this process may still allocate (free memory, control groups); None if unknown."""
    limits = [value for value in (_meminfo(), memory_left()) if value is not None]
    if limits:
        return min(limits)
    try:  # macOS and the BSDs: all physical memory, which is at least an upper bound
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _meminfo() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def give_back() -> None:
    """Return freed memory to the system (glibc only), which small arrays around a large one prevent."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
