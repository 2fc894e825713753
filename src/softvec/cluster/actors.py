"""The workers of a cluster on Ray: actors with a mailbox, which run their parts of a fit.

Large arrays travel through the object store.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from softvec.cluster.connect import end_with, load_ray
from softvec.cluster.plan import mapped
from softvec.cluster.worker import Host, Report, Task, reduce_in_pairs, this_host
from softvec.fit.problem import State
from softvec.fit.run import Start

Array = NDArray[Any]
T = TypeVar("T")
Number = tuple[int, int]  # of a fit, and of a message in it


class Mailbox:
    """What other ranks sent here, by the fit and number of the message, and the sender."""

    def __init__(self) -> None:
        self._ready, self._letters = threading.Condition(), dict[tuple[Number, int], Any]()

    def put(self, number: Number, source: int, letter: Any) -> None:
        """Keep a letter until it is taken."""
        with self._ready:
            self._letters[number, source] = letter
            self._ready.notify_all()

    def take(self, number: Number, source: int) -> Any:
        """Wait for a letter."""
        with self._ready:
            self._ready.wait_for(lambda: (number, source) in self._letters)
            return self._letters.pop((number, source))


class RayGroup:
    """The actors of one fit, as one of them sees them."""

    in_background = True

    def __init__(self, rank: int, peers: list[Any], mailbox: Mailbox, fit: int):
        self.rank, self.size, self.sent = rank, len(peers), 0
        self._peers, self._mailbox, self._fit, self._number = peers, mailbox, fit, 0
        self._pending: list[Any] = []

    def _next(self) -> Number:
        self._number += 1
        return self._fit, self._number

    def _send(self, number: Number, rank: int, letter: Any) -> None:
        self._pending.append(self._peers[rank].deliver.remote(number, self.rank, letter))

    def _settle(self) -> None:
        """Forget what was delivered; the driver reports an error of a peer."""
        if self._pending:
            self._pending = load_ray().wait(self._pending, num_returns=len(self._pending), timeout=0)[1]

    def exchange(self, parts: Sequence[Array]) -> list[Array]:
        """Send a part to every rank; return what each sent here."""
        self.sent += sum(part.nbytes for rank, part in enumerate(parts) if rank != self.rank)
        return self._swap(parts)

    def _swap(self, letters: Sequence[Any]) -> list[Any]:
        """Send a letter to every rank; return what each sent here, and the own letter."""
        number = self._next()
        for step in range(1, self.size):  # each starts with its neighbour: else all would ask rank 0 first
            rank = (self.rank + step) % self.size
            self._send(number, rank, letters[rank])
        received = [
            letters[rank] if rank == self.rank else self._mailbox.take(number, rank)
            for rank in range(self.size)
        ]
        self._settle()
        return received

    def reduce(self, value: T, merge: Callable[[T, T], T]) -> T:
        """Merge the values of all ranks."""
        up, down = self._next(), self._next()

        # as bytes: arrays out of the object store cannot be added to
        def send(rank: int, part: T) -> None:
            self._send(up if rank < self.rank else down, rank, pickle.dumps(part, 5))

        def receive(rank: int) -> T:
            return pickle.loads(self._mailbox.take(up if rank > self.rank else down, rank))

        total = reduce_in_pairs(self, value, merge, send, receive)
        self._settle()
        return total

    def gather(self, value: T) -> list[T]:
        """Return the values of all ranks."""
        letters = self._swap([pickle.dumps(value, 5)] * self.size)
        return [value if rank == self.rank else pickle.loads(each) for rank, each in enumerate(letters)]


class Worker:
    """An actor: runs its part of a fit in one thread, and takes letters in others."""

    def __init__(self, driver: int | None = None) -> None:
        if driver is not None:
            threading.Thread(target=end_with, args=(driver,), daemon=True).start()
        self._mailbox = Mailbox()
        self._report: Report | None = None
        self._kept: tuple[int, State] | None = None
        self._changed = threading.Condition()

    def deliver(self, number: Number, source: int, letter: Any) -> None:
        """Take a letter of another rank."""
        self._mailbox.put(number, source, letter)

    def fit(self, number: int, rank: int, peers: list[Any], task: Task, start: Start, every: int) -> State:
        """Run this rank's part; keep its state every so many epochs for :meth:`snapshot` (0: never)."""
        self._report = self._kept = None
        if start.state is not None:  # arrays of the object store are read-only
            start = replace(start, state=mapped(start.state, np.copy))
        task = replace(task, start=start)
        group = RayGroup(rank, peers, self._mailbox, number)

        def on_epoch(report: Report, state: State) -> None:
            # all ranks keep the same epoch, the next one when the driver has the last
            if every and report.epoch % every == 0 and all(group.gather(self._kept is None)):
                with self._changed:
                    self._kept = report.epoch, mapped(state, np.copy)
                    self._changed.notify_all()
            self._report = report

        return task.run(group, on_epoch)

    def report(self) -> tuple[Report | None, int]:
        """Return how far the fit is, and the epoch of the state that is kept."""
        with self._changed:
            return self._report, -1 if self._kept is None else self._kept[0]

    def snapshot(self) -> State:
        """Hand over the state that is kept."""
        with self._changed:
            self._changed.wait_for(lambda: self._kept is not None)
            assert self._kept is not None
            state, self._kept = self._kept[1], None
        return state

    def host(self) -> Host:
        """Return the machine and process of this worker."""
        return this_host()
