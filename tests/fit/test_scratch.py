"""Fits whose large arrays lie on disk: the same bits, within a limit of memory, with nothing left behind."""

import errno
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import softvec
from softvec import EDRep, api, kernels
from softvec.affinity import compress
from softvec.affinity.matrices import is_symmetric
from softvec.core import scratch
from softvec.core.errors import InputError
from softvec.fit import memory
from softvec.fit.settings import Settings


@pytest.fixture
def everything_on_disk(monkeypatch):
    """Put arrays of any size on disk, and read edges by the code for many of them; count the arrays."""
    sizes = []
    reserve = scratch._reserve

    def counted(file, size):
        sizes.append(size)
        reserve(file, size)

    monkeypatch.setattr(scratch, "_SMALL", 1)
    monkeypatch.setattr(scratch, "_reserve", counted)
    monkeypatch.setattr(compress, "worth_compiling", lambda steps: True)
    monkeypatch.setattr(compress, "BUCKET", 300)
    return sizes


def edge_list(path, n=120, count=600, seed=0, weighted=False, names=False):
    rng = np.random.default_rng(seed)
    with open(path, "w") as file:
        for i, j in rng.integers(0, n, (count, 2)):
            ends = f"n{i} n{j}" if names else f"{i} {j}"
            file.write(ends + (f" {rng.random():.4f}\n" if weighted else "\n"))
    return path


def same(a, b):
    assert a.vectors.tobytes() == b.vectors.tobytes()
    assert a.names == b.names
    assert a.provenance["data"] == b.provenance["data"]
    if a.context_vectors is not None:
        assert a.context_vectors.tobytes() == b.context_vectors.tobytes()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"walk_length": 1},
        {"directed": True},
        {"directed": True, "gradient": "full", "walk_length": 2},
        {"kind": "pairs"},
        {"kind": "bipartite"},
        {"n_clusters": 3, "n_epochs": 8},
        {"dtype": "float64"},
        {"init": "power"},
        {"base_measure": 0.75, "gradient": "paper"},
        {"view": "fused"},
        {"repeats": 2},
    ],
    ids=str,
)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.filterwarnings("ignore:the vectors are nearly parallel")
def test_same_bits_as_in_memory(tmp_path, everything_on_disk, options, weighted):
    folder = tmp_path / "scratch"
    folder.mkdir()
    path = edge_list(tmp_path / "e.txt", weighted=weighted, names=options.get("walk_length") == 1)
    in_memory = softvec.embed(path, 8, random_state=0, **options)
    assert everything_on_disk == []
    on_disk = softvec.embed(path, 8, random_state=0, scratch=folder, **options)
    assert len(everything_on_disk) > 5
    assert os.listdir(folder) == []
    same(on_disk, in_memory)


def test_parquet(tmp_path, everything_on_disk):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rng = np.random.default_rng(4)
    table = {
        "source": rng.integers(0, 99, 500),
        "target": rng.integers(0, 99, 500),
        "weight": rng.random(500),
    }
    parquet.write_table(pa.table(table), tmp_path / "e.parquet", row_group_size=100)
    in_memory = softvec.embed(tmp_path / "e.parquet", 8, random_state=0)
    same(softvec.embed(tmp_path / "e.parquet", 8, random_state=0, scratch=tmp_path), in_memory)
    assert os.listdir(tmp_path) == ["e.parquet"]


def test_update_and_checkpoint(tmp_path, everything_on_disk):
    path = edge_list(tmp_path / "e.txt")
    old = softvec.embed(path, 8, random_state=0, n_epochs=3)
    newer = edge_list(tmp_path / "f.txt", seed=1)
    same(
        softvec.embed(newer, init=old, random_state=0, scratch=tmp_path),
        softvec.embed(newer, init=old, random_state=0),
    )
    kept = {"checkpoint": tmp_path / "c", "checkpoint_every": 2, "random_state": 0, "n_epochs": 9}
    whole = softvec.embed(path, 8, random_state=0, n_epochs=9)

    class Stopped(Exception):
        pass

    def interrupt(epoch, loss, X):
        if epoch == 4:
            raise Stopped

    with pytest.raises(Stopped):
        softvec.embed(path, 8, callbacks=[interrupt], scratch=tmp_path, **kept)
    assert (tmp_path / "c").exists()
    same(softvec.embed(path, 8, scratch=tmp_path, **kept), whole)
    assert sorted(os.listdir(tmp_path)) == ["c", "e.txt", "f.txt"]


