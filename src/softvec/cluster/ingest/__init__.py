"""Read files of edges into a matrix spread over several workers, equal to the one of a single process."""

from softvec.cluster.ingest.matrix import OPTIONS, Ingested, ingest

__all__ = ["OPTIONS", "Ingested", "ingest"]
