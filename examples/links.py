"""
Link prediction with probabilities
==================================

Hide some edges of a graph, embed the rest, and turn cosines into probabilities.
"""

# %%
# The graph: a stochastic block model. A fifth of its edges is hidden without isolating a node, and
# as many non-edges are drawn. Degrees alone separate uniformly drawn negatives from edges;
# degree-matched ones are a fairer test.

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import softvec
from softvec.evaluate import split_edges

A = nx.to_scipy_sparse_array(nx.planted_partition_graph(5, 300, 64 / 1500, 4 / 1500, seed=1))
split = split_edges(A, 0.2, random_state=0)
print(split.positives.shape, {kind: pairs.shape for kind, pairs in split.negatives.items()})

# %%
# Embed the remaining graph, and take the cosine of each pair.

emb = softvec.embed(split.graph, n_components=32, random_state=0)
negatives = split.negatives["random"]
pairs = np.vstack([split.positives, negatives])
is_edge = np.repeat([1, 0], [len(split.positives), len(negatives)])
cosine = emb.similarity(pairs[:, 0].tolist(), pairs[:, 1].tolist())

# %%
# A logistic regression on the cosine, fitted on one half of the pairs, gives probabilities for the
# other half.

from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

train, test = train_test_split(np.arange(len(pairs)), random_state=0, stratify=is_edge, test_size=0.5)
model = LogisticRegression().fit(cosine[train, None], is_edge[train])
probability = model.predict_proba(cosine[test, None])[:, 1]
print(f"area under the ROC curve: {roc_auc_score(is_edge[test], probability):.3f}")

# %%
# Do they hold? Of the pairs with probability 0.8, about 80 % should be edges.

figure, axes = plt.subplots(1, 2, figsize=(10, 4))
bins = np.linspace(-1, 1, 50)
axes[0].hist(
    [cosine[is_edge == 1], cosine[is_edge == 0]], bins, label=["hidden edges", "no edges"], histtype="step"
)
axes[0].set(xlabel="cosine", ylabel="pairs")
axes[0].legend()
observed, predicted = calibration_curve(is_edge[test], probability, n_bins=8, strategy="quantile")
axes[1].plot([0, 1], [0, 1], ":", color="grey")
axes[1].plot(predicted, observed, "o-")
axes[1].set(xlabel="predicted probability", ylabel="share of edges")
figure.tight_layout()
