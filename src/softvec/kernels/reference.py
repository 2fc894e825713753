"""The specification of every kernel in NumPy, short enough to check against the formulas by eye.

Unused arrays are passed with zero rows (or length zero). ``uint16`` arrays hold half-precision numbers (see
:func:`as_float`). The caller allocates every output.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
_TINY = 1e-15  # a gradient shorter than this has no direction
_SHORT = 1e-12  # squared length below which a row has no direction


def as_float(X: NDArray) -> Array:
    """Return half-precision numbers stored as uint16 as float32; other arrays unchanged."""
    return X.view(np.float16).astype(np.float32) if X.dtype == np.uint16 else X


def to_half(X: Array, out: NDArray) -> None:
    """Write X to ``out``, rounded to half precision if ``out`` is uint16."""
    out[...] = X.astype(np.float16).view(np.uint16) if out.dtype == np.uint16 else X


def gather(
    indptr: NDArray,
    indices: NDArray,
    values: Array,
    col_scale: Array,
    row_scale: Array,
    X: NDArray,
    add: NDArray,
    out: NDArray,
    lo: int,
    hi: int,
) -> None:
    """Write rows lo..hi of ``diag(row_scale) A diag(col_scale) X + add`` to ``out``.

    A is CSR; empty ``values`` mean that every stored entry is 1. ``add`` and ``out`` hold rows lo..hi only.
    """
    begin, end = indptr[lo], indptr[hi]
    columns = indices[begin:end]
    terms = as_float(np.take(X, columns, axis=0))
    if len(values) or len(col_scale):
        w = values[begin:end] if len(values) else np.ones(end - begin, row_scale.dtype)
        terms = (w * col_scale[columns] if len(col_scale) else w)[:, None] * terms
    filled = np.flatnonzero(np.diff(indptr[lo : hi + 1]))
    result = np.zeros((hi - lo, X.shape[1]), terms.dtype)
    if len(filled):
        result[filled] = np.add.reduceat(terms, indptr[lo:hi][filled] - begin, axis=0)
    if len(row_scale):
        result = row_scale[lo:hi, None] * result
    if len(add):
        result = result + as_float(add)
    to_half(result, out)


def gather_columns(
    indptr: NDArray,
    indices: NDArray,
    values: Array,
    col_scale: Array,
    X: NDArray,
    begin: int,
    out: Array,
    lo: int,
    hi: int,
) -> None:
    """Write rows lo..hi of ``A diag(col_scale) X`` to the columns of ``out`` from ``begin`` on.

    X holds only these columns of a wider matrix. Sums take the same order as in :func:`gather` of all
    columns; ``begin`` is a multiple of 32. ``out`` holds rows lo..hi only.
    """
    part = out[:, begin : begin + X.shape[1]]
    gather(indptr, indices, values, col_scale, out[:0, 0], X, X[:0], part, lo, hi)


def unit_rows(
    indptr: NDArray,
    indices: NDArray,
    row_scale: Array,
    X: NDArray,
    centre: Array,
    weight: Array,
    length: Array,
    previous: NDArray,
    out: NDArray,
    total: Array,
) -> None:
    """Centre the rows of ``diag(row_scale) A X`` and give them ``length`` (empty: 1); A is CSR of ones.

    With ``previous`` rows the result is the direction of the sum of both: one more step without the sign of
    negative eigenvalues. A row equal to the centre becomes zero. The rows, each times its weight, are added
    to ``total``.
    """
    none, G = centre[:0], np.empty((len(indptr) - 1, X.shape[1]), centre.dtype)
    gather(indptr, indices, none, none, row_scale, X, G[:0], G, 0, len(G))
    G -= centre
    square = np.einsum("ij,ij->i", G, G)
    moves = square > _SHORT
    G *= np.divide(1, np.sqrt(square), out=np.zeros_like(square), where=moves)[:, None]
    if len(previous):
        G[moves] += as_float(previous)[moves]
        G /= np.sqrt(np.maximum(np.einsum("ij,ij->i", G, G), _SHORT))[:, None]
    if len(length):
        G *= length[:, None]
    to_half(G, out)
    total += weight @ G


def mixture_term(
    X: Array, H: Array, mu: Array, log_pi: Array, rho: Array, beta: float, out: Array, log_z: Array, r: Array
) -> None:
    """Write the normaliser's gradient, log Z and the responsibilities of a block (Eq. main).

    ``H[c] = X @ omega[c]``; ``log_pi`` includes log m; ``out = rho r (mu + beta H)``.
    """
    logits = log_pi + beta * (X @ mu.T) + 0.5 * beta**2 * np.einsum("ij,cij->ic", X, H)  # (b, k)
    top = logits.max(axis=1)
    scores = np.exp(logits - top[:, None])
    total = scores.sum(axis=1)
    log_z[:] = top + np.log(total)
    r[:] = scores / total[:, None]
    out[:] = rho[:, None] * (r @ mu + beta * np.einsum("ic,cij->ij", r, H))


def mixture_log_z(X: Array, H: Array, mu: Array, log_pi: Array, beta: float, log_z: Array) -> None:
    """Write only log Z of a block; arguments as in :func:`mixture_term`."""
    mixture_term(
        X, H, mu, log_pi, np.zeros(len(X)), beta, np.empty_like(X), log_z, np.empty((len(X), len(log_pi)))
    )


def add_exponentials(S: Array, scale: float, top: Array, total: Array) -> None:
    """Add the terms exp(scale * S) of a block of scores to the running sums of the rows, scale > 0.

    A running sum is ``total * exp(scale * top)``: ``top`` is the largest score so far (start: -inf, in the
    type of S) and ``total`` a float64 (start: 0). Subtracting before scaling keeps float32 scores accurate.
    """
    peak = np.maximum(top, S.max(axis=1))
    total *= np.exp(scale * (top.astype(np.float64) - peak))
    total += np.exp(scale * (S - peak[:, None])).sum(axis=1, dtype=np.float64)
    top[:] = peak


def multiply(X: Array, W: Array, out: Array) -> None:
    """Write ``X W``, for a square W."""
    np.matmul(X, W, out=out)


def second_moments(X: Array, Y: Array, out: Array) -> None:
    """Write ``X' Y``, which is symmetric: rows of X are those of Y times their weights."""
    np.matmul(X.T, Y, out=out)


