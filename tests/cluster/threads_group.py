"""A group of ranks in the threads of one process, for tests that need many of them quickly."""

import threading


class ThreadGroup:
    """One rank of a group; all share a board and a barrier."""

    def __init__(self, rank, size, board, barrier):
        self.rank, self.size, self.sent = rank, size, 0
        self._board, self._barrier = board, barrier

    def gather(self, value):
        self._board[self.rank] = value
        self._barrier.wait()
        values = list(self._board)
        self._barrier.wait()
        return values

    def exchange(self, parts):
        self.sent += sum(part.nbytes for rank, part in enumerate(parts) if rank != self.rank)
        return [theirs[self.rank].copy() for theirs in self.gather(list(parts))]

    def fold(self, parts, add):
        import copy

        total = None
        for part in [part for theirs in self.gather(copy.deepcopy(list(parts))) for part in theirs]:
            total = copy.deepcopy(part) if total is None else add(total, part)
        self._barrier.wait()
        return total

    def barrier(self):
        self._barrier.wait()


def on_ranks(size, function):
    """Call ``function(group)`` on every rank, each in a thread; return the results in order."""
    board, barrier = [None] * size, threading.Barrier(size)
    results, errors = [None] * size, []

    def call(rank):
        try:
            results[rank] = function(ThreadGroup(rank, size, board, barrier))
        except BaseException as error:
            errors.append(error)
            barrier.abort()

    threads = [threading.Thread(target=call, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in sorted(errors, key=lambda error: isinstance(error, threading.BrokenBarrierError)):
        raise error
    return results
