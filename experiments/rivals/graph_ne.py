"""Graph NE (Böhm et al., TMLR 2025) from its description: a softmax of cosines over tau, fitted to edges.

The paper draws the items of the sum from a batch; here the sum goes over all other items, the limit of a
large batch, so that it suits graphs of some thousand nodes.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def graph_ne(
    A: sp.csr_array, d: int, *, seed: int, tau: float = 0.05, epochs: int = 200, rate: float = 0.05
) -> np.ndarray:
    """Return unit vectors that minimise the mean of -log softmax_j(x_i.x_j / tau) over edges, by Adam."""
    n, rng = A.shape[0], np.random.default_rng(seed)
    W = sp.csr_array(A, dtype=np.float32) / A.sum()
    X = rng.standard_normal((n, d)).astype(np.float32)
    first, second = np.zeros_like(X), np.zeros_like(X)
    for epoch in range(1, epochs + 1):
        length = np.linalg.norm(X, axis=1, keepdims=True)
        U = X / length
        S = U @ U.T / tau
        np.fill_diagonal(S, -np.inf)
        S -= S.max(axis=1, keepdims=True)
        np.exp(S, out=S)
        S *= (W.sum(axis=1) / S.sum(axis=1))[:, None]
        G = (S @ U + S.T @ U - W @ U - W.T @ U) / tau  # on the unit vectors
        G = (G - np.sum(G * U, axis=1, keepdims=True) * U) / length
        first, second = 0.9 * first + 0.1 * G, 0.999 * second + 0.001 * G**2
        step = rate * (1 - (epoch - 1) / epochs)
        X -= step * (first / (1 - 0.9**epoch)) / (np.sqrt(second / (1 - 0.999**epoch)) + 1e-10)
    return X / np.linalg.norm(X, axis=1, keepdims=True)
