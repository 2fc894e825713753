"""Which gradient does the authors' package follow? Its first step against three formulas written out here.

The formulas are dense NumPy, straight from the paper, and use neither softvec's kernels nor the package:

- "printed": Eq. grad with kappa = 1, -(P + P') X + (2/n) 11' X + mu + X Omega;
- "row": each row's own cross-entropy with the other vectors held fixed,
  -P X + (1/n) 11' X + mu + X Omega;
- "Eq. opt": the whole derivative of Eq. opt with exact sums, -(P + P') X + (2/n) 11' X + S X + S' X.

A package is asked twice from the same seed, with a learning rate of 0 (its start) and with one large step. As
all steps of Algorithm 1 have the same length, start and end give the direction of each row's step. The
difference of two directions is the root mean square over rows of |u - v|, from 0 to 2. C is that of the
paper after a whole fit from the same start, between the package and softvec with the gradient of that name.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from experiments.common import COLORS, Results, mean_spread, style, table
from experiments.common import main as common_main
from experiments.rivals import authors_edrep, row_stochastic
from softvec import EDRep

FORMULAS = ("printed", "row", "Eq. opt")
GRADIENTS = {"printed": "paper", "row": "row"}


def matrix(config: dict[str, Any], kind: str, seed: int) -> sp.csr_array:
    """Draw a row-stochastic P whose entries, rows and columns differ."""
    n, rng = config["n"], np.random.default_rng(seed)
    A = sp.random_array((n, n), density=config["mean_degree"] / n, rng=rng, format="csr")
    return row_stochastic(A + A.T if kind == "undirected" else A)


def formula(name: str, P: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return the gradient of each row, beta 1 and the paper's regulariser."""
    n = len(X)
    if name == "Eq. opt":
        S = np.exp(X @ X.T)
        S /= S.sum(axis=1, keepdims=True)
        return -(P + P.T) @ X + 2 / n * X.sum(axis=0) + S @ X + S.T @ X
    mu = X.mean(axis=0)
    omega = (X - mu).T @ (X - mu) / (n - 1)
    if name == "row":
        return -P @ X + X.sum(axis=0) / n + mu + X @ omega
    return -(P + P.T) @ X + 2 / n * X.sum(axis=0) + mu + X @ omega


