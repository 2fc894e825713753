"""Agreement between seeds, and one person across times."""

import networkx as nx
import numpy as np
import pytest

import softvec
from softvec import Embedding, InputError
from softvec.embedding import stability


def brute_overlap(a, b, k):
    """Share of the k nearest in common, each item by itself."""
    near = []
    for X in (a, b):
        U = X / np.linalg.norm(X, axis=1, keepdims=True)
        S = U @ U.T
        np.fill_diagonal(S, -9)
        near.append([set(row) for row in np.argsort(-S, axis=1)[:, :k]])
    return np.array([len(p & q) / k for p, q in zip(*near)])


def test_neighbours_against_brute_force():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    runs = [X, X + 0.3 * rng.normal(size=X.shape), X + 0.3 * rng.normal(size=X.shape)]
    want = np.mean([brute_overlap(runs[i], runs[j], 10) for i, j in ((0, 1), (0, 2), (1, 2))], axis=0)
    record, extras = stability.measure([Embedding(run) for run in runs])
    np.testing.assert_allclose(extras["stable_neighbours"], want, atol=1e-6)
    assert record["neighbours"] == pytest.approx(want.mean(), abs=1e-6)
    assert (record["groups"], record["n_groups"]) == (0, 1)  # no groups beyond chance
    assert np.isnan(extras["stable_groups"]).all()


def test_same_vectors_are_stable_and_random_ones_are_not():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2, 300, 8))
    turn = np.linalg.qr(rng.normal(size=(8, 8)))[0]
    same, extras = stability.measure([Embedding(X), Embedding(X @ turn)])
    assert same["neighbours"] > 0.999
    other, _ = stability.measure([Embedding(X), Embedding(Y)])
    assert other["neighbours"] == pytest.approx(10 / 299, abs=0.02)
    assert (other["groups"], other["n_groups"]) == (0, 1)
    assert np.isnan(extras["stable_groups"]).all()


def test_equal_vectors(tmp_path):
    """Copies of one vector stand before the item itself; it is never its own neighbour."""
    X = np.repeat(np.eye(3), 20, axis=0)
    record, _ = stability.measure([Embedding(X), Embedding(X)])
    assert record["neighbours"] == 1


def test_large_embeddings_are_sampled(monkeypatch):
    monkeypatch.setattr(stability, "_PAIRS", 1)
    monkeypatch.setattr(stability, "_LEAST", 20)
    X = np.random.default_rng(0).normal(size=(90, 4))
    record, extras = stability.measure([Embedding(X), Embedding(X)])
    assert record["items"] == 20
    assert np.isfinite(extras["stable_neighbours"]).sum() == 20


def test_embed_with_repeats(tmp_path):
    graph = nx.karate_club_graph()
    emb = softvec.embed(graph, 8, random_state=0, repeats=3)
    np.testing.assert_array_equal(emb.vectors, softvec.embed(graph, 8, random_state=0).vectors)
    third = softvec.embed(graph, 8, random_state=2)
    runs = [emb, softvec.embed(graph, 8, random_state=1), third]
    want = np.mean(
        [brute_overlap(runs[i].vectors, runs[j].vectors, 10) for i, j in ((0, 1), (0, 2), (1, 2))], axis=0
    )
    emb.save(tmp_path / "a.svec")
    found = Embedding.load(tmp_path / "a.svec").stability()
    assert found.repeats == 3
    np.testing.assert_allclose(found.item_neighbours, want, atol=0.11)  # a tie may fall either way
    assert "3 seeds" in repr(found)
    grown = emb.add({"new": [0, 1]})
    assert np.isnan(grown.stability().item_neighbours[-1])


def test_without_repeats():
    emb = softvec.embed(nx.karate_club_graph(), 8, random_state=0)
    with pytest.raises(InputError, match="repeats=5"):
        emb.stability()
    with pytest.raises(InputError, match="repeats"):
        softvec.embed(nx.karate_club_graph(), 8, repeats=0)
    with pytest.raises(InputError, match="leave out init"):
        softvec.embed(nx.karate_club_graph(), 8, repeats=2, init=emb)


def test_repeats_on_the_command_line(tmp_path, monkeypatch, capsys):
    import json

    from softvec.cli import run

    monkeypatch.chdir(tmp_path)
    nx.write_edgelist(nx.karate_club_graph(), "karate.txt", data=False)
    assert run(["embed", "karate.txt", "--dim", "8", "--seed", "0", "--repeats", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["stability"]["repeats"] == 3
    assert run(["info", "karate.svec", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["stability"]["n_neighbors"] == 10
    assert run(["neighbors", "karate.svec", "3", "-n", "2"]) == 0
    assert "that 3 seeds have in common: 3 " in " ".join(capsys.readouterr().err.split())


def test_person_across_times():
    contacts = [(t, a, b) for t in range(4) for a, b in (("ada", "bob"), ("bob", "cyd")) if (t + len(a)) % 3]
    emb = softvec.embed(contacts, 4, kind="temporal", random_state=0)
    times, vectors = emb.person("bob")
    assert [(("bob", t) in emb) for t in times] == [True] * len(times)
    assert times.tolist() == sorted(t for name, t in emb if name == "bob")
    for time, vector in zip(times, vectors):
        np.testing.assert_array_equal(emb["bob", time.item()], vector)
    with pytest.raises(KeyError, match="did you mean 'bob'"):
        emb.person("bobb")
    with pytest.raises(InputError, match="person, time"):
        Embedding(np.eye(2), ["a", "b"]).person("a")
