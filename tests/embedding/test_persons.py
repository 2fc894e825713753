"""A person of (person, time) names all of its times: neighbours, labels, predictions."""

import numpy as np
import pytest

from softvec import Embedding
from softvec.cli import run
from softvec.core.errors import InputError
from softvec.evaluate import communities, node_classification
from softvec.names.align import align_labels
from softvec.read.labels import read_labels

PEOPLE = [f"p{k}" for k in range(12)]
CLASSES = {person: "left" if k % 2 else "right" for k, person in enumerate(PEOPLE)}


@pytest.fixture(params=["codes", "tuples"])
def emb(request, tmp_path):
    """Vectors of twelve people at five times: two classes, and noise."""
    rng = np.random.default_rng(0)
    names = [(person, time) for time in range(5) for person in PEOPLE]
    side = np.array([[CLASSES[person] == "left", CLASSES[person] == "right"] for person, _ in names])
    X = np.hstack([side, 0.3 * rng.standard_normal((60, 4))])
    emb = Embedding(X, names)
    if request.param == "codes":
        emb.save(tmp_path / "c.svec")
        emb = Embedding.load(tmp_path / "c.svec")
    return emb


def mean_directions(emb):
    unit = emb.vectors / np.linalg.norm(emb.vectors, axis=1, keepdims=True)
    return np.array([unit[[name[0] == person for name in emb]].mean(axis=0) for person in PEOPLE])


def test_the_neighbours_of_a_person_are_persons(emb):
    M = mean_directions(emb)
    M /= np.linalg.norm(M, axis=1, keepdims=True)
    cosines = dict(zip(PEOPLE, M @ M[0]))
    nearest = emb.most_similar("p0", n=11)
    assert [name for name, _ in nearest] == sorted(PEOPLE[1:], key=lambda name: -cosines[name])
    assert dict(nearest) == pytest.approx({name: cosines[name] for name, _ in nearest}, abs=1e-6)
    assert [name for name, _ in emb.most_similar_batch(["p0", "p1"], 11)[0]] == [name for name, _ in nearest]
    assert emb.similarity("p0", "p1") == pytest.approx(cosines["p1"], abs=1e-6)
    assert emb.most_similar(("p0", 0), n=1)[0][0][1] in range(5)  # a pair as before


def test_an_unknown_name_tells_what_names_look_like(emb):
    with pytest.raises(InputError, match=r"no item is named 'bob' among 60 names, such as \('p0', 0\)"):
        emb.most_similar("bob")
    with pytest.raises(InputError, match="no item is named 'bob'"):
        emb.most_similar(["p1", "bob"])


def test_labels_of_persons_are_those_of_all_their_times(emb, tmp_path):
    want = [CLASSES[person] for person, _ in emb]
    assert align_labels(CLASSES, 60, emb.names).tolist() == want
    (tmp_path / "classes.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in CLASSES.items()))
    assert read_labels(tmp_path / "classes.tsv", emb.names).texts == want


def test_labels_of_persons_are_predicted_and_scored_by_person(emb, tmp_path):
    """A person's times in both parts of a split would tell its label: noise would be predicted."""
    known = dict(list(CLASSES.items())[:8])
    (tmp_path / "known.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in known.items()))
    for labels in (known, tmp_path / "known.tsv"):
        predicted = emb.predict(labels)
        assert predicted.to_dict() == dict(list(CLASSES.items())[8:])
        assert predicted.n_labelled == 8
    scores = node_classification(emb, CLASSES, repeats=2, C=1.0)
    assert scores[0.5].settings["n_nodes"] == 12
    assert communities(emb, CLASSES, repeats=1).settings["n_nodes"] == 12


def test_commands_take_persons(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = [(k, time) for time in (10, 20) for k in range(6)]
    Embedding(np.tile(np.eye(3).repeat(2, axis=0), (2, 1)), names).save("c.svec")
    assert run(["neighbors", "c.svec", "4", "-n", "1"]) == 0
    assert capsys.readouterr().out.split() == ["5", "1.0000"]
    (tmp_path / "classes.tsv").write_text("".join(f"{k}\t{'abb'[k // 2]}\n" for k in range(6)))
    assert run(["evaluate", "c.svec", "classes.tsv", "--C", "1"]) == 0
    assert "6 of 6 items labelled, 2 classes" in capsys.readouterr().err
    assert run(["plot", "c.svec", "--labels", "classes.tsv", "-o", "c.png"]) == 0
    assert run(["neighbors", "c.svec", "9"]) == 2
    assert "no item is named" in capsys.readouterr().err
