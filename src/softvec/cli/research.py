"""``softvec normalizer`` and ``softvec paper``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from softvec.cli.options import Vectors
from softvec.cli.terminal import console


def normalizer(vectors: Vectors) -> None:
    """Compare estimates of the softmax normaliser on the vectors."""


def paper(
    name: Annotated[str | None, typer.Argument(help="Experiment; without one they are listed.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller sizes: minutes instead of hours.")] = False,
) -> None:
    """Repeat an experiment of the paper, from a checkout of the source.

    [dim]Examples:[/dim]

      softvec paper

      softvec paper communities --quick
    """
    import subprocess

    from softvec.errors import InputError

    root = _checkout()
    names = sorted(path.parent.name for path in (root / "experiments").glob("*/run.py"))
    if name is None:
        console().print("\n".join(names), markup=False)
        return
    if name not in names:
        raise InputError(f"there is no experiment {name!r}; there are {', '.join(names) or 'none'}")
    command = [sys.executable, "-m", "experiments", name, *(["--quick"] if quick else [])]
    code = subprocess.run(command, cwd=root, check=False).returncode
    if code:
        raise typer.Exit(code)


def _checkout() -> Path:
    """Return the root of the source that holds the experiments: where softvec lies, or here."""
    import softvec
    from softvec.errors import InputError

    for root in (Path(softvec.__file__).resolve().parents[2], Path.cwd()):
        if (root / "experiments" / "__main__.py").is_file():
            return root
    raise InputError(
        "the experiments are not part of the installed package: clone the repository, or unpack the source "
        "from `pip download --no-binary softvec --no-deps softvec`, and run softvec paper in its folder"
    )
