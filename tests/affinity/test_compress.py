"""Edges sorted into rows: in memory, on disk and by NumPy alike, against SciPy, in any order of the edges."""

import numpy as np
import pytest
from scipy import sparse

from softvec import kernels
from softvec.affinity import compress as module
from softvec.affinity.compress import compress, edges_to_csr
from softvec.core.scratch import large_arrays_in
from softvec.names import Names
from softvec.read.edges import Edges

WAYS = ("memory", "disk", "numpy")


def blocks_of(n, count, seed):
    """Skewed edges with many duplicates and loops, in blocks of unequal size."""
    rng = np.random.default_rng(seed)
    pairs = (n * rng.random((count, 2)) ** 3).astype(np.int32)
    weights = rng.random(count)  # sums of these depend on their order
    cuts = [count // 7, count // 2]
    return np.split(pairs, cuts), np.split(weights, cuts)


def counts_of(n, count, seed, both, loops):
    """Return the numbers of self loops and of duplicate edges, by sets."""
    pairs = [tuple(pair) for pair in np.concatenate(blocks_of(n, count, seed)[0]).tolist()]
    n_loops = sum(i == j for i, j in pairs) if loops >= 0 else 0
    kept = [(i, j) for i, j in pairs if i != j or loops]
    return n_loops, len(kept) - len({tuple(sorted(pair)) if both else pair for pair in kept})


@pytest.fixture
def sort(tmp_path, monkeypatch):
    """Sort in one of three ways."""
    monkeypatch.setattr(module, "BUCKET", 500)  # some forty buckets
    monkeypatch.setattr(module, "_PIECE", 1000)

    def run(way, *args, **options):
        monkeypatch.setattr(kernels, "SMALL", 10**9 if way == "numpy" else 1)
        with large_arrays_in(tmp_path if way == "disk" else None):
            return edges_to_csr(*args, **options)

    return run


@pytest.mark.parametrize(("both", "loops"), [(False, -1), (False, 0), (False, 1), (True, 0), (True, 1)])
@pytest.mark.parametrize("values_of", [None, np.float32, np.float64])
@pytest.mark.parametrize("threads", [1, 2])
def test_three_ways_are_the_same(sort, both, loops, values_of, threads):
    made = []
    for way in WAYS:
        codes, weights = blocks_of(300, 20_000, 1)
        given = weights if values_of is not None else None
        made.append(
            sort(
                way, codes, (300, 300), both=both, loops=loops, weights=given, values_of=values_of,
                n_jobs=threads,
            )
        )  # fmt: skip
        assert codes == []  # spent
    a, b, c = (matrix for matrix, _, _ in made)
    assert made[0][1:] == made[1][1:] == made[2][1:] == counts_of(300, 20_000, 1, both, loops)
    for other in (b, c):
        for name in ("indptr", "indices", "data"):
            assert getattr(a, name).dtype == getattr(other, name).dtype
    for name in ("indptr", "indices", "data"):
        assert getattr(a, name).tobytes() == getattr(b, name).tobytes(), name
    np.testing.assert_array_equal(a.indices, c.indices)
    np.testing.assert_allclose(a.data, c.data, rtol=1e-5)


@pytest.mark.parametrize("way", WAYS)
def test_against_scipy(sort, way):
    codes, _ = blocks_of(200, 5000, 2)
    pairs = np.concatenate(codes)
    matrix, loops, _ = sort(way, codes, (200, 200), both=False, loops=1, values_of=np.float64)
    truth = sparse.coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(200, 200)).tocsr()
    truth.sum_duplicates()
    np.testing.assert_array_equal(matrix.indptr, truth.indptr)
    np.testing.assert_array_equal(matrix.indices, truth.indices)
    np.testing.assert_array_equal(matrix.data, truth.data)
    assert loops == np.count_nonzero(pairs[:, 0] == pairs[:, 1])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("values_of", [np.float32, np.float64])
def test_sums_do_not_depend_on_the_order_of_edges(sort, way, values_of):
    codes, weights = blocks_of(60, 20_000, 4)
    pairs, weights = np.concatenate(codes), np.concatenate(weights)
    made = set()
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(pairs))
        matrix, _, _ = sort(
            way, [pairs[order]], (60, 60), both=True, loops=0, weights=[weights[order]], values_of=values_of
        )
        made.add(matrix.data.tobytes())
        assert (matrix != matrix.T).nnz == 0
    assert len(made) == 1


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("empty", ["no edges", "only loops", "empty rows at both ends"])
def test_corners(sort, way, empty):
    pairs = {"no edges": [], "only loops": [[1, 1]], "empty rows at both ends": [[4, 5], [5, 4]]}[empty]
    codes = [np.array(pairs, np.int32).reshape(-1, 2)]
    matrix, *counts = sort(way, list(codes), (9, 9), both=True, loops=0)
    full = empty == "empty rows at both ends"
    assert matrix.indptr.tolist() == ([0, 0, 0, 0, 0, 1, 2, 2, 2, 2] if full else [0] * 10)
    assert matrix.indices.tolist() == ([5, 4] if full else [])
    assert counts == [empty == "only loops", full]


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("merge", ["sum", "merge"])
def test_matrices_are_the_same(tmp_path, monkeypatch, two_sided, weighted, merge):
    if weighted and merge == "merge":
        pytest.skip("refused: one of several weights would have to be picked")
    monkeypatch.setattr(kernels, "SMALL", 1)
    monkeypatch.setattr(module, "BUCKET", 700)
    made = []
    for folder in (None, tmp_path):
        codes, weights = blocks_of(400, 9000, 3)
        weights[0][:50] = 0  # edges that are none
        rows = Names.range(400)
        columns = Names([f"c{i}" for i in range(400)]) if two_sided else rows
        with large_arrays_in(folder):
            made.append(
                compress(
                    Edges(codes, rows, columns, weights if weighted else None),
                    both=not two_sided, weighted=weighted, self_loops=False, merge=merge,
                )
            )  # fmt: skip
    (a, told), (b, told_too) = made
    assert told == told_too
    assert a.dtype == b.dtype
    for name in ("indptr", "indices", "data"):
        assert getattr(a, name).tobytes() == getattr(b, name).tobytes(), name
