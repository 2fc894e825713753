"""What each format keeps: everything, or a line that says what it leaves out."""

import datetime
import io
import sys
import warnings

import numpy as np
import pytest

import softvec
from softvec import Embedding
from softvec.cli import main
from softvec.core.errors import InputError
from softvec.embedding.files.formats import FORMATS

PATHS = {name: "x" + (format.extensions or ("/",))[0] for name, format in FORMATS.items()}
WHOLE = [name for name, format in FORMATS.items() if format.whole]
PLAIN = [name for name, format in FORMATS.items() if not format.whole]
NAMES = {
    "text": ["ada", "bob", "cyd"],
    "digits": ["1", "2", "3"],
    "integers": [7, -1, 2**40],
    "range": [0, 1, 2],
    "pairs": [("ada", 1), ("ada", 2), ("bob", 1)],
    "mixed": ["ada", 3, None],
    "floats": [0.5, 1e300, -3.25],
    "booleans": [True, False, None],
    "large": [2**70, 1, 2],
    "white": ["", "a\tb", "line\nbreak"],
    "nested": [("a", ("b", 1.5)), ("a", ("b", True)), ("c", (None, ""))],
}


def rich(names=("a", "b", "c")):
    """Return an embedding with everything that one can have."""
    rng = np.random.default_rng(0)
    return Embedding(
        rng.normal(size=(3, 4)), list(names), sizes=[1, 2, 3.5],
        context_vectors=rng.normal(size=(2, 4)), context_names=["x", "y"],
        provenance={"parameters": {"beta": 2.0}, "stability": {"repeats": 3}, "data": {"summary": "a graph"}},
        extras={
            "classes": [0, 1], "weights": [1.0, 2.5], "stable_neighbours": [0.5, np.nan, 1.0],
            "stable_groups": [1.0, 0.25, np.nan], "neighbours_to_vector": rng.normal(size=(4, 4)),
            "attributes_to_vector": rng.normal(size=(7, 4)), "attribute_coding": rng.normal(size=(7, 2)),
        },
    )  # fmt: skip


def saved(emb, folder, format):
    path = f"{folder}/{PATHS[format]}"
    emb.save(path, format)
    return path


def same_names(a, b):
    assert a == b
    assert [type(name) for name in a] == [type(name) for name in b]


@pytest.mark.parametrize("format", WHOLE)
def test_nothing_is_lost(tmp_path, format):
    emb = rich()
    for sides in (emb, emb._with(context_vectors=None, context_names=None, extras={})):
        back = Embedding.load(saved(sides, tmp_path, format))
        np.testing.assert_array_equal(back.vectors, sides.vectors)
        same_names(list(back.names), list(sides.names))
        np.testing.assert_array_equal(back.sizes, sides.sizes)
        assert dict(back.provenance) == dict(sides.provenance)
        assert set(back.extras) == set(sides.extras)
        for key, array in sides.extras.items():
            np.testing.assert_array_equal(back.extras[key], array)
            assert back.extras[key].dtype == array.dtype
        if sides.two_sided:
            np.testing.assert_array_equal(back.context_vectors, sides.context_vectors)
            assert list(back.context_names) == list(sides.context_names)


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("format", FORMATS)
def test_names_are_kept_or_the_change_is_told(tmp_path, format, names):
    emb = Embedding(np.eye(3, 4), NAMES[names])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        path = saved(emb, tmp_path, format)
    back = list(Embedding.load(path).names)
    if caught:
        assert format in PLAIN
        assert ".svec" in str(caught[0].message)
    else:
        same_names(back, NAMES[names])


@pytest.mark.parametrize("format", PLAIN)
def test_one_line_says_what_is_left_out(tmp_path, format):
    emb = rich()._with(extras={**rich().extras, "types": np.zeros(3, np.int32)})
    with pytest.warns(
        UserWarning, match=r"the context vectors .*, the sizes, the types, the stability and the record"
    ) as told:
        saved(emb, tmp_path, format)
    assert len(told) == 1
    with pytest.warns(UserWarning, match="leaves out the sizes and the record of the fit; .svec"):
        saved(Embedding(np.eye(3), sizes=[1, 2, 3], provenance={"parameters": {}}), tmp_path, format)
    with pytest.warns(UserWarning, match="leaves out the record of the fit; .svec"):
        saved(rich()._with(sizes=None, provenance={"parameters": {}}).context, tmp_path, format)


