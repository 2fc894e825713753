"""Small Arrow and parquet files: edges and vectors, with columns of every type."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np


def written(write: Callable[[Any], Any]) -> bytes:
    """Return what a function writes to a file."""
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def ipc(table: Any, stream: bool, **options: Any) -> bytes:
    """Return a table as a file or stream of Arrow."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    with make(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=5)
    return sink.getvalue().to_pybytes()


def arrow() -> Iterator[tuple[str, bytes]]:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow import feather

    rng = np.random.default_rng(1)
    n = 12
    names = [f"näme{i % 7}" for i in range(n)]
    edges = pa.table({"source": names, "target": names[::-1], "weight": rng.random(n)})
    timed = pa.table({"time": np.arange(n), "source": np.arange(n) % 5, "target": np.arange(n) % 3})
    coded = pa.table({"source": pa.array(names).dictionary_encode(), "target": pa.array(names[::-1])})
    wide = pa.table({"name": [f"näme{i}" for i in range(n)], **{f"c{j}": rng.random(n) for j in range(4)}})
    square = pa.table({f"c{j}": rng.random(5) for j in range(5)})

    for label, table in {
        "edges": edges,
        "timed": timed,
        "coded": coded,
        "wide": wide,
        "square": square,
    }.items():
        yield f"{label}.arrow", ipc(table, False)
        yield f"{label}_stream.arrow", ipc(table, True)
        yield f"{label}.parquet", written(lambda f, t=table: pq.write_table(t, f))
    yield "edges_zstd.arrow", ipc(edges, False, compression="zstd")
    yield "edges.feather", written(lambda f: feather.write_feather(edges, f, compression="lz4"))
    yield (
        "plain.parquet",
        written(
            lambda f: pq.write_table(edges, f, compression="none", use_dictionary=False, row_group_size=5)
        ),
    )


def arrow_types() -> Iterator[tuple[str, bytes]]:
    """Edges whose names, weights or times are of every Arrow type that may hold them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    ends = {"source": [0, 1, 2, 3, 0], "target": [1, 2, 3, 0, 2]}
    words = pa.array(list("abcda"))
    zoned = pa.timestamp("ns", "Europe/Rome")
    dates = [pa.date32(), pa.date64(), *map(pa.timestamp, ("s", "ms", "us", "ns")), zoned]
    integers = [pa.int8(), pa.uint16(), pa.uint64()]
    numbers = [*integers, pa.float32(), pa.float64(), pa.decimal128(9, 2)]
    texts = [pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
    tables = {f"weight_{kind}": pa.table({**ends, "weight": pa.array([1, 2, 3, 4, 5]).cast(kind)})
              for kind in numbers if not pa.types.is_decimal(kind)}  # fmt: skip
    tables["weight_decimal"] = pa.table({**ends, "weight": pa.array([1, 2, 3, 4, 5], pa.decimal128(9, 2))})
    for kind in dates:
        times = pa.array([0, 1, 2, 3, 4], pa.int32()).cast(pa.int32() if kind == pa.date32() else pa.int64())
        scaled = times if kind != pa.date64() else pa.array([86_400_000 * k for k in range(5)])
        tables[f"time_{kind}".split("[")[0] + f"_{len(tables)}"] = pa.table(
            {"time": scaled.cast(kind), **ends}
        )
    for kind in texts:
        tables[f"names_{len(tables)}"] = pa.table({"source": words.cast(kind), "target": list("bcdac")})
    for label, table in tables.items():
        name = "".join(letter if letter.isalnum() else "_" for letter in label)
        yield f"{name}.arrow", ipc(table, True)
        if not any(pa.types.is_string_view(column.type) for column in table.columns):
            yield f"{name}.parquet", written(lambda f, t=table: pq.write_table(t, f))


def _odd_columns() -> list[Any]:
    """Return five cells of each Arrow type that :func:`arrow_types` leaves out."""
    import pyarrow as pa

    whole, unit = pa.array([0, 1, 2, 3, 0]), ("s", "ms", "us", "ns")
    binary = [pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(1)]
    clocks = [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")]
    pairs = [[1.0, 2.0], [3.0, 4.0], [], None, [5.0, 6.0]]
    lists = [make(pa.float64()) for make in (pa.list_, pa.large_list, pa.list_view, pa.large_list_view)]
    uuids = pa.array([bytes([i]) * 16 for i in range(5)], pa.binary(16))
    return [
        pa.nulls(5),
        pa.array([True, False, None, True, False]),
        pa.array(np.arange(5, dtype=np.float16)),
        *(pa.array([0, 1, 2, 3, 0], kind) for kind in (pa.decimal128(30, 4), pa.decimal256(60, 2))),
        *(pa.array([b"a", b"b", b"c", b"d", b"a"], kind) for kind in binary),
        *(whole.cast(pa.int32()).cast(kind) for kind in clocks[:2]),
        *(whole.cast(kind) for kind in (*clocks[2:], *map(pa.duration, unit))),
        pa.array([(1, 2, 3)] * 5, pa.month_day_nano_interval()),
        *(pa.array(pairs, kind) for kind in lists),
        pa.array([[1.0, 2.0]] * 5, pa.list_(pa.float32(), 2)),
        pa.array([[["a"]]] * 5),
        pa.array([{"a": 1, "b": "c"}] * 5),
        pa.array([[("a", 1)]] * 5, pa.map_(pa.string(), pa.int8())),
        whole.dictionary_encode(),
        whole.cast(pa.timestamp("ns")).dictionary_encode(),
        pa.RunEndEncodedArray.from_arrays([2, 5], pa.array(["a", "b"])),
        pa.UnionArray.from_sparse(pa.array([0, 1, 0, 1, 0], pa.int8()), [whole, whole.cast(pa.string())]),
        pa.ExtensionArray.from_storage(pa.uuid(), uuids),
    ]


def odd_types() -> Iterator[tuple[str, str, bytes]]:
    """Yield a reader, a name and a file for columns of odd types: names, weights, times, vectors."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    ends = {"source": [0, 1, 2, 3, 0], "target": [1, 2, 3, 0, 2]}
    vectors = {"name": list("abcde"), "x": [1.0, 2.0, 3.0, 4.0, 5.0]}
    for number, column in enumerate(_odd_columns()):
        for reader, label, columns in (
            ("data", "ends", {**ends, "source": column}),
            ("data", "weight", {**ends, "weight": column}),
            ("data", "time", {"time": column, **ends}),
            ("vectors", "numbers", {**vectors, "y": column}),
            ("vectors", "names", {**vectors, "name": column}),
        ):
            table, name = pa.table(columns), f"{label}{number}"
            if reader == "data":
                yield reader, f"{name}.arrow", ipc(table, True)
            with suppress(pa.ArrowException):  # parquet does not hold all types
                yield reader, f"{name}.parquet", written(lambda f, table=table: pq.write_table(table, f))
