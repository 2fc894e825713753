"""SIR epidemics on temporal graphs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.generators.seeds import RandomState, block_seeds
from softvec.core.errors import InputError

SUSCEPTIBLE, INFECTED, RECOVERED = 0, 1, 2


@dataclass(frozen=True)
class Epidemic:
    """The state of every node before the first snapshot and after each one.

    Attributes
    ----------
    states : ndarray of shape (n_steps + 1, n_nodes)
        int8: 0 susceptible, 1 infected, 2 recovered. Row 0 is the start, row t + 1 the state after snapshot
        t.
    seed_node : int
        The node that was infected first.
    """

    states: np.ndarray
    seed_node: int

    @property
    def counts(self) -> np.ndarray:
        """Number of susceptible, infected and recovered nodes over time, of shape (n_steps + 1, 3)."""
        return np.stack([(self.states == s).sum(axis=1) for s in (SUSCEPTIBLE, INFECTED, RECOVERED)], axis=1)


def sir(
    edges: np.ndarray,
    beta: float,
    mu: float,
    *,
    weights: np.ndarray | None = None,
    n_nodes: int | None = None,
    n_steps: int | None = None,
    seed_node: int | None = None,
    random_state: RandomState = None,
) -> Epidemic:
    """Run a susceptible-infected-recovered epidemic on a temporal graph.

    Snapshots follow one another; each is synchronous. A susceptible node in contact w times with a node that
    was infected before the snapshot catches the disease with probability ``1 - (1 - beta)^w``, from each
    such neighbour independently; nodes infected before the snapshot recover in it with probability ``mu``.

    Parameters
    ----------
    edges : ndarray of shape (m, 3)
        Integers ``t, i, j``: contact of i and j (either can infect the other) in snapshot t, counted from 0.
    beta, mu : float
        Probability of infection per contact and of recovery per snapshot.
    weights : ndarray of shape (m,), optional
        Number of contacts w of each row (default: 1).
    n_nodes, n_steps : int, optional
        Number of nodes and of snapshots; by default one more than the largest number in ``edges``.
    seed_node : int, optional
        The first infected node; by default one at random among those that have contacts.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    Epidemic
        ``states`` over time and the ``seed_node``.

    Examples
    --------
    >>> from experiments.generators import sir
    >>> run = sir([[0, 0, 1], [1, 1, 2]], beta=1.0, mu=0.0, seed_node=0)
    >>> run.states.tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    from experiments.generators.kernels import sir_states

    edges = np.asarray(edges)
    if edges.ndim != 2 or edges.shape[1] != 3 or not np.issubdtype(edges.dtype, np.integer):
        raise InputError(f"edges must be integers of shape (m, 3): t, i, j; got {edges.dtype} {edges.shape}")
    if len(edges) == 0 or edges.min() < 0:
        raise InputError("edges must hold at least one contact and no negative number")
    if not (0 <= beta <= 1 and 0 <= mu <= 1):
        raise InputError(f"beta is {beta} and mu is {mu}; both are probabilities between 0 and 1")
    n = _size("n_nodes", n_nodes, int(edges[:, 1:].max()) + 1)
    steps = _size("n_steps", n_steps, int(edges[:, 0].max()) + 1)
    w = np.ones(len(edges)) if weights is None else np.asarray(weights, dtype=np.float64)
    if w.shape != (len(edges),) or not (w >= 0).all():
        raise InputError(f"weights must be {len(edges)} non-negative numbers, one per contact")

    rng = np.random.default_rng(random_state)
    if seed_node is None:
        seed_node = int(rng.choice(np.unique(edges[:, 1:])))
    elif not 0 <= seed_node < n:
        raise InputError(f"seed_node is {seed_node}; nodes are numbered 0 to {n - 1}")
    order = np.argsort(edges[:, 0], kind="stable")
    starts = np.searchsorted(edges[order, 0], np.arange(steps + 1)).astype(np.int64)
    chances = 1.0 - (1.0 - beta) ** w[order]
    states = np.zeros((steps + 1, n), np.int8)
    states[0, seed_node] = INFECTED
    contacts = np.ascontiguousarray(edges[order, 1:], dtype=np.int64)
    sir_states(block_seeds(rng, 1)[0], contacts, starts, chances, float(mu), states)
    return Epidemic(states, int(seed_node))


def _size(name: str, given: int | None, needed: int) -> int:
    if given is None:
        return needed
    if given < needed:
        raise InputError(f"{name} is {given} but edges need at least {needed}")
    return int(given)