@pytest.mark.parametrize("name", [b"ada", datetime.date(2020, 1, 2), ("ada", b"x"), frozenset({1})])
@pytest.mark.parametrize("format", FORMATS)
def test_other_names_are_refused_before_anything_is_written(tmp_path, format, name):
    with pytest.raises(InputError, match="cannot be saved; use strings or numbers"):
        saved(Embedding(np.eye(2), [name, "b"]), tmp_path, format)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("names", [["a\udc80", "b"], [("a", "\ud800"), ("b", "c")], [None, "\udfff"]])
@pytest.mark.parametrize("format", FORMATS)
def test_lone_surrogates(tmp_path, format, names):
    emb = Embedding(np.eye(2), names)
    if format == "softvec":
        assert list(Embedding.load(saved(emb, tmp_path, format)).names) == names
        return
    with pytest.raises(InputError, match=r"is not valid Unicode .*save as .svec"):
        saved(emb, tmp_path, format)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("format", FORMATS)
def test_no_rows(tmp_path, format):
    emb = Embedding(np.empty((0, 3), np.float32), [])
    if format == "tsv":
        with pytest.raises(InputError, match="cannot hold 0 vectors"):
            saved(emb, tmp_path, format)
        return
    back = Embedding.load(saved(emb, tmp_path, format))
    assert back.shape == (0, 3)
    assert list(back.names) == []


@pytest.mark.filterwarnings("ignore:these vectors predict")
def test_stability_and_links_survive_a_conversion(tmp_path):
    edges = [(i, j) for i in range(12) for j in range(i) if (i + j) % 3]
    emb = softvec.embed(edges, 4, random_state=0, repeats=2)
    for format in ("parquet", "feather", "folder"):
        back = Embedding.load(saved(emb, tmp_path, format))
        np.testing.assert_array_equal(back.stability().item_groups, emb.stability().item_groups)
        assert back.links(3, exclude=edges) == emb.links(3, exclude=edges)


class Terminal(io.TextIOWrapper):
    def isatty(self):
        return True


@pytest.mark.parametrize("format", ["word2vec", "csv"])
def test_control_codes_do_not_reach_a_terminal(monkeypatch, format):
    emb = Embedding(np.eye(2), ["a\x1b]0;owned\x07b", "c"])
    for stream, raw in ((Terminal, False), (io.TextIOWrapper, True)):
        out = stream(io.BytesIO(), "utf-8")
        monkeypatch.setattr(sys, "stdout", out)
        emb.save("-", format)
        written = out.buffer.getvalue()
        assert (b"\x1b" in written) == raw
        assert (b"\\x1b]0;owned\\x07b" in written) == (not raw)
    monkeypatch.setattr(sys, "stdout", Terminal(io.BytesIO(), "utf-8"))
    with pytest.raises(InputError, match="is binary; redirect"):
        emb.save("-", "parquet")


def test_names_are_checked_before_the_fit(tmp_path, monkeypatch):
    monkeypatch.setattr(softvec.api, "embed_affinity", None)  # the fit
    with pytest.raises(InputError, match="is not valid Unicode"):
        softvec.embed([("a\udc80", "b"), ("b", "c")], 2, output=tmp_path / "v")
    with pytest.raises(InputError, match="cannot be saved"):
        softvec.embed([(b"a", b"b"), (b"b", b"c")], 2, output=tmp_path / "v")
    assert not (tmp_path / "v").exists()


def test_dates_are_text_and_missing_names_are_refused(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow import feather

    V = pa.array([[1.0, 0.0], [0.0, 1.0]], pa.list_(pa.float32(), 2))
    for unit in ("s", "ns"):
        dates = pa.array(np.array(["2020-01-01", "2020-01-02"], f"datetime64[{unit}]"))
        pq.write_table(pa.table({"day": dates, "vector": V}), tmp_path / "x.parquet")
        emb = Embedding.load(tmp_path / "x.parquet")
        assert all(isinstance(name, str) and name.startswith("2020-01-0") for name in emb.names)
        assert emb.most_similar(emb.names[0], n=1)[0][0] == emb.names[1]
        emb.save(tmp_path / "y.svec")
    missing = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None]))
    feather.write_feather(pa.table({"name": missing, "vector": V}), str(tmp_path / "x.feather"))
    with pytest.raises(InputError, match="the name in row 2 is missing"):
        Embedding.load(tmp_path / "x.feather")


@pytest.mark.parametrize("file", ["x.txt", "x.csv"])
def test_very_wide_text(tmp_path, file):
    d = 200_000
    emb = Embedding(np.random.default_rng(0).normal(size=(2, d)), ["a", "b"])
    emb.save(tmp_path / file)
    np.testing.assert_array_equal(Embedding.load(tmp_path / file).vectors, emb.vectors)


