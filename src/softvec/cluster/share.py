"""A worker's share of a fit whose data the workers read: sums over all rows, and its epochs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from softvec.affinity import Affinity
from softvec.cluster.checkpoint import Store
from softvec.cluster.ingest import Ingested
from softvec.cluster.ingest.rows import entry_sums
from softvec.cluster.operator import Sharded
from softvec.cluster.rank import Epochs, OnEpoch, SharedRows
from softvec.cluster.seam import Group
from softvec.cluster.shard import Shard
from softvec.core.threads import Workers, workers
from softvec.fit.checkpoint import fingerprint
from softvec.fit.loop import State
from softvec.fit.problem import Problem
from softvec.fit.run import seed_of
from softvec.fit.settings import Settings
from softvec.fit.share import Share
from softvec.operators import Operator, Powers, row_normalize

__all__ = ["Part", "affinity_of"]


@dataclass(frozen=True)
class Part(Share):
    """The rows of one worker; all workers call its methods together.

    Attributes
    ----------
    group : Group
    shard : Shard
        The own rows of the matrix, not normalised.
    unit, block : int, int or None
        How rows are split; see :class:`softvec.core.threads.Workers`.
    state : State or None
        Initial state, after a worker was lost.
    """

    group: Group
    shard: Shard
    unit: int = Workers.unit
    block: int | None = None
    state: State | None = None

    @contextmanager
    def workers(self, n_jobs: int | None) -> Iterator[Workers]:
        """Open threads whose sums are over all rows."""
        with workers(n_jobs) as threads:
            yield SharedRows(threads, self.group, self.unit, self.block)

    def symmetric(self, A: sparse.csr_array) -> Operator:
        """Return the operator of a symmetric matrix, of which ``A`` are the own rows."""
        plain = A.dtype == bool or bool(np.all(A.data == 1))
        values = None if all(self.group.gather(plain)) else A.data
        shard = replace(self.shard, indptr=A.indptr, indices=A.indices, values=values, symmetric=True)
        return Sharded(shard, self.group)

    def run(
        self, problem: Problem, settings: Settings, warm: bool, on_epoch: OnEpoch | None = None
    ) -> tuple[State, int]:
        """Run the epochs on the own rows of a problem; return the final state and the seed."""
        seed = self.group.gather(seed_of(settings.random_state))[0]
        store = manifest = None
        if settings.checkpoint is not None:
            store = Store(str(settings.checkpoint), settings.checkpoint_every, self._key(problem, settings))
            manifest = self.group.gather(store.manifest() if self.group.rank == 0 else None)[0]
            seed = seed if manifest is None else int(manifest["seed"])
        chosen = replace(settings, symmetric=problem.symmetric, checkpoint=None, verbose=0, random_state=seed)
        epochs = Epochs(
            settings=chosen, seed=seed, state=self.state, rows=self.shard.rows, columns=self.shard.columns,
            store=store, manifest=manifest, unit=self.unit, block=self.block,
        )  # fmt: skip
        return epochs.fit(problem, self.group, on_epoch), seed

    def _key(self, problem: Problem, settings: Settings) -> str:
        """Return a hash of all that determines the vectors, the same for any number of workers."""
        data = {"shape": self.shard.shape, "entries": problem.P.nnz, "base": problem.item_weight is not None}
        return fingerprint({**settings.described(), **data}, entry_sums(self.group, self.shard))


def affinity_of(part: Ingested, group: Group, length: int) -> Affinity:
    """Return the affinity of the own rows, with walks of this length; collective.

    Its operator has the shape of the own rows and columns; its counts have all columns.
    """
    shard, one_sided = part.shard, part.rows is part.columns
    operator: Operator = row_normalize(Sharded(shard, group))
    if length != 1:
        operator = Powers(operator, length)
    values = shard.values
    if values is None:
        values = np.ones(len(shard.indices), np.float32 if part.weighted else bool)
    counts = sparse.csr_array(
        (values, shard.indices, shard.indptr), shape=(len(shard.indptr) - 1, shard.shape[1])
    )
    parameters = {"length": length, "dangling": "zero", "isolated": "keep", "normalize": True}
    return Affinity(
        operator, part.rows, part.columns, part.kind, part.summary, counts, parameters,
        directed=one_sided and not shard.symmetric, weighted=part.weighted,
    )  # fmt: skip
