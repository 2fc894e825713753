"""Several views of a dense graph, fused."""

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

import softvec
from experiments.generators import dcsbm
from softvec.affinity import random_walk
from softvec.core.errors import InputError
from softvec.core.machine import ALONE, machine
from softvec.evaluate.communities import communities
from softvec.fit.problem import push
from softvec.fit.resolve import FUSED, views_of
from softvec.fit.views import degree_coordinates, neighbours_to_vector, view_operator
from softvec.operators import row_normalize

pytestmark = pytest.mark.filterwarnings("ignore:the normaliser is off")


def two_kinds(n=240, degree=24, seed=0):
    """A graph whose edges join unlike nodes: even with odd numbers."""
    rng = np.random.default_rng(seed)
    A = np.zeros((n, n))
    for i in range(0, n, 2):
        A[i, rng.choice(np.arange(1, n, 2), degree, replace=False)] = 1
    return sparse.csr_array(np.maximum(A, A.T))


@pytest.mark.parametrize("view", FUSED, ids=lambda view: view.name)
def test_the_walk_of_a_view_is_that_of_its_formula(view):
    A = two_kinds(60, 6).toarray()
    degree = A.sum(axis=1)
    if view.two_steps:
        expected = A @ np.diag(degree**-view.damping) @ A
    else:
        P = A / degree[:, None]
        expected = sum(np.linalg.matrix_power(P, t) for t in range(1, view.steps + 1))
    expected /= expected.sum(axis=1, keepdims=True)
    operator = view_operator(sparse.csr_array(A), view)
    np.testing.assert_allclose(operator @ np.eye(60), expected, atol=1e-6)


def test_dense_graphs_are_fused_and_sparse_ones_are_not():
    dense = softvec.embed(two_kinds(), 16, random_state=0)
    assert dense.provenance["parameters"]["view"] == "fused"
    assert dense.vectors.shape == (240, 16)
    sparse_graph = softvec.embed(two_kinds(degree=4), 16, random_state=0)
    assert sparse_graph.provenance["parameters"]["view"] == "walk"


def test_views_of_a_small_dense_graph_are_less_sharp():
    """240 nodes with 24 neighbours: beta is 1.6 log(240 / 24), isolated nodes left out."""
    A = sparse.block_diag([two_kinds(degree=24), sparse.csr_array((500, 500))], format="csr")
    beta = 1.6 * np.log(240 / (A.nnz / 240))
    views = softvec.embed(sparse.csr_array(A), 16, random_state=0).provenance["parameters"]["views"]
    assert [view["beta"] for view in views] == pytest.approx([beta, beta, 32 / 6 * beta], abs=0.01)
    assert views_of(random_walk(two_kinds(2000, 20)).facts, 128) == FUSED
    assert views_of(random_walk(sparse.csr_array(1 - np.eye(9))).facts, 128)[0].beta == 1


def test_few_dimensions_take_more_epochs():
    facts = random_walk(two_kinds()).facts
    epochs = {d: [view.n_epochs for view in views_of(facts, d)] for d in (16, 32, 64, 512)}
    assert epochs[64] == epochs[512] == [view.n_epochs for view in FUSED]
    assert epochs[16] == [2 * view.n_epochs for view in FUSED]
    assert sum(epochs[32]) == len(softvec.embed(two_kinds(300, 40), 32).provenance["history"]["epoch"])


def test_views_are_chosen_by_the_neighbours_at_the_ends_of_edges():
    """A star of 30 leaves: its ends have 30 and 1 neighbours, 15.5 on average, and a node has 1.9."""
    star = np.zeros((31, 31))
    star[0, 1:] = star[1:, 0] = 1
    assert random_walk(sparse.csr_array(star)).facts.ends == pytest.approx(15.5)
    emb = softvec.embed(sparse.csr_array(star), 8, random_state=0)
    assert emb.provenance["view"]["chosen"] == "walk"
    assert "15.5 neighbours on average, fewer than 20" in emb.provenance["view"]["why"]
    star = np.pad(star, (0, 40))
    star[0, 1:] = star[1:, 0] = 1
    assert softvec.embed(sparse.csr_array(star), 8, random_state=0).provenance["view"]["chosen"] == "fused"


