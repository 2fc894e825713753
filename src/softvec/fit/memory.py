"""How much memory a fit takes, how much there is, and a refusal of what cannot fit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from softvec.affinity import Affinity
from softvec.core.errors import InputError

_BASE_BYTES = 300 << 20  # the interpreter with NumPy, SciPy, Numba and scikit-learn loaded


def estimate_memory(
    n: int,
    nnz: int,
    n_components: int,
    *,
    m: int | None = None,
    bytes_per_entry: float = 8.0,
    walk_length: int = 1,
    n_clusters: int = 1,
    transposed: bool = False,
) -> int:
    """Return about how many bytes a fit takes at its peak, the interpreter included.

    Parameters
    ----------
    n : int
        Rows.
    nnz : int
        Stored entries of P, or of each factor together.
    n_components : int
    m : int, optional
        Columns of a two-sided fit, which have vectors of their own.
    bytes_per_entry : float
        4 without values, 8 with float32 ones.
    walk_length : int
        Walks of more than one step need up to two scratch matrices in half precision.
    n_clusters : int
    transposed : bool
        Whether a transposed copy of P is held: two-sided fits, and gradients other than "row" of a
        matrix that is not symmetric.

    Examples
    --------
    >>> round(estimate_memory(10_000_000, 200_000_000, 128, bytes_per_entry=4) / 2**30, 1)
    11.2
    """
    d = n_components
    rows = n + (m or 0)
    vectors = rows * d * (4 + 2 + 2)  # float32, and two copies in half precision that neighbours read
    scratch = n * d * 2 * min(2, walk_length - 1)
    matrix = int(nnz * bytes_per_entry + 8 * (n + 1)) * (2 if transposed else 1)
    small = 6 * n_clusters * d * d * 8 + 64 * rows  # moments, and names, sums and sizes of the rows
    return _BASE_BYTES + vectors + scratch + matrix + small


def available_memory() -> int | None:
    """Return the bytes this process may still take: free memory and what the control group allows.

    None where the system does not tell.
    """
    limits = [value for value in (_meminfo(), _cgroup_v2(), _cgroup_v1()) if value is not None]
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


def _cgroup_v2() -> int | None:
    return _cgroup("/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file")


def _cgroup_v1() -> int | None:
    return _cgroup(
        "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
    )


def _cgroup(root: str, limit: str, usage: str, cache: str) -> int | None:
    """Return limit - usage + file cache that the kernel would give back."""
    try:
        most = int((Path(root) / limit).read_text())
        used = int((Path(root) / usage).read_text())
        stat = dict(line.split() for line in (Path(root) / "memory.stat").read_text().splitlines())
        return max(0, most - used + int(stat.get(cache, 0)))
    except (OSError, ValueError):  # no such file, or the word "max"
        return None


def needed_memory(affinity: Affinity, n_components: int, fit: dict[str, Any]) -> int:
    """Return the estimate for fitting this affinity, less what is already held."""
    operator = affinity.operator
    symmetric = fit.get("symmetric", affinity.symmetric)
    entries = max(1, operator.nnz)
    directed = bool(affinity.details.get("directed", False))
    total = estimate_memory(
        affinity.shape[0],
        operator.nnz,
        n_components,
        m=None if symmetric else affinity.shape[1],
        bytes_per_entry=operator.nbytes / entries,
        walk_length=int(affinity.parameters.get("length", 1) or 1),
        n_clusters=int(fit.get("n_clusters", 1)),
        transposed=not symmetric or (directed and fit.get("gradient", "row") != "row"),
    )
    return max(0, total - operator.nbytes - _BASE_BYTES)


def refuse_if_too_big(affinity: Affinity, n_components: int, fit: dict[str, Any]) -> None:
    """Raise an error before a fit that cannot fit in memory."""
    need, free = needed_memory(affinity, n_components, fit), available_memory()
    if free is None or need <= free:
        return
    smaller = n_components
    while smaller >= 8 and needed_memory(affinity, smaller, fit) > free:
        smaller = int(smaller * 0.9)
    advice = f"n_components of about {smaller // 8 * 8} would fit" if smaller >= 8 else "use a larger machine"
    raise InputError(
        f"{affinity.shape[0]:,} rows in {n_components} dimensions need about {need / 2**30:,.1f} GiB more, "
        f"{free / 2**30:,.1f} GiB are free; {advice} (check_memory=False tries all the same)"
    )
