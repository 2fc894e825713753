"""The pictures of "How it works", drawn from small fits when the site is built."""

import warnings
from pathlib import Path

import numpy as np

BETAS = (1.0, 4.0, 16.0)


def write_figures(folder: Path) -> None:
    """Draw the pictures into ``folder``, unless they are there."""
    names = ("softmax.png", "gaussian.png", "beta.png")
    if all((folder / name).exists() for name in names):
        return
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in zip(names, (_softmax, _gaussian, _beta)):
        figure = draw()
        figure.savefig(folder / name, dpi=110)
        plt.close(figure)  # the gallery would take an open figure for that of its first example


def softmax(X: np.ndarray, beta: float) -> np.ndarray:
    """Return the softmax of each row of ``beta X X'``."""
    scores = beta * X @ X.T
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def _softmax():
    """Draw P of a small graph and the softmax of its fitted vectors."""
    import matplotlib.pyplot as plt
    import networkx as nx

    from softvec import EDRep
    from softvec.operators import Powers, row_normalize

    graph = nx.karate_club_graph()
    order = sorted(graph, key=lambda node: (graph.nodes[node]["club"], node))
    A = nx.to_scipy_sparse_array(graph, nodelist=order, weight=None)
    P = Powers(row_normalize(A), 3)
    X = EDRep(16, beta=6, random_state=0).fit_transform(P)
    figure, axes = plt.subplots(1, 2, figsize=(8.6, 4.1), layout="constrained")
    for axis, matrix, title in zip(
        axes, (P @ np.eye(34), softmax(X, 6)), ("P: walks of 1 to 3 steps", "softmax of the vectors")
    ):
        image = axis.imshow(matrix, cmap="viridis", vmin=0, vmax=0.25)
        axis.set(title=title, xlabel="item", ylabel="row" if axis is axes[0] else "")
    figure.colorbar(image, ax=axes, label="probability", shrink=0.8)
    return figure


def _block_vectors(beta: float) -> np.ndarray:
    import softvec
    from experiments.generators import dcsbm

    A = dcsbm(2000, c=15, q=5, alpha=3.0, theta=np.ones(2000), random_state=0).adjacency
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a poor normaliser: that is what the picture is about
        return softvec.embed(A, 32, beta=beta, shrinkage=0, random_state=0).vectors.astype(float)


def _gaussian():
    """Draw the scores of a row with their Gaussian, and the estimated log Z against the exact one."""
    import matplotlib.pyplot as plt

    from softvec.normalizers import GaussianMixture

    beta = 4.0
    X = _block_vectors(beta)
    scores = X @ X[7]
    exact = np.log(np.exp(beta * X[:300] @ X.T).sum(axis=1))
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.9), layout="constrained")
    axes[0].hist(scores, 60, density=True, color="#92b4d4", label="scores of one row")
    grid = np.linspace(scores.min(), scores.max(), 300)
    bell = np.exp(-0.5 * ((grid - scores.mean()) / scores.std()) ** 2) / (scores.std() * np.sqrt(2 * np.pi))
    axes[0].plot(grid, bell, color="#bd1f01", label="Gaussian of the same mean and variance")
    axes[0].set(xlabel="score $x_i \\cdot y_a$ of an item", ylabel="density")
    axes[0].legend(frameon=False, fontsize=8)
    for k, colour in ((1, "#bd1f01"), (5, "#3f90da")):
        estimate = GaussianMixture(k, beta=beta, random_state=0).fit(X).log_partition(X[:300])
        axes[1].plot(exact, estimate, ".", color=colour, markersize=4, label=f"{k} class" + "es" * (k > 1))
    axes[1].axline((exact.min(), exact.min()), slope=1, color="grey", linewidth=0.8)
    axes[1].set(xlabel="log Z, exact", ylabel="log Z, estimated")
    axes[1].legend(frameon=False)
    return figure


def _beta():
    """Draw the probabilities that one row gives to all others, for several beta."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.9), layout="constrained")
    for beta, colour in zip(BETAS, ("#94a4a2", "#3f90da", "#bd1f01")):
        X = _block_vectors(beta)
        row = np.sort(softmax(X, beta)[7])[::-1]
        axes[0].loglog(1 + np.arange(len(row)), row, color=colour, label=f"beta {beta:g}")
        cosines = np.sort((X @ X[7])[np.arange(len(X)) != 7])
        axes[1].hist(cosines, 70, histtype="step", color=colour, label=f"beta {beta:g}")
    axes[0].set(xlabel="item, by probability", ylabel="probability in one row")
    axes[1].set(xlabel="cosine with one item", ylabel="items")
    axes[0].legend(frameon=False)
    return figure
