"""Threads over blocks: order of results, errors, and Ctrl-C between blocks."""

import signal
import threading
import time

import pytest

from softvec.core.machine import machine

BLOCKS = [(i,) for i in range(20)]


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_results_keep_the_order_of_the_blocks(n_jobs):
    with machine(n_jobs) as pool:
        assert pool.map(lambda i: i * i, BLOCKS) == [i * i for i in range(20)]
        assert pool.fold(lambda i: [i], BLOCKS, lambda a, b: a + b) == list(range(20))


def test_blas_has_one_thread_inside_and_its_own_outside():
    import numpy  # noqa: F401  its BLAS is the one that is limited
    from threadpoolctl import threadpool_info, threadpool_limits

    def threads():
        return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}

    with threadpool_limits(2):
        for _ in range(2):
            with machine(2):
                assert threads() == {1}
            assert threads() == {2}


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_an_error_in_a_block_comes_out(n_jobs):
    with pytest.raises(ZeroDivisionError), machine(n_jobs) as pool:
        pool.map(lambda i: 1 / (i - 7), BLOCKS)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_interrupt_waits_for_the_end_of_the_block(n_jobs):
    before = signal.getsignal(signal.SIGINT)
    begun, done = [], []

    def block(i):
        begun.append(i)
        if threading.current_thread() is threading.main_thread():
            signal.raise_signal(signal.SIGINT)
        time.sleep(0.01)  # so that every thread gets some
        done.append(i)

    with pytest.raises(KeyboardInterrupt), machine(n_jobs) as pool:
        pool.map(block, BLOCKS)
    assert sorted(begun) == sorted(done)
    assert n_jobs > 1 or done == [0]
    assert signal.getsignal(signal.SIGINT) is before


def test_interrupt_outside_a_block_takes_effect_at_once():
    reached = []

    def work():
        with machine(2):
            signal.raise_signal(signal.SIGINT)
            reached.append(True)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert not reached


def test_nested_loops_take_an_interrupt_between_two_blocks():
    steps = []

    def work(i):
        if i == 0:
            signal.raise_signal(signal.SIGINT)
        steps.append(i)

    with pytest.raises(KeyboardInterrupt), machine(1) as pool:
        pool.map(lambda: pool.map(work, [(0,), (1,)]), [(), ()])
    assert steps == [0]


def test_a_pool_in_another_thread_leaves_signals_alone():
    seen = []

    def work():
        with machine(1) as pool:
            seen.append(signal.getsignal(signal.SIGINT))
            seen.append(pool.map(lambda i: i, BLOCKS[:3]))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGINT), [0, 1, 2]]


def test_few_results_wait_for_a_stalled_thread():
    """Each may be large: moments of 512 dimensions are 2 MiB, and blocks many."""
    go_on, ended = threading.Event(), []

    def work(i):
        if i == 0:
            go_on.wait(1)
        ended.append(i)
        return [i]

    blocks = [(i,) for i in range(1000)]
    with machine(2) as pool:
        assert pool.fold(work, blocks, lambda a, b: a + b) == list(range(1000))
    assert ended.index(0) <= 16


@pytest.mark.parametrize("where", ["block", "sum"])
def test_an_error_of_a_stalled_thread_ends_those_that_wait(where):
    def work(i):
        if i == 0:
            time.sleep(0.5)
            if where == "block":
                raise RuntimeError("stop")
        return [i]

    def add(a, b):
        raise RuntimeError("stop")

    with machine(3) as pool, pytest.raises(RuntimeError, match="stop"):
        pool.fold(work, [(i,) for i in range(1000)], add if where == "sum" else lambda a, b: a + b)
