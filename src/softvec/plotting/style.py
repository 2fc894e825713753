"""Colours, fonts and files of all plots."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from softvec.core.errors import InputError, optional_package, printable

Axes = Any  # matplotlib.axes.Axes, imported on first use

PALETTE = (
    "#3f90da", "#ffa90e", "#bd1f01", "#832db6", "#92dadd",
    "#e76300", "#a96b59", "#b9ac70", "#717581", "#1f2328",
)  # fmt: skip
COLOURS = tuple(colour for colour in PALETTE if colour != "#717581")  # if there are grey points too
MARKERS = ("o", "^", "s", "D")
GREY = "#d3d6da"  # no label
DARK_GREY = "#b0b5bb"  # a group without a colour of its own
SCALE = "viridis"  # perceptually uniform, safe for colour-blind readers
INK = "#22262b"
STYLE = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "axes.edgecolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}


T = TypeVar("T")


def split_options(kind: type[T], given: Mapping[str, Any]) -> tuple[T, dict[str, Any]]:
    """Return the options that are fields of a dataclass, as one, and the others, which a layout takes."""
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    own = {name: value for name, value in given.items() if name in known}
    return kind(**own), {name: value for name, value in given.items() if name not in known}


def plain_text(text: str) -> str:
    """Return a text that matplotlib shows as it is.

    Dollar signs are escaped, as they would start a formula; an underscore in front, with which matplotlib
    hides legend entries, is preceded by an invisible space.
    """
    text = printable(text).replace("$", r"\$")
    return f"\u200b{text}" if text.startswith("_") else text


def shorten(text: str, longest: int) -> str:
    """Cut a text to ``longest`` characters."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def pyplot() -> Any:
    return optional_package("matplotlib.pyplot", "pictures need matplotlib: pip install 'softvec[plot]'")


def axes_of(
    ax: Axes,
    default: tuple[float, float],
    size: tuple[float, float] | None = None,
    dpi: float | None = None,
) -> Axes:
    """Return ``ax``, or the axes of a new figure of a size in inches."""
    plt = pyplot()
    if ax is not None:
        if size is not None or dpi is not None:
            raise InputError("size and dpi apply to a new figure; leave out either them or ax")
        return ax
    width, height = _checked_size(default if size is None else size)
    if dpi is not None and not 10 <= dpi <= 2400:
        raise InputError(f"dpi is {dpi!r}; expected 10 to 2400")
    # Not within rc_context: the first figure loads the backend, which may turn the interactive mode on
    # (notebooks), and leaving the context would turn it off again for all later figures.
    figure = plt.figure(figsize=(width, height), dpi=dpi, layout="constrained")
    with plt.rc_context(STYLE):
        return figure.subplots()


def _checked_size(size: Any) -> tuple[float, float]:
    try:
        width, height = (float(length) for length in size)
    except (TypeError, ValueError):
        raise InputError(f"size is {size!r}; expected (width, height) in inches") from None
    if not (1 <= width <= 100 and 1 <= height <= 100):
        raise InputError(f"size is {size!r}; expected a width and a height of 1 to 100 inches")
    return width, height


def save(ax: Axes, path: str | os.PathLike[str], *, dpi: int = 200, close: bool = True) -> None:
    """Write the figure of ``ax`` atomically, in the format of the extension (png, pdf, svg, ...)."""
    from softvec.core.files import atomic_write

    plt = pyplot()
    figure = ax.get_figure()
    kind = os.path.splitext(os.fspath(path))[1].lstrip(".").lower() or "png"
    known = figure.canvas.get_supported_filetypes()
    if kind not in known:
        raise InputError(
            f"{path}: unknown picture format {kind!r}; expected one of {', '.join(sorted(known))}"
        )
    buffer = io.BytesIO()
    with plt.rc_context(STYLE | {"svg.hashsalt": "softvec", "pdf.fonttype": 42}):
        figure.savefig(buffer, format=kind, dpi=dpi)
    with atomic_write(path, "wb") as file:
        file.write(buffer.getvalue())
    if close:
        plt.close(figure)
