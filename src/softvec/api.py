"""``softvec.embed``: from any data to named vectors."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

from softvec.affinity import Affinity
from softvec.affinity.convert import from_object
from softvec.affinity.kinds import check_kind, kind_of_options, takes
from softvec.affinity.options import DataOptions, Kind
from softvec.core.checks import integer, recorded
from softvec.core.errors import InputError, Option, did_you_mean
from softvec.core.scratch import large_arrays_in
from softvec.embedding import Embedding
from softvec.embedding.stability import measure
from softvec.fit.options import MEANT, FitOptions
from softvec.fit.recipes import preset_walk, recipe_of
from softvec.fit.settings import Settings
from softvec.job import FIT_OPTIONS, Job, n_epochs
from softvec.operators import Powers

__all__ = ["EmbedOptions", "embed", "embed_affinity", "n_epochs", "to_affinity"]


class EmbedOptions(FitOptions, DataOptions, total=False):
    """All options of :func:`embed` that depend on the data, for editors and type checkers."""


def embed(
    data: Any,
    n_components: int | None = None,
    *,
    kind: Kind | None = None,
    walk_length: int | None = None,
    random_state: int | None = None,
    repeats: int = 1,
    n_jobs: int | None = None,
    callbacks: Sequence[Callable[..., Any]] | None = None,
    verbose: int = 0,
    check_memory: bool = True,
    cluster: str | None = None,
    partition: str | None = None,
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
    n_components : int, optional
        Dimension of the vectors; 128 by default, or that of ``init``.
    kind : {"graph", "pairs", "bipartite", "temporal", "corpus", "features", "dense"}, optional
        Kind of data (default: detected).
    walk_length : int, optional
        Steps of the random walk: more steps relate items further apart.
    random_state : int, optional
        Same seed, same vectors, whatever the number of threads.
    repeats : int
        Number of fits, with seeds ``random_state``, ``random_state + 1``, ... The first is returned, together
        with the agreement of neighbours and groups between seeds: :meth:`softvec.Embedding.stability`.
    n_jobs : int, optional
        Number of threads (default: all cores).
    callbacks : sequence of callable, optional
        Called as ``callback(epoch, loss, X)`` after every epoch; True stops the fit.
    verbose : int
        1 shows a progress bar.
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
    output : path of a folder, optional
        Where the vectors are written as parquet parts.
    options
        ``n_epochs``, ``beta``, ``learning_rate``, ``gradient``, ``n_clusters``, ``init``, ``power_steps``,
        ``regularization``, ``symmetric``, ``constraint``, ``normalizer``, ``dtype``, ``tol``,
        ``checkpoint``, ``checkpoint_every``, ``scratch``: see :class:`softvec.EDRep`. A graph gets 20 epochs
        by default, and ``beta`` is half of the mean number of neighbours, but at least 3 and at most 6.
        ``init`` may also be an Embedding of data that changed a little: names are matched, the settings of
        its fit and its walk length are kept, and the result is aligned with it; new items start at the mean
        of their neighbours. By default two epochs and one round suffice; with options of a fit
        (``n_epochs``, ``learning_rate``, ...) epochs run from there.
        ``base_measure`` is a power p: items of size s (degree, word count) have weight s ** p in the softmax;
        0.75 for text, else 0 (equal weights). ``shrinkage`` s shortens the vectors of items with few
        neighbours: with m of them, and a on average, the length is sqrt(m / (m + s a)); 0.5 for undirected
        graphs by default, 0.25 with several views. With 0 all vectors have length 1, as in the fitted
        softmax.
        ``view`` is "walk" for a single fit, "fused" for several walks on an undirected graph, fitted
        separately and projected onto their principal components, with two coordinates for the degree;
        "auto" (default) fuses if the end of an edge has 20 neighbours or more on average and no option
        implies a single fit. "links" predicts missing links best: two vectors for each node of a graph, as
        source and as target, and a softmax in which targets are weighted by degree.
        ``effort`` "fast" is for large graphs and first looks: a single fit with walks of one step, ten
        epochs (one from 100,000 nodes on), and no softmax of the finished vectors; scores are lower than with
        "default".
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
    started = time.perf_counter()
    if output is not None:
        from softvec.embedding.files.folder import check_target

        check_target(output, data)
    plan = planned(data, kind, walk_length, dict(options), cluster=cluster, partition=partition)
    fit = dict(plan.fit)
    with ExitStack() as stack:
        if cluster is not None:
            from softvec.cluster.choose import choose, runner

            workers = stack.enter_context(choose(cluster, n_jobs))
            if not workers.driver:
                return None  # type: ignore[return-value]
            fit["runner"] = runner(workers, check_memory=check_memory, partition=partition)
        with large_arrays_in(fit.get("scratch")):
            affinity = plan.affinity()
        ready = time.perf_counter()
        emb = embed_affinity(
            affinity,
            n_components,
            random_state=random_state,
            repeats=repeats,
            n_jobs=n_jobs,
            callbacks=callbacks,
            verbose=verbose,
            check_memory=check_memory,
            source=os.fspath(data) if isinstance(data, str | os.PathLike) else None,
            seconds={"reading": ready - started},
            **fit,
        )
    if output is not None:
        emb.save(output, "folder")
    return emb


@dataclass(frozen=True)
class Plan:
    """Arguments of :func:`embed`, checked before any data is read.

    Attributes
    ----------
    data : object, or path of a file
    kind : str or None
        Kind of data; None to detect it.
    walk_length : int or None
        None for the default of the kind.
    options : dict
        Options of the reader and of the builder.
    fit : dict
        Options of the fit.
    """

    data: Any
    kind: str | None
    walk_length: int | None
    options: dict[str, Any]
    fit: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.options:
            meant = f"; did you mean {MEANT[name]!r}?" if name in MEANT else ""
            hint = meant or did_you_mean(name, FIT_OPTIONS, 0.8)
            if hint and not takes(name):
                raise InputError(f"unknown option {name!r}{hint}")

    def _for_reader(self) -> tuple[str | None, dict[str, Any]]:
        """Return the kind that the user's options imply, and default options by kind."""
        own = "subsample" in self.options or self.options.get("length", 1) != 1
        defaults = {} if own else {"corpus": {"context_subsample": recipe_of("corpus").subsample}}
        if not isinstance(self.data, str | os.PathLike):
            return self.kind, defaults
        return kind_of_options(self.options) if self.kind is None else check_kind(self.kind), defaults

    def affinity(self) -> Affinity:
        """Read the data and build the affinity, with walks of the requested length."""
        data, options = self.data, self.options
        kind, defaults = self._for_reader()
        if isinstance(data, str | os.PathLike):
            from softvec.affinity.files import build
            from softvec.read.contents import read_source

            affinity = build(read_source(data, options, kind=self.kind, likely=kind), options, defaults)
        else:
            affinity = from_object(data, kind=kind, defaults=defaults, **options)
        return _with_walk(affinity, self.walk_length, own="length" in options or isinstance(data, Affinity))


