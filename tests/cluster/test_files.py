"""Files of edges to vectors on a cluster: the bits of one file on one machine."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

import softvec
from softvec import kernels
from softvec.cluster import choose
from softvec.cluster.plan import mapped
from softvec.core.errors import InputError
from softvec.embedding import Embedding
from tests.cluster.groups import ThreadCluster, run
from tests.cluster.processes import command, finished, random_graph, ranks_of

FILES = 8
OPTIONS = ("-d", 8, "--seed", 0, "--threads", 1)


def edges(n=700, count=2500, text=True, weights=False, seed=0):
    """Edges with duplicates, both directions and self loops, names in any order."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(n, size=(count, 2)) if n > 300 else rng.zipf(1.5, (count, 2)) % n
    ids = rng.permutation(10 * n)[:n]
    names = np.array([f"näme_{i}" if i % 3 else f"x{i}" for i in ids]) if text else ids - 3 * n
    table = {"source": names[ends[:, 0]], "target": names[ends[:, 1]]}
    if weights:
        table["weight"] = rng.choice([0.1, 0.3, 1.0, 7.7], count)
    return pa.table(table)


def write(folder, table):
    """Write a table as one file, and as several; return both."""
    (folder / "edges").mkdir()
    pq.write_table(table, folder / "whole.parquet")
    cuts = np.linspace(0, len(table), FILES + 1).astype(int)
    for k in range(FILES):
        pq.write_table(table[cuts[k] : cuts[k + 1]], folder / "edges" / f"{k}.parquet", row_group_size=90)
    return folder / "whole.parquet", str(folder / "edges" / "*.parquet")


CASES = {
    "walk": ({}, {"view": "walk"}),
    "integers": ({"text": False}, {"view": "walk"}),
    "directed": ({"weights": True}, {"directed": True}),
    "bipartite": ({"weights": True}, {"kind": "bipartite"}),
    "pairs": ({}, {"kind": "pairs"}),
    "base measure": ({"weights": True}, {"view": "walk", "base_measure": 0.75, "regularization": 1.0}),
    "fast": ({}, {"effort": "fast"}),
    "links": ({}, {"view": "links", "normalizer": "mixture"}),  # as it is on a cluster
    "fused": ({}, {"view": "fused"}),
    "repeats": ({}, {"repeats": 2, "n_epochs": 2}),
}


@pytest.fixture
def plain_kernels(monkeypatch):
    """The kernels in NumPy, however long a fit is."""
    monkeypatch.setattr(kernels, "SMALL", 10**12)


@pytest.fixture
def threads(monkeypatch):
    """A cluster in the threads of this process for ``cluster="local:2"`` and the like."""
    clusters = []

    def chosen(text, n_jobs=None):
        clusters.append(ThreadCluster(int(text.removeprefix("local:"))))
        return clusters[-1]

    monkeypatch.setattr(choose, "choose", chosen)
    return clusters


@pytest.mark.usefixtures("small_blocks", "plain_kernels", "threads")
@pytest.mark.parametrize("case", CASES)
def test_the_folder_has_the_bits_of_one_machine(case, tmp_path):
    data, options = CASES[case]
    whole, parts = write(tmp_path, edges(**data))
    truth = softvec.embed(whole, 8, random_state=3, n_jobs=1, **options)
    there = {"cluster": "local:3", "output": tmp_path / "vectors"}
    emb = softvec.embed(parts, 8, random_state=3, n_jobs=1, **there, **options)
    assert emb.names.to_list() == truth.names.to_list()
    np.testing.assert_array_equal(emb.vectors, truth.vectors)
    np.testing.assert_array_equal(Embedding.load(tmp_path / "vectors").vectors, truth.vectors)
    np.testing.assert_array_equal(emb.sizes, truth.sizes)
    if truth.two_sided:
        assert emb.context_names.to_list() == truth.context_names.to_list()
        np.testing.assert_array_equal(emb.context_vectors, truth.context_vectors)
    here, there = truth.provenance, emb.provenance
    there["data"]["summary"] = there["data"]["summary"].replace("8 files, ", "")
    for key in ("parameters", "data"):
        mine = {name: value for name, value in there[key].items() if name != "source"}
        assert mine == {name: value for name, value in here[key].items() if name != "source"}
    assert there["history"].get("loss") == here["history"].get("loss")  # power steps have none
    assert all(there[key] == here[key] for key in ("view", "diagnosis"))


