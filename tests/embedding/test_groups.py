"""Groups of vectors: planted ones are found, for any number of threads, and modularity is what others say."""

import numpy as np
import pytest
import scipy.sparse as sp

import softvec
from experiments.generators import dcsbm
from softvec import Embedding
from softvec.core.errors import InputError
from softvec.embedding.groups import find_groups, grouping_vectors, louvain
from softvec.evaluate import communities, modularity, partition_scores
from softvec.kernels import compiled, reference

KARATE_EDGES = (
    "0-1 0-2 0-3 0-4 0-5 0-6 0-7 0-8 0-10 0-11 0-12 0-13 0-17 0-19 0-21 0-31 1-2 1-3 1-7 1-13 1-17 1-19 "
    "1-21 1-30 2-3 2-7 2-8 2-9 2-13 2-27 2-28 2-32 3-7 3-12 3-13 4-6 4-10 5-6 5-10 5-16 6-16 8-30 8-32 "
    "8-33 9-33 13-33 14-32 14-33 15-32 15-33 18-32 18-33 19-33 20-32 20-33 22-32 22-33 23-25 23-27 "
    "23-29 23-32 23-33 24-25 24-27 24-31 25-31 26-29 26-33 27-33 28-31 28-33 29-32 29-33 30-32 30-33 "
    "31-32 31-33 32-33 "
)


def planted(n, k, noise, d=32, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n)
    centres = rng.standard_normal((k, d)) / np.sqrt(d)
    return centres[truth] + noise * rng.standard_normal((n, d)) / np.sqrt(d), truth


@pytest.mark.parametrize(
    ("n", "k", "noise"), [(300, 3, 0.5), (1000, 12, 0.6), (5000, 40, 0.5), (9000, 150, 0.3)]
)
def test_planted_groups_and_their_number_are_found(n, k, noise):
    V, truth = planted(n, k, noise)
    groups = find_groups(V)
    assert abs(len(np.unique(groups)) - k) <= 0.05 * k
    assert partition_scores(truth, groups)["ami"] > 0.95


def test_communities_of_a_graph_are_found_and_isolated_nodes_do_not_disturb():
    A, truth, _ = dcsbm(2000, c=20, q=5, alpha=6.0, random_state=0)
    connected = np.diff(A.indptr) > 0
    assert not connected.all()
    groups = softvec.embed(A, n_components=32, random_state=0).cluster()
    assert len(np.unique(groups[connected])) == 5
    best = partition_scores(truth[connected], groups[connected])["ami"]
    assert best > 0.8


