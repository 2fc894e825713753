"""Generators against what their models say: degrees, block densities, closed-form epidemics."""

import numpy as np
import pytest

from experiments.generators import dcsbm, paper_theta, random, sir
from softvec.core.errors import InputError


def assert_simple_graph(A):
    assert A.dtype == np.int8
    assert A.indices.dtype == np.int32
    assert abs(A - A.T).nnz == 0
    assert A.diagonal().sum() == 0
    assert A.nnz == 0 or A.data.min() == A.data.max() == 1
    assert all((np.diff(A.indices[lo:hi]) > 0).all() for lo, hi in zip(A.indptr[:200], A.indptr[1:201]))


def test_random_numbers_are_uniform():
    draws = np.array([random.uniform(np.uint64(7), np.uint64(k)) for k in range(4000)])
    assert draws.min() >= 0
    assert draws.max() < 1
    assert abs(draws.mean() - 0.5) < 4 / np.sqrt(12 * 4000)
    assert abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < 4 / np.sqrt(4000)


def test_dcsbm_parameters_follow_their_definitions():
    info = dcsbm(2000, c=10, q=4, alpha=2.0, random_state=1).info
    assert info.c == pytest.approx((info.c_in + 3 * info.c_out) / 4)
    assert info.alpha == pytest.approx((info.c - info.c_out) * np.sqrt(info.theta_squared / info.c))
    other = dcsbm(2000, q=4, c_in=info.c_in, c_out=info.c_out, theta="constant", random_state=1).info
    assert other.c == pytest.approx(10)
    assert other.theta_squared == 1


def test_dcsbm_edge_counts_per_block_and_degrees():
    n, q = 20000, 3
    theta = paper_theta(n, 5)
    labels = np.random.default_rng(5).integers(0, q, n)
    A, found, info = dcsbm(n, labels=labels, c_in=30.0, c_out=6.0, theta=theta, random_state=2)
    assert_simple_graph(A)
    np.testing.assert_array_equal(found, labels)
    blocks = np.eye(q)[labels].T @ (A.astype(float) @ np.eye(q)[labels])  # directed edge counts
    mass = np.bincount(labels, weights=theta)
    squares = np.bincount(labels, weights=theta**2)
    expected = np.outer(mass, mass) * info.c_out / n
    np.fill_diagonal(expected, (mass**2 - squares) * info.c_in / n)
    # An undirected Bernoulli count of mean m has deviation below sqrt(m); inside blocks directed counts are
    # twice it.
    deviation = np.sqrt(expected) * np.where(np.eye(q) == 1, np.sqrt(2), 1)
    assert (np.abs(blocks - expected) < 4 * deviation).all()
    degrees = np.diff(A.indptr)
    mean_degree = theta * (info.c_in * mass[labels] + info.c_out * (mass.sum() - mass[labels])) / n
    z = (degrees - mean_degree) / np.sqrt(mean_degree)
    assert abs(z.mean()) < 4 / np.sqrt(n)
    assert abs(z.var() - 1) < 0.1


def test_dcsbm_pair_probabilities_are_exact_even_when_large():
    """Merged Poisson draws alone would join a pair of probability 0.6 in only 45% of the graphs."""
    theta = np.array([2.0, 2.0, 0.5, 0.5, 0.5, 0.5])
    labels = np.array([0, 1, 0, 1, 0, 1])
    runs = 1500
    total = np.zeros((6, 6))
    for seed in range(runs):
        total += dcsbm(6, labels=labels, c_in=0.9, c_out=0.9, theta=theta, random_state=seed).adjacency
    expected = np.outer(theta, theta) * 0.9 / 6
    np.fill_diagonal(expected, 0)
    deviation = np.sqrt(expected * (1 - expected) / runs)
    assert (np.abs(total / runs - expected) <= 4.5 * deviation).all()
    assert expected.max() == pytest.approx(0.6)


def test_dcsbm_is_reproducible_by_seed():
    one, same = (dcsbm(3000, c=20, q=5, alpha=1.5, random_state=3).adjacency for _ in range(2))
    np.testing.assert_array_equal(one.indptr, same.indptr)
    np.testing.assert_array_equal(one.indices, same.indices)
    assert dcsbm(3000, c=20, q=5, alpha=1.5, random_state=4).adjacency.nnz != one.nnz


