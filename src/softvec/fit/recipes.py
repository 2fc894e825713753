"""What each kind of data gets by default, in one place; what is not named here is the default of `Settings`.

The reasons and the measurements are in docs/decisions.md and docs/log.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from softvec.fit.settings import Settings

if TYPE_CHECKING:
    from softvec.affinity.base import Facts

Values: TypeAlias = dict[str, Any]  # of settings, by name
# Neighbours of the end of an edge, on average, from which a graph has several views. Two steps compare nodes
# by the nodes between them, which must have enough neighbours to compare: citation graphs have 7 to 17,
# the paper's block model 29, graphs of links with hubs 60 to 550 (docs/decisions.md).
DENSE = 20.0


@dataclass(frozen=True)
class Recipe:
    """Defaults of a kind of data.

    Attributes
    ----------
    walk_length : int
        Steps of the random walk.
    n_epochs, beta : optional
        In place of those of `Settings`.
    beta_range : tuple of float, optional
        Half of the mean number of neighbours, within these bounds, is beta: few neighbours say little about
        an item, and a sharp softmax would learn their accidents (benchmarks/defaults.py).
    base_measure : float
        Power of the size by which items weigh in the softmax.
    shrinkage : float
        The fewer neighbours, the shorter the vector (benchmarks/shrinkage.py).
    """

    walk_length: int = 1
    n_epochs: int = Settings.n_epochs
    beta: float = Settings.beta
    beta_range: tuple[float, float] | None = None
    base_measure: float = 0.0
    shrinkage: float = 0.0


_FEW = 64  # dimensions below which a fit takes more epochs
MOST_EPOCHS = 20  # of a graph by default: of a directed one, and in few dimensions
RECIPES = {
    "graph": Recipe(walk_length=3, n_epochs=12, beta_range=(3.0, 6.0), shrinkage=0.5),
    "corpus": Recipe(beta=16.0, base_measure=0.25),  # benchmarks/words.py, benchmarks/analogies.py
    "bipartite": Recipe(beta=4.0, base_measure=1.0),  # benchmarks/two_sided.py
    "features": Recipe(walk_length=3),
}
# Options of builders: the frequency above which words count less as context (benchmarks/words.py).
BUILDER_DEFAULTS = {"corpus": {"context_subsample": 1e-5}}


# What less effort is on a graph: power steps with a walk of one step, no epochs (docs/decisions.md).
_FAST: Values = {"walk_length": 1, "n_epochs": 0, "shrinkage": 0.0}


# `view="links"` chooses between the default, one sharp step, and two vectors for each node, as a source and
# as a target, with targets weighed by their degree: one set of vectors cannot say that unlike nodes are
# linked. No one of them finds hidden links best on all graphs (docs/decisions.md).
STEP: Values = {"walk_length": 1, "beta": 20.0, "normalizer": "edges"}
_TWO_SIDES: Values = {
    "symmetric": False, "base_measure": 1.0, "beta": 6.0, "n_epochs": 60, "walk_length": 1,
    "normalizer": "edges",
}  # fmt: skip


def _in_few_dimensions(epochs: int, d: int) -> int:
    """Return the epochs in d dimensions: twice as many in a quarter of 64.

    In few dimensions a random start holds little of what is to be found, so that it takes longer.
    """
    return round(epochs * max(1.0, (_FEW / d) ** 0.5))


# A sharp softmax, exact where items are near, with its full gradient: experiments/neighbours.
_NEIGHBOURS: Values = {
    "walk_length": 1, "beta": 40.0, "n_epochs": 120, "shrinkage": 0.0, "gradient": "full",
    "normalizer": "near", "init": "power",
}  # fmt: skip


def of_kind(facts: Facts, d: int) -> Values:
    """Return the settings of a kind of data in d dimensions: beta by the density of a graph."""
    recipe = RECIPES.get(facts.kind, Recipe())
    beta = recipe.beta
    if recipe.beta_range is not None and facts.links is not None:
        low, high = recipe.beta_range
        beta = round(min(max(facts.mean_neighbours / 2, low), high), 2)
    most = max(recipe.n_epochs, MOST_EPOCHS)
    return {
        "symmetric": facts.symmetric,
        "walk_length": recipe.walk_length if facts.symmetric else 1,
        "n_epochs": most if facts.directed else min(_in_few_dimensions(recipe.n_epochs, d), most),
        "beta": beta,
        "base_measure": recipe.base_measure,
        "shrinkage": recipe.shrinkage,
    }


def of_view(view: str) -> Values:
    """Return the settings of a view."""
    defaults = {"links": _TWO_SIDES, "fused": {"shrinkage": FUSED_SHRINKAGE}, "neighbours": _NEIGHBOURS}
    return defaults.get(view, {})


def of_effort(effort: str) -> Values:
    """Return the settings of an effort."""
    return _FAST if effort == "fast" else {}


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
FUSED_SHRINKAGE = 0.25  # vectors of several views are steadier than those of one fit, which takes 0.5


def epochs_of_views(d: int) -> list[int]:
    """Return the epochs of each view in d dimensions."""
    return [_in_few_dimensions(view.n_epochs, d) for view in FUSED]


def views_of(facts: Facts, d: int) -> tuple[View, ...]:
    """Return the views of a graph in d dimensions.

    They are less sharp where a neighbour is little rarer than any node.
    """
    views = [replace(view, n_epochs=epochs) for view, epochs in zip(FUSED, epochs_of_views(d))]
    if not facts.links:
        return tuple(views)
    beta = max(SHARPNESS * math.log(facts.linked**2 / facts.links), 1.0)
    share = min(1.0, beta / Settings.beta)
    return tuple(replace(view, beta=round(share * view.beta, 2)) for view in views)
