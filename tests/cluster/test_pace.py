"""A worker that keeps the others waiting is named, once."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import softvec
from softvec.cluster import ray, worker
from softvec.cluster.worker import Pace, Timed
from softvec.core.machine import Single
from softvec.fit.engine import Engine
from tests.cluster.groups import run


def remarks(epochs, work=(1.0, 1.0, 1.0)):
    """Return what is said of epochs, each a list of (seconds, own work) by worker."""
    made = Pace(Single(), 1.0)
    made._hosts, made._work = ["a", "b", "c"], work
    return [made.remark(epoch) for epoch in epochs]


def test_three_slow_epochs_in_a_row_are_said():
    even, slow = [(4.0, 3.0), (4.0, 3.5), (4.0, 3.8)], [(9.0, 3.0), (9.0, 8.9), (9.0, 3.2)]
    other = [(9.0, 8.9), (9.0, 3.0), (9.0, 3.0)]
    assert remarks([slow, slow, even, slow, slow, other]) == [""] * 6
    said = remarks([even, slow, slow, slow])
    assert said[:3] == [""] * 3
    assert said[3].startswith("worker 1 of 3, on b, is slow: it takes 8.9 s for its part of an epoch, where ")
    assert "the others would take 3.1 s" in said[3]


def test_short_epochs_slow_networks_and_larger_parts_are_not_a_slow_worker():
    assert remarks([[(0.1, 0.09), (0.1, 0.01)]] * 4) == [""] * 4
    assert remarks([[(9.0, 1.0), (9.0, 0.4)]] * 4) == [""] * 4  # all wait for what is sent
    assert remarks([[(9.0, 9.0)]] * 4) == [""] * 4  # a single one
    assert remarks([[(9.0, 9.0), (9.0, 3.0)]] * 4, (3.0, 1.0)) == [""] * 4
    assert "would take 1.5 s" in remarks([[(9.0, 3.0), (9.0, 9.0)]] * 4, (4.0, 2.0))[3]


def test_waiting_is_told_from_work():
    def function(group):
        group = Timed(group)
        made = Pace(group, 1.0)
        made.own()
        time.sleep(0.3 if group.rank else 0.0)
        group.gather(None)
        return made.own()

    (seconds, fast), (_, slow) = run(2, function)
    assert seconds >= 0.3
    assert fast < 0.2
    assert slow >= 0.3


@pytest.mark.usefixtures("small_blocks")
def test_a_slow_worker_of_a_fit_is_named_once(monkeypatch, caplog, tmp_path):
    from softvec.cluster import choose
    from tests.cluster.groups import ThreadCluster
    from tests.cluster.test_files import edges, write

    epoch, slept = Engine.epoch, []

    def slow(self, *arguments, **options):
        if self.runtime.machine.rank == 1:
            slept.append(threading.get_ident())
            time.sleep(0.05)
        return epoch(self, *arguments, **options)

    monkeypatch.setattr(worker, "_LEAST", 0.02)
    monkeypatch.setattr(Engine, "epoch", slow)
    monkeypatch.setattr(choose, "choose", lambda text, n_jobs=None: ThreadCluster(2))
    parts = write(tmp_path, edges())[1]
    softvec.embed(parts, 8, view="walk", n_epochs=9, cluster="local:2", output=tmp_path / "there")
    assert len(slept) == 9
    assert len([line for line in caplog.messages if line.startswith("worker 1 of 2, on ")]) == 1


def test_what_arrives_meanwhile_is_no_wait():
    def function(group):
        group = Timed(group)
        if group.rank:
            time.sleep(0.5)
            group.gather(None)
            return group.spent
        with ThreadPoolExecutor(1) as thread:
            coming = thread.submit(group.gather, None)
            time.sleep(0.2)
            with group.waiting():
                coming.result()
        return group.spent

    fast, slow = run(2, function)
    assert 0.1 < fast < 0.45
    assert slow < 0.2


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.filterwarnings("ignore:the normaliser is off")
def test_a_worker_of_ray_that_does_not_answer_is_named(ray_here, monkeypatch, caplog, tmp_path):
    from softvec.cluster import choose
    from tests.cluster.test_files import edges, write

    monkeypatch.setattr(ray, "_QUIET", 2.0)
    whole, parts = write(tmp_path, edges())
    fit = {"n_epochs": 300, "view": "walk", "n_jobs": 1}
    stopped, inner = [], ray.RayCluster.run

    def stop(report):
        if report.epoch >= 5 and not stopped:
            stopped.append(ray_here.get(cluster.actors[1].host.remote()).process)
            os.kill(stopped[0], signal.SIGSTOP)
            threading.Timer(5, os.kill, (stopped[0], signal.SIGCONT)).start()

    monkeypatch.setattr(ray.RayCluster, "run", lambda self, plan, on_report: inner(self, plan, stop))
    cluster = ray.RayCluster(2, None, 1)
    monkeypatch.setattr(choose, "choose", lambda text, n_jobs=None: cluster)
    emb = softvec.embed(parts, 8, random_state=0, cluster="local:2", **fit)
    assert "and worker 1 of 2 does not answer; the fit waits, and Ctrl-C ends it" in caplog.text
    truth = softvec.embed(whole, 8, random_state=0, **fit)
    np.testing.assert_array_equal(emb.vectors, truth.vectors)
