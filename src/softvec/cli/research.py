"""``softvec normalizer`` and ``softvec paper``."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument
from typer import Option as Flag

from softvec.cli.options import Json, Quiet, Seed, Threads, VectorFormat, Vectors, load
from softvec.cli.terminal import Settings, console, print_json, print_table, say, working
from softvec.core.errors import InputError


def normalizer(
    vectors: Vectors,
    method: Annotated[
        list[str] | None, Flag("--method", "-m", help="Method to measure; repeatable (default: all).")
    ] = None,
    beta: Annotated[
        float | None, Flag("--beta", help="Inverse temperature (default: that of the fit, or 1).")
    ] = None,
    rows: Annotated[int, Flag("--rows", help="Number of vectors to measure the error on.", min=1)] = 300,
    n_samples: Annotated[
        int | None,
        Flag("--samples", help="Number of samples or features (default: that of the method).", min=1),
    ] = None,
    n_clusters: Annotated[int, Flag("--clusters", help="Classes of the Gaussian mixture.", min=1)] = 5,
    random_state: Seed = 0,
    n_jobs: Threads = None,
    format: VectorFormat = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Compare estimates of the softmax normaliser with the exact sum.

    For a sample of vectors x, log Z = log sum_y exp(beta x.y) is summed
    exactly, and estimated by each method. Vectors that were shortened
    after their fit have length 1 here, as in the softmax that was fitted.

    [dim]Examples:[/dim]

      softvec normalizer words.svec

      softvec normalizer glove.txt --beta 1 -m GaussianMixture --json
    """
    import numpy as np

    from softvec.core.checks import recorded
    from softvec.normalizers import compare

    settings = Settings(quiet, json)
    emb = load(vectors, format, settings)
    fitted = recorded(emb, "parameters")
    beta = float(fitted.get("beta", 1.0)) if beta is None else beta
    V = np.array(emb.vectors)
    shortened = bool(fitted.get("shrinkage"))
    if shortened:
        V /= np.linalg.norm(V, axis=1, keepdims=True)  # none is 0: see softvec.api
        say(settings, f"vectors are scaled back to length 1: they were shortened after the fit ({vectors})")
    Y = V if emb.context_vectors is None else np.array(emb.context_vectors)
    X = V[np.sort(np.random.default_rng(random_state).choice(len(V), min(rows, len(V)), replace=False))]
    with working(settings, "comparing normalisers"):
        compared = compare(
            Y, X, method, beta=beta, n_samples=n_samples, n_clusters=n_clusters,
            random_state=random_state, n_jobs=n_jobs,
        )  # fmt: skip
    for row in compared:
        if row.left_out is not None:
            warnings.warn(f"{row.method} is left out: {row.left_out}", stacklevel=2)
    methods = [
        {"method": row.method, "seconds": row.seconds, **vars(row.error)}
        for row in compared
        if row.error is not None
    ]
    if json:
        size = {"vectors": len(Y), "dimensions": Y.shape[1], "rows": len(X)}
        print_json({"beta": beta, **size, "lengthened": shortened, "methods": methods})
        return
    say(settings, f"error of log Z on {len(X):,} of {len(V):,} vectors, {len(Y):,} items, beta {beta:g}")
    keys = ("median", "p95", "max", "seconds")
    table = [(row["method"], *(f"{row[key]:.2g}" for key in keys)) for row in methods]
    print_table(("method", "median error", "95%", "max", "seconds"), table)


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
