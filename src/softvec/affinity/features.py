"""The graph of nearest neighbours of feature vectors."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.affinity.base import Affinity, name_rows
from softvec.affinity.compress import pattern
from softvec.affinity.matrices import EdgeRules, assemble
from softvec.core.checks import choice, counted, integer
from softvec.core.errors import InputError, warn
from softvec.core.untrusted import one_line
from softvec.names import Names
from softvec.operators import checked_csr
from softvec.read.frames import in_memory, is_frame, matrix_of_frame
from softvec.read.objects import Graph, is_anndata

_SOME, _WIDE = 10_000, 30  # rows that measure spreads; one spread over the usual one that is said
_EXACT_UP_TO = 20_000  # rows; above, approximate search where pynndescent is installed


def neighbors(
    features: Any,
    n_neighbors: int | None = None,
    *,
    metric: str = "euclidean",
    weights: str = "uniform",
    mutual: bool = False,
    method: str = "auto",
    names: Any = None,
    length: int = 1,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Affinity:
    """Build P from feature vectors: a walk on the graph of their nearest neighbours.

    Parameters
    ----------
    features : array_like or sparse of shape (n, n_features)
    n_neighbors : int, optional
        Neighbours of each row, excluding itself; 15 by default, or all if there are fewer.
    metric : str
        Any metric of scikit-learn's ``NearestNeighbors``, such as ``"euclidean"``, ``"cosine"``.
    weights : {"uniform", "gaussian"}
        Edge weights: 1, or exp(-d_ij^2 / (s_i s_j)) with s_i the distance of i to its last neighbour.
    mutual : bool
        Keep an edge only if each end is a neighbour of the other; by default one direction suffices.
    method : {"auto", "exact", "approximate"}
        Exact search by scikit-learn, or approximate by pynndescent; ``"auto"`` is approximate above
        20,000 rows if pynndescent is installed.
    names : sequence, optional
        Names of the rows.
    length : int
        Mean of the powers 1..length of the walk.
    random_state : int
        Seed of the approximate search.
    n_jobs : int, optional
        Threads; all cores by default.

    Examples
    --------
    >>> import numpy as np
    >>> neighbors(np.array([[0.0], [1.0], [10.0], [11.0]]), 1).matrix.toarray()
    array([[0., 1., 0., 0.],
           [1., 0., 0., 0.],
           [0., 0., 0., 1.],
           [0., 0., 1., 0.]], dtype=float32)
    """
    choice("weights", weights, ("uniform", "gaussian"))
    choice("method", method, ("auto", "exact", "approximate"))
    features, names = _unwrap(features, names)
    X = _check_features(features)
    if metric == "euclidean" and not sparse.issparse(X):
        _warn_of_scales(X)
    n = X.shape[0]
    if n_neighbors is None:
        n_neighbors = min(15, n - 1)
    n_neighbors = integer("n_neighbors", n_neighbors, most=n - 1, of=f"there are {counted(n, 'row')}")
    installed = importlib.util.find_spec("pynndescent") is not None
    if method == "approximate" and not installed:
        raise InputError("method is 'approximate', which needs pynndescent: pip install pynndescent")
    approximate = method == "approximate" or (method == "auto" and n > _EXACT_UP_TO and installed)
    indices, distances = _nearest(X, n_neighbors, metric, approximate, random_state, n_jobs)
    matrix = _graph(indices, distances, weights, mutual)
    notes = [f"{'approximate' if approximate else 'exact'} {n_neighbors} nearest neighbours, {metric}"]
    rows = name_rows(Names.range(n), names)
    affinity = assemble(matrix, rows, rows, EdgeRules("features", length=length), True, notes)
    parameters = {"n_neighbors": n_neighbors, "metric": metric, "weights": weights, "mutual": mutual}
    return replace(affinity, parameters={**affinity.parameters, **parameters, "approximate": approximate})


def _unwrap(features: Any, names: Any) -> tuple[Any, Any]:
    """Return the numbers of a frame or an AnnData, and its row names unless names are given."""
    if isinstance(features, Graph):
        return features.matrix, features.names if names is None else names
    if is_anndata(features):
        return features.X, list(features.obs_names) if names is None else names
    features = in_memory(features)
    if not is_frame(features):
        return features, names
    table = matrix_of_frame(features)
    return table.matrix, table.names if names is None else names


def _check_features(features: Any) -> Any:
    if sparse.issparse(features):
        X = sparse.csr_matrix(checked_csr(features))  # scikit-learn and pynndescent expect csr_matrix
        values = X.data
        if values.dtype.kind not in "fiub":
            raise InputError(f"features have dtype {values.dtype}; expected real numbers")
    else:
        try:
            X = np.asarray(features)
            X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"features are not numbers: {error}") from None
        if X.ndim != 2:
            raise InputError(f"features have shape {X.shape}; expected (rows, features)")
        values = X
    if X.shape[0] < 2:
        raise InputError(f"features have {counted(X.shape[0], 'row')}; neighbours need at least 2")
    if not np.isfinite(values).all():
        where = f"row {int(np.argmin(np.isfinite(X).all(axis=1)))}" if not sparse.issparse(X) else "the data"
        raise InputError(f"features hold NaN or infinite values (first in {where}); fill or drop them")
    return X


def _warn_of_scales(X: NDArray[Any]) -> None:
    """Warn if one column decides which rows are near, as its numbers are much larger than those of others."""
    spread = X[:: max(1, len(X) // _SOME)].std(axis=0)
    usual = np.sort(spread)[(len(spread) - 1) // 2] if len(spread) else 0
    if spread.max(initial=0) > _WIDE * usual > 0:
        warn(
            f"column {int(spread.argmax()) + 1} of the features varies {spread.max() / usual:,.0f} times as "
            "much as most and decides which rows are near; scale the columns alike, as "
            "sklearn.preprocessing.StandardScaler does"
        )


def _nearest(
    X: Any, k: int, metric: str, approximate: bool, seed: int, n_jobs: int | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the k nearest rows of each row, without itself, and their distances."""
    try:
        if not approximate:
            from sklearn.neighbors import NearestNeighbors

            exact = NearestNeighbors(n_neighbors=k, metric=metric, n_jobs=n_jobs or -1).fit(X)
            distances, indices = exact.kneighbors()
            return indices, distances
        from pynndescent import NNDescent  # type: ignore[import-untyped]

        search = NNDescent(X, metric=metric, n_neighbors=k + 1, random_state=seed, n_jobs=n_jobs or -1)
    except ValueError as error:
        raise InputError(f"metric is {metric!r}: {one_line(error)}") from None
    return without_self(*search.neighbor_graph)


def without_self(indices: NDArray[Any], scores: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Drop each row from its own nearest rows; if enough others are equal to it, drop the last instead."""
    own = indices == np.arange(len(indices))[:, None]
    own[~own.any(axis=1), -1] = True
    shape = (len(indices), indices.shape[1] - 1)
    return indices[~own].reshape(shape), scores[~own].reshape(shape)


def _graph(indices: NDArray[Any], distances: NDArray[Any], weights: str, mutual: bool) -> sparse.csr_array:
    n, k = indices.shape
    if weights == "gaussian":
        scale = np.maximum(distances[:, -1], np.finfo(np.float32).tiny)
        values = np.exp(-(distances**2) / (scale[:, None] * scale[indices]))
        values = np.maximum(values, 1e-12).reshape(-1)
    else:
        values = np.ones(n * k, dtype=np.float32)
    indptr = np.arange(0, n * k + 1, k)
    nearest = sparse.csr_array((values, indices.reshape(-1).astype(np.int64), indptr), shape=(n, n))
    matrix = (nearest.minimum(nearest.T) if mutual else nearest.maximum(nearest.T)).tocsr()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return pattern(matrix) if weights == "uniform" else matrix
