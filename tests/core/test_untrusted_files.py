"""Files made to break a reader, each a few bytes: refused with one line, without a crash or an expansion."""

import contextlib
import gzip
import io
import json
import os
import pty
import struct
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.io import loadmat, mmread, mmwrite, savemat

from softvec import Embedding
from softvec.affinity import as_affinity
from softvec.api import to_affinity
from softvec.cli import run
from softvec.core.errors import CODES, InputError, printable
from softvec.core.untrusted import VARIABLE, most_expanded
from softvec.names import Names
from softvec.operators import Sparse, checked_csr
from softvec.read.labels import read_labels

# SciPy 1.18 warns of what its own readers will return; older ones lack the option that would silence it
SLOW = pytest.mark.slow
OF_SCIPY = pytest.mark.filterwarnings("ignore:The default value for `spmatrix`:DeprecationWarning")


def refused(path, match, read=to_affinity):
    with pytest.raises(InputError, match=match) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def ring(n=6):
    i = np.arange(n)
    return sparse.csr_array((np.ones(n), (i, (i + 1) % n)), shape=(n, n))


# sparse matrices


def broken(format, change):
    matrix = ring().asformat(format)
    change(matrix)
    return matrix


BROKEN = {
    "column": ("csr", lambda A: A.indices.__setitem__(2, 99), "column 99, outside its 6 columns"),
    "negative": ("csr", lambda A: A.indices.__setitem__(2, -1), "column -1, outside"),
    "row": ("csc", lambda A: A.indices.__setitem__(0, 6), "row 6, outside its 6 rows"),
    "decreasing": ("csr", lambda A: A.indptr.__setitem__(2, 5), "decreases"),
    "start": ("csr", lambda A: A.indptr.__setitem__(0, 1), "does not start at 0"),
    "long": ("csr", lambda A: A.indptr.__setitem__(-1, 7), "indptr ends at 7"),
    "short": ("csr", lambda A: setattr(A, "indptr", A.indptr[:-2]), "indptr has 5 entries; expected 7"),
    "values": ("csr", lambda A: setattr(A, "data", A.data[:-1]), "6 indices and 5 values"),
    "coo": ("coo", lambda A: A.col.__setitem__(0, 1 << 20), "column 1048576, outside"),
    "block": ("bsr", lambda A: A.indices.__setitem__(0, 77), "column 77, outside"),
    "diagonal": ("dia", lambda A: A.offsets.__setitem__(0, 2_000_000), "a diagonal lies outside"),
}


@pytest.mark.parametrize("case", BROKEN)
@pytest.mark.parametrize(
    "enter", [Sparse, checked_csr, as_affinity, lambda A: as_affinity(A, kind="features")]
)
def test_indices_outside_the_shape_stop_at_the_door(case, enter):
    format, change, match = BROKEN[case]
    with pytest.raises(InputError, match=match):
        enter(broken(format, change))


def test_the_door_lets_every_valid_matrix_through_unchanged():
    dense = np.where(np.random.default_rng(0).random((6, 8)) < 0.4, 1.5, 0.0)
    for format in ("csr", "csc", "coo", "bsr", "dia", "lil", "dok"):
        assert np.array_equal(checked_csr(sparse.csr_array(dense).asformat(format)).toarray(), dense)
    assert checked_csr(sparse.csr_array((0, 3))).shape == (0, 3)
    wide = sparse.csr_array(dense)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert np.allclose(Sparse(wide) @ np.eye(8), dense)
    roomy = sparse.csr_array(dense)  # SciPy keeps room behind the last entry
    roomy.indices, roomy.data = np.append(roomy.indices, 10**6), np.append(roomy.data, np.nan)
    assert Sparse(roomy).nnz == np.count_nonzero(dense)
    assert np.allclose(Sparse(roomy) @ np.eye(8), dense)


