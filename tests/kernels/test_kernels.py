"""Compiled kernels against the reference, over precision, sizes and options."""

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from softvec.kernels import compiled, reference
from softvec.normalizers.moments import block_sums, moments

DTYPES = [np.float32, np.float64]
TOLERANCE = {np.float32: 2e-5, np.float64: 1e-12}


def unit(n, d, dtype, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(dtype)


def half(X):
    return X.astype(np.float16).view(np.uint16)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("d", [1, 7, 32, 65])
def test_gather(dtype, index, d):
    rng = np.random.default_rng(d)
    A = sparse.random_array((40, 30), density=0.2, random_state=rng, format="csr")
    X = unit(30, d, dtype)
    indptr, indices = A.indptr.astype(np.int64), A.indices.astype(index)
    none, no_rows = np.empty(0), np.empty((0, d), dtype)
    rows, cols = rng.random(40).astype(dtype), rng.random(30).astype(dtype)
    for values in (none, A.data):
        for scale in (none.astype(dtype), cols):
            for row_scale in (none.astype(dtype), rows):
                for add in (no_rows, unit(25, d, dtype, 3)):
                    results = []
                    for module in (reference, compiled):
                        out = np.full((25, d), np.nan, dtype)
                        module.gather(indptr, indices, values, scale, row_scale, X, add, out, 10, 35)
                        results.append(out)
                    np.testing.assert_allclose(*results, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [3, 7, 32, 65, 150])
def test_unit_rows(dtype, d):
    rng = np.random.default_rng(d)
    A = sparse.random_array((20, 30), density=0.2, random_state=rng, format="csr")
    indptr, weight = A.indptr.astype(np.int64), np.linspace(0, 1, 20, dtype=dtype)
    X, scale = unit(30, d, dtype), rng.random(20).astype(dtype)
    centre = X[0].copy()
    indptr[4:] += 2 - (indptr[4] - indptr[3])  # row 3 is the first row of X twice
    indices = np.r_[A.indices[: indptr[3]], [0, 0], A.indices[A.indptr[4] :]].astype(np.int32)
    scale[3] = 0.5
    for previous in (X[:0], unit(20, d, dtype, 1)):
        for length in (weight[:0], 1 + weight):
            results = []
            for module in (reference, compiled):
                out, total = np.full((20, d), np.nan, dtype), np.zeros(d, dtype)
                module.unit_rows(indptr, indices, scale, X, centre, weight, length, previous, out, total)
                results.append(np.vstack([out, total]))
            np.testing.assert_allclose(*results, rtol=TOLERANCE[dtype], atol=10 * TOLERANCE[dtype])
            lengths = np.linalg.norm(results[0][:-1], axis=1)
            expected = length if len(length) else np.ones(20)
            np.testing.assert_allclose(np.delete(lengths, 3), np.delete(expected, 3), rtol=1e-5)
            assert lengths[3] == 0  # a row without a direction


@pytest.mark.parametrize("d", [3, 32])
def test_gather_from_and_to_half_precision(d):
    A = sparse.random_array((40, 30), density=0.2, random_state=np.random.default_rng(0), format="csr")
    X, none = half(unit(30, d, np.float32)), np.empty(0, np.float32)
    indptr = A.indptr.astype(np.int64)
    for out_dtype in (np.float32, np.uint16):
        results = []
        for module in (reference, compiled):
            out = np.zeros((40, d), out_dtype)
            module.gather(indptr, A.indices, A.data, none, none, X, X[:0], out, 0, 40)
            results.append(reference.as_float(out))
        np.testing.assert_allclose(*results, rtol=2e-3, atol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [1, 7, 15, 16, 17, 32, 37, 64, 100, 128, 200])
@pytest.mark.parametrize("n", [1, 5, 6, 64, 133])
def test_products(dtype, d, n):
    X, W = unit(n, d, dtype), unit(d, d, dtype, 1)
    weighted = X * np.linspace(-1, 2, n, dtype=dtype)[:, None]
    cases = {"multiply": (X, W, (n, d)), "second_moments": (weighted, X, (d, d))}
    for name, (left, right, shape) in cases.items():
        exact = (left if name == "multiply" else left.T).astype(float) @ right
        for module in (reference, compiled):
            out = np.full(shape, np.nan, dtype)
            getattr(module, name)(left, right, out)
            np.testing.assert_allclose(out, exact, atol=TOLERANCE[dtype])


@pytest.mark.parametrize("d", [16, 37, 128])
def test_a_product_is_one_chain_of_fused_multiply_adds(d):
    X, W = unit(9, d, np.float32), unit(d, d, np.float32, 1)
    chain = np.zeros((9, d), np.float32)
    for k in range(d):  # exact in double precision but for the last bits of a sum, rounded once
        chain = (X[:, k, None].astype(float) * W[k] + chain).astype(np.float32)
    out = np.empty_like(chain)
    compiled.multiply(X, W, out)
    np.testing.assert_array_equal(out, chain)
    second = np.empty((d, d), np.float32)
    compiled.second_moments(X, X, second)
    np.testing.assert_array_equal(second, second.T)


def test_half_precision_conversion_is_numpys():
    X = np.random.default_rng(0).standard_normal((9, 5)).astype(np.float32)
    X[0, :4] = [0.0, 1e-6, 70000.0, -1e-9]
    out = np.empty(X.shape, np.uint16)
    compiled.to_half(X, out)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(out, half(X))


def block(dtype, k, b=11, d=9, seed=0):
    rng = np.random.default_rng(seed)
    X = unit(b, d, dtype, seed)
    omega = rng.standard_normal((k, d, d))
    omega = (np.einsum("cij,ckj->cik", omega, omega) / d**2).astype(dtype)
    return {
        "X": X,
        "G": rng.standard_normal((b, d)).astype(dtype),
        "H": np.ascontiguousarray(np.einsum("id,cde->cie", X, omega)).astype(dtype),
        "anchors": rng.standard_normal((k + 2, d)).astype(dtype),
        "log_pi": np.log(rng.random(k) * 100),
        "rho": rng.random(b),
        "C": rng.standard_normal((b, d)).astype(dtype),
    }


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("with_context", [False, True])
@pytest.mark.parametrize("copy", ["none", "half", "same"])
def test_fused_step(dtype, k, with_context, copy):
    if copy == "half" and dtype == np.float64:
        return  # float64 vectors are never copied to half precision
    results = []
    for module in (reference, compiled):
        a = block(dtype, k)
        target = np.zeros((0 if copy == "none" else 11, 9), np.uint16 if copy == "half" else dtype)
        stats = np.zeros((11, 3))
        context = a["C"] if with_context else a["C"][:0]
        params = np.array([2.0, 0.3])
        module.fused_step(
            a["X"], a["G"], a["H"], context, a["anchors"], a["log_pi"], a["rho"], params, target, stats
        )
        results.append((a["X"], stats, reference.as_float(target)))
    for x, y in zip(*results):
        np.testing.assert_allclose(
            x, y, rtol=10 * TOLERANCE[dtype], atol=1e-3 if x is results[0][2] else 1e-5
        )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [1, 4])
