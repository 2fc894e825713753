"""Vector files: round trips in every format, other libraries as readers, damaged and hostile files."""

import contextlib
import gzip
import io
import json
import mmap
import os
import struct
import sys
import warnings
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from softvec.core.errors import InputError
from softvec.core.files import atomic_write
from softvec.embedding import Embedding
from softvec.embedding.files.formats import EXTENSIONS, format_of
from softvec.embedding.files.plain import parse_names

ALL = sorted({"x" + e for e in EXTENSIONS} | {"x.txt.gz", "x.bin.gz", "x.csv.gz"})
KEEP_EVERYTHING = ["x.svec", "x.parquet", "x.feather"]


def make(names=("ada", "bob", "cyd"), d=4, seed=0, **options):
    V = np.random.default_rng(seed).standard_normal((len(names), d)).astype(np.float32)
    return Embedding(V, list(names), **options)


def same(a, b):
    assert a.names == b.names
    assert [type(x) for x in a.names] == [type(x) for x in b.names]
    np.testing.assert_array_equal(a.vectors, b.vectors)


@pytest.mark.parametrize("file", ALL)
@pytest.mark.parametrize("names", [("ada", "bob", "cyd"), (7, -1, 0), (0, 1, 2), ("é", "日本", '"q"')])
def test_round_trip(tmp_path, file, names):
    emb = make(names)
    emb.save(tmp_path / file)
    same(Embedding.load(tmp_path / file), emb)


texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8)
hashables = st.one_of(texts, st.integers(-(2**62), 2**62), st.tuples(texts, st.integers(-5, 5)), st.none())
name_lists = st.one_of(
    st.lists(texts, min_size=1, max_size=6, unique=True),
    st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=6, unique=True),
    st.lists(hashables, min_size=1, max_size=6, unique=True),
)
numbers = st.floats(-1e6, 1e6, width=32)


@pytest.mark.parametrize("file", KEEP_EVERYTHING)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_round_trip_keeps_any_names_and_bits(tmp_path_factory, file, data):
    path = tmp_path_factory.mktemp("x") / file
    names = data.draw(name_lists)
    V = data.draw(arrays(np.float32, (len(names), data.draw(st.integers(1, 4))), elements=numbers))
    emb = Embedding(V, names, provenance={"a": [1, {"b": None}]})
    emb.save(path)
    back = Embedding.load(path)
    same(back, emb)
    assert dict(back.provenance) == {"a": [1, {"b": None}]}


@pytest.mark.parametrize("file", ["x.txt", "x.bin", "x.csv", "x.tsv", "x.npy"])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_round_trip_of_words_in_text_formats(tmp_path_factory, file, data):
    path = tmp_path_factory.mktemp("x") / file
    word = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=8)
    names = data.draw(st.lists(word, min_size=1, max_size=6, unique=True))
    V = data.draw(arrays(np.float32, (len(names), data.draw(st.integers(1, 4))), elements=numbers))
    emb = Embedding(V, names)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        emb.save(path)
    back = Embedding.load(path)
    assert [str(name) for name in back] == names
    assert bool(caught) == (list(back) != names)  # such as all digits
    np.testing.assert_array_equal(back.vectors, emb.vectors)


@pytest.mark.parametrize("file", KEEP_EVERYTHING)
def test_two_sides_and_provenance_survive(tmp_path, file):
    emb = Embedding(
        np.eye(2, 3),
        ["u", ("v", 1)],
        context_vectors=np.eye(3),
        context_names=[1, 2, 30],
        sizes=[3, 4.5],
        provenance={"history": [{"epoch": 1, "loss": 2.5}]},
    )
    emb.save(tmp_path / file)
    back = Embedding.load(tmp_path / file)
    same(back, emb)
    same(back.context, emb.context)
    np.testing.assert_array_equal(back.sizes, [3, 4.5])
    assert back.provenance["history"] == [{"epoch": 1, "loss": 2.5}]


