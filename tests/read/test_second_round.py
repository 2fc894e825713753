"""Files and objects that were misread without a word, or ended in a raw exception."""

import bz2
import gzip
import lzma
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

from softvec import Names, embed
from softvec.api import to_affinity
from softvec.core.errors import GuessWarning, InputError

EDGES = b"a b\nb c\nc d\nd a\na c\n"


def _packed(folder, data):
    path = folder / "edges.txt.xz"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("more", [b"garbage", b"\0", b"\0\0\0\0garbage", lzma.compress(EDGES)[:-3]])
def test_bytes_after_the_end_of_xz_data_are_refused(tmp_path, more):
    with pytest.raises(InputError, match="xz data is damaged or truncated"):
        to_affinity(_packed(tmp_path, lzma.compress(EDGES) + more))


@pytest.mark.parametrize("between", [b"", b"\0" * 4, b"\0" * 8])
def test_streams_of_an_xz_file_are_joined(tmp_path, between):
    halves = lzma.compress(EDGES[:8]) + between + lzma.compress(EDGES[8:]) + between
    assert to_affinity(_packed(tmp_path, halves)).summary == "4 nodes, 5 edges, undirected, unweighted"


def test_an_empty_xz_file_holds_no_edges(tmp_path):
    with pytest.raises(InputError, match="is empty"):
        to_affinity(_packed(tmp_path, lzma.compress(b"")))


def test_large_xz_data_is_read_in_parts(tmp_path):
    edges = b"".join(b"n%d n%d\n" % (i, i * i % 1009) for i in range(200_000))
    assert to_affinity(_packed(tmp_path, lzma.compress(edges, preset=0))).shape[0] == 200_000


@pytest.mark.parametrize(
    "members", [(b"", EDGES), (EDGES, b""), (EDGES[:8], b"", EDGES[8:])], ids=["first", "last", "between"]
)
@pytest.mark.parametrize("pack", [bz2.compress, gzip.compress, lzma.compress])
def test_empty_members_of_a_packed_file_are_skipped(tmp_path, pack, members):
    path = tmp_path / "edges.txt"
    path.write_bytes(b"".join(map(pack, members)))
    assert to_affinity(path).summary == "4 nodes, 5 edges, undirected, unweighted"


