"""Choose a cluster by a text such as ``local:4``, and run a fit on it."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, TypeAlias

from softvec.cluster.partition import PARTITIONS, back, cut
from softvec.cluster.plan import refuse_if_too_big, whole_of
from softvec.cluster.worker import Report
from softvec.core.checks import choice
from softvec.core.errors import InputError
from softvec.core.progress import Progress
from softvec.fit.problem import Problem, State
from softvec.fit.settings import Settings

if TYPE_CHECKING:
    from softvec.cluster.mpi import MpiCluster
    from softvec.cluster.ray import RayCluster

Cluster: TypeAlias = "RayCluster | MpiCluster"  # runs the workers of a fit, in a `with` block
logger = logging.getLogger("softvec")
_EXPECTED = "auto, local:4, ray://host:port or mpi"
_RANKS = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "PMIX_SIZE")  # set by mpiexec


def choose(text: str, n_jobs: int | None = None) -> Cluster:
    """Return the cluster that a text names.

    ``local:4`` is four workers on this machine, ``ray://host:port`` or ``host:port`` a Ray cluster with one
    worker for each node, ``mpi`` the ranks of ``mpiexec``. ``auto`` is ``mpi`` under ``mpiexec``, the cluster
    that ``RAY_ADDRESS`` names, or else as many local workers as there are cores, at most 8.
    """
    if not isinstance(text, str):
        raise InputError.of("cluster", text, _EXPECTED)
    under_mpi = any(int(os.environ.get(name, 0) or 0) > 1 for name in _RANKS)
    if text == "mpi" or (text == "auto" and under_mpi):
        from softvec.cluster.mpi import MpiCluster

        return MpiCluster()
    from softvec.cluster.ray import RayCluster

    named = (os.environ.get("RAY_ADDRESS") or "local") if text == "auto" else text
    if local := re.fullmatch(r"local(?::(\d+))?", named):
        return RayCluster(_local_workers(local[1], text), None, n_jobs)
    if named == "auto" or re.fullmatch(r"(ray://)?[\w.\-\[\]:]+:\d+", named):
        return RayCluster(None, named, n_jobs)
    if text == "auto":
        raise InputError(f"RAY_ADDRESS is {named!r}; expected ray://host:port, host:port, auto or local")
    raise InputError.of("cluster", text, _EXPECTED)


def _local_workers(count: str | None, text: str) -> int:
    """Return the number of workers on this machine."""
    from softvec.core.resources import resolve_n_jobs

    if text == "auto":
        from softvec.cluster.mpi import refuse_separate_tasks

        refuse_separate_tasks(1)
    workers = int(count) if count else min(8, resolve_n_jobs(None))
    if workers < 1:
        raise InputError.of("cluster", text, "local:N with at least one worker")
    return workers


class ClusterWorkers:
    """The workers of a machine that has a cluster: they run the epochs of its fits.

    Parameters
    ----------
    cluster : Cluster
    on_report : callable, optional
        Called with the report of each epoch.
    say : callable, optional
        Called with a line on the gain of a partition.
    check_memory : bool
    partition : {"none", "stream"}, optional
    """

    def __init__(
        self,
        cluster: Cluster,
        on_report: Callable[[Report], None] | None = None,
        say: Callable[[str], None] | None = None,
        *,
        check_memory: bool = True,
        partition: str | None = None,
    ):
        self._cluster, self._on_report, self._check_memory = cluster, on_report, check_memory
        self._partition, self._say = choice("partition", partition or "none", PARTITIONS), say
        self._said = False  # that a worker is slow

    def run(self, problem: Problem, settings: Settings, warm: bool) -> tuple[State, int]:
        """Run the epochs of a problem; return the final state, with all rows, and the seed."""
        cluster = self._cluster
        planned, order = cut(problem, settings, warm, cluster.workers, self._partition, self._say)
        if self._check_memory:
            refuse_if_too_big(planned, cluster.memory, cluster.copies if planned.kept_every else 0)
        with Progress(settings.n_epochs, 0) if settings.verbose else nullcontext() as bar:

            def show(report: Report) -> None:
                if bar is not None:
                    sent = f"{report.sent / 2**20:,.0f} MiB"
                    bar.show(report.epoch, report.loss, sent=sent, workers=report.workers)
                if report.slow and not self._said:
                    self._said = True
                    logger.warning("%s", report.slow)
                if self._on_report is not None:
                    self._on_report(report)

            parts = list(cluster.run(planned, show))
        return back(whole_of(parts), order), planned.start.seed
