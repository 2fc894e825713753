"""What softvec says about memory, before a fit takes it."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import softvec
from softvec.core.errors import InputError
from softvec.fit import memory


def ring(n):
    A = sparse.diags_array([np.ones(n - 1), [1.0]], offsets=[1, n - 1], shape=(n, n))
    return (A + A.T).tocsr()


def test_memory_estimate_is_refused_early(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 5000)
    with pytest.raises(InputError, match="GiB"):
        softvec.embed(ring(1000), 64)
    assert len(softvec.embed(ring(100), 8, check_memory=False, n_epochs=1)) == 100
    monkeypatch.setattr(memory, "available_memory", lambda: None)
    assert len(softvec.embed(ring(100), 8, n_epochs=1)) == 100


def test_memory_advice_would_fit(monkeypatch):
    affinity = softvec.affinity.random_walk(ring(5000))
    need = memory.needed_memory(affinity, 256, {})
    monkeypatch.setattr(memory, "available_memory", lambda: need // 2)
    with pytest.raises(InputError, match=r"n_components of about \d+ would fit") as caught:
        memory.refuse_if_too_big(affinity, 256, {})
    advised = int(str(caught.value).split("n_components of about ")[1].split()[0])
    memory.refuse_if_too_big(affinity, advised, {})


@pytest.mark.parametrize(("n", "d"), [(200_000, 64)])
def test_memory_estimate_is_near_the_truth(n, d):
    code = f"""
import numpy as np
from scipy import sparse
from softvec.affinity import random_walk
from softvec import api, memory
rng = np.random.default_rng(0)
i, j = rng.integers(0, {n}, (2, 5 * {n}))
A = sparse.coo_array((np.ones(len(i), np.float32), (i, j)), shape=({n}, {n})).tocsr()
A = A + A.T
affinity = random_walk(A)
def status(key):
    return next(int(l.split()[1]) * 1024 for l in open('/proc/self/status') if l.startswith(key))
api.embed_affinity(affinity, 2, n_epochs=2)  # loads and compiles what is needed, once
open('/proc/self/clear_refs', 'w').write('5')  # the peak starts anew
held = status('VmRSS')
api.embed_affinity(affinity, {d}, n_epochs=2, random_state=0)
print(memory.needed_memory(affinity, {d}, {{}}), status('VmHWM') - held)
"""
    if not sys.platform.startswith("linux"):
        pytest.skip("reads /proc")
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    estimate, used = map(int, out.split())
    assert 0.5 * estimate < used < 1.2 * estimate, (estimate, used)


def test_available_memory_is_plausible():
    free = memory.available_memory()
    assert free is None or 2**20 < free < 2**50


def test_control_group_limits(tmp_path):
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("400\n")
    (tmp_path / "memory.stat").write_text("anon 300\ninactive_file 50\n")
    assert memory._cgroup(str(tmp_path), "memory.max", "memory.current", "inactive_file") == 650
    (tmp_path / "memory.max").write_text("max\n")
    assert memory._cgroup(str(tmp_path), "memory.max", "memory.current", "inactive_file") is None
