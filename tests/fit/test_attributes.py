"""Fusing a graph with attributes: what is measured, and nulls in which one of the two says nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge

from softvec.core.machine import machine
from softvec.fit.attributes import Agreement, _ridge, _smooth, fuse_attributes, measure_agreement

N, K = 600, 4
ALL = np.ones(N, bool)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def planted(rng, inside=0.05, outside=0.005):
    """Return a graph with communities, their labels, and bags of words that follow the labels."""
    labels = np.arange(N) % K
    chance = np.where(labels[:, None] == labels, inside, outside)
    upper = np.triu(rng.random((N, N)) < chance, 1)
    words = rng.random((N, 80)) < np.where(labels[:, None] == np.arange(80) % K, 0.25, 0.05)
    return sparse.csr_array(upper | upper.T), labels, sparse.csr_array(words.astype(np.float32))


def random_graph(rng):
    upper = np.triu(rng.random((N, N)) < 0.016, 1)
    return sparse.csr_array(upper | upper.T)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_the_vector_of_attributes_alone_is_that_of_a_ridge_regression(rng, kind):
    F = (rng.random((300, 20)) * (rng.random((300, 20)) < 0.4)).astype(np.float32)
    known = rng.random(300) < 0.8
    F[~known] = 0
    T = (F @ rng.standard_normal((20, 4)) + rng.standard_normal((300, 4))).astype(np.float32)
    T = np.where(known[:, None], T - T[known].mean(axis=0), 0).astype(np.float32)
    centred = F[known] - F[known].mean(axis=0)
    model = Ridge(alpha=3 * np.mean(np.sum(centred**2, axis=1))).fit(F[known], T[known])
    V = _ridge(kind(F), T, known)
    np.testing.assert_allclose(F @ V[:-1] + V[-1], model.predict(F), atol=2e-3)


def test_smoothing_is_the_mean_of_powers_of_the_normalised_adjacency(rng, monkeypatch):
    A, _, _ = planted(rng)
    X = rng.standard_normal((N, 3)).astype(np.float32)
    loops = A.toarray() + np.eye(N)
    scale = loops.sum(axis=1) ** -0.5
    T, step, total = scale[:, None] * loops * scale, X, 0
    for _ in range(8):
        step = T @ step
        total = total + step
    small = _smooth(A, X)
    np.testing.assert_allclose(small, 0.95 * total / 8 + 0.05 * X, rtol=1e-2, atol=1e-3)
    monkeypatch.setattr("softvec.kernels.SMALL", 0)
    np.testing.assert_allclose(_smooth(A, X), small, rtol=1e-4, atol=1e-6)


def test_agreement_of_nulls_is_a_half_and_drops_what_says_nothing(rng):
    A, _, F = planted(rng)
    own = F.toarray() - F.toarray().mean(axis=0)
    both = measure_agreement(A, own, ALL, rng)
    assert min(both.attributes, both.smoothed, both.graph) > 0.55
    shuffled = measure_agreement(A, own[rng.permutation(N)], ALL, rng)
    assert abs(shuffled.attributes - 0.5) < 4 * shuffled.error
    graph, attributes, smoothed = shuffled.weights
    assert (graph, smoothed) == (1, pytest.approx(0, abs=0.6))
    assert attributes < 0.8
    null = measure_agreement(random_graph(rng), own, ALL, rng)
    assert abs(null.graph - 0.5) < 4 * null.error
    assert null.weights[1] > 1.5 * null.weights[0]


def test_weights_of_unlike_neighbours_keep_the_attributes_and_do_not_smooth():
    graph, attributes, smoothed = Agreement(0.3, 0.3, 0.5, 0.5, 0.01).weights
    assert (graph, attributes, smoothed) == (1.0, 2.0, 0.0)


def test_random_keywords_do_not_drown_a_graph_that_links_unlike_nodes(rng):
    side = np.arange(N) % 2
    upper = np.triu(rng.random((N, N)) < np.where(np.equal.outer(side, side), 0.003, 0.03), 1)
    own = (rng.random((N, 300)) < 0.02).astype(np.float32) - np.float32(0.02)
    agreement = measure_agreement(sparse.csr_array(upper | upper.T), own, ALL, rng)
    assert agreement.graph > 0.5 + 5 * agreement.error
    assert agreement.weights == pytest.approx((1, 0.3, 0))


def test_random_keywords_do_not_drown_a_sparse_graph(rng):
    """Two groups, three edges a node, most of them within the group; keywords say nothing."""
    labels = np.arange(900) % 2
    u, v = rng.integers(0, 900, (2, 3500))
    kept = (labels[u] == labels[v]) | (rng.random(3500) < 0.1)
    A = sparse.coo_array((np.ones(kept.sum()), (u[kept], v[kept])), (900, 900)).tocsr()
    A = sparse.csr_array((A + A.T) > 0)
    A.setdiag(False)
    A.eliminate_zeros()
    own = (rng.random((900, 300)) < 0.02).astype(np.float32) - np.float32(0.02)
    agreement = measure_agreement(A, own, np.ones(900, bool), rng)
    assert agreement.graph > 0.5 + 3 * agreement.error
    assert agreement.weights[1] < 0.7


def test_attributes_of_one_type_are_worth_what_they_tell_two_steps_away(rng):
    """600 papers with words, 60 authors without; papers of one author have one topic."""
    labels = np.arange(N) % K
    authors = rng.integers(0, 15, (N, 3)) * K + labels[:, None]
    wrote = sparse.coo_array((np.ones(3 * N), (np.repeat(np.arange(N), 3), authors.ravel())), (N, 60))
    A = sparse.csr_array(sparse.block_array([[None, wrote], [wrote.T, None]]).astype(bool))
    known = np.arange(N + 60) < N
    words = rng.random((N, 80)) < np.where(labels[:, None] == np.arange(80) % K, 0.25, 0.05)
    edges = (wrote.toarray() > 0).astype(float)
    cases = {"topic": words, "shuffled": words[rng.permutation(N)], "copied": edges}
    worth = {}
    for name, values in cases.items():
        own = np.zeros((N + 60, values.shape[1]), np.float32)
        own[:N] = values - values.mean(axis=0)
        found = measure_agreement(A, own, known, np.random.default_rng(1))
        assert found.steps == 2
        worth[name] = found.weights[1]
    assert worth["topic"] == pytest.approx(2)
    assert max(worth["shuffled"], worth["copied"]) < 0.7
    assert Agreement(0.96, 0.93, 0.7, 0.75, 0.01, 2).weights == pytest.approx((1, 0.3, 0))


def test_fused_vectors_serve_a_classifier_and_new_nodes(rng):
    A, labels, F = planted(rng, 0.03, 0.008)
    G = rng.standard_normal((N, 16)).astype(np.float32) + 0.7 * np.eye(16, dtype=np.float32)[labels]
    known = np.ones(N, bool)
    with machine(2) as two, machine(1) as one:
        fused, again = (fuse_attributes(G, A, F, known, 0, pool) for pool in (two, one))
    assert np.array_equal(fused.X, again.X)
    half = np.arange(N) % 2 == 0

    def score(X, Z=None):
        model = LogisticRegression(max_iter=500).fit(X[half], labels[half])
        return model.score((X if Z is None else Z)[~half], labels[~half])

    alone = F.toarray()
    assert score(fused.X) > max(score(G), score(alone)) - 0.02
    new = F @ fused.vectors[:-1] + fused.vectors[-1]  # attributes without edges
    assert score(fused.X, new) > score(alone) - 0.1


def test_isolated_nodes_and_nodes_without_attributes_are_finite(rng):
    A, labels, F = planted(rng)
    A = A.toarray()
    A[:5] = A[:, :5] = 0
    known = np.ones(N, bool)
    known[5:10] = False
    F = sparse.csr_array(F.toarray() * known[:, None])
    G = rng.standard_normal((N, 16)).astype(np.float32)
    with machine(1) as pool:
        fused = fuse_attributes(G, sparse.csr_array(A), F, known, 1, pool)
    assert np.isfinite(fused.X).all()
    # an isolated node lies with those whose words it shares, not at random
    centre = np.stack([fused.X[(labels == k) & known].mean(axis=0) for k in range(K)])
    assert (np.argmax(fused.X[:5] @ centre.T, axis=1) == labels[:5]).mean() >= 0.4
