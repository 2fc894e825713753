"""Multiply-adds of the fit of a normaliser, and of each query."""

from __future__ import annotations

from typing import Any, NamedTuple

from softvec.normalizers import ControlVariate, Exact, GaussianMixture
from softvec.normalizers.control_variate import _CALIBRATION, _PAIRS, _TAIL


class Cost(NamedTuple):
    """Multiply-adds of the fit, and of each row of X."""

    fit: int
    query: int


def cost_of(model: Any) -> Cost:
    """Return the cost of a fitted normaliser; k-means is counted as ten passes over its sample."""
    if not isinstance(model, Exact | GaussianMixture | ControlVariate):
        return model.cost
    m, d = model.n_items_, model.n_features_
    if isinstance(model, Exact):
        return Cost(0, m * d)
    if isinstance(model, GaussianMixture):
        k = len(model.weight_)
        return Cost(m * d * d + (k > 1) * k * d * (m + 10 * min(m, 16384)), k * d * d)
    k = len(model._cells.centers)
    query = d * (k + d + min(model.n_samples, m))
    fit = m * d * (k + d + _TAIL) + _CALIBRATION * d * (k + min(m, _PAIRS)) + _TAIL * query
    return Cost(fit, query)
