"""A two-dimensional map of named vectors, coloured by group."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError
from softvec.names import Labels
from softvec.names.align import align_labels, is_missing
from softvec.plotting.names import write_names
from softvec.plotting.style import GREY, MARKERS, PALETTE, STYLE, Axes, axes_of, plain_text, pyplot

if TYPE_CHECKING:
    from softvec.embedding import Embedding

_AUTO_TSNE = 2000


def plot_map(
    embedding: Embedding,
    labels: Any = None,
    *,
    method: str = "auto",
    coordinates: NDArray[np.floating] | None = None,
    n_names: int | None = None,
    sizes: Any = None,
    title: str | None = None,
    legend: bool = True,
    random_state: int | None = 0,
    ax: Axes = None,
    **options: Any,
) -> Axes:
    """Draw a two-dimensional map of the vectors.

    Parameters
    ----------
    embedding : Embedding
    labels : sequence of n labels, mapping of names to labels, pandas Series, or "clusters", optional
        Colours. A sequence is in the order of the vectors, a Series is matched by its index. ``"clusters"``
        colours groups found by :meth:`Embedding.cluster`. None, NaN or -1 is grey.
    method : {"auto", "pca", "tsne", "umap"}
        How to lay out; "auto" is t-SNE for up to 2,000 vectors (seconds), else PCA.
    coordinates : array of shape (n, 2), optional
        A layout made before, instead of ``method``.
    n_names : int, optional
        Names to write at most, those of the largest items first, where there is room. By default all
        of up to 40 items, else 25 if there are names and sizes, and none if not.
    sizes : array of shape (n,), optional
        Areas of the points; by default the ``sizes`` of the embedding.
    options
        Passed on to the method of projection.

    Returns
    -------
    matplotlib Axes
    """
    if method == "auto":
        method = "tsne" if len(embedding) <= _AUTO_TSNE else "pca"
    Z = embedding.project(method, random_state=random_state, **options) if coordinates is None else None
    Z = np.asarray(coordinates if Z is None else Z, dtype=float)
    if Z.shape != (len(embedding), 2):
        raise InputError(f"coordinates have shape {Z.shape}; expected ({len(embedding)}, 2)")
    groups = groups_of(embedding, labels)
    weight = embedding.sizes if sizes is None else np.asarray(sizes, dtype=float)
    if weight is not None and weight.shape != (len(Z),):
        raise InputError(f"sizes have shape {weight.shape}; expected ({len(Z)},)")
    plt = pyplot()
    area = _areas(len(Z), weight)
    axes = axes_of(ax, (5.2, 4.4))
    with plt.rc_context(STYLE):
        shown = _scatter(axes, Z, area, groups)
        axes.set(xticks=[], yticks=[], aspect="auto")
        axes.margins(0.06)
        for spine in axes.spines.values():
            spine.set_visible(False)
        if title:
            axes.set_title(title)
        if legend and shown > 1:
            _legend(axes, [label for label, _ in groups if label != ""])
        if n_names is None:
            numbers = embedding.names == Labels.range(len(Z))  # row numbers say nothing on a map
            n_names = 40 if len(Z) <= 40 else 25 if weight is not None and not numbers else 0
        if n_names:
            order = np.argsort(-(weight if weight is not None else np.zeros(len(Z))), kind="stable")
            write_names(axes, Z, area, embedding, order, n_names)
    return axes


def _areas(n: int, weight: NDArray[np.floating] | None) -> NDArray[np.floating]:
    base = float(np.clip(6000.0 / max(n, 1), 1.5, 45.0))
    if weight is None or n == 0 or weight.max() <= 0:
        return np.full(n, base)
    relative = weight / weight[weight > 0].mean()
    return base * np.clip(relative**0.6, 0.5, 12.0)


def _scatter(
    axes: Axes, Z: NDArray[Any], area: NDArray[Any], groups: list[tuple[str, NDArray[np.intp]]]
) -> int:
    """Draw the groups, grey ones first; return how many have a colour of their own."""
    many = len(Z) > 5000
    edge = {"linewidths": 0} if len(Z) > 1500 else {"linewidths": 0.4, "edgecolors": "white"}
    common = {"alpha": 0.65 if many else 0.9, "rasterized": many, **edge}
    single = len(groups) == 1
    shown = 0
    for label, rows in sorted(groups, key=lambda group: group[0] != ""):
        rows = rows[np.argsort(-area[rows], kind="stable")]  # small points above large ones
        if label == "":
            colour = PALETTE[0] if single else GREY
            axes.scatter(Z[rows, 0], Z[rows, 1], s=area[rows], color=colour, **common)
            continue
        colour = PALETTE[shown % len(PALETTE)]
        marker = MARKERS[shown // len(PALETTE)]
        axes.scatter(Z[rows, 0], Z[rows, 1], s=area[rows], color=colour, marker=marker, **common)
        shown += 1
    return shown


def _legend(axes: Axes, labels: list[str]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], linestyle="", marker=MARKERS[i // len(PALETTE)], color=PALETTE[i % len(PALETTE)],
               markersize=5, label=plain_text(text))
        for i, text in enumerate(labels[:24])
    ]  # fmt: skip
    if len(labels) > 24:
        handles.append(Line2D([], [], linestyle="", label=f"and {len(labels) - 24} more"))
    axes.legend(
        handles=handles, loc="center left", bbox_to_anchor=(1.0, 0.5), handletextpad=0.2, borderaxespad=0.2
    )


def groups_of(embedding: Embedding, labels: Any) -> list[tuple[str, NDArray[np.intp]]]:
    """Return (label, rows) in natural order; unlabelled rows come last under an empty label."""
    n = len(embedding)
    if labels is None:
        return [("", np.arange(n))]
    if isinstance(labels, str):
        if labels != "clusters":
            raise InputError(f"labels is {labels!r}; expected labels, or 'clusters'")
        given: Sequence[Any] = [f"group {c}" for c in embedding.cluster()]
    else:
        given = align_labels(labels, n, embedding.names).tolist()
    rows: dict[Any, list[int]] = {}
    for i, label in enumerate(given):
        rows.setdefault(None if is_missing(label) else label, []).append(i)
    rest = rows.pop(None, [])
    ordered = sorted(rows.items(), key=lambda item: -len(item[1]))
    most = len(PALETTE) * len(MARKERS)
    for _, more in ordered[most:]:
        rest = rest + more
    named = [(str(label), np.array(found)) for label, found in ordered[:most]]
    natural = sorted(range(len(named)), key=lambda i: natural_key(ordered[i][0]))
    named = [named[i] for i in natural]  # the legend goes 1, 2, ..., 10
    return named + ([("", np.array(sorted(rest)))] if rest else [])


def natural_key(label: Any) -> list[tuple[int, float, str]]:
    """Sort key that puts 2 before 10 and "group 2" before "group 10"."""
    parts = re.split(r"(\d+)", str(label))
    return [(0, float(part), "") if part.isdecimal() else (1, 0.0, part) for part in parts if part]
