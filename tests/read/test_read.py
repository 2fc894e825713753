"""Reading files of every kind: formats, detection, options."""

import bz2
import gzip
import io
import lzma
import sys

import numpy as np
import pytest
from scipy import sparse
from scipy.io import mmwrite, savemat

import softvec.affinity as sio
from benchmarks.datasets import data_dir
from softvec.core.errors import GuessWarning, InputError
from softvec.read import text_table
from softvec.read.streams import open_source, text_blocks

rng = np.random.default_rng(2)
DATA = data_dir()


def by_name(affinity):
    coo = affinity.matrix.tocoo()
    rows, columns = affinity.rows.to_list(), affinity.columns.to_list()
    return {(rows[i], columns[j]): float(v) for i, j, v in zip(coo.row, coo.col, coo.data)}


def both_ways(table):
    return table | {(b, a): w for (a, b), w in table.items()}


@pytest.fixture(params=["python", "compiled"])
def road(request, monkeypatch):
    """Read small files by plain Python, and by the compiled kernels."""
    if request.param == "compiled":
        monkeypatch.setattr("softvec.kernels.SMALL", 0)
    return request.param


@pytest.mark.filterwarnings("ignore:column 3 of:softvec.core.errors.GuessWarning")
@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("1 2\n2 3\n", {(1, 2): 1, (2, 3): 1}),
        ("1\t2\n2\t3", {(1, 2): 1, (2, 3): 1}),
        ("1,2\n2,3\n", {(1, 2): 1, (2, 3): 1}),
        ("1;2;0.5\n2;3;4\n", {(1, 2): 0.5, (2, 3): 4}),
        ("  1   2 \n\n2 \t 3\n", {(1, 2): 1, (2, 3): 1}),
        ("# a comment\n1 2\n% another\n2 3\n", {(1, 2): 1, (2, 3): 1}),
        ("source,target,weight\na,b,2\nb,c,0.5\n", {("a", "b"): 2, ("b", "c"): 0.5}),
        ("weight,to,from\n2,b,a\n0.5,c,b\n", {("a", "b"): 2, ("b", "c"): 0.5}),
        ("x\ty\n1\t2\n2\t3\n", {(1, 2): 1, (2, 3): 1}),
        ("FromNodeId\tToNodeId\n10\t20\n", {(10, 20): 1}),
        ("New York\tParis\nParis\tRome\n", {("New York", "Paris"): 1, ("Paris", "Rome"): 1}),
        ("a b\nb c\n", {("a", "b"): 1, ("b", "c"): 1}),
        ("1 2 7\n2 3 9\n", {(1, 2): 7, (2, 3): 9}),
        ("1 2 1 1082008561\n3 4 2 1082008561\n", {(1, 2): 1, (3, 4): 2}),
        ("1 b\nb 3\n", {("1", "b"): 1, ("b", "3"): 1}),
        ("007 8\n8 9\n", {("007", "8"): 1, ("8", "9"): 1}),
        ("-5 3\n", {(-5, 3): 1}),
        ("1 2\r\n2 3\r\n", {(1, 2): 1, (2, 3): 1}),
        ("1 2\r2 3\r", {(1, 2): 1, (2, 3): 1}),
        ("\ufeff1 2\n2 3\n", {(1, 2): 1, (2, 3): 1}),
        ("2147483648 9223372036854775807\n1 2147483648\n", {(2**31, 2**63 - 1): 1, (1, 2**31): 1}),
        ("9223372036854775808 1\n", {("9223372036854775808", "1"): 1}),
        ('"a","b"\n"b","c, d"\n', {("a", "b"): 1, ("b", "c, d"): 1}),
        ('source,target\n"x ""y""",b\n', {('x "y"', "b"): 1}),
        ('from,to\n1,2\n"3",2\n', {(1, 2): 1, (3, 2): 1}),
        ("é ß\nß 中\n", {("é", "ß"): 1, ("ß", "中"): 1}),
        ("1 2 1e-3\n2 3 0.30000000000000004\n", {(1, 2): 0.001, (2, 3): 0.30000000000000004}),
        ("1 2 12345678901234567890\n2 3 1E+2\n", {(1, 2): 12345678901234567890.0, (2, 3): 100}),
        ("1\n", None),
    ],
)  # fmt: skip
def test_edge_lists(tmp_path, text, want, road):
    path = tmp_path / "edges.edges"
    path.write_text(text, newline="")
    if want is None:
        with pytest.raises(InputError, match="1 column; edges need two"):
            sio.read(path)
    else:
        assert by_name(sio.read(path)) == both_ways(want)


