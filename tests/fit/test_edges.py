"""The normaliser with exact terms for neighbours: brute-force sums, finite differences, the exact fit."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp

from softvec.core.errors import InputError
from softvec.core.machine import machine
from softvec.fit.diagnose import diagnose
from softvec.fit.edges import _second
from softvec.fit.engine import Engine
from softvec.fit.problem import Problem, State, random_start
from softvec.fit.run import optimize
from softvec.fit.settings import Settings
from softvec.operators import LinearOperatorAdapter, Powers, as_operator, row_normalize

N, D = 14, 4


def affinity(n=N, m=N, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.random((n, m)) * (rng.random((n, m)) < 0.3)
    A[2] = 0  # a row without neighbours
    if n == m:
        A[4] = 1  # and one that all items are near to
        A[0, 0] = 0.7
    return A


def unit(n, d=D, seed=5):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def log_z(x, Y, near, labels, v, beta):
    """The sum of one row from the definition: near items, and a Gaussian for the others of each class."""
    terms = list(beta * Y[near] @ x + np.log(v[near]))
    for c in np.unique(labels):
        rest = np.flatnonzero((labels == c) & ~np.isin(np.arange(len(Y)), near))
        if not len(rest):
            continue
        w, size = v[rest], len(rest)
        mu = w @ Y[rest] / w.sum()
        scores = (Y[rest] - mu) @ x
        square = w @ scores**2 / (w.sum() * (size - 1) / size) if size > 1 else 0.0
        terms.append(np.log(w.sum()) + beta * x @ mu + beta**2 / 2 * square)
    return logsumexp(terms)


def loss(X, Y, P, near, labels, v, beta, lam=0.0):
    rho = P.sum(axis=1)
    value = -beta * np.sum(P * (X @ Y.T)) + lam * beta / len(X) * np.sum(rho[:, None] * (X @ Y.T))
    return value + sum(rho[i] * log_z(X[i], Y, near[i], labels, v, beta) for i in range(len(X)))


def derivative(f, X, eps=1e-6):
    g = np.zeros_like(X)
    for i in np.ndindex(X.shape):
        for sign in (1, -1):
            moved = X.copy()
            moved[i] += sign * eps
            g[i] += sign * f(moved) / (2 * eps)
    return g


def direction(X, g):
    g = g - np.sum(g * X, axis=1, keepdims=True) * X
    norm = np.linalg.norm(g, axis=1, keepdims=True)
    return np.where(norm > 1e-7, -g / np.maximum(norm, 1e-7), 0)


def step(problem, X, Y=None, labels=None, eta=1e-7):
    """Where the engine's step points to, and the loss that it reports."""
    after = X.copy(), None if Y is None else Y.copy()
    with machine(2) as pool:
        pool.block = 5
        engine = Engine(problem, *after, pool, half=False)
        if labels is not None and labels.any():
            engine.set_classes(labels)
        value = engine.epoch(eta)
    return (after[0] - X) / eta, None if Y is None else (after[1] - Y) / eta, value.total


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("walk", [1, 2])
@pytest.mark.parametrize("gradient", ["row", "paper", "full"])
def test_gradient_and_loss_are_those_of_the_definition(gradient, walk, k, weighted):
    A, X, beta, lam = affinity() / 4, unit(N), 3.0, 0.4
    P = A if walk == 1 else (A + A @ A) / 2
    labels = np.arange(N) % 2 if k > 1 else np.zeros(N, int)
    labels[0] = k - 1  # a class of one
    v = np.linspace(0.5, 1.5, N) if weighted else np.ones(N)
    near = [np.union1d(np.flatnonzero(A[i]), [i]) for i in range(N)]
    operator = as_operator(A) if walk == 1 else Powers(as_operator(A), 2).scale_rows(1.0)
    problem = Problem(
        operator, beta=beta, gradient=gradient, regularization=lam, normalizer="edges",
        item_weight=v if weighted else None,
    )  # fmt: skip
    moved, _, value = step(problem, X, labels=labels)
    if gradient == "row":
        expected = derivative(lambda Z: loss(Z, X, P, near, labels, v, beta, lam), X)
    elif gradient == "full":
        expected = derivative(lambda Z: loss(Z, Z, P, near, labels, v, beta, lam), X)
    else:  # the normaliser's own gradient, and the attraction both ways
        expected = derivative(lambda Z: loss(Z, X, P, near, labels, v, beta, lam), X)
        expected += derivative(lambda Z: loss(X, Z, P, near, labels, v, beta, lam), X)
        sums = P.sum(axis=1)
        expected -= derivative(
            lambda Z: sums @ [log_z(X[i], Z, near[i], labels, v, beta) for i in range(N)], X
        )
    np.testing.assert_allclose(moved, direction(X, expected), atol=3e-6)
    assert value == pytest.approx(loss(X, X, P, near, labels, v, beta, lam) / N, rel=1e-9)


@pytest.mark.parametrize("k", [1, 2])
def test_two_sided_gradient_is_that_of_the_definition(k):
    n, m, beta = 9, N, 2.5
    P, X, Y = affinity(n, m), unit(n), unit(m, seed=6)
    labels, v = np.arange(m) % k, np.linspace(0.5, 1.5, m)
    near = [np.flatnonzero(P[i]) for i in range(n)]
    problem = Problem(as_operator(P), False, beta, normalizer="edges", item_weight=v)
    moved_x, moved_y, value = step(problem, X, Y, labels)

    def total(A, B):
        return loss(A, B, P, near, labels, v, beta)

    np.testing.assert_allclose(moved_x, direction(X, derivative(lambda A: total(A, Y), X)), atol=3e-6)
    np.testing.assert_allclose(moved_y, direction(Y, derivative(lambda B: total(X, B), Y)), atol=3e-6)
    assert value == pytest.approx(total(X, Y) / n, rel=1e-9)


