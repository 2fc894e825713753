"""Work is bounded: by the bytes of a wide table, and by a few megabytes of what is no data at all."""

import io
import itertools
import sys
import time
import warnings
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest

from softvec.affinity import as_affinity, read
from softvec.core.errors import GuessWarning, InputError
from softvec.read import streams
from softvec.read.tables import read_table

pa = pytest.importorskip("pyarrow")


def calls_of(action):
    """Count the calls of functions, Python's and C's, during an action."""
    count = 0

    def tick(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.setprofile(tick)
        try:
            action()
        finally:
            sys.setprofile(None)
    return count


def wide(n_columns, title, rows=4):
    head = ",".join(title.format(k) for k in range(n_columns))
    body = "".join(f"r{i}," + ",".join(f"{k % 7}.5" for k in range(n_columns)) + "\n" for i in range(rows))
    return f"id,{head}\n{body}".encode()


@pytest.mark.parametrize("title", ["g{}", "1{}", "gene_{}", "from_{}", "t{}_a"])
def test_detection_takes_steps_linear_in_the_columns(title):
    few, many = (
        calls_of(lambda n=n: read(io.BytesIO(wide(n, title)), kind=None, n_neighbors=2)) for n in (500, 4000)
    )
    assert many < 10 * few  # quadratic: 64 times


def test_a_wide_table_of_names_takes_linear_steps():
    def text(n):
        return ("id," + ",".join(f"c{k}" for k in range(n)) + "\n").encode() + b"".join(
            f"r{i},{','.join(f'x{(i * k) % 5}' for k in range(n))}\n".encode() for i in range(4)
        )

    few, many = (calls_of(lambda n=n: read(io.BytesIO(text(n)), kind="graph")) for n in (500, 4000))
    assert many < 10 * few


def test_a_wide_parquet_table_takes_linear_steps(tmp_path):
    from pyarrow import parquet

    def steps(n):
        table = pa.table({f"g{k}": np.arange(5) + k / 7 for k in range(n)})
        parquet.write_table(table, tmp_path / f"{n}.parquet")
        return calls_of(lambda: read(tmp_path / f"{n}.parquet", n_neighbors=2))

    assert steps(2000) < 10 * steps(250)


@pytest.mark.slow
def test_a_wide_parquet_table_takes_linear_time(tmp_path):
    def seconds(n):
        pd.DataFrame(np.ones((4, n), int), columns=[f"g{k}" for k in range(n)]).to_parquet(
            tmp_path / "w.parquet"
        )
        start = time.process_time()
        read(tmp_path / "w.parquet")
        read_table(tmp_path / "w.parquet", "table")
        return time.process_time() - start

    seconds(10)
    assert seconds(16_000) < 24 * seconds(2000)  # quadratic: 64 times


def test_a_wide_matrix_is_parsed_as_python_parses_it():
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((6, 300))
    lines = [",".join([f"r{i}", *map(repr, row.tolist())]) for i, row in enumerate(numbers)]
    from softvec.read.reader import read_source

    contents = read_source(io.BytesIO("\n".join(lines).encode()), {}, kind="features")
    assert np.array_equal(contents.data.matrix, numbers)
    assert contents.data.names == [f"r{i}" for i in range(6)]


@pytest.mark.parametrize("text", ["1.5;2,5;3\n1;2;3\n1;2;3\n", "1 2\t3\n4  5 6 \n7 8 9\n"])
def test_numbers_between_other_marks(text):
    from softvec.read.reader import read_source

    contents = read_source(io.BytesIO(text.replace("1.5", "1,5").encode()), {}, kind="features")
    assert contents.data.matrix.shape == (3, 3)
    assert contents.data.matrix.sum() == (19 if ";" in text else 45)


@pytest.mark.parametrize("bad", ["", "x", "1_0", "0x1"])
def test_an_entry_that_is_not_a_number_is_named(bad):
    text = "".join(f"r{i},1.5,2.5,{i}.25\n" for i in range(30)) + f"r30,1.5,{bad},2.5\n"
    with pytest.raises(InputError, match=f"line 31: the entry ({bad!r} is not a number|is missing)"):
        read(io.BytesIO(text.encode()), kind="features")


class Endless(io.RawIOBase):
    """Repeats some bytes for ever, and counts what was taken."""

    def __init__(self, piece):
        self.piece, self.taken = piece * (1 + (1 << 16) // len(piece)), 0

    def readable(self):
        return True

    def read(self, size=-1):
        assert self.taken < 1 << 27, "no end of reading"
        self.taken += len(self.piece)
        return self.piece


@pytest.mark.parametrize("piece", [b"\0", b"a", b"\n", b"y\n", b"\xff\x00", b"# no\n", b"\n \n"])
def test_a_stream_without_an_end_is_refused_by_its_start(piece, monkeypatch):
    usage = type("Usage", (), {"free": 64 << 20})
    monkeypatch.setattr(streams.shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(InputError):
        read(Endless(piece))


def test_edges_without_an_end_stop_at_half_the_disk(monkeypatch):
    usage = type("Usage", (), {"free": 64 << 20})
    monkeypatch.setattr(streams.shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(InputError, match=r"more than \d+ MiB, half of the free disk space"):
        read(Endless(b"a b\nb c\n"))


def test_pairs_without_an_end_stop_before_the_memory_does(monkeypatch):
    monkeypatch.setattr("softvec.read.objects.available_memory", lambda: 100 << 20)
    with pytest.raises(InputError, match=r"more than [\d,]+ pairs .* take more than the memory"):
        as_affinity((k % 7, k % 5) for k in itertools.count())


@pytest.mark.parametrize("kind", [None, "graph", "features"])
def test_a_long_line_is_refused_after_four_mebibytes(kind, tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_bytes(b"a" * (32 << 20))
    taken = []

    def counted(stream, size):
        part = read_upto(stream, size)
        taken.append(len(part))
        return part

    read_upto = streams.read_upto
    monkeypatch.setattr(streams, "read_upto", counted)
    with pytest.raises(InputError, match="line 1: longer than 4 MiB; not a table"):
        read(tmp_path / "a.txt", kind=kind)
    assert sum(taken) < 12 << 20


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_of_every_unit(unit, tmp_path):
    from pyarrow import parquet

    scale = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    times = pa.array([1_700_000_000 * scale + 60 * k * scale + (7 if unit == "ns" else 0) for k in range(12)])
    table = pa.table(
        {
            "time": times.view(pa.timestamp(unit)),
            "source": [f"p{k % 4}" for k in range(12)],
            "target": [f"p{(k + 1) % 4}" for k in range(12)],
        }
    )
    parquet.write_table(table, tmp_path / "a.parquet", version="2.6")
    want = "12 contacts"
    cut = pytest.warns(GuessWarning, match="nanoseconds are cut") if unit == "ns" else nullcontext()
    for data in (table, tmp_path / "a.parquet", table.to_pandas()):
        with cut:
            affinity = as_affinity(data, kind="temporal")
        assert affinity.kind == "temporal", want
        stamps = {name[1] if isinstance(name, tuple) else name for name in affinity.rows.to_list()}
        assert "2023-11-14T22:13" in " ".join(map(str, stamps))


@pytest.mark.parametrize("unit", ["s", "ms"])
def test_dates_out_of_range_are_refused(unit):
    table = pa.table(
        {
            "time": pa.array([2**62 + k for k in range(12)]).view(pa.timestamp(unit)),
            "source": [f"p{k % 4}" for k in range(12)],
            "target": [f"p{(k + 1) % 4}" for k in range(12)],
        }
    )
    with pytest.raises(InputError, match="dates out of range"):
        as_affinity(table, kind="temporal")
    with pytest.raises(InputError, match=r"cannot be read: .*; convert them to text or integers"):
        as_affinity(table.rename_columns(["source", "target", "x"]), kind="graph")
