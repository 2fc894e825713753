"""Ranks of MPI give the bits of one process, and go on after a kill, on another number of ranks too."""

import os
import signal
import time

import numpy as np
import pytest

pytest.importorskip("mpi4py")
from softvec.cluster.choose import choose
from softvec.core.errors import InputError
from tests.cluster.processes import command, finished, ranks_of

OPTIONS = ("-d", 8, "--seed", 0, "--view", "walk", "--threads", 1)


@pytest.mark.parametrize("ranks", [2, 3])
def test_the_command_on_ranks_writes_the_bytes_of_one_process(ranks, edges, tmp_path):
    one, other = tmp_path / "one.npy", tmp_path / "other.npy"
    options = (*OPTIONS, "--epochs", 6, "--clusters", 2)
    finished("embed", edges, "-o", one, *options)
    said = finished("embed", edges, "-o", other, *options, "--cluster", "mpi", ranks=ranks)
    assert one.read_bytes() == other.read_bytes()
    assert f"cluster: {ranks} workers" in said
    assert said.count("6 epochs") == 1  # rank 0 alone tells and writes


ROUNDS = """
from softvec.cluster import halo, operator
def multiply(*arguments):
    sys.stderr.write("in rounds\\n")
    return halo.multiply(*arguments)
operator.pays, operator.multiply = lambda counts, d, dtype: True, multiply
"""


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("walk", [1, 3])
def test_rounds_write_the_bytes_of_one_process(ranks, walk, edges, tmp_path):
    one, other = tmp_path / "one.npy", tmp_path / "other.npy"
    options = ("-d", 100, "--seed", 0, "--view", "walk", "--threads", 1, "--epochs", 4, "-w", walk)
    finished("embed", edges, "-o", one, *options)
    said = finished("embed", edges, "-o", other, *options, "--cluster", "mpi", ranks=ranks, first=ROUNDS)
    assert one.read_bytes() == other.read_bytes()
    assert said.count("in rounds") == 4 * walk * ranks


LONG = (*OPTIONS, "--epochs", 800, "--set", "checkpoint_every=20")


@pytest.fixture(scope="module")
def uninterrupted(edges, tmp_path_factory):
    """The bytes that one process writes."""
    target = tmp_path_factory.mktemp("one") / "one.npy"
    finished("embed", edges, "-o", target, *LONG)
    return target.read_bytes()


@pytest.mark.parametrize("victim", ["worker", "driver"])
def test_a_killed_run_continues_on_another_number_of_ranks(victim, uninterrupted, edges, tmp_path):
    other, saved = tmp_path / "other.npy", tmp_path / "saved"
    there = (*LONG, "--cluster", "mpi", "--checkpoint", saved)
    process = command("embed", edges, "-o", other, *there, ranks=3)
    end = time.monotonic() + 60
    while not (saved / "checkpoint.json").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)
    numbers = ranks_of(process)
    assert sorted(numbers) == [0, 1, 2]
    os.kill(numbers[0 if victim == "driver" else 2], signal.SIGKILL)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert not other.exists()
    finished("embed", edges, "-o", other, *there, ranks=2)
    assert other.read_bytes() == uninterrupted
    assert not saved.exists()  # removed once the vectors are saved
    assert np.isfinite(np.load(other)).all()


def test_tasks_of_slurm_that_mpi_does_not_join_are_refused(monkeypatch):
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "8")
    with pytest.raises(InputError, match="srun started 8 tasks, but MPI sees one rank; use srun --mpi=pmi2"):
        choose("mpi")
