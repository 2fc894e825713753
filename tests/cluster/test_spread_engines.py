"""The command on real workers: files of edges to a folder of vectors, on MPI and on Ray."""

import json
import os
import signal
import time

import numpy as np
import pytest

import softvec
from softvec.embedding import Embedding
from softvec.spread import FilesJob, embed_files
from tests.cluster.processes import command, finished, ranks_of
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


def test_a_killed_rank_leaves_no_half_folder_and_the_run_goes_on(tmp_path):
    pytest.importorskip("mpi4py")
    whole, parts = write(tmp_path, edges(weights=True))
    saved, folder = tmp_path / "saved", tmp_path / "there"
    options = (*OPTIONS, "--epochs", 800, "--view", "walk", "--set", "checkpoint_every=20")
    finished("embed", whole, "-o", tmp_path / "one.svec", *options)
    there = ("embed", parts, "-o", f"{folder}/", *options, "--checkpoint", saved, "--cluster", "mpi")
    process = command(*there, ranks=3)
    end = time.monotonic() + 90
    while not (saved / "checkpoint.json").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)
    os.kill(ranks_of(process)[2], signal.SIGKILL)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert not [path for path in folder.iterdir() if path.name.endswith((".parquet", ".json"))]
    finished(*there, ranks=2)
    same(tmp_path / "one.svec", folder)
    assert sorted(path.name for path in folder.iterdir())[0] == "manifest.json"
    assert not saved.exists()


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.filterwarnings("ignore:the normaliser is off")
def test_a_killed_worker_of_ray_is_replaced(ray_here, tmp_path):
    from softvec.cluster.ray import RayCluster

    whole, parts = write(tmp_path, edges())
    fit = {"n_epochs": 300, "view": "walk", "checkpoint_every": 5, "n_jobs": 1}
    killed = []

    def kill(report):
        if report.epoch >= 5 and not killed:
            killed.append(ray_here.get(cluster.actors[1].process.remote()))
            os.kill(killed[0], signal.SIGKILL)

    job = FilesJob(parts, n_components=8, random_state=0, fit=fit)
    with RayCluster(2, None, 1) as cluster, pytest.warns(UserWarning, match="a worker was lost") as said:
        embed_files(job, tmp_path / "there", cluster, kill)
    assert killed
    assert "epoch 0" not in str(said[0].message)
    truth = softvec.embed(whole, 8, random_state=0, **fit)
    np.testing.assert_array_equal(Embedding.load(tmp_path / "there").vectors, truth.vectors)
