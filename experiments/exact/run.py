"""Against the exact gradient (the paper's figure "Comparison with exact gradient calculation").

P is the paper's random matrix: entry (i, j) is set with probability proportional to theta_i theta_j, theta
from the negative binomial law with N = 3 and p = 0.3, rows divided by their sums. The paper leaves the number
of entries open; here it is 10 per row on average.

Time: `normalizer="exact"` sums over all pairs, in float32 with BLAS, on the same threads as the
approximation; everything else is the same code. C_t: all runs of a sample begin at the same vectors, in
double precision, so that what differs is the normaliser alone. Classes for k > 1 come from k-means on the
vectors of a first fit with k = 1, as in the paper.

Four forms, each an exact run and an approximated one. Let S be the softmax of X X'. The derivative of
Eq. opt is -(P + P') X + S X + S' X and the regulariser's term; the paper's printed gradient stands for S X
alone.

- "Eq. opt": the exact run follows the whole derivative of Eq. opt, the approximated one the printed
  gradient. This is what the paper says its figure compares.
- "paper form": both drop S' X, so that only the normaliser differs.
- "whole form": both follow the whole derivative, the approximated one that of the approximated loss.
- "defaults": softvec's own (row form, beta 6, no regulariser).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans

from experiments.common import COLORS, Results, mean_spread, style, table, timed
from experiments.common import main as common_main
from experiments.exact.random_p import negative_binomial
from experiments.extensions.temporal_distance import matched_distance
from softvec import EDRep
from softvec.normalizers import Exact

FORMS = ("Eq. opt", "paper form", "whole form", "defaults")
TIMED = ("paper form", "defaults")
LOOK = {
    "exact, paper form": (COLORS["grey"], "s", "-"),
    "exact, defaults": (COLORS["grey"], "D", "--"),
    "softvec, paper form": (COLORS["softvec"], "s", "-"),
    "softvec, defaults": (COLORS["softvec"], "D", "--"),
}
MARKERS = "osD^vPX"
ROUNDING, OTHER_START = "exact, half precision", "exact, another start"


def matrix(config: dict[str, Any], n: int, seed: int) -> sp.csr_array:
    """Draw P."""
    return negative_binomial(
        n, config["N"], config["p"], mean_degree=config["mean_degree"], random_state=seed
    )


def model(config: dict[str, Any], name: str, seed: int, **more: Any) -> EDRep:
    """Return the estimator of a method."""
    options = {
        "n_epochs": config["n_epochs"],
        "learning_rate": config["learning_rate"],
        **config["methods"][name]["options"],
        **more,
    }
    return EDRep(config["d"], random_state=seed, **options)


def run(config: dict[str, Any], results: Results) -> None:
    """Fill in the records that are missing."""
    time_methods(config, results)
    for sample in range(config["samples"]):
        for form in FORMS:
            if not results.has(part="curve", method=f"softvec, {form}", sample=sample):
                follow(config, results, form, sample)
    results.summary = summarize(config, results)


def time_methods(config: dict[str, Any], results: Results) -> None:
    """Time all methods in turn on the same matrices, small ones first; building P does not count."""
    warm = matrix(config, 300, 0)
    for name in config["methods"]:
        model(config, name, 0).fit(warm)
    for n, repeats in config["timing_repeats"].items():
        for repeat in range(repeats):
            missing = [
                name
                for name, method in config["methods"].items()
                if int(n) in method["sizes"]
                and repeat < method.get("timing_repeats", {}).get(n, repeats)
                and not results.has(part="time", method=name, n=int(n), repeat=repeat)
            ]
            if not missing:
                continue
            P = matrix(config, int(n), repeat)
            for name in missing:
                fitted = model(config, name, repeat)
                _, times = timed(lambda fitted=fitted, P=P: fitted.fit(P))
                results.add(part="time", method=name, n=int(n), repeat=repeat, **times)
                print(f"n {n} repeat {repeat} {name}: {times['seconds']:.3f} s", flush=True)


def follow(config: dict[str, Any], results: Results, form: str, sample: int) -> None:
    """Record C_t and the exact loss at each epoch, of the exact run and of the approximation for each k."""
    n, d = config["curve_n"], config["d"]
    P = matrix(config, n, 1000 + sample)
    start = np.random.default_rng(sample).standard_normal((n, d))
    exact_name, name = f"exact, {form}", f"softvec, {form}"
    truth = path_of(config, exact_name, P, start, "float64")
    shared = {"part": "curve", "sample": sample, "k": 0}
    losses = np.array([exact_loss(config, exact_name, P, X) for X in truth])
    none = [0.0] * len(truth)
    results.add(method=exact_name, curve="exact", **shared, error=none, gap=none, loss=losses)
    other = np.random.default_rng(999 + sample).standard_normal((n, d))
    for curve, begin, dtype in ((ROUNDING, start, "float32"), (OTHER_START, other, "float64")):
        found = path_of(config, exact_name, P, begin, dtype)
        gap = np.array([exact_loss(config, exact_name, P, X) for X in found]) - losses
        results.add(method=exact_name, curve=curve, **shared, error=errors(found, truth), gap=gap)
    first = None
    for k in config["clusters"]:
        labels = None
        if k > 1 and first is not None:
            labels = KMeans(k, n_init=3, random_state=sample).fit_predict(first)
        found = path_of(config, name, P, start, "float64", labels)
        first = found[-1] if first is None else first
        gap = np.array([exact_loss(config, name, P, X) for X in found]) - losses
        results.add(
            part="curve", method=name, curve=f"k = {k}", sample=sample, k=k,
            error=errors(found, truth), gap=gap,
        )  # fmt: skip
    print(f"{form}, sample {sample}: C_t of k = {k} at the end {errors(found, truth)[-1]:.2e}", flush=True)


def path_of(
    config: dict[str, Any],
    name: str,
    P: sp.csr_array,
    start: np.ndarray,
    dtype: str,
    labels: np.ndarray | None = None,
) -> list[np.ndarray]:
    """Return the vectors after each epoch."""
    seen: list[np.ndarray] = []

    def keep(epoch: int, loss: float, X: np.ndarray) -> None:
        seen.append(X.astype(np.float64))

    model(config, name, 0, init=start, dtype=dtype, callbacks=[keep]).fit(P, labels=labels)
    return seen


def errors(found: list[np.ndarray], truth: list[np.ndarray]) -> list[float]:
    """Return C_t = |X X' - Y Y'|_F / n at each epoch."""
    return [matched_distance(X, Y) for X, Y in zip(found, truth)]


def exact_loss(config: dict[str, Any], name: str, P: sp.csr_array, X: np.ndarray) -> float:
    """Return Eq. opt of the method's own beta and regulariser, per row, by exact sums."""
    settings = model(config, name, 0)
    beta = float(settings.beta)
    log_z = Exact(beta=beta).fit(X).log_partition(X)
    attraction = np.einsum("ij,ij->", X, P @ X) / len(X)
    center = float(np.sum(X.mean(axis=0) ** 2))  # sum_ij x_i.x_j / n^2
    return float(log_z.mean() - beta * attraction + settings.regularization * beta * center)


