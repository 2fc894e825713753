"""softvec's own estimator: query-adaptive sampling on top of a Gaussian prediction for each cell.

Items are partitioned into small cells. For a query x and an item y in a cell with mean c, let
t = beta x.(y - c). The control variate is

    level_c (1 + t) + bend (t^2 - w_c)

where ``level_c`` is the Gaussian mean of exp(beta x.y) over the cell and ``bend`` one number per query. Its
sum over all items is known exactly for any coefficients: t sums to zero over each cell, and t^2 sums to
beta^2 m x' omega x, where omega is the covariance inside cells. Only the small remainder
exp(beta x.y) - control is sampled:

- the cells with the highest predicted scores are read completely, so near neighbours cause no error;
- every other cell is sampled at a rate proportional to the deviation that the Gaussian model predicts for it
  (Neyman allocation), and inside it items far from the mean are favoured;
- samples are prefixes of cells sorted by permanent random numbers: all queries share one draw, no random
  numbers are drawn at query time, and each item's probability is known, so the estimate of Z is unbiased.

The standard error combines the variance of the sample with that of the model, calibrated at fit time.
Intervals are widened or narrowed as the exact sums of 256 queries require, by the norm of the query.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from softvec.core.checks import integer
from softvec.core.errors import InputError, warn
from softvec.core.machine import Machine, machine
from softvec.core.threads import row_blocks
from softvec.normalizers.base import Array, Estimate, Normalizer, check_vectors
from softvec.normalizers.clusters import cut_into_cells

_ROWS = 128  # queries per block
_WHOLE = 0.4  # share of the samples spent on whole cells, nearest first; no difference from 0.3 to 0.5
_EVEN = 0.1  # share of the remaining samples spread evenly over all items
_BEND = 1.0  # 0 leaves out the parabola
_PRIOR = 4.0  # the calibrated model counts as this many degrees of freedom
_CALIBRATION = 96  # queries that calibrate the model
_TAIL = 256  # queries whose exact sums calibrate the tails of the errors
_STRATA = 8  # groups of the tail queries by their norm, each with a factor of its own
_EQUAL = 0.02  # norms that differ by less than this share make one group
_PAIRS = 4096  # most items that a calibration query reads
_WIDE = 1.0  # width of an interval, in log Z, that is of little use


@dataclass(eq=False)
class ControlVariate(Normalizer):
    """Estimate Z without bias, with a standard error for each query.

    Parameters
    ----------
    n_samples : int, default=1000
        Items read per query, on average (whole cells included). With ``n_samples >= m`` the sum is exact.
    n_cells : int, optional
        Cells of items; default 4 sqrt(m), at most 1024 and at most m.

    Examples
    --------
    >>> import numpy as np
    >>> from softvec.normalizers import ControlVariate, Exact
    >>> Y = np.random.default_rng(0).normal(size=(5000, 8)) / 3
    >>> model = ControlVariate(500, random_state=0).fit(Y)
    >>> error = model.log_partition(Y[:9]) - Exact().fit(Y).log_partition(Y[:9])
    >>> bool((abs(error) < 4 * model.std_error(Y[:9])).all())
    True
    """

    n_samples: int = 1000
    n_cells: int | None = None

    def fit(self, Y: ArrayLike, queries: ArrayLike | None = None) -> Self:
        """Partition the items into cells and calibrate the standard error.

        ``queries`` are typical queries, for the calibration; the items by default.
        """
        items = self._begin(Y)
        asked = items if queries is None else check_vectors("queries", queries, items.shape[1])
        rng = np.random.default_rng(self.random_state)
        with machine(self.n_jobs) as pool:
            self._fit(items, rng, pool)
            self._calibrate(asked.astype(items.dtype, copy=False), rng, pool)
            self._learn_tail(items, asked.astype(items.dtype, copy=False), rng, pool)
        return self

    def confidence_interval(self, X: ArrayLike, level: float = 0.95) -> tuple[Array, Array]:
        """Return the lower and upper ends of a confidence interval for log Z of each row.

        The interval is Student's t on Z, times a factor for queries of this norm that covers 95% of the
        queries whose exact sums ``fit`` computed.
        """
        from scipy.stats import t as student

        if not 0 < level < 1:
            raise InputError(f"level is {level!r}; expected a number between 0 and 1, such as 0.95")
        queries = self._check_queries(X)
        with machine(self.n_jobs) as pool:
            acc = self._accumulate(queries, pool)
        deviation, freedom = self._deviation(queries, acc)
        rounding = self._rounding(acc)
        half = student.ppf(0.5 + level / 2, freedom) * deviation + rounding
        half *= self._tail[self._stratum(queries)]
        ref, value, seen = acc[:, 0], acc[:, 1], acc[:, 4] - rounding
        seen = np.where(seen > 0, seen, acc[:, 4])
        # Z is at least the sum over the items read
        return ref + np.log(np.maximum(value - half, seen)), ref + np.log(np.maximum(value + half, seen))

    def n_read(self, X: ArrayLike) -> Array:
        """Return how many items each query reads."""
        with machine(self.n_jobs) as pool:
            return self._accumulate(self._check_queries(X), pool)[:, 5].astype(np.int64)

    def _fit(self, Y: Array, rng: np.random.Generator, pool: Machine) -> None:
        m = len(Y)
        integer("n_samples", self.n_samples)
        k = int(np.clip(round(4 * np.sqrt(m)), 1, min(m, 1024))) if self.n_cells is None else self.n_cells
        cells = cut_into_cells(Y, integer("n_cells", k, most=m, of="the number of items"), rng, pool)
        typical = max(float(cells.radius @ cells.counts) / m, 1e-300)
        first_keys = cells.draws[0, np.cumsum(cells.counts) - cells.counts]
        self._cells = cells
        self._table = np.stack([cells.counts.astype(np.float64), cells.radius / typical, first_keys])
        self._within = cells.within.astype(Y.dtype)
        self._spend = np.array([float(self.n_samples), _WHOLE, _EVEN, _BEND])
        self._calibration = (0.0, 0.0)
        self._edges, self._tail = np.empty(0), np.ones(1)

    def _project(self, X: Array) -> tuple[Array, Array, Array]:
        """Return beta X, the scores of the centres and the variance of scores inside cells."""
        from softvec.kernels.expsum import row_dots

        scaled = X * X.dtype.type(self.beta)
        width = np.empty(len(X))
        row_dots(scaled @ self._within, scaled, width)
        return scaled, scaled @ self._cells.centers.T, np.maximum(width, 0.0)

    def _accumulate(self, X: Array, pool: Machine) -> Array:
        from softvec.kernels.cells import SLOTS, sample_rows

        cells, out = self._cells, np.empty((len(X), SLOTS))

        def sample_block(lo: int, hi: int) -> None:
            x, scores, width = self._project(X[lo:hi])
            sample_rows(
                x, scores, width, self._table, self._items, cells.order, cells.draws, self._spend,
                out[lo:hi],
            )  # fmt: skip

        pool.map(sample_block, row_blocks(len(X), _ROWS))
        return out

    def _calibrate(self, X: Array, rng: np.random.Generator, pool: Machine) -> None:
        """Calibrate the variance of the Gaussian model on a sample of queries.

        The logarithm of true over predicted variance is linear in log |x|, plus noise, so the mean ratio is
        that of a log-normal distribution.
        """
        from softvec.kernels.cells import learn_variance

        cells, size = self._cells, min(len(X), _CALIBRATION)
        asked = X[np.sort(rng.choice(len(X), size, replace=False))]
        ratios = np.empty(size)
        stride = max(1, self.n_items_ // _PAIRS)

        def learn_block(lo: int, hi: int) -> None:
            x, scores, width = self._project(asked[lo:hi])
            learn_variance(
                x, scores, width, self._table, self._items, cells.order, cells.draws, stride,
                self._spend, ratios[lo:hi],
            )  # fmt: skip

        pool.map(learn_block, row_blocks(size, 8))
        finite = np.isfinite(ratios)
        if finite.any():
            self._calibration = _fit_line(_log_norm(asked[finite]), ratios[finite])

    def _learn_tail(self, Y: Array, X: Array, rng: np.random.Generator, pool: Machine) -> None:
        """Learn how much to widen 95% intervals of Student's t, from the exact sums of some queries.

        If vectors are heavy-tailed or beta is large, few items carry most of Z, and errors have longer tails
        than Student's t, the more so the longer the query: each eighth of the norms has a factor of its own.
        """
        from scipy.stats import t as student

        asked = X[np.sort(rng.choice(len(X), min(len(X), _TAIL), replace=False))]
        acc = self._accumulate(asked, pool)
        deviation, freedom = self._deviation(asked, acc)
        exact = np.concatenate(pool.map(lambda lo, hi: self._sums(asked[lo:hi], Y, acc[lo:hi, 0]),
                                        row_blocks(len(asked), 32)))  # fmt: skip
        if len(asked) < 20:
            return
        half = student.ppf(0.975, freedom) * deviation + self._rounding(acc)
        reach, size = np.abs(acc[:, 1] - exact) / half, _log_norm(asked)
        strata = (
            _STRATA if np.ptp(np.quantile(size, [0.1, 0.9])) > _EQUAL and len(size) >= 20 * _STRATA else 1
        )
        self._edges = np.quantile(size, np.arange(1, strata) / strata)
        group = np.searchsorted(self._edges, size)
        # the quantile of n values that covers the next one with probability 95%
        self._tail = np.array([np.quantile(reach[group == g], 0.95, method="weibull") for g in range(strata)])
        low = np.maximum(acc[:, 1] - half * self._tail[group], acc[:, 4])
        width = float(np.median(np.log1p(2 * half * self._tail[group] / low)))
        if width > _WIDE:
            warn(
                f"95% intervals of log Z are {width:.1f} wide (median of {len(asked)} queries): take more "
                "samples, or Exact"
            )

    def _stratum(self, X: Array) -> Array:
        """Return which group of norms each query belongs to."""
        return np.searchsorted(self._edges, _log_norm(X)) if len(self._edges) else np.zeros(len(X), int)

    def _rounding(self, acc: Array) -> Array:
        """Return the rounding error of the sums, the only error if one item dominates Z."""
        return 4 * np.finfo(self._items.dtype).eps * (1 + np.abs(acc[:, 0])) * acc[:, 1]

    def _sums(self, X: Array, Y: Array, ref: Array) -> Array:
        """Return the sum of exp(beta x.y - ref) over all items, for each row; 1e200 stands for more."""
        total, scaled = np.zeros(len(X)), X * X.dtype.type(self.beta)
        for lo, hi in row_blocks(len(Y), 8192):
            scores = (scaled @ Y[lo:hi].T).astype(np.float64) - ref[:, None]
            total += np.exp(np.minimum(scores, 460.0)).sum(axis=1)
        return np.minimum(total, 1e200)

    def _deviation(self, X: Array, acc: Array) -> tuple[Array, Array]:
        """Return the standard error of the sums and its degrees of freedom."""
        offset, slope = self._calibration
        log_ratio = np.clip(offset + slope * _log_norm(X), -30.0, 30.0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            freedom = np.where(acc[:, 3] > 0, acc[:, 2] ** 2 / acc[:, 3], 0.0)  # Satterthwaite
            model = np.where(acc[:, 6] > 0, np.exp(np.log(acc[:, 6]) + log_ratio), 0.0)
        freedom = np.where(np.isfinite(freedom), freedom, 0.0)
        variance = (freedom * acc[:, 2] + _PRIOR * model) / (freedom + _PRIOR)
        return np.sqrt(variance), freedom + _PRIOR - 1.0

    def _estimate(self, X: Array, pool: Machine) -> Estimate:
        acc = self._accumulate(X, pool)
        return Estimate(acc[:, 0], acc[:, 1], self._deviation(X, acc)[0])


def _log_norm(X: Array) -> Array:
    """Return log |x| of each row; a zero row counts as a tiny one."""
    return 0.5 * np.log(np.maximum(np.einsum("ij,ij->i", X, X, dtype=np.float64), 1e-30))


def _fit_line(z: Array, r: Array) -> tuple[float, float]:
    """Return offset and slope of log E[e^r] as a line in z, for normal noise about the line."""
    centered = z - z.mean()
    slope = float(centered @ (r - r.mean()) / (centered @ centered + 1.0))  # + 1: ridge, for little spread
    noise = r - r.mean() - slope * centered
    lift = min(0.5 * float(noise @ noise) / len(r), 2.0)
    return float(r.mean() - slope * z.mean()) + lift, slope
