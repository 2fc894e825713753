"""What ``softvec embed`` shows while the library works."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from softvec.api import Watch
from softvec.cli.terminal import Session, epoch_progress, gibibytes, say, seconds, working
from softvec.core.checks import counted
from softvec.core.errors import InputError, Option
from softvec.core.memory import available_memory
from softvec.core.scratch import on_disk

if TYPE_CHECKING:
    from softvec.affinity import Affinity
    from softvec.cluster.choose import Cluster
    from softvec.cluster.rank import Report


class Shown(Watch):
    """Spinner, summary of the data, and progress bar; keeps the affinity that was read."""

    affinity: Affinity
    _show: Callable[..., None] | None

    def __init__(self, source: str, session: Session, force: bool = False):
        self.source, self.session, self.force = source, session, force
        self._last, self._show = 0, None

    def workers(self, cluster: Cluster) -> None:
        """Say how many workers there are."""
        dashboard = f"; dashboard at {cluster.address}" if cluster.address else ""
        say(self.session, f"cluster: {counted(cluster.workers, 'worker')}{dashboard}")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Show a spinner; refuse vectors, and a file larger than the free memory."""
        if self.source.endswith(".svec"):
            raise InputError(f"{self.source} already holds vectors; see softvec neighbors, plot and convert")
        free = available_memory()
        size = os.path.getsize(self.source) if os.path.isfile(self.source) else 0
        if not (self.force or on_disk()) and free is not None and size > free:
            raise InputError(
                f"{self.source} has {gibibytes(size)}, but {gibibytes(free)} of memory are free; name a "
                "folder on a large disk with ",
                Option("scratch", ...),
                " (to try anyway, pass --force)",
            )
        with working(self.session, f"reading {self.source}"):
            yield

    def read(self, affinity: Affinity, spent: float) -> None:
        """Say what the data is."""
        self.affinity = affinity
        say(self.session, f"{affinity.kind}: {affinity.summary} ({seconds(spent)})")

    @contextmanager
    def fitting(self, epochs: int) -> Iterator[None]:
        """Show the epochs."""
        with epoch_progress(self.session, epochs) as show:
            self._show = self.epoch = show
            yield

    def report(self, report: Report) -> None:
        """Show an epoch on a cluster."""
        if self._show is None:
            return
        new = report.epoch - self._last if report.epoch > self._last else report.epoch  # the next fit
        self._last = report.epoch
        more = f"{report.sent / 2**20:,.0f} MiB exchanged, {counted(report.workers, 'worker')} alive"
        for _ in range(new):
            self._show(report.epoch, report.loss, None, more)

    def say(self, line: str) -> None:
        """Say how the data was partitioned."""
        say(self.session, line)
