"""The normaliser with exact terms for the neighbours of each row (:func:`reference.edges_term`).

One pass over the rows: scores of the neighbours, sums over them, coefficients, and the sum of their vectors,
which are still in cache.
"""

from __future__ import annotations

import math

import numpy as np

from softvec.kernels._intrinsics import add_weighted_rows, load, prefetch
from softvec.kernels._jit import njit
from softvec.kernels.expsum import LOG2E, exp2_down

_FAST = {"contract", "reassoc", "nsz", "arcp", "nnan"}  # as in expsum.py, for the maximum
_helper = njit(nogil=True, cache=True, fastmath=_FAST, forceinline=True)
_APART, _AHEAD = 64, 16  # as in compiled.py


@_helper
def _scores(near, Y, x, first, last, out):
    columns, total = near.columns, near.columns.shape[0]
    for p in range(first, last):
        if p + _AHEAD < total:
            prefetch(Y, columns[p + _AHEAD])
        s, y = x.dtype.type(0), Y[columns[p]]
        for j in range(x.shape[0]):
            s += x[j] * load(y[j])
        out[p] = s


@_helper
def _near_sums(near, items, means, scores, first, last, sums):
    """Write the sums of v, 1, v t and v t^2 over the near items of each class; return the highest score."""
    as_x, peak = scores.dtype.type, scores.dtype.type(-math.inf)
    for p in range(first, last):
        peak = max(peak, scores[p])
    if items.classes.shape[0] == 0 and items.weight.shape[0] == 0:
        mean, one, two = as_x(means[0]), as_x(0), as_x(0)
        for p in range(first, last):
            t = scores[p] - mean
            one += t
            two += t * t
        sums[0, 0], sums[0, 1], sums[0, 2], sums[0, 3] = last - first, last - first, one, two
        return peak
    sums[:] = 0
    for p in range(first, last):
        j = near.columns[p]
        c = items.classes[j] if items.classes.shape[0] > 0 else 0
        v = items.weight[j] if items.weight.shape[0] > 0 else 1.0
        t = scores[p] - means[c]
        sums[c, 0] += v
        sums[c, 1] += 1.0
        sums[c, 2] += v * t
        sums[c, 3] += v * t * t
    return peak


@_helper
def _others(classes, means, squares, sums, beta, table):
    """Fill (log of the term, 1 / weight, beta / divisor, delta) of the items of each class not near."""
    top = -math.inf
    for c in range(means.shape[0]):
        weight, count = classes.weight[c], classes.number[c]
        left = count - sums[c, 1]
        table[c, 0], table[c, 1], table[c, 2], table[c, 3] = -math.inf, 0.0, 0.0, 0.0
        if left > 0.5:
            rest = weight - sums[c, 0]
            delta = sums[c, 2] / rest
            scatter = weight * (count - 1) / count * squares[c] - sums[c, 3] - sums[c, 2] * delta
            table[c, 0], table[c, 1], table[c, 3] = (
                math.log(rest) + beta * (means[c] - delta),
                1 / rest,
                delta,
            )
            if left > 1.5 and scatter > 0:
                table[c, 2] = beta * left / (rest * (left - 1))
                table[c, 0] += 0.5 * beta * table[c, 2] * scatter
        top = max(top, table[c, 0])
    return top


@_helper
def _partition(near, items, table, first, last, scores, peak, top, beta, w):
    """Write exp(beta (score - peak)) of the near items; return Z exp(-top) and exp(beta peak - top)."""
    as_x = scores.dtype.type
    factor, part, Z = as_x(beta * LOG2E), as_x(0), 0.0
    for p in range(first, last):
        w[p - first] = exp2_down(factor * (scores[p] - peak))
    if items.weight.shape[0] > 0:
        for p in range(first, last):
            w[p - first] *= as_x(items.weight[near.columns[p]])
    for p in range(last - first):
        part += w[p]
    for c in range(table.shape[0]):
        table[c, 0] = math.exp(table[c, 0] - top)
        Z += table[c, 0]
    scale = math.exp(beta * peak - top) if last > first else 0.0
    return Z + part * scale, scale