def test_one_sided_formats_say_what_they_leave_out(tmp_path):
    emb = Embedding(np.eye(2), ["a", "b"], context_vectors=np.eye(3, 2), context_names=["x", "y", "z"])
    with pytest.warns(UserWarning, match="leaves out the context vectors"):
        emb.save(tmp_path / "x.txt")
    emb.save(tmp_path / "y.txt", side="context")
    same(Embedding.load(tmp_path / "y.txt"), emb.context)
    with pytest.raises(InputError, match="side is 'left'"):
        emb.save(tmp_path / "y.txt", side="left")


@pytest.mark.parametrize("binary", [False, True])
def test_gensim_loads_word2vec(tmp_path, binary):
    KeyedVectors = pytest.importorskip("gensim.models").KeyedVectors
    emb = make(["ada", "Straße", "日本"])
    emb.save(tmp_path / "x", "word2vec-binary" if binary else "word2vec")
    kv = KeyedVectors.load_word2vec_format(str(tmp_path / "x"), binary=binary)
    assert kv.index_to_key == ["ada", "Straße", "日本"]
    np.testing.assert_array_equal(kv.vectors, emb.vectors)
    # and back: what gensim writes, softvec reads
    kv.save_word2vec_format(str(tmp_path / "y"), binary=binary)
    same(Embedding.load(tmp_path / "y"), emb)


def test_gensim_objects():
    pytest.importorskip("gensim")
    emb = make()
    kv = emb.to_gensim()
    assert [k for k, _ in kv.most_similar("ada")] == [k for k, _ in emb.most_similar("ada")]
    same(Embedding.from_gensim(kv), emb)
    with pytest.raises(InputError, match="KeyedVectors"):
        Embedding.from_gensim(3)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("names", [("a", "b"), (3, 5)])
def test_frames(library, names):
    pytest.importorskip(library)
    emb = make(names)
    frame = emb.to_dataframe(library)
    assert frame.shape == ((2, 4) if library == "pandas" else (2, 5))
    same(Embedding.from_dataframe(frame), emb)


def test_sizes_are_counts_in_gensim():
    pytest.importorskip("gensim")
    kv = make(["a", "b"], sizes=[5, 7]).to_gensim()
    assert kv.get_vecattr("b", "count") == 7


def test_frames_of_the_wrong_kind():
    with pytest.raises(InputError, match="library is 'dask'"):
        make().to_dataframe("dask")
    with pytest.raises(InputError, match="frame, not int"):
        Embedding.from_dataframe(3)


def test_pandas_and_polars_read_parquet(tmp_path):
    pl = pytest.importorskip("polars")
    emb = make()
    emb.save(tmp_path / "x.parquet")
    frame = pl.read_parquet(tmp_path / "x.parquet")
    assert frame["name"].to_list() == ["ada", "bob", "cyd"]
    np.testing.assert_array_equal(frame["vector"].to_numpy(), emb.vectors)
    # foreign parquet: names and one float column a dimension
    emb.to_dataframe("polars").write_parquet(tmp_path / "y.parquet")
    same(Embedding.load(tmp_path / "y.parquet"), emb)


@pytest.mark.parametrize("kind", ["fixed", "list", "large", "wide", "half", "double"])
@pytest.mark.parametrize("extension", ["parquet", "feather"])
def test_lists_and_columns_of_other_writers(tmp_path, kind, extension):
    import pyarrow as pa
    from pyarrow import feather, parquet

    emb = make(d=3)
    rows = emb.vectors.astype(np.float16 if kind == "half" else np.float64)
    emb = Embedding(rows, emb.names)
    number = {"half": pa.float16(), "double": pa.float64()}.get(kind, pa.float32())
    columns = {"name": pa.array(["ada", "bob", "cyd"])}
    if kind == "wide":
        columns |= {f"x{j}": pa.array(emb.vectors[:, j]) for j in range(3)}
    else:
        type_of = {"list": pa.list_, "large": pa.large_list}.get(kind, lambda value: pa.list_(value, 3))
        columns["vector"] = pa.array(list(rows.astype(number.to_pandas_dtype())), type_of(number))
    path = tmp_path / f"x.{extension}"
    write = parquet.write_table if extension == "parquet" else feather.write_feather
    write(pa.table(columns), str(path))
    same(Embedding.load(path), emb)


