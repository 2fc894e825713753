"""One-vs-rest logistic regression for many labels at once.

The objective is scikit-learn's: C times the logistic loss plus half the squared weights, intercepts free. All
labels are fitted together, so an iteration is two matrix products. A change of variables makes the problem
well conditioned: features are rotated to the axes of their covariance and scaled, for each label, by the
curvature at the start. It agrees with scikit-learn's solvers (`python -m benchmarks.evaluation`, see
docs/tasks.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
    n, d = X.shape
    positives = Y.sum(axis=0)
    mixed = np.flatnonzero((positives > 0) & (positives < n))
    constant = np.zeros((d + 1, Y.shape[1]))
    constant[d] = np.where(positives > 0.5 * n, 20.0, -20.0)
    problem = _Rotated.of(X, Y[:, mixed]) if len(mixed) else None
    W: np.ndarray | None = None
    for C in Cs:
        result = constant.copy()
        if problem is not None:
            W = problem.solve(C, W, tol, max_iter)
            result[:, mixed] = problem.in_features(W)
        yield result


@dataclass(frozen=True)
class _Rotated:
    """Features centred and rotated to the axes of their covariance.

    Attributes
    ----------
    F : ndarray of shape (n, d)
        The features.
    T : ndarray of shape (n, k)
        The labels, 0 or 1.
    chances : ndarray of shape (k,)
        Share of the rows that have each label.
    spectrum : ndarray of shape (d,)
        Squared length of each column of F.
    axes, center : ndarrays of shapes (d, d) and (d,)
        ``F = (X - center) @ axes``.
    """

    F: np.ndarray
    T: np.ndarray
    chances: np.ndarray
    spectrum: np.ndarray
    axes: np.ndarray
    center: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, Y: np.ndarray) -> _Rotated:
        center = X.mean(axis=0, dtype=np.float64)
        F = np.asarray(X, dtype=np.float32) - center.astype(np.float32)
        spectrum, axes = np.linalg.eigh((F.T @ F).astype(np.float64))
        T = np.ascontiguousarray(Y, dtype=np.float32)
        chances = Y.sum(axis=0) / len(Y)
        return cls(F @ axes.astype(np.float32), T, chances, np.maximum(spectrum, 0.0), axes, center)

    def solve(self, C: float, start: np.ndarray | None, tol: float, max_iter: int) -> np.ndarray:
        """Return the weights (d, k) of F and, in a last row, the intercepts."""
        from scipy.optimize import minimize

        n, d = self.F.shape
        curvature = self.chances * (1.0 - self.chances)  # (k,) p (1 - p) at the start
        scale = np.empty((d + 1, len(curvature)))
        scale[:d] = 1.0 / np.sqrt(1.0 + C * self.spectrum[:, None] * curvature)
        scale[d] = 1.0 / np.sqrt(C * n * curvature)
        if start is None:
            start = np.zeros_like(scale)
            start[d] = np.log(self.chances / (1.0 - self.chances))

        def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = self.loss(flat.reshape(scale.shape) * scale, C)
            return value, (gradient * scale).ravel()

        options = {"maxiter": max_iter, "maxcor": 10, "ftol": 1e-10, "gtol": tol * np.sqrt(C * n)}
        best = minimize(loss, (start / scale).ravel(), jac=True, method="L-BFGS-B", options=options).x
        weights: np.ndarray = best.reshape(scale.shape) * scale
        return weights

    def loss(self, W: np.ndarray, C: float) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient."""
        d = len(self.spectrum)
        Z = self.F @ W[:d].astype(np.float32) + W[d].astype(np.float32)  # (n, k)
        E = np.exp(-np.abs(Z))
        value = (
            np.log1p(E).sum(dtype=np.float64) + np.maximum(Z, 0).sum(dtype=np.float64) - np.vdot(Z, self.T)
        )
        R = np.where(Z > 0, np.float32(1), E) / (1 + E) - self.T  # (n, k) predicted minus true
        G = np.empty_like(W)
        G[:d] = C * (self.F.T @ R) + W[:d]
        G[d] = C * R.sum(axis=0, dtype=np.float64)
        return float(C * value + 0.5 * np.vdot(W[:d], W[:d])), G

    def in_features(self, W: np.ndarray) -> np.ndarray:
        """Return weights and intercepts for the original features."""
        weights = self.axes @ W[:-1]
        return np.vstack([weights, W[-1] - self.center @ weights])


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
