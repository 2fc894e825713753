"""Types of nodes: read from any source, kept in files, and used by neighbours, links, plots and commands."""

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

import softvec
from softvec.affinity.types import with_types
from softvec.core.errors import InputError

EDGES = [(f"a{i}", f"p{j}") for j in range(30) for i in (j % 10, (j * 7 + 1) % 10)]
EDGES += [(f"p{j}", f"v{j % 2}") for j in range(30)] + [
    ("v0", "c0"),
    ("v0", "c1"),
    ("v1", "c1"),
    ("v1", "c2"),
]
KIND = {"a": "author", "p": "paper", "v": "venue", "c": "city"}
TYPES = {name: KIND[name[0]] for edge in EDGES for name in edge}


@pytest.fixture(scope="module")
def emb():
    return softvec.embed(EDGES, 8, types=TYPES, random_state=0)


def test_every_source_of_types_gives_the_same(tmp_path, emb):
    pd = pytest.importorskip("pandas")
    (tmp_path / "types.tsv").write_text("".join(f"{name}\t{type}\n" for name, type in TYPES.items()))
    graph = nx.Graph(EDGES)
    nx.set_node_attributes(graph, TYPES, "kind")
    order = [TYPES[name] for name in emb.names]
    sources = [
        (EDGES, pd.Series(TYPES)),
        (EDGES, order),
        (EDGES, np.array(order)),
        (EDGES, str(tmp_path / "types.tsv")),
        (EDGES, tmp_path / "types.tsv"),
        (graph, "kind"),
    ]
    for data, types in sources:
        made = softvec.embed(data, 8, types=types, random_state=0)
        assert dict(zip(made.names, made.types)) == TYPES
    plain = softvec.embed(EDGES, 8, random_state=0)
    np.testing.assert_array_equal(plain.vectors, emb.vectors)
    assert "types: 30 paper, 10 author, 3 city, 2 venue" in emb.provenance["data"]["summary"]
    assert emb.provenance["types"]["linked"] == [
        ["author", "paper", len(set(EDGES)) - 34],
        ["paper", "venue", 30],
        ["city", "venue", 4],
    ]


def test_neighbours_of_one_type_are_the_best_of_it(emb, tmp_path):
    everything = emb.most_similar("a1", n=len(emb))
    for type in ("author", "venue"):
        best = [(name, score) for name, score in everything if TYPES[name] == type][:2]
        found = emb.most_similar("a1", n=2, type=type)
        assert [name for name, _ in found] == [name for name, _ in best]
        np.testing.assert_allclose([score for _, score in found], [score for _, score in best], rtol=1e-5)
        assert emb.most_similar_batch(["a1"], n=2, type=type, rank="cosine")[0] == emb.most_similar(
            "a1", n=2, type=type, rank="cosine"
        )
    for file in ("e.svec", "e.parquet"):
        emb.save(tmp_path / file)
        again = softvec.Embedding.load(tmp_path / file)
        assert again.types == emb.types
        assert again.most_similar("a1", n=2, type="venue") == emb.most_similar("a1", n=2, type="venue")


def test_links_join_types_that_are_linked(emb):
    pairs = {frozenset(("author", "paper")), frozenset(("paper", "venue")), frozenset(("city", "venue"))}
    for link in (*emb.links(20, exclude=EDGES), *emb.links(20, exclude=EDGES, item="v0")):
        assert frozenset((TYPES[link.a], TYPES[link.b])) in pairs
    every = softvec.embed(EDGES, 8, random_state=0).links(400, exclude=EDGES)
    assert any(frozenset((TYPES[link.a], TYPES[link.b])) not in pairs for link in every)


def test_new_items_have_no_type_and_may_be_linked_to_any(emb):
    more = emb.add({"new": ["p1", "p2"]})
    assert more.types == [*emb.types, None]
    assert more.most_similar("new", n=1, type="paper")


def test_maps_are_coloured_by_type(emb):
    column = emb.map(method="pca").content.columns[0]
    assert set(column.groups) == set(KIND.values())


def test_a_few_nodes_without_types_are_counted():
    some = {name: type for name, type in TYPES.items() if name not in ("a1", "v1")}
    assert "2 nodes without a type" in with_types(softvec.api.to_affinity(EDGES), some).summary


def test_what_types_cannot_be_is_refused(emb):
    with pytest.raises(InputError, match="types are for graphs"):
        softvec.embed(np.array([[1, 2, 0], [2, 1, 1]]), 2, kind="bipartite", types=["a", "b"])
    with pytest.raises(InputError, match="no item has the type 'venu'; did you mean 'venue'"):
        emb.most_similar("a1", type="venu")
    with pytest.raises(InputError, match="no types; embed the graph with types"):
        softvec.embed(EDGES, 4).most_similar("a1", type="venue")
    with pytest.raises(InputError, match="no item has any of their names"):
        softvec.embed(EDGES, 4, types={"zoe": "author"})
    with pytest.raises(InputError, match="no node has the attribute 'kind'"):
        softvec.embed(nx.Graph(EDGES), 4, types="kind")
    many = sparse.csr_array(np.ones((1100, 1100)) - np.eye(1100))
    with pytest.raises(InputError, match="1,100 types of 1,100 nodes"):
        softvec.embed(many, 4, types=range(1100))
