"""
Your own P
==========

Any non-negative matrix of affinities works, and it need not be formed: softvec only multiplies by
it. Here P is the walk of up to three steps on a mixture of two graphs of the same items.
"""

# %%
# 400 people: a graph of colleagues and a graph of neighbours. Each person has a workplace and a
# street.

import numpy as np
from scipy import sparse

rng = np.random.default_rng(0)
n = 400
workplace, street = rng.integers(0, 8, n), rng.integers(0, 10, n)


def graph_of(group, inside, outside):
    """Return a random graph whose edges are likelier within groups."""
    chance = np.where(group[:, None] == group, inside, outside)
    upper = np.triu(rng.random((n, n)) < chance, 1)
    return sparse.csr_array((upper | upper.T).astype(float))


colleagues, neighbours = graph_of(workplace, 0.15, 0.004), graph_of(street, 0.15, 0.004)

# %%
# Operators: ``row_normalize`` makes a random walk of a graph, ``Sum`` mixes, ``Powers`` averages
# walks of one to three steps.

from softvec import EDRep
from softvec.operators import Powers, Sum, row_normalize


def mixed(weight):
    """Return the walk that goes to a colleague with probability ``weight``, else to a neighbour."""
    return Powers(Sum([row_normalize(colleagues), row_normalize(neighbours)], [weight, 1 - weight]), 3)


# %%
# ``EDRep`` is a scikit-learn estimator. Fit it for different mixtures, and see what the vectors
# predict.

from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

weights = np.linspace(0, 1, 6)
scores = []
for weight in weights:
    X = EDRep(n_components=32, random_state=0).fit_transform(mixed(weight))
    classifier = LogisticRegression(max_iter=1000)
    scores.append([cross_val_score(classifier, X, labels, cv=4).mean() for labels in (workplace, street)])
scores = np.array(scores)
scores.round(2)

# %%
# With half of each, the vectors predict both the workplace and the street.

import matplotlib.pyplot as plt

figure, axis = plt.subplots(figsize=(7, 4))
axis.plot(weights, scores, "o-", label=["workplace", "street"])
axis.axhline(0.11, linestyle=":", color="grey", label="chance")
axis.set(xlabel="weight of colleagues in P", ylabel="accuracy", ylim=(0, 1.02))
axis.legend(frameon=False)
figure.tight_layout()