def direction(g: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return Algorithm 1's g'': the tangent part of each row, of length 1."""
    g = g - np.einsum("ij,ij->i", g, X)[:, None] * X
    return g / np.linalg.norm(g, axis=1, keepdims=True)


def difference(u: np.ndarray, v: np.ndarray) -> float:
    """Return the root mean square over rows of |u - v|."""
    return float(np.sqrt(np.mean(np.sum((u - v) ** 2, axis=1))))


def distance(X: np.ndarray, Y: np.ndarray) -> float:
    """Return C = |X X' - Y Y'|_F / n."""
    return float(np.linalg.norm(X @ X.T - Y @ Y.T)) / len(X)


def own_fit(
    P: sp.csr_array, d: int, gradient: str, start: np.ndarray, eta: float, n_epochs: int
) -> np.ndarray:
    """Return softvec's vectors in double precision from a given start."""
    model = EDRep(
        d, gradient=gradient, beta=1.0, regularization=1.0, learning_rate=eta, n_epochs=n_epochs,
        init=start, dtype="float64", random_state=0, n_jobs=1,
    )  # fmt: skip
    return model.fit(P).embedding_


def run(config: dict[str, Any], results: Results) -> None:
    """Fill in the records that are missing."""
    d, eta = config["d"], config["eta"]
    for kind in config["matrices"]:
        for sample in range(config["samples"]):
            P = matrix(config, kind, sample)
            if "EDRep (authors)" in config["methods"] and not results.has(
                method="EDRep (authors)", matrix=kind, sample=sample
            ):
                ask = {"seed": sample, "dtype": "float64"}
                start, _ = authors_edrep(P, d, n_epochs=1, eta=0.0, **ask)
                end, _ = authors_edrep(P, d, n_epochs=1, eta=eta, **ask)
                last, _ = authors_edrep(P, d, n_epochs=config["n_epochs"], eta=eta, **ask)
                C = {
                    name: distance(own_fit(P, d, gradient, start, eta, config["n_epochs"]), last)
                    for name, gradient in GRADIENTS.items()
                }
                shared = {"method": "EDRep (authors)", "matrix": kind, "sample": sample}
                results.add(**shared, **compare(P, start, end, eta), C=C)
            if not results.has(method="softvec", matrix=kind, sample=sample, gradient="paper"):
                X = np.random.default_rng(sample).standard_normal((len(P.indptr) - 1, d))
                X /= np.linalg.norm(X, axis=1, keepdims=True)
                for gradient in ("paper", "row"):
                    end = own_fit(P, d, gradient, X, eta, 1)
                    shared = {"method": "softvec", "gradient": gradient, "matrix": kind, "sample": sample}
                    results.add(**shared, **compare(P, X, end, eta))
    results.summary = summarize(config, results)


def compare(P: sp.csr_array, start: np.ndarray, end: np.ndarray, eta: float) -> dict[str, Any]:
    """Return how far the step from start to end is from that of each formula."""
    step = (np.sqrt(1 - eta**2) * start - end) / eta
    dense = P.toarray()
    return {"step": {name: difference(step, direction(formula(name, dense, start), start))
                     for name in FORMULAS}}  # fmt: skip


def summarize(config: dict[str, Any], results: Results) -> dict[str, Any]:
    """Return means over the samples, by who steps and by the kind of matrix."""
    summary: dict[str, Any] = {}
    for kind in config["matrices"]:
        for who, key in (
            ("EDRep (authors)", {"method": "EDRep (authors)"}),
            ('softvec, gradient="paper"', {"method": "softvec", "gradient": "paper"}),
            ('softvec, gradient="row"', {"method": "softvec", "gradient": "row"}),
        ):
            rows = results.select(matrix=kind, **key)
            if rows:
                entry = {
                    "step": {name: mean_spread([row["step"][name] for row in rows])[0] for name in FORMULAS}
                }
                if "C" in rows[0]:
                    entry["C"] = {n: mean_spread([row["C"][n] for row in rows])[0] for n in GRADIENTS}
                summary.setdefault(kind, {})[who] = entry
    return summary


def plot(content: dict[str, Any], path: Path) -> None:
    """Draw the differences as bars."""
    plt = style()
    summary = content["summary"]
    figure, axes = plt.subplots(1, len(summary), figsize=(8.2, 2.8), sharey=True, squeeze=False)
    colors = (COLORS["authors"], COLORS["softvec"], COLORS["grey"])
    for axis, (kind, found) in zip(axes[0], summary.items()):
        for number, (name, color) in enumerate(zip(FORMULAS, colors)):
            values = [max(entry["step"][name], 1e-16) for entry in found.values()]
            axis.bar(np.arange(len(found)) + 0.27 * (number - 1), values, 0.25, color=color, label=name)
        axis.set(yscale="log", ylim=(1e-16, 3), title=f"{kind} P")
        axis.set_xticks(range(len(found)), [who.replace(", ", ",\n") for who in found], fontsize=7)
    axes[0, 0].set_ylabel("difference of the steps")
    axes[0, -1].legend(title="formula", fontsize=7)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


_TEXT = """The released package does not follow the gradient printed in the paper, and the results differ. We
compare the first step of each program with three formulas in dense NumPy (`experiments/gradients/run.py`;
n = {n}, d = {d}, {samples} random P of each kind): the printed Eq. grad; the row form, in which each row
follows its own cross-entropy with the other vectors fixed (no P', half of the regulariser); and the full
derivative of Eq. opt with exact sums. The numbers are root mean square differences of unit steps: 0 is the
same step, 1.41 a right angle. The package is only called, with a learning rate of 0 for its initial vectors
and with one large step; its source was not used."""


def report(content: dict[str, Any]) -> str:
    """Return the results in Markdown."""
    summary, config = content["summary"], content["config"]
    rows = [
        [f"{kind} P", who, *(f"{entry['step'][name]:.1e}" for name in FORMULAS)]
        for kind, found in summary.items()
        for who, entry in found.items()
    ]
    lines = []
    for kind, found in summary.items():
        entry = found.get("EDRep (authors)")
        if entry:
            lines.append(
                f"- {kind} P: after {config['n_epochs']} epochs from the same start, the package and "
                f'softvec\'s `gradient="row", beta=1, regularization=1` differ by C = '
                f'{entry["C"]["row"]:.0e}, the package and the printed gradient (`gradient="paper"`) '
                f"by {entry['C']['printed']:.2f}."
            )
    return "\n\n".join(
        [
            "## The gradient: as printed and as released",
            "![Differences of steps](../experiments/gradients/figure.png)",
            _TEXT.format(**config),
            table(["", "steps of", *FORMULAS], rows),
            "\n".join(lines),
            'Rows named "EDRep (authors)" below are the released package, which follows the row form; rows '
            "named \"EDRep as printed\" follow Eq. grad with the paper's P, computed by softvec's kernels.",
        ]
    )


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    common_main("gradients", run, plot, arguments)


if __name__ == "__main__":
    main()
