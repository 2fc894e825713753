"""New items: the same vectors as EDRep.transform, whatever form the edges have, also after a file."""

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

import softvec
from softvec import EDRep, Embedding, InputError


@pytest.fixture(scope="module")
def graph():
    return nx.relabel_nodes(nx.karate_club_graph(), str)


@pytest.fixture(scope="module")
def emb(graph):
    return softvec.embed(graph, 8, weighted=False, random_state=0)


def unit(X):
    return X / np.linalg.norm(X, axis=-1, keepdims=True)


def test_add_is_transform(graph):
    """One step of the walk, unit vectors: exactly what the estimator does with a new row."""
    emb = softvec.embed(graph, 8, weighted=False, walk_length=1, shrinkage=0, beta=4.0, random_state=0)
    A = nx.to_scipy_sparse_array(graph, weight=None)
    model = EDRep(8, beta=4.0, n_epochs=20, random_state=0).fit(A)
    np.testing.assert_array_equal(model.embedding_, emb.vectors)
    row = np.zeros((1, 34))
    row[0, [3, 7]] = 1, 2
    more = emb.add({"new": {"3": 1.0, "7": 2.0}})
    np.testing.assert_allclose(more["new"], model.transform(row)[0], atol=1e-5)


def test_old_vectors_keep_their_bits(emb):
    more = emb.add({"new": ["3", "7"], "newer": "0"})
    assert len(more) == 36
    np.testing.assert_array_equal(more.vectors[:34], emb.vectors)
    assert more.names[:34] == emb.names
    assert more.names[34:].to_list() == ["new", "newer"]
    np.testing.assert_array_equal(more.sizes, [*emb.sizes, 2, 1])
    assert more.provenance["additions"] == [{"items": 2, "edges": 3}]
    assert "new" not in emb


def test_length_follows_the_number_of_neighbours(emb, graph):
    mean = np.mean([degree for _, degree in graph.degree])
    more = emb.add({"new": ["3", "7", "1"]})
    assert np.linalg.norm(more["new"]) == pytest.approx(np.sqrt(3 / (3 + mean / 2)), abs=1e-5)


def test_every_form_of_edges_gives_the_same(emb, tmp_path):
    pd = pytest.importorskip("pandas")
    edges = [("new", "3"), ("7", "new"), ("newer", "0")]
    (tmp_path / "edges.csv").write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in edges))
    matrix = sparse.csr_array(([1, 1, 1], ([0, 0, 1], [3, 7, 0])), shape=(2, 34))
    want = emb.add({"new": ["3", "7"], "newer": ["0"]})
    assert want.names[33:].to_list() == ["33", "new", "newer"]
    forms = [
        emb.add(edges),
        emb.add(pd.DataFrame(edges, columns=["source", "target"])),
        emb.add(nx.Graph(edges)),
        emb.add(tmp_path / "edges.csv"),
        emb.add(matrix, names=["new", "newer"]),
    ]
    for form in forms:
        np.testing.assert_array_equal(form.vectors[:34], emb.vectors)
        np.testing.assert_allclose(form[["new", "newer"]], want[["new", "newer"]], atol=1e-6)


def test_from_a_file(emb, tmp_path):
    emb.save(tmp_path / "a.svec")
    again = Embedding.load(tmp_path / "a.svec", mmap=True).add({"new": ["3", "7"]})
    np.testing.assert_array_equal(again.vectors, emb.add({"new": ["3", "7"]}).vectors)


def test_weights_pull(emb):
    near3 = emb.add([("new", "3", 9.0), ("new", "33", 1.0)])
    near33 = emb.add([("new", "3", 1.0), ("new", "33", 9.0)])
    assert near3.similarity("new", "3") > near33.similarity("new", "3")
    assert near33.similarity("new", "33") > near3.similarity("new", "33")


