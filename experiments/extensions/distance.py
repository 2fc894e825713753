"""Distance between two temporal graphs through their embeddings (the application named in the conclusions).

After Dall'Amico, Barrat, Cattuto, "An embedding-based distance for temporal graphs" (2024); see
`softvec.evaluate.temporal_walks`, `matched_distance` and `unmatched_distance`. Contacts at a conference and
in a primary school are cut into pieces of an hour, each a temporal graph of its own people, in snapshots.

- unmatched: does the nearest other piece come from the same place? And from the same kind, when each piece is
  also shown with its snapshots in random order, and with the partners of contacts drawn anew in each
  snapshot? The rival counts: numbers of people, contacts and pairs (logarithms).
- matched: the same children on two days; is the nearest hour of the second day the same hour? The rival is
  the cosine of the numbers of contacts of all pairs. And a share of
  the children swap names: the matched distance should grow, the unmatched one stay 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import datasets
from experiments.common import COLORS, Results, mean_spread, table
from experiments.extensions.temporal_distance import matched_distance, temporal_walks, unmatched_distance
from softvec import EDRep

KINDS = ("original", "snapshots shuffled", "partners redrawn")
PLACES = ("sfhh", "primaryschool")


def pieces(name: str, settings: dict[str, Any]) -> list[tuple[int, np.ndarray]]:
    """Return the number of each hour with enough people, and its edges t, i, j."""
    data = datasets.load(name)
    hour = data.times // settings["piece"]
    found = []
    for number in np.unique(hour):
        inside = hour == number
        snapshot = (data.times[inside] - number * settings["piece"]) // settings["snapshot"]
        edges = np.unique(np.column_stack([snapshot, np.sort(data.contacts[inside], axis=1)]), axis=0)
        if len(np.unique(edges[:, 1:])) >= settings["least_nodes"]:
            found.append((int(number), edges.astype(np.int64)))
    return found


def renumbered(edges: np.ndarray) -> np.ndarray:
    """Number the people of a piece from 0."""
    codes = np.unique(edges[:, 1:], return_inverse=True)[1]
    return np.column_stack([edges[:, 0], codes.reshape(-1, 2)])


def changed(edges: np.ndarray, kind: str, rng: np.random.Generator) -> np.ndarray:
    """Return the edges as they are, with snapshots in random order, or with partners redrawn in each."""
    edges = edges.copy()
    if kind == "snapshots shuffled":
        stamps = np.unique(edges[:, 0])
        edges[:, 0] = rng.permutation(stamps)[np.searchsorted(stamps, edges[:, 0])]
        return edges[np.argsort(edges[:, 0], kind="stable")]
    if kind == "partners redrawn":
        for t in np.unique(edges[:, 0]):
            now = np.flatnonzero(edges[:, 0] == t)
            edges[now, 2] = edges[rng.permutation(now), 2]
        return edges[edges[:, 1] != edges[:, 2]]
    return edges


def vectors(edges: np.ndarray, settings: dict[str, Any], seed: int, n: int | None = None) -> np.ndarray:
    """Embed where walks that respect time lead."""
    model = EDRep(settings["d"], random_state=seed)
    return model.fit(temporal_walks(edges, n_nodes=n)).embedding_


def run(settings: dict[str, Any], results: Results) -> None:
    """Fill in the records that are missing."""
    for sample in range(settings["samples"]):
        if not results.has(method="distance", sample=sample):
            unmatched, counted = _unmatched(settings, sample)
            results.add(
                method="distance", sample=sample, unmatched=unmatched, counted=counted,
                **_matched(settings, sample), swaps=_swaps(settings, sample),
            )  # fmt: skip
            print(f"distance: sample {sample} done", flush=True)


def _unmatched(settings: dict[str, Any], seed: int) -> tuple[dict[str, float], dict[str, float]]:
    rng = np.random.default_rng(seed)
    made, counts, place, kind, piece = [], [], [], [], []
    for name in PLACES:
        for number, edges in pieces(name, settings):
            for code, what in enumerate(KINDS):
                found = renumbered(changed(edges, what, rng))
                made.append(vectors(found, settings, seed))
                pairs = np.unique(np.sort(found[:, 1:], axis=1), axis=0)
                counts.append(np.log([found[:, 1:].max() + 1, len(found), len(pairs)]))
                place.append(PLACES.index(name))
                kind.append(code)
                piece.append(1000 * PLACES.index(name) + number)
    distances = np.array([[unmatched_distance(X, Y) for Y in made] for X in made])
    table_of = np.array(counts)
    table_of = (table_of - table_of.mean(axis=0)) / table_of.std(axis=0)
    simple = np.linalg.norm(table_of[:, None] - table_of[None], axis=2)
    labels = np.array(place), np.array(kind)
    own = np.equal.outer(piece, piece)  # versions of one piece are not compared with each other
    distances[own] = simple[own] = np.inf
    return _nearest(distances, *labels), _nearest(simple, *labels)


def _nearest(distances: np.ndarray, place: np.ndarray, kind: np.ndarray) -> dict[str, float]:
    """Return how often the nearest piece is of the same place (originals), and of the same kind."""
    original = np.flatnonzero(kind == 0)
    scores = {"place": _same(distances[np.ix_(original, original)], place[original])}
    scores["kind"] = _same(distances, kind)
    scores["chance_place"], scores["chance_kind"] = (
        float(np.max(np.bincount(labels)) / len(labels)) for labels in (place[original], kind)
    )
    for code, what in enumerate(KINDS[1:], start=1):
        both = np.flatnonzero((kind == 0) | (kind == code))
        scores[f"original or {what}"] = _same(distances[np.ix_(both, both)], kind[both])
    return scores


def _same(distances: np.ndarray, labels: np.ndarray) -> float:
    return float(np.mean(labels[distances.argmin(axis=1)] == labels))


def _matched(settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return how often the nearest hour of the other day is the same hour of the day."""
    parts = pieces("primaryschool", settings)
    n = 1 + max(int(edges[:, 1:].max()) for _, edges in parts)
    of_day = 86400 // settings["piece"]
    day = np.array([number // of_day for number, _ in parts])
    hour = np.array([number % of_day for number, _ in parts])
    made = [vectors(edges, settings, seed, n) for _, edges in parts]
    again = vectors(parts[0][1], settings, seed + 1000, n)
    distances = np.array([[matched_distance(X, Y) for Y in made] for X in made])
    first, second = np.flatnonzero(day == day.min()), np.flatnonzero(day != day.min())
    common = [i for i in first if hour[i] in hour[second]]
    hits = [hour[second[distances[i, second].argmin()]] == hour[i] for i in common]
    summed = [np.bincount(edges[:, 1] * n + edges[:, 2], minlength=n * n) for _, edges in parts]
    S = np.array([row / np.linalg.norm(row) for row in summed])
    plain = [hour[second[(S[second] @ S[i]).argmax()]] == hour[i] for i in common]
    same = [distances[i, j] for i in common for j in second if hour[i] == hour[j]]
    other = [distances[i, j] for i in common for j in second if hour[i] != hour[j]]
    return {
        "hour": float(np.mean(hits)),
        "hour_by_pairs": float(np.mean(plain)),
        "hours": len(common),
        "chance_hour": 1 / len(second),
        "same_hour": float(np.mean(same)),
        "other_hour": float(np.mean(other)),
        "another_start": matched_distance(made[0], again),
    }


def _swaps(settings: dict[str, Any], seed: int) -> list[tuple[float, float]]:
    """Return both distances of a graph to itself when a share of its people swap names."""
    rng = np.random.default_rng(seed)
    edges = renumbered(max((edges for _, edges in pieces("primaryschool", settings)), key=len))
    X = vectors(edges, settings, seed)
    found = []
    for share in settings["swaps"]:
        names = np.arange(len(X))
        chosen = rng.permutation(len(X))[: round(share * len(X))]
        names[chosen] = np.roll(chosen, 1)
        renamed = np.column_stack([edges[:, 0], names[edges[:, 1:]]])
        Y = vectors(renamed, settings, seed + 1)
        found.append((matched_distance(X, Y), unmatched_distance(X, Y)))
    return found


def summarize(settings: dict[str, Any], results: Results) -> dict[str, Any]:
    """Return means over the samples."""
    rows = results.select(method="distance")
    nearest = {
        how: {key: mean_spread([row[how][key] for row in rows]) for key in rows[0][how]}
        for how in ("unmatched", "counted")
    }
    keys = ("hour", "hour_by_pairs", "hours", "chance_hour", "same_hour", "other_hour", "another_start")
    matched = {key: mean_spread([row[key] for row in rows]) for key in keys}
    swaps = np.mean([row["swaps"] for row in rows], axis=0).tolist()
    return {"nearest": nearest, "matched": matched, "swaps": swaps, "shares": settings["swaps"]}


def draw(axis: Any, summary: dict[str, Any]) -> None:
    """Draw both distances against the share of people who swap names."""
    shares = [100 * share for share in summary["shares"]]
    for place, (name, color, marker) in enumerate(
        (("matched", "softvec", "o"), ("unmatched", "authors", "s"))
    ):
        values = [found[place] for found in summary["swaps"]]
        axis.plot(shares, values, color=COLORS[color], marker=marker, ms=4, label=name)
    axis.set(xlabel="people who swap names (%)", ylabel="distance to the original", ylim=(0, None))
    axis.legend(fontsize=7)


_TEXT = """**Distance between temporal graphs** (Dall'Amico, Barrat, Cattuto 2024). Contacts at a conference
and in a primary school, cut into pieces of one hour; how often the nearest piece is from the same place or of
the same kind, in percent; versions of one piece are not compared with each other. The baseline compares only
the numbers of people, contacts and pairs. Redrawing partners hardly changes the numbers of people and
contacts but changes the pairs; shuffling snapshots changes none of the three, only the order in time."""


def report(summary: dict[str, Any]) -> str:
    """Return the results in Markdown."""
    ours, counted = summary["nearest"]["unmatched"], summary["nearest"]["counted"]
    rows = []
    for key in ours:
        if not key.startswith("chance"):
            chance = ours.get(f"chance_{key}", (0.5, 0.0))[0]
            cells = [f"{100 * found[key][0]:.0f} ± {100 * found[key][1]:.0f}" for found in (ours, counted)]
            rows.append([key, *cells, f"{100 * chance:.0f}"])
    matched = {key: value[0] for key, value in summary["matched"].items()}
    last = summary["swaps"][-1]
    closing = (
        "The same children on two days: the matched distance from an hour to the same hour of the other day "
        f"is {matched['same_hour']:.3f} on average, to other hours {matched['other_hour']:.3f}; the nearest "
        f"is the same hour for {100 * matched['hour']:.0f}% of {matched['hours']:.0f} hours (chance "
        f"{100 * matched['chance_hour']:.0f}%; with the cosine of the plain lists of pairs, without vectors, "
        f"{100 * matched['hour_by_pairs']:.0f}%). Two "
        f"fits of one piece with different seeds differ by {matched['another_start']:.3f} (absent "
        "children keep random vectors): smaller distances mean nothing. When all people swap names "
        f"the matched distance is {last[0]:.3f} and the unmatched one {last[1]:.3f}."
    )
    header = ["nearest piece has the same", "embeddings", "counts only", "chance"]
    return "\n\n".join([_TEXT, table(header, rows), closing])