def nearest(S: Array, half_norm: Array, classes: NDArray) -> None:
    """Write the nearest centre of each row: the column where ``S - half_norm`` is largest."""
    classes[:] = np.argmax(S - half_norm, axis=1)


def sphere_step(X: Array, g: Array, eta: float, copy: NDArray) -> None:
    """Algorithm 1, inner loop: move each row of X against its tangent gradient and keep norm 1."""
    g -= np.einsum("ij,ij->i", g, X)[:, None] * X
    norm = np.linalg.norm(g, axis=1)
    moves = norm > _TINY
    X[moves] = np.sqrt(1 - eta**2) * X[moves] - eta * g[moves] / norm[moves, None]
    X[moves] /= np.linalg.norm(X[moves], axis=1, keepdims=True)
    if len(copy):
        to_half(X, copy)


def ball_step(X: Array, g: Array, eta: float, copy: NDArray) -> None:
    """Move each row of X by ``eta`` against its gradient and project it onto the unit ball."""
    norm = np.linalg.norm(g, axis=1)
    moves = norm > _TINY
    X[moves] -= eta * g[moves] / norm[moves, None]
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1)
    if len(copy):
        to_half(X, copy)


def fused_step(
    X: Array,
    G: Array,
    H: Array,
    C: Array,
    anchors: Array,
    log_pi: Array,
    rho: Array,
    params: Array,
    copy: NDArray,
    stats: Array,
) -> None:
    """Do :func:`mixture_term` and :func:`sphere_step` in one pass over a block.

    Parameters
    ----------
    X : ndarray of shape (b, d)
        Vectors, updated in place.
    G : ndarray of shape (b, d)
        Attraction, rows of ``P Y`` (or ``(P + P')X``).
    H : ndarray of shape (k, b, d)
        ``X @ omega[c]`` for each class.
    C : ndarray of shape (b, d) or (0, d)
        Further gradient terms of each row.
    anchors : ndarray of shape (k + 2, d)
        Class means; then a gradient term shared by all rows in proportion to rho, and one shared equally.
    log_pi : ndarray of shape (k,)
        log of the class sizes.
    rho : ndarray of shape (b,)
        Row sums of P.
    params : ndarray of shape (2,)
        beta and the learning rate.
    copy : ndarray of shape (b, d) or (0, d)
        Receives the new vectors.
    stats : ndarray of shape (b, 3)
        Receives log Z, ``x . G`` and the norm of the tangent gradient, all before the step.
    """
    k = len(log_pi)
    V = np.empty_like(X)
    mixture_term(X, H, anchors[:k], log_pi, rho, params[0], V, stats[:, 0], np.empty((len(X), k)))
    stats[:, 1] = np.einsum("ij,ij->i", X, G)
    g = rho[:, None].astype(X.dtype) * anchors[k] + anchors[k + 1] - G + V
    if len(C):
        g += C
    stats[:, 2] = np.linalg.norm(g - np.einsum("ij,ij->i", g, X)[:, None] * X, axis=1)
    sphere_step(X, g, params[1], copy)


