"""Link prediction: the split keeps the graph whole, scores are bracketed."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

import softvec
from experiments.generators import dcsbm
from softvec.core.errors import InputError
from softvec.evaluate import link_prediction, score_links, split_edges


@pytest.fixture(scope="module")
def graph():
    return dcsbm(600, c=12, q=3, alpha=2.5, random_state=0)


def test_split_hides_edges_and_isolates_nobody(graph):
    A = graph.adjacency
    split = split_edges(A, 0.3, random_state=1)
    hidden = split.positives
    assert len(hidden) == round(0.3 * A.nnz / 2)
    assert split.graph.nnz == A.nnz - 2 * len(hidden)
    assert (A[hidden[:, 0], hidden[:, 1]] == 1).all()
    assert (split.graph[hidden[:, 0], hidden[:, 1]] == 0).all()
    assert connected_components(split.graph)[0] == connected_components(A)[0]
    np.testing.assert_array_equal(np.diff(split.graph.indptr) > 0, np.diff(A.indptr) > 0)
    for pairs in split.negatives.values():
        assert len(pairs) == len(hidden)
        assert (A[pairs[:, 0], pairs[:, 1]] == 0).all()
        assert (pairs[:, 0] < pairs[:, 1]).all()
        assert len(np.unique(pairs[:, 0] * 600 + pairs[:, 1])) == len(pairs)


def test_degree_negatives_look_like_edges(graph):
    A = graph.adjacency
    degrees = np.diff(A.indptr)
    split = split_edges(A, 0.3, random_state=0)
    mean = {kind: degrees[pairs].mean() for kind, pairs in split.negatives.items()}
    of_edges = degrees[split.positives].mean()
    assert abs(mean["degree"] - of_edges) < 0.25 * of_edges
    assert mean["random"] < 0.6 * of_edges
    # Degrees alone look like a good predictor against random pairs, and fail against matched ones.
    scores = score_links(np.sqrt(degrees + 0.0)[:, None], split, scorer="dot")
    assert scores["auc_random"] > 0.8
    assert scores["auc_degree"] < 0.65


@pytest.mark.parametrize("scorer", ["dot", "cosine", "hadamard"])
def test_oracle_and_random_vectors_bracket_the_scale(graph, scorer):
    A = graph.adjacency
    split = split_edges(A, 0.2, random_state=0)
    noise = np.random.default_rng(0).standard_normal((600, 16))
    for value in score_links(noise, split, scorer=scorer).values():
        assert 0.35 < value < 0.65
    values, vectors = np.linalg.eigh(A.toarray().astype(float))
    oracle = vectors * np.sqrt(np.maximum(values, 0))  # the positive part of A itself, hidden edges included
    found = score_links(oracle, split, scorer=scorer)
    assert found["auc_random"] > 0.9
    assert found["auc_degree"] > 0.8


def test_link_prediction_repeats(graph):
    seen = []

    def embed(A):
        seen.append(A.nnz)
        return np.eye(3)[graph.labels]

    scores = link_prediction(embed, graph.adjacency, repeats=3, fraction=0.1)
    assert len(seen) == 3
    assert len(scores.values["auc_random"]) == 3
    assert scores["auc_random"] > 0.6
    assert scores.settings["n_hidden"] == round(0.1 * graph.adjacency.nnz / 2)


def test_weights_survive_the_split():
    A = sp.csr_array(np.array([[0, 2.0, 3, 0], [2, 0, 5, 0], [3, 5, 0, 7], [0, 0, 7, 0]]))
    split = split_edges(A, 0.2)
    assert split.graph[2, 3] == 7
    assert split.positives.tolist()[0] in [[0, 1], [0, 2], [1, 2]]


def test_errors(graph):
    path = sp.diags_array([np.ones(5), np.ones(5)], offsets=[-1, 1]).tocsr()
    with pytest.raises(InputError, match="forest"):
        split_edges(path)
    with pytest.raises(InputError, match="symmetric"):
        split_edges(sp.triu(path).tocsr())
    with pytest.raises(InputError, match="complete"):
        split_edges(sp.csr_array(np.ones((4, 4)) - np.eye(4)))
    with pytest.raises(InputError, match="fraction"):
        split_edges(graph.adjacency, 2.0)
    split = split_edges(graph.adjacency)
    with pytest.raises(InputError, match="scorer"):
        score_links(np.ones((600, 2)), split, scorer="other")
    with pytest.raises(InputError, match="600 nodes"):
        score_links(np.ones((5, 2)), split)


def _auc(logit, split, negatives):
    scores = [[logit(i, j) for i, j in pairs] for pairs in (split.positives, negatives)]
    above = np.subtract.outer(*map(np.array, scores))
    return float((above > 0).mean() + (above == 0).mean() / 2)


def _directions(V):
    return V / np.maximum(
        np.linalg.norm(V, axis=1, keepdims=True), 1e-12
    )  # a node without edges has length 0


@pytest.mark.filterwarnings("ignore:the normaliser is off")
@pytest.mark.parametrize("view", ["walk", "links"])
def test_softmax_scorer_is_the_logit_of_both_ends(view):
    A = dcsbm(300, c=12, q=2, alpha=3.0, random_state=0).adjacency
    split = split_edges(A, 0.2, random_state=0)
    emb = softvec.embed(split.graph, 8, kind="graph", view=view, random_state=0)
    emb = emb if emb.provenance["softmax"] else emb.calibrate(split.graph)
    softmax = emb.provenance["softmax"]
    a, c = softmax["cosine"], softmax["popularity"]
    size = np.maximum(split.graph.sum(axis=1), 0.5)
    X = _directions(emb.vectors)
    Y = _directions(emb.context_vectors) if emb.two_sided else X

    def logit(i, j):
        return (a * (X[i] @ Y[j] + X[j] @ Y[i]) + c * (np.log(size[i]) + np.log(size[j]))) / 2

    result = score_links(emb, split, scorer="softmax")
    for kind in ("random", "degree"):
        assert result[f"auc_{kind}"] == pytest.approx(_auc(logit, split, split.negatives[kind]), abs=1e-5)


def test_softmax_scorer_needs_the_embedding_of_a_graph():
    split = split_edges(dcsbm(300, c=12, q=2, alpha=3.0, random_state=0).adjacency, 0.2, random_state=0)
    with pytest.raises(InputError, match="needs an Embedding"):
        score_links(np.ones((300, 8)), split, scorer="softmax")
    pairs = softvec.embed([(f"u{i}", f"i{i % 7}") for i in range(60)], 4, kind="bipartite", random_state=0)
    with pytest.raises(InputError, match=r"shape \(300, 300\)"):
        score_links(pairs, split, scorer="softmax")