def summarize(config: dict[str, Any], results: Results) -> dict[str, Any]:
    """Return mean and spread of the times by n, growth with n, and the mean curves."""
    times: dict[str, Any] = {}
    for name in config["methods"]:
        rows = results.select(part="time", method=name)
        for n in sorted({row["n"] for row in rows}):
            found = [row["seconds"] for row in rows if row["n"] == n]
            mean, spread = mean_spread(found)
            entry = {"repeats": len(found), "seconds": mean, "spread": spread}
            times.setdefault(name, {})[str(n)] = entry
    growth = {name: _growth(by_n) for name, by_n in times.items()}
    ratio: dict[str, Any] = {}
    for form in TIMED:
        exact, ours = times.get(f"exact, {form}", {}), times.get(f"softvec, {form}", {})
        ratio[form] = {n: exact[n]["seconds"] / ours[n]["seconds"] for n in exact if n in ours}
    curves: dict[str, Any] = {form: {} for form in FORMS}
    for row in results.select(part="curve"):
        curves[config["methods"][row["method"]]["form"]].setdefault(row["curve"], []).append(row)
    for found in curves.values():
        for curve, rows in found.items():
            found[curve] = {
                "samples": len(rows),
                "error": np.mean([row["error"] for row in rows], axis=0).tolist(),
                "gap": np.mean([row["gap"] for row in rows], axis=0).tolist(),
                **(
                    {"loss": np.mean([row["loss"] for row in rows], axis=0).tolist()}
                    if curve == "exact"
                    else {}
                ),
            }
    return {"times": times, "growth": growth, "exact_over_ours": ratio, "curves": curves}


