"""Quality against time: one picture for each graph, and all of them in one figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .checks import US, published
from .methods import METHODS

MARKERS = "osD^v<>Pp*XhH8"
SCORES = {"micro_f1": "micro-F1, 50% labels (%)"}


def _draw(axes: Any, data: dict[str, Any], graph: str) -> None:
    cells = published(data, graph)
    for i, method in enumerate(METHODS):
        cell = cells.get(method.name)
        if cell is None:
            continue
        ours = method.name == US
        axes.scatter(
            cell["seconds"],
            cell["micro_f1"],
            marker=MARKERS[i % len(MARKERS)],
            s=90 if ours else 45,
            color="crimson" if ours else f"C{i % 10}",
            edgecolor="black" if ours else "none",
            label=method.name,
            zorder=3 if ours else 2,
        )
    axes.set_xscale("log")
    axes.set_title(graph)
    axes.grid(alpha=0.3)


def draw_all(data: dict[str, Any], directory: Path, combined: Path) -> None:
    """Write one picture for each graph into the directory, and the combined figure."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    graphs = [graph for graph in data["cells"] if published(data, graph)]
    directory.mkdir(parents=True, exist_ok=True)
    for graph in graphs:
        figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
        _draw(axes, data, graph)
        axes.set_xlabel("embedding time (s)")
        axes.set_ylabel(SCORES["micro_f1"])
        axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
        figure.savefig(directory / f"{graph}.png", dpi=110)
        plt.close(figure)
    columns = min(4, len(graphs))
    rows = -(-len(graphs) // columns)
    figure, grid = plt.subplots(
        rows, columns, figsize=(3.2 * columns, 2.6 * rows + 0.8), squeeze=False, layout="constrained"
    )
    handles: dict[str, Any] = {}
    for axes, graph in zip(grid.flat, graphs):
        _draw(axes, data, graph)
        handles |= {label: h for h, label in zip(*axes.get_legend_handles_labels())}
    for axes in list(grid.flat)[len(graphs) :]:
        axes.set_visible(False)
    figure.supxlabel("embedding time (s)")
    figure.supylabel(SCORES["micro_f1"])
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=5, fontsize=8)
    combined.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(combined, dpi=90)
    plt.close(figure)
