"""Files of edges that workers share, against what one machine reads from the same edges in one file."""

from __future__ import annotations

import gzip
import weakref
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from softvec import kernels
from softvec.affinity import read_graph
from softvec.cluster.ingest import ingest
from softvec.cluster.ingest.blocks import Reader
from softvec.cluster.ingest.shuffle import Spool
from softvec.core.errors import GuessWarning, InputError
from softvec.names.coding import Segments
from tests.cluster.groups import outcomes, run

UNIT = 16
SIZES = (1, 2, 3, 5)


@pytest.fixture(params=["few", "many"])
def size(request, monkeypatch):
    """Both ways to sort edges: every worker all of them, or each its own rows."""
    if request.param == "many":
        monkeypatch.setattr(kernels, "SMALL", 0)
    return request.param


def edges(rng, n=400, count=3000, text=True, weights=True):
    """Edges with duplicates, both directions, self loops, and names in any order."""
    ends = rng.zipf(1.3, (count, 2)) % n
    ids = rng.permutation(10 * n)[:n]
    names = np.array([f"näme_{i}" if i % 3 else f"x{i}" for i in ids]) if text else ids - 3 * n
    table = {"source": names[ends[:, 0]], "target": names[ends[:, 1]]}
    if weights:
        table["weight"] = rng.choice([0.0, 0.1, 0.3, 1.0, 7.7], count)
    return pa.table(table)


def write(folder, table, parts, suffix="parquet", **options):
    """Write a table as one file, and as several; return both."""
    cuts = np.linspace(0, len(table), parts + 1).astype(int)
    (folder / "parts").mkdir()
    pieces = [table[lo:hi] for lo, hi in pairwise(cuts)]
    for path, part in [(folder / f"whole.{suffix}", table)] + [
        (folder / "parts" / f"p{k}.{suffix}", part) for k, part in enumerate(pieces)
    ]:
        WRITERS[suffix](part, path, **options)
    return folder / f"whole.{suffix}", folder / "parts" / f"*.{suffix}"


def _text(table, path, delimiter=" ", header=False, end="\n", last=True):
    rows = [table.column_names] * header + [[str(x) for x in row.values()] for row in table.to_pylist()]
    path.write_bytes((end.join(delimiter.join(row) for row in rows) + end * last).encode())


def _arrow(table, path, rows=100):
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table, max_chunksize=rows)


WRITERS = {
    "parquet": lambda table, path, rows=100: pq.write_table(table, path, row_group_size=rows),
    "arrow": _arrow,
    "csv": lambda table, path, **options: _text(table, path, ",", header=True, **options),
    "txt": lambda table, path, **options: _text(table, path, "\t", **options),
}


def check(where, whole, sizes=SIZES, piece=1000, kind="graph", **options):
    """Compare with one machine, for some numbers of workers."""
    truth = read_graph(whole, kind=kind, **options)
    matrix = truth.counts
    for size in sizes:
        parts = run(
            size, lambda group: ingest(where, group, unit=UNIT, kind=kind, piece=piece, recent=50, **options)
        )
        shards = [part.shard for part in parts]
        assert [shard.row_bounds.tolist() for shard in shards] == [shards[0].row_bounds.tolist()] * size
        assert all(bound % UNIT == 0 or bound == matrix.shape[0] for bound in shards[0].row_bounds)
        values = [s.values if s.values is not None else np.ones(len(s.indices), bool) for s in shards]
        indptr = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(s.indptr) for s in shards]))])
        joined = sparse.csr_array(
            (np.concatenate(values), np.concatenate([s.indices for s in shards]), indptr), shards[0].shape
        )
        assert joined.shape == matrix.shape
        np.testing.assert_array_equal(joined.indptr, matrix.indptr)
        np.testing.assert_array_equal(joined.indices, matrix.indices)
        np.testing.assert_array_equal(joined.data.view(np.uint8), matrix.data.view(np.uint8))
        assert [x for part in parts for x in part.rows] == truth.rows.to_list()
        assert [x for part in parts for x in part.columns] == truth.columns.to_list()
        assert {part.summary for part in parts} == {truth.summary}
        assert {part.weighted for part in parts} == {truth.weighted}
        assert all(shard.symmetric == (truth.symmetric and not truth.directed) for shard in shards)
    return truth


