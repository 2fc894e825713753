"""What will be done: rows of (what the user wants, what the data is like) and the settings that follow."""

from dataclasses import replace

import pytest

from softvec.affinity.base import Facts
from softvec.core.errors import InputError
from softvec.fit.resolve import FUSED, links_candidates, resolve
from softvec.request import Earlier, Request

# 100 nodes of 6 neighbours each; and of 40
SPARSE = Facts("graph", 100, 100, 600, 3000, True, False, False, 1, links=600, linked=100, squares=3600)
CROWDED = replace(SPARSE, entries=4000, links=4000, squares=160_000)
UNLIKE = replace(SPARSE, unlike=True)
LARGE = replace(SPARSE, n=200_000, m=200_000)
DIRECTED = replace(CROWDED, directed=True)
UNEVEN = replace(CROWDED, weighted=True, weights=(1e-20, 1.0))
WALKED = replace(CROWDED, length=3)
TABLE = Facts("bipartite", 30, 20, 200, 1600, False, links=200, linked=30, squares=1400)
TEXT = Facts("corpus", 50, 50, 900, 7200, True, links=900, linked=50, squares=17_000)
POINTS = Facts("features", 50, 50, 900, 7200, True, links=900, linked=50, squares=17_000)
OPERATOR = Facts("operator", 50, 40, 900, 7200, False)

ENDS_6 = "the end of an edge has 6.0 neighbours on average, fewer than 20"
ENDS_40 = "the end of an edge has 40.0 neighbours on average, at least 20"
OWN = "fused views have settings of their own; leave out "
UNDIRECTED = "fused views are for undirected graphs with one set of vectors"


@pytest.mark.parametrize(
    ("options", "facts", "view", "why"),
    [
        ({}, SPARSE, "walk", ENDS_6),
        ({}, CROWDED, "fused", ENDS_40),
        ({}, UNLIKE, "fused", "unlike nodes are linked, which one walk cannot tell"),
        ({"beta": 4.0}, UNLIKE, "walk", OWN + "beta"),
        ({"n_components": 7}, UNLIKE, "walk", "fused views need at least 8 dimensions"),
        ({"view": "walk"}, CROWDED, "walk", "asked for"),
        ({"view": "fused"}, SPARSE, "fused", "asked for"),
        ({"view": "links"}, CROWDED, "links", "asked for"),
        ({"view": "neighbours"}, CROWDED, "neighbours", "asked for"),
        ({"walk_length": 3}, CROWDED, "walk", "asked for"),
        ({"length": 3}, WALKED, "walk", "asked for"),
        ({"beta": 4.0}, CROWDED, "walk", OWN + "beta"),
        ({"beta": 4.0, "n_epochs": 3}, CROWDED, "walk", OWN + "n_epochs, beta"),
        ({"beta": 4.0}, SPARSE, "walk", ENDS_6),
        ({"shrinkage": 0.1, "scratch": "x", "checkpoint": "y"}, CROWDED, "fused", ENDS_40),
        ({"effort": "fast"}, CROWDED, "power", "a fast fit takes power steps, no epochs"),
        ({"view": "power"}, SPARSE, "power", "a fast fit takes power steps, no epochs"),
        ({"n_components": 7}, CROWDED, "walk", "fused views need at least 8 dimensions"),
        ({"symmetric": False}, CROWDED, "walk", UNDIRECTED),
        ({}, DIRECTED, "walk", UNDIRECTED),
        ({}, UNEVEN, "walk", "fused views need weights that differ by fewer orders of magnitude"),
        ({}, TABLE, "walk", "fused views are for graphs, and this is bipartite data"),
        ({}, TEXT, "walk", "fused views are for graphs, and this is corpus data"),
    ],
)  # fmt: skip
def test_views(options, facts, view, why):
    settings = resolve(Request.of(**options), facts)
    assert (settings.view, settings.origin["view"]) == (view, why)
    assert len(settings.views) == (len(FUSED) if view == "fused" else 0)


