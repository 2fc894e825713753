"""Actors of Ray give the bits of one process, also after a worker or the driver was killed."""

import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ray")
import softvec
from softvec.cluster import ray as ray_module
from softvec.cluster.choose import ClusterWorkers
from softvec.cluster.halo import Counts, pays
from softvec.cluster.ray import RayCluster
from softvec.core.errors import InputError
from softvec.fit.run import prepared
from softvec.fit.settings import Settings
from softvec.operators import Powers
from tests.cluster.groups import fitted
from tests.cluster.processes import command, finished, random_graph

pytestmark = [
    pytest.mark.filterwarnings("ignore:the normaliser is off"),
    pytest.mark.usefixtures("small_blocks", "ray_here"),
]


def problem(**options):
    settings = {"n_components": 8, "n_epochs": 6, "random_state": 0, "n_jobs": 1, **options}
    return Powers(prepared(random_graph(), True), 3), Settings(**settings)


@pytest.mark.parametrize("workers", [2, 3])
def test_actors_give_the_bits_of_one_process(workers):
    P, settings = problem(n_clusters=2)
    reports = []
    with RayCluster(workers, None, 1) as cluster:
        there = fitted(P, settings, workers=ClusterWorkers(cluster, reports.append))
    np.testing.assert_array_equal(there.state.X, fitted(P, settings).state.X)
    assert reports[-1].epoch == 6
    assert reports[-1].sent > 0
    assert reports[-1].workers == workers


def test_a_large_halo_arrives_in_rounds():
    P = prepared(np.ones((384, 384), np.float32), True)  # each worker has 128 rows and reads all others
    assert pays([Counts(128, 128, 256)] * 3, 512, np.uint16)
    settings = Settings(n_components=512, n_epochs=2, random_state=0, n_jobs=1)
    with RayCluster(3, None, 1) as cluster:
        there = fitted(P, settings, workers=ClusterWorkers(cluster))
    np.testing.assert_array_equal(there.state.X, fitted(P, settings).state.X)


def test_embed_gives_the_same_embedding():
    A = random_graph()
    options = {"n_components": 8, "random_state": 1, "n_jobs": 1}
    one, other = softvec.embed(A, **options), softvec.embed(A, cluster="local:2", **options)
    np.testing.assert_array_equal(one.vectors, other.vectors)


@pytest.mark.parametrize("saved", [False, True])
def test_a_killed_worker_is_replaced(saved, ray_here, tmp_path):
    options = {"checkpoint": tmp_path / "saved"} if saved else {}
    P, settings = problem(n_epochs=300, checkpoint_every=5, **options)
    killed = []

    def kill(report):
        if report.epoch >= 5 and not killed:
            killed.append(ray_here.get(cluster.actors[1].host.remote()).process)
            os.kill(killed[0], signal.SIGKILL)

    with RayCluster(2, None, 1) as cluster, pytest.warns(UserWarning, match="a worker was lost") as said:
        there = fitted(P, settings, workers=ClusterWorkers(cluster, kill))
    assert killed
    assert "epoch 0" not in str(said[0].message)
    here = fitted(P, Settings(**{**settings.__dict__, "checkpoint": None}))
    np.testing.assert_array_equal(there.state.X, here.state.X)
    np.testing.assert_array_equal(there.history["loss"], here.history["loss"])


def test_a_fit_from_given_vectors_goes_on_from_its_checkpoint(tmp_path):
    P, settings = problem()
    init = np.random.default_rng(0).standard_normal((P.shape[0], 8)).astype(np.float32)
    settings = replace(settings, init=init, checkpoint=tmp_path / "saved", checkpoint_every=2)
    with RayCluster(2, None, 1) as cluster:
        first = fitted(P, settings, workers=ClusterWorkers(cluster))
        reports = []
        again = fitted(P, settings, workers=ClusterWorkers(cluster, reports.append))
    assert not reports  # it had ended
    np.testing.assert_array_equal(again.state.X, first.state.X)


def test_an_error_of_a_worker_is_one_line(tmp_path):
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "epoch-000001-of-2").write_text("in the way")
    P, settings = problem(checkpoint=tmp_path / "saved", checkpoint_every=1)
    message = r"a worker on 127\.0\.0\.1 stopped: cannot write .*epoch-000001-of-2"
    with RayCluster(2, None, 1) as cluster, pytest.raises(InputError, match=message):
        fitted(P, settings, workers=ClusterWorkers(cluster))


def test_a_killed_driver_continues_with_other_workers(edges, tmp_path):
    one, other, saved = tmp_path / "one.npy", tmp_path / "other.npy", tmp_path / "saved"
    options = ("-d", 8, "--seed", 0, "--view", "walk", "--epochs", 300, "--threads", 1)
    finished("embed", edges, "-o", one, *options)
    there = (*options, "--set", "checkpoint_every=5", "--checkpoint", saved, "--cluster")
    process = command("embed", edges, "-o", other, *there, "local:2")
    end = time.monotonic() + 90
    while not (saved / "checkpoint.json").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)
    process.kill()
    process.communicate()
    assert not other.exists()
    finished("embed", edges, "-o", other, *there, "local:3")
    assert one.read_bytes() == other.read_bytes()
    assert not saved.exists()


