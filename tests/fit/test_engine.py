"""Gradients against finite differences, normalisers against brute force, bits against threads."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp, ndtri

import softvec
from softvec.core.errors import InputError
from softvec.core.machine import machine
from softvec.fit.engine import Engine
from softvec.fit.problem import Problem, State, _quantiles, find_classes, power_start, random_start
from softvec.fit.run import optimize
from softvec.fit.settings import Settings
from softvec.operators import Powers, as_operator, normalize, row_normalize

N, D, K = 14, 4, 3
EPS = 1e-6


def affinity(n=N, m=N, seed=0, normal=True):
    A = np.random.default_rng(seed).random((n, m)) * (np.random.default_rng(seed + 1).random((n, m)) < 0.4)
    A[2] = 0  # a row without weight
    if n == m:
        A[0, 3] = A[3, 0] = 0.7
    return A / np.maximum(A.sum(1, keepdims=True), 1e-12) if normal else A


def unit(n, d=D, seed=5):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def class_moments(Y, labels, v):
    k = labels.max() + 1
    weight, mu, omega = np.zeros(k), np.zeros((k, Y.shape[1])), np.zeros((k, Y.shape[1], Y.shape[1]))
    for c in range(k):
        inside = np.flatnonzero(labels == c)
        w = v[inside]
        weight[c] = w.sum()
        mu[c] = (w[:, None] * Y[inside]).sum(0) / w.sum()
        centred = Y[inside] - mu[c]
        size = len(inside)
        if size > 1:
            omega[c] = (w[:, None] * centred).T @ centred / (w.sum() * (size - 1) / size)
    return weight, mu, omega


def log_z(X, weight, mu, omega, beta):
    quadratic = np.einsum("id,cde,ie->ic", X, omega, X)
    return logsumexp(np.log(weight) + beta * X @ mu.T + 0.5 * beta**2 * quadratic, axis=1)


def loss(X, Y, P, mom, beta, lam, Nm=None):
    """The loss, from the formula."""
    value = -beta * np.sum(P * (X @ Y.T)) + P.sum(1) @ log_z(X, *mom, beta)
    if Nm is not None:
        value += beta * np.sum(Nm * (X @ Y.T)) + Nm.sum(1) @ log_z(X, mom[0], -mom[1], mom[2], beta)
    return value + lam * beta / len(X) * np.sum(P.sum(1)[:, None] * (X @ Y.T))


def derivative(f, X):
    g = np.zeros_like(X)
    for i in np.ndindex(X.shape):
        for sign in (1, -1):
            moved = X.copy()
            moved[i] += sign * EPS
            g[i] += sign * f(moved) / (2 * EPS)
    return g


def direction(X, g):
    g = g - np.sum(g * X, axis=1, keepdims=True) * X
    norm = np.linalg.norm(g, axis=1, keepdims=True)
    return np.where(norm > 1e-8, -g / np.maximum(norm, 1e-8), 0)


def step_direction(problem, X, Y=None, labels=None, eta=1e-7):
    """What the engine's step of one epoch points to, and the loss that it reports."""
    X, Y = X.copy(), None if Y is None else Y.copy()
    X0, Y0 = X.copy(), None if Y is None else Y.copy()
    with machine(2) as pool:
        pool.block = 5  # several blocks, the last one shorter
        engine = Engine(problem, X, Y, pool, half=False)
        if labels is not None:
            engine.set_classes(labels)
        value = engine.epoch(eta)
    return (X - X0) / eta, None if Y is None else (Y - Y0) / eta, value


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [1, K])
@pytest.mark.parametrize("beta", [1.0, 2.5])
@pytest.mark.parametrize("contrast", [False, True])
@pytest.mark.parametrize("gradient", ["row", "paper", "full"])
def test_gradient_matches_finite_differences(gradient, contrast, beta, k, weighted):
    P, lam = affinity(), 0.8
    Nm = affinity(seed=9, normal=False) if contrast else None
    v = np.linspace(0.5, 1.5, N) if weighted else np.ones(N)
    X = unit(N)
    labels = np.arange(N) % k
    if k > 1:
        labels[labels == 2] = 1
        labels[0] = 2  # a class of one
    problem = Problem(
        as_operator(P),
        beta=beta,
        gradient=gradient,
        regularization=lam,
        N=None if Nm is None else as_operator(Nm),
        item_weight=v if weighted else None,
    )
    moved, _, value = step_direction(problem, X, labels=labels if k > 1 else None)
    fixed = class_moments(X, labels, v)
    if gradient == "row":  # each row's own terms, all other vectors held
        expected = derivative(lambda Z: loss(Z, X, P, fixed, beta, lam, Nm), X)
    elif gradient == "paper":
        expected = derivative(lambda Z: loss(Z, Z, P, fixed, beta, lam, Nm), X)
    else:
        expected = derivative(lambda Z: loss(Z, Z, P, class_moments(Z, labels, v), beta, lam, Nm), X)
    np.testing.assert_allclose(moved, direction(X, expected), atol=2e-6)
    assert value.total == pytest.approx(loss(X, X, P, fixed, beta, lam, Nm) / N, rel=1e-9)