def test_parquet_holds_fixed_size_lists(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    make().save(tmp_path / "x.parquet")
    assert parquet.read_schema(tmp_path / "x.parquet").field("vector").type == pa.list_(pa.float32(), 4)


def test_projector_pair(tmp_path):
    emb = make(["ada lovelace", "bob"], d=2)
    emb.save(tmp_path / "x.tsv")
    assert (tmp_path / "x_metadata.tsv").read_text() == "ada lovelace\nbob\n"
    rows = [line.split("\t") for line in (tmp_path / "x.tsv").read_text().splitlines()]
    np.testing.assert_array_equal(np.array(rows, np.float32), emb.vectors)


def test_numpy_opens_the_own_format(tmp_path):
    emb = make()
    emb.save(tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz", allow_pickle=False) as archive:
        np.testing.assert_array_equal(archive["vectors"], emb.vectors)


def test_own_format_is_mapped_and_aligned(tmp_path):
    emb = make([f"n{i}" for i in range(1000)], d=7)
    emb.save(tmp_path / "x.svec")
    back = Embedding.load(tmp_path / "x.svec", mmap=True)
    base = back.vectors
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(base, mmap.mmap)
    assert back.vectors.ctypes.data % 64 == 0
    same(back, emb)
    assert back.most_similar("n0") == emb.most_similar("n0")
    with pytest.raises(ValueError, match="read-only"):
        back.vectors[0, 0] = 1


def test_same_embedding_same_bytes(tmp_path):
    for file in ("a.svec", "b.svec"):
        make().save(tmp_path / file)
    assert (tmp_path / "a.svec").read_bytes() == (tmp_path / "b.svec").read_bytes()


def test_names_with_spaces_in_word2vec(tmp_path):
    emb = make(["New York", "Oslo"])
    with pytest.warns(UserWarning, match="1 name changed .first: 'New York' is written 'New_York'"):
        emb.save(tmp_path / "x.txt")
    assert list(Embedding.load(tmp_path / "x.txt")) == ["New_York", "Oslo"]
    with pytest.raises(InputError, match="are both written 'a_b'"):
        make(["a b", "a_b"]).save(tmp_path / "y.txt")
    assert not (tmp_path / "y.txt").exists()


def test_tuple_names_in_text(tmp_path):
    with pytest.warns(UserWarning, match="2 names changed .first: .'ada', 3. is written 'ada@3'"):
        make([("ada", 3), ("bob", 4)]).save(tmp_path / "x.csv")
    assert list(Embedding.load(tmp_path / "x.csv")) == ["ada@3", "bob@4"]


def test_glove_style_text(tmp_path):
    path = tmp_path / "glove.txt"
    path.write_text("the 1 2 3\nof 4 5 6 \n. . 7 8 9\n")  # no header, a trailing space, a name with a space
    emb = Embedding.load(path)
    assert list(emb) == ["the", "of", ". ."]
    np.testing.assert_array_equal(emb[". ."], [7, 8, 9])


def test_windows_line_ends_and_byte_order_mark(tmp_path):
    path = tmp_path / "x.txt"
    path.write_bytes(b"\xef\xbb\xbf2 2\r\na 1 2\r\nb 3 4\r\n")
    emb = Embedding.load(path)
    assert list(emb) == ["a", "b"]
    np.testing.assert_array_equal(emb["b"], [3, 4])


def test_names_may_be_given_for_a_bare_matrix(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(3))
    (tmp_path / "n.txt").write_text("b\na\nc\n")
    for names in (["b", "a", "c"], tmp_path / "n.txt", str(tmp_path / "n.txt"), np.array(["b", "a", "c"])):
        assert list(Embedding.load(tmp_path / "x.npy", names=names)) == ["b", "a", "c"]
    with pytest.raises(InputError, match="names holds 2 names for 3 vectors"):
        Embedding.load(tmp_path / "x.npy", names=["a", "b"])
    with pytest.raises(InputError, match="duplicate"):
        Embedding.load(tmp_path / "x.npy", names=["a", "b", "a"])
    (tmp_path / "n.txt").write_text("7\n5\n6\n")
    assert list(Embedding.load(tmp_path / "x.npy", names=tmp_path / "n.txt")) == [7, 5, 6]


def test_npy_with_words_beside(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(2, dtype=np.float16))
    assert list(Embedding.load(tmp_path / "x.npy")) == [0, 1]
    (tmp_path / "x_words.txt").write_text("a\nb\u2028c\n")
    assert list(Embedding.load(tmp_path / "x.npy")) == ["a", "b\u2028c"]
    (tmp_path / "x_words.txt").write_text("a\n")
    with pytest.raises(InputError, match="2 vectors, but the file of names beside it holds 1"):
        Embedding.load(tmp_path / "x.npy")


def test_standard_streams(monkeypatch, capfdbinary):
    emb = make()
    for format in ("word2vec", "word2vec-binary", "softvec", "parquet", "csv"):
        emb.save("-", format)
        written = capfdbinary.readouterr().out
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(written)))
        same(Embedding.load("-", "csv" if format == "csv" else None), emb)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(InputError, match="standard input is empty"):
        Embedding.load("-")
    with pytest.raises(InputError, match="two files"):
        emb.save("-", "tsv")


