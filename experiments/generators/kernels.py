"""SIR epidemics on a sequence of weighted contacts."""

from __future__ import annotations

import numpy as np

from experiments.generators.random import uniform
from softvec.kernels._jit import njit

SUSCEPTIBLE, INFECTED, RECOVERED = 0, 1, 2


@njit(nogil=True, cache=True)
def sir_states(seed, contacts, starts, chances, recovery, states):
    """Fill ``states[1:]`` from ``states[0]``, one row per snapshot.

    ``contacts[starts[t]:starts[t + 1]]`` are the pairs of snapshot t, ``chances`` their infection
    probabilities. Updates are synchronous: only nodes infected before a snapshot can infect or recover in it.
    """
    n = states.shape[1]
    k = np.uint64(0)
    for t in range(states.shape[0] - 1):
        before, after = states[t], states[t + 1]
        for i in range(n):
            after[i] = before[i]
            if before[i] == INFECTED:
                if uniform(seed, k) < recovery:
                    after[i] = RECOVERED
                k += np.uint64(1)
        for e in range(starts[t], starts[t + 1]):
            for side in range(2):
                source, target = contacts[e, side], contacts[e, 1 - side]
                if before[source] == INFECTED and before[target] == SUSCEPTIBLE:
                    if uniform(seed, k) < chances[e]:
                        after[target] = INFECTED
                    k += np.uint64(1)
