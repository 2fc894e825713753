import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softvec import Embedding
from softvec.core.errors import InputError
from softvec.names import Names, UnknownName
from softvec.names import storage as _storage

scalars = st.one_of(st.integers(-(2**40), 2**40), st.text(max_size=8), st.booleans(), st.none())
names = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), unique=True),
    st.lists(st.text(max_size=12), unique=True),
    st.lists(st.one_of(scalars, st.tuples(scalars, scalars)), unique=True),
)


@given(names)
@settings(max_examples=60, deadline=None)
def test_names_survive_every_road(items):
    names = Names(items)
    assert names.to_list() == items
    assert [type(a) for a in names] == [type(b) for b in items]
    assert [names.index(name) for name in items] == list(range(len(items)))
    assert Names.from_arrays(names.to_arrays()) == names
    assert pickle.loads(pickle.dumps(names)) == names
    rows = np.arange(len(items))[::-2]
    assert names.take(rows).to_list() == [items[i] for i in rows]
    assert names == Names(items)
    assert hash(names) == hash(Names(items))


@given(st.lists(st.text(max_size=6), unique=True, min_size=1), st.text(max_size=6))
@settings(max_examples=100, deadline=None)
def test_hashed_lookup_agrees_with_the_dict(items, other):
    small = Names(items)
    packed = small._store
    limit, _storage._DICT_LIMIT = _storage._DICT_LIMIT, -1
    try:
        assert [packed.find(name) for name in items] == list(range(len(items)))
        assert packed.find(other) == (items.index(other) if other in items else -1)
    finally:
        _storage._DICT_LIMIT = limit


def test_colliding_hashes_are_told_apart(monkeypatch):
    monkeypatch.setattr(_storage, "_DICT_LIMIT", -1)
    monkeypatch.setattr(
        _storage.Strings, "_hash", classmethod(lambda cls, d, o: np.zeros(len(o) - 1, np.uint64))
    )
    names = Names(["a", "b", "c"])
    assert [names.index(name) for name in "abc"] == [0, 1, 2]
    assert "d" not in names


def test_a_range_takes_no_memory():
    names = Names.range(10**9)
    assert len(names) == 10**9
    assert names[-1] == 10**9 - 1
    assert names.index(7) == 7
    assert "7" not in names
    assert repr(names) == "Names.range(1000000000)"


def test_a_million_strings_stay_packed():
    offsets = np.arange(1_000_001) * 8
    data = np.frombuffer(b"".join(b"%08d" % i for i in range(1_000_000)), np.uint8)
    names = Names.from_utf8(data, offsets)
    assert names.index("00765432") == 765432
    assert "1" not in names
    with pytest.raises(UnknownName, match="00999999"):
        names.index("0099999x")


def test_pairs_of_node_and_time():
    names = Names.from_codes(Names("ab"), Names([10, 20, 30]), (np.array([0, 1, 0]), np.array([2, 0, 0])))
    assert names.to_list() == [("a", 30), ("b", 10), ("a", 10)]
    assert names.index(("a", 10)) == 2
    assert ("b", 30) not in names
    assert "a" not in names
    assert names.take(np.array([2, 0])).to_list() == [("a", 10), ("a", 30)]
    assert Names.from_arrays(names.to_arrays()) == names


def test_numpy_scalars_and_arrays():
    names = Names(np.array([5, 3, 9], dtype=np.uint8))
    assert names.index(np.int64(9)) == 2
    assert type(names[0]) is int
    assert -1 not in names
    assert 10**30 not in names
    assert Names(np.array(["x", "yy"])).to_list() == ["x", "yy"]
    np.testing.assert_array_equal(names.indices([9, 5]), [2, 0])
    np.testing.assert_array_equal(names.to_numpy(), [5, 3, 9])


def test_text_of_any_names():
    data, offsets = Names([7, "é", (1, 2)]).to_strings()
    text = [bytes(data[a:b]).decode() for a, b in pairwise(offsets)]
    assert text == ["7", "é", "(1, 2)"]


def test_pandas_and_polars_columns():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    assert Names(pd.Index(["u", "v"])).to_list() == ["u", "v"]
    assert Names(pl.Series([4, 2])).to_list() == [4, 2]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "b", "a"], r"duplicate name 'a' .rows 0 and 2."),
        ([1, 2, 2], r"duplicate name 2 .rows 1 and 2."),
        ([["list"]], r"not hashable"),
        (np.zeros((2, 2)), r"flat sequence"),
        (-1, r"negative"),
    ],
)
def test_bad_names(names, message):
    with pytest.raises(InputError, match=message):
        Names(names)


def test_duplicates_among_many(monkeypatch):
    monkeypatch.setattr(_storage, "_DICT_LIMIT", 1)
    with pytest.raises(InputError, match=r"duplicate name 'b' .rows 1 and 2."):
        Names(["a", "b", "b"])


@pytest.mark.parametrize(
    ("names", "wanted", "hint"),
    [
        (["Paris", "London"], "paris", "'Paris'"),
        (["Paris", "London"], "Londn", "'London'"),
        ([1, 2, 3], "2", "2?"),
        (["1", "2"], 2, "'2'"),
        (["new_york"], "new york", "'new_york'"),
        ([("a", 1), "bcd"], "bce", "'bcd'"),
    ],
)
def test_unknown_names_are_answered_with_close_ones(names, wanted, hint):
    with pytest.raises(UnknownName) as caught:
        Names(names).index(wanted)
    assert hint in str(caught.value)
    assert isinstance(caught.value, InputError)
    assert isinstance(caught.value, KeyError)


def test_immutable_and_bounded():
    names = Names("ab")
    with pytest.raises(AttributeError):
        names.names = 3
    with pytest.raises(IndexError):
        names[2]
    assert names != Names("ba")
    assert names != 3
    assert names != Names("abc")
    assert repr(Names("abcdef")) == "Names(['a', 'b', 'c', 'd', ...], 6 names)"


def test_a_name_that_cannot_be_saved():
    with pytest.raises(InputError, match="cannot be saved"):
        Names([frozenset([1])]).to_arrays()
    with pytest.raises(InputError, match="hold no names"):
        Names.from_arrays({})


@pytest.mark.parametrize("form", ["svec", "parquet", "feather"])
def test_integers_beyond_int64_are_names(form, tmp_path):
    for names in ([2**63, 1], [2**64 - 1, 2**63 + 5], [0, 1], [7, 3]):
        emb = Embedding(np.eye(2), np.array(names, np.uint64))
        assert emb.names.index(names[0]) == 0
        emb.save(tmp_path / f"x.{form}")
        assert list(Embedding.load(tmp_path / f"x.{form}")) == names
        assert emb.names.append([-1]).to_list() == [*names, -1]
