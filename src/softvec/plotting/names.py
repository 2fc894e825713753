"""Names beside points, none over another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softvec.plotting.style import INK, Axes, plain_text

if TYPE_CHECKING:
    from softvec.embedding import Embedding


def write_names(
    axes: Axes,
    Z: NDArray[Any],
    area: NDArray[Any],
    embedding: Embedding,
    order: NDArray[np.intp],
    n_names: int,
) -> None:
    """Write names beside their points, largest first; one that finds no free place is left out."""
    from matplotlib.patheffects import withStroke

    figure = axes.get_figure()
    figure.draw_without_rendering()  # fixes the layout, so that places in pixels are final
    scale = figure.dpi / 72
    frame = axes.get_window_extent()
    points = axes.transData.transform(Z)
    radius = np.sqrt(area) / 2 * scale
    taken: list[tuple[float, float, float, float]] = []
    big = order[: 3 * n_names]
    discs = [
        (points[i, 0] - r, points[i, 1] - r, points[i, 0] + r, points[i, 1] + r)
        for i, r in zip(big, radius[big] * 0.7)
    ]
    placed = 0
    for i in order[: 8 * n_names]:
        if placed == n_names:
            return
        text = str(embedding.names[int(i)])
        short = text if len(text) <= 28 else text[:27] + "…"
        label = axes.annotate(
            plain_text(short),
            points[i], xycoords="figure pixels", fontsize=7, color=INK, annotation_clip=False, zorder=5,
            path_effects=[withStroke(linewidth=2, foreground="white", alpha=0.85)],
        )  # fmt: skip
        box = label.get_window_extent()
        gap = radius[i] + 1.5 * scale
        for dx, dy, align in _PLACES:
            x = points[i, 0] + dx * gap - (box.width if align < 0 else box.width / 2 if align == 0 else 0)
            y = points[i, 1] + dy * gap - (box.height if dy < 0 else box.height / 2 if dy == 0 else 0)
            area_box = (x, y, x + box.width, y + box.height)
            inside = x > frame.x0 and y > frame.y0 and area_box[2] < frame.x1 and area_box[3] < frame.y1
            if inside and not any(_overlap(area_box, other) for other in (*taken, *discs)):
                taken.append(area_box)
                label.remove()
                offset = ((x - points[i, 0]) / scale, (y - points[i, 1]) / scale)
                axes.annotate(
                    label.get_text(), Z[i], xytext=offset, textcoords="offset points", fontsize=7, color=INK,
                    va="bottom", zorder=5,
                    path_effects=[withStroke(linewidth=2, foreground="white", alpha=0.85)],
                )  # fmt: skip
                placed += 1
                break
        else:
            label.remove()


# right, left, above, below, then the corners: (x, y, side of the text)
_PLACES = (
    (1, 0, 1), (-1, 0, -1), (0, 1, 0), (0, -1, 0), (0.7, 0.7, 1), (-0.7, 0.7, -1), (0.7, -0.7, 1),
    (-0.7, -0.7, -1),
)  # fmt: skip


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
