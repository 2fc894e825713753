"""The command on real workers: files of edges to a folder of vectors, on MPI and on Ray."""

import json
import os
import signal
import time

import numpy as np
import pytest

from softvec.embedding import Embedding
from tests.cluster.processes import command, finished
from tests.cluster.test_spread import edges, write

OPTIONS = ("-d", 8, "--seed", 0, "--threads", 1)


def same(one, other):
    """Compare a file and a folder."""
    here, there = Embedding.load(one), Embedding.load(other)
    assert here.names.to_list() == there.names.to_list()
    np.testing.assert_array_equal(here.vectors, there.vectors)


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_of_mpi_write_the_vectors_of_one_machine(ranks, tmp_path):
    pytest.importorskip("mpi4py")
    whole, parts = write(tmp_path, edges(weights=True))
    options = (*OPTIONS, "--epochs", 4)
    finished("embed", whole, "-o", tmp_path / "one.svec", *options)
    said = finished("embed", parts, "-o", f"{tmp_path}/there/", *options, "--cluster", "mpi", ranks=ranks)
    same(tmp_path / "one.svec", tmp_path / "there")
    manifest = json.loads((tmp_path / "there" / "manifest.json").read_text())
    assert len(manifest["parts"]) == ranks
    assert f"cluster: {ranks} workers" in said
    assert "graph: 700 nodes" in said
    assert said.count("4 epochs") == 1
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == [
        "manifest.json", *(f"part-{k:05d}.parquet" for k in range(ranks))
    ]  # fmt: skip


def test_workers_of_ray_write_the_vectors_of_one_machine(tmp_path):
    pytest.importorskip("ray")
    whole, parts = write(tmp_path, edges(text=False))
    options = (*OPTIONS, "--epochs", 4)
    finished("embed", whole, "-o", tmp_path / "one.svec", *options)
    finished("embed", parts, "-o", f"{tmp_path}/there/", *options, "--cluster", "local:2")
    same(tmp_path / "one.svec", tmp_path / "there")
