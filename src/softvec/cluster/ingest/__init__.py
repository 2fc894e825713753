"""Files of edges to a matrix that several workers hold: the one that one machine would read."""

from softvec.cluster.ingest.matrix import Ingested, ingest

__all__ = ["Ingested", "ingest"]
