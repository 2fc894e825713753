"""Large arrays in files of a folder: not counted as memory, and nothing left of them."""

import errno
import mmap
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from softvec.core import scratch
from softvec.core.errors import InputError


def is_mapped(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, mmap.mmap | memoryview)


def test_only_large_arrays_within_the_context_are_files(tmp_path):
    assert not scratch.on_disk()
    with scratch.large_arrays_in(tmp_path):
        assert scratch.on_disk()
        large, small = scratch.empty((1 << 10, 1 << 9), np.float32), scratch.empty(10, np.float64)
        with scratch.large_arrays_in(None):  # changes nothing
            assert is_mapped(scratch.empty(1 << 20, np.uint8))
        assert os.listdir(tmp_path) == []
    assert is_mapped(large)
    assert not is_mapped(small)
    assert large.flags.c_contiguous
    assert large.flags.aligned
    assert large.flags.writeable
    assert not is_mapped(scratch.empty(1 << 20, np.uint8))
    large[:] = np.arange(1 << 9)  # the file lives as long as the array
    assert large.sum() == (1 << 10) * (1 << 9) * ((1 << 9) - 1) / 2


def test_copies_and_selections_are_files_too(tmp_path):
    rng = np.random.default_rng(0)
    array, keep = rng.normal(size=(1 << 18, 2)), rng.random(1 << 18) < 0.7
    with scratch.large_arrays_in(tmp_path):
        half, rows = scratch.copied(array, np.float16), scratch.kept(array, keep)
    assert is_mapped(half)
    assert is_mapped(rows)
    np.testing.assert_array_equal(half, array.astype(np.float16))
    np.testing.assert_array_equal(rows, array[keep])


def test_folders_that_cannot_be_used(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "absent", tmp_path / "file"):
        with (
            pytest.raises(InputError, match=r"scratch is .*; expected an existing folder"),
            scratch.large_arrays_in(folder),
        ):
            pass
    assert not scratch.on_disk()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_full_disk_is_one_line(tmp_path, monkeypatch, code):
    def full(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(scratch, "_reserve", full)
    with scratch.large_arrays_in(tmp_path), pytest.raises(InputError, match="has no room") as caught:
        scratch.empty(1 << 28, np.float32)
    assert "1.00 GiB" in str(caught.value)
    assert "scratch=" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_space_is_taken_at_once_also_without_fallocate(tmp_path, monkeypatch):
    with scratch.large_arrays_in(tmp_path):
        if hasattr(os, "posix_fallocate"):
            monkeypatch.delattr(os, "posix_fallocate")
        array = scratch.empty(3 * (1 << 20) + 5, np.uint8)
    assert not array.any()
    array[-1] = 7
    assert array.sum() == 7


def test_memory_file_systems_are_told_apart(tmp_path, monkeypatch):
    device = os.stat(tmp_path).st_dev
    line = "36 35 {}:{} / /x rw,noatime shared:1 - {} none rw\n"
    real = scratch.Path.read_text
    for kind, expected in (("tmpfs", True), ("ext4", False)):
        text = line.format(os.major(device), os.minor(device), kind)
        monkeypatch.setattr(
            scratch.Path, "read_text",
            lambda self, text=text: text if "mountinfo" in str(self) else real(self),
        )  # fmt: skip
        assert scratch.is_memory(tmp_path) is expected


LIMITED = """
import resource, sys
import numpy as np
from softvec.core.scratch import empty, large_arrays_in
used = next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith("VmData"))
resource.setrlimit(resource.RLIMIT_DATA, (used + (64 << 20), used + (64 << 20)))
with large_arrays_in(sys.argv[1] or None):
    X = empty((3 * 64 << 10, 256), np.float32)  # three times what is allowed
    X[:] = 1
    print(int(X.sum(dtype=np.float64)))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a limit of Linux")
def test_files_are_not_memory_of_the_process(tmp_path):
    def run(folder):
        return subprocess.run([sys.executable, "-c", LIMITED, folder], capture_output=True, text=True)

    assert "MemoryError" in run("").stderr
    done = run(str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 3 * 64 * 1024 * 256


WAITING = """
import sys, time
import numpy as np
from softvec.core.scratch import empty, large_arrays_in
with large_arrays_in(sys.argv[1]):
    X = empty(1 << 22, np.float32)
    X[:] = 1
    print("made", flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_a_killed_process(tmp_path, number):
    command = [sys.executable, "-c", WAITING, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout.readline() == b"made\n"
        assert os.listdir(tmp_path) == []  # it has no name even now
        process.send_signal(number)
        process.wait(timeout=60)
    assert process.returncode != 0
    assert os.listdir(tmp_path) == []
