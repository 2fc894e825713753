"""How rows are shared out, what is refused, and what a halo costs."""

import time
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

from softvec.cluster.choose import choose
from softvec.cluster.operator import Sharded, join, split
from softvec.cluster.plan import balanced_bounds, needed_memory, plan, refuse_if_too_big, rows_per_unit
from softvec.cluster.worker import reduce_in_pairs
from softvec.core.errors import InputError
from softvec.core.machine import Machine
from softvec.fit.problem import Problem
from softvec.fit.run import prepared
from softvec.fit.settings import Settings
from softvec.operators import Sparse, as_operator
from tests.cluster.groups import ThreadGroup
from tests.cluster.groups import run as on_ranks
from tests.cluster.processes import random_graph


def problem(**options):
    return Problem(prepared(random_graph(), True), **options)


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_bounds_are_whole_units_and_even(workers):
    work = np.random.default_rng(0).integers(1, 100, size=60)
    bounds = balanced_bounds(work, 60 * 8 - 3, 8, workers)
    assert bounds[0] == 0
    assert bounds[-1] == 477
    assert (bounds[:-1] % 8 == 0).all()
    shares = [work[a // 8 : -(-b // 8)].sum() for a, b in pairwise(bounds)]
    assert min(shares) > 0
    assert max(shares) <= work.sum() / workers + 100


def test_units_are_those_of_the_engine():
    assert rows_per_unit(128) == 16 * 1024
    assert rows_per_unit(1) == 16 * 8192


@pytest.mark.usefixtures("small_blocks")
def test_more_workers_than_units_are_not_used(caplog):
    cut = plan(problem(), Settings(n_components=8, random_state=0), False, 50)
    assert cut.size == 6  # 700 rows in units of 128
    assert "6 of 50 workers are used" in caplog.text


@pytest.mark.usefixtures("small_blocks")
def test_what_a_cluster_cannot_do_is_refused():
    settings = Settings(n_components=8, random_state=0)
    with pytest.raises(InputError, match="normalizer='exact' needs all vectors"):
        plan(problem(normalizer="exact"), settings, False, 2)
    with pytest.raises(InputError, match="callbacks need all vectors"):
        plan(problem(), Settings(n_components=8, callbacks=[print]), False, 2)
    foreign = Problem(as_operator(aslinearoperator(np.eye(300))))
    with pytest.raises(InputError, match="cannot be split"):
        plan(foreign, settings, False, 2).task(0)


@pytest.mark.usefixtures("small_blocks")
def test_too_little_memory_names_a_number_of_workers():
    cut = plan(problem(), Settings(n_components=512, random_state=0), False, 2)
    need = needed_memory(cut)[0]
    refuse_if_too_big(cut, None)
    refuse_if_too_big(cut, 2 * need)
    with pytest.raises(InputError, match=r"each of 2 workers needs about .* use about .* such workers"):
        refuse_if_too_big(cut, need - 1)


@pytest.mark.parametrize("text", ["nothing", "local:0", "ray://", "local:x", ""])
def test_a_wrong_cluster_is_one_line(text):
    with pytest.raises(InputError, match="cluster"):
        choose(text)


def test_the_bytes_exchanged_are_those_of_the_halo():
    A, size = random_graph(600), 3
    operator = Sparse(A)
    bounds = np.array([0, 200, 400, 600])
    X = np.random.default_rng(0).standard_normal((600, 16)).astype(np.float32)
    expected = sum(len(np.unique(part[(part < lo) | (part >= lo + 200)])) for lo, part in (
        (lo, A[lo : lo + 200].indices) for lo in bounds[:-1]
    ))  # fmt: skip

    def product(group):
        mine = join(split(operator, group.rank, lambda n: bounds), group)
        assert isinstance(mine, Sharded)
        before = group.sent
        result = mine @ X[bounds[group.rank] : bounds[group.rank + 1]]
        return result, group.sent - before, sum(map(len, mine._halo._sent))

    parts = on_ranks(size, product)
    np.testing.assert_array_equal(np.concatenate([part for part, _, _ in parts]), operator @ X)
    assert sum(sent for _, sent, _ in parts) == expected * 16 * 4
    assert sum(rows for _, _, rows in parts) == expected


@pytest.mark.parametrize("symmetric", [True, False])
def test_adjoint(symmetric):
    rng = np.random.default_rng(1)
    A = random_graph(600) if symmetric else random_graph(600)[:, :350]
    operator = Sparse(
        A, row_scale=rng.random(600), col_scale=rng.random(A.shape[1]), symmetric=symmetric or None
    )
    rows, columns = np.array([0, 250, 600]), np.array([0, 100, 350])
    bounds = lambda n: rows if n == 600 else columns  # noqa: E731
    y = rng.standard_normal(600)

    def product(group):
        mine = join(split(operator, group.rank, bounds), group).T
        return mine @ y[rows[group.rank] : rows[group.rank + 1]]

    np.testing.assert_array_equal(np.concatenate(on_ranks(2, product)), operator.T @ y)


def test_sums_are_folded_in_units():
    pool, parts = Machine(1, None), [(i,) for i in range(40)]
    order = pool.fold(lambda i: f"{i}", parts, lambda a, b: f"({a} {b})")
    first = "".join("(" * 15) + "0" + "".join(f" {i})" for i in range(1, 16))
    assert order.startswith(f"(({first} ")


@pytest.mark.parametrize("units", [1, 2, 3, 6, 7, 13])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 6])
def test_sums_over_units_are_a_fixed_tree(units, size):
    """Written out, the sum of u units is (the largest power of two below u) + (the rest)."""

    def tree(lo, hi):
        if hi - lo == 1:
            return str(lo)
        half = lo + (1 << (hi - lo - 1).bit_length() - 1)
        return f"({tree(lo, half)} {tree(half, hi)})"

    bounds = np.sort(np.random.default_rng(units).integers(0, units + 1, size - 1)).tolist()

    def fold(group):
        pool = Machine(1, None, group)
        pool.unit = 1
        own = range(*[0, *bounds, units][group.rank : group.rank + 2])
        return pool.fold(str, [(unit,) for unit in own], lambda a, b: f"({a} {b})")

    assert on_ranks(size, fold) == [tree(0, units)] * size


@pytest.mark.parametrize("size", range(1, 12))
def test_a_reduction_merges_neighbours_in_order(size):
    mail = {}

    class Pairs(ThreadGroup):
        def reduce(self, value, merge):
            def send(rank, part):
                mail[self.rank, rank] = part

            def receive(rank):
                end = time.monotonic() + 20
                while (rank, self.rank) not in mail and time.monotonic() < end:
                    time.sleep(0.001)
                return mail.pop((rank, self.rank))

            return reduce_in_pairs(self, value, merge, send, receive)

    def merged(group):
        pairs = Pairs(group.rank, group.size, group._barrier, group._slots)
        return pairs.reduce([group.rank], lambda a, b: a + b)

    assert on_ranks(size, merged) == [list(range(size))] * size


def test_a_partition_needs_a_cluster(edges, capsys):
    import softvec
    from softvec.cli import run

    with pytest.raises(InputError, match="partition is for a cluster; also pass cluster"):
        softvec.embed(random_graph(), partition="stream")
    assert run(["embed", str(edges), "--partition", "stream"]) == 2
    assert "--partition is for a cluster; also pass --cluster" in capsys.readouterr().err
