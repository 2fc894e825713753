"""Edges sorted into rows on disk: the bits of the sort in memory, and of SciPy where sums are exact."""

import numpy as np
import pytest
from scipy import sparse

from softvec import kernels
from softvec.affinity import spill
from softvec.affinity.compress import compress, edges_to_csr
from softvec.core.scratch import large_arrays_in
from softvec.names import Names
from softvec.read.edges import Edges


def blocks_of(n, count, seed):
    """Skewed edges with many duplicates and loops, in blocks of unequal size."""
    rng = np.random.default_rng(seed)
    pairs = (n * rng.random((count, 2)) ** 3).astype(np.int32)
    weights = rng.random(count)  # sums of these depend on their order
    cuts = [count // 7, count // 2]
    return np.split(pairs, cuts), np.split(weights, cuts)


@pytest.mark.parametrize(("both", "loops"), [(False, -1), (False, 0), (False, 1), (True, 0), (True, 1)])
@pytest.mark.parametrize("values_of", [None, np.float32, np.float64])
@pytest.mark.parametrize("threads", [1, 2])
def test_same_bits_as_in_memory(tmp_path, monkeypatch, both, loops, values_of, threads):
    monkeypatch.setattr(spill, "BUCKET", 500)  # some forty buckets
    monkeypatch.setattr(spill, "_PIECE", 1000)
    made = []
    for sort in (edges_to_csr, spill.edges_to_csr_on_disk):
        codes, weights = blocks_of(300, 20_000, 1)
        given = weights if values_of is not None else None
        with large_arrays_in(tmp_path):
            own = {"n_jobs": threads} if sort is edges_to_csr else {}
            made.append(sort(codes, 300, both=both, loops=loops, weights=given, values_of=values_of, **own))
        assert codes == []  # spent
    a, b = made
    assert (a.loops, a.merged_off, a.merged_on) == (b.loops, b.merged_off, b.merged_on)
    assert a.merged_off > 0
    for name in ("indptr", "indices", "values"):
        x, y = getattr(a, name), getattr(b, name)
        assert x.dtype == y.dtype
        assert x.tobytes() == y.tobytes(), name


def test_against_scipy(tmp_path, monkeypatch):
    monkeypatch.setattr(spill, "BUCKET", 100)
    codes, _ = blocks_of(200, 5000, 2)
    pairs = np.concatenate(codes)
    rows = spill.edges_to_csr_on_disk(codes, 200, both=False, loops=1, values_of=np.float64)
    truth = sparse.coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(200, 200)).tocsr()
    truth.sum_duplicates()
    np.testing.assert_array_equal(rows.indptr, truth.indptr)
    np.testing.assert_array_equal(rows.indices, truth.indices)
    np.testing.assert_array_equal(rows.values, truth.data)
    assert rows.loops == np.count_nonzero(pairs[:, 0] == pairs[:, 1])


@pytest.mark.parametrize("empty", ["no edges", "only loops", "empty rows at both ends"])
def test_corners(empty):
    pairs = {"no edges": [], "only loops": [[1, 1]], "empty rows at both ends": [[4, 5], [5, 4]]}[empty]
    codes = [np.array(pairs, np.int32).reshape(-1, 2)]
    ours = spill.edges_to_csr_on_disk(list(codes), 9, both=True, loops=0)
    truth = edges_to_csr(list(codes), 9, both=True, loops=0)
    np.testing.assert_array_equal(ours.indptr, truth.indptr)
    np.testing.assert_array_equal(ours.indices, truth.indices)
    assert ours.loops == truth.loops


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("merge", ["sum", "merge"])
def test_matrices_are_the_same(tmp_path, monkeypatch, two_sided, weighted, merge):
    if weighted and merge == "merge":
        pytest.skip("refused: one of several weights would have to be picked")
    monkeypatch.setattr(kernels, "SMALL", 1)
    monkeypatch.setattr(spill, "BUCKET", 700)
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
