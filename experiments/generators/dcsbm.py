"""The degree-corrected stochastic block model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from experiments.generators.seeds import RandomState
from softvec.core.errors import InputError

# Edges of a higher probability are drawn at a bounded rate: they exist with probability 0.95 to 1.
_LARGEST_PROBABILITY = 0.95


@dataclass(frozen=True)
class BlockModel:
    """Parameters of a block model."""

    n: int
    c: float
    q: int
    c_in: float
    c_out: float
    alpha: float
    theta_squared: float

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters as a dictionary of plain numbers."""
        return asdict(self)


class BlockGraph(NamedTuple):
    """A graph, the community of each node, and the parameters of the model."""

    adjacency: sp.csr_array
    labels: np.ndarray
    info: BlockModel


def paper_theta(n: int, random_state: RandomState = None) -> np.ndarray:
    """Draw the paper's connectivities: uniform(3, 12) to the power 6, divided by their mean."""
    theta = np.random.default_rng(random_state).uniform(3.0, 12.0, n) ** 6
    return theta / theta.mean()


def dcsbm(
    n: int,
    c: float | None = None,
    q: int | None = None,
    *,
    labels: np.ndarray | None = None,
    alpha: float | None = None,
    c_in: float | None = None,
    c_out: float | None = None,
    theta: str | np.ndarray = "paper",
    random_state: RandomState = None,
) -> BlockGraph:
    """Draw a graph from the degree-corrected stochastic block model, in time linear in its edges.

    Nodes i and j are joined with probability ``theta_i theta_j c_in / n`` inside a community and
    ``theta_i theta_j c_out / n`` between two. Give either ``c`` and ``alpha``, or ``c_in`` and ``c_out``.

    Parameters
    ----------
    n : int
        Number of nodes.
    c : float
        Expected mean degree, ``(c_in + (q - 1) c_out) / q``.
    q : int
        Number of communities; each node joins one of them uniformly at random.
    labels : ndarray of shape (n,), optional
        Communities ``0 .. q - 1`` of the nodes, instead of random ones.
    alpha : float, optional
        Hardness ``(c - c_out) sqrt(E[theta^2] / c)``; communities are detectable if and only if alpha > 1.
    c_in, c_out : float, optional
        Connectivity inside and between communities, instead of ``c`` and ``alpha``.
    theta : "paper", "constant" or ndarray of shape (n,)
        Connectivity of each node; divided by its mean. "paper" is uniform(3, 12) to the power 6.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    BlockGraph
        Named tuple ``(adjacency, labels, info)``: symmetric CSR with int8 ones and no loops, int32
        communities, and the parameters.

    Notes
    -----
    The number of draws per pair of communities is Poisson, endpoints are drawn in proportion to theta,
    repeated edges are merged, and merged edges are thinned so that each pair has exactly its probability
    (probabilities above 0.95, which sparse graphs do not have, come out between 0.95 and 1).

    Examples
    --------
    >>> from experiments.generators import dcsbm
    >>> A, labels, info = dcsbm(1000, c=10, q=4, alpha=3.0, random_state=0)
    >>> A.shape, int(labels.max()), round(info.c_in - info.c_out, 2) > 0
    ((1000, 1000), 3, True)
    """
    rng = np.random.default_rng(random_state)
    if n < 2:
        raise InputError(f"n is {n}; a graph needs at least 2 nodes")
    labels, q = _communities(n, q, labels, rng)
    theta = _connectivities(n, theta, rng)
    info = _model(n, q, c, alpha, c_in, c_out, float(np.mean(theta**2)))

    rates = np.full((q, q), info.c_out / n)  # rates[a, b] theta_i theta_j = P(A_ij = 1)
    np.fill_diagonal(rates, info.c_in / n)
    largest = np.zeros(q)
    np.maximum.at(largest, labels, theta)
    p_max = min(float((rates * np.outer(largest, largest)).max()), _LARGEST_PROBABILITY)
    # At a Poisson rate of boost * p, an edge is drawn at least once with probability >= p, for p <= p_max.
    boost = -np.log1p(-p_max) / p_max if p_max > 0 else 1.0

    i, j = _joined(_draw(theta, labels, rates * boost, rng), n)
    p = theta[i] * theta[j] * rates[labels[i], labels[j]]
    kept = rng.random(len(p)) * -np.expm1(-boost * p) < p
    i, j = i[kept], j[kept]
    ones = np.ones(2 * len(i), np.int8)
    ends = (np.concatenate([i, j]).astype(np.int32), np.concatenate([j, i]).astype(np.int32))
    adjacency = sp.csr_array((ones, ends), shape=(n, n))
    adjacency.sort_indices()
    return BlockGraph(adjacency, labels, info)


