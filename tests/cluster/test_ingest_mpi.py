"""The same reading on the ranks of MPI, in processes of their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from softvec.affinity import read_graph

SCRIPT = """
import json, sys
from softvec.cluster.ingest import ingest
from softvec.cluster.mpi import MpiGroup, world
from softvec.core.errors import InputError
group = MpiGroup(world())
try:
    part = ingest(sys.argv[1], group, unit=16, piece=1000)
    told = part.summary, part.rows.to_list(), part.shard.indices.tolist(), part.shard.indptr.tolist()
except InputError as error:
    told = str(error)
rows = group.gather(told)
if group.rank == 0:
    print(json.dumps(rows))
"""


def ranks(where, size=2):
    beside = shutil.which("mpiexec", path=str(Path(sys.executable).parent))
    mpiexec = beside or shutil.which("mpiexec")
    if mpiexec is None or find_spec("mpi4py") is None:
        pytest.skip("needs mpi4py and an MPI library")
    command = [mpiexec, "-n", str(size), sys.executable, "-c", SCRIPT, str(where)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_two_ranks_read_what_one_machine_reads(tmp_path):
    ends = np.random.default_rng(0).integers(0, 200, (3000, 2))
    table = pa.table({"source": [f"a{i}" for i in ends[:, 0]], "target": [f"a{i}" for i in ends[:, 1]]})
    pq.write_table(table, tmp_path / "whole.parquet")
    (tmp_path / "parts").mkdir()
    for k in range(3):
        pq.write_table(
            table[1000 * k : 1000 * k + 1000], tmp_path / "parts" / f"{k}.parquet", row_group_size=90
        )
    truth = read_graph(tmp_path / "whole.parquet")
    parts = ranks(tmp_path / "parts")
    assert [part[0] for part in parts] == [truth.summary] * 2
    assert [name for part in parts for name in part[1]] == truth.rows.to_list()
    assert [column for part in parts for column in part[2]] == truth.counts.indices.tolist()
    lengths = np.concatenate([np.diff(part[3]) for part in parts])
    np.testing.assert_array_equal(lengths, np.diff(truth.counts.indptr))


def test_an_error_of_one_rank_ends_both(tmp_path):
    rows = [f"n{k}\tm{k % 9}\t{1}\n" for k in range(500)]
    rows[350] = "n1\tn2\tmany\n"
    (tmp_path / "e.tsv").write_text("source\ttarget\tweight\n" + "".join(rows))
    told = ranks(tmp_path / "e.tsv")
    assert told == [f"{tmp_path}/e.tsv, line 352: the weight 'many' is not a number"] * 2