def test_options_override_what_is_found(tmp_path, road):
    path = tmp_path / "table.csv"
    path.write_text("t,u,v,w\n1,1,2,5\n2,2,3,-4\n")
    named = sio.read(path, kind="graph", columns=("u", "v"), directed=True)
    assert by_name(named) == {(1, 2): 1, (2, 3): 1}
    placed = sio.read(path, kind="graph", columns={"source": 2, "target": 1}, ids="string", directed=True)
    assert by_name(placed) == {("2", "1"): 1, ("3", "2"): 1}
    assert by_name(sio.read(path, kind="graph", columns=("u", "v", "w"), negative="drop")) == {
        (1, 2): 5,
        (2, 1): 5,
    }
    with pytest.raises(InputError, match="no column 'x'; its columns are 't', 'u', 'v', 'w'"):
        sio.read(path, columns=("u", "x"), kind="graph")
    plain = tmp_path / "plain.txt"
    plain.write_text("#tag1 #tag2\n#tag2 x|y\n")
    assert by_name(sio.read(plain, comment=None)) == both_ways({("#tag1", "#tag2"): 1, ("#tag2", "x|y"): 1})
    bars = tmp_path / "bars.txt"
    bars.write_text("a|b|2\nb|c|3\n")
    assert by_name(sio.read(bars, delimiter="|", weighted=False)) == both_ways({("a", "b"): 1, ("b", "c"): 1})
    head = tmp_path / "head.txt"
    head.write_text("alice bob\ncarol dave\n")
    assert sio.read(head, header=True).rows.to_list() == ["carol", "dave"]
    latin = tmp_path / "latin.txt"
    latin.write_bytes("é è\n".encode("latin-1"))
    assert sio.read(latin, encoding="latin-1").rows.to_list() == ["è", "é"]
    wide = tmp_path / "wide.txt"
    wide.write_bytes("é è\n".encode("utf-16"))
    assert sio.read(wide).rows.to_list() == ["è", "é"]
    pairs = sio.read(head, kind="pairs", length=2)
    assert pairs.kind == "pairs"
    assert pairs.parameters["length"] == 2
    two = sio.read(head, kind="bipartite")
    assert two.columns.to_list() == ["bob", "dave"]


def test_large_files_are_read_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("softvec.kernels.SMALL", 0)
    edges = rng.integers(0, 300, (3000, 2))
    weights = rng.integers(1, 1000, 3000) / 8
    lines = [f"n{a}\tn{b}\t{w}\n" for (a, b), w in zip(edges, weights)]
    path = tmp_path / "edges.tsv"
    path.write_text("".join(lines))
    whole = by_name(sio.read(path))
    monkeypatch.setattr(
        text_table, "text_blocks", lambda source, **options: text_blocks(source, **options | {"block": 500})
    )
    assert by_name(sio.read(path)) == whole
    integers = tmp_path / "integers.txt"
    integers.write_text("".join(f"{a} {b}\n" for a, b in edges) + "x 1\n")  # strings, at the very end
    got = sio.read(integers)
    assert got.rows.to_list() == sorted({*map(str, edges.ravel().tolist()), "x", "1"})
    with pytest.raises(InputError, match="line 3001: 'x' is not an integer"):
        sio.read(integers, ids="integer")
    ragged = tmp_path / "ragged.txt"
    ragged.write_text("".join(f"{a} {b}\n" for a, b in edges) + "# note\n1 2 3\n")
    with pytest.raises(InputError, match="line 3002: 3 columns where other lines have 2"):
        sio.read(ragged)
    quoted = tmp_path / "quoted.csv"
    quoted.write_text("".join(f"{a},{b}\n" for a, b in edges) + '"9000",1\n')
    assert 9000 in sio.read(quoted).rows


def test_long_comments_before_the_edges(tmp_path):
    path = tmp_path / "edges.txt"
    path.write_text("# nothing yet\n" * 20_000 + "a b\nb c\n")
    assert sio.read(path).rows.to_list() == ["a", "b", "c"]


