"""Affinities: the matrix P with names, and builders from graphs, pairs, text, contacts and features.

Functions for files are loaded on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from softvec.affinity.base import Affinity
from softvec.affinity.builders import bipartite, pairs, random_walk, temporal_edges
from softvec.affinity.cooccurrence import cooccurrence
from softvec.affinity.corpus import Corpus
from softvec.affinity.dense import from_dense
from softvec.affinity.features import neighbors
from softvec.affinity.kinds import KINDS
from softvec.affinity.temporal import Contacts, aggregate, supra_adjacency
from softvec.read.edges import EdgeBuilder, Edges

if TYPE_CHECKING:
    BUILDERS: dict[str, Any]
    from softvec.affinity.files import (
        as_affinity,
        load_corpus,
        read,
        read_contacts,
        read_corpus,
        read_features,
        read_graph,
        read_names,
        read_temporal,
    )
    from softvec.affinity.writing import write, write_names

_FILES = (
    "as_affinity", "load_corpus", "read", "read_contacts", "read_corpus", "read_features", "read_graph",
    "read_names", "read_temporal",
)  # fmt: skip
_LAZY = {**dict.fromkeys(_FILES, "files"), "write": "writing", "write_names": "writing"}

__all__ = [
    "BUILDERS",
    "KINDS",
    "Affinity",
    "Contacts",
    "Corpus",
    "EdgeBuilder",
    "Edges",
    "aggregate",
    "as_affinity",
    "bipartite",
    "cooccurrence",
    "from_dense",
    "load_corpus",
    "neighbors",
    "pairs",
    "random_walk",
    "read",
    "read_contacts",
    "read_corpus",
    "read_features",
    "read_graph",
    "read_names",
    "read_temporal",
    "supra_adjacency",
    "temporal_edges",
    "write",
    "write_names",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f"softvec.affinity.{_LAZY[name]}"), name)
    if name == "BUILDERS":
        return {kind: row.build for kind, row in KINDS.items()}
    raise AttributeError(f"module 'softvec.affinity' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
