"""EDRep: a fit as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from inspect import signature
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from softvec.core.errors import InputError, warn
from softvec.core.machine import machine
from softvec.fit.diagnose import Diagnosis
from softvec.fit.fold_in import Fixed, fold_in
from softvec.fit.run import Fit, fit, prepared
from softvec.fit.settings import Callback, Settings, SharedOptions, configured
from softvec.operators import Operator

Array = NDArray[Any]


class EstimatorOptions(SharedOptions, total=False):
    """Parameters of :class:`EDRep` after ``n_components``."""

    normalize: bool
    n_jobs: int | None
    random_state: Any
    callbacks: Sequence[Callback] | None
    warm_start: bool
    verbose: bool | int


@configured
class EDRep(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Learn vectors whose softmax reproduces a matrix of affinities, in linear time.

    Row i of the softmax of ``beta * X @ Y.T`` is fitted to row i of P by cross-entropy; the softmax is
    normalised over all items through the paper's Gaussian mixture, in O(n d^2) instead of O(n^2 d).

    Parameters
    ----------
    %(settings)s
    warm_start : bool, default=False
        Start from the vectors of the last fit.

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
        Exact loss and error of log Z on a sample of rows, if cheap; see :meth:`diagnose`.
    n_iter_ : int
        Number of epochs run.

    Examples
    --------
    >>> import numpy as np
    >>> from softvec import EDRep
    >>> A = np.kron(np.eye(2), np.ones((4, 4))) - np.eye(8)  # two groups of four
    >>> X = EDRep(n_components=2, beta=1, random_state=0).fit_transform(A)
    >>> bool((X[:4] @ X[:4].T).min() > (X[:4] @ X[4:].T).max())
    True
    """

    def __init__(self, n_components: int = Settings.n_components, **options: Unpack[EstimatorOptions]):
        arguments = signature(EDRep.__init__).bind(self, n_components, **options)
        arguments.apply_defaults()
        for name, value in arguments.arguments.items():
            if name != "self":
                setattr(self, name, value)

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
            Classes of the mixture, instead of k-means.
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
        parameters = self.get_params()
        warm_start = parameters.pop("warm_start")
        settings = Settings.checked(**parameters)
        operator = self._operator(P, reset=True)
        warm = warm_start and hasattr(self, "embedding_")
        if warm:
            both = self.embedding_, self.context_embedding_
            settings = replace(settings, init=both[0] if settings.one_sided(operator.shape) else both)
        terms = {"classes": labels, "dissimilarity": dissimilarity, "item_weight": item_weight}
        with machine(settings.n_jobs, scratch=settings.scratch) as pool:
            result = fit(operator, settings, pool, **terms, warm=warm)
        self.embedding_: Array = result.state.X
        self.context_embedding_: Array = result.context
        self.labels_, self.n_iter_ = result.state.classes, result.state.epoch
        self.history_, self.diagnosis_, self.seed_ = result.history, result.diagnosis, result.seed
        self._n_features_out = result.state.X.shape[1]
        self._item_weight, self._contrastive = result.problem.item_weight, result.problem.N is not None
        self._fit_: Fit = result

    def _operator(self, P: Any, *, reset: bool) -> Operator:
        """Return P as a checked operator, and record its width and column names."""
        if hasattr(P, "operator") and hasattr(P, "rows"):  # an Affinity
            P = _unsigned(P).operator
        elif hasattr(P, "adjacency") and hasattr(P, "nodes"):  # a networkx graph
            from softvec.affinity import as_affinity

            P = _unsigned(as_affinity(P)).operator
        operator = prepared(P, self.normalize)
        if not reset and operator.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {operator.shape[1]} features, but EDRep is expecting {self.n_features_in_} features "
                "as input: new rows of P must relate to the columns of the fit"
            )
        has_columns = hasattr(P, "columns") or isinstance(P, np.ndarray)
        if reset or has_columns:
            X = P if has_columns else np.broadcast_to(0, operator.shape)  # only the shape is read
            validate_data(self, X, reset=reset, skip_check_array=True)
        return operator

    def diagnose(self, n_rows: int = 1000) -> Diagnosis:
        """Measure the fit on a sample of rows with the exact softmax, in O(n_rows m d).

        Returns
        -------
        Diagnosis
            ``exact_loss``, ``approximate_loss`` (means over the rows), and median, 95th percentile and
            maximum of the error of log Z.
        """
        check_is_fitted(self, "embedding_")
        if not hasattr(self, "_fit_"):
            raise InputError("this estimator was restored without its matrix; fit it again to diagnose it")
        with machine(self.n_jobs) as pool:
            return self._fit_.diagnose(n_rows, pool)

    def transform(self, P: Any, *, dissimilarity: Any = None) -> Array:
        """Embed unseen rows against the fitted context vectors, with everything else fixed.

        The item weights of the fit also apply to new rows.

        Parameters
        ----------
        P : matrix of shape (n_new, m)
            Affinities of the new rows to the columns of the fit.
        dissimilarity : matrix of shape (n_new, m), optional
            Dissimilarities of the new rows, if the model was fitted with dissimilarities.

        Returns
        -------
        ndarray of shape (n_new, n_components)
        """
        check_is_fitted(self, "embedding_")
        operator = self._operator(P, reset=False)
        N = self._dissimilarity(dissimilarity, operator.shape)
        beta, softmax = float(self.beta), (self.constraint, self.labels_, self._item_weight)
        fixed = Fixed(self.context_embedding_, beta, *softmax)
        with machine(self.n_jobs) as pool:
            return fold_in(operator, fixed, pool, N)

    def _dissimilarity(self, dissimilarity: Any, shape: tuple[int, int]) -> Operator | None:
        """Return the dissimilarities of new rows, if the model was fitted with dissimilarities."""
        if dissimilarity is None:
            if self._contrastive:
                warn(
                    "the model was fitted with dissimilarities, and these rows have none; "
                    "pass dissimilarity= (a matrix of zeros says that there are none)"
                )
            return None
        if not self._contrastive:
            raise InputError("dissimilarity is given, but the model was fitted without; leave it out")
        N = prepared(dissimilarity, False, "dissimilarity")
        if N.shape != shape:
            raise InputError(f"dissimilarities have shape {N.shape}, P has {shape}; make them equal")
        return N

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_fit_", None)  # it holds the user's matrix, which is not pickled
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = []  # dtype= decides, not the input
        return tags


def _unsigned(affinity: Any) -> Any:
    """Refuse links with signs, which one matrix of probabilities cannot hold."""
    if affinity.signed is not None:
        raise InputError("the links have signs, which one P cannot hold; see softvec.embed")
    return affinity
