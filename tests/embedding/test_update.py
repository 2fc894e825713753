"""Alignment by rotation, and fits that go on from an embedding."""

import networkx as nx
import numpy as np
import pytest

import softvec
from softvec import Embedding, InputError


def rotation(d, seed):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]


def changed(graph, seed=0, share=0.01):
    """A copy of a graph with some edges moved."""
    rng, new = np.random.default_rng(seed), graph.copy()
    edges, nodes = list(new.edges), list(new.nodes)
    for at in rng.choice(len(edges), max(1, int(share * len(edges))), replace=False):
        new.remove_edge(*edges[at])
        new.add_edge(nodes[rng.integers(len(nodes))], nodes[rng.integers(len(nodes))])
    return new


@pytest.fixture(scope="module")
def graph():
    graph = nx.stochastic_block_model([60, 60, 60], 0.2 * np.eye(3) + 0.01, seed=0)
    return nx.relabel_nodes(nx.Graph(graph.edges), lambda i: f"n{i}")


@pytest.fixture(scope="module")
def emb(graph):
    return softvec.embed(graph, 16, random_state=0)


def exact_loss(emb, graph):
    """Cross-entropy of the exact softmax, in NumPy alone."""
    A = nx.to_numpy_array(graph, nodelist=list(emb), weight=None)
    np.fill_diagonal(A, 0)
    W = A / np.maximum(A.sum(axis=1, keepdims=True), 1)
    P = (W + W @ W + W @ W @ W) / 3
    X = emb.vectors / np.linalg.norm(emb.vectors, axis=1, keepdims=True)
    S = emb.provenance["parameters"]["beta"] * X.astype(float) @ X.T
    return np.mean(np.log(np.exp(S).sum(axis=1)) - (P * S).sum(axis=1))


def test_align_undoes_a_rotation(emb):
    order = np.random.default_rng(1).permutation(len(emb))[:50]
    turned = Embedding(emb.vectors[order] @ rotation(16, 0), emb.names.take(order))
    back = turned.align(emb)
    np.testing.assert_allclose(back.vectors, emb.vectors[order], atol=1e-5)
    np.testing.assert_allclose(turned.vectors @ turned.vectors.T, back.vectors @ back.vectors.T, atol=1e-5)
    assert back.names == turned.names


def test_align_two_sides():
    rng, R = np.random.default_rng(0), rotation(3, 1)
    old = Embedding(rng.normal(size=(4, 3)), context_vectors=rng.normal(size=(5, 3)))
    new = Embedding(old.vectors @ R, context_vectors=old.context_vectors @ R)
    np.testing.assert_allclose(new.align(old).context_vectors, old.context_vectors, atol=1e-5)


def test_align_refuses():
    with pytest.raises(InputError, match="no name in common"):
        Embedding(np.eye(2), ["a", "b"]).align(Embedding(np.eye(2), ["c", "d"]))
    with pytest.raises(InputError, match="dimensions"):
        Embedding(np.eye(2)).align(Embedding(np.eye(3)))


def test_update_reaches_the_loss_of_a_new_fit(graph, emb):
    later = changed(graph)
    fresh = softvec.embed(later, 16, random_state=1)
    update = softvec.embed(later, init=emb, random_state=1)
    before, after, aim = (exact_loss(one, later) for one in (emb, update, fresh))
    assert after < before
    assert after < aim * 1.01  # fits of this graph from other seeds differ by as much
    common = [name for name in update if name in emb]
    cosines = (
        np.einsum("ij,ij->i", update[common], emb[common])
        / np.linalg.norm(update[common], axis=1)
        / np.linalg.norm(emb[common], axis=1)
    )
    assert np.median(cosines) > 0.95  # the old frame: a fresh fit would be at 0


def test_update_with_new_and_lost_nodes(graph, emb):
    later = graph.copy()
    later.remove_node("n3")
    later.add_edges_from([("new", "n1"), ("new", "n2"), ("newer", "new"), ("alone", "alone2")])
    update = softvec.embed(later, init=emb, random_state=0)
    assert "n3" not in update
    assert {"new", "newer", "alone"} <= set(update)
    assert update.similarity("new", "n1") > 0.3
    assert update.provenance["parameters"]["beta"] == emb.provenance["parameters"]["beta"]
    assert update.provenance["data"]["options"]["length"] == 3
    assert np.isfinite(update.vectors).all()


@pytest.mark.parametrize(
    "options",
    [{"n_epochs": 3}, {"n_clusters": 2}, {"constraint": "ball", "shrinkage": 0}, {"gradient": "full"}],
)
def test_update_by_epochs(graph, emb, options):
    update = softvec.embed(changed(graph), init=emb, random_state=0, **options)
    assert len(update.provenance["history"]["loss"]) == options.get("n_epochs", 5)


def test_update_of_two_sides():
    pairs = [(f"u{i}", f"v{(i * j) % 7}") for i in range(20) for j in range(1, 4)]
    emb = softvec.embed(pairs, 4, kind="bipartite", random_state=0)
    update = softvec.embed([*pairs, ("new", "v1"), ("u1", "w")], init=emb, kind="bipartite", random_state=0)
    assert "new" in update
    assert "w" in update.context


def test_update_has_the_same_bits_for_any_number_of_threads(graph, emb):
    one, three = (softvec.embed(changed(graph), init=emb, random_state=0, n_jobs=k) for k in (1, 3))
    np.testing.assert_array_equal(one.vectors, three.vectors)


def test_update_refuses(graph, emb):
    with pytest.raises(InputError, match="dimensions of init"):
        softvec.embed(graph, 8, init=emb)
    with pytest.raises(InputError, match="no name in common"):
        softvec.embed([("a", "b"), ("b", "c")], init=emb)


def test_rounds_settle_on_a_graph_of_two_sides():
    """All rows at once, the whole way, would swap the sides of a star or a bipartite graph for ever."""
    graph = nx.complete_bipartite_graph(10, 12)
    emb = softvec.embed(graph, 4, walk_length=1, beta=1.0, random_state=0)
    graph.remove_edge(0, 11)
    update = softvec.embed(graph, init=emb, random_state=0)
    again = softvec.embed(graph, init=update, random_state=0)
    assert np.mean(np.einsum("ij,ij->i", update.vectors, again.vectors)) > 0.8 * np.mean(
        np.einsum("ij,ij->i", update.vectors, update.vectors)
    )


def test_alignment_says_how_well_it_went(emb, graph):
    turned = emb._with(vectors=emb.vectors @ rotation(16, 1))
    assert turned.align(emb).provenance["alignment"] == {"names": len(emb), "cosine": 1.0}
    other = Embedding(np.random.default_rng(0).normal(size=emb.shape), emb.names)
    with pytest.warns(UserWarning, match=r"mean cosine of 0\.\d\d with the other vectors.*init=other"):
        result = other.align(emb)
    unit = [X / np.linalg.norm(X, axis=1, keepdims=True) for X in (result.vectors, emb.vectors)]
    expected = np.mean(np.sum(unit[0] * unit[1], axis=1))
    assert result.provenance["alignment"]["cosine"] == pytest.approx(expected, abs=1e-3)
    continued = softvec.embed(changed(graph), random_state=0, init=emb)
    assert continued.provenance["alignment"]["cosine"] > 0.9
