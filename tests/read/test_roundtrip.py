"""What is written is read back: every format, any names, in any order of edges."""

import gzip
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

import softvec.affinity as sio
from softvec import affinity as aff
from softvec.core.errors import InputError
from softvec.names import Names

pytestmark = pytest.mark.filterwarnings("ignore::softvec.core.errors.GuessWarning")  # names such as NULL
QUICK = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
letters = st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"])


def is_name(text):
    """Whether a text is a name to a table too: an integer, or no number (0E0, inf and nan are numbers)."""
    try:
        float(text)
    except ValueError:
        return True
    return text.isdigit()


plain_names = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=6).filter(
    is_name
)
any_names = st.text(letters, min_size=1, max_size=6)
numbers = st.integers(-(2**40), 2**40)
weights = st.floats(1e-20, 1e8)  # larger integers read as times, and sums beyond 1e25 are refused


def by_name(affinity):
    coo = affinity.matrix.tocoo()
    rows, columns = affinity.rows.to_list(), affinity.columns.to_list()
    return {(rows[i], columns[j]): float(v) for i, j, v in zip(coo.row, coo.col, coo.data)}


def edges(names):
    return st.lists(st.tuples(names, names, weights), min_size=1, max_size=12)


def round_trip(affinity, extension, **options):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"graph{extension}"
        sio.write(affinity, path)
        return sio.read(path, **options)


def build(rows, **options):
    return aff.random_walk(rows, isolated="drop", **options)


def has_edges(rows):
    return any(a != b for a, b, _ in rows)


@pytest.mark.parametrize("extension", [".txt", ".tsv", ".csv", ".csv.gz", ".txt.zst"])
@given(rows=edges(plain_names).filter(has_edges), directed=st.booleans(), weighted=st.booleans())
@QUICK
def test_edge_lists_of_words(extension, rows, directed, weighted):
    made = build(rows, directed=directed, weighted=weighted)
    directed = made.details["directed"]
    got = round_trip(
        made, extension, kind="graph", directed=directed, ids="string", header=".txt" not in extension
    )
    assert by_name(got) == by_name(made)


@pytest.mark.parametrize("extension", [".txt", ".tsv", ".csv"])
@given(rows=edges(numbers).filter(has_edges))
@QUICK
def test_edge_lists_of_integers(extension, rows):
    made = build(rows)
    got = round_trip(made, extension, kind="graph", header=extension != ".txt")
    assert by_name(got) == by_name(made)
    assert all(type(name) is int for name in got.rows)


@pytest.mark.parametrize("extension", [".csv", ".parquet", ".arrow", ".feather"])
@given(rows=edges(any_names).filter(has_edges))
@QUICK
def test_any_names_in_tables(extension, rows):
    made = build(rows, directed=True)
    options = {"header": True, "ids": "string", "delimiter": ","} if extension == ".csv" else {}
    # where both ways of every edge are there the graph is undirected, and each is written once
    got = round_trip(made, extension, kind="graph", directed=made.details["directed"], **options)
    assert by_name(got) == by_name(made)


@pytest.mark.parametrize("extension", [".graphml", ".gml", ".mat"])
@given(rows=edges(plain_names.map("n".__add__)).filter(has_edges), directed=st.booleans())
@QUICK
def test_graph_files(extension, rows, directed):
    pytest.importorskip("networkx")
    rows = [(a, b, float(np.float32(w))) for a, b, w in rows if 1e-30 < w < 1e30]
    if not has_edges(rows):
        return
    made = build(rows, directed=directed)
    got = round_trip(made, extension, directed=made.details["directed"])
    assert by_name(got) == pytest.approx(by_name(made))


mixed = st.one_of(numbers, any_names, st.tuples(numbers, any_names))


@given(rows=edges(mixed).filter(has_edges), directed=st.booleans())
@QUICK
def test_npz_keeps_names_of_any_kind(rows, directed):
    made = build(rows, directed=directed)
    got = round_trip(made, ".npz")
    assert got.rows == made.rows
    assert [type(name) for name in got.rows] == [type(name) for name in made.rows]
    assert (got.matrix != made.matrix).nnz == 0