@pytest.mark.usefixtures("small_blocks", "plain_kernels", "threads")
def test_texts_with_a_header_are_joined(tmp_path):
    table = edges(weights=True).to_pandas()
    table.to_csv(tmp_path / "whole.csv", index=False)
    (tmp_path / "edges").mkdir()
    for k, part in enumerate(np.array_split(np.arange(len(table)), 3)):
        table.iloc[part].to_csv(tmp_path / "edges" / f"{k}.csv", index=False)
    options = {"n_components": 8, "random_state": 3, "n_jobs": 1, "n_epochs": 2}
    truth = softvec.embed(tmp_path / "whole.csv", **options)
    emb = softvec.embed(tmp_path / "edges", cluster="local:2", **options)
    np.testing.assert_array_equal(emb.vectors, truth.vectors)


@pytest.mark.usefixtures("small_blocks", "plain_kernels", "threads")
def test_any_data_on_a_cluster_goes_to_a_folder(tmp_path):
    whole, _ = write(tmp_path, edges())
    sparse.save_npz(tmp_path / "matrix.npz", random_graph())
    options = {"n_components": 8, "random_state": 3, "n_jobs": 1, "n_epochs": 3}
    for data, more in (
        (whole, {"isolated": "drop"}),
        (whole, {"init": np.eye(700, 8) + 0.1}),
        (tmp_path / "matrix.npz", {}),
        (random_graph(), {}),
    ):
        truth = softvec.embed(data, **options, **more)
        folder = tmp_path / "vectors"
        emb = softvec.embed(data, cluster="local:2", output=folder, **options, **more)
        np.testing.assert_array_equal(emb.vectors, truth.vectors)
        np.testing.assert_array_equal(Embedding.load(folder).vectors, truth.vectors)


@pytest.mark.usefixtures("small_blocks", "plain_kernels")
def test_too_little_memory_is_refused_before_the_fit(threads, monkeypatch, tmp_path):
    _, parts = write(tmp_path, edges())
    monkeypatch.setattr(ThreadCluster, "memory", 310 << 20)
    with pytest.raises(InputError, match=r"each of 2 workers needs about .* (such workers|more memory)"):
        softvec.embed(parts, 512, cluster="local:2", output=tmp_path / "vectors")
    assert not threads[0].epochs
    emb = softvec.embed(parts, 512, n_epochs=1, cluster="local:2", check_memory=False)
    assert emb.shape == (700, 512)


@pytest.mark.usefixtures("small_blocks", "plain_kernels", "threads")
@pytest.mark.parametrize(("view", "last"), [({"view": "walk", "n_epochs": 6}, 4), ({"view": "fused"}, 10)])
def test_a_checkpoint_goes_on_with_other_workers(view, last, monkeypatch, tmp_path):
    whole, parts = write(tmp_path, edges(weights=True))
    options = {"n_components": 8, "random_state": 3, "n_jobs": 1, **view}
    truth = softvec.embed(whole, **options)
    saved = {"checkpoint": tmp_path / "saved", "checkpoint_every": 2}
    inner = ThreadCluster.run

    def stop(self, plan, on_report):
        def kill(report):
            if report.epoch == last:
                raise KeyboardInterrupt

        return inner(self, plan, kill)

    monkeypatch.setattr(ThreadCluster, "run", stop)
    with pytest.raises(KeyboardInterrupt):
        softvec.embed(parts, cluster="local:3", **options, **saved)
    monkeypatch.setattr(ThreadCluster, "run", inner)
    with pytest.raises(InputError, match="checkpoint of other data or other settings"):
        softvec.embed(parts, cluster="local:2", **{**options, "random_state": 4}, **saved)
    emb = softvec.embed(parts, cluster="local:2", **options, **saved)
    np.testing.assert_array_equal(emb.vectors, truth.vectors)