def test_estimator(tmp_path, everything_on_disk):
    A = sparse.random_array((50, 50), density=0.2, random_state=np.random.default_rng(0)).tocsr()
    on_disk = EDRep(4, random_state=0, scratch=tmp_path).fit(A)
    assert everything_on_disk
    assert on_disk.embedding_.tobytes() == EDRep(4, random_state=0).fit(A).embedding_.tobytes()
    with pytest.raises(InputError, match="scratch is 'absent'; expected an existing folder"):
        EDRep(4, scratch="absent").fit(A)


@pytest.mark.parametrize("weighted", [False, True])
def test_symmetry_is_found_as_by_a_transpose(monkeypatch, weighted):
    rng = np.random.default_rng(5)
    values = rng.random(300) if weighted else np.ones(300, bool)
    A = sparse.coo_array((values, tuple(rng.integers(0, 40, (2, 300)))), shape=(40, 40)).tocsr()
    A.sum_duplicates()
    symmetric = sparse.csr_array(A + A.T)
    lacking = symmetric.copy().tolil()
    i, j = next((i, j) for i, j in zip(*symmetric.nonzero()) if i != j)
    lacking[i, j] = 0
    other = symmetric.copy()
    if weighted:
        other.data[np.flatnonzero(other.indices != 0)[0]] += 1
    cases = [A, symmetric, sparse.csr_array(lacking.tocsr()), other, sparse.csr_array((40, 40))]
    truth = [(case != case.T).nnz == 0 for case in cases]
    assert {True, False} == set(truth)
    for small in (1, 1 << 30):
        monkeypatch.setattr(kernels, "SMALL", small)
        assert [is_symmetric(case) for case in cases] == truth


