"""Full disks, limits of file size, folders that vanish or cannot be written to; files of killed runs."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from softvec import EDRep
from softvec.cli import run
from softvec.core.errors import InputError
from softvec.core.files import atomic_write
from softvec.embedding import Embedding

FORMATS = [
    "v.svec", "v.npy", "v.tsv", "v.csv", "v.parquet", "v.feather", "v.txt", "v.bin", "v.vec.gz",
    "v/",
]  # fmt: skip


def vectors(n=2000, d=16, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)
    X[: n // 2, 0] += 8  # two groups
    X[n // 2 :, -1] += 8
    return Embedding(X, [f"name{i}" for i in range(n)])


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


LIMITED = """
import resource, sys
import numpy as np
from softvec.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
main(sys.argv[1:])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of Unix")
@pytest.mark.parametrize("name", FORMATS)
def test_limit_of_file_size(tmp_path, name):
    vectors().save(tmp_path / "source.svec")
    vectors(5).save(f"{tmp_path}/{name}")
    before = contents(tmp_path)
    command = [sys.executable, "-c", LIMITED, "convert", "source.svec", name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert f"cannot write {name.split('.')[0].rstrip('/')}" in done.stderr  # of two files, either
    assert contents(tmp_path) == before


@pytest.mark.skipif(sys.platform == "win32", reason="limits of Unix")
def test_limit_of_file_size_under_a_checkpoint(tmp_path):
    (tmp_path / "e.txt").write_text("".join(f"{i} {i * 7 % 500}\n" for i in range(1, 500)))
    command = [sys.executable, "-c", LIMITED, "embed", "e.txt", "--checkpoint", "c", "-q"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert "cannot write " in done.stderr
    assert "the disk or a limit is full" in done.stderr
    assert sorted(contents(tmp_path)) == ["e.txt"]


OUTPUTS = [
    *(["convert", "source.svec", name] for name in FORMATS),
    ["embed", "e.txt", "-d", "4", "-q", "-o", "v.svec"],
    ["embed", "e.txt", "-d", "4", "-q", "-o", "x.svec", "--checkpoint", "v.npz"],
    ["map", "source.svec", "-o", "v.html"],
    ["map", "source.svec", "-o", "v.parquet"],
    ["map", "source.svec", "-o", "v.gexf"],
    ["plot", "source.svec", "-o", "v.png"],
    ["communities", "source.svec", "-o", "v.csv"],
    ["predict", "source.svec", "labels.tsv", "-o", "v.csv"],
]  # fmt: skip


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.EDQUOT])
@pytest.mark.parametrize("arguments", OUTPUTS, ids=" ".join)
def test_a_folder_that_takes_no_files_is_one_line(tmp_path, monkeypatch, capsys, arguments, code):
    monkeypatch.chdir(tmp_path)
    vectors(30, 4).save("source.svec")
    vectors(20, 4).save(arguments[-1] if arguments[0] == "convert" else "v.svec")
    (tmp_path / "e.txt").write_text("".join(f"{i} {i * 7 % 30}\n" for i in range(1, 30)))
    (tmp_path / "labels.tsv").write_text("".join(f"name{i}\t{i % 2}\n" for i in range(20)))
    before = contents(tmp_path)

    def refused(*_, **__):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("softvec.core.files.tempfile.mkstemp", refused)
    code_of_exit = run(arguments)
    told = capsys.readouterr().err
    assert code_of_exit == 2
    assert told.count("\n") == 1
    assert told.startswith("softvec: cannot write ")
    assert os.strerror(code) in told
    assert contents(tmp_path) == before


def test_full_disk(tmp_path, monkeypatch):
    vectors().save(tmp_path / "v.svec")
    before = contents(tmp_path)

    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"cannot write .*: No space left on device"):
        vectors(50).save(tmp_path / "v.svec")
    with pytest.raises(InputError, match="No space left on device"):
        EDRep(4, n_epochs=2, checkpoint=tmp_path / "c").fit(np.ones((9, 9)))
    assert contents(tmp_path) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_full_device_and_full_standard_output(tmp_path):
    with pytest.raises(InputError, match="cannot write /dev/full: No space left"):
        vectors().save("/dev/full", "word2vec")
    vectors().save(tmp_path / "v.svec")
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "softvec", "convert", "v.svec", "-", "--to", "word2vec"]
        done = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode in (1, 2)
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


