"""Graphs, pairs, bipartite data and dense matrices, against dense NumPy and SciPy."""

import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from softvec import affinity as aff
from softvec.core.errors import GuessWarning, InputError
from softvec.names import Names
from softvec.names import coding as _names
from softvec.operators import as_operator
from softvec.read import columns as _columns

rng = np.random.default_rng(0)


def dense(operator):
    return operator @ np.eye(operator.shape[1])


def by_name(affinity):
    """Return the matrix as a dict from (row name, column name) to value."""
    coo = affinity.matrix.tocoo()
    rows, columns = affinity.rows.to_list(), affinity.columns.to_list()
    return {(rows[i], columns[j]): float(v) for i, j, v in zip(coo.row, coo.col, coo.data)}


@pytest.fixture(params=["small", "compiled"])
def path(request, monkeypatch):
    """Run both the NumPy road for small data and the compiled one for large data."""
    if request.param == "compiled":
        monkeypatch.setattr("softvec.kernels.SMALL", 0)
        monkeypatch.setattr(_names.Segments, "ROWS", 7)
    return request.param


def expected(pairs, weights, directed, loops):
    table = {}
    for (a, b), w in zip(pairs, weights):
        if a == b and not loops:
            continue
        table[a, b] = table.get((a, b), 0) + w
        if not directed and a != b:
            table[b, a] = table.get((b, a), 0) + w
    return table


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("loops", ["drop", "keep"])
@pytest.mark.parametrize("kind", ["int", "big", "str", "mixed"])
def test_edges_become_the_matrix_of_their_sums(path, directed, weighted, loops, kind):
    ids = rng.integers(0, 12, (80, 2)).tolist()
    make = {
        "int": int,
        "big": lambda i: i * 2**33 - 7,
        "str": lambda i: f"nöde{i}",
        "mixed": lambda i: (i, "x") if i % 2 else f"s{i}",
    }[kind]
    pairs = [(make(a), make(b)) for a, b in ids]
    weights = rng.integers(1, 9, 80) / 3
    table = aff.random_walk(
        [(*p, w) for p, w in zip(pairs, weights)], directed=directed, weighted=weighted, self_loops=loops
    )
    want = expected(pairs, weights if weighted else np.ones(80), directed, loops == "keep")
    if not weighted:
        want = dict.fromkeys(want, 1.0)
    assert by_name(table) == pytest.approx(want)
    seen = {name for pair in pairs for name in pair}
    text = sorted(name for name in seen if isinstance(name, str))
    assert table.rows.to_list() == text + sorted(seen - set(text))  # text before tuples
    assert table.symmetric
    assert table.details == {"directed": directed, "weighted": weighted}


def test_integer_arrays_take_the_table_or_the_hash(path):
    for scale, shift in ((1, 0), (1, -5), (10**12, 3), (2**20, -(2**31))):
        ids = rng.integers(0, 50, (200, 2)) * scale + shift
        got = aff.pairs(ids, self_loops="keep", directed=True)
        want = expected(list(map(tuple, ids.tolist())), np.ones(200), True, True)
        assert by_name(got) == want
        assert got.rows.to_list() == np.unique(ids).tolist()


def test_hash_tables_grow():
    names = _names.IntegerNames()
    ids = rng.permutation(2_000_000)[:1_200_000].reshape(-1, 2) * 10**9
    for block in np.array_split(ids, 5):
        names.add(block)
    codes, labels = names.finish()
    np.testing.assert_array_equal(labels.to_numpy(), np.sort(ids.reshape(-1)))
    np.testing.assert_array_equal(labels.to_numpy()[np.concatenate(codes)], ids)


def test_interned_names_grow():
    import pyarrow as pa

    words = [f"word-{i}" * (1 + i % 5) for i in range(30_000)]
    table = _names.TokenNames()
    for part in (words, words[::-1]):
        table.add(_columns.tokens_of([pa.array(part)]))
    codes, labels = table.finish()
    assert labels.to_list() == sorted(words)
    place = {word: at for at, word in enumerate(sorted(words))}
    want = [place[word] for word in (*words, *words[::-1])]
    np.testing.assert_array_equal(np.concatenate(codes).reshape(-1), want)


