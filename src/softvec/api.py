"""``softvec.embed``: the whole path from any data to named vectors, and what a caller is told on it."""

from __future__ import annotations

import os
import textwrap
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, Unpack

import numpy as np

from softvec.affinity import Affinity, as_affinity
from softvec.affinity.matrices import by_sign
from softvec.affinity.sources import refuse_missing
from softvec.affinity.types import with_types
from softvec.core.checks import Json
from softvec.core.errors import InputError, Option
from softvec.core.machine import Machine, machine
from softvec.core.scratch import large_arrays_in
from softvec.embedding import Embedding
from softvec.embedding.align import aligned, starting_vectors
from softvec.embedding.stability import measure
from softvec.fit.calibrate import best_for_links
from softvec.fit.camps import camps, signs_are_told
from softvec.fit.memory import refuse_if_too_big
from softvec.fit.resolve import links_candidates, resolve
from softvec.fit.settings import OPTIONS, SETTINGS, Callback, Settings, numpydoc
from softvec.fit.vectors import fit_vectors
from softvec.request import EmbedOptions, FitOptions, KindName, Request

if TYPE_CHECKING:
    from softvec.cluster.choose import Cluster
    from softvec.cluster.worker import Report
    from softvec.core.machine import Workers

__all__ = ["EmbedOptions", "embed", "embed_affinity", "embed_request", "to_affinity"]

F = TypeVar("F", bound=Callable[..., Any])
_CAMPS = 8  # dimensions of a signed graph for each axis of its camps
_TYPED = FitOptions.__annotations__


class Watch:
    """What a caller is told while :func:`embed_request` runs; by default nothing."""

    epoch: Callback | None = None  # called as ``epoch(number, loss, X)`` after every epoch

    def workers(self, cluster: Cluster) -> None:
        """Tell of the workers of a cluster."""

    def reading(self) -> AbstractContextManager[Any]:
        """Return a context to read in."""
        return nullcontext()

    def read(self, affinity: Affinity, seconds: float) -> None:
        """Tell what was read."""

    def fitting(self, epochs: int) -> AbstractContextManager[Any]:
        """Return a context to fit in, for so many epochs."""
        return nullcontext()

    def report(self, report: Report) -> None:
        """Tell of an epoch on a cluster."""

    def say(self, line: str) -> None:
        """Tell of a decision."""


class Origin(NamedTuple):
    """Where data came from, if it is a file, and the seconds it took to read it."""

    source: str | None = None
    seconds: float = 0.0

    def added_to(self, record: Json) -> Json:
        """Return a provenance with this origin."""
        data = record["data"] if self.source is None else {**record["data"], "source": self.source}
        return {**record, "data": data, "seconds": {"reading": self.seconds, **record["seconds"]}}


def _documented(function: F) -> F:
    """Fill in the settings of a fit: the arguments, those that the estimator has too by name, the others."""
    arguments = [option for option in OPTIONS if option.name in function.__annotations__]
    own = [option for option in OPTIONS if option.metadata["of"] == "embed" and option.name in _TYPED]
    names = ", ".join(f"``{option.name}``" for option in SETTINGS if option.name in _TYPED)
    shared = textwrap.fill(names, 100).replace("\n", "\n" + " " * 8)
    text = (function.__doc__ or "").replace("    %(arguments)s", numpydoc(arguments))
    text = text.replace("        %(own)s", numpydoc(own, " " * 8))
    function.__doc__ = text.replace("%(shared)s", shared)
    return function