@pytest.mark.parametrize(
    ("options", "facts", "values"),
    [
        ({}, SPARSE, {"walk_length": 3, "n_epochs": 16, "beta": 3.0, "shrinkage": 0.5, "base_measure": 0}),
        ({}, replace(SPARSE, links=800), {"beta": 4.0}),
        ({"view": "walk"}, CROWDED, {"beta": 6.0, "shrinkage": 0.5}),
        ({}, CROWDED, {"shrinkage": 0.25, "total_epochs": 21}),
        ({"n_components": 16}, CROWDED, {"total_epochs": 42}),
        ({}, DIRECTED, {"shrinkage": 0, "walk_length": 3}),
        ({"symmetric": False}, DIRECTED, {"walk_length": 1}),
        ({"symmetric": False, "walk_length": 3}, DIRECTED, {"walk_length": 3}),
        ({"n_components": 50}, SPARSE, {"n_epochs": 18}),
        ({"n_components": 8}, SPARSE, {"n_epochs": 20}),
        ({"n_components": 8}, TEXT, {"n_epochs": 30}),
        ({}, DIRECTED, {"n_epochs": 20}),
        ({"constraint": "ball"}, SPARSE, {"shrinkage": 0}),
        ({"symmetric": False}, SPARSE, {"shrinkage": 0, "symmetric": False}),
        ({"shrinkage": None}, SPARSE, {"shrinkage": 0.5}),
        ({"beta": 1.5, "shrinkage": 0.1}, SPARSE, {"beta": 1.5, "n_epochs": 16, "shrinkage": 0.1}),
        ({"walk_length": 1}, SPARSE, {"walk_length": 1}),
        ({"length": 3}, WALKED, {"walk_length": 3}),
        ({"effort": "fast"}, SPARSE, {"walk_length": 1, "n_epochs": 0, "shrinkage": 0.0}),
        ({"view": "power", "shrinkage": 0.5}, SPARSE, {"n_epochs": 0, "shrinkage": 0.5}),
        ({"view": "links"}, SPARSE,
         {"symmetric": False, "base_measure": 1.0, "beta": 6.0, "n_epochs": 60, "walk_length": 1}),
        ({"view": "links"}, SPARSE, {"shrinkage": 0, "normalizer": "edges"}),
        ({"view": "neighbours"}, SPARSE, {"beta": 40.0, "gradient": "full", "normalizer": "near"}),
        ({"view": "links", "normalizer": "mixture"}, SPARSE, {"normalizer": "mixture"}),
        ({"view": "links", "beta": 2.0, "walk_length": 2}, SPARSE, {"beta": 2.0, "walk_length": 2}),
        ({}, TABLE, {"n_epochs": 30}),
        ({}, TABLE, {"symmetric": False, "walk_length": 1, "beta": 4.0, "base_measure": 1.0, "shrinkage": 0}),
        ({}, TEXT, {"walk_length": 1, "beta": 16.0, "base_measure": 0.25, "shrinkage": 0}),
        ({"base_measure": 0}, TEXT, {"base_measure": 0}),
        ({}, POINTS, {"walk_length": 3, "n_epochs": 30, "beta": 6.0}),
        ({}, OPERATOR, {"walk_length": 1, "n_epochs": 30, "shrinkage": 0}),
    ],
)  # fmt: skip
def test_values(options, facts, values):
    settings = resolve(Request.of(**options), facts)
    assert {name: getattr(settings, name) for name in values} == values


def test_each_value_knows_its_origin():
    settings = resolve(Request.of(effort="fast", n_components=64), SPARSE)
    assert dict(settings.origin) == {
        "symmetric": "kind of data", "walk_length": "effort", "n_epochs": "effort", "beta": "kind of data",
        "base_measure": "kind of data", "shrinkage": "effort", "n_components": "user", "effort": "user",
        "view": "a fast fit takes power steps, no epochs",
    }  # fmt: skip


@pytest.mark.parametrize("alone", [True, False])
def test_fits_for_links_sum_over_neighbours_in_one_process(alone):
    candidates = links_candidates(Request.of(view="links"), SPARSE, alone=alone)
    used = {name: settings.normalizer for name, settings in candidates.items()}
    sharp = "edges" if alone else "mixture"
    assert used == {"default": "mixture", "one step": sharp, "two sides": sharp}


@pytest.mark.parametrize("facts", [SPARSE, CROWDED])
def test_an_option_that_is_asked_for_holds_for_all_fits_for_links(facts):
    candidates = links_candidates(Request.of(view="links", normalizer="edges"), facts)
    assert list(candidates) == ["default", "one step", "two sides"]
    assert all(settings.normalizer == "edges" and not settings.views for settings in candidates.values())


def test_two_sides_of_a_directed_graph_take_one_step():
    settings = resolve(Request.of(symmetric=False), DIRECTED)
    assert settings.origin["walk_length"] == "two sets of vectors tell the direction of a step"


def earlier(options, facts, **before):
    return resolve(replace(Request.of(**options), earlier=Earlier(**before)), facts)


def test_an_earlier_fit_gives_its_settings_but_not_over_the_users():
    before = {"parameters": {"beta": 5.5, "shrinkage": 0.2}, "walk_length": 2}
    settings = earlier({}, CROWDED, **before)
    assert (settings.view, settings.beta, settings.shrinkage, settings.walk_length) == ("walk", 5.5, 0.2, 2)
    assert (settings.n_epochs, settings.learning_rate, settings.rounds) == (2, 0.3, 1)
    assert settings.origin["beta"] == settings.origin["walk_length"] == "earlier fit"
    settings = earlier({"beta": 1.0, "walk_length": 1, "n_epochs": 9}, CROWDED, **before)
    assert (settings.beta, settings.walk_length, settings.n_epochs, settings.rounds) == (1.0, 1, 9, 0)


