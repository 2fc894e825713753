"""One-vs-rest logistic regression for many labels at once.

The objective is scikit-learn's: C times the logistic loss plus half the squared weights, intercepts free. All
labels are fitted together, so an iteration is two matrix products. A change of variables makes the problem
well conditioned: features are rotated to the axes of their covariance and scaled, for each label, by the
curvature at the start. It agrees with scikit-learn's solvers (`python -m benchmarks.evaluation`, see
docs/tasks.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from softvec.core.checks import number
from softvec.core.errors import InputError


def fit_one_vs_rest(
    X: np.ndarray, Y: np.ndarray, C: float, *, tol: float = 1e-4, max_iter: int = 300
) -> np.ndarray:
    """Return the weights and intercepts, of shape (d + 1, k), for boolean labels ``Y`` of shape (n, k).

    A label that no row has, or every row, gets zero weights and an intercept of -20 or 20.
    """
    return next(fit_path(X, Y, (C,), tol=tol, max_iter=max_iter))


def fit_path(
    X: np.ndarray, Y: np.ndarray, Cs: Sequence[float], *, tol: float = 1e-4, max_iter: int = 300
) -> Iterator[np.ndarray]:
    """Yield the weights of :func:`fit_one_vs_rest` for each C, each fit starting from the one before."""
    (n, d), positives = X.shape, Y.sum(axis=0)
    mixed = np.flatnonzero((positives > 0) & (positives < n))
    constant = np.zeros((d + 1, Y.shape[1]))
    constant[d] = np.where(positives > 0.5 * n, 20.0, -20.0)
    if not len(mixed):
        yield from (constant.copy() for _ in Cs)
        return
    center = X.mean(axis=0, dtype=np.float64)
    F = np.asarray(X, dtype=np.float32) - center.astype(np.float32)
    spectrum, axes = np.linalg.eigh((F.T @ F).astype(np.float64))
    F, spectrum = F @ axes.astype(np.float32), np.maximum(spectrum, 0.0)
    T = np.ascontiguousarray(Y[:, mixed], dtype=np.float32)  # (n, k)
    chances = Y[:, mixed].sum(axis=0) / n
    curvature = chances * (1.0 - chances)  # p (1 - p) at the start
    W = np.zeros((d + 1, len(mixed)))
    W[d] = np.log(chances / (1.0 - chances))
    for C in Cs:
        scale = np.empty_like(W)
        scale[:d] = 1.0 / np.sqrt(1.0 + C * spectrum[:, None] * curvature)
        scale[d] = 1.0 / np.sqrt(C * n * curvature)
        W = _minimum(F, T, C, W, scale, tol * np.sqrt(C * n), max_iter)
        weights = axes @ W[:-1]
        result = constant.copy()
        result[:, mixed] = np.vstack([weights, W[-1] - center @ weights])
        yield result


def cross_validated(
    X: np.ndarray, Y: np.ndarray, Cs: Sequence[float], folds: Sequence[np.ndarray]
) -> Iterator[np.ndarray]:
    """Yield the scores (n, k) of all rows for each C, each by the fit to the rows outside its fold."""
    rest = [np.setdiff1d(np.arange(len(X)), fold) for fold in folds]
    paths = [fit_path(X[rows], Y[rows], Cs, tol=1e-3) for rows in rest]
    for fits in zip(*paths):
        scores = np.empty(Y.shape)
        for fold, weights in zip(folds, fits):
            scores[fold] = decision(X[fold], weights)
        yield scores


def _minimum(
    F: np.ndarray, T: np.ndarray, C: float, start: np.ndarray, scale: np.ndarray, tol: float, max_iter: int
) -> np.ndarray:
    """Return the weights (d, k) of F and, in a last row, the intercepts, found in units of ``scale``."""
    from scipy.optimize import minimize

    def scaled(flat: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = _loss(F, T, C, flat.reshape(scale.shape) * scale)
        return value, (gradient * scale).ravel()

    options = {"maxiter": max_iter, "maxcor": 10, "ftol": 1e-10, "gtol": tol}
    best = minimize(scaled, (start / scale).ravel(), jac=True, method="L-BFGS-B", options=options).x
    weights: np.ndarray = best.reshape(scale.shape) * scale
    return weights


def _loss(F: np.ndarray, T: np.ndarray, C: float, W: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the objective and its gradient."""
    d = F.shape[1]
    Z = F @ W[:d].astype(np.float32) + W[d].astype(np.float32)  # (n, k)
    E = np.exp(-np.abs(Z))
    value = np.log1p(E).sum(dtype=np.float64) + np.maximum(Z, 0).sum(dtype=np.float64) - np.vdot(Z, T)
    R = np.where(Z > 0, np.float32(1), E) / (1 + E) - T  # (n, k) predicted minus true
    G = np.empty_like(W)
    G[:d] = C * (F.T @ R) + W[:d]
    G[d] = C * R.sum(axis=0, dtype=np.float64)
    return float(C * value + 0.5 * np.vdot(W[:d], W[:d])), G


def checked_C(C: float | str) -> float | str:
    """Return the inverse regularisation, a number above 0 or "cv"."""
    try:
        return C if isinstance(C, str) and C == "cv" else number("C", C, above=0)
    except InputError:
        raise InputError.of("C", C, "a number above 0 or 'cv'") from None


def sigmoid(scores: np.ndarray) -> np.ndarray:
    """Return the probabilities of log odds, in double precision."""
    p: np.ndarray = 1 / (1 + np.exp(-np.clip(scores.astype(np.float64), -500, 500)))
    return p


def decision(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the scores of shape (n, k): log odds of each label."""
    scores: np.ndarray = np.asarray(X, dtype=np.float32) @ weights[:-1].astype(np.float32) + weights[-1]
    return scores
