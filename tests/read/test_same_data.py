"""The same data is read alike from every file and object that can hold it."""

from contextlib import nullcontext

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from softvec.api import to_affinity
from softvec.core.errors import GuessWarning, InputError

COUNTS = pd.DataFrame(np.random.default_rng(0).poisson(2, (20, 8)), columns=[f"g{k}" for k in range(8)])
CELLS = [f"c{k}" for k in range(20)]


def _files(frame, folder):
    """The frame in a file of each format that tables are read from."""
    plain = frame.reset_index(drop=True)
    frame.to_parquet(folder / "a.parquet")
    plain.to_feather(folder / "a.feather")
    plain.to_json(folder / "a.json", orient="records")
    plain.to_json(folder / "a.jsonl", orient="records", lines=True)
    frame.to_csv(folder / "a.csv", index=type(frame.index) is not pd.RangeIndex)
    return sorted(folder.iterdir())


@pytest.mark.parametrize(
    "columns", [COUNTS.columns, ["TP53", "MYC", "ATM", "KRAS", "EGFR", "RB1", "PTEN", "APC"]]
)
def test_wide_table_of_counts_is_a_matrix_in_every_file(tmp_path, columns):
    frame = COUNTS.set_axis(columns, axis=1)
    for path in _files(frame, tmp_path):
        P = to_affinity(path)
        assert (P.kind, P.shape) == ("bipartite", (20, 8)), path
        assert list(P.columns) == list(columns)
        assert (P.counts.toarray() == frame.to_numpy()).all()


@pytest.mark.parametrize("n", [12, 13, 22, 102])
@pytest.mark.parametrize("start", [0, 1])
def test_columns_with_numbers_are_no_pair_of_ends(tmp_path, n, start):
    counts = np.random.default_rng(0).poisson(2, (20, n))
    frame = pd.DataFrame(counts, columns=[f"s{start + k}" for k in range(n)])
    for data in (frame, *_files(frame, tmp_path)):
        assert to_affinity(data).shape == (20, n)


@pytest.mark.parametrize("kind", [None, "bipartite"])
def test_names_of_the_rows_of_a_wide_table_are_kept(tmp_path, kind):
    frames = {"index": COUNTS.set_axis(CELLS), "column": COUNTS.copy()}
    frames["column"].insert(0, "cell", CELLS)
    for where, frame in frames.items():
        (tmp_path / where).mkdir()
        for path in _files(frame, tmp_path / where):
            if where == "column" or path.suffix in (".csv", ".parquet"):
                P = to_affinity(path, kind=kind)
                assert (P.shape, list(P.rows)) == ((20, 8), CELLS), path


PEOPLE = [f"n{k}" for k in range(12)]
TIES = pd.DataFrame(np.random.default_rng(0).poisson(1, (12, 12)), PEOPLE, PEOPLE)


@pytest.mark.parametrize("directed", [True, False])
def test_columns_of_a_square_table_may_have_another_order_than_its_rows(tmp_path, directed):
    frame = TIES if directed else TIES + TIES.T
    shuffled = frame.iloc[:, ::-1]
    shuffled.to_csv(tmp_path / "a.csv")
    shuffled.to_parquet(tmp_path / "a.parquet")
    expected = to_affinity(frame)
    for data in (shuffled, pa.Table.from_pandas(shuffled.reset_index()), *sorted(tmp_path.iterdir())):
        P = to_affinity(data)
        assert P.summary == expected.summary
        order = [P.rows.index(name) for name in PEOPLE]
        assert (P.counts.toarray()[np.ix_(order, order)] == expected.counts.toarray()).all()


def test_rows_and_columns_of_other_items_are_two_kinds(tmp_path):
    frame = TIES.set_axis([f"m{k}" for k in range(12)])
    frame.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"rows are called 'm0', .* kind='bipartite'"):
        to_affinity(tmp_path / "a.parquet")
    for data in (frame, tmp_path / "a.parquet"):
        P = to_affinity(data, kind="bipartite")
        assert (list(P.rows), list(P.columns)) == (list(frame.index), PEOPLE)
        assert (P.counts.toarray() == frame.to_numpy()).all()


