"""Affinities: the matrix P with names, and builders from graphs, pairs, text, contacts and features."""

from softvec.affinity._base import Affinity
from softvec.affinity._convert import (
    BUILDERS,
    KINDS,
    as_affinity,
    bipartite,
    pairs,
    random_walk,
    temporal_edges,
)
from softvec.affinity._corpus import Corpus, cooccurrence
from softvec.affinity._dense import from_dense
from softvec.affinity._edges import EdgeBuilder, Edges
from softvec.affinity._features import neighbors
from softvec.affinity._temporal import Contacts, aggregate, supra_adjacency

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
    "neighbors",
    "pairs",
    "random_walk",
    "supra_adjacency",
    "temporal_edges",
]
