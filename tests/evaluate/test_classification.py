"""Node classification: the solver against scikit-learn, the score against hand-made cases."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

import softvec
from softvec.cli import run
from softvec.core.errors import InputError
from softvec.embedding.logistic import cross_validated, decision, fit_one_vs_rest, fit_path
from softvec.evaluate import classification, node_classification
from softvec.evaluate.classification import C_GRID, _best_C, top_labels
from softvec.names.align import label_matrix


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_solver_agrees_with_scikit_learn(C):
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((400, 12)) * np.logspace(-1, 1, 12) + 3.0).astype(np.float32)
    Y = X[:, :5] + rng.standard_normal((400, 5)) > [3, 3.5, 2, 4, 3]
    weights = fit_one_vs_rest(X, Y, C, tol=1e-5)
    for label in range(5):
        other = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-6).fit(X.astype(float), Y[:, label])
        scores = other.decision_function(X)
        np.testing.assert_allclose(decision(X, weights)[:, label], scores, atol=0.02 * np.abs(scores).max())


def test_solver_with_constant_labels_and_no_features():
    X = np.zeros((10, 2), np.float32)
    Y = np.zeros((10, 3), bool)
    Y[:, 1] = True
    Y[:3, 2] = True
    scores = decision(X, fit_one_vs_rest(X, Y, 1.0))
    assert (scores[:, 0] < -10).all()
    assert (scores[:, 1] > 10).all()
    np.testing.assert_allclose(scores[:, 2], np.log(3 / 7), atol=1e-3)


def test_perfect_and_random_vectors_bracket_the_scale():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 800)
    perfect = node_classification(np.eye(4)[labels], labels, ratios=(0.1, 0.5), repeats=3)
    assert perfect[0.1]["micro_f1"] == perfect[0.5]["macro_f1"] == 1.0
    noise = node_classification(rng.standard_normal((800, 8)), labels, repeats=5)
    assert noise[0.5]["micro_f1"] == pytest.approx(0.25, abs=0.04)


def test_multi_label_predicts_as_many_labels_as_true():
    scores = np.array([[0.1, 0.9, 0.5], [3.0, 2.0, 1.0]])
    np.testing.assert_array_equal(
        top_labels(scores, np.array([2, 1])), [[False, True, True], [True, False, False]]
    )
    rng = np.random.default_rng(0)
    Y = rng.random((500, 6)) < 0.3
    for matrix in (Y, sp.csr_array(Y.astype(float))):
        result = node_classification(Y.astype(float), matrix, repeats=2, C=100.0)
        assert result[0.5]["micro_f1"] > 0.995
    assert result[0.5].settings["n_nodes"] == Y.any(axis=1).sum()


def test_unlabelled_nodes_take_no_part():
    labels = np.repeat([0, 1, -1], 30)
    X = np.repeat(np.array([[1.0, 0], [0, 1], [0.5, 0.5]]), 30, axis=0)
    result = node_classification(X, labels, repeats=2)
    assert result[0.5]["micro_f1"] == 1.0
    assert result[0.5].settings["n_nodes"] == 60
    assert label_matrix(np.array(["a", "b", "a"]), 3)[0].tolist() == [
        [True, False],
        [False, True],
        [True, False],
    ]


def test_cross_validated_regularisation_beats_a_bad_one():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 400)
    X = rng.standard_normal((400, 30)) * 1e-2
    X[:, 0] += (2 * labels - 1) * 1e-2
    weak = node_classification(X, labels, repeats=3, C=0.01)[0.5]["micro_f1"]
    chosen = node_classification(X, labels, repeats=3, C="cv")[0.5]["micro_f1"]
    assert chosen > 0.7
    assert chosen >= weak - 0.02


def test_result_is_reproducible_and_plain():
    import json

    rng = np.random.default_rng(0)
    X, labels = rng.standard_normal((60, 3)), rng.integers(0, 3, 60)
    one, two = (node_classification(X, labels, repeats=3, random_state=5)[0.5] for _ in range(2))
    assert one.to_dict() == two.to_dict()
    assert json.loads(json.dumps(one.to_dict()))["settings"]["ratio"] == 0.5
    assert one.spread["micro_f1"] >= 0
    assert "micro_f1" in str(one)
    with pytest.raises(InputError, match="no metric"):
        one["auc"]


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        (np.zeros(5, int), {}, "5 labels for 10 vectors"),
        (np.full(10, -1), {}, "0 of 10 nodes"),
        (np.arange(10) % 2, {"ratios": (1.5,)}, "ratio 1.5"),
        (np.where(np.arange(10) % 2, 1, -1), {}, "one class; expected at least two"),
        (np.linspace(0, 1, 10), {}, "decimals"),
        (np.arange(10), {"C": "best"}, "'best'"),
        (np.arange(10), {"C": -1.0}, "above 0"),
        (np.arange(10), {"repeats": 0}, "repeats is 0"),
    ],
)
def test_errors(labels, options, message):
    with pytest.raises(InputError, match=message):
        node_classification(np.random.default_rng(0).standard_normal((10, 2)), labels, **options)


def test_vectors_must_be_finite_numbers():
    with pytest.raises(InputError, match="not finite"):
        node_classification(np.full((4, 2), np.nan), [0, 1, 0, 1])
    with pytest.raises(InputError, match="shape"):
        node_classification(np.zeros(4), [0, 1, 0, 1])


def test_a_path_of_regularisations_is_that_of_single_fits():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 8)).astype(np.float32)
    Y = X[:, :3] + 0.5 * rng.standard_normal((300, 3)) > 0
    Y = np.column_stack([Y, np.zeros(300, bool)])
    for C, weights in zip((0.1, 1.0, 10.0), fit_path(X, Y, (0.1, 1.0, 10.0), tol=1e-6)):
        expected = decision(X, fit_one_vs_rest(X, Y, C, tol=1e-6))
        np.testing.assert_allclose(decision(X, weights), expected, atol=2e-3 * np.abs(expected).max())


def test_default_chooses_the_regularisation():
    """Small vectors need a large C; with C = 1 the weights stay near nothing."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 600)
    X = 0.02 * (np.eye(20)[labels] + 0.3 * rng.standard_normal((600, 20)))
    X[:, 5] += 0.05 * rng.standard_normal(600)
    result = node_classification(X, labels, repeats=2)[0.5]
    assert result.settings["C"] == "cv"
    assert result["micro_f1"] > node_classification(X, labels, repeats=2, C=1.0)[0.5]["micro_f1"] - 0.005
    assert result["micro_f1"] == node_classification(X, labels, repeats=2, C="cv")[0.5]["micro_f1"]


