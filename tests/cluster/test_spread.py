"""Files of edges to a folder of vectors: the bits of one machine, and nothing whole in one process."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import softvec
from softvec import kernels
from softvec.cluster import choose
from softvec.embedding import Embedding
from tests.cluster.groups import run

FILES = 8


class ThreadCluster:
    """A cluster in the threads of this process."""

    driver, address, memory = True, None, None

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
        pq.write_table(
            table[cuts[k] : cuts[k + 1]], folder / "edges" / f"{k}.parquet", row_group_size=90
        )
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
