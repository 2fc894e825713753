"""Counter-based random numbers: the k-th draw of a stream is a function of its seed and k.

SplitMix64 of ``seed + k * golden ratio``; any thread can make any draw.
"""

from __future__ import annotations

import numpy as np

from softvec.kernels._jit import njit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)


@njit(nogil=True, cache=True, inline="always")
def draw(seed, k):
    """Return the ``k``-th 64 random bits of the stream ``seed`` (both uint64)."""
    z = seed + (k + np.uint64(1)) * _GOLDEN
    z = (z ^ (z >> np.uint64(30))) * _MIX1
    z = (z ^ (z >> np.uint64(27))) * _MIX2
    return z ^ (z >> np.uint64(31))


@njit(nogil=True, cache=True, inline="always")
def uniform(seed, k):
    """Return the ``k``-th draw of the stream as a float64 in [0, 1)."""
    return np.float64(draw(seed, k) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