@pytest.mark.parametrize("more", [b"garbage", b"\0", b"\0\0\0\0", bz2.compress(EDGES)[:-3]])
def test_bytes_after_the_end_of_bz2_data_are_refused(tmp_path, more, capsys):
    from softvec.cli import run

    path = tmp_path / "edges.txt.bz2"
    path.write_bytes(bz2.compress(EDGES) + more)
    with pytest.raises(InputError, match="bz2 data is damaged or truncated"):
        to_affinity(path)
    assert run(["info", str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


STAMPS = pd.to_datetime([f"2024-01-01 00:00:00.00000000{k}" for k in (1, 2, 3, 3)])


def _contacts(times):
    return {"time": times, "source": list("abca"), "target": list("bcab")}


@pytest.mark.parametrize(
    "make",
    [pd.DataFrame, pa.table, lambda c: list(zip(*c.values())), lambda c: _contacts(STAMPS.to_numpy())],
    ids=["pandas", "arrow", "rows", "numpy"],
)
def test_nanoseconds_that_are_cut_are_said(make):
    with pytest.warns(GuessWarning, match="times in nanoseconds are cut to microseconds"):
        to_affinity(make(_contacts(STAMPS)), kind="temporal")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        to_affinity(pd.DataFrame(_contacts(STAMPS.floor("us"))), kind="temporal")


@pytest.mark.parametrize("time", [1e30, 10**30, -(2**63), float("inf")])
@pytest.mark.parametrize(
    "make", [list, lambda rows: pd.DataFrame(rows, columns=["time", "source", "target"])]
)
def test_times_beyond_64_bits_are_refused(make, time):
    rows = [(0, "a", "b"), (1, "b", "c"), (time, "c", "a")]
    with pytest.raises(InputError, match=r"contact 2 has no finite time below 4.6e\+18: |a mix of types"):
        to_affinity(make(rows), kind="temporal", n_windows=2)


@pytest.mark.parametrize("line", ["'{}' '{}'", "'{}' '{}' 1.5", "'{} x' '{} y'"])
def test_names_in_single_quotes_are_refused_as_such(tmp_path, line):
    path = tmp_path / "edges.txt"
    path.write_text("".join(line.format(a, b) + "\n" for a, b in zip("abcde", "bcdea")))
    with pytest.raises(InputError, match="names are in single quotes"):
        to_affinity(path)


@pytest.mark.parametrize(
    "line", ["'a'" + 60 * "\t" + "'", "'a'" + 60 * ", 1 1" + "'", "a" + 40 * " 0,123456" + " x,,"]
)
def test_lines_that_a_pattern_could_read_in_many_ways_take_no_time(tmp_path, line):
    path = tmp_path / "edges.txt"
    path.write_text(5 * (line + "\n"))
    code = f"from softvec.affinity import read; read({str(path)!r}, kind='graph')"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert ended.returncode in (0, 1)


def test_speech_in_single_quotes_is_text(tmp_path):
    path = tmp_path / "talk.txt"
    path.write_text(8 * "'Yes,' said Alice to the cat.\n'No,' said the cat, and it ran away.\n")
    assert to_affinity(path).kind == "corpus"


def test_unused_relations_are_said(tmp_path):
    path = tmp_path / "kg.tsv"
    path.write_text("head\trelation\ttail\nann\tlikes\tbob\nbob\tknows\tcyd\n")
    with pytest.warns(GuessWarning, match="head and tail are read as the ends of edges, relation is not"):
        to_affinity(path)


def test_unused_names_of_rows_are_said(tmp_path):
    path = tmp_path / "counts.tsv"
    path.write_text("gene\tsample1\tsample2\nTP53\t5\t0\nMYC\t0\t3\nATM\t1\t1\n")
    with pytest.warns(GuessWarning, match="sample1 and sample2 are read as the ends of edges, gene is not"):
        to_affinity(path)


def test_series_of_texts_or_pairs_is_read_as_a_list_of_them():
    texts = ["the cat sat", "the dog ran"] * 9
    assert to_affinity(pd.Series(texts, index=range(5, 23))).summary == to_affinity(texts).summary
    pairs = [("a", "b"), ("b", "c")]
    assert to_affinity(pd.Series(pairs)).summary == to_affinity(pairs).summary


def test_decimal_ids_of_a_list_are_said():
    with pytest.warns(GuessWarning, match="ids are decimals, such as 1.0"):
        to_affinity([(1.0, 2.0), (2.0, 3.0), (3.0, 1.0)])


def test_null_in_an_arrow_dictionary_is_missing():
    names = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 0]), pa.array(["a", None, "c"]))
    table = pa.table({"source": names, "target": ["b", "c", "a", "d"]})
    with pytest.raises(InputError, match=r"row 1: the source is missing.*missing='drop'"):
        to_affinity(table)


def test_decimal_shape_of_a_sparse_matrix_is_refused(tmp_path):
    matrix = sparse.csr_array(np.ones((3, 3)))
    parts = {"indices": matrix.indices, "indptr": matrix.indptr, "data": matrix.data}
    np.savez(tmp_path / "m.npz", **parts, shape=[3.5, 3.5], format="csr")
    with pytest.raises(InputError, match="its shape are float64"):
        to_affinity(tmp_path / "m.npz")


GAPS = {"source": ["a", "b", None, "c"], "target": ["b", "c", "a", "a"], "weight": [1.0, float("nan"), 2, 3]}
ROWS = list(zip(*GAPS.values()))
WITH_GAPS = {
    "pandas": lambda: pd.DataFrame(GAPS),
    "arrow": lambda: pa.table(GAPS),
    "columns": lambda: GAPS,
    "rows": lambda: ROWS,
    "generator": lambda: iter(ROWS),
    "objects": lambda: np.array(ROWS, dtype=object),
    "numbers": lambda: np.array([[0, 1, 1.0], [1, 2, np.nan], [np.nan, 0, 2], [2, 0, 3]]),
}


@pytest.mark.parametrize("source", WITH_GAPS)
def test_rows_with_gaps_are_refused_or_left_out_and_counted(source):
    with pytest.raises(InputError, match=r"missing='drop'|the weight nan is not finite"):
        to_affinity(WITH_GAPS[source](), kind="pairs")
    left = to_affinity(WITH_GAPS[source](), kind="pairs", missing="drop")
    assert "2 rows with missing values dropped" in left.summary
    assert left.matrix.toarray().tolist() == [[0, 1, 3], [1, 0, 0], [3, 0, 0]]


@pytest.mark.parametrize("gap", [None, float("nan"), "", pd.NA, pd.NaT])
def test_pair_without_an_end_is_refused_or_left_out(gap):
    pairs = [("a", "b"), ("b", "c"), (gap, "a")]
    with pytest.raises(InputError, match=r"item 2 is .* lacks an end|empty name"):
        to_affinity(pairs)
    assert "1 row with missing values dropped" in to_affinity(pairs, missing="drop").summary


