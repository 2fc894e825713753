"""Normalisers that the paper compares with: close to the sum, unbiased, same bits by threads and seed."""

import numpy as np
import pytest
from scipy.special import logsumexp

from experiments.normalizers.rivals import (
    AdaptiveSampling,
    Nystrom,
    PositiveRandomFeatures,
    RandomFeatures,
    Sampling,
    TopK,
    tree,
)
from experiments.normalizers.scaling import rescale
from softvec.core.errors import InputError
from softvec.normalizers import Exact

BETA = 1.3
ALL = [
    Sampling(300, random_state=0),
    AdaptiveSampling(60, alpha=10.0, random_state=0),
    RandomFeatures(400, random_state=0),
    PositiveRandomFeatures(400, orthogonal=True, random_state=0),
    Nystrom(60, random_state=0),
    TopK(20, 60, search="exact", random_state=0),
]
SAMPLED = [model for model in ALL if not isinstance(model, Nystrom)]
UNBIASED = {
    "sampling": lambda s: Sampling(40, beta=BETA, random_state=s, n_jobs=1),
    "adaptive": lambda s: AdaptiveSampling(40, alpha=5.0, beta=BETA, random_state=s, n_jobs=1),
    "features": lambda s: RandomFeatures(150, beta=BETA, random_state=s, n_jobs=1),
    "orthogonal": lambda s: RandomFeatures(150, orthogonal=True, beta=BETA, random_state=s, n_jobs=1),
    "positive": lambda s: PositiveRandomFeatures(150, beta=BETA, random_state=s, n_jobs=1),
    "hyperbolic": lambda s: PositiveRandomFeatures(
        150, orthogonal=True, symmetric=True, beta=BETA, random_state=s, n_jobs=1
    ),
    "top-k": lambda s: TopK(5, 25, search="exact", beta=BETA, random_state=s, n_jobs=1),
}


def name(value):
    return type(value).__name__


