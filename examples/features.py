"""
Feature vectors, drawn with UMAP
================================

Rows of numbers are linked to their nearest neighbours, and this graph is embedded. The vectors keep
neighbours close; UMAP and t-SNE draw them.
"""

# %%
# Handwritten digits: 1,797 images of 64 pixels.

from sklearn.datasets import load_digits

digits = load_digits()
digits.data.shape

# %%
# Sixteen dimensions instead of 64, from the graph of the ten nearest neighbours.

import softvec

emb = softvec.embed(digits.data, kind="features", n_neighbors=10, n_components=16, random_state=0)
emb

# %%
# Do clusters of vectors match the digits? Compare with clusters of the pixels.

from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_mutual_info_score

pixels = KMeans(10, n_init=10, random_state=0).fit_predict(digits.data)
for name, groups in {"pixels": pixels, "softvec": emb.cluster(10)}.items():
    print(f"{name:8} adjusted mutual information {adjusted_mutual_info_score(digits.target, groups):.3f}")

# %%
# The vectors, drawn by UMAP.

import matplotlib.pyplot as plt

figure, axis = plt.subplots(figsize=(7, 5))
emb.plot(digits.target, method="umap", n_names=0, ax=axis)
figure.tight_layout()
