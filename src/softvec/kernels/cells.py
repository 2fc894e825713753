"""Sampling from cells of items, with a control variate per cell (theory: normalizers/control_variate.py).

Items are listed cell by cell. Inside a cell they are sorted by ``key = u / boost``, where u is a uniform
number drawn once per item: the items with ``key < tau`` are a sample in which each is included independently
with probability min(1, tau * boost). So a query can sample any cell at any rate by reading a prefix.
"""

from __future__ import annotations

import math

import numpy as np

from softvec.kernels._intrinsics import prefetch
from softvec.kernels._jit import njit
from softvec.kernels.expsum import LOG2E, exp2_down, nearest_center

_FAST = {"contract", "reassoc", "nsz", "arcp", "nnan"}
CAP = 4.0  # variance of scores inside a cell above which the Gaussian model is not trusted
_BUFFER = 512
_AHEAD = 8  # rows between a prefetch and its use
# budget of a query: items, share of them for whole cells, share of the others spread evenly, use the parabola
ITEMS, WHOLE, EVEN, BEND = 0, 1, 2, 3
# slots of an accumulator: a sum is SUM * exp(REF); variances are of SUM, SEEN is the sum over the items read
REF, SUM, VARIANCE, FOURTH, SEEN, COUNT, MODEL = 0, 1, 2, 3, 4, 5, 6
SLOTS = 7


@njit(nogil=True, cache=True)
def copy_rows(Y, rows, center, out):
    """Write the chosen rows of Y minus ``center``; NumPy's indexing would hold the GIL."""
    last = rows.shape[0] - 1
    for i in range(rows.shape[0]):
        prefetch(Y, rows[min(i + _AHEAD, last)])
        y = Y[np.uint64(rows[i])]
        for j in range(center.shape[0]):
            out[i, j] = y[j] - center[j]


@njit(nogil=True, cache=True, fastmath=_FAST)
def assign_rows(Y, S, half_norm, cell_of, sums, radii):
    """Assign each row of Y to its nearest centre, from ``S = Y @ centers.T``; add it to that cell's sum.

    ``radii`` gets the squared distance to the centre.
    """
    for i in range(Y.shape[0]):
        best, where = nearest_center(S, i, half_norm)
        cell_of[i] = where
        y, total = Y[np.uint64(i)], sums[np.uint64(where)]  # views of one row: the loop vectorises
        square = Y.dtype.type(0)
        for j in range(y.shape[0]):
            total[j] += y[j]
            square += y[j] * y[j]
        radii[i] = max(square - 2.0 * best, 0.0)


@njit(nogil=True, cache=True)
def arrange(rows, cell_of, bounds, radii, order, draws):
    """List the rows cell by cell; those of cell c go to ``bounds[c]:bounds[c + 1]`` of the outputs.

    ``draws[0]`` holds uniform numbers and becomes the keys ``u / boost``, sorted in each cell. The boosts,
    ``draws[1]``, favour items far from their centre, whose remainder is larger; their mean in a cell is one.
    """
    listed = np.empty(rows.shape[0], np.int64)
    cursor = bounds[:-1].copy()
    for i in range(rows.shape[0]):
        listed[cursor[cell_of[i]]] = i
        cursor[cell_of[i]] += 1
    for c in range(bounds.shape[0] - 1):
        first, last = bounds[c], bounds[c + 1]
        size = last - first
        boost, key = np.empty(size), np.empty(size)
        typical, total = 0.0, 0.0
        for i in range(size):
            typical += radii[listed[first + i]] / size
        for i in range(size):
            boost[i] = max(radii[listed[first + i]] / typical, 0.3) if typical > 0.0 else 1.0
            total += boost[i]
        for i in range(size):
            boost[i] *= size / total
            key[i] = draws[0, first + i] / boost[i]
        sequence = np.argsort(key)
        for i in range(size):
            s, target = sequence[i], first + i
            draws[0, target] = key[s]
            draws[1, target] = boost[s]
            order[target] = rows[listed[first + s]]


@njit(nogil=True, cache=True, fastmath=_FAST, forceinline=True)
def _take_whole(keys, counts, budget, tau):
    """Set ``tau`` to infinity for the highest-key cells that fit in ``budget``; return their item count."""
    used = 0.0
    for _ in range(keys.shape[0]):
        peak = keys[0]
        for c in range(1, keys.shape[0]):
            peak = max(peak, keys[c])
        best = 0
        while keys[best] != peak:
            best += 1
        if used + counts[best] > budget:
            break
        tau[best] = np.inf
        keys[best] = -np.inf
        used += counts[best]
    return used


