"""Stability: how much neighbours and groups agree between seeds."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError
from softvec.embedding.search import exact_nearest

if TYPE_CHECKING:
    from softvec.embedding.core import Embedding

N_NEIGHBORS = 10
_PAIRS = 400_000_000  # cosines of one search; above 20,000 items only a sample is compared
_LEAST = 2000  # minimum size of the sample
_RECORDED = {"repeats": int, "neighbours": float, "groups": float, "n_neighbors": int, "n_groups": int}


@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    """Agreement between embeddings of the same data with several seeds.

    Attributes
    ----------
    repeats : int
        Number of seeds.
    neighbours : float
        Mean share of the ``n_neighbors`` nearest that two seeds have in common.
    groups : float
        Adjusted mutual information of the groups of two seeds: 1 if equal, 0 for chance, or if there are no
        groups beyond chance.
    n_neighbors, n_groups : int
        Number of neighbours compared, and of groups.
    item_neighbours, item_groups : ndarray of shape (n,)
        For each item the share of its neighbours in common, and the Jaccard overlap of its groups. NaN for
        items that were not compared, such as new ones.
    """

    repeats: int
    neighbours: float
    groups: float
    n_neighbors: int
    n_groups: int
    item_neighbours: NDArray[np.float32]
    item_groups: NDArray[np.float32]

    def __repr__(self) -> str:
        groups = f"AMI of {self.n_groups} groups {self.groups:.2f}"
        return (
            f"<Stability over {self.repeats} seeds: {self.neighbours:.0%} of {self.n_neighbors} neighbours "
            f"the same, {groups if self.n_groups > 1 else 'no groups beyond chance'}>"
        )


def measure(
    runs: Sequence[Embedding], n_jobs: int | None = None
) -> tuple[dict[str, float], dict[str, NDArray[Any]]]:
    """Compare embeddings of the same items; return a record for the provenance and arrays for the extras."""
    n = len(runs[0])
    k = min(N_NEIGHBORS, n - 1)
    if k < 1:
        raise InputError("repeats need at least 2 items")
    sample = np.random.default_rng(0).choice(n, min(n, max(_LEAST, _PAIRS // n)), replace=False)
    sample.sort()
    overlap = _neighbour_overlap(runs, sample, k, n_jobs)
    shared, ami, n_groups = _group_overlap(runs)
    by_item = np.full(n, np.nan, np.float32)
    by_item[sample] = overlap
    record = {"repeats": len(runs), "neighbours": float(overlap.mean()), "groups": ami}
    record |= {"n_neighbors": k, "n_groups": n_groups, "items": len(sample)}
    return record, {"stable_neighbours": by_item, "stable_groups": shared}


def _neighbour_overlap(
    runs: Sequence[Embedding], sample: NDArray[np.int64], k: int, n_jobs: int | None
) -> NDArray[np.float32]:
    """Return, for each sampled item, the mean share of its k nearest that two runs have in common."""
    nearest = []
    for run in runs:
        rows, _ = exact_nearest(run.vectors[sample], run.vectors, k + 1, scale=run._scale, n_jobs=n_jobs)
        others = rows != sample[:, None]
        others[others.all(axis=1), -1] = False  # an equal vector ranks before the item itself
        nearest.append(np.sort(rows[others].reshape(len(sample), k), axis=1))
    total = np.zeros(len(sample))
    pairs = list(combinations(nearest, 2))
    for first, second in pairs:
        merged = np.sort(np.hstack([first, second]), axis=1)
        total += (merged[:, 1:] == merged[:, :-1]).sum(axis=1) / k
    return (total / len(pairs)).astype(np.float32)


def _group_overlap(runs: Sequence[Embedding]) -> tuple[NDArray[np.float32], float, int]:
    """Return the overlap of each item's groups, the mean AMI of two runs, and the number of groups."""
    from sklearn.metrics import adjusted_mutual_info_score

    with warnings.catch_warnings(action="ignore"):  # of one group
        first = runs[0].cluster()
    n_groups = int(first.max()) + 1
    if n_groups < 2:  # no groups beyond chance, so no agreement
        return np.full(len(first), np.nan, np.float32), 0.0, n_groups
    groups = [first, *(run.cluster(n_groups) for run in runs[1:])]
    shared, scores = np.zeros(len(first)), []
    pairs = list(combinations(groups, 2))
    for a, b in pairs:
        both = np.zeros((int(a.max()) + 1, int(b.max()) + 1))
        np.add.at(both, (a, b), 1)
        union = both.sum(axis=1)[a] + both.sum(axis=0)[b] - both[a, b]
        shared += both[a, b] / union
        scores.append(adjusted_mutual_info_score(a, b))
    return (shared / len(pairs)).astype(np.float32), float(np.mean(scores)), n_groups


def stability(emb: Embedding) -> Stability:
    """Return the agreement of neighbours and groups between seeds, per item and overall.

    Measured by ``softvec.embed(..., repeats=5)`` and kept in ``.svec`` files; see
    :class:`softvec.embedding.stability.Stability`.
    """
    record = emb.provenance.get("stability")
    if not isinstance(record, dict):
        raise InputError(
            "the stability of these vectors was not measured; embed the data with repeats=5 (--repeats 5)"
        )
    try:
        numbers = {key: kind(record[key]) for key, kind in _RECORDED.items()}
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"the record of the stability of these vectors is damaged: {error!r}") from error
    unknown = np.full(len(emb), np.nan, np.float32)
    neighbours, groups = (emb.extras.get(f"stable_{what}", unknown) for what in ("neighbours", "groups"))
    return Stability(**numbers, item_neighbours=neighbours, item_groups=groups)
