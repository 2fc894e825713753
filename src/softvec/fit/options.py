"""Fit options of :func:`softvec.embed` with their types, for completion in editors."""

from __future__ import annotations

import os
from typing import Any, Literal, TypedDict

# Names of the same options in other libraries.
MEANT = {
    **dict.fromkeys(("d", "dim", "dims", "dimension", "dimensions", "size", "vector_size"), "n_components"),
    **dict.fromkeys(("seed", "random_seed"), "random_state"),
    **dict.fromkeys(("epochs", "epoch", "iterations", "n_iterations"), "n_epochs"),
    **dict.fromkeys(("lr", "alpha", "eta"), "learning_rate"),
    **dict.fromkeys(("threads", "workers", "n_threads"), "n_jobs"),
    **dict.fromkeys(("walk", "steps", "n_steps"), "walk_length"),
}


class FitOptions(TypedDict, total=False):
    """Options of a fit, documented in :class:`softvec.EDRep` and :func:`softvec.embed`."""

    n_epochs: int
    beta: float
    learning_rate: float
    gradient: Literal["row", "paper", "full"]
    n_clusters: int
    init: Any  # "random", "power", an array or an Embedding
    power_steps: int
    regularization: float
    symmetric: bool
    constraint: Literal["sphere", "ball"]
    normalizer: Literal["mixture", "edges", "exact"]
    dtype: Any
    tol: float | None
    base_measure: float
    shrinkage: float
    view: Literal["auto", "walk", "fused", "links", "power"]
    effort: Literal["default", "fast"]
    checkpoint: str | os.PathLike[str]
    checkpoint_every: int
    scratch: str | os.PathLike[str] | None