@njit(nogil=True, cache=True)
def _spread_budget(rates, counts, budget, tau):
    """Scale ``rates``, capped at one, to ``budget`` expected items; write them to tau where it is 0."""
    left, total = budget, 0.0
    for c in range(rates.shape[0]):
        if tau[c] == 0.0:
            total += counts[c] * rates[c]
    factor = 0.0
    for _ in range(64):
        factor = max(left, 0.0) / total if total > 1e-300 else np.inf
        changed = False
        for c in range(rates.shape[0]):
            if tau[c] == 0.0 and factor * rates[c] >= 1.0:
                tau[c] = np.inf
                left -= counts[c]
                total -= counts[c] * rates[c]
                changed = True
        if not changed:
            break
    for c in range(rates.shape[0]):
        if tau[c] == 0.0:
            tau[c] = min(factor * rates[c], 1.0)


@njit(nogil=True, cache=True, fastmath=_FAST, forceinline=True)
def _levels(scores, width, spread, tau, level, sigma, keys):
    """Start a plan: Gaussian mean of exp(score) and variance in each cell, and the order of whole cells."""
    ref = -np.inf
    for c in range(scores.shape[0]):
        w = min(width * spread[c], CAP)
        tau[c] = 0.0
        sigma[c] = w
        keys[c] = scores[c] + math.sqrt(w)
        level[c] = scores[c] + 0.5 * w
        ref = max(ref, level[c])
    for c in range(scores.shape[0]):
        level[c] = exp2_down((level[c] - ref) * LOG2E)
    return ref


@njit(nogil=True, cache=True, fastmath=_FAST, forceinline=True)
def _unexplained(width, spread, curvature, level, sigma):
    """Turn ``sigma`` from variances inside cells into the deviation the control leaves, if Gaussian."""
    for c in range(sigma.shape[0]):
        w = sigma[c]
        grown = exp2_down((w - CAP) * LOG2E) * math.exp(CAP)
        # e^w - 1 - w - w^2/2; by its series where the difference would be rounding error
        tail = w * w * w / 6.0 * (1.0 + 0.25 * w) if w < 1e-3 else grown - 1.0 - w - 0.5 * w * w
        line = w if width * spread[c] > CAP else 0.0  # no line is subtracted there
        bend = 0.5 * level[c] - curvature
        sigma[c] = math.sqrt(2.0 * bend * bend * w * w + level[c] * level[c] * (tail + line))


@njit(nogil=True, cache=True)
def plan(scores, width, cells, spend, work, acc):
    """Choose the sampling rate of one query in each cell, and the coefficients of its control variate.

    ``scores`` are beta x.centre, ``width`` is beta^2 x' omega_within x, ``cells`` the counts, relative
    spreads and first keys (3, k). Rows of ``work`` (4, k): tau, level (Gaussian mean of exp(score) in the
    cell, relative to ``acc[REF]``), sigma (remaining deviation), and scratch. ``acc[MODEL]`` receives the
    variance predicted by the Gaussian model. Returns the coefficient of the parabola.
    """
    counts, spread = cells[0], cells[1]
    tau, level, sigma, rate = work[0], work[1], work[2], work[3]
    acc[:] = 0.0
    acc[REF] = _levels(scores, width, spread, tau, level, sigma, rate)
    used = _take_whole(rate, counts, spend[WHOLE] * spend[ITEMS], tau)
    top, weight, items, total = 0.0, 0.0, 0.0, 0.0
    for c in range(scores.shape[0]):
        items += counts[c]
        if tau[c] == 0.0:
            weight += counts[c] * spread[c] ** 2
            top += counts[c] * spread[c] ** 2 * level[c]
    curvature = spend[BEND] * 0.5 * top / weight if weight > 0.0 and width <= CAP else 0.0
    _unexplained(width, spread, curvature, level, sigma)
    for c in range(scores.shape[0]):
        if tau[c] == 0.0:
            total += counts[c] * sigma[c]
    share = (1.0 - spend[EVEN]) / total if total > 1e-300 else 0.0
    for c in range(scores.shape[0]):
        rate[c] = spend[EVEN] / items + share * sigma[c]
    _spread_budget(rate, counts, spend[ITEMS] - used, tau)
    for c in range(scores.shape[0]):
        if tau[c] < 1.0:
            acc[MODEL] += counts[c] * sigma[c] ** 2 * (1.0 / tau[c] - 1.0)
    return curvature


@njit(nogil=True, cache=True, fastmath=_FAST, forceinline=True)
def _absorb(pending, size, base, curvature, acc):
    """Add buffered items to the accumulator, rescaling it if a score exceeds its reference.

    Rows of ``pending``: score, score of the centre, level, slope, variance, weight, one minus probability.
    """
    peak = pending[0, 0]
    for j in range(1, size):
        peak = max(peak, pending[0, j])
    if peak > acc[REF]:
        f = math.exp(acc[REF] - peak)
        acc[SUM] *= f
        acc[SEEN] *= f
        acc[VARIANCE] *= f**2
        acc[FOURTH] *= f**4
        acc[REF] = peak
    ref = acc[REF]
    shrink = math.exp(base - ref)
    bend = shrink * curvature
    total, variance, fourth, seen = 0.0, 0.0, 0.0, 0.0
    for j in range(size):
        e = exp2_down((pending[0, j] - ref) * LOG2E)
        t = pending[0, j] - pending[1, j]
        r = e - shrink * (pending[2, j] + pending[3, j] * t) - bend * (t * t - pending[4, j])
        h = r * pending[5, j]
        v = h * h * pending[6, j]
        total += h
        variance += v
        fourth += v * v
        seen += e
    acc[SUM] += total
    acc[VARIANCE] += variance
    acc[FOURTH] += fourth
    acc[SEEN] += seen
    acc[COUNT] += size