def test_duplicates_and_order_do_not_matter():
    parts = (np.array([1.0, 2.0, 3.0]), np.array([2, 0, 2]), np.array([0, 3, 3, 3]))
    messy = sparse.csr_array(parts, shape=(3, 3))
    assert np.allclose(Sparse(messy) @ np.eye(3), [[2, 0, 4], [0, 0, 0], [0, 0, 0]])
    assert as_affinity(messy, kind="graph", self_loops="keep").counts.toarray()[0].tolist() == [2, 0, 4]


@pytest.mark.parametrize(
    "case", [name for name, (format, *_) in BROKEN.items() if format in ("csr", "csc", "coo")]
)
def test_npz_with_wrong_indices(tmp_path, case):
    format, change, match = BROKEN[case]
    matrix = ring().asformat(format)
    change(matrix)
    path = tmp_path / "a.npz"
    sparse.save_npz(path, matrix)
    if case in ("start", "long", "values", "short", "coo"):
        match = "not a readable sparse matrix|" + match  # SciPy sees these
    with pytest.raises(InputError, match=match):
        to_affinity(path)
    with pytest.raises(InputError, match=match):
        read_labels(path, Names.range(6))


@pytest.mark.parametrize("compressed", [False, True])
def test_mat_with_wrong_indices(tmp_path, compressed):
    path = tmp_path / "a.mat"
    for case in ("row", "decreasing", "negative"):
        matrix = ring().tocsc()
        BROKEN[case][1](matrix)
        savemat(path, {"A": matrix}, do_compression=compressed)
        with pytest.raises(InputError, match=r"outside its 6 rows|decreases"):
            to_affinity(path)


# MATLAB files


@OF_SCIPY
@pytest.mark.parametrize("compressed", [False, True])
def test_matlab_agrees_with_scipy(tmp_path, compressed):
    from softvec.read.foreign import read_mat
    from softvec.read.streams import open_source

    rng = np.random.default_rng(0)
    matrices = {
        "dense": rng.random((4, 3)),
        "small": np.arange(6, dtype=np.uint8).reshape(2, 3),
        "flags": rng.random((3, 3)) < 0.5,
        "sparse": sparse.random_array((7, 5), density=0.4, random_state=rng, format="csc"),
        "flagged": sparse.csc_array(rng.random((4, 4)) < 0.5),
    }
    others = {
        "cube": rng.random((2, 3, 4)),
        "waves": rng.random((9, 9)) + 1j,
        "names": np.array(["añn", "b", ""], dtype=object),
        "column_names": np.array(["ann", "bob", "cyd"]),
        "struct": {"a": 1.0, "b": {"c": "x"}},
    }
    path = tmp_path / "a.mat"
    savemat(path, matrices | others, do_compression=compressed)
    theirs = loadmat(path)
    for name in matrices:
        mine = read_mat(open_source(path), name)
        expected, found = theirs[name], mine.matrix
        if sparse.issparse(expected):
            expected, found = expected.toarray(), found.toarray()
        assert np.array_equal(expected, found), name
        n, m = found.shape
        assert mine.names == (["añn", "b", ""] if n == 3 else None)
        assert mine.column_names == (["ann", "bob", "cyd"] if m == 3 else None)
    assert read_mat(open_source(path)).matrix.shape == (4, 4)  # sparse before square before large
    with pytest.raises(InputError, match="no matrix 'cube'; it has dense"):
        read_mat(open_source(path), "cube")


@pytest.mark.parametrize(
    "value", [0xFFFFFFFF, pytest.param(0x7FFFFFFF, marks=SLOW), pytest.param(0, marks=SLOW)]
)
def test_matlab_sizes_are_not_trusted(tmp_path, value):
    path = tmp_path / "a.mat"
    savemat(path, {"A": np.ones((2, 2))})
    good = path.read_bytes()
    for at in range(128, len(good) - 4, 4):  # every word, as an absurd size, kind or number
        path.write_bytes(good[:at] + struct.pack("<I", value) + good[at + 4 :])
        with contextlib.suppress(InputError):  # anything else, or a crash, fails
            to_affinity(path)


