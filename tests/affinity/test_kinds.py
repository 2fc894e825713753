"""Temporal graphs, text, features, and the objects of other libraries."""

import importlib
import itertools
import re
import types
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from softvec import affinity as aff
from softvec.affinity import corpus as _corpus
from softvec.affinity.matrices import assemble
from softvec.core.errors import GuessWarning, InputError

_counting = importlib.import_module("softvec.affinity.cooccurrence")
rng = np.random.default_rng(1)


def by_name(affinity):
    coo = affinity.matrix.tocoo()
    rows, columns = affinity.rows.to_list(), affinity.columns.to_list()
    return {(rows[i], columns[j]): float(v) for i, j, v in zip(coo.row, coo.col, coo.data)}


# temporal graphs


def supra_by_hand(contacts, self_weight=1.0, directed=False):
    """The definition, literally: contacts are (t, i, j, w)."""
    active = {}
    weight = {}
    for t, i, j, w in contacts:
        if i != j:
            active.setdefault(i, set()).add(t)
            active.setdefault(j, set()).add(t)
            key = (t, i, j) if directed or str(i) <= str(j) else (t, j, i)
            weight[key] = weight.get(key, 0) + w
    following = {
        (i, t): min((u for u in times if u > t), default=None) for i, times in active.items() for t in times
    }
    table = {}
    for (i, t), later in following.items():
        if later is not None:
            table[(i, t), (i, later)] = table.get(((i, t), (i, later)), 0) + self_weight
    for (t, i, j), w in weight.items():
        for a, b in [(i, j)] if directed else [(i, j), (j, i)]:
            if following[b, t] is not None:
                key = ((a, t), (b, following[b, t]))
                table[key] = table.get(key, 0) + w
    return table, {(i, t) for i, times in active.items() for t in times}


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("self_weight", [1.0, 2.5])
def test_supra_adjacency_is_its_definition(directed, self_weight):
    contacts = [
        (int(t), f"p{i}", f"p{j}", float(w))
        for t, i, j, w in zip(
            rng.integers(0, 12, 60), rng.integers(0, 6, 60), rng.integers(0, 6, 60), rng.integers(1, 4, 60)
        )
    ]
    table, active = supra_by_hand(contacts, self_weight, directed)
    got = aff.supra_adjacency(contacts, self_weight=self_weight, directed=directed)
    assert by_name(got) == pytest.approx(table)
    assert set(got.rows) == active
    times = [t for _, t in got.rows]
    assert times == sorted(times)
    later = got.matrix.tocoo()
    assert np.all(later.col > later.row)  # acyclic


def test_windows():
    contacts = [(0, "a", "b"), (9, "b", "a"), (10, "a", "b"), (35, "b", "c"), (39, "a", "c"), (39, "a", "a")]
    edges = aff.temporal_edges(contacts)
    by_duration = aff.aggregate(edges, window=10)
    assert by_duration.time.tolist() == [0, 1, 3, 3]
    assert by_duration.weight.tolist() == [2, 1, 1, 1]
    assert by_duration.starts.to_list() == [0, 10, 20, 30]
    assert by_duration.self_contacts == 1
    equal = aff.aggregate(aff.temporal_edges(contacts), n_windows=2)
    assert equal.time.tolist() == [0, 1, 1]
    assert equal.weight.tolist() == [3, 1, 1]
    assert equal.starts.to_list() == [0, 20]
    stamps = aff.aggregate(aff.temporal_edges(contacts), n_windows=2, equal="stamps")
    assert stamps.starts.to_list() == [0, 35]
    each = aff.aggregate(aff.temporal_edges(contacts))
    assert each.starts.to_list() == [0, 9, 10, 35, 39]
    floats = aff.aggregate(aff.temporal_edges([(0.0, 1, 2), (0.5, 1, 2), (1.0, 2, 3)]), n_windows=2)
    assert floats.time.tolist() == [0, 1, 1]
    assert floats.starts.to_list() == [0.0, 0.5]