def test_format_names():
    with pytest.raises(InputError, match=r"extension '\.xyz'"):
        format_of("a.xyz")
    with pytest.raises(InputError, match="format is 'pickle'"):
        format_of("a.txt", "pickle")
    with pytest.raises(InputError, match="not written gzipped"):
        make().save("x.svec.gz")


@pytest.mark.parametrize(
    ("text", "integer"),
    [("0", True), ("-5", True), ("00", False), ("-0", False), ("1.0", False), ("²", False)],
)
def test_which_names_are_integers(text, integer):
    assert isinstance(parse_names([text])[0], int) == integer


# writes are whole or nothing


def test_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x.svec"
    make(seed=1).save(path)
    before = path.read_bytes()

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(KeyboardInterrupt):
        make(seed=2).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["x.svec"]


def test_atomic_write_keeps_permissions_and_links(tmp_path):
    real = tmp_path / "real.txt"
    real.write_text("old")
    real.chmod(0o640)
    (tmp_path / "link.txt").symlink_to(real)
    with atomic_write(tmp_path / "link.txt", "w") as file:
        file.write("new")
    assert real.read_text() == "new"
    assert real.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "link.txt").is_symlink()


def test_atomic_write_refuses_directories(tmp_path):
    with pytest.raises(InputError, match="is a directory"), atomic_write(tmp_path):
        pass
    with pytest.raises(InputError, match="does not exist"), atomic_write(tmp_path / "no" / "x"):
        pass
    with pytest.raises(ValueError, match="mode"), atomic_write(tmp_path / "x", "a"):
        pass


# damaged and hostile files: always one InputError that names the file


def expect_error(path, match="", **options):
    with pytest.raises(InputError, match=match) as caught:
        Embedding.load(path, **options)
    assert path.name in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("file", ALL)
def test_every_truncation_is_an_error_or_a_shorter_text(tmp_path, file):
    whole, cut = tmp_path / ("whole" + file[1:]), tmp_path / ("cut" + file[1:])
    make([f"n{i}" for i in range(20)]).save(whole)
    data = whole.read_bytes()
    for size in {0, 1, 10, len(data) // 3, len(data) // 2, len(data) - 30, len(data) - 1}:
        cut.write_bytes(data[:size])
        if size == len(data) - 1 or (size > 10 and file == "x.csv") or (size and file == "x.tsv"):
            # a csv or tsv has no count and no checksum: a cut number is another number
            with contextlib.suppress(InputError):
                assert len(Embedding.load(cut)) <= 20
        else:
            with pytest.raises(InputError, match="cut"):
                Embedding.load(cut)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_flipped_byte_never_crashes_or_lies(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("x") / "x.svec"
    emb = make()
    emb.save(path)
    raw = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(raw) - 1))
    raw[at] ^= data.draw(st.integers(1, 255))
    path.write_bytes(raw)
    with contextlib.suppress(InputError):
        same(Embedding.load(path), emb)  # padding or a date: nothing that matters changed
    with contextlib.suppress(InputError):
        Embedding.load(path, mmap=True)  # no checksum is read here, so the numbers may differ


