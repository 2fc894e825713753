"""The epoch loop: schedule, classes, history, callbacks. No files, no item names."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.machine import Machine
from softvec.fit.engine import Engine
from softvec.fit.problem import Problem
from softvec.fit.settings import Settings
from softvec.fit.start import find_classes

Array = NDArray[Any]


@dataclass
class State:
    """Everything an interrupted run needs to resume with the same bits."""

    X: Array
    Y: Array | None = None
    classes: Array | None = None
    epoch: int = 0
    history: list[dict[str, float]] = field(default_factory=list)
    done: bool = False


def optimize(
    problem: Problem,
    state: State,
    settings: Settings,
    pool: Machine,
    *,
    seed: int = 0,
    half: bool = True,
    on_epoch: Callable[[State], None] | None = None,
) -> State:
    """Run epochs ``state.epoch`` to ``settings.n_epochs``; the vectors of ``state`` are updated in place.

    Parameters
    ----------
    settings : Settings
        Epochs, learning rate, stopping tolerance, classes, callbacks. If ``n_clusters`` is above 1, k-means
        is run at a quarter, half and three quarters of the epochs; else ``state.classes`` stays as it is.
    on_epoch : callable, optional
        Called with the state after each epoch (progress bars, checkpoints).
    """
    if state.done:
        return state
    engine = Engine(problem, state.X, state.Y, pool, half=half, epochs=max(1, settings.n_epochs))
    if state.classes is not None:
        engine.set_classes(state.classes)
    cluster_at = set() if settings.n_clusters == 1 else _cluster_epochs(settings.n_epochs)
    watched = np.asarray(memoryview(state.X).toreadonly())  # type: ignore[arg-type]
    while state.epoch < settings.n_epochs:
        begin, epoch = time.perf_counter(), state.epoch
        if epoch in cluster_at and problem.normalizer != "exact":
            state.classes = find_classes(engine.columns.X, settings.n_clusters, seed + epoch, pool)
            engine.set_classes(state.classes)
        eta = settings.rate(epoch)
        loss = engine.epoch(eta, last=epoch + 1 == settings.n_epochs)
        state.history.append(
            {
                "epoch": epoch,
                "loss": loss.total,
                "attraction": loss.attraction,
                "normalizer": loss.normalizer,
                "regularizer": loss.regularizer,
                "learning_rate": eta,
                "seconds": time.perf_counter() - begin,
            }
        )
        state.epoch += 1
        if on_epoch is not None:
            on_epoch(state)
        stops = [callback(epoch, loss.total, watched) for callback in settings.callbacks or ()]
        if any(stop is True or stop is np.True_ for stop in stops) or _converged(state.history, settings.tol):
            break
    state.done = True
    return state


def _cluster_epochs(n_epochs: int) -> set[int]:
    return {max(1, n_epochs * quarter // 4) for quarter in (1, 2, 3)}


def _converged(history: list[dict[str, float]], tol: float | None) -> bool:
    if tol is None or len(history) < 3:
        return False
    before, now = history[-2]["loss"], history[-1]["loss"]
    return abs(before - now) <= tol * max(abs(before), 1e-12)