@pytest.mark.parametrize(
    "times", [(0, None, 1, 2), [pd.Timestamp("2024"), pd.NaT, *map(pd.Timestamp, ("2025", "2026"))]]
)
def test_contacts_with_gaps_are_left_out(times):
    contacts = list(zip(times, "abba", "bccb"))
    with pytest.raises(InputError, match=r"item 1 .* its time is not a number.*missing='drop'"):
        to_affinity(contacts, kind="temporal")
    left = to_affinity(contacts, kind="temporal", missing="drop")
    assert "1 row with missing values dropped" in left.summary


def test_command_counts_the_rows_of_a_parquet_file_with_gaps(tmp_path, capsys):
    import pyarrow.parquet as pq

    from softvec.cli import run

    pq.write_table(pa.table(GAPS), tmp_path / "e.parquet")
    words = ["embed", str(tmp_path / "e.parquet"), "-o", str(tmp_path / "v.svec"), "-d", "2", "--epochs", "2"]
    assert run(words) == 2
    assert "--drop-missing" in capsys.readouterr().err
    assert run([*words, "--drop-missing"]) == 0
    assert "2 rows with missing values dropped" in capsys.readouterr().err


def test_matrix_has_no_rows_to_leave_out():
    with pytest.raises(InputError, match="a matrix or a graph has no rows with missing values"):
        to_affinity(sparse.csr_array(np.ones((3, 3))), missing="drop")


@pytest.mark.parametrize("texts", [["a b", None], ["a b", 3]])
def test_document_that_is_no_text_is_refused(texts):
    with pytest.raises(InputError, match=r"a document is (None|3); expected a text"):
        embed(texts, 2, kind="corpus")


@pytest.mark.parametrize("column", ["price", "order_id", "orderId", "birth year", "latitude", "zip-code"])
def test_number_that_is_no_weight_by_its_name_is_left_out(column):
    frame = pd.DataFrame({"source": list("abcd"), "target": list("bcda"), column: [1.5, 2.5, 4.5, 9.5]})
    with pytest.warns(GuessWarning, match=f"column {column} is not used as a weight.*weight='{column}' uses"):
        assert not to_affinity(frame).weighted
    assert to_affinity(frame, weight=column).weighted


def test_spare_number_of_unknown_meaning_is_a_weight_and_said():
    frame = pd.DataFrame({"source": list("abcd"), "target": list("bcda"), "idle": [1.5, 2.5, 4.5, 9.5]})
    with pytest.warns(GuessWarning, match="column idle is used as the weight"):
        assert to_affinity(frame).weighted


def test_columns_s_and_t_are_ends_of_edges():
    frame = pd.DataFrame({"s": list("abcd"), "t": list("bcda")})
    assert to_affinity(frame).summary.endswith("columns s -> t")


def test_columns_that_begin_with_a_time_are_contacts(tmp_path):
    rows = "".join(f"{20 * i},p{i % 9},p{5 * i % 7}\n" for i in range(80))
    (tmp_path / "c.csv").write_text("time,i,j\n" + rows)
    contacts = to_affinity(tmp_path / "c.csv", columns=("time", "i", "j"))
    assert contacts.kind == "temporal"
    assert contacts.summary == to_affinity(tmp_path / "c.csv", kind="temporal").summary


def test_columns_that_begin_with_a_time_and_end_with_a_weight_are_edges(tmp_path):
    (tmp_path / "p.csv").write_text("year,paper,count\n2001,p,3\n2002,q,1\n2001,q,2\n")
    assert "weight count" in to_affinity(tmp_path / "p.csv", columns=("year", "paper", "count")).summary


def test_decimal_ids_of_a_frame_are_said():
    frame = pd.DataFrame({"source": [1.0, 2.0, 3.0], "target": [2.0, 3.0, 1.0]})
    with pytest.warns(GuessWarning, match="ids are decimals, such as 1.0"):
        to_affinity(frame)


@pytest.mark.parametrize("make", [list, lambda e: pd.DataFrame(e, columns=["source", "target"])])
def test_composed_and_decomposed_letters_are_said(make, tmp_path):
    edges = [("caf\u00e9", "b"), ("cafe\u0301", "c"), ("b", "c")]
    with pytest.warns(GuessWarning, match="'caf\u00e9' is written with composed and with separate marks"):
        assert len(to_affinity(make(edges)).rows) == 4


