"""The fit of one matrix P: checks, first vectors or a checkpoint, all epochs, diagnosis.

Does not import scikit-learn, which takes longer than a small fit; `softvec.estimator` wraps this module.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError, warn
from softvec.core.machine import ALONE, Machine
from softvec.core.progress import Progress
from softvec.fit.checkpoint import Checkpoint, Manifest, Range, fingerprint
from softvec.fit.diagnose import Diagnosis, diagnose
from softvec.fit.engine import Engine
from softvec.fit.problem import Problem, State, compact, find_classes, start
from softvec.fit.settings import Settings
from softvec.operators import Operator, as_operator, check_nonnegative, check_range, row_normalize

Array = NDArray[Any]
# The diagnosis may cost this share of the fit (an exp counts as 20 multiply-adds): up to 50 rows, and none at
# all where fewer than 10 are affordable.
_DIAGNOSIS_BUDGET = 0.1
_WARN_ABOVE = 2.0  # error of log Z above which the approximated loss is unreliable


@dataclass
class Fit:
    """Result of a fit."""

    problem: Problem
    state: State
    seed: int
    diagnosis: Diagnosis | None = None

    @property
    def context(self) -> Array:
        """The column vectors; in a symmetric fit, the row vectors."""
        return self.state.X if self.state.Y is None else self.state.Y

    @property
    def history(self) -> dict[str, Array]:
        """Values recorded in each epoch, by name."""
        records = self.state.history
        return {key: np.array([record[key] for record in records]) for key in (records[0] if records else ())}

    def diagnose(self, n_rows: int, pool: Machine) -> Diagnosis:
        """Diagnose the fit on a sample of rows; warn if its normaliser is far off."""
        X, classes = self.state.X, self.state.classes
        result = diagnose(self.problem, X, self.context, classes, n_rows, self.seed, pool)
        if result.log_z_error_median > _WARN_ABOVE:
            warn(
                f"the normaliser is off by {result.log_z_error_median:.2f} in log Z (median of "
                f"{result.n_rows} rows): the approximated loss of this fit is not its cross-entropy"
            )
        return result


def prepared(P: Any, normalize: bool, name: str = "P") -> Operator:
    """Return the user's matrix as a checked operator, with normalised rows if asked."""
    operator = as_operator(P)
    if min(operator.shape) == 0:
        missing = "sample" if operator.shape[0] == 0 else "feature"
        raise InputError(
            f"Found array with 0 {missing}(s) (shape={operator.shape}) while a minimum of 1 is required "
            f"by EDRep: {name} is empty"
        )
    if normalize:
        return row_normalize(operator)  # which checks the entries
    check_nonnegative(operator, name)
    check_range(operator, name)
    return operator


def fit(
    P: Operator,
    settings: Settings,
    pool: Machine,
    *,
    classes: Any = None,
    dissimilarity: Any = None,
    item_weight: Any = None,
    warm: bool = False,
    diagnosed: bool = True,
) -> Fit:
    """Learn the vectors of P, the result of `prepared`.

    Parameters
    ----------
    pool : Machine
        Where the epochs run: here, or on its workers, with the same bits.
    classes : array_like of shape (m,), optional
        Classes of the mixture, in place of k-means.
    dissimilarity : like P, optional
        The second matrix N of the contrastive term.
    item_weight : array_like of shape (m,), optional
        Base measure of the softmax.
    warm : bool
        Whether ``settings.init`` holds fitted vectors, which can be clustered before the first epoch.
    diagnosed : bool
        Whether to diagnose the result on a few rows, if that is cheap.
    """
    N, weight = _checked_terms(P, settings, dissimilarity, item_weight)
    problem = Problem.of(P, settings, N, weight)
    if classes is not None:
        classes, m = np.asarray(classes), P.shape[1]
        if classes.shape != (m,):
            raise InputError(f"labels have shape {classes.shape}; expected ({m},): one class per column of P")
        classes = compact(classes)
    if pool.workers is None:
        begin = Start.of(problem, settings, classes, warm)
        done, seed = 0 if begin.manifest is None else begin.manifest.epoch, begin.seed
        with Progress(settings.n_epochs, done) if settings.verbose else nullcontext() as bar:
            show = None if bar is None else lambda state: bar.show(state.epoch, state.history[-1]["loss"])
            state = run_epochs(problem, settings, pool, begin, show)
    else:
        if classes is not None or problem.N is not None:
            raise InputError("classes and dissimilarities are not supported on a cluster; leave them out")
        state, seed = pool.workers.run(problem, settings, warm)
    result = Fit(problem, state, seed)
    if diagnosed and problem.normalizer != "exact":
        rows = _rows_to_check(problem, state)
        if rows >= min(P.shape[0], 10):
            result.diagnosis = result.diagnose(rows, pool)
    return result


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
    rates = settings.rates()
    watched = np.asarray(memoryview(state.X).toreadonly())  # type: ignore[arg-type]
    while state.epoch < settings.n_epochs:
        begin, epoch = time.perf_counter(), state.epoch
        if epoch in cluster_at and problem.normalizer != "exact":
            state.classes = find_classes(engine.columns.X, settings.n_clusters, seed + epoch, pool)
            engine.set_classes(state.classes)
        eta = rates[epoch]
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


