"""What the tasks share: result objects, input checks, progress."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from softvec.core.errors import InputError

T = TypeVar("T")


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
        What the scores depend on: sizes, ratios, seeds.

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
            raise InputError(f"no metric {metric!r}; there are {', '.join(self.values)}")
        return self.mean[metric]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, lists and strings, ready for JSON."""
        return {
            "task": self.task,
            "mean": self.mean,
            "spread": self.spread,
            "values": {name: [float(v) for v in values] for name, values in self.values.items()},
            "settings": {name: plain(value) for name, value in self.settings.items()},
        }

    def __str__(self) -> str:
        mean, spread = self.mean, self.spread
        return f"{self.task}: " + ", ".join(f"{name} {mean[name]:.4f} +- {spread[name]:.4f}" for name in mean)


def collect(task: str, rows: list[dict[str, float]], **settings: Any) -> Scores:
    """Turn one dictionary per repeat into Scores."""
    return Scores(task, {name: tuple(float(row[name]) for row in rows) for name in rows[0]}, settings)


def plain(value: Any) -> Any:
    """Turn NumPy scalars, arrays and tuples into what JSON knows."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value


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


def unit_rows(X: np.ndarray) -> np.ndarray:
    """Return the rows divided by their norms; a zero row stays zero."""
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(norms > 0, norms, 1)


def progress(items: Iterable[T], verbose: bool, title: str) -> Iterable[T]:
    """Show a progress bar when asked to."""
    if not verbose:
        return items
    from tqdm import tqdm

    bar: Iterable[T] = tqdm(items, desc=title, leave=False)
    return bar


def repeat_seeds(random_state: int | np.random.Generator | None, repeats: int) -> list[np.random.Generator]:
    """Return one independent generator per repeat."""
    if repeats < 1:
        raise InputError(f"repeats is {repeats}; it must be at least 1")
    return np.random.default_rng(random_state).spawn(repeats)