@pytest.mark.parametrize("k", [1, K])
@pytest.mark.parametrize("contrast", [False, True])
def test_two_sided_gradient_matches_finite_differences(contrast, k):
    n, m, beta, lam = 9, N, 1.7, 0.6
    P = affinity(n, m, normal=False)
    Nm = affinity(n, m, seed=9) if contrast else None
    X, Y = unit(n), unit(m, seed=6)
    labels, v = np.arange(m) % k, np.ones(m)
    problem = Problem(
        as_operator(P), False, beta, regularization=lam, N=None if Nm is None else as_operator(Nm)
    )
    moved_x, moved_y, value = step_direction(problem, X, Y, labels if k > 1 else None)

    def total(A, B):
        return loss(A, B, P, class_moments(B, labels, v), beta, lam, Nm)

    np.testing.assert_allclose(moved_x, direction(X, derivative(lambda A: total(A, Y), X)), atol=2e-6)
    np.testing.assert_allclose(moved_y, direction(Y, derivative(lambda B: total(X, B), Y)), atol=2e-6)
    assert value.total == pytest.approx(total(X, Y) / n, rel=1e-9)


def exact_loss(X, Y, P, beta, lam, Nm=None):
    scores = beta * X @ Y.T
    value = -np.sum(P * scores) + P.sum(1) @ logsumexp(scores, axis=1)
    if Nm is not None:
        value += np.sum(Nm * scores) + Nm.sum(1) @ logsumexp(-scores, axis=1)
    return value + lam / len(X) * np.sum(P.sum(1)[:, None] * scores)


@pytest.mark.parametrize("contrast", [False, True])
def test_exact_normalizer_is_brute_force_gradient_descent(contrast):
    P, beta, lam, epochs = affinity(), 1.3, 0.5, 4
    Nm = affinity(seed=9) if contrast else None
    X0 = unit(N)
    expected = X0.copy()
    schedule = Settings(n_epochs=epochs, learning_rate=0.3)
    for t in range(epochs):
        g = derivative(lambda Z: exact_loss(Z, Z, P, beta, lam, Nm), expected)
        eta = schedule.rates()[t]
        expected = np.sqrt(1 - eta**2) * expected + eta * direction(expected, g)
    problem = Problem(
        as_operator(P),
        beta=beta,
        gradient="full",
        regularization=lam,
        normalizer="exact",
        N=None if Nm is None else as_operator(Nm),
    )
    with machine(2) as pool:
        state = optimize(problem, State(X0.copy()), schedule, pool, half=False)
    np.testing.assert_allclose(state.X, expected, atol=1e-5)
    assert state.history[0]["loss"] == pytest.approx(exact_loss(X0, X0, P, beta, lam, Nm) / N)


def test_exact_two_sided_gradient():
    P, beta = affinity(9, N), 1.3
    X, Y = unit(9), unit(N, seed=6)
    problem = Problem(as_operator(P), False, beta, regularization=0.5, normalizer="exact")
    moved_x, moved_y, _ = step_direction(problem, X, Y)
    np.testing.assert_allclose(
        moved_x, direction(X, derivative(lambda A: exact_loss(A, Y, P, beta, 0.5), X)), atol=2e-6
    )
    np.testing.assert_allclose(
        moved_y, direction(Y, derivative(lambda B: exact_loss(X, B, P, beta, 0.5), Y)), atol=2e-6
    )


