"""Fuse the vectors of a graph with the attributes of its nodes.

Three views of a node are put side by side and turned to their principal axes: its vector in the graph, its
attributes, and its attributes averaged over the nodes around it. How much each of them counts is measured,
without labels, on edges that are hidden from it: attributes that say nothing about edges are kept beside the
graph but not averaged over it, and beside a graph whose edges cannot be predicted they count most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.affinity.spectrum import SURE, area, area_error, hide_edges, leading_axes, told_by_sign
from softvec.core.machine import Machine
from softvec.fit.views import fuse
from softvec.kernels import worth_compiling
from softvec.operators import Sparse

Array = NDArray[Any]
_STEPS, _OWN = 8, 0.05  # steps of the average over a neighbourhood, and the share of the node itself
_WIDER = 1.5  # axes of the attributes, as a multiple of the dimension
_PROBES = 64  # columns that measure agreement
_POSITIONS, _LONG = 32, 20  # columns and steps of the walk that measures the agreement of the graph alone
# Weights of graph, attributes and averaged attributes if all of them predict edges; of attributes beside a
# graph that they say nothing about (docs/decisions.md).
_WEIGHTS, _UNRELATED = (1.0, 2.0, 3.0), 0.3
_RIDGE, _RIDGE_STEPS = 3.0, 12  # of the regression that gives a node without edges its vector
_FEW_DIRECT = 0.05  # share of edges between nodes with attributes below which pairs are two steps apart
_COPIED = 0.05  # averages must tell such pairs so much better than attributes, else these repeat the edges
_TOO_FEW, _ENOUGH = (1.0, 2.0, 1.0), 0.05  # weights without hidden edges; the error from which areas count


@dataclass(frozen=True)
class Agreement:
    """How well hidden edges are told from pairs of the same ends, shuffled: areas under the ROC curve.

    ``attributes`` and ``smoothed`` are those of a node and the average over its neighbourhood, ``chance`` is
    such an average of random numbers, ``graph`` the graph alone; ``error`` is the standard error of an area
    of a half. If one type of nodes has attributes, and its nodes are not linked, pairs are two ``steps``
    apart: they share a node. Attributes that tell such pairs better than their averages were made from the
    edges, as the keywords of authors from those of their papers, and count little.
    """

    attributes: float
    smoothed: float
    chance: float
    graph: float
    error: float
    steps: int = 1

    @property
    def weights(self) -> tuple[float, float, float]:
        """Weights of the graph, the attributes and the averaged attributes.

        >>> Agreement(0.8, 0.9, 0.7, 0.8, 0.005).weights
        (1.0, 2.0, 3.0)
        """
        graph, attributes, smoothed = _WEIGHTS
        alike, gain = 2 * self.attributes - 1, 2 * (self.smoothed - self.chance)
        lift = abs(alike) if self.steps == 1 else alike
        related = min(1.0, max(0.0, lift - 4 * self.error) / 0.1)  # two errors of twice an area
        if self.steps == 2:
            related *= float(np.clip((self.smoothed - self.attributes) / _COPIED, 0, 1))
        structure = float(np.clip((self.graph - 0.5 - self.error) / (2 * self.error), 0, 1))
        local = max(alike, gain) > 0 and float(np.clip((self.smoothed - 0.5 - self.error) / 0.2, 0, 1))
        alone = _UNRELATED * structure + attributes * (1 - structure)
        measured = np.array([
            graph,
            related * attributes + (1 - related) * alone,
            smoothed * related * local,
        ])  # fmt: skip
        trust = min(1.0, _ENOUGH / self.error)
        return tuple((trust * measured + (1 - trust) * np.array(_TOO_FEW)).tolist())


@dataclass(frozen=True)
class Attributed:
    """Vectors of nodes and of attributes, and how they were weighted.

    A node that has attributes f and no edges gets the vector ``f @ vectors[:-1] + vectors[-1]``.
    """

    X: Array
    vectors: Array
    agreement: Agreement


def fuse_attributes(
    G: Array, A: sparse.csr_array, F: Any, known: Array, seed: int, pool: Machine
) -> Attributed:
    """Fuse vectors of a graph with attributes.

    Parameters
    ----------
    G : ndarray of shape (n, d)
        Vectors of the graph.
    A : csr_array of shape (n, n)
        Its symmetric adjacency matrix.
    F : csr_array or ndarray of shape (n, p)
        Attributes.
    known : ndarray of bool of shape (n,)
        Which nodes have attributes.
    """
    n, d = G.shape
    rng = np.random.default_rng([seed, 25])
    axes = leading_axes(F, min(round(_WIDER * d), F.shape[1]), rng)
    raw = np.asarray(F @ axes, np.float32)  # (n, k)
    center = raw[known].mean(axis=0)
    raw[~known] = center
    own = raw - center
    agreement = measure_agreement(A, own, known, rng)
    smoothed = _smooth(A, raw)
    linked = np.diff(A.indptr) > 0
    parts = [_even(np.where(linked[:, None], G, np.float32(0))), _even(own), unit_or_zero(smoothed)]
    X = np.empty((n, d), np.float32)
    fuse(parts, agreement.weights, np.ones(n, np.float32), X, pool, pool.block_rows(d))
    mean = X[known].mean(axis=0)
    vectors = _ridge(F, np.where(known[:, None], X - mean, np.float32(0)), known)
    vectors[-1] += mean
    return Attributed(X, vectors, agreement)


def _ridge(F: Any, T: Array, known: Array) -> Array:
    """Return V for which F V[:-1] + V[-1] is nearest to T, whose mean is 0, by a regression, (p + 1, d).

    Weights count ``_RIDGE`` times the mean square of a row. Conjugate gradients stop early, as they may:
    large directions come first, and small ones are noise.
    """
    count = max(int(known.sum()), 1)
    squares = (F.data if sparse.issparse(F) else F).astype(np.float32) ** 2
    center = np.asarray(F.sum(axis=0), np.float32).reshape(-1) / count  # rows without attributes are 0
    ridge = np.float32(_RIDGE * max(squares.sum() / count - center @ center, 1e-12))
    F = _operator(F, T.shape[1]) if sparse.issparse(F) else F

    def back(R: Array) -> Array:
        return np.asarray(F.T @ R - np.outer(center, R.sum(axis=0)), np.float32)

    rest = back(T)
    step, V = rest, np.zeros_like(rest)
    size = start = np.sum(rest * rest, axis=0)
    for _ in range(_RIDGE_STEPS):
        if size.sum() <= 1e-6 * start.sum():
            break
        image = back((F @ step - center @ step) * known[:, None]) + ridge * step
        length = size / np.maximum(np.sum(step * image, axis=0), 1e-30)
        V += length * step
        rest = rest - length * image
        before, size = size, np.sum(rest * rest, axis=0)
        step = rest + size / np.maximum(before, 1e-30) * step
    return np.vstack([V, -center @ V])


def _operator(A: sparse.csr_array, columns: int) -> Any:
    """Return A to be multiplied with so many columns: if that is little work, SciPy needs no compilation."""
    return Sparse(A, symmetric=False) if worth_compiling(A.nnz * columns) else A


def _smooth(A: sparse.csr_array, X: Array) -> Array:
    """Return the mean of X over walks of 1 to 8 steps on the graph with self loops, degrees evened out."""
    loop = A.data.mean() if A.nnz and A.dtype != bool else 1.0
    looped = sparse.csr_array(A + loop * sparse.eye_array(A.shape[0], format="csr"))
    scale = sparse.diags_array(1 / np.sqrt(looped.sum(axis=1)))
    walk = _operator(sparse.csr_array(scale @ looped @ scale).astype(np.float32), X.shape[1])
    total, step = np.zeros_like(X), X
    for _ in range(_STEPS):
        step = walk @ step
        total += step
    return (1 - _OWN) / _STEPS * total + _OWN * X


def measure_agreement(
    A: sparse.csr_array, own: Array, known: Array, rng: np.random.Generator
) -> Agreement:  # fmt: skip
    """Hide edges, and measure how well attributes, averages over the rest, and the rest alone tell them."""
    rest, pairs = hide_edges(A, rng)
    u, v, _ = pairs
    steps = 1 if np.count_nonzero(known[u] & known[v]) > _FEW_DIRECT * len(u) else 2
    if steps == 2:
        u, v = _two_steps(rest, u, v, known, rng)
        pairs = np.stack([u, v, rng.permutation(v)])
    if pairs.shape[1] < 2:
        return Agreement(0.5, 0.5, 0.5, 0.5, 0.5)
    lead = own[:, :_PROBES]
    around = _smooth(rest, np.hstack([lead, rng.standard_normal(lead.shape, dtype=np.float32)]))
    views = own, around[:, : lead.shape[1]], around[:, lead.shape[1] :], _positions(rest, rng)
    attributes, smoothed, chance, graph = (area(view, view, *pairs) for view in views)
    error = area_error(pairs)
    unlike = told_by_sign(rest, pairs, rng)[1] if steps == 1 else 0.5
    graph = max(graph, unlike) if unlike > 0.5 + SURE * error else graph
    return Agreement(attributes, smoothed, chance, graph, error, steps)


def _two_steps(
    rest: sparse.csr_array, u: Array, v: Array, known: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return the known ends of hidden edges, each with a known neighbour of the other end."""
    u, v = np.where(known[u], u, v), np.where(known[u], v, u)
    described = sparse.csr_array(rest @ sparse.diags_array(known.astype(np.float32)))
    described.eliminate_zeros()
    count = np.diff(described.indptr)
    u, v = u[known[u] & (count[v] > 0)], v[known[u] & (count[v] > 0)]
    other = described.indices[described.indptr[v] + (rng.random(len(v)) * count[v]).astype(np.int64)]
    return u[other != u], other[other != u]


def _positions(A: sparse.csr_array, rng: np.random.Generator) -> Array:
    """Return the mean direction of the last two of many power steps: nodes of a group have similar ones."""
    mean = sparse.diags_array(1 / np.maximum(A.sum(axis=1), 1e-30)) @ A
    walk = _operator(sparse.csr_array(mean).astype(np.float32), _POSITIONS)
    step = rng.standard_normal((A.shape[0], _POSITIONS), dtype=np.float32)
    for _ in range(_LONG):
        before, step = step, walk @ step
        step = unit_or_zero(step - step.mean(axis=0))
    return before + step


def unit_or_zero(X: Array) -> Array:
    """Return X with rows of length 1; rows of zeros stay."""
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.float32(1e-12))


def _even(X: Array) -> Array:
    """Return X scaled to a mean square length of 1."""
    return X / np.float32(max(np.sqrt(np.mean(np.sum(X * X, axis=1))), 1e-12))
