"""Vectors depend on the edges, not on the order of rows or files; objects with an order keep it."""

import subprocess
import sys

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import softvec
from softvec import affinity, kernels
from softvec.names.coding import byte_order
from softvec.names.storage import pack


def weighted_edges():
    """Edges with repeats, so that sums of weights depend on their order unless it is fixed."""
    rng = np.random.default_rng(5)
    ends = (40 * rng.random((600, 2)) ** 2).astype(int)
    return [(f"n{a}é", f"n{b}é", w) for (a, b), w in zip(ends.tolist(), rng.random(600).tolist()) if a != b]


def shuffled(edges):
    return [edges[at] for at in np.random.default_rng(9).permutation(len(edges))]


def vectors(data, **options):
    emb = softvec.embed(data, 8, random_state=0, n_jobs=1, **options)
    return list(emb.names), emb.vectors.tobytes()


@pytest.mark.parametrize("small", [kernels.SMALL, 1], ids=["plain", "compiled"])
@pytest.mark.parametrize("kind", ["graph", "pairs", "bipartite"])
def test_shuffled_rows_give_the_same_bits(monkeypatch, tmp_path, small, kind):
    monkeypatch.setattr(kernels, "SMALL", small)
    edges = weighted_edges()
    truth = vectors(edges, kind=kind)
    assert truth[0] == sorted(truth[0])
    assert vectors(shuffled(edges), kind=kind) == truth
    frame = pd.DataFrame(shuffled(edges), columns=["source", "target", "weight"])
    assert vectors(frame, kind=kind) == truth
    frame.iloc[:50].to_csv(tmp_path / "b.csv", index=False)
    frame.iloc[50:].to_csv(tmp_path / "a.csv", index=False)
    assert vectors(tmp_path, kind=kind) == truth


def test_shuffled_contacts_give_the_same_bits():
    contacts = [(at % 20, a, b, w) for at, (a, b, w) in enumerate(weighted_edges())]
    assert vectors(shuffled(contacts), kind="temporal") == vectors(contacts, kind="temporal")


@pytest.mark.filterwarnings("ignore:the normaliser is off")  # random words have no sharp softmax
def test_shuffled_documents_give_the_same_bits():
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice([f"w{i}" for i in range(30)], 12)) for _ in range(50)]
    options = {"kind": "corpus", "min_count": 1}
    assert vectors(shuffled(texts), **options) == vectors(texts, **options)


def test_through_the_command(tmp_path):
    out = []
    for name, edges in (("a", weighted_edges()), ("b", shuffled(weighted_edges()))):
        path, target = tmp_path / f"{name}.tsv", tmp_path / f"{name}.svec"
        path.write_text("".join(f"{a}\t{b}\t{w}\n" for a, b, w in edges))
        command = [sys.executable, "-m", "softvec", "embed", str(path), "-d", "8", "--seed", "0"]
        subprocess.run([*command, "-o", str(target)], check=True, capture_output=True)
        emb = softvec.Embedding.load(target)
        out.append((list(emb.names), emb.vectors.tobytes()))
    assert out[0] == out[1]


def test_objects_keep_their_order():
    graph = nx.Graph([("z", "a"), ("a", "m")])
    assert affinity.as_affinity(graph).rows.to_list() == ["z", "a", "m"]
    matrix = sparse.csr_array(np.ones((3, 3)) - np.eye(3))
    assert affinity.random_walk(matrix, names=["z", "a", "m"]).rows.to_list() == ["z", "a", "m"]
    assert affinity.neighbors(np.eye(3), 1, names=["z", "a", "m"]).rows.to_list() == ["z", "a", "m"]


def test_byte_order():
    rng = np.random.default_rng(0)
    letters = ["a", "b", "é", "\0", "Z", "日", "😀", ""]
    words = list({"pre" + "".join(rng.choice(letters, rng.integers(0, 30))) for _ in range(3000)})
    packed = pack(words)
    got = [words[at] for at in byte_order(packed.data, packed.offsets)]
    assert got == sorted(words) == sorted(words, key=str.encode)
    for few in ([], ["a"], ["b", "a"], ["", "a"]):
        packed = pack(few)
        assert [few[at] for at in byte_order(packed.data, packed.offsets)] == sorted(few)