class Losing(ThreadCluster):
    """Loses its workers after an epoch of each fit, and starts again from the states that they had then."""

    last = 0

    def run(self, plan, on_report):
        kept = {}

        def keep(group):
            def on_epoch(report, state):
                if report.epoch == self.last:
                    kept[group.rank] = mapped(state, np.copy)

            return on_epoch

        run(plan.size, lambda group: plan.task(group.rank).run(group, keep(group)))

        def again(group):
            task = plan.task(group.rank)
            return replace(task, start=replace(task.start, state=kept[group.rank]))

        epochs = self.epochs

        def tell(report, state):
            epochs.append(report.epoch)

        return iter(run(plan.size, lambda group: again(group).run(group, tell if group.rank == 0 else None)))


@pytest.mark.usefixtures("small_blocks", "plain_kernels")
@pytest.mark.parametrize(
    "options", [{"view": "fused"}, {"view": "walk"}, {"directed": True, "symmetric": False, "n_clusters": 3}]
)
def test_a_second_attempt_goes_on_from_the_states_of_the_first(options, monkeypatch, tmp_path):
    cluster = Losing(3)
    cluster.last = 3
    monkeypatch.setattr(choose, "choose", lambda text, n_jobs=None: cluster)
    whole, parts = write(tmp_path, edges())
    options = {"n_components": 8, "random_state": 0, "n_jobs": 1, **options}
    emb = softvec.embed(parts, cluster="local:3", **options)
    assert cluster.epochs[0] == 4
    truth = softvec.embed(whole, **options)
    np.testing.assert_array_equal(emb.vectors, truth.vectors)
    assert len(emb.provenance["history"]["loss"]) == len(truth.provenance["history"]["loss"])


def same(one, other):
    """Compare a file and a folder."""
    here, there = Embedding.load(one), Embedding.load(other)
    assert here.names.to_list() == there.names.to_list()
    np.testing.assert_array_equal(here.vectors, there.vectors)


def test_ranks_of_mpi_give_the_vectors_of_one_machine(tmp_path):
    pytest.importorskip("mpi4py")
    whole, parts = write(tmp_path, edges(weights=True))
    options = (*OPTIONS, "--epochs", 4)
    finished("embed", whole, "-o", tmp_path / "one.svec", *options)
    said = finished("embed", parts, "-o", f"{tmp_path}/there/", *options, "--cluster", "mpi", ranks=3)
    same(tmp_path / "one.svec", tmp_path / "there")
    assert "cluster: 3 workers" in said
    assert "graph: 700 nodes" in said
    assert said.count("4 epochs") == 1


def test_workers_of_ray_give_the_vectors_of_one_machine(tmp_path):
    pytest.importorskip("ray")
    whole, parts = write(tmp_path, edges(text=False))
    options = (*OPTIONS, "--epochs", 4)
    finished("embed", whole, "-o", tmp_path / "one.svec", *options)
    finished("embed", parts, "-o", f"{tmp_path}/there/", *options, "--cluster", "local:2")
    same(tmp_path / "one.svec", tmp_path / "there")


def test_a_killed_rank_leaves_no_half_folder_and_the_run_goes_on(tmp_path):
    pytest.importorskip("mpi4py")
    whole, parts = write(tmp_path, edges(weights=True))
    saved, folder = tmp_path / "saved", tmp_path / "there"
    options = (*OPTIONS, "--epochs", 800, "--view", "walk", "--set", "checkpoint_every=20")
    finished("embed", whole, "-o", tmp_path / "one.svec", *options)
    there = ("embed", parts, "-o", f"{folder}/", *options, "--checkpoint", saved, "--cluster", "mpi")
    process = command(*there, ranks=3)
    end = time.monotonic() + 90
    while not (saved / "checkpoint.json").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)
    os.kill(ranks_of(process)[2], signal.SIGKILL)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert not folder.exists() or not [path for path in folder.iterdir() if path.suffix == ".json"]
    finished(*there, ranks=2)
    same(tmp_path / "one.svec", folder)
    assert not saved.exists()
