"""Methods that claim to be unbiased, over many seeds; standard errors and intervals; their kernels."""

import numpy as np
import pytest

from softvec.kernels import cells, expsum
from softvec.normalizers import ControlVariate, Exact
from softvec.normalizers.clusters import cut_into_cells

BETA = 1.3
METHODS = {
    "control": lambda s: ControlVariate(60, n_cells=20, beta=BETA, random_state=s, n_jobs=1),
    "few samples": lambda s: ControlVariate(12, n_cells=6, beta=BETA, random_state=s, n_jobs=1),
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(7)
    Y = (rng.normal(size=(400, 6)) * rng.uniform(0.1, 0.6, size=(400, 1))).astype(np.float32)
    X = (0.4 * rng.normal(size=(12, 6))).astype(np.float32)
    truth = np.exp(Exact(beta=BETA).fit(Y.astype(np.float64)).log_partition(X))
    return Y, X, truth


@pytest.mark.parametrize("method", METHODS)
def test_unbiased_with_an_honest_standard_error(method, data):
    Y, X, truth = data
    runs = 150
    values, errors = np.empty((runs, len(X))), np.empty((runs, len(X)))
    for seed in range(runs):
        found = METHODS[method](seed).fit(Y).estimate(X)
        values[seed] = found.value * np.exp(found.log_scale)
        errors[seed] = np.nan if found.std_error is None else found.std_error * np.exp(found.log_scale)
    z = (values.mean(axis=0) - truth) / (values.std(axis=0, ddof=1) / np.sqrt(runs))
    assert np.abs(z).max() < 4.5
    assert (z**2).mean() < 3.0  # the twelve queries share draws: their z are correlated
    if not np.isnan(errors).any():
        ratio = np.sqrt((errors**2).mean(axis=0)) / values.std(axis=0, ddof=1)
        assert 0.75 < np.median(ratio) < 1.5


def test_control_variate_beats_sampling_and_its_intervals_cover(data):
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(4000, 10)).astype(np.float32) / 3
    truth = Exact().fit(Y.astype(np.float64)).log_partition(Y[:200])
    inside, errors, plain = [], [], []
    for seed in range(10):
        model = ControlVariate(300, random_state=seed).fit(Y)
        low, high = model.confidence_interval(Y[:200])
        assert (low <= high).all()
        inside.append((low <= truth) & (truth <= high))
        errors.append(model.log_partition(Y[:200]) - truth)
        drawn = rng.choice(len(Y), 300)  # plain sampling, as long
        scores = Y[:200].astype(np.float64) @ Y[drawn].T.astype(np.float64)
        plain.append(np.log(np.exp(scores).mean(axis=1) * len(Y)) - truth)
        assert 200 < model.n_read(Y[:200]).mean() < 330
    assert np.std(errors) < 0.1 * np.std(plain)
    assert 0.90 < np.mean(inside) < 0.99


def test_control_variate_is_exact_with_a_sample_of_everything(data):
    Y, X, truth = data
    model = ControlVariate(400, beta=BETA, random_state=0).fit(Y.astype(np.float64))
    np.testing.assert_allclose(np.exp(model.log_partition(X)), truth, rtol=1e-9)
    assert (model.n_read(X) == 400).all()
    np.testing.assert_allclose(model.std_error(X), 0, atol=1e-12)


def test_control_variate_on_degenerate_items():
    for Y in (np.ones((50, 3)), np.zeros((50, 3)), np.repeat(np.eye(3), 20, axis=0), np.ones((1, 2))):
        model = ControlVariate(10, beta=2.0, random_state=0).fit(Y)
        np.testing.assert_allclose(
            model.log_partition(Y[:5]), Exact(beta=2.0).fit(Y).log_partition(Y[:5]), atol=1e-6
        )


def test_calibration_takes_queries_of_another_kind(data):
    Y, X, _ = data
    model = ControlVariate(60, random_state=0).fit(Y, queries=X)
    assert np.isfinite(model.std_error(X)).all()


def test_cells_hold_every_item_once():
    Y = np.random.default_rng(0).normal(size=(500, 4)).astype(np.float32)
    from softvec.core.machine import machine

    with machine(2) as pool:
        found = cut_into_cells(Y, 30, np.random.default_rng(1), pool)
    assert np.array_equal(np.sort(found.order), np.arange(500))
    ends = np.cumsum(found.counts)
    scatter = np.zeros((4, 4))
    for c, (lo, hi) in enumerate(zip(ends - found.counts, ends)):
        inside = Y[found.order[lo:hi]].astype(np.float64)
        np.testing.assert_allclose(found.centers[c], inside.mean(axis=0), atol=1e-6)
        offsets = inside - inside.mean(axis=0)
        scatter += offsets.T @ offsets
        np.testing.assert_allclose(found.radius[c], (offsets**2).sum(axis=1).mean(), rtol=1e-4, atol=1e-6)
        assert (np.diff(found.draws[0, lo:hi]) >= 0).all()
        np.testing.assert_allclose(found.draws[1, lo:hi].mean(), 1, rtol=1e-5)
    np.testing.assert_allclose(found.within, scatter / 500, atol=1e-6)


def test_plan_spends_the_budget_and_reads_near_cells_whole():
    rng = np.random.default_rng(0)
    k = 40
    table = np.stack([rng.integers(5, 50, k).astype(float), rng.uniform(0.5, 2, k), np.zeros(k)])
    scores, work, acc = rng.normal(size=k), np.empty((4, k)), np.empty(cells.SLOTS)
    cells.plan(scores, 0.3, table, np.array([300.0, 0.4, 0.1, 1.0]), work, acc)
    tau = work[0]
    assert (tau > 0).all()
    np.testing.assert_allclose((table[0] * np.minimum(tau, 1)).sum(), 300, rtol=1e-9)
    assert np.isinf(tau[np.argmax(scores + np.sqrt(0.3 * table[1]))])
    cells.plan(scores, 0.3, table, np.array([1e6, 0.4, 0.1, 1.0]), work, acc)
    assert np.isinf(work[0]).all()
    assert acc[cells.MODEL] == 0


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 1e-6), (np.float64, 1e-14)])
def test_exponential_sums_against_numpy(dtype, rtol):
    S = (5 * np.random.default_rng(0).normal(size=(7, 5000))).astype(dtype)
    S[3] *= 40  # most terms underflow
    top, total = np.full(7, -np.inf, dtype), np.zeros(7)
    for lo, hi in ((0, 1), (1, 2500), (2500, 5000)):
        expsum.add_exponentials(np.ascontiguousarray(S[:, lo:hi]), 1.5, top, total)
    assert np.array_equal(top, S.max(axis=1))
    expected = np.exp(1.5 * (S.astype(np.float64) - top[:, None].astype(np.float64))).sum(axis=1)
    np.testing.assert_allclose(total, expected, rtol=rtol)


def test_row_loops_against_numpy():
    rng = np.random.default_rng(0)
    S, half = rng.normal(size=(9, 5)), rng.normal(size=5)
    labels = np.empty(9, np.int32)
    expsum.nearest(S, half, labels)
    assert np.array_equal(labels, (S - half).argmax(axis=1))
    A, B, out = rng.normal(size=(9, 4)), rng.normal(size=(9, 4)), np.empty(9)
    expsum.row_dots(A, B, out)
    np.testing.assert_allclose(out, (A * B).sum(axis=1))
    with pytest.raises(TypeError, match="compiled kernels"):
        expsum.exp2_down(0.0)