def test_a_packed_matlab_file_does_not_fill_the_memory(tmp_path, monkeypatch):
    path = tmp_path / "a.mat"
    savemat(path, {"A": np.zeros((3000, 3000))}, do_compression=True)
    monkeypatch.setenv(VARIABLE, "64MiB")
    with pytest.raises(InputError, match=r"its variables would take 72,000,000.*SOFTVEC_MAX_EXPANDED"):
        to_affinity(path)


# Matrix Market files

MARKET = {
    "nul": (
        b"%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 \x001\n2 3 1\n",
        "line 3: a zero byte",
    ),
    "cut": (b"%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 1\n2", "line 4: '2'; expected a row"),
    "sizes": (
        b"%%MatrixMarket matrix coordinate real general\n3 3\n",
        "line 2: '3 3' is not a line of 3 sizes",
    ),
    "none": (b"%%MatrixMarket matrix coordinate real general\n% no more\n", "no line of sizes"),
    "giant": (b"%%MatrixMarket matrix coordinate real general\n999999999999 9 1\n1 1 1\n", VARIABLE),
    "array": (
        b"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n",
        "declares 4 numbers, but 3 follow",
    ),
    "word": (b"%%MatrixMarket matrix array real general\n1 2\n1\nx\n", "line 4: 'x'; expected a number"),
    "complex": (b"%%MatrixMarket matrix array complex general\n1 1\n1 2\n", "complex numbers"),
    "oblong": (
        b"%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n1 2 1\n",
        "symmetric, but its shape",
    ),
}


@pytest.mark.parametrize("case", MARKET)
def test_matrix_market_damage(tmp_path, case):
    path = tmp_path / "a.mtx"
    path.write_bytes(MARKET[case][0])
    refused(path, MARKET[case][1])


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("field", ["real", "integer"])
@pytest.mark.parametrize("dense", [False, True])
def test_matrix_market_agrees_with_scipy(tmp_path, symmetry, field, dense):
    from softvec.read.matrices import read_matrix_market
    from softvec.read.streams import open_source

    rng = np.random.default_rng(1)
    A = np.where(rng.random((9, 9)) < 0.5, rng.integers(1, 99, (9, 9)), 0).astype(float)
    A = A + A.T if symmetry == "symmetric" else A - A.T if symmetry == "skew-symmetric" else A
    path = tmp_path / "a.mtx"
    mmwrite(path, A if dense else sparse.coo_array(A), symmetry=symmetry, field=field, comment="a note")
    assert np.array_equal(read_matrix_market(open_source(path)).matrix.toarray(), A)
    spaced = path.read_bytes().replace(b" ", b"  \t").replace(b"\n", b" \r\n  ")
    path.write_bytes(spaced.replace(b"%%MatrixMarket  \tmatrix", b"%%MatrixMarket matrix").rstrip())
    assert np.array_equal(read_matrix_market(open_source(path)).matrix.toarray(), A)


@OF_SCIPY
def test_matrix_market_repeats_and_patterns(tmp_path):
    path = tmp_path / "a.mtx"
    path.write_bytes(b"%%MatrixMarket matrix coordinate pattern general\n%\n\n3 3 3\n1 2\n1 2\n+3 1\n")
    expected = mmread(io.BytesIO(path.read_bytes().replace(b"+", b""))).toarray()
    from softvec.read.matrices import read_matrix_market
    from softvec.read.streams import open_source

    assert np.array_equal(read_matrix_market(open_source(path)).matrix.toarray(), expected)


def test_names_of_the_wrong_type(tmp_path):
    path = tmp_path / "a.svec"
    Embedding(np.eye(3), [3, 5, 9]).save(path)
    new = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(new, "w") as archive:
        for info in old.infolist():
            archive.writestr(info, old.read(info).replace(b"<i8", b"<f8"))
    path.write_bytes(new.getvalue())
    refused(path, "names cannot be read", Embedding.load)


