"""Workers that share the rows of a fit: the vectors have the bits of one process."""

import numpy as np
import pytest
from scipy import sparse

from softvec.fit.resolve import FUSED
from softvec.fit.run import prepared
from softvec.fit.settings import Settings
from softvec.fit.views import view_operator
from softvec.operators import Powers
from tests.cluster.groups import Ranks, fitted

pytestmark = [
    pytest.mark.filterwarnings("ignore:the normaliser is off"),
    pytest.mark.usefixtures("small_blocks"),
]
N = 700


def graph(*, directed=False, weighted=False, shape=(N, N), isolated=20, seed=0):
    """Return a random matrix whose last rows are empty."""
    rng = np.random.default_rng(seed)
    count = 6 * shape[0]
    rows, columns = (
        rng.integers(shape[0] - isolated, size=count),
        rng.integers(shape[1] - isolated, size=count),
    )
    values = rng.random(count).astype(np.float32) + 0.1 if weighted else np.ones(count, np.float32)
    A = sparse.coo_array((values, (rows, columns)), shape=shape).tocsr()
    if not weighted:
        A.data[:] = 1
    return A if directed or shape[0] != shape[1] else sparse.csr_array(A.maximum(A.T))


def same_bits(P, settings, size, **given):
    here, there = (fitted(P, settings, workers, **given) for workers in (None, Ranks(size)))
    for name in ("X", "Y", "classes"):
        one, other = getattr(here.state, name), getattr(there.state, name)
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_array_equal(one, other, err_msg=name)
    for key in ("loss", "attraction", "normalizer", "regularizer"):
        np.testing.assert_array_equal(here.history[key], there.history[key])
    return here


CASES = {
    "walk": {},
    "two classes": {"n_clusters": 2},
    "three classes, full": {"n_clusters": 3, "gradient": "full"},
    "paper": {"gradient": "paper"},
    "full": {"gradient": "full"},
    "regularised, ball": {"regularization": 1.0, "constraint": "ball"},
    "power start": {"init": "power"},
    "double": {"dtype": "float64"},
    "early stop": {"tol": 1e-2},
    "odd dimension": {"n_components": 5},
}


@pytest.mark.parametrize("options", CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("kind", ["undirected", "directed", "weighted"])
def test_graphs_have_the_bits_of_one_process(options, kind):
    A = graph(directed=kind == "directed", weighted=kind == "weighted")
    P = prepared(A, True)
    if kind != "directed":
        P = Powers(P, 3)
    same_bits(P, Settings(**{"n_components": 8, "n_epochs": 4, "random_state": 1, **options}), 3)


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_any_number_of_workers_and_threads(size, n_jobs):
    P = Powers(prepared(graph(weighted=True), True), 3)
    settings = Settings(n_components=16, n_epochs=3, random_state=2, n_jobs=n_jobs, n_clusters=3)
    same_bits(P, settings, size, item_weight=np.arange(1.0, N + 1))


@pytest.mark.parametrize("shape", [(700, 300), (300, 60), (60, 300), (400, 400)])
@pytest.mark.parametrize("k", [1, 3])
def test_two_sides(shape, k):
    P = prepared(graph(shape=shape, weighted=True, directed=True, isolated=5), True)
    settings = Settings(n_components=8, n_epochs=4, random_state=0, symmetric=False, n_clusters=k)
    if shape[0] > 128:
        same_bits(P, settings, 2)
        same_bits(P, settings, 2, item_weight=np.arange(1.0, shape[1] + 1))
    same_bits(P, Settings(n_components=8, n_epochs=2, random_state=0, symmetric=False, init="power"), 1)


@pytest.mark.parametrize("view", FUSED, ids=lambda view: view.name)
def test_the_walks_of_the_views(view):
    P = prepared(view_operator(graph(), view), True)
    before = np.random.default_rng(5).standard_normal((N, 8)).astype(np.float16)  # of another view
    init = view.init if view.init == "power" else before
    same_bits(P, Settings(n_components=8, n_epochs=3, random_state=0, init=init), 3)


def test_given_vectors_and_rows_that_are_weights():
    A = graph(directed=True, weighted=True)
    init = np.random.default_rng(5).standard_normal((N, 8))
    settings = Settings(n_components=8, n_epochs=3, random_state=0, init=init, n_clusters=2, normalize=False)
    same_bits(prepared(A, False), settings, 3, warm=True)


def test_compiled_kernels_give_the_same_bits_too():
    P = Powers(prepared(graph(), True), 3)
    same_bits(P, Settings(n_components=32, n_epochs=30, random_state=0), 2)
