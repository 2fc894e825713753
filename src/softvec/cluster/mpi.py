"""A cluster on MPI, for batch systems: ``mpiexec -n 8 softvec embed ... --cluster mpi``.

Every rank starts the same command. Rank 0 is the driver and a worker, the others wait for their tasks.
"""

from __future__ import annotations

import os
import platform
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from softvec.cluster.plan import Plan
from softvec.cluster.worker import Report, compare, reduce_in_pairs, this_host
from softvec.core.errors import InputError
from softvec.core.resources import available_memory, resolve_n_jobs

Array = NDArray[Any]
T = TypeVar("T")
_FIRST = 1.0  # seconds that the other ranks give rank 0 to report an error that all have
_TOTAL, _TASK, _STATE, _DATA = 1, 2, 3, 4  # tags


def world() -> Any:
    """Return the communicator of all ranks."""
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise InputError(
            "a cluster on MPI needs mpi4py and an MPI library; install them with pip install mpi4py mpich"
        ) from error
    return MPI.COMM_WORLD


class MpiGroup:
    """The ranks of a communicator."""

    def __init__(self, comm: Any):
        from mpi4py import MPI

        self.in_background = MPI.Query_thread() >= MPI.THREAD_SERIALIZED
        self._comm, self.rank, self.size, self.sent = comm, comm.Get_rank(), comm.Get_size(), 0

    def exchange(self, parts: Sequence[Array]) -> list[Array]:
        """Send a part to every rank; return the parts received."""
        from mpi4py import MPI

        comm = self._comm
        lengths = comm.alltoall([len(part) for part in parts])
        shape, dtype = parts[0].shape[1:], parts[0].dtype
        received = [np.empty((length, *shape), dtype) for length in lengths]
        received[self.rank] = parts[self.rank]
        requests = []
        for rank in range(self.size):
            if rank != self.rank and received[rank].nbytes:
                requests.append(comm.Irecv([_bytes(received[rank]), MPI.BYTE], rank, _DATA))
        for rank, part in enumerate(parts):
            if rank != self.rank and part.nbytes:
                requests.append(comm.Isend([_bytes(np.ascontiguousarray(part)), MPI.BYTE], rank, _DATA))
                self.sent += part.nbytes
        MPI.Request.Waitall(requests)
        return received

    def reduce(self, value: T, merge: Callable[[T, T], T]) -> T:
        """Merge the values of all ranks."""
        return reduce_in_pairs(
            self,
            value,
            merge,
            lambda rank, part: self._comm.send(part, dest=rank, tag=_TOTAL),
            lambda rank: self._comm.recv(source=rank, tag=_TOTAL),
        )

    def gather(self, value: T) -> list[T]:
        """Return the values of all ranks."""
        return self._comm.allgather(value)


def _bytes(array: Array) -> Array:
    return array.reshape(-1).view(np.uint8)


def refuse_separate_tasks(ranks: int) -> None:
    """Refuse tasks of Slurm that do not see each other: each would fit the whole and write the same file."""
    tasks = int(os.environ.get("SLURM_STEP_NUM_TASKS") or 1)
    if ranks == 1 and tasks > 1:
        raise InputError(
            f"srun started {tasks} tasks, but MPI sees one rank; use srun --mpi=pmi2 (srun --mpi=list shows "
            "what is supported), or mpiexec"
        )


class MpiCluster:
    """All ranks of one ``mpiexec``; in a ``with`` block, which runs tasks on every rank but 0."""

    copies = 0

    def __init__(self) -> None:
        self._comm = world()
        self.workers = self._comm.Get_size()
        refuse_separate_tasks(self.workers)
        self.starts_workers = False
        self.driver = self._comm.Get_rank() == 0
        self.address: str | None = None
        compare(self._comm.allgather(this_host()))
        ranks = self._comm.allgather((platform.node(), available_memory(), resolve_n_jobs(None)))
        nodes = [node for node, _, _ in ranks]
        self.memory = min(
            (free // nodes.count(node) for node, free, _ in ranks if free is not None), default=None
        )
        self._threads = min(max(1, cores // nodes.count(node)) for node, _, cores in ranks)

    def __enter__(self) -> MpiCluster:
        if not self.driver:
            self._serve()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self.driver:
            self._comm.bcast(None, root=0)

    def run(self, plan: Plan, on_report: Callable[[Report], None]) -> Iterator[Any]:
        """Run a fit on the first ranks; yield their results, one at a time."""
        plan = plan.with_threads(self._threads)
        self._comm.bcast(plan.size, root=0)
        comm = self._comm.Split(0, 0)
        for rank in range(1, plan.size):
            self._comm.send(plan.task(rank), dest=rank, tag=_TASK)
        try:
            first = plan.task(0).run(MpiGroup(comm), lambda report, _: on_report(report))
        except BaseException as error:
            self._abort(error)
            raise
        return chain([first], (self._comm.recv(source=rank, tag=_STATE) for rank in range(1, plan.size)))

    def _serve(self) -> None:
        """Run tasks until the driver has no more."""
        rank = self._comm.Get_rank()
        warnings.simplefilter("ignore")  # rank 0 shows them
        while (size := self._comm.bcast(None, root=0)) is not None:
            comm = self._comm.Split(0 if rank < size else 1, rank)
            if rank >= size:
                continue
            try:
                task = self._comm.recv(source=0, tag=_TASK)
                self._comm.send(task.run(MpiGroup(comm)), dest=0, tag=_STATE)
            except BaseException as error:
                self._abort(error)
                raise

    def _abort(self, error: BaseException) -> None:
        """Stop all ranks, which would wait for this one; print one line for an error of the user."""
        rank = self._comm.Get_rank()
        if rank and isinstance(error, InputError):
            time.sleep(_FIRST)
        if isinstance(error, MemoryError):
            line = f"worker {rank} of {self.workers} ran out of memory; use more workers"
        elif isinstance(error, InputError):
            line = f"worker {rank} of {self.workers}: {error}"
        else:
            line = f"worker {rank} of {self.workers} failed:\n{''.join(traceback.format_exception(error))}"
        sys.stderr.write(f"error: {line}\n")
        sys.stderr.flush()
        if self.workers > 1:
            self._comm.Abort(1)
