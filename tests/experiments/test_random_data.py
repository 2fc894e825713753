"""Random graphs, matrices and walks of the experiments and benchmarks against what their models say."""

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.rmat import rmat
from experiments.exact.random_p import negative_binomial
from experiments.generators import dcsbm
from experiments.rivals.walks import random_walks
from softvec.core.errors import InputError
from tests.experiments.test_generators import assert_simple_graph


def test_rmat_follows_its_quadrants():
    n, m = 1 << 15, 60000
    A = rmat(n, m, shuffle=False, random_state=0)
    assert_simple_graph(A)
    assert 0.8 * m < A.nnz / 2 <= m
    # P(a node is in the upper half) = a + b for one endpoint; duplicates thin the dense corner only slightly.
    upper = A[: n // 2].nnz / A.nnz
    assert upper == pytest.approx(0.76, abs=0.02)
    flat = rmat(n, m, a=0.25, b=0.25, c=0.25, random_state=0)
    degrees = np.diff(flat.indptr)
    assert degrees.var() == pytest.approx(degrees.mean(), rel=0.1)  # Poisson
    assert np.diff(A.indptr).var() > 20 * degrees.var()


def test_rmat_any_size_and_threads():
    A = rmat(1000, 9000, random_state=5, n_jobs=1)
    B = rmat(1000, 9000, random_state=5, n_jobs=2)
    assert A.shape == (1000, 1000)
    np.testing.assert_array_equal(A.indices, B.indices)
    assert rmat(10, 0).nnz == 0
    with pytest.raises(InputError, match="sum to 1"):
        rmat(10, 5, a=0.9, b=0.9, c=0.1)
    with pytest.raises(InputError, match="n is 1"):
        rmat(1, 5)


def test_negative_binomial_rows_sum_to_one():
    P = negative_binomial(5000, random_state=0)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert P.nnz / 5000 == pytest.approx(10, rel=0.1)
    kept = negative_binomial(5000, isolated="keep", random_state=0)
    empty = np.diff(kept.indptr) == 0
    # P(isolated) = E[exp(-10 theta / mean theta)] for theta negative binomial (3, 0.3) of mean 7, in closed
    # form.
    chance = (0.3 / (1 - 0.7 * np.exp(-10 / 7))) ** 3
    assert empty.mean() == pytest.approx(chance, abs=4 * np.sqrt(chance / 5000))
    assert negative_binomial(5000, isolated="drop", random_state=0).shape[0] == 5000 - empty.sum()
    with pytest.raises(InputError, match="isolated"):
        negative_binomial(10, isolated="other")


def test_walks_follow_edges_and_weights():
    A = sp.csr_array(np.array([[0, 3, 1, 0], [1, 0, 0, 0], [0, 0, 0, 2], [0, 0, 0, 0]], float))
    walks = random_walks(A, n_walks=4000, length=4, random_state=0)
    assert walks.shape == (16000, 4)
    assert (np.bincount(walks[:, 0]) == 4000).all()
    dense = A.toarray()
    for t in range(3):
        here, there = walks[:, t], walks[:, t + 1]
        moved = there >= 0
        assert (dense[here[moved], there[moved]] > 0).all()
        assert np.isin(here[~moved], [-1, 3]).all()
    first = walks[walks[:, 0] == 0, 1]
    assert (first == 1).mean() == pytest.approx(0.75, abs=0.03)


def test_uniform_walks_reach_the_stationary_distribution():
    A = dcsbm(300, c=12, q=2, alpha=1.0, theta="constant", random_state=0).adjacency
    walks = random_walks(A, n_walks=300, length=15, random_state=1, n_jobs=2)
    np.testing.assert_array_equal(walks, random_walks(A, n_walks=300, length=15, random_state=1, n_jobs=1))
    visits = np.bincount(walks[:, -1], minlength=300) / len(walks)
    degrees = np.diff(A.indptr)
    expected = degrees / degrees.sum()
    assert (np.abs(visits - expected) < 4.5 * np.sqrt(expected / len(walks))).all()


def test_walks_errors():
    with pytest.raises(InputError, match="square"):
        random_walks(sp.csr_array((3, 4)))
    with pytest.raises(InputError, match="negative"):
        random_walks(sp.csr_array([[0, -1], [1, 0]]))
