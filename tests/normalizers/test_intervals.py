"""Intervals of ControlVariate cover the exact sum as often as they say, on heavy-tailed vectors too."""

import numpy as np
import pytest

from softvec.normalizers import ControlVariate, Exact


def heavy_tailed():
    """Vectors whose lengths follow Student's t of 2.5 degrees, of mean length 1."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8000, 64)) * np.abs(rng.standard_t(2.5, size=(8000, 1)))
    return (X / np.linalg.norm(X, axis=1).mean()).astype(np.float32)


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