@_documented
def embed(
    data: Any,
    n_components: int | None = None,
    *,
    kind: KindName | None = None,
    walk_length: int | None = None,
    random_state: int | None = None,
    repeats: int = 1,
    n_jobs: int | None = None,
    callbacks: Sequence[Callable[..., Any]] | None = None,
    verbose: int = 0,
    check_memory: bool = True,
    cluster: str | None = None,
    partition: str | None = None,
    attributes: Any = None,
    types: Any = None,
    output: str | os.PathLike[str] | None = None,
    **options: Unpack[EmbedOptions],
) -> Embedding:
    """Embed a graph, a table, text, a matrix or a file: return named vectors.

    Parameters
    ----------
    data : object, or path of a file
        A SciPy sparse or dense matrix; a networkx, igraph or PyTorch Geometric graph; a pandas or polars
        frame; an iterable of pairs or triples; a list of texts; an Affinity; the path of a file, or ``-``
        for standard input.
    %(arguments)s
    kind : {"graph", "pairs", "bipartite", "temporal", "corpus", "features", "dense", "sets"}, optional
        Kind of data (default: detected).
    repeats : int
        Number of fits, with seeds ``random_state``, ``random_state + 1``, ... The first is returned, together
        with the agreement of neighbours and groups between seeds: :meth:`softvec.Embedding.stability`.
    check_memory : bool
        Refuse a job that does not fit into the free memory; see :mod:`softvec.fit.memory`.
    cluster : str, optional
        Workers that share the fit: ``"local:4"`` starts four on this machine, ``"ray://host:port"`` uses a
        Ray cluster, ``"mpi"`` the ranks of ``mpiexec`` (rank 0 returns the vectors, the others None), and
        ``"auto"`` whichever of these it finds. The vectors have the same bits as in one process. Checkpoints
        are folders then. Needs ``pip install 'softvec[cluster]'``. This process reads the data, also a folder
        of edge files or a pattern such as ``"edges/*.parquet"``, and sends each worker its rows.
    partition : {"none", "stream"}, optional
        ``"stream"`` renumbers the items of a fit on a cluster so that workers exchange fewer vectors, if that
        pays off. The vectors are those of one process on the renumbered data, for any number of workers.
    attributes : frame, mapping, matrix, AnnData, path, or list of str, optional
        Attributes of the nodes of a graph. A table is matched by the index or column that holds names of
        nodes; numbers are standardised, texts are categories or bags of words, and cells may be missing. A
        mapping holds keywords, or values by attribute, for each node; a matrix has a row for each node, in
        order; a list of str names attributes of a networkx or igraph graph. Nodes in the table that have no
        edges are added. How much the graph, the attributes and the attributes of the nodes around count is
        measured on hidden edges and recorded: ``emb.provenance["attributes"]``.
    types : mapping, Series, array, path, or str, optional
        Types of the nodes of a graph, such as author, paper and venue: by name, or in the order of the nodes;
        a file of names and types; or the name of an attribute of a networkx or igraph graph. The fit does
        not change. Neighbours can be restricted to a type, links are predicted only between types that are
        linked, and plots are coloured by type: ``emb.types``.
    output : path of a folder, optional
        Where the vectors are written as parquet parts.
    options
        Settings of :class:`softvec.EDRep`:
        %(shared)s.
        An undirected graph gets 16 epochs by default, up to 20 below 64 dimensions, a directed one 20.
        ``beta`` is half of the mean number of neighbours, but at least 3 and at most 6.
        ``init`` may also be an Embedding of data that changed a little: names are matched, the settings of
        its fit and its walk length are kept, and the result is aligned with it; new items start at the mean
        of their neighbours. By default two epochs and one round suffice; with options of a fit
        (``n_epochs``, ``learning_rate``, ...) epochs run from there.
        Settings of ``embed``:

        %(own)s

        All other options go to the builder of this kind of data, such as ``window`` for text or
        ``directed`` for graphs: see :mod:`softvec.affinity`; and, for a file, to its reader: see
        :func:`softvec.affinity.read`.

    Returns
    -------
    Embedding

    Examples
    --------
    >>> import softvec
    >>> friends = [("ada", "bob"), ("bob", "cyd"), ("cyd", "ada"), ("cyd", "dan")]
    >>> softvec.embed(friends, n_components=4, random_state=0)
    Embedding(4 vectors of 4 dimensions: 'ada', 'bob', 'cyd', ...)
    """
    if output is not None:
        from softvec.embedding.files.folder import check_target

        check_target(output, data)
    request = Request.of(
        data, n_components=n_components, kind=kind, walk_length=walk_length, random_state=random_state,
        repeats=repeats, n_jobs=n_jobs, callbacks=callbacks, verbose=verbose, check_memory=check_memory,
        cluster=cluster, partition=partition, attributes=attributes, types=types, **options,
    )  # fmt: skip
    emb = embed_request(data, request, written_as="folder" if output is not None else None)
    if output is not None and emb is not None:
        emb.save(output, "folder")
    return emb  # type: ignore[return-value]  # None on the other ranks of MPI


def embed_request(
    data: Any, request: Request, watch: Watch | None = None, *, written_as: str | None = None
) -> Embedding | None:
    """Embed what was asked for; None on a rank of MPI other than the first.

    ``written_as`` is the format of the file to be written, which must be able to hold the names.
    """
    watch, started = watch or Watch(), time.perf_counter()
    with ExitStack() as stack:
        workers = None
        if request.cluster is not None:
            from softvec.cluster.choose import ClusterWorkers, choose

            cluster = choose(request.cluster, request.settings.n_jobs)
            if cluster.starts_workers:
                refuse_missing(data)
            stack.enter_context(cluster)
            if not cluster.driver:
                return None
            watch.workers(cluster)
            workers = ClusterWorkers(
                cluster, watch.report, watch.say,
                check_memory=request.check_memory, partition=request.partition,
            )  # fmt: skip
        with large_arrays_in(request.settings.scratch), watch.reading():
            affinity = requested_affinity(data, request)
        if written_as is not None:
            from softvec.embedding.files.formats import check_names

            check_names(written_as, affinity.rows, affinity.columns)
        source = None
        if isinstance(data, str | os.PathLike):
            source = "standard input" if data == "-" else Path(data).name
        origin = Origin(source, time.perf_counter() - started)
        watch.read(affinity, origin.seconds)
        emb = embed_affinity(affinity, request, watch, workers=workers, origin=origin)
    if affinity.types is None:
        return emb
    return emb._with(
        provenance={**emb.provenance, "types": affinity.types.record},
        extras={**emb.extras, "types": affinity.types.codes},
    )


