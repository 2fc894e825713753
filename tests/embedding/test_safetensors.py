"""Safetensors files: what the real package sees in them, files of other writers, damaged files."""

import contextlib
import io
import json
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softvec.core.errors import InputError
from softvec.embedding import Embedding


@pytest.fixture
def package():
    pytest.importorskip("safetensors")
    import safetensors.numpy

    return safetensors


def make(names=("ada", "Straße", "日本"), **options):
    V = np.random.default_rng(0).standard_normal((len(names), 4)).astype(np.float32)
    return Embedding(V, list(names), **options)


def expect_error(path, match):
    with pytest.raises(InputError, match=match) as caught:
        Embedding.load(path)
    assert path.name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_package_reads_vectors_names_and_provenance(package, tmp_path):
    emb = make(provenance={"data": {"kind": "graph"}})
    emb.save(tmp_path / "x.safetensors")
    with package.safe_open(str(tmp_path / "x.safetensors"), framework="numpy") as file:
        assert set(file.keys()) == {"vectors", "names", "name_offsets"}
        np.testing.assert_array_equal(file.get_tensor("vectors"), emb.vectors)
        data, offsets = bytes(file.get_tensor("names")), file.get_tensor("name_offsets")
        assert json.loads(file.metadata()["softvec"])["provenance"] == {"data": {"kind": "graph"}}
    assert [data[a:b].decode() for a, b in pairwise(offsets)] == ["ada", "Straße", "日本"]


@pytest.mark.parametrize("names", [(7, -1, 0), (0, 1, 2)])
def test_integers_are_written_as_ids(package, tmp_path, names):
    make(names).save(tmp_path / "x.safetensors")
    tensors = package.numpy.load_file(tmp_path / "x.safetensors")
    assert set(tensors) == {"vectors", "name_ids"}
    assert tensors["name_ids"].dtype == np.int64
    assert tensors["name_ids"].tolist() == list(names)


def test_names_of_pairs_and_mixed_types(package, tmp_path):
    for names in ([("ada", 1), ("ada", 2), ("bob", 1)], ["ada", 3, None]):
        make(names).save(tmp_path / "x.safetensors")
        assert list(Embedding.load(tmp_path / "x.safetensors")) == names


def test_same_embedding_same_bytes(package, tmp_path):
    for file in ("a.safetensors", "b.safetensors"):
        make(provenance={"b": 1, "a": 2}).save(tmp_path / file)
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()


def test_standard_streams(package, monkeypatch, capfdbinary):
    emb = make()
    emb.save("-", "safetensors")
    written = capfdbinary.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(written)))
    back = Embedding.load("-")
    assert list(back) == list(emb)
    np.testing.assert_array_equal(back.vectors, emb.vectors)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_one_matrix_of_another_writer(package, tmp_path, dtype):
    path = tmp_path / "model.safetensors"
    W = np.arange(6, dtype=dtype).reshape(3, 2)
    package.numpy.save_file({"emb.weight": W, "norm": np.ones(2, dtype), "ids": np.eye(2, dtype=int)}, path)
    emb = Embedding.load(path)
    assert list(emb) == [0, 1, 2]
    np.testing.assert_array_equal(emb.vectors, W.astype(np.float32))


def test_several_matrices_ask_which(package, tmp_path):
    path = tmp_path / "model.safetensors"
    tensors = {"in": np.eye(2, 3, dtype=np.float32), "out\x1b[31m": np.eye(2, dtype=np.float32)}
    package.numpy.save_file(tensors, path)
    expect_error(path, r"2 matrices of floats \('in' \(2, 3\), .*which are the vectors\? Take one with")
    with pytest.raises(InputError) as caught:
        Embedding.load(path)
    assert "\x1b" not in str(caught.value)


def damaged(package, path, metadata=None, **changes):
    tensors = package.numpy.load_file(path)
    for key, array in changes.items():
        tensors.pop(key, None)
        if array is not None:
            tensors[key] = np.asarray(array)
    package.numpy.save_file(tensors, path, metadata or {"softvec": '{"version": 1, "provenance": {}}'})