@njit(nogil=True, cache=True, fastmath=_FAST, forceinline=True)
def _score(x, items, rows, size, pending):
    """Write x.y of the buffered rows to ``pending[0]``."""
    for i in range(size):
        prefetch(items, rows[min(i + _AHEAD, size - 1)])
        y = items[np.uint64(rows[i])]
        s = x.dtype.type(0)
        for j in range(x.shape[0]):
            s += x[j] * y[j]
        pending[0, i] = s


@njit(nogil=True, cache=True)
def _read_cells(x, scores, width, cells, items, order, draws, stride, spend, work, pending, rows, acc):
    """Plan, then read items: the sample itself, or (stride > 0) every stride-th item to learn the variance.

    In the second case items have weight 1 / sqrt(probability), so that ``acc[VARIANCE]`` is the variance of
    the sample. Returns the curvature; the reference of ``plan`` is kept in ``pending[7, 0]``.
    """
    curvature = plan(scores, width, cells, spend, work, acc)
    base = acc[REF]
    size, first, last = 0, 0, 0
    step = max(stride, 1)
    for c in range(scores.shape[0]):
        tau, raw = work[0, c], width * cells[1, c]
        first, last = last, last + np.int64(cells[0, c])
        if stride == 0 and cells[2, c] >= tau:
            continue  # by its first key, no item of the cell is sampled: the most common case
        for a in range(first + (c % step if stride > 0 else 0), last, step):
            if stride == 0 and draws[0, a] >= tau:
                break
            p = min(tau * draws[1, a], 1.0)
            if stride > 0 and p == 1.0:
                continue
            rows[size] = order[a]
            pending[1, size] = scores[c]
            pending[2, size] = work[1, c]
            pending[3, size] = work[1, c] if raw <= CAP else 0.0
            pending[4, size] = min(raw, CAP)
            pending[5, size] = 1.0 / (p if stride == 0 else math.sqrt(p))
            pending[6, size] = 1.0 - p
            size += 1
            if size == rows.shape[0]:
                _score(x, items, rows, size, pending)
                _absorb(pending, size, base, curvature, acc)
                size = 0
    if size > 0:
        _score(x, items, rows, size, pending)
        _absorb(pending, size, base, curvature, acc)
    pending[7, 0] = base
    return curvature


@njit(nogil=True, cache=True)
def sample_rows(X, S, width, cells, items, order, draws, spend, out):
    """Estimate Z of each row of X (already times beta); a row of ``out`` is an accumulator, SUM the estimate.

    ``order`` lists the rows of ``items`` cell by cell, ``draws`` (2, m) their keys and boosts.
    """
    work = np.empty((4, cells.shape[1]))
    pending, rows = np.empty((8, _BUFFER)), np.empty(_BUFFER, np.int64)
    for i in range(X.shape[0]):
        acc = out[i]
        bend = _read_cells(
            X[i], S[i], width[i], cells, items, order, draws, 0, spend, work, pending, rows, acc
        )
        known, excess = 0.0, 0.0
        for c in range(cells.shape[1]):
            known += cells[0, c] * work[1, c]
            excess += cells[0, c] * (width[i] - min(width[i] * cells[1, c], CAP))
        shrink = math.exp(pending[7, 0] - acc[REF])
        acc[SUM] += shrink * (known + bend * excess)
        acc[MODEL] *= shrink**2


@njit(nogil=True, cache=True)
def learn_variance(X, S, width, cells, items, order, draws, stride, spend, out):
    """Write log(true variance / variance predicted by the model) for each row, or NaN if it has none."""
    work = np.empty((4, cells.shape[1]))
    pending, rows = np.empty((8, _BUFFER)), np.empty(_BUFFER, np.int64)
    acc = np.empty(SLOTS)
    for i in range(X.shape[0]):
        _read_cells(X[i], S[i], width[i], cells, items, order, draws, stride, spend, work, pending, rows, acc)
        out[i] = np.nan
        if acc[MODEL] > 0.0 and acc[VARIANCE] > 0.0:
            spread = math.log(acc[VARIANCE] * stride) + 2.0 * (acc[REF] - pending[7, 0])
            out[i] = spread - math.log(acc[MODEL])