@_helper
def _coefficients(near, items, means, table, first, last, own, w, e):
    """Turn scores into coefficients of the near items; ``table[:, 0]`` is rho r, ``own`` times w is rho p."""
    as_x = e.dtype.type
    one = items.classes.shape[0] == 0 and items.weight.shape[0] == 0
    slope = table[0, 0] * table[0, 2]
    base = table[0, 0] * table[0, 1] - slope * (means[0] - table[0, 3])
    a, b = as_x(base), as_x(slope)
    if one:
        for p in range(first, last):
            e[p] = own * w[p - first] - (a + b * e[p])
        return
    for p in range(first, last):
        j = near.columns[p]
        c = items.classes[j] if items.classes.shape[0] > 0 else 0
        v = items.weight[j] if items.weight.shape[0] > 0 else 1.0
        far = table[c, 0] * (table[c, 1] + table[c, 2] * (e[p] - means[c] + table[c, 3]))
        e[p] = own * w[p - first] - as_x(v * far)


@_helper
def _pull(values, first, last, scores):
    pull = scores.dtype.type(0)
    for p in range(first, last):
        pull += values[p] * scores[p]
    return pull


@_helper
def _finish(classes, i, H, sums, means, table, acc, out):
    as_x = acc.dtype.type
    g = out.gradient[i]
    for j in range(acc.shape[0]):
        g[j] = acc[j]
    for c in range(means.shape[0]):
        r, slope, delta = table[c, 0], table[c, 0] * table[c, 2], table[c, 3]
        of_mean = r + sums[c, 0] * r * table[c, 1] + slope * (sums[c, 2] + delta * sums[c, 0])
        whole = classes.weight[c] * (classes.number[c] - 1) / classes.number[c]
        m, h = as_x(of_mean), as_x(slope * whole)
        for j in range(acc.shape[0]):
            g[j] += m * classes.mu[c, j] + h * H[c, i, j]
        if out.pulls.shape[0] > 0:
            out.pulls[i, c, 0], out.pulls[i, c, 1] = r * table[c, 1] - slope * (means[c] - delta), slope


@njit(nogil=True, cache=True, fastmath=_FAST)
def edges_term(near, items, classes, X, H, rho, beta, out):
    (b, d), k, as_x = X.shape, classes.mu.shape[0], X.dtype.type
    acc = np.empty(d + 2 * _APART, X.dtype)[_APART:-_APART]
    means, squares = np.empty(k), np.empty(k)
    sums, table = np.empty((k, 4)), np.empty((k, 4))
    longest = 0
    for i in range(b):
        longest = max(longest, near.ends[i + 1] - near.ends[i])
    w, e, one = np.empty(longest, X.dtype), out.coefficients, np.ones(1, X.dtype)
    for i in range(b):
        x, first, last = X[i], near.ends[i], near.ends[i + 1]
        for c in range(k):
            a, q = as_x(0), as_x(0)
            for j in range(d):
                a += x[j] * classes.mu[c, j]
                q += x[j] * H[c, i, j]
            means[c], squares[c] = a, q
        _scores(near, items.Y, x, first, last, e)
        peak = _near_sums(near, items, means, e, first, last, sums)
        top = _others(classes, means, squares, sums, beta, table)
        top = max(top, beta * peak)
        Z, scale = _partition(near, items, table, first, last, e, peak, top, beta, w)
        out.stats[i, 0], out.stats[i, 1] = top + math.log(Z), 0.0
        for c in range(k):
            table[c, 0] *= rho[i] / Z
        if near.values.shape[0] > 0:
            out.stats[i, 1] = _pull(near.values, first, last, e)
        _coefficients(near, items, means, table, first, last, as_x(scale * rho[i] / Z), w, e)
        if near.values.shape[0] > 0:
            for p in range(first, last):
                e[p] -= near.values[p]
        add_weighted_rows(items.Y, near.columns, first, last, 0, acc, e, 1, one, 0, 0)
        _finish(classes, i, H, sums, means, table, acc, out)