DAMAGE = {
    "no vectors": ({"vectors": None}, "'vectors' is missing"),
    "no names": ({"names": None, "name_offsets": None}, "names"),
    "offsets alone": ({"names": None}, "names cannot be read"),
    "offsets": ({"name_offsets": np.array([0, 9, 3, 16])}, "out of order"),
    "count": ({"name_offsets": np.array([0, 3, 16])}, "2 names for 3 vectors"),
    "within a character": ({"name_offsets": np.array([0, 3, 8, 16])}, "within a character"),
    "not UTF-8": ({"names": np.full(16, 255, np.uint8)}, "names cannot be read"),
    "repeated": (
        {"names": np.frombuffer(b"abab" * 4, np.uint8), "name_offsets": np.array([0, 4, 8, 16])},
        "duplicate name 'abab' .rows 0 and 1.",
    ),
    "repeated ids": (
        {"names": None, "name_offsets": None, "name_ids": np.array([4, 5, 4])},
        "duplicate name 4 .rows 0 and 2.",
    ),
    "integers": ({"vectors": np.ones((3, 4), int)}, "expected rows of floats"),
    "one dimension": ({"vectors": np.ones(3, np.float32)}, "expected rows of floats"),
    "no columns": ({"vectors": np.ones((3, 0), np.float32)}, "expected rows of floats"),
    "NaN": ({"vectors": np.full((3, 4), np.nan, np.float32)}, "NaN or infinite"),
    "too large": ({"vectors": np.full((3, 4), 1e300)}, "NaN or infinite"),
    "sizes": ({"sizes": np.ones(2)}, "sizes have shape"),
    "context": ({"context_vectors": np.ones((2, 4), np.float32)}, "names"),
    "provenance": ({"metadata": {"softvec": '{"version": 1}'}}, "lacks the provenance"),
    "metadata": ({"metadata": {"softvec": "{"}}, "not JSON"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damaged_contents(package, tmp_path, case):
    changes, match = DAMAGE[case]
    path = tmp_path / "x.safetensors"
    make().save(path)
    damaged(package, path, **changes)
    expect_error(path, match)


def test_no_matrix_of_floats(package, tmp_path):
    path = tmp_path / "x.safetensors"
    package.numpy.save_file({"a": np.eye(2, dtype=int)}, path)
    expect_error(path, r"no matrix of 16-, 32- or 64-bit floats; its tensors: 'a' I64 \(2, 2\)")


def test_brain_floats_are_refused(package, tmp_path):
    path = tmp_path / "x.safetensors"
    header = json.dumps({"w": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    expect_error(path, "'w' BF16")


def test_sizes_beyond_the_file(package, tmp_path):
    path = tmp_path / "x.safetensors"
    header = json.dumps({"w": {"dtype": "F32", "shape": [1 << 40, 4], "data_offsets": [0, 1 << 44]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    expect_error(path, "not a readable safetensors file")


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_flipped_byte_never_crashes(tmp_path_factory, data):
    pytest.importorskip("safetensors")
    path = tmp_path_factory.mktemp("x") / "x.safetensors"
    make().save(path)
    raw = bytearray(path.read_bytes())
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(raw)
    with contextlib.suppress(InputError):
        assert Embedding.load(path).vectors.ndim == 2


def test_without_the_package(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(InputError, match=r"pip install 'softvec\[safetensors\]'"):
        make().save(tmp_path / "x.safetensors")
    assert not (tmp_path / "x.safetensors").exists()


def test_two_entries_of_the_same_name_are_refused(package, tmp_path):
    path, body = tmp_path / "model.safetensors", np.eye(2, dtype=np.float32).tobytes()
    entry = '"v":{"dtype":"F32","shape":[%d,%d],"data_offsets":[0,16]}'
    header = f"{{{entry % (2, 2)},{entry % (1, 4)}}}".encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + body)
    expect_error(path, "two entries of its header have the same name")