def test_a_row_near_to_all_items_has_the_exact_sum():
    P, X, beta = np.ones((N, N)), unit(N), 9.0
    value = step(Problem(as_operator(P), beta=beta, normalizer="edges"), X)[2]
    scores = beta * X @ X.T
    exact = -np.sum(P * scores) + P.sum(axis=1) @ logsumexp(scores, axis=1)
    assert value == pytest.approx(exact / N, rel=1e-12)


def graph(n=3000, seed=0):
    """Groups of 30 nodes, with a few links between them."""
    rng = np.random.default_rng(seed)
    i = rng.integers(0, n, 8 * n)
    j = np.where(
        rng.random(8 * n) < 0.9, i // 30 * 30 + rng.integers(0, 30, 8 * n), rng.integers(0, n, 8 * n)
    )
    A = sparse.csr_array((np.ones(len(i)), (i, j)), shape=(n, n))
    A.setdiag(0)
    return row_normalize((A + A.T > 0).astype(float).tocsr())


@pytest.mark.parametrize("walk", [1, 2])
@pytest.mark.parametrize(("gradient", "n_clusters"), [("row", 1), ("row", 8), ("full", 1)])
def test_a_sharp_fit_of_3000_items_is_closer_to_the_exact_one(gradient, n_clusters, walk):
    P = graph() if walk == 1 else Powers(graph(), walk)
    settings, found = Settings(n_epochs=20, n_clusters=n_clusters), {}
    with machine(2) as pool:
        for normalizer in ("exact", "mixture", "edges"):
            problem = Problem(P, beta=16.0, gradient=gradient, normalizer=normalizer)
            state = optimize(problem, State(random_start(3000, 32, 7, 0, np.float32, pool)), settings, pool)
            found[normalizer] = diagnose(problem, state.X, state.X, state.classes, 300, 0, pool)
    least = found["exact"].exact_loss
    assert found["edges"].exact_loss - least < 0.3 * (found["mixture"].exact_loss - least)
    assert found["edges"].log_z_error_median < 0.2 * found["mixture"].log_z_error_median


def test_same_bits_for_any_number_of_threads_and_any_temperature_is_finite():
    P = graph()
    for gradient, beta in (("row", 4.0), ("full", 100.0)):
        results = []
        for n_jobs in (1, 3):
            with machine(n_jobs) as pool:
                X = random_start(3000, 16, 7, 0, np.float32, pool)
                problem = Problem(P, beta=beta, gradient=gradient, normalizer="edges")
                results.append(optimize(problem, State(X), Settings(n_epochs=4, n_clusters=3), pool))
        assert np.array_equal(results[0].X, results[1].X)
        assert np.isfinite(results[0].X).all()
        assert all(np.isfinite(record["loss"]) for record in results[0].history)


def test_what_has_no_neighbours_is_refused():
    P = row_normalize(np.ones((3, 3)))
    foreign = LinearOperatorAdapter(sparse.linalg.aslinearoperator(np.ones((3, 3))))
    with machine(1) as pool, pytest.raises(InputError, match="needs a sparse matrix of neighbours"):
        Engine(Problem(foreign, normalizer="edges"), unit(3), None, pool)
    with pytest.raises(InputError, match="has no dissimilarities"):
        Problem(P, normalizer="edges", N=P)


def test_second_neighbours_are_exact_too():
    """With few items, all that are two steps apart are near."""
    A = affinity()
    A = A + A.T
    P = A / np.maximum(A.sum(axis=1, keepdims=True), 1e-300)
    X, v, labels = unit(N), np.ones(N), np.zeros(N, int)
    reach = (A > 0) | np.eye(N, dtype=bool)
    reach = reach.astype(int) @ reach > 0
    near = [np.flatnonzero(reach[i] & (np.arange(N) != i)) for i in range(N)]
    problem = Problem(as_operator(P), beta=4.0, gradient="full", normalizer="near")
    moved, _, value = step(problem, X)
    assert value == pytest.approx(loss(X, X, P, near, labels, v, 4.0) / N, rel=1e-6)
    expected = derivative(lambda Z: loss(Z, Z, P, near, labels, v, 4.0), X)
    np.testing.assert_allclose(moved, direction(X, expected), atol=2e-4)


def test_of_many_second_neighbours_those_with_most_paths_are_taken():
    """Item 0 has the neighbours 1 to 3; 4 has two paths to it, 5 and 6 have one."""
    A = np.zeros((7, 7))
    for i, j in [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (2, 5), (3, 6)]:
        A[i, j] = A[j, i] = 1
    rows, columns = _second(sparse.csr_array(A + np.eye(7)), 3)
    assert columns[rows == 0].tolist() == [4, 5, 6]
    rows, columns = _second(sparse.csr_array(A + np.eye(7)), 2)
    assert 4 in columns[rows == 0]
    assert np.bincount(rows).max() == 2


def test_second_neighbours_are_for_one_set_of_vectors():
    with pytest.raises(InputError, match="one set of vectors"):
        step(Problem(as_operator(affinity()), symmetric=False, normalizer="near"), unit(N), unit(N))
