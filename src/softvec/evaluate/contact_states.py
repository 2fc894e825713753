"""What the observed states of the people someone met say about that person."""

from __future__ import annotations

import os
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
    number = dict(zip(seen.cells.persons, seen.cells.person.tolist()))
    place = np.array([number.get(name, -1) for name in met.nodes])
    source, target = place[met.source], place[met.target]
    known = (source >= 0) & (target >= 0)
    if not known.any():
        raise InputError("no contact joins two people of the vectors; pass the contacts that were embedded")
    n = int(seen.cells.person.max()) + 1
    W = sparse.coo_array((met.weight[known], (source[known], target[known])), shape=(n, n)).tocsr()
    W = sparse.csr_array(W + W.T)
    entries = np.maximum(np.diff(W.indptr), 1)
    scale = entries / np.maximum(np.asarray(W.sum(axis=1)).reshape(-1), 1e-300)
    return sparse.csr_array(sparse.diags_array(scale) @ W)


def states_of_contacts(seen: Observations, met: sparse.csr_array) -> NDArray[np.float64]:
    """Return, for each pair, the log odds of the infected share among the people met, and the person's own.

    A share of observations, with weights exp(-distance in windows / reach) and how often they met, for three
    reaches; drawn a little to the share of all observations. The pair's own state is left out. Shape (D, 3).
    """
    person, window = seen.cells.person, seen.cells.window
    n, T = met.shape[0], len(seen.cells.starts)
    rows = np.flatnonzero(seen.observed)
    places, state = (person[rows], window[rows]), seen.state[rows].astype(float)
    infected = sparse.csr_array((state, places), shape=(n, T))
    count = sparse.csr_array((np.ones(len(rows)), places), shape=(n, T))
    apart = np.abs(np.subtract.outer(np.arange(T), np.arange(T)))
    weights = sparse.csr_array(met + _OWN * sparse.eye_array(n))
    columns = []
    for reach in np.geomspace(1.0, max(T / 4, 1.0), 3):
        near = np.exp(-apart / reach)
        sick, all_seen = ((weights @ (part @ near))[person, window] for part in (infected, count))
        sick[rows] -= _OWN * state
        all_seen[rows] -= _OWN
        share = (sick + _PRIOR * state.mean()) / (all_seen + _PRIOR)
        columns.append(np.log(share / (1 - share)))
    return np.stack(columns, axis=1)
