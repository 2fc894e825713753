"""The most likely missing links, with their probabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softvec.core.checks import integer, number, recorded
from softvec.core.errors import InputError, Option, warn
from softvec.core.machine import machine
from softvec.core.threads import row_blocks
from softvec.embedding.attributes import linkable
from softvec.embedding.relations import known_weights, mutual, refuse_signed, two_kinds

if TYPE_CHECKING:
    from softvec.affinity import Affinity
    from softvec.embedding.core import Embedding
    from softvec.fit.calibrate import Calibration
    from softvec.fit.link_softmax import Softmax

    Judged = tuple[Calibration, str | None]  # a calibration, and its source: None without attributes

Array = NDArray[Any]
_KINDS = ("graph", "pairs", "bipartite")
_BLOCK = 1 << 21  # expectations computed at a time
_CANDIDATES = 1000  # of one item, by its own softmax, that are then ranked in both directions


class Link(NamedTuple):
    """A possibly missing link.

    Attributes
    ----------
    a, b : hashable
        The names.
    probability : float
        That a and b are linked, if the data lacks the share of all links that was asked for:
        ``1 - exp(-expected)``.
    expected : float
        Expected number of links between a and b, by which links are ranked: the unknown links of a times
        the probability that one of them leads to b; of links without direction, the mean of both ends.
    """

    a: Any
    b: Any
    probability: float
    expected: float


def calibrate(emb: Embedding, data: Any, *, n_jobs: int | None = None, **options: Any) -> Embedding:
    """Return the same vectors with calibrated probabilities of links, for :meth:`links`.

    A twentieth of the links is hidden and the others are fitted with the same settings, up to five
    times in small data; links whose loss would cut the data in two are never hidden.
    ``provenance["softmax"]`` then holds the two parameters of the softmax and what they are worth on the
    hidden links: see :class:`softvec.fit.calibrate.Calibration`.

    Parameters
    ----------
    data : graph, edges, frame, sparse matrix or path
        The embedded data.
    options
        Passed to its reader, such as ``columns``.

    Examples
    --------
    >>> import networkx as nx, softvec
    >>> graph = nx.planted_partition_graph(4, 100, 0.15, 0.01, seed=0)
    >>> emb = softvec.embed(graph, n_components=16, random_state=0).calibrate(graph)
    >>> emb.provenance["softmax"]["nats_gained"] > 0.3
    True
    """
    known = _known(emb, data, options)
    calibration, source = _calibration(emb, known, options.get("attributes"), data, n_jobs)
    record = asdict(calibration) | ({} if source is None else {"source": source})
    return emb._with(provenance={**emb.provenance, "softmax": record})


def links(
    emb: Embedding,
    n: int = 100,
    *,
    exclude: Any = None,
    item: Any = None,
    missing: float = 0.1,
    n_jobs: int | None = None,
    **options: Any,
) -> list[Link]:
    """Return the most likely missing links: overall, or of one item.

    Unless :meth:`calibrate` was called, the probabilities are calibrated first: links are hidden and the
    others fitted anew, which takes as long as the fit.

    Parameters
    ----------
    n : int
        Number of links.
    exclude : graph, edges, frame, sparse matrix or path
        The known links, usually the embedded data.
    item : hashable, optional
        Only links of this item.
    missing : float
        Share of all links that the data is assumed to lack. It scales the probabilities and does not
        change the order.
    options
        Passed to the reader of ``exclude``, such as ``columns``; and ``attributes``, if the vectors were
        fitted with any. Links are then told by the graph and attributes, or by the graph alone if that
        tells hidden links better.

    Returns
    -------
    list of Link
        ``a, b, probability, expected``: see :class:`softvec.embedding.links.Link`. All pairs are
        compared, in O(n ** 2) time; a zero vector, as of an isolated node, has no links.

    Examples
    --------
    >>> import networkx as nx, softvec
    >>> graph = nx.karate_club_graph()
    >>> emb = softvec.embed(graph, n_components=8, random_state=0)
    >>> best = emb.links(3, exclude=graph)
    >>> any(graph.has_edge(link.a, link.b) for link in best), 0 < best[0].probability < 1
    (False, True)
    """
    n, missing = integer("n", n), number("missing", missing, above=0, most=0.9)
    row = None if item is None else emb._row(item)
    model, point, calibration = _fitted(emb, exclude, options, n_jobs)
    forecast = _Forecast(model, point, missing, linkable(emb))
    pairs = forecast.best(n, n_jobs, row)
    if not pairs and row is None:
        warn("no links are missing: all that are possible are known")
    elif pairs and not calibration.beats_popularity:
        warn(
            "these vectors predict hidden links no better than popularity does: "
            f"{calibration.nats_gained:+.3f} ± {calibration.standard_error:.3f} nats"
        )
    columns = emb._columns.names
    return [Link(emb.names[i], columns[j], float(-np.expm1(-value)), value) for i, j, value in pairs]


def pair_logits(
    emb: Embedding, data: Any, n_jobs: int | None = None, **options: Any
) -> Callable[[Array, Array], Array]:
    """Return a function that scores pairs of rows and columns, calibrated on the known links."""
    from softvec.fit.link_softmax import pair_scores

    model, point, _ = _fitted(emb, data, options, n_jobs)
    return lambda i, j: pair_scores(model, point, i, j)


def _fitted(
    emb: Embedding, data: Any, options: Mapping[str, Any], n_jobs: int | None
) -> tuple[Softmax, Array, Calibration]:
    """Return the softmax of an embedding's vectors, its parameters, and the calibration, if need be made.

    Where the graph alone tells hidden links better than the graph and attributes, its vectors are fitted.
    """
    from softvec.affinity.compress import pattern
    from softvec.fit.calibrate import refit
    from softvec.fit.link_softmax import Softmax
    from softvec.fit.vectors import settings_of

    known = _known(emb, data, options)
    assert known.counts is not None
    calibration, source = _recorded(emb) or _calibration(emb, known, options.get("attributes"), data, n_jobs)
    X, Y, pairs = emb.vectors, emb.context_vectors, pattern(known.counts)
    if source == "graph":
        with machine(n_jobs) as pool:
            X, Y = refit(settings_of(emb.provenance, n_jobs), pool)(known)
    softmax = Softmax.of(X, Y, pairs, same=known.symmetric, mutual=mutual(emb))
    point = np.array([calibration.cosine, calibration.popularity, calibration.activity])
    return softmax, point, calibration


def _refuse(emb: Embedding, data: Any) -> None:
    """Refuse vectors that cannot tell links, and links without the known ones."""
    refuse_signed(emb, "links are not predicted from")
    record = recorded(emb, "data")
    kind = record.get("kind")
    if kind not in _KINDS:
        what = f"{kind} data" if kind else "an unknown kind of data"
        raise InputError(f"links are those of graphs and of tables of pairs; these vectors are of {what}")
    if data is None:
        raise InputError(
            "links need the known ones, usually the embedded data: they are left out, and some are hidden to "
            "calibrate the probabilities; pass ",
            Option("exclude", ...),
        )
    if record.get("directed") and not emb.two_sided:
        raise InputError(
            "one vector for each node cannot tell the direction of a link; embed the graph with ",
            Option("view", "links"),
            ", or with ",
            Option("directed", False),
        )


def _known(emb: Embedding, data: Any, options: Mapping[str, Any]) -> Affinity:
    """Return the known links between the items of an embedding."""
    from softvec.affinity.compress import off_diagonal, pattern
    from softvec.affinity.matrices import EdgeRules, assemble

    _refuse(emb, data)
    record = recorded(emb, "data")
    reading = {key: value for key, value in options.items() if key != "attributes"}
    matrix = known_weights(emb, data, emb._columns, **reading)
    same, both = not two_kinds(emb), mutual(emb)
    if both:
        matrix = matrix.maximum(matrix.T).tocsr()
    if same:
        matrix = off_diagonal(matrix)
    if record.get("weighted") is not True:
        matrix = pattern(matrix)
    told = recorded(emb, "data", "options")
    kept = {key: told[key] for key in ("dangling", "normalize") if key in told}
    columns = emb.names if same else emb.context.names
    return assemble(matrix, emb.names, columns, EdgeRules(record["kind"], **kept), both)


def _recorded(emb: Embedding) -> Judged | None:
    """Return the calibration that the provenance holds, if any."""
    from softvec.fit.calibrate import Calibration

    record = recorded(emb, "softmax")
    names = [field.name for field in fields(Calibration)]
    if not set(names) <= set(record):
        return None
    values = {name: record[name] for name in names}
    if values["standard_error"] is None:  # JSON has no infinity, the error of a single hidden link
        values["standard_error"] = np.inf
    return Calibration(**values), record.get("source")


def _calibration(
    emb: Embedding, known: Affinity, attributes: Any, data: Any, n_jobs: int | None
) -> tuple[Calibration, str | None]:
    """Hide known links, fit the others with the settings of the embedding, and fit the softmax.

    Vectors of a graph and attributes are compared with those of the graph alone, on the same hidden links.
    """
    from softvec.affinity.attributes import attach
    from softvec.fit.calibrate import calibrate, refit
    from softvec.fit.vectors import settings_of

    fused = "attributes" in emb.provenance
    if fused and attributes is None:
        raise InputError(
            "these vectors include attributes, which are fitted anew to calibrate links; pass ",
            Option("attributes", ...),
        )
    settings = settings_of(emb.provenance, n_jobs)
    with machine(n_jobs) as pool:
        alone = calibrate(known, refit(settings, pool), settings.random_state, pool)
        if not fused:
            return alone, None
        known = attach(known, attributes, data)
        both = calibrate(known, refit(settings, pool), settings.random_state, pool)
    return (alone, "graph") if alone.auc > both.auc else (both, "graph and attributes")


@dataclass(frozen=True, eq=False)
class _Forecast:
    """Expected links, if this share of all links is unknown."""

    model: Softmax
    point: Array
    share: float
    types: tuple[Array, Array] | None = None  # of the items, and which of them are linked

    def _linkable(self, rows: Array) -> Any:
        """Return whether rows and columns have vectors, and types that are linked in the data."""
        possible = (np.linalg.norm(self.model.X[rows], axis=1) > 0)[:, None] & self._columns
        if self.types is None:
            return possible
        codes, allowed = self.types
        return possible & allowed[codes[rows]][:, codes]

    @cached_property
    def _columns(self) -> Array:
        """Whether columns have vectors: those of isolated nodes are zero, and tell nothing of links."""
        return np.asarray(np.linalg.norm(self.model.Y, axis=1) > 0)

    def _rows(self, rows: Array, back: Array) -> Array:
        """Return the expectations of rows with all columns; negative where no link is possible.

        ``back`` are the logarithms of expected links of each column, less those of its sum.
        """
        model = self.model
        values = model.expected(rows, self.point, self.share)[0]
        possible = (values > 0) & self._linkable(rows)
        if model.mutual:
            a, c, _ = self.point
            other = np.float32(a) * (model.Y[rows] @ model.X.T)
            other += (c * model.log_size[rows, None]).astype(np.float32) + back
            values = (values + np.exp(other, out=other)) / 2
        return np.where(possible, values, -1)

    def best(self, n: int, n_jobs: int | None, row: int | None = None) -> list[tuple[int, int, float]]:
        """Return the n best (row, column, expectation) of all rows or of one, ties by row and column.

        Links of one row without direction are among its own first candidates.
        """
        model = self.model
        count, m = model.known.shape
        rows = np.arange(count) if row is None else np.array([row])

        def largest(lo: int, hi: int) -> tuple[Array, Array, Array]:
            S = self._rows(rows[lo:hi], back)
            if model.mutual:
                S[:, np.isnan(log_z)] = -1  # no candidates
                if row is None:  # each pair once
                    S[np.arange(m) < np.arange(lo, hi)[:, None]] = -1
            flat = S.ravel()
            least = np.partition(flat, flat.size - n)[flat.size - n] if flat.size > n else 0
            at = np.flatnonzero(flat >= max(least, 0))
            at = at[np.argsort(-flat[at], kind="stable")[:n]]
            return rows[at // m + lo], at % m, flat[at]

        with machine(n_jobs) as pool:
            log_z = np.full(count, np.nan)
            if model.mutual:
                near = rows if row is None else self._candidates(rows, n)
                blocks = row_blocks(len(near), max(1, _BLOCK // m))
                sums = pool.map(lambda lo, hi: model.log_probabilities(near[lo:hi], self.point)[1], blocks)
                log_z[near] = np.concatenate(sums)
            with np.errstate(divide="ignore", invalid="ignore"):
                activity = self.share / (1 - self.share) * model.activity(self.point[2])
                back = np.where(np.isfinite(log_z), np.log(activity) - log_z, -np.inf).astype(np.float32)
            parts = pool.map(largest, row_blocks(len(rows), max(1, _BLOCK // m)))
        i, j, value = (np.concatenate(part) for part in zip(*parts))
        order = np.lexsort((j, i, -value))[:n]
        return list(zip(i[order].tolist(), j[order].tolist(), value[order].tolist()))

    def _candidates(self, row: Array, n: int) -> Array:
        """Return the columns that one row finds most likely."""
        forward = self.model.log_probabilities(row, self.point)[0]
        forward = np.where(self._linkable(row), forward, -np.inf).reshape(-1)
        return np.argsort(-forward, kind="stable")[: max(_CANDIDATES, 10 * n)]
