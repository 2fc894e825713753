"""Match observed states of people to the (person, time) pairs of an embedding of contacts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softvec.core import checks
from softvec.core.checks import counted, is_number, recorded
from softvec.core.dates import duration, shortest, to_dates
from softvec.core.errors import InputError, Option, guess
from softvec.core.untrusted import reading
from softvec.names import Names
from softvec.read.frames import as_list
from softvec.read.labels import row_of
from softvec.read.streams import text_lines

if TYPE_CHECKING:
    from softvec.embedding import Embedding

Array = NDArray[Any]
_ROLES = {  # column titles, in lower case
    "person": ("person", "name", "node", "id", "person_id", "participant", "individual", "patient"),
    "time": ("time", "date", "t", "timestamp", "datetime", "day"),
    "state": ("state", "infected", "status", "result", "positive", "test"),
}
_MISSING = ("", "na", "nan", "none", "null")
_LARGEST = 500_000_000  # maximum number of values in the vectors of every person in every window: 4 GB
_WORDS = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class Cells:
    """(person, window) pairs: those of an embedding, or every person in every window.

    Attributes
    ----------
    persons, times : list of length D
    person, window : ndarray of shape (D,)
        Numbers of the person and of the window, in order of time.
    starts : ndarray
        Start of each window; dates as datetime64.
    vectors : ndarray of shape (D, d)
    active : ndarray of bool of shape (D,)
        Whether the person had a contact in the window; otherwise the vector is interpolated linearly between
        the person's last and next one.
    """

    persons: list[Any]
    times: list[Any]
    person: NDArray[np.int64]
    window: NDArray[np.int64]
    starts: Array
    vectors: Array
    active: NDArray[np.bool_]


@dataclass(frozen=True)
class Observations:
    """Cells, with whether their state is observed, and whether it is infected."""

    cells: Cells
    observed: NDArray[np.bool_]
    state: NDArray[np.bool_]


def match_observations(emb: Embedding, observations: Any, everyone: bool) -> Observations:
    """Return the cells of ``emb`` with the observed states; see :func:`softvec.evaluate.predict_epidemic`."""
    persons, times = _pairs(emb)
    windows = _Windows.of(emb, times)
    moments = windows.moments(times)
    first, window = np.unique(moments, return_inverse=True)
    numbers: dict[Any, int] = {}
    person = np.array([numbers.setdefault(name, len(numbers)) for name in persons], dtype=np.int64)
    starts = shortest(first.astype("datetime64[us]")) if windows.dated else first
    cells = Cells(persons, times, person, window, starts, np.asarray(emb.vectors), np.ones(len(person), bool))
    named = list(np.array(times, dtype=object)[np.unique(window, return_index=True)[1]])
    if everyone:
        cells = _every_cell(cells, list(numbers), named)
    observed, state = np.zeros((2, len(cells.person)), dtype=bool)
    if _one_each(observations, len(emb)):
        rows = np.searchsorted(_keys(cells), window * len(numbers) + person) if everyone else slice(None)
        known, values = known_states(observations)
        observed[rows], state[rows] = known, known & values
    else:
        slot = np.searchsorted(windows.starts, first)  # of each window with contacts, among all
        rows, infected = _matched(cells, Names(list(numbers)), windows, slot, _triples(observations))
        observed[rows], state[rows] = True, infected
    n_infected = int(state.sum())
    n_healthy = int(observed.sum()) - n_infected
    if min(n_infected, n_healthy) < 2:
        raise InputError(
            f"{counted(n_infected, 'observation')} of infected and {n_healthy:,} of other states are usable; "
            "at least 2 of each are needed"
        )
    return Observations(cells, observed, state)


def _keys(cells: Cells) -> Array:
    """Return one number for each cell, ordered by window, then by person."""
    keys: Array = cells.window * (cells.person.max() + 1) + cells.person
    return keys


def _every_cell(cells: Cells, people: list[Any], starts: list[Any]) -> Cells:
    """Return the cells of every person in every window, in order of time."""
    n, T = len(people), len(starts)
    if n * T * cells.vectors.shape[1] > _LARGEST:
        raise InputError(
            f"{n:,} people in {T:,} windows are {n * T:,} vectors, too many for memory; pass ",
            Option("everyone", False),
            " for people with a contact in a window only, or embed with a longer window",
        )
    key = cells.person * T + cells.window  # rows by person, then window
    order = np.argsort(key)
    key = key[order]
    person, window = np.tile(np.arange(n), T), np.repeat(np.arange(T), n)
    wanted = person * T + window
    last = np.searchsorted(key, wanted, side="right") - 1
    following = np.minimum(last + 1, len(key) - 1)
    has_last = (last >= 0) & (key[last] // T == person)
    has_next = key[following] // T == person
    last = np.where(has_last, last, following)
    following = np.where(has_next, following, last)
    gap = key[following] - key[last]
    share = np.divide(wanted - key[last], gap, out=np.zeros(n * T), where=gap > 0)[:, None]
    X = cells.vectors[order]
    vectors = (1 - share) * X[last] + share * X[following]
    times = [starts[w] for w in window.tolist()]
    named = [people[i] for i in person.tolist()]
    return Cells(named, times, person, window, cells.starts, vectors, key[last] == wanted)


def _pairs(emb: Embedding) -> tuple[list[Any], list[Any]]:
    names = emb.names.to_list()
    if not names or not all(isinstance(name, tuple) and len(name) == 2 for name in names):
        raise InputError("the names of these vectors are not (person, time); embed contacts as temporal data")
    persons, times = zip(*names)
    return list(persons), list(times)


@dataclass(frozen=True)
class _Windows:
    """Starts and ends of windows, as numbers; dates are microseconds since 1970."""

    starts: Array
    ends: Array
    dated: bool

    @classmethod
    def of(cls, emb: Embedding, times: list[Any]) -> _Windows:
        codes = emb.names.pair_codes()
        every = list(codes[1]) if codes is not None else list(set(times))  # windows without contacts too
        dated = to_dates(every) is not None
        starts = np.sort(cls(np.empty(0), np.empty(0), dated).moments(every))
        recorded_options = recorded(emb, "data").get("options")
        options = recorded_options if isinstance(recorded_options, dict) else {}
        window, n_windows = options.get("window"), options.get("n_windows")
        if window is None and (n_windows is None or len(starts) < 2):
            return cls(starts, starts, dated)  # each time stamp is a window of its own
        if window is None:
            width = np.diff(starts).max()
            return cls(starts, np.append(starts[1:], starts[-1] + width), dated)
        return cls(
            starts,
            starts + (duration("window", window) if dated else checks.number("window", window, above=0)),
            dated,
        )

    def moments(self, times: list[Any]) -> Array:
        """Return times as numbers; an error names a time that is not of the kind of the contacts' times."""
        if self.dated:
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

    def find(self, moments: Array) -> Array:
        """Return the number of the window of each moment, -1 if there is none."""
        at = np.searchsorted(self.starts, moments, side="right") - 1
        inside = (at >= 0) & ((moments < self.ends[at]) | (moments == self.starts[at]))
        return np.where(inside, at, -1)


