"""Embedding: lookup, neighbours against brute force, groups, maps, immutability, messages."""

import numpy as np
import pytest

from softvec.api import embed
from softvec.core.errors import InputError
from softvec.embedding import Embedding, search
from softvec.names import Names


@pytest.fixture
def emb():
    rng = np.random.default_rng(0)
    return Embedding(
        rng.standard_normal((50, 8)),
        [f"n{i}" for i in range(50)],
        provenance={"parameters": {"beta": np.float32(4)}, "history": [{"loss": np.float64(1.5)}]},
    )


def brute_force(Q, V, n):
    """Cosines in float64, sorted by score then row."""
    C = (Q / np.linalg.norm(Q, axis=1)[:, None]) @ (V / np.linalg.norm(V, axis=1)[:, None]).T
    order = np.argsort(-C, axis=1, kind="stable")[:, :n]
    return order, np.take_along_axis(C, order, axis=1)


@pytest.mark.parametrize(("q", "m", "n"), [(1, 7, 3), (5, 100, 10), (300, 1000, 10), (2, 40, 40), (3, 9, 20)])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_exact_search_equals_brute_force(monkeypatch, q, m, n, n_jobs):
    monkeypatch.setattr(search, "ROWS", 16)  # many blocks, a remainder, several parts
    monkeypatch.setattr(search, "QUERIES", 7)
    rng = np.random.default_rng(q * m)
    Q, V = rng.standard_normal((q, 6)), rng.standard_normal((m, 6)).astype(np.float32)
    rows, scores = search.exact_nearest(Q, V, n, n_jobs=n_jobs)
    want_rows, want_scores = brute_force(Q, V, n)
    np.testing.assert_array_equal(rows, want_rows)
    np.testing.assert_allclose(scores, want_scores, atol=1e-6)


def test_ties_go_to_the_lowest_row(monkeypatch):
    monkeypatch.setattr(search, "ROWS", 300)
    V = np.tile(np.eye(2, dtype=np.float32), (500, 1))  # rows 0, 2, 4, ... are equal
    rows, _ = search.exact_nearest(V[:1], V, 5)
    assert rows.tolist() == [[0, 2, 4, 6, 8]]


def test_zero_vectors_have_cosine_zero():
    rows, scores = search.exact_nearest(np.eye(2), np.array([[0.0, 0], [-1, 0], [1, 1]]), 3)
    assert rows[0].tolist() == [2, 0, 1]
    np.testing.assert_allclose(scores[0], [2**-0.5, 0, -1], atol=1e-6)


def test_nan_vectors_are_refused_in_search():
    with pytest.raises(InputError, match="NaN"):
        search.exact_nearest(np.eye(2), np.array([[np.nan, 0], [1, 1]]), 2)


def test_lookup(emb):
    assert len(emb) == 50
    assert emb.shape == (50, 8)
    assert "n3" in emb
    assert 3 not in emb
    assert next(iter(emb)) == "n0"
    np.testing.assert_array_equal(emb["n3"], emb.vectors[3])
    np.testing.assert_array_equal(emb[["n3", "n1"]], emb.vectors[[3, 1]])
    with pytest.raises(KeyError, match="did you mean"):
        emb["n33x"]


def test_tuple_names_are_single_names():
    emb = Embedding(np.eye(3), [("ada", 0), ("ada", 1), ("bob", 0)])
    np.testing.assert_array_equal(emb["ada", 1], [0, 1, 0])
    assert emb.most_similar(("ada", 1), n=1)[0][0] in {("ada", 0), ("bob", 0)}


def test_immutable(emb):
    with pytest.raises(ValueError, match="read-only"):
        emb.vectors[0, 0] = 1
    with pytest.raises(AttributeError):
        emb.vectors = np.eye(2)
    with pytest.raises(TypeError):
        emb.provenance["x"] = 1
    V = np.eye(2, dtype=np.float32)
    copied = Embedding(V)
    V[0] = 7
    assert copied.vectors[0, 0] == 1


