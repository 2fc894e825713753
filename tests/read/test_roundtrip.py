"""What other libraries write is read back: every format, any names, in any order of edges."""

import csv
import gzip
import io
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import io as scipy_io
from scipy import sparse

from softvec import affinity as aff

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


def edges_of(affinity):
    """The edges as rows (name, name[, weight]), each once in an undirected graph."""
    matrix = affinity.matrix if affinity.directed or not affinity.symmetric else sparse.triu(affinity.matrix)
    coo = matrix.tocoo()
    rows, columns = affinity.rows.to_list(), affinity.columns.to_list()
    ends = [(rows[i], columns[j]) for i, j in zip(coo.row, coo.col)]
    return [(*end, w) for end, w in zip(ends, coo.data.tolist())] if affinity.weighted else ends


def write_text(affinity, path, extension):
    rows = edges_of(affinity)
    quoting = csv.QUOTE_ALL if isinstance(rows[0][0], str) and ".csv" in extension else csv.QUOTE_MINIMAL
    text = io.StringIO()
    delimiter = {".txt": " ", ".tsv": "\t", ".csv": ","}[extension[:4]]
    writer = csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator="\n")
    if extension[:4] != ".txt":
        writer.writerow(("source", "target", "weight")[: len(rows[0])])
    writer.writerows(rows)
    codec = {".gz": "gzip", ".zst": "zstd"}.get(path.suffix)
    with pa.output_stream(path, compression=codec) as stream:
        stream.write(text.getvalue().encode())


def write(affinity, path, extension):
    """Write a graph as users do: with csv, Arrow, SciPy or networkx."""
    if extension[:4] in (".txt", ".tsv", ".csv"):
        return write_text(affinity, path, extension)
    if extension in (".parquet", ".arrow", ".feather"):
        columns = zip(("source", "target", "weight"), zip(*edges_of(affinity)))
        table = pa.table({title: list(column) for title, column in columns})
        if extension == ".parquet":
            return pq.write_table(table, path)
        with pa.ipc.new_file(path, table.schema) as writer:
            return writer.write_table(table)
    if extension == ".npz":
        return sparse.save_npz(path, affinity.matrix)
    if extension == ".mtx":
        return scipy_io.mmwrite(path, affinity.matrix, precision=17)
    if extension == ".mat":
        names = np.array(list(map(str, affinity.rows)), dtype=object)
        content = {"matrix": sparse.csc_matrix(affinity.matrix.astype(float)), "names": names}
        return scipy_io.savemat(path, content)
    import networkx as nx

    graph = nx.DiGraph() if affinity.directed else nx.Graph()
    graph.add_nodes_from(affinity.rows)
    graph.add_weighted_edges_from(edges_of(affinity))
    return (nx.write_graphml if extension == ".graphml" else nx.write_gml)(graph, path)


def round_trip(affinity, extension, **options):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"graph{extension}"
        write(affinity, path, extension)
        return aff.read(path, **options)


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


@pytest.mark.parametrize("extension", [".mtx", ".npz"])
@given(rows=edges(numbers).filter(has_edges), directed=st.booleans())
@QUICK
def test_matrices(extension, rows, directed):
    made = build(rows, directed=directed)
    got = round_trip(made, extension)
    assert (got.matrix != made.matrix).nnz == 0
    named = round_trip(made, extension, names=made.rows)
    assert by_name(named) == by_name(made)


@pytest.mark.parametrize("extension", [".csv", ".parquet"])
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
        text = "".join(f"{name}\n" for name in names).encode()
        for name, content in (("names.txt", text), ("names.txt.gz", gzip.compress(text))):
            (Path(folder) / name).write_bytes(content)
            assert aff.read_names(Path(folder) / name) == names


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
            tables.append(by_name(aff.read(path, kind="graph", ids="string", header=False, delimiter=" ")))
    assert tables[0].keys() == tables[1].keys()
    assert tables[0] == pytest.approx(tables[1], rel=1e-12)
