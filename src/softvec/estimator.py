"""EDRep: the scikit-learn shell over the optimiser.

Longer than 400 lines because a third of it is the documentation of one public class.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from softvec._parallel import Workers, workers
from softvec.errors import InputError
from softvec.operators import Operator, as_operator, check_nonnegative, row_normalize
from softvec.optimize import (
    Callback,
    Problem,
    Schedule,
    State,
    compact,
    find_classes,
    given_start,
    optimize,
    power_start,
    random_start,
)
from softvec.optimize.checkpoint import Checkpoint, fingerprint
from softvec.optimize.diagnose import Diagnosis, diagnose
from softvec.optimize.fold_in import fold_in

Array = NDArray[Any]
INITS = ("random", "power")
# After the fit up to 50 rows are checked, as many as cost at most this share of it (an exp counts as 20
# multiply-adds); fewer than 10 say too little, and then none are.
_CHEAP = 0.01
_LOUD = 2.0  # error of log Z above which the approximated loss says little


class EDRep(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Learn vectors whose softmax reproduces a matrix of affinities, in linear time.

    Row i of the softmax of ``beta * X @ Y.T`` is fitted to row i of P by cross-entropy; the softmax is
    normalised over all items through the paper's Gaussian mixture, in O(n d^2) instead of O(n^2 d).

    Parameters
    ----------
    n_components : int, default=128
        Dimension d of the vectors.
    n_clusters : int, default=1
        Classes of the mixture. With more than one, k-means finds them during the fit.
    n_epochs : int, default=30
        Passes over P.
    learning_rate : float, default=0.7
        Length of the first step on the unit sphere, in (0, 1]; falls linearly to 0.
    beta : float, default=6.0
        Inverse temperature: the softmax is of ``beta`` times the cosine. 1 is the paper's setting.
    gradient : {"row", "paper", "full"}, default="row"
        Which derivative a symmetric fit follows: each row's own cross-entropy with the others held fixed,
        the paper's, or the whole derivative of the approximated loss.
    regularization : float, default=0.0
        Weight of the term that centres the vectors; the paper has 1, 0 measures better (docs/decisions.md).
    init : {"random", "power"} or array of shape (n, n_components), default="random"
        Where to start. A two-sided fit takes a pair of arrays.
    symmetric : bool or "auto", default="auto"
        One set of vectors for rows and columns, or two. "auto": one where P is square.
    constraint : {"sphere", "ball"}, default="sphere"
        Unit vectors, or vectors of norm at most 1.
    normalizer : {"mixture", "exact"}, default="mixture"
        "exact" sums over all pairs: for comparison on small problems.
    normalize : bool, default=True
        Divide each row of P by its sum. False keeps the sums as weights of the rows.
    dtype : {"float32", "float64"}, default="float32"
        Precision of the vectors. In float32, neighbours are read in half precision.
    n_jobs : int or None, default=None
        Threads, for BLAS and the compiled loops alike; None is all cores. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Same seed, same bits.
    tol : float or None, default=None
        Stop when the loss changes by less than this fraction in an epoch.
    callbacks : sequence of callable, optional
        Called as ``callback(epoch, loss, X)`` after every epoch; True stops the fit.
    warm_start : bool, default=False
        Start from the vectors of the last fit.
    checkpoint : path-like or None, default=None
        A file that is written every ``checkpoint_every`` epochs and removed at the end. If it exists, the
        fit goes on from it, to the bits of an uninterrupted one.
    checkpoint_every : int, default=5
        Epochs between two writes.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, n_components)
        Row vectors, of norm 1 (at most 1 in the ball).
    context_embedding_ : ndarray of shape (m, n_components)
        Column vectors; the same array in a symmetric fit.
    labels_ : ndarray of shape (m,) or None
        Classes of the mixture, None for one class.
    history_ : dict of ndarray
        Per epoch: ``epoch, loss, attraction, normalizer, regularizer, learning_rate, seconds``; the loss
        is that before the epoch's step, by the approximated normaliser, divided by n.
    diagnosis_ : Diagnosis or None
        Exact loss and error of log Z on a sample of rows, where that was cheap; see :meth:`diagnose`.
    n_iter_ : int
        Epochs run.

    Examples
    --------
    >>> import numpy as np
    >>> from softvec import EDRep
    >>> A = np.kron(np.eye(2), np.ones((4, 4))) - np.eye(8)  # two groups of four
    >>> X = EDRep(n_components=2, beta=1, random_state=0).fit_transform(A)
    >>> bool((X[:4] @ X[:4].T).min() > (X[:4] @ X[4:].T).max())
    True
    """

    def __init__(
        self,
        n_components: int = 128,
        *,
        n_clusters: int = 1,
        n_epochs: int = 30,
        learning_rate: float = 0.7,
        beta: float = 6.0,
        gradient: str = "row",
        regularization: float = 0.0,
        init: Any = "random",
        symmetric: bool | str = "auto",
        constraint: str = "sphere",
        normalizer: str = "mixture",
        normalize: bool = True,
        dtype: Any = "float32",
        n_jobs: int | None = None,
        random_state: Any = None,
        tol: float | None = None,
        callbacks: Sequence[Callback] | None = None,
        warm_start: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 5,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.n_clusters = n_clusters
        self.n_epochs = n_epochs
        self.learning_rate = learning_rate
        self.beta = beta
        self.gradient = gradient
        self.regularization = regularization
        self.init = init
        self.symmetric = symmetric
        self.constraint = constraint
        self.normalizer = normalizer
        self.normalize = normalize
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.tol = tol
        self.callbacks = callbacks
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.verbose = verbose

    def fit(
        self,
        P: Any,
        y: Any = None,
        *,
        labels: ArrayLike | None = None,
        dissimilarity: Any = None,
        item_weight: ArrayLike | None = None,
    ) -> EDRep:
        """Learn the vectors of P.

        Parameters
        ----------
        P : sparse or dense matrix, Operator, LinearOperator, Affinity or networkx graph, of shape (n, m)
            Affinities, finite and non-negative.
        y : ignored
        labels : array_like of shape (m,), optional
            Classes of the mixture, in place of k-means.
        dissimilarity : like P, optional
            A second matrix N: its pairs are pushed apart (the contrastive term).
        item_weight : array_like of shape (m,), optional
            Base measure of the softmax, positive.

        Returns
        -------
        self
        """
        self._fit(P, labels, dissimilarity, item_weight)
        return self

    def fit_transform(self, P: Any, y: Any = None, **fit_params: Any) -> Array:
        """Learn the vectors of P and return those of its rows."""
        return self.fit(P, y, **fit_params).embedding_

    def _fit(self, P: Any, labels: Any, dissimilarity: Any, item_weight: Any) -> None:
        self._check_parameters()
        operator = self._operator(P, "P", reset=True)
        problem = self._problem(operator, dissimilarity, item_weight)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        schedule = Schedule(self.n_epochs, self.learning_rate, self.tol)
        saved = self._checkpoint(operator)
        with workers(self.n_jobs) as pool:
            found = None if saved is None else saved.load()
            state, seed = (self._start(problem, seed, pool), seed) if found is None else found
            if found is not None:
                pass
            elif labels is not None:
                state.labels = _check_labels(labels, operator.shape[1])
            elif self.warm_start and self.n_clusters > 1 and hasattr(self, "embedding_"):
                context = state.X if state.Y is None else state.Y
                state.labels = find_classes(context, self.n_clusters, seed, pool)
            with _Progress(self.verbose, schedule.n_epochs, state.epoch) as progress:

                def after_epoch(state: State) -> None:
                    progress.update(state)
                    if (
                        saved is not None
                        and state.epoch % saved.every == 0
                        and state.epoch < schedule.n_epochs
                    ):
                        saved.save(state, seed)

                optimize(
                    problem,
                    state,
                    schedule,
                    pool,
                    n_clusters=self.n_clusters if labels is None else 1,
                    seed=seed,
                    callbacks=self.callbacks or (),
                    on_epoch=after_epoch,
                )
            if saved is not None:
                saved.remove()
            self._store(problem, state, seed)
            self.diagnosis_ = None
            n, m = operator.shape
            work = max(1, state.epoch) * (operator.nnz + n * self.n_components) * self.n_components
            budget = max(_CHEAP * work, 2e6) / (m * (self.n_components + 20))
            rows = int(min(n, 50, budget))
            if problem.normalizer == "mixture" and rows >= min(n, 10):
                self.diagnosis_ = self._diagnose(rows, pool)

    def _checkpoint(self, operator: Operator) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        skipped = ("callbacks", "checkpoint", "checkpoint_every", "n_jobs", "verbose", "init")
        settings = {name: value for name, value in self.get_params().items() if name not in skipped}
        settings["init"] = self.init if isinstance(self.init, str) else "given"
        return Checkpoint(Path(self.checkpoint), self.checkpoint_every, fingerprint(operator, settings))

    def _check_parameters(self) -> None:
        for name, least in (("n_components", 1), ("n_clusters", 1), ("n_epochs", 0), ("checkpoint_every", 1)):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
                raise InputError(f"{name} is {value!r}; expected an integer")
            if value < least:
                raise InputError(f"{name} is {value}; expected at least {least}")
        for name in ("beta", "learning_rate", "regularization", "tol"):
            value = getattr(self, name)
            if isinstance(value, str) or np.ndim(value):
                raise InputError(f"{name} is {value!r}; expected a number")
        if self.symmetric not in (True, False, "auto"):
            raise InputError(f'symmetric is {self.symmetric!r}; expected True, False or "auto"')
        if isinstance(self.init, str) and self.init not in INITS:
            raise InputError(f"init is {self.init!r}; expected one of {', '.join(INITS)}, or an array")
        try:
            dtype = np.dtype(self.dtype)
        except TypeError as error:
            raise InputError(f"dtype is {self.dtype!r}; expected float32 or float64") from error
        if dtype not in (np.float32, np.float64):
            raise InputError(f"dtype is {dtype}; expected float32 or float64")

    def _operator(self, P: Any, name: str, *, reset: bool) -> Operator:
        """Turn what the user gave into a checked operator; remember its width and column names."""
        if hasattr(P, "operator") and hasattr(P, "rows"):  # an Affinity
            P = P.operator
        elif hasattr(P, "adjacency") and hasattr(P, "nodes"):  # a networkx graph
            from softvec.affinity import as_affinity

            P = as_affinity(P).operator
        operator = as_operator(P)
        if min(operator.shape) == 0:
            missing = "sample" if operator.shape[0] == 0 else "feature"
            raise InputError(
                f"Found array with 0 {missing}(s) (shape={operator.shape}) while a minimum of 1 is required "
                f"by EDRep: {name} is empty"
            )
        check_nonnegative(operator, name)
        if not reset and operator.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {operator.shape[1]} features, but EDRep is expecting {self.n_features_in_} features "
                "as input: new rows of P must relate to the columns of the fit"
            )
        known = P if hasattr(P, "columns") or isinstance(P, np.ndarray) else _Shaped(operator.shape)
        if reset or hasattr(known, "columns") or isinstance(known, np.ndarray):
            validate_data(self, known, reset=reset, skip_check_array=True)
        return row_normalize(operator) if self.normalize and name == "P" else operator

    def _problem(self, P: Operator, dissimilarity: Any, item_weight: Any) -> Problem:
        if not np.any(P.row_sums() > 0):
            raise InputError("all entries of P are 0: nothing relates to anything. Check how P was built")
        symmetric = P.shape[0] == P.shape[1] if self.symmetric == "auto" else bool(self.symmetric)
        N = None
        if dissimilarity is not None:
            N = as_operator(dissimilarity)
            check_nonnegative(N, "dissimilarity")
        weight = None
        if item_weight is not None:
            weight = np.asarray(item_weight, np.float64)
            if weight.shape != (P.shape[1],) or not (np.isfinite(weight).all() and (weight > 0).all()):
                raise InputError(f"item_weight must be {P.shape[1]} finite numbers > 0")
            weight = weight / weight.mean()
        return Problem(
            P,
            symmetric,
            float(self.beta),
            self.gradient,
            float(self.regularization),
            self.constraint,
            self.normalizer,
            N,
            weight,
        )

    def _start(self, problem: Problem, seed: int, pool: Workers) -> State:
        (n, m), d, dtype = problem.P.shape, int(self.n_components), np.dtype(self.dtype)
        init = self.init
        if self.warm_start and hasattr(self, "embedding_"):
            init = self.embedding_ if problem.symmetric else (self.embedding_, self.context_embedding_)
        if not isinstance(init, str):
            if problem.symmetric:
                return State(given_start(init, (n, d), problem.constraint, dtype))
            if not (isinstance(init, (tuple, list)) and len(init) == 2):
                raise InputError(
                    "init of a two-sided fit is a pair of arrays: row vectors and column vectors"
                )
            X, Y = init
            return State(
                given_start(X, (n, d), problem.constraint, dtype),
                given_start(Y, (m, d), problem.constraint, dtype, "init (columns)"),
            )
        if init == "random":
            X = random_start(n, d, seed, 0, dtype, pool)
            return State(X, None if problem.symmetric else random_start(m, d, seed, 1, dtype, pool))
        if problem.symmetric:
            return State(power_start(problem.P, d, seed, dtype, pool))
        # two sides: push a random column side to the rows and back
        X = power_start(problem.P, d, seed, dtype, pool, steps=1)
        Y = given_start(problem.P.T @ X, (m, d), problem.constraint, dtype)
        return State(X, Y)

    def _store(self, problem: Problem, state: State, seed: int) -> None:
        self.embedding_ = state.X
        self.context_embedding_ = state.X if state.Y is None else state.Y
        self.labels_ = state.labels
        self.n_iter_ = state.epoch
        self.seed_ = seed
        keys = state.history[0] if state.history else ()
        self.history_ = {key: np.array([record[key] for record in state.history]) for key in keys}
        self._problem_ = problem
        self._n_features_out = state.X.shape[1]

    def diagnose(self, n_rows: int = 1000) -> Diagnosis:
        """Measure the fit on a sample of rows with the exact softmax, in O(n_rows m d).

        Returns
        -------
        Diagnosis
            ``exact_loss``, ``approximate_loss`` (means over the rows), and median, 95th percentile and
            maximum of the error of log Z.
        """
        check_is_fitted(self, "embedding_")
        with workers(self.n_jobs) as pool:
            return self._diagnose(n_rows, pool)

    def _diagnose(self, n_rows: int, pool: Workers) -> Diagnosis:
        if not hasattr(self, "_problem_"):
            raise InputError("this estimator was restored without its matrix; fit it again to diagnose it")
        result = diagnose(
            self._problem_, self.embedding_, self.context_embedding_, self.labels_, n_rows, self.seed_, pool
        )
        if result.log_z_error_median > _LOUD:
            warnings.warn(
                f"the normaliser is off by {result.log_z_error_median:.2f} in log Z (median of "
                f"{result.n_rows} rows); vectors may still be good, but the loss is not. "
                f"Lower beta (now {self.beta:g}) or raise n_clusters (now {self.n_clusters})",
                stacklevel=5,
            )
        return result

    def transform(self, P: Any) -> Array:
        """Embed unseen rows against the fitted context vectors, everything else frozen.

        Parameters
        ----------
        P : matrix of shape (n_new, m)
            Affinities of the new rows to the columns of the fit.

        Returns
        -------
        ndarray of shape (n_new, n_components)
        """
        check_is_fitted(self, "embedding_")
        operator = self._operator(P, "P", reset=False)
        with workers(self.n_jobs) as pool:
            return fold_in(
                operator, self.context_embedding_, self.labels_, float(self.beta), self.constraint, pool
            )

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_problem_", None)  # the matrix is the user's; a saved estimator does not carry it
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = []  # dtype= decides, not the input
        return tags


class _Shaped:
    """Something with only a shape, for scikit-learn's bookkeeping of widths."""

    def __init__(self, shape: tuple[int, int]):
        self.shape = shape

    def __len__(self) -> int:
        return self.shape[0]


class _Progress:
    """A tqdm bar with the loss; nothing when not verbose."""

    def __init__(self, verbose: int, n_epochs: int, done: int):
        self._bar: Any = None
        if verbose:
            from tqdm.auto import tqdm

            self._bar = tqdm(total=n_epochs, initial=done, desc="EDRep", unit="epoch")

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def update(self, state: State) -> None:
        """Advance by an epoch."""
        if self._bar is not None:
            self._bar.set_postfix(loss=f"{state.history[-1]['loss']:.4f}")
            self._bar.update()


def _check_labels(labels: Any, m: int) -> Array:
    labels = np.asarray(labels)
    if labels.shape != (m,):
        raise InputError(f"labels have shape {labels.shape}; expected ({m},): one class per column of P")
    return compact(labels)


def diagnosis_dict(diagnosis: Diagnosis | None) -> dict[str, float] | None:
    """Return a diagnosis as plain numbers, for files."""
    return None if diagnosis is None else asdict(diagnosis)