def test_similarity(emb):
    want = np.dot(emb["n1"], emb["n2"]) / np.linalg.norm(emb["n1"]) / np.linalg.norm(emb["n2"])
    assert emb.similarity("n1", "n2") == pytest.approx(want, abs=1e-6)
    np.testing.assert_allclose(emb.similarity(["n1", "n2"], ["n2", "n2"]), [want, 1], atol=1e-6)
    np.testing.assert_allclose(emb.similarity("n2", ["n1", "n2"]), [want, 1], atol=1e-6)
    with pytest.raises(InputError, match="2 names and 1"):
        emb.similarity(["n1", "n2"], ["n1"])


def test_most_similar_against_brute_force(emb):
    rows, scores = brute_force(emb.vectors[:1].astype(float), emb.vectors.astype(float), 11)
    answer = emb.most_similar("n0")
    assert [name for name, _ in answer] == [f"n{i}" for i in rows[0, 1:]]
    np.testing.assert_allclose([s for _, s in answer], scores[0, 1:], atol=1e-6)
    assert emb.most_similar_batch(["n0", "n1"], n=3) == [
        [(name, pytest.approx(s, abs=1e-6)) for name, s in emb.most_similar(key, n=3)] for key in ("n0", "n1")
    ]


def test_positive_negative_and_analogy():
    # king - man + woman = queen, exactly
    V = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [-1, 0, 0]], float)
    emb = Embedding(V, ["king", "man", "woman", "queen", "noise"])
    assert emb.analogy("man", "king", "woman", n=1)[0][0] == "queen"
    found = dict(emb.most_similar(["king", "woman"], ["man"], n=5))
    assert set(found) == {"queen", "noise"}
    assert emb.most_similar(negative="noise", positive=None, n=1)[0][0] in {"king", "queen"}
    with pytest.raises(InputError, match="at least one"):
        emb.most_similar([])
    with pytest.raises(InputError, match="n is 0"):
        emb.most_similar("king", n=0)


def test_nearest_takes_vectors(emb):
    rows, scores = emb.nearest(emb.vectors[4] * 3, n=2)
    assert rows.shape == (2,)
    assert rows[0] == 4
    assert scores[0] == pytest.approx(1, abs=1e-5)
    rows, _ = emb.nearest(emb.vectors[:3], n=2)
    assert rows[:, 0].tolist() == [0, 1, 2]
    with pytest.raises(InputError, match="shape"):
        emb.nearest(np.ones(3))
    with pytest.raises(InputError, match="NaN"):
        emb.nearest(np.full(8, np.nan))


def test_two_sides():
    emb = Embedding(
        np.eye(2), ["u", "v"], context_vectors=[[1, 0], [0.6, 0.8], [0, 1]], context_names=[10, 20, 30]
    )
    assert emb.two_sided
    assert [name for name, _ in emb.most_similar("u", among="context")] == [10, 20, 30]
    assert emb.context.most_similar(10, n=1)[0][0] == 20
    with pytest.raises(InputError, match=r"use \.context"):
        emb[20]
    with pytest.raises(InputError, match="one side"):
        emb.context.most_similar(10, among="context")
    assert "3 context" in repr(emb)


@pytest.mark.parametrize("n_clusters", [4, None])
def test_cluster_finds_well_separated_groups(n_clusters):
    rng = np.random.default_rng(1)
    truth = np.repeat(np.arange(4), [40, 30, 20, 10])
    V = np.eye(16)[truth] + 0.05 * rng.standard_normal((100, 16))
    np.testing.assert_array_equal(Embedding(V).cluster(n_clusters), truth)


def test_cluster_of_too_few(emb):
    assert Embedding(np.eye(2)).cluster().tolist() == [0, 0]
    with pytest.raises(InputError, match="n_clusters is 51"):
        emb.cluster(51)


@pytest.mark.parametrize("method", ["pca", "tsne"])
def test_project(emb, method):
    Z = emb.project(method)
    assert Z.shape == (50, 2)
    assert np.isfinite(Z).all()
    np.testing.assert_array_equal(Z, emb.project(method))


def test_project_small_and_unknown(emb):
    assert Embedding(np.eye(1)).project().shape == (1, 2)
    assert Embedding(np.ones((3, 1))).project().shape == (3, 2)
    assert Embedding(np.eye(3)).project("tsne").shape == (3, 2)
    with pytest.raises(InputError, match="method is 'mds'"):
        emb.project("mds")


