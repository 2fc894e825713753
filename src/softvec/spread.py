"""A fit from files of edges to a folder of vectors, on a cluster.

Workers read the files, fit and write their own rows: no process holds the whole matrix, all names or all
vectors. The driver hands out the job and writes the manifest.
"""

from __future__ import annotations

import glob
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from softvec.affinity import Affinity
from softvec.affinity.kinds import kind_of_options
from softvec.cluster.checkpoint import Store
from softvec.cluster.choose import Cluster
from softvec.cluster.ingest import OPTIONS, ingest
from softvec.cluster.ingest.files import KINDS as SHARED
from softvec.cluster.ingest.files import find_files, is_shared
from softvec.cluster.memory import refuse_share_if_too_big
from softvec.cluster.pace import Timed, watched
from softvec.cluster.rank import OnEpoch, Report
from softvec.cluster.seam import Group
from softvec.cluster.shard import unit_rows
from softvec.cluster.share import Part as Share
from softvec.cluster.share import affinity_of
from softvec.core.checks import integer
from softvec.core.errors import InputError, Option
from softvec.core.scratch import large_arrays_in
from softvec.core.threads import Workers
from softvec.embedding.files.arrow import name_encoding
from softvec.embedding.files.folder import Part, write_manifest, write_part, writing
from softvec.fit.loop import State
from softvec.fit.problem import Problem
from softvec.fit.recipes import N_COMPONENTS, recipe_of
from softvec.fit.run import seed_of
from softvec.fit.settings import Settings
from softvec.fit.views import halved
from softvec.job import Job, Outcome, Vectors
from softvec.names import Names
from softvec.read.folders import is_table
from softvec.read.opened import TextOptions

__all__ = ["FilesJob", "embed_files"]

Array = NDArray[Any]
_PROBE = (".probe.", ".part")  # a file by which workers see whether they share the driver's disk


@dataclass(frozen=True)
class FilesJob:
    """What to read and how to fit it; each worker gets the same.

    Attributes
    ----------
    where : path, pattern or list of paths
    kind, walk_length, n_components, random_state
        As of :func:`softvec.embed`.
    options : mapping
        Of the reader: see :func:`softvec.cluster.ingest.ingest`.
    fit : mapping
        Of the fit, as :func:`softvec.embed` takes them.
    """

    where: Any
    kind: str | None = None
    walk_length: int | None = None
    n_components: int | None = None
    random_state: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    fit: Mapping[str, Any] = field(default_factory=dict)

    def is_for_workers(self, *, folder: bool, plain: bool) -> bool:
        """Whether the workers read the data: several files of edges, or one whose vectors go to a folder.

        ``plain`` says that nothing is asked for that needs all vectors in one process: such data is one
        machine's where it is one file, and refused where it is several.
        """
        where, fit = self.where, self.fit
        if not isinstance(where, str | os.PathLike) or os.fspath(where) == "-":
            return False
        if Path(where).is_dir() or (glob.has_magic(os.fspath(where)) and not Path(where).exists()):
            if not self._is_edges(find_files(where)[0], by_name=self.kind is None):
                return False
            if not plain:
                raise InputError(
                    "several files of edges, which no process reads whole, allow no repeats, callbacks, "
                    "map or partition; leave them out"
                )
            return True
        known = all(name in (*OPTIONS, "format") for name in self.options)
        whole = not isinstance(fit.get("init", "random"), str) or fit.get("normalizer") == "exact"
        whole = whole or bool(fit.get("base_measure"))
        return folder and plain and known and not whole and self._is_edges(Path(where), by_name=False)

    def _is_edges(self, path: Path, *, by_name: bool) -> bool:
        """Whether a file holds edges that workers can share; ``by_name`` if its name must say so, too."""
        kind = self.kind or kind_of_options(self.options)
        if kind not in (None, *SHARED) or (by_name and not is_table(path)):
            return False
        format = self.options.get("format")
        with warnings.catch_warnings(), suppress(InputError):
            warnings.simplefilter("ignore")
            return is_shared(path, TextOptions.of(self.options), kind, format)
        return False

    def check(self) -> None:
        """Refuse what needs all vectors in one process."""
        fit = self.fit
        if not isinstance(fit.get("init", "random"), str):
            raise InputError("init needs all vectors in one process; leave it out, or read one file")
        if fit.get("normalizer", "mixture") != "mixture":
            raise InputError(Option("normalizer", "exact"), " needs all vectors in one process; leave it out")
        settings = {name: value for name, value in fit.items() if name in Settings.__annotations__}
        Settings(self.n_components or N_COMPONENTS, **settings)


