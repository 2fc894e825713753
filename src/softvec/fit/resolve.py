"""What will be done: the settings of a fit, from what the user wants and what the data is like.

The only place that decides: a table of rules for the view, and layers of defaults for everything else. What
no layer names is the default of `Settings`. Each value is recorded with its origin; progress bars, memory
estimates and provenance read the record. Reasons and measurements are in docs/decisions.md and docs/log.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from softvec.affinity.base import DENSE
from softvec.core.errors import InputError, Option, listed
from softvec.fit.settings import OPTIONS, Settings

if TYPE_CHECKING:
    from softvec.affinity.base import Facts
    from softvec.request import Earlier, Request

Values: TypeAlias = dict[str, Any]  # of settings, by name
_FEW = 64  # dimensions below which a fit takes more epochs
MOST_EPOCHS = 20  # of a graph by default: of a directed one, and in few dimensions
# Defaults of each kind of data. `base_measure` is the power of the size by which items weigh in the softmax;
# the fewer neighbours, the shorter the vector by `shrinkage` (benchmarks/shrinkage.py).
_ANY_KIND: Values = {
    "walk_length": 1, "n_epochs": Settings.n_epochs, "beta": Settings.beta, "base_measure": 0.0,
    "shrinkage": 0.0,
}  # fmt: skip
RECIPES: dict[str, Values] = {
    "graph": {"walk_length": 3, "n_epochs": 16, "shrinkage": 0.5},
    "corpus": {"beta": 16.0, "base_measure": 0.25},  # benchmarks/words.py, benchmarks/analogies.py
    "bipartite": {"beta": 4.0, "base_measure": 1.0},  # benchmarks/two_sided.py
    "features": {"walk_length": 3},
}
# Half of the mean number of neighbours, within these bounds, is beta of a graph: few neighbours say little
# about an item, and a sharp softmax would learn their accidents (benchmarks/defaults.py).
_BETA_OF_GRAPHS = (3.0, 6.0)
# Options of builders: the frequency above which words count less as context (benchmarks/words.py).
BUILDER_DEFAULTS = {"corpus": {"context_subsample": 1e-5}}
# `view="links"` chooses between the default, one sharp step, and two vectors for each node, as a source and
# as a target, with targets weighed by their degree: one set of vectors cannot say that unlike nodes are
# linked. No one of them finds hidden links best on all graphs (docs/decisions.md).
STEP: Values = {"walk_length": 1, "beta": 20.0, "normalizer": "edges"}
FUSED_SHRINKAGE = 0.25  # vectors of several views are steadier than those of one fit, which takes 0.5
# Defaults of each view; "neighbours" has a sharp softmax, exact where items are near, with its full gradient:
# experiments/neighbours. Power steps need no epochs, and a walk of one step (docs/decisions.md).
VIEWS: dict[str, Values] = {
    "links": {
        "symmetric": False, "base_measure": 1.0, "beta": 6.0, "n_epochs": 60, "walk_length": 1,
        "normalizer": "edges",
    },
    "fused": {"shrinkage": FUSED_SHRINKAGE},
    "neighbours": {
        "walk_length": 1, "beta": 40.0, "n_epochs": 120, "shrinkage": 0.0, "gradient": "full",
        "normalizer": "near", "init": "power",
    },
    "power": {"walk_length": 1, "n_epochs": 0, "shrinkage": 0.0},
}  # fmt: skip
# Options that fused views do not set themselves; any other one is an option of a single fit.
_OF_ANY_VIEW = (
    "n_components", "random_state", "n_jobs", "callbacks", "verbose", "walk_length", "shrinkage", "view",
    "symmetric", "scratch", "effort", "checkpoint", "checkpoint_every",
)  # fmt: skip
_OF_ONE_FIT = tuple(option.name for option in OPTIONS if option.name not in _OF_ANY_VIEW)
_OF_EPOCHS = (*_OF_ONE_FIT, "walk_length", "symmetric", "checkpoint", "checkpoint_every")
# Defaults of a fit that starts from an earlier one, if no round can solve for its rows.
_UPDATE = {"n_epochs": 5, "learning_rate": 0.3}
# Those before a round that solves for all rows at once, and the fits whose rows have a closed-form solution:
# unit vectors, one class, the row's own loss.
_BEFORE_ROUND = {"n_epochs": 2, "learning_rate": 0.3, "rounds": 1}
_SOLVABLE = {
    "n_clusters": 1, "constraint": "sphere", "gradient": "row", "normalizer": "mixture", "regularization": 0
}  # fmt: skip
_NOT_REFINED = frozenset({"n_epochs", "learning_rate", "tol", "gradient", "checkpoint"})


@dataclass(frozen=True)
class View:
    """One walk on a graph, how it is fitted, and how long its vectors are where views are fused.

    ``steps`` is the mean of the first powers of the walk; ``two_steps`` exactly two of them, the node in the
    middle weighted by its degree to the power ``-damping`` (1 is the plain walk). ``init`` may be the name of
    an earlier view, whose vectors are the initial ones after ``push`` products with the walk.
    """

    name: str
    steps: int = 1
    two_steps: bool = False
    damping: float = 1.0
    beta: float = Settings.beta
    n_epochs: int = 8
    learning_rate: float = Settings.learning_rate
    init: str = "power"
    push: int = 0
    weight: float = 1.0


# A step of the walk prefers a neighbour to any node by a factor of about n over the mean number of
# neighbours; a softmax much sharper than its logarithm learns accidents. Only graphs of a few hundred nodes
# with many neighbours reach this bound of beta (docs/decisions.md).
SHARPNESS = 1.6


# Chosen among the rows of benchmarks/views.py. One set of vectors can only say that like is linked to like:
# two steps make a second positive number of a negative eigenvalue, and damping the middle keeps which hubs a
# node stands beside. A high beta keeps fine differences; its many small axes are noise on other graphs, so
# that it weighs less. The walk starts from the vectors of the hubs, pushed one step: near the detection
# threshold of communities it would need twice the epochs from a random start.
FUSED = (
    View("hubs", two_steps=True, damping=0.5, n_epochs=5, weight=1.3),
    View("walk", steps=2, init="hubs", push=1, learning_rate=0.6, weight=1.8),
    View("pairs", two_steps=True, beta=32.0),
)


@dataclass(frozen=True)
class Rule:
    """A view, why it is taken, and when; the texts may hold facts and options of a single fit in braces."""

    applies: Callable[[Request, Facts], bool]
    view: str
    why: str

    def reason(self, request: Request, facts: Facts) -> str:
        """Return why, for these facts."""
        single = ", ".join(_asked(request, _OF_ONE_FIT))
        return self.why.format(kind=facts.kind, ends=facts.ends, dense=DENSE, single=single)


def _asked(request: Request, names: tuple[str, ...]) -> list[str]:
    """Return which of these options were asked for."""
    return [name for name in names if name in request.given]


def _by_power(request: Request) -> bool:
    """Return whether power steps are asked for."""
    return request.settings.effort == "fast" or request.settings.view == "power"


def _asked_for(view: str) -> Callable[[Request, Facts], bool]:
    return lambda request, facts: request.settings.view == view


# Why a fit has one walk, not fused views; the first that applies is told.
NOT_FUSED = (
    Rule(
        lambda r, f: f.kind != "graph" or f.links is None or not f.symmetric,
        "walk",
        "fused views are for graphs, and this is {kind} data",
    ),
    Rule(
        lambda r, f: bool(f.directed) or r.settings.symmetric is False,
        "walk",
        "fused views are for undirected graphs with one set of vectors",
    ),
    Rule(lambda r, f: _by_power(r), "power", "a fast fit takes power steps, no epochs"),
    Rule(lambda r, f: r.settings.n_components < 8, "walk", "fused views need at least 8 dimensions"),
    Rule(
        lambda r, f: not f.even_weights,
        "walk",
        "fused views need weights that differ by fewer orders of magnitude",
    ),
    Rule(
        lambda r, f: r.earlier is not None,
        "walk",
        "fused views have settings of their own; leave out init",
    ),
)
# The view of a fit: the first rule that applies.
RULES = (
    Rule(
        lambda r, f: _by_power(r) and r.settings.view in ("auto", "walk", "power"),
        "power",
        "a fast fit takes power steps, no epochs",
    ),
    *(Rule(_asked_for(view), view, "asked for") for view in ("walk", *VIEWS)),
    Rule(lambda r, f: r.own_walk or "walk_length" in r.given, "walk", "asked for"),
    *NOT_FUSED,
    Rule(
        lambda r, f: (f.ends >= DENSE or f.unlike) and bool(_asked(r, _OF_ONE_FIT)),
        "walk",
        "fused views have settings of their own; leave out {single}",
    ),
    Rule(
        lambda r, f: f.ends >= DENSE,
        "fused",
        "the end of an edge has {ends:.1f} neighbours on average, at least {dense:g}",
    ),
    Rule(lambda r, f: f.unlike, "fused", "unlike nodes are linked, which one walk cannot tell"),
    Rule(
        lambda r, f: True,
        "walk",
        "the end of an edge has {ends:.1f} neighbours on average, fewer than {dense:g}",
    ),
)


def resolve(request: Request, facts: Facts) -> Settings:
    """Return the settings of a fit; a pure function.

    Of several layers of defaults the later one wins: kind of data, view, effort, earlier fit, user.
    """
    view, why, ruled_out_by = _view(request, facts)
    values, origin = _layered(request, facts, view)
    values["walk_length"] = _walk_length(request, facts, values, origin)
    values["shrinkage"] = _shrinkage(values, facts, origin)
    if values["base_measure"] and not facts.symmetric and facts.links is None:
        raise InputError("base_measure needs the sizes of columns, which this affinity does not have")
    views = views_of(facts, request.settings.n_components) if view == "fused" else ()
    record = {"views": views, "origin": {**origin, "view": why}, "ruled_out_by": tuple(ruled_out_by)}
    return replace(request.settings, **values | record | {"view": view})


def links_candidates(request: Request, facts: Facts, *, alone: bool = True) -> dict[str, Settings]:
    """Return the settings among which ``view="links"`` chooses, by the links that they find again.

    Options that were asked for hold for all of them. Only two sides can tell a direction. Without ``alone``
    several workers share the fit, and neighbours have no exact terms.
    """
    if not alone:
        request = replace(request, given=request.given | {"normalizer"})
    sides = {"two sides": resolve(request, facts)}
    if facts.directed or "symmetric" in request.given or request.own_walk:
        return sides
    asked = {name: getattr(request.settings, name) for name in STEP if name in request.given}
    step = replace(request.settings, **{**STEP, **asked, "view": "walk"})
    default = replace(request.settings, view="auto")
    return {
        "default": resolve(replace(request, settings=default, given=request.given - {"view"}), facts),
        "one step": resolve(replace(request, settings=step, given=request.given | set(STEP)), facts),
        **sides,
    }


def _view(request: Request, facts: Facts) -> tuple[str, str, list[str]]:
    """Return the view, why, and the options that keep a dense graph from fused ones."""
    _refuse_view(request, facts)
    rule = next(rule for rule in RULES if rule.applies(request, facts))
    ruled_out_by = _asked(request, _OF_ONE_FIT) if "{single}" in rule.why else []
    return rule.view, rule.reason(request, facts), ruled_out_by


def _refuse_view(request: Request, facts: Facts) -> None:
    """Refuse a view or an effort that this data cannot have."""
    view = request.settings.view
    fast = Option("view", "power") if view == "power" else Option("effort", "fast")
    if _by_power(request) and facts.kind != "graph":
        raise InputError(fast, f" is for graphs, and this is {facts.kind} data; leave it out")
    if _by_power(request) and (epochs := _asked(request, _OF_EPOCHS)):
        raise InputError(fast, " takes power steps, no epochs; leave out ", *listed(epochs))
    if view in ("links", "neighbours") and (facts.kind != "graph" or not facts.symmetric):
        raise InputError(Option("view", view), f" is for graphs, and this is {facts.kind} data")
    if view != "fused":
        return
    fused, here = Option("view", "fused"), " cannot be used here: "
    for rule in NOT_FUSED:
        if rule.applies(request, facts):
            raise InputError(fused, here, rule.reason(request, facts))
    if single := _asked(request, _OF_ONE_FIT):
        raise InputError(fused, here, "fused views have settings of their own; leave out ", *listed(single))


def of_kind(facts: Facts, d: int) -> Values:
    """Return the settings of a kind of data in d dimensions: beta by the density of a graph."""
    values = {"symmetric": facts.symmetric, **_ANY_KIND, **RECIPES.get(facts.kind, {})}
    if facts.kind == "graph" and facts.links is not None:
        low, high = _BETA_OF_GRAPHS
        values["beta"] = round(min(max(facts.mean_neighbours / 2, low), high), 2)
    if not facts.symmetric:
        values["walk_length"] = 1
    most = max(values["n_epochs"], MOST_EPOCHS)
    values["n_epochs"] = most if facts.directed else min(_in_few_dimensions(values["n_epochs"], d), most)
    return values


def _in_few_dimensions(epochs: int, d: int) -> int:
    """Return the epochs in d dimensions: twice as many in a quarter of 64.

    In few dimensions a random start holds little of what is to be found, so that it takes longer.
    """
    return round(epochs * max(1.0, (_FEW / d) ** 0.5))


def views_of(facts: Facts, d: int) -> tuple[View, ...]:
    """Return the views of a graph in d dimensions.

    They are less sharp where a neighbour is little rarer than any node.
    """
    views = tuple(replace(view, n_epochs=_in_few_dimensions(view.n_epochs, d)) for view in FUSED)
    if not facts.links:
        return views
    beta = max(SHARPNESS * math.log(facts.linked**2 / facts.links), 1.0)
    share = min(1.0, beta / Settings.beta)
    return tuple(replace(view, beta=round(share * view.beta, 2)) for view in views)


def _layered(request: Request, facts: Facts, view: str) -> tuple[Values, dict[str, str]]:
    """Return the values of all settings after the layers of defaults, and where each came from."""
    asked, earlier = request.settings, request.earlier
    layers = [
        ("kind of data", of_kind(facts, asked.n_components)),
        ("effort" if view == "power" else "view", VIEWS.get(view, {})),
    ]
    if earlier is not None:
        layers += [("update", _UPDATE), ("earlier fit", _kept(request, earlier))]
    values = {option.name: getattr(asked, option.name) for option in OPTIONS}
    origin = dict.fromkeys(sorted(request.given), "user")
    for name, layer in layers:
        for option in layer.keys() - request.given:
            values[option], origin[option] = layer[option], name
    one_sided = earlier is not None and not earlier.two_sided and facts.symmetric
    solvable = all(values[name] == value for name, value in _SOLVABLE.items())
    if one_sided and solvable and not request.given & _NOT_REFINED:
        values |= _BEFORE_ROUND
    return values, origin


def _kept(request: Request, earlier: Earlier) -> Values:
    """Return the settings that are taken over from an earlier fit."""
    walk = earlier.walk_length is not None and not (request.own_walk or earlier.two_sided)
    return {**earlier.parameters, **({"walk_length": earlier.walk_length} if walk else {})}


def _walk_length(request: Request, facts: Facts, values: Values, origin: dict[str, str]) -> int:
    """Return the steps of the walk; data with a walk of its own keeps it."""
    length = int(values["walk_length"])
    if origin.get("walk_length") not in ("user", "earlier fit"):
        if request.own_walk:
            origin["walk_length"] = "data"
            return facts.length
        if facts.directed and values["symmetric"] is False and length > 1:
            origin["walk_length"] = (
                "two sets of vectors tell the direction of a step"  # benchmarks/direction.py
            )
            return 1
        return length
    if length == facts.length == 1:
        return 1
    if not facts.symmetric:
        raise InputError("walk_length does not apply to two-sided data: rows and columns are different items")
    if facts.length != 1:
        raise InputError("this affinity already has a walk length; leave out walk_length")
    return length


def _shrinkage(values: Values, facts: Facts, origin: dict[str, str]) -> float:
    """Return the shrinkage: that asked for, or the default where items have one vector and neighbours."""
    shrinkage = float(values["shrinkage"])
    possible = facts.links is not None and bool(values["symmetric"]) and values["constraint"] != "ball"
    if origin["shrinkage"] not in ("user", "earlier fit"):  # a row of a directed graph has only successors
        return shrinkage if possible and not facts.directed else 0.0
    if shrinkage > 0 and not possible:
        raise InputError(
            "shrinkage needs one set of unit vectors and the neighbours of each item; leave it out"
        )
    return shrinkage