def test_half_precision_in_an_archive(tmp_path):
    np.savez(tmp_path / "a.npz", np.ones((3, 3), np.float16))
    assert to_affinity(tmp_path / "a.npz").shape == (3, 3)


def test_a_carriage_return_among_quotes(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b'"a","b"\n"c",d\re\n')
    with pytest.raises(InputError):
        to_affinity(path)


# headers that lie, and archives that expand


def npy_header(shape, descr="<f8"):
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head


@pytest.mark.parametrize(
    ("shape", "descr", "match"),
    [
        ("(999999999999, 99)", "<f8", "declares float64 of shape"),
        ("(-1, 4)", "<f8", "declares the shape"),
        ("(2, 2", "<f8", "not a readable .npy file"),
        ("(2, 2)", "|O", "never unpickled"),
        ("(4,)", "|V8", "expected numbers or text"),
    ],
)
def test_npy_headers_that_lie(tmp_path, shape, descr, match):
    path = tmp_path / "a.npy"
    path.write_bytes(npy_header(shape, descr) + bytes(32))
    refused(path, match)
    for mmap in (False, True):
        refused(path, match, lambda path, mmap=mmap: Embedding.load(path, mmap=mmap))
    refused(path, match, lambda path: read_labels(path, Names.range(4)))


@pytest.mark.parametrize("name", ["a.bin", "a.vec"])
@pytest.mark.parametrize("head", [b"3 999999999999\n", b"999999999999999 3\n", b"0 99999999999999999\n"])
def test_word2vec_headers_that_lie(tmp_path, name, head):
    path = tmp_path / name
    path.write_bytes(head + b"ann 1 2\n")
    refused(path, "declares|two numbers above 0", Embedding.load)


def test_vectors_are_finite(tmp_path):
    V = np.ones((3, 2), np.float32)
    Embedding(V).save(tmp_path / "a.svec")
    data = (tmp_path / "a.svec").read_bytes()
    members = {info.filename: info for info in zipfile.ZipFile(io.BytesIO(data)).infolist()}
    at = data.index(V.tobytes(), members["vectors.npy"].header_offset)
    spoilt = bytearray(data)
    spoilt[at + 8 : at + 12] = struct.pack("<f", np.inf)
    new = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(new, "w") as archive:
        for info in old.infolist():
            content = old.read(info)
            archive.writestr(info, content.replace(V.tobytes(), bytes(spoilt[at : at + V.nbytes])))
    (tmp_path / "a.svec").write_bytes(new.getvalue())
    refused(tmp_path / "a.svec", "the vector in row 2 holds missing, NaN or infinite", Embedding.load)
    for bad in (np.nan, 1e300):  # the second is infinite as float32
        np.save(tmp_path / "a.npy", np.array([[1.0, 2.0], [bad, 1.0]]))
        refused(tmp_path / "a.npy", "the vector in row 2 holds", Embedding.load)


def bomb(size):
    """A gzip of zeros, made without holding them."""
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=9) as file:
        for _ in range(size >> 20):
            file.write(bytes(1 << 20))
    return out.getvalue()


@pytest.mark.parametrize("name", ["a.vec", "a.csv", "a.npy", "a.tsv"])
def test_gzip_bombs_of_vectors(tmp_path, monkeypatch, name):
    monkeypatch.setenv(VARIABLE, "16MiB")
    path = tmp_path / f"{name}.gz"
    start = npy_header(f"({1 << 22}, 8)") if name == "a.npy" else b""
    path.write_bytes(gzip.compress(start) + bomb(64 << 20))
    refused(path, f"more than the 16,777,216 allowed.*{VARIABLE}=", Embedding.load)


def test_gzip_bombs_of_data_and_labels(tmp_path, monkeypatch):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(bomb(64 << 20))
    refused(path, "line 1: a zero byte")  # text is streamed: the first block says it
    monkeypatch.setenv(VARIABLE, "16MiB")
    refused(path, VARIABLE, lambda path: read_labels(path, Names.range(3)))
    path = tmp_path / "a.npy.gz"
    path.write_bytes(gzip.compress(npy_header(f"({1 << 12}, {1 << 11})")) + bomb(64 << 20))
    refused(path, VARIABLE)