@pytest.mark.parametrize(
    ("contacts", "options", "message"),
    [
        ([(0, 1, 2)], {"window": 1, "n_windows": 2}, "pass only one of them"),
        ([(0, 1, 2)], {"window": 0}, "window is 0; expected a number above 0"),
        ([(0, 1, 2)], {"n_windows": 0}, "n_windows is 0"),
        ([(0, 1, 2)], {"n_windows": 2}, "the same time"),
        ([(0, 1, 2), (1, 1, 2)], {"n_windows": 3, "equal": "stamps"}, "only 2 time stamps"),
        ([(0, 1, 2), (10**12, 1, 2)], {"window": 1}, "50 million windows"),
        ([(0, 1, 1)], {}, "two different nodes"),
        ([], {}, "no contacts"),
        ([("x", 1, 2)], {}, "its time is not a number"),
        ([(float("nan"), 1, 2)], {}, "no finite time"),
        ([(0, 1, 2)], {"self_weight": -1}, "self_weight is -1"),
        ({"source": [1], "target": [2]}, {}, "no time column"),
    ],
)
def test_bad_contacts(contacts, options, message):
    with pytest.raises(InputError, match=message):
        aff.supra_adjacency(contacts, **options)


def test_contacts_in_arrays_and_frames():
    pd = pytest.importorskip("pandas")
    rows = [(0, 1, 2, 1.0), (1, 2, 3, 2.0), (2, 1, 3, 1.0)]
    want = by_name(aff.supra_adjacency(rows))
    assert by_name(aff.supra_adjacency(np.array(rows))) == want
    frame = pd.DataFrame(rows, columns=["when", "a", "b", "n"])
    assert by_name(aff.supra_adjacency(frame, columns=("when", "a", "b", "n"))) == want
    named = frame.rename(columns={"when": "timestamp"})
    assert aff.as_affinity(named).kind == "temporal"
    dated = named.assign(timestamp=pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03"]))
    got = aff.as_affinity(dated, window=86_400)
    assert got.rows.index((1, "2024-01-01")) == 0
    assert aff.supra_adjacency(rows, weighted=False).counts.dtype == bool


# text


def count_by_hand(documents, window, weight, min_count=1, self_pairs=False):
    frequency = {}
    for word in itertools.chain(*documents):
        frequency[word] = frequency.get(word, 0) + 1
    table = {}
    for document in documents:
        words = [word for word in document if frequency[word] >= min_count]
        for p, q in itertools.combinations(range(len(words)), 2):
            if q - p <= window and (self_pairs or words[p] != words[q]):
                for pair in ((words[p], words[q]), (words[q], words[p])):
                    table[pair] = table.get(pair, 0) + weight(q - p)
    return table


WEIGHTS = {
    "linear": lambda window: lambda s: (window + 1 - s) / window,
    "harmonic": lambda window: lambda s: 1 / s,
    "uniform": lambda window: lambda s: 1.0,
}


@pytest.mark.parametrize("weighting", list(WEIGHTS))
@pytest.mark.parametrize("segment", [7, 10**6])
def test_counting_is_its_definition(weighting, segment, monkeypatch):
    monkeypatch.setattr(_corpus, "_SEGMENT", segment)
    monkeypatch.setattr(_counting, "_ROWS_OUT", 50)
    words = [f"w{i}" for i in range(15)]
    documents = [[words[i] for i in rng.integers(0, 15, rng.integers(1, 25))] for _ in range(12)]
    for window, min_count, loops in ((1, 1, False), (4, 1, True), (3, 8, False)):
        got = aff.cooccurrence(
            documents, window=window, weighting=weighting, min_count=min_count,
            self_loops="keep" if loops else "drop",
        )  # fmt: skip
        want = count_by_hand(documents, window, WEIGHTS[weighting](window), min_count, loops)
        assert by_name(got) == pytest.approx(want, rel=1e-5)
        assert list(got.sizes) == sorted(got.sizes, reverse=True)


@pytest.mark.parametrize("content", [b"  one two\n\nthree\tfour \nfive", b"", b" \n", b"\n\nx", b"x\n"])
def test_words_and_line_ends(content):
    starts, ends, at = _corpus.split_words(np.frombuffer(content, np.uint8))
    assert [content[a:b] for a, b in zip(starts, ends)] == content.split()
    assert at.tolist() == [content[:a].count(b"\n") for a in starts]


def test_text_and_words_count_the_same():
    text = ["The cat sat; the DOG sat!", "Über über die Brücke — ging's."]
    words = [["the", "cat", "sat", "the", "dog", "sat"], ["über", "über", "die", "brücke", "ging", "s"]]
    assert by_name(aff.cooccurrence(text, min_count=1)) == by_name(aff.cooccurrence(words, min_count=1))
    kept = aff.cooccurrence(["A_b a-b A"], min_count=1, lowercase=False, tokenizer="whitespace")
    assert set(kept.rows) == {"A_b", "a-b", "A"}


def test_blocks_may_end_inside_a_document():
    whole, cut = aff.Corpus(), aff.Corpus()
    whole.add_text(b"a b c d\n\n\ne f\n")
    for block in (b"a b ", b"c d", b"\n\n", b"\ne ", b"f\n"):
        cut.add_text(block)
    assert (cut.n_words, cut.n_documents) == (whole.n_words, whole.n_documents) == (6, 2)
    counts = [by_name(aff.cooccurrence(c, min_count=1, window=3)) for c in (whole, cut)]
    assert counts[0] == counts[1]
    assert ("d", "e") not in counts[0]


def test_tokens_beyond_memory_go_to_disk(monkeypatch):
    documents = [["x", "y", "z", "x"] * 5 for _ in range(20)]
    want = by_name(aff.cooccurrence(documents, min_count=1))
    monkeypatch.setattr(_corpus, "_IN_MEMORY", 50)
    monkeypatch.setattr(_corpus, "_SEGMENT", 33)
    assert by_name(aff.cooccurrence(documents, min_count=1)) == pytest.approx(want)


def test_threads_do_not_change_the_counts():
    documents = [[f"w{i}" for i in rng.zipf(1.5, 200) % 50] for _ in range(30)]
    one, three = (aff.cooccurrence(documents, n_jobs=n, weighting="harmonic") for n in (1, 3))
    assert (one.matrix != three.matrix).nnz == 0
    assert one.rows == three.rows


def test_subsampling_scales_frequent_words():
    documents = [["the", f"w{i}", "the", f"w{i}"] for i in range(10)] * 2
    plain = by_name(aff.cooccurrence(documents, min_count=1))
    got = by_name(aff.cooccurrence(documents, min_count=1, subsample=0.1))
    keep = {word: min(1.0, np.sqrt(0.1 / ((40 if word == "the" else 4) / 80))) for word in ("the", "w1")}
    assert got["the", "w1"] == pytest.approx(plain["the", "w1"] * keep["the"] * keep["w1"], rel=1e-6)


def test_vocabulary_limits():
    got = aff.cooccurrence([["a"] * 5 + ["b"] * 3 + ["c"]], min_count=1, max_vocab=2)
    assert got.rows.to_list() == ["a", "b"]
    assert got.summary == "9 words in 1 document; vocabulary 2 of 3 (min_count 1), 1 pairs within 5 words"


@pytest.mark.parametrize(
    ("corpus", "options", "message"),
    [
        ("one string", {}, "list of documents"),
        (["a b"], {"min_count": 9}, "no word occurs 9 times in 2 words"),
        (["a b"], {"window": 0}, "window is 0"),
        (["a b"], {"weighting": "flat"}, "weighting is 'flat'"),
        (["a b"], {"subsample": 2}, "subsample is 2"),
        (["a b"], {"tokenizer": "bpe"}, "tokenizer is 'bpe'"),
        ([[1, 2]], {}, "words must be strings"),
    ],
)
def test_bad_corpora(corpus, options, message):
    with pytest.raises(InputError, match=message):
        aff.cooccurrence(corpus, **options)


# features


def test_neighbors_are_the_nearest():
    X = rng.normal(size=(60, 3))
    distance = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    near = np.zeros((60, 60), bool)
    np.put_along_axis(near, np.argsort(distance, axis=1)[:, :4], True, axis=1)
    union = aff.neighbors(X, 4).matrix.toarray()
    np.testing.assert_array_equal(union > 0, near | near.T)
    mutual = aff.neighbors(X, 4, mutual=True).matrix.toarray()
    np.testing.assert_array_equal(mutual > 0, near & near.T)
    gaussian = aff.neighbors(X, 4, weights="gaussian", names=[f"p{i}" for i in range(60)])
    i, j = map(int, np.argwhere(near)[0])
    scale = np.sort(distance, axis=1)[:, 3]
    want = np.exp(-(distance[i, j] ** 2) / (scale[i] * scale[j]))
    assert gaussian.matrix[i, j] == pytest.approx(want)
    assert gaussian.rows[3] == "p3"


def test_a_column_that_decides_alone_is_said():
    X = rng.normal(size=(60, 3)) * [1, 2000, 2]
    with pytest.warns(UserWarning, match="column 2 of the features varies .* times as much as most"):
        wide = aff.neighbors(X, 4)
    alone = aff.neighbors(X[:, 1:2], 4)
    assert (wide.matrix - alone.matrix).nnz < 0.3 * alone.matrix.nnz
    aff.neighbors(X, 4, metric="cosine")
    aff.neighbors(X / [1, 100, 1], 4)


def test_sparse_features_and_cosine():
    X = sparse.random_array((40, 30), density=0.3, random_state=rng, format="csr")
    a = aff.neighbors(X, 3, metric="cosine").matrix.toarray()
    b = aff.neighbors(X.toarray(), 3, metric="cosine").matrix.toarray()
    np.testing.assert_array_equal(a, b)


@pytest.mark.slow
def test_approximate_neighbors_agree_mostly():
    pytest.importorskip("pynndescent")
    X = rng.normal(size=(2000, 8)).astype(np.float32)
    exact = aff.neighbors(X, 10, method="exact").matrix
    found = aff.neighbors(X, 10, method="approximate").matrix
    assert exact.multiply(found).sum() / exact.sum() > 0.95


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        ([[1.0]], {}, "1 row; neighbours need at least 2"),
        ([[1.0], [np.nan]], {}, "NaN or infinite values .first in row 1"),
        ([["a"], ["b"]], {}, "not numbers"),
        ([1.0, 2.0], {}, "shape"),
        ([[1.0], [2.0]], {"n_neighbors": 2}, "expected an integer of at most 1"),
        ([[1.0], [2.0]], {"n_neighbors": 1, "metric": "crow"}, "metric is 'crow'"),
    ],
)
def test_bad_features(X, options, message):
    with pytest.raises(InputError, match=message):
        aff.neighbors(X, **options)


