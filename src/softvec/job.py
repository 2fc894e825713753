"""Fit an affinity: defaults of its kind, views, vector lengths, provenance."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec._version import __version__
from softvec.affinity import Affinity
from softvec.core.checks import choice, recorded
from softvec.core.errors import InputError, Option, listed
from softvec.core.threads import workers
from softvec.embedding import Embedding
from softvec.embedding.align import continued, starting_vectors
from softvec.fit import Fit, Settings, prepared, views
from softvec.fit import fit as run
from softvec.fit.calibrate import calibrate
from softvec.fit.memory import refuse_if_too_big
from softvec.fit.options import FitOptions
from softvec.fit.problem import base_measure, length_of
from softvec.fit.recipes import (
    DENSE,
    FUSED_SHRINKAGE,
    N_COMPONENTS,
    VIEWS,
    effort_settings,
    epochs_of_views,
    fit_defaults,
    mean_neighbours,
    neighbours_of_ends,
    recipe_of,
    views_of,
)
from softvec.fit.refine import EPOCHS, LEARNING_RATE, can_refine, refine
from softvec.fit.run import seed_of
from softvec.operators import Operator

# Defaults of a fit that starts from an Embedding, unless softvec.fit.refine does it.
_UPDATE = {"n_epochs": 5, "learning_rate": 0.3}
FIT_OPTIONS = tuple(FitOptions.__annotations__)
# Options that fused views set for themselves: with one of them, "auto" is a single fit.
_ANY_VIEW = {"shrinkage", "view", "symmetric", "scratch", "effort", "checkpoint", "checkpoint_every"}
_ONE_FIT = tuple(name for name in FIT_OPTIONS if name not in _ANY_VIEW)


@dataclass(frozen=True)
class Vectors:
    """Result of a fit: row vectors, column vectors, provenance and extra arrays."""

    X: NDArray[Any]
    Y: NDArray[Any] | None
    provenance: dict[str, Any]
    extras: dict[str, NDArray[Any]]


@dataclass(frozen=True)
class ViewChoice:
    """The view of a fit, "walk", "links" or "fused", why, and the options that ruled out "fused"."""

    chosen: str
    why: str
    ruled_out_by: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Outcome:
    """Summary of finished vectors: their number, dimensions and provenance."""

    vectors: int
    context_vectors: int
    dimensions: int
    provenance: Mapping[str, Any]

    @classmethod
    def of(cls, emb: Embedding) -> Outcome:
        """Return the summary of an embedding."""
        context = 0 if emb.context_vectors is None else len(emb.context_vectors)
        return cls(len(emb), context, emb.n_components, emb.provenance)


class Job:
    """An affinity with the settings of its fit; :meth:`run` fits it, with a seed."""

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
        self.align_to, self.runner = None, fit.pop("runner", None)
        if old is not None and recorded(old, "parameters").get("view") == "fused":
            n_components = _same_components(n_components, old)
            warnings.warn("init has several views, which are refitted and then aligned with it", stacklevel=4)
            self.align_to, self.old, old = old, None, None
        if old is not None:
            n_components = _same_components(n_components, old)
            self.quick = not {"n_epochs", "learning_rate", "tol", "gradient", "checkpoint"} & set(fit)
            fit = {**_UPDATE, **continued(old), **fit}
        dimensions = N_COMPONENTS if n_components is None else n_components
        self.choice = _choose_view(affinity, dimensions, old, fit)
        self.view = self.choice.chosen
        fit.pop("view", None)
        preset = fit_defaults(affinity.kind, affinity.counts, self.view)
        preset |= effort_settings(fit, affinity.shape[0])
        self.effort = fit.pop("effort", "default")
        fit = {"symmetric": affinity.symmetric, **preset, **fit}
        self.n_components = dimensions
        self.power = fit.pop("base_measure", recipe_of(affinity.kind).base_measure)
        self.shrinkage = _check_shrinkage(fit.pop("shrinkage", None), affinity, fit, self.view)
        self.item_weight = _item_weight(affinity, self.power)
        needed = self.view == "fused" or self.shrinkage
        self.mean_neighbours = mean_neighbours(affinity.counts) if needed else 0.0
        if check and self.runner is None:  # a cluster checks the memory of its workers
            refuse_if_too_big(affinity, self.n_components, {**fit, "view": self.view})
        self.fit = fit

    def run(self, seed: int | None) -> Embedding:
        """Fit with a seed and return the embedding."""
        result, affinity = self.vectors(seed), self.affinity
        emb = Embedding(
            result.X,
            affinity.rows,
            context_vectors=result.Y,
            context_names=None if result.Y is None else affinity.columns,
            sizes=affinity.sizes,
            provenance=result.provenance,
            extras=result.extras if self.align_to is None else {},
            copy=False,
        )
        old = self.old if self.align_to is None else self.align_to
        return emb if old is None else emb.align(old)

    def vectors(self, seed: int | None) -> Vectors:
        """Fit with a seed."""
        affinity, old, rounds, started = self.affinity, self.old, 0, time.perf_counter()
        start = {} if old is None else {"init": starting_vectors(old, affinity, seed)}
        options = Settings(self.n_components, random_state=seed, **{**self.fit, **start})
        if self.view == "fused":
            return self._fused(options, started)
        operator = prepared(affinity.operator, options.normalize)
        settings: dict[str, Any] = {"item_weight": self.item_weight, "warm": old is not None, "stacklevel": 6}
        settings["runner"] = self.runner
        if old is not None and self.quick and can_refine(options):
            result, rounds = self._refined(operator, options, settings), 1
        else:
            result = run(operator, options, **settings)
        X, Y = result.state.X, result.state.Y
        if self.shrinkage:
            X *= self._lengths().astype(X.dtype)[:, None]
        parameters = {k: v if _plain(v) else type(v).__name__ for k, v in sorted(options.described().items())}
        parameters |= {"random_state": seed, "seed": result.seed, "base_measure": float(self.power)}
        parameters |= {"shrinkage": self.shrinkage, "view": self.view}
        parameters |= {"rounds": rounds} if rounds else {}
        parameters |= {} if self.effort == "default" else {"effort": self.effort}
        diagnosis = None if result.diagnosis is None else asdict(result.diagnosis)
        softmax = self._softmax(X, Y, result.seed)
        record = self._record(parameters, result.history, diagnosis, softmax, started)
        return Vectors(X, Y, record, _extras(result, Y is not None))

    def _record(
        self,
        parameters: dict[str, Any],
        history: dict[str, Any],
        diagnosis: Any,
        softmax: Any,
        started: float,
    ) -> dict[str, Any]:
        """Return the provenance."""
        return {
            "softvec": __version__,
            "data": self.data(),
            "parameters": parameters,
            "view": {key: value for key, value in asdict(self.choice).items() if value},
            "history": {key: values.tolist() for key, values in history.items()},
            "diagnosis": diagnosis,
            "softmax": softmax,
            "seconds": {**self.seconds, "fitting": time.perf_counter() - started},
        }

    def _fused(self, settings: Settings, started: float) -> Vectors:
        """Fit several views of a graph and fuse them."""
        A = self.affinity.counts
        assert A is not None
        seed = None if settings.random_state is None else seed_of(settings.random_state)
        used = views_of(A, settings.n_components)
        X, fits, degree_scale = views.fit_views(A, settings, seed, self._lengths(), self.runner)
        seed = fits[0].seed if seed is None else seed
        parameters = {
            "n_components": settings.n_components,
            "view": "fused",
            "views": [asdict(view) for view in used],
            "degree_scale": degree_scale,
            "shrinkage": self.shrinkage,
            "base_measure": 0.0,
            "constraint": "none",
            "random_state": settings.random_state,
            "seed": seed,
        }
        history = {key: np.concatenate([fit.history[key] for fit in fits]) for key in fits[0].history}
        history["epoch"] = np.arange(len(history["epoch"]))
        record = self._record(parameters, history, None, self._softmax(X, None, seed), started)
        extras = {"neighbours_to_vector": views.neighbours_to_vector(A, X, settings.n_jobs)}
        return Vectors(X, None, record, extras)

    def _lengths(self) -> NDArray[np.float64]:
        """Return the length of each vector, by its number of neighbours."""
        counts = self.affinity.counts
        assert counts is not None
        return length_of(np.diff(counts.indptr), self.shrinkage, self.mean_neighbours)

    def _softmax(self, X: NDArray[Any], Y: Any, seed: int) -> dict[str, Any] | None:
        """Calibrate a softmax that turns vectors of a graph into probabilities of a step of its walk."""
        affinity = self.affinity
        if self.effort == "fast":  # it would take a large part of so short a fit
            return None
        if affinity.kind != "graph" or affinity.counts is None or Y is not None or not affinity.symmetric:
            return None
        with workers(1):  # the same bits for any number of threads
            result = calibrate(X, affinity.counts, affinity.sizes, seed)
        return None if result is None else {**asdict(result), "nats_gained": result.nats_gained}

    def _refined(self, operator: Operator, options: Settings, settings: dict[str, Any]) -> Fit:
        """Update the vectors of data that changed a little: a few epochs, then one solve for all rows."""
        first = run(operator, replace(options, n_epochs=EPOCHS, learning_rate=LEARNING_RATE), **settings)
        with workers(options.n_jobs) as pool:
            X = refine(operator, first.state.X, options.beta, pool, item_weight=self.item_weight)
        result = run(operator, replace(options, init=X, n_epochs=0), **settings)  # measures the loss
        result.state.history.extend(first.state.history)
        return result

    def data(self) -> dict[str, Any]:
        """Return the description of the data for the provenance."""
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
            data["mean_neighbours"] = self.mean_neighbours
        if self.view == "fused" and affinity.counts is not None and affinity.counts.dtype != bool:
            data["mean_weight"] = views.mean_weight(affinity.counts, self.n_components)
        if self.source is not None:
            data["source"] = "standard input" if self.source == "-" else Path(self.source).name
        return data


def _same_components(n_components: int | None, old: Embedding) -> int:
    if n_components is not None and n_components != old.n_components:
        raise InputError.of(
            "n_components", n_components, f"{old.n_components}, the dimensions of init", "leave it out"
        )
    return old.n_components


def _choose_view(
    affinity: Affinity, n_components: int, old: Embedding | None, fit: dict[str, Any]
) -> ViewChoice:
    """Return the view of a fit: "auto" is "walk" for a sparse or directed graph, or options of one fit."""
    view = choice("view", fit.get("view", "auto"), VIEWS)
    single = [name for name in _ONE_FIT if name in fit]
    reason = ""
    fast = bool(effort_settings(fit, affinity.shape[0]))
    if fast and (affinity.kind != "graph" or old is not None):
        use = "fits without init" if old is not None else f"graphs, and this is {affinity.kind} data"
        raise InputError(Option("effort", "fast"), f" is for {use}; leave it out")
    if affinity.kind != "graph" or affinity.counts is None or not affinity.symmetric:
        reason = f"fused views are for graphs, and this is {affinity.kind} data"
    elif affinity.directed or fit.get("symmetric", True) is False:
        reason = "fused views are for undirected graphs with one set of vectors"
    elif fast:
        reason = "a fast fit has one view"
    elif n_components < 8:
        reason = "fused views need at least 8 dimensions"
    elif not _even_weights(affinity.counts):
        reason = "fused views need weights that differ by fewer orders of magnitude"
    elif old is not None:
        reason = "fused views have settings of their own; leave out init"
    own = "" if reason or not single else "fused views have settings of their own; leave out "
    if view == "fused" and (reason or own):
        named = listed(single if own else [])
        raise InputError(Option("view", "fused"), f" cannot be used here: {reason or own}", *named)
    if view == "links" and (affinity.kind != "graph" or not affinity.symmetric):
        raise InputError(Option("view", "links"), f" is for graphs, and this is {affinity.kind} data")
    if view == "links" and (fast or fit.get("symmetric", False) is True):
        clash = Option("effort") if fast else Option("symmetric")
        raise InputError(Option("view", "links"), " is a fit of two sides; leave out ", clash)
    if view != "auto":
        return ViewChoice(view, "asked for")
    if reason:
        return ViewChoice("walk", reason)
    ends = neighbours_of_ends(affinity.counts)  # type: ignore[arg-type]
    if own and ends >= DENSE:
        return ViewChoice("walk", f"{own}{', '.join(single)}", single)
    chosen, bound = ("fused", "at least") if ends >= DENSE else ("walk", "fewer than")
    why = f"the end of an edge has {ends:.1f} neighbours on average, {bound} {DENSE:g}"
    return ViewChoice(chosen, why)


def _even_weights(counts: Any) -> bool:
    """Whether products of two weights fit into single precision."""
    if counts.dtype == bool or not counts.nnz:
        return True
    return float(counts.data.min()) > 1e-15 * float(counts.data.max())


def n_epochs(affinity: Affinity, fit: dict[str, Any], n_components: int | None = None) -> int:
    """Return the number of epochs of a fit with these options."""
    old = fit["init"] if isinstance(fit.get("init"), Embedding) else None
    dimensions = N_COMPONENTS if n_components is None else n_components
    view = _choose_view(affinity, dimensions, old, fit).chosen
    if view == "fused":
        return sum(epochs_of_views(dimensions))
    update = _UPDATE if isinstance(fit.get("init"), Embedding) else {}
    preset = fit_defaults(affinity.kind, affinity.counts, view) | effort_settings(fit, affinity.shape[0])
    return int({**preset, **update, **fit}["n_epochs"])


def _check_shrinkage(shrinkage: Any, affinity: Affinity, fit: dict[str, Any], view: str) -> float:
    """Return the shrinkage to apply: the user's, or the default of this kind of data and view."""
    possible = affinity.counts is not None and fit["symmetric"] and fit.get("constraint") != "ball"
    if shrinkage is None:  # a row of a directed graph has only the outgoing neighbours
        preset = FUSED_SHRINKAGE if view == "fused" else recipe_of(affinity.kind).shrinkage
        return preset if possible and not affinity.directed else 0.0
    if isinstance(shrinkage, bool) or not isinstance(shrinkage, int | float) or not 0 <= shrinkage < np.inf:
        raise InputError(f"shrinkage is {shrinkage!r}; expected a number of at least 0 (0: unit vectors)")
    if shrinkage > 0 and not possible:
        raise InputError(
            "shrinkage needs one set of unit vectors and the neighbours of each item; leave it out"
        )
    return float(shrinkage)


def _item_weight(affinity: Affinity, power: float) -> NDArray[np.float64] | None:
    """Return size ** power for each column; None for a power of 0."""
    if not isinstance(power, int | float) or not 0 <= power <= 2:
        raise InputError(f"base_measure is {power!r}; expected a power between 0 (equal weights) and 2")
    if power == 0:
        return None
    if affinity.symmetric:
        sizes = affinity.sizes
    elif affinity.counts is not None:
        sizes = np.asarray(affinity.counts.sum(axis=0), dtype=np.float64).reshape(-1)
    else:
        raise InputError("base_measure needs the sizes of columns, which this affinity does not have")
    return base_measure(sizes, power)


def _extras(result: Fit, two_sided: bool) -> dict[str, NDArray[Any]]:
    """Return the arrays, besides vectors and sizes, that adding items needs."""
    extras = {}
    if result.state.classes is not None:
        extras["classes"] = result.state.classes
    if two_sided and result.problem.item_weight is not None:
        extras["weights"] = result.problem.item_weight
    return extras


def _plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool | None)
