"""Operators against dense truth: products, adjoints, scalings, normalisation."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from softvec import kernels
from softvec.core.errors import InputError
from softvec.core.machine import machine
from softvec.operators import (
    LinearOperatorAdapter,
    Powers,
    Product,
    Runtime,
    Sparse,
    Sum,
    as_operator,
    check_nonnegative,
    row_normalize,
)


def random_matrix(n, m, seed=0, binary=False):
    rng = np.random.default_rng(seed)
    A = sparse.random_array((n, m), density=0.3, random_state=rng, format="csr")
    if binary:
        A.data[:] = 1
    return A


def square(n=12, seed=3):
    return random_matrix(n, n, seed)


CASES = {
    "sparse": lambda: (Sparse(random_matrix(9, 7)), random_matrix(9, 7).toarray()),
    "binary": lambda: (Sparse(random_matrix(9, 7, binary=True)), random_matrix(9, 7, binary=True).toarray()),
    "scaled": lambda: (
        Sparse(random_matrix(9, 7), row_scale=np.arange(1.0, 10), col_scale=np.arange(2.0, 9)),
        np.diag(np.arange(1.0, 10)) @ random_matrix(9, 7).toarray() @ np.diag(np.arange(2.0, 9)),
    ),
    "product": lambda: (
        Product([random_matrix(9, 7), random_matrix(7, 11, 1), random_matrix(11, 5, 2)]),
        random_matrix(9, 7).toarray() @ random_matrix(7, 11, 1).toarray() @ random_matrix(11, 5, 2).toarray(),
    ),
    "sum": lambda: (
        Sum([random_matrix(9, 7), random_matrix(9, 7, 5)], [2.0, 0.5]),
        2 * random_matrix(9, 7).toarray() + 0.5 * random_matrix(9, 7, 5).toarray(),
    ),
    "powers": lambda: (
        Powers(square(), 4),
        sum(np.linalg.matrix_power(square().toarray(), t) for t in (1, 2, 3, 4)) / 4,
    ),
    "scaled powers": lambda: (
        Powers(square(), 2).scale_rows(np.arange(12.0)),
        np.diag(np.arange(12.0)) @ (square().toarray() + square().toarray() @ square().toarray()) / 2,
    ),
    "sum of products": lambda: (
        Sum([Product([random_matrix(9, 7), random_matrix(7, 6, 1)]), random_matrix(9, 6, 4)]),
        random_matrix(9, 7).toarray() @ random_matrix(7, 6, 1).toarray() + random_matrix(9, 6, 4).toarray(),
    ),
    "foreign": lambda: (
        LinearOperatorAdapter(aslinearoperator(random_matrix(9, 7))).scale_rows(3.0),
        3 * random_matrix(9, 7).toarray(),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_product_and_row_sums_match_the_dense_matrix(case):
    operator, dense = CASES[case]()
    X = np.random.default_rng(1).standard_normal((dense.shape[1], 3))
    np.testing.assert_allclose(operator @ X, dense @ X, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(operator @ X[:, 0], dense @ X[:, 0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(operator.row_sums(), dense.sum(axis=1), rtol=1e-12)
    single = operator @ X.astype(np.float32)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, dense @ X, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("case", CASES)
def test_transpose_is_the_adjoint(case):
    operator, dense = CASES[case]()
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal(dense.shape[1]), rng.standard_normal(dense.shape[0])
    assert operator.T.shape == operator.shape[::-1]
    np.testing.assert_allclose((operator @ x) @ y, x @ (operator.T @ y), rtol=1e-12)
    np.testing.assert_allclose(operator.T.T @ x, operator @ x, rtol=1e-12)


@pytest.mark.parametrize("name", ["reference", "compiled"])
@pytest.mark.parametrize("case", CASES)
def test_both_kernel_modules_run_every_operator_in_half_precision(case, name):
    import importlib

    operator, dense = CASES[case]()
    X = np.random.default_rng(1).standard_normal((dense.shape[1], 5)).astype(np.float32)
    half = X.astype(np.float16).view(np.uint16)
    out = np.empty((dense.shape[0], 5), np.float32)
    with machine(2) as pool:
        runtime = Runtime(importlib.import_module(f"softvec.kernels.{name}"), pool, block=4)
        runtime.fill(operator.plan(runtime)(half), out, half[:0])
    np.testing.assert_allclose(out, dense @ X, rtol=5e-3, atol=2e-2)


def test_unweighted_matrix_stores_no_values_and_shares_indices():
    A = random_matrix(20, 20, binary=True)
    A = ((A + A.T) > 0).astype(float).tocsr()
    walk = row_normalize(A)
    assert len(walk._values) == 0
    assert np.shares_memory(walk._indices, A.indices)
    assert np.shares_memory(walk.T._indices, A.indices)  # symmetric: the transpose swaps the scalings


def test_transpose_of_a_directed_matrix_is_built_once():
    walk = row_normalize(random_matrix(20, 20, binary=True))
    assert walk.T is walk.T
    assert not np.shares_memory(walk.T._indices, walk._indices)


@pytest.mark.parametrize("dangling", ["zero", "self"])
def test_row_normalize(dangling):
    A = np.array([[0, 2.0, 2], [0, 0, 0], [5, 0, 0]])
    P = row_normalize(A, dangling)
    expected = np.array([[0, 0.5, 0.5], [0, float(dangling == "self"), 0], [1, 0, 0]])
    np.testing.assert_allclose(P @ np.eye(3), expected)


def test_row_normalize_names_the_empty_row():
    with pytest.raises(InputError, match=r"1 rows that sum to 0 \(first: row 1\)"):
        row_normalize(np.array([[0, 2.0], [0, 0]]), "error")
    with pytest.raises(InputError, match="dangling is 'drop'"):
        row_normalize(np.eye(2), "drop")
    with pytest.raises(InputError, match="square"):
        row_normalize(np.array([[1.0, 0, 0], [0, 0, 0]]), "self")


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.array([[1.0, -1.0]]), r"Negative.*row 0, column 1"),
        (np.array([[1.0, np.nan]]), "NaN or infinite"),
        (np.array([[np.inf, 1.0]]), "NaN or infinite"),
    ],
)
def test_negative_and_non_finite_entries_are_named(bad, message):
    with pytest.raises(InputError, match=message):
        check_nonnegative(Sum([Product([as_operator(bad)]), as_operator(np.abs(np.nan_to_num(bad)))]))


def test_wrong_shapes_and_types():
    with pytest.raises(InputError, match="shapes"):
        Product([random_matrix(3, 4), random_matrix(3, 4)])
    with pytest.raises(InputError, match="cannot be added"):
        Sum([random_matrix(3, 4), random_matrix(4, 3)])
    with pytest.raises(InputError, match="square"):
        Powers(random_matrix(3, 4), 2)
    with pytest.raises(InputError, match="length is 0"):
        Powers(square(), 0)
    with pytest.raises(InputError, match="two dimensions"):
        as_operator(np.ones(3))
    with pytest.raises(InputError, match="complex"):
        as_operator(np.ones((2, 2)) * 1j)
    with pytest.raises(InputError, match="not numbers"):
        as_operator(np.array([["a", "b"], ["c", "d"]]))
    with pytest.raises(InputError, match="cannot multiply"):
        as_operator(np.eye(3)) @ np.ones(4)
    with pytest.raises(InputError, match="row_scale"):
        Sparse(square(), row_scale=np.ones(3))
    with pytest.raises(InputError, match="3 weights for 2"):
        Sum([square(), square()], [1, 2, 3])


def test_row_pointers_beyond_32_bits_do_not_overflow():
    # a view with huge offsets would need 8 GiB; what can overflow is the pointer type, so check that
    A = square()
    A.indptr = A.indptr.astype(np.int32)
    assert Sparse(A)._indptr.dtype == np.int64
    wide = sparse.csr_array((A.data, A.indices.astype(np.int64), A.indptr.astype(np.int64)), shape=A.shape)
    X = np.ones((12, 2))
    for name in ("reference", "compiled"):
        module = __import__(f"softvec.kernels.{name}", fromlist=["gather"])
        with machine(1) as pool:
            runtime = Runtime(module, pool)
            out = np.empty((12, 2))
            runtime.fill(Sparse(wide).plan(runtime)(X), out, X[:0])
        np.testing.assert_allclose(out, A @ X)


def test_tiny_products_run_on_the_reference():
    from softvec.kernels import reference

    assert kernels.select(10) is reference
    assert kernels.select(10**9).__name__.endswith("compiled")
    assert not kernels.worth_compiling(kernels.SMALL - 1)
    assert kernels.worth_compiling(kernels.SMALL)


@pytest.mark.parametrize("dangling", ["zero", "self"])
@pytest.mark.parametrize("length", [1, 2, 5])
def test_row_sums_of_powers_where_a_walk_may_end(length, dangling):
    chain = row_normalize(sparse.csr_array(np.diag([1.0, 2.0, 1.0], k=1)), dangling)  # 0 > 1 > 2 > 3
    P = chain.tocsr().toarray() if dangling == "zero" else chain @ np.eye(4)
    powers = [np.linalg.matrix_power(P, t) for t in range(1, length + 1)]
    np.testing.assert_allclose(Powers(chain, length).row_sums(), np.mean(powers, axis=0).sum(axis=1))