def test_folder_that_vanishes(tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    with pytest.raises(InputError, match="its directory was deleted meanwhile"), atomic_write(folder / "x"):
        shutil.rmtree(folder)


def test_errors_of_reading_stay_what_they_are(tmp_path):
    with pytest.raises(FileNotFoundError, match="other"), atomic_write(tmp_path / "x"):
        (tmp_path / "other").read_bytes()
    assert not contents(tmp_path)


KILLED = """
import os, signal, sys, time
from softvec.core.files import atomic_write
with atomic_write(sys.argv[1], "w") as file:
    file.write("half")
    file.flush()
    print("writing", flush=True)
    time.sleep(60)
"""


def test_files_of_killed_runs_go_and_those_of_running_ones_stay(tmp_path):
    target = tmp_path / "x.txt"
    start = [sys.executable, "-c", KILLED, str(target)]
    killed, running = (subprocess.Popen(start, stdout=subprocess.PIPE) for _ in range(2))
    try:
        for process in (killed, running):
            process.stdout.readline()
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        (tmp_path / ".x.txt.notes.part").write_text("the user's own")
        (tmp_path / ".x.txt.old.abcdefgh.part").write_text("of another target")
        with atomic_write(target, "w") as file:
            file.write("whole")
        parts = sorted(path.name for path in tmp_path.glob(".*"))
        assert len(parts) == 3, parts
        assert target.read_text() == "whole"
    finally:
        running.kill()
        running.wait()
        for process in (killed, running):
            process.stdout.close()
    with atomic_write(target, "w") as file:
        file.write("again")
    assert len(list(tmp_path.glob(".*"))) == 2


KILLED_AT = """
import os, signal, sys
from softvec.embedding import Embedding
source, target, at = sys.argv[1], sys.argv[2], int(sys.argv[3])
replace, calls = os.replace, []
def killed(*names):
    calls.append(names)
    if len(calls) == at:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(*names)
os.replace = killed
Embedding.load(source).save(target)
"""


@pytest.mark.parametrize("at", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["v.npy", "v.tsv"])
def test_kill_between_two_files_never_mixes_them(tmp_path, name, at):
    old, new = vectors(40, seed=1), vectors(40, seed=2)
    new = Embedding(new.vectors, [f"other{i}" for i in range(40)])
    new.save(tmp_path / "new.svec")
    old.save(tmp_path / name)
    command = [sys.executable, "-c", KILLED_AT, str(tmp_path / "new.svec"), str(tmp_path / name), str(at)]
    assert subprocess.run(command).returncode == (-signal.SIGKILL if at < 4 else 0)
    if at in (2, 3):
        with pytest.raises(InputError, match="its save was interrupted"):
            Embedding.load(tmp_path / name)
    else:
        wanted = old if at == 1 else new
        found = Embedding.load(tmp_path / name)
        assert list(found.names) == list(wanted.names)
        assert np.allclose(found.vectors, wanted.vectors)
    new.save(tmp_path / name)
    assert list(Embedding.load(tmp_path / name).names) == list(new.names)
    assert not list(tmp_path.glob(".*"))


@pytest.mark.skipif(sys.platform == "win32", reason="no locks of folders")
@pytest.mark.parametrize("name", ["v.npy", "v.tsv"])
def test_two_writers_of_two_files_never_mix_them(tmp_path, monkeypatch, name):
    first, second = vectors(40, seed=1), vectors(40, seed=2)
    second = Embedding(second.vectors, [f"other{i}" for i in range(40)])
    other = threading.Thread(target=second.save, args=(tmp_path / name,))
    replace, renamed = os.replace, []

    def interrupted(source, target):
        replace(source, target)
        if threading.current_thread() is not other and str(target).endswith(name):
            renamed.append(target)
            other.start()  # between the vectors and the names of the first
            other.join(timeout=1)

    monkeypatch.setattr(os, "replace", interrupted)
    first.save(tmp_path / name)
    other.join()
    assert len(renamed) == 1
    loaded = Embedding.load(tmp_path / name)
    assert list(loaded.names) == list(second.names)
    np.testing.assert_allclose(loaded.vectors, second.vectors, rtol=1e-5)
    assert not list(tmp_path.glob(".*"))


def test_long_names_of_several_bytes_a_letter(tmp_path):
    name = "漢" * 80 + ".svec"  # 245 bytes of the 255 that a file system takes
    vectors(5).save(tmp_path / name)
    assert len(Embedding.load(tmp_path / name)) == 5


def test_two_writers_of_one_checkpoint_leave_a_whole_one(tmp_path):
    (tmp_path / "e.txt").write_text("".join(f"{i} {i * 7 % 500}\n" for i in range(1, 500)))
    command = [sys.executable, "-m", "softvec", "embed", "e.txt", "-d", "8", "-q", "--seed", "1", "--threads",
               "1", "--checkpoint", "c", "--set", "checkpoint_every=1", "-o"]  # fmt: skip
    writers = [
        subprocess.Popen([*command, f"{k}.svec"], cwd=tmp_path, stderr=subprocess.PIPE) for k in (1, 2)
    ]
    for writer in writers:
        told = writer.communicate()[1].decode()
        assert writer.returncode == 0 or (writer.returncode == 2 and told.count("\n") == 1), told
    made = [Embedding.load(path).vectors for path in tmp_path.glob("?.svec")]
    assert made
    np.testing.assert_array_equal(made[0], made[-1])
    assert not list(tmp_path.glob(".*"))
