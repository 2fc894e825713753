"""The methods of the two-sided experiment: vectors of passages and words, and a score for each pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import svds

from experiments.common import timed
from experiments.rivals import implicit_als
from softvec import EDRep


@dataclass(frozen=True)
class Fit:
    """Vectors of both sides; the score of a pair is ``rows @ columns.T + bias``."""

    rows: np.ndarray
    columns: np.ndarray
    bias: np.ndarray
    times: dict[str, float]


def fit(function: str, A: sp.csr_array, d: int, seed: int, options: dict[str, Any]) -> Fit:
    """Fit a method to the counts A."""
    if function == "softvec":
        return _softvec(A, d, seed, **options)
    if function == "svd":
        return _svd(A, d, seed, **options)
    weighted = weigh(A, options.get("weighting", "counts"))
    more = {name: value for name, value in options.items() if name != "weighting"}
    rows, columns, times = implicit_als(weighted, d, seed=seed, **more)
    return Fit(rows, columns, np.zeros(A.shape[1]), times)


def popularity(A: sp.csr_array) -> Fit:
    """Return the baseline that ranks words by how many passages hold them, for every passage alike."""
    n, m = A.shape
    common = np.log1p(np.bincount(A.indices, minlength=m))
    return Fit(np.zeros((n, 1)), np.zeros((m, 1)), common, {})


def _softvec(A: sp.csr_array, d: int, seed: int, base_measure: float = 0.0, **options: Any) -> Fit:
    sizes = np.maximum(np.asarray(A.sum(axis=0)).ravel(), 1.0) ** base_measure
    model = EDRep(d, symmetric=False, random_state=seed, **options)
    weight = sizes if base_measure > 0 else None
    _, times = timed(lambda: model.fit(A, item_weight=weight))
    # softmax of beta x.y + log v: the logarithm of the fitted probability, up to a constant of the row
    return Fit(model.beta * model.embedding_, model.context_embedding_, np.log(sizes), times)


def _svd(A: sp.csr_array, d: int, seed: int, weighting: str) -> Fit:
    start = np.random.default_rng(seed).standard_normal(min(A.shape))

    def solve() -> Any:
        return svds(weigh(A, weighting), k=d, v0=start)

    (U, S, Vt), times = timed(solve)
    return Fit(U * S, Vt.T, np.zeros(A.shape[1]), times)


def weigh(A: sp.csr_array, weighting: str) -> sp.csr_array:
    """Return counts, log(1 + counts), tf-idf with rows of norm 1, or positive mutual information (ppmi)."""
    W = sp.csr_array(A, dtype=np.float64, copy=True)
    row = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))
    if weighting == "log":
        W.data = np.log1p(W.data)
    elif weighting == "tf-idf":
        spread = np.bincount(W.indices, minlength=W.shape[1])
        W.data = np.log1p(W.data) * np.log(W.shape[0] / np.maximum(spread, 1))[W.indices]
        norm = np.sqrt(np.bincount(row, W.data**2, minlength=W.shape[0]))
        W.data /= norm[row]
    elif weighting == "ppmi":
        by_row, by_column = (np.asarray(W.sum(axis=axis)).ravel() for axis in (1, 0))
        W.data = np.maximum(np.log(W.data * W.data.sum() / (by_row[row] * by_column[W.indices])), 0.0)
    elif weighting != "counts":
        raise ValueError(f"no weighting {weighting}")
    return W
