"""How a process takes part in a fit: it has all rows, or on a cluster some of them."""

from __future__ import annotations

from contextlib import AbstractContextManager

from scipy import sparse

from softvec.core.threads import Workers, workers
from softvec.operators import Operator, Sparse

__all__ = ["ALL", "Share"]


class Share:
    """All rows are here. :class:`softvec.cluster.share.Part` has some rows, and asks the others for sums."""

    def workers(self, n_jobs: int | None) -> AbstractContextManager[Workers]:
        """Open threads whose sums go over all rows."""
        return workers(n_jobs)

    def symmetric(self, A: sparse.csr_array) -> Operator:
        """Return the operator of a symmetric matrix, of which ``A`` are the rows here."""
        return Sparse(A, symmetric=True)


ALL = Share()
