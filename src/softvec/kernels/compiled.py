"""The hot loops, in Numba. Names and signatures are those of :mod:`softvec.kernels.reference`.

Every kernel works on one block of rows with the GIL released; the caller provides the threads
(:mod:`softvec.core.threads`). None uses ``parallel=True``, which triples compile time and ties the result to
Numba's own pool. Reductions may be reordered (``reassoc``), so a sum has the same bits on the same
machine for any number of threads, but not on different processors.
"""

from __future__ import annotations

import math

import numpy as np

from softvec.kernels._intrinsics import add_rows, add_weighted_rows, load, prefetch, store
from softvec.kernels._jit import njit
from softvec.kernels.edges import edges_term
from softvec.kernels.expsum import add_exponentials, nearest
from softvec.kernels.products import multiply, second_moments

__all__ = [
    "add_exponentials",
    "ball_step",
    "edges_term",
    "fused_step",
    "gather",
    "gather_columns",
    "mixture_log_z",
    "mixture_term",
    "move_groups",
    "multiply",
    "nearest",
    "second_moments",
    "sphere_step",
    "to_half",
    "unit_rows",
]

_FAST = {"contract", "reassoc", "nsz", "arcp"}
# Always inlined: otherwise a process that compiles a helper would call its own build, one that loads the
# cache would call the cached build, and the two differ in the last bit.
_helper = njit(nogil=True, cache=True, fastmath=_FAST, forceinline=True)
# Padding around the scratch of a row: for arrays that are close together, compiled code takes another loop,
# whose sums differ in the last bit.
_APART = 64
_SHORT = 1e-12  # squared length below which a row has no direction
_AHEAD = 16  # neighbours between a prefetch and its use; no difference from 8 to 32 at n = 10^6, d = 128


@_helper
def _finish_row(acc, i, lo, row_scale, add, out):
    s = row_scale[i] if row_scale.shape[0] > 0 else row_scale.dtype.type(1)
    if add.shape[0] > 0:
        for j in range(acc.shape[0]):
            store(out, i - lo, j, s * acc[j] + load(add[i - lo, j]))
    else:
        for j in range(acc.shape[0]):
            store(out, i - lo, j, s * acc[j])


@njit(nogil=True, cache=True, fastmath=_FAST)
def _gather_plain(indptr, indices, row_scale, X, add, out, lo, hi):
    acc = np.empty(X.shape[1] + 2 * _APART, dtype=row_scale.dtype)[_APART:-_APART]
    for i in range(lo, hi):
        add_rows(X, indices, indptr[i], indptr[i + 1], _AHEAD, acc, 0)
        _finish_row(acc, i, lo, row_scale, add, out)


@njit(nogil=True, cache=True, fastmath=_FAST)
def _gather_weighted(indptr, indices, values, col_scale, row_scale, X, add, out, lo, hi):
    # missing values or scales are replaced by a single 1, read with step 0
    step, scale_step = min(values.shape[0], 1), min(col_scale.shape[0], 1)
    w = values if step else np.ones(1, dtype=values.dtype)
    c = col_scale if scale_step else np.ones(1, dtype=col_scale.dtype)
    acc = np.empty(X.shape[1] + 2 * _APART, dtype=row_scale.dtype)[_APART:-_APART]
    for i in range(lo, hi):
        add_weighted_rows(X, indices, indptr[i], indptr[i + 1], _AHEAD, acc, w, step, c, scale_step, 0)
        _finish_row(acc, i, lo, row_scale, add, out)


# Two kernels behind one name, here and for fused_step: a process compiles only the one it uses.
def gather(indptr, indices, values, col_scale, row_scale, X, add, out, lo, hi):
    if len(values) or len(col_scale):
        _gather_weighted(indptr, indices, values, col_scale, row_scale, X, add, out, lo, hi)
    else:
        _gather_plain(indptr, indices, row_scale, X, add, out, lo, hi)


@_helper
def _prefetch_row(X, indices, first, last):
    # the sum itself prefetches only while it works on the first columns
    for p in range(first + _AHEAD, min(last + _AHEAD, indices.shape[0])):
        prefetch(X, indices[p])


@njit(nogil=True, cache=True, fastmath=_FAST)
def _columns_plain(indptr, indices, X, begin, out, lo, hi):
    for i in range(lo, hi):
        if begin > 0:
            _prefetch_row(X, indices, indptr[i], indptr[i + 1])
        add_rows(X, indices, indptr[i], indptr[i + 1], _AHEAD, out[i - lo], begin)


@njit(nogil=True, cache=True, fastmath=_FAST)
def _columns_weighted(indptr, indices, values, col_scale, X, begin, out, lo, hi):
    step, scale_step = min(values.shape[0], 1), min(col_scale.shape[0], 1)
    w = values if step else np.ones(1, dtype=values.dtype)
    c = col_scale if scale_step else np.ones(1, dtype=col_scale.dtype)
    for i in range(lo, hi):
        start, stop = indptr[i], indptr[i + 1]
        if begin > 0:
            _prefetch_row(X, indices, start, stop)
        add_weighted_rows(X, indices, start, stop, _AHEAD, out[i - lo], w, step, c, scale_step, begin)