# objects of other libraries


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_networkx(directed, weighted):
    nx = pytest.importorskip("networkx")
    graph = (nx.DiGraph if directed else nx.Graph)()
    graph.add_nodes_from(["lone", ("a", 1), 7])
    graph.add_edge(("a", 1), 7, **({"weight": 2.5} if weighted else {}))
    graph.add_edge(7, 7, **({"weight": 1.0} if weighted else {}))
    got = aff.as_affinity(graph)
    assert got.rows.to_list() == ["lone", ("a", 1), 7]
    value = 2.5 if weighted else 1.0
    want = {(("a", 1), 7): value} | ({} if directed else {(7, ("a", 1)): value})
    assert by_name(got) == want
    assert "1 self loop dropped" in got.summary
    with pytest.raises(InputError, match="no nodes"):
        aff.as_affinity(nx.Graph())


def test_igraph():
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph([(0, 1), (1, 2), (0, 1)], n=4)
    assert by_name(aff.as_affinity(graph)) == {(0, 1): 1, (1, 0): 1, (1, 2): 1, (2, 1): 1}
    graph.vs["name"] = list("wxyz")
    graph.es["weight"] = [1.0, 2.0, 0.5]
    got = aff.as_affinity(graph)
    assert by_name(got) == {("w", "x"): 1.5, ("x", "w"): 1.5, ("x", "y"): 2, ("y", "x"): 2}
    assert got.shape == (4, 4)
    arrow = igraph.Graph([(0, 1)], directed=True)
    assert by_name(aff.as_affinity(arrow)) == {(0, 1): 1}