def requested_affinity(data: Any, request: Request) -> Affinity:
    """Read the data and build its affinity, with the attributes of its items."""
    affinity = as_affinity(data, kind=request.kind, defaults=request.defaults, **request.data)
    if request.attributes is not None:
        from softvec.affinity.attributes import attach

        affinity = attach(affinity, request.attributes, data)
    return affinity if request.types is None else with_types(affinity, request.types, data)


def to_affinity(data: Any, *, kind: str | None = None, **options: Any) -> Affinity:
    """Convert a file or an object to an Affinity, as :func:`embed` does."""
    return requested_affinity(data, Request.of(data, kind=kind, **options))


def embed_affinity(
    affinity: Affinity,
    request: Request,
    watch: Watch | None = None,
    *,
    workers: Workers | None = None,
    origin: Origin | None = None,
) -> Embedding:
    """Fit an affinity as asked for."""
    if affinity.facts.entries == 0:
        raise InputError(f"nothing to embed: the data has no edges ({affinity.summary})")
    watch, origin = watch or Watch(), origin or Origin()
    if affinity.signed is not None:
        return _signed(affinity, request, watch, workers, origin)
    settings = resolve(request, affinity.facts)
    if request.check_memory and workers is None:  # a cluster checks the memory of its workers
        refuse_if_too_big(affinity.facts, settings)
    with machine(settings.n_jobs, scratch=settings.scratch, workers=workers) as pool:
        if settings.view == "links" and request.init is None:
            candidates = links_candidates(request, affinity.facts, alone=workers is None)
            settings = best_for_links(affinity, candidates, pool)
        with watch.fitting(settings.total_epochs * request.repeats):
            if watch.epoch is not None and workers is None:
                settings = replace(settings, callbacks=[*(settings.callbacks or ()), watch.epoch])
            first, *others = (
                _embedding(affinity, each, request, pool, origin)
                for each in settings.repeats(request.repeats)
            )
        if not others:
            return first
        record, extras = measure([first, *others], settings.n_jobs)
    return first._with(
        provenance={**first.provenance, "stability": record}, extras={**first.extras, **extras}
    )


def _embedding(
    affinity: Affinity, settings: Settings, request: Request, pool: Machine, origin: Origin
) -> Embedding:
    """Fit once; start from an earlier embedding, if there is one, and align the result with it."""
    warm = request.earlier is not None
    if request.init is not None and warm:
        settings = replace(settings, init=starting_vectors(request.init, affinity, settings.random_state))
    made = fit_vectors(affinity, settings, pool, warm=warm)
    emb = Embedding(
        made.X,
        affinity.rows,
        context_vectors=made.Y,
        context_names=None if made.Y is None else affinity.columns,
        sizes=affinity.sizes,
        provenance=origin.added_to(made.provenance),
        extras=made.extras if request.init is None or warm else {},
        copy=False,
    )
    return emb if request.init is None else aligned(emb, request.init)


def _signed(
    affinity: Affinity, request: Request, watch: Watch, workers: Workers | None, origin: Origin
) -> Embedding:
    """Fit positive and negative links apart, and put their vectors and the axes of camps side by side."""
    settings, d = request.settings, request.settings.n_components
    for name, wrong in (
        ("view", settings.view == "links"), ("init", request.init is not None),
        ("repeats", request.repeats > 1), ("checkpoint", settings.checkpoint is not None),
        ("n_components", d < 2),
    ):  # fmt: skip
        if wrong:
            raise InputError(
                "signed links are fitted apart, positive and negative, with at least two dimensions; "
                "change ", Option(name), ", or pass ", Option("signed", False)
            )  # fmt: skip
    assert affinity.signed is not None
    sides = d // _CAMPS if signs_are_told(affinity.signed) else 0
    d_foes = (d - sides) // 2
    halves = [
        replace(request, settings=replace(settings, n_components=k)) for k in (d - sides - d_foes, d_foes)
    ]
    parts = [
        embed_affinity(part, half, watch, workers=workers) for part, half in zip(by_sign(affinity), halves)
    ]
    first = parts[0].provenance
    of_camps = camps(affinity.signed, sides, first["parameters"]["seed"])
    data = {key: first["data"][key] for key in ("kind", "shape", "options")}
    data |= {"summary": affinity.summary, "entries": affinity.facts.entries, **affinity.details}
    shared = {"n_components": d, "view": "signed", "camps": sides, "random_state": settings.random_state}
    record = {
        "softvec": first["softvec"],
        "data": data,
        "parameters": {**shared, "seed": first["parameters"]["seed"]},
        "view": {"chosen": "signed", "why": "links have signs"},
        "signs": {sign: part.provenance["parameters"] for sign, part in zip(("positive", "negative"), parts)},
        "diagnosis": None,
        "seconds": {"fitting": sum(part.provenance["seconds"]["fitting"] for part in parts)},
    }
    vectors, record = np.hstack([*(part.vectors for part in parts), of_camps]), origin.added_to(record)
    return Embedding(vectors, affinity.rows, sizes=affinity.sizes, provenance=record, copy=False)
