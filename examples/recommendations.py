"""
Recommendations
===============

Users and films are two kinds of items, and each kind has its own vectors. Recommend the films
nearest to a user.
"""

# %%
# Simulated viewing: 600 users with a taste for one or two of five genres, 200 films.

import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
genres = np.array(["drama", "comedy", "horror", "western", "animation"])
film_genre = rng.integers(0, 5, 200)
popularity = rng.lognormal(0, 0.7, 200)
tastes = rng.dirichlet(np.full(5, 0.15), size=600)
rows = []
for user, taste in enumerate(tastes):
    chance = (0.02 + taste)[film_genre] * popularity
    watched = rng.choice(200, size=rng.integers(8, 40), replace=False, p=chance / chance.sum())
    rows += [(f"user{user}", f"{genres[film_genre[film]]} {film}") for film in watched]
views = pd.DataFrame(rows, columns=["user", "film"])
views.head(3)

# %%
# Hide two films of each user, embed the rest.

import softvec

hidden = views.groupby("user").sample(2, random_state=0)
known = views.drop(hidden.index)
emb = softvec.embed(known, kind="bipartite", columns=("user", "film"), n_components=16, random_state=0)
emb

# %%
# Films for a user, films like a film, users like a user.

print([film for film, _ in emb.most_similar("user7", n=4, among="context")])
print([film for film, _ in emb.context.most_similar(emb.context.names[0], n=4)])
print([user for user, _ in emb.most_similar("user7", n=3)])

# %%
# How often is a hidden film among the first recommendations, leaving out films already watched?
# Compare with recommending popular films.

watched = known.groupby("user")["film"].agg(set)
popular = known["film"].value_counts().index
depth = np.array([5, 10, 20, 40])
hits = np.zeros((2, len(depth)))
for user, films in hidden.groupby("user")["film"]:
    ranked = [film for film, _ in emb.most_similar(user, n=120, among="context")]
    for row, ranking in enumerate((ranked, popular)):
        fresh = [film for film in ranking if film not in watched[user]]
        hits[row] += [len(set(films) & set(fresh[:k])) for k in depth]
recall = hits / len(hidden)
pd.DataFrame(recall.round(3), index=["softvec", "popularity"], columns=[f"recall at {k}" for k in depth])

# %%

import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), width_ratios=[1, 1.4])
axes[0].plot(depth, recall.T, "o-", label=["softvec", "popularity"])
axes[0].set(xlabel="films recommended", ylabel="recall of hidden films", ylim=(0, None))
axes[0].legend(frameon=False)
emb.context.plot(
    [str(film).split()[0] for film in emb.context.names], method="tsne", n_names=0, ax=axes[1], title="Films"
)
figure.tight_layout()
