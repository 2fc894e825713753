"""Halos that arrive some columns at a time: the bits of one process, and a bound on what is held."""

import numpy as np
import pytest
from scipy import sparse

from softvec import kernels
from softvec.cluster import halo as rounds
from softvec.cluster.halo import pays
from softvec.cluster.operator import Sharded, join, split
from softvec.core.machine import Machine
from softvec.fit.run import prepared
from softvec.fit.settings import Settings
from softvec.kernels import compiled, reference
from softvec.operators import Powers, Runtime, Sparse
from tests.cluster.groups import run as on_ranks
from tests.cluster.test_bits import graph, same_bits

pytestmark = [
    pytest.mark.filterwarnings("ignore:the normaliser is off"),
    pytest.mark.usefixtures("small_blocks"),
]


@pytest.fixture
def always(monkeypatch):
    """Rounds wherever there can be more than one; the products are listed."""
    products, multiply = [], rounds.multiply

    def counted(local, halo, X, runtime, key):
        products.append((runtime.kernels.__name__, halo, X.shape[1]))
        return multiply(local, halo, X, runtime, key)

    monkeypatch.setattr("softvec.cluster.operator.pays", lambda counts, d, dtype: len(rounds.cuts(d)) > 2)
    monkeypatch.setattr("softvec.cluster.operator.multiply", counted)
    return products


def compile_always(monkeypatch):
    monkeypatch.setattr(kernels, "SMALL", 0)


