"""Every normaliser against the brute-force sum; bad input; threads and seeds."""

import numpy as np
import pytest
from scipy.special import logsumexp

from experiments.normalizers.rivals.cost import cost_of
from softvec.core.errors import InputError
from softvec.normalizers import ControlVariate, Exact, GaussianMixture, select

ALL = [Exact(), GaussianMixture(3, random_state=0), ControlVariate(150, random_state=0)]
SAMPLED = ALL[2:]


def name(value):
    return type(value).__name__


def vectors(m=700, d=6, scale=0.35, seed=0, dtype=np.float32):
    """Three blobs of different sizes and norms."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(3, d))
    labels = rng.choice(3, m, p=[0.6, 0.3, 0.1])
    return (scale * (centers[labels] + rng.normal(size=(m, d)))).astype(dtype)


def brute(X, Y, beta, weights=1.0):
    scores = beta * X.astype(np.float64) @ Y.astype(np.float64).T
    return logsumexp(scores, axis=1, b=np.broadcast_to(weights, scores.shape))


@pytest.fixture(scope="module")
def data():
    Y = vectors()
    return Y, Y[:40]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 1025), (300, 2049)])
def test_exact_is_the_sum_whatever_the_blocks(n, m, dtype):
    Y = vectors(max(n, m), dtype=dtype)
    X, Y = Y[:n], Y[:m]
    found = Exact(beta=2.0).fit(Y).log_partition(X)
    np.testing.assert_allclose(found, brute(X, Y, 2.0), rtol=0, atol=3e-6 if dtype == np.float32 else 1e-12)


def test_exact_over_several_spans_of_items(monkeypatch):
    monkeypatch.setattr("softvec.normalizers.exact._SPAN", 100)
    monkeypatch.setattr("softvec.normalizers.exact._COLUMNS", 64)
    Y = vectors(dtype=np.float64)
    np.testing.assert_allclose(Exact().fit(Y).log_partition(Y), brute(Y, Y, 1.0), rtol=1e-13)


@pytest.mark.parametrize("model", [Exact(beta=1.5), GaussianMixture(2, beta=1.5, random_state=0)], ids=name)
def test_weights_are_a_base_measure(model):
    Y = vectors(dtype=np.float64)
    v = np.random.default_rng(1).uniform(0.5, 2.0, len(Y))
    found = model.fit(Y, weights=v).log_partition(Y[:50])
    np.testing.assert_allclose(
        found, brute(Y[:50], Y, 1.5, v), atol=1e-12 if isinstance(model, Exact) else 0.3
    )
    whole = model.fit(Y, weights=np.full(len(Y), 3.0)).log_partition(Y[:5])
    np.testing.assert_allclose(whole, model.fit(Y).log_partition(Y[:5]) + np.log(3.0), atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_mixture_is_the_formula_of_the_paper(dtype):
    Y, beta = vectors(dtype=dtype), 1.7
    labels = np.arange(len(Y)) % 3
    labels[0] = 5  # a class of one; classes 3 and 4 are empty
    found = GaussianMixture(beta=beta).fit(Y, labels=labels).log_partition(Y[:30])
    X, terms = Y[:30].astype(np.float64), []
    for c in (0, 1, 2, 5):
        inside = Y[labels == c].astype(np.float64)
        omega = np.cov(inside.T, ddof=1) if len(inside) > 1 else np.zeros((6, 6))
        quadratic = np.einsum("ij,jk,ik->i", X, omega, X)
        terms.append(np.log(len(inside)) + beta * X @ inside.mean(axis=0) + beta**2 / 2 * quadratic)
    tolerance = 2e-5 if dtype == np.float32 else 1e-11
    np.testing.assert_allclose(found, logsumexp(terms, axis=0), rtol=0, atol=tolerance)


def test_mixture_is_exact_when_each_item_is_a_class():
    Y = vectors(40, dtype=np.float64)
    found = GaussianMixture().fit(Y, labels=np.arange(40)).log_partition(Y)
    np.testing.assert_allclose(found, brute(Y, Y, 1.0), rtol=1e-12)


def test_more_classes_help_on_clustered_items():
    Y = vectors(3000)
    error = [
        np.abs(
            GaussianMixture(k, beta=3.0, random_state=0).fit(Y).log_partition(Y[:99]) - brute(Y[:99], Y, 3.0)
        )
        for k in (1, 3)
    ]
    assert np.median(error[1]) < 0.5 * np.median(error[0])


def test_identical_items_are_fine_for_k_means():
    found = GaussianMixture(4, random_state=0).fit(np.ones((50, 3))).log_partition(np.ones((1, 3)))
    np.testing.assert_allclose(found, np.log(50) + 3, rtol=1e-6)


@pytest.mark.parametrize("model", ALL, ids=name)
def test_close_to_the_sum(model, data):
    Y, X = data
    model.beta = 1.0
    error = np.abs(model.fit(Y).log_partition(X) - brute(X, Y, 1.0))
    assert np.median(error) < 0.1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", ALL, ids=name)
def test_finite_at_large_beta(model, dtype, data):
    Y = (3 * data[0]).astype(dtype)
    model.beta = 100.0
    try:
        found = model.fit(Y).log_partition(Y[:9])
        assert np.isfinite(found).all()
        if isinstance(model, Exact):
            np.testing.assert_allclose(found, brute(Y[:9], Y, 100.0), rtol=1e-6)
        if model in SAMPLED:
            assert not np.isnan(model.std_error(Y[:9])).any()
    finally:
        model.beta = 1.0


@pytest.mark.parametrize("model", ALL, ids=name)
def test_log_softmax_of_pairs(model, data):
    Y, X = data
    pairs = np.array([[0, 5], [7, 3], [0, 0], [39, 699]])
    found = model.fit(Y).log_softmax(X, pairs)
    scores = np.einsum("ij,ij->i", X[pairs[:, 0]], Y[pairs[:, 1]])
    log_z = model.log_partition(X[[0, 7, 39]])[[0, 1, 0, 2]]
    np.testing.assert_allclose(found, scores - log_z, atol=2e-6)
    assert model.log_softmax(X, np.empty((0, 2), int)).shape == (0,)


@pytest.mark.parametrize("model", ALL, ids=name)
def test_same_bits_for_one_and_two_threads(model, data):
    Y, X = data
    found = []
    for jobs in (1, 2):
        model.n_jobs = jobs
        found.append(model.fit(Y).log_partition(np.concatenate([X] * 20)))
    model.n_jobs = None
    assert np.array_equal(*found)


@pytest.mark.parametrize("model", SAMPLED, ids=name)
def test_reproducible_by_seed(model, data):
    Y, X = data
    first, again = (model.fit(Y).log_partition(X) for _ in range(2))
    model.random_state = 1
    other = model.fit(Y).log_partition(X)
    model.random_state = 0
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("model", ALL, ids=name)
def test_cost_is_positive_and_inputs_are_kept(model, data):
    Y, X = data[0].copy(), data[1].copy()
    model.fit(Y).log_partition(X)
    assert np.array_equal(Y, data[0])
    assert np.array_equal(X, data[1])
    assert cost_of(model).fit >= 0
    assert cost_of(model).query > 0


@pytest.mark.parametrize("model", ALL, ids=name)
@pytest.mark.parametrize(
    ("Y", "message"),
    [
        (np.full((3, 2), np.nan), "Y holds NaN or infinity .*row 0"),
        (np.array([[1.0, 2.0], [np.inf, 0.0]]), "NaN or infinity .*row 1"),
        (np.empty((0, 3)), "Y is empty"),
        (np.empty((3, 0)), "Y is empty"),
        (np.ones(4), "1 dimension"),
        (np.array([["a", "b"]]), "real numbers"),
        (np.ones((2, 2), complex), "real numbers"),
    ],
)
def test_bad_items(model, Y, message):
    with pytest.raises(InputError, match=message):
        model.fit(Y)


@pytest.mark.parametrize("model", ALL, ids=name)
def test_bad_queries_and_pairs(model, data):
    Y, X = data
    model.fit(Y)
    with pytest.raises(InputError, match=r"dimension 5, .* 6"):
        model.log_partition(X[:, :5])
    with pytest.raises(InputError, match="X holds NaN"):
        model.log_partition(np.where(X > 0, np.nan, X))
    with pytest.raises(InputError, match="X is empty"):
        model.log_partition(X[:0])
    with pytest.raises(InputError, match=r"outside X \(0..39\)"):
        model.log_softmax(X, [[40, 0]])
    with pytest.raises(InputError, match=r"shape \(p, 2\)"):
        model.log_softmax(X, [0.5, 1])


@pytest.mark.parametrize("model", ALL, ids=name)
@pytest.mark.parametrize("beta", [0, -1, np.nan, np.inf, "warm"])
def test_bad_beta(model, beta, data):
    model.beta = beta
    with pytest.raises(InputError, match="beta is"):
        model.fit(data[0])
    model.beta = 1.0


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (GaussianMixture(8), "n_clusters is 8; expected an integer of at most 7"),
        (GaussianMixture(0), "n_clusters is 0; expected an integer of at least 1"),
        (ControlVariate(0), "n_samples is 0"),
        (ControlVariate(5, n_cells=8), "n_cells is 8; expected an integer of at most 7"),
    ],
)
def test_bad_parameters(model, message):
    with pytest.raises(InputError, match=message):
        model.fit(vectors(7))


def test_other_mistakes(data):
    Y, X = data
    with pytest.raises(InputError, match="call fit"):
        Exact().log_partition(X)
    with pytest.raises(InputError, match="no standard error"):
        GaussianMixture(1).fit(Y).std_error(X)
    with pytest.raises(InputError, match="weights has shape"):
        Exact().fit(Y, weights=[1.0])
    with pytest.raises(InputError, match="above 0"):
        Exact().fit(Y, weights=np.zeros(len(Y)))
    with pytest.raises(InputError, match="expected 700 integers"):
        GaussianMixture().fit(Y, labels=[0, 1])
    with pytest.raises(InputError, match="level is 2"):
        ControlVariate(50).fit(Y).confidence_interval(X, 2)


def test_select_meets_error_or_time(data):
    Y, _ = data
    accurate = select(Y, error=1e-6, rows=30, random_state=0)
    assert name(accurate.normalizer) == "Exact"
    assert accurate.meets_error
    loose = select(Y, beta=0.5, error=0.05, rows=30, random_state=0)
    assert loose.chosen.p95_error <= 0.05
    assert loose.chosen in loose.tried
    hopeless = select(Y, error=1e-9, seconds=1e-9, rows=30, random_state=0, candidates=[GaussianMixture(1)])
    assert not hopeless.meets_error
    assert not hopeless.meets_time
    best = select(Y, error=None, rows=30, random_state=0)
    assert best.chosen.p95_error == min(one.p95_error for one in best.tried)
    with pytest.raises(InputError, match="candidate has beta 1"):
        select(Y, beta=2.0, candidates=[Exact()])
    with pytest.raises(InputError, match="error is 0"):
        select(Y, error=0)