@dataclass(frozen=True)
class Start:
    """Where the epochs of a process begin; its arrays hold the rows and columns of this process.

    Attributes
    ----------
    seed : int
    rows, columns : tuple of int
        Global range of the own rows and columns.
    state : State or None
        None for the ``init`` of the settings, or the checkpoint.
    classes : ndarray or None
        Given classes, which stay.
    classes_first : bool
        Whether classes are found before the first epoch.
    saved : Checkpoint or None
        Where the run is saved.
    manifest : Manifest or None
        Of the checkpoint to resume from.
    """

    seed: int
    rows: Range
    columns: Range
    state: State | None = None
    classes: Array | None = None
    classes_first: bool = False
    saved: Checkpoint | None = None
    manifest: Manifest | None = None

    @classmethod
    def of(cls, problem: Problem, settings: Settings, classes: Array | None, warm: bool) -> Start:
        """Return where a fit of all rows begins: its checkpoint, given vectors, or what ``init`` says."""
        (n, m), seed, saved, manifest = problem.P.shape, seed_of(settings.random_state), None, None
        if settings.checkpoint is not None:
            key = run_key(problem, settings, classes, warm)
            path = os.fspath(settings.checkpoint)
            path = path if "://" in path else os.path.abspath(path)  # workers run in other folders
            saved = Checkpoint(path, settings.checkpoint_every, key)
            manifest = saved.manifest()
            seed = seed if manifest is None else manifest.seed
        state = None
        if manifest is None and not isinstance(settings.init, str):
            state = start(problem, settings, seed, ALONE)
        first = warm and settings.n_clusters > 1 and classes is None
        return cls(seed, (0, n), (0, m), state, classes, first, saved, manifest)

    def first_state(self, problem: Problem, settings: Settings, pool: Machine) -> State:
        """Return the first state."""
        if self.state is None and self.saved is not None and self.manifest is not None:
            return self.saved.load(self.manifest, self.rows, self.columns)
        state = start(problem, settings, self.seed, pool) if self.state is None else self.state
        if self.classes_first and state.classes is None:
            context = state.X if state.Y is None else state.Y
            state.classes = find_classes(context, settings.n_clusters, self.seed, pool)
        return state

    def save(self, state: State, pool: Machine) -> None:
        """Save a state, if the run is saved."""
        if self.saved is not None:
            self.saved.save(state, self.seed, self.rows, self.columns, pool.group)


def run_epochs(
    problem: Problem,
    settings: Settings,
    pool: Machine,
    begin: Start,
    on_epoch: Callable[[State], None] | None = None,
) -> State:
    """Run all epochs on the rows of this process, together with the others of its group.

    The run is saved every few epochs and at the end, if ``begin`` says where; ``on_epoch`` sees every epoch.
    """
    if begin.saved is not None:
        begin.saved.check_shared(pool.group)
    state = begin.first_state(problem, settings, pool)
    if begin.classes is not None:
        state.classes, settings = begin.classes, replace(settings, n_clusters=1)
    finished = state.done

    def after_epoch(state: State) -> None:
        due = begin.saved is not None and state.epoch % begin.saved.every == 0
        if due and state.epoch < settings.n_epochs:
            begin.save(state, pool)
        if on_epoch is not None:
            on_epoch(state)

    optimize(problem, state, settings, pool, seed=begin.seed, on_epoch=after_epoch)
    if not finished:
        begin.save(state, pool)
    return state


def run_key(problem: Problem, settings: Settings, classes: Array | None, warm: bool) -> str:
    """Return a hash of everything that decides the vectors, which ties a checkpoint to its run."""
    init = settings.init
    starts = () if isinstance(init, str) else init if isinstance(init, tuple | list) else (init,)
    return fingerprint(
        {**settings.described(), "warm_start": warm},
        problem.P,
        problem.N,
        problem.item_weight,
        classes,
        *(np.asarray(start) for start in starts),
    )


def seed_of(random_state: Any) -> int:
    """Return a seed: a function of an integer, or the next draw of a generator."""
    if random_state is None or random_state is np.random:  # the state that np.random.seed sets
        return int(np.random.randint(2**31 - 1))  # noqa: NPY002
    if not isinstance(random_state, np.random.RandomState):
        try:
            random_state = np.random.RandomState(random_state)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"random_state is {random_state!r}; expected an integer from 0 to 2**32 - 1, "
                "a RandomState or None"
            ) from error
    return int(random_state.randint(2**31 - 1))


def _rows_to_check(problem: Problem, state: State) -> int:
    """Return how many rows the diagnosis can afford."""
    (n, m), d = problem.P.shape, state.X.shape[1]
    work = max(1, state.epoch) * (problem.P.nnz + n * d) * d
    return int(min(n, max(_DIAGNOSIS_BUDGET * work, 2e6) / (m * (d + 20))))


def _checked_terms(
    P: Operator, settings: Settings, dissimilarity: Any, item_weight: Any
) -> tuple[Operator | None, Array | None]:
    """Check P; return the dissimilarities and the weights of items, of mean 1."""
    if not np.any(P.row_sums() > 0):
        raise InputError("P has no non-zero entry; check how it was built")
    N = None if dissimilarity is None else prepared(dissimilarity, False, "dissimilarity")
    weight = None
    if item_weight is not None:
        weight = np.asarray(item_weight, np.float64)
        if weight.shape != (P.shape[1],) or not (np.isfinite(weight).all() and (weight > 0).all()):
            raise InputError(f"item_weight must be {P.shape[1]} finite numbers > 0")
        weight = _mean_one(weight, settings.n_components)
    return N, weight


def _mean_one(weight: Array, d: int) -> Array:
    """Return weights divided by their mean; those too small for float32 are raised to 1e-30."""
    with np.errstate(over="ignore"):  # NumPy 1.26 also reports overflow for subnormal divisors
        mean = ALONE.mean(weight, d)
        if not np.isfinite(mean) or mean < np.finfo(np.float64).tiny:
            weight = weight / weight.max(initial=0)
            mean = ALONE.mean(weight, d)
    return np.maximum(weight / mean, 1e-30)
