"""Affinities: the matrix P with names, and builders from graphs, pairs, text, contacts and features."""

from softvec.affinity.base import Affinity
from softvec.affinity.builders import bipartite, pairs, random_walk, temporal_edges
from softvec.affinity.cooccurrence import cooccurrence
from softvec.affinity.corpus import Corpus
from softvec.affinity.dense import from_dense
from softvec.affinity.features import neighbors
from softvec.affinity.sources import KINDS, as_affinity, read
from softvec.affinity.temporal import Contacts, aggregate, supra_adjacency
from softvec.read.edges import EdgeBuilder, Edges
from softvec.read.reader import read_names

__all__ = [
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
    "read",
    "read_names",
    "supra_adjacency",
    "temporal_edges",
]