def test_pytorch_geometric_by_duck_typing():
    class Tensor:
        def __init__(self, values):
            self.values = np.array(values)

        def detach(self):
            return self

        def cpu(self):
            return self

        def numpy(self):
            return self.values

    index = Tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    data = types.SimpleNamespace(edge_index=index, edge_weight=None, num_nodes=5)
    got = aff.as_affinity(data)
    assert got.shape == (5, 5)
    assert not got.details["directed"]
    weighted = types.SimpleNamespace(edge_index=index, edge_weight=Tensor([1.0, 2, 3, 4]), num_nodes=3)
    assert by_name(aff.as_affinity(weighted)) == {(0, 1): 1, (1, 0): 2, (1, 2): 3, (2, 1): 4}
    with pytest.raises(InputError, match="edge_index has shape"):
        aff.as_affinity(types.SimpleNamespace(edge_index=np.zeros(3), num_nodes=3))


def frames():
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    return {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table, "dict": dict}


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow", "dict"])
def test_frames(library, monkeypatch):
    make = frames()[library]
    columns = {"w": [0.5, 2.0], "to": ["b", "c"], "from": ["a", "b"], "note": ["x", "y"]}
    want = {("a", "b"): 0.5, ("b", "a"): 0.5, ("b", "c"): 2, ("c", "b"): 2}
    assert by_name(aff.as_affinity(make(columns))) == want
    odd = make({"p": [1, 2], "q": [2, 3], "note": ["x", "y"]})
    with pytest.warns(GuessWarning, match="p and q are read as the ends"):
        assert by_name(aff.as_affinity(odd)) == {(1, 2): 1, (2, 1): 1, (2, 3): 1, (3, 2): 1}
    picked = aff.as_affinity(make(columns), columns={"source": "from", "target": "to"}, directed=True)
    assert by_name(picked) == {("a", "b"): 1, ("b", "c"): 1}
    two = aff.as_affinity(make(columns), kind="bipartite", columns=("from", "to", "w"))
    assert by_name(two) == {("a", "b"): 0.5, ("b", "c"): 2}
    monkeypatch.setattr("softvec.kernels.SMALL", 0)
    assert by_name(aff.as_affinity(make(columns))) == want
    with pytest.raises(InputError, match="no column 'x'; its columns are 'w'"):
        aff.as_affinity(make(columns), columns=("x", "to"))
    with pytest.raises(InputError, match="row 1: the source is missing"):
        aff.as_affinity(make({"source": ["a", None], "target": ["b", "c"]}))
    with pytest.raises(InputError, match=r"row 0: the weight -1\.5 is negative"):
        aff.as_affinity(make({"source": ["a"], "target": ["b"], "weight": [-1.5]}))


