"""
Single cells with AnnData
=========================

scanpy and related tools keep a graph of cells in ``adata.obsp["connectivities"]``. softvec embeds
that graph; the vectors go back into ``adata.obsm``, where scanpy's plots and clustering methods find
them.
"""

# %%
# Simulated counts: four cell types, each with its own marker genes, and uneven sequencing depth.

import anndata
import numpy as np
import pandas as pd
from scipy import sparse

rng = np.random.default_rng(0)
types = np.repeat(["B cell", "T cell", "NK cell", "monocyte"], [250, 400, 150, 300])
base = rng.gamma(0.5, 1.0, size=600)
rates = np.array([base * np.where(rng.random(600) < 0.08, 6.0, 1.0) for _ in range(4)])
mean = rates[pd.factorize(types)[0]] * rng.lognormal(0, 0.4, size=(len(types), 1))
counts = rng.poisson(rng.gamma(2.0, mean / 2.0))  # negative binomial

adata = anndata.AnnData(
    sparse.csr_matrix(counts.astype(np.float32)),
    obs=pd.DataFrame({"type": types}, index=[f"cell{i}" for i in range(len(types))]),
    var=pd.DataFrame(index=[f"gene{j}" for j in range(600)]),
)
adata

# %%
# The usual steps (in scanpy: ``normalize_total``, ``log1p``, ``pca``, ``neighbors``), here with
# scikit-learn.

from sklearn.decomposition import PCA
from sklearn.neighbors import kneighbors_graph

X = np.log1p(counts / counts.sum(1, keepdims=True) * 1e4)
adata.obsm["X_pca"] = PCA(20, random_state=0).fit_transform(X)
nearest = kneighbors_graph(adata.obsm["X_pca"], 15)
adata.obsp["connectivities"] = ((nearest + nearest.T) / 2).tocsr()

# %%
# Embed the graph of cells, write the vectors back, find groups.

import softvec

emb = softvec.embed(
    adata.obsp["connectivities"], n_components=16, names=list(adata.obs_names), random_state=0
)
adata.obsm["X_softvec"] = emb.vectors
adata.obs["group"] = pd.Categorical(emb.cluster(4))
pd.crosstab(adata.obs["type"], adata.obs["group"])

# %%
# The cells most similar to a given one, by name.

[(name, adata.obs["type"][name], round(cosine, 3)) for name, cosine in emb.most_similar("cell0", n=3)]

# %%

import matplotlib.pyplot as plt

figure, axis = plt.subplots(figsize=(6.5, 5))
emb.plot(list(adata.obs["type"]), method="tsne", n_names=0, ax=axis, title="1,100 simulated cells")
figure.tight_layout()