def rezip(path, change, compress=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    change(members)
    with zipfile.ZipFile(path, "w", compress) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def with_json(**changes):
    def change(members):
        members["softvec.json"] = json.dumps(json.loads(members["softvec.json"]) | changes).encode()

    return change


HOSTILE = {
    "pickle": (lambda m: m.update({"vectors.npy": npy(np.array([{}], object))}), "never unpickled"),
    "huge": (
        lambda m: m.update({"vectors.npy": m["vectors.npy"].replace(b"(3, 4)", b"(9999999999, 4)")[:-8]}),
        "damaged",
    ),
    "negative": (
        lambda m: m.update({"vectors.npy": m["vectors.npy"].replace(b"(3, 4), }", b"(-3, 4),}")}),
        "damaged",
    ),
    "missing": (lambda m: m.pop("vectors.npy"), "vectors is missing"),
    "no names": (lambda m: [m.pop(k) for k in list(m) if k.startswith("names/")], "names"),
    "offsets": (
        lambda m: m.update({"names/offsets.npy": npy(np.array([0, 3, 2, 9], np.int64))}),
        "out of order",
    ),
    "offsets beyond": (
        lambda m: m.update({"names/offsets.npy": npy(np.array([0, 3, 6, 1 << 40], np.int64))}),
        "out of order",
    ),
    "not utf-8": (lambda m: m.update({"names/utf8.npy": npy(np.full(9, 255, np.uint8))}), "names"),
    "json": (lambda m: m.update({"softvec.json": b"{"}), "not JSON"),
    "deep json": (lambda m: m.update({"softvec.json": b"[" * 100_000}), "not JSON"),
    "foreign json": (lambda m: m.update({"softvec.json": b"[]"}), "not a file of vectors"),
    "newer": (with_json(version=99), "install a newer softvec"),
    "shape": (with_json(shape=[3, 5]), "description says"),
    "provenance": (with_json(provenance=[]), "provenance"),
    "float64": (lambda m: m.update({"vectors.npy": npy(np.eye(3, 4))}), "damaged"),
    "fewer names": (with_json(), None),
}


@pytest.mark.parametrize("case", [name for name, (_, match) in HOSTILE.items() if match])
@pytest.mark.parametrize("mmap", [False, True])
def test_hostile_archives(tmp_path, case, mmap):
    path = tmp_path / "x.svec"
    make().save(path)
    change, match = HOSTILE[case]
    rezip(path, change)
    expect_error(path, match, mmap=mmap)


def test_compressed_archive_is_refused(tmp_path):
    path = tmp_path / "x.svec"
    make().save(path)
    rezip(path, lambda members: None, zipfile.ZIP_DEFLATED)
    expect_error(path, "damaged")


def test_foreign_files(tmp_path):
    from scipy import sparse

    sparse.save_npz(tmp_path / "matrix.npz", sparse.eye(3))
    expect_error(tmp_path / "matrix.npz", "SciPy sparse matrix")
    (tmp_path / "x.svec").write_bytes(b"hello there")
    expect_error(tmp_path / "x.svec", "not a softvec file")
    np.save(tmp_path / "o.npy", np.array([{}], object), allow_pickle=True)
    expect_error(tmp_path / "o.npy", "never unpickled")
    np.save(tmp_path / "flat.npy", np.arange(3))
    expect_error(tmp_path / "flat.npy", "expected rows of numbers")
    (tmp_path / "d.svec").mkdir()
    expect_error(tmp_path / "d.svec", "is a directory")
    expect_error(tmp_path / "none.svec", "no such file")


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"2 2\na 1 2\n", "declares 2 vectors, 1 follow"),
        (b"2 3\na 1 2\nb 1 2\n", "line 2"),
        (b"a 1 2\nb 1\n", "line 2: 1 numbers"),
        (b"a 1 2\nb 1 x\n", "line 2: expected a name and numbers"),
        (b"a 1 2\nb 1 nan\n", "'b' holds missing, NaN"),
        (b"2 2\n", "no vectors"),
        (b"hello\n", "no vectors"),
        (b"a 1 2\n\xff 1 2\n", "line 2: the name is not UTF-8"),
        (b"a 1 2\na 1 2\n", "unique"),
    ],
)
def test_malformed_text(tmp_path, content, match):
    path = tmp_path / "x.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=match):
        Embedding.load(path)


