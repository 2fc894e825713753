"""Files and objects that were misread without a word, or ended in a raw exception."""

import lzma

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


def test_null_in_an_arrow_dictionary_is_missing():
    names = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 0]), pa.array(["a", None, "c"]))
    table = pa.table({"source": names, "target": ["b", "c", "a", "d"]})
    with pytest.raises(InputError, match=r"row 1: the source is missing.*or drop the rows"):
        to_affinity(table)


def test_decimal_shape_of_a_sparse_matrix_is_refused(tmp_path):
    matrix = sparse.csr_array(np.ones((3, 3)))
    parts = {"indices": matrix.indices, "indptr": matrix.indptr, "data": matrix.data}
    np.savez(tmp_path / "m.npz", **parts, shape=[3.5, 3.5], format="csr")
    with pytest.raises(InputError, match="its shape are float64"):
        to_affinity(tmp_path / "m.npz")


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