def _growth(by_n: dict[str, Any]) -> float:
    """Return the power of n by which the time grows over the two largest sizes."""
    sizes = sorted(map(int, by_n))[-2:]
    if len(sizes) < 2:
        return float("nan")
    small, large = (by_n[str(n)]["seconds"] for n in sizes)
    return float(np.log(large / small) / np.log(sizes[1] / sizes[0]))


def plot(content: dict[str, Any], path: Path) -> None:
    """Draw time against n, C_t against the epoch for each form, and the exact loss."""
    plt = style()
    summary, config = content["summary"], content["config"]
    figure, axes = plt.subplots(2, 3, figsize=(12.4, 6.2))
    for name, by_n in summary["times"].items():
        color, marker, line = LOOK[name]
        sizes = [int(n) for n in by_n]
        mean = np.array([entry["seconds"] for entry in by_n.values()])
        spread = np.array([entry["spread"] for entry in by_n.values()])
        axes[0, 0].plot(sizes, mean, color=color, marker=marker, ls=line, ms=4, lw=1.2, label=name)
        axes[0, 0].fill_between(
            sizes, np.maximum(mean - spread, 0.5 * mean), mean + spread, color=color, alpha=0.2
        )
    axes[0, 0].set(xscale="log", yscale="log", xlabel="items $n$", ylabel="time of the fit (s)")
    axes[0, 0].legend(fontsize=7.5)
    for axis, form in zip(axes.flat[1:5], FORMS):
        _draw_errors(plt, axis, summary["curves"][form])
        axis.set_ylabel(f"$C_t$, {form}")
    _draw_losses(axes[1, 2], summary["curves"])
    for axis, letter in zip(axes.flat, "ABCDEF"):
        axis.set_title(letter, loc="left", fontweight="bold")
    text = (
        f"d = {config['d']}, {config['n_epochs']} epochs, learning rate {config['learning_rate']}; "
        f"B to F: n = {config['curve_n']:,}, mean of {config['samples']}"
    )
    figure.text(0.5, -0.01, text, ha="center", fontsize=8)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def _draw_errors(plt: Any, axis: Any, curves: dict[str, Any]) -> None:
    shown = [curve for curve in curves if curve.startswith("k =")]
    colors = plt.get_cmap("viridis")(np.linspace(0.05, 0.85, len(shown)))
    for curve, color, marker in zip(shown, colors, MARKERS):
        values = curves[curve]["error"]
        epochs = np.arange(1, len(values) + 1)
        axis.plot(epochs, values, color=color, marker=marker, ms=3, lw=1, label=curve)
    for curve, line in ((ROUNDING, ":"), (OTHER_START, "-.")):
        values = curves[curve]["error"]
        axis.plot(np.arange(1, len(values) + 1), values, color=COLORS["grey"], ls=line, label=curve)
    axis.set(yscale="log", xlabel="epoch $t$")
    axis.legend(fontsize=7, ncol=2, loc="center right")


def _draw_losses(axis: Any, forms: dict[str, Any]) -> None:
    """Draw the exact loss of the exact run and of the approximated one with one class."""
    for form, color in zip(TIMED, (COLORS["softvec"], COLORS["spectral"])):
        truth = np.array(forms[form]["exact"]["loss"])
        epochs = np.arange(1, len(truth) + 1)
        axis.plot(epochs, truth, color=color, lw=4, alpha=0.3, label=f"{form}, exact")
        found = truth + forms[form]["k = 1"]["gap"]
        axis.plot(epochs, found, color=color, lw=1, ls="--", label=f"{form}, k = 1")
    axis.set(xlabel="epoch $t$", ylabel="exact loss (nats per row)")
    axis.legend(fontsize=7)


