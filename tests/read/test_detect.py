"""What a file is gets detected once: how often it is opened, and what the opened source says."""

import gzip
import io
import os
import sys
import threading
import time
import warnings
from contextlib import nullcontext, suppress

import numpy as np
import pytest

import softvec
from softvec.affinity import read
from softvec.cli import run
from softvec.core.errors import GuessWarning, InputError
from softvec.read import text_table
from softvec.read.columns import add_table
from softvec.read.detect import detect
from softvec.read.edges import EdgeBuilder
from softvec.read.streams import text_blocks
from softvec.read.table import TableOptions
from softvec.read.text_table import sample_lines

rng = np.random.default_rng(3)
OPENED: dict[str, int] = {}


def _count(event, arguments):
    if event == "open" and isinstance(arguments[0], str | os.PathLike):
        name = os.path.basename(arguments[0])
        if name in OPENED:
            OPENED[name] += 1


@pytest.fixture(scope="module")
def counting():
    sys.addaudithook(_count)  # cannot be taken away; it only looks at names in OPENED
    yield
    OPENED.clear()


def opens(path, action):
    OPENED.clear()
    OPENED[path.name] = 0
    action()
    return OPENED[path.name]


def lines(n, form="{} {}\n"):
    return "".join(form.format(*pair) for pair in rng.integers(0, 500, (n, 2))).encode()


def table(path, **columns):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    write = parquet.write_table if path.suffix == ".parquet" else feather.write_feather
    write(pa.table(columns), path)


@pytest.mark.parametrize("n", [100, 20_000])  # within the bytes looked at, and beyond them
@pytest.mark.parametrize("name", ["edges.txt", "edges.txt.gz"])
def test_an_edge_list_is_opened_once_to_detect_and_once_to_read(name, n, tmp_path, counting):
    path = tmp_path / name
    path.write_bytes(gzip.compress(lines(n)) if name.endswith("gz") else lines(n))
    assert opens(path, lambda: read(path)) == 2
    command = ["embed", str(path), "-d", "2", "-o", str(tmp_path / "v.svec"), "--epochs", "1"]
    assert opens(path, lambda: run(command)) == 2


def test_other_formats_are_opened_as_often(tmp_path, counting):
    square = rng.integers(0, 2, (9, 9))
    np.save(tmp_path / "features.npy", rng.standard_normal((30, 4)))
    np.save(tmp_path / "graph.npy", square | square.T)
    np.savetxt(tmp_path / "square.txt", square | square.T, "%d")
    np.savetxt(tmp_path / "features.csv", rng.standard_normal((30, 6)), delimiter=",")
    ends = {name: rng.integers(0, 50, 300) for name in ("source", "target")}
    table(tmp_path / "edges.parquet", **ends)
    table(tmp_path / "edges.feather", **ends, weight=rng.random(300))
    table(tmp_path / "square.parquet", **{f"g{i}": column for i, column in enumerate(square | square.T)})
    (tmp_path / "text.txt").write_text("the cat sat on the mat today\na dog\n" * 50)
    for path in sorted(tmp_path.iterdir()):
        # Arrow keeps what a file holds at its end, so a look at the first bytes is one more
        times = 3 if path.suffix in (".parquet", ".feather") else 2
        with pytest.warns() if path.name == "square.txt" else nullcontext():
            assert opens(path, lambda path=path: read(path)) == times, path.name


@pytest.mark.parametrize(
    ("text", "format", "kind"),
    [
        (b"1 2\n2 3\n", "text", "graph"),
        (b"userId,movieId,rating\n1,7,4\n2,7,5\n", "text", "bipartite"),
        (b"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n", "mtx", "graph"),
        (b"once upon a time there was a king\nhe had a daughter\n", "text", "corpus"),
    ],
)
def test_format_and_kind(text, format, kind):
    opened = detect(io.BytesIO(text))
    assert (opened.format, opened.kind) == (format, kind)
    assert opened.options.two_sided == (kind == "bipartite")