def test_names_with_equal_hashes_stay_apart():
    tokens = _names.Tokens(
        np.frombuffer(b"abcab", np.uint8),
        np.array([[0], [1], [2], [0], [0]]),
        np.array([[1], [2], [3], [2], [1]]),
        np.zeros((5, 1), np.uint64),
    )
    table = _names.TokenNames()
    assert table.encode(tokens).reshape(-1).tolist() == [0, 1, 2, 3, 0]
    assert table.names(np.arange(4)).to_list() == ["a", "b", "c", "ab"]


def test_large_edges_are_used_up(monkeypatch):
    monkeypatch.setattr("softvec.kernels.SMALL", 0)
    builder = aff.EdgeBuilder()
    builder.add([[("a", "b"), ("b", "c")]])
    edges = builder.finish()
    assert aff.random_walk(edges).shape == (3, 3)
    with pytest.raises(InputError, match="read them again"):
        aff.random_walk(edges)


@pytest.mark.parametrize("weighted", [True, False])
def test_long_rows_are_sorted_and_merged(path, weighted):
    hub = np.stack([np.zeros(5000, int), rng.integers(1, 900, 5000)], axis=1)
    weights = rng.random(5000) if weighted else None
    got = aff.pairs(hub if weights is None else np.column_stack([hub, weights]))
    want = np.zeros(900)
    np.add.at(want, hub[:, 1], weights if weighted else 1.0)
    row = got.matrix[[got.rows.index(0)], :].toarray()[0]
    np.testing.assert_allclose(row, want[got.rows.to_numpy()], rtol=1e-6)
    assert np.all(np.diff(got.matrix.indices[: got.matrix.indptr[1]]) > 0)


def test_the_summary_counts_everything(path):
    edges = [(1, 2), (2, 1), (2, 3), (3, 3), (4, 4)]
    assert (
        aff.random_walk(edges).summary == "4 nodes, 2 edges, undirected, unweighted; "
        "2 self loops dropped, 1 duplicate merged, 1 isolated node (zero vectors)"
    )
    assert "2 self loops kept" in aff.random_walk(edges, self_loops="keep").summary
    assert aff.random_walk(edges, directed=True).summary.startswith("4 nodes, 3 edges, directed")
    kept = aff.random_walk(edges, isolated="drop")
    assert kept.rows.to_list() == [1, 2, 3]
    assert "1 isolated node dropped" in kept.summary
    assert "1 duplicate summed" in aff.pairs(edges).summary
    zero = aff.random_walk([(1, 2, 0.0), (2, 3, 1.5)])
    assert (
        zero.summary == "3 nodes, 1 edge, undirected, weighted; 1 edge of weight 0 dropped, "
        "1 isolated node (zero vectors)"
    )


def test_the_summary_is_logged(caplog):
    with caplog.at_level(logging.INFO, logger="softvec"):
        aff.pairs([("a", "b")])
    assert caplog.messages == ["2 nodes, 1 edge, undirected, unweighted"]


@pytest.mark.parametrize("length", [1, 2, 4])
def test_the_walk_is_the_mean_of_powers(length):
    A = (rng.random((9, 9)) < 0.4).astype(float)
    np.fill_diagonal(A, 0)
    walk = aff.random_walk(A, length, directed=True)
    sums = A.sum(axis=1, keepdims=True)
    P = np.divide(A, sums, out=np.zeros_like(A), where=sums > 0)
    want = sum(np.linalg.matrix_power(P, t) for t in range(1, length + 1)) / length
    np.testing.assert_allclose(dense(walk.operator), want, atol=1e-12)
    np.testing.assert_allclose(dense(walk.operator.T), want.T, atol=1e-12)


def test_dangling_rows():
    A = np.array([[0, 1.0], [0, 0]])
    assert aff.random_walk(A).operator.row_sums().tolist() == [1, 0]
    assert aff.random_walk(A, dangling="self").operator.row_sums().tolist() == [1, 1]
    with pytest.raises(InputError, match="dangling"):
        aff.random_walk(A, dangling="error")
    with pytest.raises(InputError, match="dangling is 'drop'"):
        aff.random_walk(A, dangling="drop")