def test_new_items_may_name_each_other(emb):
    """b is known only through a, and a's edge to b counts once b has a vector."""
    chain = emb.add([("a", "33"), ("a", "32"), ("b", "a")])
    assert chain.similarity("b", "a") > 0.8
    assert {name for name, _ in chain.most_similar("b", n=5)} & {"a", "33", "32"}
    same = emb.add({"a": ["33", "32", "b"], "b": []})
    np.testing.assert_allclose(same[["a", "b"]], chain[["a", "b"]], atol=1e-6)


def test_two_sided_data():
    """Users of two groups of films; a new user who likes two of a group is shown the third."""
    films = {"sad": ["s1", "s2", "s3"], "fun": ["f1", "f2", "f3"]}
    likes = [(f"{kind}{u}", film) for kind, group in films.items() for u in range(8) for film in group]
    likes = [pair for i, pair in enumerate(likes) if i % 5]
    emb = softvec.embed(likes, 4, kind="bipartite", random_state=0, n_epochs=60)
    more = emb.add([("zoe", "f1"), ("zoe", "f2")])
    assert more.context_names == emb.context_names
    best = more.most_similar("zoe", n=1, among="context", exclude=[("zoe", "f1"), ("zoe", "f2")])
    assert best[0][0] == "f3"
    by_name = more.most_similar("zoe", n=1, among="context", exclude=["f1", "f2"])
    assert by_name == best
    with pytest.warns(UserWarning, match="'new film'"):
        emb.add([("zoe", "f1"), ("zoe", "new film")])


def test_numbers_as_names_in_a_text(tmp_path):
    emb = softvec.embed(nx.karate_club_graph(), 8, random_state=0)
    (tmp_path / "edges.txt").write_text("new 3\nnew 7\n")
    more = emb.add(tmp_path / "edges.txt")
    np.testing.assert_array_equal(more["new"], emb.add({"new": [3, 7]})["new"])


def test_classes_and_weights_are_stored(tmp_path):
    texts = ["the cat sat on the mat", "the dog sat on the log", "a cat and a dog ran"] * 20
    emb = softvec.embed(texts, 8, min_count=1, n_clusters=2, random_state=0)
    emb.save(tmp_path / "a.svec")
    again = Embedding.load(tmp_path / "a.svec")
    more = again.add({"kitten": {"sat": 3, "ran": 2}})
    assert len(more.extras["classes"]) == len(more)
    assert np.isfinite(more["kitten"]).all()
    np.testing.assert_array_equal(more.add({"pup": "sat"}).vectors[:-1], more.vectors)
    emb.save(tmp_path / "b.svec", extras=False)
    with pytest.raises(InputError, match="n_clusters=2"):
        Embedding.load(tmp_path / "b.svec").add({"kitten": ["sat"]})


def test_threads_do_not_change_the_bits(emb):
    new = {f"x{i}": [str(i % 34), str((7 * i + 1) % 34)] for i in range(3000)}
    np.testing.assert_array_equal(emb.add(new, n_jobs=1).vectors, emb.add(new, n_jobs=3).vectors)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"3": ["7"]}, "'3' is already in the embedding"),
        ({"new": ["nobody"]}, "no item is named 'nobody'"),
        ({"new": []}, "without an edge"),
        ([("x", "y")], "2 new items without an edge"),
        ([("3", "7")], "no new item"),
        (sparse.eye_array(34), "needs their names"),
        ({"new": {"3": -1.0}}, "weight is -1"),
    ],
)
def test_what_cannot_be_added(emb, data, message):
    with pytest.raises(InputError, match=message):
        emb.add(data)


def test_what_is_not_used_is_said(emb):
    with pytest.warns(UserWarning, match="1 edge between items of the embedding not used"):
        emb.add([("new", "3"), ("4", "7")])
    with pytest.warns(UserWarning, match="1 new item without edges dropped"):
        more = emb.add({"new": ["3"], "alone": []}, isolated="drop")
    assert "alone" not in more
    with pytest.raises(InputError, match="no new item has an edge to an item of the embedding"):
        emb.add({"alone": []}, isolated="drop")
    with pytest.raises(InputError, match="beta"):
        Embedding(np.eye(3)).add({"x": [0]})
    assert len(Embedding(np.eye(3)).add({"x": [0]}, beta=2.0)) == 4
