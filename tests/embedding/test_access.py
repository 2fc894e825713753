"""An embedding as an array and as a mapping of names to vectors."""

import json
import pickle
import runpy
from pathlib import Path

import numpy as np
import pytest

from softvec import Embedding, Names
from softvec.core.errors import InputError


@pytest.fixture
def emb():
    V = np.random.default_rng(0).standard_normal((30, 4)).astype(np.float32)
    return Embedding(V, [f"n{i}" for i in range(30)], provenance={"data": {"summary": "30 nodes"}})


def test_asarray_is_the_matrix_of_vectors(emb):
    assert np.asarray(emb) is not None
    np.testing.assert_array_equal(np.asarray(emb), emb.vectors)
    assert np.asarray(emb, dtype=np.float64).dtype == np.float64
    assert np.shares_memory(np.asarray(emb), emb.vectors)
    assert not np.shares_memory(np.array(emb), emb.vectors)
    np.testing.assert_array_equal(np.mean(emb, axis=0), emb.vectors.mean(axis=0))
    with pytest.raises(ValueError, match="copy"):  # NumPy 1 passes no copy, and then copies
        emb.__array__(np.float64, copy=False)


def test_names_are_sliced(emb):
    assert emb.names[:3] == Names(["n0", "n1", "n2"])
    assert emb.names[-1] == "n29"
    assert emb.names[::10].to_list() == ["n0", "n10", "n20"]
    assert Names.range(10)[4:6].to_list() == [4, 5]
    assert Names([("a", 1), ("b", 2)])[1:].to_list() == [("b", 2)]


def test_mapping_of_names_to_vectors(emb):
    assert list(emb.keys()) == list(emb.names)
    assert emb.get("n3") is not None
    assert emb.get("nobody") is None
    assert emb.get("nobody", 7) == 7
    names, rows = zip(*emb.items())
    assert list(names) == list(emb)
    np.testing.assert_array_equal(np.stack(rows), emb.values())
    np.testing.assert_array_equal(dict(emb)["n7"], emb.vectors[7])


def test_names_from_pandas_and_polars(emb):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    want = emb.vectors[[4, 1]]
    for names in (pd.Index(["n4", "n1"]), pd.Series(["n4", "n1"]), pl.Series(["n4", "n1"])):
        np.testing.assert_array_equal(emb[names], want)
    np.testing.assert_array_equal(emb[np.array(["n4", "n1"])], want)
    assert emb.similarity(pd.Index(["n4"]), pd.Index(["n1"])).shape == (1,)


def test_positions_and_masks():
    emb = Embedding(np.eye(4), [3, 2, 1, 0])  # names that are not positions
    np.testing.assert_array_equal(emb[[0, 1]], np.eye(4)[[3, 2]])
    np.testing.assert_array_equal(emb[:2], np.eye(4)[:2])
    np.testing.assert_array_equal(emb[np.array([0, 1]), ...], np.eye(4)[:2])
    with pytest.raises(InputError, match="mask"):
        emb[np.array([True, False, True, False])]


@pytest.mark.parametrize("names", [None, list(range(29, -1, -1)), [f"n{i}" for i in range(30)]])
def test_scikit_learn_takes_an_embedding(names):
    """Folds are cut by position, whatever the names: integers in another order would give wrong rows."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score

    V = np.random.default_rng(1).standard_normal((30, 3)).astype(np.float32)
    y = (V[:, 0] > 0).astype(int)
    emb = Embedding(V, names)
    assert LogisticRegression().fit(emb, y).score(emb, y) == LogisticRegression().fit(V, y).score(V, y)
    np.testing.assert_array_equal(
        cross_val_score(LogisticRegression(), emb, y, cv=3), cross_val_score(LogisticRegression(), V, y, cv=3)
    )


def test_provenance_is_a_read_only_dictionary(emb):
    assert json.loads(json.dumps(emb.provenance)) == emb.provenance
    with pytest.raises(TypeError, match="read-only"):
        emb.provenance["data"] = 1
    with pytest.raises(TypeError, match="read-only"):
        emb.provenance.update(data=1)
    assert pickle.loads(pickle.dumps(emb.provenance)) == emb.provenance
    assert repr(emb.provenance) == "<Provenance of 30 nodes: data>"


def test_extras_are_kept_or_left_out(tmp_path):
    emb = Embedding(np.eye(3), extras={"classes": [0, 1, 1], "weights": [1.0, 2.0, 0.5]})
    emb.save(tmp_path / "a.svec")
    again = Embedding.load(tmp_path / "a.svec")
    np.testing.assert_array_equal(again.extras["weights"], [1, 2, 0.5])
    assert not again.extras["classes"].flags.writeable
    emb.save(tmp_path / "b.svec", extras=False)
    assert not Embedding.load(tmp_path / "b.svec").extras


@pytest.mark.parametrize(
    "extras",
    [
        {"other": [1, 2]},
        {"weights": [1.0]},
        {"weights": [1.0, 0.0]},
        {"classes": [0, 9]},
        {"classes": [-1, 0]},
    ],
)
def test_wrong_extras_are_refused(extras):
    with pytest.raises(InputError):
        Embedding(np.eye(2), extras=extras)


def test_labels_grow():
    assert Names(["a"]).append(Names(["b", "c"])).to_list() == ["a", "b", "c"]
    assert Names.range(2).append([2]) == Names.range(3)
    assert Names.range(2).append(["x"]).to_list() == [0, 1, "x"]
    assert Names([("a", 1)]).append([("a", 2)]).index(("a", 2)) == 1
    with pytest.raises(InputError, match="unique"):
        Names(["a"]).append(["a"])


def test_the_script_that_mypy_checks_runs():
    made = runpy.run_path(str(Path(__file__).with_name("typed_script.py")))["main"]()
    assert made[:3] == ["a", "b", "c"]
    assert made[-1].startswith("3 [")
