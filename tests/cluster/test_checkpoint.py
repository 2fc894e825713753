"""A checkpoint of several workers is complete or absent, and any number of workers can read it."""

import json

import numpy as np
import pytest

from softvec.cluster.driver import plan, whole_of
from softvec.core.errors import InputError
from softvec.fit import Settings, fit, prepared
from softvec.operators import Powers
from tests.cluster.processes import random_graph
from tests.cluster.threads_group import on_ranks

pytestmark = pytest.mark.usefixtures("small_blocks")


class Killed(BaseException):
    """Stands for the end of a process."""


def settings(folder, **options):
    return Settings(
        **{
            "n_components": 8,
            "n_epochs": 9,
            "random_state": 4,
            "n_jobs": 1,
            "checkpoint_every": 2,
            **options,
        },
        checkpoint=folder,
    )


def on_workers(size, until=None):
    """Return what runs a fit in threads; it is killed after the epoch ``until``."""

    def on_epoch(report, state):
        if report.epoch == until:
            raise Killed

    def elsewhere(problem, settings, warm):
        cut = plan(problem, settings, warm, size)
        return whole_of(on_ranks(size, lambda group: cut.task(group.rank).run(group, on_epoch))), cut.seed

    return elsewhere


P = Powers(prepared(random_graph(), True), 2)


@pytest.mark.parametrize(
    "options", [{}, {"n_clusters": 3}, {"symmetric": False}, {"symmetric": False, "n_clusters": 2}]
)
def test_another_number_of_workers_goes_on_to_the_same_bits(options, tmp_path):
    saved = tmp_path / "saved"
    for size, until in ((3, 5), (2, 7)):
        with pytest.raises(Killed):
            fit(P, settings(saved, **options), runner=on_workers(size, until), diagnosed=False)
        assert json.loads((saved / "checkpoint.json").read_text())["epoch"] == until - 1
    there = fit(P, settings(saved, **options), runner=on_workers(4), diagnosed=False)
    here = fit(P, settings(None, **options), diagnosed=False)
    np.testing.assert_array_equal(there.state.X, here.state.X)
    np.testing.assert_array_equal(there.history["loss"], here.history["loss"])
    if here.state.Y is not None:
        np.testing.assert_array_equal(there.state.Y, here.state.Y)
    again = fit(
        P, settings(saved, **options), runner=on_workers(2, until=1), diagnosed=False
    )  # no epoch is run
    np.testing.assert_array_equal(again.state.X, here.state.X)
    assert len(list(saved.iterdir())) == 2  # the manifest and one folder


def test_a_run_killed_while_it_saves_leaves_the_checkpoint_before(tmp_path, monkeypatch):
    from softvec.cluster import checkpoint

    with pytest.raises(Killed):
        fit(P, settings(tmp_path / "a"), runner=on_workers(2, 3), diagnosed=False)
    write = checkpoint.Store._write

    def dies_at_the_manifest(self, name, how):
        if name.endswith(".json"):
            raise Killed
        write(self, name, how)

    monkeypatch.setattr(checkpoint.Store, "_write", dies_at_the_manifest)
    with pytest.raises(Killed):
        fit(P, settings(tmp_path / "a"), runner=on_workers(2), diagnosed=False)
    monkeypatch.undo()
    assert json.loads((tmp_path / "a" / "checkpoint.json").read_text())["epoch"] == 2


def test_other_settings_files_and_damage_are_refused(tmp_path):
    saved = tmp_path / "saved"
    with pytest.raises(Killed):
        fit(P, settings(saved), runner=on_workers(2, 3), diagnosed=False)
    with pytest.raises(InputError, match="other data or other settings"):
        fit(P, settings(saved, beta=2.0), runner=on_workers(2), diagnosed=False)
    part = next(saved.glob("epoch-*/X-0-*.npy"))
    data = bytearray(part.read_bytes())
    data[-3] ^= 1
    part.write_bytes(data)
    with pytest.raises(InputError, match="damaged"):
        fit(P, settings(saved), runner=on_workers(2), diagnosed=False)
    (saved / "checkpoint.json").write_text("{")
    with pytest.raises(InputError, match="damaged"):
        fit(P, settings(saved), runner=on_workers(2), diagnosed=False)
    with pytest.raises(InputError, match="is a file"):
        fit(P, settings(part), runner=on_workers(2), diagnosed=False)


def test_a_url_of_fsspec(tmp_path):
    pytest.importorskip("fsspec")
    url = f"file://{tmp_path / 'saved'}"
    with pytest.raises(Killed):
        fit(P, settings(url), runner=on_workers(3, 5), diagnosed=False)
    there = fit(P, settings(url), runner=on_workers(2), diagnosed=False)
    np.testing.assert_array_equal(there.state.X, fit(P, settings(None), diagnosed=False).state.X)
