"""One epoch of Algorithm 1 over blocks of rows.

Rows interact in only two ways: products with P, and sums of small arrays over rows. Each block does all its
work while its rows are in cache: gather, normaliser product, step, and the moments for the next epoch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softvec import kernels
from softvec.core.machine import Machine
from softvec.core.scratch import empty
from softvec.core.threads import Buffers, row_blocks
from softvec.fit.edges import NearTerms
from softvec.fit.problem import Problem
from softvec.normalizers.exact import exact_gradient
from softvec.normalizers.moments import Context, Moments, Sums, add_sums, block_sums, context, moments
from softvec.operators import Rows, Runtime, Sum

Array = NDArray[Any]
_Rows = Callable[[Array, int, int], Array]  # a term of the gradient for a block of vectors


@dataclass(frozen=True)
class Loss:
    """L before a step, and its parts, divided by the number of rows."""

    total: float
    attraction: float
    normalizer: float
    regularizer: float


class Side:
    """One set of vectors, and a double-buffered copy that other rows read while the vectors are updated."""

    def __init__(self, X: Array, half: bool, runtime: Runtime):
        self.X, self.blocks = X, row_blocks(len(X), runtime.block)
        self.source = runtime.copied(X, half)
        self.spare = empty(X.shape, self.source.dtype, random=True)

    def swap(self) -> None:
        self.source, self.spare = self.spare, self.source


class Engine:
    """The vectors of a problem and the step that improves them.

    Parameters
    ----------
    problem : Problem
    X : ndarray of shape (n, d)
        Row vectors, updated in place.
    Y : ndarray of shape (m, d) or None
        Column vectors of a two-sided problem.
    pool : Machine
    half : bool
        Whether neighbours are read in half precision (float32 vectors only).
    epochs : int
        Epochs of the whole run, even if it is resumed; decides whether compiling pays off.
    """

    def __init__(
        self,
        problem: Problem,
        X: Array,
        Y: Array | None,
        pool: Machine,
        *,
        half: bool = True,
        epochs: int = 1,
    ):
        d = X.shape[1]
        self.n = n = pool.whole(len(X))[1]  # rows of all processes
        self.problem = problem
        A = problem.P if problem.N is None else Sum([problem.P, problem.N], [1.0, -1.0])
        work = epochs * (problem.P.nnz * d + n * d * d)
        self.runtime = Runtime(kernels.select(work), pool, pool.block_rows(d))
        self.kernels = self.runtime.kernels
        self.plan = A.plan(self.runtime, ("A",))
        self.back = A.T.plan(self.runtime, ("AT",)) if problem.both_ways or Y is not None else None
        rho = problem.P.row_sums()
        self.rho = np.where(np.abs(rho - 1) < 1e-9, 1.0, rho)  # removes rounding errors of normalised rows
        # the row sums of P, and of N, whose terms have the other sign
        self.terms = [(self.rho, 1.0)]
        if problem.N is not None:
            self.terms.append((problem.N.row_sums(), -1.0))
        sphere = problem.constraint == "sphere"
        self.move = self.kernels.sphere_step if sphere else self.kernels.ball_step
        plain = problem.N is None and bool(np.all(self.rho == 1)) and problem.item_weight is None
        self.plain = all(pool.gather(plain))
        self.rows = Side(X, half, self.runtime)
        self.columns = self.rows if Y is None else Side(Y, half, self.runtime)
        self.buffers = Buffers()
        self.edges = None if problem.second is None else NearTerms(self)
        self.set_classes(None)
        self.weighted = self._total(self.rows, self.row_weights) if problem.regularization > 0 else None

    def set_classes(self, classes: Array | None) -> None:
        """Assign the context vectors to classes 0..k-1, none of them empty; None means one class."""
        pool = self.runtime.machine
        self.k = 1 if classes is None else max(pool.gather(int(classes.max(initial=0)) + 1))
        self.classes = None if self.k == 1 else classes
        Y = self.columns.X
        self.stale = False
        self.sums = pool.fold(lambda lo, hi: self._sums(Y, lo, hi), self.columns.blocks, add_sums)

    def _sums(self, X: Array, lo: int, hi: int) -> Sums:
        return block_sums(X[lo:hi], self._classes(lo, hi), self.k, self._item_weights(lo, hi), self.kernels)

    def _classes(self, lo: int, hi: int) -> Array | None:
        return None if self.classes is None else self.classes[lo:hi]

    def _item_weights(self, lo: int, hi: int) -> Array | None:
        weight = self.problem.item_weight
        return None if weight is None else weight[lo:hi].astype(self.columns.X.dtype)

    def context_rows(self, ctx: Context, y: Array, lo: int, hi: int) -> Array:
        """Return the context term of a block of context vectors, in this thread's scratch."""
        C = self.buffers.get("C", y.shape, y.dtype)
        ctx.rows(y, self._classes(lo, hi), self._item_weights(lo, hi), C, self.kernels)
        return C

    def epoch(self, eta: float, *, last: bool = False) -> Loss:
        """Update all vectors once; return the loss before the update. The last epoch skips the moments."""
        problem, pool = self.problem, self.runtime.machine
        X, n = self.rows.X, self.n
        if self.stale:
            self.set_classes(self.classes)
        mom = moments(self.sums)
        sum_x = sum_y = np.zeros(X.shape[1])
        if self.weighted is not None:  # only the regulariser needs the sums of all vectors
            sum_x, sum_y = self.weighted, self._context_total()
        plans = [self.plan(self.columns.source)]
        if problem.both_ways:
            assert self.back is not None
            plans.append(self.back(self.rows.source))
        exact, columns = None, problem.through_context or self.columns is not self.rows
        if problem.normalizer == "exact":
            exact = self._exact()
        elif self.edges is not None and columns:
            exact = self.edges.gradients(mom, mom.omega.astype(X.dtype))
        of_contexts: _Rows | None = None
        if exact is not None:
            of_contexts = partial(_block, exact[2])
        elif columns:
            of_contexts = partial(self.context_rows, context(self._pulled(mom), mom, problem.beta, X.dtype))
        step = _Step(self, mom, of_contexts, exact, plans, eta, (sum_x, sum_y), last)
        part = pool.fold(step.run, self.rows.blocks, _add_parts)
        if of_contexts is not None and self.columns is not self.rows:
            self.sums = self._step_of_columns(of_contexts, eta, sum_x)
            self.columns.swap()
        else:
            self.stale, self.sums = part.sums is None, part.sums or self.sums
        self.weighted = part.weighted
        self.rows.swap()
        attraction, log_z = -problem.beta * part.pull / len(plans) / n, part.log_z / n
        centring = problem.regularization * problem.beta * float(sum_x @ sum_y) / n**2
        return Loss(attraction + log_z + centring, attraction, log_z, centring)

    def _step_of_columns(self, of_contexts: _Rows, eta: float, sum_x: Array) -> Sums:
        """Update the column vectors of a two-sided problem; return the moments of the new ones."""
        problem, side = self.problem, self.columns
        assert self.back is not None
        plan = self.back(self.rows.source)
        shift = (problem.regularization / self.n * sum_x).astype(side.X.dtype)

        def run(lo: int, hi: int) -> Sums:
            y = side.X[lo:hi]
            G = self.buffers.get("G", y.shape, y.dtype)
            plan(lo, hi, G, y[:0])
            g = of_contexts(y, lo, hi)
            g -= G
            g += shift
            self.move(y, g, eta, side.spare[lo:hi])
            return self._sums(side.X, lo, hi)

        return self.runtime.machine.fold(run, side.blocks, add_sums)

    def _context_total(self) -> Array:
        """Return the sum of all context vectors."""
        if self.problem.item_weight is None:
            return self.sums.first.sum(axis=0)
        return self._total(self.columns, lambda lo, hi: np.ones(hi - lo, self.columns.X.dtype))

    def _total(self, side: Side, weights: Callable[[int, int], Array]) -> Array:
        return self.runtime.machine.fold(
            lambda lo, hi: (weights(lo, hi) @ side.X[lo:hi]).astype(np.float64), side.blocks, np.add
        )

    def row_weights(self, lo: int, hi: int) -> Array:
        """Return the row sums of P for a block, in the precision of the vectors."""
        return self.rho[lo:hi].astype(self.rows.X.dtype)

    def _pulled(self, mom: Moments) -> Sums:
        """Return s_c = sum_i rho_i r_ic x_i and T_c = sum_i rho_i r_ic x_i x_i' over all rows."""
        if self.plain and self.k == 1 and self.columns is self.rows:
            return self.sums
        X = self.rows.X
        d = X.shape[1]
        mu, omega = mom.mu.astype(X.dtype), mom.omega.astype(X.dtype)

        def pulled_sums(lo: int, hi: int) -> Sums:
            x, first, second = X[lo:hi], np.zeros((self.k, d)), np.zeros((self.k, d, d))
            for rho, sign in self.terms:
                r = np.ones((hi - lo, 1))
                if self.k > 1:
                    r = np.empty((hi - lo, self.k))
                    H = self.products(x, omega)
                    unused = self.buffers.get("V", x.shape, x.dtype), np.empty(hi - lo)
                    signed_mu, beta = (sign * mu).astype(X.dtype), self.problem.beta
                    self.kernels.mixture_term(x, H, signed_mu, mom.log_weight, rho[lo:hi], beta, *unused, r)
                weights = (rho[lo:hi, None] * r).astype(X.dtype)
                for c in range(self.k):
                    part = block_sums(x, None, 1, weights[:, c], self.kernels)
                    first[c] += sign * part.first[0]
                    second[c] += part.second[0]
            return Sums(np.zeros(self.k), np.zeros(self.k), first, second)

        return self.runtime.machine.fold(pulled_sums, self.rows.blocks, add_sums)

    def products(self, x: Array, omega: Array) -> Array:
        """Return ``x @ omega[c]`` for every class, in this thread's scratch."""
        H = self.buffers.get("H", (self.k, *x.shape), x.dtype)
        self.multiply(x, omega, H)
        return H

    def multiply(self, x: Array, omega: Array, out: Array) -> None:
        """Write ``x @ omega[c]`` for every class."""
        for c in range(self.k):
            self.kernels.multiply(x, omega[c], out[c])

    def _exact(self) -> tuple[Array, Array, Array]:
        """Return the gradient on X, the weighted log Z and the gradient on Y of the exact normaliser."""
        problem, X, Y, pool = self.problem, self.rows.X, self.columns.X, self.runtime.machine
        v, beta = problem.item_weight, problem.beta
        columns = problem.through_context or self.columns is not self.rows
        gradient = partial(exact_gradient, X, Y, columns=columns, buffers=self.buffers)
        parts = [gradient(sign * rho, v, sign * beta, pool) for rho, sign in self.terms]
        V, E = (reduce(np.add, (part[i] for part in parts)) for i in (0, 2))
        return V, reduce(np.add, (rho * log_z for (rho, _), (_, log_z, _) in zip(self.terms, parts))), E


