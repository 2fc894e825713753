"""Fits beside other fits: in threads, pools, forks and callbacks. Same bits, nothing global changed."""

import os
import signal
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info, threadpool_limits

from softvec import EDRep
from softvec.core.machine import machine
from softvec.core.threads import one_blas_thread

pytestmark = pytest.mark.filterwarnings("ignore:the normaliser is off")


def blas_threads():
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


def graph(n=2000, seed=0):
    A = sparse.random(n, n, 8 / n, format="csr", random_state=np.random.default_rng(seed))
    return (A + A.T).tocsr()


def fit(n_epochs=8, n_clusters=3, **options):
    model = EDRep(64, n_epochs=n_epochs, n_clusters=n_clusters, random_state=0, n_jobs=1, **options)
    return model.fit_transform(graph())


@pytest.fixture
def two_blas_threads():
    np.ones((2, 2)) @ np.ones((2, 2))
    with threadpool_limits(2, user_api="blas"):
        yield
        assert blas_threads() == {2}


def test_first_to_end_leaves_the_limit_to_the_other(two_blas_threads):
    entered, leave, left = threading.Event(), threading.Event(), threading.Event()

    def first():
        with machine(1):
            entered.set()
            leave.wait(30)
        left.set()

    thread = threading.Thread(target=first)
    thread.start()
    entered.wait(30)
    with machine(2):
        leave.set()
        left.wait(30)
        assert blas_threads() == {1}
    thread.join()
    assert blas_threads() == {2}


def test_pool_of_fits_has_the_bits_of_one_alone(two_blas_threads):
    alone = {epochs: fit(epochs) for epochs in (3, 6, 9)}
    filters = list(warnings.filters)
    with ThreadPoolExecutor(3) as pool:
        for epochs, X in zip([3, 6, 9] * 4, pool.map(fit, [3, 6, 9] * 4)):
            assert np.array_equal(X, alone[epochs])
    assert warnings.filters == filters


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_joblib(backend, two_blas_threads):
    alone = fit()
    for X in joblib.Parallel(2, backend=backend)(joblib.delayed(fit)() for _ in range(3)):
        assert np.array_equal(X, alone)


FORK = """
import os, signal, sys, threading
import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits
from softvec.core.machine import machine
threads = lambda: {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}
np.ones((2, 2)) @ np.ones((2, 2))
threadpool_limits(2)
before = signal.getsignal(signal.SIGTERM)
signal.signal(signal.SIGTERM, lambda *_: os._exit(7))
with machine(1):
    child = os.fork()
    if child == 0:
        code = int(threads() != {2})
        with machine(2) as pool:
            code |= 2 * (threads() != {1} or pool.map(lambda i: i, [(1,), (2,), (3,)]) != [1, 2, 3])
        code |= 4 * (threads() != {2})
        if code:
            os._exit(code + 8)
        signal.raise_signal(signal.SIGTERM)  # the handler of the process, not one that waits
        os._exit(1)
    status = os.waitpid(child, 0)[1]
    assert threads() == {1}
assert threads() == {2}
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_child_of_a_fork_during_a_fit_is_free():
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", FORK]).returncode == 7


def test_callback_that_raises_leaves_nothing_behind(two_blas_threads):
    handler = signal.getsignal(signal.SIGINT)

    def callback(epoch, loss, X):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fit(callbacks=[callback])
    assert signal.getsignal(signal.SIGINT) is handler


def test_callback_cannot_change_the_vectors():
    def callback(epoch, loss, X):
        with pytest.raises(ValueError, match="read-only"):
            X[0] = 0
        with pytest.raises(ValueError, match="WRITEABLE"):
            X.flags.writeable = True

    assert np.array_equal(fit(callbacks=[callback]), fit())


def test_callback_may_fit(two_blas_threads):
    inner = []

    def callback(epoch, loss, X):
        if epoch == 4:
            inner.append(fit())

    alone = fit()
    assert np.array_equal(fit(callbacks=[callback]), alone)
    assert np.array_equal(inner[0], alone)


def test_openmp_is_limited_in_every_thread():
    from sklearn.cluster import KMeans  # noqa: F401  loads OpenMP

    def openmp():
        with one_blas_thread():
            return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "openmp"}

    with ThreadPoolExecutor(1) as pool:
        assert openmp() == pool.submit(openmp).result() == {1}