def test_matrices_of_any_format_are_read_and_never_changed():
    A = sparse.random_array((20, 20), density=0.2, random_state=rng, format="csr")
    before = A.copy()
    for make in (sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix):
        got = aff.random_walk(make(A), directed=True, self_loops="keep")
        np.testing.assert_allclose(got.matrix.toarray(), A.toarray())
    assert (before != A).nnz == 0
    duplicate = sparse.csr_array((np.ones(3), [1, 1, 0], [0, 2, 3]), shape=(2, 2))
    assert aff.random_walk(duplicate).matrix.toarray().tolist() == [[0, 2], [1, 0]]
    assert duplicate.nnz == 3


def test_direction_of_a_matrix():
    A = np.array([[0, 2.0, 0], [0, 0, 1], [0, 0, 0]])
    with pytest.warns(GuessWarning, match="one side of the diagonal.*directed=False"):
        assert aff.random_walk(A).details["directed"]
    assert aff.random_walk(A, directed=True).details["directed"]
    B = np.array([[0, 2.0, 0], [0, 0, 1], [3.0, 0, 0]])
    assert aff.random_walk(B).details["directed"]
    assert not aff.random_walk(A + A.T).details["directed"]
    made = aff.random_walk(A, directed=False)
    np.testing.assert_array_equal(made.matrix.toarray(), A + A.T)
    assert "made symmetric" in made.summary
    unweighted = aff.random_walk(A, directed=False, weighted=False)
    assert unweighted.counts.dtype == bool
    np.testing.assert_array_equal(unweighted.matrix.toarray(), ((A + A.T) > 0).astype(float))


def test_negative_entries_of_a_matrix():
    A = np.array([[1, 0.5, -0.25], [0.5, 1, 0.125], [-0.25, 0.125, 1]])
    for data in (A, sparse.csr_array(A)):
        with pytest.raises(InputError, match="negative='drop' or negative='abs'"):
            aff.random_walk(data)
        kept = np.where(np.eye(3) > 0, 0, A)
        np.testing.assert_array_equal(aff.random_walk(data, negative="abs").matrix.toarray(), abs(kept))
        dropped = aff.random_walk(data, negative="drop").matrix.toarray()
        np.testing.assert_array_equal(dropped, np.maximum(kept, 0))
    wide = np.array([[1, -2, 0], [4, 5, -6]])
    np.testing.assert_array_equal(aff.bipartite(wide, negative="abs").matrix.toarray(), abs(wide))


def test_distances_are_not_taken_for_affinities_without_a_word():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    with pytest.raises(InputError, match="looks like distances"):
        aff.random_walk(distances)
    aff.random_walk(np.exp(-distances) - np.eye(30))  # affinities break the triangle inequality
    counts = rng.poisson(3, size=(30, 30)) + 1
    aff.random_walk((counts + counts.T) * (1 - np.eye(30)))


def test_an_affinity_can_be_walked_again():
    first = aff.pairs([("a", "b"), ("b", "c")])
    longer = aff.random_walk(first, 3)
    assert longer.rows.to_list() == ["a", "b", "c"]
    assert longer.parameters["length"] == 3
    assert aff.as_affinity(first) is first


def test_sizes():
    assert aff.random_walk([(0, 1), (1, 2)]).sizes.tolist() == [1, 2, 1]
    assert aff.pairs([(0, 1, 0.5), (1, 2, 2.0)]).sizes.tolist() == [0.5, 2.5, 2]
    assert aff.as_affinity(as_operator(np.eye(2))).sizes.tolist() == [1, 1]