def test_refusal_names_the_folder_as_the_remedy(tmp_path, monkeypatch):
    A = sparse.eye_array(50_000, k=1, format="csr")
    facts, settings = softvec.affinity.random_walk(A, directed=True).facts, Settings(512)
    need = memory.needed_memory(facts, settings)
    less = memory.needed_memory(facts, settings, scratch=True)
    assert less < need / 3
    monkeypatch.setattr(memory, "available_memory", lambda: (need + less) // 2)
    with pytest.raises(InputError, match="pass scratch="):
        memory.refuse_if_too_big(facts, settings)
    monkeypatch.setattr(memory, "is_memory", lambda folder: False)
    memory.refuse_if_too_big(facts, Settings(512, scratch=tmp_path))
    monkeypatch.setattr(memory, "is_memory", lambda folder: True)  # files of a tmpfs are memory
    with pytest.raises(InputError, match="is held in memory"):
        memory.refuse_if_too_big(facts, Settings(512, scratch=tmp_path))
    monkeypatch.setattr(memory, "available_memory", lambda: less // 2)
    with pytest.raises(InputError) as caught:
        memory.refuse_if_too_big(facts, settings)
    assert "scratch" not in str(caught.value)


def test_full_disk_is_refused_before_the_fit(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "free_space", lambda folder: 1000)
    with pytest.raises(InputError, match=r"needs about .* GiB in .*; name a folder on a larger disk"):
        softvec.embed([("a", "b"), ("b", "c"), ("c", "d")], 32, scratch=tmp_path)


@pytest.mark.usefixtures("everything_on_disk")
@pytest.mark.parametrize("view", ["walk", "fused"])
@pytest.mark.parametrize("lost", ["folder", "room"])
def test_a_disk_lost_while_fitting(tmp_path, monkeypatch, view, lost):
    folder, calls = tmp_path / "scratch", []
    folder.mkdir()

    def lose(epoch, loss, X):
        calls.append(epoch)
        if epoch == 2 and lost == "folder":
            folder.rmdir()
        elif epoch == 2:
            monkeypatch.setattr(scratch, "_reserve", full)

    def full(file, size):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path, reserve = edge_list(tmp_path / "edges.txt"), scratch._reserve
    options = {"random_state": 0, "view": view, "checkpoint": tmp_path / "run.ckpt"}
    line = (
        "the folder is gone; name another|expected an existing folder"
        if lost == "folder"
        else "name a folder on a larger disk"
    )
    with pytest.raises(InputError, match=line) as caught:
        softvec.embed(path, 8, callbacks=[lose], scratch=folder, **options)
    assert "\n" not in str(caught.value)
    monkeypatch.setattr(scratch, "_reserve", reserve)
    emb = softvec.embed(path, 8, scratch=tmp_path, **options)
    np.testing.assert_array_equal(emb.vectors, softvec.embed(path, 8, view=view, random_state=0).vectors)
    assert len(calls) >= 3


LIMITS = """
import resource, sys
from softvec.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 21, 1 << 21))
main(sys.argv[1:])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of Unix")
def test_full_disk_is_one_line_on_the_command_line(tmp_path):
    edge_list(tmp_path / "e.txt", n=20_000, count=30_000)
    (tmp_path / "scratch").mkdir()
    words = [sys.executable, "-c", LIMITS, "embed", "e.txt", "--scratch", "scratch", "-q"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert "scratch has no room for an array of" in done.stderr
    assert "--scratch" in done.stderr
    assert os.listdir(tmp_path / "scratch") == []
    assert sorted(os.listdir(tmp_path)) == ["e.txt", "scratch"]


CHILD = """
import json, os, resource, sys, threading, time
limit, words = int(sys.argv[1]), sys.argv[2:]
if limit:
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
peak = 0
def watch():
    global peak
    while True:
        lines = open("/proc/self/status").read().splitlines()
        peak = max(peak, next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmData")))
        time.sleep(0.01)
threading.Thread(target=watch, daemon=True).start()
from softvec.cli import main
try:
    main(words)
finally:
    print(json.dumps({"peak": peak}), flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a limit of Linux")
@pytest.mark.parametrize("extension", ["txt", "parquet"])
def test_a_third_of_the_memory(tmp_path, extension):
    n, rng = 340_000, np.random.default_rng(0)
    pairs = rng.integers(0, n, (3 * n, 2))
    source = f"e.{extension}"
    if extension == "txt":
        np.savetxt(tmp_path / source, pairs, fmt="%d")
    else:
        pa = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pa.table({"source": pairs[:, 0], "target": pairs[:, 1]}), tmp_path / source)
    (tmp_path / "scratch").mkdir()

    def run(limit, output, *more):
        words = ["embed", source, "-d", "384", "--epochs", "1", "--seed", "0", "-q", "--force", "-t", "2"]
        command = [sys.executable, "-c", CHILD, str(limit), *words, "-o", output, *more]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    whole = run(0, "memory.svec")
    assert whole.returncode == 0, whole.stderr
    limit = json.loads(whole.stdout)["peak"] // 3
    refused = run(limit, "none.svec")
    assert refused.returncode == 1
    assert "out of memory" in refused.stderr
    assert "--scratch" in refused.stderr
    done = run(limit, "disk.svec", "--scratch", "scratch")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["peak"] <= limit
    made = [softvec.Embedding.load(tmp_path / name, mmap=True) for name in ("memory.svec", "disk.svec")]
    assert made[0].vectors.tobytes() == made[1].vectors.tobytes()
    assert os.listdir(tmp_path / "scratch") == []
    assert not (tmp_path / "none.svec").exists()


def test_reading_alone_takes_the_folder_too(tmp_path, everything_on_disk):
    path = edge_list(tmp_path / "e.txt")
    with scratch.large_arrays_in(tmp_path):
        affinity = api.to_affinity(path)
    truth = api.to_affinity(path)
    assert (affinity.counts != truth.counts).nnz == 0
    assert everything_on_disk
