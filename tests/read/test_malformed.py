"""Damaged and odd files: the right result, or one clear error that names the file and the line."""

import builtins
import contextlib
import gzip

import numpy as np
import pytest
from scipy import sparse

import softvec
import softvec.affinity as sio
from softvec.core.errors import GuessWarning, InputError


@pytest.fixture(params=["python", "compiled"])
def road(request, monkeypatch):
    if request.param == "compiled":
        monkeypatch.setattr("softvec.kernels.SMALL", 0)
    return request.param


MTX = b"%%MatrixMarket matrix coordinate real general\n"
GOOD = "".join(f"{i} {i + 1}\n" for i in range(30))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("ragged.txt", GOOD + "1 2 3\n", "line 31: 3 columns where other lines have 2"),
        ("short.txt", GOOD + "1\n" + GOOD, "line 31: 1 column where other lines have 2.*'1'"),
        ("comments.txt", "# x\n\n" + GOOD + "1 2 3\n", "line 33: 3 columns"),
        ("mixed.txt", GOOD + "5,6\n", "line 31: 1 column where .* separated by blanks: '5,6'"),
        ("mixed.csv", "1,2\n3,4\n5;6\n", "line 3: 1 column where other lines have 2, separated by commas"),
        ("mixed.tsv", "a\tb\nc c\td\ne f\n", "line 3: 1 column where other lines have 2, separated by tabs"),
        ("latin.txt", b"a b\nc \xe9\n", "line 2: byte 0xe9 is not UTF-8.*encoding='latin-1'"),
        ("zero.txt", b"a b\nc \0d\n", "line 2: a zero byte"),
        ("header.csv", "source,target,weight\n", "has a header, source, target, weight, and nothing"),
        ("empty.txt", "", "is empty"),
        ("comment.txt", "# nothing\n\n", "is empty"),
        ("blank.txt", "\n\n  \n", "is empty"),
        ("negative.txt", "a b 1\nb c -2.5\n", r"line 2: the weight -2\.5 is negative.*negative='drop'"),
        ("nan.txt", "a b 1\n# note\nb c nan\n", "line 3: the weight nan is not finite"),
        ("inf.txt", "a b 1\nb c inf\n", "line 2: the weight inf is not finite"),
        ("word.edges", GOOD.replace("\n", " 1\n") + "a b x\n", "line 31: the weight 'x' is not a number"),
        ("score.edges", GOOD.replace("\n", " 1\n") + "a b 1_0\n", "line 31: the weight '1_0' is not"),
        ("missing.csv", "a,b\n,c\n", "line 2: the source is missing"),
        ("hole.csv", "a,b\nc,\n", "line 2: the target is missing"),
        ("quoted.csv", '"a","b"\n# x\n\n"c","d"\n"c","d","e"\n', "line 5: 3 columns where other"),
        ("quotedhole.csv", '"a","b"\n"c",""\n', "line 2: the target is missing"),
        ("quotednan.csv", '"a","b",1\n"c","d",nan\n', "line 2: the weight nan is not finite"),
    ],
)  # fmt: skip
def test_one_clear_error(tmp_path, name, content, message, road):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=message) as caught:
        sio.read(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("bad.npz", b"PK\x03\x04 not really", "not a readable .npz file"),
        ("named.npz", b"1 2\n", "is not a .npz file, despite its name"),
        ("named.gz", b"1 2\n", "does not hold gzip data, despite its extension .gz"),
        ("bad.npy", b"\x93NUMPY\x01\x00", "not a readable .npy file"),
        ("bad.mat", b"MATLAB 5.0 MAT-file" + b" " * 120, "not a readable MATLAB file"),
        ("hdf.mat", b"\x89HDF\r\n\x1a\n" + b"\0" * 100, "save it with the option -v7"),
        ("bad.mtx", MTX + b"2 2 1\n1 5 1.0\n", "entry 1 is at 1, 5, outside 2 x 2"),
        ("short.mtx", MTX + b"2 2 3\n1 2 1.0\n", "declares 3 entries, but 1 follow"),
        ("head.mtx", b"%%MatrixMarket vector\n", "not the header of a Matrix Market file"),
        ("plain.mtx", b"2 2 1\n1 2 1.0\n", "starts with %%MatrixMarket"),
        ("bad.graphml", b"<?xml version='1.0'?><graphml><graph>", "not a readable graphml file"),
        ("bad.gml", b"graph [ node [ id 1 ", "not a readable gml file"),
        ("bad.parquet", b"PAR1 nonsense", "not a readable parquet file"),
        ("bad.arrow", b"ARROW1\0\0nonsense", "not a readable arrow file"),
        ("binary.bin", bytes(range(256)), "not UTF-8|zero byte"),
    ],
)  # fmt: skip
def test_broken_binary_files(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        sio.read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("keep", [0.5, 0.99])
def test_cut_off_compression(tmp_path, keep, road):
    import pyarrow as pa

    text = "".join(f"{i} {i * i}\n" for i in range(5000)).encode()
    for name, packed in {
        "a.txt.gz": gzip.compress(text),
        "a.txt.zst": pa.compress(text, codec="zstd", asbytes=True),
    }.items():
        path = tmp_path / name
        path.write_bytes(packed[: int(keep * len(packed))])
        with pytest.raises(InputError, match="damaged or truncated"):
            sio.read(path)
    path = tmp_path / "spoilt.txt.gz"
    packed = bytearray(gzip.compress(text))
    packed[len(packed) // 2] ^= 0xFF
    path.write_bytes(packed)
    with pytest.raises(InputError, match="damaged or truncated"):
        sio.read(path)


def test_no_file(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        sio.read(tmp_path / "none.txt")
    with pytest.raises(InputError, match="is not a path"):
        sio.read(3.5)
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(InputError, match="holds no files"):
        sio.read(folder)
    (folder / "e.txt").write_text("a b\n")
    assert sio.read(folder, kind="graph").rows.to_list() == ["a", "b"]
    (folder / "f.txt").write_text("b c\n")
    with pytest.raises(InputError, match="one file for features data"):
        sio.read(folder, kind="features")


def test_no_permission(tmp_path, monkeypatch):
    path = tmp_path / "secret.txt"
    path.write_text("a b\n")
    real = builtins.open

    def refuse(file, *args, **kwargs):
        if str(file) == str(path):
            raise PermissionError(13, "Permission denied", str(path))
        return real(file, *args, **kwargs)

    monkeypatch.setattr(builtins, "open", refuse)
    with pytest.raises(InputError, match=r"cannot read .*secret\.txt: permission denied"):
        sio.read(path)


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("a a\n", "1 node, 0 edges, undirected, unweighted; 1 self loop dropped, "
         "1 isolated node (zero vectors)"),
        ("\ufeffa b\r\nb c\r\n", "3 nodes, 2 edges, undirected, unweighted"),
        ("2147483648 4294967296\n", "2 nodes, 1 edge, undirected, unweighted"),
        ("a b\nb a\na b\n", "2 nodes, 1 edge, undirected, unweighted; 2 duplicates merged"),
        ("1 2 0\n2 3 2\n", "3 nodes, 1 edge, undirected, weighted; columns 0 -> 1, weight 2, "
         "1 edge of weight 0 dropped, 1 isolated node (zero vectors)"),
    ],
)  # fmt: skip
def test_odd_but_right(tmp_path, text, summary, road):
    path = tmp_path / "odd.edges"
    path.write_text(text, newline="", encoding="utf-8")
    assert sio.read(path).summary == summary


def test_one_node_can_keep_its_loop(tmp_path):
    path = tmp_path / "one.txt"
    path.write_text("a a\n")
    got = sio.read(path, self_loops="keep")
    assert got.operator.row_sums().tolist() == [1.0]


def test_negative_matrix(tmp_path):
    sparse.save_npz(tmp_path / "a.npz", sparse.csr_array(np.array([[0, -1.5], [2, 0]])))
    with pytest.raises(InputError, match="negative values"):
        sio.read(tmp_path / "a.npz")


def test_objects_in_npz_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", np.array([[{}, 1]], dtype=object))
    with pytest.raises(InputError, match="Python objects, which are never unpickled"):
        sio.read(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", x=np.eye(2), y=np.eye(2))
    with pytest.raises(InputError, match="holds x, y, not a sparse matrix"):
        sio.read(tmp_path / "b.npz")


def test_unknown_options_and_formats(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a b\n")
    for options, message in (
        ({"lenght": 3}, "unknown option 'lenght' for graph data"),
        ({"kind": "tree"}, "kind is 'tree'; expected one of graph"),
        ({"format": "xls"}, "format is 'xls'; expected one of text"),
        ({"encoding": "klingon"}, "encoding is 'klingon'"),
        ({"ids": "float"}, "ids is 'float'"),
        ({"delimiter": "ab"}, "delimiter is 'ab'"),
        ({"columns": "a"}, "columns is 'a'"),
        ({"columns": {"source": 0}}, "expected source and target"),
        ({"weighted": True}, "no column of weights"),
        ({"negative": "flip"}, "negative is 'flip'"),
    ):
        with pytest.raises(InputError, match=message):
            sio.read(path, **options)


@pytest.mark.parametrize("ending", ["\n", ""])
def test_random_bytes_never_crash(tmp_path, ending):
    rng = np.random.default_rng(3)
    alphabet = np.frombuffer(b'01a,; \t\n\r"#.-e\xc3\xa9', np.uint8)
    for trial in range(150):
        content = rng.choice(alphabet, rng.integers(0, 60)).tobytes() + ending.encode()
        path = tmp_path / f"f{trial}.{'csv' if trial % 2 else 'edges'}"
        path.write_bytes(content)
        with contextlib.suppress(InputError, GuessWarning):
            sio.read(path)


def test_a_missing_value_says_what_to_do(tmp_path):
    rows = "".join(f"G{i}\t" + "\t".join(str(i * j % 7 / 2) for j in range(12)) + "\n" for i in range(20))
    (tmp_path / "wide.tsv").write_text(rows.replace("G7\t0.0", "G7\tNA"))
    with pytest.raises(InputError, match="line 8: the entry 'NA' is not a number; fill in missing values"):
        softvec.embed(tmp_path / "wide.tsv", 4)
