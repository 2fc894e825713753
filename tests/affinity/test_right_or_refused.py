"""Data that was read in a way its owner did not mean: it is read right now, or refused with the way out."""

import subprocess
import sys
import unicodedata
import uuid

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist, squareform

import softvec
from softvec import affinity, kernels
from softvec.core.errors import GuessWarning, InputError


@pytest.mark.filterwarnings("ignore:the normaliser is off")
@pytest.mark.parametrize("nodes", [34, 120], ids=["walk", "fused"])
def test_nodes_without_edges_have_no_vector(nodes):
    graph = nx.karate_club_graph() if nodes == 34 else nx.gnp_random_graph(120, 0.4, seed=1)
    graph.add_node("alone")
    emb = softvec.embed(graph, 6, random_state=0)
    assert not emb["alone"].any()
    lengths = np.linalg.norm(emb.vectors, axis=1)
    assert (lengths > 0).sum() == nodes
    assert "1 isolated node (zero vectors)" in affinity.as_affinity(graph).summary
    again = softvec.embed(graph, 6, init=emb, random_state=0)
    assert np.isfinite(again.vectors).all()
    assert not again["alone"].any()


def test_empty_rows_and_columns_of_two_sides_have_no_vector():
    emb = softvec.embed(np.array([[1, 2, 0, 0], [2, 1, 0, 1], [0] * 4, [1, 0, 0, 3]]), 3, kind="bipartite")
    assert np.linalg.norm(emb.vectors, axis=1).nonzero()[0].tolist() == [0, 1, 3]
    assert np.linalg.norm(emb.context.vectors, axis=1).nonzero()[0].tolist() == [0, 1, 3]


@pytest.mark.parametrize("small", [kernels.SMALL, 1], ids=["plain", "compiled"])
def test_correlations_are_symmetric_up_to_rounding(monkeypatch, small):
    monkeypatch.setattr(kernels, "SMALL", small)
    C = np.corrcoef(np.random.default_rng(0).normal(size=(50, 8)))
    C[3, 4] = C[4, 3] * (1 + 1e-15)
    assert (C != C.T).any()
    for negative, done in (("drop", "dropped"), ("abs", "made positive")):
        summary = affinity.random_walk(C, negative=negative).summary
        assert ", undirected, weighted; " in summary
        assert f"{(C < 0).sum():,} negative values {done}" in summary
    with pytest.raises(InputError, match="negative='drop' or negative='abs'"):
        affinity.random_walk(C)
    C[3, 4] += 1e-6
    assert ", directed" in affinity.random_walk(C, negative="abs").summary


def test_distances_are_refused():
    D = squareform(pdist(np.random.default_rng(0).normal(size=(30, 2))))
    with pytest.raises(InputError, match=r"looks like distances .* np\.exp\(.* weighted=True"):
        softvec.embed(D, 2)
    assert affinity.random_walk(D, weighted=True).shape == (30, 30)
    assert affinity.random_walk(np.exp(-((D / np.median(D)) ** 2))).shape == (30, 30)


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine", "correlation", "jaccard"])
def test_distances_without_triangles_are_refused(metric):
    X = np.random.default_rng(0).random((30, 4))
    D = squareform(pdist(X > 0.5 if metric == "jaccard" else X, metric))
    with pytest.raises(InputError, match="looks like distances"):
        affinity.as_affinity(D)


def test_one_minus_correlations_is_refused():
    with pytest.raises(InputError, match="looks like distances"):
        affinity.as_affinity(1 - np.corrcoef(np.random.default_rng(0).normal(size=(40, 6))))


def test_affinities_are_no_distances():
    rng = np.random.default_rng(0)
    for n in (30, 80):
        X, mass = rng.random((n, 5)), rng.random(n) + 0.1
        cosine = X @ X.T / np.outer(np.linalg.norm(X, axis=1), np.linalg.norm(X, axis=1))
        for values in (rng.poisson(3, (n, n)) + 1, rng.gamma(3, size=(n, n)), np.outer(mass, mass), cosine):
            A = np.triu(values, 1)
            assert affinity.as_affinity(A + A.T).shape == (n, n)


def test_distances_of_anndata_are_refused():
    anndata = pytest.importorskip("anndata")
    adata = anndata.AnnData(np.eye(4, dtype=np.float32))
    adata.obsp["distances"] = sparse.csr_array(np.ones((4, 4)) - np.eye(4))
    adata.obsp["connectivities"] = adata.obsp["distances"]
    with pytest.raises(InputError, match=r"holds distances, .* key='connectivities'"):
        softvec.embed(adata, 2, key="distances")


def test_empty_names(tmp_path):
    frame = pd.DataFrame({"source": ["a", ""], "target": ["b", "c"]})
    path = tmp_path / "edges.csv"
    frame.to_csv(path, index=False)
    for data in (frame, [("a", "b"), ("", "c")], path):
        with pytest.raises(InputError, match=r"empty name|is missing"):
            affinity.as_affinity(data)


