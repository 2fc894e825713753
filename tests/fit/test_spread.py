"""Vectors that collapse are noticed; counts of two sides do not collapse by default."""

import warnings

import numpy as np
import pytest
from scipy import sparse

import softvec
from softvec.core.machine import machine
from softvec.fit.diagnose import diagnose, spread
from softvec.fit.run import fit, prepared
from softvec.fit.settings import Settings


def counts(n=300, m=400, topics=4, seed=0):
    """Draw counts of words in documents: a few words are everywhere, others belong to a topic."""
    rng = np.random.default_rng(seed)
    topic = np.arange(n) % topics
    rates = 40.0 / np.arange(1, m + 1) ** 1.2
    own = 1 + 3.0 * (np.arange(m)[None] % topics == topic[:, None]) * (np.arange(m) > 10)
    return sparse.csr_array(rng.poisson(rates * own).astype(float)), topic


def test_counts_keep_their_topics_by_default():
    A, topic = counts()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        emb = softvec.embed(A, 16, kind="bipartite", random_state=0)
    S = emb.vectors @ emb.vectors.T
    np.fill_diagonal(S, -2)
    assert np.mean(topic[S.argmax(1)] == topic) > 0.9
    assert emb.provenance["spread"]["mean_cosine"] < 0.1
    assert emb.provenance["diagnosis"]["n_rows"] >= 100


@pytest.mark.filterwarnings("ignore:the normaliser is off")
def test_collapse_is_said_with_the_way_out():
    A, _ = counts()
    A = sparse.csr_array(A + 3 * (A.toarray() > 0) * (np.arange(400) < 3) * 500)
    with pytest.warns(UserWarning, match=r"nearly parallel.*effective rank.*pass base_measure=1"):
        softvec.embed(A, 16, kind="bipartite", base_measure=0, random_state=0)


def test_spread_by_hand():
    assert spread(np.eye(3)) is None
    found = spread(np.tile([[2.0, 0, 0], [0, 5.0, 0], [0, 0, 0]], (50, 1)))
    assert found.mean_cosine == pytest.approx((50**2 * 2 - 100) / (100 * 99))
    assert found.effective_rank == pytest.approx(1.0)
    found = spread(np.ones((60, 2)))
    assert (found.mean_cosine, found.effective_rank) == pytest.approx((1.0, 1.0))


def test_standard_error_of_the_exact_loss():
    A, _ = counts()
    settings = Settings(n_components=8, n_epochs=3, symmetric=False, random_state=0)
    with machine(1) as pool:
        result = fit(prepared(A, True), settings, pool, diagnosed=False)
        parts = [
            diagnose(result.problem, result.state.X, result.context, None, 60, seed, pool)
            for seed in range(40)
        ]
        whole = diagnose(result.problem, result.state.X, result.context, None, 300, 0, pool)
    assert whole.standard_error == 0
    deviation = np.std([part.exact_loss - whole.exact_loss for part in parts])
    assert np.mean([part.standard_error for part in parts]) == pytest.approx(deviation, rel=0.4)
