"""A killed fit goes on from its checkpoint and ends with the bits of an uninterrupted one."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy import sparse

from softvec import EDRep
from softvec.core.errors import InputError

GRAPH = """
import numpy as np
from scipy import sparse
rng = np.random.default_rng(0)
rows, cols = rng.integers(0, 3000, (2, 15000))
A = sparse.coo_array((np.ones(15000), (rows, cols)), shape=(3000, 3000)).tocsr()
A = A + A.T
"""
OPTIONS = {"n_components": 16, "n_clusters": 3, "n_epochs": 40, "random_state": 0, "gradient": "full"}


def graph():
    space = {}
    exec(GRAPH, space)
    return space["A"]


def test_killed_process_resumes_with_identical_bits(tmp_path):
    saved, out = tmp_path / "run.ckpt", tmp_path / "X.npy"
    code = (
        GRAPH + "import sys, time\nfrom softvec import EDRep\n"
        f"model = EDRep(**{OPTIONS!r}, checkpoint=sys.argv[1], checkpoint_every=3,\n"
        "    callbacks=[lambda epoch, loss, X: time.sleep(float(sys.argv[3])) if epoch > 8 else None])\n"
        "np.save(sys.argv[2], model.fit_transform(A))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(saved), str(out), "5"])
    deadline = time.monotonic() + 120
    while not (saved.exists() and process.poll() is None) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert saved.exists()
    assert not out.exists()
    with np.load(saved, allow_pickle=False) as data:
        assert set(data) >= {"X", "meta"}
    subprocess.run([sys.executable, "-c", code, str(saved), str(out), "0"], check=True)
    assert np.array_equal(np.load(out), EDRep(**OPTIONS).fit_transform(graph()))
    assert not saved.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["X.npy"]


def stop_at(epoch):
    def callback(now, loss, X):
        if now == epoch:
            raise KeyboardInterrupt

    return callback


def interrupted(path, **changes):
    options = {**OPTIONS, **changes}
    with pytest.raises(KeyboardInterrupt):
        EDRep(**options, checkpoint=path, checkpoint_every=4, callbacks=[stop_at(9)]).fit(graph())


def test_one_epoch_to_go_gives_the_same_bits(tmp_path):
    path = tmp_path / "run.ckpt"
    with pytest.raises(KeyboardInterrupt):
        EDRep(**OPTIONS, checkpoint=path, checkpoint_every=1, callbacks=[stop_at(38)]).fit(graph())
    resumed = EDRep(**OPTIONS, checkpoint=path).fit_transform(graph())
    assert np.array_equal(resumed, EDRep(**OPTIONS).fit_transform(graph()))


def test_history_goes_on_and_a_random_seed_is_kept(tmp_path):
    path = tmp_path / "run.ckpt"
    interrupted(path, random_state=None)
    model = EDRep(**{**OPTIONS, "random_state": None}, checkpoint=path).fit(graph())
    np.testing.assert_array_equal(model.history_["epoch"], np.arange(40))


def test_foreign_or_broken_checkpoints_are_refused(tmp_path):
    path = tmp_path / "run.ckpt"
    interrupted(path)
    with pytest.raises(InputError, match="another matrix or other settings"):
        EDRep(**{**OPTIONS, "beta": 2.0}, checkpoint=path).fit(graph())
    with pytest.raises(InputError, match="another matrix or other settings"):
        EDRep(**OPTIONS, checkpoint=path).fit(sparse.eye_array(3000).tocsr())
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(InputError, match="not a checkpoint"):
        EDRep(**OPTIONS, checkpoint=path).fit(graph())
    with pytest.raises(InputError, match="checkpoint_every is 0"):
        EDRep(checkpoint=path, checkpoint_every=0).fit(graph())
