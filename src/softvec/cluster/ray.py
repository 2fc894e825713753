"""A cluster on Ray: the driver starts the workers, follows them, and replaces those that are lost.

A worker that is lost takes the fit back to the last checkpoint: the one on the path that was given, else
copies of the vectors on the driver's machine.
"""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from softvec.cluster.actors import Worker
from softvec.cluster.connect import LOOPBACK, connect, load_ray, own_signals, starts_heads
from softvec.cluster.plan import Plan, mapped
from softvec.cluster.worker import Report, compare, this_host
from softvec.core.checks import counted
from softvec.core.errors import InputError, warn
from softvec.core.resources import available_memory, resolve_n_jobs
from softvec.fit.problem import State
from softvec.fit.run import Start

logger = logging.getLogger("softvec")
_REMEDY = "see what else runs there, or use more workers or larger machines"
_POLL = 0.2  # seconds between two looks at the workers
_QUIET = 60.0  # seconds without an epoch after which the driver asks who is there
_STARTED, _SAID = 300.0, 15.0  # seconds that workers have to start, and after which a line says so
_RESTARTS = 3  # in a row without a new checkpoint


class RayCluster:
    """Workers on Ray: on this machine (``local:4``), or on the cluster at an address.

    Parameters
    ----------
    workers : int or None
        None is one for each node of the cluster.
    address : str or None
        None starts Ray on this machine.
    threads : int or None
        Of each worker.

    Attributes
    ----------
    driver : bool
        False on ranks of MPI other than 0.
    starts_workers : bool
        Whether it starts them when it is entered, which takes seconds.
    address : str or None
        Of a dashboard.
    memory : int or None
        Bytes that each worker may use, if known.
    copies : int
        Of the vectors that are kept in memory without a checkpoint on disk.
    """

    driver = True
    starts_workers = True

    def __init__(self, workers: int | None, address: str | None = None, threads: int | None = None):
        self._ray, self._started = load_ray(), False
        self._target, self._wanted, self._threads = address, workers, threads
        self.address: str | None = None
        self.memory: int | None = None
        self.copies = 1 if address else 2  # a worker's, and that of an object store in the same memory
        self.actors: list[Any] = []
        self.fits = 0  # begun
        self._starts_heads = True  # whether calls of Ray may start a head, outside of this cluster

    def __enter__(self) -> RayCluster:
        try:
            if not self._ray.is_initialized():
                self._started = True  # or half of it: a signal may end the start
                self.address = connect(self._ray, self._target, 2 * (self._wanted or 1))
            self._starts_heads = starts_heads(False)
            self._choose_workers()
        except BaseException as error:
            self.__exit__(None, None, None)  # else the next fit would use this connection
            if isinstance(error, ConnectionError):
                raise self._lost() from error
            raise
        return self

    def _choose_workers(self) -> None:
        """Decide how many workers there are, and the threads and memory of each."""
        nodes = self._nodes()
        if self._started and self._target is None and nodes[0]["NodeManagerAddress"] != LOOPBACK:
            warn(
                f"Ray listens at {nodes[0]['NodeManagerAddress']}, which other machines may reach, although "
                f"softvec asked for {LOOPBACK}"
            )
        self.workers = self._wanted or len(nodes)
        per_node = max(1, -(-self.workers // len(nodes)))
        cores = min(int(node["Resources"]["CPU"]) for node in nodes)
        if self._target is None:
            free, cores = available_memory(), min(cores, resolve_n_jobs(None))
        else:
            free = int(min(node["Resources"].get("memory", 0) for node in nodes)) or None
        self.memory = None if free is None else free // per_node
        self._threads = self._threads or max(1, cores // per_node)

    def _nodes(self) -> list[dict[str, Any]]:
        """Return the nodes that workers run on: not a head that was started with ``--num-cpus 0``."""
        alive = [node for node in self._ray.nodes() if node["Alive"]]
        if not alive:
            raise ConnectionError("no node is left")  # the head was stopped
        nodes = [node for node in alive if node["Resources"].get("CPU", 0) >= 1]
        if not nodes:
            raise InputError(
                f"the Ray cluster at {self._where} has no node with a CPU for workers "
                f"({counted(len(alive), 'node')}); add nodes with ray start --address"
            )
        return nodes

    @property
    def _where(self) -> str:
        return self._target or "this machine"

    def _lost(self, resumes: str = "") -> InputError:
        return InputError(
            f"lost the connection to the Ray cluster at {self._where}; start the cluster and run the same "
            f"command again{resumes}"
        )

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        with own_signals(deferred=self._target is None):
            self._end()
            if self._started:
                self._ray.shutdown()
                self._started = False
        starts_heads(self._starts_heads)

    def take(self, size: int) -> list[Any]:
        """Return actors for a fit: those of the last one, where they are as many."""
        self.fits += 1
        if len(self.actors) != size:
            self._end()
            kind = self._ray.remote(num_cpus=1, max_concurrency=2 * size + 4, max_restarts=0)(Worker)
            places = [self._place(node) for node in self._nodes()]
            driver = os.getpid() if self._target is None and os.name == "posix" else None
            self.actors = [
                kind.options(scheduling_strategy=places[rank % len(places)]).remote(driver)
                for rank in range(size)
            ]
            self._wait_for_actors()
        return self.actors

    def _wait_for_actors(self) -> None:
        """Wait until all workers run, not for ever; refuse those with other versions."""
        answers, began, said = [actor.host.remote() for actor in self.actors], time.monotonic(), False
        while True:
            missing = self._ray.wait(answers, num_returns=len(answers), timeout=_POLL)[1]
            if not missing:
                break
            waited, line = time.monotonic() - began, f"{len(missing)} of {counted(len(answers), 'worker')}"
            if waited > _STARTED:
                raise InputError(
                    f"{line} did not start within {_STARTED:.0f} s: the Ray cluster at {self._where} has no "
                    "free CPU for it, or is overloaded; stop other jobs, or use fewer workers"
                )
            if waited > _SAID and not said:
                said = True
                logger.warning("waiting for %s to start; other jobs may hold the CPUs", line)
        compare([this_host(), *self._ray.get(answers)])

    def _place(self, node: dict[str, Any]) -> Any:
        """Return how to start a worker on a node: Ray alone would fill one node before the next."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        return NodeAffinitySchedulingStrategy(node["NodeID"], soft=True)

    def _end(self) -> None:
        for actor in self.actors:
            with suppress(Exception):  # where the head is gone
                self._ray.kill(actor)
        self.actors = []

    def run(self, plan: Plan, on_report: Callable[[Report], None]) -> Iterator[State]:
        """Run a fit; where a worker is lost, go on from the last checkpoint. Yield the parts one by one."""
        try:
            yield from self._run(plan, on_report)
        except ConnectionError as error:  # of Ray's client; other drivers end with their head
            if isinstance(error, BrokenPipeError | load_ray().exceptions.RayError):
                raise  # of our own output, or of a worker
            raise self._lost(" to go on from the checkpoint" if plan.kept_every == 0 else "") from error
        except load_ray().exceptions.RaySystemError as error:
            if self._ray.is_initialized():
                raise
            raise self._lost(" to go on from the checkpoint" if plan.kept_every == 0 else "") from error

    def _run(self, plan: Plan, on_report: Callable[[Report], None]) -> Iterator[State]:
        ray = self._ray
        plan = plan.with_threads(self._threads or 1)
        own = [plan.task(rank) for rank in range(plan.size)]
        starts = [task.start for task in own]
        tasks = [ray.put(replace(task, start=replace(task.start, state=None))) for task in own]
        del own
        lost, since, epoch = 0, -1, 0
        while True:
            attempt = None
            try:
                attempt = _Attempt(ray, self, tasks, starts, plan.kept_every, epoch)
                return attempt.finish(on_report)
            except ray.exceptions.RayError as error:
                self._end()
                if not ray.is_initialized():  # the head is gone
                    raise ConnectionError("no node is left") from error
                if isinstance(error, ray.exceptions.RayTaskError) and not isinstance(
                    error.cause, ray.exceptions.RayError
                ):
                    raise _clear(error) from error  # of a worker's own code; what Ray lost can be tried again
                if attempt is not None:  # its workers started
                    starts, epoch = attempt.starts, attempt.epoch
                starts, epoch = _last_saved(plan, starts, epoch)
                lost, since = (lost + 1, since) if epoch <= since else (1, epoch)
                line = f"a worker {_reason(error)} (of {plan.size})"
                if lost > _RESTARTS:
                    raise InputError(f"{line}, {lost} times after epoch {epoch}; {_REMEDY}") from error
                warn(f"{line}; the fit resumes from epoch {epoch}")
            except BaseException:
                self._end()  # Ctrl-C: the actors would go on
                raise


def _last_saved(plan: Plan, starts: list[Start], epoch: int) -> tuple[list[Start], int]:
    """Return where workers begin, and the epoch: from the checkpoint, if there is one."""
    saved = plan.start.saved
    manifest = None if saved is None else saved.manifest()
    if manifest is None:
        return starts, epoch
    return [replace(start, state=None, manifest=manifest) for start in starts], manifest.epoch


class _Attempt:
    """One try to finish a fit with a set of workers."""

    def __init__(
        self, ray: Any, cluster: RayCluster, tasks: list[Any], starts: list[Start], every: int, epoch: int
    ):
        self._ray, self.starts, self.epoch, self.reported = ray, starts, epoch, 0
        self._asked: Any = None  # a report that is still to come
        self._coming: tuple[int, list[Any]] | None = None  # states that are still to come, and their epoch
        self._since, self._longest, self._pinged = time.monotonic(), 0.0, 0.0
        self._actors = cluster.take(len(tasks))
        number = cluster.fits
        self._fits = [
            actor.fit.remote(number, rank, self._actors, task, start, every)
            for rank, (actor, task, start) in enumerate(zip(self._actors, tasks, starts))
        ]

    def finish(self, on_report: Callable[[Report], None]) -> Iterator[State]:
        """Wait for all; meanwhile report every epoch, and keep copies of the vectors."""
        ray, waiting = self._ray, list(self._fits)
        while waiting:
            done, waiting = ray.wait(waiting, num_returns=1, timeout=_POLL, fetch_local=False)
            for ref in done:
                ray.get(ref)  # raises where the worker failed
            if waiting:
                self._look(on_report)
        report, _ = ray.get(self._actors[0].report.remote())
        if report is not None and report.epoch > self.reported:
            on_report(report)
        return (mapped(ray.get(ref), np.copy) for ref in self._fits)

    def _look(self, on_report: Callable[[Report], None]) -> None:
        """See how far the workers are."""
        self._asked = self._asked or self._actors[0].report.remote()
        now = time.monotonic()
        if self._ray.wait([self._asked], timeout=_POLL)[0]:
            report, kept = self._ray.get(self._asked)
            self._asked = None
            if kept > self.epoch or self._coming is not None:
                self._keep(kept)
            if report is not None and report.epoch > self.reported:
                self._longest = max(self._longest, now - self._since) if self.reported else 0.0
                self._since, self.reported = now, report.epoch
                on_report(report)
        quiet = now - max(self._since, self._pinged)
        if self.reported and quiet > max(_QUIET, 10 * self._longest):
            self._pinged = now
            self._ping()

    def _ping(self) -> None:
        """Say which workers do not answer."""
        answers = [actor.host.remote() for actor in self._actors]
        silent = self._ray.wait(answers, num_returns=len(answers), timeout=_QUIET / 10)[1]
        ranks = [str(rank) for rank, ref in enumerate(answers) if ref in silent]
        if ranks:
            logger.warning(
                "no epoch has ended for %.0f s, and worker %s of %d does not answer; the fit waits, and "
                "Ctrl-C ends it",
                time.monotonic() - self._since, ", ".join(ranks), len(answers),
            )  # fmt: skip

    def _keep(self, epoch: int) -> None:
        """Take over the states of an epoch: copies on the driver's machine, which outlive any other node."""
        if self._coming is None:
            self._coming = epoch, [actor.snapshot.remote() for actor in self._actors]
        epoch, coming = self._coming
        if len(self._ray.wait(coming, num_returns=len(coming), timeout=_POLL)[0]) == len(coming):
            states = self._ray.get(coming)  # raises where the worker failed
            self.starts = [replace(start, state=state) for start, state in zip(self.starts, states)]
            self.epoch, self._coming = epoch, None


def _clear(error: Any) -> Exception:
    """Return one line for what a user can mend, else the error itself."""
    cause, who = error.cause, f"a worker{_place_of(error)}"
    if isinstance(cause, InputError):
        return InputError(f"{who} stopped: {cause}")
    if isinstance(cause, MemoryError):
        return InputError(f"{who} ran out of memory; use more workers")
    if isinstance(cause, OSError) and cause.strerror:  # such as a full disk
        return InputError(f"{who} stopped: {cause.filename or 'a file'}: {cause.strerror}")
    return error


def _reason(error: Exception) -> str:
    """Return why and where Ray lost a worker, as far as it knows."""
    text, where = str(error), _place_of(error)
    if "OutOfMemory" in type(error).__name__ or "out of memory" in text.lower():
        return f"ran out of memory{where}"
    if "node" in text and ("died" in text or "dead" in text) and "exit type" not in text:
        return f"was lost with its machine{where}"
    return f"was lost{where}"


def _place_of(error: Exception) -> str:
    """Return the machine that an error of Ray names, "" if it names none."""
    address = re.search(r"\bip[:=]\s*([\w.:]+?)[,)\s]", str(error), re.IGNORECASE)
    return f" on {address[1]}" if address else ""