def test_bipartite(path):
    edges = [("ann", "tea", 2), ("bob", "tea", 1), ("bob", "rum", 5), ("ann", "tea", 1)]
    got = aff.bipartite(edges)
    assert by_name(got) == {("ann", "tea"): 3, ("bob", "tea"): 1, ("bob", "rum"): 5}
    assert not got.symmetric
    assert got.kind == "bipartite"
    np.testing.assert_allclose(got.operator.row_sums(), 1)
    same = aff.bipartite([(1, 1), (1, 2)])  # the two 1s are different things
    assert by_name(same) == {(1, 1): 1, (1, 2): 1}
    matrix = aff.bipartite(np.array([[1, 0, 2], [0, 3, 0]]), names=["x", "y"], column_names=[10, 20, 30])
    assert by_name(matrix) == {("x", 10): 1, ("x", 30): 2, ("y", 20): 3}
    dropped = aff.bipartite(np.array([[1, 0], [0, 0]]), isolated="drop")
    assert dropped.shape == (1, 1)
    assert aff.as_affinity(sparse.random_array((3, 5), density=0.9, random_state=rng)).kind == "bipartite"


def test_names_of_rows_and_of_ids(path):
    assert aff.random_walk(np.ones((2, 2)), names="ab").rows.to_list() == ["a", "b"]
    assert aff.random_walk([(3, 1), (1, 0)], names="wxyz").rows.to_list() == ["w", "x", "z"]
    for names, message in ((["a"], "1 names for 2 rows"), (["a", "a"], "duplicate name 'a' .rows 0 and 1.")):
        with pytest.raises(InputError, match=message):
            aff.random_walk(np.ones((2, 2)), names=names)
    with pytest.raises(InputError, match="id 7 has no name"):
        aff.random_walk([(7, 1)], names="ab")
    with pytest.raises(InputError, match="already have names"):
        aff.random_walk([("u", "v")], names="ab")


@pytest.mark.parametrize(
    ("edges", "options", "message"),
    [
        ([(1, 2, -1.5)], {}, r"item 0: the weight -1.5 is negative.*negative='drop'"),
        ([(1, 2, 1.0), (1, 3, float("nan"))], {}, "item 1: the weight nan is not finite"),
        ([(1, 2, "x")], {}, "item 0 is .* its weight is not a number"),
        ([(1, 2), (1, 2, 3)], {}, "item 1 .* of 3 entries"),
        ([(1,)], {}, "of 1 entries"),
        (["ab"], {"kind": "graph"}, "item 0 is 'ab'"),
        ([([], 1)], {}, "not hashable"),
        ([], {}, "nothing to embed: the data has no edges"),
        ([(1, 1)], {"duplicates": "twice"}, "duplicates is 'twice'"),
        ([(1, 2)], {"weighted": True}, "have no weights"),
        ([(1, 2), (1, 2)], {"duplicates": "error"}, "1 duplicate edge; pass"),
        ([(1, 2, 1.0), (1, 2, 2.0)], {"duplicates": "merge"}, "cannot choose between them"),
        ([(1, 2)], {"length": 0}, "length is 0"),
        ([(1, 2)], {"lenght": 2}, "unknown option 'lenght' for graph data; expected one of .*length"),
        ([(1, 2)], {"kind": "tree"}, "kind is 'tree'"),
        (3, {}, "int is not a graph"),
        ("absent.txt", {}, "absent.txt"),
    ],
)
def test_bad_edges(edges, options, message):
    with pytest.raises(InputError, match=message):
        aff.as_affinity(edges, **options)


def test_negative_weights_can_be_dealt_with(path):
    edges = [("a", "b", -2.0), ("b", "c", 1.0)]
    assert by_name(aff.random_walk(edges, negative="abs")) == {
        ("a", "b"): 2, ("b", "a"): 2, ("b", "c"): 1, ("c", "b"): 1,
    }  # fmt: skip
    dropped = aff.random_walk(edges, negative="drop")
    assert dropped.rows.to_list() == ["b", "c"]
    assert "1 negative weight dropped" in dropped.summary


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.array([[0, -1.5], [1, 0]]), "negative values: -1.5 at row 0, column 1"),
        (np.array([[0, np.nan], [1, 0]]), "NaN or infinite values: nan at row 0, column 1"),
        (np.array([[0, 1j], [1, 0]]), "numeric matrix"),
        (sparse.csr_array(np.eye(2) * 1j), "not numeric"),
        (np.ones((2, 3)), "a graph is square"),
    ],
)
def test_bad_matrices(matrix, message):
    with pytest.raises(InputError, match=message):
        aff.random_walk(matrix)