def test_square_frames_are_matrices():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    values = np.array([[0.0, 1, 2, 0], [1, 0, 0, 0], [2, 0, 0, 3], [0, 0, 3, 0]])
    want = by_name(aff.random_walk(values, names=list("abcd")))
    assert by_name(aff.as_affinity(pd.DataFrame(values, list("abcd"), list("abcd")))) == want
    wide = pl.DataFrame({name: values[:, i] for i, name in enumerate("abcd")})
    with pytest.warns(GuessWarning, match="square and symmetric"):
        assert by_name(aff.as_affinity(wide)) == want
    titled = pl.DataFrame({"name": list("abcd")} | {name: values[:, i] for i, name in enumerate("abcd")})
    assert by_name(aff.as_affinity(titled)) == want


def test_names_of_mixed_types_in_a_frame():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"source": [1, "b"], "target": ["b", 2.5]}, dtype=object)
    assert aff.as_affinity(frame).rows.to_list() == [1, 2.5, "b"]
    codes = pd.DataFrame({"source": pd.Categorical(["u", "v"]), "target": pd.Categorical(["v", "w"])})
    assert aff.as_affinity(codes).rows.to_list() == ["u", "v", "w"]


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (np.eye(4), "graph"),
        (np.array([[1, 2], [2, 3], [4, 5]]), "graph"),
        (np.array([["a", "b"], ["b", "c"], ["c", "d"]]), "graph"),
        (rng.normal(size=(20, 3)), "features"),
        (rng.integers(0, 3, (4, 6)), "bipartite"),
        (["some text here", "some more text here"] * 5, "corpus"),
        ([["w"] * 9, ["v"] * 9], "corpus"),
        ([(0, 1), (1, 2)], "graph"),
    ],
)
def test_what_an_object_is_taken_for(data, kind):
    assert aff.as_affinity(data).kind == kind