def test_zip_bombs(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, np.zeros((1024, 4096)))
    assert to_affinity(path).shape == (1024, 4096)
    monkeypatch.setenv(VARIABLE, "1MB")
    refused(path, f"its arrays would take 33,554,.* if you trust it, set {VARIABLE}=1GiB")
    monkeypatch.setenv(VARIABLE, "1GiB")
    assert to_affinity(path).shape == (1024, 4096)


def test_a_matrix_of_rows_alone_is_an_expansion(tmp_path):
    path = tmp_path / "a.npz"
    parts = {"format": b"coo", "shape": np.array([10**12, 10**12]), "data": np.ones(1)}
    np.savez(path, row=np.array([0]), col=np.array([1]), **parts)
    refused(path, "its matrix of 1,000,000,000,000 x 1,000,000,000,000 would take")


def test_giant_row_groups(tmp_path, monkeypatch):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    n = 300_000
    pq.write_table(
        pa.table({"source": pa.array(np.zeros(n, np.int64)), "target": pa.array(np.ones(n, np.int64))}), path
    )
    assert path.stat().st_size < 10_000
    assert to_affinity(path, kind="graph").shape == (2, 2)
    monkeypatch.setenv(VARIABLE, "1MiB")
    refused(path, "its rows would take 4,800,000")


def test_the_limit_is_stated_and_can_be_raised(monkeypatch):
    assert most_expanded(0) == 512 << 20
    assert most_expanded(1 << 30) == 64 << 30
    for text, size in {"8GiB": 8 << 30, "100": 100, "2 MB": 2 << 20, "1k": 1024}.items():
        monkeypatch.setenv(VARIABLE, text)
        assert most_expanded(10) == size
    monkeypatch.setenv(VARIABLE, "plenty")
    with pytest.raises(InputError, match="expected a number of bytes"):
        most_expanded(10)


# Arrow


def test_arrow_is_validated_before_it_is_used(tmp_path):
    import pyarrow as pa

    names = pa.array(["ann", "bob", "cyd"])
    table = pa.table({"source": names, "target": names.take(pa.array([1, 2, 0]))})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    good = sink.getvalue().to_pybytes()
    path = tmp_path / "a.arrow"
    offsets = struct.pack("<4i", 0, 3, 6, 9)
    for wrong in (struct.pack("<4i", 0, 3, 1 << 30, 9), struct.pack("<4i", 0, -5, 6, 9)):
        path.write_bytes(good.replace(offsets, wrong))
        refused(path, "not a readable arrow file")
    path.write_bytes(good.replace(b"annbobcyd", b"ann\xffobcyd"))
    refused(path, "not a readable arrow file")


# XML

LAUGHS = b"""<?xml version="1.0"?><!DOCTYPE graphml [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">
<node id="&b;"/></graph></graphml>"""


@pytest.mark.parametrize(
    "text", [LAUGHS, LAUGHS.replace(b'b "&a;&a;&a;&a;"', b'b SYSTEM "file:///etc/passwd"')]
)
def test_xml_entities_are_refused(tmp_path, text):
    pytest.importorskip("networkx")
    path = tmp_path / "a.graphml"
    path.write_bytes(text)
    refused(path, "declares XML entities")


# names

NASTY = ["a\x1b]0;owned\x07", "b\x9b2Jx", "c\u202edcb", "d\te\nf", "[red]g[/red]", "<script>h</script>"]


def test_printable():
    assert printable("añ é 漢 😀 g\\") == "añ é 漢 😀 g\\"
    for name in NASTY:
        shown = printable(name)
        assert not any(ord(c) < 32 or 127 <= ord(c) < 160 or c == "\u202e" for c in shown)
    assert printable("\ud800") == "\\ud800"


