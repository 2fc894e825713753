"""What will be done: the settings of a fit, from what the user wants and what the data is like.

The only place that decides: a table of rules for the view, and layers of defaults for everything else. Each
value is recorded with its origin; progress bars, memory estimates and provenance read the record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from softvec.core.errors import InputError, Option, listed
from softvec.fit.recipes import DENSE, STEP, Values, of_effort, of_kind, of_view, views_of
from softvec.fit.settings import OPTIONS, Settings

if TYPE_CHECKING:
    from softvec.affinity.base import Facts
    from softvec.request import Earlier, Request

# Options that fused views do not set themselves; any other one is an option of a single fit.
_OF_ANY_VIEW = (
    "n_components", "random_state", "n_jobs", "callbacks", "verbose", "walk_length", "shrinkage", "view",
    "symmetric", "scratch", "effort", "checkpoint", "checkpoint_every",
)  # fmt: skip
_OF_ONE_FIT = tuple(option.name for option in OPTIONS if option.name not in _OF_ANY_VIEW)
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
class Rule:
    """A view, why it is taken, and when; the texts may hold facts in braces."""

    applies: Callable[[Request, Facts], bool]
    view: str
    why: str

    def reason(self, facts: Facts) -> str:
        """Return why, for these facts."""
        return self.why.format(kind=facts.kind, ends=facts.ends, dense=DENSE)


def _single(request: Request) -> list[str]:
    """Return the options of a single fit that were asked for."""
    return [name for name in _OF_ONE_FIT if name in request.given]


def _by_power(request: Request) -> bool:
    """Return whether power steps are asked for."""
    return request.settings.effort == "fast" or request.settings.view == "power"


def _of_epochs(request: Request) -> list[str]:
    """Return the options of a fit by epochs that were asked for."""
    names = (*_OF_ONE_FIT, "walk_length", "symmetric", "checkpoint", "checkpoint_every")
    return [name for name in names if name in request.given]


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
    Rule(lambda r, f: r.settings.view == "walk", "walk", "asked for"),
    Rule(lambda r, f: r.settings.view == "fused", "fused", "asked for"),
    Rule(lambda r, f: r.settings.view == "links", "links", "asked for"),
    Rule(lambda r, f: r.settings.view == "neighbours", "neighbours", "asked for"),
    Rule(lambda r, f: r.own_walk or "walk_length" in r.given, "walk", "asked for"),
    *NOT_FUSED,
    Rule(
        lambda r, f: f.ends >= DENSE and bool(_single(r)),
        "walk",
        "fused views have settings of their own; leave out ",
    ),
    Rule(
        lambda r, f: f.ends >= DENSE,
        "fused",
        "the end of an edge has {ends:.1f} neighbours on average, at least {dense:g}",
    ),
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
    why = rule.reason(facts)
    if not why.endswith("leave out "):
        return rule.view, why, []
    single = _single(request)
    return rule.view, why + ", ".join(single), single


def _refuse_view(request: Request, facts: Facts) -> None:
    """Refuse a view or an effort that this data cannot have."""
    view = request.settings.view
    fast = Option("view", "power") if view == "power" else Option("effort", "fast")
    if _by_power(request) and facts.kind != "graph":
        raise InputError(fast, f" is for graphs, and this is {facts.kind} data; leave it out")
    if _by_power(request) and (epochs := _of_epochs(request)):
        raise InputError(fast, " takes power steps, no epochs; leave out ", *listed(epochs))
    if view in ("links", "neighbours") and (facts.kind != "graph" or not facts.symmetric):
        raise InputError(Option("view", view), f" is for graphs, and this is {facts.kind} data")
    if view != "fused":
        return
    fused, here = Option("view", "fused"), " cannot be used here: "
    for rule in NOT_FUSED:
        if rule.applies(request, facts):
            raise InputError(fused, here, rule.reason(facts))
    if single := _single(request):
        raise InputError(fused, here, "fused views have settings of their own; leave out ", *listed(single))


def _layered(request: Request, facts: Facts, view: str) -> tuple[Values, dict[str, str]]:
    """Return the values of all settings after the layers of defaults, and where each came from."""
    asked, earlier = request.settings, request.earlier
    layers = [
        ("kind of data", of_kind(facts, asked.n_components)),
        ("view", of_view(view)),
        ("effort", of_effort("fast" if view == "power" else asked.effort)),
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