@pytest.mark.parametrize("library", ["networkx", "igraph"])
def test_parallel_edges_of_a_multigraph(library):
    edges = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "c")]
    weighted = [(*edge, weight) for edge, weight in zip(edges, (1.0, 2.5, 3.0, 1.0))]
    if library == "networkx":
        plain, heavy = nx.MultiGraph(edges), nx.MultiGraph()
        heavy.add_weighted_edges_from(weighted)
    else:
        igraph = pytest.importorskip("igraph")
        plain = igraph.Graph.TupleList(edges)
        heavy = igraph.Graph.TupleList(weighted, weights=True)
    for graph, data in ((plain, edges), (heavy, weighted)):
        of_graph, of_list = affinity.as_affinity(graph), affinity.as_affinity(data)
        np.testing.assert_array_equal(of_graph.matrix.toarray(), of_list.matrix.toarray())
        done = "summed" if graph is heavy else "merged"
        assert f"1 duplicate {done}" in of_graph.summary
        assert f"1 duplicate {done}" in of_list.summary
    assert affinity.random_walk(plain, duplicates="sum").matrix.toarray()[0, 1] == 2
    with pytest.raises(InputError, match="1 duplicate edge"):
        affinity.random_walk(plain, duplicates="error")


def test_parallel_edges_of_a_directed_multigraph():
    graph = nx.MultiDiGraph([(0, 1), (1, 0), (0, 1)])
    got = affinity.as_affinity(graph)
    assert "1 duplicate merged" in got.summary
    assert got.matrix.toarray().tolist() == [[0, 1], [1, 0]]


def test_names_that_no_file_holds_are_refused_before_the_fit():
    a, b, c = (uuid.UUID(int=i) for i in range(3))
    for data in ([(a, b), (b, c)], nx.Graph([(a, b), (b, c)])):
        with pytest.raises(InputError, match="of type UUID cannot be saved; use strings"):
            softvec.embed(data, 2)


def test_tuples_in_a_frame_are_names():
    frame = pd.DataFrame({"source": [("a", "x"), ("b", "y")], "target": [("b", "y"), ("c", "z")]})
    assert affinity.as_affinity(frame).rows.to_list() == [("a", "x"), ("b", "y"), ("c", "z")]


def test_two_sides_of_a_networkx_graph():
    graph = nx.davis_southern_women_graph()
    women, events = graph.graph["top"], graph.graph["bottom"]
    P = affinity.as_affinity(graph, kind="bipartite")
    assert (P.rows.to_list(), P.columns.to_list()) == (women, events)
    want = nx.bipartite.biadjacency_matrix(graph, women, events).toarray()
    np.testing.assert_array_equal(P.matrix.toarray(), want)
    with pytest.raises(InputError, match="set the node attribute bipartite"):
        affinity.as_affinity(nx.path_graph(4), kind="bipartite")
    graph.add_edge(women[0], women[1])
    with pytest.raises(InputError, match="edges within one side"):
        affinity.as_affinity(graph, kind="bipartite")


def words(texts, **options):
    return set(affinity.cooccurrence(texts, min_count=1, **options).rows)


def test_a_frame_is_no_corpus():
    frame = pd.DataFrame({"id": [1, 2], "text": ["the cat sat", "the dog sat"]})
    with pytest.raises(
        InputError, match=r"frame of columns id, text; pass the column of text, frame\[name\]"
    ):
        affinity.as_affinity(frame, kind="corpus")
    assert words(frame["text"]) == {"the", "cat", "sat", "dog"}


def test_combining_marks_belong_to_their_words():
    assert words(["नमस्ते दुनिया।"]) == {"नमस्ते", "दुनिया"}
    assert words(["مَرْحَبًا بِكَ"]) == {"مَرْحَبًا", "بِكَ"}
    accented = "café déjà"
    assert words([unicodedata.normalize("NFD", accented)]) == words([accented]) == {"café", "déjà"}
    assert words(["naïve—naïve, «naïve»"]) == {"naïve"}


def test_tokenizers():
    texts = ["Don't stop; don't go"]
    assert words(texts, tokenizer=r"[\w']+") == {"don't", "stop", "go"}
    assert words(texts, tokenizer=str.split) == {"don't", "stop;", "go"}
    assert words(texts, tokenizer=str.split, lowercase=False) == {"Don't", "don't", "stop;", "go"}
    with pytest.raises(InputError, match="tokenizer is 'word'"):
        words(texts, tokenizer="word")
    with pytest.raises(InputError, match="a regular expression"):
        words(texts, tokenizer="[")


def test_a_tokenizer_and_documents_in_a_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one'two three\nthree four\n")
    P = affinity.read(path, kind="corpus", min_count=1, window=2, tokenizer=r"[\w']+")
    assert set(P.rows) == {"one'two", "three", "four"}
    assert P.summary.startswith("4 words in 2 documents")


def test_text_without_spaces():
    thai = "ภาษาไทยเป็นภาษาที่มีระดับเสียง"
    with pytest.raises(InputError, match="no spaces; pass lists of tokens"):
        affinity.cooccurrence([thai], min_count=2)
    with pytest.warns(GuessWarning, match="pass lists of tokens"):
        affinity.cooccurrence([thai] * 3, min_count=2)
    assert words([["ภาษา", "ไทย"]]) == {"ภาษา", "ไทย"}


def test_the_command_says_the_same(tmp_path):
    D = squareform(pdist(np.random.default_rng(0).normal(size=(30, 2))))
    np.save(tmp_path / "d.npy", D)
    (tmp_path / "e.csv").write_text("source,target\na,b\n,c\n")
    (tmp_path / "thai.txt").write_text("ภาษาไทยเป็นภาษาที่มีระดับเสียง\n")
    for file, flags, message in (
        ("d.npy", [], "looks like distances"),
        ("e.csv", [], "the source is missing"),
        ("thai.txt", ["-k", "corpus"], "pass lists of tokens"),
    ):
        command = [sys.executable, "-m", "softvec", "embed", str(tmp_path / file), *flags]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
        assert done.returncode == 2
        assert message in done.stderr
