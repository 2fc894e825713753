"""Files of edges to a matrix that several workers hold: the one that one machine would read."""

from softvec.cluster.ingest.matrix import OPTIONS, Ingested, ingest

__all__ = ["OPTIONS", "Ingested", "ingest"]