@dataclass(frozen=True)
class Side:
    """The rows of one worker on their way to a file."""

    side: str
    vectors: Array
    names: Names
    sizes: Array | None = None


@dataclass(frozen=True)
class Delivery:
    """What a worker hands back: the parts it wrote or, without a shared disk, what is to be written."""

    parts: list[Part]
    sides: list[Side]
    encoding: str
    provenance: dict[str, Any] | None  # of the first worker
    warned: list[Warning]


@dataclass(frozen=True)
class FilesTask:
    """What one worker does; all workers call :meth:`run` together."""

    job: FilesJob
    folder: str
    probe: str
    generation: int
    memory: int | None
    copies: int  # of the vectors that the cluster keeps in memory
    unit: int
    block: int | None
    state: list[State] | None = None  # of the fits so far, after a worker was lost
    manifest: dict[str, Any] | None = None

    def run(self, group: Group, on_epoch: OnEpoch | None = None) -> Delivery:
        """Read, fit and write the own rows."""
        group = Timed(group)
        with _collected(group.rank == 0) as warned:
            affinity, made = self._fit(group, on_epoch)
            sides = [Side("rows", made.X, affinity.rows, affinity.sizes)]
            if made.Y is not None:
                sides.append(Side("context", made.Y, affinity.columns))
            encodings = {name_encoding(side.names) for side in sides}
            every = {kind for kinds in group.gather(encodings) for kind in kinds}
            encoding = every.pop() if len(every) == 1 else "json"
            sides = [side for side in sides if len(side.vectors)]
            parts: list[Part] = []
            if all(group.gather(_is_here(self.probe))):
                parts = [self.write(side, group.rank, encoding) for side in sides]
                sides = []
        record = made.provenance if group.rank == 0 else None
        return Delivery(parts, sides, encoding, record, warned)

    def write(self, side: Side, number: int, encoding: str) -> Part:
        """Write the rows of one worker."""
        return write_part(
            self.folder, number, side.vectors, side.names, encoding=encoding, side=side.side,
            sizes=side.sizes, generation=self.generation,
        )  # fmt: skip

    def _fit(self, group: Group, on_epoch: OnEpoch | None) -> tuple[Affinity, Vectors]:
        job, started = self.job, time.perf_counter()
        fit, d = dict(job.fit), job.n_components or N_COMPONENTS
        unit = self.unit * (self.block or unit_rows(d) // Workers.unit)
        with large_arrays_in(fit.get("scratch")):
            part = ingest(
                job.where, group, unit=unit, kind=job.kind, **{"n_jobs": fit.get("n_jobs"), **job.options}
            )
            affinity = affinity_of(
                part, group, _walk_length(job.walk_length, part.kind, part.rows is part.columns)
            )
            if affinity.operator.nnz == 0:
                raise InputError(f"nothing to embed: the data has no edges ({affinity.summary})")
            if fit.get("base_measure") and part.rows is not part.columns:
                raise InputError("base_measure of two kinds of items needs one process; leave it out")
            share = Share(group, part.shard, self.unit, self.block)
            runs = _Runs(share, on_epoch, self.state or [])
            fit |= {"runner": runs, "share": share, "source": os.fspath(job.where)}
            fit["seconds"] = {"reading": time.perf_counter() - started}
            work = Job(affinity, job.n_components, None, False, fit)
            runs.several = work.view == "fused"
            refuse_share_if_too_big(
                affinity, share, d, {**work.fit, "view": work.view}, self.memory, self.copies
            )
            return affinity, work.vectors(job.random_state)


@dataclass
class _Runs:
    """Runs the epochs of the fits of a job, one after the other, from the states of an earlier attempt."""

    share: Share
    on_epoch: OnEpoch | None
    given: list[State]
    several: bool = False
    ended: list[State] = field(default_factory=list)

    def __call__(self, problem: Problem, settings: Settings, warm: bool) -> tuple[State, int]:
        before = sum(state.epoch for state in self.ended)

        def tell(report: Report, state: Any) -> None:
            if self.on_epoch is not None:
                self.on_epoch(replace(report, epoch=report.epoch + before), [*self.ended, state])

        given = self.given[len(self.ended)] if len(self.given) > len(self.ended) else None
        state, seed = replace(self.share, state=given).run(problem, settings, warm, tell)
        if self.several:
            state.X = halved(state.X)
        self.ended.append(replace(state))  # the vectors of the other go once they are taken over
        return state, seed


@dataclass(frozen=True)
class FilesWork:
    """The work of a cluster: the same task for each worker."""

    size: int
    all_tasks: FilesTask
    given: State | None = None
    store: Store | None = None  # None: workers read the checkpoint themselves

    def task(self, rank: int) -> FilesTask:
        """Return what one worker gets."""
        return self.all_tasks

    def with_threads(self, n_jobs: int) -> FilesWork:
        """Return the same work for workers of so many threads, unless the user asked for others."""
        job = self.all_tasks.job
        fit = {**job.fit, "n_jobs": job.fit.get("n_jobs") or n_jobs}
        return replace(self, all_tasks=replace(self.all_tasks, job=replace(job, fit=fit)))

    @property
    def kept_every(self) -> int:
        """Epochs between two states that the engine keeps; 0 where they are saved elsewhere."""
        fit = self.all_tasks.job.fit
        return 0 if fit.get("checkpoint") else fit.get("checkpoint_every", Settings.checkpoint_every)


def embed_files(
    job: FilesJob,
    folder: str | os.PathLike[str],
    cluster: Cluster,
    on_report: Callable[[Report], None] | None = None,
    *,
    check_memory: bool = True,
) -> Outcome:
    """Fit files of edges on a cluster; write the vectors to a folder, whole or not at all."""
    job.check()
    job = replace(job, where=os.path.abspath(job.where), fit=_from_anywhere(job.fit))
    if job.random_state is None and not job.fit.get("checkpoint"):  # one seed, should a worker be replaced
        job = replace(job, random_state=seed_of(None))
    counts = dict.fromkeys(("rows", "context"), cluster.workers)
    with writing(folder, counts) as number, _probe(folder) as probe:
        task = FilesTask(
            job, os.path.abspath(folder), probe, number, cluster.memory if check_memory else None,
            0 if job.fit.get("checkpoint") else cluster.copies, Workers.unit, Workers.block,
        )  # fmt: skip
        return _written(task, cluster, watched(on_report or (lambda report: None), set()))


def _written(task: FilesTask, cluster: Cluster, on_report: Callable[[Report], None]) -> Outcome:
    """Run the task on all workers; write what they hand back, one at a time, and the manifest last."""
    parts: list[Part] = []
    record: dict[str, Any] = {}
    encoding = "text"
    for rank, delivery in enumerate(cluster.run(FilesWork(cluster.workers, task), on_report)):
        parts += [*delivery.parts, *(task.write(side, rank, delivery.encoding) for side in delivery.sides)]
        record, encoding = delivery.provenance or record, delivery.encoding
        for warning in delivery.warned:
            warnings.warn(warning, stacklevel=4)
    d = int(record["parameters"]["n_components"])
    write_manifest(task.folder, parts, d, encoding, record)
    counts = [sum(part.rows for part in parts if part.side == side) for side in ("rows", "context")]
    return Outcome(counts[0], counts[1], d, record)


def _from_anywhere(fit: Mapping[str, Any]) -> dict[str, Any]:
    """Return options whose paths do not depend on the folder that a worker runs in."""
    path = os.fspath(fit.get("checkpoint") or "")
    return {**fit, "checkpoint": os.path.abspath(path)} if path and "://" not in path else dict(fit)


def _is_here(path: str) -> bool:
    return os.path.exists(path)


@contextmanager
def _probe(folder: str | os.PathLike[str]) -> Iterator[str]:
    """Make a file in the folder for as long as the workers run."""
    for stale in Path(folder).glob(f"{_PROBE[0]}*{_PROBE[1]}"):
        stale.unlink()
    handle, path = tempfile.mkstemp(_PROBE[1], _PROBE[0], os.path.abspath(folder))
    os.close(handle)
    try:
        yield path
    finally:
        with suppress(OSError):
            os.unlink(path)


@contextmanager
def _collected(first: bool) -> Iterator[list[Warning]]:
    """Collect the warnings of the first worker, which the driver shows."""
    messages: list[Warning] = []
    if not first:
        yield messages
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield messages
    messages += [each.message for each in caught if isinstance(each.message, UserWarning)]


def _walk_length(asked: int | None, kind: str, one_sided: bool) -> int:
    length = 1 if asked is None else integer("walk_length", asked)
    if length != 1 and not one_sided:
        raise InputError(
            "walk_length is for one kind of items, but the rows and columns here are of two kinds"
        )
    default = recipe_of(kind).walk_length if one_sided else None
    return default or 1 if asked is None else length
