"""Attributes of nodes, read from tables, mappings, matrices and graphs; messy ones are refused."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from softvec.core.errors import GuessWarning, InputError
from softvec.names import Names
from softvec.read.attributes import table_of, table_of_new

PEOPLE = Names(["ada", "bob", "cyd"])


def test_table_is_matched_by_the_column_of_names_wherever_it_stands():
    frame = pd.DataFrame({"age": [30, 40, 50], "who": ["cyd", "ada", "bob"]})
    with pytest.warns(GuessWarning, match="'who'"):
        table = table_of(frame, PEOPLE)
    assert list(table.keys) == ["cyd", "ada", "bob"]
    assert table.cells["age"].tolist() == [30, 40, 50]


def test_index_holds_the_names():
    frame = pd.DataFrame({"age": [1.0, None, 3.0]}, index=["ada", "bob", "cyd"])
    table = table_of(frame, PEOPLE)
    assert list(table.keys) == ["ada", "bob", "cyd"]
    assert np.isnan(table.cells["age"][1])


def test_repeated_numbers_are_not_taken_for_names_of_numbered_nodes():
    frame = pd.DataFrame({"age": [0, 1, 1, 0]})
    table = table_of(frame, Names.range(4))
    assert list(table.keys) == [0, 1, 2, 3]
    assert list(table.cells) == ["age"]
    assert list(table_of(frame, Names([3, 0, 2])).keys) == [0, 1, 2, 3]  # row i is node i
    with pytest.raises(InputError, match="no column"):
        table_of(frame, Names([3, 0, 7]))


@pytest.mark.parametrize("text", [
    "who;age;born\nada;30;x\nbob;;y\n",
    "who,age,born\nada,30,x\nbob,NA,y\n",
    "\ufeffwho\tage\tborn\r\nada\t30\tx\r\nbob\tnan\ty\r\n",
])  # fmt: skip
def test_text_table(tmp_path, text):
    file = tmp_path / "people.csv"
    file.write_bytes(text.encode())
    table = table_of(file, PEOPLE)
    assert list(table.keys) == ["ada", "bob"]
    assert table.cells["age"][0] == 30
    assert np.isnan(table.cells["age"][1])
    assert table.cells["born"] == ["x", "y"]


def test_text_table_of_numbered_nodes_keeps_integer_names_and_codes(tmp_path):
    file = tmp_path / "people.csv.gz"
    file.write_bytes(gzip.compress(b"id,zip\n2,01234\n0,90210\n"))
    table = table_of(str(file), Names.range(3))
    assert list(table.keys) == [2, 0]
    assert table.cells["zip"] == ["01234", "90210"]


@pytest.mark.parametrize(("text", "message"), [
    ("ada\nbob\n", "one column"),
    ("who,age,age\nada,1,2\n", "two columns are called 'age'"),
    ("who,age\nada,1,2\n", "as many fields"),
    ("who,age\nada,1\n,2\nbob,3\ncyd,4\neve,5\n", "1 row without a name"),
    ("who,age\nxxx,1\nyyy,2\n", "no column of the attributes holds names"),
    ("who\x00,age\n", "a zero byte"),
])  # fmt: skip
def test_messy_text_is_refused(tmp_path, text, message):
    file = tmp_path / "people.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        table_of(file, PEOPLE)


def test_missing_file_and_folder_are_refused(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        table_of(tmp_path / "none.csv", PEOPLE)
    with pytest.raises(InputError, match="directory"):
        table_of(tmp_path, PEOPLE)


def test_parquet_and_polars(tmp_path):
    frame = pd.DataFrame({"who": ["ada", "bob"], "tags": [["x", "y"], ["y"]]})
    frame.to_parquet(tmp_path / "people.parquet")
    table = table_of(tmp_path / "people.parquet", PEOPLE)
    assert table.cells["tags"] == [["x", "y"], ["y"]]
    polars = pytest.importorskip("polars")
    assert list(table_of(polars.DataFrame({"who": ["ada"], "age": [3]}), PEOPLE).keys) == ["ada"]


def test_mapping_of_keywords_values_records_and_arrays():
    keywords = table_of({"ada": {"x"}, "bob": {"x", "y"}}, PEOPLE)
    assert keywords.cells[""] == [{"x"}, {"x", "y"}]
    assert table_of({"ada": 3, "bob": None}, PEOPLE).cells[""][0] == 3
    records = table_of({"ada": {"age": 3, "club": "z"}, "bob": None, "cyd": {"age": 5}}, PEOPLE)
    assert records.cells["club"] == ["z", None, None]
    arrays = table_of({"ada": np.array([1.0, 2]), "bob": np.array([3.0, 4])}, PEOPLE)
    assert arrays.cells[""].tolist() == [[1, 2], [3, 4]]
    with pytest.raises(InputError, match="'bob' are not a mapping"):
        table_of({"ada": {"age": 3}, "bob": 7}, PEOPLE)


def test_mapping_of_columns_is_a_table():
    table = table_of({"who": ["ada", "bob", "cyd"], "age": [1, 2, 3]}, PEOPLE)
    assert list(table.keys) == ["ada", "bob", "cyd"]
    assert list(table.cells) == ["age"]


def test_rows_of_a_matrix_are_in_the_order_of_numbered_nodes():
    matrix = sparse.random_array((4, 5), density=0.5, rng=np.random.default_rng(0))
    assert list(table_of(matrix, Names([3, 0, 2])).keys) == [0, 1, 2, 3]
    with pytest.raises(InputError, match="4 rows for 3 nodes"):
        table_of(matrix, Names.range(3))
    with pytest.raises(InputError, match="no order of their own"):
        table_of(matrix[:3], PEOPLE, [("ada", "bob"), ("bob", "cyd")])
    with pytest.raises(InputError, match="expected numbers"):
        table_of(np.array([["a"], ["b"], ["c"]]), Names.range(3))


def test_attributes_of_networkx_and_igraph():
    nx = pytest.importorskip("networkx")
    graph = nx.Graph([("cyd", "ada")])
    graph.nodes["ada"]["age"] = 4
    table = table_of(["age"], PEOPLE, graph)
    assert list(table.keys) == ["cyd", "ada"]
    assert table.cells["age"][1] == 4
    with pytest.raises(InputError, match="no node has the attribute 'club'; they have age"):
        table_of(["club"], PEOPLE, graph)
    with pytest.raises(InputError, match="networkx or igraph"):
        table_of(["club"], PEOPLE, [("ada", "bob")])
    igraph = pytest.importorskip("igraph")
    other = igraph.Graph.TupleList([("ada", "bob")])
    other.vs["age"] = [5, 6]
    assert table_of(["age"], PEOPLE, other).cells["age"].tolist() == [5, 6]


def test_anndata():
    anndata = pytest.importorskip("anndata")
    data = anndata.AnnData(np.eye(3, dtype=np.float32), obs=pd.DataFrame(index=list(PEOPLE)))
    data.var_names = ["g1", "g2", "g3"]
    table = table_of(data, PEOPLE)
    assert list(table.keys) == list(PEOPLE)
    assert table.titles == ["g1", "g2", "g3"]


def test_new_items_by_node_or_table():
    assert list(table_of_new({"eve": {"age": 3}}, {"age"}).keys) == ["eve"]
    assert list(table_of_new(pd.DataFrame({"who": ["eve"], "age": [3]}), {"age"}).keys) == ["eve"]
    assert list(table_of_new(pd.DataFrame({"age": [3]}, index=["eve"]), {"age"}).keys) == ["eve"]
    with pytest.raises(InputError, match="no names"):
        table_of_new(pd.DataFrame({"age": [3]}), {"age"})
    with pytest.raises(InputError, match="expected a mapping or a table"):
        table_of_new(np.eye(3), {"age"})
