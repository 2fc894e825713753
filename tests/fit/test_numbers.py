"""Finite input never ends in NaN: entries, weights and starts at the ends of the range of numbers."""

import numpy as np
import pytest
from scipy import sparse

import softvec
from softvec import EDRep
from softvec.core.errors import InputError
from softvec.operators import row_normalize

pytestmark = pytest.mark.filterwarnings("ignore:the normaliser is off")


def gaussian(n=600, outlier=20.0, scale=1.0):
    """Return a Gaussian affinity of n points, of which one is far away from all others."""
    Z = np.random.default_rng(0).normal(size=(n, 3))
    Z[17] += outlier
    A = np.exp(-((Z[:, None] - Z[None]) ** 2).sum(-1) / 2)
    np.fill_diagonal(A, 0)
    return A * scale


def graph(n=50):
    B = sparse.random(n, n, 0.2, random_state=np.random.default_rng(0), format="csr")
    return (B + B.T).tocsr()


def embed_dense(A):
    return softvec.embed(A, 8, kind="dense", random_state=0).vectors


def embed_graph(A):
    return softvec.embed(A, 8, kind="graph", random_state=0, shrinkage=0).vectors


def fit(A, **options):
    return EDRep(8, n_epochs=5, random_state=0, **options).fit_transform(A)


@pytest.mark.parametrize("run", [fit, embed_dense, embed_graph])
def test_far_outlier_has_a_vector_among_its_neighbours(run):
    A = gaussian()
    assert 0 < A[17].max() < 1e-38
    X = run(A)
    assert np.allclose(np.linalg.norm(X, axis=1), 1, atol=1e-4)
    nearest = np.argsort(-A[17])[:3]
    assert (X[nearest] @ X[17]).mean() > 2 * (X @ X[17]).mean()


def test_other_rows_keep_their_bits():
    A = gaussian()
    plain = A.copy()
    plain[17] *= 1e200
    wanted, found = row_normalize(plain), row_normalize(A)
    Y = np.random.default_rng(1).normal(size=(600, 4)).astype(np.float32)
    others = np.arange(600) != 17
    assert np.array_equal((found @ Y)[others], (wanted @ Y)[others])
    assert np.allclose((found @ Y)[17], (wanted @ Y)[17], rtol=1e-5)


@pytest.mark.parametrize("scale", [1e38, 1e300, 1e-38, 1e-300])
@pytest.mark.parametrize("run", [fit, embed_dense, embed_graph])
def test_scale_of_the_matrix_does_not_matter(run, scale):
    A = gaussian(60, outlier=0.0)
    assert np.allclose(run(A * scale), run(A), atol=2e-3)


@pytest.mark.parametrize(
    "options",
    [{}, {"gradient": "full"}, {"symmetric": False}, {"normalizer": "exact"}, {"normalizer": "edges"}],
)
def test_rows_from_smallest_to_largest(options):
    B = graph()
    ends = sparse.diags_array(np.geomspace(1e-300, 1e300, 50))
    half = sparse.diags_array(np.geomspace(1e-150, 1e150, 50))
    for A in (ends @ B, half @ B @ half, B * 1e-322, B * (1.7e308 / B.max())):
        assert np.isfinite(fit(A, **options)).all()


@pytest.mark.parametrize("n_clusters", [1, 3])
@pytest.mark.parametrize(
    "weights", [(1e-300, 1.0, 1e300), (1e-300, 1e308, 1e308), (5e-324, 5e-324, 5e-324), (1e-40, 1.0, 1.0)]
)
def test_item_weights_at_the_ends(weights, n_clusters):
    weight = np.repeat(weights, [10, 10, 30])
    model = EDRep(4, n_epochs=5, n_clusters=n_clusters, random_state=0).fit(graph(), item_weight=weight)
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.history_["loss"]).all()


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_rows_that_keep_their_sums_are_refused_by_name(scale):
    B = graph()
    B.data[B.indptr[7] : B.indptr[8]] *= scale
    with pytest.raises(InputError, match=r"P has 1 rows .* row 7 with"):
        EDRep(4, normalize=False).fit(B)
    with pytest.raises(InputError, match=r"dissimilarity has 1 rows .* row 7 with"):
        EDRep(4).fit(graph(), dissimilarity=B)


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
def test_start_of_any_length(scale):
    start = np.random.default_rng(0).normal(size=(50, 4))
    near, far = (EDRep(4, init=s * start, n_epochs=3).fit_transform(graph()) for s in (1.0, scale))
    assert np.allclose(near, far, atol=1e-3)


def test_half_precision_matrices_are_read():
    A = np.kron(np.eye(2), np.ones((4, 4))).astype(np.float16)
    emb = softvec.embed(A, 2, kind="graph", random_state=0)
    np.testing.assert_array_equal(
        emb.vectors, softvec.embed(A.astype(float), 2, kind="graph", random_state=0).vectors
    )