def test_ball_step_follows_the_whole_gradient_and_stays_inside():
    P = affinity()
    X = unit(N) * 0.5
    problem = Problem(as_operator(P), beta=2.0, gradient="full", regularization=1.0, constraint="ball")
    moved, _, _ = step_direction(problem, X)
    labels, v = np.zeros(N, int), np.ones(N)
    g = derivative(lambda Z: loss(Z, Z, P, class_moments(Z, labels, v), 2.0, 1.0), X)
    np.testing.assert_allclose(moved, -g / np.linalg.norm(g, axis=1, keepdims=True), atol=2e-6)
    with machine(1) as pool:
        state = optimize(problem, State(X.copy()), Settings(n_epochs=20, learning_rate=0.7), pool)
    norms = np.linalg.norm(state.X, axis=1)
    assert norms.max() <= 1 + 1e-9
    assert norms.min() < 1


def ring(n):
    A = sparse.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1], format="lil")
    A[0, n - 1] = A[n - 1, 0] = 1
    return A.tocsr()


def test_first_vectors_take_the_quantiles_of_the_normal_distribution():
    middles = (np.arange(65536) + 0.5) / 65536
    np.testing.assert_array_equal(_quantiles(np.dtype(np.float32)), ndtri(middles).astype(np.float32))
    np.testing.assert_allclose(_quantiles(np.dtype(np.float64)), ndtri(middles), rtol=0, atol=1e-14)


@pytest.mark.parametrize("gradient", ["row", "paper", "full"])
@pytest.mark.parametrize("k", [1, 4])
def test_same_bits_for_any_number_of_threads(gradient, k):
    P = Powers(row_normalize(ring(3000)), 3)
    problem = Problem(P, beta=4.0, gradient=gradient)
    results = []
    for n_jobs in (1, 2, 3):
        with machine(n_jobs) as pool:
            X = random_start(3000, 16, 7, 0, np.float32, pool)
            results.append(optimize(problem, State(X), Settings(n_epochs=6, n_clusters=k), pool).X)
    assert all(np.array_equal(results[0], other) for other in results[1:])
    assert np.isfinite(results[0]).all()


def test_half_precision_gather_changes_little():
    problem = Problem(row_normalize(ring(400)), beta=2.0)
    with machine(2) as pool:
        X = random_start(400, 8, 7, 0, np.float32, pool)
        a, b = (
            optimize(problem, State(X.copy()), Settings(n_epochs=10), pool, half=half).X
            for half in (True, False)
        )
    assert np.abs(a - b).max() < 0.05
    assert np.mean(np.sum(a * b, axis=1)) > 0.999


@pytest.mark.parametrize("beta", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("gradient", ["row", "full"])
def test_any_temperature_stays_finite(beta, gradient):
    problem = Problem(row_normalize(ring(50)), beta=beta, gradient=gradient)
    with machine(1) as pool:
        state = optimize(
            problem, State(unit(50, 6).astype(np.float32)), Settings(n_epochs=20, n_clusters=3), pool
        )
    assert np.isfinite(state.X).all()
    assert all(np.isfinite(record["loss"]) for record in state.history)
    np.testing.assert_allclose(np.linalg.norm(state.X, axis=1), 1, atol=1e-5)


def test_zero_gradient_moves_nothing():
    problem = Problem(as_operator(np.zeros((3, 3))), regularization=0.0)
    X = unit(3)
    with machine(1) as pool:
        state = optimize(problem, State(X.copy()), Settings(n_epochs=3), pool)
    np.testing.assert_array_equal(state.X, X)


def test_power_start_leans_towards_neighbours():
    P = row_normalize(ring(200))
    with machine(1) as pool:
        X = power_start(P, 8, 0, np.float32, pool, 3)
    assert np.mean(np.sum(X * X[np.r_[2:200, 0, 1]], axis=1)) > 0.3
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, atol=1e-5)


def test_find_classes_recovers_groups_and_drops_empty_ones():
    centres = np.eye(3)
    X = np.repeat(centres, 10, axis=0).astype(np.float32)
    with machine(1) as pool:
        labels = find_classes(X, 5, 0, pool)
    assert labels.max() == 2
    assert len({tuple(labels[i : i + 10]) for i in (0, 10, 20)}) == 3