def _communities(
    n: int, q: int | None, labels: np.ndarray | None, rng: np.random.Generator
) -> tuple[np.ndarray, int]:
    if labels is None:
        if q is None or q < 1:
            raise InputError(f"q is {q}; pass a number of communities of at least 1, or labels")
        return rng.integers(0, q, n).astype(np.int32), int(q)
    labels = np.asarray(labels)
    if labels.shape != (n,) or not np.issubdtype(labels.dtype, np.integer) or labels.min() < 0:
        raise InputError(f"labels must be {n} integers from 0 on; got {labels.dtype} of shape {labels.shape}")
    present = int(labels.max()) + 1
    if q is not None and present > q:
        raise InputError(f"labels go up to {present - 1} but q is {q}; raise q or leave it out")
    return labels.astype(np.int32), int(q or present)


def _connectivities(n: int, theta: str | np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if isinstance(theta, str):
        if theta == "paper":
            return paper_theta(n, rng)
        if theta == "constant":
            return np.ones(n)
        raise InputError(f"theta is {theta!r}; pass 'paper', 'constant' or {n} non-negative numbers")
    theta = np.asarray(theta, dtype=np.float64)
    if theta.shape != (n,) or not np.isfinite(theta).all() or theta.min() < 0 or theta.sum() == 0:
        raise InputError(f"theta must be {n} finite non-negative numbers, not all 0; got shape {theta.shape}")
    return theta / theta.mean()


def _model(
    n: int,
    q: int,
    c: float | None,
    alpha: float | None,
    c_in: float | None,
    c_out: float | None,
    theta_squared: float,
) -> BlockModel:
    """Complete the parameters: c = (c_in + (q - 1) c_out) / q, alpha = (c - c_out) sqrt(E[theta^2] / c)."""
    if c_in is not None and c_out is not None and alpha is None:
        if min(c_in, c_out) < 0 or c_in + c_out == 0:
            raise InputError(
                f"c_in is {c_in} and c_out is {c_out}; both must be >= 0 and one of them above 0"
            )
        mean = (c_in + (q - 1) * c_out) / q
        if c is not None and abs(c - mean) > 1e-6 * mean:
            raise InputError(f"c is {c} but c_in and c_out give a mean degree of {mean:g}; leave c out")
        c = mean
        alpha = (c - c_out) * float(np.sqrt(theta_squared / c))
    elif c is not None and alpha is not None and c_in is None and c_out is None:
        if not 0 < c < n:
            raise InputError(f"c is {c}; the mean degree must lie between 0 and n = {n}")
        largest = float(np.sqrt(c * theta_squared))
        c_out = c - alpha * float(np.sqrt(c / theta_squared))
        c_in = q * c - (q - 1) * c_out
        if min(c_in, c_out) < 0:
            raise InputError(
                f"alpha is {alpha}, which makes c_out or c_in negative; for c = {c:g} and this theta "
                f"alpha is at most {largest:.3g}"
            )
    else:
        raise InputError("pass c and alpha, or c_in and c_out (and not both pairs)")
    return BlockModel(n, float(c), q, float(c_in), float(c_out), float(alpha), theta_squared)


def _draw(theta: np.ndarray, labels: np.ndarray, rates: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw the endpoints, (m, 2), of a Poisson number of edges for each pair of communities."""
    q = len(rates)
    mass = np.bincount(labels, weights=theta, minlength=q)
    first, second = np.triu_indices(q)
    expected = rates[first, second] * mass[first] * mass[second]
    expected[first == second] /= 2.0  # an ordered draw inside a community meets each pair twice
    counts = rng.poisson(expected)
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(theta[order])  # of the interval of each node: it is drawn in proportion to theta
    high = ends[np.cumsum(np.bincount(labels, minlength=q)) - 1]  # of each community; an empty one has none
    sides = []
    for community in (np.repeat(first, counts), np.repeat(second, counts)):
        points = high[community] - rng.random(len(community)) * mass[community]
        sides.append(order[np.minimum(np.searchsorted(ends, points), len(order) - 1)])
    return np.stack(sides, axis=1)


def _joined(edges: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends i < j of the distinct edges, without loops."""
    low, high = edges.min(axis=1), edges.max(axis=1)
    keys = np.unique(low[low < high] * np.int64(n) + high[low < high])
    return keys // n, keys % n
