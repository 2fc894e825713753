"""
Comparing two embeddings
========================

Two embeddings of the same items differ at least by a rotation, so their coordinates cannot be
compared. Three things can: neighbours, cosines, and coordinates after the best rotation.
"""

# %%
# Les Misérables, embedded with short walks, with long ones, and with another seed.

import networkx as nx
import numpy as np

import softvec

graph = nx.les_miserables_graph()
base = softvec.embed(graph, n_components=16, walk_length=3, random_state=0)
others = {
    "same seed, again": softvec.embed(graph, n_components=16, walk_length=3, random_state=0),
    "another seed": softvec.embed(graph, n_components=16, walk_length=3, random_state=1),
    "walks of 1 step": softvec.embed(graph, n_components=16, walk_length=1, random_state=0),
    "walks of 8 steps": softvec.embed(graph, n_components=16, walk_length=8, random_state=0),
}

# %%
# Shared neighbours: how many of the ten nearest characters are the same?

from scipy.linalg import orthogonal_procrustes


def unit(emb):
    return emb.vectors / np.linalg.norm(emb.vectors, axis=1, keepdims=True)


def shared_neighbours(a, b, n=10):
    near = [emb.most_similar_batch(list(emb.names), n=n) for emb in (a, b)]
    return np.array([len({x for x, _ in p} & {y for y, _ in q}) / n for p, q in zip(*near)])


def aligned_distance(a, b):
    X, Y = unit(a), unit(b)
    rotation, _ = orthogonal_procrustes(Y, X)
    return np.linalg.norm(X - Y @ rotation, axis=1)


pairs = np.triu_indices(len(base), 1)
cosines = {name: (unit(emb) @ unit(emb).T)[pairs] for name, emb in {"base": base, **others}.items()}
for name, emb in others.items():
    correlation = np.corrcoef(cosines["base"], cosines[name])[0, 1]
    print(
        f"{name:17} shared neighbours {shared_neighbours(base, emb).mean():.2f}, correlation of cosines {correlation:.3f}, "
        f"distance after rotation {aligned_distance(base, emb).mean():.3f}"
    )

# %%
# The same seed gives the same bits. Another seed gives other coordinates but nearly the same
# cosines. Another walk length gives other vectors: which characters moved most?

moved = aligned_distance(base, others["walks of 8 steps"])
[str(base.names[i]) for i in np.argsort(-moved)[:5]]

# %%

import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 3, figsize=(12, 4), sharex=True, sharey=True)
for axis, name in zip(axes, ("another seed", "walks of 1 step", "walks of 8 steps")):
    axis.plot(cosines["base"], cosines[name], ".", markersize=2, alpha=0.5)
    axis.plot([-1, 1], [-1, 1], ":", color="grey")
    axis.set(title=name, xlabel="cosine, 3 steps, seed 0")
axes[0].set_ylabel("cosine")
figure.tight_layout()
