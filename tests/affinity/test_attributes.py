"""Attributes as a matrix: values by hand, and names that do not match."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from softvec.affinity import bipartite, pairs
from softvec.affinity.attributes import Column, attach
from softvec.core.errors import GuessWarning, InputError

FRIENDS = [("ada", "bob"), ("bob", "cyd"), ("cyd", "dan")]


def test_numbers_are_standardised_and_missing_ones_count_as_the_mean():
    column = Column.of("age", np.array([1.0, 3.0, np.nan, 5.0]))
    assert column is not None
    spread = np.sqrt(8 / 3)
    encoded = column.encode(np.array([1.0, 3.0, np.nan, 5.0])).ravel()
    np.testing.assert_allclose(encoded, [-2 / spread, 0, 0, 2 / spread], rtol=1e-6)


def test_categories_are_one_hot_and_words_weighted_by_rarity():
    column = Column.of("club", ["a", "b", "a", None, "b", "a"])
    assert column is not None
    assert (column.kind, column.names) == ("category", ["club=a", "club=b"])
    dense = column.encode(["a", None, "z", "b"]).toarray()
    assert dense.tolist() == [[1, 0], [0, 0], [0, 0], [0, 1]]

    bags = [{"x", "y"}, {"x"}, {"y", "z"}, {"z", "x"}]
    words = Column.of("", bags)
    assert words is not None
    assert (words.kind, words.names) == ("words", ["x", "y", "z"])
    weight = np.log(5 / np.array([4, 3, 3])) + 1
    first = np.array([weight[0], weight[1], 0])
    np.testing.assert_allclose(words.encode(bags).toarray()[0], first / np.linalg.norm(first), rtol=1e-6)


def test_text_is_words_short_repeated_text_categories_and_ids_nothing():
    titles = ["The graph of words", "Graph and words again", "a word on trees", "trees in the graph"]
    column = Column.of("title", titles)
    assert column is not None
    assert column.kind == "words"
    assert "title: graph" in column.names
    assert Column.of("id", [f"id{k}" for k in range(9)]) is None
    assert Column.of("same", ["x"] * 9) is None
    assert Column.of("same", np.full(9, 3.5)) is None


def test_sparse_counts_are_words_and_dense_numbers_are_standardised():
    counts = sparse.csr_array(np.array([[2.0, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]]))
    column = Column.of("", counts)
    assert column is not None
    assert column.kind == "words"
    np.testing.assert_allclose(np.linalg.norm(column.encode(counts).toarray(), axis=1), 1, rtol=1e-6)
    numbers = Column.of("", np.random.default_rng(0).normal(3, 2, (50, 4)))
    assert numbers is not None
    assert numbers.kind == "number"
    with pytest.raises(InputError, match="infinite"):
        Column.of("age", np.array([1.0, np.inf]))


def test_nodes_are_matched_by_name_and_others_added_without_edges():
    table = pd.DataFrame({"club": ["x", "x", "y", "y"]}, index=["dan", "ada", "eve", "bob"])
    affinity = attach(pairs(FRIENDS), table)
    assert list(affinity.rows) == ["ada", "bob", "cyd", "dan", "eve"]
    assert affinity.summary.endswith("2 categories, 1 node without attributes, 1 node with attributes only")
    attributes = affinity.attributes
    assert attributes is not None
    assert attributes.known.tolist() == [True, True, False, True, True]
    assert attributes.matrix.toarray().tolist() == [[1, 0], [0, 1], [0, 0], [1, 0], [0, 1]]
    assert affinity.matrix[4].nnz == 0
    assert affinity.matrix.sum() == pairs(FRIENDS).matrix.sum()


def test_rows_without_a_value_count_as_unknown():
    matrix = sparse.csr_array(np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]]))
    affinity = attach(pairs([(0, 1), (1, 2), (2, 3)]), matrix)
    assert affinity.attributes is not None
    assert affinity.attributes.known.tolist() == [True, True, True, False]
    assert affinity.summary.endswith("1 node without attributes")


def test_numbers_match_their_text():
    affinity = attach(pairs([("1", "2"), ("2", "3")]), {1: "a", 2: "a", 3: "b", 4: "b"})
    assert list(affinity.rows) == ["1", "2", "3", "4"]
    assert affinity.attributes is not None
    assert affinity.attributes.known.all()


def test_names_that_do_not_match_are_refused_or_said():
    with pytest.raises(InputError, match=r"no item has any of their names .*'ADA'.*'ada'"):
        attach(pairs(FRIENDS), {"ADA": {"x"}, "BOB": {"x", "y"}, "CYD": {"y"}})
    twice = pd.DataFrame({"who": [*"abcdefghijklmnopqrst", "a"], "club": ["x", "y", "x"] * 7})
    letters = pairs(list(zip("abcdefghijklmnopqrs", "bcdefghijklmnopqrst")))
    with pytest.raises(InputError, match=r"'a' more than once \(rows 1 and 21\)"):
        attach(letters, twice)
    with pytest.warns(GuessWarning, match="3 of 4 rows of the attributes are nodes without edges"):
        attach(pairs(FRIENDS), {"ada": {"x"}, "u": {"x", "y"}, "v": {"y"}, "w": {"y"}})
    with pytest.raises(InputError, match="no attribute is shared"):
        attach(pairs(FRIENDS), {"ada": {"x"}, "bob": {"y"}, "cyd": {"z"}})
    columns = {"id": ["i", "j", "k", "l"], "club": ["x", "x", "y", "y"]}
    frame = pd.DataFrame(columns, index=["ada", "bob", "cyd", "dan"])
    with pytest.warns(GuessWarning, match="left out of the attributes.*: id"):
        attach(pairs(FRIENDS), frame)


def test_attributes_are_for_graphs():
    with pytest.raises(InputError, match="are for graphs, and this is bipartite data"):
        attach(bipartite([("ada", "book"), ("bob", "pen")]), {"ada": {"x"}})