@given(rows=edges(numbers).filter(has_edges), directed=st.booleans())
@QUICK
def test_matrix_market(rows, directed):
    made = build(rows, directed=directed)
    got = round_trip(made, ".mtx")
    assert (got.matrix != made.matrix).nnz == 0
    named = round_trip(made, ".mtx", names=made.rows)
    assert by_name(named) == by_name(made)


@pytest.mark.parametrize("extension", [".csv", ".parquet", ".npz"])
@given(rows=edges(plain_names))
@QUICK
def test_two_sides(extension, rows):
    made = aff.bipartite(rows)
    options = {"header": True, "ids": "string"} if extension == ".csv" else {}
    got = round_trip(made, extension, kind="bipartite", **options)
    assert by_name(got) == by_name(made)


@given(names=st.lists(st.text(letters, max_size=8), min_size=1, unique=True).filter(lambda n: n[-1] != ""))
@QUICK
def test_names_files(names):
    with tempfile.TemporaryDirectory() as folder:
        for name in ("names.txt", "names.txt.gz"):
            sio.write_names(names, Path(folder) / name)
            assert sio.read_names(Path(folder) / name) == names


@given(rows=edges(plain_names).filter(has_edges), random=st.randoms())
@QUICK
def test_the_order_of_lines_does_not_matter(rows, random):
    lines = [f"{a} {b} {w!r}\n" for a, b, w in rows]
    shuffled = lines.copy()
    random.shuffle(shuffled)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.edges"
        tables = []
        for text in ("".join(lines), "".join(shuffled)):
            path.write_text(text)
            tables.append(by_name(sio.read(path, kind="graph", ids="string", header=False, delimiter=" ")))
    assert tables[0].keys() == tables[1].keys()
    assert tables[0] == pytest.approx(tables[1], rel=1e-12)


def test_writing_plain_matrices_and_refusals(tmp_path):
    A = sparse.csr_array(np.array([[0, 2.0], [0, 0]]))
    sio.write(A, tmp_path / "a.txt", names=["x", "y"])
    assert (tmp_path / "a.txt").read_text() == "x y 2\n"
    sio.write(A, tmp_path / "a.dat", format="csv")
    assert (tmp_path / "a.dat").read_text() == "source,target,weight\n0,1,2\n"
    sio.write(A, tmp_path / "a.csv.gz")
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()).startswith(b"source,target")
    two = aff.bipartite([("a", "b")])
    for data, name, message in (
        (A, "a.xyz", "not a format for a matrix"),
        (A, "a.npz.gz", "are compressed already"),
        (A, "a.txt.bz2", "writes .gz and .zst only"),
        (two, "a.graphml", "two-sided"),
        (aff.pairs([("a b", "c")]), "b.txt", "'a b' cannot be written to a .txt edge list"),
        (aff.pairs([("#a", "c")]), "a.tsv", "'#a' cannot be written"),
        (aff.from_dense(np.eye(3), rank=2), "a.npz", "no matrix to write"),
    ):
        with pytest.raises(InputError, match=message):
            sio.write(data, tmp_path / name)
        assert not (tmp_path / name).exists()
    with pytest.raises(InputError, match="1 names for 2 rows"):
        sio.write(A, tmp_path / "a.txt", names=["x"])
    with pytest.raises(InputError, match="line break"):
        sio.write_names(["a\nb"], tmp_path / "n.txt")


def test_lone_nodes_are_reported(tmp_path, caplog):
    made = aff.random_walk(np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]]), names="abc")
    sio.write(made, tmp_path / "a.csv")
    assert "1 nodes without edges are not in the edge list (first: 'c')" in caplog.text
    assert Names(sio.read(tmp_path / "a.csv").rows.to_list()) == Names(["a", "b"])