def test_pca_keeps_the_variance():
    rng = np.random.default_rng(2)
    V = rng.standard_normal((200, 5)) * [5, 3, 0.1, 0.1, 0.1]
    Z = Embedding(V).project("pca")
    np.testing.assert_allclose(sorted(Z.std(axis=0)), sorted(V[:, :2].std(axis=0)), rtol=0.05)


def test_goes_to_other_processes(emb):
    import copy
    import pickle

    for again in (pickle.loads(pickle.dumps(emb)), copy.deepcopy(emb)):
        np.testing.assert_array_equal(again.vectors, emb.vectors)
        assert again.names == emb.names
        assert again.provenance == emb.provenance
        assert not again.vectors.flags.writeable


def test_looks(emb):
    assert repr(emb) == "Embedding(50 vectors of 8 dimensions: 'n0', 'n1', 'n2', ...)"
    page = Embedding(np.eye(9), [f"<b>{i}" for i in range(9)])._repr_html_()
    assert "&lt;b&gt;0" in page
    assert "<b>0" not in page


def test_provenance_is_json(emb):
    assert emb.provenance["parameters"] == {"beta": 4.0}
    assert Embedding(np.eye(1), provenance={"a": float("nan")}).provenance["a"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones(3),), "shape"),
        ((np.ones((2, 0)),), "shape"),
        (([[1, 2], [3]],), "rows of numbers"),
        (([["a", "b"]],), "rows of numbers"),
        ((np.array([[1.0], [np.nan]]),), "first in row 1"),
        ((np.eye(2), ["a"]), "1 names for 2"),
        ((np.eye(2), ["a", "a"]), "unique"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InputError, match=message):
        Embedding(*arguments)


@pytest.mark.parametrize("sizes", [[1], [1, -1], [1, np.nan], [[1, 2]]])
def test_bad_sizes(sizes):
    with pytest.raises(InputError, match="sizes"):
        Embedding(np.eye(2), sizes=sizes)


def test_bad_sides():
    with pytest.raises(InputError, match="dimensions"):
        Embedding(np.eye(2), context_vectors=np.eye(3))
    with pytest.raises(InputError, match="without"):
        Embedding(np.eye(2), context_names=["a"])
    with pytest.raises(InputError, match="among"):
        Embedding(np.eye(2)).most_similar(0, among="columns")


def test_range_names_take_no_memory():
    emb = Embedding(np.eye(3))
    assert emb.names == Names.range(3)
    assert emb.most_similar(0, n=1)[0][0] == 1


def test_the_nearest_of_a_hub_are_not_its_leaves(tmp_path):
    nx = pytest.importorskip("networkx")
    graph = nx.les_miserables_graph()
    emb = embed(graph, random_state=0)
    near = [name for name, _ in emb.most_similar("Valjean", n=3)]
    assert {"Cosette", "Javert"} <= set(near)
    leaves = [name for name, _ in emb.most_similar("Valjean", n=3, rank="cosine")]
    assert all(graph.degree(name) == 1 for name in leaves)
    unit = emb.vectors / np.linalg.norm(emb.vectors, axis=1, keepdims=True)
    i = emb.names.index("Valjean")
    scores = emb.vectors @ unit[i]
    scores[i] = -np.inf
    best = np.argsort(-scores)[:5]
    answer = emb.most_similar("Valjean", n=5)
    assert [name for name, _ in answer] == [emb.names[int(j)] for j in best]
    np.testing.assert_allclose([cosine for _, cosine in answer], unit[best] @ unit[i], rtol=1e-5)
    emb.save(f"{tmp_path}/v/")
    from softvec.embedding.files.parts import open_stored

    stored = open_stored(f"{tmp_path}/v/")
    for name, cosine in answer:
        assert dict(stored.most_similar("Valjean", n=5))[name] == pytest.approx(cosine, rel=1e-6)
    with pytest.raises(InputError, match="rank is 'x'"):
        emb.most_similar("Valjean", rank="x")
