"""The optimisation problem (matrices, terms of the loss, weights), its state, and the first state."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, cached_property
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec import kernels
from softvec.core.errors import InputError, Option
from softvec.core.machine import ALONE, Machine
from softvec.core.scratch import empty
from softvec.core.threads import row_blocks
from softvec.fit.settings import SECOND, Settings
from softvec.normalizers.clusters import compact, kmeans
from softvec.operators import Operator, Runtime

Array = NDArray[Any]
_BLOCK = 1024


@dataclass(frozen=True)
class Problem:
    """A non-negative P (n x m) and the terms of the loss.

    Parameters
    ----------
    P : Operator
        Similarities; rows need not sum to 1.
    symmetric : bool
        One set of vectors for rows and columns (P square), or two.
    beta : float
        Inverse temperature.
    gradient : {"row", "paper", "full"}
        Gradient of a symmetric problem (that of a two-sided one is always exact).
    regularization : float
        Weight of the term that centres the vectors.
    constraint : {"sphere", "ball"}
        Vectors of norm sqrt(beta), or of norm sqrt(beta) at most.
    normalizer : {"mixture", "edges", "near", "exact"}
        Eq. main, the same with exact terms for each item and its neighbours, or the exact sum in O(n m).
    N : Operator, optional
        Dissimilarities of the contrastive term.
    item_weight : ndarray of shape (m,), optional
        Base measure v: Z_i = sum_a v_a exp(beta x_i.y_a).
    """

    P: Operator
    symmetric: bool = True
    beta: float = Settings.beta
    gradient: str = Settings.gradient
    regularization: float = Settings.regularization
    constraint: str = Settings.constraint
    normalizer: str = Settings.normalizer
    N: Operator | None = None
    item_weight: Array | None = None

    def __post_init__(self) -> None:
        n, m = self.P.shape
        if self.symmetric and n != m:
            raise InputError(
                f"P has shape ({n}, {m}); a symmetric fit needs a square P. Pass ", Option("symmetric", False)
            )
        if self.N is not None and self.N.shape != self.P.shape:
            raise InputError(
                f"dissimilarities have shape {self.N.shape}, P has {self.P.shape}; make them equal"
            )
        if self.N is not None and self.second is not None:
            raise InputError(
                Option("normalizer", self.normalizer), " has no dissimilarities; leave one of them out"
            )
        if self.item_weight is not None and self.item_weight.shape != (m,):
            raise InputError(f"item weights have shape {self.item_weight.shape}; expected ({m},)")

    @property
    def second(self) -> int | None:
        """Second neighbours with exact terms, at most; None without exact terms for near items."""
        return SECOND.get(self.normalizer)

    @classmethod
    def of(
        cls, P: Operator, settings: Settings, N: Operator | None = None, item_weight: Array | None = None
    ) -> Problem:
        """Return the problem that settings pose."""
        own = {name: getattr(settings, name) for name in ("gradient", "constraint", "normalizer")}
        own |= {name: float(getattr(settings, name)) for name in ("beta", "regularization")}
        return cls(P, settings.one_sided(P.shape), N=N, item_weight=item_weight, **own)

    @cached_property
    def both_ways(self) -> bool:
        """Whether the gradient of X includes P' X."""
        return self.symmetric and self.gradient != "row"

    @cached_property
    def through_context(self) -> bool:
        """Whether the gradient of X includes the derivative through the means and covariances."""
        return self.symmetric and self.gradient == "full"


@dataclass
class State:
    """Everything an interrupted run needs to resume with the same bits."""

    X: Array
    Y: Array | None = None
    classes: Array | None = None
    epoch: int = 0
    history: list[dict[str, float]] = field(default_factory=list)
    done: bool = False


def length_of(neighbours: NDArray[Any], shrinkage: float, mean: float) -> NDArray[np.float64]:
    """Return the vector length sqrt(m / (m + shrinkage * mean)) of items with m neighbours.

    The fewer neighbours, the stronger the shrinkage.
    """
    return np.sqrt(neighbours / (neighbours + shrinkage * mean))


def base_measure(sizes: NDArray[Any], power: float) -> NDArray[np.float64]:
    """Return size ** power for each item; a size of 0 counts as the smallest positive one."""
    least = float(sizes[sizes > 0].min(initial=np.inf))
    return np.maximum(sizes, least if np.isfinite(least) else 1.0) ** power


