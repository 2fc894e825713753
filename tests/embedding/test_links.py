"""Missing links: probabilities and order against the whole softmax in NumPy."""

import networkx as nx
import numpy as np
import pytest

import softvec
from softvec import Embedding, InputError


def softmax(X, Y, beta, weights=1.0):
    E = np.exp(beta * X.astype(float) @ Y.astype(float).T) * weights
    return E / E.sum(axis=1, keepdims=True)


def calibrated(emb):
    """The whole softmax of a graph's vectors, with the numbers that were calibrated."""
    numbers = emb.provenance["softmax"]
    return softmax(emb.vectors * numbers["weights"], emb.vectors, 1.0, emb.sizes ** numbers["popularity"])


@pytest.fixture(scope="module")
def graph():
    return nx.relabel_nodes(nx.karate_club_graph(), lambda i: f"n{i}")


@pytest.fixture(scope="module")
def emb(graph):
    return softvec.embed(graph, 8, weighted=False, random_state=0)


@pytest.fixture(scope="module")
def two_sides(graph):
    return softvec.embed(graph, 8, weighted=False, random_state=0, view="links")


@pytest.mark.parametrize("view", ["walk", "links"])
def test_overall_against_brute_force(graph, emb, two_sides, view):
    emb = two_sides if view == "links" else emb
    if view == "links":
        P = softmax(emb.vectors, emb.context_vectors, 6.0, emb.sizes)
    else:
        P = calibrated(emb)
    degree = np.array([graph.degree[name] for name in emb])
    expected = degree[:, None] * P + (degree[:, None] * P).T
    names = list(emb)
    want = sorted(
        ((expected[i, j], names[i], names[j]) for i in range(34) for j in range(i + 1, 34)
         if not graph.has_edge(names[i], names[j])),
        reverse=True,
    )[:20]  # fmt: skip
    found = emb.links(20, exclude=graph)
    assert [{link.a, link.b} for link in found] == [{a, b} for _, a, b in want]
    np.testing.assert_allclose([link.expected for link in found], [w for w, _, _ in want], rtol=1e-4)
    for link in found:
        i, j = names.index(link.a), names.index(link.b)
        assert link.probability == pytest.approx(P[i, j], rel=1e-4)
        assert P[i, j] >= P[j, i] * (1 - 1e-6)
        assert link.error == 0


def test_of_one_item(graph, emb):
    P = calibrated(emb)
    found = emb.links(5, item="n33", exclude=graph)
    others = [name for name in emb if name != "n33" and not graph.has_edge("n33", name)]
    row = dict(zip(emb, P[list(emb).index("n33")]))
    assert [link.b for link in found] == sorted(others, key=row.get, reverse=True)[:5]
    assert all(link.a == "n33" for link in found)
    np.testing.assert_allclose(
        [link.probability for link in found], [row[link.b] for link in found], rtol=1e-4
    )


def test_every_form_of_known_pairs(graph, emb, tmp_path):
    nx.write_edgelist(graph, tmp_path / "known.txt", data=False)
    want = emb.links(10, exclude=graph)
    order = list(emb)
    matrix = nx.to_scipy_sparse_array(graph, nodelist=order)
    for known in (list(graph.edges), matrix, tmp_path / "known.txt"):
        assert emb.links(10, exclude=known) == want


def test_estimated_normalisers_have_error_bars(graph, emb, monkeypatch):
    from softvec.embedding import links

    exact = {(link.a, link.b): link for link in emb.links(30, exclude=graph)}
    monkeypatch.setattr(links, "_EXACT", 0)
    from softvec import normalizers

    few = normalizers.ControlVariate
    monkeypatch.setattr(normalizers, "ControlVariate", lambda **options: few(10, n_cells=4, **options))
    found = emb.links(30, exclude=graph)
    both = [link for link in found if (link.a, link.b) in exact]
    assert len(both) > 15
    assert all(link.error > 0 for link in both)
    off = [(link.probability - exact[link.a, link.b].probability) / link.error for link in both]
    assert np.median(np.abs(off)) < 3


def test_two_sided_with_weights():
    """Users and films: the base measure of columns counts, and only what a user has not seen is shown."""
    pairs = [(f"u{i}", f"f{(i * k) % 9}") for i in range(15) for k in (1, 2, 4)]
    emb = softvec.embed(pairs, 4, kind="bipartite", base_measure=0.5, random_state=0)
    weights = emb.extras["weights"]
    P = softmax(emb.vectors, emb.context_vectors, emb.provenance["parameters"]["beta"], weights)
    found = emb.links(3, item="u1", exclude=pairs)
    seen = {film for user, film in pairs if user == "u1"}
    films = emb.context_names.to_list()
    row = dict(zip(films, P[list(emb).index("u1")]))
    assert [link.b for link in found] == sorted(set(films) - seen, key=row.get, reverse=True)[:3]
    np.testing.assert_allclose(
        [link.probability for link in found], [row[link.b] for link in found], rtol=1e-4
    )
    overall = emb.links(10, exclude=pairs)
    assert not {(link.a, link.b) for link in overall} & set(pairs)


def test_base_measure_of_one_kind(graph):
    emb = softvec.embed(graph, 8, weighted=False, base_measure=0.75, random_state=0)
    degree = np.array([graph.degree[name] for name in emb], float)
    P = calibrated(emb)
    expected = degree[:, None] * P + (degree[:, None] * P).T
    names = list(emb)
    for link in emb.links(15, exclude=graph):
        i, j = names.index(link.a), names.index(link.b)
        assert link.probability == pytest.approx(P[i, j], rel=1e-4)
        assert link.expected == pytest.approx(expected[i, j], rel=1e-4)


def test_same_for_any_number_of_threads(graph, emb, monkeypatch):
    from softvec.embedding import links

    monkeypatch.setattr(links, "_ROWS", 5)
    assert emb.links(50, exclude=graph, n_jobs=1) == emb.links(50, exclude=graph, n_jobs=3)


def test_what_is_said(emb):
    with pytest.warns(UserWarning, match="pass exclude="):
        assert len(emb.links(5)) == 5
    with pytest.raises(InputError, match="no known pair"):
        emb.links(5, exclude=[("x", "y")])
    with pytest.raises(InputError, match="beta"):
        Embedding(np.eye(2)).links(1, exclude=[(0, 1)])
    with pytest.raises(InputError, match="n is 0"):
        emb.links(0)


def test_most_similar_without_known_neighbours(graph, emb):
    near = emb.most_similar("n33", n=5, exclude=graph)
    assert not any(graph.has_edge("n33", name) for name, _ in near)
    assert len(near) == 5
    batch = emb.most_similar_batch(["n33", "n0"], n=3, exclude=graph)
    assert batch[0] == [(name, pytest.approx(score)) for name, score in near[:3]]
    assert "n1" not in dict(emb.most_similar("n33", n=33, exclude="n1"))