@pytest.mark.parametrize(
    ("options", "facts", "before"),
    [
        ({}, TABLE, {"two_sided": True, "walk_length": 1}),
        ({"n_clusters": 3}, SPARSE, {}),
        ({"constraint": "ball"}, SPARSE, {}),
        ({}, SPARSE, {"parameters": {"normalizer": "exact"}}),
    ],
)
def test_an_update_without_a_closed_form_takes_epochs(options, facts, before):
    settings = earlier(options, facts, **before)
    assert (settings.n_epochs, settings.learning_rate, settings.rounds) == (5, 0.3, 0)


@pytest.mark.parametrize(
    ("options", "facts", "message"),
    [
        ({"view": "fused"}, TEXT, "fused views are for graphs, and this is corpus data"),
        ({"view": "fused"}, DIRECTED, "undirected"),
        ({"view": "fused", "effort": "fast"}, CROWDED, "a fast fit takes power steps, no epochs"),
        ({"effort": "fast", "n_epochs": 5}, SPARSE, "takes power steps, no epochs; leave out n_epochs"),
        ({"view": "power", "checkpoint": "a"}, SPARSE, "takes power steps, no epochs; leave out checkpoint"),
        ({"view": "fused", "beta": 4.0, "tol": 0.1}, CROWDED, "leave out beta, tol"),
        ({"view": "links"}, TEXT, "view='links' is for graphs, and this is corpus data"),
        ({"view": "neighbours"}, TABLE, "view='neighbours' is for graphs, and this is bipartite data"),
        ({"effort": "fast"}, TEXT, "effort='fast' is for graphs, and this is corpus data"),
        ({"walk_length": 2}, TABLE, "does not apply to two-sided data"),
        ({"walk_length": 2}, WALKED, "already has a walk length"),
        ({"shrinkage": 0.5}, OPERATOR, "one set of unit vectors"),
        ({"shrinkage": 0.5, "constraint": "ball"}, SPARSE, "one set of unit vectors"),
        ({"base_measure": 0.5}, OPERATOR, "sizes of columns"),
    ],
)
def test_what_the_data_cannot_have_is_refused(options, facts, message):
    with pytest.raises(InputError, match=message):
        resolve(Request.of(**options), facts)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"view": "fused", "walk_length": 3}, "view='fused' sets its own walks; leave out walk_length"),
        ({"view": "fused", "length": 3}, "sets its own walks"),
        ({"view": "links", "effort": "fast"}, "is a fit of two sides; leave out effort"),
        ({"view": "neighbours", "effort": "fast"}, "is a fit by epochs; leave out effort"),
        ({"view": "links", "symmetric": True}, "is a fit of two sides; leave out symmetric"),
        ({"repeats": 2, "checkpoint": "a"}, "repeats use different seeds"),
        ({"partition": "stream"}, "is for a cluster"),
        ({"repeats": 0}, "repeats is 0"),
        ({"kind": "grahp"}, "kind is 'grahp'"),
        ({"view": "wlak"}, "view is 'wlak'; expected one of auto, walk, fused, links"),
        ({"effort": "slow"}, "effort is 'slow'; expected one of default, fast"),
        ({"walk_length": 0}, "walk_length is 0"),
        ({"n_components": 0}, "n_components is 0"),
        ({"beta": -1}, "beta is -1"),
        ({"base_measure": 3}, "base_measure is 3; expected a power between 0"),
        ({"shrinkage": True}, "shrinkage is True"),
        ({"n_epoch": 3}, "unknown option 'n_epoch'; did you mean 'n_epochs'"),
        ({"min_coutn": 3}, "unknown option 'min_coutn'; did you mean 'min_count'"),
        ({"seed": 3}, "unknown option 'seed'; did you mean 'random_state'"),
        ({"nope": 3}, "unknown option 'nope'"),
    ],
)
def test_the_door_refuses_what_is_unknown_or_contradictory(options, message):
    with pytest.raises(InputError, match=message):
        Request.of(**options)


def test_seeds_of_repeats():
    settings = resolve(Request.of(random_state=5), SPARSE)
    assert [each.random_state for each in settings.repeats(3)] == [5, 6, 7]
    assert [each.random_state for each in replace(settings, random_state=None).repeats(2)] == [None, None]


def test_facts_are_measured_on_the_matrix():
    import numpy as np
    from scipy import sparse

    from softvec.affinity import random_walk

    star = np.zeros((31, 31))
    star[0, 1:] = star[1:, 0] = 1
    facts = random_walk(sparse.csr_array(star), isolated="keep").facts
    assert (facts.kind, facts.n, facts.links, facts.linked) == ("graph", 31, 60, 31)
    assert facts.mean_neighbours == pytest.approx(60 / 31)
    assert facts.ends == pytest.approx(15.5)  # 30 ends with 30 neighbours, 30 with 1
    assert (facts.weights, facts.even_weights, facts.directed) == (None, True, False)
    star[0, 1] = star[1, 0] = 1e-17
    facts = random_walk(sparse.csr_array(star)).facts
    assert facts.weights == (1e-17, 1.0)
    assert not facts.even_weights
