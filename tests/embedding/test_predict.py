"""Labels of unlabelled items: right where they can be known, with honest probabilities."""

import numpy as np
import pytest
from scipy import sparse

from softvec import Embedding, InputError


@pytest.fixture(scope="module")
def data():
    """Three noisy groups; the labels of a third of the items are hidden."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 600)
    X = np.eye(6)[group] + 0.45 * rng.standard_normal((600, 6))
    names = [f"n{i}" for i in rng.permutation(600)]
    known = rng.random(600) < 2 / 3
    text = np.array(["red", "green", "blue"])[group]
    return Embedding(X, names), text, known


def test_predictions_are_right_and_as_sure_as_they_should_be(data):
    emb, text, known = data
    found = emb.predict({name: label for name, label, k in zip(emb, text, known) if k})
    assert found.n_labelled == known.sum()
    assert list(found.names) == [name for name, k in zip(emb, known) if not k]
    truth = dict(zip(emb, text))
    right = np.array([label == truth[name] for name, label, _ in found])
    sure = np.array([p for _, _, p in found])
    assert 0.75 < right.mean() < 0.999  # a task that is neither trivial nor hopeless
    assert right.mean() == pytest.approx(found.accuracy, abs=0.08)
    assert sure.mean() == pytest.approx(right.mean(), abs=0.08)
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1, atol=1e-9)
    assert found.classes == ["blue", "green", "red"]
    np.testing.assert_allclose(found.probability, found.probabilities.max(axis=1))


def test_forms_of_labels_agree(data, tmp_path):
    pd = pytest.importorskip("pandas")
    emb, text, known = data
    want = emb.predict({name: label for name, label, k in zip(emb, text, known) if k}).to_dict()
    column = [label if k else None for label, k in zip(text, known)]
    shuffled = pd.Series(column, index=list(emb)).sample(frac=1, random_state=0)
    (tmp_path / "labels.tsv").write_text("".join(f"{n}\t{c}\n" for n, c in shuffled.dropna().items()))
    assert emb.predict(column).to_dict() == want
    assert emb.predict(shuffled).to_dict() == want
    assert emb.predict(tmp_path / "labels.tsv").to_dict() == want


def test_frame(data):
    pytest.importorskip("pandas")
    emb, text, known = data
    frame = emb.predict([label if k else None for label, k in zip(text, known)], C=1.0).to_dataframe()
    assert list(frame.columns) == ["label", "probability", "blue", "green", "red"]
    assert (frame[["blue", "green", "red"]].max(axis=1) == frame["probability"]).all()


@pytest.mark.parametrize("mark", [",", ";", "|"])
def test_several_labels_in_a_cell_and_in_lists(tmp_path, mark):
    from softvec.names import Names
    from softvec.names.align import label_matrix
    from softvec.read.labels import read_labels

    names = Names([f"g{i}" for i in range(8)])
    lists = {f"g{i}": [label for j, label in enumerate("abc") if i >> j & 1] for i in range(1, 8)}
    path = tmp_path / "labels.tsv"
    path.write_text("".join(f"{name}\t{f'{mark} '.join(own)}\n" for name, own in lists.items()))
    with pytest.warns(UserWarning, match=r"split at .*: 3 labels in 7 combinations"):
        groups = read_labels(path, names)
    Y, classes = label_matrix(lists, 8, names)
    assert (groups.multiple, groups.classes, tuple(classes)) == (True, ("a", "b", "c"), ("a", "b", "c"))
    expected = [[bool(i >> j & 1) for j in range(3)] for i in range(8)]
    assert Y.tolist() == (groups.members.toarray() != 0).tolist() == expected
    sets = {name: set(own) for name, own in lists.items()}
    assert label_matrix(sets, 8, names)[0].tolist() == expected


def test_marks_within_labels_are_kept(tmp_path):
    from softvec.names import Names
    from softvec.read.labels import read_labels

    path = tmp_path / "labels.tsv"
    path.write_text("a\tDoe, Jane\nb\tRoe, Max\nc\tDoe, Jane\n")
    groups = read_labels(path, Names(["a", "b", "c"]))
    assert groups.classes == ("Doe, Jane", "Roe, Max")


def test_several_labels_each():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    Y = X > 0
    Y[200:] = False  # these are asked for
    found = Embedding(X).predict(sparse.csr_array(Y.astype(int)), C=100.0)
    assert set(found.names.to_list()) >= set(range(200, 300))
    chance = dict(zip(found.names, found.probabilities))
    truth = np.array([(X[i] > 0) for i in range(200, 300)])
    guess = np.array([chance[i] > 0.5 for i in range(200, 300)])
    assert (truth == guess).mean() > 0.9


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        ({"n1": "a", "n2": "a", "n3": "a"}, {}, "1 class"),
        ({"n1": "a", "n2": "b"}, {}, "2 labelled items"),
        ({"n1": "a", "n2": "b", "n3": "a"}, {"C": "best"}, "C is 'best'"),
        ({"n1": "a", "n2": "b", "n3": "a"}, {"C": -1}, "C is -1"),
        ({"x": "a"}, {}, "no item has any of their names"),
        (["a", "b"], {}, "2 labels for 600"),
    ],
)
def test_what_cannot_be_predicted(data, labels, options, message):
    with pytest.raises(InputError, match=message):
        data[0].predict(labels, **options)


def test_nothing_to_predict(data):
    emb, text, _ = data
    found = emb.predict(text, C=1.0)
    assert len(found) == 0
    assert list(found) == []
    assert "0 items" in repr(found)


@pytest.mark.parametrize("mark", [",", "\t"])
def test_quoted_names_and_labels_in_a_file(tmp_path, mark):
    from softvec.names import Names
    from softvec.read.labels import read_labels

    path = tmp_path / "labels.csv"
    path.write_text(f'"Smith, John"{mark}"A, B"\nann{mark} C\n"Bo ""B"" Lee"{mark}C\n')
    groups = read_labels(path, Names(["ann", "Smith, John", 'Bo "B" Lee']))
    assert groups.texts == ["C", "A, B", "C"]
    assert groups.unmatched == 0


@pytest.mark.parametrize("mark", ";|")
def test_several_labels_in_few_cells(tmp_path, mark):
    from softvec.names import Names
    from softvec.read.labels import read_labels

    path = tmp_path / "labels.csv"
    path.write_text("0,A;B\n1,A\n2,B;C\n".replace(";", mark))
    with pytest.warns(UserWarning, match=r"split at .*: 3 labels in 3 combinations"):
        groups = read_labels(path, Names([0, 1, 2]))
    assert groups.classes == ("A", "B", "C")
    assert groups.multiple