def test_compression(tmp_path):
    import pyarrow as pa

    text = b"".join(b"%d %d\n" % (i, i + 1) for i in range(500))
    want = sio.read(io.BytesIO(text)).summary
    packed = {
        "a.txt.gz": gzip.compress(text),
        "two.txt.gz": gzip.compress(text[:100]) + gzip.compress(text[100:]),
        "a.txt.zst": pa.compress(text, codec="zstd", asbytes=True),
        "a.txt.bz2": bz2.compress(text),
        "a.txt.xz": lzma.compress(text),
        "unnamed": gzip.compress(text),
    }
    for name, content in packed.items():
        (tmp_path / name).write_bytes(content)
        assert sio.read(tmp_path / name).summary == want
    A = sparse.random_array((20, 20), density=0.3, random_state=rng, format="csr")
    buffer = io.BytesIO()
    sparse.save_npz(buffer, A)
    (tmp_path / "a.npz.gz").write_bytes(gzip.compress(buffer.getvalue()))
    assert sio.read(tmp_path / "a.npz.gz", self_loops="keep").counts.nnz == A.nnz


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a b\nb c\n")))
    assert sio.read("-").rows.to_list() == ["a", "b", "c"]
    with pytest.raises(InputError, match="open it as binary"):
        sio.read(io.StringIO("a b"))


def matrix():
    A = sparse.random_array((12, 12), density=0.3, random_state=rng, format="csr")
    return sparse.csr_array(A + A.T)


def test_matrix_files(tmp_path):
    A = matrix()
    want = by_name(sio.as_affinity(A))
    mmwrite(tmp_path / "a.mtx", A)
    mmwrite(tmp_path / "s.mtx", A, symmetry="symmetric")
    sparse.save_npz(tmp_path / "a.npz", A)
    np.save(tmp_path / "a.npy", A.toarray())
    np.savez(tmp_path / "one.npz", A.toarray())
    savemat(tmp_path / "a.mat", {"small": np.ones((3, 3)), "A": sparse.csc_matrix(A), "title": "x"})
    for name in ("a.mtx", "s.mtx", "a.npz", "a.npy", "one.npz", "a.mat"):
        assert by_name(sio.read(tmp_path / name)) == pytest.approx(want), name
    assert sio.read(tmp_path / "a.mat", variable="small", self_loops="keep").shape == (3, 3)
    with pytest.raises(InputError, match="no matrix 'B'; it has small, A"):
        sio.read(tmp_path / "a.mat", variable="B")
    sparse.save_npz(tmp_path / "wide.npz", sparse.csr_array(np.ones((2, 5))))
    assert sio.read(tmp_path / "wide.npz").kind == "bipartite"
    assert sio.read(tmp_path / "a.npy", kind="dense", top_k=3).kind == "dense"
    np.savetxt(tmp_path / "dense.csv", A.toarray(), delimiter=",")
    dense = sio.read(tmp_path / "dense.csv", kind="dense")
    np.testing.assert_allclose(dense.counts.toarray(), A.toarray() / A.sum(axis=1)[:, None])


def test_names_files(tmp_path):
    sparse.save_npz(tmp_path / "a.npz", sparse.csr_array(np.array([[0, 1], [1, 0]])))
    (tmp_path / "names.txt").write_text("form\x0cfeed\x85 x\nsecond\n", encoding="utf-8")
    got = sio.read(tmp_path / "a.npz", names=tmp_path / "names.txt")
    assert got.rows.to_list() == ["form\x0cfeed\x85 x", "second"]
    (tmp_path / "windows.txt").write_bytes(b"a\r\nb\r\n")
    assert sio.read_names(tmp_path / "windows.txt") == ["a", "b"]
    (tmp_path / "edges.txt").write_text("1 0\n")
    assert sio.read(tmp_path / "edges.txt", names=["x", "y"]).rows.to_list() == ["x", "y"]
    (tmp_path / "twice.txt").write_text("a\na\n")
    with pytest.raises(InputError, match=r"duplicate name 'a' .rows 0 and 1."):
        sio.read(tmp_path / "a.npz", names=tmp_path / "twice.txt")
    (tmp_path / "none.txt").write_text("")
    with pytest.raises(InputError, match="no names"):
        sio.read(tmp_path / "a.npz", names=tmp_path / "none.txt")


def test_graph_files(tmp_path):
    nx = pytest.importorskip("networkx")
    graph = nx.DiGraph()
    graph.add_edge("a", "b", weight=2.0)
    graph.add_edge("b", "c", weight=0.5)
    nx.write_graphml(graph, tmp_path / "g.graphml")
    nx.write_gml(graph, tmp_path / "g.gml")
    for name in ("g.graphml", "g.gml"):
        assert by_name(sio.read(tmp_path / name)) == {("a", "b"): 2, ("b", "c"): 0.5}
    (tmp_path / "ids.gml").write_text("graph [ node [ id 5 ] node [ id 6 ] edge [ source 5 target 6 ] ]")
    assert sio.read(tmp_path / "ids.gml").rows.to_list() == [5, 6]


