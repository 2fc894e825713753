"""A group of workers inside one process, one thread each, for tests."""

from __future__ import annotations

import pickle
import threading
from functools import reduce

import numpy as np

from softvec.cluster.plan import plan, whole_of
from softvec.core.machine import machine
from softvec.fit.run import fit


class ThreadGroup:
    """What :class:`softvec.core.machine.Group` asks for, over a barrier and a list that all threads see."""

    in_background = True

    def __init__(self, rank, size, barrier, slots):
        self.rank, self.size, self.sent = rank, size, 0
        self._barrier, self._slots = barrier, slots

    def _share(self, value):
        self._slots[self.rank] = value
        self._barrier.wait(60)
        values = list(self._slots)
        self._barrier.wait(60)
        return values

    def exchange(self, parts):
        assert len(parts) == self.size
        self.sent += sum(part.nbytes for rank, part in enumerate(parts) if rank != self.rank)
        received = [np.array(rows[self.rank]) for rows in self._share(parts)]
        assert len({(part.dtype, part.shape[1:]) for part in received}) == 1
        return received

    def reduce(self, value, merge):
        # of its own copies: merge may write to its first argument; grouped another way on every rank
        values = self.gather(value)
        at = 1 + self.rank % max(1, self.size - 1)
        left, right = (reduce(merge, part) for part in (values[:at], values[at:] or [[]]))
        return merge(left, right)

    def gather(self, value):
        return [pickle.loads(text) for text in self._share(pickle.dumps(value))]


def outcomes(size, function):
    """Call ``function(group)`` on every rank; return what each returned, or the exception it raised."""
    barrier, slots, results = threading.Barrier(size), [None] * size, [None] * size

    def work(rank):
        try:
            results[rank] = function(ThreadGroup(rank, size, barrier, slots))
        except BaseException as error:
            results[rank] = error

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(1)
            if thread.is_alive() and any(isinstance(result, BaseException) for result in results):
                thread.join(4)  # the others have seen the error too, or wait in vain
                barrier.abort()
    return results


def run(size, function):
    """Call ``function(group)`` on every rank; return the results, or raise the first exception."""
    results = outcomes(size, function)
    errors = [result for result in results if isinstance(result, BaseException)]
    errors.sort(key=lambda error: isinstance(error, threading.BrokenBarrierError))
    if errors:
        raise errors[0]
    return results


class Ranks:
    """Workers of a machine in the threads of this process."""

    def __init__(self, size, on_epoch=None):
        self._size, self._on_epoch = size, on_epoch

    def run(self, problem, settings, warm):
        cut = plan(problem, settings, warm, self._size)
        assert cut.size == self._size
        parts = run(self._size, lambda group: cut.task(group.rank).run(group, self._on_epoch))
        return whole_of(parts), cut.start.seed


def fitted(P, settings, workers=None, **options):
    """Fit P in this process, or on workers."""
    with machine(settings.n_jobs, scratch=settings.scratch, workers=workers) as pool:
        return fit(P, settings, pool, **{"diagnosed": False, **options})


class ThreadCluster:
    """A cluster in the threads of this process."""

    driver, starts_workers, address, memory, copies = True, False, None, None, 2

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
