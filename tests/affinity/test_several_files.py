"""Edges in several files: a folder, a pattern and a list give the affinity of all edges in one file."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import softvec
from softvec import affinity, kernels
from softvec.core.errors import InputError
from softvec.core.scratch import large_arrays_in

EDGES = [
    ("bob", "ada", 2.5),
    ("ada", "cyd", 1.0),
    ("dan", "bob", 0.5),
    ("cyd", "dan", 3.0),
    ("eve", "ada", 2.0),
]
NUMBERED = [(7, 3, 2.5), (3, 9, 1.0), (11, 7, 0.5), (9, 11, 3.0), (20, 3, 2.0)]


def text_of(edges, header="source,target,weight\n"):
    return header + "".join(",".join(map(str, edge)) + "\n" for edge in edges)


def weights_of(P):
    """The matrix as a dict from pairs of names to weights."""
    matrix = P.matrix.tocoo()
    names, columns = P.rows.to_list(), P.columns.to_list()
    return {(names[i], columns[j]): w for i, j, w in zip(matrix.row, matrix.col, matrix.data)}


def write(path, edges):
    if path.suffix == ".parquet":
        source, target, weight = map(list, zip(*edges))
        pq.write_table(pa.table({"source": source, "target": target, "weight": weight}), path)
    elif path.suffix == ".csv":
        path.write_text(text_of(edges))
    else:
        path.write_text(text_of(edges, "").replace(",", "\t"))


@pytest.fixture(params=[EDGES, NUMBERED], ids=["names", "integers"])
def edges(request):
    return request.param


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".tsv"])
@pytest.mark.parametrize("small", [kernels.SMALL, 1], ids=["plain", "compiled"])
def test_same_as_one_file(tmp_path, monkeypatch, edges, suffix, small):
    monkeypatch.setattr(kernels, "SMALL", small)
    folder = tmp_path / "parts"
    folder.mkdir()
    for at, part in enumerate([edges[:2], edges[2:3], edges[3:]]):
        write(folder / f"part-{at}{suffix}", part)
    (folder / "_SUCCESS").write_text("")
    (folder / ".hidden.crc").write_text("x")
    one = tmp_path / f"one{suffix}"
    write(one, edges)
    truth = affinity.read(one)
    paths = sorted(folder.glob("part-*"))
    for where in (folder, str(folder / f"*{suffix}"), paths[::-1], [str(path) for path in paths]):
        P = affinity.as_affinity(where)
        assert P.kind == "graph"
        assert P.rows == truth.rows
        assert weights_of(P) == weights_of(truth)
        assert "3 files" in P.summary


def test_on_disk(tmp_path, monkeypatch, edges):
    monkeypatch.setattr(kernels, "SMALL", 1)
    for at, part in enumerate([edges[:2], edges[2:]]):
        write(tmp_path / f"{at}.csv", part)
    truth = affinity.read(tmp_path)
    with large_arrays_in(tmp_path):
        P = affinity.read(tmp_path)
    assert P.rows == truth.rows
    assert weights_of(P) == weights_of(truth)


def test_integers_beside_text_are_text(tmp_path):
    (tmp_path / "a.csv").write_text(text_of(NUMBERED))
    (tmp_path / "b.csv").write_text(text_of(EDGES))
    pq.write_table(pa.table({"source": ["ada"], "target": ["7"], "weight": [4.0]}), tmp_path / "c.parquet")
    P = affinity.read(tmp_path)
    assert set(P.rows.to_list()) == {"3", "7", "9", "11", "20", "ada", "bob", "cyd", "dan", "eve"}
    assert weights_of(P)["ada", "7"] == 4.0
    assert weights_of(P)["7", "3"] == 2.5


def test_quoted_fields_in_a_later_file(tmp_path):
    (tmp_path / "a.csv").write_text("source,target\nx,y\n")
    (tmp_path / "b.csv").write_text("source,target\n" + "y,z\n" * 60_000 + '"a, b",x\n')
    assert set(affinity.read(tmp_path).rows.to_list()) == {"x", "y", "z", "a, b"}


def test_kinds(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text(f"user_id,item_id\nu{name},i1\nu2,i{name}\n")
    assert affinity.read(tmp_path).kind == "bipartite"
    assert affinity.read(tmp_path, kind="graph").kind == "graph"
    assert affinity.read(tmp_path, kind="corpus", min_count=1).kind == "corpus"


def test_temporal(tmp_path):
    (tmp_path / "a.csv").write_text("time,source,target\n1,a,b\n2,b,c\n")
    (tmp_path / "b.csv").write_text("time,source,target\n3,a,c\n")
    P = affinity.read(tmp_path, kind="temporal")
    assert P.rows.to_list() == [("a", 1), ("b", 1), ("b", 2), ("c", 2), ("a", 3), ("c", 3)]


def test_text_stays_text(tmp_path):
    (tmp_path / "a.txt").write_text("the cat sat on the mat\nthe dog sat\n")
    (tmp_path / "b.txt").write_text("a cat and a dog sat\n")
    P = affinity.read(tmp_path, min_count=1)
    assert (P.kind, P.summary.split(";")[0]) == ("corpus", "15 words in 2 documents")


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ("x,y\n", r"b\.csv has no column 2"),
        ("from,to,weight\na,b,1\n", r"b\.csv has the header from, to, weight"),
        ("source,target,weight\na,b,much\n", r"b\.csv, line 2.*'much'"),
    ],
)
def test_layouts_that_differ(tmp_path, second, message):
    (tmp_path / "a.csv").write_text(text_of(EDGES))
    (tmp_path / "b.csv").write_text(second)
    with pytest.raises(InputError, match=message):
        affinity.read(tmp_path)


def test_parquet_without_the_column(tmp_path):
    pq.write_table(pa.table({"source": ["a"], "target": ["b"], "weight": [1.0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"source": ["a"], "target": ["b"]}), tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"b\.parquet.*weight"):
        affinity.read(tmp_path)


def test_tables_beside_text(tmp_path):
    (tmp_path / "a.csv").write_text(text_of(EDGES))
    (tmp_path / "readme.txt").write_text("edges of friends\n")
    with pytest.raises(InputError, match=r"a\.csv is a table, .*readme\.txt is not"):
        affinity.read(tmp_path)
    assert affinity.read(tmp_path, pattern="*.csv").shape == (5, 5)


def test_matrices_are_refused(tmp_path):
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", np.eye(4))
    with pytest.raises(InputError, match=r"a\.npy is npy; several files are read as edges"):
        affinity.read(tmp_path)


def test_through_embed_and_the_command(tmp_path, edges):
    for at, part in enumerate([edges[:2], edges[2:]]):
        write(tmp_path / f"{at}.parquet", part)
    pattern = str(tmp_path / "*.parquet")
    emb = softvec.embed([tmp_path / "0.parquet", tmp_path / "1.parquet"], 4, random_state=0)
    assert emb.names == softvec.embed(pattern, 4, random_state=0).names
    out = tmp_path / "v.svec"
    flags = ["-d", "4", "--seed", "0", "-o", str(out), "--json"]
    command = [sys.executable, "-m", "softvec", "embed", pattern, *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)
    assert softvec.Embedding.load(out).vectors.tobytes() == emb.vectors.tobytes()
