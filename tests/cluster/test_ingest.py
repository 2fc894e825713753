"""Files of edges that workers share, against what one machine reads from the same edges in one file."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from softvec import kernels
from softvec.affinity import read_graph
from softvec.cluster.ingest import ingest
from tests.cluster.groups import run

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
        assert all(bound % UNIT == 0 for bound in shards[0].row_bounds[:-1])
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
