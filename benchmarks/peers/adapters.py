"""One function for each rival: a CSR graph in, vectors out. Runs inside the rival's environment.

An adapter returns (prepare, embed). `prepare(A)` converts the graph to the rival's own format and is
timed apart; `embed(prepared, d, seed, params)` is the time that counts. Only NumPy, SciPy and
the rival itself may be imported here, and the rival only inside its adapter.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

THREADS = int(os.environ.get("OMP_NUM_THREADS", "2"))  # pinned by the parent process
Prepare = Callable[[Any], Any]
Embed = Callable[[Any, int, int, dict[str, Any]], np.ndarray]


def _upper_edges(A: Any) -> tuple[np.ndarray, np.ndarray]:
    upper = sp.triu(A, k=1).tocoo()
    return upper.row, upper.col


def degrees() -> tuple[Prepare, Embed]:
    """Use no vectors: the degree of a node and the mean degree of its neighbours, as logarithms."""

    def embed(A: Any, d: int, seed: int, params: dict[str, Any]) -> np.ndarray:
        degree = np.maximum(np.asarray(A.sum(axis=1)).ravel(), 1)
        return np.log(np.column_stack([degree, np.maximum(A @ degree / degree, 1)]))

    return (lambda A: A), embed


def edrep() -> tuple[Prepare, Embed]:
    """Use the authors' EDRep; its NodeEmbedding fails in 0.1.2, so P is built here as it would."""
    from EDRep import CreateEmbedding

    def embed(A: Any, d: int, seed: int, params: dict[str, Any]) -> np.ndarray:
        np.random.seed(seed)  # noqa: NPY002 (the package draws from the global state)
        params = dict(params)
        degree = np.maximum(np.asarray(A.sum(axis=1)).ravel(), 1)
        walk = sp.csr_matrix(sp.diags(1 / degree) @ A)
        steps = [walk] * params.pop("walk_length")
        return CreateEmbedding(steps, dim=d, sum_partials=True, verbose=False, **params).X

    return (lambda A: sp.csr_matrix(A, dtype=np.float64)), embed


def fastnode2vec() -> tuple[Prepare, Embed]:
    """Use fastnode2vec: node2vec walks fed to gensim's skip-gram as they are made."""
    from fastnode2vec import Graph, Node2Vec

    def prepare(A: Any) -> Any:
        rows, cols = _upper_edges(A)
        edges = list(zip(rows.tolist(), cols.tolist(), strict=True))
        return A.shape[0], Graph(edges, directed=False, weighted=False, verbose=False)

    def embed(prepared: Any, d: int, seed: int, params: dict[str, Any]) -> np.ndarray:
        n, graph = prepared
        epochs = params.pop("epochs")
        # no seed: with one the package draws the same numbers for every batch of walks, and scores worse
        model = Node2Vec(graph, d, workers=THREADS, **params)
        model.train(epochs=epochs, verbose=False)
        return _keyed(model.wv, n, d, int)

    return prepare, embed


def _keyed(vectors: Any, n: int, d: int, kind: Callable[[Any], Any]) -> np.ndarray:
    out = np.zeros((n, d), dtype=np.float32)  # nodes without edges stay at zero
    keys = vectors.index_to_key
    out[[int(key) for key in keys]] = vectors[[kind(key) for key in keys]]
    return out


def deepwalk() -> tuple[Prepare, Embed]:
    """Use gensim's skip-gram on uniform walks made by a vectorised NumPy walker."""
    from gensim.models import Word2Vec

    def walks(A: Any, length: int, number: int, rng: np.random.Generator) -> np.ndarray:
        degree = np.diff(A.indptr)
        start = np.flatnonzero(degree)
        at = np.concatenate([rng.permutation(start) for _ in range(number)])
        out = np.empty((len(at), length), dtype=np.int32)
        for t in range(length):
            out[:, t] = at
            pick = (rng.random(len(at)) * degree[at]).astype(np.int64)
            at = A.indices[A.indptr[at] + pick]
        return out

    def embed(A: Any, d: int, seed: int, params: dict[str, Any]) -> np.ndarray:
        rng = np.random.default_rng(seed)
        names = np.array([str(i) for i in range(A.shape[0])], dtype=object)
        made = walks(A, params["walk_length"], params["walks"], rng)
        corpus = [names[walk].tolist() for walk in made]
        model = Word2Vec(
            corpus,
            vector_size=d,
            window=params["window"],
            sg=1,
            hs=params["hierarchical"],
            negative=0 if params["hierarchical"] else 5,
            min_count=0,
            epochs=1,
            workers=THREADS,
            seed=seed,
        )
        return _keyed(model.wv, A.shape[0], d, str)

    return (lambda A: A), embed