def test_vectors_that_differ_little_are_told_apart():
    """The first values of C predict the commonest class alone; the search must go on past them."""
    rng = np.random.default_rng(0)
    labels = (rng.random(60) < 0.35).astype(int)
    X = 0.1 * (np.eye(2)[labels] + 0.1 * rng.standard_normal((60, 2)))
    Y, _ = label_matrix(labels, 60)
    assert not decision(X, fit_one_vs_rest(X, Y, C_GRID[2])).argmax(axis=1).any()
    assert node_classification(X, labels, repeats=5)[0.5]["micro_f1"] > 0.95


def test_cross_validation_chooses_what_an_exhaustive_search_does():
    from sklearn.model_selection import cross_val_score
    from sklearn.multiclass import OneVsRestClassifier

    rng = np.random.default_rng(3)
    labels = rng.integers(0, 3, 240)
    X = (0.05 * (np.eye(30)[labels] + 0.6 * rng.standard_normal((240, 30)))).astype(np.float32)
    scores = []
    for C in C_GRID:
        model = OneVsRestClassifier(LogisticRegression(C=C, solver="newton-cholesky"))
        folds = [(np.setdiff1d(np.arange(240), fold), fold) for fold in np.array_split(np.arange(240), 3)]
        scores.append(cross_val_score(model, X, labels, cv=folds).mean())
    chosen = scores[C_GRID.index(_best_C(X, label_matrix(labels, 240)[0]))]
    assert chosen >= max(scores) - 0.01


def test_the_grid_of_C_moves_with_the_length_of_the_vectors():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, 600)
    X = rng.standard_normal((5, 10))[labels] / 4 + rng.standard_normal((600, 10)) / 3
    want = node_classification(X, labels, repeats=2)[0.5]["micro_f1"]
    for factor in (100, 0.01):
        assert node_classification(factor * X, labels, repeats=2)[0.5]["micro_f1"] == pytest.approx(
            want, abs=0.01
        )


def test_many_nodes_are_scored_with_a_sample_and_one_split(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(classification, "MANY", 100)  # of 300
    monkeypatch.setattr(classification, "_SAMPLE", 60)
    rows = []
    monkeypatch.setattr(
        classification, "cross_validated", lambda X, *a: rows.append(len(X)) or cross_validated(X, *a)
    )
    labels = np.arange(300) % 3
    softvec.Embedding(np.eye(3)[labels]).save(tmp_path / "v.svec")
    np.save(tmp_path / "labels.npy", labels)
    assert run(["evaluate", str(tmp_path / "v.svec"), str(tmp_path / "labels.npy")]) == 0
    assert rows == [60]
    printed = capsys.readouterr()
    assert "300 labelled items: 1 split, 33% to train on" in printed.err
    assert "micro f1, 33% labelled" in printed.out
