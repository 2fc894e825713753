"""A two-dimensional map of named vectors, coloured by group or by value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softvec.core.checks import counted
from softvec.core.errors import InputError
from softvec.plotting.colours import Groups, aligned_labels, groups_of, values_of
from softvec.plotting.names import default_number, order_of_names, spread, write_names
from softvec.plotting.style import (
    COLOURS,
    DARK_GREY,
    GREY,
    INK,
    MARKERS,
    PALETTE,
    SCALE,
    STYLE,
    Axes,
    axes_of,
    plain_text,
    pyplot,
    shorten,
    split_options,
)

if TYPE_CHECKING:
    from softvec.embedding import Embedding

SIZE = (5.2, 4.4)  # inches
MARKERS_SHOW = 1000  # items up to which different markers are visible
MAX_EDGES = 50_000  # lines; more would only be a grey area
LONGEST = 32  # characters of a line of the legend
LINE = 14.0  # height of a line of the legend, in points


@dataclass(frozen=True)
class PlotOptions:
    """Options of :func:`plot_map`, which documents them."""

    method: str = "auto"
    coordinates: NDArray[np.floating] | None = None
    n_names: int | None = None
    n_groups: int | None = None
    continuous: bool | None = None
    edges: Any = None
    sizes: Any = None
    title: str | None = None
    legend: bool | str | None = True
    size: tuple[float, float] | None = None
    dpi: float | None = None
    random_state: int | None = 0
    ax: Axes = None


class _Layer(NamedTuple):
    """Points of one colour and marker: a group, or what the legend notes in two lines."""

    rows: NDArray[np.intp]
    colour: str
    marker: str = "o"
    group: str = ""
    note: str = ""


def plot_map(embedding: Embedding, labels: Any = None, **options: Any) -> Axes:
    """Draw a two-dimensional map of the vectors.

    Parameters
    ----------
    embedding : Embedding
    labels : sequence of n labels, mapping of names to labels, pandas Series, or "clusters", optional
        Colours. A sequence is in the order of the vectors, a Series is matched by its index. ``"clusters"``
        colours groups found by :meth:`Embedding.cluster`. None, NaN or -1 is grey.
    method : {"auto", "pca", "tsne", "opentsne", "umap"}
        Layout, as in :meth:`Embedding.layout`. The line below the plot says which was used.
    coordinates : array of shape (n, 2), or Layout, optional
        An existing layout, instead of ``method``, such as that of :meth:`Embedding.layout`.
    n_names : int, optional
        Maximum number of names, without overlap: the largest items first; for text, frequent words except the
        most frequent ones ("the", "of"). Default: all for up to 40 items; else 50, if items have sizes and
        readable names (no numbers, no barcodes).
    n_groups : int, optional
        Maximum number of groups with their own colour, largest first; the others are grey, as the legend
        says. Default: 20 for up to 1,000 items, else 10. Beyond the colours, they repeat with another marker.
    continuous : bool, optional
        Whether labels are values with a colour bar. Default: numbers with decimals, or more than 40
        distinct integers other than 0, 1, 2, ...
    edges : graph, list of edges, sparse matrix, or path, optional
        Edges to draw as thin lines under the points.
    sizes : array of shape (n,), optional
        Areas of the points; by default the ``sizes`` of the embedding.
    title : str, optional
    legend : bool or str
        Draw the legend, or the colour bar of values (the default); a text is its title. By default that is
        the name of a pandas Series, "community" for ``"clusters"``, else none.
    size : (width, height), optional
        Size of a new figure in inches. Default: (5.2, 4.4).
    dpi : float, optional
        Dots per inch of a new figure.
    random_state : int or None
        Seed of the layout.
    ax : matplotlib Axes, optional
        Where to draw, instead of a new figure.
    options
        Others are passed on to the layout.

    Returns
    -------
    matplotlib Axes
    """
    own, others = split_options(PlotOptions, options)
    Z, caption = layout_of(embedding, own.coordinates, own.method, own.random_state, others)
    weight = _weights(embedding, own.sizes)
    aligned = aligned_labels(embedding, labels)
    key = _title_of_legend(own.legend, labels)
    values = None if labels is None else values_of(aligned, own.continuous)
    pairs = None if own.edges is None else embedding._edges(own.edges)
    layers = [] if values is not None else _layers(groups_of(aligned), own.n_groups, len(Z))
    axes = axes_of(own.ax, SIZE, own.size, own.dpi)
    width, height = axes.get_figure().get_size_inches() if own.ax is None else SIZE
    area = _areas(len(Z), weight) * min(width * height / (SIZE[0] * SIZE[1]), 4.0)
    with pyplot().rc_context(STYLE):
        _frame(axes, Z, own.title, caption)
        if own.coordinates is None:
            Z = spread(axes, Z, area)
        if pairs is not None:
            _draw_edges(axes, Z, pairs)
        if values is not None:
            _draw_values(axes, Z, area, values, key)
        else:
            _draw_groups(axes, Z, area, layers, key)
        n_names = default_number(embedding, weight) if own.n_names is None else own.n_names
        if n_names:
            write_names(axes, Z, area, embedding, order_of_names(embedding, weight, Z, n_names), n_names)
    return axes


def largest(embedding: Embedding, n: int) -> Embedding:
    """Return the n largest items of an embedding, or the first ones where it has no sizes."""
    if n >= len(embedding):
        return embedding
    sizes, rows = embedding.sizes, np.arange(n)
    if sizes is not None:
        rows = np.sort(np.argsort(-sizes, kind="stable")[:n])
        sizes = sizes[rows]
    names, provenance = embedding.names.take(rows), embedding.provenance
    return type(embedding)(embedding.vectors[rows], names, sizes=sizes, provenance=provenance)


def layout_of(
    embedding: Embedding, coordinates: Any, method: str, random_state: int | None, options: Mapping[str, Any]
) -> tuple[NDArray[np.float64], str | None]:
    """Return checked coordinates, and how they were computed (None for an array of the user)."""
    if coordinates is None:
        coordinates = embedding.layout(method, random_state=random_state, **options)
    description = getattr(coordinates, "description", None)
    Z = np.asarray(getattr(coordinates, "coordinates", coordinates), dtype=np.float64)
    if Z.shape != (len(embedding), 2):
        raise InputError(f"coordinates have shape {Z.shape}; expected ({len(embedding)}, 2)")
    if not np.isfinite(Z).all():
        row = int(np.flatnonzero(~np.isfinite(Z).all(axis=1))[0])
        raise InputError(f"coordinates hold NaN or infinite values (first: row {row})")
    return Z, description


def _title_of_legend(legend: bool | str | None, labels: Any) -> str | None:
    """Return the title of the legend or colour bar, "" for none; None if there is no legend."""
    if isinstance(legend, str):
        return plain_text(shorten(legend, LONGEST))
    if not legend:
        return None
    if isinstance(labels, str):
        return "community"
    name = getattr(labels, "name", None)
    return plain_text(shorten(name, LONGEST)) if isinstance(name, str) else ""


def _weights(embedding: Embedding, sizes: Any) -> NDArray[np.floating] | None:
    weight = embedding.sizes if sizes is None else np.asarray(sizes, dtype=float)
    if weight is not None and weight.shape != (len(embedding),):
        raise InputError(f"sizes have shape {weight.shape}; expected ({len(embedding)},)")
    return weight


def _coloured_groups(n_groups: int | None, groups: int, n: int) -> int:
    """Return the number of coloured groups: ten, or nine and grey; twice as many if markers are visible."""
    most = len(MARKERS) * len(COLOURS)
    if n_groups is not None:
        if not 0 <= n_groups <= most:
            raise InputError(f"n_groups is {n_groups!r}; expected 0 to {most}")
        return n_groups
    times = 2 if n <= MARKERS_SHOW else 1
    return groups if groups <= times * len(PALETTE) else times * len(COLOURS)


def _layers(groups: Groups, n_groups: int | None, n: int) -> list[_Layer]:
    """Return the largest groups, each with a look, then the smaller ones in one grey, then the unlabelled."""
    most = _coloured_groups(n_groups, len(groups), n)
    named = [group for group in groups if group[0]]
    large = sorted(sorted(range(len(named)), key=lambda i: -len(named[i][1]))[:most])
    smaller = [rows for i, (_, rows) in enumerate(named) if i not in large]
    # the palette's grey only if there are no grey points
    grey = smaller or len(named) < len(groups) or len(large) > 2 * len(PALETTE)
    colours = COLOURS if grey else PALETTE
    layers = [
        _Layer(named[i][1], colours[at % len(colours)], MARKERS[at // len(colours)], named[i][0])
        for at, i in enumerate(large)
    ]
    if smaller:
        rows, kind = np.concatenate(smaller), "smaller group" if large else "group"
        note = f"{counted(len(smaller), kind)}\n({counted(len(rows), 'item')})"
        layers.append(_Layer(rows, DARK_GREY, note=note))
    for _, rows in groups[len(named) :]:
        colour = GREY if named else PALETTE[0]
        layers.append(_Layer(rows, colour, note=f"no label\n({counted(len(rows), 'item')})"))
    return layers


def _frame(axes: Axes, Z: NDArray[Any], title: str | None, caption: str | None) -> None:
    axes.set(xticks=[], yticks=[], aspect="auto")
    axes.margins(0.06)
    axes.update_datalim(Z)
    axes.autoscale_view()  # edges are drawn within these limits
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_title(title or "")
    if caption and len(Z) > 1:
        axes.set_xlabel(caption, loc="left", fontsize=6.5, color="#6b7178")


def _areas(n: int, weight: NDArray[np.floating] | None) -> NDArray[np.floating]:
    base = float(np.clip(9000.0 / max(n, 1), 0.6, 45.0))
    if weight is None or n == 0 or weight.max() <= 0:
        return np.full(n, base)
    relative = weight / weight[weight > 0].mean()
    return base * np.clip(relative**0.6, 0.5, 12.0)


def _draw_edges(axes: Axes, Z: NDArray[Any], pairs: NDArray[np.int64]) -> None:
    from matplotlib.collections import LineCollection

    if len(pairs) > MAX_EDGES:  # evenly spaced ones, the same in every plot
        pairs = pairs[np.linspace(0, len(pairs) - 1, MAX_EDGES).astype(np.int64)]
    count = max(len(pairs), 1)
    lines = LineCollection(
        list(Z[pairs]), colors=INK, linewidths=float(np.clip(40 / count**0.5, 0.15, 0.6)),
        alpha=float(np.clip(3.5 / count**0.5, 0.04, 0.3)), zorder=0.5, rasterized=count > 5000,
    )  # fmt: skip
    axes.add_collection(lines, autolim=False)


def _point_style(n: int) -> dict[str, object]:
    edge = {"linewidths": 0} if n > 1500 else {"linewidths": 0.4, "edgecolors": "white"}
    alpha = 0.5 if n > 50_000 else 0.7 if n > 5000 else 0.9
    return {"alpha": alpha, "rasterized": n > 5000, **edge}


def _draw_groups(
    axes: Axes, Z: NDArray[Any], area: NDArray[Any], layers: list[_Layer], key: str | None
) -> None:
    """Draw the grey points first, then the groups, and a legend."""
    style = _point_style(len(Z))
    for layer in sorted(layers, key=lambda layer: (bool(layer.group), layer.colour == DARK_GREY)):
        rows = layer.rows[np.argsort(-area[layer.rows], kind="stable")]  # small points above large ones
        axes.scatter(Z[rows, 0], Z[rows, 1], s=area[rows], color=layer.colour, marker=layer.marker, **style)
    if key is not None and sum(layer.colour != GREY for layer in layers) > 1:
        _legend(axes, layers, key)


def _legend(axes: Axes, layers: list[_Layer], key: str) -> None:
    from matplotlib.lines import Line2D

    height = axes.get_window_extent().height / axes.get_figure().dpi * 72  # points
    lines = sum(1 if layer.group else 2 for layer in layers) + bool(key)
    columns = 1 + int(lines * LINE // height)
    texts = [layer.note or plain_text(shorten(layer.group, LONGEST // columns)) for layer in layers]
    handles = [
        Line2D([], [], linestyle="", marker=layer.marker, color=layer.colour, markersize=5, label=text)
        for layer, text in zip(layers, texts)
    ]
    axes.legend(
        handles=handles, loc="center left", bbox_to_anchor=(1.0, 0.5), handletextpad=0.2, borderaxespad=0.2,
        ncols=columns, columnspacing=0.8, title=key or None, title_fontsize=8, alignment="left",
    )  # fmt: skip


def _draw_values(
    axes: Axes, Z: NDArray[Any], area: NDArray[Any], values: NDArray[np.float64], key: str | None
) -> None:
    """Draw values on a colour scale with a bar; extreme values have the colour of its ends."""
    from matplotlib.cm import ScalarMappable

    style = _point_style(len(Z))
    missing = np.isnan(values)
    axes.scatter(Z[missing, 0], Z[missing, 1], s=area[missing], color=GREY, **style)
    rows = np.flatnonzero(~missing)
    rows = rows[np.argsort(-area[rows], kind="stable")]
    low, high = np.percentile(values[rows], [1, 99])
    if low == high:
        low, high = values[rows].min(), values[rows].max()
    points = axes.scatter(
        Z[rows, 0], Z[rows, 1], s=area[rows], c=values[rows], cmap=SCALE, vmin=low, vmax=high, **style
    )
    if key is not None:
        beyond = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}
        ends = beyond[bool(values[rows].min() < low), bool(values[rows].max() > high)]
        points = ScalarMappable(points.norm, SCALE)  # the bar without the points' transparency
        bar = axes.get_figure().colorbar(points, ax=axes, shrink=0.6, aspect=24, pad=0.02, extend=ends)
        bar.set_label(key)
        bar.outline.set_visible(False)