@pytest.mark.parametrize("extension", ["parquet", "arrow", "feather"])
def test_arrow_files(tmp_path, extension):
    pa, feather = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.feather")
    import pyarrow.parquet as pq

    def save(columns, path):
        table = pa.table(columns)
        pq.write_table(table, path) if extension == "parquet" else feather.write_feather(table, path)

    path = tmp_path / f"edges.{extension}"
    save({"u": ["a", "b"], "v": ["b", "c"], "score": [2.0, 3.0]}, path)
    assert by_name(sio.read(path)) == both_ways({("a", "b"): 2, ("b", "c"): 3})
    assert by_name(sio.read(path, weighted=False, directed=True)) == {("a", "b"): 1, ("b", "c"): 1}
    save({"i": [1, 2], "j": [2, 3]}, path)
    assert sio.read(path, ids="string").rows.to_list() == ["1", "2", "3"]
    save({"time": [0, 1, 2], "i": [1, 2, 1], "j": [2, 3, 3]}, path)
    assert sio.read(path).kind == "temporal"
    save(dict(zip("abcd", np.eye(4) + 1)), path)
    assert by_name(sio.read(path)) == by_name(sio.as_affinity(np.eye(4) + 1, names=list("abcd")))
    save({"name": ["p", "q", "r"], "x": [0.0, 0.1, 5.0], "y": [1.0, 1.0, 1.0]}, path)
    got = sio.read(path, kind="features", n_neighbors=1)
    assert ("p", "q") in by_name(got)
    (tmp_path / f"bad.{extension}").write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InputError, match="not a readable"):
        sio.read(tmp_path / f"bad.{extension}")


def test_temporal_files(tmp_path, road):
    rows = sorted((int(t) * 20 + 30_000, int(a), int(b)) for t, a, b in rng.integers(0, 30, (200, 3)))
    path = tmp_path / "contacts.dat"
    path.write_text("".join(f"{t} {a} {b}\n" for t, a, b in rows))
    got = sio.read(path)
    assert got.kind == "temporal"
    assert by_name(got) == by_name(sio.read(path, kind="temporal"))
    windows = sio.read(path, window=100)
    assert windows.parameters["window"] == 100
    assert sio.read(path, kind="graph").kind == "graph"
    named = tmp_path / "named.csv"
    named.write_text("a,b,timestamp\n" + "".join(f"{a},{b},{t}\n" for t, a, b in rows))
    with pytest.warns(GuessWarning, match="temporal contacts, by column timestamp; kind='graph'"):
        assert by_name(sio.read(named)) == by_name(got)
    assert by_name(sio.read(named, columns=("timestamp", "a", "b"), kind="temporal")) == by_name(got)
    weighted = tmp_path / "weighted.txt"
    weighted.write_text("".join(f"{t}.5 {a} {b} 2\n" for t, a, b in rows))
    heavy = sio.read(weighted, kind="temporal")
    assert heavy.rows[0][1] == rows[0][0] + 0.5
    dates = tmp_path / "dates.csv"
    dates.write_text("date,source,target\n2024-01-01,a,b\n2024-01-02,b,a\n")
    assert sio.read(dates).rows[0] == ("a", "2024-01-01")
    (tmp_path / "two.txt").write_text("1 2\n")
    with pytest.raises(InputError, match="need three"):
        sio.read(tmp_path / "two.txt", kind="temporal")


def test_weighted_edges_are_not_taken_for_contacts(tmp_path):
    path = tmp_path / "sorted.txt"  # sorted by source, small integer weights among the ids
    path.write_text("".join(f"{i} {j} {1 + (i * j) % 5}\n" for i in range(20) for j in range(20) if i != j))
    assert sio.read(path).kind == "graph"
    ratings = tmp_path / "ratings.txt"
    ratings.write_text("".join(f"{1000 + u} {i} {1 + (u + i) % 5}\n" for u in range(20) for i in range(40)))
    assert sio.read(ratings).kind == "graph"