def test_shapes_and_labels_must_agree():
    with pytest.raises(InputError, match="2 row names"):
        aff.Affinity(as_operator(np.eye(3)), Names.range(2), Names.range(3), "graph", "")
    with pytest.raises(InputError, match="is a linear operator"):
        _ = aff.as_affinity(as_operator(np.eye(3))).matrix


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1), st.randoms())
@settings(max_examples=60, deadline=None)
def test_the_order_of_edges_does_not_change_the_matrix(edges, random):
    shuffled = list(edges)
    random.shuffle(shuffled)
    for build in (aff.random_walk, aff.pairs, aff.bipartite):
        assert by_name(build(edges)) == by_name(build(shuffled))


# dense matrices


def test_dense_is_kept_exactly():
    P = rng.random((6, 6))
    got = aff.from_dense(P)
    np.testing.assert_allclose(dense(got.operator), P / P.sum(axis=1, keepdims=True))
    assert got.details["error"] < 1e-12
    raw = aff.from_dense(P, normalize=False, length=2)
    np.testing.assert_allclose(dense(raw.operator), (P + P @ P) / 2)


def test_sparsification_states_its_error():
    P = rng.random((30, 40)) ** 4
    P /= P.sum(axis=1, keepdims=True)
    for options in ({"top_k": 5}, {"threshold": 0.05}, {"top_k": 5, "threshold": 0.05}):
        got = aff.from_dense(P, **options)
        error = np.linalg.norm(dense(got.operator) - P) / np.linalg.norm(P)
        assert got.details["error"] == pytest.approx(error)
        assert got.operator.nnz < P.size / 3
        np.testing.assert_allclose(got.operator.row_sums(), 1)
        assert not got.symmetric
    assert np.all(np.diff(aff.from_dense(P, top_k=5).counts.indptr) == 5)


def test_factors_recover_a_product_of_factors():
    W, H = rng.random((60, 4)) ** 3, rng.random((4, 60)) ** 3
    P = W @ H
    got = aff.from_dense(P, rank=4, n_iter=100)
    assert got.details["error"] < 0.02
    assert got.operator.nnz <= 8 * 60
    np.testing.assert_allclose(got.operator.row_sums(), 1)
    truth = P / P.sum(axis=1, keepdims=True)
    assert np.linalg.norm(dense(got.operator) - truth) / np.linalg.norm(truth) == pytest.approx(
        got.details["error"]
    )


def test_sparse_factors_and_remainders():
    P = np.kron(np.eye(6), np.ones((5, 5))) + 0.01 * rng.random((30, 30))
    sparse_two = aff.from_dense(P, rank=6, entries_per_row=6)
    assert sparse_two.operator.nnz <= 6 * (30 + 6)
    corrected = aff.from_dense(P, rank=6, entries_per_row=6, top_k=5)
    assert corrected.details["error"] < sparse_two.details["error"] < 0.6
    three = aff.from_dense(P, rank=6, n_factors=3)
    assert three.details["error"] < 0.05
    assert np.all(dense(three.operator) >= 0)
    np.testing.assert_allclose(dense(three.operator.T), dense(three.operator).T)


@pytest.mark.parametrize(
    ("P", "options", "message"),
    [
        ([[0.5, -0.1]], {}, r"P\[0, 1\] is -0.1"),
        ([[0.5, np.inf]], {}, r"P\[0, 1\] is inf"),
        ([0.5, 0.1], {}, "shape"),
        ([["a"]], {}, "not a matrix of numbers"),
        ([[1.0]], {"rank": 2}, "rank is 2; expected an integer of at most 1"),
        ([[1.0]], {"rank": 1, "n_factors": 1}, "n_factors is 1"),
        ([[1.0]], {"top_k": 0}, "top_k is 0"),
        ([[1.0]], {"threshold": -1}, "threshold is -1"),
        ([[1.0]], {"entries_per_row": 1}, "also pass rank"),
        ([[1.0, 2.0]], {"length": 2}, "same items"),
    ],
)
def test_bad_dense(P, options, message):
    with pytest.raises(InputError, match=message):
        aff.from_dense(P, **options)
