"""Nearest items by maximum-inner-product search, plus a sample of the others (Mussmann et al., 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.normalizers.rivals.cost import Cost
from softvec.core.checks import integer
from softvec.core.errors import InputError
from softvec.core.machine import Machine
from softvec.core.resources import resolve_n_jobs
from softvec.core.threads import row_blocks
from softvec.normalizers.base import Array, Estimate, Normalizer

_ROWS = 256


@dataclass(eq=False)
class TopK(Normalizer):
    """Sum the ``n_neighbors`` largest terms exactly and ``n_samples`` random others by their mean.

    Neighbours come from a usearch index (HNSW, inner product; ``pip install usearch``), or from an
    exact search. Unbiased if they do not depend on the random sample, even if they are wrong.
    An index built by several threads differs from run to run; ``n_jobs=1`` or ``search="exact"`` does not.

    Parameters
    ----------
    n_neighbors : int, default=25
        Nearest items per query.
    n_samples : int, default=25
        Random items, drawn once for all queries.
    search : {"auto", "usearch", "exact"}, default="auto"
        ``auto`` uses usearch if installed.
    expansion : int, default=64
        Candidates that the index keeps while it builds and searches.
    index : usearch.index.Index, optional
        The ``index_`` of a fit to the same items, whatever its beta, to save building it again.
    """

    n_neighbors: int = 25
    n_samples: int = 25
    search: str = "auto"
    expansion: int = 64
    index: Any = None

    @property
    def cost(self) -> Cost:
        """Multiply-adds; an index is counted as ``16 * expansion`` dot products per search."""
        d, m = self.n_features_, self.n_items_
        walk = m * d if self.index_ is None else 16 * self.expansion * d
        build = 0 if self.index_ is None else m * walk
        return Cost(build, walk + (self.n_neighbors + self.n_samples) * d)

    def _fit(self, Y: Array, rng: np.random.Generator, pool: Machine) -> None:
        m = len(Y)
        k = integer("n_neighbors", self.n_neighbors, most=m, of="the number of items")
        g = integer("n_samples", self.n_samples, most=m, of="the number of items")
        if k + g > m:
            raise InputError(f"n_neighbors + n_samples is {k + g}; expected at most {m}, the number of items")
        self.index_ = self._build(Y)
        self._chosen = np.sort(rng.choice(m, g, replace=False))

    def _build(self, Y: Array) -> Any:
        if self.search not in ("auto", "usearch", "exact"):
            raise InputError(f"search is {self.search!r}; pass 'auto', 'usearch' or 'exact'")
        if self.search == "exact":
            return None
        if self.index is not None:
            if len(self.index) != len(Y):
                raise InputError(f"index holds {len(self.index)} items, Y has {len(Y)}; build it from Y")
            return self.index
        try:
            from usearch.index import Index
        except ImportError:
            if self.search == "auto":
                return None
            raise InputError(
                "search='usearch' needs usearch: pip install usearch, or pass search='exact'"
            ) from None
        index = Index(
            ndim=Y.shape[1], metric="ip", dtype="f32", expansion_add=self.expansion,
            expansion_search=max(self.expansion, self.n_neighbors),
        )  # fmt: skip
        index.add(np.arange(len(Y)), Y.astype(np.float32, copy=False), threads=resolve_n_jobs(self.n_jobs))
        return index

    def _neighbors(self, X: Array) -> Array:
        """Return the numbers of the nearest items, (rows, n_neighbors); -1 where the index found fewer."""
        k = self.n_neighbors
        if self.index_ is None:
            scores = X @ self._items.T
            return np.argpartition(-scores, k - 1, axis=1)[:, :k]
        matches = self.index_.search(X.astype(np.float32, copy=False), k, threads=1)
        keys = np.asarray(matches.keys).reshape(len(X), -1).astype(np.int64)
        if keys.shape[1] < k:
            keys = np.pad(keys, ((0, 0), (0, k - keys.shape[1])), constant_values=-1)
        counts = np.atleast_1d(getattr(matches, "counts", np.full(len(X), k)))
        keys[np.arange(k)[None] >= counts[:, None]] = -1
        return keys

    def _estimate(self, X: Array, pool: Machine) -> Estimate:
        m, beta = self.n_items_, float(self.beta)
        log_scale, value, error = np.empty(len(X)), np.empty(len(X)), np.empty(len(X))
        others = self._items[self._chosen]

        def estimate_rows(lo: int, hi: int) -> None:
            x = X[lo:hi]
            near = self._neighbors(x)  # (rows, k)
            valid = near >= 0
            near_scores = beta * np.einsum("ij,ikj->ik", x, self._items[near]).astype(np.float64)
            near_scores[~valid] = -np.inf
            far_scores = beta * (x @ others.T).astype(np.float64)  # (rows, g)
            far = ~(self._chosen[None, :, None] == near[:, None, :]).any(axis=2)
            top = np.maximum(near_scores.max(axis=1), far_scores.max(axis=1))
            terms = np.where(far, np.exp(far_scores - top[:, None]), 0.0)
            count = far.sum(axis=1)
            rest = m - valid.sum(axis=1)
            mean = terms.sum(axis=1) / np.maximum(count, 1)
            square = np.where(far, (terms - mean[:, None]) ** 2, 0.0).sum(axis=1) / np.maximum(count - 1, 1)
            log_scale[lo:hi] = top
            value[lo:hi] = np.exp(near_scores - top[:, None]).sum(axis=1) + rest * mean
            error[lo:hi] = rest * np.sqrt(square / np.maximum(count, 1) * (1 - count / rest))

        rows = _ROWS if self.index_ is not None else int(np.clip(2**25 // m, 1, _ROWS))
        pool.map(estimate_rows, row_blocks(len(X), rows))
        return Estimate(log_scale, value, error)
