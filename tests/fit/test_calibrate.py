"""Probabilities of links: nothing is gained where nothing can be known, and what is claimed holds."""

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

import softvec
from benchmarks.datasets import load
from softvec.affinity import bipartite, random_walk
from softvec.core.checks import unit_rows
from softvec.core.errors import InputError
from softvec.core.machine import ALONE
from softvec.fit.calibrate import _folds, _Hidden, _power_of_rows, _without, calibrate, removable_links
from softvec.fit.link_softmax import Softmax

pytestmark = pytest.mark.filterwarnings("ignore:the normaliser is off")


def random_pairs(n, degree, seed):
    rng = np.random.default_rng(seed)
    graph = nx.gnm_random_graph(n, n * degree // 2, seed=int(rng.integers(1 << 30)))
    return nx.to_scipy_sparse_array(graph, dtype=float)


def rewired(A, seed):
    """A graph with the same degrees, but for the few pairs drawn twice, and no other structure."""
    rng = np.random.default_rng(seed)
    ends = rng.permutation(np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)))
    i, j = ends[: len(ends) // 2], ends[len(ends) // 2 :]
    half = sparse.csr_array((np.ones(len(i)), (i, j)), shape=A.shape)
    both = sparse.csr_array(half + half.T)
    both.setdiag(0)
    both.eliminate_zeros()
    both.data[:] = 1
    return both


def skewed(n=600, seed=0):
    """A graph whose degrees differ widely."""
    return nx.to_scipy_sparse_array(nx.barabasi_albert_graph(n, 8, seed=seed), dtype=float)


@pytest.mark.parametrize(
    "A",
    [random_pairs(1000, 6, 1), random_pairs(600, 40, 2), rewired(skewed(), 3)],
    ids=["sparse", "dense", "degrees alone"],
)
def test_nothing_is_gained_where_nothing_can_be_known(A):
    softmax = softvec.embed(A, 32, random_state=0).calibrate(A).provenance["softmax"]
    assert abs(softmax["nats_gained"]) <= 2 * softmax["standard_error"]
    assert abs(softmax["nats_gained"]) < 0.02


@pytest.mark.parametrize("kind", ["bipartite", "graph"])
def test_deciles_hold_where_rows_and_columns_are_random(kind):
    """A table and a directed graph of independent links: what a row has says little of what it lacks."""
    deciles = []
    for seed in range(4):
        shape = (400, 300) if kind == "bipartite" else (300, 300)
        A = np.random.default_rng(seed).random(shape) < 0.05
        options = {"kind": kind}
        if kind == "graph":
            np.fill_diagonal(A, False)
            options |= {"directed": True, "symmetric": False}
        A = sparse.csr_array(A.astype(float))
        softmax = softvec.embed(A, 16, random_state=seed, **options).calibrate(A).provenance["softmax"]
        assert abs(softmax["nats_gained"]) <= max(2 * softmax["standard_error"], 0.005)
        assert softmax["activity"] < 0.5
        deciles.append(softmax["deciles"])
    # a decile has some forty hidden links, which deviate by a sixth, the mean of four by a twelfth
    np.testing.assert_allclose(np.mean(deciles, axis=0), 1, atol=0.25)


@pytest.mark.parametrize("graph", [nx.random_regular_graph(6, 300, seed=0), nx.grid_2d_graph(15, 15)])
@pytest.mark.filterwarnings("ignore:these vectors predict")
def test_rows_of_regular_graphs_lack_links_where_they_know_fewer(graph):
    """The ends of hidden links know fewer than others: the power is far below 0, and expectations hold."""
    softmax = softvec.embed(graph, 16, random_state=0).calibrate(graph).provenance["softmax"]
    assert -10 < softmax["activity"] < -1
    assert max(softmax["deciles"]) < 5


def test_the_power_of_rows_is_that_of_links_drawn_with_it():
    rng = np.random.default_rng(2)
    weight = rng.pareto(2.0, 2000) + 0.2
    known = rng.poisson(15 * weight / weight.mean()) + 1
    chance = known**0.6
    hidden = np.repeat(np.arange(2000), rng.poisson(3 * chance / chance.mean()))
    pattern = sparse.csr_array(np.arange(400) < known[:, None])
    model = Softmax.of(np.eye(2000, 2), np.eye(400, 2), pattern, same=False, mutual=False)
    assert _power_of_rows([_Hidden(model, hidden, hidden)]) == pytest.approx(0.6, abs=0.06)


@pytest.mark.parametrize(("name", "view"), [("cora", "auto"), ("polblogs", "auto"), ("polblogs", "links")])
def test_what_is_claimed_holds_for_links_that_nobody_saw(name, view):
    """Brute force in double precision, on links that were never given to embed."""
    try:
        A = sparse.csr_array(load(name).adjacency, dtype=float)
    except InputError:
        pytest.skip(f"{name} is not here")
    A.setdiag(0)
    A.eliminate_zeros()
    rng = np.random.default_rng(5)
    upper = sparse.triu(A, 1).tocoo()
    i, j = upper.row.astype(np.int64), upper.col.astype(np.int64)
    chosen = removable_links(i, j, A.shape[0], rng)[: len(i) // 10]
    kept = A.copy().tolil()
    kept[i[chosen], j[chosen]] = 0
    kept[j[chosen], i[chosen]] = 0
    kept = sparse.csr_array(kept.tocsr())
    emb = softvec.embed(kept, 64, random_state=0, view=view).calibrate(kept)
    softmax = emb.provenance["softmax"]
    X = unit_rows(emb.vectors)
    Y = X
    if emb.two_sided:
        Y = unit_rows(emb.context_vectors)
    size, known = np.log(np.maximum(kept.sum(axis=1), 0.5)), kept.toarray() > 0
    gains = []
    for a, b in zip(np.r_[i[chosen], j[chosen]], np.r_[j[chosen], i[chosen]]):
        possible = ~known[a]
        possible[a] = False
        logits = softmax["cosine"] * (X[a] @ Y.T).astype(float) + softmax["popularity"] * size
        own = logits[b] - np.log(np.exp(logits[possible]).sum())
        gains.append(own - (size[b] - np.log(np.exp(size[possible]).sum())))
    assert abs(np.mean(gains) - softmax["nats_gained"]) < 0.3
    assert softmax["nats_gained"] > 5 * softmax["standard_error"] > 0


def test_the_numbers_that_made_the_links_are_found():
    """Links drawn from a softmax with a = 6, c = 1/2 among few neighbours, so that few are known."""
    rng = np.random.default_rng(1)
    n = 1500
    X = rng.standard_normal((n, 4)).astype(np.float32)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    weight = rng.pareto(2.0, n) + 0.2
    logits = 6.0 * unit.astype(float) @ unit.T + np.log(weight)
    np.fill_diagonal(logits, -np.inf)
    P = np.exp(logits)
    rates = weight[:, None] * P
    rates *= 4 * n / rates.sum()
    A = sparse.csr_array(np.triu(rng.poisson(rates + rates.T) > 0, 1).astype(float))
    A = sparse.csr_array(A + A.T)
    result = calibrate(random_walk(A), lambda affinity: (X, None), 0, ALONE)
    assert result.cosine == pytest.approx(6, rel=0.1)
    assert result.nats_gained > 0.5
    assert all(0.5 < ratio < 1.6 for ratio in result.deciles[1:])


def test_probabilities_sum_to_one_without_oneself_and_known_links():
    A = sparse.csr_array(nx.to_scipy_sparse_array(nx.karate_club_graph(), weight=None), dtype=bool)
    X = np.random.default_rng(0).standard_normal((34, 5))
    model = Softmax.of(X, None, A, same=True, mutual=True)
    p = np.exp(model.log_probabilities(np.arange(34), np.array([3.0, 1.0]))[0])
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-5)
    assert not p[np.eye(34, dtype=bool) | A.toarray()].any()
    # the mean of both directions has the links of each node in all: twice a twentieth of 78 / .95
    expected = model.expected(np.arange(34), np.array([3.0, 1.0, 0.8]), 0.05)[0]
    assert expected.sum() == pytest.approx(0.05 / 0.95 * 156, rel=1e-5)


def test_hidden_links_cut_nothing_and_are_hidden_once():
    A = random_walk(nx.barbell_graph(8, 4))
    folds, count = _folds(A.counts, True, True, np.random.default_rng(0))
    assert count == 61
    assert len(folds) == 5
    pairs = [frozenset(pair) for i, j in folds for pair in zip(i.tolist(), j.tolist())]
    assert len(set(pairs)) == len(pairs) == 15
    for i, j in folds:
        kept = _without(A, i, j, True)
        assert kept.counts.nnz == A.counts.nnz - 6
        assert not kept.matrix[i, j].any()
        assert not kept.matrix[j, i].any()
        assert sparse.csgraph.connected_components(kept.counts)[0] == 1


def test_a_two_sided_table_keeps_every_row_and_column():
    pairs = [(f"u{i}", f"f{(i * k) % 9}") for i in range(15) for k in (1, 2, 4)]
    A = bipartite(pairs)
    folds, _ = _folds(A.counts, False, False, np.random.default_rng(0))
    for i, j in folds:
        kept = _without(A, i, j, False).matrix
        assert (kept.sum(axis=0) > 0).all()
        assert (kept.sum(axis=1) > 0).all()


def test_the_same_for_any_number_of_threads():
    A = skewed(300)
    emb = softvec.embed(A, 16, random_state=0)
    one, two = (emb.calibrate(A, n_jobs=jobs).provenance["softmax"] for jobs in (1, 3))
    assert one == two
