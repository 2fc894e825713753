"""Embeddings with attributes: from data to files, new items, explanations."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import softvec
from softvec import Embedding
from softvec.cli import run
from softvec.core.errors import InputError
from softvec.fit.attributes import Agreement

nx = pytest.importorskip("networkx")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="module")
def club():
    return nx.karate_club_graph()


@pytest.fixture(scope="module")
def emb(club):
    return softvec.embed(club, n_components=8, attributes=["club"], random_state=0)


def table(club):
    rows = [(node, data["club"], node % 5) for node, data in club.nodes(data=True)]
    return pd.DataFrame(rows, columns=["who", "club", "age"])


def test_provenance_says_what_was_measured_and_weighted(emb):
    record = emb.provenance["attributes"]
    assert record["summary"] == "attributes: 2 categories"
    assert set(record["weights"]) == {"graph", "attributes", "smoothed"}
    assert 0.5 < record["agreement"]["attributes"] <= 1


def test_a_node_of_the_table_without_edges_is_near_those_of_its_kind(club):
    frame = pd.concat([table(club), pd.DataFrame({"who": [99], "club": ["Officer"], "age": [2]})])
    emb = softvec.embed(club, n_components=8, attributes=frame.reset_index(drop=True), random_state=0)
    nearest = [name for name, _ in emb.most_similar(99, n=5)]
    assert sum(club.nodes[node]["club"] == "Officer" for node in nearest) >= 4


def test_same_seed_same_bits_for_any_number_of_threads(club, emb):
    other = softvec.embed(club, n_components=8, attributes=["club"], random_state=0, n_jobs=1)
    assert np.array_equal(emb.vectors, other.vectors)


def test_attributes_of_an_item(emb):
    assert emb.attributes_of(33, n=1)[0][0] == "club=Officer"
    assert emb.attributes_of(0)[0][0] == "club=Mr. Hi"
    with pytest.raises(InputError, match="no vectors of attributes"):
        Embedding(np.eye(3)).attributes_of(0)


def test_new_items_from_attributes_edges_or_both(club, emb):
    more = emb.add(attributes={100: {"club": "Officer"}, 101: {"club": "Mr. Hi"}})
    assert club.nodes[more.most_similar(100, n=1)[0][0]]["club"] == "Officer" or more.similarity(100, 33) > 0
    assert more.similarity(100, 33) > more.similarity(101, 33)
    both = emb.add(
        {100: [33, 32], 102: [0, 1]}, attributes={100: {"club": "Officer"}, 101: {"club": "Mr. Hi"}}
    )
    assert list(both)[-3:] == [100, 102, 101]
    edges = emb.add({100: [33, 32]})
    np.testing.assert_allclose(both[100], (edges[100] + more[100]) / 2, rtol=1e-5)
    with pytest.raises(InputError, match="nothing to add"):
        emb.add()
    with pytest.raises(InputError, match="0 is already in the embedding"):
        emb.add(attributes={0: {"club": "Officer"}})
    with pytest.raises(InputError, match="expected 'club'"):
        emb.add(attributes={100: {"team": "Officer"}})


def test_a_new_item_of_which_nothing_is_known_has_no_neighbours(emb):
    with pytest.warns(UserWarning, match="no value of 1 new item was in the fit \\(first: 101\\)"):
        more = emb.add(attributes={100: {"club": "Officer"}, 101: {"club": "Golf"}})
    assert np.any(more[100])
    assert not np.any(more[101])
    assert more.most_similar(101) == []


def test_rows_of_a_matrix_are_added_by_name(club, rng):
    X = rng.standard_normal((34, 3))
    emb = softvec.embed(club, 8, attributes=X, random_state=0)
    assert len(emb.add(attributes={100: X[0]})) == 35
    with pytest.raises(InputError, match="expected an array of 3 numbers by name"):
        emb.add(attributes={100: {"age": 3.0}})


def test_one_attribute_of_a_graph_needs_no_list(club, emb):
    assert np.array_equal(softvec.embed(club, 8, attributes="club", random_state=0).vectors, emb.vectors)


def test_saved_and_loaded_with_the_embedding(tmp_path, emb):
    emb.save(tmp_path / "club.svec")
    loaded = Embedding.load(tmp_path / "club.svec")
    new = {100: {"club": "Officer"}}
    assert np.array_equal(loaded.add(attributes=new)[100], emb.add(attributes=new)[100])
    assert loaded.attributes_of(0) == emb.attributes_of(0)


def test_maps_turn_with_the_vectors(emb, rng):
    rotation = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    turned = emb.align(Embedding(emb.vectors @ rotation, emb.names))
    for new in ({"data": {100: [33, 32]}}, {"attributes": {100: {"club": "Officer"}}}):
        np.testing.assert_allclose(turned.add(**new)[100], emb.add(**new)[100] @ rotation, atol=1e-4)


@pytest.mark.filterwarnings("ignore:these vectors predict hidden links no better")
def test_links_are_calibrated_with_the_attributes(club, emb):
    best = emb.links(3, exclude=club, attributes=["club"])
    assert not any(club.has_edge(link.a, link.b) for link in best)
    assert all(0 < link.probability < 1 for link in best)
    assert emb.calibrate(club, attributes=["club"]).links(3, exclude=club) == best
    with pytest.raises(InputError, match="pass attributes="):
        emb.links(3, exclude=club)


def test_links_leave_out_attributes_that_tell_them_worse(rng, monkeypatch):
    graph = nx.planted_partition_graph(4, 60, 0.2, 0.01, seed=0)
    noise, group = np.repeat(np.eye(4), 60, axis=0)[rng.permutation(240)], np.repeat(np.eye(4), 60, axis=0)
    monkeypatch.setattr(Agreement, "weights", (0.5, 2.0, 1.0))  # wrong for the noise
    told = {}
    for name, F in (("noise", noise), ("group", group)):
        emb = softvec.embed(graph, 16, attributes=F, random_state=0).calibrate(graph, attributes=F)
        told[name] = emb.provenance["softmax"]
        best = emb.links(5, exclude=graph)
        assert not any(graph.has_edge(link.a, link.b) for link in best)
        assert emb.links(5, exclude=graph, attributes=F) == best
    alone = softvec.embed(graph, 16, random_state=0).calibrate(graph).provenance["softmax"]
    assert told["noise"] == {**alone, "source": "graph"}
    assert told["group"]["source"] == "graph and attributes"
    assert told["group"]["auc"] > alone["auc"]


def test_contradictions_are_refused(club, emb):
    with pytest.raises(InputError, match="leave out init"):
        softvec.embed(club, attributes=["club"], init=emb)
    with pytest.raises(InputError, match="view='links'"):
        softvec.embed(club, attributes=["club"], view="links")


def test_command(tmp_path, club, capsys):
    nx.write_edgelist(club, tmp_path / "edges.txt", data=False)
    table(club).to_csv(tmp_path / "people.csv", index=False)
    out = str(tmp_path / "club.svec")
    words = ["embed", str(tmp_path / "edges.txt"), "-o", out, "-d", "8", "--seed", "0", "--attributes"]
    assert run([*words, str(tmp_path / "people.csv")]) == 0
    captured = capsys.readouterr()
    assert "attributes: 2 categories, 1 number" in captured.out + captured.err
    assert Embedding.load(out).provenance["attributes"]["weights"]["attributes"] > 0
    assert run([*words, str(tmp_path / "none.csv")]) == 2
    assert "no such file" in capsys.readouterr().err