@pytest.mark.parametrize(
    ("shape", "count", "size"),
    [("caves", 30, 6), ("ring", 30, 5), ("ring", 50, 4), ("caves", 50, 4), ("ring", 200, 5), ("ring", 30, 3)],
)
def test_groups_of_a_few_nodes_are_found(shape, count, size):
    nx = pytest.importorskip("networkx")
    make = nx.connected_caveman_graph if shape == "caves" else nx.ring_of_cliques
    groups = softvec.embed(make(count, size), random_state=0).cluster()
    assert partition_scores(np.arange(count * size) // size, groups)["ami"] > 0.97


@pytest.mark.parametrize(("n", "p"), [(200, 0.05), (500, 0.02), (500, 0.006)])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_random_graph_has_no_groups(n, p, seed):
    nx = pytest.importorskip("networkx")
    emb = softvec.embed(nx.gnp_random_graph(n, p, seed=seed), random_state=0, isolated="drop")
    with pytest.warns(UserWarning, match="no groups beyond chance.* one group"):
        groups = emb.cluster()
    assert not groups.any()
    assert len(np.unique(emb.cluster(7))) == 7


def test_random_vectors_have_no_groups():
    V = np.random.default_rng(0).standard_normal((400, 16))
    assert not find_groups(V).any()
    assert not find_groups(V[:60]).any()


def test_one_finder_for_embedding_and_evaluate():
    V, _ = planted(400, 6, 0.5)
    groups = Embedding(V).cluster()
    assert communities(V, groups, n_communities=None)["ami"] == 1


def test_the_degree_decides_no_group_of_fused_vectors():
    V, truth = planted(600, 3, 0.3, d=16)
    degree = np.random.default_rng(1).choice(
        [-8.0, 8.0], (600, 1)
    )  # far apart, and independent of the groups
    fused = {"parameters": {"view": "fused", "n_components": 18, "degree_scale": 1.0}}
    emb = Embedding(np.hstack([V, degree, degree]), provenance=fused)
    assert partition_scores(truth, emb.cluster(3))["ami"] > 0.95
    assert partition_scores(truth, emb.cluster())["ami"] > 0.95
    assert communities(emb, truth)["ami"] > 0.95
    mixed = Embedding(emb.vectors, provenance={**fused, "aligned_with": "others"})
    assert partition_scores(truth, mixed.cluster(3))["ami"] < 0.95


def test_the_last_coordinates_of_fused_vectors_tell_the_degree():
    A, _, _ = dcsbm(1000, c=20, q=2, alpha=4.0, random_state=0)
    emb = softvec.embed(A, n_components=16, view="fused", random_state=0)
    degree = np.diff(A.indptr)
    linked = degree > 0
    kept = grouping_vectors(emb)
    np.testing.assert_array_equal(kept, emb.vectors[:, :14])
    assert np.corrcoef(np.log1p(degree[linked]), emb.vectors[linked, 14])[0, 1] > 0.999
    assert grouping_vectors(softvec.embed(A, n_components=16, view="walk", random_state=0)).shape[1] == 16


@pytest.mark.parametrize("threads", [1, 3])
def test_bits_do_not_depend_on_threads(threads, monkeypatch):
    V, _ = planted(12_000, 9, 1.5)
    expected = find_groups(V, random_state=3)
    monkeypatch.setattr("softvec.core.machine.resolve_n_jobs", lambda n_jobs: threads)
    np.testing.assert_array_equal(find_groups(V, random_state=3), expected)


def test_groups_are_numbered_by_size_and_lengths_do_not_matter():
    V, _ = planted(500, 5, 0.4)
    groups = find_groups(V)
    assert (np.diff(np.bincount(groups)) <= 0).all()
    np.testing.assert_array_equal(find_groups(1000 * V), groups)


def test_a_zero_vector_has_no_group():
    V, truth = planted(60, 2, 0.2)
    V[7] = 0
    rest = np.arange(60) != 7
    for groups in (find_groups(V), find_groups(V, 2)):
        assert groups[7] == -1
        assert partition_scores(truth[rest], groups[rest])["ari"] == 1
    assert find_groups(np.zeros((5, 3))).tolist() == [-1] * 5


def test_degenerate_vectors():
    assert find_groups(np.ones((50, 4))).tolist() == [0] * 50
    assert find_groups(np.eye(3)).tolist() == [0, 0, 0]
    assert len(find_groups(np.zeros((0, 3)))) == 0


def test_most_groups():
    V, _ = planted(2000, 30, 0.3)
    assert len(np.unique(find_groups(V))) > 20
    assert len(np.unique(find_groups(V, max_groups=7))) <= 7
    assert len(np.unique(find_groups(V, max_groups=1))) == 1
    with pytest.raises(InputError, match="max_clusters is 0"):
        find_groups(V, max_groups=0)
    with pytest.raises(InputError, match=r"n_clusters is 2001; expected an integer of at most 2,000"):
        find_groups(V, 2001)


def test_progress_goes_to_standard_error(capsys):
    V, _ = planted(100, 3, 0.3)
    Embedding(V).cluster(verbose=True)
    assert "groups" in capsys.readouterr().err
    Embedding(V).cluster()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("n", [1, 2, 17, 60])
def test_compiled_moves_are_those_of_the_reference(n):
    rng = np.random.default_rng(n)
    W = rng.random((n, n)) * (rng.random((n, n)) < 0.3) + np.eye(n)
    W = W + W.T
    results = []
    for module in (reference, compiled):
        groups = np.arange(n)
        module.move_groups(W, groups, 30)
        results.append(groups)
    np.testing.assert_array_equal(*results)


def karate():
    edges = np.array([edge.split("-") for edge in KARATE_EDGES.split()], dtype=int)
    A = sp.coo_array((np.ones(78), edges.T), shape=(34, 34)).toarray()
    return A + A.T


def test_louvain_is_near_the_known_optimum_of_the_karate_club():
    """The largest modularity of this graph is 0.4198 (Brandes et al., 2008)."""
    A = karate()
    assert 0.40 < modularity(A, louvain(A)) <= 0.4198


def test_modularity_is_that_of_networkx():
    nx = pytest.importorskip("networkx")
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 4, 34)
    sets = [set(np.flatnonzero(groups == g).tolist()) for g in range(4)]
    A = karate() * np.triu(rng.random((34, 34)), 1)
    for W, kind in ((A + A.T, nx.Graph), (A, nx.DiGraph)):
        graph = nx.from_numpy_array(W, create_using=kind)
        expected = nx.community.modularity(graph, sets)
        assert modularity(W, groups) == pytest.approx(expected)
        assert modularity(sp.csr_array(W), groups) == pytest.approx(expected)


def test_modularity_of_an_affinity_matches_names():
    affinity = softvec.affinity.pairs([("a", "b"), ("c", "d"), ("d", "e")])
    groups = {"e": 1, "d": 1, "c": 1, "b": 0, "a": 0}
    assert modularity(affinity, groups) == pytest.approx(1 - (1 / 3) ** 2 - (2 / 3) ** 2)
    alone = modularity(affinity, {"a": 0, "b": 0, "c": 1, "d": 1})  # e is a group of its own
    assert alone == pytest.approx(2 / 3 - (2 / 6) ** 2 - (3 / 6) ** 2 - (1 / 6) ** 2)


@pytest.mark.parametrize(
    ("graph", "message"),
    [(np.ones((2, 3)), "square"), (np.zeros((2, 2)), "no edges"), (-np.ones((2, 2)), "negative")],
)
def test_modularity_errors(graph, message):
    with pytest.raises(InputError, match=message):
        modularity(graph, [0, 1])
