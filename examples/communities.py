"""
Communities in a graph
======================

Detect the communities of a graph with known ground truth, and compare with Leiden, the usual tool.
"""

# %%
# Four hidden communities of 500 nodes. A node has twelve edges on average, nine or ten of them within its
# community.

import networkx as nx
import numpy as np

A = nx.to_scipy_sparse_array(nx.planted_partition_graph(4, 500, 38 / 2000, 10 / 3 / 2000, seed=0))
truth = np.repeat(np.arange(4), 500)
print(f"{A.shape[0]:,} nodes, {A.nnz // 2:,} edges")

# %%
# One call embeds the graph, another clusters the vectors.

import softvec

emb = softvec.embed(A, n_components=32, random_state=0)
groups = emb.cluster(4)

# %%
# Leiden maximises modularity. It chooses the number of communities itself.

import igraph
import leidenalg
from sklearn.metrics import adjusted_mutual_info_score

graph = igraph.Graph(n=A.shape[0], edges=np.argwhere(np.triu(A.toarray())).tolist())
leiden = leidenalg.find_partition(graph, leidenalg.ModularityVertexPartition, seed=0).membership

for name, found in {"softvec": groups, "Leiden": leiden}.items():
    score = adjusted_mutual_info_score(truth, found)
    print(f"{name:8} {len(set(found)):3} communities, adjusted mutual information {score:.3f}")

# %%
# A map, coloured by the ground truth. Nodes with few edges have short vectors.

import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(10, 4.5))
layout = emb.project("pca")
emb.plot(truth, coordinates=layout, ax=axes[0], title="Truth")
emb.plot(groups, coordinates=layout, ax=axes[1], title="Groups found by softvec")
figure.tight_layout()