def random_start(n: int, d: int, seed: int, stream: int, dtype: Any, pool: Machine) -> Array:
    """Return n random unit vectors; each block of global rows has its own random stream.

    Normal variates come from a table of 65,536 quantiles, twice as fast as drawing them.
    """
    X = empty((n, d), dtype)
    first = pool.whole(n)[0]
    quantiles = _quantiles(np.dtype(dtype))

    def fill_block(begin: int) -> None:
        lo, hi = max(begin, first), min(begin + _BLOCK, first + n)
        skip, size = (lo - begin) * d, (hi - begin) * d  # draws before the first row, and up to the last
        bits = np.random.SFC64([seed, stream, begin])
        places = bits.random_raw(-(-size // 4)).astype("<u8", copy=False).view("<u2")[skip:size]
        block = X[lo - first : hi - first]
        np.take(quantiles, places.reshape(block.shape), out=block, mode="wrap")
        block /= np.sqrt(np.einsum("ij,ij->i", block, block))[:, None]  # no quantile is 0

    pool.map(fill_block, [(begin,) for begin in range(first // _BLOCK * _BLOCK, first + n, _BLOCK)])
    return X


@cache
def _quantiles(dtype: np.dtype) -> Array:
    """Return the normal quantiles at the midpoints of 65,536 equal intervals.

    In single precision they are those of ``scipy.special.ndtri``, whose import takes a fifth of a first fit.
    """
    lower = list(map(NormalDist().inv_cdf, ((np.arange(32768) + 0.5) / 65536).tolist()))
    return np.array([*lower, *(-value for value in reversed(lower))], dtype)


def power_start(P: Operator, d: int, seed: int, dtype: Any, pool: Machine, steps: int) -> Array:
    """Return random vectors multiplied ``steps`` times by P, each time centred and normalised."""
    return push(P, random_start(P.shape[1], d, seed, 0, dtype, pool), steps, seed, pool)


def push(P: Operator, X: Array, steps: int, seed: int, pool: Machine) -> Array:
    """Multiply X by P ``steps`` times; centre and normalise each product. X may be overwritten.

    Rows of P without entries keep their vectors: the centred product would be the same for all of them.
    """
    d = X.shape[1]
    runtime = Runtime(kernels.select(steps * P.nnz * d), pool)
    alone = np.flatnonzero(P.row_sums() == 0) if len(X) == P.shape[0] else np.empty(0, np.int64)
    unmoved, plan = X[alone], P.plan(runtime)
    for _ in range(steps):
        source = runtime.copied(X)
        if len(X) != P.shape[0]:
            X = empty((P.shape[0], d), X.dtype)
        runtime.fill(plan(source), X, X[:0])
        _unit(X, np.random.default_rng([seed, 1]), pool, pool.mean(X, d).astype(X.dtype))
        X[alone] = unmoved
    return X


def _unit(X: Array, rng: np.random.Generator, pool: Machine, centre: Array | None = None) -> None:
    """Subtract the centre from each row and normalise it, in place; a zero row becomes a random one."""
    blocks, norm = row_blocks(len(X), _BLOCK), np.empty(len(X), X.dtype)

    def measure(lo: int, hi: int) -> None:
        if centre is not None:
            X[lo:hi] -= centre
        np.sqrt(np.einsum("ij,ij->i", X[lo:hi], X[lo:hi]), out=norm[lo:hi])

    def divide(lo: int, hi: int) -> None:
        X[lo:hi] /= norm[lo:hi, None]

    pool.map(measure, blocks)
    lost = norm < 1e-12
    before = pool.whole(int(lost.sum()))[0]  # zero rows of the processes before this one
    if lost.any():
        X[lost] = rng.standard_normal((before + int(lost.sum()), X.shape[1]))[before:]
        norm[lost] = np.linalg.norm(X[lost], axis=1)
    pool.map(divide, blocks)


def given_start(
    vectors: Any,
    shape: tuple[int, int],
    constraint: str,
    dtype: Any,
    name: str = "init",
    pool: Machine = ALONE,
) -> Array:
    """Check and copy initial vectors given by the user; on the sphere they are normalised."""
    X = np.asarray(vectors)
    if X.shape != shape:
        raise InputError(f"{name} has shape {X.shape}; expected {shape}")
    if not np.isfinite(X).all():
        raise InputError(f"{name} holds NaN or infinite values; pass finite vectors")
    top = np.abs(X).max(axis=1, initial=0, keepdims=True).astype(np.float64)  # 1e15 overflows half precision
    far = (top > 1e15) | ((top < 1e-15) & (top > 0) & (constraint == "sphere"))  # squares overflow float32
    X = np.array(np.divide(X, top, where=far, out=X.astype(np.float64)) if far.any() else X, dtype, order="C")
    if constraint == "sphere":
        _unit(X, np.random.default_rng(0), pool)
    else:
        X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1)
    return X


def start(problem: Problem, settings: Settings, seed: int, pool: Machine) -> State:
    """Return the first state of a fit: given vectors, random ones, or random ones after power steps."""
    (n, m), d, dtype = problem.P.shape, int(settings.n_components), np.dtype(settings.dtype)
    init = settings.init
    if not isinstance(init, str):
        if problem.symmetric:
            return State(given_start(init, (n, d), problem.constraint, dtype))
        if not (isinstance(init, (tuple, list)) and len(init) == 2):
            raise InputError("init of a two-sided fit must be a pair of arrays: row vectors, column vectors")
        X, Y = init
        return State(
            given_start(X, (n, d), problem.constraint, dtype),
            given_start(Y, (m, d), problem.constraint, dtype, "init (columns)"),
        )
    if init == "random":
        X = random_start(n, d, seed, 0, dtype, pool)
        return State(X, None if problem.symmetric else random_start(m, d, seed, 1, dtype, pool))
    if problem.symmetric:
        return State(power_start(problem.P, d, seed, dtype, pool, settings.power_steps))
    # two-sided: multiply random column vectors by P, and the result by P'
    X = power_start(problem.P, d, seed, dtype, pool, steps=1)
    Y = given_start(problem.P.T @ X, (m, d), problem.constraint, dtype, pool=pool)
    return State(X, Y)


def find_classes(X: Array, k: int, seed: int, pool: Machine) -> Array:
    """Return at most k k-means classes of unit vectors, 0, 1, ..., none empty; fitted on a sample of rows."""
    rng = np.random.default_rng([seed, pool.whole(len(X))[1], k])
    block = pool.block_rows(X.shape[1])
    return compact(kmeans(X, k, rng, pool, sample=50_000, max_iter=30, block=block), pool)
