"""A read-only installation, no home, no cache folder: softvec works, perhaps slower."""

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import datasets

SOURCE = Path(__file__).parents[2] / "src" / "softvec"
WORK = """
import numpy as np
from scipy import sparse
import softvec
A = sparse.random(2000, 2000, 0.01, random_state=np.random.default_rng(0), format="csr")
X = softvec.embed((A + A.T).tocsr(), 16, random_state=0, n_epochs=3).vectors
from softvec.kernels import compiled
print(X.shape, compiled._gather_weighted.signatures != [])
"""


def without_override():
    """Let permissions hold for root too: drop CAP_DAC_OVERRIDE from what the next program may have."""
    if os.getuid() == 0:
        ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)


@pytest.fixture
def installation(tmp_path):
    """A copy of softvec that cannot be written to."""
    target = tmp_path / "lib" / "softvec"
    shutil.copytree(SOURCE, target, ignore=shutil.ignore_patterns("__pycache__"))
    folders = [target, *(path for path in target.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    yield tmp_path / "lib"
    for folder in folders:
        folder.chmod(0o755)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="drops a capability of Linux")
@pytest.mark.parametrize("home", [None, "/proc/none"])
def test_read_only_installation(installation, home):
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(installation)}
    environment |= {"XDG_CACHE_HOME": "/proc/none"} if home is None else {"HOME": home}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WORK],
        env=environment, capture_output=True, text=True, preexec_fn=without_override, cwd="/",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "(2000, 16) True\n"
    assert not list(installation.rglob("*.nbi"))


def test_unknown_user_without_home(monkeypatch):
    def unknown():
        raise RuntimeError("Could not determine home directory.")

    for name in ("SOFTVEC_DATA", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", unknown)
    assert not any(datasets.available().values())


FULL = """
import numpy as np
from numba.core import caching
from softvec.kernels import compiled
def full(*_):
    raise OSError(28, "No space left on device")
caching.IndexDataCacheFile.save = full
out = np.empty((3, 2), np.uint16)
compiled.to_half(np.ones((3, 2), np.float32), out)
print(out.view(np.float16).sum())
"""


def test_full_disk_under_the_cache(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", FULL], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "6.0\n"), done.stderr
