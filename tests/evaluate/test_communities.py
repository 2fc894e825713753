"""Communities: metrics bracketed."""

import numpy as np
import pytest

from softvec.core.errors import InputError
from softvec.evaluate import (
    communities,
    partition_scores,
)


def test_perfect_and_random_vectors_bracket_the_scale():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, 1000)
    perfect = communities(np.eye(5)[labels] * rng.uniform(1, 3, (1000, 1)), labels, repeats=2)
    assert perfect.mean == {"nmi": 1.0, "ami": 1.0, "ari": 1.0}
    noise = communities(rng.standard_normal((1000, 8)), labels)
    assert abs(noise["ami"]) < 0.02
    assert abs(noise["ari"]) < 0.02


def test_scores_of_a_hand_made_partition():
    # 2 x 2 contingency of two independent halves: nothing in common; a relabelling: everything.
    truth = np.array([0, 0, 1, 1])
    assert partition_scores(truth, np.array([0, 1, 0, 1]))["nmi"] == pytest.approx(0, abs=1e-12)
    assert partition_scores(truth, np.array([7, 7, 3, 3]))["ari"] == 1


def test_number_of_communities_can_be_estimated():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 400)
    X = np.eye(6)[labels] + 0.15 * rng.standard_normal((400, 6))
    found = communities(X, labels, n_communities=None)
    assert found.settings["n_communities"] == [4]
    assert found["nmi"] > 0.95
    assert communities(X, labels, n_communities=3).settings["n_communities"] == [3]


def test_unlabelled_nodes_are_left_out():
    labels = np.repeat([0, 1, -1], 20)
    X = np.repeat(np.array([[1.0, 0], [0, 1], [1, 1]]), 20, axis=0)
    labels[:5] = -1
    result = communities(X, labels)
    assert result.settings["n_nodes"] == 35
    assert result["nmi"] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": np.zeros(3, int)}, "3 labels for 10 vectors"),
        ({"labels": np.zeros((10, 2), int)}, "shape"),
        ({"n_communities": "many"}, "'known'"),
        ({"n_communities": 99}, "n_communities is 99"),
        ({"labels": np.full(10, -1)}, "0 nodes are left"),
    ],
)
def test_errors(options, message):
    arguments = {"labels": np.zeros(10, int), **options}
    with pytest.raises(InputError, match=message):
        communities(np.random.default_rng(0).standard_normal((10, 2)), **arguments)
