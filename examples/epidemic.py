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
# An epidemic on the same contacts, without recovery. Each person is tested once.

from softvec.evaluate import predict_epidemic

contacts = np.array(rows)
sick = np.zeros((steps, people), bool)  # at the end of each snapshot
before = np.arange(people) == 3
for t in range(steps):
    a, b = contacts[contacts[:, 0] == t, 1:].T
    infects = (before[a] | before[b]) & (rng.random(len(a)) < 0.15)
    sick[t] = before
    sick[t, a[infects]] = sick[t, b[infects]] = True
    before = sick[t]
tests = {(person, int(t)): bool(sick[t, person]) for person, t in enumerate(rng.integers(0, steps, people))}

# %%
# Predict the state of everybody at all times, and the curve with a band of 90 %, from the tests of the people
# met and the vectors. The scores compare with a prediction without vectors.

result = predict_epidemic(emb, tests, contacts=rows, random_state=0)
result

# %%
# True and predicted number of infected people.

import matplotlib.pyplot as plt

figure, axis = plt.subplots(figsize=(6, 3.5))
result.plot(ax=axis)
axis.plot(sick.sum(axis=1), "k", label="true")
axis.legend(frameon=False)
figure.tight_layout()
