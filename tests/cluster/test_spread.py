"""Files of edges to a folder of vectors: the bits of one machine, and nothing whole in one process."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

import softvec
from softvec import kernels, spread
from softvec.affinity import graphs
from softvec.cluster import choose, driver
from softvec.cluster.actors import copy_of
from softvec.core.errors import InputError
from softvec.embedding import Embedding
from softvec.operators import Sparse
from tests.cluster.groups import run
from tests.cluster.processes import random_graph

FILES = 8


class ThreadCluster:
    """A cluster in the threads of this process."""

    driver, address, memory, copies = True, None, None, 2

    def __init__(self, workers):
        self.workers, self.epochs = workers, []

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def run(self, plan, on_report):
        def on_epoch(report, state):
            self.epochs.append(report.epoch)
            on_report(report)

        plan = plan.with_threads(1)
        told = lambda group: on_epoch if group.rank == 0 else None  # noqa: E731
        return iter(run(plan.size, lambda group: plan.task(group.rank).run(group, told(group))))


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
    "weighted": ({"weights": True}, {"view": "walk"}),
    "directed": ({"weights": True}, {"directed": True}),
    "directed, both ways": ({}, {"directed": True, "gradient": "full"}),
    "two-sided": ({"weights": True}, {"directed": True, "symmetric": False}),
    "bipartite": ({"weights": True}, {"kind": "bipartite"}),
    "pairs": ({}, {"kind": "pairs"}),
    "one step": ({}, {"walk_length": 1, "n_clusters": 3}),
    "base measure": ({"weights": True}, {"view": "walk", "base_measure": 0.75, "regularization": 1.0}),
    "fast": ({}, {"effort": "fast"}),
    "links": ({}, {"view": "links"}),
    "fused": ({}, {"view": "fused"}),
    "fused, weighted": ({"weights": True, "count": 9000}, {}),
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
@pytest.mark.parametrize("workers", [2, 3])
def test_the_folder_has_the_bits_of_one_machine(case, workers, tmp_path):
    data, options = CASES[case]
    whole, parts = write(tmp_path, edges(**data))
    truth = softvec.embed(whole, 8, random_state=3, n_jobs=1, **options)
    there = {"cluster": f"local:{workers}", "output": tmp_path / "vectors"}
    emb = softvec.embed(parts, 8, random_state=3, n_jobs=1, **there, **options)
    assert emb.names.to_list() == truth.names.to_list()
    np.testing.assert_array_equal(emb.vectors, truth.vectors)
    np.testing.assert_array_equal(emb.sizes, truth.sizes)
    if truth.two_sided:
        assert emb.context_names.to_list() == truth.context_names.to_list()
        np.testing.assert_array_equal(emb.context_vectors, truth.context_vectors)
    here, there = truth.provenance, emb.provenance
    assert there["view"] == here["view"]
    for key in ("parameters", "data"):
        mine = {name: value for name, value in there[key].items() if name != "source"}
        assert mine == {name: value for name, value in here[key].items() if name != "source"}
    assert there["history"]["loss"] == here["history"]["loss"]
    for key in ("softmax", "diagnosis"):
        assert (here[key] is None) == (there[key] is None)
        for name, value in (here[key] or {}).items():
            np.testing.assert_allclose(there[key][name], value, rtol=1e-4, atol=1e-5, err_msg=name)


def isolated_edges():
    """Edges of 700 nodes, 40 of which have a self loop only."""
    table = edges()
    lonely = pa.array([f"alone{k}" for k in range(40)])
    return pa.concat_tables([table[:1000], pa.table({"source": lonely, "target": lonely}), table[1000:]])


@pytest.mark.usefixtures("small_blocks", "plain_kernels", "threads")
@pytest.mark.parametrize("options", [{"view": "walk"}, {"view": "fused"}, {"directed": True}])
def test_isolated_nodes(options, tmp_path):
    whole, parts = write(tmp_path, isolated_edges())
    truth = softvec.embed(whole, 8, random_state=3, n_jobs=1, **options)
    emb = softvec.embed(parts, 8, random_state=3, n_jobs=1, cluster="local:3", **options)
    assert emb.names.to_list() == truth.names.to_list()
    np.testing.assert_array_equal(emb.vectors, truth.vectors)
    assert "40 isolated nodes" in emb.provenance["data"]["summary"]


@pytest.mark.usefixtures("small_blocks", "plain_kernels", "threads")
@pytest.mark.parametrize("options", [{"view": "walk", "n_clusters": 2}, {"view": "fused"}, {"init": "power"}])
def test_more_workers_than_units(options, tmp_path):
    whole, parts = write(tmp_path, edges(n=200, count=900, weights=True))  # two units of 128 rows
    truth = softvec.embed(whole, 8, random_state=3, n_jobs=1, **options)
    emb = softvec.embed(parts, 8, random_state=3, n_jobs=1, cluster="local:4", **options)
    assert emb.names.to_list() == truth.names.to_list()
    np.testing.assert_array_equal(emb.vectors, truth.vectors)


@pytest.mark.usefixtures("small_blocks", "plain_kernels")
def test_one_file_goes_through_the_workers_to_a_folder(threads, tmp_path):
    whole, _ = write(tmp_path, edges())
    options = {"n_components": 8, "random_state": 3, "n_jobs": 1, "n_epochs": 3}
    truth = softvec.embed(whole, **options)
    emb = softvec.embed(whole, cluster="local:2", output=tmp_path / "vectors", **options)
    np.testing.assert_array_equal(emb.vectors, truth.vectors)
    assert len(list((tmp_path / "vectors").glob("part-*.parquet"))) == 2
    assert threads[0].epochs == [1, 2, 3]


@pytest.mark.usefixtures("small_blocks", "plain_kernels", "threads")
def test_what_workers_cannot_read_is_read_by_the_driver(tmp_path):
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


@pytest.mark.usefixtures("small_blocks", "plain_kernels", "threads")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"repeats": 2}, "allow no repeats"),
        ({"callbacks": [print]}, "allow no repeats"),
        ({"init": np.eye(700, 8)}, "init needs all vectors"),
        ({"normalizer": "exact"}, "normalizer='exact' needs all vectors"),
        ({"isolated": "drop"}, "unknown option 'isolated' for files that workers share"),
        ({"kind": "bipartite", "walk_length": 2}, "walk_length is for one kind of items"),
        ({"kind": "bipartite", "base_measure": 0.5}, "base_measure of two kinds of items needs one process"),
        ({"walk_length": 0}, "walk_length is 0"),
    ],
)
def test_what_needs_one_process_is_refused(options, message, tmp_path):
    _, parts = write(tmp_path, edges())
    with pytest.raises(InputError, match=message):
        softvec.embed(parts, 8, cluster="local:2", output=tmp_path / "vectors", **options)
    assert not (tmp_path / "vectors" / "manifest.json").exists()


@pytest.mark.usefixtures("small_blocks", "plain_kernels")
def test_too_little_memory_is_refused_before_the_fit(threads, monkeypatch, tmp_path):
    _, parts = write(tmp_path, edges())
    monkeypatch.setattr(ThreadCluster, "memory", 310 << 20)
    with pytest.raises(InputError, match=r"each of 2 workers needs about .* (such workers|more memory)"):
        softvec.embed(parts, 512, cluster="local:2", output=tmp_path / "vectors")
    assert not threads[0].epochs
    emb = softvec.embed(
        parts, 512, n_epochs=1, cluster="local:2", output=tmp_path / "vectors", check_memory=False
    )
    assert emb.shape == (700, 512)


@pytest.mark.usefixtures("small_blocks", "plain_kernels", "threads")
def test_without_a_shared_disk_the_driver_writes_the_parts(monkeypatch, tmp_path):
    whole, parts = write(tmp_path, edges(weights=True))
    options = {"n_components": 8, "random_state": 3, "n_jobs": 1, "n_epochs": 3, "kind": "bipartite"}
    truth = softvec.embed(whole, **options)
    wrote = []

    def alone(self, side, number, encoding):
        assert threading.current_thread() is threading.main_thread()
        wrote.append((side.side, number))
        return write_here(self, side, number, encoding)

    write_here = spread.FilesTask.write
    monkeypatch.setattr(spread.FilesTask, "write", alone)
    monkeypatch.setattr(spread, "_is_here", lambda path: False)
    emb = softvec.embed(parts, cluster="local:2", output=tmp_path / "vectors", **options)
    np.testing.assert_array_equal(emb.vectors, truth.vectors)
    np.testing.assert_array_equal(emb.context_vectors, truth.context_vectors)
    assert wrote == [("rows", 0), ("context", 0), ("rows", 1), ("context", 1)]


@pytest.mark.usefixtures("small_blocks", "plain_kernels", "threads")
def test_no_process_holds_the_whole(monkeypatch, tmp_path):
    _, parts = write(tmp_path, edges())
    rows = []

    def refuse(*arguments, **options):
        raise AssertionError("a whole matrix or a whole embedding was made")

    def affinity_of(part, group, length):
        affinity = own_affinity(part, group, length)
        rows.append((len(affinity.rows), affinity.counts.shape[0], affinity.operator.shape[0]))
        return affinity

    own_affinity = spread.affinity_of
    monkeypatch.setattr(spread, "affinity_of", affinity_of)
    for where, name in (
        (graphs, "assemble"),
        (driver, "plan"),
        (Sparse, "__init__"),
        (Embedding, "__init__"),
    ):
        monkeypatch.setattr(where, name, refuse)
    job = spread.FilesJob(parts, n_components=8, random_state=3, fit={"n_epochs": 2, "view": "walk"})
    done = spread.embed_files(job, tmp_path / "vectors", ThreadCluster(3))
    assert done.vectors == 700
    assert sum(names for names, _, _ in rows) == 700
    assert all(0 < part < 350 for counts in rows for part in counts)


@pytest.mark.usefixtures("small_blocks", "plain_kernels")
def test_a_run_that_ends_in_the_middle_leaves_the_old_folder(threads, monkeypatch, tmp_path):
    _, parts = write(tmp_path, edges())
    options = {"n_components": 8, "n_jobs": 1, "n_epochs": 2, "view": "walk", "cluster": "local:2"}
    folder = tmp_path / "vectors"
    old = softvec.embed(parts, random_state=1, output=folder, **options).vectors.copy()
    monkeypatch.setattr(spread, "write_manifest", lambda *arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        softvec.embed(parts, random_state=2, output=folder, **options)
    np.testing.assert_array_equal(Embedding.load(folder).vectors, old)


@pytest.mark.usefixtures("small_blocks", "plain_kernels", "threads")
@pytest.mark.parametrize(("view", "last"), [({"view": "walk", "n_epochs": 6}, 4), ({"view": "fused"}, 24)])
def test_a_checkpoint_goes_on_with_other_workers(view, last, monkeypatch, tmp_path):
    whole, parts = write(tmp_path, edges(weights=True))
    options = {"n_components": 8, "random_state": 3, "n_jobs": 1, **view}
    truth = softvec.embed(whole, **options)
    saved = {"checkpoint": tmp_path / "saved", "checkpoint_every": 2, "output": tmp_path / "vectors"}

    def stop(job, folder, cluster, on_report, **more):
        def kill(report):
            if report.epoch == last:
                raise KeyboardInterrupt

        return begin(job, folder, cluster, kill, **more)

    begin = spread.embed_files
    monkeypatch.setattr(spread, "embed_files", stop)
    with pytest.raises(KeyboardInterrupt):
        softvec.embed(parts, cluster="local:3", **options, **saved)
    monkeypatch.setattr(spread, "embed_files", begin)
    assert not (tmp_path / "vectors" / "manifest.json").exists()
    with pytest.raises(InputError, match="checkpoint of other data or other settings"):
        softvec.embed(parts, cluster="local:2", **{**options, "random_state": 4}, **saved)
    emb = softvec.embed(parts, cluster="local:2", **options, **saved)
    np.testing.assert_array_equal(emb.vectors, truth.vectors)


class Losing(ThreadCluster):
    """Loses its workers after an epoch, and starts again from the states that they had then."""

    last = 0

    def run(self, plan, on_report):
        kept = {}

        def keep(group):
            def on_epoch(report, state):
                if report.epoch == self.last:
                    kept[group.rank] = copy_of(state)

            return on_epoch

        run(plan.size, lambda group: plan.task(group.rank).run(group, keep(group)))
        again = lambda group: replace(plan.task(group.rank), state=kept[group.rank])  # noqa: E731
        epochs = self.epochs

        def tell(report, state):
            epochs.append(report.epoch)

        return iter(run(plan.size, lambda group: again(group).run(group, tell if group.rank == 0 else None)))


@pytest.mark.usefixtures("small_blocks", "plain_kernels")
@pytest.mark.parametrize(
    ("options", "last"),
    [
        ({"view": "fused"}, 3), ({"view": "fused"}, 20), ({"view": "fused"}, 59), ({"view": "walk"}, 7),
        ({"directed": True, "symmetric": False, "n_clusters": 3}, 12),
    ],
)  # fmt: skip
def test_a_second_attempt_goes_on_from_the_states_of_the_first(options, last, monkeypatch, tmp_path):
    cluster = Losing(3)
    cluster.last = last
    monkeypatch.setattr(choose, "choose", lambda text, n_jobs=None: cluster)
    whole, parts = write(tmp_path, edges())
    options = {"n_components": 8, "random_state": 0, "n_jobs": 1, **options}
    emb = softvec.embed(parts, cluster="local:3", output=tmp_path / "vectors", **options)
    assert cluster.epochs[0] == last + 1
    truth = softvec.embed(whole, **options)
    np.testing.assert_array_equal(emb.vectors, truth.vectors)
    assert len(emb.provenance["history"]["loss"]) == len(truth.provenance["history"]["loss"])


@pytest.mark.usefixtures("small_blocks", "plain_kernels")
def test_without_a_seed_both_attempts_have_the_same(monkeypatch, tmp_path):
    cluster = Losing(2)
    cluster.last = 30
    monkeypatch.setattr(choose, "choose", lambda text, n_jobs=None: cluster)
    whole, parts = write(tmp_path, edges())
    options = {"n_components": 8, "n_jobs": 1, "view": "fused"}
    emb = softvec.embed(parts, cluster="local:2", output=tmp_path / "vectors", **options)
    drawn = emb.provenance["parameters"]["random_state"]
    truth = softvec.embed(whole, random_state=drawn, **options)
    np.testing.assert_array_equal(emb.vectors, truth.vectors)


@pytest.mark.usefixtures("small_blocks", "threads")
@pytest.mark.parametrize("case", ["weighted", "directed, both ways", "two-sided", "fused, weighted"])
def test_compiled_kernels_give_the_bits_of_one_machine_too(case, monkeypatch, tmp_path):
    monkeypatch.setattr(kernels, "SMALL", 0)
    data, options = CASES[case]
    whole, parts = write(tmp_path, edges(**data))
    truth = softvec.embed(whole, 8, random_state=3, n_jobs=1, **options)
    emb = softvec.embed(parts, 8, random_state=3, n_jobs=1, cluster="local:3", **options)
    assert emb.names.to_list() == truth.names.to_list()
    np.testing.assert_array_equal(emb.vectors, truth.vectors)
