"""
Words and analogies
===================

The docstrings of NumPy, SciPy and scikit-learn are a text of several hundred thousand words that is
already on this computer. Which words are used alike?
"""

# %%
# Collect the docstrings of everything public.

import importlib
import inspect

MODULES = (
    "numpy numpy.linalg numpy.fft numpy.random numpy.ma numpy.polynomial scipy.linalg scipy.sparse scipy.sparse.linalg "
    "scipy.stats scipy.signal scipy.optimize scipy.special scipy.spatial scipy.interpolate scipy.ndimage scipy.integrate "
    "sklearn.linear_model sklearn.ensemble sklearn.cluster sklearn.metrics sklearn.decomposition sklearn.preprocessing"
)
texts = set()
for module in map(importlib.import_module, MODULES.split()):
    for name, value in inspect.getmembers(module):
        members = [value, *(vars(value).values() if inspect.isclass(value) else ())]
        if not name.startswith("_"):
            texts |= {inspect.getdoc(member) for member in members if callable(member)}
texts = sorted(text for text in texts if text)
print(f"{len(texts):,} docstrings, {sum(len(text.split()) for text in texts):,} words")

# %%
# One call counts which words occur within five words of each other, and fits vectors to the counts.
# The warning that the loss is inexact is silenced: one Gaussian estimates the sharp softmax for
# text poorly, and the loss is not used here.

import warnings

import softvec

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    emb = softvec.embed(texts, kind="corpus", window=5, min_count=20, n_components=64, random_state=0)
emb

# %%
# Neighbours.

for word in ("rows", "sparse", "probability", "frequency", "cluster", "integer"):
    print(f"{word:12}", ", ".join(f"{other} {cosine:.2f}" for other, cosine in emb.most_similar(word, n=5)))

# %%
# Analogies: row is to rows as column is to ...

for a, b, c in (
    ("row", "rows", "column"),
    ("minimum", "min", "maximum"),
    ("first", "second", "x1"),
    ("array", "arrays", "matrix"),
):
    print(f"{a} is to {b} as {c} is to", ", ".join(word for word, _ in emb.analogy(a, b, c, n=3)))

# %%
# A map of the most frequent words that are long enough to mean something.

import matplotlib.pyplot as plt
import numpy as np

from softvec import Embedding

order = np.argsort(-emb.sizes)
keep = [i for i in order if len(str(emb.names[i])) > 4 and str(emb.names[i]).isalpha()][:250]
part = Embedding(emb.vectors[keep], [emb.names[i] for i in keep], sizes=emb.sizes[keep])
figure, axis = plt.subplots(figsize=(10, 7))
part.plot(
    part.cluster(8), method="tsne", n_names=90, legend=False, ax=axis, title="Words of scientific docstrings"
)
figure.tight_layout()