def test_callback_stops_and_sees_read_only_vectors():
    seen = []

    def stop(epoch, loss, X):
        seen.append((epoch, loss))
        assert not X.flags.writeable
        return epoch == 2

    with machine(1) as pool:
        state = optimize(
            Problem(row_normalize(ring(30))), State(unit(30)), Settings(n_epochs=9, callbacks=[stop]), pool
        )
    assert [epoch for epoch, _ in seen] == [0, 1, 2]
    assert state.epoch == 3


def test_tol_stops_early():
    with machine(1) as pool:
        state = optimize(
            Problem(row_normalize(ring(30))), State(unit(30)), Settings(n_epochs=200, tol=0.1), pool
        )
    assert state.epoch < 200


def test_resumed_run_has_the_bits_of_an_uninterrupted_one():
    problem = Problem(Powers(row_normalize(ring(600)), 2), beta=3.0, gradient="full")
    with machine(2) as pool:
        X = random_start(600, 8, 1, 0, np.float32, pool)
        whole = optimize(problem, State(X.copy()), Settings(n_epochs=12, n_clusters=3), pool, seed=4)
        saved = []

        def keep(state):
            if state.epoch == 5:
                saved.append(State(state.X.copy(), None, state.classes.copy(), 5, list(state.history)))

        optimize(problem, State(X.copy()), Settings(n_epochs=12, n_clusters=3), pool, seed=4, on_epoch=keep)
        again = optimize(problem, saved[0], Settings(n_epochs=12, n_clusters=3), pool, seed=4)
    assert np.array_equal(whole.X, again.X)
    assert [r["loss"] for r in whole.history] == [r["loss"] for r in again.history]


def test_an_epoch_after_the_last_takes_the_moments_that_were_left_out():
    problem = Problem(row_normalize(ring(600)), beta=3.0)
    ends = []
    for last in (True, False):
        with machine(1) as pool:
            engine = Engine(problem, unit(600).astype(np.float32), None, pool)
            engine.epoch(0.5, last=last)
            ends.append((engine.epoch(0.3).total, engine.rows.X))
    assert ends[0][0] == ends[1][0]
    np.testing.assert_array_equal(ends[0][1], ends[1][1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"N": as_operator(np.eye(3))}, "dissimilarities have shape"),
        ({"item_weight": np.ones(3)}, "item weights"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(InputError, match=message):
        Problem(as_operator(np.eye(4)), **options)


def test_rectangular_needs_two_sides():
    with pytest.raises(InputError, match="symmetric=False"):
        Problem(as_operator(np.ones((2, 3))))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_epochs": -1}, "n_epochs is -1"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0"),
        ({"learning_rate": 1.5}, "learning_rate is 1.5"),
        ({"tol": -1.0}, "tol is -1"),
        ({"gradient": "exact"}, "gradient is 'exact'"),
        ({"constraint": "cube"}, "constraint is 'cube'"),
        ({"normalizer": "none"}, "normalizer is 'none'"),
        ({"beta": 0.0}, "beta is 0.0"),
        ({"beta": np.nan}, "beta is nan"),
        ({"regularization": -1.0}, "regularization is -1"),
    ],
)
def test_settings_are_checked_at_the_door(options, message):
    with pytest.raises(InputError, match=message):
        Settings.checked(**options)


def test_one_fit_checks_its_settings_and_its_entries_once(monkeypatch):
    checks, scans = [], []
    check, scan = Settings.checked, normalize._check_values
    monkeypatch.setattr(Settings, "checked", lambda **values: (checks.append(values), check(**values))[1])
    monkeypatch.setattr(
        normalize,
        "_check_values",
        lambda values, part, name: (scans.append(values is part._values), scan(values, part, name)),
    )
    A = sparse.csr_array(np.array([[0, 2.0, 1], [2, 0, 9], [1, 9, 0]]))
    softvec.embed(A, 8, random_state=0)
    softvec.embed(A, 8, random_state=0, view="fused")
    assert len(checks) == 2
    assert sum(scans) == 3  # fused views divide the weights by their mean: another matrix
