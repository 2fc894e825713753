"""Inputs that new users bring: rows with gaps, JSON, days without marks, names in attributes."""

import io
import json
import struct
import warnings

import numpy as np
import pytest

from softvec.affinity import as_affinity, read
from softvec.cli import run
from softvec.core.errors import GuessWarning, InputError

GAPS = "source,target,weight\na,b,1\nb,,2\nNA,c,3\nc,a,\nc,d,5\n"


def by_name(affinity):
    coo = affinity.matrix.tocoo()
    rows, columns = affinity.rows.to_list(), affinity.columns.to_list()
    return {(rows[i], columns[j]): float(v) for i, j, v in zip(coo.row, coo.col, coo.data)}


def test_rows_with_gaps_are_dropped_and_counted():
    got = read(io.BytesIO(GAPS.encode()), missing="drop")
    assert by_name(got) == {("a", "b"): 1, ("b", "a"): 1, ("c", "d"): 5, ("d", "c"): 5}
    assert "3 rows with missing values dropped" in got.summary
    with pytest.raises(InputError, match=r"line 3: the target is missing; .*missing='drop'"):
        read(io.BytesIO(GAPS.encode()))
    with pytest.raises(InputError, match="missing is 'skip'; expected one of error, drop"):
        read(io.BytesIO(GAPS.encode()), missing="skip")


def test_the_command_drops_rows_with_gaps(tmp_path, capsys):
    (tmp_path / "a.csv").write_text(GAPS)
    short = ["-d", "2", "--epochs", "2", "--seed", "0", "-o", str(tmp_path / "v.svec")]
    assert run(["embed", str(tmp_path / "a.csv"), *short]) == 2
    assert "--drop-missing" in capsys.readouterr().err
    assert run(["embed", str(tmp_path / "a.csv"), "--drop-missing", *short]) == 0
    assert "3 rows with missing values dropped" in capsys.readouterr().err


def test_integer_ids_with_gaps_stay_integers():
    got = read(io.BytesIO(b"source,target\n1,2\n2,\n3,1\n"), missing="drop")
    assert got.rows.to_list() == [1, 2, 3]


def test_nulls_of_a_parquet_file_are_dropped_and_counted(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.table({"source": ["a", "b", None], "target": ["b", None, "c"], "weight": [1.0, 2.0, 3.0]})
    parquet.write_table(table, tmp_path / "a.parquet")
    got = read(tmp_path / "a.parquet", missing="drop")
    assert got.rows.to_list() == ["a", "b"]
    assert "2 rows with missing values dropped" in got.summary
    with pytest.raises(InputError, match=r"row 1: the target is missing|missing='drop'"):
        read(tmp_path / "a.parquet")


def test_light_edges_are_left_out_and_counted(tmp_path, capsys):
    path = tmp_path / "string.tsv"
    path.write_text("#node1\tnode2\tcombined_score\na\tb\t900\nb\tc\t650\nc\td\t700\n")
    got = read(path, min_weight=700)
    assert by_name(got) == {("a", "b"): 900, ("b", "a"): 900, ("c", "d"): 700, ("d", "c"): 700}
    assert "1 edge below 700 dropped" in got.summary
    short = ["-d", "2", "--epochs", "2", "--seed", "0", "-o", str(tmp_path / "v.svec")]
    assert run(["embed", str(path), "--min-weight", "700", *short]) == 0
    assert "1 edge below 700" in capsys.readouterr().err


def test_an_adjacency_list_is_told_its_flag(tmp_path, capsys):
    (tmp_path / "a.txt").write_text("1 2 3\n2 4\n3 1 4 5\n")
    assert run(["embed", str(tmp_path / "a.txt"), "-o", str(tmp_path / "v.svec")]) == 2
    assert "--input-format adjlist" in capsys.readouterr().err


def test_json_lines_with_columns_of_any_name():
    rows = [{"who": "ann", "whom": "bob", "n": 2}, {"who": "bob", "whom": "cyd", "n": 1}]
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    got = read(io.BytesIO(text), columns=("who", "whom", "n"))
    assert by_name(got)["ann", "bob"] == 2


@pytest.mark.parametrize("depth", [100_000])
def test_deep_json_is_refused(depth):
    with pytest.raises(InputError):
        read(io.BytesIO(b"[" * depth + b'{"source": "a", "target": "b"}' + b"]" * depth))


def test_days_without_marks_are_dates():
    rows = "".join(f"2024{1 + k // 28:02d}{1 + k % 28:02d},p{k % 4},p{(k + 1) % 4}\n" for k in range(40))
    with pytest.warns(GuessWarning, match="times such as 20240101 are read as dates"):
        got = read(io.BytesIO(b"date,source,target\n" + rows.encode()), kind="temporal")
    assert "2024-02-12" in " ".join(str(name) for name in got.rows.to_list())


def test_numbers_that_are_no_days_stay_numbers():
    rows = "".join(f"{20240190 + k},p{k % 4},p{(k + 1) % 4}\n" for k in range(12))
    got = read(io.BytesIO(b"date,source,target\n" + rows.encode()), kind="temporal")
    assert "2024-01" not in " ".join(str(name) for name in got.rows.to_list())


@pytest.mark.parametrize("key", ["name", "label"])
def test_graphml_names_are_used(key, tmp_path):
    nx = pytest.importorskip("networkx")
    graph = nx.Graph([(0, 1), (1, 2)])
    nx.set_node_attributes(graph, {0: "ann", 1: "bob", 2: "cyd"}, key)
    nx.write_graphml(graph, tmp_path / "a.graphml")
    with pytest.warns(GuessWarning, match=f"nodes are named by their attribute {key}"):
        assert read(tmp_path / "a.graphml").rows.to_list() == ["ann", "bob", "cyd"]


def test_gexf_and_pajek_are_read(tmp_path):
    nx = pytest.importorskip("networkx")
    graph = nx.Graph()
    graph.add_weighted_edges_from([("ann", "bob", 2.0), ("bob", "cyd", 3.0)])
    nx.write_gexf(graph, tmp_path / "a.gexf")
    nx.write_pajek(graph, tmp_path / "a.net")
    for name in ("a.gexf", "a.net"):
        assert by_name(read(tmp_path / name))["bob", "cyd"] == 3


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ('3 "c"\n*Arcs\n1 2 2\n*Edges\n2 3 1\n', r"\*arcs, \*edges; write one"),
        ('3 "c"\n*Arcslist\n1 2 3\n', r"\*arcslist; write one"),
        ('3 "a"\n*Edges\n1 2 1\n2 3 1\n', "3 vertices, but their labels name 2"),
    ],
)
def test_pajek_files_that_networkx_misreads_are_refused(tmp_path, sections, said):
    pytest.importorskip("networkx")
    (tmp_path / "a.net").write_text('*Vertices 3\n1 "a"\n2 "b"\n' + sections)
    with pytest.raises(InputError, match=said):
        read(tmp_path / "a.net")