def test_a_feather_file_that_expands_too_far_is_refused(tmp_path, monkeypatch):
    import pyarrow as pa
    from pyarrow import feather

    zeros = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(4_000_000, np.float32)), 4)
    table = pa.table({"name": pa.array(range(1_000_000)), "vector": zeros})
    feather.write_feather(table, str(tmp_path / "x.feather"), compression="zstd")
    emb = Embedding.load(tmp_path / "x.feather")
    assert emb.shape == (1_000_000, 4)
    monkeypatch.setenv("SOFTVEC_MAX_EXPANDED", "20MB")
    with pytest.raises(InputError, match=r"its rows would take 24,\d+,\d+"):
        Embedding.load(tmp_path / "x.feather")


def test_convert_says_what_is_left_out(tmp_path, capsys):
    rich().save(tmp_path / "x.svec")
    with pytest.raises(SystemExit) as end:
        main(["convert", f"{tmp_path}/x.svec", f"{tmp_path}/x.csv"])
    assert not end.value.code
    told = " ".join(capsys.readouterr().err.split())
    assert "--side context" in told
    assert "the sizes, the stability and the record of the fit" in told


@pytest.mark.parametrize("value", [1e-42, 1e38])
def test_lengths_out_of_range_are_refused(value):
    V = (value * np.random.default_rng(0).uniform(0.5, 1, (6, 64))).astype(np.float32)
    emb = Embedding(V, list("abcdef"))
    for method in (lambda: emb.most_similar("a"), emb.cluster, lambda: emb.project("tsne"), emb.map):
        with pytest.raises(InputError, match=r"row 0 has length .*multiply all vectors by a constant"):
            method()


def test_a_mapped_file_with_nan_is_refused_when_it_is_used(tmp_path):
    V = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    V[2, 1] = np.nan
    np.save(tmp_path / "x.npy", V)
    mapped = Embedding.load(tmp_path / "x.npy", mmap=True)
    other = Embedding(np.eye(len(mapped), mapped.n_components), None)
    for method in (
        lambda: mapped.add({9: [0, 2]}, beta=2.0), mapped.cluster, lambda: mapped.most_similar(1),
        lambda: mapped.layout("pca"), lambda: mapped.align(other), lambda: other.align(mapped),
    ):  # fmt: skip
        with pytest.raises(InputError, match="the vectors hold NaN"):
            method()


def test_long_descriptions_are_refused(tmp_path):
    emb = Embedding(np.eye(2), provenance={"note": "x" * (9 << 20)})
    for format in WHOLE:
        with pytest.raises(InputError, match="bytes of JSON; at most 8,388,608 are saved"):
            saved(emb, tmp_path, format)


def test_a_zip_directory_that_claims_more_than_the_file_is_refused(tmp_path, monkeypatch):
    import struct

    path = tmp_path / "x.svec"
    Embedding(np.eye(2, 3)).save(path)
    data = path.read_bytes()
    header = b"(2, 3), }"
    claimed = 10**9  # rows: 12 GB
    data = data.replace(header, f"({claimed}, 3), }}".encode(), 1).replace(b" " * 9 + b"\n", b"\n", 1)
    start = data.index(b"PK\x01\x02")
    at = data.index(b"vectors.npy", start) - 46
    size = 128 + claimed * 12
    sizes = struct.pack("<II", 0xFFFFFFFF, 0xFFFFFFFF)
    extra = struct.pack("<HHQQ", 1, 16, size, size)
    name_length, extra_length = struct.unpack("<HH", data[at + 28 : at + 32])
    entry = bytearray(data[at : at + 46 + name_length] + extra)
    entry[20:28], entry[30:32] = sizes, struct.pack("<H", len(extra))
    end = at + 46 + name_length + extra_length
    path.write_bytes(data[:at] + bytes(entry) + data[end:])
    monkeypatch.setattr(np, "empty", None)
    with pytest.raises(InputError, match=r"damaged|truncated"):
        Embedding.load(path)


def test_float_indices_of_a_sparse_matrix_are_refused(tmp_path):
    from softvec.affinity import read

    np.savez(
        tmp_path / "x.npz", format=np.array("csr"), shape=np.array([2, 2]), data=np.ones(2),
        indices=np.array([1.0, 0.0]), indptr=np.array([0, 1, 2]),
    )  # fmt: skip
    with pytest.raises(InputError, match="its indices are float64, not integers"):
        read(tmp_path / "x.npz")