def test_every_list_of_kinds_is_the_table():
    from softvec.api import embed

    listed = re.compile(r"kind : \{(.*?)\}")
    for function in (embed, aff.read, aff.as_affinity):
        names = listed.search(function.__doc__)[1].replace('"', "").split(", ")
        assert names == list(aff.KINDS), function
    root, kinds = Path(__file__).parents[2], ", ".join(aff.KINDS)
    listed_in = [path for path in ("src/softvec/cli/embed.py", "docs/inputs/README.md")
                 if kinds in " ".join((root / path).read_text().split())]  # fmt: skip
    assert listed_in == ["src/softvec/cli/embed.py", "docs/inputs/README.md"]
    rows = re.findall(r"^\| `(\w+)` \|", (root / "docs" / "commands" / "embed.md").read_text(), re.M)
    assert rows[: len(aff.KINDS)] == list(aff.KINDS), "the table of kinds in docs/commands/embed.md"


def test_what_is_known_of_an_affinity_is_typed():
    graph = aff.random_walk([("a", "b"), ("b", "c")], directed=True)
    assert (graph.directed, graph.weighted) == (True, False)
    assert graph.details == {"directed": True, "weighted": False}
    text = aff.cooccurrence(["a b a b", "a b c"], min_count=1)
    assert text.frequency.tolist() == [3, 3, 1]
    assert text.details["frequency"] is text.frequency
    assert aff.supra_adjacency([(0, "a", "b"), (1, "a", "b")]).contacts.nodes.to_list() == ["a", "b"]
    assert aff.from_dense(np.eye(2)).details == {"error": 0.0}


def test_the_default_of_text_is_one_build(monkeypatch):
    """The P that embed fits is made once, with the weights of columns that were added afterwards before."""
    from softvec import api
    from softvec.fit.resolve import BUILDER_DEFAULTS
    from softvec.operators import Sparse, row_normalize

    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(list("abcdefgh"), 30, p=np.arange(1, 9) / 36)) for _ in range(40)]
    built = []
    monkeypatch.setattr(_counting, "assemble", lambda *a, **o: built.append(assemble(*a, **o)) or built[-1])
    default = api.to_affinity(texts)
    assert len(built) == 1
    assert default.operator is built[0].operator
    plain = aff.cooccurrence(texts)
    weight = np.minimum(
        1.0, np.sqrt(BUILDER_DEFAULTS["corpus"]["context_subsample"] / (plain.sizes / plain.sizes.sum()))
    )
    want = row_normalize(Sparse(plain.counts, col_scale=weight), "zero")
    X = rng.standard_normal((8, 3))
    assert np.array_equal(default.operator @ X, want @ X)
    assert np.array_equal(default.counts.toarray(), plain.counts.toarray())


@pytest.mark.parametrize("options", [{"window": 0.1}, {"n_windows": 20}])
def test_a_contact_at_the_start_of_a_window_belongs_to_it(options):
    """In decimals, (t - first) // 0.1 may be the window before."""
    times = [k / 10 for k in range(21)]
    contacts = aff.aggregate(aff.temporal_edges([(t, "a", "b") for t in times]), **options)
    starts = contacts.starts.to_list()
    for window, weight in zip(contacts.time.tolist(), contacts.weight.tolist()):
        end = starts[window + 1] if window + 1 < len(starts) else float("inf")
        assert weight == sum(starts[window] <= t < end for t in times)
