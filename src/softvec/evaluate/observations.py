"""Observed states of people at the (person, time) pairs of an embedding of contacts, and what they say."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.affinity import Affinity, supra_adjacency
from softvec.core.checks import counted, is_number, number, recorded
from softvec.core.dates import duration, has_zone, shortest, to_dates
from softvec.core.errors import InputError, Option, guess
from softvec.names import Names
from softvec.read.frames import as_list, frame_columns, is_frame
from softvec.read.labels import row_of
from softvec.read.table import is_missing
from softvec.read.tables import read_table

if TYPE_CHECKING:
    from softvec.embedding import Embedding

Array = NDArray[Any]
_ROLES = {  # column titles, in lower case
    "person": ("person", "name", "node", "id", "person_id", "participant", "individual", "patient"),
    "time": ("time", "date", "t", "timestamp", "datetime", "day"),
    "state": ("state", "infected", "status", "result", "positive", "test"),
}
_LARGEST = 500_000_000  # maximum number of values in the vectors of every person in every window: 4 GB
_WORDS = {"true": 1.0, "false": 0.0, **dict.fromkeys(("na", "nan", "none", "null"), np.nan)}
_OWN = 5.0  # weight of a person's own states; of the people met it is 1 on average (benchmarks/epidemics.py)
_PRIOR = 0.1  # weight of the share of all observations
_SHRINKAGE = 0.5  # weight of the prediction from time alone, in the mean of a person's other states


@dataclass(frozen=True, eq=False)
class Observations:
    """(person, window) pairs, by time if they are every person in every window, and observed states."""

    persons: list[Any]  # of length D
    times: list[Any]
    person: NDArray[np.int64]  # (D,) number of the person
    window: NDArray[np.int64]  # (D,) number of the window, in order of time
    starts: Array  # of each window; dates as datetime64
    vectors: Array  # (D, d)
    # (D,) whether the person had a contact in the window; otherwise the vector is interpolated linearly
    # between the person's last and next one
    active: NDArray[np.bool_]
    observed: NDArray[np.bool_]  # (D,)
    state: NDArray[np.bool_]  # (D,) whether the person is infected, if observed


def match_observations(emb: Embedding, observations: Any, everyone: bool) -> Observations:
    """Return the pairs of ``emb`` with the observed states; see :func:`softvec.evaluate.predict_epidemic`."""
    persons, times = _pairs(emb)
    windows = _Windows(emb, times)
    first, window = np.unique(windows.moments(times), return_inverse=True)
    people: dict[Any, int] = {}
    person = np.array([people.setdefault(name, len(people)) for name in persons], dtype=np.int64)
    starts = shortest(first.astype("datetime64[us]")) if windows.dated else first
    vectors, active = np.asarray(emb.vectors), np.ones(len(person), bool)
    if everyone:
        named = np.array(times, dtype=object)[np.unique(window, return_index=True)[1]]
        person, window, vectors, active = _everyone(person, window, vectors)
        persons, times = [list(people)[i] for i in person.tolist()], named[window].tolist()
    slot = np.searchsorted(windows.starts, first)  # of each window with contacts, among all
    row_of_pair = dict(zip(zip(person.tolist(), slot[window].tolist()), range(len(person))))
    rows, infected = _matched(row_of_pair, Names(list(people)), windows, _triples(observations))
    observed, state = np.zeros((2, len(person)), dtype=bool)
    observed[rows], state[rows] = True, infected
    n_infected, n_healthy = int(infected.sum()), int((~infected).sum())
    if min(n_infected, n_healthy) < 2:
        raise InputError(
            f"{counted(n_infected, 'observation')} of infected and {n_healthy:,} of other states are usable; "
            "at least 2 of each are needed"
        )
    return Observations(persons, times, person, window, starts, vectors, active, observed, state)


def _everyone(person: Array, window: Array, vectors: Array) -> tuple[Array, Array, Array, Array]:
    """Return person, window, vector and activity of every person in every window, in order of time."""
    n, T = int(person.max()) + 1, int(window.max()) + 1
    if n * T * vectors.shape[1] > _LARGEST:
        raise InputError(
            f"{n:,} people in {T:,} windows are {n * T:,} vectors, too many for memory; pass ",
            Option("everyone", False),
            " for people with a contact in a window only, or embed with a longer window",
        )
    key = person * T + window  # rows by person, then window
    order = np.argsort(key)
    key = key[order]
    person, window = np.tile(np.arange(n), T), np.repeat(np.arange(T), n)
    wanted = person * T + window
    ends = np.searchsorted(key, T * np.arange(n + 1))  # of the rows of each person
    at = np.searchsorted(key, wanted, side="right")
    last, following = np.maximum(at - 1, ends[person]), np.minimum(at, ends[person + 1] - 1)
    gap = key[following] - key[last]
    share = np.divide(wanted - key[last], gap, out=np.zeros(n * T), where=gap > 0)[:, None]
    X = vectors[order]
    return person, window, (1 - share) * X[last] + share * X[following], key[last] == wanted


def _pairs(emb: Embedding) -> tuple[list[Any], list[Any]]:
    names = emb.names.to_list()
    if not names or not all(isinstance(name, tuple) and len(name) == 2 for name in names):
        raise InputError("the names of these vectors are not (person, time); embed contacts as temporal data")
    persons, times = zip(*names)
    return list(persons), list(times)


class _Windows:
    """Starts and ends of windows, as numbers; dates are microseconds since 1970, zoned ones in UTC."""

    def __init__(self, emb: Embedding, times: list[Any]):
        codes = emb.names.pair_codes()
        every = list(codes[1]) if codes is not None else list(set(times))  # windows without contacts too
        self.dated, self.zoned = to_dates(every) is not None, has_zone(every[0])
        starts: Array = np.sort(self.moments(every))
        options = recorded(emb, "data", "options")
        window, ends = options.get("window"), starts  # by default each time stamp is a window of its own
        if window is not None:
            length = duration if self.dated else partial(number, above=0)
            ends = starts + length("window", window)
        elif options.get("n_windows") is not None and len(starts) > 1:
            ends = np.append(starts[1:], starts[-1] + np.diff(starts).max())
        self.starts, self.ends = starts, ends

    def moments(self, times: list[Any]) -> Array:
        """Return times as numbers; an error names a time that is not of the kind of the contacts' times."""
        if self.dated:
            self._check_zones(times)
            dates = to_dates([t.isoformat() if hasattr(t, "isoformat") else str(t) for t in times])
            if dates is not None:
                return dates.astype(np.int64)
            wrong = next((t for t in times if to_dates([str(t)]) is None), times[0])
            raise InputError(
                f"the observations have the time {str(wrong)!r}; the contacts have dates, such as "
                "2024-03-01T09:00; use the same form"
            )
        try:
            values = np.array([float(t) for t in times])
        except (TypeError, ValueError):
            wrong = next(t for t in times if not is_number(t))
            raise InputError(
                f"the observations have the time {str(wrong)!r}; the contacts have numbers as times"
            ) from None
        if not np.isfinite(values).all():
            raise InputError("the observations have a time that is missing or infinite; drop or fill it")
        return values

    def _check_zones(self, times: list[Any]) -> None:
        other = [t for t in times if has_zone(t) != self.zoned]
        if other:
            ours, theirs = ("no time zone", "one") if self.zoned else ("a time zone", "none")
            raise InputError(
                f"{other[0]!s}: the times of the observations have {ours}, those of the contacts have "
                f"{theirs}; write both with a zone, such as 2024-03-01T09:00+01:00, or both without"
            )

    def find(self, moments: Array) -> Array:
        """Return the number of the window of each moment, -1 if there is none."""
        at = np.searchsorted(self.starts, moments, side="right") - 1
        inside = (at >= 0) & ((moments < self.ends[at]) | (moments == self.starts[at]))
        return np.where(inside, at, -1)


