"""Rows in an order of their own: fewer are exchanged, and the vectors do not depend on the workers."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from softvec.cluster import partition
from softvec.cluster.choose import ClusterWorkers
from softvec.cluster.plan import plan
from softvec.core.errors import InputError
from softvec.fit.problem import Problem
from softvec.fit.resolve import FUSED
from softvec.fit.run import prepared
from softvec.fit.settings import Settings
from softvec.fit.views import view_operator
from softvec.kernels.partition import stream_rows
from softvec.operators import Powers, Product, Sparse, Sum, as_operator
from tests.cluster.groups import fitted
from tests.cluster.groups import run as on_ranks
from tests.cluster.processes import random_graph

pytestmark = [
    pytest.mark.filterwarnings("ignore:the normaliser is off"),
    pytest.mark.usefixtures("small_blocks"),
]


class Threads:
    """Workers in threads of this process."""

    driver, address, memory, copies = True, None, None, 0

    def __init__(self, workers, until=None):
        self.workers, self.until, self.reports = workers, until, []

    def run(self, plan, on_report):
        def on_epoch(report, state):
            self.reports.append(report)
            if report.epoch == self.until:
                raise KeyboardInterrupt

        return on_ranks(plan.size, lambda group: plan.task(group.rank).run(group, on_epoch))


def communities(n=1024, groups=32, *, weighted=False, directed=False, seed=0):
    """Return a graph of shuffled groups: eight neighbours inside, one outside."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.repeat(np.arange(groups), n // groups))
    members = np.argsort(group, kind="stable").reshape(groups, -1)
    i = np.tile(np.arange(n), 5)
    j = members[group[i], rng.integers(members.shape[1], size=len(i))]
    j[: n // 2] = rng.integers(n, size=n // 2)
    A = sparse.coo_array(
        (rng.integers(1, 4, len(i)) if weighted else np.ones(len(i)), (i, j)), (n, n)
    ).tocsr()
    if not weighted:
        A.data[:] = 1
    return sparse.csr_array(A if directed else A.maximum(A.T))


def plainly(A, part, load, capacity):
    """One pass of the partition, as its definition says."""
    for i in range(A.shape[0]):
        if part[i] >= 0:
            load[part[i]] -= 1
        part[i] = -1
        row = A.indices[A.indptr[i] : A.indptr[i + 1]]
        scores = np.array([np.sum(part[row] == p) * (1 - load[p] / capacity) for p in range(len(load))])
        part[i] = np.argmax(scores) if scores.max() > 0 else np.argmin(load)
        load[part[i]] += 1


@pytest.mark.parametrize("slack", [1.1, 0.3])  # too little room for all: the emptiest part takes the rest
@pytest.mark.parametrize("directed", [False, True])
def test_the_kernel_does_what_its_definition_says(directed, slack):
    A = communities(256, 8, directed=directed) + sparse.eye_array(256, format="csr")
    k = 7
    compiled, plain = (np.full(256, -1, np.int32) for _ in "ab")
    loads = np.zeros((2, k), np.int64)
    for _ in range(3):
        before = plain.copy()
        moved = stream_rows(A.indptr, A.indices, compiled, loads[0], np.zeros(k, np.int64), slack * 256 / k)
        plainly(A, plain, loads[1], slack * 256 / k)
        np.testing.assert_array_equal(compiled, plain)
        np.testing.assert_array_equal(loads[0], np.bincount(plain, minlength=k))
        assert moved == np.count_nonzero(plain != before)


def test_parts_that_share_much_lie_beside_each_other():
    shared = np.zeros((6, 6), np.int64)
    for a, b, count in ((0, 4, 9), (2, 5, 8), (1, 3, 7), (4, 2, 3), (1, 5, 1)):
        shared[a, b] = shared[b, a] = count
    assert partition._order_of_parts(shared) == [0, 4, 2, 5, 1, 3]
    assert partition._order_of_parts(np.zeros((1, 1), np.int64)) == [0]


def test_a_renumbered_operator_is_the_operator_of_the_renumbered_items():
    rng = np.random.default_rng(0)
    A, B = (
        Sparse(random_graph(100, seed), row_scale=rng.random(100), col_scale=rng.random(100))
        for seed in (0, 1)
    )
    order = rng.permutation(100)
    X = rng.standard_normal((100, 3))
    for operator in (A, Powers(A, 2), Product([A, B]), Sum([A, B])):
        moved = partition.renumbered(operator, order)
        np.testing.assert_allclose(moved @ X[order], (operator @ X)[order], rtol=1e-12)
        np.testing.assert_allclose(moved.T @ X[order], (operator.T @ X)[order], rtol=1e-12)


CASES = {
    "walk": {},
    "classes": {"n_clusters": 2},
    "full": {"gradient": "full"},
    "two sides": {"symmetric": False},
    "given": {"init": np.random.default_rng(9).standard_normal((1024, 8))},
}


@pytest.mark.parametrize("options", CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("kind", ["plain", "weighted", "directed"])
def test_vectors_are_those_of_the_renumbered_data_for_any_number_of_workers(kind, options):
    A = communities(weighted=kind == "weighted", directed=kind == "directed")
    order = partition.stream_order(A.indptr, A.indices)
    assert sorted(order) == list(range(1024))
    settings = Settings(**{"n_components": 8, "n_epochs": 3, "random_state": 1, "n_jobs": 1, **options})
    moved = settings
    if not isinstance(settings.init, str):
        moved = replace(settings, init=settings.init[order])
    B = A[order][:, order]
    B.sort_indices()
    here = fitted(Powers(prepared(B, True), 2), moved)
    for workers in (1, 2, 5):
        lines = []
        there = fitted(
            Powers(prepared(A, True), 2),
            settings,
            workers=ClusterWorkers(Threads(workers), partition="stream", say=lines.append),
        )
        for name in ("X", "Y", "classes"):
            one, other = getattr(here.state, name), getattr(there.state, name)
            assert (one is None) == (other is None)
            if one is not None:
                np.testing.assert_array_equal(other[order], one, err_msg=f"{name}, {workers} workers")
        np.testing.assert_array_equal(here.history["loss"], there.history["loss"])
        assert "no gain" not in lines[0]


def halo(A, bounds):
    """Count the rows that ranges of rows read of others."""
    ranges = np.searchsorted(bounds, np.arange(A.shape[0]), side="right") - 1
    entries = A.tocoo()
    pairs = {(ranges[i], j) for i, j in zip(entries.row, entries.col) if ranges[i] != ranges[j]}
    return len(pairs)


def test_the_gain_is_what_the_workers_exchange():
    A = communities()
    P, settings = prepared(A, True), Settings(n_components=8, n_epochs=3, random_state=1, n_jobs=1)
    sent = {}
    for asked in ("none", "stream"):
        cluster, lines = Threads(4), []
        fitted(P, settings, workers=ClusterWorkers(cluster, partition=asked, say=lines.append))
        epochs = {report.epoch: report.sent for report in cluster.reports}
        sent[asked] = epochs[3] - epochs[2]
    cut = plan(Problem(P), settings, False, 4)
    assert partition.exchanged(cut) == {"rows": halo(A, cut.rows), "bytes": sent["none"]}
    order = partition.stream_order(A.indptr, A.indices)
    moved = plan(Problem(partition.renumbered(P, order)), settings, False, 4)
    assert partition.exchanged(moved)["bytes"] == sent["stream"] < sent["none"] / 2
    said = f"{halo(A, cut.rows) / 1024:.2f} rows of others per own row, "
    assert said + f"{halo(A[order][:, order], moved.rows) / 1024:.2f} in the new order" in lines[0]


def test_without_a_gain_the_old_order_stays():
    rng = np.random.default_rng(0)
    A = sparse.csr_array(rng.random((512, 512)) < 0.4)
    P, settings = prepared(A, True), Settings(n_components=8, n_epochs=2, random_state=1, n_jobs=1)
    lines = []
    there = fitted(P, settings, workers=ClusterWorkers(Threads(3), partition="stream", say=lines.append))
    assert "no gain for 8 workers, so the order is kept" in lines[0]
    np.testing.assert_array_equal(there.state.X, fitted(P, settings).state.X)


def test_a_checkpoint_of_renumbered_rows_goes_on(tmp_path):
    P = prepared(communities(), True)
    settings = Settings(n_components=8, n_epochs=6, random_state=1, n_jobs=1)
    saved = replace(settings, checkpoint=tmp_path / "saved", checkpoint_every=2)
    with pytest.raises(KeyboardInterrupt):
        fitted(P, saved, workers=ClusterWorkers(Threads(3, until=5), partition="stream"))
    cluster = Threads(2)
    there = fitted(P, saved, workers=ClusterWorkers(cluster, partition="stream"))
    assert cluster.reports[0].epoch == 5
    whole = fitted(P, settings, workers=ClusterWorkers(Threads(4), partition="stream"))
    np.testing.assert_array_equal(there.state.X, whole.state.X)
    with pytest.raises(InputError, match="other data or other settings"):
        fitted(P, saved, workers=ClusterWorkers(Threads(2)))


@pytest.mark.parametrize("view", FUSED, ids=lambda view: view.name)
def test_the_walks_of_the_views(view):
    P = prepared(view_operator(communities(), view), True)
    settings = Settings(n_components=8, n_epochs=2, random_state=0, init="power", n_jobs=1)
    lines = []
    one, other = (
        fitted(P, settings, workers=ClusterWorkers(Threads(size), partition="stream", say=lines.append))
        for size in (2, 4)
    )
    np.testing.assert_array_equal(one.state.X, other.state.X)
    assert "no gain" not in lines[0]


def test_what_has_no_partition_is_refused():
    mixed = Sum([Sparse(random_graph(300)), as_operator(aslinearoperator(np.eye(300)))])
    with pytest.raises(InputError, match="cannot be renumbered"):
        partition.cut(Problem(mixed), Settings(n_components=8), False, 2, "stream")
    P = prepared(random_graph()[:, :300], True)
    settings = Settings(n_components=8, n_epochs=2, random_state=1, symmetric=False)
    with pytest.raises(InputError, match="partition='stream' is for one kind of items"):
        fitted(P, settings, workers=ClusterWorkers(Threads(2), partition="stream"))
    with pytest.raises(InputError, match="partition is 'metis'"):
        ClusterWorkers(Threads(2), partition="metis")