KINDS = {
    "undirected": {},
    "directed": {"directed": True},
    "weighted": {"weighted": True},
    "weighted, directed": {"weighted": True, "directed": True, "isolated": 100},
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("length", [1, 3])
@pytest.mark.parametrize("k", [1, 3])
def test_graphs_have_the_bits_of_one_process(kind, size, length, k, always, monkeypatch):
    compile_always(monkeypatch)
    P = prepared(graph(**kind), True)
    P = Powers(P, length) if length > 1 else P
    gradient = "full" if k == 3 else "row"
    settings = Settings(n_components=100, n_epochs=2, random_state=1, n_clusters=k, gradient=gradient)
    same_bits(P, settings, size)
    assert {name for name, _, _ in always} == {"softvec.kernels.compiled"}
    assert len(always) == size * 2 * length * (2 if k == 3 else 1)


@pytest.mark.parametrize("columns", [32, 64, 96])
@pytest.mark.parametrize("d", [64, 128, 131])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rounds_of_any_size_and_number(columns, d, dtype, always, monkeypatch):
    compile_always(monkeypatch)
    monkeypatch.setattr(rounds, "COLUMNS", columns)
    settings = Settings(n_components=d, n_epochs=2, random_state=1, dtype=dtype, n_jobs=2)
    same_bits(Powers(prepared(graph(), True), 2), settings, 3)
    assert bool(always) == (len(rounds.cuts(d)) > 2)


@pytest.mark.parametrize("shape", [(700, 300), (400, 400)])
@pytest.mark.parametrize("k", [1, 3])
def test_two_sides(shape, k, always, monkeypatch):
    compile_always(monkeypatch)
    P = prepared(graph(shape=shape, weighted=True, directed=True, isolated=5), True)
    settings = Settings(n_components=64, n_epochs=3, random_state=0, symmetric=False, n_clusters=k)
    same_bits(P, settings, 2, item_weight=np.arange(1.0, shape[1] + 1))
    assert always


def test_without_a_second_thread(always, monkeypatch):
    compile_always(monkeypatch)
    monkeypatch.setattr("tests.cluster.groups.ThreadGroup.in_background", False)
    same_bits(prepared(graph(), True), Settings(n_components=64, n_epochs=2, random_state=0), 3)
    assert always


def test_no_rounds_where_a_compiler_ordered_the_sums_otherwise(always, monkeypatch):
    compile_always(monkeypatch)
    whole = compiled.gather_columns

    def backwards(indptr, indices, values, col_scale, X, begin, out, lo, hi):
        turned = np.concatenate([indices[a:b][::-1] for a, b in zip(indptr[lo:hi], indptr[lo + 1 : hi + 1])])
        starts = indptr - indptr[lo]
        whole(starts, turned, values, col_scale, X, begin, out, lo, hi)

    rounds._probe.cache_clear()
    monkeypatch.setattr(compiled, "gather_columns", backwards)
    try:
        same_bits(prepared(graph(), True), Settings(n_components=64, n_epochs=2, random_state=0), 2)
    finally:
        rounds._probe.cache_clear()
    assert not always


@pytest.mark.parametrize("dtype", [np.uint16, np.float32, np.float64])
@pytest.mark.parametrize("values", [None, np.float32, np.float64])
@pytest.mark.parametrize("scaled", [False, True])
def test_columns_of_a_product(dtype, values, scaled):
    rng = np.random.default_rng(1)
    A = sparse.random_array((50, 40), density=0.3, random_state=rng, format="csr")
    real = np.float64 if dtype == np.float64 else np.float32
    X = rng.standard_normal((40, 70)).astype(real)
    exact = X.astype(np.float16) if dtype == np.uint16 else X
    X = exact.view(np.uint16) if dtype == np.uint16 else X
    weights = np.empty(0) if values is None else A.data.astype(values)
    scale = rng.random(40).astype(real) if scaled else np.empty(0, real)
    truth = sparse.csr_array((weights if len(weights) else np.ones(A.nnz), A.indices, A.indptr), A.shape)
    truth = truth @ (exact.astype(float) * (scale[:, None] if scaled else 1))
    for module in (reference, compiled):
        out = np.full((30, 70), np.nan, real)
        for begin, end in ((0, 32), (32, 70)):
            part = np.ascontiguousarray(X[:, begin:end])
            module.gather_columns(
                A.indptr.astype(np.int64), A.indices, weights, scale, part, begin, out, 10, 40
            )
        np.testing.assert_allclose(out, truth[10:40], rtol=2e-5, atol=2e-5)


def held(A, size, d):
    """Multiply a matrix on workers; return of each the rows, own and of others, and the scratch matrices."""
    bounds = np.linspace(0, A.shape[0], size + 1).astype(np.int64)
    whole = Sparse(A, symmetric=True)

    def work(group):
        mine = join(split(whole, group.rank, lambda n: bounds), group)
        assert isinstance(mine, Sharded)
        X = np.ones((mine.shape[1], d), np.float16).view(np.uint16)
        runtime = Runtime(compiled, Machine(1, None))
        mine.plan(runtime)(X)
        counts, in_rounds = mine._counts[group.rank], pays(mine._counts, d, np.uint16)
        said = counts.held(d, np.uint16, in_rounds=in_rounds)
        return counts, list(runtime._scratch.values()), said

    return on_ranks(size, work)


def test_a_worker_holds_two_rounds_of_its_halo():
    A = sparse.csr_array(np.ones((400, 400), np.float32))  # every worker reads all rows
    for counts, matrices, said in held(A, 8, 128):
        assert counts == (50, 50, 350)
        assert sorted(matrix.shape for matrix in matrices) == [(50, 128), (400, 32), (400, 32)]
        total = sum(matrix.nbytes for matrix in matrices)
        assert said == total + 8 * 50  # a number for each row
        assert said < 400 * 128 * 2  # own rows and halo in half precision
    for counts, matrices, said in held(A, 2, 128):  # few rows of others: all at once
        assert counts == (200, 200, 200)
        assert [matrix.shape for matrix in matrices] == [(400, 128)]
        assert said == 400 * 128 * 2


def test_the_rule_counts_bytes():
    # 128 dimensions in half precision: 256 bytes a row against 520 of a product and 2 x 64 a row
    few, many = rounds.Counts(1000, 1000, 2900), rounds.Counts(1000, 1000, 3200)
    assert not rounds.pays([few], 128, np.uint16)
    assert rounds.pays([many], 128, np.uint16)
    assert rounds.pays([rounds.Counts(1000, 1000, 0), many], 128, np.uint16)  # one rule for all workers
    assert not rounds.pays([rounds.Counts(1000, 1000, 10**6)], 63, np.uint16)  # one round
    assert rounds.cuts(128) == [0, 32, 64, 96, 128]
    assert rounds.cuts(100) == [0, 32, 64, 100]
    assert rounds.cuts(63) == [0, 63]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("half", [False, True])
def test_products_of_many_entries_have_the_bits_of_one_process(weighted, half, always):
    rng = np.random.default_rng(0)
    A = sparse.random_array((240, 240), density=0.6, random_state=rng, format="csr")
    whole = Sparse(A if weighted else (A != 0), symmetric=False)
    bounds = np.array([0, 20, 120, 240])
    X = (rng.standard_normal((240, 128)) * 10 ** rng.uniform(-3, 1, (240, 128))).astype(np.float32)
    X = X.astype(np.float16).view(np.uint16) if half else X
    one = np.empty((240, 128), np.float32)
    alone = Runtime(compiled, Machine(1, None))
    alone.fill(whole.plan(alone)(X), one, X[:0])

    def work(group):
        mine = join(split(whole, group.rank, lambda n: bounds), group)
        lo, hi = bounds[group.rank : group.rank + 2]
        out, runtime = np.empty((hi - lo, 128), np.float32), Runtime(compiled, Machine(1, None))
        runtime.fill(mine.plan(runtime)(X[lo:hi]), out, X[:0])
        return out

    np.testing.assert_array_equal(np.concatenate(on_ranks(3, work)), one)
    assert len(always) == 3
