"""Temporal edges: aggregation in time windows, and the supra-adjacency of active (node, time) pairs."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.affinity.base import Affinity
from softvec.affinity.builders import edges_of
from softvec.affinity.compress import pattern, sums_of_equal
from softvec.affinity.matrices import EdgeRules, assemble
from softvec.core.checks import choice, counted, number
from softvec.core.dates import duration, is_duration, iso_texts
from softvec.core.errors import InputError
from softvec.names import Names
from softvec.read.edges import Edges

Window = float | str | datetime.timedelta | np.timedelta64 | None
_LATEST = 2**62  # differences of times stay within 64 bits
_SECOND, _DAY = 1_000_000, 86_400_000_000  # in microseconds


@dataclass(frozen=True)
class Contacts:
    """Weighted contacts in time windows, one entry per pair and window.

    Attributes
    ----------
    time : ndarray of int
        Window numbers; window k starts at ``starts[k]``. Sorted.
    source, target : ndarray of int
        Node numbers, ``source < target`` unless directed.
    weight : ndarray of float
        Summed weights (without weights, the number) of the records of this pair in this window.
    nodes : Names
    starts : Names
        Start time of each window, or its first stamp if windows are groups of stamps; dates are ISO 8601
        strings, those with a time zone in UTC (``...Z``).
    """

    data_kind: ClassVar[str] = "temporal"

    time: NDArray[np.int64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[np.float64]
    nodes: Names
    starts: Names
    self_contacts: int = 0


def aggregate(
    edges: Edges,
    *,
    window: Window = None,
    n_windows: int | None = None,
    equal: str = "time",
    directed: bool = False,
) -> Contacts:
    """Aggregate temporal edges in time windows.

    Parameters
    ----------
    edges : Edges
        With times; see :func:`softvec.affinity.temporal_edges`.
    window : float, str, timedelta or timedelta64, optional
        Length of a window: a number in the unit of the times (for dates, seconds), or for dates a duration
        such as ``"15min"``, ``"1h"``, ``"1d"``. Windows of dates are aligned to midnight.
    n_windows : int, optional
        Number of windows, instead of ``window``. With neither, each time stamp is its own window.
    equal : {"time", "stamps"}
        Whether the ``n_windows`` windows have equal length, or equally many distinct time stamps.
    directed : bool
        Keep (i, j) and (j, i) apart.
    """
    if not len(edges):
        raise InputError("nothing to embed: the data has no contacts")
    if edges.times is None:
        raise InputError("the edges have no times; pass three columns, t i j, or name the time column")
    times = np.concatenate(edges.times)
    if times.dtype.kind != "M" and not (known := (times > -_LATEST) & (times < _LATEST)).all():
        at = int(np.argmin(known))
        raise InputError(f"contact {at} has no finite time below {_LATEST:.1e}: {times[at]}")
    index, starts = _windows(times, window, n_windows, choice("equal", equal, ("time", "stamps")))
    if times.dtype.kind == "M":
        starts = iso_texts(np.array(starts, dtype="datetime64[us]"), edges.zoned)
    pairs = edges.pairs().astype(np.int64)
    weights = np.concatenate(edges.weights).astype(float) if edges.weights else np.ones(len(pairs))
    apart = (pairs[:, 0] != pairs[:, 1]) & (weights > 0)
    loops = int(np.count_nonzero(pairs[:, 0] == pairs[:, 1]))
    index, pairs, weights = index[apart], pairs[apart], weights[apart]
    if not directed:
        pairs = np.sort(pairs, axis=1)
    (index, source, target), weights = sums_of_equal((index, *pairs.T), weights)
    return Contacts(index, source, target, weights, edges.rows, Names(starts), loops)


def _windows(
    times: NDArray[Any], window: Window, n_windows: int | None, equal: str
) -> tuple[NDArray[np.int64], list[Any]]:
    """Return the window number of each time, and when each window starts: dates in microseconds."""
    if window is not None and n_windows is not None:
        raise InputError(f"window is {window} and n_windows is {n_windows}; pass only one of them")
    dated = times.dtype.kind == "M"
    if is_duration(window) and not dated:
        duration("window", window)  # an invalid duration is the first error
        raise InputError(
            f"window is {str(window)!r}, but the times are numbers without a unit; pass the window in the "
            "same unit, such as 900, or the times as dates"
        )
    if dated:
        times = times.astype("datetime64[us]").astype(np.int64)
    if window is not None:
        starts = _equal_starts(times, window, dated)
    else:
        # an integer stamp lasts one unit: of dates a second if possible
        unit = _SECOND if dated and not (times % _SECOND).any() else 1
        starts = _some_starts(times // unit if dated else times, n_windows, equal) * unit
    return np.searchsorted(starts, times, side="right") - 1, starts.tolist()


def _equal_starts(times: NDArray[Any], window: Any, dated: bool) -> NDArray[Any]:
    """Return the starts of windows of one length; those of dates are aligned to midnight."""
    origin, step = times.min(), window
    if dated:
        step = duration("window", window)
        midnight = origin - origin % _DAY
        origin = midnight + (origin - midnight) // step * step
    elif not isinstance(window, int | float | np.number):
        raise InputError.of("window", window, "a number above 0")
    number("window", step, above=0)
    span = float(times.max() - origin)
    if span / float(step) > 5e7:
        raise InputError(f"window is {window}, but the times span {span:g}: more than 50 million windows")
    return origin + step * np.arange(int((times.max() - origin) // step) + 1)


def _some_starts(times: NDArray[Any], n_windows: int | None, equal: str) -> NDArray[Any]:
    """Return the starts of ``n_windows`` windows, or each time stamp."""
    stamps = np.unique(times)
    if n_windows is None:
        return stamps
    whole = isinstance(n_windows, int | float | np.number) and not isinstance(n_windows, bool)
    if not whole or n_windows != n_windows // 1 or n_windows < 1:
        raise InputError.of("n_windows", n_windows, "a positive integer")
    steps = np.arange(int(n_windows))
    n_windows = len(steps)
    if equal == "stamps":
        if n_windows > len(stamps):
            raise InputError(f"n_windows is {n_windows}, but there are only {len(stamps)} time stamps")
        return stamps[-(-steps * len(stamps) // n_windows)]
    origin, span = stamps[0], stamps[-1] - stamps[0]
    if span == 0:
        raise InputError("all contacts have the same time and cannot be split into windows")
    if times.dtype.kind in "iu":  # an integer stamp lasts one unit, so the span is one unit longer
        return origin - (-steps * (int(span) + 1) // n_windows)
    return origin + span * steps / n_windows


def supra_adjacency(
    contacts: Any,
    *,
    window: Window = None,
    n_windows: int | None = None,
    equal: str = "time",
    self_weight: float = 1.0,
    directed: bool = False,
    length: int = 1,
    dangling: str = "zero",
    columns: Any = None,
    weighted: bool | None = None,
    weight: Any = None,
    missing: str = "error",
) -> Affinity:
    """Build P of a temporal graph: items are (node, time) pairs, and walks respect time.

    Following the supra-adjacency of Sato et al. (DyANE) as the EDRep paper defines it, a node active in
    a window points to its own next active window with weight ``self_weight``, and, for each contact of
    weight w in this window, to the *next* active window of the other node with weight w. P is its row
    normalisation. A pair without a future has an empty row, treated by ``dangling``.

    Parameters
    ----------
    contacts : Contacts, iterable of (t, i, j) or (t, i, j, weight), frame with a time column
    window, n_windows, equal
        Aggregation, see :func:`aggregate`.
    self_weight : float
        Weight of a node's link to its own next appearance; 1 as in DyANE. The weight of a contact is the
        number of its records in the window, or the sum of their weights.
    directed : bool
        A contact (t, i, j) leads only from i to j.
    length : int
        Mean of the powers 1..length of the walk.
    dangling : {"zero", "self", "error"}
    columns : sequence or mapping, optional
        Names of the columns of a frame: (time, source, target) or a mapping from role to name.
    weighted : bool, optional
        False ignores weights.
    weight : str, optional
        The column of a frame that holds the weights.
    missing : {"error", "drop"}
        Rows that lack an end, the weight or the time: an error, or left out and counted.

    Returns
    -------
    Affinity
        Named by (node, start of the window), in order of time; ``contacts`` has the aggregated contacts.

    Examples
    --------
    >>> P = supra_adjacency([(0, "a", "b"), (1, "b", "c"), (2, "a", "c")])
    >>> P.rows.to_list()
    [('a', 0), ('b', 0), ('b', 1), ('c', 1), ('a', 2), ('c', 2)]
    >>> int(P.matrix.nnz)  # a0 -> a2, b1; b0 -> b1, a2; b1 -> c2; c1 -> c2
    6
    """
    number("self_weight", self_weight, 0)
    edge_notes: tuple[str, ...] = ()
    if not isinstance(contacts, Contacts):
        rules = EdgeRules("temporal", None, weighted, negative="error", missing=missing)
        edges = edges_of(contacts, rules, columns, weight)
        edges = replace(edges, weights=None) if weighted is False else edges
        edge_notes = edges.notes
        contacts = aggregate(edges, window=window, n_windows=n_windows, equal=equal, directed=directed)
    if not len(contacts.time):
        raise InputError("nothing to embed: no contact joins two different nodes")
    matrix, names = _supra_matrix(contacts, float(self_weight), directed)
    windows = counted(len(np.unique(contacts.time)), "active window")
    notes = [f"{counted(len(contacts.nodes), 'node')} in {windows}", *edge_notes]
    if contacts.self_contacts:
        notes.append(f"{counted(contacts.self_contacts, 'self contact')} dropped")
    rules = EdgeRules("temporal", length=length, dangling=dangling)
    affinity = assemble(matrix, names, names, rules, False, notes)
    if is_duration(window) and not isinstance(window, str):
        window = f"{duration('window', window) / _SECOND:g}s"  # parameters are plain values
    parameters = {"window": window, "n_windows": n_windows, "equal": equal, "self_weight": self_weight}
    summary = affinity.summary.replace(" nodes,", " active (node, time) pairs,", 1)
    parameters = {**affinity.parameters, **parameters}
    return replace(affinity, summary=summary, parameters=parameters, contacts=contacts)


def _supra_matrix(contacts: Contacts, self_weight: float, directed: bool) -> tuple[sparse.csr_array, Names]:
    n = len(contacts.nodes)
    i, j = contacts.time * n + contacts.source, contacts.time * n + contacts.target  # keys (t, node)
    weight = contacts.weight
    if not directed:
        i, j, weight = np.concatenate([i, j]), np.concatenate([j, i]), np.concatenate([weight, weight])
    active = np.unique(np.concatenate([i, j]))
    node, time = active % n, active // n
    by_node = np.lexsort((time, node))
    following = np.full(len(active), -1)
    again = node[by_node[1:]] == node[by_node[:-1]]
    following[by_node[:-1][again]] = by_node[1:][again]
    own = np.flatnonzero((following >= 0) & (self_weight != 0))
    head = np.concatenate([own, np.searchsorted(active, i)])
    tail = following[np.concatenate([own, np.searchsorted(active, j)])]
    weight = np.concatenate([np.full(len(own), self_weight), weight])
    keep = tail >= 0
    shape = (len(active), len(active))
    matrix = sparse.coo_array((weight[keep], (head[keep], tail[keep])), shape=shape).tocsr()
    matrix.sum_duplicates()
    if matrix.nnz and np.all(matrix.data == 1):
        matrix = pattern(matrix)
    return matrix, Names.from_codes(contacts.nodes, contacts.starts, (node, time))
