"""The share of a process in a fit: all rows or, on a cluster, some of them."""

from __future__ import annotations

from contextlib import AbstractContextManager

from scipy import sparse

from softvec.core.threads import Workers, workers
from softvec.operators import Operator, Sparse

__all__ = ["ALL", "Share"]


class Share:
    """All rows. :class:`softvec.cluster.share.Part` holds some of them and exchanges sums with the others."""

    def workers(self, n_jobs: int | None) -> AbstractContextManager[Workers]:
        """Open a pool of threads whose sums run over all rows."""
        return workers(n_jobs)

    def symmetric(self, A: sparse.csr_array) -> Operator:
        """Return the operator of a symmetric matrix, given this process's rows ``A``."""
        return Sparse(A, symmetric=True)


ALL = Share()