def vectors(m=700, d=6, scale=0.35, seed=0, dtype=np.float32):
    """Three blobs of different sizes and norms."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(3, d))
    labels = rng.choice(3, m, p=[0.6, 0.3, 0.1])
    return (scale * (centers[labels] + rng.normal(size=(m, d)))).astype(dtype)


def brute(X, Y, beta):
    return logsumexp(beta * X.astype(np.float64) @ Y.astype(np.float64).T, axis=1)


@pytest.fixture(scope="module")
def data():
    Y = vectors()
    return Y, Y[:40]


@pytest.mark.parametrize("model", ALL, ids=name)
def test_close_to_the_sum(model, data):
    Y, X = data
    error = np.abs(model.fit(Y).log_partition(X) - brute(X, Y, 1.0))
    limit = {"RandomFeatures": 0.5, "PositiveRandomFeatures": 0.5, "AdaptiveSampling": 0.3, "TopK": 0.3}
    assert np.median(error) < limit.get(name(model), 0.1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", ALL, ids=name)
def test_finite_at_large_beta(model, dtype, data):
    Y = (3 * data[0]).astype(dtype)
    model.beta = 100.0
    try:
        assert np.isfinite(model.fit(Y).log_partition(Y[:9])).all()
    finally:
        model.beta = 1.0


@pytest.mark.parametrize("model", ALL, ids=name)
def test_same_bits_by_threads_and_seed(model, data):
    Y, X = data
    found = []
    for jobs in (1, 2):
        model.n_jobs = jobs
        found.append(model.fit(Y).log_partition(np.concatenate([X] * 20)))
    model.n_jobs = None
    assert np.array_equal(*found)
    if model in SAMPLED:
        model.random_state = 1
        other = model.fit(Y).log_partition(X)
        model.random_state = 0
        assert not np.array_equal(found[0][: len(X)], other)


@pytest.mark.parametrize("method", UNBIASED)
def test_unbiased_with_an_honest_standard_error(method):
    rng = np.random.default_rng(7)
    Y = (rng.normal(size=(400, 6)) * rng.uniform(0.1, 0.6, size=(400, 1))).astype(np.float32)
    X = (0.4 * rng.normal(size=(12, 6))).astype(np.float32)
    truth = np.exp(Exact(beta=BETA).fit(Y.astype(np.float64)).log_partition(X))
    runs = 1500 if method == "hyperbolic" else 150  # heavy tails: a mean of 150 draws is not yet normal
    values, errors = np.empty((runs, len(X))), np.empty((runs, len(X)))
    for seed in range(runs):
        found = UNBIASED[method](seed).fit(Y).estimate(X)
        values[seed] = found.value * np.exp(found.log_scale)
        errors[seed] = np.nan if found.std_error is None else found.std_error * np.exp(found.log_scale)
    z = (values.mean(axis=0) - truth) / (values.std(axis=0, ddof=1) / np.sqrt(runs))
    assert np.abs(z).max() < 4.5
    assert (z**2).mean() < 3.0  # the twelve queries share draws: their z are correlated
    if not np.isnan(errors).any():
        ratio = np.sqrt((errors**2).mean(axis=0)) / values.std(axis=0, ddof=1)
        assert 0.75 < np.median(ratio) < 1.5


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Sampling(8), "n_samples is 8; expected an integer of at most 7"),
        (Nystrom(8), "n_landmarks is 8; expected an integer of at most 7"),
        (Nystrom(2, landmarks="best"), "pass 'uniform' or 'kmeans'"),
        (TopK(8, 1), "n_neighbors is 8; expected an integer of at most 7"),
        (TopK(4, 4), r"n_neighbors \+ n_samples is 8"),
        (TopK(1, 1, search="fast"), "search is 'fast'"),
        (AdaptiveSampling(0), "n_samples is 0"),
        (AdaptiveSampling(5, alpha=-1), "alpha is -1"),
        (RandomFeatures(2.5), "n_features is 2.5"),
        (PositiveRandomFeatures(True), "n_features is True"),
    ],
)
def test_bad_parameters(model, message):
    with pytest.raises(InputError, match=message):
        model.fit(vectors(7))


def test_top_k_without_usearch(monkeypatch, data):
    Y, X = data
    monkeypatch.setitem(__import__("sys").modules, "usearch.index", None)
    with pytest.raises(InputError, match="pip install usearch"):
        TopK(search="usearch").fit(Y)
    exact = TopK(search="exact", random_state=0).fit(Y).log_partition(X)
    assert np.array_equal(TopK(search="auto", random_state=0).fit(Y).log_partition(X), exact)


def test_top_k_with_a_real_index_finds_the_neighbours(data):
    pytest.importorskip("usearch")
    Y, X = data
    found = TopK(20, 60, random_state=0, n_jobs=1).fit(Y).log_partition(X)
    np.testing.assert_allclose(
        found, TopK(20, 60, search="exact", random_state=0).fit(Y).log_partition(X), atol=0.05
    )


def test_nystrom_is_exact_at_full_rank():
    Y = vectors(60, dtype=np.float64)
    found = Nystrom(60, random_state=0).fit(Y).log_partition(Y)
    np.testing.assert_allclose(found, brute(Y, Y, 1.0), atol=1e-6)
    better = np.abs(
        Nystrom(20, landmarks="kmeans", random_state=0).fit(Y).log_partition(Y) - brute(Y, Y, 1.0)
    )
    assert np.median(better) < 0.2


def test_rescale_refuses_vectors_without_direction():
    np.testing.assert_allclose(np.linalg.norm(rescale(vectors(), "mean"), axis=1).mean(), 1, rtol=1e-5)
    with pytest.raises(InputError, match="row 1 of vectors is zero"):
        rescale([[1.0, 0.0], [0.0, 0.0]], "unit")
    with pytest.raises(InputError, match="all vectors are zero"):
        rescale(np.zeros((2, 2)), "mean")


def test_the_tree_draws_from_the_quadratic_kernel():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(37, 3)).astype(np.float32)
    model = AdaptiveSampling(200000, alpha=2.0, random_state=3, n_jobs=1).fit(Y)
    X = np.array([[1.0, -0.5, 0.2]], np.float32)
    logs, scores = np.empty((1, 200000)), np.empty((1, 200000))
    tree.draw_rows(
        X, model._root, model._items, model._moments, model._bounds, model._leaf, 2.0,
        np.array([5], np.uint64), logs, scores,
    )  # fmt: skip
    truth = (Y @ X[0]).astype(np.float64)
    weight = 1 + 2 * truth**2
    order = np.argsort(truth)
    found = np.searchsorted((truth[order][1:] + truth[order][:-1]) / 2, scores[0])
    frequency = np.bincount(found, minlength=37) / 200000
    probability = (weight / weight.sum())[order]
    assert np.abs(frequency - probability).max() < 5 * np.sqrt(probability.max() / 200000)
    np.testing.assert_allclose(np.exp(-logs[0]), probability[found], rtol=1e-5)
