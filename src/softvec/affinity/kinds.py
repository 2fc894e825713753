"""The kinds of data and their builders, in one table."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from softvec.affinity.base import Affinity
from softvec.affinity.builders import bipartite, pairs, random_walk
from softvec.affinity.cooccurrence import cooccurrence
from softvec.affinity.dense import from_dense
from softvec.affinity.features import neighbors
from softvec.affinity.sets import sets
from softvec.affinity.temporal import supra_adjacency
from softvec.core.errors import InputError, Message, Option, did_you_mean

Defaults = Mapping[str, Mapping[str, Any]]  # default options, by kind


@dataclass(frozen=True)
class Kind:
    """A kind of data.

    Attributes
    ----------
    build : callable
        Builds an :class:`Affinity` from an object; its other parameters are the options of this kind.
    accepts : str
        Short description of the data.
    """

    build: Callable[..., Affinity]
    accepts: str

    @cached_property
    def options(self) -> list[str]:
        """Names of the options of this kind."""
        return list(inspect.signature(self.build).parameters)[1:]


KINDS: Mapping[str, Kind] = {
    "graph": Kind(random_walk, "nodes and edges"),
    "pairs": Kind(pairs, "pairs that may repeat"),
    "bipartite": Kind(bipartite, "two kinds of items"),
    "temporal": Kind(supra_adjacency, "temporal contacts"),
    "corpus": Kind(cooccurrence, "text"),
    "features": Kind(neighbors, "feature vectors"),
    "dense": Kind(from_dense, "a dense matrix of affinities"),
    "sets": Kind(sets, "sets of items"),
}


def check_kind(kind: str) -> str:
    """Return ``kind`` if it is a kind of data."""
    if kind not in KINDS:
        listed = ", ".join(f"{name} ({row.accepts})" for name, row in KINDS.items())
        raise InputError.of("kind", kind, f"one of {listed}")
    return kind


def takes(name: str) -> list[str]:
    """Return the kinds of data that have this option."""
    return [kind for kind, row in KINDS.items() if name in row.options]


def check_options(kind: str, options: Iterable[str], data: str = "") -> None:
    """Raise an error for options that a kind does not have."""
    known = KINDS[kind].options
    unknown = [name for name in options if name not in known]
    if not unknown:
        return
    hint: Message = Message(did_you_mean(unknown[0], known))
    if elsewhere := takes(unknown[0]):
        hint = Message(f"; for {' or '.join(elsewhere)} data, pass ", Option("kind", ...))
    several = "s" * (len(unknown) > 1)
    raise InputError(
        f"unknown option{several} {', '.join(map(repr, unknown))} for {data or kind} data; expected one of "
        f"{', '.join(known)}",
        hint,
    )
