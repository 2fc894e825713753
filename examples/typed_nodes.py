"""
Authors, papers and venues
==========================

One graph with three types of nodes. Nobody but papers is linked to a venue, yet every author gets a vector among
the venues: neighbours can be restricted to a type.
"""

# %%
# 300 papers of three fields, by 60 authors, in nine venues. One paper in ten strays from its field.

import numpy as np

rng = np.random.default_rng(0)
field = np.arange(300) % 3
stray = np.where(rng.random((300, 3)) < 0.1, rng.integers(0, 3, (300, 3)), field[:, None])
links = [(f"paper {p}", f"author {3 * rng.integers(20) + stray[p, k]}") for p in range(300) for k in (0, 1)]
links += [(f"paper {p}", f"venue {3 * rng.integers(3) + stray[p, 2]}") for p in range(300)]
types = {name: name.split()[0] for link in links for name in link}

# %%
# The vectors do not depend on the types. What can be asked of them does.

import softvec

emb = softvec.embed(links, n_components=16, types=types, random_state=0)
print(emb.provenance["data"]["summary"])
print("venues near author 1:", emb.most_similar("author 1", n=3, type="venue"))
print("authors near venue 0:", emb.most_similar("venue 0", n=3, type="author"))

# %%
# The venues that come first for an author should be those of the field. By chance one in three would be.

right = [
    int(emb.most_similar(f"author {a}", n=1, type="venue")[0][0].split()[1]) % 3 == a % 3
    for a in range(60)
    if f"author {a}" in emb
]
print(f"nearest venue is of the author's field: {np.mean(right):.0%}")

# %%
# Links are proposed between types that are linked in the data: papers and authors, papers and venues.

print({(types[link.a], types[link.b]) for link in emb.links(50, exclude=links)})

# %%
# Plots and maps are coloured by type.

import matplotlib.pyplot as plt

figure, axis = plt.subplots(figsize=(7, 5))
emb.plot(method="tsne", ax=axis, title="Authors, papers and venues")
figure.tight_layout()
