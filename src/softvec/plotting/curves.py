"""The loss at each epoch, histograms of similarities, and the curve of an epidemic."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError
from softvec.plotting.colours import aligned_labels, grouped
from softvec.plotting.style import INK, PALETTE, STYLE, Axes, axes_of, pyplot

if TYPE_CHECKING:
    from softvec.embedding import Embedding
    from softvec.evaluate import EpidemicPrediction

SIZE = (4.0, 2.8)  # inches


def plot_loss(
    source: Embedding | Iterable[Any],
    *,
    title: str | None = None,
    size: tuple[float, float] | None = None,
    ax: Axes = None,
) -> Axes:
    """Draw the loss at each epoch.

    Parameters
    ----------
    source : Embedding, or a history
        A history is a list of records with ``epoch`` and ``loss``, or a mapping of such lists.
    size : (width, height), optional
        In inches; (4.0, 2.8) by default.
    """
    history = source.provenance.get("history") if hasattr(source, "provenance") else source
    epochs, losses = _history(history)
    axes = axes_of(ax, SIZE, size)
    with pyplot().rc_context(STYLE):
        axes.plot(epochs, losses, color=PALETTE[0], linewidth=1.6)
        axes.plot(epochs[-1:], losses[-1:], "o", color=PALETTE[0], markersize=4)
        axes.annotate(
            f"{losses[-1]:.4g}", (epochs[-1], losses[-1]), xytext=(0, 7), textcoords="offset points",
            ha="right", fontsize=8, color=INK,
        )  # fmt: skip
        axes.set(xlabel="epoch", ylabel="loss")
        axes.xaxis.get_major_locator().set_params(integer=True)
        _grid(axes, title)
    return axes


def _grid(axes: Axes, title: str | None) -> None:
    axes.grid(axis="y", color="#e6e8ea", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_title(title or "")


def _history(history: Any) -> tuple[list[float], list[float]]:
    if isinstance(history, dict):
        losses = history.get("loss", [])
        pairs = list(zip(history.get("epoch", range(1, len(losses) + 1)), losses))
    else:
        records = list(history or [])
        pairs = [(r.get("epoch", i + 1), r.get("loss")) for i, r in enumerate(records)]
    known = [(e, v) for e, v in pairs if v is not None]
    if not known:
        raise InputError("no losses to draw: the embedding was not fitted by softvec")
    return [float(e) for e, _ in known], [float(v) for _, v in known]


def plot_epidemic(result: EpidemicPrediction, *, title: str | None = None, ax: Axes = None) -> Axes:
    """Draw the expected number of infected people over time, with its band.

    Parameters
    ----------
    result : EpidemicPrediction
        Result of :func:`softvec.evaluate.predict_epidemic`.
    """
    times, expected, low, high = result.curve
    axes = axes_of(ax, (5.0, 3.0))
    with pyplot().rc_context(STYLE):
        band = f"{result.level:.0%} band"
        axes.fill_between(times, low, high, color=PALETTE[0], alpha=0.25, linewidth=0, label=band)
        axes.plot(times, expected, color=PALETTE[0], linewidth=1.6, label="expected")
        axes.set(ylabel="infected people", ylim=(0, None))
        if times.dtype.kind == "M":
            from matplotlib.dates import ConciseDateFormatter

            axes.xaxis.set_major_formatter(ConciseDateFormatter(axes.xaxis.get_major_locator()))
        else:
            axes.set_xlabel("time")
        _grid(axes, title)
        axes.legend(loc="best")
    return axes


def plot_similarities(
    embedding: Embedding,
    labels: Any = None,
    *,
    n_pairs: int = 20_000,
    title: str | None = None,
    size: tuple[float, float] | None = None,
    random_state: int | None = 0,
    ax: Axes = None,
) -> Axes:
    """Draw histograms of cosines: random pairs, and pairs that should be close.

    Parameters
    ----------
    labels : optional
        As in :func:`plot_map`: pairs with equal labels against pairs with different labels.
    n_pairs : int
        Pairs drawn at random for each histogram.
    size : (width, height), optional
        In inches; (4.0, 2.8) by default.
    """
    rng = np.random.default_rng(random_state)
    n = len(embedding)
    if n < 2:
        raise InputError("histograms of similarities need at least two vectors")
    if labels is not None:
        series = _by_label(embedding, labels, n_pairs, rng)
    else:
        i, j = rng.integers(0, n, n_pairs), rng.integers(0, n - 1, n_pairs)
        j += j >= i  # another row
        sample = rng.choice(n, min(n, 2000), replace=False)
        _, scores = embedding.nearest(embedding.vectors[sample], 2)
        series = [("random pairs", _cosines(embedding, i, j)), ("nearest neighbours", scores[:, 1])]
    return _histograms(series, title, axes_of(ax, SIZE, size))


def _by_label(
    embedding: Embedding, labels: Any, n_pairs: int, rng: np.random.Generator
) -> list[tuple[str, NDArray[Any]]]:
    codes = grouped(aligned_labels(embedding, labels))[0]
    members = np.argsort(codes, kind="stable")[np.count_nonzero(codes < 0) :]  # of one group after another
    code = codes[members]
    if len(members) < 2:
        raise InputError("fewer than two vectors have a label")
    a, b = rng.integers(0, len(members), (2, 4 * n_pairs))
    other = code[a] != code[b]
    sizes = np.bincount(code)[code]
    if sizes.max() < 2 or not other.any():
        raise InputError("the labels need two groups, one of them with two vectors")
    across = _cosines(embedding, members[a[other]][:n_pairs], members[b[other]][:n_pairs])
    a = rng.choice(np.flatnonzero(sizes > 1), n_pairs)
    first = np.searchsorted(code, code[a])  # where the group of each begins
    b = first + (a - first + rng.integers(1, sizes[a])) % sizes[a]  # another one of the group
    return [("two labels", across), ("one label", _cosines(embedding, members[a], members[b]))]


def _cosines(embedding: Embedding, i: NDArray[Any], j: NDArray[Any]) -> NDArray[np.float32]:
    A, B = embedding.vectors[i], embedding.vectors[j]
    length = np.linalg.norm(A, axis=1) * np.linalg.norm(B, axis=1)
    return np.einsum("ij,ij->i", A, B) / np.where(length > 0, length, 1)


def _histograms(series: list[tuple[str, NDArray[Any]]], title: str | None, axes: Axes) -> Axes:
    low = min(float(values.min()) for _, values in series)
    bins = np.linspace(min(low, 0.0), 1.0, 61)
    with pyplot().rc_context(STYLE):
        for colour, (name, values) in zip((PALETTE[8], PALETTE[5]), series):
            axes.hist(values, bins=bins, density=True, color=colour, alpha=0.45, label=name)
            axes.hist(values, bins=bins, density=True, histtype="step", color=colour, linewidth=1.1)
        axes.set(xlabel="cosine similarity", ylabel="density", xlim=(bins[0], 1.0))
        axes.set_ylim(top=1.3 * axes.dataLim.y1)  # room for the legend above the highest bar
        axes.legend(loc="upper right")
        axes.set_title(title or "")
    return axes