def move_groups(W: Array, groups: NDArray, max_sweeps: int) -> None:
    """Move items in turn to the group with the largest modularity gain, in place, until none moves.

    ``W`` is dense and symmetric; ``groups`` holds numbers below its size.
    """
    degree = W.sum(axis=1)
    total = degree.sum()
    volume = np.bincount(groups, degree, minlength=len(W)).astype(W.dtype)
    inside = W @ np.eye(len(W))[groups]  # (n, groups): weight of each item to each group
    for _ in range(max_sweeps):
        moved = False
        for i in range(len(W)):
            own = groups[i]
            volume[own] -= degree[i]
            gain = inside[i] - degree[i] * volume / total
            gain[own] -= W[i, i]
            best = int(gain.argmax())
            if not gain[best] > gain[own] + 1e-12 * total:
                best = own
            volume[best] += degree[i]
            if best != own:
                inside[:, own] -= W[:, i]
                inside[:, best] += W[:, i]
                groups[i] = best
                moved = True
        if not moved:
            return


class Near(NamedTuple):
    """Items whose terms of Z are exact, row by row, and the entries of P there (or none)."""

    ends: NDArray  # (b + 1,), from 0
    columns: NDArray
    values: Array


class Items(NamedTuple):
    """All items: vectors, class and weight of each (empty: one class, weight 1)."""

    Y: NDArray
    classes: NDArray
    weight: Array


class Classes(NamedTuple):
    """Mean, weight and number of the items of each class."""

    mu: Array  # (k, d)
    weight: Array
    number: Array


class EdgeTerms(NamedTuple):
    """What :func:`edges_term` writes.

    ``gradient`` (b, d); ``coefficients`` of the near items in it; ``stats`` (b, 2): log Z, and the sum of
    P x.y over the near items; ``pulls`` (b, k, 2) or none: an item y of class c that is not near receives
    ``pulls[:, c, 0] x + pulls[:, c, 1] (x.y) x`` from each row, times its weight.
    """

    gradient: Array
    coefficients: Array
    stats: Array
    pulls: Array


def edges_term(
    near: Near, items: Items, classes: Classes, X: Array, H: Array, rho: Array, beta: float, out: EdgeTerms
) -> None:
    """Write the gradient of rho log Z of a block: exact terms near, Gaussians for all other items.

    The Gaussian of a class has the moments of its items that are not near. With t = x.(y - mu), all that is
    needed of them follows from sums of v, v t and v t^2 over the near ones, and from ``H[c] = X @ omega[c]``.
    """
    b, k = len(X), len(classes.weight)
    row = np.repeat(np.arange(b), np.diff(near.ends))
    of = items.classes[near.columns] if len(items.classes) else np.zeros(len(row), np.intp)
    v = items.weight[near.columns] if len(items.weight) else np.ones(len(row))
    y = as_float(items.Y[near.columns])
    s = np.einsum("pj,pj->p", X[row], y).astype(np.float64)
    mean = (X @ classes.mu.T).astype(np.float64)  # (b, k)
    t = s - mean[row, of]
    size, count, first, second = (
        np.bincount(row * k + of, w, b * k).reshape(b, k) for w in (v, np.ones(len(v)), v * t, v * t * t)
    )
    left = classes.number - count
    weight = np.where(left > 0, classes.weight - size, np.inf)
    delta = first / weight  # the mean of the others is lower by this
    whole = classes.weight * (classes.number - 1) / classes.number
    scatter = whole * np.einsum("ij,cij->ic", X, H) - second - first * delta
    divisor = np.where((left > 1) & (scatter > 0), weight * (left - 1) / np.maximum(left, 1), np.inf)
    others = beta * (mean - delta) + beta**2 / 2 * scatter / divisor
    others = np.where(left > 0, np.log(weight) + others, -np.inf)
    exact = beta * s + np.log(v)
    top = others.max(axis=1)
    np.maximum.at(top, row, exact)
    Z = np.exp(others - top[:, None]).sum(axis=1) + np.bincount(row, np.exp(exact - top[row]), b)
    log_z = top + np.log(Z)
    r = rho[:, None] * np.exp(others - log_z[:, None])
    a, c = r / weight, beta * r / divisor
    e = rho[row] * np.exp(exact - log_z[row]) - v * (a[row, of] + c[row, of] * (t + delta[row, of]))
    of_mean = r + size * a + c * (first + delta * size)
    if len(near.values):
        e -= near.values
    sums = np.zeros_like(X)
    np.add.at(sums, row, (e[:, None] * y).astype(X.dtype))
    out.gradient[:] = sums + of_mean @ classes.mu + np.einsum("ic,cij->ij", whole * c, H)
    out.coefficients[:] = e
    out.stats[:, 0] = log_z
    out.stats[:, 1] = np.bincount(row, near.values * s, b) if len(near.values) else 0
    if len(out.pulls):
        out.pulls[:, :, 0], out.pulls[:, :, 1] = a - c * (mean - delta), c
