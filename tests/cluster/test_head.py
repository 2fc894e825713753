"""Fits on a real head of Ray, through its client server (ray://), and addresses without one."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("ray")
import softvec
from softvec.cluster import connect as connect_module
from softvec.cluster.choose import choose
from softvec.cluster.connect import _reason, connect, starts_heads
from softvec.cluster.ray import RayCluster
from softvec.cluster.worker import this_host
from softvec.core.errors import InputError
from softvec.embedding import Embedding
from tests.cluster.processes import command, finished
from tests.cluster.test_files import edges, write

_LOOPBACK = "127.0.0.1"


def free_port():
    """Return a port that nothing listens on."""
    with socket.socket() as sock:
        sock.bind((_LOOPBACK, 0))
        return sock.getsockname()[1]


@contextmanager
def running_head(client):
    """A head with a client server on a port of loopback; yields the process and the server's address."""
    pytest.importorskip("grpc", reason="Ray's client server needs grpcio: pip install 'ray[client]'")
    gcs, folder = free_port(), tempfile.mkdtemp(prefix="sv")  # short: it holds sockets
    own = {
        "RAY_TMPDIR": folder,  # ray start notes the last head there
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # listen at loopback alone
        "RAY_AUTH_MODE": "disabled",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "0",  # else workers starve on a busy machine
        "PYTHONPATH": str(Path(__file__).parents[2] / "src"),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
    }
    program = [
        sys.executable,
        "-c",
        "from ray.scripts.scripts import main; main()",
        "start",
        "--head",
        "--block",
    ]
    options = {"node-ip-address": _LOOPBACK, "port": gcs, "ray-client-server-port": client, "num-cpus": 2}
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    log = Path(folder) / "head.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [*program, *words, "--include-dashboard", "false"],
            stdout=output, stderr=subprocess.STDOUT, env={**os.environ, **own}, start_new_session=True,
        )  # fmt: skip
    try:
        end = time.monotonic() + 60
        while not all(map(listens, (client, gcs))):
            if process.poll() is not None or time.monotonic() > end:
                pytest.skip(f"Ray's client server does not start here: {log.read_text()[-300:]}")
            time.sleep(0.1)
        address = f"ray://{_LOOPBACK}:{client}"
        plain = [sys.executable, "-c", f"import ray; ray.init({address!r}, logging_level='ERROR')"]
        time.sleep(5)  # soon after its start, Ray 2.60 often fails
        for _ in range(3):
            tried = subprocess.run(plain, capture_output=True, text=True, timeout=120)
            if tried.returncode == 0:
                break
        if tried.returncode:
            pytest.skip(f"Ray's own client does not get through: {tried.stderr.strip()[-200:]}")
        yield process, address
    finally:
        process.send_signal(signal.SIGTERM)  # ends the processes that it started, too
        try:
            process.wait(45)  # it may drain for 30 seconds
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # of all that it started: it has its own session
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def head():
    """The address of a head that runs as long as the tests of this module."""
    with running_head(free_port()) as (_, address):
        yield address


def kill_session(leader):
    """Kill all processes of a session, as a machine that stops does, and wait until they are gone."""
    while True:
        met = False
        for folder in Path("/proc").iterdir():
            with suppress(OSError, ValueError):  # gone meanwhile, or not a process
                state, _, _, session = (folder / "stat").read_text().rsplit(")", 1)[1].split()[:4]
                if int(session) == leader and state not in "ZX":
                    met = True
                    os.kill(int(folder.name), signal.SIGKILL)
        if not met:
            return
        time.sleep(0.05)


def listens(port):
    """Whether a port of this machine is open."""
    try:
        socket.create_connection((_LOOPBACK, port), 1).close()
    except OSError:
        return False
    return True


@pytest.fixture(autouse=True)
def no_token(monkeypatch):
    """Speak to the head without a token."""
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


@pytest.mark.usefixtures("small_blocks")
def test_a_head_gives_the_bits_of_one_process(head, tmp_path):
    whole, parts = write(tmp_path, edges(weights=True))
    fit = {"n_components": 8, "random_state": 0, "n_jobs": 1, "n_epochs": 3}
    one = softvec.embed(whole, **fit)
    first = f"""
import ray, softvec
ray.init({head!r}, logging_level="ERROR")  # one connection for both fits
softvec.embed({str(whole)!r}, cluster={head!r}, **{fit}).save({str(tmp_path / "file.svec")!r})
"""
    options = ("-d", 8, "--seed", 0, "--threads", 1, "--epochs", 3, "--cluster", head)
    said = finished("embed", parts, "-o", f"{tmp_path}/folder/", *options, first=first)
    assert "cluster: 1 worker\n" in said
    for name in ("file.svec", "folder"):
        there = Embedding.load(tmp_path / name)
        assert one.names.to_list() == there.names.to_list()
        np.testing.assert_array_equal(one.vectors.view(np.uint32), there.vectors.view(np.uint32))


