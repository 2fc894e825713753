"""How much memory a worker takes, and a refusal that names how many workers would do."""

from __future__ import annotations

from typing import Any

import numpy as np

from softvec.cluster.driver import Plan
from softvec.core.errors import InputError, Option
from softvec.fit.memory import estimate_memory
from softvec.operators import Operator, Powers, Product, Sparse, Sum


def needed_memory(plan: Plan, rank: int) -> int:
    """Return about how many bytes a worker takes at its peak: rows, entries, halo, buffers, interpreter."""
    problem, settings = plan.problem, plan.settings
    lo, hi = plan.rows[rank : rank + 2]
    begin, end = plan.columns[rank : rank + 2]
    d, size = int(settings.n_components), 2 if np.dtype(settings.dtype) == np.float32 else 8
    leaves = sparse_leaves(problem.P)
    entries = sum(_entries(leaf, plan.bounds(leaf.shape[0])[rank : rank + 2]) for leaf in leaves)
    own = sum(leaf.nbytes for leaf in leaves) / max(1, sum(leaf.nnz for leaf in leaves))
    transposed = not problem.symmetric or (problem.both_ways and not all(leaf._symmetric for leaf in leaves))
    halo = max(halo_rows(leaf, plan, rank) for leaf in leaves)
    rows = max(int(hi - lo), int(end - begin))
    copies = 2 if problem.both_ways or not problem.symmetric else 1
    totals = (int(hi - lo) // (16 * max(256, 131072 // d)) + 1) * settings.n_clusters * d * d * 8
    return (
        estimate_memory(
            int(hi - lo),
            entries,
            d,
            m=None if problem.symmetric else int(end - begin),
            bytes_per_entry=own,
            walk_length=max((leaf._length for leaf in [problem.P] if isinstance(leaf, Powers)), default=1),
            n_clusters=int(settings.n_clusters),
            transposed=transposed,
            both_ways=problem.both_ways,
            dtype=settings.dtype,
            checkpoint=plan.store is not None,
        )
        + copies * (rows + halo) * d * size
        + totals
    )


def refuse_if_too_big(plan: Plan, free: int | None) -> None:
    """Raise an error before a fit whose workers have too little memory."""
    if free is None:
        return
    need = max(needed_memory(plan, rank) for rank in range(plan.size))
    if need <= free:
        return
    fixed = estimate_memory(0, 0, int(plan.settings.n_components), n_clusters=int(plan.settings.n_clusters))
    advice: tuple[Any, ...] = ("use workers with more memory",)
    if free > fixed:  # what is not fixed shrinks with the rows; halos less so
        advice = (
            f"about {int(np.ceil(1.2 * plan.size * (need - fixed) / (free - fixed)))} such workers would do",
        )
    raise InputError(
        f"each of {plan.size} workers needs about {need / 2**30:,.1f} GiB, and "
        f"{free / 2**30:,.1f} GiB are free; ",
        *advice,
        " (",
        Option("check_memory", False),
        " tries all the same)",
    )


def sparse_leaves(operator: Operator) -> list[Sparse]:
    """Return the sparse matrices that an operator is made of."""
    if isinstance(operator, Sparse):
        return [operator]
    if isinstance(operator, Powers):
        return sparse_leaves(operator._base)
    parts = operator._factors if isinstance(operator, Product) else ()
    parts = operator._parts if isinstance(operator, Sum) else parts
    return [leaf for part in parts for leaf in sparse_leaves(part)]


def _entries(leaf: Sparse, rows: Any) -> int:
    return int(leaf._indptr[rows[1]] - leaf._indptr[rows[0]])


def halo_rows(leaf: Sparse, plan: Plan, rank: int) -> int:
    """Return how many columns of others the rows of a worker read."""
    lo, hi = plan.bounds(leaf.shape[0])[rank : rank + 2]
    begin, end = plan.bounds(leaf.shape[1])[rank : rank + 2]
    remote = np.zeros(leaf.shape[1], bool)
    remote[leaf._indices[leaf._indptr[lo] : leaf._indptr[hi]]] = True
    remote[begin:end] = False
    return int(np.count_nonzero(remote))
