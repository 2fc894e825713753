"""
Friends and foes
================

Links with signs: who trusts whom, who votes against whom. softvec fits the positive and the negative links as
two graphs over the same nodes, and puts the vectors side by side.
"""

# %%
# 200 delegates of two camps of unequal size. They mostly support their own camp and mostly oppose the other;
# one link in ten has the wrong sign.

import networkx as nx
import numpy as np

rng = np.random.default_rng(0)
camp = (np.arange(200) >= 120).astype(int)
graph = nx.gnp_random_graph(200, 0.06, seed=1)
for a, b in graph.edges:
    support = (camp[a] == camp[b]) != (rng.random() < 0.1)
    graph.edges[a, b]["weight"] = 1 if support else -1

# %%
# Negative weights are taken for signs; ``signed=True`` says so, ``signed=False`` ignores the sign.

import softvec

options = {"n_components": 16, "random_state": 0}
embeddings = {
    "signs": softvec.embed(graph, signed=True, **options),
    "sign ignored": softvec.embed(graph, signed=False, **options),
}
print(embeddings["signs"].provenance["data"]["summary"])

# %%
# The links themselves say nothing about the camps: everybody is linked to everybody alike. Only signs do.

from softvec.evaluate import node_classification, sign_prediction

truth = dict(enumerate(camp.tolist()))
for name, emb in embeddings.items():
    score = node_classification(emb, truth, ratios=[0.2])[0.2]["micro_f1"]
    print(f"camp of a delegate, a fifth of the labels: {score:.2f} ({name})")

# %%
# Hide a fifth of the links, embed the others, and predict whether a hidden link is support or opposition.

links = nx.to_scipy_sparse_array(graph, nodelist=range(200), format="csr")
for signed in (True, False):
    score = sign_prediction(
        lambda known, signed=signed: softvec.embed(known, signed=signed, **options), links, repeats=3
    )
    print(f"signed={signed}: {score}")

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(10, 4))
for axis, (name, emb) in zip(axes, embeddings.items()):
    emb.plot(truth, method="pca", n_names=0, ax=axis, title=f"Delegates by camp ({name})")
figure.tight_layout()
