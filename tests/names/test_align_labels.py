"""Labels go to the items they belong to, however they are given and whoever asks."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import softvec
from softvec import evaluate
from softvec.cli import run
from softvec.core.errors import GuessWarning, InputError
from softvec.embedding import Embedding
from softvec.names import Names
from softvec.names.align import align_labels
from softvec.plotting.colours import aligned_labels, groups_of

rng = np.random.default_rng(0)
GROUP = np.arange(60) % 3
VECTORS = np.eye(3)[GROUP] + 0.1 * rng.standard_normal((60, 3))
ORDER = rng.permutation(60)


def shuffled(names):
    """The items in a shuffled order, as a file may list them."""
    return Embedding(VECTORS[ORDER], [names[i] for i in ORDER])


def scores(emb, labels):
    accuracy = evaluate.node_classification(emb, labels, repeats=2, C=100.0)[0.5]["micro_f1"]
    mutual = evaluate.communities(emb, labels)["nmi"]
    drawn = {label: set(rows.tolist()) for label, rows in groups_of(aligned_labels(emb, labels))}
    want = {str(g): set(np.flatnonzero(GROUP[ORDER] == g).tolist()) for g in range(3)}
    return accuracy == 1, mutual == pytest.approx(1), drawn == want


@pytest.mark.parametrize(
    "names", [[f"n{i}" for i in range(60)], list(range(60)), [str(i) for i in range(60)]]
)
def test_series_and_dicts_are_matched_by_name_everywhere(names):
    emb = shuffled(names)
    index = pd.Index(names, dtype=None if isinstance(names[0], str) else "int64")
    assert all(scores(emb, pd.Series(GROUP, index=index)))
    assert all(scores(emb, dict(zip(names, GROUP.tolist()))))


def test_an_index_of_texts_matches_names_that_are_numbers():
    assert all(scores(shuffled(list(range(60))), pd.Series(GROUP, index=[str(i) for i in range(60)])))


def test_arrays_are_in_the_order_of_the_vectors():
    assert all(scores(shuffled([f"n{i}" for i in range(60)]), GROUP[ORDER]))
    assert all(scores(Embedding(VECTORS[ORDER]), pd.Series(GROUP[ORDER])))
    with pytest.warns(GuessWarning, match=r"pass dict\(enumerate\(labels\)\)"):
        assert all(scores(shuffled(list(range(60))), GROUP[ORDER]))


def test_missing_labels_are_no_class():
    emb = shuffled([f"n{i}" for i in range(60)])
    series = pd.Series(GROUP.astype(float), index=[f"n{i}" for i in range(60)])
    series.iloc[:6] = np.nan
    result = evaluate.node_classification(emb, series, repeats=2, C=100.0)
    assert result[0.5].settings["n_nodes"] == 54
    assert result[0.5].settings["n_labels"] == 3
    assert evaluate.communities(emb, series).settings["n_nodes"] == 54
    words = [None if i < 6 else "abc"[i % 3] for i in range(60)]
    assert evaluate.communities(Embedding(VECTORS), words).settings["n_nodes"] == 54


def test_matrices_of_labels_follow_the_index_too():
    names = Names(["b", "a", "c"])
    frame = pd.DataFrame([[1, 0], [0, 1]], index=["a", "b"])
    assert align_labels(frame, 3, names).tolist() == [[0, 1], [1, 0], [0, 0]]
    numbers = Names([2, 0])
    matrix = sparse.csr_array(np.array([[1, 0], [1, 1], [0, 1]]))
    assert align_labels(matrix, 2, numbers).toarray().tolist() == [[0, 1], [1, 0]]


def test_labels_that_fit_nothing_are_refused():
    names = Names(["a", "b"])
    with pytest.raises(InputError, match=r"no item has any of their names \(first of the labels: 'x'"):
        align_labels({"x": 1}, 2, names)
    with pytest.raises(InputError, match="'a' more than once"):
        align_labels(pd.Series([1, 2, 3], index=["a", "a", "b"]), 2, names)
    with pytest.raises(InputError, match="3 labels for 2 vectors"):
        align_labels([1, 2, 3], 2, names)
    with pytest.raises(InputError, match="unordered integers"):
        align_labels([1, 2], 2, Names([7, 3]), from_file=True)


def ring_file(path, names):
    """Three cliques whose edges come in a shuffled order; returns nothing."""
    pairs = [(i, j) for i in range(60) for j in range(i) if GROUP[i] == GROUP[j]]
    pairs = [pairs[k] for k in np.random.default_rng(1).permutation(len(pairs))]
    path.write_text("".join(f"{names[i]} {names[j]}\n" for i, j in pairs))


def test_evaluate_matches_numbered_items_with_arrays(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    ring_file(tmp_path / "edges.txt", list(range(60)))
    np.save("labels.npy", GROUP)
    (tmp_path / "labels.txt").write_text("".join(f"{g}\n" for g in GROUP))
    assert run(["embed", "edges.txt", "-d", "8", "--seed", "0", "-q"]) == 0
    assert softvec.Embedding.load("edges.svec").names == Names.range(60)
    shuffled(list(range(60))).save("old.svec")  # rows in another order, as earlier versions wrote them
    for vectors in ("edges.svec", "old.svec"):
        for labels in ("labels.npy", "labels.txt"):
            capsys.readouterr()
            assert run(["evaluate", vectors, labels, "--C", "100", "--json"]) == 0
            printed = capsys.readouterr()
            assert json.loads(printed.out)["classification"]["ratios"]["0.5"]["mean"]["micro_f1"] == 1
            assert printed.err == ""


def test_evaluate_says_when_it_goes_by_position(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Embedding(VECTORS, [f"n{i}" for i in range(60)]).save("v.svec")
    np.save("labels.npy", GROUP)
    assert run(["evaluate", "v.svec", "labels.npy"]) == 0
    assert (
        "note: labels are matched to items in the order of the vectors (first: 'n0')"
        in capsys.readouterr().err
    )