_TEXT = """P from the negative-binomial model (N = {N}, p = {p}, {mean_degree} entries per row), d = {d},
{n_epochs} epochs, learning rate {learning_rate}; both methods use all cores and otherwise the same code.
"paper form" is the paper's gradient with beta 1 and its regulariser; "defaults" are softvec's (row form,
beta {beta:g}, no regulariser). C_t is that of the paper: the root mean square difference of all dot products
between the exact and the approximated run at epoch t, for n = {curve_n:,}, mean of {samples} samples.

The paper shows quadratic against linear time, and a C_t that stays small and falls with k. Its text gives no
axis values, and it has its own exact method, so seconds cannot be compared. Our exact sums use single
precision and BLAS on all cores, the fastest simple implementation we could write."""
_CURVES = """What is the exact run? With S the softmax of X X', the derivative of Eq. opt is
-(P + P') X + S X + S' X, plus that of the regulariser. The printed gradient (Eq. grad) treats the means and
covariances as constant, which drops S' X. So C_t is measured four times: **Eq. opt**, the printed gradient
with k classes against the analytic derivative of Eq. opt, which is the paper's comparison; **paper form**,
both without S' X, where only the normaliser differs; **whole form**, both with it (`gradient="full"`); and
the **defaults**. Each cell: C_{epochs} / exact loss of the result minus that of the exact run, in nats per
row. It may be negative: steps have a fixed length, so a run that follows the full derivative need not reach
the lowest loss. Two rows give the scale: rounding alone, and the exact method from another start."""


def _ends(curves: dict[str, Any]) -> str:
    """Return the table of the last C_t and the loss gap of every form."""
    rows = [
        [
            curve,
            *(f"{curves[f][curve]['error'][-1]:.1e} / {curves[f][curve]['gap'][-1]:+.1e}" for f in FORMS),
        ]
        for curve in curves[FORMS[0]]
        if curve != "exact"
    ]
    return table(["", *FORMS], rows)


def report(content: dict[str, Any]) -> str:
    """Return the results in Markdown."""
    summary, config = content["summary"], content["config"]
    names = list(summary["times"])
    rows = []
    for n in config["timing_repeats"]:
        cells = [summary["times"].get(name, {}).get(n) for name in names]
        shown = [_time(cell) for cell in cells]
        ratios = [summary["exact_over_ours"][form].get(n) for form in TIMED]
        rows.append([f"{int(n):,}", *shown, *(f"{ratio:.0f}x" if ratio else "" for ratio in ratios)])
    growth = [f"n^{summary['growth'][name]:.2f}" for name in names]
    rows.append(["growth at the end", *growth, "", ""])
    curves = summary["curves"]
    text = _TEXT.format(**{**config, "beta": EDRep().beta})
    return "\n\n".join(
        [
            '## Comparison with the exact gradient (figure "Comparison with exact gradient calculation")',
            "![Time against n, and C_t against the epoch](../experiments/exact/figure.png)",
            text,
            "Seconds, mean and standard deviation; the last two columns are ratios, exact to approximated:",
            table(["n", *names, *(f"ratio, {form}" for form in TIMED)], rows),
            _CURVES.format(epochs=config["n_epochs"]),
            _ends(curves),
            _verdict(curves),
        ]
    )


def _time(entry: dict[str, Any] | None) -> str:
    if entry is None:
        return ""
    spread = f" ± {entry['spread']:.2g}" if entry["repeats"] > 1 else ""
    return f"{entry['seconds']:.3g}{spread}"


def _verdict(curves: dict[str, Any]) -> str:
    """Say, from the numbers, whether more classes come closer."""
    lines = []
    for form in FORMS:
        shown = [curve for curve in curves[form] if curve.startswith("k =")]
        first, last = (curves[form][curve]["error"][-1] for curve in (shown[0], shown[-1]))
        other = curves[form][OTHER_START]["error"][-1]
        move = f"falls {first / last:.1f}x" if first > 1.05 * last else f"does not fall ({last / first:.2f}x)"
        lines.append(
            f"- {form}: from {shown[0]} to {shown[-1]} the last C_t {move}; "
            f"with {shown[0]} it is {first / other:.1%} of the difference that another start makes."
        )
    dropped, approximated = (curves[form]["k = 1"]["error"][-1] for form in ("Eq. opt", "whole form"))
    lines.append(
        f"- Against Eq. opt, the term that the printed gradient drops makes {dropped / approximated:.0f} "
        "times as large a difference as the approximated normaliser; so more classes do not reduce it."
    )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    common_main("exact", run, plot, arguments)


if __name__ == "__main__":
    main()
