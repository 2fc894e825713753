"""``softvec normalizer`` and ``softvec paper``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument
from typer import Option as Flag

from softvec.cli.options import Json, Quiet, Seed, Threads, VectorFormat, Vectors, load
from softvec.cli.terminal import Settings, console, print_json, print_table, say, seconds, working
from softvec.core.errors import InputError


def normalizer(
    vectors: Vectors,
    beta: Annotated[
        float | None, Flag("--beta", help="Inverse temperature (default: that of the fit, or 1).")
    ] = None,
    error: Annotated[float, Flag("--error", help="Largest 95th percentile of the error of log Z.")] = 0.01,
    rows: Annotated[int, Flag("--rows", help="Number of vectors to measure the error on.", min=1)] = 300,
    random_state: Seed = 0,
    n_jobs: Threads = None,
    format: VectorFormat = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Compare estimates of the softmax normaliser with the exact sum.

    For a sample of vectors x, log Z = log sum_y exp(beta x.y) is summed
    exactly and estimated by mixtures and control variates. The fastest
    within --error is marked. Vectors that were shortened after their fit
    have length 1 here, as in the softmax that was fitted.

    [dim]Examples:[/dim]

      softvec normalizer words.svec

      softvec normalizer glove.txt --beta 1 --error 0.001 --json
    """
    import numpy as np

    from softvec.core.checks import recorded
    from softvec.normalizers import select

    settings = Settings(quiet, json)
    emb = load(vectors, format, settings)
    fitted = recorded(emb, "parameters")
    beta = float(fitted.get("beta", 1.0)) if beta is None else beta
    X = np.array(emb.vectors)
    shortened = bool(fitted.get("shrinkage"))
    if shortened:
        X /= np.linalg.norm(X, axis=1, keepdims=True)  # none is 0: see softvec.api
        say(settings, f"vectors are scaled back to length 1: they were shortened after the fit ({vectors})")
    Y = X if emb.context_vectors is None else np.array(emb.context_vectors)
    with working(settings, "comparing normalisers"):
        found = select(Y, X, beta=beta, error=error, rows=rows, random_state=random_state, n_jobs=n_jobs)
    count = min(rows, len(X))
    if json:
        size = {"vectors": len(Y), "dimensions": Y.shape[1], "rows": count}
        chosen = {"chosen": found.chosen.method, "meets_error": found.meets_error}
        tried = [vars(row) for row in found.tried]
        print_json({"beta": beta, **size, "lengthened": shortened, **chosen, "methods": tried})
        return
    say(settings, f"error of log Z on {count:,} of {len(X):,} vectors, {len(Y):,} items, beta {beta:g}")
    table = [
        (row.method, f"{row.median_error:.2g}", f"{row.p95_error:.2g}", seconds(row.seconds), mark)
        for row in found.tried
        for mark in ["chosen" if row is found.chosen else ""]
    ]
    print_table(("method", "median error", "95%", "time for all", ""), table)


def paper(
    name: Annotated[str | None, Argument(metavar="NAME", help="Experiment (default: list all).")] = None,
    quick: Annotated[bool, Flag("--quick", help="Smaller sizes: minutes instead of hours.")] = False,
) -> None:
    """Reproduce an experiment of the paper, in a clone of the repository.

    [dim]Examples:[/dim]

      softvec paper

      softvec paper communities --quick
    """
    import subprocess

    root = _checkout()
    names = sorted(path.parent.name for path in (root / "experiments").glob("*/run.py"))
    if name is None:
        console().print("\n".join(names), markup=False)
        return
    if name not in names:
        raise InputError(f"unknown experiment {name!r}; expected one of {', '.join(names) or 'none'}")
    command = [sys.executable, "-m", "experiments", name, *(["--quick"] if quick else [])]
    code = subprocess.run(command, cwd=root, check=False).returncode
    if code:
        raise typer.Exit(code)


def _checkout() -> Path:
    """Return the root of a source tree with the experiments: softvec's own, or the current directory."""
    import softvec

    for root in (Path(softvec.__file__).resolve().parents[2], Path.cwd()):
        if (root / "experiments" / "__main__.py").is_file():
            return root
    raise InputError(
        "the experiments are not part of the installed package: clone the repository, or unpack the source "
        "from `pip download --no-binary softvec --no-deps softvec`, and run softvec paper in its folder"
    )