def test_users_and_items_are_two_sides(tmp_path):
    pd = pytest.importorskip("pandas")
    rows = "userId,movieId,rating,timestamp\n1,10,4.5,100\n2,10,3.0,101\n1,1,5.0,102\n"
    (tmp_path / "ratings.csv").write_text(rows)
    frame = pd.read_csv(tmp_path / "ratings.csv")
    frame.to_parquet(tmp_path / "ratings.parquet")
    for got in (
        sio.read(tmp_path / "ratings.csv"),
        sio.read(tmp_path / "ratings.parquet"),
        sio.as_affinity(frame),
    ):
        assert got.kind == "bipartite"
        assert by_name(got) == {(1, 10): 4.5, (2, 10): 3.0, (1, 1): 5.0}


def test_corpora(tmp_path):
    text = "the cat sat on the mat and the dog sat on the cat\nanother line, with the dog.\n" * 5
    (tmp_path / "book.txt").write_text(text)
    got = sio.read(tmp_path / "book.txt", min_count=2)
    assert got.kind == "corpus"
    assert "dog" in got.rows
    assert got.summary.startswith("90 words in 10 documents")
    (tmp_path / "book.txt.gz").write_bytes(gzip.compress(text.encode()))
    assert by_name(sio.read(tmp_path / "book.txt.gz", min_count=2)) == by_name(got)
    folder = tmp_path / "folder"
    (folder / "deep").mkdir(parents=True)
    (folder / "one.txt").write_text("a b\nc d")
    (folder / "deep" / "two.txt").write_text("c d e")
    both = sio.read(folder, min_count=1, window=1)
    assert ("b", "c") in by_name(both)  # a file is one document: its lines go on
    assert ("d", "e") in by_name(both)
    assert both.summary.startswith("7 words in 2 documents")
    one_long_line = tmp_path / "long.txt"
    one_long_line.write_text("word other " * 20)
    assert sio.read(one_long_line).shape == (2, 2)
    with pytest.raises(InputError, match="no files that match"):
        sio.read(folder, pattern="*.md")


def test_features(tmp_path):
    X = rng.normal(size=(30, 5))
    np.save(tmp_path / "x.npy", X)
    np.savetxt(tmp_path / "x.csv", X, delimiter=",", header="a,b,c,d,e", comments="")
    np.savetxt(tmp_path / "x.txt", X)
    lines = ["name," + ",".join("abcde")] + [
        f"p{i}," + ",".join(map(repr, row.tolist())) for i, row in enumerate(X)
    ]
    (tmp_path / "named.csv").write_text("\n".join(lines))
    want = by_name(sio.as_affinity(X, n_neighbors=3))
    for name in ("x.npy", "x.csv", "x.txt"):
        got = sio.read(tmp_path / name, n_neighbors=3)
        assert got.kind == "features"
        assert by_name(got) == want
    assert sio.read(tmp_path / "named.csv", n_neighbors=3).rows[4] == "p4"
    with pytest.raises(InputError, match="unknown option 'neighbours'"):
        sio.read(tmp_path / "x.npy", neighbours=3)


@pytest.mark.skipif(not (DATA / "graphs").is_dir(), reason=f"no data sets at {DATA}; set SOFTVEC_DATA")
def test_real_files():
    moby = sio.read(DATA / "graphs" / "moby.npz", names=DATA / "graphs" / "moby_words.txt")
    assert moby.summary == "103,305 nodes, 1,783,351 edges, undirected, unweighted"
    assert "thesaurus" in moby.rows
    blog = sio.read(DATA / "graphs" / "blogcatalog.npz")
    assert blog.summary == "10,312 nodes, 333,983 edges, undirected, unweighted"
    contacts = DATA / "temporal" / "sfhh.dat"
    assert sio.read(contacts, n_windows=180).shape[0] == 10_389
    assert sio.read(contacts, n_windows=180, equal="stamps").shape[0] == 14_208
    school = sio.read(DATA / "temporal" / "primaryschool.csv", window=1200)
    assert school.kind == "temporal"
    with pytest.warns(GuessWarning, match="NA is read as a name"):
        genes = sio.read(DATA / "genes" / "train_text.txt", kind="pairs")
    assert genes.shape == (8_832, 8_832)
    assert "18 self loops dropped" in genes.summary


def test_text_blocks_number_their_lines():
    text = b"".join(b"line %d\n" % i for i in range(1, 400))
    for size in (64, 1000, 10**6):
        blocks = list(text_blocks(open_source(io.BytesIO(text)), block=size))
        assert b"".join(block for block, _ in blocks) == text
        for block, line in blocks:
            assert block.startswith(b"line %d\n" % line)
