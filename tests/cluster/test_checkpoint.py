"""A checkpoint of several workers is complete or absent, and any number of workers can read it."""

import io
import json
import zlib

import numpy as np
import pytest

from softvec.core.errors import InputError
from softvec.core.storage import Storage
from softvec.fit.checkpoint import Checkpoint
from softvec.fit.run import prepared
from softvec.fit.settings import Settings
from softvec.operators import Powers
from tests.cluster.groups import Ranks, fitted
from tests.cluster.processes import random_graph

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


def on_workers(size, until=None, on_epoch=None):
    """Return what runs a fit in threads; it is killed after the epoch ``until``."""

    def after_epoch(report, state):
        if on_epoch is not None:
            on_epoch(report.epoch)
        if report.epoch == until:
            raise Killed

    return Ranks(size, after_epoch)


P = Powers(prepared(random_graph(), True), 2)


@pytest.mark.parametrize(
    "options", [{}, {"n_clusters": 3}, {"symmetric": False}, {"symmetric": False, "n_clusters": 2}]
)
def test_another_number_of_workers_goes_on_to_the_same_bits(options, tmp_path):
    saved = tmp_path / "saved"
    for size, until in ((3, 5), (2, 7)):
        with pytest.raises(Killed):
            fitted(P, settings(saved, **options), on_workers(size, until))
        assert json.loads((saved / "checkpoint.json").read_text())["epoch"] == until - 1
    there = fitted(P, settings(saved, **options), on_workers(4))
    here = fitted(P, settings(None, **options))
    np.testing.assert_array_equal(there.state.X, here.state.X)
    np.testing.assert_array_equal(there.history["loss"], here.history["loss"])
    if here.state.Y is not None:
        np.testing.assert_array_equal(there.state.Y, here.state.Y)
    again = fitted(P, settings(saved, **options), on_workers(2, until=1))  # no epoch is run
    np.testing.assert_array_equal(again.state.X, here.state.X)
    assert len(list(saved.iterdir())) == 2  # the manifest and one folder


def test_a_run_killed_while_it_saves_leaves_the_checkpoint_before(tmp_path, monkeypatch):
    with pytest.raises(Killed):
        fitted(P, settings(tmp_path / "a"), on_workers(2, 3))
    write = Storage.write

    def dies_at_the_manifest(self, name, how, **options):
        if name.endswith(".json"):
            raise Killed
        write(self, name, how, **options)

    monkeypatch.setattr(Storage, "write", dies_at_the_manifest)
    with pytest.raises(Killed):
        fitted(P, settings(tmp_path / "a"), on_workers(2))
    monkeypatch.undo()
    assert json.loads((tmp_path / "a" / "checkpoint.json").read_text())["epoch"] == 2


def test_other_settings_files_and_damage_are_refused(tmp_path):
    saved = tmp_path / "saved"
    with pytest.raises(Killed):
        fitted(P, settings(saved), on_workers(2, 3))
    with pytest.raises(InputError, match="other data or other settings"):
        fitted(P, settings(saved, beta=2.0), on_workers(2))
    part = next(saved.glob("epoch-*/X-0-*.npy"))
    data = bytearray(part.read_bytes())
    data[-3] ^= 1
    part.write_bytes(data)
    with pytest.raises(InputError, match="damaged"):
        fitted(P, settings(saved), on_workers(2))
    (saved / "checkpoint.json").write_text("{")
    with pytest.raises(InputError, match="damaged"):
        fitted(P, settings(saved), on_workers(2))
    with pytest.raises(InputError, match="is a file"):
        fitted(P, settings(part), on_workers(2))


def test_a_folder_that_is_not_shared_is_refused_before_the_first_epoch(tmp_path, monkeypatch):
    exists, epochs = Storage.exists, []
    monkeypatch.setattr(Storage, "exists", lambda self, name: "probe" not in name and exists(self, name))
    with pytest.raises(InputError, match="is not the same folder on all machines"):
        fitted(P, settings(tmp_path / "a"), on_workers(2, on_epoch=epochs.append))
    assert not epochs
    assert not (tmp_path / "a").exists()


