"""What softvec says about memory, before a fit takes it."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import softvec
from benchmarks import memory as memory_jobs
from softvec.core import resources
from softvec.core.errors import InputError
from softvec.fit import memory
from softvec.fit.settings import Settings


def ring(n):
    A = sparse.diags_array([np.ones(n - 1), [1.0]], offsets=[1, n - 1], shape=(n, n))
    return (A + A.T).tocsr()


def test_memory_estimate_is_refused_early(monkeypatch):
    monkeypatch.setattr(memory, "SMALL", 0)  # look at the free memory also for small fits
    monkeypatch.setattr(memory, "available_memory", lambda: 5000)
    with pytest.raises(InputError, match="GiB"):
        softvec.embed(ring(1000), 64)
    assert len(softvec.embed(ring(100), 8, check_memory=False, n_epochs=1)) == 100
    monkeypatch.setattr(memory, "available_memory", lambda: None)
    assert len(softvec.embed(ring(100), 8, n_epochs=1)) == 100


def test_memory_advice_would_fit(monkeypatch):
    facts = softvec.affinity.random_walk(ring(5000)).facts
    need = memory.needed_memory(facts, Settings(256))
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "available_memory", lambda: need // 2)
    with pytest.raises(InputError, match=r"n_components of about \d+ would fit") as caught:
        memory.refuse_if_too_big(facts, Settings(256))
    advised = int(str(caught.value).split("n_components of about ")[1].split()[0])
    memory.refuse_if_too_big(facts, Settings(advised))


@pytest.mark.parametrize(("n", "d"), [(200_000, 64)])
def test_memory_estimate_is_near_the_truth(n, d):
    code = f"""
import ctypes, gc
import numpy as np
from scipy import sparse
from softvec.affinity import random_walk
from softvec import api
from softvec.fit import memory
from softvec.fit.resolve import resolve
from softvec.request import Request
rng = np.random.default_rng(0)
i, j = rng.integers(0, {n}, (2, 5 * {n}))
A = sparse.coo_array((np.ones(len(i), np.float32), (i, j)), shape=({n}, {n})).tocsr()
A = A + A.T
affinity = random_walk(A)
def status(key):
    return next(int(l.split()[1]) * 1024 for l in open('/proc/self/status') if l.startswith(key))
def asked(d):
    return Request.of(affinity, n_components=d, n_epochs=2, random_state=0)
api.embed_affinity(affinity, asked(2))  # loads and compiles what is needed, once
gc.collect()
ctypes.CDLL('libc.so.6').malloc_trim(0)  # what was freed is not held
open('/proc/self/clear_refs', 'w').write('5')  # the peak starts anew
held = status('VmRSS')
api.embed_affinity(affinity, asked({d}))
print(memory.needed_memory(affinity.facts, resolve(asked({d}), affinity.facts)), status('VmHWM') - held)
"""
    if not sys.platform.startswith("linux"):
        pytest.skip("reads /proc")
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    estimate, used = map(int, out.split())
    assert 0.5 * estimate < used < 1.2 * estimate, (estimate, used)


def test_available_memory_is_plausible():
    free = memory.available_memory()
    assert free is None or 2**20 < free < 2**50


def write(root, files):
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


V2 = {"memory.current": "400\n", "memory.stat": "anon 300\ninactive_file 50\n"}
V1 = {"memory.usage_in_bytes": "400\n", "memory.stat": "cache 1\ntotal_inactive_file 50\n"}


def in_group(path, files):
    return {f"sys/fs/cgroup/{path}/{name}": text for name, text in files.items()}


@pytest.mark.parametrize(
    ("process", "files", "left", "quota"),
    [
        ("0::/\n", {}, None, None),
        ("0::/\n", in_group("", {**V2, "memory.max": "1000\n", "cpu.max": "150000 100000\n"}), 650, 1.5),
        ("0::/\n", in_group("", {**V2, "memory.max": "max\n", "cpu.max": "max 100000\n"}), None, None),
        ("0::/\n", in_group("", {**V2, "memory.max": "100\n"}), 0, None),
        (  # the limit stands in a group above that of the process
            "0::/user.slice/app\n",
            in_group("user.slice/app", {**V2, "memory.max": "9000\n", "cpu.max": "max 100000\n"})
            | in_group("user.slice", {**V2, "memory.max": "2000\n", "cpu.max": "50000 100000\n"}),
            1650,
            0.5,
        ),
        (
            "4:memory:/docker/x\n2:cpu,cpuacct:/docker/x\n0::/\n",
            in_group("memory/docker/x", {**V1, "memory.limit_in_bytes": "1000\n"})
            | in_group("memory", {**V1, "memory.limit_in_bytes": "9223372036854771712\n"})
            | in_group(
                "cpu,cpuacct/docker/x", {"cpu.cfs_quota_us": "200000\n", "cpu.cfs_period_us": "100000\n"}
            )
            | in_group("cpu,cpuacct", {"cpu.cfs_quota_us": "-1\n", "cpu.cfs_period_us": "100000\n"}),
            650,
            2.0,
        ),
        (  # inside a container the group's path on the host is not mounted
            "4:memory:/docker/x\n2:cpu:/docker/x\n",
            in_group("memory", {**V1, "memory.limit_in_bytes": "1000\n"})
            | in_group("cpu", {"cpu.cfs_quota_us": "300000\n", "cpu.cfs_period_us": "100000\n"}),
            650,
            3.0,
        ),
        ("not a list of groups\n", in_group("", {"memory.max": "x\n", "cpu.max": "1 0\n"}), None, None),
    ],
)
def test_control_groups(tmp_path, process, files, left, quota):
    write(tmp_path, {"proc/self/cgroup": process, **files})
    assert resources.memory_left(tmp_path) == left
    assert resources.processors(tmp_path) == quota


@pytest.mark.parametrize(("quota", "threads"), [(None, 8), (0.5, 1), (1.5, 2), (3.0, 3), (64.0, 8)])
def test_quota_limits_the_threads(monkeypatch, quota, threads):
    monkeypatch.setattr(resources.os, "sched_getaffinity", lambda pid: range(8), raising=False)
    monkeypatch.setattr(resources, "processors", lambda: quota)
    assert resources.resolve_n_jobs(None) == resources.resolve_n_jobs(-1) == threads
    assert resources.resolve_n_jobs(5) == 5


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("name", memory_jobs.JOBS)
def test_estimate_is_within_a_quarter_above_the_peak(name):
    found = memory_jobs.measure(memory_jobs.JOBS[name])
    assert 1 <= found["ratio"] <= 1.25, found
