"""What ``softvec embed`` shows while the library works, and says at its end."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from softvec.api import Watch
from softvec.cli.terminal import Session, epoch_progress, gibibytes, print_json, seconds
from softvec.core.checks import Json, counted
from softvec.core.errors import AdviceWarning, InputError, Option, listed
from softvec.core.resources import available_memory, peak_memory
from softvec.core.scratch import on_disk

if TYPE_CHECKING:
    from softvec.affinity import Affinity
    from softvec.cluster.choose import Cluster
    from softvec.cluster.worker import Report
    from softvec.embedding import Embedding


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
        self.session.say(f"cluster: {counted(cluster.workers, 'worker')}{dashboard}")

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
        with self.session.working(f"reading {self.source}"):
            yield

    def read(self, affinity: Affinity, spent: float) -> None:
        """Say what the data is."""
        self.affinity = affinity
        self.session.say(f"{affinity.kind}: {affinity.summary} ({seconds(spent)})")

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
        self.session.say(line)


def remove_checkpoint(checkpoint: str | os.PathLike[str] | None, made: Mapping[str, Any]) -> None:
    """Delete the checkpoint of a fit whose vectors are saved: only now, or a kill would lose them."""
    if checkpoint is None:
        return
    from softvec.fit.checkpoint import Checkpoint
    from softvec.fit.views import checkpoints_of_views

    paths = checkpoints_of_views(checkpoint)
    for path in reversed(paths if made["view"]["chosen"] == "fused" else paths[:1]):
        Checkpoint(path, 1, "").delete()


def report(emb: Embedding, target: str, session: Session) -> None:
    """Print what was made: the vectors, the work, the exact loss on a sample of rows, and the stability."""
    record, context = emb.provenance, emb.context_vectors
    _tell_other_view(record["view"].get("ruled_out_by", []))
    if session.json:
        if target != "-":  # standard output holds the vectors
            print_json(_summary(emb, target))
        return
    second = "" if context is None else f" + {len(context):,} context"
    steps = _steps(record)
    work = counted(_epochs(record), "epoch") if steps is None else counted(steps, "power step")
    work += " and a round" if record["parameters"].get("rounds") is not None else ""
    made = f"{len(emb):,}{second} vectors of {emb.n_components} dimensions"
    spent = seconds(record["seconds"]["fitting"])
    session.say(f"{made}: {work} in {spent} -> {'standard output' if target == '-' else target}")
    if views := mapping(mapping(record["diagnosis"]).get("views")):
        _tell_views(views, record["data"]["shape"][1], session)
    elif steps is None:
        session.say(loss_line(record))
    if "stability" in record:
        session.say(repr(emb.stability()).strip("<>"))


def _tell_other_view(options: Sequence[str]) -> None:
    """Say that options of one fit kept a dense graph from the views it gets by default."""
    if not options:
        return
    warnings.warn(
        AdviceWarning(
            "one walk was fitted, not the fused views that a dense graph gets by default, which set ",
            *listed(options), " themselves; leave that out, or pass ", Option("view", "walk"),
            " to hide this note",
        ),
        stacklevel=2,
    )  # fmt: skip


def measured_loss(record: Mapping[str, Any]) -> Json:
    """Return the loss of finished vectors by the exact softmax, from their provenance, with its error.

    That is the exact loss of the diagnosis. ``approximated_loss`` is the last one of the fit, which the
    mixture normaliser gives.

    >>> measured_loss({"history": {"loss": [3.5, 2.5]}, "diagnosis": {"exact_loss": 2.75, "n_rows": 40}})
    {'loss': 2.75, 'loss_rows': 40, 'loss_error': None, 'approximated_loss': 2.5}
    """
    diagnosis, history = (mapping(record.get(key)) for key in ("diagnosis", "history"))
    named = {"loss": "exact_loss", "loss_rows": "n_rows", "loss_error": "standard_error"}
    values = {name: diagnosis.get(key) for name, key in named.items()}
    return {**values, "approximated_loss": (history.get("loss") or [None])[-1]}


def loss_line(record: Mapping[str, Any]) -> str:
    """Return the loss in words.

    >>> loss_line({"diagnosis": {"exact_loss": 2.75, "n_rows": 40}})
    'exact loss 2.7500 (40 rows)'
    >>> loss_line({"diagnosis": {"exact_loss": 2.75, "n_rows": 40, "standard_error": 0.0312}})
    'exact loss 2.750 ± 0.031 (40 rows)'
    """
    loss, rows, error, last = measured_loss(record).values()
    if loss is None:
        return "no loss measured" if last is None else f"approximated loss {last:.4f}"
    shown = f"{loss:.4f}"
    if error:
        digits = min(4, max(0, 1 - math.floor(math.log10(error))))  # two digits of the error
        shown = f"{loss:.{digits}f} ± {error:.{digits}f}"
    return f"exact loss {shown} ({rows:,} rows)"


def _tell_views(views: Mapping[str, Any], n: int, session: Session) -> None:
    """Say the exact loss of fused views, and where it is above that of equal probabilities."""
    losses = {name: view["exact_loss"] for name, view in views.items()}
    session.say(f"exact loss of the views: {', '.join(f'{name} {x:.2f}' for name, x in losses.items())}")
    for name in (name for name, loss in losses.items() if loss > math.log(n)):
        session.say(
            f"view {name} does not minimise its loss (equal probabilities: {math.log(n):.2f}): its softmax "
            "is too sharp for the normaliser; it is fused for the walk that it sees"
        )


def mapping(value: Any) -> Json:
    """Return a part of a record, or nothing where a file holds something else there."""
    return value if isinstance(value, dict) else {}


def _epochs(record: Mapping[str, Any]) -> int:
    """Return the number of epochs; positive and negative links are fitted apart, without one history."""
    if "signs" in record:
        return sum(part.get("n_epochs", 0) for part in record["signs"].values())
    return len(record["history"].get("loss", []))


def _steps(record: Mapping[str, Any]) -> int | None:
    """Return the number of power steps, which measure no loss, or None after epochs."""
    parts = record.get("signs", {"": record["parameters"]}).values()
    counts = [part["steps"] for part in parts if "steps" in part]
    return sum(counts) if counts else None


def _summary(emb: Embedding, target: str) -> Json:
    record = emb.provenance
    summary = {
        "output": target,
        "vectors": len(emb),
        "dimensions": emb.n_components,
        "context_vectors": 0 if emb.context_vectors is None else len(emb.context_vectors),
        "data": record["data"],
        "view": record.get("view"),
        "epochs": _epochs(record),
        **measured_loss(record),
        "log_z_error": (record["diagnosis"] or {}).get("log_z_error_median"),
        "seconds": record["seconds"],
        "peak_memory": peak_memory(),
        "seed": record["parameters"]["seed"],
    }
    return summary | ({"stability": record["stability"]} if "stability" in record else {})