def test_decomposed_letters_alone_are_no_reason_for_a_note():
    assert len(to_affinity([("cafe\u0301", "c"), ("b", "c")]).rows) == 3


def test_nearest_spelling_is_suggested_first_in_any_case():
    words = Names([*(f"s{i}ng" for i in range(3000)), "wing", "singing", "king"])
    with pytest.raises(KeyError, match="did you mean 'king' or"):
        words.index("Kingg")


@pytest.mark.parametrize("sparsely", [True, False])
def test_matrix_that_is_taken_of_several_is_said(tmp_path, sparsely):
    io = pytest.importorskip("scipy.io")
    make = sparse.csc_array if sparsely else np.asarray
    matrices = {"A": make(np.ones((3, 3))), "B": make(np.ones((4, 4))), "F": np.ones((4, 2))}
    io.savemat(tmp_path / "m.mat", matrices)
    with pytest.warns(GuessWarning, match="of several matrices B is read, not A; name one with variable="):
        assert to_affinity(tmp_path / "m.mat").shape == (4, 4)
    assert to_affinity(tmp_path / "m.mat", variable="A").shape == (3, 3)


@pytest.mark.parametrize("signs", ["+-", "\N{PLUS SIGN}\N{MINUS SIGN}", ["positive", "negative"]])
def test_column_of_signs_that_is_not_used_is_said(signs):
    frame = pd.DataFrame({"source": list("abcd"), "target": list("bcda"), "sign": [*signs, *signs]})
    with pytest.warns(
        GuessWarning, match="column sign is not used; write 1 and -1 if it holds signs of links"
    ):
        assert to_affinity(frame).signed is None


@pytest.mark.parametrize(
    "text",
    [
        '[["a", "b"], ["b", "c", 2]]',
        '[{"source": "a", "target": "b"}, {"source": "b", "target": "c", "weight": 2}]',
        '["a", "b"]\n["b", "c", 2]\n',
    ],
)
def test_weight_that_only_later_rows_have_is_missing_in_the_first(tmp_path, text):
    path = tmp_path / "edges.json"
    path.write_text(text)
    with pytest.raises(InputError, match="row 0: the weight is missing"):
        to_affinity(path, weighted=True)
    assert to_affinity(path, weighted=False).shape == (3, 3)


def test_lines_of_arrays_are_edges(tmp_path):
    path = tmp_path / "edges.jsonl"
    path.write_text('["a", "b"]\n["b", "c"]\n')
    assert list(to_affinity(path).rows) == ["a", "b", "c"]


def test_many_titles_in_json_do_not_expand_without_bound(tmp_path, monkeypatch):
    monkeypatch.setenv("SOFTVEC_MAX_EXPANDED", "1MiB")
    path = tmp_path / "rows.json"
    path.write_text("[" + ",".join(f'{{"a{k}": 1}}' for k in range(4000)) + "]")
    with pytest.raises(InputError, match="its rows would take 128,000,000"):
        to_affinity(path)


def test_json_is_no_corpus(tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_text('{"text": "the cat"}\n{"text": "the dog"}\n')
    with pytest.raises(InputError, match="holds JSON; write its texts to a file"):
        to_affinity(path, kind="corpus")


def test_minimum_weight_that_drops_all_edges_is_said(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("source,target,weight\na,b,1\nb,c,2\n")
    with pytest.raises(InputError, match="has no edges; 2 edges below 700 dropped"):
        to_affinity(path, min_weight=700)


@pytest.mark.parametrize("make", [pd.DataFrame, pa.Table.from_pandas])
def test_categories_may_be_numbers(make, tmp_path):
    frame = pd.DataFrame({"source": list("abc"), "target": list("bca"), "weight": pd.Categorical([1, 2, 2])})
    assert to_affinity(make(frame) if make is not pd.DataFrame else frame).weighted


@pytest.mark.parametrize("cell", ["unknown", "3,5"])
def test_text_among_the_numbers_of_attributes_is_said(tmp_path, cell):
    (tmp_path / "a.csv").write_text(
        "id;age;club\n" + "".join(f"{k};{cell if k < 3 else k};c{k % 2}\n" for k in range(12))
    )
    edges = [(k, (k + d) % 12) for k in range(12) for d in (1, 2)]
    with pytest.warns(GuessWarning, match=f"column age is read as words, as '{cell}' is no number"):
        embed(edges, 2, attributes=tmp_path / "a.csv", random_state=0)
