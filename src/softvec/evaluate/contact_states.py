"""What a person's other observed states, and those of the people met, say about that person."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.affinity import Affinity, supra_adjacency
from softvec.core.errors import InputError
from softvec.evaluate.observations import Observations

Array = NDArray[Any]
_OWN = 5.0  # weight of a person's own states; of the people met it is 1 on average (benchmarks/epidemics.py)
_PRIOR = 0.1  # weight of the share of all observations
_SHRINKAGE = 0.5  # weight of the prediction from time alone, in the mean of a person's other states


def contact_matrix(contacts: Any, seen: Observations) -> sparse.csr_array:
    """Return how often people met, numbered as in the observations; each row has mean 1 over its entries.

    Parameters
    ----------
    contacts : path, frame, iterable of (t, i, j) or Affinity
    """
    if isinstance(contacts, str | os.PathLike):
        from softvec.affinity import read

        contacts = read(contacts, kind="temporal")
    elif not isinstance(contacts, Affinity):
        contacts = supra_adjacency(contacts)
    met = contacts.contacts
    if met is None:
        raise InputError(f"contacts is {contacts.kind} data; expected contacts in time (t, i, j)")
    number = dict(zip(seen.persons, seen.person.tolist()))
    place = np.array([number.get(name, -1) for name in met.nodes])
    source, target = place[met.source], place[met.target]
    known = (source >= 0) & (target >= 0)
    if not known.any():
        raise InputError("no contact joins two people of the vectors; pass the contacts that were embedded")
    n = int(seen.person.max()) + 1
    W = sparse.coo_array((met.weight[known], (source[known], target[known])), shape=(n, n)).tocsr()
    W = sparse.csr_array(W + W.T)
    entries = np.maximum(np.diff(W.indptr), 1)
    scale = entries / np.maximum(np.asarray(W.sum(axis=1)).reshape(-1), 1e-300)
    return sparse.csr_array(sparse.diags_array(scale) @ W)


def states_of_contacts(seen: Observations, met: sparse.csr_array) -> Array:
    """Return, for each pair, the log odds of the infected share among the people met, and the person's own.

    The share is drawn a little to the share of all observations. Shape (D, 3).
    """
    state = seen.state[seen.observed].astype(float)
    prior = _PRIOR * state.mean()
    shares = [(sick + prior) / (seen_ + _PRIOR) for sick, seen_ in _nearby(seen, state, met)]
    return np.stack([np.log(share / (1 - share)) for share in shares], axis=1)


def own_states(seen: Observations, surprise: Array) -> Array:
    """Return the mean surprise (D, 3) of the person's other observations, drawn to 0."""
    return np.stack([value / (count + _SHRINKAGE) for value, count in _nearby(seen, surprise)], axis=1)


def _nearby(
    seen: Observations, values: Array, met: sparse.csr_array | None = None
) -> Iterator[tuple[Array, Array]]:
    """Yield sums (D,) of the values of observations near each pair, and of weights, for three reaches.

    Weights are exp(-distance in windows / reach) and how often two people met; without ``met`` only the
    person's own observations count. The observation of the pair itself is left out.
    """
    person, window, T = seen.person, seen.window, len(seen.starts)
    rows = np.flatnonzero(seen.observed)
    shape = int(person.max()) + 1, T
    parts = [
        sparse.csr_array((part, (person[rows], window[rows])), shape=shape)
        for part in (values, np.ones(len(rows)))
    ]
    own, people = (1.0, None) if met is None else (_OWN, met + _OWN * sparse.eye_array(len(met.indptr) - 1))
    apart = np.abs(np.subtract.outer(np.arange(T), np.arange(T)))
    for reach in np.geomspace(1.0, max(T / 4, 1.0), 3):
        near = [part @ np.exp(-apart / reach) for part in parts]  # (people, T)
        value, count = ((part if people is None else people @ part)[person, window] for part in near)
        value[rows] -= own * values
        count[rows] -= own
        yield value, count