def _one_each(observations: Any, n: int) -> bool:
    """Whether there is one state for each vector, by position."""
    if isinstance(observations, str | os.PathLike | Mapping) or hasattr(observations, "columns"):
        return False
    if hasattr(observations, "index") and hasattr(observations, "to_dict"):
        return False  # a Series is matched by its index
    shape = np.shape(observations) if not isinstance(observations, list) else (len(observations),)
    if shape == (n,):
        return True
    raise InputError(
        f"observations have the shape {shape}; expected one state for each of the {n:,} vectors, a mapping "
        "from (person, time) to state, or a table of person, time and state"
    )


def _triples(observations: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """Return persons, times and states of a mapping, Series, frame or file."""
    if isinstance(observations, str | os.PathLike):
        return _read(observations)
    if hasattr(observations, "columns"):
        titles = [str(title) for title in observations.columns]
        places = _places(titles, "the frame of observations")
        persons, times, states = (as_list(observations[observations.columns[at]]) for at in places)
        return persons, times, states
    entries = observations if isinstance(observations, Mapping) else observations.to_dict()
    wrong = next((key for key in entries if not isinstance(key, tuple) or len(key) != 2), None)
    if wrong is not None:
        raise InputError(f"observations have the key {wrong!r}; expected (person, time)")
    return [key[0] for key in entries], [key[1] for key in entries], list(entries.values())


def _places(titles: list[str], where: str) -> list[int]:
    """Return the positions of the columns of persons, times and states."""
    small = [title.strip().lower() for title in titles]
    places = []
    for role, words in _ROLES.items():
        matches = [small.index(word) for word in words if word in small]
        if not matches:
            raise InputError(
                f"{where} has the columns {', '.join(titles)}; none is the {role}: expected the titles "
                "person, time and state"
            )
        places.append(matches[0])
    return places


def _read(path: Any) -> tuple[list[Any], list[Any], list[Any]]:
    import csv

    lines = text_lines(path, "observations")
    delimiter = max(",;\t", key=lines[0].count)
    with reading(str(path), "table of observations"):  # a field of 131,072 characters, a lone carriage return
        rows = list(csv.reader(lines, delimiter=delimiter))
    places = _places(rows[0], str(path))
    for number, row in enumerate(rows[1:], 2):
        if len(row) <= max(places):
            raise InputError(f"{path}, row {number}: {counted(len(row), 'field')}; expected {len(rows[0])}")
    persons, times, states = ([row[at].strip() for row in rows[1:]] for at in places)
    return persons, times, [_state(text, path, number) for number, text in enumerate(states, 2)]


def _state(text: str, path: Any, number: int) -> float | None:
    word = text.lower()
    if word in _MISSING:
        return None
    try:
        return _WORDS[word] if word in _WORDS else float(word)
    except ValueError:
        raise InputError(
            f"{path}, row {number}: the state is {text!r}; expected 1 (infected), 0 (not) or nothing"
        ) from None


def _matched(
    cells: Cells,
    people: Names,
    windows: _Windows,
    slot: Array,
    triples: tuple[list[Any], list[Any], list[Any]],
) -> tuple[Array, Array]:
    """Return the rows of the observations and their states; warn about those without a row."""
    who, when, states = triples
    if not who:
        raise InputError("no observations; expected rows of person, time and state")
    known, infected = known_states(states)
    pairs = zip(cells.person.tolist(), slot[cells.window].tolist())
    row_of_pair = {pair: row for row, pair in enumerate(pairs)}
    at = np.flatnonzero(known)
    moments = windows.moments([when[k] for k in at.tolist()])
    keys = zip((row_of(people, who[k]) for k in at.tolist()), windows.find(moments).tolist())
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
    return _latest(rows[used], moments[used], infected[at][used], cells.persons)


def _latest(rows: Array, moments: Array, infected: Array, persons: list[Any]) -> tuple[Array, Array]:
    """Keep the last observation of each pair; warn if an earlier one differs."""
    order = np.lexsort((moments, rows))
    rows, moments, infected = rows[order], moments[order], infected[order]
    again = (rows[1:] == rows[:-1]) & (infected[1:] != infected[:-1])
    clash = np.flatnonzero(again & (moments[1:] == moments[:-1]))
    if len(clash):
        raise InputError(
            f"{persons[rows[clash[0]]]!r} is observed as infected and as not infected at the same time; "
            "keep one of the two"
        )
    if again.any():
        guess(
            f"{counted(int(again.sum()), 'change')} of state within a window (first: "
            f"{persons[rows[again.argmax()]]!r}); the last state in the window counts"
        )
    last = np.append(rows[1:] != rows[:-1], True) if len(rows) else np.empty(0, dtype=bool)
    return rows[last], infected[last]


def known_states(infected: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return which states are known, and the states; a value other than 0, 1 or missing is an error."""
    states = np.asarray(infected)
    if states.dtype == bool:
        return np.ones(states.shape, dtype=bool), states
    if states.dtype.kind == "O":
        missing = np.array([value is None or value != value for value in states.ravel().tolist()])
        states = np.where(missing.reshape(states.shape), np.nan, states)
    try:
        values = states.astype(float)
    except (TypeError, ValueError):
        raise InputError("infected holds values that are not numbers; expected 0, 1, or NaN") from None
    known = ~np.isnan(values)
    wrong = known & (values != 0) & (values != 1)
    if wrong.any():
        raise InputError(
            f"infected holds {values[wrong][0]:g}; expected 1 (infected), 0 (not) or NaN (not observed); "
            "for states of an epidemic, pass states == 1"
        )
    if not known.any():
        raise InputError("infected holds no known state: all of its values are missing")
    return known, values == 1
