"""softvec.embed on objects of every kind, and what it records."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import softvec
from softvec import api
from softvec.core.errors import InputError
from softvec.fit.resolve import BUILDER_DEFAULTS, resolve
from softvec.request import Request

pytestmark = pytest.mark.filterwarnings("ignore:the normaliser is off")


def ring(n=12):
    A = sparse.diags_array([np.ones(n - 1), [1.0]], offsets=[1, n - 1], shape=(n, n))
    return (A + A.T).tocsr()


def test_graph_kinds_agree():
    nx = pytest.importorskip("networkx")
    pd = pytest.importorskip("pandas")
    graph = nx.cycle_graph(12)
    edges = [tuple(edge) for edge in graph.edges]
    frame = pd.DataFrame(edges, columns=["from", "to"])
    options = {"n_components": 4, "random_state": 0, "n_epochs": 5}
    want = softvec.embed(graph, **options)
    for data in (nx.to_scipy_sparse_array(graph), nx.to_numpy_array(graph)):
        got = softvec.embed(data, **options)
        np.testing.assert_array_equal(got.vectors, want.vectors)
    for data in (edges, frame):
        assert set(softvec.embed(data, **options)) == set(want)


def test_two_sided_data():
    emb = softvec.embed([("ann", "tea"), ("bob", "tea"), ("bob", "rum")], 3, kind="bipartite", random_state=0)
    assert list(emb) == ["ann", "bob"]
    assert list(emb.context) == ["rum", "tea"]
    square = softvec.embed([("a", "x"), ("b", "y")], 3, kind="bipartite", random_state=0)
    assert square.two_sided, "as many rows as columns are still two kinds of items"


def test_texts():
    emb = softvec.embed(["the cat sat", "the dog sat"] * 10, 3, min_count=1, random_state=0)
    assert {"cat", "dog"} <= set(emb)
    assert emb.sizes[emb.names.index("the")] == 20


def test_text_defaults_equal_the_options_of_the_builder():
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(list("abcdefgh"), 30, p=np.arange(1, 9) / 36)) for _ in range(40)]
    default = api.to_affinity(texts)
    subsample = BUILDER_DEFAULTS["corpus"]["context_subsample"]
    built = softvec.affinity.cooccurrence(texts, subsample=subsample)
    assert default.parameters["subsample"] == subsample
    np.testing.assert_allclose(default.operator @ np.eye(8), built.operator @ np.eye(8), atol=1e-6)
    plain = api.to_affinity(texts, subsample=None)
    assert not np.allclose(plain.operator @ np.eye(8), built.operator @ np.eye(8))


def test_base_measure():
    emb = softvec.embed(ring(), 4, random_state=0, n_epochs=2, base_measure=0.75)
    assert emb.provenance["parameters"]["base_measure"] == 0.75
    np.testing.assert_array_equal(  # all nodes of a ring have one size: the measure changes nothing
        emb.vectors, softvec.embed(ring(), 4, random_state=0, n_epochs=2, base_measure=0).vectors
    )
    star = [(0, i) for i in range(1, 9)]
    a, b = (softvec.embed(star, 4, random_state=0, base_measure=p).vectors for p in (0.0, 1.0))
    assert not np.allclose(a, b)
    assert len(softvec.embed([("u", "x"), ("v", "x")], 2, kind="bipartite", base_measure=0.5)) == 2
    for bad in (-1, "x"):
        with pytest.raises(InputError, match="base_measure"):
            softvec.embed(ring(), 4, base_measure=bad)


def test_features():
    emb = softvec.embed(np.random.default_rng(0).random((30, 5)), 3, n_neighbors=4, random_state=0)
    assert emb.shape == (30, 3)


def test_file(tmp_path):
    path = tmp_path / "e.txt"
    path.write_text("a b\nb c\nc a\n")
    emb = softvec.embed(path, 2, random_state=0)
    assert emb.provenance["data"]["source"] == "e.txt"
    assert emb.provenance["data"]["summary"] == "3 nodes, 3 edges, undirected, unweighted"
    with pytest.raises(InputError, match="nothere"):
        softvec.embed(tmp_path / "nothere.txt")


def test_provenance_says_how():
    emb = softvec.embed(ring(), 4, random_state=7, beta=2.0, n_epochs=3, walk_length=2)
    record = emb.provenance
    assert record["softvec"] == softvec.__version__
    assert record["parameters"]["beta"] == 2.0
    assert record["parameters"]["random_state"] == 7
    assert record["data"]["options"]["length"] == 2
    assert record["origin"] == {
        **dict.fromkeys(("beta", "n_components", "n_epochs", "random_state", "walk_length"), "user"),
        **dict.fromkeys(("base_measure", "shrinkage", "symmetric"), "kind of data"),
    }
    assert len(record["history"]["loss"]) == 3
    np.testing.assert_array_equal(emb.sizes, np.full(12, 2.0))


def test_a_graph_takes_fewer_epochs_than_other_data():
    def epochs(data, **options):
        made = softvec.embed(data, 2, random_state=0, **options)
        request = Request.of(data, n_components=2, **options)
        ran = len(made.provenance["history"]["loss"])
        assert (
            resolve(request, api.requested_affinity(data, request).facts).total_epochs == ran
        )  # of the progress bar
        return ran

    assert epochs(ring()) == 20
    assert epochs(ring(), n_epochs=3) == 3
    assert epochs([("a", "x"), ("b", "x"), ("b", "y")], kind="bipartite") == 30


def test_beta_of_a_graph_follows_its_neighbours():
    def beta(n, k, **options):
        A = sparse.csr_array(np.roll(np.eye(n), 1, axis=0))
        power, step = sparse.csr_array((n, n)), A
        for _ in range(k // 2):
            power, step = power + step + step.T, step @ A
        made = softvec.embed(power, 4, random_state=0, n_epochs=1, **options)
        return made.provenance["parameters"]["beta"]

    assert beta(40, 2) == 3.0  # at least
    assert beta(40, 8) == 4.0
    assert beta(40, 30) == 6.0  # at most
    assert beta(40, 2, beta=1.0) == 1.0


def test_walk_length_is_the_same_wherever_it_is_given():
    here = softvec.embed(ring(), 4, random_state=0, walk_length=3)
    there = softvec.embed(softvec.affinity.random_walk(ring(), 3), 4, random_state=0)
    np.testing.assert_array_equal(here.vectors, there.vectors)
    with pytest.raises(InputError, match="already has a walk length"):
        softvec.embed(softvec.affinity.random_walk(ring(), 3), 4, walk_length=2)
    with pytest.raises(InputError, match="does not apply to two-sided data"):
        softvec.embed([("a", "x")], 4, kind="bipartite", walk_length=2)
    for bad in (0, 1.5, "x"):
        with pytest.raises(InputError, match="walk_length"):
            softvec.embed(ring(), 4, walk_length=bad)


def test_callbacks_stop_the_fit():
    seen = []

    def stop(epoch, loss, X):
        seen.append((epoch, loss))
        return len(seen) == 2

    emb = softvec.embed(ring(), 4, callbacks=[stop], random_state=0)
    assert len(seen) == 2
    assert len(emb.provenance["history"]["loss"]) == 2


def test_unknown_options_and_data():
    with pytest.raises(InputError, match="nope"):
        softvec.embed(ring(), nope=1)
    with pytest.raises(InputError, match="kind is 'nope'"):
        softvec.embed(ring(), kind="nope")
    with pytest.raises(InputError, match="int"):
        softvec.embed(3)


def star(leaves):
    A = sparse.lil_array((leaves + 2, leaves + 2))
    A[0, 1 : leaves + 1] = A[1 : leaves + 1, 0] = 1.0
    return A.tocsr()  # the last node has no edge


def test_vectors_of_items_with_few_neighbours_are_short():
    emb = softvec.embed(star(4), 3, random_state=0, n_epochs=3)
    mean = (4 + 4 * 1) / 5  # of the nodes that have neighbours
    hub, leaf = np.sqrt(4 / (4 + mean / 2)), np.sqrt(1 / (1 + mean / 2))
    lengths = np.linalg.norm(emb.vectors, axis=1)
    expected = [hub, leaf, leaf, leaf, leaf, 0]  # nothing is known of a node without edges
    np.testing.assert_allclose(lengths, expected, rtol=1e-5)
    unit = softvec.embed(star(4), 3, random_state=0, n_epochs=3, shrinkage=0)
    np.testing.assert_allclose(np.linalg.norm(unit.vectors, axis=1), [1, 1, 1, 1, 1, 0], rtol=1e-6)
    cosine = np.einsum("ij,ij->i", unit.vectors, emb.vectors)[:5] / lengths[:5]
    np.testing.assert_allclose(cosine, 1, rtol=1e-5)
    assert (emb.provenance["parameters"]["shrinkage"], unit.provenance["parameters"]["shrinkage"]) == (0.5, 0)


def test_without_shrinkage_embed_is_the_estimator():
    A = ring(40)
    emb = softvec.embed(A, 4, random_state=3, walk_length=1, beta=2.0, shrinkage=0, n_epochs=5)
    model = softvec.EDRep(4, random_state=3, beta=2.0, n_epochs=5).fit(A)
    np.testing.assert_array_equal(emb.vectors, model.embedding_)


@pytest.mark.parametrize("options", [{"symmetric": False}, {"constraint": "ball"}])
def test_shrinkage_needs_unit_vectors_of_one_kind(options):
    emb = softvec.embed(ring(), 3, n_epochs=2, random_state=0, **options)
    assert emb.provenance["parameters"]["shrinkage"] == 0
    with pytest.raises(InputError, match="one set of unit vectors"):
        softvec.embed(ring(), 3, shrinkage=0.5, **options)


def test_vectors_of_a_directed_graph_keep_their_length():
    emb = softvec.embed([("a", "b"), ("b", "c"), ("d", "c")], 3, directed=True, n_epochs=2, random_state=0)
    np.testing.assert_allclose(np.linalg.norm(emb.vectors, axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("wrong", [-1, "much", float("inf"), float("nan"), True])
def test_wrong_shrinkage(wrong):
    with pytest.raises(InputError, match="shrinkage is"):
        softvec.embed(ring(), 3, shrinkage=wrong)


def test_everything_promised_is_there():
    for name in softvec.__all__:
        assert getattr(softvec, name) is not None
    assert set(dir(softvec)) == set(softvec.__all__)
    with pytest.raises(AttributeError, match="nope"):
        _ = softvec.nope


def test_import_is_light():
    code = "import sys, softvec; print(*sorted(m for m in sys.modules if '.' not in m))"
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"numpy", "scipy", "sklearn", "numba", "pyarrow", "typer"} & set(out)