ROWS = [(0, 1, 2.0), (1, 2, 1.0), (2, 3, 1.0), (3, 0, 4.0), (1, 3, 1.0)]


@pytest.mark.parametrize("columns", [2, 3])
@pytest.mark.parametrize("dtype", ["i8", "u2", "f8", "f4"])
def test_arrays_of_edges_are_edges_as_lists_of_them_are(tmp_path, columns, dtype):
    array = np.array(ROWS)[:, :columns].astype(dtype)
    expected = to_affinity([row[:columns] for row in ROWS])
    np.save(tmp_path / "a.npy", array)
    said = pytest.warns(GuessWarning, match="is read as edges; kind='features'")
    with nullcontext() if dtype != "f8" and dtype != "f4" and columns == 2 else said:
        P = to_affinity(array)
    for Q in (P, to_affinity(array, kind="graph"), to_affinity(tmp_path / "a.npy", kind="graph")):
        assert (Q.summary, list(Q.rows)) == (expected.summary, list(expected.rows))
    assert to_affinity(array.astype(float), kind="features", n_neighbors=2).kind == "features"


def test_array_of_counts_with_three_columns_is_a_matrix_and_said():
    counts = np.random.default_rng(0).poisson(2, (20, 3))
    with pytest.warns(GuessWarning, match="3 columns is read as a matrix; pass a list"):
        assert to_affinity(counts, kind="bipartite").shape == (20, 3)


def test_points_are_no_edges():
    points = np.random.default_rng(0).normal(size=(30, 3))
    assert {to_affinity(points[:, :d], n_neighbors=3).kind for d in (2, 3)} == {"features"}


@pytest.mark.parametrize("columns", [2, 3])
def test_file_of_an_array_that_may_be_edges_asks_for_the_kind(tmp_path, columns):
    np.save(tmp_path / "a.npy", np.array(ROWS)[:, :columns])
    with pytest.raises(InputError, match=r"may be edges or points; pass kind='graph' or kind='features'"):
        to_affinity(tmp_path / "a.npy")
    assert to_affinity(tmp_path / "a.npy", kind="features", n_neighbors=2).kind == "features"


@pytest.mark.parametrize("view", ["edges", "nodes", "adj", "degree"])
def test_views_of_a_networkx_graph_ask_for_the_graph(view):
    graph = nx.karate_club_graph()
    for data in (getattr(graph, view), *([graph.edges(data=True)] if view == "edges" else [])):
        for kind in (None, "graph", "bipartite"):
            with pytest.raises(InputError, match="of a networkx graph; pass the graph itself"):
                to_affinity(data, kind=kind)


@pytest.mark.parametrize("names", ["abcdef", range(6)])
def test_mapping_of_nodes_to_as_many_neighbours_is_no_table(names):
    neighbours = {name: [names[k - 1], names[k - 2]] for k, name in enumerate(names)}
    with pytest.raises(InputError, match=r"pass networkx\.Graph\(mapping\)"):
        to_affinity(neighbours)
    columns = {"source": list("abc"), "target": list("bca")}
    assert (
        to_affinity(columns).summary == "3 nodes, 3 edges, undirected, unweighted; columns source -> target"
    )


def test_square_list_of_lists_asks_what_it_is():
    matrix = nx.to_numpy_array(nx.karate_club_graph()).tolist()
    with pytest.raises(InputError, match=r"34 lists of 34 numbers.*numpy\.array.*kind='features'"):
        to_affinity(matrix)
    assert to_affinity(matrix, kind="features").kind == "features"


def test_label_among_the_numbers_of_a_table_is_said_from_every_source(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 3)), columns=["width", "length", "height"])
    frame["target"] = [0, 1] * 10
    for data in (frame, pa.Table.from_pandas(frame), *_files(frame, tmp_path)):
        with pytest.warns(
            GuessWarning, match="column target is used as a feature; remove it if it is a label"
        ):
            assert to_affinity(data, n_neighbors=3).kind == "features"
