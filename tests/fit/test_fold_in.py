"""New rows against fitted vectors: the closed form on the sphere is the minimum."""

import numpy as np
import pytest

from softvec.fit.fold_in import on_sphere


def problem(seed, d, rows, scale=1.0):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(d, d)) * rng.exponential(size=d)
    omega = root @ root.T / d**2
    return rng.normal(size=d) / d, omega, scale * rng.normal(size=(rows, d)), rng.uniform(0.2, 2, rows)


def loss(x, g, rho, mu, omega, beta):
    return -beta * x @ g + rho * (beta * x @ mu + beta**2 / 2 * np.einsum("...i,ij,...j->...", x, omega, x))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_closed_form_is_the_minimum_on_the_sphere(dtype, scale):
    mu, omega, G, rho = problem(0, 5, 20, scale)
    X = on_sphere(mu, omega, 6.0, dtype)(G.astype(dtype), rho).astype(float)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, atol=1e-5)
    rng = np.random.default_rng(1)
    for x, g, r in zip(X, G, rho):
        far = rng.normal(size=(20_000, 5))
        near = x + 0.05 * rng.normal(size=(20_000, 5))
        others = np.concatenate([far, near])
        others /= np.linalg.norm(others, axis=1, keepdims=True)
        best = loss(others, g, r, mu, omega, 6.0).min()
        assert loss(x, g, r, mu, omega, 6.0) <= best + 1e-5 * (1 + abs(best))


def test_no_pull_along_the_first_axis():
    """The hard case of the trust-region problem: the shift stops at the least eigenvalue."""
    omega = np.diag([0.1, 1.0, 2.0])
    G = np.array([[0.0, 0.05, 0.0], [0.0, 0.0, 0.0]])
    X = on_sphere(np.zeros(3), omega, 2.0, np.float64)(G, np.ones(2))
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, atol=1e-6)
    angles = np.linspace(0, np.pi, 200)
    around = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    best = loss(around, G[0], 1.0, np.zeros(3), omega, 2.0).min()
    assert loss(X[0], G[0], 1.0, np.zeros(3), omega, 2.0) <= best + 1e-6
