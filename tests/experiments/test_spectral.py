"""The spectral rival against dense algebra and theory."""

import numpy as np
import pytest
import scipy.sparse as sp

from experiments.generators import dcsbm
from experiments.rivals.spectral import bethe_hessian_vectors, spectral_communities
from softvec.core.errors import InputError
from softvec.evaluate import partition_scores


def bethe_hessian(A, r):
    dense = A.toarray().astype(float)
    return (r**2 - 1) * np.eye(len(dense)) + np.diag(dense.sum(axis=1)) - r * dense


def test_eigenvalues_vanish_at_zeta():
    """The p-th smallest eigenvalue of H at zeta_p is 0 and its eigenvector is the one returned."""
    A = dcsbm(400, c=14, q=3, alpha=3.0, theta="constant", random_state=0).adjacency
    vectors, zeta, connected = bethe_hessian_vectors(A, 3, tol=1e-6)
    assert len(connected) == 400
    for p in (1, 2):
        values, dense = np.linalg.eigh(bethe_hessian(A, zeta[p - 1]))
        assert abs(values[p]) < 1e-4
        cosine = dense[:, p] @ vectors[:, p - 1] / np.linalg.norm(vectors[:, p - 1])
        assert abs(cosine) == pytest.approx(1, abs=1e-4)


def test_zeta_is_what_theory_says():
    """For the DCSBM zeta_2 .. zeta_q tend to c / (c - c_out)."""
    A, _, info = dcsbm(8000, c=10, q=3, alpha=3.0, random_state=1)
    _, zeta, _ = bethe_hessian_vectors(A, 3)
    np.testing.assert_allclose(zeta, info.c / (info.c - info.c_out), rtol=0.06)


def test_spectral_communities_of_an_easy_graph():
    A, labels, _ = dcsbm(2000, c=20, q=4, alpha=4.0, theta="constant", random_state=0)
    found = spectral_communities(A)
    assert found.n_communities == 4
    assert found.vectors.shape == (2000, 3)
    assert partition_scores(labels, found.labels)["nmi"] > 0.9


def test_spectral_marks_isolated_nodes_and_ignores_loops():
    A, _, _ = dcsbm(1500, c=10, q=2, alpha=3.0, random_state=0)
    found = spectral_communities(A, 2)
    isolated = np.diff(A.indptr) == 0
    assert isolated.any()
    np.testing.assert_array_equal(found.labels == -1, isolated)
    with_loops = sp.csr_array(A + sp.eye_array(1500, dtype=np.int8))
    np.testing.assert_array_equal(spectral_communities(with_loops, 2).zeta, found.zeta)


def test_spectral_on_two_cliques_and_below_the_threshold():
    block = np.ones((8, 8)) - np.eye(8)
    joined = np.kron(np.eye(2), block)
    joined[0, 8] = joined[8, 0] = 1
    found = spectral_communities(sp.csr_array(joined), 2)
    assert partition_scores(np.repeat([0, 1], 8), found.labels)["nmi"] == 1
    random = dcsbm(2000, c=6, q=2, alpha=0.3, theta="constant", random_state=0)
    assert spectral_communities(random.adjacency).n_communities == 1
    forced = spectral_communities(random.adjacency, 2)
    assert partition_scores(random.labels, forced.labels)["ami"] < 0.02


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "nmi"), [(1.5, 0.22), (2.0, 0.39)])
def test_spectral_reaches_the_published_accuracy(alpha, nmi):
    scores = []
    for seed in range(3):
        A, labels, _ = dcsbm(30_000, c=10, q=4, alpha=alpha, random_state=seed)
        found = spectral_communities(A, 4).labels
        known = found >= 0
        scores.append(partition_scores(labels[known], found[known])["nmi"])
    assert np.mean(scores) > nmi


def test_spectral_errors():
    with pytest.raises(InputError, match="without weights"):
        spectral_communities(sp.csr_array(2.0 * (np.ones((6, 6)) - np.eye(6))))
    with pytest.raises(InputError, match="square"):
        spectral_communities(sp.csr_array((3, 4)))
    with pytest.raises(InputError, match="at least 4"):
        spectral_communities(sp.csr_array((30, 30)))
    with pytest.raises(InputError, match="n_communities is 0"):
        spectral_communities(sp.csr_array(np.ones((6, 6)) - np.eye(6)), 0)
