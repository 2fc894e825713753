"""The extensions named in the paper's conclusions, each with a small experiment: what it gives, and where
nothing.

One module for each: `contrastive`, `ball`, `weights` (any non-negative P), `distance` (of temporal graphs).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.common import Results, style
from experiments.common import main as common_main
from experiments.extensions import ball, contrastive, distance, weights
from softvec.core.errors import InputError

PARTS = {"contrastive": contrastive, "ball": ball, "weights": weights, "distance": distance}


def run(config: dict[str, Any], results: Results) -> None:
    """Fill in the records that are missing; an absent data set ends one part, not the others."""
    absent = []
    for name, part in PARTS.items():
        if results.only and name not in results.only:
            continue
        try:
            part.run(config["methods"][name], results)
        except InputError as error:
            absent.append(f"{name}: {error}")
    results.summary = {
        name: part.summarize(config["methods"][name], results)
        for name, part in PARTS.items()
        if results.select(method=name)
    }
    if absent:
        results.save()
        raise InputError("; ".join(absent))


def plot(content: dict[str, Any], path: Path) -> None:
    """Draw one panel for each extension."""
    plt = style()
    figure, axes = plt.subplots(2, 2, figsize=(8.4, 6.2))
    for axis, letter, (name, part) in zip(axes.flat, "ABCD", PARTS.items()):
        axis.set_title(letter, loc="left", fontweight="bold")
        if name in content["summary"]:
            part.draw(axis, content["summary"][name])
    figure.text(
        0.5, -0.01,
        "A contrastive term (genes), B bounded vectors, C row weights (block model), D temporal distance; "
        "mean and standard deviation",
        ha="center", fontsize=8,
    )  # fmt: skip
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def report(content: dict[str, Any]) -> str:
    """Return the results in Markdown."""
    found = [
        part.report(content["summary"][name]) for name, part in PARTS.items() if name in content["summary"]
    ]
    return "\n\n".join(
        [
            "## Extensions (named in the conclusions)",
            "![One panel for each extension](../experiments/extensions/figure.png)",
            "The paper mentions these as minor changes to the algorithm without experiments, so there is "
            "nothing to compare with.",
            *found,
        ]
    )


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    common_main("extensions", run, plot, arguments)


if __name__ == "__main__":
    main()
