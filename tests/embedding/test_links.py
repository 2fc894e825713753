"""Missing links: probabilities and order against the whole softmax in NumPy."""

import networkx as nx
import numpy as np
import pytest

import softvec
from softvec import Embedding, InputError
from softvec.fit.link_softmax import Softmax

pytestmark = [
    pytest.mark.filterwarnings("ignore:these vectors predict hidden links no better"),
    pytest.mark.filterwarnings("ignore:the normaliser is off"),
]


def unit(X):
    return X.astype(float) / np.linalg.norm(X, axis=1, keepdims=True)


def expectations(emb, known, share=0.1, same=True, both=True):
    """The expected links of all pairs, from the three numbers that were calibrated."""
    numbers = emb.provenance["softmax"]
    X = unit(emb.vectors)
    Y = X if emb.context_vectors is None else unit(emb.context_vectors)
    degree, size = known.sum(axis=1), np.maximum(known.sum(axis=0), 0.5)
    weights = np.exp(numbers["cosine"] * X @ Y.T) * size ** numbers["popularity"]
    weights[known] = 0
    if same:
        np.fill_diagonal(weights, 0)
    degree = degree.astype(float) ** numbers["activity"]
    degree *= known.sum() / degree.sum()
    expected = share / (1 - share) * degree[:, None] * weights / weights.sum(axis=1, keepdims=True)
    return (expected + expected.T) / 2 if both else expected


@pytest.fixture(scope="module")
def graph():
    return nx.relabel_nodes(nx.karate_club_graph(), lambda i: f"n{i}")


@pytest.fixture(scope="module")
def emb(graph):
    return softvec.embed(graph, 8, weighted=False, random_state=0).calibrate(graph, weighted=False)


@pytest.mark.parametrize("options", [{}, {"symmetric": False}, {"base_measure": 0.75}, {"view": "fused"}])
def test_overall_against_brute_force(graph, options):
    emb = softvec.embed(graph, 8, weighted=False, random_state=0, **options).calibrate(graph, weighted=False)
    names = list(emb)
    known = nx.to_numpy_array(graph, nodelist=names, weight=None) > 0
    expected = expectations(emb, known)
    want = sorted(
        (
            (expected[i, j], names[i], names[j])
            for i in range(34)
            for j in range(i + 1, 34)
            if not known[i, j]
        ),
        reverse=True,
    )[:20]
    found = emb.links(20, exclude=graph)
    assert [{link.a, link.b} for link in found] == [{a, b} for _, a, b in want]
    np.testing.assert_allclose([link.expected for link in found], [w for w, _, _ in want], rtol=1e-4)
    np.testing.assert_allclose(
        [link.probability for link in found], [1 - np.exp(-w) for w, _, _ in want], rtol=1e-4
    )


def test_of_one_item(graph, emb):
    names = list(emb)
    known = nx.to_numpy_array(graph, nodelist=names, weight=None) > 0
    row = dict(zip(names, expectations(emb, known)[names.index("n33")]))
    found = emb.links(5, item="n33", exclude=graph)
    others = [name for name in names if name != "n33" and not graph.has_edge("n33", name)]
    assert [link.b for link in found] == sorted(others, key=row.get, reverse=True)[:5]
    assert all(link.a == "n33" for link in found)
    np.testing.assert_allclose([link.expected for link in found], [row[link.b] for link in found], rtol=1e-4)


def test_a_link_is_one_in_both_directions_and_none_is_counted_twice(graph, emb):
    """All missing links together are a tenth of all links, whatever their order."""
    every = emb.links(34 * 34, exclude=graph)
    assert len(every) == 34 * 33 // 2 - 78
    assert sum(link.expected for link in every) == pytest.approx(78 / 9, rel=0.02)
    fewer = emb.links(34 * 34, exclude=graph, missing=0.01)
    assert [link[:2] for link in fewer] == [link[:2] for link in every]
    assert fewer[0].expected == pytest.approx(every[0].expected * 9 / 99, rel=1e-4)