@pytest.mark.slow
@pytest.mark.usefixtures("small_blocks")
def test_a_run_goes_on_with_the_next_head(monkeypatch, tmp_path):
    whole, parts = write(tmp_path, edges(weights=True))
    port, saved = free_port(), tmp_path / "saved"
    options = ("-d", 8, "--seed", 0, "--threads", 1, "--epochs", 400, "--view", "walk", "--cluster", "auto")
    there = ("embed", parts, "-o", f"{tmp_path}/folder/", *options, "--checkpoint", saved)
    there += ("--set", "checkpoint_every=50")
    with running_head(port) as (process, address):
        monkeypatch.setenv("RAY_ADDRESS", address)
        driver = command(*there)
        end = time.monotonic() + 90
        while not (saved / "checkpoint.json").exists():
            assert driver.poll() is None, driver.communicate()
            assert time.monotonic() < end
            time.sleep(0.01)
        kill_session(process.pid)
        said = driver.communicate(timeout=120)[1]
        assert driver.returncode == 2, said
        assert "lost the connection to the Ray cluster" in said.splitlines()[-1]
        assert "run the same command again to go on from the checkpoint" in said
    with running_head(port):
        finished(*there)
    emb = softvec.embed(whole, 8, random_state=0, n_jobs=1, n_epochs=400, view="walk")
    np.testing.assert_array_equal(Embedding.load(tmp_path / "folder").vectors, emb.vectors)
    assert not saved.exists()


@pytest.mark.parametrize("address", ["ray://10.0.0.1:10001", "10.0.0.1:6379", "auto"])
def test_auto_is_the_cluster_that_the_environment_names(address, monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", address)
    assert choose("auto")._target == address
    assert choose("local:2")._target is None


@pytest.mark.parametrize("address", ["", "local"])
def test_auto_is_this_machine_without_a_cluster(address, monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", address)
    assert choose("auto")._target is None


@pytest.mark.parametrize("scheme", ["ray://", ""])
def test_a_wrong_address_is_refused_at_once(scheme):
    address = f"{scheme}{_LOOPBACK}:{free_port()}"
    begun = time.monotonic()
    message = f"no Ray cluster at {re.escape(address)}: connection refused; check that the head runs"
    with pytest.raises(InputError, match=message), choose(address):
        pass
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize("failures", [2, 3])
def test_a_head_that_fails_now_and_then_is_asked_again(failures, monkeypatch):
    asked = []

    def init(**options):
        asked.append(options["address"])
        if len(asked) <= failures:
            raise ConnectionAbortedError("Initialization failure from server: it does not start")
        return SimpleNamespace(dashboard_url="http://127.0.0.1:8265")

    monkeypatch.setattr(connect_module, "_require_server", lambda address: None)
    here = SimpleNamespace(init=init)
    if failures == 2:
        assert connect(here, "ray://head:10001", 1) == "http://127.0.0.1:8265"
    else:
        with pytest.raises(InputError, match="no Ray cluster at ray://head:10001: Initialization failure"):
            connect(here, "ray://head:10001", 1)
    assert len(asked) == 3


def test_a_signal_while_ray_starts_here_waits_until_it_has():
    """Ray has a handler of its own, and crashes or leaves processes behind where its start is cut short."""
    from ray._private import utils

    happened = []

    def init(**options):
        utils.set_sigterm_handler(lambda number, frame: sys.exit(number))
        signal.raise_signal(signal.SIGTERM)
        happened.append("started")
        return SimpleNamespace(dashboard_url="")

    def stop(number, frame):
        happened.append(number)
        sys.exit(128 + number)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        with pytest.raises(SystemExit, match="143"):
            connect(SimpleNamespace(init=init), None, 1)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert happened == ["started", signal.SIGTERM]


def test_an_unknown_host_is_refused_at_once():
    with (
        pytest.raises(InputError, match=r"no Ray cluster at ray://head.invalid:10001: "),
        choose("ray://head.invalid:10001"),
    ):
        pass


def test_the_address_of_a_dashboard_is_refused(monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "http://127.0.0.1:8265")
    with pytest.raises(InputError, match=r"RAY_ADDRESS is 'http://127.0.0.1:8265'; expected ray://host:port"):
        choose("auto")


class FakeRay:
    """Ray with a head without CPUs and two nodes of 16 cores; notes where actors are put."""

    def __init__(self):
        self.places = []

    def is_initialized(self):
        return True

    def nodes(self):
        cores = {"0": {}, "a": {"CPU": 16.0, "memory": 2**30}, "b": {"CPU": 16.0, "memory": 2**31}}
        return [{"NodeID": name * 56, "Alive": True, "Resources": each} for name, each in cores.items()]

    def remote(self, **options):
        return lambda kind: self

    def options(self, scheduling_strategy):
        self.places.append(scheduling_strategy.node_id[0])
        return SimpleNamespace(remote=lambda driver: SimpleNamespace(host=self))

    def wait(self, answers, num_returns, timeout):
        return answers, []

    def get(self, answers):
        return [this_host() for _ in answers]


def test_every_node_with_cpus_runs_one_worker_on_all_its_cores():
    cluster = RayCluster(None, f"{_LOOPBACK}:6379")
    cluster._ray = ray = FakeRay()
    cluster.__enter__()
    assert (cluster.workers, cluster._threads, cluster.memory) == (2, 16, 2**30)
    cluster.take(3)
    assert ray.places == ["a", "b", "a"]


def test_a_lost_connection_is_one_line():
    def lost():
        raise ConnectionError("Client is shutting down.")

    cluster = RayCluster(None, "ray://head:10001")
    cluster._ray = FakeRay()
    work = SimpleNamespace(kept_every=0, with_threads=lambda n_jobs: lost())
    with pytest.raises(InputError, match=r"lost the connection .* ray://head:10001; start .* the checkpoint"):
        list(cluster.run(work, print))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "Initialization failure from server:\nTraceback (most recent\n  line\nOSError: no disk\n",
            "Initialization failure from server: OSError: no disk",
        ),
        (
            "Call to `ray.init()` on the server failed with: Traceback\n ...\nOSError: no disk",
            "OSError: no disk",
        ),
        ("the versions differ\nmore", "the versions differ"),
    ],
)
def test_an_error_of_the_server_is_one_line_with_its_reason(text, reason):
    line = _reason(ConnectionAbortedError(text))
    assert line.endswith(reason)
    assert "\n" not in line