@pytest.fixture
def nasty(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Embedding(np.random.default_rng(0).standard_normal((6, 3)), NASTY).save("v.svec")
    plain = [name for name in NASTY if "\n" not in name]
    labels = [f"{name}\tg{i % 2}\x1b[31m\n" for i, name in enumerate(plain)]
    Path("labels.tsv").write_text("".join(labels))
    edges = [f"{a}\t{b}\n" for a in plain for b in plain if a < b]
    Path("e\x1b[2J.tsv").write_text("".join(edges))
    Path("ragged\x1b[2J.tsv").write_text("a\x1b[2J\tb\t1\n" * 3 + "x\x1b[2J\ty\n")


COMMANDS = [
    ("info", "v.svec"),
    ("neighbors", "v.svec", NASTY[0], NASTY[1]),
    ("neighbors", "v.svec", NASTY[0], "--json"),
    ("similarity", "v.svec", NASTY[1], NASTY[2]),
    ("communities", "v.svec", "-o", "-"),
    ("neighbors", "v.svec", "no\x1b[2J such"),
    ("info", "no\x1b[2J such"),
    ("predict", "v.svec", "labels.tsv"),
    ("evaluate", "v.svec", "labels.tsv"),
    ("convert", "v.svec", "o\x1b[2J.csv"),
    ("map", "v.svec", "-o", "m\x1b[2J.html"),
    ("embed", "e\x1b[2J.tsv", "-d", "2", "-o", "x\x1b[2J.svec"),
    ("embed", "e\x1b[2J.tsv", "-o", "no\x1b[2J/x.svec"),
    ("info", "e\x1b[2J.tsv"),
    ("info", "ragged\x1b[2J.tsv"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:1]))
def test_names_reach_the_terminal_as_text(nasty, capsys, command):
    run(list(command))
    captured = capsys.readouterr()
    shown = (captured.out + captured.err).replace("\n", "").replace("\t", "")
    assert printable(shown) == shown
    if "--json" in command:
        found = json.loads(captured.out)[NASTY[0]]
        assert {row["name"] for row in found} == set(NASTY[1:])  # escaped, and whole again when read


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no terminals to open")
def test_names_on_a_real_terminal(nasty):
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(NO_COLOR="1", TERM="dumb", COLUMNS="200")
        os.execv(sys.executable, [sys.executable, "-m", "softvec", "neighbors", "v.svec", NASTY[2]])
    shown = b""
    try:
        while block := os.read(terminal, 65_536):
            shown += block
    except OSError:  # how Linux tells that the other end is closed
        pass
    os.waitpid(pid, 0)
    text = shown.decode()
    assert r"a\x1b]0;owned\x07" in text
    assert r"b\x9b2Jx" in text
    assert "[red]g[/red]" in text
    assert "\x1b]0;" not in text
    assert "\u202e" not in text


def test_names_in_notebooks_are_escaped():
    html = Embedding(np.eye(3), ["<script>x</script>", "a\x1b[2J", "&amp;"])._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "\x1b" not in html
    assert "&amp;amp;" in html


@pytest.mark.parametrize("name", ["a\x1b]0;owned\x07.txt", "a\nb.txt", "a\u202eb.txt"])
def test_errors_show_codes_in_file_names_as_text(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"\x00\xff")
    with pytest.raises(InputError) as caught:
        to_affinity(path)
    assert not CODES.search(str(caught.value))


def test_graphml_in_utf_16_is_a_graph(tmp_path):
    path = tmp_path / "g.graphml"
    graph = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">'
    graph += '<edge source="a" target="b"/></graph></graphml>'
    path.write_text(graph, encoding="utf-16")
    assert sorted(to_affinity(path).rows) == ["a", "b"]
    path.write_text('<!DOCTYPE g [<!ENTITY e "x">]>' + graph, encoding="utf-16")
    with pytest.raises(InputError, match="declares XML entities"):
        to_affinity(path)
    path.write_text("<gexf>" + graph[9:], encoding="utf-16")
    with pytest.raises(InputError, match="is not a readable gexf file"):
        to_affinity(path)