def test_mixture_term(dtype, k):
    results = []
    for module in (reference, compiled):
        a = block(dtype, k)
        out, log_z, r = np.empty_like(a["X"]), np.empty(11), np.empty((11, k))
        module.mixture_term(
            a["X"], a["H"], np.ascontiguousarray(a["anchors"][:k]), a["log_pi"], a["rho"], 3.0, out, log_z, r
        )
        results.append((out, log_z, r))
    for x, y in zip(*results):
        np.testing.assert_allclose(x, y, rtol=10 * TOLERANCE[dtype], atol=10 * TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("d", [1, 9, 40])
def test_edges_term(dtype, k, weighted, d):
    n, b, rng = 60, 11, np.random.default_rng(d)
    Y = unit(n, d, dtype)
    S = sparse.random_array((b, n), density=0.2, random_state=rng, format="csr").astype(dtype)
    labels = rng.permutation(np.arange(n) % k) if k > 1 else np.empty(0, np.int64)
    v = rng.random(n) + 0.3 if weighted else np.empty(0)
    mom = moments(block_sums(Y, labels, k, v.astype(dtype) if weighted else None, reference))
    H = np.stack([Y[:b] @ omega.astype(dtype) for omega in mom.omega])
    classes = reference.Classes(mom.mu.astype(dtype), mom.weight, mom.count)
    for values in (S.data, S.data[:0]):
        near = reference.Near(S.indptr.astype(np.int64), S.indices, values)
        results = []
        for module in (reference, compiled):
            shapes = ((b, d), dtype), ((S.nnz,), dtype), ((b, 2), float), ((b, k, 2), float)
            out = reference.EdgeTerms(*(np.full(shape, np.nan, kind) for shape, kind in shapes))
            items, rho = reference.Items(Y, labels, v), np.linspace(0, 2, b)
            module.edges_term(near, items, classes, Y[:b], H, rho, 5.0, out)
            results.append(out)
        for one, other in zip(*results):
            np.testing.assert_allclose(one, other, rtol=10 * TOLERANCE[dtype], atol=5 * TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("step", ["sphere_step", "ball_step"])
def test_steps(dtype, step):
    results = []
    for module in (reference, compiled):
        a = block(dtype, 1)
        g = a["G"].copy()
        g[3] = 0  # no gradient: the row stays
        X, copy = (
            a["X"] * (0.8 if step == "ball_step" else 1),
            np.empty((11, 9), np.uint16 if dtype == np.float32 else dtype),
        )
        X = X.astype(dtype)
        before = X[3].copy()
        getattr(module, step)(X, g, 0.4, copy)
        np.testing.assert_allclose(X[3], before, rtol=1e-6)
        results.append((X, reference.as_float(copy)))
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=2e-3, atol=1e-5)
    if step == "sphere_step":
        np.testing.assert_allclose(np.linalg.norm(results[1][0], axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("n_clusters", [1, 3])
def test_cached_code_gives_the_bits_of_fresh_code(tmp_path, n_clusters):
    code = (
        "import sys, hashlib, numpy as np\nfrom scipy import sparse\nfrom softvec import EDRep\n"
        "A = sparse.random_array((3000, 3000), density=0.003, random_state=0).tocsr()\n"
        f"X = EDRep(16, n_clusters={n_clusters}, n_epochs=20, random_state=0).fit_transform(A + A.T)\n"
        "assert 'numba' in sys.modules\n"
        "print(hashlib.sha256(X.tobytes()).hexdigest())\n"
    )

    def run():
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
        return subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        ).stdout

    fresh = run()
    assert list(tmp_path.rglob("*.nbc"))
    assert run() == fresh


def cache_file(folder):
    from numba.core.caching import IndexDataCacheFile

    return IndexDataCacheFile(str(folder), "kernel", source_stamp=(1.0, 100))


def save_at_the_same_time(folder, safe):
    """Let a second process save between the index and the code of the first; return what each then loads."""
    from softvec.kernels._jit import name_data_by_contents

    first, second = cache_file(folder), cache_file(folder)
    if safe:
        name_data_by_contents(first)
        name_data_by_contents(second)
    second._load_index = dict  # it looked before the first had written
    write = first._save_data

    def interrupted(name, data):
        second.save("float64", "code for float64")
        write(name, data)

    first._save_data = interrupted
    first.save("float32", "code for float32")
    third = cache_file(folder)
    return third.load("float32"), third.load("float64")


def test_processes_that_compile_at_the_same_time_never_mix_their_code(tmp_path):
    assert save_at_the_same_time(tmp_path, safe=False)[1] == "code for float32"  # as Numba does
    (tmp_path / "safe").mkdir()
    single, double = save_at_the_same_time(tmp_path / "safe", safe=True)
    assert single in (None, "code for float32")
    assert double in (None, "code for float64")


def test_old_code_is_never_loaded_after_a_change_of_the_source(tmp_path):
    from softvec.kernels._jit import name_data_by_contents

    old, new = cache_file(tmp_path), cache_file(tmp_path)
    name_data_by_contents(old)
    name_data_by_contents(new)
    old.save("float32", "old code")
    new._source_stamp = (2.0, 100)
    write, seen = new._save_index, []

    def watched(overloads):
        write(overloads)
        seen.append(new.load("float32"))

    new._save_index = watched
    assert new.load("float32") is None
    new.save("float32", "new code")
    assert seen == ["new code"]
    assert len(list(tmp_path.glob("*.nbc"))) == 1


def test_kernels_use_the_safe_cache():
    from softvec.kernels import compiled

    assert compiled.sphere_step._cache._cache_file.save.__module__ == "softvec.kernels._jit"


def test_bits_do_not_depend_on_where_arrays_lie():
    rng = np.random.default_rng(0)
    b, d = 32, 8
    X, G = (rng.standard_normal((b, d)).astype(np.float32) for _ in range(2))
    H, anchors = (rng.standard_normal(shape).astype(np.float32) for shape in ((1, b, d), (3, d)))
    results, held = set(), []
    for _ in range(3000):
        held.append(np.empty(int(rng.integers(1, 400)), np.float32))
        if len(held) > 50:
            del held[int(rng.integers(50))]
        x, g, h, stats = X.copy(), G.copy(), H.copy(), np.empty((b, 3))
        compiled.fused_step(
            x, g, h, x[:0], anchors, np.zeros(1), np.ones(b), np.array([3.0, 0.5]), x[:0], stats
        )
        results.add(x.tobytes() + stats.tobytes())
        held.append(g)
    assert len(results) == 1