def pecanpy() -> tuple[Prepare, Embed]:
    """Use PecanPy's on-the-fly node2vec on a CSR graph."""
    from pecanpy import pecanpy as library

    def prepare(A: Any) -> Any:
        return sp.csr_matrix(A)

    def embed(A: Any, d: int, seed: int, params: dict[str, Any]) -> np.ndarray:
        params = dict(params)
        p, q = params.pop("p"), params.pop("q")
        kind = library.FirstOrderUnweighted if p == q == 1 else library.SparseOTF
        graph = kind(p=p, q=q, workers=THREADS, verbose=False, random_state=seed)
        graph.indptr = A.indptr.astype(np.uint32)
        graph.indices = A.indices.astype(np.uint32)
        graph.data = A.data.astype(np.float32)
        graph.set_node_ids([str(i) for i in range(A.shape[0])])
        graph.preprocess_transition_probs()
        return graph.embed(dim=d, **params)

    return prepare, embed


def cleora() -> tuple[Prepare, Embed]:
    """Use Cleora's Rust core: repeated Markov propagation of deterministic random vectors."""
    import pycleora

    def prepare(A: Any) -> Any:
        rows, cols = _upper_edges(A)
        lines = (f"{u} {v}" for u, v in zip(rows.tolist(), cols.tolist(), strict=True))
        return A.shape[0], pycleora.SparseMatrix.from_iterator(lines, "complex::reflexive::node")

    def embed(prepared: Any, d: int, seed: int, params: dict[str, Any]) -> np.ndarray:
        n, graph = prepared
        X = pycleora.embed(graph, feature_dim=d, seed=seed, num_workers=THREADS, **params)
        out = np.zeros((n, d), dtype=np.float32)
        out[[int(name) for name in graph.entity_ids]] = X
        return out

    return prepare, embed


def fastrp() -> tuple[Prepare, Embed]:
    """Use the Rust FastRP."""
    from fastrp import FastRP

    def embed(A: Any, d: int, seed: int, params: dict[str, Any]) -> np.ndarray:
        # the graphs are symmetric already: undirected=True would only double the weights
        return FastRP(dim=d, seed=seed, undirected=False, **params).fit_transform(A)

    return (lambda A: sp.csr_matrix(A, dtype=np.float32)), embed


def spectral() -> tuple[Prepare, Embed]:
    """Use scikit-network's Spectral."""
    from sknetwork.embedding import Spectral

    def embed(A: Any, d: int, seed: int, params: dict[str, Any]) -> np.ndarray:
        return Spectral(min(d, A.shape[0] - 2), **params).fit_transform(A)

    return (lambda A: sp.csr_matrix(A, dtype=np.float64)), embed


def gsvd() -> tuple[Prepare, Embed]:
    """Use scikit-network's generalised SVD."""
    from sknetwork.embedding import GSVD

    def embed(A: Any, d: int, seed: int, params: dict[str, Any]) -> np.ndarray:
        return GSVD(min(d, A.shape[0] - 2), **params).fit_transform(A)

    return (lambda A: sp.csr_matrix(A, dtype=np.float64)), embed


def umap_spectral() -> tuple[Prepare, Embed]:
    """Use umap-learn's spectral layout of a given graph."""
    from umap.spectral import spectral_layout

    def embed(A: Any, d: int, seed: int, params: dict[str, Any]) -> np.ndarray:
        data = np.zeros((A.shape[0], 1), dtype=np.float32)  # consulted by multi-component graphs
        return spectral_layout(data, A, min(d, A.shape[0] - 2), np.random.RandomState(seed))

    return (lambda A: sp.coo_matrix(A, dtype=np.float32)), embed


def umap_layout() -> tuple[Prepare, Embed]:
    """Use umap-learn's stochastic layout of a given graph, from its spectral start."""
    from umap.umap_ import find_ab_params, simplicial_set_embedding

    a, b = find_ab_params(1.0, 0.1)

    def embed(A: Any, d: int, seed: int, params: dict[str, Any]) -> np.ndarray:
        data = np.zeros((A.shape[0], 1), dtype=np.float32)
        X, _ = simplicial_set_embedding(
            data, A.copy(), min(d, A.shape[0] - 2), 1.0, a, b, 1.0, 5, None, "spectral",
            np.random.RandomState(seed), "euclidean", {}, False, {}, False, parallel=False,
        )  # fmt: skip
        return X

    return (lambda A: sp.coo_matrix(A, dtype=np.float32)), embed


def prone() -> tuple[Prepare, Embed]:
    """Use this directory's ProNE."""
    from benchmarks.peers import prone as module

    return (lambda A: A), (lambda A, d, seed, params: module.embed(A, d, seed=seed, **params))


def netmf() -> tuple[Prepare, Embed]:
    """Use this directory's NetMF."""
    from benchmarks.peers import netmf as module

    return (lambda A: A), (lambda A, d, seed, params: module.embed(A, d, seed=seed, **params))


def softvec() -> tuple[Prepare, Embed]:
    """Use softvec; building the random-walk matrix counts as embedding time."""
    import softvec as library

    def embed(A: Any, d: int, seed: int, params: dict[str, Any]) -> np.ndarray:
        return library.embed(A, d, random_state=seed, n_jobs=THREADS, **params).vectors

    return (lambda A: A), embed
