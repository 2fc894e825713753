"""The random probability matrix of the paper's comparison with the exact gradient."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from experiments.generators.dcsbm import dcsbm
from experiments.generators.seeds import RandomState
from softvec.core.errors import InputError


def negative_binomial(
    n: int,
    N: float = 3,
    p: float = 0.3,
    *,
    mean_degree: float = 10.0,
    isolated: str = "attach",
    random_state: RandomState = None,
) -> sp.csr_array:
    """Draw the row-normalised random matrix with negative-binomial connectivities.

    ``A_ij = A_ji = 1`` with probability proportional to ``theta_i theta_j``, with theta_i from the negative
    binomial distribution of parameters N and p; ``P = D^-1 A``. The paper does not give the scale: here A has
    ``mean_degree`` non-zeros per row on average.

    Parameters
    ----------
    n : int
        Number of rows and columns.
    N, p : float
        Number of successes and probability of success; theta has mean ``N (1 - p) / p``.
    mean_degree : float
        Expected number of non-zeros per row of A.
    isolated : {"attach", "drop", "keep"}
        Rows without entries (about 7 in 100 by default: theta may be 0). "attach" gives such a row one entry,
        drawn in proportion to theta; "drop" removes row and column, so that fewer than n remain; "keep"
        leaves rows that sum to 0.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    csr_array of shape (n, n)
        float64, rows sum to 1.

    Examples
    --------
    >>> from experiments.exact.random_p import negative_binomial
    >>> P = negative_binomial(100, random_state=0)
    >>> P.shape, bool(abs(P.sum(axis=1) - 1).max() < 1e-12)
    ((100, 100), True)
    """
    if isolated not in ("attach", "drop", "keep"):
        raise InputError(f"isolated is {isolated!r}; pass 'attach', 'drop' or 'keep'")
    if not (N > 0 and 0 < p < 1):
        raise InputError(f"N is {N} and p is {p}; N must be above 0 and p between 0 and 1")
    rng = np.random.default_rng(random_state)
    theta = rng.negative_binomial(N, p, n).astype(np.float64)
    if theta.sum() == 0:
        raise InputError(f"all {n} connectivities are 0; raise n or N, or lower p")
    A = dcsbm(n, q=1, c_in=mean_degree, c_out=0.0, theta=theta, random_state=rng).adjacency
    degrees = np.diff(A.indptr)
    empty = np.flatnonzero(degrees == 0)
    if isolated == "drop":
        kept = np.flatnonzero(degrees)
        A = A[kept][:, kept]
    elif isolated == "attach" and len(empty):
        columns = rng.choice(n, size=len(empty), p=theta / theta.sum())
        columns = np.where(columns == empty, (columns + 1) % n, columns)
        A = A + sp.csr_array((np.ones(len(empty), np.int8), (empty, columns)), shape=(n, n))
    sums = np.diff(A.indptr).astype(np.float64)
    values = np.repeat(1.0 / np.maximum(sums, 1.0), np.diff(A.indptr))
    return sp.csr_array((values, A.indices, A.indptr), shape=A.shape)
