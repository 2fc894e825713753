"""Initial vectors, and their k-means classes."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec import kernels
from softvec.core.errors import InputError
from softvec.core.machine import ALONE, Machine
from softvec.core.scratch import empty
from softvec.core.threads import row_blocks
from softvec.fit.problem import Problem, State
from softvec.fit.settings import Settings
from softvec.normalizers.kmeans import compact, kmeans
from softvec.operators import Operator, Runtime

Array = NDArray[Any]
_BLOCK = 1024


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
    """Return the normal quantiles at the midpoints of 65,536 equal intervals."""
    from scipy.special import ndtri

    return ndtri((np.arange(65536) + 0.5) / 65536).astype(dtype)


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
    unmoved = X[alone]
    for _ in range(steps):
        source = runtime.copied(X)
        if len(X) != P.shape[0]:
            X = empty((P.shape[0], d), X.dtype)
        runtime.fill(P.plan(source, runtime), X, X[:0])
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
