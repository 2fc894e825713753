"""Recommendations from item vectors: by hand, with latent taste, and without any."""

import numpy as np
import pytest
from scipy import sparse

import softvec
from softvec.core.errors import InputError
from softvec.embedding.recommend import _Model


def clicks(taste, n=600, m=120, topics=6, seed=0):
    """Draw twelve items of each user: popular ones, and those of the user's topic."""
    rng = np.random.default_rng(seed)
    rates = 1 / np.arange(1, m + 1) ** 0.7
    topic = rng.integers(topics, size=m)
    rows = [
        rng.choice(m, 12, replace=False, p=w / w.sum())
        for user in range(n)
        for w in [rates * np.exp(taste * (topic == user % topics))]
    ]
    hidden = sparse.csr_array((np.ones(n), (np.arange(n), [row[-1] for row in rows])), shape=(n, m))
    pairs = (np.repeat(np.arange(n), 11), np.concatenate([row[:-1] for row in rows]))
    return sparse.csr_array((np.ones(11 * n), pairs), shape=(n, m)), hidden


def found(tops, hidden):
    return np.mean([any(hidden[user, item] for item, _ in top) for user, top in tops.items()])


def popular(known, hidden, n=10):
    S = np.tile(known.sum(axis=0), (known.shape[0], 1))
    S[known.nonzero()] = -1
    return np.mean(np.take_along_axis(hidden.toarray(), np.argsort(-S, axis=1)[:, :n], axis=1).any(axis=1))


def test_the_decoder_is_ridge_regression():
    rng = np.random.default_rng(0)
    A, Y = sparse.csr_array((rng.random((30, 9)) < 0.4).astype(float)), rng.normal(size=(9, 3))
    U = A.toarray() @ np.hstack([Y, np.ones((9, 1))])
    ridge = 0.3 * np.mean(np.sum(U[:, :3] ** 2, axis=0))
    stacked = np.vstack([U, np.sqrt(ridge) * np.eye(4)[:3]])  # the count of items is not shrunk
    expected = np.linalg.lstsq(stacked, np.vstack([A.toarray(), np.zeros((3, 9))]), rcond=None)[0]
    np.testing.assert_allclose(_Model(Y, A, 0.3).decoder, expected, atol=1e-6)


def test_taste_is_found_and_known_items_are_left_out():
    known, hidden = clicks(taste=3.0)
    emb = softvec.embed(known, 16, kind="bipartite", random_state=0)
    tops = emb.recommend(known=known)
    assert all(not known[user, item] for user, top in tops.items() for item, _ in top)
    assert found(tops, hidden) > popular(known, hidden) + 0.1
    np.testing.assert_allclose(emb.context.sizes, known.sum(axis=0))
    scores = [score for _, score in tops[0]]
    assert scores == sorted(scores, reverse=True)


def test_without_taste_popularity_is_said_or_equalled():
    known, hidden = clicks(taste=0.0, n=1200)
    emb = softvec.embed(known, 16, kind="bipartite", random_state=0)
    with pytest.warns(UserWarning, match=r"no better.* the vectors find [\d,]+ and popularity [\d,]+"):
        tops = emb.recommend(known=known)
    assert found(tops, hidden) > popular(known, hidden) - 0.03


def test_users_without_vector_or_items():
    pairs = [(f"u{i}", f"{'ab'[i % 2]}{(i // 2 + k) % 6}") for i in range(24) for k in range(4)]
    emb = softvec.embed(pairs, 4, kind="bipartite", random_state=0)
    tops = emb.recommend(["new", "u0"], 2, known=[*pairs, ("new", "a0"), ("new", "a1"), ("new", "a2")])
    assert list(tops) == ["new", "u0"]
    assert all(item.startswith("a") for item, _ in tops["new"])
    others = [(user, item) for user, item in pairs if user != "u5"]
    sizes = {item: sum(other == item for _, other in others) for _, item in others}
    top = emb.recommend("u5", 3, known=others)["u5"]  # a vector, but no known items
    assert sorted((sizes[item] for item, _ in top), reverse=True) == sorted(sizes.values(), reverse=True)[:3]
    with pytest.raises(InputError, match="'nobody'"):
        emb.recommend("nobody", known=others)
    with pytest.raises(InputError, match="known="):
        emb.recommend()
    with pytest.raises(InputError, match="two sides"):
        softvec.embed([("a", "b"), ("b", "c")], 2, random_state=0).recommend(known=pairs)