def planned(
    data: Any,
    kind: str | None,
    walk_length: int | None,
    options: dict[str, Any],
    *,
    cluster: str | None = None,
    partition: str | None = None,
) -> Plan:
    """Split the options of :func:`embed` between reader and fit, and check them before any data is read."""
    fit = {name: options.pop(name) for name in FIT_OPTIONS if name in options}
    Settings(**{name: value for name, value in fit.items() if name in Settings.__annotations__})
    walk_of_preset = preset_walk(fit)
    init = fit.get("init")
    if walk_length is None and isinstance(init, Embedding):
        walk_length = _walk_length_of(init, data, options)
    if walk_length is not None or "length" in options or isinstance(data, Affinity):
        view = fit.get("view", "auto")
        if view == "fused":
            raise InputError(
                Option("view", "fused"), " sets its own walks; leave out ", Option("walk_length")
            )
        fit["view"] = "walk" if view == "auto" else view
    else:
        walk_length = walk_of_preset
    if cluster is None and partition is not None:
        raise InputError(Option("partition"), " is for a cluster; also pass ", Option("cluster"))
    return Plan(data, kind, walk_length, options, fit)


def _walk_length_of(init: Embedding, data: Any, options: dict[str, Any]) -> int | None:
    """Return the walk length of the earlier fit, unless this data or fit sets its own."""
    options_of_fit = recorded(init, "data").get("options")
    length = options_of_fit.get("length") if isinstance(options_of_fit, dict) else None
    own = isinstance(data, Affinity) or "length" in options or init.two_sided
    own = own or recorded(init, "parameters").get("view") == "fused"  # walks of its own, fitted anew
    return None if own or length is None else int(length)


def to_affinity(
    data: Any, *, kind: str | None = None, walk_length: int | None = None, **options: Any
) -> Affinity:
    """Convert a file or an object to an Affinity whose walks have ``walk_length`` steps."""
    return Plan(data, kind, walk_length, options).affinity()


def _with_walk(affinity: Affinity, walk_length: int | None, *, own: bool) -> Affinity:
    """Return the affinity with walks of this length.

    By default the length is that of the kind of data, unless the affinity has its ``own``.
    """
    before = affinity.parameters.get("length", 1)
    if walk_length is None and affinity.symmetric and not own:
        walk_length = recipe_of(affinity.kind).walk_length
    if walk_length is None or walk_length == before == 1:
        return affinity
    if not affinity.symmetric:
        raise InputError("walk_length does not apply to two-sided data: rows and columns are different items")
    if before != 1:
        raise InputError("this affinity already has a walk length; leave out walk_length")
    operator = Powers(affinity.operator, integer("walk_length", walk_length))
    parameters = {**affinity.parameters, "length": int(walk_length)}
    return replace(affinity, operator=operator, parameters=parameters)


def embed_affinity(
    affinity: Affinity,
    n_components: int | None = None,
    *,
    random_state: int | None = None,
    repeats: int = 1,
    check_memory: bool = True,
    **fit: Any,
) -> Embedding:
    """Fit an affinity; arguments of :func:`embed`, and ``source`` and ``seconds`` for the provenance."""
    if affinity.operator.nnz == 0:
        raise InputError(f"nothing to embed: the data has no edges ({affinity.summary})")
    repeats = integer("repeats", repeats)
    old = fit.pop("init") if isinstance(fit.get("init"), Embedding) else None
    if repeats > 1 and (old is not None or fit.get("checkpoint") is not None):
        raise InputError("repeats use different seeds; leave out init and checkpoint")
    with large_arrays_in(fit.get("scratch")):
        job = Job(affinity, n_components, old, check_memory, fit)
        first = job.run(random_state)
        if repeats == 1:
            return first
        seeds = [None if random_state is None else random_state + r for r in range(1, repeats)]
        runs = [first, *(job.run(seed) for seed in seeds)]
        record, extras = measure(runs, fit.get("n_jobs"))
    return first._with(
        provenance={**first.provenance, "stability": record}, extras={**first.extras, **extras}
    )
