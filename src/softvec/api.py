"""One call from any data to named vectors."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec._version import __version__
from softvec.affinity import Affinity
from softvec.affinity.convert import from_object
from softvec.affinity.kinds import takes
from softvec.core.checks import integer
from softvec.core.errors import InputError, did_you_mean
from softvec.core.threads import workers
from softvec.embedding import Embedding
from softvec.embedding.add import base_measure, length_of
from softvec.embedding.align import continued, starting_vectors
from softvec.embedding.stability import measure
from softvec.fit import Fit, Settings, prepared
from softvec.fit import fit as run
from softvec.fit.memory import refuse_if_too_big
from softvec.fit.refine import ROUNDS, can_refine, refine
from softvec.operators import Powers

# The defaults of embed, in one place. What is not named here is the default of `Settings`.
N_COMPONENTS = 128
WALK_LENGTH = {"graph": 3, "pairs": 1, "temporal": 1, "corpus": 1, "features": 3}  # by kind of data
# Text, measured on word-similarity sets (benchmarks/words.py): frequent words count less as context, and a
# word's weight in the softmax grows with its count as in word2vec's negative sampling.
SUBSAMPLE = 1e-5
BUILD_DEFAULTS = {"corpus": {"context_subsample": SUBSAMPLE}}
BASE_MEASURE = {"corpus": 0.75}
# Graphs: the scores of 20 epochs are those of 30 (benchmarks/defaults.py).
FIT_DEFAULTS: dict[str, dict[str, Any]] = {
    "corpus": {"regularization": 0.0, "beta": 12.0},
    "graph": {"n_epochs": 20},
}
# Graphs: half of the mean number of neighbours, within these bounds (benchmarks/defaults.py). Few neighbours
# say little about an item, and a sharp softmax would learn their accidents.
GRAPH_BETA = (3.0, 6.0)
# Of an item with few neighbours little is known, and its vector is short (benchmarks/shrinkage.py).
SHRINKAGE = {"graph": 0.5}
# A fit that goes on from an Embedding, where it is not done by rounds (softvec.fit.refine).
_UPDATE = {"n_epochs": 5, "learning_rate": 0.3}
FIT_OPTIONS = (
    "n_epochs", "beta", "learning_rate", "gradient", "n_clusters", "init", "regularization", "symmetric",
    "constraint", "normalizer", "dtype", "tol", "base_measure", "shrinkage",
    "checkpoint", "checkpoint_every",
)  # fmt: skip


def embed(
    data: Any,
    n_components: int | None = None,
    *,
    kind: str | None = None,
    walk_length: int | None = None,
    random_state: int | None = None,
    repeats: int = 1,
    n_jobs: int | None = None,
    callbacks: Sequence[Callable[..., Any]] | None = None,
    verbose: int = 0,
    check_memory: bool = True,
    **options: Any,
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
        of their neighbours. Most often two rounds suffice in place of all epochs; options that ask for
        another fit (``n_epochs``, ``learning_rate``, ...) run epochs from there.
        ``base_measure`` is a power p: items of size s (degree, word count) weigh s ** p in the softmax, 0
        for all alike; 0.75 for text by default. ``shrinkage`` s makes the vectors of items with few
        neighbours short: of m of them, on average a, the length is sqrt(m / (m + s a)); 0.5 for undirected
        graphs by default, and with 0 all vectors have length 1, which is where the softmax was fitted.
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
    fit = {name: options.pop(name) for name in FIT_OPTIONS if name in options}
    if isinstance(fit.get("init"), Embedding):
        walk_length = walk_length_of(fit["init"], data, options) if walk_length is None else walk_length
    affinity = to_affinity(data, kind=kind, walk_length=walk_length, **options)
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
        hint = did_you_mean(name, FIT_OPTIONS, 0.8)
        if hint and not takes(name):
            raise InputError(f"there is no option {name!r}{hint}")
    own = "subsample" in options or options.get("length", 1) != 1
    defaults = {} if own else BUILD_DEFAULTS
    if isinstance(data, str | os.PathLike):
        from softvec.affinity import read

        affinity = read(data, kind=kind, defaults=defaults, **options)
    else:
        affinity = from_object(data, kind=kind, defaults=defaults, **options)
    plain = "length" not in options and not isinstance(data, Affinity) and affinity.symmetric
    if walk_length is None and plain:
        walk_length = WALK_LENGTH.get(affinity.kind)
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
        raise InputError(f"nothing to embed: the data has no edges ({affinity.summary})")
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
        if old is not None:
            n_components = _same_components(n_components, old)
            self.quick = not {"n_epochs", "learning_rate", "tol", "gradient", "checkpoint"} & set(fit)
            fit = {**_UPDATE, **continued(old), **fit}
        fit = {"symmetric": affinity.symmetric, **_fit_defaults(affinity), **fit}
        self.n_components = N_COMPONENTS if n_components is None else n_components
        self.power = fit.pop("base_measure", BASE_MEASURE.get(affinity.kind, 0.0))
        self.shrinkage = _check_shrinkage(fit.pop("shrinkage", None), affinity, fit)
        self.item_weight = _item_weight(affinity, self.power)
        if check:
            refuse_if_too_big(affinity, self.n_components, fit)
        self.fit = fit

    def run(self, seed: int | None) -> Embedding:
        """Fit from a seed, and say how in the provenance."""
        affinity, old, rounds, started = self.affinity, self.old, 0, time.perf_counter()
        start = {} if old is None else {"init": starting_vectors(old, affinity, seed)}
        options = Settings(self.n_components, random_state=seed, **{**self.fit, **start})
        operator = prepared(affinity.operator, options.normalize)
        if old is not None and self.quick and can_refine(options):
            with workers(options.n_jobs) as pool:
                X = refine(operator, options.init, options.beta, pool, item_weight=self.item_weight)
            options, rounds = replace(options, init=X, n_epochs=0), ROUNDS
        found = run(operator, options, item_weight=self.item_weight, warm=old is not None, stacklevel=5)
        if self.shrinkage:
            _shorten(found.state.X, affinity, self.shrinkage)
        parameters = {k: v if _plain(v) else type(v).__name__ for k, v in sorted(options.described().items())}
        parameters |= {"random_state": seed, "seed": found.seed, "base_measure": float(self.power)}
        parameters |= {"shrinkage": self.shrinkage} | ({"rounds": rounds} if rounds else {})
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
                "seconds": {**self.seconds, "fitting": time.perf_counter() - started},
            },
            extras=_extras(found, found.state.Y is not None),
            copy=False,
        )
        return emb if old is None else emb.align(old)

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
            data["mean_neighbours"] = _mean_neighbours(affinity.counts)
        if self.source is not None:
            data["source"] = "standard input" if self.source == "-" else Path(self.source).name
        return data


def _same_components(n_components: int | None, old: Embedding) -> int:
    if n_components is not None and n_components != old.n_components:
        raise InputError.of(
            "n_components", n_components, f"{old.n_components}, the dimensions of init", "leave it out"
        )
    return old.n_components


def _fit_defaults(affinity: Affinity) -> dict[str, Any]:
    """Return the options of this kind of data that differ from `Settings`."""
    found = FIT_DEFAULTS.get(affinity.kind, {})
    if affinity.kind != "graph" or affinity.counts is None:
        return found
    beta = _mean_neighbours(affinity.counts) / 2
    return {**found, "beta": round(min(max(beta, GRAPH_BETA[0]), GRAPH_BETA[1]), 2)}


def n_epochs(affinity: Affinity, fit: dict[str, Any]) -> int:
    """Return how many epochs a fit with these options takes."""
    update = _UPDATE if isinstance(fit.get("init"), Embedding) else {}
    return int({"n_epochs": Settings.n_epochs, **_fit_defaults(affinity), **update, **fit}["n_epochs"])


def _mean_neighbours(counts: Any) -> float:
    """Return the mean number of entries in a row, of the rows that have any."""
    neighbours = np.diff(counts.indptr)
    return float(neighbours[neighbours > 0].mean())


def _check_shrinkage(shrinkage: Any, affinity: Affinity, fit: dict[str, Any]) -> float:
    """Return the shrinkage to apply: the user's, or the default of this kind of data."""
    known = affinity.counts is not None and fit["symmetric"] and fit.get("constraint") != "ball"
    if shrinkage is None:  # of a directed graph a row tells half of an item's neighbours
        measured = known and not affinity.directed
        return SHRINKAGE.get(affinity.kind, 0.0) if measured else 0.0
    if isinstance(shrinkage, bool) or not isinstance(shrinkage, int | float) or not 0 <= shrinkage < np.inf:
        raise InputError(f"shrinkage is {shrinkage!r}; expected a number of at least 0 (0: unit vectors)")
    if shrinkage > 0 and not known:
        raise InputError(
            "shrinkage needs one set of unit vectors, and to know the neighbours of each item; leave it out"
        )
    return float(shrinkage)


def _shorten(X: NDArray[Any], affinity: Affinity, shrinkage: float) -> None:
    """Scale unit vectors in place to the lengths that their numbers of neighbours ask for."""
    counts = affinity.counts
    assert counts is not None
    lengths = length_of(np.diff(counts.indptr), shrinkage, _mean_neighbours(counts))
    X *= lengths.astype(X.dtype)[:, None]


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