def test_links_calibrate_by_themselves(graph, emb):
    plain = softvec.embed(graph, 8, weighted=False, random_state=0)
    assert plain.provenance["softmax"] is None
    assert plain.links(5, exclude=graph) == emb.links(5, exclude=graph)


def test_a_saved_calibration_is_used(emb, graph, tmp_path):
    emb.save(tmp_path / "k.svec")
    again = Embedding.load(tmp_path / "k.svec")
    assert again.links(5, exclude=graph) == emb.links(5, exclude=graph)


def test_vectors_from_a_file_are_calibrated_like_new_ones(emb, graph, tmp_path):
    softvec.embed(graph, 8, weighted=False, random_state=0).save(tmp_path / "k.svec")
    again = Embedding.load(tmp_path / "k.svec").calibrate(graph, weighted=False)
    assert again.provenance["softmax"] == emb.provenance["softmax"]


def test_every_form_of_known_pairs(graph, emb, tmp_path):
    nx.write_edgelist(graph, tmp_path / "known.txt", data=False)
    want = emb.links(10, exclude=graph)
    order = list(emb)
    matrix = nx.to_scipy_sparse_array(graph, nodelist=order)
    for known in (list(graph.edges), matrix, tmp_path / "known.txt"):
        assert emb.links(10, exclude=known) == want


def test_users_and_films():
    """Only what a user has not seen is shown; links have a direction."""
    pairs = [(f"u{i}", f"f{(i * k) % 9}") for i in range(15) for k in (1, 2, 4)]
    emb = softvec.embed(pairs, 4, kind="bipartite", base_measure=0.5, random_state=0).calibrate(pairs)
    users, films = list(emb), emb.context_names.to_list()
    known = np.zeros((len(users), len(films)), bool)
    for user, film in pairs:
        known[users.index(user), films.index(film)] = True
    row = dict(zip(films, expectations(emb, known, same=False, both=False)[users.index("u1")]))
    found = emb.links(3, item="u1", exclude=pairs)
    seen = {film for user, film in pairs if user == "u1"}
    assert [link.b for link in found] == sorted(set(films) - seen, key=row.get, reverse=True)[:3]
    np.testing.assert_allclose([link.expected for link in found], [row[link.b] for link in found], rtol=1e-4)
    assert not {link[:2] for link in emb.links(10, exclude=pairs)} & set(pairs)


def test_no_link_is_proposed_within_a_side():
    graph = nx.bipartite.random_graph(30, 20, 0.2, seed=1)
    graph.add_edges_from((a + 100, b + 100) for a, b in nx.cycle_graph(4).edges)
    emb = softvec.embed(graph, 8, random_state=0)
    found = emb.links(2000, exclude=graph)
    assert all((link.a < 30) != (link.b < 30) for link in found if link.a < 100)
    assert all((link.a < 100) == (link.b < 100) for link in found)
    assert len(found) > 400


def test_links_of_a_directed_graph_have_a_direction():
    """Three groups in a ring: links lead from each to the next, never back."""
    forward = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        i, j = rng.integers(0, 30, (2, 700))
        group = rng.integers(0, 3, 700).tolist()
        edges = {(f"{g}.{a}", f"{(g + 1) % 3}.{b}") for g, a, b in zip(group, i.tolist(), j.tolist())}
        edges = sorted(edges)
        emb = softvec.embed(edges, 4, directed=True, view="links", random_state=0).calibrate(edges)
        assert emb.provenance["softmax"]["nats_gained"] > 0.5
        found = emb.links(60, exclude=edges)
        forward += [(int(link.a[0]) + 1) % 3 == int(link.b[0]) for link in found]
    assert np.mean(forward) > 0.95
    with pytest.raises(InputError, match="direction"):
        softvec.embed(edges, 16, directed=True, random_state=0).links(5, exclude=edges)


def test_same_for_any_number_of_threads(graph, emb, monkeypatch):
    from softvec.embedding import links

    monkeypatch.setattr(links, "_BLOCK", 5 * 34)
    assert emb.links(50, exclude=graph, n_jobs=1) == emb.links(50, exclude=graph, n_jobs=3)


