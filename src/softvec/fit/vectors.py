"""From an affinity and the settings of its fit to vectors: walks, fused views or power steps."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec._version import __version__
from softvec.affinity import Affinity
from softvec.core.checks import Json
from softvec.core.errors import AdviceWarning, InputError, Option, warn
from softvec.core.machine import Machine
from softvec.fit.attributes import fuse_attributes
from softvec.fit.diagnose import spread
from softvec.fit.fold_in import refine
from softvec.fit.power import CROWDED, FEW, power_vectors
from softvec.fit.problem import base_measure, length_of
from softvec.fit.resolve import MOST_EPOCHS, View
from softvec.fit.run import Fit, fit, prepared, seed_of
from softvec.fit.settings import Settings
from softvec.fit.views import fit_views, mean_weight, neighbours_to_vector
from softvec.operators import Operator, Powers, Sparse, row_normalize
from softvec.operators.normalize import isolated_items, isolated_nodes

Array = NDArray[Any]
_COLLAPSED = 0.9  # mean cosine above which vectors tell little apart
_FUSED = ("n_components", "view", "shrinkage")  # settings that fused views record


@dataclass(frozen=True)
class Vectors:
    """Result of a fit: row vectors, column vectors, provenance, and arrays that adding items needs.

    What makes them writes what it alone knows to the provenance; `fit_vectors` adds what all fits tell.
    """

    X: Array
    Y: Array | None
    provenance: Json
    extras: dict[str, Array] = field(default_factory=dict)


def fit_vectors(affinity: Affinity, settings: Settings, pool: Machine, *, warm: bool = False) -> Vectors:
    """Fit an affinity as its resolved settings say; ``warm`` if their ``init`` holds fitted vectors."""
    started = time.perf_counter()
    if settings.view == "power":
        made = _power(affinity, settings, pool)
    elif settings.views:
        made = _fused(affinity, settings, pool)
    else:
        made = _single(affinity, settings, warm, pool)
    _clear_isolated(affinity, made.X, made.Y)
    if affinity.attributes is not None:
        made = _with_attributes(affinity, made, pool)
    parameters = made.provenance["parameters"]
    record = {
        "softvec": __version__,
        "data": _data(affinity, settings),
        "parameters": parameters,
        "view": _view(settings),
        "origin": {
            name: where
            for name, where in sorted(settings.origin.items())
            if name == "walk_length" or (name in parameters and name != "view")
        },
        "history": {},
        "diagnosis": None,
        "softmax": settings.softmax,
        "seconds": {"fitting": time.perf_counter() - started},
        **made.provenance,
        **_spread(affinity, settings, made.X),
    }
    return replace(made, provenance=record)


def _spread(affinity: Affinity, settings: Settings, X: Array) -> Json:
    """Return the spread of the vectors for the provenance; say where they are nearly parallel."""
    found = spread(X)
    if found is None:
        return {}
    if found.mean_cosine > _COLLAPSED:
        remedy = Option("beta", 2 * settings.beta)
        if settings.gradient != "row":
            remedy = Option("gradient", "row")
        elif settings.base_measure < 1 and affinity.counts is not None:
            remedy = Option("base_measure", 1.0)
        warn(
            AdviceWarning(
                f"the vectors are nearly parallel (mean cosine {found.mean_cosine:.3f}, effective rank "
                f"{found.effective_rank:.1f} of {X.shape[1]}) and tell little apart; pass ",
                remedy,
            )
        )
    return {"spread": found._asdict()}


def settings_of(record: Mapping[str, Any], n_jobs: int | None = None) -> Settings:
    """Return the settings of a fit from its provenance, to fit data like it anew."""
    try:
        parameters, data = record["parameters"], record["data"]
        names = {setting.name for setting in fields(Settings)} & set(parameters)
        by_epochs = parameters["view"] not in ("fused", "power")
        values = {name: parameters[name] for name in names if by_epochs or name in _FUSED}
        values["views"] = tuple(View(**view) for view in parameters.get("views", ()))
        values["walk_length"] = data["options"].get("length", 1)
        values["random_state"] = parameters["seed"]
        if values.get("init") == "given":  # an update: few epochs from vectors that are not kept
            values |= {"init": "power", "n_epochs": max(values["n_epochs"], MOST_EPOCHS), "rounds": 0}
        return Settings.checked(**values, n_jobs=n_jobs)
    except (TypeError, KeyError, AttributeError) as error:
        raise InputError(
            "these vectors do not record the settings of their fit; embed the data again"
        ) from error


def _clear_isolated(affinity: Affinity, X: Array, Y: Array | None) -> None:
    """Set the vectors of items without edges to zero, in place: nothing is known of them."""
    if affinity.counts is None:
        return
    if affinity.symmetric:
        rows = columns = isolated_nodes(affinity.counts, not affinity.directed)
    else:
        rows, columns = isolated_items(affinity.counts)
    X[rows] = 0
    if Y is not None:
        Y[columns] = 0


def _record(settings: Settings, seed: int, fits: Sequence[Fit] = (), **own: Any) -> Json:
    """Return parameters and history of consecutive fits for the provenance; ``own`` are more parameters."""
    parameters = {
        "n_components": settings.n_components,
        "view": settings.view,
        "shrinkage": settings.shrinkage,
        "base_measure": 0.0,
        "constraint": "none",
        "random_state": settings.random_state,
        "seed": seed,
        **own,
    }
    parts = [fit.history for fit in fits]
    names = parts[0] if parts else ()
    history = {key: [value for part in parts for value in part[key].tolist()] for key in names}
    if history:
        history["epoch"] = list(range(len(history["epoch"])))
    return {"parameters": parameters, "history": history}


def _single(affinity: Affinity, settings: Settings, warm: bool, pool: Machine) -> Vectors:
    """Fit one walk."""
    operator = prepared(_walk(affinity, settings), settings.normalize)
    weight = _item_weight(affinity, settings.base_measure)
    result = fit(operator, settings, pool, item_weight=weight, warm=warm, diagnosed=not settings.rounds)
    if settings.rounds:
        result = _refined(result, settings, weight, pool)
    X, Y = result.state.X, result.state.Y
    if settings.shrinkage:
        X *= _lengths(affinity, settings).astype(X.dtype)[:, None]
    own = {k: v if _plain(v) else type(v).__name__ for k, v in sorted(settings.described().items())}
    own |= {"random_state": settings.random_state, "base_measure": float(settings.base_measure)}
    own |= {"rounds": settings.rounds} if settings.rounds else {}
    own |= {} if settings.effort == "default" else {"effort": settings.effort}
    diagnosis = None if result.diagnosis is None else asdict(result.diagnosis)
    record = {**_record(settings, result.seed, [result], **own), "diagnosis": diagnosis}
    return Vectors(X, Y, record, _extras(result, affinity))


def _walk(affinity: Affinity, settings: Settings) -> Operator:
    """Return P with walks of the length of the settings."""
    own = settings.walk_length == affinity.facts.length
    return affinity.operator if own else Powers(affinity.operator, settings.walk_length)


def _refined(first: Fit, settings: Settings, weight: Array | None, pool: Machine) -> Fit:
    """Solve for all rows at once after a few epochs, for data that changed a little."""
    P = first.problem.P
    X = refine(P, first.state.X, settings.beta, pool, item_weight=weight)
    no_epoch = replace(settings, init=X, n_epochs=0)  # measures the loss
    result = fit(P, no_epoch, pool, item_weight=weight, warm=True)
    result.state.history.extend(first.state.history)
    return result


def _power(affinity: Affinity, settings: Settings, pool: Machine) -> Vectors:
    """Take power steps, without epochs; in this process, also where there are others."""
    facts, seed = affinity.facts, seed_of(settings.random_state)
    crowded = facts.ends >= CROWDED or facts.n < FEW or facts.unlike
    dense = crowded and affinity.counts is not None and not facts.directed and facts.length == 1
    P = prepared(affinity.operator, settings.normalize)
    made = power_vectors(P, affinity.counts if dense else None, settings.n_components, seed, pool)
    if settings.shrinkage:
        np.multiply(made.X, _lengths(affinity, settings)[:, None], out=made.X, casting="same_kind")
    own = {"degree_scale": made.degree_scale} if made.degree_scale else {}
    return Vectors(made.X, None, _record(settings, seed, (), effort=settings.effort, steps=made.steps, **own))


def _fused(affinity: Affinity, settings: Settings, pool: Machine) -> Vectors:
    """Fit several views of a graph and fuse them."""
    A = affinity.counts
    assert A is not None
    X, fits, seed, degree_scale = fit_views(A, settings, _lengths(affinity, settings), pool)
    views = [asdict(view) for view in settings.views]
    extras = {"neighbours_to_vector": neighbours_to_vector(row_normalize(affinity.operator), X, pool)}
    diagnoses = {
        view.name: asdict(fit.diagnosis)
        for view, fit in zip(settings.views, fits)
        if fit.diagnosis is not None
    }
    record = _record(settings, seed, fits, views=views, degree_scale=degree_scale)
    return Vectors(X, None, {**record, "diagnosis": {"views": diagnoses} if diagnoses else None}, extras)


def _with_attributes(affinity: Affinity, made: Vectors, pool: Machine) -> Vectors:
    """Fuse the vectors of a graph with the attributes of its nodes."""
    A, attributes = affinity.counts, affinity.attributes
    assert A is not None
    assert attributes is not None
    A = sparse.csr_array(A + A.T) if affinity.directed else A
    walk = row_normalize(Sparse(A, symmetric=True))
    seed = int(made.provenance["parameters"]["seed"])
    fused = fuse_attributes(made.X, A, attributes.matrix, attributes.known, seed, pool)
    extras = {
        "neighbours_to_vector": neighbours_to_vector(walk, fused.X, pool),
        "attributes_to_vector": fused.vectors,
        "attribute_coding": np.hstack([[column.mean, column.scale] for column in attributes.columns]).T,
    }
    graph, own, smoothed = fused.agreement.weights
    record = {
        "summary": attributes.note,
        "weights": {"graph": graph, "attributes": own, "smoothed": smoothed},
        "agreement": asdict(fused.agreement),
        "columns": [
            {"title": column.title, "kind": column.kind, "values": list(column.values)}
            for column in attributes.columns
        ],
    }
    return replace(made, X=fused.X, extras=extras, provenance={**made.provenance, "attributes": record})


def _lengths(affinity: Affinity, settings: Settings) -> NDArray[np.float64]:
    """Return the length of each vector, by its number of neighbours."""
    assert affinity.counts is not None
    neighbours = np.diff(affinity.counts.indptr)
    return length_of(neighbours, settings.shrinkage, affinity.facts.mean_neighbours)


def _item_weight(affinity: Affinity, power: float) -> NDArray[np.float64] | None:
    """Return size ** power for each column; None for a power of 0."""
    if power == 0:
        return None
    if affinity.symmetric and not affinity.directed:
        return base_measure(affinity.sizes, power)
    return base_measure(_column_sizes(affinity), power)


def _column_sizes(affinity: Affinity) -> NDArray[np.float64]:
    assert affinity.counts is not None
    return np.asarray(affinity.counts.sum(axis=0), dtype=np.float64).reshape(-1)


def _view(settings: Settings) -> Json:
    record = {"chosen": settings.view, "why": settings.origin.get("view", "")}
    return record | ({"ruled_out_by": list(settings.ruled_out_by)} if settings.ruled_out_by else {})


def _data(affinity: Affinity, settings: Settings) -> Json:
    """Return the description of the data for the provenance."""
    facts, details = affinity.facts, affinity.details
    options = {k: v for k, v in affinity.parameters.items() if _plain(v)}
    if not settings.views and settings.walk_length != facts.length:
        options["length"] = settings.walk_length
    data = {
        "kind": facts.kind,
        "summary": affinity.summary,
        "shape": list(facts.shape),
        "entries": facts.entries,
        "options": options,
        **{key: details[key] for key in ("directed", "weighted") if key in details},
    }
    if settings.shrinkage:
        data["mean_neighbours"] = facts.mean_neighbours
    if settings.views and facts.weights is not None:
        assert affinity.counts is not None
        data["mean_weight"] = mean_weight(affinity.counts, settings.n_components)
    return data


def _extras(result: Fit, affinity: Affinity) -> dict[str, Array]:
    """Return the arrays, besides vectors and sizes, that adding items needs, and the sizes of columns."""
    extras = {}
    if result.state.Y is not None and affinity.counts is not None:
        extras["context_sizes"] = _column_sizes(affinity)
    if result.state.classes is not None:
        extras["classes"] = result.state.classes
    if result.state.Y is not None and result.problem.item_weight is not None:
        extras["weights"] = result.problem.item_weight
    return extras


def _plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool | None)
