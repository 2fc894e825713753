"""Intervals of ControlVariate cover the exact sum as often as they say, on heavy-tailed vectors too."""

import numpy as np
import pytest

from softvec.normalizers import ControlVariate, Exact


def heavy_tailed():
    """Vectors whose lengths follow Student's t of 2.5 degrees, of mean length 1."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8000, 64)) * np.abs(rng.standard_t(2.5, size=(8000, 1)))
    return (X / np.linalg.norm(X, axis=1).mean()).astype(np.float32)


@pytest.mark.filterwarnings("ignore:95% intervals of log Z are")
@pytest.mark.parametrize(("beta", "least"), [(1, 0.93), (4, 0.93), (9, 0.93), (16, 0.9)])
def test_coverage_of_heavy_tails(beta, least):
    X = heavy_tailed()
    asked = X[np.random.default_rng(1).choice(len(X), 500, replace=False)]
    exact = Exact(beta=beta).fit(X).log_partition(asked)
    covered = []
    for seed in range(3):
        low, high = ControlVariate(1000, beta=beta, random_state=seed).fit(X).confidence_interval(asked)
        covered.append(np.mean((low <= exact) & (exact <= high)))
    assert np.mean(covered) >= least, covered


@pytest.mark.parametrize("spread", [0.8, 0.0])
def test_coverage_of_short_and_long_queries(spread):
    """Each fifth of the norms is covered, not only all together; with one factor, the longest are not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 16))
    X *= np.exp(spread * rng.normal(size=(4000, 1))) / np.linalg.norm(X, axis=1, keepdims=True)
    X = (X / np.linalg.norm(X, axis=1).mean()).astype(np.float32)
    asked = X[np.argsort(np.linalg.norm(X, axis=1))]
    exact, covered = Exact(beta=3).fit(X).log_partition(asked), np.zeros(len(X))
    for seed in range(6):
        low, high = ControlVariate(300, beta=3, random_state=seed).fit(X).confidence_interval(asked)
        covered += ((low <= exact) & (exact <= high)) / 6
    by_norm = covered.reshape(5, -1).mean(axis=1)
    assert (by_norm > 0.91).all(), by_norm
    assert 0.93 < covered.mean() < 0.985


def test_intervals_that_say_nothing_are_announced():
    rng = np.random.default_rng(0)
    X = 4 * rng.normal(size=(3000, 32)) * np.exp(rng.normal(size=(3000, 1)))
    with pytest.warns(UserWarning, match="intervals of log Z are .* wide"):
        model = ControlVariate(20, beta=3.0, random_state=0, n_cells=4).fit(X)
    assert np.isfinite(model.confidence_interval(X[:50])).all()
