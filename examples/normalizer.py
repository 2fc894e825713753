"""
A softmax normaliser with error bars
====================================

The sum :math:`Z_i = \\sum_a \\exp(\\beta\\, x_i \\cdot y_a)` over all items turns scores into
probabilities. softvec estimates it in time that does not grow with the number of items, with an
error bar for each estimate.
"""

# %%
# Vectors with some structure: twenty clusters on the sphere.

import numpy as np

rng = np.random.default_rng(0)
centres = rng.normal(size=(20, 32))
Y = centres[rng.integers(0, 20, 20_000)] + 0.8 * rng.normal(size=(20_000, 32))
Y = (Y / np.linalg.norm(Y, axis=1, keepdims=True)).astype(np.float32)
X = Y[:200]

# %%
# The exact sum, the paper's Gaussian estimate with one class and with ten, and the control variate:
# a sample of items that corrects the Gaussian, unbiased, with a standard error for each row.

from softvec.normalizers import ControlVariate, Exact, GaussianMixture

beta = 6.0
exact = Exact(beta=beta).fit(Y).log_partition(X)
methods = {
    "one Gaussian": GaussianMixture(1, beta=beta),
    "ten Gaussians": GaussianMixture(10, beta=beta, random_state=0),
    "control variate, 500 samples": ControlVariate(500, beta=beta, random_state=0),
}
for name, method in methods.items():
    error = np.abs(method.fit(Y).log_partition(X) - exact)
    print(f"{name:30} median error of log Z {np.median(error):.4f}, largest {error.max():.4f}")

# %%
# Are the error bars honest? About 95 % of the intervals should contain the exact value.

control = methods["control variate, 500 samples"]
low, high = control.confidence_interval(X)
print(f"{np.mean((low <= exact) & (exact <= high)):.0%} of the intervals hold the exact value")

# %%

import matplotlib.pyplot as plt

order = np.argsort(exact)[::4]
estimate = control.log_partition(X)
figure, axis = plt.subplots(figsize=(9, 4.2))
axis.errorbar(
    np.arange(len(order)), (estimate - exact)[order], yerr=[(estimate - low)[order], (high - estimate)[order]], fmt="o", markersize=3,
    label="control variate, 95 % interval",
)  # fmt: skip
for name, colour in (("one Gaussian", "tab:orange"), ("ten Gaussians", "tab:green")):
    axis.plot((methods[name].log_partition(X) - exact)[order], ".", color=colour, label=name)
axis.axhline(0, color="black", linewidth=0.8)
axis.set(xlabel="row, by its exact log Z", ylabel="error of log Z")
axis.legend(frameon=False)
figure.tight_layout()