def test_a_cluster_without_workers_is_disconnected():
    ended = []
    cluster = RayCluster(None, "ray://head:10001")
    cluster._ray = SimpleNamespace(
        is_initialized=lambda: True,
        nodes=lambda: [{"NodeID": "0", "Alive": True, "Resources": {}}],
        shutdown=lambda: ended.append(True),
    )
    cluster._started = True
    with pytest.raises(InputError, match=r"ray://head:10001 has no node with a CPU for workers \(1 node\)"):
        cluster.__enter__()
    assert ended == [True]


@pytest.mark.parametrize("kind", [BrokenPipeError, ConnectionError])
def test_a_closed_pipe_is_no_lost_connection(kind):
    def fail(n_jobs):
        raise kind

    cluster = RayCluster(None, "ray://head:10001")
    expected = BrokenPipeError if kind is BrokenPipeError else InputError
    with pytest.raises(expected):
        list(cluster.run(SimpleNamespace(kept_every=0, with_threads=fail), print))


def test_tasks_of_slurm_that_mpi_does_not_join_are_refused(monkeypatch):
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "4")
    with pytest.raises(InputError, match="srun started 4 tasks, but MPI sees one rank"):
        choose("auto")
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "")
    assert choose("auto")._target is None


def test_a_head_that_was_stopped_is_a_lost_connection():
    cluster = RayCluster(None, "ray://head:10001")
    cluster._ray = SimpleNamespace(nodes=list)
    work = SimpleNamespace(kept_every=5, with_threads=lambda n_jobs: cluster._nodes())
    with pytest.raises(InputError, match=r"lost the connection .* ray://head:10001; start .* command again$"):
        list(cluster.run(work, print))


def test_a_lost_connection_starts_no_head_on_this_machine():
    import ray

    assert not ray.is_initialized()
    cluster = RayCluster(None, "ray://head:10001")
    before = starts_heads(False)  # as within the cluster
    try:
        work = SimpleNamespace(kept_every=0, with_threads=lambda n_jobs: ray.put(1))
        with pytest.raises(InputError, match="lost the connection to the Ray cluster at ray://head:10001"):
            list(cluster.run(work, print))
        assert not ray.is_initialized()
    finally:
        starts_heads(before)