def gather_columns(indptr, indices, values, col_scale, X, begin, out, lo, hi):
    if len(values) or len(col_scale):
        _columns_weighted(indptr, indices, values, col_scale, X, begin, out, lo, hi)
    else:
        _columns_plain(indptr, indices, X, begin, out, lo, hi)


@njit(nogil=True, cache=True, fastmath=_FAST)
def unit_rows(indptr, indices, row_scale, X, centre, weight, length, previous, out, total):
    # one pass over a row, which stays in the first cache
    d, one = X.shape[1], centre.dtype.type(1)
    row = np.empty(d + 2 * _APART, dtype=centre.dtype)[_APART:-_APART]
    for i in range(indptr.shape[0] - 1):
        add_rows(X, indices, indptr[i], indptr[i + 1], _AHEAD, row, 0)
        share = row_scale[i]
        square = centre.dtype.type(0)
        for j in range(d):
            value = share * row[j] - centre[j]
            row[j] = value
            square += value * value
        scale = centre.dtype.type(0)
        if square > _SHORT:
            scale = one / math.sqrt(square)
            if previous.shape[0] > 0:
                square = centre.dtype.type(0)
                for j in range(d):
                    row[j] = scale * row[j] + load(previous[i, j])
                    square += row[j] * row[j]
                scale = one / math.sqrt(max(square, centre.dtype.type(_SHORT)))
        if length.shape[0] > 0:
            scale *= length[i]
        w = weight[i]
        for j in range(d):
            value = scale * row[j]
            store(out, i, j, value)
            total[j] += w * value


@_helper
def _responsibilities(x, i, H, mu, log_pi, beta, r):
    # Eq. main in log space: r becomes the softmax of the bracket, the return value its logsumexp
    k, d = log_pi.shape[0], x.shape[0]
    top = -np.inf
    for c in range(k):
        a = x.dtype.type(0)
        q = x.dtype.type(0)
        for j in range(d):
            a += x[j] * mu[c, j]
            q += x[j] * H[c, i, j]
        r[c] = log_pi[c] + beta * a + 0.5 * beta * beta * q
        top = max(top, r[c])
    total = 0.0
    for c in range(k):
        r[c] = math.exp(r[c] - top)
        total += r[c]
    for c in range(k):
        r[c] /= total
    return top + math.log(total)


@njit(nogil=True, cache=True, fastmath=_FAST)
def mixture_term(X, H, mu, log_pi, rho, beta, out, log_z, r):
    d = X.shape[1]
    as_x = X.dtype.type
    for i in range(X.shape[0]):
        log_z[i] = _responsibilities(X[i], i, H, mu, log_pi, beta, r[i])
        for j in range(d):
            out[i, j] = 0
        for c in range(log_pi.shape[0]):
            w = as_x(rho[i] * r[i, c])
            wb = as_x(rho[i] * r[i, c] * beta)
            for j in range(d):
                out[i, j] += w * mu[c, j] + wb * H[c, i, j]


@njit(nogil=True, cache=True, fastmath=_FAST)
def mixture_log_z(X, H, mu, log_pi, beta, log_z):
    r = np.empty(log_pi.shape[0])
    for i in range(X.shape[0]):
        log_z[i] = _responsibilities(X[i], i, H, mu, log_pi, beta, r)


@_helper
def _products(x, g):
    dot, square = x.dtype.type(0), x.dtype.type(0)
    for j in range(x.shape[0]):
        dot += g[j] * x[j]
        square += x[j] * x[j]
    return dot, square


@_helper
def _move(x, i, g, dot, square, eta, copy):
    """Algorithm 1, inner loop: step against the tangent part of g; return the norm of that part.

    The tangent part is orthogonal to x, so the new length follows from the old one, and one pass moves,
    normalises and copies. A zero gradient leaves x unchanged.
    """
    as_x, d = x.dtype.type, x.shape[0]
    along, norm = dot / square, as_x(0)
    for j in range(d):
        g[j] -= along * x[j]
        norm += g[j] * g[j]
    norm = math.sqrt(norm)
    keep, step = as_x(1), as_x(0)
    if norm > 1e-15:
        shorter = math.sqrt(1.0 - eta * eta)
        length = math.sqrt(shorter * shorter * square + eta * eta)
        keep, step = as_x(shorter / length), as_x(eta / (norm * length))
    if copy.shape[0] > 0:
        for j in range(d):
            x[j] = keep * x[j] - step * g[j]
            store(copy, i, j, x[j])
    else:
        for j in range(d):
            x[j] = keep * x[j] - step * g[j]
    return norm


@njit(nogil=True, cache=True, fastmath=_FAST)
def sphere_step(X, g, eta, copy):
    for i in range(X.shape[0]):
        dot, square = _products(X[i], g[i])
        _move(X[i], i, g[i], dot, square, eta, copy)