@pytest.mark.parametrize("suffix", list(WRITERS))
@pytest.mark.parametrize("text", [True, False])
@pytest.mark.parametrize("weights", [True, False])
def test_eight_files(tmp_path, size, suffix, text, weights):
    table = edges(np.random.default_rng(1), text=text, weights=weights)
    whole, parts = write(tmp_path, table, 8, suffix)
    check(parts, whole)


@pytest.mark.parametrize("options", [
    {"directed": True}, {"directed": True, "self_loops": "keep"}, {"self_loops": "keep"},
    {"kind": "pairs"}, {"kind": "pairs", "weighted": False}, {"kind": "bipartite"}, {"weighted": False},
    {"weighted": False, "duplicates": "sum"}, {"ids": "string"},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("text", [True, False])
def test_options(tmp_path, size, text, options):
    table = edges(np.random.default_rng(2), text=text)
    whole, parts = write(tmp_path, table, 3)
    check(parts, whole, sizes=(1, 3), **options)


def test_directed_edges_in_both_directions_are_symmetric(tmp_path, size):
    table = edges(np.random.default_rng(3), weights=False)
    mirrored = table.select(["target", "source"]).rename_columns(["source", "target"])
    whole, parts = write(tmp_path, pa.concat_tables([table, mirrored]), 4)
    truth = check(parts, whole, sizes=(2,), directed=True)
    assert truth.directed is False


def test_exact_weights_are_single_precision_on_both(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "SMALL", 0)
    table = edges(np.random.default_rng(4))
    whole, parts = write(tmp_path, table.set_column(2, "weight", pa.array(np.arange(3000) % 5 * 0.5)), 4)
    assert check(parts, whole, sizes=(2,)).counts.dtype == np.float32


@pytest.mark.parametrize("where", [0, 1, 2, 7])
def test_one_text_among_integers_makes_all_names_text(tmp_path, size, where):
    lines = [f"{a} {b}\n" for a, b in np.random.default_rng(5).integers(0, 90, (800, 2))]
    lines[where * 100 + 50] = "7 seven\n"
    (tmp_path / "whole.txt").write_text("".join(lines))
    for k in range(8):
        (tmp_path / f"p{k}.txt").write_text("".join(lines[100 * k : 100 * k + 100]))
    truth = check(tmp_path / "p*.txt", tmp_path / "whole.txt", piece=150)
    assert "7" in truth.rows
    assert "seven" in truth.rows


def test_two_sides_of_different_types(tmp_path, size):
    rng = np.random.default_rng(6)
    users, items = rng.integers(0, 300, 2000), rng.integers(0, 90, 2000)
    table = pa.table({"user": users, "item": [f"item {i}" for i in items]})
    whole, parts = write(tmp_path, table, 4)
    truth = check(parts, whole, kind="bipartite")
    assert truth.rows[0] == 0
    assert truth.columns[0] == f"item {items[0]}"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("piece", [7, 64, 1001])
@pytest.mark.parametrize("last", [True, False])
def test_one_text_cut_anywhere(tmp_path, end, piece, last):
    table = edges(np.random.default_rng(7), n=30, count=200)
    path = tmp_path / "edges.csv"
    _text(table, path, ",", header=True, end=end, last=last)
    check(path, path, piece=piece)


def test_comments_blank_lines_and_marks_at_the_start(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_bytes(b"\xef\xbb\xbf# made by hand\n\nsource;target\n" + b"a;b\n# c\n\nb;c\n" * 40)
    check(path, path, piece=16)
    path.write_bytes(b"sep=;\nsource;target\n" + b"a;b\nb;c\n" * 40)
    check(path, path, piece=16)


@pytest.mark.parametrize("late", [False, True])
def test_quoted_fields(tmp_path, size, late):
    rows = [f"n{a},n{b}\n" for a, b in np.random.default_rng(8).integers(0, 50, (9000, 2))]
    rows[8000 if late else 0] = '"first, of\ntwo lines","said ""so"""\n'
    (tmp_path / "b.csv").write_text("source,target\n" + "".join(rows))
    (tmp_path / "a.csv").write_text("source,target\n" + "".join(rows[4:7] * 4))
    (tmp_path / "whole.txt").write_text("source,target\n" + "".join(rows[4:7] * 4 + rows))
    truth = check([tmp_path / "a.csv", tmp_path / "b.csv"], tmp_path / "whole.txt", piece=500)
    assert 'said "so"' in truth.rows


@pytest.mark.parametrize("name", ["e.csv.gz", "e.arrows", "e.parquet.gz"])
def test_files_that_cannot_be_cut(tmp_path, name):
    table = edges(np.random.default_rng(9))
    plain = tmp_path / name.removesuffix(".gz")
    if name == "e.arrows":
        with pa.ipc.new_stream(plain, table.schema) as file:
            file.write_table(table, max_chunksize=100)
    else:
        WRITERS[plain.suffix[1:]](table, plain)
        (tmp_path / name).write_bytes(gzip.compress(plain.read_bytes()))
    check([tmp_path / name] * 2, _twice(tmp_path, table), sizes=(1, 3))


def _twice(folder, table):
    pq.write_table(pa.concat_tables([table, table]), folder / "twice.parquet")
    return folder / "twice.parquet"


def test_other_encodings(tmp_path):
    path = tmp_path / "e.txt"
    path.write_bytes("".join(f"é{k % 7}\tü{k % 5}\n" for k in range(90)).encode("utf-16"))
    check(path, path, sizes=(2,), piece=50)


def test_parts_of_one_text_have_one_header(tmp_path):
    """As ``split -l`` leaves them."""
    rows = [f"n{a},n{b},{a}\n" for a, b in np.random.default_rng(10).integers(1, 50, (900, 2))]
    (tmp_path / "whole.csv").write_text("source,target,weight\n" + "".join(rows))
    (tmp_path / "xaa").write_text("source,target,weight\n" + "".join(rows[:300]))
    (tmp_path / "xab").write_text("".join(rows[300:]))
    check(tmp_path / "xa*", tmp_path / "whole.csv", sizes=(1, 2))


def test_text_and_parquet_together(tmp_path):
    table = edges(np.random.default_rng(11))
    WRITERS["parquet"](table[:1000], tmp_path / "a.parquet")
    WRITERS["csv"](table[1000:].select(["weight", "target", "source"]), tmp_path / "b.csv")
    pq.write_table(table, tmp_path / "whole.parquet")
    check([tmp_path / "a.parquet", tmp_path / "b.csv"], tmp_path / "whole.parquet", sizes=(2,))


def test_negative_weights(tmp_path, size):
    table = edges(np.random.default_rng(12))
    table = table.set_column(2, "weight", pa.array(np.where(np.arange(3000) % 7, 1.5, -0.1)))
    whole, parts = write(tmp_path, table, 3)
    for negative in ("drop", "abs"):
        check(parts, whole, sizes=(2,), negative=negative)


def failure(where, size=3, kind="graph", **options):
    """Return the message of the error that all workers raise."""
    errors = outcomes(size, lambda group: ingest(where, group, unit=UNIT, kind=kind, piece=100, **options))
    assert {type(error) for error in errors} == {InputError}
    assert len({str(error) for error in errors}) == 1
    return str(errors[0])


def test_a_bad_line_is_named(tmp_path):
    lines = [f"n{k},m{k % 7},{k}\n" for k in range(500)]
    lines[400] = "n1,n2,many\n"
    (tmp_path / "e.csv").write_text("source,target,weight\n" + "".join(lines))
    assert failure(tmp_path / "e.csv") == f"{tmp_path}/e.csv, line 402: the weight 'many' is not a number"
    lines[400] = "n1,n2\n"
    (tmp_path / "e.csv").write_text("source,target,weight\n" + "".join(lines))
    assert f"{tmp_path}/e.csv, line 402: 2 columns where other lines have 3" in failure(tmp_path / "e.csv")
    lines[400] = "n1,n2,-3\n"
    (tmp_path / "e.csv").write_text("source,target,weight\n" + "".join(lines))
    assert f"{tmp_path}/e.csv, line 402: the weight -3.0 is negative" in failure(tmp_path / "e.csv")


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_bad_row_is_named(tmp_path, suffix):
    weights = np.ones(1000)
    weights[777] = np.nan
    table = pa.table({"source": np.arange(1000), "target": np.arange(1000) + 1, "weight": weights})
    WRITERS[suffix](table, tmp_path / f"e.{suffix}")
    assert f"e.{suffix}, row 777: the weight nan is not finite" in failure(tmp_path / f"e.{suffix}")


def test_files_that_differ_are_refused(tmp_path):
    table = edges(np.random.default_rng(13))
    WRITERS["parquet"](table, tmp_path / "a.parquet")
    WRITERS["parquet"](table.drop(["target"]), tmp_path / "b.parquet")
    assert "b.parquet has no column 'target'" in failure(tmp_path / "*.parquet")
    WRITERS["csv"](table, tmp_path / "a.csv")
    WRITERS["csv"](table.drop(["weight"]), tmp_path / "b.csv")
    assert "has no column" in failure(tmp_path / "*.csv")
    WRITERS["csv"](table.rename_columns(["target", "source", "weight"]), tmp_path / "b.csv")
    assert "the files differ" in failure(tmp_path / "*.csv")


def test_empty_and_missing_files(tmp_path):
    WRITERS["csv"](edges(np.random.default_rng(14)), tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text("source,target,weight\n")
    assert "b.csv has a header" in failure(tmp_path / "*.csv")
    (tmp_path / "b.csv").write_text("")
    assert "b.csv is empty" in failure(tmp_path / "*.csv")
    assert "no file matches" in failure(tmp_path / "*.parquet")
    assert "does not exist" in failure([tmp_path / "a.csv", tmp_path / "c.csv"])
    assert "the list of paths is empty" in failure([])
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "_SUCCESS").write_text("")
    assert "no file of edges" in failure(empty)


@pytest.mark.filterwarnings("ignore:.*ids written as decimals")
def test_data_that_is_no_list_of_edges(tmp_path):
    np.save(tmp_path / "m.npy", np.eye(5))
    assert "m.npy is npy; workers share" in failure(tmp_path / "m.npy")
    pq.write_table(pa.table({c: np.eye(5)[k] for k, c in enumerate("abcde")}), tmp_path / "m.parquet")
    assert "m.parquet is a matrix" in failure(tmp_path / "m.parquet")
    pq.write_table(pa.table({"source": [0.5, 1.5], "target": [2.5, 1.5]}), tmp_path / "f.parquet")
    assert "neither integers nor text" in failure(tmp_path / "f.parquet", kind="graph")
    assert "unknown option 'length'" in failure(tmp_path / "m.npy", length=3)


def test_repeated_edges_refused(tmp_path, size):
    table = edges(np.random.default_rng(15))
    whole, parts = write(tmp_path, table, 3)
    for options in ({"duplicates": "error"}, {"duplicates": "merge"}):
        with pytest.raises(InputError) as told:
            read_graph(whole, **options)
        assert failure(parts, **options) == str(told.value)


def test_one_worker_that_fails_fails_all(tmp_path, monkeypatch):
    _, parts = write(tmp_path, edges(np.random.default_rng(16)), 3)
    read = Reader.read

    def broken(self, own):
        yield next(read(self, own))
        if own[0] == 1:
            raise MemoryError("no memory left")

    monkeypatch.setattr(Reader, "read", broken)
    errors = outcomes(3, lambda group: ingest(parts, group, unit=UNIT, piece=1000))
    assert [type(error) for error in errors] == [RuntimeError, MemoryError, RuntimeError]
    assert "worker 1 failed: MemoryError: no memory left" in str(errors[0])


def test_words_for_missing_values_are_told_once(tmp_path):
    (tmp_path / "a.txt").write_text("a b\nb NA\nc a\n")
    with pytest.warns(GuessWarning, match="NA is read as a name") as told:
        run(1, lambda group: ingest(tmp_path / "a.txt", group, unit=UNIT))
    assert len(told) == 1


@pytest.mark.parametrize("weighted", [False, True])
def test_edges_are_given_back_as_they_are_sent(weighted, monkeypatch):
    monkeypatch.setattr(Segments, "ROWS", 8)
    spool = Spool()
    spool.start_piece()
    spool.add(np.arange(40, dtype=np.int32).reshape(20, 2), np.ones(20) if weighted else None)
    spool.close()
    held = [weakref.ref(part) for part in (*spool.codes[:2], *spool.weights[:2])]
    spool.release(7)
    assert all(part() is not None for part in held)
    spool.release(19)  # two whole segments of eight
    assert all(part() is None for part in held)
    codes, weights = zip(*spool.blocks(16, 20))
    np.testing.assert_array_equal(np.concatenate(codes), np.arange(32, 40).reshape(4, 2))
    assert sum(map(len, weights)) == (4 if weighted else 0)
