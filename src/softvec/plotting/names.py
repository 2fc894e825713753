"""What would overlap on a map: which names are written, and where; points that would hide each other."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.checks import recorded
from softvec.names import Names
from softvec.plotting.style import INK, Axes, plain_text, shorten

if TYPE_CHECKING:
    from softvec.embedding import Embedding

ALL_UP_TO = 40  # items up to which all are named
BY_DEFAULT = 50
COMMON = 0.0003  # share of a corpus above which a word means little: "though", "quite", "take" in English

MOST = 1000  # items; more are drawn as dots, of which only those at one place move
COVERED = 0.25  # share of the map that they may cover
APART = 0.8  # distance of two discs, in sums of their radii
STEPS = 60


def default_number(embedding: Embedding, weight: NDArray[np.floating] | None) -> int:
    """Return the number of names to write: none if they are not readable, or if items have no sizes."""
    n = len(embedding)
    if n <= ALL_UP_TO:
        return n
    if weight is None or embedding.names == Names.range(n):
        return 0
    sample = np.linspace(0, n - 1, min(n, 200)).astype(int)
    readable = sum(is_readable(embedding.names[i]) for i in sample.tolist())
    return BY_DEFAULT if readable > len(sample) / 2 else 0


def _is_corpus(embedding: Embedding) -> bool:
    return recorded(embedding, "data").get("kind") == "corpus"


def is_readable(name: Hashable) -> bool:
    """Whether a name means something to a reader: not a number, barcode, hash or path.

    >>> [is_readable(name) for name in ("Valjean", "TP53", "AAACCTGAGAAACCAT-1", "5d41402abc4b2a", 7)]
    [True, True, False, False, False]
    """
    if not isinstance(name, str) or not 1 <= len(name) <= 24:
        return False
    digits = sum(character.isdigit() for character in name)
    letters = sum(character.isalpha() for character in name)
    if not letters or (len(name) >= 8 and 3 * digits > len(name)):
        return False
    return re.fullmatch(r"[ACGTN]{8,}([-_.].*)?", name) is None


def order_of_names(
    embedding: Embedding, weight: NDArray[np.floating] | None, Z: NDArray[Any], n_names: int
) -> NDArray[np.intp]:
    """Return rows in the order in which to write their names: by weight, for a corpus across the map."""
    n = len(embedding)
    if weight is None:
        return np.arange(n)
    order = np.argsort(-weight, kind="stable")
    if not _is_corpus(embedding) or n <= ALL_UP_TO:
        return order
    common = min(int((weight > COMMON * weight.sum()).sum()), n // 10)
    longer = np.array([len(str(embedding.names[i])) > 1 for i in order[common:].tolist()])  # no initials
    return _by_region(order[common:][longer], Z, n_names)


def titles_of_groups(
    embedding: Embedding,
    groups: NDArray[np.integer],
    vectors: NDArray[Any],
    names: Sequence[Hashable] | Names,
    n_names: int = 1,
) -> list[str]:
    """Return a title for each detected group of vectors: its number, and its most central readable names.

    Central are the largest items; for text, and without sizes, those nearest to the mean of the group.

    >>> from softvec import Embedding
    >>> emb = Embedding(np.eye(4), ["ada", "bob", "cyd", "dan"], sizes=[1, 2, 3, 4])
    >>> titles_of_groups(emb, np.array([1, 0, 0, -1]), emb.vectors, emb.names, n_names=2)
    ['0: cyd, bob', '1: ada']
    """
    central: list[list[str]] = [[] for _ in range(int(groups.max(initial=-1)) + 1)]
    weight = embedding.sizes
    if weight is None or len(weight) < len(names) or _is_corpus(embedding):
        means = np.array([vectors[groups == group].mean(axis=0) for group in range(len(central))])
        weight = np.einsum("ij,ij->i", vectors, means[groups]) if len(central) else np.zeros(len(vectors))
    for row in np.argsort(-weight, kind="stable").tolist():
        group, name = int(groups[row]), names[row]
        if group >= 0 and len(central[group]) < n_names and is_readable(name):
            central[group].append(str(name))
    return [f"{group}: {', '.join(found)}" if found else str(group) for group, found in enumerate(central)]


def _by_region(order: NDArray[np.intp], Z: NDArray[Any], n_names: int) -> NDArray[np.intp]:
    """Return rows so that the cells of a grid over the map take turns, each with its first row first.

    The grid has about as many cells as there are names to write.
    """
    side = max(2, round(n_names**0.5))
    low, span = Z.min(axis=0), np.ptp(Z, axis=0)
    cell = np.minimum((Z[order] - low) / np.where(span > 0, span, 1) * side, side - 1).astype(int)
    code = cell[:, 0] * side + cell[:, 1]
    by_cell = np.argsort(code, kind="stable")
    starts = np.searchsorted(code[by_cell], code[by_cell])  # where the cell of each begins
    turn = np.empty(len(order), np.intp)
    turn[by_cell] = np.arange(len(order)) - starts
    return order[np.argsort(turn, kind="stable")]


def write_names(
    axes: Axes,
    Z: NDArray[Any],
    area: NDArray[Any],
    embedding: Embedding,
    order: NDArray[np.intp],
    n_names: int,
) -> None:
    """Write names next to their points, in this order; a name without free space is left out."""
    from matplotlib.patheffects import withStroke

    figure = axes.get_figure()
    figure.draw_without_rendering()  # fixes the layout, so that positions in pixels are final
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
    style: dict[str, object] = {
        "fontsize": 7, "color": INK, "zorder": 5,
        "path_effects": [withStroke(linewidth=2, foreground="white", alpha=0.85)],
    }  # fmt: skip
    placed = 0
    for i in order[: 8 * n_names]:
        if placed == n_names:
            return
        text = plain_text(shorten(str(embedding.names[int(i)]), 28))
        label = axes.annotate(text, points[i], xycoords="figure pixels", annotation_clip=False, **style)
        box = label.get_window_extent()
        gap = radius[i] + 1.5 * scale
        for dx, dy in _PLACES:  # the text is on the far side of the point
            x = points[i, 0] + dx * gap - box.width * (1 - np.sign(dx)) / 2
            y = points[i, 1] + dy * gap - box.height * (1 - np.sign(dy)) / 2
            area_box = (x, y, x + box.width, y + box.height)
            inside = x > frame.x0 and y > frame.y0 and area_box[2] < frame.x1 and area_box[3] < frame.y1
            if inside and not any(_overlap(area_box, other) for other in (*taken, *discs)):
                taken.append(area_box)
                label.remove()
                offset = ((x - points[i, 0]) / scale, (y - points[i, 1]) / scale)
                axes.annotate(text, Z[i], xytext=offset, textcoords="offset points", va="bottom", **style)
                placed += 1
                break
        else:
            label.remove()


# right, left, above, below, then the corners
_PLACES = ((1, 0), (-1, 0), (0, 1), (0, -1), (0.7, 0.7), (-0.7, 0.7), (0.7, -0.7), (-0.7, -0.7))


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def spread(axes: Axes, Z: NDArray[np.float64], area: NDArray[Any]) -> NDArray[np.float64]:
    """Return the layout with discs of these areas pushed apart, the smaller one of two further.

    Nodes with the same neighbours, such as the leaves of a star, have equal vectors and one place.
    """
    scale = axes.get_figure().dpi / 72
    radius = np.sqrt(area) / 2 * scale
    points = separated(axes.transData.transform(Z), radius)
    return axes.transData.inverted().transform(points)  # type: ignore[no-any-return]


def separated(points: NDArray[np.float64], radius: NDArray[Any]) -> NDArray[np.float64]:
    """Return points (n, 2) such that discs of these radii overlap little; those that do not stay.

    >>> separated(np.array([[0.0, 0.0], [1.0, 0.0], [9.0, 0.0]]), np.ones(3)).round(2).tolist()
    [[-0.3, 0.0], [1.3, 0.0], [9.0, 0.0]]
    """
    from scipy.spatial import cKDTree

    if len(points) > MOST:
        room = COVERED * np.prod(np.ptp(points, axis=0)) / (np.pi * np.sum(radius**2))
        return _unstacked(points, radius * min(float(room), 1.0) ** 0.5, place=1.0)
    points = _unstacked(points, radius)
    for _ in range(STEPS):
        pairs = cKDTree(points).query_pairs(2 * APART * radius.max(), output_type="ndarray")
        i, j = pairs[np.lexsort(pairs.T[::-1])].T
        way = points[j] - points[i]  # (pairs, 2)
        distance = np.hypot(*way.T)
        lacking = np.maximum(APART * (radius[i] + radius[j]) - distance, 0)
        if not (lacking > 1e-3 * radius.max()).any():
            break
        push = way * (lacking / np.maximum(distance, 1e-9 * radius.max()))[:, None]
        share = (radius[j] ** 2 / (radius[i] ** 2 + radius[j] ** 2))[:, None]
        moves = np.zeros_like(points)
        np.add.at(moves, i, -push * share)
        np.add.at(moves, j, push * (1 - share))
        length = np.hypot(*moves.T)
        points = points + moves * np.minimum(1, radius / np.maximum(length, 1e-9 * radius))[:, None]
    return points


def _unstacked(points: NDArray[np.float64], radius: NDArray[Any], place: float = 0.25) -> NDArray[np.float64]:
    """Return points with those at one place arranged like the seeds of a sunflower, the first inside.

    A place is a square of this width, in radii.
    """
    if not radius.max():
        return points
    cells = np.unique(np.round(points / (place * radius.max())), axis=0, return_inverse=True)[1].ravel()
    order = np.argsort(cells, kind="stable")
    rank = np.empty(len(points))
    rank[order] = np.arange(len(points)) - np.searchsorted(cells[order], cells[order])
    angle = rank * (3 - 5**0.5) * np.pi
    away = 1.1 * APART * radius * np.sqrt(rank)  # discs of this distance touch
    return points + np.c_[away * np.cos(angle), away * np.sin(angle)]
