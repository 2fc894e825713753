"""Where data comes from: folders, patterns, tables of other libraries, AnnData; and where mistakes are."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import softvec
from softvec.affinity import as_affinity, bipartite, neighbors, pairs, random_walk, read, supra_adjacency
from softvec.api import to_affinity
from softvec.core.errors import GuessWarning, InputError

TEXT = {"source": ["ann", "bob"], "target": ["bob", "cyd"], "weight": [2.0, 3.0]}


@pytest.fixture
def folder(tmp_path):
    texts = tmp_path / "texts"
    (texts / ".git").mkdir(parents=True)
    (texts / "sub").mkdir()
    for name in ("a.txt", "sub/b.txt", "c.md", ".hidden.txt", ".git/config"):
        (texts / name).write_text(f"words of {name.replace('/', ' ').replace('.', ' ')} the file\n" * 2)
    return texts


def words(affinity):
    return set(affinity.rows.to_list())


def test_hidden_files_of_a_folder_are_left_out(folder):
    got = read(folder, min_count=1)
    assert {"a", "b", "c"} < words(got)
    assert not {"hidden", "git", "config"} & words(got)
    assert got.summary.split(";")[0].endswith("in 3 documents")


def test_a_pattern_is_a_corpus(folder):
    got = read(str(folder / "*.txt"), min_count=1)
    assert "in 1 document;" in got.summary
    assert "hidden" not in words(got)
    got = to_affinity(str(folder / "**" / "*.txt"), min_count=1)
    assert {"a", "b"} < words(got)
    assert "c" not in words(got)
    with pytest.raises(InputError, match=r"no file matches '.*\*\.xyz'"):
        read(str(folder / "*.xyz"))


def test_a_pattern_of_tables_is_edges(folder):
    (folder / "one.csv").write_text("a,b\nb,c\n")
    (folder / "two.csv.gz").write_bytes(b"")
    assert read(str(folder / "*.csv")).rows.to_list() == ["a", "b", "c"]
    with pytest.raises(InputError, match=r"two.csv.gz is empty"):
        read(str(folder / "*.gz"))
    assert "in 1 document" in read(str(folder / "*.csv"), kind="corpus", min_count=1).summary
    (folder / "odd[1].csv").write_text("a,b\nb,c\n")  # a file of that name is no pattern
    assert read(str(folder / "odd[1].csv")).kind == "graph"


class Relation:
    """As DuckDB's: it has columns and dtypes like a frame, and hands its data over as an Arrow stream."""

    columns = tuple(TEXT)
    dtypes = ("VARCHAR", "VARCHAR", "DOUBLE")

    def __arrow_c_stream__(self, requested_schema=None):
        import pyarrow as pa

        return pa.table(TEXT).__arrow_c_stream__(requested_schema)

    def __getitem__(self, name):
        raise AssertionError("a relation is no frame")


def streams():
    pa = pytest.importorskip("pyarrow")
    pl = pytest.importorskip("polars")
    yield Relation()
    yield pa.table(TEXT).to_reader()
    yield pl.DataFrame(TEXT).lazy()


def test_arrow_streams_and_lazy_frames():
    want = random_walk(TEXT)
    for data in streams():
        got = as_affinity(data)
        assert got.rows.to_list() == ["ann", "bob", "cyd"]
        assert (got.counts != want.counts).nnz == 0
    for build in (random_walk, pairs, bipartite):
        for data in streams():
            assert build(data).counts.sum() == build(TEXT).counts.sum()


def test_arrow_streams_of_contacts_and_features():
    pa = pytest.importorskip("pyarrow")
    contacts = {"time": [0, 1, 1], "source": ["a", "b", "a"], "target": ["b", "c", "c"]}
    assert supra_adjacency(pa.table(contacts).to_reader()).shape == supra_adjacency(contacts).shape
    X = np.arange(12.0).reshape(6, 2) ** 2
    table = {"x": X[:, 0] + 0.5, "y": X[:, 1] + 0.5}
    assert (neighbors(pa.table(table).to_reader(), 2).counts != neighbors(table, 2).counts).nnz == 0
    with pytest.raises(InputError, match="Odd is not a table of columns"):
        as_affinity(type("Odd", (), {"__arrow_c_stream__": lambda self, schema=None: pa.chunked_array([[1]])
                                     .__arrow_c_stream__(schema)})())  # fmt: skip


@pytest.fixture
def cells():
    ring = sparse.csr_array(np.roll(np.eye(4), 1, axis=1))
    names = ["c0", "c1", "c2", "c3"]
    return SimpleNamespace(
        X=np.eye(4), obs_names=names, var_names=names, obsp={"connectivities": ring + ring.T, "nearest": ring}
    )


def test_a_graph_of_an_anndata_by_key(cells):
    got = as_affinity(cells, key="nearest")
    assert got.directed
    assert got.rows.to_list() == ["c0", "c1", "c2", "c3"]
    assert len(softvec.embed(cells, 2, key="connectivities", random_state=0, normalizer="exact")) == 4
    with pytest.warns(GuessWarning, match="pass key= for another graph"):
        assert not as_affinity(cells).directed
    with pytest.raises(InputError, match=r"no obsp\['far'\]; expected key= one of 'connectivities', 'nea"):
        as_affinity(cells, key="far")
    with pytest.raises(InputError, match="key is 'far', but list is not an AnnData"):
        random_walk([(0, 1)], key="far")
    cells.obsp = {}
    with pytest.raises(InputError, match="no graph in obsp; run scanpy"):
        as_affinity(cells, kind="graph")


def test_an_h5ad_file_is_called_what_it_is(tmp_path, monkeypatch):
    path = tmp_path / "cells.h5ad"
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    monkeypatch.setitem(__import__("sys").modules, "anndata", None)
    with pytest.raises(InputError, match=r"cells.h5ad is AnnData, which needs the package anndata"):
        read(path)
    other = tmp_path / "cells.h5"
    other.write_bytes(path.read_bytes())
    with pytest.raises(
        InputError, match=r"cells.h5 is an HDF5 file, of which softvec reads only .h5ad \(AnnData\)"
    ):
        read(other)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a,b,1\n# note\n\nb,c,\nc,d,2\nd,e,1\ne,f,1\nf,g,1\n", 4),
        ('source,target,weight\n"a",b,1\n# note\n"b\nb",c,\nc,d,2\nd,e,1\ne,f,1\nf,g,1\n', 4),
        ('"a, b";c;1,5\n\n"c";"d\nd";2,5\n"b";c;\nc;d;2,5\nd;e;1,5\ne;f;1,5\nf;g;1,5\n', 5),
    ],
    ids=["plain", "quoted", "decimal commas"],
)
def test_an_empty_weight_is_reported_at_its_line(text, line, tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=f"edges.csv, line {line}: the weight is missing"):
        read(path, columns=(0, 1, 2))


def test_edges_are_no_dense_matrix(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    parquet.write_table(pa.table(TEXT), tmp_path / "edges.parquet")
    with pytest.raises(InputError, match=r"edges.parquet holds edges, not a dense matrix"):
        read(tmp_path / "edges.parquet", kind="dense")
