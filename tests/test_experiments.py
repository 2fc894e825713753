"""The experiments: small runs from end to end, and their building blocks."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
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


@pytest.mark.parametrize("name", ["communities", "contacts", "genes"])
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
    again = Results(path, config)
    assert again.has(method="a")
    assert again.select(method="b")[0]["value"] == [0, 1]
    other = Results(path, {"n": 3, "methods": {"a": {"x": 2}, "b": {"x": 1}}})
    assert not other.has(method="a")
    assert other.has(method="b")
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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the normaliser is off:UserWarning")
@pytest.mark.parametrize("name", ["communities", "contacts", "genes"])
def test_small_run(name, tmp_path):
    import importlib

    from experiments.common import use_data
    from softvec import datasets

    use_data()
    needed = {"communities": "karate", "contacts": "sfhh", "genes": "genes"}[name]
    if not datasets.available()[needed]:
        pytest.skip(f"{needed} is not in {datasets.data_dir()}")
    importlib.import_module(f"experiments.{name}.run").main(["--quick", "--output", str(tmp_path)])
    content = json.loads((tmp_path / "results" / "quick.json").read_text())
    assert content["summary"]
    assert content["provenance"]["commit"]
    assert (tmp_path / "quick.png").stat().st_size > 10_000


def test_absent_data_is_one_line(tmp_path, monkeypatch, capsys):
    from experiments.__main__ import main

    monkeypatch.setenv("SOFTVEC_DATA", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["experiments", "--quick", "contacts"])
    assert main() == 2
    assert "sfhh is not in" in capsys.readouterr().err