def test_fused_views_keep_the_communities_of_a_block_model():
    """Degrees are unequal; short vectors of few neighbours must not become a group of their own."""
    A, labels, _ = dcsbm(2000, c=20, q=3, alpha=2.5, random_state=0)
    linked = np.diff(A.indptr) > 0
    nmi = {}
    for view in ("walk", "fused"):
        X = softvec.embed(A, 32, kind="graph", view=view, random_state=0).vectors
        nmi[view] = communities(X, np.where(linked, labels, -1), n_init=4, random_state=0)["nmi"]
    assert nmi["fused"] > nmi["walk"] - 0.02


@pytest.mark.parametrize("options", [{"beta": 4.0}, {"walk_length": 1}, {"n_epochs": 3}, {"view": "walk"}])
def test_an_option_of_a_single_fit_asks_for_the_walk(options):
    emb = softvec.embed(two_kinds(), 16, random_state=0, **options)
    assert emb.provenance["parameters"]["view"] == "walk"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beta": 4.0}, "leave out beta"),
        ({"walk_length": 1}, "leave out walk_length"),
        ({"symmetric": False}, "undirected"),
        ({"n_components": 4}, "8 dimensions"),
    ],
)
def test_what_views_cannot_do_is_said(options, message):
    with pytest.raises(InputError, match=message):
        softvec.embed(two_kinds(), **{"n_components": 16, "view": "fused", **options})


def test_fused_vectors_have_the_same_bits_for_any_number_of_threads():
    A = two_kinds(3000, 20)
    first, second = (softvec.embed(A, 16, random_state=3, n_jobs=jobs).vectors for jobs in (1, 2))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, softvec.embed(A, 16, random_state=4).vectors)


def test_unlike_neighbours_are_told_apart():
    """Nodes of one kind share their neighbours' kind: the two kinds separate although no edge joins likes."""
    X = softvec.embed(two_kinds(), 16, random_state=0, view="fused").vectors
    kinds = [X[kind::2].mean(axis=0) for kind in (0, 1)]
    axis = kinds[0] - kinds[1]
    assert ((X @ axis > (kinds[0] + kinds[1]) @ axis / 2) == (np.arange(240) % 2 == 0)).mean() > 0.99


def test_a_push_is_a_product_centred_and_normalised():
    A = two_kinds()
    P = view_operator(A, FUSED[1])
    dense = A.toarray().astype(float)
    walk = dense / dense.sum(axis=1, keepdims=True)
    X = np.random.default_rng(0).standard_normal((A.shape[0], 8))
    expected = (walk + walk @ walk) / 2 @ X
    expected -= expected.mean(axis=0)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    with machine(1) as pool:
        np.testing.assert_allclose(push(P, X.copy(), 1, 0, pool), expected, atol=1e-10)


def test_isolated_nodes_have_no_vector():
    A = sparse.block_diag([two_kinds(), sparse.csr_array((3, 3))], format="csr")
    for options in ({}, {"effort": "fast"}):
        emb = softvec.embed(sparse.csr_array(A), 16, random_state=0, isolated="keep", **options)
        assert not emb.vectors[-3:].any()
        assert (np.linalg.norm(emb.vectors[:-3], axis=1) > 0).all()


