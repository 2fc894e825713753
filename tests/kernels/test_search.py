"""The compiled search against a sort of all scores."""

import numpy as np
import pytest

from softvec.kernels.search import largest_products


@pytest.mark.parametrize("queries", [1, 16, 17, 70])
@pytest.mark.parametrize(("m", "n"), [(1, 1), (61, 7), (2100, 5), (130, 130)])
def test_rows_are_those_of_a_sort(queries, m, n):
    rng = np.random.default_rng(m)
    # whole numbers: products are exact, and many are equal
    Q, V = rng.integers(-2, 3, (queries, 9)), rng.integers(-2, 3, (m, 9))
    factors = rng.choice([0.5, 1.0, 2.0], m).astype(np.float32)
    rows, scores = largest_products(Q.astype(np.float32), V.astype(np.float32), factors, 100, n)
    S = (Q @ V.T) * factors
    order = np.argsort(-S, axis=1, kind="stable")[:, :n]
    np.testing.assert_array_equal(rows, order + 100)
    np.testing.assert_array_equal(scores, np.take_along_axis(S, order, axis=1))


def test_rows_without_a_factor_are_left_out():
    V = np.eye(3, dtype=np.float32)
    rows, scores = largest_products(V[:1], V, np.array([np.nan, 1, 1], np.float32), 0, 3)
    assert rows[0, :2].tolist() == [1, 2]
    assert scores[0].tolist() == [0, 0, -np.inf]