def _triples(observations: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """Return persons, times and states of a mapping, Series, frame or file."""
    if isinstance(observations, str | os.PathLike):
        table = read_table(Path(observations), "table of observations")
        return _columns(table, str(observations))
    if is_frame(observations):
        return _columns(frame_columns(observations), "the frame of observations")
    if hasattr(observations, "index") and hasattr(observations, "to_dict"):  # a Series
        observations = observations.to_dict()
    if not isinstance(observations, Mapping):
        raise InputError(
            f"observations are a {type(observations).__name__}; expected a mapping from (person, time) to "
            "state, or a table of person, time and state"
        )
    wrong = next((key for key in observations if not isinstance(key, tuple) or len(key) != 2), None)
    if wrong is not None:
        raise InputError(f"observations have the key {wrong!r}; expected (person, time)")
    persons, times = ([key[at] for key in observations] for at in (0, 1))
    return persons, times, list(observations.values())


def _columns(table: Mapping[Any, Any], where: str) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the columns of persons, times and states."""
    titles = {str(title).strip().lower(): title for title in reversed(list(table))}
    columns = []
    for role, words in _ROLES.items():
        match = next((titles[word] for word in words if word in titles), None)
        if match is None:
            raise InputError(
                f"{where} has the columns {', '.join(map(str, table))}; none is the {role}: expected the "
                "titles person, time and state"
            )
        columns.append(as_list(table[match]))
    persons, times, states = columns
    return persons, times, states


def _matched(
    row_of_pair: Mapping[tuple[int, int], int],
    people: Names,
    windows: _Windows,
    triples: tuple[list[Any], list[Any], list[Any]],
) -> tuple[Array, Array]:
    """Return the rows of the observations and their states; warn about those without a row."""
    who, when, states = triples
    if not who:
        raise InputError("no observations; expected rows of person, time and state")
    known, infected = known_states(states)
    at = np.flatnonzero(known)
    moments = windows.moments([when[k] for k in at.tolist()])
    keys = zip((_number_of(people, who[k]) for k in at.tolist()), windows.find(moments).tolist())
    rows = np.array([row_of_pair.get(key, -1) for key in keys], dtype=np.int64)
    missing = int((rows < 0).sum())
    if missing:
        k = int(at[np.argmin(rows)])
        text = (
            f"{missing:,} of {counted(len(rows), 'observation')} not used: there are no contacts of this "
            f"person, or at this time (first: {who[k]!r}, {str(when[k])!r})"
        )
        if missing == len(rows):
            raise InputError(f"{text}; check that persons and times are written as in the contacts")
        guess(text)
    used = rows >= 0
    return _latest(rows[used], moments[used], infected[at][used], [who[k] for k in at[used].tolist()])


def _number_of(people: Names, person: Any) -> int:
    """Return the number of a person, -1 if unknown; a table may have read the name "7" as an integer."""
    row = row_of(people, person)
    return row_of(people, str(person)) if row < 0 and isinstance(person, int) else row


def _latest(rows: Array, moments: Array, infected: Array, persons: list[Any]) -> tuple[Array, Array]:
    """Keep the last observation of each pair; warn if an earlier one differs."""
    order = np.lexsort((moments, rows))
    rows, moments, infected = rows[order], moments[order], infected[order]
    again = (rows[1:] == rows[:-1]) & (infected[1:] != infected[:-1])
    clash = np.flatnonzero(again & (moments[1:] == moments[:-1]))
    if len(clash):
        raise InputError(
            f"{persons[order[clash[0]]]!r} is observed as infected and as not infected at the same time; "
            "keep one of the two"
        )
    if again.any():
        guess(
            f"{counted(int(again.sum()), 'change')} of state within a window (first: "
            f"{persons[order[again.argmax()]]!r}); the last state in the window counts"
        )
    last = np.append(rows[1:] != rows[:-1], True) if len(rows) else np.empty(0, dtype=bool)
    return rows[last], infected[last]


def known_states(infected: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return which states are known, and the states; a value other than 0, 1 or missing is an error."""
    states = np.asarray(infected)
    if states.dtype == bool:
        return np.ones(states.shape, dtype=bool), states
    if states.dtype.kind in "OU":
        cells = [
            np.nan if is_missing(value) else _WORDS.get(str(value).strip().lower(), value)
            for value in states.ravel().tolist()
        ]
        wrong = next((value for value in cells if not is_number(value)), None)
        if wrong is not None:
            raise InputError(f"the state is {wrong!r}; expected 1 (infected), 0 (not) or nothing")
        states = np.array(cells, dtype=float).reshape(states.shape)
    values = states.astype(float)
    known = ~np.isnan(values)
    wrong_values = values[known & (values != 0) & (values != 1)]
    if len(wrong_values):
        raise InputError(
            f"infected holds {wrong_values[0]:g}; expected 1 (infected), 0 (not) or NaN (not observed); "
            "for states of an epidemic, pass states == 1"
        )
    if not known.any():
        raise InputError("infected holds no known state: all of its values are missing")
    return known, values == 1


# what the states of a person, and of the people met, say about that person


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
    row = dict(zip(seen.persons, seen.person.tolist()))
    place = np.array([row.get(name, -1) for name in met.nodes])
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