def test_options_about_the_table_are_kept_and_checked():
    opened = detect(io.BytesIO(b"5 a b\n6 b c\n"), TableOptions(columns=(0, 1, 2)), kind="temporal")
    assert opened.table.roles == {"time": 0, "source": 1, "target": 2}
    with pytest.raises(InputError, match="ids is 'int'; expected one of auto, integer, string"):
        TableOptions.of({"ids": "int"})


def test_a_late_name_that_is_no_integer_does_not_read_the_file_again(tmp_path, counting, monkeypatch):
    text = b"".join(b"%d %d\n" % tuple(pair) for pair in rng.integers(-500, 500, (20_000, 2)))
    path, strings = tmp_path / "late.txt", tmp_path / "strings.txt"
    path.write_bytes(text + b"x 1\n" + text[:50_000].rsplit(b"\n", 1)[0] + b"\n")
    strings.write_bytes(path.read_bytes())
    small = {"block": 1 << 14}
    monkeypatch.setattr(
        text_table, "text_blocks", lambda source, **options: text_blocks(source, **options | small)
    )
    monkeypatch.setattr("softvec.kernels.SMALL", 0)
    got = []
    assert opens(path, lambda: got.append(read(path))) == 2
    want = read(strings, ids="string")
    assert got[0].rows.to_list() == want.rows.to_list()
    assert (got[0].counts != want.counts).nnz == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_is_read_once(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = lines(3000)
    writer = threading.Thread(target=pipe.write_bytes, args=(text,))
    writer.start()
    got = read(pipe)
    writer.join()
    assert got.summary == read(io.BytesIO(text)).summary


def test_a_pipe_of_compressed_data(tmp_path):
    text = gzip.compress(b"a b\nb c\n")
    assert softvec.affinity.read(io.BytesIO(text)).rows.to_list() == ["a", "b", "c"]


@pytest.mark.parametrize("two_sided", [False, True])
def test_integers_become_text_when_a_name_is_none(two_sided):
    blocks = [([7, -2], [2**62, 7]), (["x", "7"], ["-2", "007"]), ([7], [0])]
    builder = EdgeBuilder(two_sided)
    for source, target in blocks:
        add_table(builder, {"source": source, "target": target})
    edges = builder.finish()
    columns = [[str(name) for block in blocks for name in block[side]] for side in (0, 1)]
    codes = edges.pairs()
    assert [edges.rows[code] for code in codes[:, 0]] == columns[0]
    assert [edges.columns[code] for code in codes[:, 1]] == columns[1]
    assert edges.rows.to_list() == sorted(edges.rows)


@pytest.mark.parametrize("text", [b"0 0E0 1\n0E0 1 1\n2 0 1\n1 2 1\n", b"1E5 2\n2 3\n3 1E5\n"])
def test_ids_that_are_also_numbers_with_an_exponent(text):
    with pytest.warns(GuessWarning, match=r"(0E0|1E5) in column \d are read as numbers; .* kind='graph'"):
        detect(io.BytesIO(text))
    opened = detect(io.BytesIO(text), TableOptions(columns=(0, 1)), kind="graph")
    assert opened.table.roles == {"source": 0, "target": 1}


@pytest.mark.parametrize("text", [b"0.5 1e5\n2 3.5\n1.5 2\n", b"a b 1e5\nb c 2e5\n", b"1e-5 2\n2 1e-3\n"])
def test_plain_numbers_are_no_ids(text):
    detect(io.BytesIO(text))  # a warning would be an error


def test_dates_between_blanks_are_times():
    text = b"".join(b"p%d p%d 2020-01-0%d\n" % (k % 4, k % 3 + 1, k % 9 + 1) for k in range(12))
    with pytest.warns(GuessWarning, match="by column 2; kind='graph' leaves the times out"):
        assert detect(io.BytesIO(text)).kind == "temporal"


def test_ten_columns_that_start_with_1_are_a_table():
    text = b"".join(b"%d\ta%d\tb%d\tc\td\t_\t0\te\t_\t_\n" % (k, k % 3, k % 4) for k in range(1, 12))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GuessWarning)
        assert detect(io.BytesIO(text)).format == "text"