def test_a_node_that_is_linked_to_everything_has_no_missing_link():
    graph = nx.star_graph(12)
    graph.add_edges_from((i, i % 12 + 1) for i in range(1, 13))
    emb = softvec.embed(graph, 4, random_state=0)
    found = emb.links(200, exclude=graph)
    assert all(0 not in link[:2] for link in found)
    assert all(np.isfinite(link.expected) for link in found)
    assert emb.links(5, item=0, exclude=graph) == []


@pytest.mark.filterwarnings("default:these vectors predict hidden links no better")
def test_links_say_where_popularity_does_as_well():
    graph = nx.gnm_random_graph(300, 900, seed=3)
    emb = softvec.embed(graph, 16, random_state=0)
    with pytest.warns(UserWarning, match="no better than popularity"):
        emb.links(5, exclude=graph)


def test_what_is_said(emb, graph):
    with pytest.raises(InputError, match="links need the known ones"):
        emb.links(5)
    with pytest.raises(InputError, match="no known pair"):
        emb.links(5, exclude=[("x", "y")])
    with pytest.raises(InputError, match="unknown kind"):
        Embedding(np.eye(2)).links(1, exclude=[(0, 1)])
    with pytest.raises(InputError, match="n is 0"):
        emb.links(0, exclude=graph)
    with pytest.raises(InputError, match="missing is 1"):
        emb.links(5, exclude=graph, missing=1)
    with pytest.raises(InputError, match="corpus data"):
        softvec.embed(["a b c a", "b c d a"] * 5, 2, min_count=1, random_state=0).links(
            3, exclude=[("a", "b")]
        )
    path = nx.path_graph(9)
    with pytest.raises(InputError, match="cut the data in two"):
        softvec.embed(path, 2, random_state=0).links(3, exclude=path)


def test_a_row_of_zeros_keeps_a_cosine_of_zero():
    model = Softmax.of(
        np.zeros((3, 2)), None, nx.to_scipy_sparse_array(nx.path_graph(3)), same=True, mutual=True
    )
    assert not model.X.any()


def test_nothing_is_missing_in_a_complete_graph():
    graph = nx.complete_graph(5)
    emb = softvec.embed(graph, 2, random_state=0)
    with pytest.warns(UserWarning, match="no links are missing") as told:
        assert emb.links(exclude=graph) == []
    assert len(told) == 1


@pytest.mark.parametrize("options", [{}, {"symmetric": False}])
def test_an_isolated_node_has_no_links_and_no_neighbours(graph, options):
    alone = graph.copy()
    alone.add_nodes_from(["alone", "too"])
    emb = softvec.embed(alone, 8, weighted=False, random_state=0, **options).calibrate(alone, weighted=False)
    assert emb.links(3, item="alone", exclude=alone) == []
    ends = {end for link in emb.links(2000, exclude=alone) for end in link[:2]}
    assert ends == set(graph)
    assert {link.b for link in emb.links(100, item="n9", exclude=alone)} == {*graph} - {"n9", *graph["n9"]}
    assert emb.most_similar("alone") == emb.most_similar(["n0"], ["n0"]) == []
    for rank in ("auto", "cosine"):
        many = emb.most_similar_batch(["alone", "n0"], n=50, rank=rank)
        assert many[0] == []
        assert {name for name, _ in many[1]} == {*graph} - {"n0"}


def test_most_similar_without_known_neighbours(graph, emb):
    near = emb.most_similar("n33", n=5, exclude=graph)
    assert not any(graph.has_edge("n33", name) for name, _ in near)
    assert len(near) == 5
    batch = emb.most_similar_batch(["n33", "n0"], n=3, exclude=graph)
    assert batch[0] == [(name, pytest.approx(score)) for name, score in near[:3]]
    assert "n1" not in dict(emb.most_similar("n33", n=33, exclude="n1"))