def test_a_local_cluster_listens_at_loopback_alone(ray_here):
    assert [node["NodeManagerAddress"] for node in ray_here.nodes()] == ["127.0.0.1"]
    host, port = ray_here.get_runtime_context().gcs_address.rsplit(":", 1)
    assert host == "127.0.0.1"
    socket.create_connection((host, int(port)), 5).close()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        try:
            udp.connect(("192.0.2.1", 9))  # sends nothing, but tells the address that others see
        except OSError:
            pytest.skip("this machine has no other address")
        outside = udp.getsockname()[0]
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((outside, int(port)), 5).close()


def test_the_command_prints_the_gain_of_a_partition(tmp_path):
    n = 1024
    ring = np.arange(n)[:, None] + np.arange(1, 5)  # a ring whose items are shuffled
    shuffled = np.random.default_rng(0).permutation(n)
    pairs = np.stack([np.repeat(np.arange(n), 4), ring.reshape(-1) % n], axis=1)
    np.savetxt(tmp_path / "edges.txt", shuffled[pairs], fmt="%d")
    options = ("-d", 8, "--seed", 0, "-t", 1, "--partition", "stream", "--cluster")
    for workers in (2, 3):
        said = finished(
            "embed", tmp_path / "edges.txt", "-o", tmp_path / f"{workers}.svec", *options, f"local:{workers}"
        )
        assert "partition: a worker reads" in said
        assert "no gain" not in said
    one, other = (softvec.Embedding.load(tmp_path / f"{workers}.svec") for workers in (2, 3))
    assert one.names == other.names
    np.testing.assert_array_equal(one.vectors, other.vectors)


def test_workers_that_find_no_cpu_are_refused_after_a_while(monkeypatch, caplog):
    monkeypatch.setattr(ray_module, "_STARTED", 4.0)
    monkeypatch.setattr(ray_module, "_SAID", 1.0)
    with (
        RayCluster(3, None, 1) as cluster,
        pytest.raises(InputError, match=r"did not start within 4 s: .*CPU"),
    ):
        cluster.take(12)  # of six CPUs
    assert "to start; other jobs may hold the CPUs" in caplog.text


def test_a_terminated_command_exits_with_143(edges, tmp_path):
    saved = tmp_path / "saved"
    options = ("-d", 8, "--seed", 0, "--view", "walk", "--epochs", 100_000, "--checkpoint", saved)
    process = command("embed", edges, "-o", tmp_path / "x.npy", *options, "--cluster", "local:2")
    end = time.monotonic() + 90
    while not (saved / "checkpoint.json").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)
    process.terminate()
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 143, said
    assert "Traceback" not in said


LOSE_A_NODE = """
import numpy as np, ray, softvec
from ray.cluster_utils import Cluster
from softvec.core.machine import Machine
Machine.block, Machine.unit = 32, 4
from softvec.cluster.ray import RayCluster
from tests.cluster.processes import random_graph

nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 3})
second = nodes.add_node(num_cpus=2)
ray.init(nodes.address, logging_level="ERROR", log_to_driver=False)
inner, lost = RayCluster.run, []

def run(self, plan, on_report):
    def lose(report):
        on_report(report)
        if report.epoch >= 12 and not lost:
            lost.append(report.epoch)
            nodes.remove_node(second, allow_graceful=False)
    return inner(self, plan, lose)

RayCluster.run = run
options = {"n_components": 8, "random_state": 0, "n_jobs": 1, "n_epochs": 300, "view": "walk"}
emb = softvec.embed(random_graph(), cluster=nodes.address, checkpoint_every=3, **options)
assert lost
print("same:", np.array_equal(emb.vectors, softvec.embed(random_graph(), **options).vectors))
"""


@pytest.mark.slow
def test_a_fit_goes_on_after_a_machine_is_lost():
    """The vectors that workers kept for the driver survive the machine of a worker."""
    root = Path(__file__).parents[2]
    own = {"PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}", "RAY_AUTH_MODE": "disabled"}
    done = subprocess.run(
        [sys.executable, "-c", LOSE_A_NODE],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **own, "RAY_worker_niceness": "0"},
    )
    assert "same: True" in done.stdout, done.stderr[-2000:]
    assert "a worker was lost with its machine" in done.stderr
    assert "resumes from epoch 0" not in done.stderr


@pytest.mark.parametrize("name", ["none.csv", "no*.csv", "folder"])
def test_data_that_do_not_exist_are_refused_before_workers_start(name, monkeypatch, tmp_path):
    def start(self):
        raise AssertionError("workers were started")

    monkeypatch.setattr(RayCluster, "__enter__", start)
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=r"does not exist|no file matches|holds no files"):
        softvec.embed(str(tmp_path / name), cluster="local:2")
    (tmp_path / "edges.txt").write_text("a b\nb c\n")
    with pytest.raises(AssertionError):
        softvec.embed(tmp_path / "edges.txt", cluster="local:2")
