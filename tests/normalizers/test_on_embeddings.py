"""The claims on real word vectors: medians of the paper's estimator, and the control variate against it."""

import numpy as np
import pytest

from benchmarks.datasets import data_dir
from experiments.normalizers.scaling import rescale
from softvec.normalizers import ControlVariate, Exact, GaussianMixture

HOME = data_dir() / "embeddings"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not HOME.is_dir(), reason="no embeddings: set SOFTVEC_DATA"),
]


@pytest.mark.parametrize("norms", ["mean", "unit"])
@pytest.mark.parametrize("name", ["glove6b_50d", "googlenews_w2v_300d", "fr_fasttext_300d"])
def test_errors_on_word_vectors(name, norms):
    path = HOME / f"{name}.npy"
    if not path.exists():
        pytest.skip(f"{path.name} is not there")
    Y = rescale(np.load(path, allow_pickle=False).astype(np.float32), norms)
    X = Y[np.random.default_rng(0).choice(len(Y), 300, replace=False)]
    exact = Exact().fit(Y).log_partition(X)

    def errors(model):
        return np.abs(np.exp(model.fit(Y).log_partition(X)) - np.exp(exact)) / len(Y)

    one, five = (errors(GaussianMixture(k, random_state=0)) for k in (1, 5))
    ours = errors(ControlVariate(500, n_cells=256, random_state=0))
    assert np.median(one) < 3e-4
    assert np.median(five) < 1e-4
    assert np.median(ours) < np.median(five)
    assert np.quantile(ours, 0.95) < np.quantile(five, 0.95)
