"""What a caller of :func:`softvec.api.embed_request` sees of it, and what is recorded of the reading."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softvec.fit.settings import Callback

if TYPE_CHECKING:
    from softvec.affinity import Affinity
    from softvec.cluster.choose import Cluster
    from softvec.cluster.rank import Report


class Watch:
    """What a caller is told while :func:`embed_request` runs; by default nothing."""

    epoch: Callback | None = None  # called as ``epoch(number, loss, X)`` after every epoch

    def workers(self, cluster: Cluster) -> None:
        """Tell of the workers of a cluster."""

    def reading(self) -> AbstractContextManager[Any]:
        """Return a context to read in."""
        return nullcontext()

    def read(self, affinity: Affinity, seconds: float) -> None:
        """Tell what was read."""

    def fitting(self, epochs: int) -> AbstractContextManager[Any]:
        """Return a context to fit in, for so many epochs."""
        return nullcontext()

    def report(self, report: Report) -> None:
        """Tell of an epoch on a cluster."""

    def say(self, line: str) -> None:
        """Tell of a decision."""


@dataclass(frozen=True)
class Origin:
    """Where data came from, and the seconds it took to read it."""

    source: str | None = None
    seconds: float = 0.0

    @classmethod
    def of(cls, data: Any, seconds: float) -> Origin:
        """Return the origin of data: a file, or nothing to tell."""
        if not isinstance(data, str | os.PathLike):
            return cls(None, seconds)
        return cls("standard input" if data == "-" else Path(data).name, seconds)

    def added_to(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return a provenance with this origin."""
        data = record["data"] if self.source is None else {**record["data"], "source": self.source}
        return {**record, "data": data, "seconds": {"reading": self.seconds, **record["seconds"]}}
