"""Distance between two temporal graphs through their embeddings.

After L. Dall'Amico, A. Barrat, C. Cattuto, "An embedding-based distance for temporal graphs" (Nature
Communications, 2024): nodes are embedded by where time-respecting random walks lead from them; graphs with
the same nodes are compared node by node, others by quantities that do not depend on the order of nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from softvec.core.checks import unit_rows
from softvec.core.errors import InputError
from softvec.evaluate.common import as_vectors

_LARGEST = 20_000  # nodes; the walk matrix of a temporal graph is dense


def temporal_walks(
    edges: np.ndarray,
    *,
    weights: np.ndarray | None = None,
    n_nodes: int | None = None,
) -> sp.csr_array:
    """Return the transition matrix of time-respecting random walks.

    In a snapshot an active node steps to a neighbour in proportion to the weights, an inactive one waits. The
    matrix is the mean over all first and last snapshots s <= t of the products of steps s .. t, without the
    walks that end where they began, rows divided by their sums.

    Parameters
    ----------
    edges : ndarray of shape (m, 3)
        Integers ``t, i, j``: undirected contacts in snapshot t.
    weights : ndarray of shape (m,), optional
        Weights of the contacts (default: 1).
    n_nodes : int, optional
        Number of nodes; by default one more than the largest in ``edges``.

    Returns
    -------
    csr_array of shape (n_nodes, n_nodes)
        Rows of nodes with contacts sum to 1.

    Examples
    --------
    >>> from experiments.extensions.temporal_distance import temporal_walks
    >>> P = temporal_walks([[0, 0, 1], [1, 1, 2]])
    >>> P.toarray().round(2).tolist()  # 0 reaches 2 through 1, but 2 cannot reach 0
    [[0.0, 0.5, 0.5], [0.67, 0.0, 0.33], [0.0, 1.0, 0.0]]
    """
    edges = np.asarray(edges)
    if edges.ndim != 2 or edges.shape[1] != 3 or not np.issubdtype(edges.dtype, np.integer) or not len(edges):
        raise InputError(f"edges must be integers of shape (m, 3): t, i, j; got {edges.dtype} {edges.shape}")
    if edges.min() < 0:
        raise InputError("edges holds negative numbers")
    n = int(edges[:, 1:].max()) + 1 if n_nodes is None else int(n_nodes)
    if edges[:, 1:].max() >= n:
        raise InputError(f"n_nodes is {n} but edges name node {int(edges[:, 1:].max())}")
    if n > _LARGEST:
        raise InputError(
            f"{n} nodes: the walk matrix would need {8 * n * n / 2**30:.0f} GiB; at most {_LARGEST}"
        )
    w = np.ones(len(edges)) if weights is None else np.asarray(weights, dtype=np.float64)
    if w.shape != (len(edges),) or not (w > 0).all():
        raise InputError(f"weights must be {len(edges)} positive numbers")
    total = np.zeros((n, n))
    walks = np.zeros((n, n))  # sum over first snapshots s of the products s .. t
    for t in np.unique(edges[:, 0]):
        now = edges[:, 0] == t
        i, j = edges[now, 1], edges[now, 2]
        walks[np.diag_indices(n)] += 1.0
        step = sp.coo_array((np.r_[w[now], w[now]], (np.r_[i, j], np.r_[j, i])), shape=(n, n)).tocsr()
        active = np.flatnonzero(np.diff(step.indptr))
        moved = walks[:, active] @ (step[active] / step[active].sum(axis=1)[:, None])
        walks[:, active] = 0.0
        walks += moved
        total += walks
    np.fill_diagonal(total, 0.0)
    sums = total.sum(axis=1, keepdims=True)
    return sp.csr_array(total / np.where(sums > 0, sums, 1.0))


def matched_distance(X: Any, Y: Any) -> float:
    """Return the distance between two embeddings of the same nodes, in the same order.

    It is the root mean square of the differences of all pairwise cosines, ``|XX' - YY'|_F / n``, computed
    from d x d matrices in linear time.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.extensions.temporal_distance import matched_distance
    >>> X = np.eye(4)
    >>> matched_distance(X, X[:, ::-1]), round(matched_distance(X, np.ones((4, 1))), 3)
    (0.0, 0.866)
    """
    X, Y = (unit_rows(as_vectors(Z, name)).astype(np.float64) for Z, name in ((X, "X"), (Y, "Y")))
    if len(X) != len(Y):
        raise InputError(f"{len(X)} and {len(Y)} nodes: unmatched graphs need unmatched_distance")
    square = ((X.T @ X) ** 2).sum() + ((Y.T @ Y) ** 2).sum() - 2.0 * ((X.T @ Y) ** 2).sum()
    return float(np.sqrt(max(square, 0.0)) / len(X))


def unmatched_distance(X: Any, Y: Any) -> float:
    """Return the distance between two embeddings whose nodes need not correspond.

    It is the Euclidean distance of the sorted eigenvalues of ``X'X / n`` and ``Y'Y / m``: neither the order
    of the nodes nor a rotation changes them. The shorter list is filled up with zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.extensions.temporal_distance import unmatched_distance
    >>> X = np.eye(4)
    >>> unmatched_distance(X, np.repeat(X, 3, axis=0)), round(unmatched_distance(X, np.ones((4, 1))), 3)
    (0.0, 0.866)
    """
    spectra = []
    for Z, name in ((X, "X"), (Y, "Y")):
        Z = unit_rows(as_vectors(Z, name)).astype(np.float64)
        spectra.append(np.linalg.eigvalsh(Z.T @ Z / len(Z))[::-1])
    size = max(map(len, spectra))
    first, second = (np.pad(values, (0, size - len(values))) for values in spectra)
    return float(np.linalg.norm(first - second))
