"""What ``softvec embed --cluster`` needs: the workers, their progress, and the end of their checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softvec.cli.terminal import Settings, say
from softvec.core.checks import counted

if TYPE_CHECKING:
    from softvec.cluster.choose import Cluster
    from softvec.cluster.rank import Report
    from softvec.fit.run import Runner


@contextmanager
def workers_of(cluster: str | None, n_jobs: int | None, settings: Settings) -> Iterator[Cluster | None]:
    """Start or find the workers that are asked for; None where none are."""
    if cluster is None:
        yield None
        return
    from softvec.cluster.choose import choose

    with choose(cluster, n_jobs) as workers:
        if workers.driver:
            dashboard = f"; dashboard at {workers.address}" if workers.address else ""
            say(settings, f"cluster: {counted(workers.workers, 'worker')}{dashboard}")
        yield workers


def runner_of(
    workers: Cluster,
    show: Callable[..., None] | None,
    settings: Settings,
    *,
    partition: str | None,
    check_memory: bool,
) -> Runner:
    """Return what runs the epochs on the workers; ``show`` sees every epoch."""
    from softvec.cluster.choose import runner

    return runner(
        workers,
        _shown(show),
        check_memory=check_memory,
        partition=partition,
        say=lambda line: say(settings, line),
    )


def _shown(show: Callable[..., None] | None) -> Callable[[Report], None]:
    """Return a callback that shows the epoch of each report."""
    last = [0]

    def on_report(report: Report) -> None:
        if show is None:
            return
        new = report.epoch - last[0] if report.epoch > last[0] else report.epoch  # the next fit begins at 1
        last[0] = report.epoch
        more = f"{report.sent / 2**20:,.0f} MiB exchanged, {counted(report.workers, 'worker')} alive"
        for _ in range(new):
            show(report.epoch, report.loss, None, more)

    return on_report


def remove_checkpoint(fit: Mapping[str, Any], cluster: Any, made: Mapping[str, Any]) -> None:
    """Delete the checkpoint of a fit whose vectors are saved: only now, or a kill would lose them."""
    if "checkpoint" not in fit:
        return
    from softvec.fit.views import checkpoints_of_views

    paths = checkpoints_of_views(fit["checkpoint"])
    for path in reversed(paths if made["view"]["chosen"] == "fused" else paths[:1]):
        if cluster is None:
            Path(path).unlink(missing_ok=True)
        else:
            from softvec.cluster.checkpoint import Store

            Store(path, 1, "").delete()