def _block(whole: Array, x: Array, lo: int, hi: int) -> Array:
    return whole[lo:hi]


class _Part(NamedTuple):
    """Sums over a block: attraction, rho log Z, and, of the new vectors, moments and rho x."""

    pull: float
    log_z: float
    sums: Sums | None
    weighted: Array | None


def _add_parts(total: _Part, part: _Part) -> _Part:
    sums = None if total.sums is None or part.sums is None else add_sums(total.sums, part.sums)
    weighted = None if total.weighted is None or part.weighted is None else total.weighted + part.weighted
    return _Part(total.pull + part.pull, total.log_z + part.log_z, sums, weighted)


class _Step:
    """The update of a block of row vectors, and the moments of the new ones."""

    def __init__(
        self,
        engine: Engine,
        mom: Moments,
        of_contexts: _Rows | None,
        exact: tuple[Array, Array, Array] | None,
        plans: list[Rows],
        eta: float,
        totals: tuple[Array, Array],
        last: bool,
    ):
        problem, dtype = engine.problem, engine.rows.X.dtype
        self.engine, self.mom, self.exact, self.plans = engine, mom, exact, plans
        self.of_contexts = of_contexts if problem.through_context else None
        self.params = np.array([problem.beta, eta])
        self.omega = mom.omega.astype(dtype)
        pull = problem.regularization / engine.n
        both = pull if problem.both_ways else 0.0
        sum_x, sum_y = totals
        self.anchors = np.vstack([mom.mu, pull * sum_y, both * sum_x]).astype(dtype)
        self.takes_sums = engine.columns is engine.rows and not last
        self.edges = engine.edges if exact is None else None
        plain = exact is None and self.edges is None and problem.N is None
        self.fused = plain and problem.constraint == "sphere"

    def run(self, lo: int, hi: int) -> _Part:
        engine, problem = self.engine, self.engine.problem
        x, copy = engine.rows.X[lo:hi], engine.rows.spare[lo:hi]
        none = x[:0]
        G, H, stats = engine.buffers.several(
            G=(x.shape, x.dtype), H=((engine.k, *x.shape), x.dtype), stats=((hi - lo, 3), np.float64)
        )
        attracted = self.edges is not None and self.edges.attracts
        if not attracted:
            self.plans[0](lo, hi, G, none)
        for plan in self.plans[1:]:
            plan(lo, hi, G, G)
        C = none if self.of_contexts is None else self.of_contexts(x, lo, hi)
        if self.fused:
            engine.multiply(x, self.omega, H)
            rho = engine.rho[lo:hi]
            engine.kernels.fused_step(
                x, G, H, C, self.anchors, self.mom.log_weight, rho, self.params, copy, stats
            )
            pull, log_z = float(stats[:, 1].sum()), float(stats[:, 0] @ rho)
        else:
            V, log_z, pull = self._normalizer(x, lo, hi)
            g = V
            if not attracted:
                pull = float(np.einsum("ij,ij->", x, G, dtype=np.float64))
                g = np.subtract(V, G, out=G)
            if problem.regularization:
                g += engine.rho[lo:hi, None].astype(x.dtype) * self.anchors[-2] + self.anchors[-1]
            if len(C):
                g += C
            engine.move(x, g, self.params[1], copy)
        sums = engine._sums(engine.rows.X, lo, hi) if self.takes_sums else None
        weighted = None
        if engine.weighted is not None:
            weighted = (engine.row_weights(lo, hi) @ x).astype(np.float64)
        return _Part(pull, log_z, sums, weighted)

    def _normalizer(self, x: Array, lo: int, hi: int) -> tuple[Array, float, float]:
        """Return the normaliser's gradient and the sum of rho log Z, for the terms of P and of N.

        The last value is the attraction, if the gradient has it too.
        """
        engine = self.engine
        if self.exact is not None:
            return self.exact[0][lo:hi], float(self.exact[1][lo:hi].sum()), 0.0
        H, k, beta = engine.products(x, self.omega), engine.k, engine.problem.beta
        if self.edges is not None:
            terms = self.edges.rows(lo, hi, self.mom, H)
            return (
                terms.gradient,
                float(terms.stats[:, 0] @ engine.rho[lo:hi]),
                float(terms.stats[:, 1].sum()),
            )
        total, value = np.zeros_like(x), 0.0
        for rho, sign in engine.terms:
            V, log_z, r = engine.buffers.get("V", x.shape, x.dtype), np.empty(hi - lo), np.empty((hi - lo, k))
            mu = sign * self.anchors[:k]
            engine.kernels.mixture_term(x, H, mu, self.mom.log_weight, rho[lo:hi], beta, V, log_z, r)
            total += V
            value += float(log_z @ rho[lo:hi])
        return total, value, 0.0