def test_a_current_directory_gives_its_name_to_the_result(tmp_path, monkeypatch):
    from softvec.cli.tables import default_output

    (tmp_path / "texts").mkdir()
    monkeypatch.chdir(tmp_path / "texts")
    assert default_output(".", ".svec") == "texts.svec"


def test_names_with_two_decimals_are_feature_vectors(tmp_path):
    (tmp_path / "a.txt").write_text("".join(f"n{i} {i / 7:.3f} {i / 3:.3f}\n" for i in range(1, 30)))
    assert softvec.affinity.read(tmp_path / "a.txt").kind == "features"


def test_a_quote_that_is_a_word_joins_no_lines(tmp_path):
    lines = ['" the 12', '" and 7', *(f"w{i} w{i + 1} {i + 1}" for i in range(20))]
    (tmp_path / "a.txt").write_text("\n".join(lines) + "\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GuessWarning)
        affinity = softvec.affinity.read(tmp_path / "a.txt", kind="graph")
    assert affinity.shape == (24, 24)


def test_an_open_quote_does_not_hide_the_lines_below():
    assert sample_lines(b'"a\n# no\n\nb,c\n' + b"d,e\n" * 200, b"#")[:3] == [b'"a', b"b,c", b"d,e"]
    assert sample_lines(b'"a\nb",c\nd,e', b"#") == [b'"a b",c', b"d,e"]


@pytest.mark.parametrize("head", [b"(" + b"," * 200_000, b'"' + b"\n" * 60_000, b"a,b\n" + b"(" * 100_000])
def test_hostile_lines_are_read_in_linear_time(head, tmp_path):
    (tmp_path / "a.csv").write_bytes(head)
    begin = time.process_time()
    with suppress(InputError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        softvec.affinity.read(tmp_path / "a.csv")
    assert time.process_time() - begin < 10  # quadratic: minutes


def test_a_weight_that_is_not_a_number_is_refused_with_its_line(tmp_path):
    (tmp_path / "a.csv").write_text("source,target,weight\na,b,1.5\nb,c,heavy\n")
    with pytest.raises(InputError, match="line 3: the weight 'heavy' is not a number"):
        read(tmp_path / "a.csv")


def test_a_wide_table_read_as_edges_is_told_the_other_kind(tmp_path):
    path = tmp_path / "answers.csv"
    head = ",".join(f"q{i}" for i in range(9))
    path.write_text(f"id,{head},comment\n" + "".join(f"p{i},{'3,4,1,' * 3}fine {i}\n" for i in range(20)))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        read(path)
    assert "if each row describes one item, pass kind='features'" in " ".join(
        str(each.message) for each in said
    )


@pytest.mark.parametrize("header", ["", "from,to\n"])
@pytest.mark.parametrize(("name", "mark"), [("a.csv", ","), ("a.csv", ", "), ("a.txt", ","), ("a.txt", "|")])
def test_names_with_a_blank_each_are_split_at_the_mark(name, mark, header, tmp_path):
    path = tmp_path / name
    text = f"{header}ann lee,bob ray\nbob ray,cyd fox\ncyd fox,ann lee\n"
    path.write_text(text.replace(",", mark))
    assert read(path).rows.to_list() == ["ann lee", "bob ray", "cyd fox"]


def test_prose_with_a_comma_in_each_line_stays_prose():
    lines = b"it rains a lot, said the old man\nno it does not, said the boy\nlet us go home, said she\n"
    assert detect(io.BytesIO(lines)).kind == "corpus"