def test_distances_of_anndata_are_refused():
    class Data:
        obs_names, var_names, X = ["a", "b", "c", "d"], ["x"], np.ones((4, 1))
        obsp = {"distances": np.ones((4, 4)), "connectivities": np.ones((4, 4))}  # noqa: RUF012

    with pytest.raises(InputError, match=r"holds distances.*key='connectivities'"):
        as_affinity(Data(), key="distances")


def test_a_distance_matrix_is_refused_and_affinities_are_not():
    points = np.random.default_rng(0).standard_normal((30, 2))
    distances = np.sqrt(((points[:, None] - points) ** 2).sum(2))
    with pytest.raises(InputError, match="looks like distances"):
        as_affinity(distances)
    affinities = np.exp(-distances / np.median(distances))
    np.fill_diagonal(affinities, 0)
    assert as_affinity(affinities).shape == (30, 30)
    ring = np.ones((6, 6)) - np.eye(6)
    assert as_affinity(ring).shape == (6, 6)


def version_4(shape):
    """Return a MATLAB version 4 file of 118 bytes or so: a sparse matrix of one entry."""
    rows = np.array([[1, 1, 1.0], [*shape, 0]]).T.ravel()  # by columns
    return struct.pack("<5i", 2, 2, 3, 0, 2) + b"P\0" + rows.astype("<f8").tobytes()


def test_a_small_matlab_file_cannot_claim_gigabytes(tmp_path):
    (tmp_path / "good.mat").write_bytes(version_4((4, 4)))
    (tmp_path / "bad.mat").write_bytes(version_4((10**9, 10**9)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert read(tmp_path / "good.mat").shape == (4, 4)
    with pytest.raises(InputError, match=r"bad.mat has .* bytes, but its matrix of 1,000,000,000 x"):
        read(tmp_path / "bad.mat")


def test_default_attributes_of_graphml_are_refused(tmp_path):
    pytest.importorskip("networkx")
    text = '<!DOCTYPE graphml [<!ATTLIST node x CDATA "yyyy">]><graphml><graph></graph></graphml>'
    (tmp_path / "a.graphml").write_text(text)
    with pytest.raises(InputError, match="declares XML entities or default attributes"):
        read(tmp_path / "a.graphml")


def test_a_feather_file_cannot_expand_without_bound(tmp_path, monkeypatch):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import feather

    table = pa.table({"source": np.zeros(1 << 20, np.int64), "target": np.zeros(1 << 20, np.int64)})
    feather.write_feather(table, tmp_path / "a.feather", compression="zstd", chunksize=1 << 16)
    monkeypatch.setenv("SOFTVEC_MAX_EXPANDED", "4MiB")
    with pytest.raises(InputError, match="its rows would take"):
        read(tmp_path / "a.feather", kind="pairs")
