"""Vectors by power steps alone."""

import numpy as np
import pytest
from scipy import sparse

import softvec
from experiments.generators import dcsbm
from softvec.core.machine import machine
from softvec.evaluate import communities
from softvec.fit.power import Steps, even_out, power_vectors
from softvec.operators import Sparse, row_normalize


def blocks(n, inside, outside, seed=0):
    """Return a graph of two groups, the first and the second half of the nodes."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) * 2 // n
    chance = np.where(group[:, None] == group, inside, outside)
    A = np.triu(rng.random((n, n)) < chance, 1)
    return sparse.csr_array((A | A.T).astype(np.float32)), group


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def half_as_float(X):
    return X.view(np.float16).astype(np.float32)


@pytest.mark.parametrize("weighted", [False, True])
def test_steps_are_those_of_the_formula(weighted):
    A, _ = blocks(300, 0.1, 0.05)
    if weighted:
        A = sparse.csr_array(A * (1 + np.add.outer(np.arange(300.0), np.arange(300.0))))
    P = A.toarray().astype(float)
    P /= P.sum(axis=1, keepdims=True)
    walk = row_normalize(Sparse(A, symmetric=True))
    with machine(1) as pool:
        steps = Steps(walk, 10, (0,), pool, 3)
        X = before = half_as_float(steps.source)
        np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, atol=1e-3)
        steps.go(3)
        other = Steps(walk, 10, (0,), pool, 3)
        other.go(2)
        mean = np.empty((300, 10), np.float32)
        other.finish(mean, mean=True)
    for _ in range(3):
        before, X = X, unit(P @ X - (P @ X).mean(axis=0))
    np.testing.assert_allclose(half_as_float(steps.source), X, atol=0.01)  # stored in half precision
    np.testing.assert_allclose(mean, unit(X + before), atol=0.01)
    assert steps.agreement() == pytest.approx(np.mean(np.sum(X * before, axis=1)), abs=1e-3)


def test_lengths_are_weights_of_columns():
    A, _ = blocks(300, 0.1, 0.05)
    length = np.linspace(0.2, 1, 300)
    P = A.toarray() / np.diff(A.indptr)[:, None]
    with machine(1) as pool:
        walk = row_normalize(Sparse(A, symmetric=True))
        steps = Steps(walk, 10, (0,), pool, 3, length=length.astype(np.float32))
        X = half_as_float(steps.source)
        np.testing.assert_allclose(np.linalg.norm(X, axis=1), length, atol=1e-3)
        steps.step()
        expected = P @ X - (P @ X).mean(axis=0)
        np.testing.assert_allclose(half_as_float(steps.source), length[:, None] * unit(expected), atol=0.01)
        out = np.empty((300, 10), np.float32)
        steps.finish(out, mean=False)
    np.testing.assert_allclose(np.linalg.norm(out, axis=1), 1, atol=1e-5)


def test_the_last_step_may_overwrite_the_memory_of_a_copy():
    A, _ = blocks(300, 0.1, 0.05)
    results = []
    for shared in (True, False):
        for count in (1, 2):
            X = np.empty((300, 10), np.float32)
            with machine(1) as pool:
                walk = row_normalize(Sparse(A, symmetric=True))
                steps = Steps(walk, 10, (0,), pool, 3, memory=X if shared else None)
                steps.go(count)
                steps.finish(X, mean=True)
            results.append(X)
    np.testing.assert_array_equal(results[0], results[2])
    np.testing.assert_array_equal(results[1], results[3])


def test_even_axes():
    X = np.random.default_rng(0).standard_normal((500, 6)).astype(np.float32) * [9, 5, 3, 2, 1, 1]
    X = X.astype(np.float32)
    squares, axes = np.linalg.eigh((X.T @ X).astype(float))
    expected = unit(X @ (axes * squares**-0.4) @ axes.T)
    with machine(1) as pool:
        even_out(X, 0.4, pool, 128)
    np.testing.assert_allclose(X, expected, atol=1e-4)


@pytest.mark.parametrize("degree", [8, 60])
def test_fast_vectors_find_groups_with_the_same_bits_for_any_number_of_threads(degree):
    n = 1500
    A, group = blocks(n, 1.7 * degree / n, 0.3 * degree / n)
    one = softvec.embed(A, 32, effort="fast", random_state=0, n_jobs=1)
    two = softvec.embed(A, 32, effort="fast", random_state=0, n_jobs=2)
    np.testing.assert_array_equal(one.vectors, two.vectors)
    assert ("degree_scale" in one.provenance["parameters"]) == (degree == 60)
    found = np.array(one.cluster(2, random_state=0))
    assert max(np.mean(found == group), np.mean(found != group)) > 0.95
    assert one.provenance["view"]["chosen"] == "power"
    assert one.provenance["softmax"] is None


def test_groups_among_nodes_of_unequal_degree_are_not_lost():
    A, group, _ = dcsbm(4000, c=10, q=3, alpha=2.0, random_state=0)
    linked = np.flatnonzero(np.diff(A.indptr))
    A, group = sparse.csr_array(A[linked][:, linked]), np.asarray(group)[linked]
    slow, fast = (
        softvec.embed(A, 32, effort=effort, random_state=0, kind="graph") for effort in ("default", "fast")
    )
    assert 20 < np.diff(A.indptr) @ np.diff(A.indptr) / A.nnz < 40
    nmi = [communities(emb, group, random_state=0).mean["nmi"] for emb in (slow, fast)]
    assert nmi[0] > 0.35
    assert nmi[1] > nmi[0] - 0.05


@pytest.mark.parametrize("n", [200, 1200])
def test_isolated_nodes_have_no_vector(n):
    A, _ = blocks(n, 8 / n, 4 / n)
    A = sparse.block_diag([A, sparse.csr_array((2, 2))], format="csr")
    emb = softvec.embed(sparse.csr_array(A), 16, effort="fast", random_state=0, isolated="keep")
    assert np.isfinite(emb.vectors).all()
    assert not emb.vectors[-2:].any()


@pytest.mark.parametrize("n", [200, 1200])
def test_new_nodes_join_their_neighbours(n):
    A, group = blocks(n, 20 / n, 2 / n)
    emb = softvec.embed(A, 16, effort="fast", random_state=0)
    bigger = emb.add({"new": list(range(8))})
    near = [name for name, _ in bigger.most_similar("new", n=10)]
    assert np.mean(group[near] == 0) >= 0.9


def test_where_unlike_nodes_are_linked_columns_prefer_hubs():
    rng = np.random.default_rng(0)
    A = np.zeros((1200, 1200), bool)
    for i in range(0, 1200, 2):
        A[i, rng.choice(np.arange(1, 1200, 2), 30, replace=False)] = True
    A = sparse.csr_array((A | A.T).astype(np.float32))
    with machine(1) as pool:
        made = power_vectors(row_normalize(Sparse(A, symmetric=True)), A, 34, 0, pool)
    assert made.X.shape == (1200, 34)
    assert np.isfinite(made.X).all()
    assert made.steps == 6


def test_shrinkage_shortens_nodes_of_few_neighbours():
    A, _ = blocks(1200, 8 / 1200, 4 / 1200)
    emb = softvec.embed(A, 16, effort="fast", random_state=0, shrinkage=0.5)
    degree = np.diff(A.indptr)
    lengths = np.linalg.norm(emb.vectors, axis=1)
    linked = degree[degree > 0]
    np.testing.assert_allclose(
        lengths[degree > 0], np.sqrt(linked / (linked + 0.5 * linked.mean())), rtol=1e-4
    )
