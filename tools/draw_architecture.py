"""Draw docs/figures/architecture.svg: the packages of softvec and what passes between them."""

from __future__ import annotations

from html import escape
from pathlib import Path

TARGET = Path(__file__).parent.parent / "docs" / "figures" / "architecture.svg"
WIDTH, HEIGHT = 1040, 520
BOX_W, BOX_H = 124, 92
# The chain of packages: name, what it does, what it hands to the next.
ROW = (
    ("read", ("find format,", "layout and kind,", "then read"), "Contents"),
    ("affinity", ("build P", "from any kind", "of data"), "Affinity"),
    ("fit", ("start, epochs,", "checkpoints,", "diagnosis"), "Fit"),
    ("embedding", ("named vectors,", "search, groups,", "files"), "Embedding"),
    ("evaluate", ("tasks", "with scores", ""), ""),
)
BASE = (
    ("core", ("errors, checks, threads,", "signals, files, memory")),
    ("names", ("names and", "row numbers")),
    ("operators", ("matrices that are", "only multiplied")),
    ("kernels", ("inner loops: NumPy", "reference and Numba")),
)


def text(
    x: float,
    y: float,
    words: str,
    size: int = 13,
    weight: str = "normal",
    fill: str = "#222",
    anchor: str = "middle",
) -> str:
    style = f'font-size="{size}" font-weight="{weight}" fill="{fill}" text-anchor="{anchor}"'
    return f'<text x="{x:g}" y="{y:g}" {style}>{escape(words)}</text>'


def box(x: float, y: float, w: float, h: float, fill: str = "#eef4fb", stroke: str = "#3f6fa8") -> str:
    place = f'x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="8"'
    return f'<rect {place} fill="{fill}" stroke="{stroke}" stroke-width="1.3"/>'


def arrow(x1: float, y1: float, x2: float, y2: float, dashed: bool = False) -> str:
    dash = ' stroke-dasharray="4 3"' if dashed else ""
    style = f'stroke="#555" stroke-width="1.4" fill="none" marker-end="url(#tip)"{dash}'
    return f'<path d="M{x1:g} {y1:g} L{x2:g} {y2:g}" {style}/>'


def room(x: float, y: float, name: str, lines: tuple[str, ...], h: float = BOX_H) -> list[str]:
    parts = [box(x, y, BOX_W, h), text(x + BOX_W / 2, y + 24, name, 15, "bold", "#1d4f86")]
    return parts + [text(x + BOX_W / 2, y + 44 + 17 * i, line) for i, line in enumerate(lines)]


def draw() -> str:
    parts = [box(40, 20, WIDTH - 80, 44, "#fdf3e4", "#b8802f")]
    parts.append(
        text(
            WIDTH / 2,
            47,
            "cli: parse, call the library, print.   embed, EDRep: the two doors",
            15,
            "bold",
            "#7a5210",
        )
    )
    top, step = 130, (WIDTH - 80 - BOX_W) / (len(ROW) - 1)
    for i, (name, lines, passed) in enumerate(ROW):
        x = 40 + i * step
        parts += room(x, top, name, lines)
        if passed:
            y = top + BOX_H / 2
            parts.append(arrow(x + BOX_W + 4, y, x + step - 6, y))
            parts.append(text(x + (step + BOX_W) / 2, y - 9, passed, 13, "bold", "#9a1b12"))
    for i in (0, 2, 4):
        parts.append(arrow(40 + i * step + BOX_W / 2, 66, 40 + i * step + BOX_W / 2, top - 4, dashed=True))
    below = top + BOX_H + 40
    fit, last = 40 + 2 * step, 40 + 4 * step
    parts += room(fit, below, "normalizers", ("log Z: mixture,", "exact, others"), 74)
    parts.append(arrow(fit + BOX_W / 2, below - 2, fit + BOX_W / 2, top + BOX_H + 5))
    parts += room(last, below, "plotting, map", ("pictures, and the", "interactive page"), 74)
    parts.append(arrow(40 + 3 * step + BOX_W / 2 + 30, top + BOX_H + 3, last - 4, below + 30))
    parts += room(40, below, "datasets", ("public data,", "with checksums"), 74)
    parts += room(40 + step, below, "generators", ("random data with", "known truth"), 74)
    base = below + 74 + 44
    parts.append(text(40, base - 12, "Used by all packages above:", 13, "normal", "#555", "start"))
    width = (WIDTH - 80 - 3 * 12) / 4
    for i, (name, lines) in enumerate(BASE):
        x = 40 + i * (width + 12)
        parts.append(box(x, base, width, 74, "#eef7ee", "#3c8150"))
        parts.append(text(x + width / 2, base + 24, name, 16, "bold", "#20602f"))
        parts += [text(x + width / 2, base + 44 + 17 * j, line) for j, line in enumerate(lines)]
    parts.append(
        text(
            WIDTH / 2,
            base + 104,
            "A package imports only from packages to its left and below. Solid arrows: the object handed on.",
            13,
            "normal",
            "#555",
        )
    )
    tip = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#555"/></marker></defs>'
    )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="Helvetica, Arial, sans-serif" role="img">'
    )
    title = "<title>The packages of softvec and what passes between them</title>"
    return "\n".join([head, title, tip, *parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    TARGET.write_text(draw(), encoding="utf-8")
    print(TARGET)