def test_degree_coordinates():
    degree = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 3.0])
    C = degree_coordinates(degree, 0.1)
    np.testing.assert_allclose(C.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(C.std(axis=0), 0.1, rtol=1e-5)
    assert abs(C[:, 0] @ C[:, 1]) < 1e-6
    assert np.all(np.diff(C[np.argsort(degree), 0]) > 0)
    np.testing.assert_allclose(degree_coordinates(degree[2:4], 0.1, degree), C[2:4], rtol=1e-5)
    assert not degree_coordinates(np.full(5, 3.0), 0.1).any()


def test_degrees_vary_less_than_the_leading_axes():
    A = two_kinds(400, 12) + two_kinds(400, 12, seed=1)  # weights 1 and 2
    emb = softvec.embed(A, 16, random_state=0, view="fused")
    spread = np.sqrt(np.mean(emb.vectors**2, axis=0))
    assert np.all(np.diff(spread[:14]) < 1e-3)
    np.testing.assert_allclose(spread[14:], 0.5 * spread[2], rtol=1e-3)


def test_the_map_from_neighbours_is_least_squares():
    A = two_kinds(80, 10)
    X = np.random.default_rng(0).standard_normal((80, 5)).astype(np.float32)
    M = neighbours_to_vector(row_normalize(A), X, ALONE)
    G = (A / A.sum(axis=1)[:, None]) @ X
    best = np.linalg.lstsq(np.asarray(G), X, rcond=None)[0]
    assert np.linalg.norm(M - best) < 0.1 * np.linalg.norm(best)


def test_new_items_of_fused_vectors_lie_with_their_kind():
    emb = softvec.embed(two_kinds(), 16, random_state=0)
    more = emb.add({"even": list(range(1, 60, 2)), "odd": list(range(0, 60, 2))})
    kinds = [emb.vectors[kind::2].mean(axis=0) for kind in (0, 1)]
    axis = kinds[0] - kinds[1]
    middle = (kinds[0] + kinds[1]) @ axis / 2
    assert more["even"] @ axis > middle > more["odd"] @ axis
    np.testing.assert_array_equal(more.vectors[:240], emb.vectors)


def test_each_view_is_diagnosed_by_name():
    A = two_kinds()
    emb = softvec.embed(A, 16, random_state=0)
    diagnoses = emb.provenance["diagnosis"]["views"]
    assert list(diagnoses) == [view.name for view in FUSED]
    for name, diagnosis in diagnoses.items():
        gap = diagnosis["exact_loss"] - diagnosis["approximate_loss"]
        assert abs(gap) <= diagnosis["log_z_error_max"] + 1e-6, name
    # two steps at the highest beta are the ones whose normaliser is off
    assert max(diagnoses, key=lambda name: diagnoses[name]["log_z_error_median"]) == "pairs"


def test_fused_vectors_survive_a_file(tmp_path):
    emb = softvec.embed(two_kinds(), 16, random_state=0)
    emb.save(tmp_path / "a.svec")
    again = softvec.Embedding.load(tmp_path / "a.svec")
    new = {"new": [1, 3, 5]}
    np.testing.assert_array_equal(again.add(new).vectors, emb.add(new).vectors)


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (two_kinds(), {"effort": "slow"}, "effort"),
        (two_kinds(), {"effort": "fast", "view": "fused"}, "a fast fit takes power steps"),
        (["a b c", "b c d"], {"effort": "fast", "kind": "corpus", "min_count": 1}, "for graphs"),
    ],
)
def test_what_less_effort_cannot_do_is_said(data, options, message):
    with pytest.raises(InputError, match=message):
        softvec.embed(data, 8, random_state=0, **options)


def test_the_view_of_neighbours_keeps_them():
    """Where an item's k neighbours are its k nearest: a random regular graph, which has no groups."""
    A = nx.to_scipy_sparse_array(nx.random_regular_graph(6, 400, seed=1), dtype=float)
    recall = {}
    for view in ("neighbours", "walk"):
        X = softvec.embed(A, 64, kind="graph", view=view, random_state=0).vectors
        X = X / np.linalg.norm(X, axis=1, keepdims=True)
        cosines = X @ X.T - 2 * np.eye(400)
        nearest = np.argsort(-cosines, axis=1)[:, :6]
        recall[view] = np.mean(np.take_along_axis(A.toarray(), nearest, axis=1))
    assert recall["neighbours"] > 0.95 > recall["walk"]
