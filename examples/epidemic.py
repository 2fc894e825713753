"""
An epidemic on temporal contacts
================================

Contacts between people become vectors of (person, time). From the state of each person at a single
moment, a logistic regression on these vectors reconstructs the whole epidemic.
"""

# %%
# Contacts: 400 people in eight groups, 40 snapshots. Most contacts are within a group.

import numpy as np

import softvec

rng = np.random.default_rng(0)
people, steps, per_step = 400, 40, 800
rows = []
for t in range(steps):
    a = rng.integers(0, people, per_step)
    same = rng.random(per_step) < 0.99
    b = np.where(same, (a // 50) * 50 + rng.integers(0, 50, per_step), rng.integers(0, people, per_step))
    rows += [(t, i, j) for i, j in zip(a.tolist(), b.tolist()) if i != j]
print(f"{len(rows):,} contacts")

# %%
# One vector for each person in each snapshot in which they met someone. Walks of six steps relate a
# moment to those soon after.

emb = softvec.embed(rows, kind="temporal", n_components=32, walk_length=6, random_state=0)
emb

# %%
# An epidemic on the same contacts, without recovery, and the true state of each vector.

from softvec.evaluate import infected_states, reconstruct_epidemic
from softvec.generators import sir

epidemic = sir(np.array(rows), beta=0.15, mu=0.0, seed_node=3, random_state=2)
nodes, times = np.array(list(emb)).T
infected = infected_states(epidemic, nodes, times)

# %%
# Observe each person once, predict their state at all other times, and repeat with other moments of
# observation. Summing probabilities gives a better curve than summing the more likely states.

result = reconstruct_epidemic(
    emb, nodes, times, infected, C=100, count="probabilities", repeats=20, random_state=0
)
print(
    f"states predicted correctly: {result['accuracy']:.1%}; always the commoner state: {result['majority']:.1%}"
)

# %%
# True and reconstructed number of infected people among those present.

import matplotlib.pyplot as plt

figure, axis = plt.subplots(figsize=(7.5, 4))
mean, spread = result.predicted.mean(axis=0), result.predicted.std(axis=0)
axis.plot(result.times, result.truth, "k", label="true")
axis.plot(result.times, mean, label="reconstructed")
axis.fill_between(result.times, mean - spread, mean + spread, alpha=0.25, label="one standard deviation")
axis.set(xlabel="snapshot", ylabel="infected", ylim=(0, None))
axis.legend(frameon=False)
figure.tight_layout()
