"""Word similarity and analogy on cases with a known answer."""

import json

import numpy as np
import pytest

from softvec.core.errors import InputError
from softvec.embedding import Embedding
from softvec.evaluate import word_analogy, word_similarity

WORDS = ["king", "queen", "man", "woman", "apple"]
# royal, male, female, fruit
VECTORS = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])


def test_word_similarity_counts_unknown_words(tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_text("word1\tword2\tscore\nking\tqueen\t8\nKing\tapple\t1\nman\twoman\t2\nking\tzebra\t5\n")
    scores = word_similarity(VECTORS, path, words=WORDS)
    assert scores["coverage"] == 0.75
    assert scores.settings["n_unknown"] == 1
    # Ranks of cosines (0.5, 0, 0) against (8, 1, 2): tied zeros share rank 1.5, so rho = 1.5 / sqrt(3).
    assert scores["spearman"] == pytest.approx(np.sqrt(3) / 2)
    named = word_similarity(Embedding(VECTORS, WORDS), path)
    assert named["spearman"] == scores["spearman"]


def test_word_similarity_brackets():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 20))
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    words = [f"w{i}" for i in range(300)]
    pairs = [(f"w{i}", f"w{j}", float(unit[i] @ unit[j])) for i, j in rng.integers(0, 300, (500, 2))]
    assert word_similarity(X, pairs, words=words)["spearman"] == pytest.approx(1)
    noise = rng.standard_normal((300, 20))
    assert abs(word_similarity(noise, [p for p in pairs if p[0] != p[1]], words=words)["spearman"]) < 0.15


def test_word_errors(tmp_path):
    with pytest.raises(InputError, match="pass words"):
        word_similarity(VECTORS, [("a", "b", 1), ("a", "c", 2)])
    with pytest.raises(InputError, match="5 words for 3"):
        word_similarity(VECTORS[:3], [("a", "b", 1)], words=WORDS)
    with pytest.raises(InputError, match="does not exist"):
        word_similarity(VECTORS, tmp_path / "absent.txt", words=WORDS)
    bad = tmp_path / "bad.txt"
    bad.write_text("king queen 1\nking queen\n")
    with pytest.raises(InputError, match="line 2"):
        word_similarity(VECTORS, bad, words=WORDS)
    with pytest.raises(InputError, match="both words"):
        word_similarity(VECTORS, [("x", "y", 1), ("x", "z", 2)], words=WORDS)
    with pytest.raises(InputError, match="four words"):
        word_analogy(VECTORS, ["a b c"], words=WORDS)
    with pytest.raises(InputError, match="expected one of add, mul"):
        word_analogy(VECTORS, ["a b c d"], words=WORDS, method="sub")
    with pytest.raises(InputError, match="none of the 1"):
        word_analogy(VECTORS, ["a b c d"], words=WORDS)


@pytest.mark.parametrize("method", ["add", "mul"])
def test_word_analogy(tmp_path, method):
    path = tmp_path / "questions.txt"
    path.write_text(": family\nman king woman queen\nman king woman apple\n: other\nman king woman zebra\n")
    scores = word_analogy(VECTORS, path, words=WORDS, method=method)
    assert scores["accuracy"] == 0.5
    assert scores["coverage"] == pytest.approx(2 / 3)
    assert scores.settings["sections"] == {"family": 0.5}
    json.dumps(scores.to_dict())