def test_csv_of_other_writers(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('x,name,y\n1,"a\nb",2\n3,"c, d",4\n')
    emb = Embedding.load(path)
    assert list(emb) == ["a\nb", "c, d"]
    np.testing.assert_array_equal(emb.vectors, [[1, 2], [3, 4]])
    for row, message in (("b,3", "line 4: 1 numbers"), ("b,3,z", "line 4: exp"), ("b,3,4,5", "line 4: exp")):
        path.write_text(f'name,x,y\n"a\nc",1,2\n{row}\n')
        expect_error(path, message)


def test_malformed_binary(tmp_path):
    path = tmp_path / "x.bin"
    path.write_bytes(b"1000000000000 300\nabc" + struct.pack("<4f", 1, 2, 3, 4))
    expect_error(path, "it declares 1,000,000,000,000 vectors")
    path.write_bytes(b"no numbers here\n")
    expect_error(path, "not two numbers")


def test_truncated_gzip(tmp_path):
    path = tmp_path / "x.txt.gz"
    path.write_bytes(gzip.compress(b"2 2\na 1 2\nb 3 4\n" * 50)[:-12])
    expect_error(path, "gzip")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs file permissions that bind")
def test_no_permission(tmp_path):
    path = tmp_path / "x.svec"
    make().save(path)
    path.chmod(0)
    expect_error(path, "permission denied")
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(InputError, match="cannot write"):
            make().save(tmp_path / "y.svec")
    finally:
        tmp_path.chmod(0o700)


REPEATED = {
    "strings": ["ada", "ada", "cyd"],
    "integers": [7, 3, 7],
    "pairs": [("ada", 1), ("bob", 2), ("ada", 1)],
}


@pytest.mark.parametrize("kind", list(REPEATED))
@pytest.mark.parametrize("file", KEEP_EVERYTHING)
def test_duplicate_names_in_a_file_are_refused(tmp_path, monkeypatch, file, kind):
    emb = make()
    with monkeypatch.context() as patch:  # a writer that does not look
        patch.setattr("softvec.names.storage.refuse_duplicates", lambda store: None)
        object.__setattr__(emb, "names", type(emb.names)(REPEATED[kind]))
        emb.save(tmp_path / file)
    with pytest.raises(InputError, match=rf"{file}: duplicate name .* \(rows \d and \d\)"):
        Embedding.load(tmp_path / file)


def test_duplicates_among_pairs_of_codes_are_refused():
    from softvec.names import Names

    first, second = Names(["ada", "bob"]), Names.range(3)
    codes = (np.array([0, 1, 0]), np.array([2, 2, 2]))
    with pytest.raises(InputError, match=r"duplicate name \('ada', 2\) \(rows 0 and 2\)"):
        Names.from_arrays(Names.from_codes(first, second, codes).to_arrays())
    Names.from_arrays(Names.from_codes(first, second, (codes[0], np.array([2, 2, 1]))).to_arrays())


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("x.csv", "name,d0,d1\na,1,2\nb,2,3\na,3,4\n"),
        ("x.txt", "3 2\na 1 2\nb 2 3\na 3 4\n"),
        ("x.vec", "a 1 2\nb 2 3\na 3 4\n"),
    ],
)
def test_duplicate_names_in_a_text_are_refused(tmp_path, file, text):
    (tmp_path / file).write_text(text)
    with pytest.raises(InputError, match=rf"{file}: duplicate name 'a' \(rows 0 and 2\)"):
        Embedding.load(tmp_path / file)


@pytest.mark.parametrize("name", ["v.svec", "v.npz", "v.parquet", "v.feather", "v/"])
def test_both_sides_may_have_the_same_names(tmp_path, name):
    X = np.arange(12, dtype=np.float32).reshape(6, 2) + 1
    emb = Embedding(X, list("abcdef"), context_vectors=-X, context_names=list("abcdef"), sizes=np.arange(6.0))
    emb.save(f"{tmp_path}/{name}")
    again = Embedding.load(f"{tmp_path}/{name}")
    np.testing.assert_array_equal(again.vectors, X)
    np.testing.assert_array_equal(again.context_vectors, -X)
    assert list(again.names) == list(again.context_names) == list("abcdef")
    np.testing.assert_array_equal(again.sizes, emb.sizes)