@pytest.fixture(params=["memory", "file"])
def url(request, tmp_path, monkeypatch):
    """A place for a checkpoint that fsspec reaches."""
    fsspec = pytest.importorskip("fsspec")
    from fsspec.implementations.memory import MemoryFileSystem

    def opened(self, path, mode="rb", **options):
        if mode == "rb" and path in self.store:  # each reader gets a stream of its own, as from a real store
            return io.BytesIO(self.store[path].getvalue())
        return shared(self, path, mode, **options)

    shared = MemoryFileSystem._open
    monkeypatch.setattr(MemoryFileSystem, "_open", opened)
    yield f"{request.param}://{tmp_path / 'saved'}"
    fsspec.filesystem("memory").store.clear()


def test_a_url_of_fsspec(url):
    with pytest.raises(Killed):
        fitted(P, settings(url), on_workers(3, 5))
    epochs = []
    there = fitted(P, settings(url), on_workers(2, on_epoch=epochs.append))
    assert min(epochs) == 5
    np.testing.assert_array_equal(there.state.X, fitted(P, settings(None)).state.X)
    Checkpoint(url, 1, "").delete()
    assert Checkpoint(url, 1, "").manifest() is None


@pytest.mark.parametrize("file", ["checkpoint.json", "X-"])
def test_a_half_written_url_is_not_used(url, file, monkeypatch):
    with pytest.raises(Killed):
        fitted(P, settings(url), on_workers(2, 3))
    write = Storage.write

    def dies_half_way(self, name, how, **options):
        def half(stream):
            whole = io.BytesIO()
            how(whole)
            stream.write(whole.getvalue()[: len(whole.getvalue()) // 2])
            raise Killed

        write(self, name, half if file in name else how, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Storage, "write", dies_half_way)
        with pytest.raises(Killed):
            fitted(P, settings(url), on_workers(3))
    epochs = []
    there = fitted(P, settings(url), on_workers(2, on_epoch=epochs.append))
    assert min(epochs) == 3
    np.testing.assert_array_equal(there.state.X, fitted(P, settings(None)).state.X)


def edit_part(manifest, **changes):
    manifest["parts"][0].update(changes)


@pytest.mark.parametrize("change", [
    lambda m: edit_part(m, file="../kept/X-0-1.npy"),
    lambda m: edit_part(m, file="/X-0-1.npy"),
    lambda m: edit_part(m, file="epoch-1-of-1/../../kept/X-0-1.npy"),
    lambda m: edit_part(m, file=7),
    lambda m: edit_part(m, rows=[0]),
    lambda m: edit_part(m, rows=["a", "b"]),
    lambda m: edit_part(m, array="Z"),
    lambda m: m.pop("parts"),
    lambda m: m.update(parts={}),
    lambda m: m.update(history=5),
    lambda m: m.update(epoch=-1),
    lambda m: m.update(seed="x"),
    lambda m: m.update(done="yes"),
], ids=range(13))  # fmt: skip
def test_a_forged_manifest_is_refused_and_deletes_nothing_else(tmp_path, change):

    saved, kept = tmp_path / "saved", tmp_path / "kept"
    kept.mkdir()
    (kept / "own.txt").write_text("mine")
    with pytest.raises(Killed):
        fitted(P, settings(saved), on_workers(2, 3))
    manifest = json.loads((saved / "checkpoint.json").read_text())
    change(manifest)
    (saved / "checkpoint.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="is a damaged checkpoint"):
        fitted(P, settings(saved), on_workers(2))
    with pytest.raises(InputError, match="is a damaged checkpoint"):
        Checkpoint(str(saved), 2, "any").delete()
    assert (kept / "own.txt").read_text() == "mine"
    assert (saved / "checkpoint.json").exists()


def test_a_part_with_an_absurd_header_type_or_nan_is_refused(tmp_path):
    saved = tmp_path / "saved"
    with pytest.raises(Killed):
        fitted(P, settings(saved), on_workers(1, 3))
    manifest = json.loads((saved / "checkpoint.json").read_text())
    part = saved / manifest["parts"][0]["file"]
    X = np.load(part)
    holed = X.copy()
    holed[3, 2] = np.nan
    for forged in (holed, X.astype("U8"), X.astype(complex), X > 0):
        np.save(part, forged)
        manifest["parts"][0]["crc"] = zlib.crc32(forged.tobytes())
        (saved / "checkpoint.json").write_text(json.dumps(manifest))
        with pytest.raises(InputError, match="is damaged"):
            fitted(P, settings(saved), on_workers(2))
    with open(part, "wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f4", "fortran_order": False, "shape": (1 << 60, 8)}
        )
    with pytest.raises(InputError, match="is damaged"):
        fitted(P, settings(saved), on_workers(2))