def test_dcsbm_agrees_with_a_dense_draw():
    """Same model drawn pair by pair with NumPy: number of edges and of triangles agree."""
    n, runs = 120, 60
    rng = np.random.default_rng(0)
    theta = paper_theta(n, 1)
    labels = rng.integers(0, 2, n)

    def statistics(A):
        return A.sum() / 2, np.trace(A @ A @ A) / 6

    p = np.outer(theta, theta) / n * np.where(labels[:, None] == labels, 14.0, 2.0)
    dense, fast = [], []
    for seed in range(runs):
        upper = np.triu(rng.random((n, n)) < np.minimum(p, 1), 1).astype(float)
        dense.append(statistics(upper + upper.T))
        A = dcsbm(n, labels=labels, c_in=14.0, c_out=2.0, theta=theta, random_state=seed).adjacency
        fast.append(statistics(A.toarray().astype(float)))
    dense, fast = np.array(dense), np.array(fast)
    error = np.sqrt((dense.var(axis=0) + fast.var(axis=0)) / runs)
    assert (np.abs(dense.mean(axis=0) - fast.mean(axis=0)) < 4 * error).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 100, "c": 10, "q": 4, "alpha": 50.0}, "at most"),
        ({"n": 100, "c": 10, "alpha": 1.0}, "q is None"),
        ({"n": 100, "c": 10, "q": 4}, "pass c and alpha"),
        ({"n": 100, "c": 10, "q": 4, "alpha": 1.0, "theta": "other"}, "'paper'"),
        ({"n": 100, "c": 10, "q": 4, "alpha": 1.0, "theta": np.ones(3)}, "theta must be 100"),
        ({"n": 100, "c": 10, "alpha": 1.0, "labels": np.zeros(3, int)}, "labels must be 100"),
        ({"n": 1, "c": 10, "q": 4, "alpha": 1.0}, "at least 2"),
    ],
)
def test_dcsbm_errors(arguments, message):
    with pytest.raises(InputError, match=message):
        dcsbm(**arguments)


def test_sir_without_recovery_is_a_time_respecting_reachability():
    rng = np.random.default_rng(0)
    edges = np.stack([rng.integers(0, 6, 60), rng.integers(0, 30, 60), rng.integers(0, 30, 60)], axis=1)
    edges = edges[edges[:, 1] != edges[:, 2]]
    run = sir(edges, beta=1.0, mu=0.0, seed_node=int(edges[0, 1]), n_nodes=30)
    reached = {int(edges[0, 1])}
    for t in range(6):
        now = edges[edges[:, 0] == t, 1:]
        reached |= {int(j) for i, j in now if i in reached} | {int(i) for i, j in now if j in reached}
        assert set(np.flatnonzero(run.states[t + 1] == 1).tolist()) == reached


def test_sir_conserves_people_and_never_goes_back():
    rng = np.random.default_rng(1)
    edges = np.stack(
        [rng.integers(0, 40, 4000), rng.integers(0, 100, 4000), rng.integers(0, 100, 4000)], axis=1
    )
    run = sir(edges, beta=0.2, mu=0.1, random_state=0)
    assert run.states.shape == (41, 100)
    assert (run.counts.sum(axis=1) == 100).all()
    assert (np.diff(run.states.astype(int), axis=0) >= 0).all()
    assert (run.counts[0] == [99, 1, 0]).all()
    np.testing.assert_array_equal(run.states, sir(edges, beta=0.2, mu=0.1, random_state=0).states)


def test_sir_one_contact_has_the_analytic_chances():
    """Three contacts in one snapshot: 1 - (1 - beta)^3; the seed recovers with mu, the other not yet."""
    runs = 3000
    final = np.array(
        [
            sir([[0, 0, 1]], 0.3, 0.25, weights=[3.0], seed_node=0, random_state=s).states[1]
            for s in range(runs)
        ]
    )
    for found, p in (((final[:, 1] == 1).mean(), 1 - 0.7**3), ((final[:, 0] == 2).mean(), 0.25)):
        assert found == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / runs))
    assert not (final[:, 1] == 2).any()


def test_sir_recovery_time_is_geometric():
    n, mu = 3000, 0.2
    edges = np.stack([np.zeros(n - 1, int), np.zeros(n - 1, int), np.arange(1, n)], axis=1)
    run = sir(edges, beta=1.0, mu=mu, seed_node=0, n_steps=6, random_state=0)
    infected = run.counts[1:, 1] / n
    np.testing.assert_allclose(infected, (1 - mu) ** np.arange(6), atol=4 * 0.5 / np.sqrt(n))


@pytest.mark.parametrize(
    ("edges", "options", "message"),
    [
        ([[0, 1]], {}, "t, i, j"),
        (np.zeros((0, 3), int), {}, "at least one"),
        ([[0, 0, 1]], {"beta": 2.0}, "probabilities"),
        ([[0, 0, 1]], {"seed_node": 9}, "seed_node"),
        ([[0, 0, 1]], {"n_nodes": 1}, "n_nodes"),
        ([[0, 0, 1]], {"weights": [-1.0]}, "weights"),
    ],
)
def test_sir_errors(edges, options, message):
    with pytest.raises(InputError, match=message):
        sir(edges, **{"beta": 0.1, "mu": 0.1, **options})


@pytest.mark.slow
def test_ten_million_edges_stay_in_memory_and_time():
    A, _, info = dcsbm(1_000_000, c=20, q=10, alpha=3.0, random_state=0)
    assert A.nnz / 1_000_000 == pytest.approx(info.c, rel=0.01)
