"""Leading axes of matrices and graphs against exact ones, and whether unlike nodes are linked."""

import networkx as nx
import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import cosine_similarity

import softvec
from softvec.affinity.spectrum import (
    agreement_of_steps,
    area,
    axes_of_graph,
    hide_edges,
    leading_axes,
    two_sides,
    unlike_linked,
)
from softvec.evaluate import node_classification


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def matrix(graph):
    return sparse.csr_array(nx.to_scipy_sparse_array(graph), dtype=bool)


def blocks(size, *rows, seed=0):
    return nx.stochastic_block_model([size] * len(rows), rows, seed=seed)


PAIRS = blocks(150, (0.005, 0.06), (0.06, 0.005))
# nodes of the third block are linked to each other
THREE = blocks(100, (0.002, 0.08, 0.002), (0.08, 0.002, 0.002), (0.002, 0.002, 0.08))


def test_axes_are_the_leading_singular_vectors(rng):
    F = rng.standard_normal((90, 5)) @ rng.standard_normal((5, 40)) + 0.01 * rng.standard_normal((90, 40))
    V = leading_axes(sparse.csr_array(F), 5, rng)
    exact = np.linalg.svd(F)[2][:5].T
    np.testing.assert_allclose(np.linalg.svd(V.T @ exact)[1], 1, atol=1e-3)
    assert np.array_equal(leading_axes(F, 40, rng), np.eye(40))
    low = rng.standard_normal((90, 3)) @ rng.standard_normal((3, 40))  # fewer axes than asked for
    V = leading_axes(sparse.csr_array(low), 10, rng)
    assert np.isfinite(V).all()
    np.testing.assert_allclose(np.linalg.svd(V[:, :3].T @ np.linalg.svd(low)[2][:3].T)[1], 1, atol=1e-3)


def test_steps_agree_where_like_nodes_are_linked_and_alternate_where_unlike_ones_are():
    assert agreement_of_steps(matrix(PAIRS)) < 0
    assert agreement_of_steps(matrix(nx.connected_caveman_graph(30, 6))) > 0.5
    sides = nx.complete_bipartite_graph(
        20, 20
    )  # regular: the mean is taken out, and then one eigenvalue is left
    assert agreement_of_steps(matrix(sides)) == pytest.approx(-1, abs=1e-3)


def test_products_of_nodes_are_the_third_power_of_the_walk(rng):
    A = nx.to_numpy_array(nx.cubical_graph())
    A[0, 1] = A[1, 0] = 3
    X, signs = axes_of_graph(sparse.csr_array(A), rng)
    scale = (A.sum(axis=1) + A.sum(axis=1).mean()) ** -0.5
    walk = scale[:, None] * A * scale
    np.testing.assert_allclose((X * signs) @ X.T, walk @ walk @ walk, atol=1e-6)


def test_the_area_is_that_of_scikit_learn(rng):
    X, Y, (u, v, other) = (
        rng.standard_normal((9, 3)),
        rng.standard_normal((9, 3)),
        rng.integers(0, 9, (3, 40)),
    )
    C = cosine_similarity(X, Y)
    truth = roc_auc_score(np.repeat([1, 0], 40), np.concatenate([C[u, v], C[u, other]]))
    assert area(X, Y, u, v, other) == pytest.approx(truth)


def test_hidden_edges_are_missing_from_the_rest(rng):
    A = matrix(nx.gnp_random_graph(200, 0.05, seed=0))
    rest, (u, v, other) = hide_edges(A, rng)
    assert 0.15 < len(u) / (A.nnz / 2) < 0.25
    assert A[u, v].all()
    assert not rest[u, v].any()
    assert not abs(rest - rest.T).nnz
    assert rest.nnz == A.nnz - 2 * len(u)
    assert np.array_equal(np.sort(v), np.sort(other))


@pytest.mark.parametrize("graph", [PAIRS, THREE])
def test_unlike_nodes_are_told(graph):
    assert unlike_linked(matrix(graph))


@pytest.mark.parametrize(
    "graph",
    [
        blocks(150, (0.06, 0.005), (0.005, 0.06)),
        nx.gnp_random_graph(400, 0.02, seed=0),
        nx.barabasi_albert_graph(500, 3, seed=0),
        nx.random_regular_graph(6, 300, seed=0),
        nx.watts_strogatz_graph(300, 6, 0.1, seed=0),
        nx.random_labeled_tree(400, seed=0),
        nx.connected_caveman_graph(30, 6),
        nx.les_miserables_graph(),
        nx.karate_club_graph(),
        nx.davis_southern_women_graph(),  # two sides
        nx.grid_2d_graph(20, 20),
        nx.empty_graph(5),
    ],
)
def test_nothing_is_told_where_like_nodes_are_linked_or_any(graph):
    assert not unlike_linked(matrix(graph))


@pytest.mark.parametrize("options", [{}, {"effort": "fast"}])
@pytest.mark.parametrize("graph", [PAIRS, THREE])
def test_vectors_tell_groups_whose_nodes_are_linked_to_others(graph, options):
    emb = softvec.embed(graph, 32, random_state=0, **options)
    labels = {node: graph.nodes[node]["block"] for node in graph}
    assert node_classification(emb, labels, ratios=(0.5,))[0.5]["micro_f1"] > 0.9


def test_two_sides_are_found_where_there_are_two():
    graph = nx.complete_bipartite_graph(6, 7)
    side, opposite = two_sides(matrix(graph))
    assert len(set(side[:6])) == len(set(side[6:])) == 1
    assert side[0] == opposite[6]
    assert side[0] != side[6]
    graph.add_edge(0, 1)
    assert two_sides(matrix(graph)) is None
    tree = nx.balanced_tree(2, 5)  # two-colourable, but any two of its nodes may be linked
    assert two_sides(matrix(tree)) is None
