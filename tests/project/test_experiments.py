"""The experiments: small runs from end to end, and their building blocks."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

pytest.importorskip("gensim")
pytest.importorskip("matplotlib")

from experiments.common import Results, config_of, mean_spread, plain  # noqa: E402
from experiments.genes.run import counts, protocol  # noqa: E402
from experiments.rivals.skipgram import _write, deepwalk  # noqa: E402

NAMES = sorted(path.parent.name for path in (ROOT / "experiments").glob("*/run.py"))


@pytest.mark.parametrize("name", NAMES)
def test_configurations_are_complete(name):
    full, quick = config_of(name, False), config_of(name, True)
    assert set(full) <= set(quick)


@pytest.mark.parametrize("name", sorted({*NAMES} - {"normalizers"}))
def test_committed_results_fit_their_configuration(name):
    path = ROOT / "experiments" / name / "results" / "full.json"
    if not path.exists():
        pytest.skip(f"{name} has not been run at full size")
    content = json.loads(path.read_text())
    assert content["config"] == config_of(name, False)
    assert content["summary"]
    assert (ROOT / "experiments" / name / "figure.png").exists()


def test_results_are_continued_until_the_configuration_changes(tmp_path):
    path = tmp_path / "results" / "full.json"
    config = {"n": 3, "methods": {"a": {"x": 1}, "b": {"x": 1}}}
    results = Results(path, config)
    results.add(method="a", value=np.float64(0.1234567890))
    results.add(method="b", value=np.arange(2))
    results.add(method="all", value=0)  # of all methods together, such as times in turn
    again = Results(path, config)
    assert again.has(method="a")
    assert again.select(method="b")[0]["value"] == [0, 1]
    other = Results(path, {"n": 3, "methods": {"a": {"x": 2}, "b": {"x": 1}}})
    assert not other.has(method="a")
    assert other.has(method="b")
    assert other.has(method="all")
    assert not Results(path, {**config, "n": 4}).records


def test_small_helpers():
    assert plain({"a": (np.float32(0.5), np.int64(3))}) == {"a": [0.5, 3]}
    assert mean_spread([1.0, 3.0]) == (2.0, pytest.approx(np.sqrt(2)))
    assert mean_spread([1.0]) == (1.0, 0.0)


def test_walks_are_written_without_padding(tmp_path):
    path = _write(np.array([[3, 11, -1, -1], [1, 2, 3, 10]]))
    assert path.read_text() == "3 11\n1 2 3 10\n"
    path.unlink()


def test_deepwalk_separates_two_cliques():
    import scipy.sparse as sp

    A = np.kron(np.eye(2), np.ones((10, 10))) - np.eye(20)
    A[0, 10] = A[10, 0] = 1
    A = sp.block_diag([sp.csr_array(A), sp.csr_array((1, 1))]).tocsr()
    X = deepwalk(A, 8, walks=40, length=20, window=5, epochs=5)
    assert not X[20].any()  # no edges, no walk
    unit = X[:20] / np.linalg.norm(X[:20], axis=1, keepdims=True)
    cosines = unit @ unit.T
    assert cosines[:10, :10].mean() > cosines[:10, 10:].mean() + 0.2


def test_gene_protocols_keep_apart_what_they_should():
    rng = np.random.default_rng(0)
    pairs = np.concatenate([rng.integers(0, 50, (300, 2)), rng.integers(50, 80, (200, 2))])
    labels = rng.integers(0, 2, 500)
    group = np.repeat([0, 1], [300, 200])
    built, train, test = protocol("paper", pairs, labels, group, 0.7, 0)
    assert set(train) | set(test) == set(built) == set(range(300))
    built, train, test = protocol("positive", pairs, labels, group, 0.7, 0)
    assert labels[built].all()
    assert not set(built) & set(test)
    assert not set(train) & set(test)
    built, train, test = protocol("apart", pairs, labels, group, 0.7, 0)
    assert labels[built].all()
    assert not set(built) & (set(train) | set(test))
    assert not set(pairs[train].ravel()) & set(pairs[test].ravel())
    A = counts(np.array([[0, 1], [1, 0], [2, 2]]), 3)
    assert A.toarray().tolist() == [[0, 2, 0], [2, 0, 0], [0, 0, 0]]


def test_the_exact_run_differs_from_itself_by_nothing():
    from experiments.exact.run import errors, exact_loss, matrix, path_of

    config = {**config_of("exact", True), "n_epochs": 3}
    P = matrix(config, 60, 0)
    start = np.random.default_rng(0).standard_normal((60, config["d"]))
    name = "exact, paper form"
    path = path_of(config, name, P, start, "float64")
    assert len(path) == 3
    assert max(errors(path, path)) < 1e-7
    X = path[-1]
    scores = X @ X.T
    by_hand = (
        np.log(np.exp(scores).sum(axis=1)).mean() - (P.toarray() * scores).sum() / 60 + scores.sum() / 60**2
    )
    assert exact_loss(config, name, P, X) == pytest.approx(by_hand, rel=1e-6)


def test_ranks_of_kept_words_by_hand():
    from experiments.two_sided.run import rank_one

    values = np.array([5.0, 4.0, 3.0, 2.0, 1.0])
    assert rank_one(values, np.array([1, 3]), np.array([0]), first=2) == (0.75, 0.5)
    tied = np.zeros(5)  # nothing known: half of the pairs, and the share of places
    assert rank_one(tied, np.array([1]), np.array([0]), first=2) == (0.5, 0.5)


def test_words_are_weighed_as_said():
    import scipy.sparse as sp

    from experiments.two_sided.methods import weigh

    A = sp.csr_array(np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 1.0]]))
    assert weigh(A, "ppmi").toarray()[0, 0] == pytest.approx(np.log(2 * 5 / (3 * 2)))
    assert np.linalg.norm(weigh(A, "tf-idf").toarray(), axis=1) == pytest.approx(np.ones(2))
    assert weigh(A, "tf-idf").toarray()[0, 1] == 0  # in every passage
    assert A.toarray()[0, 0] == 2


def test_pairs_and_books_are_kept_apart():
    import scipy.sparse as sp

    from experiments.two_sided.corpus import Passages, split_books, split_pairs

    counts = sp.random_array((40, 30), density=0.3, random_state=0, format="csr")
    split = split_pairs(counts, {"validation": 0.1, "test": 0.2}, 0)
    parts = [part.toarray() for part in (split.train, split.validation, split.test)]
    assert np.array_equal(sum(parts), counts.toarray())
    assert sum(np.count_nonzero(part) for part in parts) == counts.nnz
    book = np.repeat(np.arange(8), 5)
    author = np.array([0, 0, 0, 1, 1, 1, 2, 2])[book]
    train, choose, test = split_books(Passages(counts, [], book, author), 0)
    assert not set(book[train]) & set(book[test])
    assert not set(book[choose]) & set(book[test])
    assert set(author[train]) == set(author[test]) == {0, 1, 2}
    assert len(train) + len(choose) + len(test) == 40


def test_changed_contacts_keep_what_they_should():
    from experiments.extensions.distance import changed

    rng = np.random.default_rng(0)
    edges = np.column_stack(
        [np.sort(rng.integers(0, 6, 60)), rng.integers(0, 9, 60), rng.integers(9, 20, 60)]
    )
    shuffled = changed(edges, "snapshots shuffled", rng)
    assert sorted(map(tuple, shuffled[:, 1:])) == sorted(map(tuple, edges[:, 1:]))
    redrawn = changed(edges, "partners redrawn", rng)
    for t in range(6):
        for side in (1, 2):
            assert sorted(redrawn[redrawn[:, 0] == t, side]) == sorted(edges[edges[:, 0] == t, side])
    assert not np.array_equal(redrawn, edges)
    assert changed(edges, "original", rng) is not edges


def test_row_weights_multiply_rows():
    import scipy.sparse as sp

    from experiments.extensions.weights import SYMMETRIC, matrix

    A = sp.csr_array(np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]], dtype=float))
    eye = np.eye(3)
    walk = matrix(A, 0.0) @ eye
    assert (matrix(A, 1.0) @ eye) == pytest.approx(np.diag([2, 1, 1]) @ walk)
    symmetric = matrix(A, SYMMETRIC) @ eye
    assert symmetric == pytest.approx(symmetric.T)


def test_formulas_of_the_gradient():
    from experiments.gradients.run import formula

    rng = np.random.default_rng(0)
    P, X = rng.random((12, 12)), rng.normal(size=(12, 3))
    P /= P.sum(axis=1, keepdims=True)

    def eq_opt(X):
        scores = X @ X.T
        return np.log(np.exp(scores).sum(axis=1)).sum() - (P * scores).sum() + scores.sum() / len(X)

    def own_row(X, i, x):  # cross-entropy of row i alone, Z by the Gaussian formula, the others held fixed
        mu, omega = X.mean(axis=0), np.cov(X.T)
        return x @ mu + x @ omega @ x / 2 - P[i] @ X @ x + x @ X.sum(axis=0) / len(X)

    whole, row, printed = (formula(name, P, X) for name in ("Eq. opt", "row", "printed"))
    for i, q in ((0, 0), (5, 2), (11, 1)):
        step = np.zeros_like(X)
        step[i, q] = 1e-5
        assert whole[i, q] == pytest.approx((eq_opt(X + step) - eq_opt(X - step)) / 2e-5, rel=1e-5)
        both = [own_row(X, i, X[i] + sign * step[i]) for sign in (1, -1)]
        assert row[i, q] == pytest.approx((both[0] - both[1]) / 2e-5, rel=1e-5)
    assert printed - row == pytest.approx(X.mean(axis=0) - P.T @ X)


def test_counts_without_vectors_by_hand():
    import scipy.sparse as sp

    from experiments.links.run import count

    A = np.zeros((5, 5))
    for i, j in ((0, 2), (1, 2), (0, 3), (1, 3), (3, 4)):
        A[i, j] = A[j, i] = 1
    pairs = np.array([[0, 1], [0, 4], [2, 4]])
    A = sp.csr_array(A)
    assert count("degree product (preferential attachment)", A, pairs).tolist() == [4, 2, 2]
    assert count("common neighbours", A, pairs).tolist() == [2, 1, 0]
    assert count("Adamic-Adar", A, pairs) == pytest.approx([1 / np.log(2) + 1 / np.log(3), 1 / np.log(3), 0])
    assert count("resource allocation", A, pairs) == pytest.approx([1 / 2 + 1 / 3, 1 / 3, 0])


def test_the_corrected_bound_holds_where_the_printed_one_fails():
    from experiments.theory.run import bounds, observed

    for h in (0.5, 1, 2, 4, 6):
        for deviations in (0.5, 1, 2, 3):
            t = deviations * np.sinh(h) / np.sqrt(1000)
            assert observed(h, 1000, t) <= min(bounds(h, 1000, t)[key] for key in ("corrected", "hoeffding"))
    rng = np.random.default_rng(0)
    t = 2 * np.sinh(6) / np.sqrt(1000)
    drawn = np.exp(6 * rng.choice([-1, 1], size=(4000, 1000))).mean(axis=1)
    share = np.mean(np.abs(drawn - np.cosh(6)) >= t)
    assert share == pytest.approx(observed(6, 1000, t), abs=0.015)
    assert bounds(6, 1000, t)["printed"] < 1e-15


def test_settings_are_scored_on_sets_that_did_not_choose_them():
    from experiments.words.run import held_out, ppmi_svd

    rows = [{"scores": {"a": 1.0, "b": 0.0}}, {"scores": {"a": 0.0, "b": 1.0}}]
    assert held_out(rows, ["a", "b"]) == [0.0, 0.0]
    A = np.array([[4.0, 1.0, 0.0], [1.0, 2.0, 2.0], [0.0, 2.0, 6.0]])
    columns = A.sum(axis=0) ** 0.75
    with np.errstate(divide="ignore"):
        ppmi = np.maximum(np.log(A * columns.sum() / np.outer(A.sum(axis=1), columns)), 0)
    for shift in (1.0, 1.2):
        M = np.maximum(ppmi - np.log(shift), 0)
        U, S = ppmi_svd(A, 3, 0.75, shift)
        assert pytest.approx(M @ M.T, abs=1e-9) == (U * S**2) @ U.T


def test_frequent_contexts_count_as_little_as_in_the_operator(tmp_path):
    from experiments.rivals import row_stochastic
    from experiments.words.run import subsampled
    from softvec.affinity import read

    text = tmp_path / "text.txt"
    text.write_text("the cat saw the dog\nthe dog saw the cat\na cat ran\n" * 3)
    weighted = read(text, kind="corpus", window=2, min_count=1, context_subsample=0.05)
    P = row_stochastic(subsampled(weighted, 0.05))
    n = P.shape[0]
    np.testing.assert_allclose(weighted.operator @ np.eye(n), P.toarray(), atol=1e-6)
    assert abs(P - row_stochastic(subsampled(weighted, None))).max() > 0.01


@pytest.mark.slow
def test_als_separates_two_groups():
    from benchmarks.peers import environments
    from experiments.rivals import implicit_als

    if not environments.python("implicit").exists():
        pytest.skip("the environment of implicit has not been made")
    A = np.kron(np.eye(2), np.ones((10, 8)))
    X, Y, times = implicit_als(A, 4, alpha=10.0)
    scores = X @ Y.T
    assert scores[A > 0].min() > scores[A == 0].max() + 0.5
    assert times["seconds"] > 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the normaliser is off:UserWarning")
@pytest.mark.parametrize(
    "name", ["communities", "contacts", "exact", "extensions", "genes", "softmax", "two_sided"]
)
def test_small_run(name, tmp_path):
    import importlib

    from benchmarks import datasets

    needed = {
        "communities": ["karate"], "contacts": ["sfhh"], "exact": [], "genes": ["genes"],
        "extensions": ["genes", "football", "sfhh", "primaryschool"], "two_sided": ["novels"],
        "softmax": ["polblogs"],
    }[name]  # fmt: skip
    for dataset in needed:
        if not datasets.available()[dataset]:
            pytest.skip(f"{dataset} is not in {datasets.data_dir()}")
    module = importlib.import_module(f"experiments.{name}.run")
    module.main(["--quick", "--output", str(tmp_path)])
    content = json.loads((tmp_path / "results" / "quick.json").read_text())
    assert content["summary"]
    if name in ("exact", "extensions", "softmax", "two_sided"):
        text = module.report(content)
        assert text.startswith("## ")
        assert "nan" not in text.split()
    assert content["provenance"]["commit"]
    assert (tmp_path / "quick.png").stat().st_size > 10_000


def test_absent_data_is_one_line(tmp_path, monkeypatch, capsys):
    from experiments.__main__ import main

    monkeypatch.setenv("SOFTVEC_DATA", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["experiments", "--quick", "contacts", "two_sided"])
    assert main() == 2
    error = capsys.readouterr().err
    assert "sfhh is not in" in error
    assert "novels is not in" in error
