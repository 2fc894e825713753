"""Preservation, pairs, epidemics and temporal distances of the experiments, on cases with a known answer."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from experiments.contacts.reconstruct import infected_states, reconstruct_epidemic
from experiments.extensions.temporal_distance import matched_distance, temporal_walks, unmatched_distance
from experiments.generators import dcsbm, sir
from experiments.pairs import pair_classification, pair_cosines, pair_features
from experiments.preservation import neighbor_preservation, triplet_preservation
from softvec.core.errors import InputError
from softvec.embedding import Embedding


def test_neighbours_of_a_ring_and_of_noise():
    n = 120
    angles = 2 * np.pi * np.arange(n) / n
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    A = sp.csr_array(np.roll(np.eye(n), 1, axis=1) + np.roll(np.eye(n), -1, axis=1))
    assert neighbor_preservation(ring, A)["recall"] == 1
    assert triplet_preservation(ring, A, n_triplets=5000)["accuracy"] > 0.99
    noise = np.random.default_rng(0).standard_normal((n, 30))
    found = neighbor_preservation(noise, A)
    assert found["recall"] < 5 * found["chance"]
    assert found["chance"] == pytest.approx(2 / (n - 1))
    assert triplet_preservation(noise, A, n_triplets=5000)["accuracy"] == pytest.approx(0.5, abs=0.1)


def test_triplets_follow_the_strength_of_affinities():
    P = sp.csr_array(np.array([[0, 0.9, 0.1], [0.9, 0, 0.1], [0.5, 0.5, 0]]))
    X = np.array([[1, 0.1], [1, -0.1], [0, 1.0]])
    assert triplet_preservation(X, P, n_triplets=2000)["accuracy"] == 1
    far = np.array([[1, 0], [0, 1], [1, 1.0]])  # the weak third lies between the strong pair
    assert triplet_preservation(far, P, n_triplets=2000)["accuracy"] == 0
    assert neighbor_preservation(X, P, n_neighbors=1)["recall"] > 0.6


def test_preservation_errors():
    with pytest.raises(InputError, match="no affinities"):
        neighbor_preservation(np.ones((3, 2)), sp.eye_array(3))
    with pytest.raises(InputError, match="no affinities"):
        triplet_preservation(np.ones((3, 2)), sp.csr_array((3, 3)))
    with pytest.raises(InputError, match="shape"):
        triplet_preservation(np.ones((3, 2)), sp.csr_array((4, 4)))


def test_pair_features_by_hand():
    A = np.array([[0, 1, 1, 0], [1, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 0]])
    features = pair_features(sp.csr_array(A + 5 * np.eye(4)), np.array([[0, 1], [0, 3], [2, 3]]))
    assert features["common_neighbors"].tolist() == [1, 1, 1]
    assert features["least_degree"].tolist() == [2, 1, 1]
    np.testing.assert_allclose(features["log_degree_product"], np.log1p([6, 2, 2]))
    np.testing.assert_allclose(features["cosine_neighbors"], [1 / np.sqrt(6), 1 / np.sqrt(2), 1 / np.sqrt(2)])


def test_pair_classification_brackets():
    rng = np.random.default_rng(0)
    X = np.repeat(np.eye(2), 50, axis=0)
    pairs = rng.integers(0, 100, (1000, 2))
    together = (pairs[:, 0] < 50) == (pairs[:, 1] < 50)
    cosines = pair_cosines(X, pairs)
    perfect = pair_classification(cosines, together)
    assert perfect["accuracy"] == perfect["auc"] == 1
    noise = pair_classification(rng.standard_normal(1000), together)
    assert noise["auc"] == pytest.approx(0.5, abs=0.06)
    assert noise["accuracy"] == pytest.approx(noise["majority"], abs=0.06)
    fixed = pair_classification(cosines, together, train=np.arange(500), test=np.arange(500, 1000))
    assert len(fixed.values["auc"]) == 1


def test_best_threshold_beats_a_misled_regression():
    """One huge value drags the logistic cut; the best cut is at 1.5 and is found."""
    x = np.r_[np.zeros(50), np.ones(50), np.full(50, 2.0), np.full(30, 500.0)]
    y = np.r_[np.zeros(100), np.ones(80)]
    rows = np.arange(180)
    scores = pair_classification(x, y, train=rows, test=rows)
    assert scores["threshold"] == 1
    assert scores["accuracy"] < 1


def test_pair_errors():
    with pytest.raises(InputError, match="0 or 1"):
        pair_classification(np.arange(4.0), [0, 1, 2, 1])
    with pytest.raises(InputError, match="neither"):
        pair_classification(np.arange(4.0), [0, 1, 0, 1], train=np.arange(2))
    with pytest.raises(InputError, match="one label only"):
        pair_classification(np.arange(4.0), [0, 0, 0, 1])
    with pytest.raises(InputError, match="outside"):
        pair_cosines(np.eye(3), np.array([[0, 9]]))
    with pytest.raises(InputError, match=r"\(m, 2\)"):
        pair_cosines(np.eye(3), np.array([0, 1]))


def contact_rows(seed=0, n=60, steps=25, m=1500):
    rng = np.random.default_rng(seed)
    edges = np.stack([rng.integers(0, steps, m), rng.integers(0, n, m), rng.integers(0, n, m)], axis=1)
    edges = edges[edges[:, 1] != edges[:, 2]]
    active = np.unique(np.concatenate([edges[:, [0, 1]], edges[:, [0, 2]]]), axis=0)
    return edges, active[:, 1], active[:, 0]


def test_unobserved_states_are_not_infected():
    rng = np.random.default_rng(0)
    nodes, times = np.divmod(np.arange(400), 20)
    infected = times >= 10
    X = rng.standard_normal((400, 3)) + 3 * infected[:, None]
    seen = rng.random(400) < 0.7
    want = reconstruct_epidemic(X[seen], nodes[seen], times[seen], infected[seen], repeats=3)
    for missing in (np.nan, None):
        states = np.where(seen, infected.astype(object), missing)
        got = reconstruct_epidemic(X, nodes, times, states, repeats=3)
        np.testing.assert_array_equal(got.truth, want.truth)
        assert got.mean == want.mean
    with pytest.raises(InputError, match="infected holds 2; expected"):
        reconstruct_epidemic(X, nodes, times, np.where(infected, 1, 2))
    with pytest.raises(InputError, match="no known state"):
        reconstruct_epidemic(X, nodes, times, np.full(400, np.nan))


def test_epidemic_reconstruction_brackets():
    edges, nodes, times = contact_rows()
    epidemic = sir(edges, beta=0.3, mu=0.05, seed_node=0, random_state=3, n_nodes=60)
    infected = infected_states(epidemic, nodes, times)
    assert infected.sum() == sum(epidemic.states[t + 1, i] == 1 for i, t in zip(nodes, times))
    oracle = np.stack([infected, ~infected], axis=1).astype(float)
    perfect = reconstruct_epidemic(oracle, nodes, times, infected, C=100.0, repeats=5)
    assert perfect["mae"] == 0
    assert perfect["n_observed"] == len(np.unique(nodes))
    np.testing.assert_array_equal(perfect.truth, [infected[times == t].sum() for t in perfect.times])
    noise = reconstruct_epidemic(
        np.random.default_rng(0).standard_normal((len(nodes), 4)), nodes, times, infected
    )
    assert noise["mae"] > 3
    assert noise.predicted.shape == (50, len(noise.times))
    assert "predicted_mean" in json.loads(json.dumps(noise.to_dict()))
    soft = reconstruct_epidemic(oracle, nodes, times, infected, C=100.0, count="probabilities", repeats=2)
    assert 0 < soft["mae"] < 1


def test_epidemic_errors():
    edges, nodes, times = contact_rows()
    epidemic = sir(edges, beta=0.3, mu=0.05, seed_node=0, n_nodes=60)
    with pytest.raises(InputError, match="within 60 nodes"):
        infected_states(epidemic, nodes + 60, times)
    with pytest.raises(InputError, match="one value for each"):
        reconstruct_epidemic(np.ones((3, 2)), nodes, times, np.ones(len(nodes)))
    with pytest.raises(InputError, match="count"):
        reconstruct_epidemic(np.ones((2, 2)), [0, 1], [0, 0], [0, 1], count="other")


def test_temporal_walks_against_explicit_products():
    edges, _, _ = contact_rows(n=12, steps=5, m=30)
    P = temporal_walks(edges, n_nodes=12)
    steps = []
    for t in range(5):
        S = np.zeros((12, 12))
        for _, i, j in edges[edges[:, 0] == t]:
            S[i, j] += 1
            S[j, i] += 1
        idle = S.sum(axis=1) == 0
        S[idle, idle] = 1
        steps.append(S / S.sum(axis=1, keepdims=True))
    total = np.zeros((12, 12))
    for s in range(5):
        for t in range(s, 5):
            total += np.linalg.multi_dot([np.eye(12), np.eye(12), *steps[s : t + 1]])
    np.fill_diagonal(total, 0)
    sums = total.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(P.toarray(), total / np.where(sums > 0, sums, 1), atol=1e-12)


def test_distances_ignore_what_they_should():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 6))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    rotation, _ = np.linalg.qr(rng.standard_normal((6, 6)))
    order = rng.permutation(80)
    assert matched_distance(X, X @ rotation) < 1e-3
    assert unmatched_distance(X, (X @ rotation)[order]) < 1e-6
    direct = np.linalg.norm(X @ X.T - X[order] @ X[order].T) / 80
    assert matched_distance(X, X[order]) == pytest.approx(direct, rel=1e-4)
    assert unmatched_distance(X, X[:, :2]) > 0.05
    with pytest.raises(InputError, match="unmatched"):
        matched_distance(X, X[:5])


def test_temporal_walk_errors():
    with pytest.raises(InputError, match="t, i, j"):
        temporal_walks(np.zeros((0, 3), int))
    with pytest.raises(InputError, match="n_nodes"):
        temporal_walks([[0, 0, 5]], n_nodes=3)
    with pytest.raises(InputError, match="GiB"):
        temporal_walks([[0, 0, 10**6]])
    with pytest.raises(InputError, match="positive"):
        temporal_walks([[0, 0, 1]], weights=[0.0])


def test_embedding_objects_are_accepted():
    A, labels, _ = dcsbm(200, c=10, q=2, alpha=3.0, theta="constant", random_state=0)
    emb = Embedding(np.eye(2)[labels])
    assert triplet_preservation(emb, A, n_triplets=1000)["accuracy"] > 0.6
