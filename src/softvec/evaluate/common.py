"""Scores, vectors and seeds, shared by all tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from softvec.core.checks import integer, plain_json
from softvec.core.errors import InputError


@dataclass(frozen=True)
class Scores:
    """The scores of one task over its repeats.

    Attributes
    ----------
    task : str
        Name of the task.
    values : dict of str to tuple of float
        For each metric, one value per repeat.
    settings : dict
        Sizes, ratios and parameters of the task.

    Examples
    --------
    >>> from softvec.evaluate import Scores
    >>> s = Scores("demo", {"auc": (0.5, 0.75)})
    >>> s["auc"], round(s.spread["auc"], 3)
    (0.625, 0.177)
    """

    task: str
    values: Mapping[str, tuple[float, ...]]
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def mean(self) -> dict[str, float]:
        """Mean of each metric over the repeats."""
        return {name: float(np.mean(values)) for name, values in self.values.items()}

    @property
    def spread(self) -> dict[str, float]:
        """Standard deviation of each metric over the repeats (0 for a single one)."""
        return {
            name: float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
            for name, values in self.values.items()
        }

    def __getitem__(self, metric: str) -> float:
        if metric not in self.values:
            raise InputError(f"no metric {metric!r}; expected one of {', '.join(self.values)}")
        return self.mean[metric]

    def to_dict(self) -> dict[str, object]:
        """Return everything as plain numbers, lists and strings, ready for JSON."""
        return {
            "task": self.task,
            "mean": self.mean,
            "spread": self.spread,
            "values": {name: [float(v) for v in values] for name, values in self.values.items()},
            "settings": plain_json(self.settings),
        }

    def __str__(self) -> str:
        mean, spread = self.mean, self.spread
        return f"{self.task}: " + ", ".join(f"{name} {mean[name]:.4f} +- {spread[name]:.4f}" for name in mean)


def collect(task: str, rows: list[dict[str, float]], **settings: Any) -> Scores:
    """Turn one dictionary per repeat into Scores."""
    return Scores(task, {name: tuple(float(row[name]) for row in rows) for name in rows[0]}, settings)


def as_vectors(X: Any, name: str = "X") -> np.ndarray:
    """Return the vectors of an Embedding or an array as float32 of shape (n, d)."""
    vectors = np.asarray(getattr(X, "vectors", X))
    if vectors.ndim != 2 or not np.issubdtype(vectors.dtype, np.number):
        raise InputError(
            f"{name} must hold numbers of shape (n, d); got {vectors.dtype} of shape {vectors.shape}"
        )
    vectors = vectors.astype(np.float32, copy=False)
    if not np.isfinite(vectors).all():
        raise InputError(f"{name} has values that are not finite")
    return vectors


def repeat_seeds(random_state: int | np.random.Generator | None, repeats: int) -> list[np.random.Generator]:
    """Return one independent generator per repeat."""
    return np.random.default_rng(random_state).spawn(integer("repeats", repeats))


def standardized(X: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the features standardised by their mean and deviation over the given rows."""
    deviation = X[rows].std(axis=0)
    scaled: np.ndarray = (X - X[rows].mean(axis=0)) / np.where(deviation > 0, deviation, 1)
    return scaled
