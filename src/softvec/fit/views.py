"""Several walks on one graph, fitted apart and fused into vectors of the dimension asked for.

Each view is a fit of unit vectors. They are centred, shortened where an item has few neighbours, put side by
side and turned to their principal axes: views share the axes on which they agree. Two small coordinates tell
the degree, which the length of a centred vector does not tell a linear classifier.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.core.errors import InputError
from softvec.core.machine import ALONE, Machine
from softvec.core.scratch import copied, empty
from softvec.core.threads import row_blocks
from softvec.fit.problem import push
from softvec.fit.resolve import FUSED, View
from softvec.fit.run import Fit, fit, seed_of
from softvec.fit.settings import Callback, Settings
from softvec.operators import Operator, Powers, Product, Sparse, check_nonnegative, row_normalize

Array = NDArray[Any]
_BLOCK = 4096
# Root mean square of a degree coordinate, as a share of the third principal axis: less than what tells
# communities apart, which k-means would miss behind larger degrees (docs/decisions.md).
_DEGREE_SHARE, _AXIS = 0.5, 2
_ISOLATED = np.float32(1e-3)  # length of an item without neighbours
_SEED_STEP = 1_000_003  # seeds of the views lie this far apart


def mean_weight(A: sparse.csr_array, d: int) -> float:
    """Return the mean weight of all edges; sums go over the blocks of d-dimensional vectors."""
    return float(ALONE.sum(_row_sums(A), d) / A.nnz)


def _row_sums(A: sparse.csr_array) -> Array:
    return np.asarray(A.sum(axis=1), dtype=np.float64).reshape(-1)


def _of_mean_weight_one(A: sparse.csr_array, d: int) -> sparse.csr_array:
    """Return weights divided by their mean, so that their scale does not matter."""
    if A.dtype == bool or not A.nnz:
        return A
    values, mean = empty(A.data.shape, np.float32), mean_weight(A, d)
    for lo, hi in row_blocks(len(values), 1 << 20):
        values[lo:hi] = A.data[lo:hi] / mean
    return sparse.csr_array((values, A.indices, A.indptr), shape=A.shape)


def view_operator(A: sparse.csr_array, view: View) -> Operator:
    """Return the walk of a view on an undirected graph, rows of sum 1."""
    return _view_of(Sparse(A, symmetric=True), _row_sums(A), view)


def _view_of(plain: Any, degree: Array, view: View) -> Operator:
    if not view.two_steps:
        return Powers(row_normalize(plain), view.steps)
    weight = np.where(degree > 0, np.maximum(degree, 1e-300) ** -view.damping, 0.0)
    return row_normalize(Product([plain.scale_columns(weight), plain]))


def fit_views(
    A: sparse.csr_array, settings: Settings, lengths: Array, pool: Machine
) -> tuple[Array, list[Fit], int, float]:
    """Fit the views of a graph and fuse them.

    Parameters
    ----------
    A : csr_array of shape (n, n)
        Symmetric adjacency matrix.
    settings : Settings
        Views, dimension, seed, threads, callbacks, progress; what decides a view is the view's own.
    lengths : ndarray of shape (n,)
        Lengths of the vectors before they are fused: the fewer neighbours, the shorter.
    pool : Machine

    Returns
    -------
    vectors : ndarray of shape (n, n_components), float32
    fits : list of Fit
        Without their vectors.
    seed : int
        The first fit draws one, or has it from its checkpoint, if the settings have none.
    degree_scale : float
        Root mean square of the degree coordinates.
    """
    d, saved = settings.n_components, _checkpoints(settings)
    seed = None if settings.random_state is None else seed_of(settings.random_state)
    A = _of_mean_weight_one(A, d)
    plain, degree = Sparse(A, symmetric=True), _row_sums(A)
    check_nonnegative(plain)
    parts: dict[str, Array] = {}
    fits, before = [], 0
    for number, view in enumerate(settings.views):
        operator = _view_of(plain, degree, view)
        init: Any = parts.get(view.init, view.init)
        if view.push:
            pushed = push(operator, copied(init, np.float32), view.push, int(seed or 0), pool)
            init = copied(pushed, np.float16)
            del pushed
        chosen = replace(
            settings,
            beta=view.beta,
            n_epochs=view.n_epochs,
            learning_rate=view.learning_rate,
            init=init,
            random_state=None if seed is None else (seed + number * _SEED_STEP) % 2**32,
            callbacks=_shifted(settings.callbacks, before),
            checkpoint=saved[number],
            views=(),
        )
        # a sharp view is worth having for its P: docs/log/views.md
        with warnings.catch_warnings(action="ignore"):
            result = fit(operator, chosen, pool)
        seed = result.seed if seed is None else seed
        half = copied(result.state.X, np.float16)  # a third of the digits, which the axes do not miss
        result.state.X = half[:0]
        parts[view.name] = half
        fits.append(result)
        before += view.n_epochs
    X = empty((A.shape[0], d), np.float32)
    weights, lengths = [view.weight for view in settings.views], lengths.astype(np.float32)
    spread = fuse(list(parts.values()), weights, lengths, X[:, :-2], pool, pool.block_rows(d))
    scale = _DEGREE_SHARE * float(spread[_AXIS])
    X[:, -2:] = degree_coordinates(degree, scale, d=d, pool=pool)
    alone = np.diff(A.indptr) == 0  # almost zero, in a random direction, as in a single fit
    X[alone] = _ISOLATED * parts[settings.views[0].name][alone]
    return X, fits, int(seed or 0), scale


def checkpoints_of_views(path: str | os.PathLike[str]) -> list[str]:
    """Return the checkpoint of each of the fused views: the path itself, ``path.2``, ...

    Examples
    --------
    >>> checkpoints_of_views("run.ckpt")
    ['run.ckpt', 'run.ckpt.2', 'run.ckpt.3']
    """
    first = os.fspath(path)
    return [first, *(f"{first.rstrip('/')}.{number}" for number in range(2, len(FUSED) + 1))]


def _checkpoints(settings: Settings) -> list[str | None]:
    """Return where each view is saved; refuse a file of another run now, not after the first view."""
    if settings.checkpoint is None:
        return [None] * len(FUSED)
    first, *others = paths = checkpoints_of_views(settings.checkpoint)
    stale = [path for path in others if os.path.exists(path)]
    if stale and "://" not in first and not os.path.exists(first):
        raise InputError(
            f"{' and '.join(stale)} would be the checkpoint of later views, but {first} is missing; delete "
            "what is left of another run, or name another file"
        )
    return list(paths)


def _shifted(callbacks: Any, before: int) -> list[Callback] | None:
    """Return callbacks that count the epochs of the views before."""
    if not callbacks:
        return None
    return [
        lambda epoch, loss, X, call=callback: call(before + epoch, loss, X)  # type: ignore[misc]
        for callback in callbacks
    ]


def fuse(
    parts: list[Array], weights: Sequence[float], lengths: Array, out: Array, pool: Machine, block: int
) -> Array:
    """Write the coordinates of the views on their leading principal axes; the mean square length is 1.

    Returns the root mean square of each coordinate.
    """

    def side_by_side(lo: int, hi: int) -> Array:
        return np.hstack([w * part[lo:hi].astype(np.float32) for w, part in zip(weights, parts)])

    d = out.shape[1]
    blocks = row_blocks(len(out), block)

    def moments(lo: int, hi: int) -> tuple[Array, Array, float]:
        rows = side_by_side(lo, hi) * lengths[lo:hi, None]
        weight = np.sum(lengths[lo:hi] ** 2, dtype=np.float64)
        return (lengths[lo:hi] @ rows).astype(np.float64), (rows.T @ rows).astype(np.float64), weight

    # An item counts in the mean as it does in the sum of squares. It is centred before it is shortened: else
    # short vectors point away from the mean, all alike.
    total, gram, weight = pool.fold(moments, blocks, lambda a, b: (a[0] + b[0], a[1] + b[1], a[2] + b[2]))
    mean = total / weight
    gram -= np.outer(total, mean)
    squares_of_axes, axes = np.linalg.eigh(gram)  # (3 d, 3 d), ascending
    leading = np.ascontiguousarray(axes[:, ::-1][:, :d]).astype(np.float32)
    leading *= np.where(
        leading[np.abs(leading).argmax(axis=0), np.arange(d)] < 0, -1, 1
    )  # so that signs do not depend on the solver

    center = mean.astype(np.float32) @ leading

    def project(lo: int, hi: int) -> float:
        out[lo:hi] = (side_by_side(lo, hi) @ leading - center) * lengths[lo:hi, None]
        return float(np.einsum("ij,ij->", out[lo:hi], out[lo:hi], dtype=np.float64))

    n = len(out)
    scale = np.sqrt(n / max(pool.fold(project, blocks, lambda a, b: a + b), 1e-30))
    pool.map(lambda lo, hi: np.multiply(out[lo:hi], np.float32(scale), out=out[lo:hi]), blocks)
    return scale * np.sqrt(np.maximum(squares_of_axes[::-1][:d], 0) / n)


def degree_coordinates(
    degree: Array, scale: float, reference: Array | None = None, *, d: int = 1, pool: Machine = ALONE
) -> Array:
    """Return log degree and its square, uncorrelated and of equal spread among ``reference``, (n, 2).

    The spread is ``scale``. Both are 0 for a regular graph. Means are taken by blocks of
    d-dimensional vectors.
    """
    known = np.log1p(degree if reference is None else reference)
    wanted = np.log1p(degree)
    mean = pool.mean(known, d)
    deviation = np.sqrt(pool.mean((known - mean) ** 2, d))
    if deviation < 1e-6:
        return np.zeros((len(wanted), 2), np.float32)
    known, wanted = (known - mean) / deviation, (wanted - mean) / deviation
    skew = pool.mean(known**3, d)  # of known**2 on known
    rest = known**2 - skew * known
    spread = np.sqrt(pool.mean((rest - pool.mean(rest, d)) ** 2, d))
    second = (wanted**2 - 1 - skew * wanted) / (spread if spread > 1e-6 else np.inf)
    return (scale * np.stack([wanted, second], axis=1)).astype(np.float32)


def neighbours_to_vector(walk: Operator, X: Array, pool: Machine) -> Array:
    """Return the matrix that takes the mean of a node's neighbours to its vector: least squares, shrunk."""
    G = walk @ X  # rows without neighbours are 0 and add nothing

    def products(lo: int, hi: int) -> tuple[Array, Array]:
        rows = G[lo:hi].T
        return (rows @ G[lo:hi]).astype(np.float64), (rows @ X[lo:hi]).astype(np.float64)

    gram, mixed = pool.fold(products, row_blocks(len(X), _BLOCK), lambda a, b: (a[0] + b[0], a[1] + b[1]))
    ridge = 1e-3 * np.trace(gram) / len(gram)
    return np.linalg.solve(gram + ridge * np.eye(len(gram)), mixed).astype(np.float32)
