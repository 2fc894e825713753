"""One call from any data to named vectors."""

from __future__ import annotations

import inspect
import os
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from softvec._version import __version__
from softvec.affinity import BUILDERS, Affinity
from softvec.affinity.convert import from_object
from softvec.affinity.options import DataOptions, Kind
from softvec.core.checks import choice, integer
from softvec.core.errors import InputError, did_you_mean
from softvec.core.threads import workers
from softvec.embedding import Embedding
from softvec.embedding.add import base_measure, length_of
from softvec.embedding.align import continued, starting_vectors
from softvec.embedding.relations import recorded
from softvec.embedding.stability import measure
from softvec.fit import Fit, Settings, prepared, views
from softvec.fit import fit as run
from softvec.fit.calibrate import calibrate
from softvec.fit.memory import refuse_if_too_big
from softvec.fit.options import MEANT, FitOptions
from softvec.fit.recipes import DENSE, N_COMPONENTS, VIEWS, fit_defaults, mean_neighbours, recipe_of
from softvec.fit.refine import EPOCHS, LEARNING_RATE, can_refine, refine
from softvec.fit.run import seed_of
from softvec.operators import Operator, Powers, Sparse, row_normalize

# What the same options are called elsewhere.
_MEANT = {
    **dict.fromkeys(("d", "dim", "dims", "dimension", "dimensions", "size", "vector_size"), "n_components"),
    **dict.fromkeys(("seed", "random_seed"), "random_state"),
    **dict.fromkeys(("epochs", "epoch", "iterations", "n_iterations"), "n_epochs"),
    **dict.fromkeys(("lr", "alpha", "eta"), "learning_rate"),
    **dict.fromkeys(("threads", "workers", "n_threads"), "n_jobs"),
    **dict.fromkeys(("walk", "steps", "n_steps"), "walk_length"),
}
# A fit that goes on from an Embedding, where it is not done by a round (softvec.fit.refine).
_UPDATE = {"n_epochs": 5, "learning_rate": 0.3}
FIT_OPTIONS = tuple(FitOptions.__annotations__)
# What several views of a graph have their own of: an option among these asks for one fit.
_ONE_FIT = tuple(name for name in FIT_OPTIONS if name not in ("shrinkage", "view", "symmetric"))


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
    **options: Unpack[EmbedOptions],
) -> Embedding:
    """Turn a graph, a table, a text, a matrix or a file into named vectors.

    Parameters
    ----------
    data : object, or path of a file
        A SciPy sparse or dense matrix; a networkx, igraph or PyTorch Geometric graph; a pandas or polars
        frame; an iterable of pairs or triples; a list of texts; an Affinity; the path of a file, or ``-``
        for standard input.
    n_components : int, optional
        Dimensions of the vectors; 128 by default, or those of ``init``.
    kind : {"graph", "pairs", "bipartite", "temporal", "corpus", "features", "dense"}, optional
        What the data is, where the default guess is not what you mean.
    walk_length : int, optional
        Steps of the random walk: more relate items further apart.
    random_state : int, optional
        Same seed, same vectors, whatever the number of threads.
    repeats : int
        Fits from as many seeds (``random_state``, ``random_state + 1``, ...). The first is returned, and with
        it how far neighbours and groups agree between seeds: :meth:`softvec.Embedding.stability`.
    n_jobs : int, optional
        Threads; by default all cores.
    callbacks : sequence of callable, optional
        Called as ``callback(epoch, loss, X)`` after every epoch; True stops the fit.
    verbose : int
        1 shows a progress bar.
    check_memory : bool
        Refuse a job that cannot fit in the memory that is free; see :mod:`softvec.fit.memory`.
    options
        ``n_epochs``, ``beta``, ``learning_rate``, ``gradient``, ``n_clusters``, ``init``,
        ``regularization``, ``symmetric``, ``constraint``, ``normalizer``, ``dtype``, ``tol``,
        ``checkpoint``, ``checkpoint_every``: see :class:`softvec.EDRep`. For a graph there are 20 epochs by
        default, and ``beta`` is half of the mean number of neighbours, at least 3 and at most 6.
        ``init`` may also be an Embedding of data that changed a little: names are matched, the settings of
        its fit and its walk length are kept, and the result is aligned with it; new items start at the mean
        of their neighbours. Most often two epochs and one round suffice; options that ask for
        another fit (``n_epochs``, ``learning_rate``, ...) run epochs from there.
        ``base_measure`` is a power p: items of size s (degree, word count) weigh s ** p in the softmax, 0
        for all alike; 0.75 for text by default. ``shrinkage`` s makes the vectors of items with few
        neighbours short: of m of them, on average a, the length is sqrt(m / (m + s a)); 0.5 for undirected
        graphs by default, and with 0 all vectors have length 1, which is where the softmax was fitted.
        ``view`` is "walk" for one fit, "fused" for several walks on an undirected graph, fitted apart and
        turned to their principal axes, with two coordinates for the degree; "auto" (default) fuses where
        nodes have 16 neighbours or more on average and no option asks for a single fit.
        Everything else goes to the builder of this kind of data, such as ``window`` for text or
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
    given: dict[str, Any] = dict(options)
    fit = {name: given.pop(name) for name in FIT_OPTIONS if name in given}
    if isinstance(fit.get("init"), Embedding):
        walk_length = walk_length_of(fit["init"], data, given) if walk_length is None else walk_length
    own_walk = walk_length is not None or "length" in given or isinstance(data, Affinity)
    if own_walk and fit.setdefault("view", "walk") == "fused":
        raise InputError("view='fused' has walks of its own; leave out walk_length")
    affinity = to_affinity(data, kind=kind, walk_length=walk_length, **given)
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
    return emb


def to_affinity(
    data: Any, *, kind: str | None = None, walk_length: int | None = None, **options: Any
) -> Affinity:
    """Read a file, or take an object, as an Affinity on which walks have ``walk_length`` steps."""
    for name in options:
        hint = f"; did you mean {MEANT[name]!r}?" if name in MEANT else did_you_mean(name, FIT_OPTIONS, 0.8)
        if hint and not any(name in inspect.signature(build).parameters for build in BUILDERS.values()):
            raise InputError(f"there is no option {name!r}{hint}")
    if isinstance(data, str | os.PathLike):
        from softvec.affinity import read

        affinity = read(data, kind=kind, **options)
    else:
        affinity = from_object(data, kind=kind, **options)
    if affinity.kind == "corpus" and "subsample" not in options and not isinstance(data, Affinity):
        affinity = _subsampled(affinity)
    plain = "length" not in options and not isinstance(data, Affinity) and affinity.symmetric
    if walk_length is None and plain:
        walk_length = recipe_of(affinity.kind).walk_length
    if walk_length is None or (walk_length == 1 and affinity.parameters.get("length", 1) == 1):
        return affinity
    if not affinity.symmetric:
        raise InputError(
            "walk_length is for one kind of items, but the rows and columns here are of two kinds"
        )
    if affinity.parameters.get("length", 1) != 1:
        raise InputError("walk_length is given for an affinity that has one already")
    operator = Powers(affinity.operator, check_length(walk_length))
    parameters = {**affinity.parameters, "length": int(walk_length)}
    return replace(affinity, operator=operator, parameters=parameters)


def _subsampled(affinity: Affinity) -> Affinity:
    """Let words above the frequency of the recipe count less as context, by sqrt(limit / frequency).

    The same as the option ``subsample`` of :func:`softvec.affinity.cooccurrence`: there the weights of rows
    cancel in the normalisation, so those of columns are all there is to it.
    """
    if affinity.counts is None or affinity.parameters.get("length", 1) != 1:
        return affinity
    limit = recipe_of(affinity.kind).subsample
    if limit is None:
        return affinity
    share = affinity.sizes / affinity.sizes.sum()
    weight = np.minimum(1.0, np.sqrt(limit / share))
    dangling = str(affinity.parameters.get("dangling", "zero"))
    operator = row_normalize(Sparse(affinity.counts, col_scale=weight), dangling)
    return replace(affinity, operator=operator, parameters={**affinity.parameters, "subsample": limit})


def check_length(length: Any) -> int:
    """Return the walk length as an integer of at least 1."""
    if isinstance(length, bool) or not hasattr(length, "__index__") or int(length) < 1:
        raise InputError(f"walk_length is {length!r}; expected an integer of at least 1")
    return int(length)


def walk_length_of(init: Embedding, data: Any, options: dict[str, Any]) -> int | None:
    """Return the walk length of the fit to go on from, where the data may have one."""
    made = init.provenance.get("data") or {}
    length = (made.get("options") or {}).get("length")
    own = isinstance(data, Affinity) or "length" in options or init.two_sided
    return None if own or length is None else int(length)


def embed_affinity(
    affinity: Affinity,
    n_components: int | None = None,
    *,
    random_state: int | None = None,
    repeats: int = 1,
    check_memory: bool = True,
    **fit: Any,
) -> Embedding:
    """Fit an affinity; arguments as of :func:`embed`, and ``source`` and ``seconds`` for the record."""
    if affinity.operator.nnz == 0:
        raise InputError(f"there is nothing to embed: no item relates to another in {affinity.summary}")
    repeats = integer("repeats", repeats)
    old = fit.pop("init") if isinstance(fit.get("init"), Embedding) else None
    if repeats > 1 and (old is not None or fit.get("checkpoint") is not None):
        raise InputError("repeats are fits from different seeds; leave out init and checkpoint")
    job = _Job(affinity, n_components, old, check_memory, fit)
    first = job.run(random_state)
    if repeats == 1:
        return first
    seeds = [None if random_state is None else random_state + r for r in range(1, repeats)]
    runs = [first, *(job.run(seed) for seed in seeds)]
    record, extras = measure(runs, fit.get("n_jobs"))
    return first._with(
        provenance={**first.provenance, "stability": record}, extras={**first.extras, **extras}
    )


class _Job:
    """A fit that waits for its seed."""

    def __init__(
        self,
        affinity: Affinity,
        n_components: int | None,
        old: Embedding | None,
        check: bool,
        fit: dict[str, Any],
    ):
        self.affinity, self.old, fit = affinity, old, dict(fit)
        self.source, self.seconds = fit.pop("source", None), fit.pop("seconds", None) or {}
        self.turned_to = None
        if old is not None and recorded(old, "parameters").get("view") == "fused":
            n_components = _same_components(n_components, old)
            warnings.warn(
                "init has several views, which are fitted anew and then aligned with it; view='walk' goes on "
                "from the vectors",
                stacklevel=4,
            )
            self.turned_to, self.old, old = old, None, None
        if old is not None:
            n_components = _same_components(n_components, old)
            self.quick = not {"n_epochs", "learning_rate", "tol", "gradient", "checkpoint"} & set(fit)
            fit = {**_UPDATE, **continued(old), **fit}
        self.view = _choose_view(affinity, N_COMPONENTS if n_components is None else n_components, old, fit)
        fit.pop("view", None)
        fit = {"symmetric": affinity.symmetric, **fit_defaults(affinity.kind, affinity.counts), **fit}
        self.n_components = N_COMPONENTS if n_components is None else n_components
        self.power = fit.pop("base_measure", recipe_of(affinity.kind).base_measure)
        self.shrinkage = _check_shrinkage(fit.pop("shrinkage", None), affinity, fit)
        self.item_weight = _item_weight(affinity, self.power)
        if check:
            refuse_if_too_big(affinity, self.n_components, {**fit, "view": self.view})
        self.fit = fit

    def run(self, seed: int | None) -> Embedding:
        """Fit from a seed, and say how in the provenance."""
        affinity, old, rounds, started = self.affinity, self.old, 0, time.perf_counter()
        start = {} if old is None else {"init": starting_vectors(old, affinity, seed)}
        options = Settings(self.n_components, random_state=seed, **{**self.fit, **start})
        if self.view == "fused":
            emb = self._fused(options, started)
            return emb if self.turned_to is None else emb._with(extras={}).align(self.turned_to)
        operator = prepared(affinity.operator, options.normalize)
        settings: dict[str, Any] = {"item_weight": self.item_weight, "warm": old is not None, "stacklevel": 5}
        if old is not None and self.quick and can_refine(options):
            found, rounds = self._refined(operator, options, settings), 1
        else:
            found = run(operator, options, **settings)
        if self.shrinkage:
            found.state.X *= self._lengths().astype(found.state.X.dtype)[:, None]
        parameters = {k: v if _plain(v) else type(v).__name__ for k, v in sorted(options.described().items())}
        parameters |= {"random_state": seed, "seed": found.seed, "base_measure": float(self.power)}
        parameters |= {"shrinkage": self.shrinkage, "view": "walk"} | ({"rounds": rounds} if rounds else {})
        emb = Embedding(
            found.state.X,
            affinity.rows,
            context_vectors=found.state.Y,
            context_names=None if found.state.Y is None else affinity.columns,
            sizes=affinity.sizes,
            provenance={
                "softvec": __version__,
                "data": self.data(),
                "parameters": parameters,
                "history": {key: values.tolist() for key, values in found.history.items()},
                "diagnosis": None if found.diagnosis is None else asdict(found.diagnosis),
                "softmax": self._softmax(found.state.X, found.state.Y, found.seed),
                "seconds": {**self.seconds, "fitting": time.perf_counter() - started},
            },
            extras=_extras(found, found.state.Y is not None),
            copy=False,
        )
        return emb if old is None else emb.align(old)

    def _fused(self, settings: Settings, started: float) -> Embedding:
        """Fit several views of a graph and fuse them."""
        affinity = self.affinity
        seed, A = seed_of(settings.random_state), affinity.counts
        assert A is not None
        X, fits = views.fit_views(A, settings, seed, self._lengths(), stacklevel=5)
        parameters = {
            "n_components": settings.n_components,
            "view": "fused",
            "views": [asdict(view) for view in views.FUSED],
            "shrinkage": self.shrinkage,
            "base_measure": 0.0,
            "constraint": "none",
            "random_state": settings.random_state,
            "seed": seed,
        }
        history = {key: np.concatenate([fit.history[key] for fit in fits]) for key in fits[0].history}
        history["epoch"] = np.arange(len(history["epoch"]))
        return Embedding(
            X,
            affinity.rows,
            sizes=affinity.sizes,
            provenance={
                "softvec": __version__,
                "data": self.data(),
                "parameters": parameters,
                "history": {key: values.tolist() for key, values in history.items()},
                "diagnosis": None,
                "softmax": self._softmax(X, None, seed),
                "seconds": {**self.seconds, "fitting": time.perf_counter() - started},
            },
            extras={"neighbours_to_vector": views.neighbours_to_vector(A, X)},
            copy=False,
        )

    def _lengths(self) -> NDArray[np.float64]:
        """Return the lengths that the numbers of neighbours ask for."""
        counts = self.affinity.counts
        assert counts is not None
        return length_of(np.diff(counts.indptr), self.shrinkage, mean_neighbours(counts))

    def _softmax(self, X: NDArray[Any], Y: Any, seed: int) -> dict[str, Any] | None:
        """Return the two numbers that turn vectors of a graph into probabilities of a step of its walk."""
        affinity = self.affinity
        if affinity.kind != "graph" or affinity.counts is None or Y is not None or not affinity.symmetric:
            return None
        result = calibrate(X, affinity.counts, affinity.sizes, seed)
        return None if result is None else {**asdict(result), "nats_gained": result.nats_gained}

    def _refined(self, operator: Operator, options: Settings, settings: dict[str, Any]) -> Fit:
        """Fit what changed a little: a few epochs, and all rows solved for at once."""
        begun = run(operator, replace(options, n_epochs=EPOCHS, learning_rate=LEARNING_RATE), **settings)
        with workers(options.n_jobs) as pool:
            X = refine(operator, begun.state.X, options.beta, pool, item_weight=self.item_weight)
        found = run(operator, replace(options, init=X, n_epochs=0), **settings)  # measures the loss
        found.state.history.extend(begun.state.history)
        return found

    def data(self) -> dict[str, Any]:
        """Return what the provenance says of the data."""
        affinity = self.affinity
        data = {
            "kind": affinity.kind,
            "summary": affinity.summary,
            "shape": list(affinity.shape),
            "entries": affinity.operator.nnz,
            "options": {k: v for k, v in affinity.parameters.items() if _plain(v)},
            **{key: affinity.details[key] for key in ("directed", "weighted") if key in affinity.details},
        }
        if self.shrinkage and affinity.counts is not None:
            data["mean_neighbours"] = mean_neighbours(affinity.counts)
        if self.source is not None:
            data["source"] = "standard input" if self.source == "-" else Path(self.source).name
        return data


def _same_components(n_components: int | None, old: Embedding) -> int:
    if n_components is not None and n_components != old.n_components:
        raise InputError.of(
            "n_components", n_components, f"{old.n_components}, the dimensions of init", "leave it out"
        )
    return old.n_components


def _choose_view(affinity: Affinity, n_components: int, old: Embedding | None, fit: dict[str, Any]) -> str:
    """Return "walk" for one fit, "fused" for several views of a graph.

    An option that only a single fit has asks for the walk; so does a sparse graph, or a directed one.
    """
    view = choice("view", fit.get("view", "auto"), VIEWS)
    given = [name for name in _ONE_FIT if name in fit]
    reason = ""
    if affinity.kind != "graph" or affinity.counts is None or not affinity.symmetric:
        reason = f"it is for graphs, and this is {affinity.kind} data"
    elif affinity.details.get("directed", False) or fit.get("symmetric", True) is False:
        reason = "it is for undirected graphs with one set of vectors"
    elif given or old is not None:
        reason = f"it has settings of its own; leave out {', '.join(given) or 'init'}"
    elif n_components < 8:
        reason = "it needs at least 8 dimensions"
    if view == "fused" and reason:
        raise InputError(f"view='fused' cannot be used here: {reason}")
    dense = not reason and mean_neighbours(affinity.counts) >= DENSE  # type: ignore[arg-type]
    return "fused" if view == "fused" or (view == "auto" and dense) else "walk"


def n_epochs(affinity: Affinity, fit: dict[str, Any], n_components: int | None = None) -> int:
    """Return how many epochs a fit with these options takes."""
    old = fit["init"] if isinstance(fit.get("init"), Embedding) else None
    if _choose_view(affinity, N_COMPONENTS if n_components is None else n_components, old, fit) == "fused":
        return views.n_epochs()
    update = _UPDATE if isinstance(fit.get("init"), Embedding) else {}
    return int({**fit_defaults(affinity.kind, affinity.counts), **update, **fit}["n_epochs"])


def _check_shrinkage(shrinkage: Any, affinity: Affinity, fit: dict[str, Any]) -> float:
    """Return the shrinkage to apply: the user's, or the default of this kind of data."""
    known = affinity.counts is not None and fit["symmetric"] and fit.get("constraint") != "ball"
    if shrinkage is None:  # of a directed graph a row tells half of an item's neighbours
        measured = known and not affinity.details.get("directed", False)
        return recipe_of(affinity.kind).shrinkage if measured else 0.0
    if isinstance(shrinkage, bool) or not isinstance(shrinkage, int | float) or not 0 <= shrinkage < np.inf:
        raise InputError(f"shrinkage is {shrinkage!r}; expected a number of at least 0 (0: unit vectors)")
    if shrinkage > 0 and not known:
        raise InputError(
            "shrinkage needs one set of unit vectors, and to know the neighbours of each item; leave it out"
        )
    return float(shrinkage)


def _item_weight(affinity: Affinity, power: float) -> NDArray[np.float64] | None:
    """Return size ** power for each column; None for a power of 0."""
    if not isinstance(power, int | float) or not 0 <= power <= 2:
        raise InputError(f"base_measure is {power!r}; expected a power between 0 (all items alike) and 2")
    if power == 0:
        return None
    if affinity.symmetric:
        sizes = affinity.sizes
    elif affinity.counts is not None:
        sizes = np.asarray(affinity.counts.sum(axis=0), dtype=np.float64).reshape(-1)
    else:
        raise InputError("base_measure needs the sizes of columns, which this affinity does not know")
    return base_measure(sizes, power)


def _extras(found: Fit, two_sided: bool) -> dict[str, NDArray[Any]]:
    """Return the arrays that adding items needs and that the vectors and sizes do not tell."""
    extras = {}
    if found.state.labels is not None:
        extras["classes"] = found.state.labels
    if two_sided and found.problem.item_weight is not None:
        extras["weights"] = found.problem.item_weight
    return extras


def _plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool | None)