@njit(nogil=True, cache=True, fastmath=_FAST)
def ball_step(X, g, eta, copy):
    d = X.shape[1]
    as_x = X.dtype.type
    for i in range(X.shape[0]):
        norm = as_x(0)
        for j in range(d):
            norm += g[i, j] * g[i, j]
        if norm > 1e-30:
            step = as_x(eta / math.sqrt(norm))
            length = as_x(0)
            for j in range(d):
                X[i, j] -= step * g[i, j]
                length += X[i, j] * X[i, j]
            if length > 1.0:
                scale = as_x(1.0 / math.sqrt(length))
                for j in range(d):
                    X[i, j] *= scale
        if copy.shape[0] > 0:
            for j in range(d):
                store(copy, i, j, X[i, j])


@_helper
def _gradient_one_class(x, i, G, H, C, anchors, log_pi, rho, beta, g, stats):
    # log Z, attraction and gradient of a row in one pass: halves the time of a step at d = 32
    as_x = x.dtype.type
    rho_x, rho_beta = as_x(rho), as_x(rho * beta)
    mean, quadratic, pull = as_x(0), as_x(0), as_x(0)
    dot, square = as_x(0), as_x(0)
    for j in range(x.shape[0]):
        x_j, h, m, G_j = x[j], H[0, i, j], anchors[0, j], G[i, j]
        g_j = rho_x * (anchors[1, j] + m) + rho_beta * h + anchors[2, j] - G_j
        mean += x_j * m
        quadratic += x_j * h
        pull += x_j * G_j
        dot += x_j * g_j
        square += x_j * x_j
        g[j] = g_j
    if C.shape[0] > 0:
        for j in range(x.shape[0]):
            g[j] += C[i, j]
            dot += x[j] * C[i, j]
    stats[i, 0] = log_pi[0] + beta * mean + 0.5 * beta * beta * quadratic
    stats[i, 1] = pull
    return dot, square


@_helper
def _gradient(x, i, G, H, C, anchors, log_pi, rho, beta, r, g, stats):
    d, k = x.shape[0], log_pi.shape[0]
    as_x = x.dtype.type
    stats[i, 0] = _responsibilities(x, i, H, anchors, log_pi, beta, r)
    pull, rho_x = as_x(0), as_x(rho)
    for j in range(d):
        pull += x[j] * G[i, j]
        g[j] = rho_x * anchors[k, j] + anchors[k + 1, j] - G[i, j]
    stats[i, 1] = pull
    for c in range(k):  # Eq. grad, third term
        w, wb = as_x(rho * r[c]), as_x(rho * r[c] * beta)
        for j in range(d):
            g[j] += w * anchors[c, j] + wb * H[c, i, j]
    if C.shape[0] > 0:
        for j in range(d):
            g[j] += C[i, j]


@njit(nogil=True, cache=True, fastmath=_FAST)
def _step_one_class(X, G, H, C, anchors, log_pi, rho, params, copy, stats):
    g = np.empty(X.shape[1] + 2 * _APART, dtype=X.dtype)[_APART:-_APART]
    for i in range(X.shape[0]):
        x = X[i]
        dot, square = _gradient_one_class(x, i, G, H, C, anchors, log_pi, rho[i], params[0], g, stats)
        stats[i, 2] = _move(x, i, g, dot, square, params[1], copy)


@njit(nogil=True, cache=True, fastmath=_FAST)
def _step_classes(X, G, H, C, anchors, log_pi, rho, params, copy, stats):
    g = np.empty(X.shape[1] + 2 * _APART, dtype=X.dtype)[_APART:-_APART]
    r = np.empty(log_pi.shape[0], dtype=np.float64)
    for i in range(X.shape[0]):
        x = X[i]
        _gradient(x, i, G, H, C, anchors, log_pi, rho[i], params[0], r, g, stats)
        dot, square = _products(x, g)
        stats[i, 2] = _move(x, i, g, dot, square, params[1], copy)


def fused_step(X, G, H, C, anchors, log_pi, rho, params, copy, stats):
    step = _step_one_class if len(log_pi) == 1 else _step_classes
    step(X, G, H, C, anchors, log_pi, rho, params, copy, stats)


@njit(nogil=True, cache=True, fastmath=_FAST)
def to_half(X, out):
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            store(out, i, j, X[i, j])


@njit(nogil=True, cache=True)
def move_groups(W, groups, max_sweeps):
    n = W.shape[0]
    degree = np.zeros(n, dtype=W.dtype)
    volume = np.zeros(n, dtype=W.dtype)
    inside = np.empty(n, dtype=W.dtype)
    total = W.dtype.type(0)
    for i in range(n):
        for j in range(n):
            degree[i] += W[i, j]
        volume[groups[i]] += degree[i]
        total += degree[i]
    for _ in range(max_sweeps):
        moved = False
        for i in range(n):
            own = groups[i]
            volume[own] -= degree[i]
            for c in range(n):
                inside[c] = -degree[i] * volume[c] / total
            for j in range(n):
                inside[groups[j]] += W[i, j]
            inside[own] -= W[i, i]
            best = own
            for c in range(n):
                if inside[c] > inside[best]:
                    best = c
            if not inside[best] > inside[own] + 1e-12 * total:
                best = own
            volume[best] += degree[i]
            if best != own:
                groups[i] = best
                moved = True
        if not moved:
            return
