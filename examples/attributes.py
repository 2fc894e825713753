"""
A graph and a table of its nodes
================================

People have friends, and they have a table: a club, an age, a few words on what they like. softvec fuses both,
and measures without labels how much each source counts.
"""

# %%
# 300 people of three kinds. Friends are mostly of the same kind, and so are clubs and hobbies, but none of the
# three is reliable.

import networkx as nx
import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
kind = np.arange(300) // 100
graph = nx.stochastic_block_model([100] * 3, 0.01 + 0.035 * np.eye(3), seed=1)
hobbies = [("chess", "books", "maps"), ("golf", "wine", "sails"), ("bikes", "tents", "maps")]
clubs = np.array(["North", "East", "South"])
people = pd.DataFrame({"club": np.where(rng.random(300) < 0.7, clubs[kind], rng.choice(clubs, 300))})
people["age"] = 30 + 5 * kind + rng.normal(0, 6, 300)
own = np.where(rng.random(300) < 0.8, kind, rng.integers(3, size=300))
people["likes"] = [set(rng.choice(hobbies[k], 2).tolist()) for k in own]
people.loc[rng.random(300) < 0.2, "age"] = np.nan  # not everybody tells
people.head()

# %%
# Three embeddings: of the graph, of both, and of both with the rows of the table shuffled.

import softvec

shuffled = people.set_axis(rng.permutation(300))
embeddings = {
    "graph": softvec.embed(graph, n_components=16, random_state=0),
    "graph and table": softvec.embed(graph, n_components=16, attributes=people, random_state=0),
    "graph and shuffled table": softvec.embed(graph, n_components=16, attributes=shuffled, random_state=0),
}

# %%
# How well does each predict the kind of a person? A table that has nothing to do with the graph does little
# harm: it says nothing about hidden edges, and so gets a smaller weight.

from softvec.evaluate import node_classification

truth = dict(enumerate(kind.tolist()))
scores = {
    name: node_classification(emb, truth, ratios=[0.1])[0.1]["micro_f1"] for name, emb in embeddings.items()
}
weights = {
    name: emb.provenance["attributes"]["weights"] for name, emb in embeddings.items() if "table" in name
}
print(pd.Series(scores).round(3), pd.DataFrame(weights).round(2), sep="\n\n")

# %%
# Which attributes speak for a person, and where a newcomer belongs who has no friends yet:

emb = embeddings["graph and table"]
print(people.loc[0].to_dict(), emb.attributes_of(0, n=3), sep="\n")
print(emb.add(attributes={"new": {"club": "East", "likes": {"golf", "wine"}}}).most_similar("new", n=3))

# %%
import matplotlib.pyplot as plt

figure, axis = plt.subplots(figsize=(6, 3))
bars = axis.barh(list(scores), list(scores.values()), color=["tab:grey", "tab:blue", "tab:orange"])
axis.bar_label(bars, fmt="%.2f", padding=4)
axis.axvline(1 / 3, linestyle=":", color="black")
axis.set(xlabel="micro-F1 of the kind, a tenth of the labels (dotted: chance)", xlim=(0, 1.1))
axis.invert_yaxis()
figure.tight_layout()
