"""Estimate the memory of a worker, and refuse a fit that is too large, naming how many workers it needs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from softvec.affinity.base import Facts
from softvec.cluster.driver import Plan
from softvec.cluster.rounds import Counts, pays
from softvec.core.errors import InputError, Option
from softvec.fit.memory import estimate_memory
from softvec.fit.settings import Settings
from softvec.operators import Operator, Sparse


def needed_memory(plan: Plan, rank: int) -> int:
    """Estimate the peak memory of a worker in bytes: rows, entries, halo, buffers, interpreter."""
    return _needed(plan, rank, [_counts(leaf, plan) for leaf in sparse_leaves(plan.problem.P)])


def _needed(plan: Plan, rank: int, counts: list[list[Counts]]) -> int:
    """Estimate the memory of a worker; ``counts`` are those of all workers, for each of the matrices of P."""
    problem, settings = plan.problem, plan.settings
    lo, hi = plan.rows[rank : rank + 2]
    begin, end = plan.columns[rank : rank + 2]
    d, stored = int(settings.n_components), _stored(settings.dtype)
    leaves = sparse_leaves(problem.P)
    entries = sum(_entries(leaf, plan.bounds(leaf.shape[0])[rank : rank + 2]) for leaf in leaves)
    own = sum(leaf.nbytes for leaf in leaves) / max(1, sum(leaf.nnz for leaf in leaves))
    transposed = not problem.symmetric or (problem.both_ways and not all(leaf._symmetric for leaf in leaves))
    held = max(each[rank].held(d, stored, in_rounds=pays(each, d, stored)) for each in counts)
    copies = 2 if problem.both_ways or not problem.symmetric else 1
    units = int(hi - lo) // (16 * max(256, 131072 // d)) + 1
    totals = 2 * units.bit_length() * settings.n_clusters * d * d * 8  # of the tree of units
    part = Facts(
        "part", int(hi - lo), int(end - begin), entries, int(own * entries), problem.symmetric, transposed
    )
    fit = replace(settings, symmetric=problem.symmetric, walk_length=problem.P.times)
    return estimate_memory(part, fit) + copies * held + totals


def refuse_if_too_big(plan: Plan, free: int | None, copies: int = 0) -> None:
    """Raise an error, before a fit, if its workers have too little memory for it and so many copies."""
    if free is None:
        return
    counts = [_counts(leaf, plan) for leaf in sparse_leaves(plan.problem.P)]
    settings, sizes = plan.settings, zip(np.diff(plan.rows).tolist(), np.diff(plan.columns).tolist())
    kept = [
        copies * _vectors(n, m, int(settings.n_components), plan.problem.symmetric, settings.dtype)
        for n, m in sizes
    ]
    need = max(_needed(plan, rank, counts) + kept[rank] for rank in range(plan.size))
    _refuse(need, plan.size, free, int(plan.settings.n_components), int(plan.settings.n_clusters))


def _vectors(n: int, m: int, d: int, symmetric: bool, dtype: Any) -> int:
    """Return the bytes of the vectors of a worker."""
    return (n if symmetric else n + m) * d * np.dtype(dtype).itemsize


def _refuse(need: int, workers: int, free: int | None, d: int, n_clusters: int) -> None:
    if free is None or need <= free:
        return
    nothing = Facts("part", 0, 0, 0, 0, symmetric=True)
    fixed = estimate_memory(nothing, Settings(d, n_clusters=n_clusters))
    advice: tuple[Any, ...] = ("use workers with more memory",)
    if free > fixed:  # the variable part shrinks with the rows; halos less so
        advice = (f"use about {int(np.ceil(1.2 * workers * (need - fixed) / (free - fixed)))} such workers",)
    who = "the worker" if workers == 1 else f"each of {workers} workers"
    raise InputError(
        f"{who} needs about {need / 2**30:,.1f} GiB, and {free / 2**30:,.1f} GiB are free; ",
        *advice,
        " (to try anyway, pass ",
        Option("check_memory", False),
        ")",
    )


def sparse_leaves(operator: Operator) -> list[Sparse]:
    """Return the sparse matrices that an operator is made of."""
    return [leaf for leaf in operator.leaves() if isinstance(leaf, Sparse)]


def _stored(dtype: Any) -> Any:
    """Return the type in which vectors are sent: half precision, kept as uint16, for float32."""
    return np.uint16 if np.dtype(dtype) == np.float32 else np.dtype(dtype)


def _counts(leaf: Sparse, plan: Plan) -> list[Counts]:
    """Return the rows of a product of each worker; for two sides, those of the larger."""
    rows, columns = (np.diff(plan.bounds(size)) for size in leaf.shape)
    sizes = np.maximum(rows, columns).tolist()
    return [Counts(size, size, halo_rows(leaf, plan, rank)) for rank, size in enumerate(sizes)]


def _entries(leaf: Sparse, rows: Any) -> int:
    return int(leaf._indptr[rows[1]] - leaf._indptr[rows[0]])


def halo_rows(leaf: Sparse, plan: Plan, rank: int) -> int:
    """Return the number of columns of other workers that a worker's rows read."""
    lo, hi = plan.bounds(leaf.shape[0])[rank : rank + 2]
    begin, end = plan.bounds(leaf.shape[1])[rank : rank + 2]
    remote = np.zeros(leaf.shape[1], bool)
    remote[leaf._indices[leaf._indptr[lo] : leaf._indptr[hi]]] = True
    remote[begin:end] = False
    return int(np.count_nonzero(remote))
