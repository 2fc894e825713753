"""``softvec normalizer`` and ``softvec paper``."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from softvec.cli.options import Json, Quiet, Seed, Threads, VectorFormat, Vectors, load
from softvec.cli.terminal import Settings, console, print_json, print_table, say, working

_WARM = 1000  # items: enough to compile and load all that a method uses


def normalizer(
    vectors: Vectors,
    method: Annotated[
        list[str] | None, typer.Option("--method", "-m", help="Only this method; may be given several times.")
    ] = None,
    beta: Annotated[
        float | None, typer.Option("--beta", help="Inverse temperature; by default that of the fit, or 1.")
    ] = None,
    rows: Annotated[int, typer.Option("--rows", help="Vectors to measure the error on.", min=1)] = 300,
    samples: Annotated[
        int | None, typer.Option("--samples", help="Samples or features of the methods that take any.", min=1)
    ] = None,
    clusters: Annotated[int, typer.Option("--clusters", help="Classes of the mixture.", min=1)] = 5,
    seed: Seed = 0,
    threads: Threads = None,
    format: VectorFormat = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Compare estimates of the softmax normaliser on the vectors with the exact sum.

    For a sample of vectors x, log Z = log sum_y exp(beta x.y) is summed
    exactly, and estimated by each method. Vectors that were shortened
    after their fit have length 1 here, as in the softmax that was fitted.

    [dim]Examples:[/dim]

      softvec normalizer words.svec

      softvec normalizer glove.txt --beta 1 -m GaussianMixture --json
    """
    import numpy as np

    from softvec.core.errors import InputError

    settings = Settings(quiet, json)
    emb = load(vectors, format, settings)
    recorded = emb.provenance.get("parameters")
    fitted = recorded if isinstance(recorded, dict) else {}
    beta = float(fitted.get("beta", 1.0)) if beta is None else beta
    V = np.array(emb.vectors)
    shortened = bool(fitted.get("shrinkage"))
    if shortened:
        V /= np.linalg.norm(V, axis=1, keepdims=True)  # none is 0: see softvec.api
        say(settings, f"vectors back to length 1: they were shortened after the fit ({vectors})")
    Y = V if emb.context_vectors is None else np.array(emb.context_vectors)
    X = V[np.sort(np.random.default_rng(seed).choice(len(V), min(rows, len(V)), replace=False))]
    methods = _methods(method, beta, samples, clusters, seed, threads, len(Y))
    with working(settings, "summing exactly"):
        exact, spent = _timed(_exact(beta, threads), Y, X)
    found: list[dict[str, Any]] = [{"method": "Exact", "seconds": spent}]
    for title, estimator in methods:
        try:
            with working(settings, title):
                log_z, spent = _timed(estimator, Y, X)
        except InputError as reason:
            if method:
                raise
            warnings.warn(f"{title} is left out: {reason}", stacklevel=2)
            continue
        error = np.abs(log_z - exact)
        found.append(
            {
                "method": title,
                "seconds": spent,
                "median": float(np.median(error)),
                "p95": float(np.quantile(error, 0.95)),
                "max": float(error.max()),
            }
        )
    result = {
        "beta": beta, "vectors": len(Y), "dimensions": Y.shape[1], "rows": len(X),
        "lengthened": shortened, "methods": found,
    }  # fmt: skip
    if json:
        print_json(result)
        return
    say(settings, f"error of log Z on {len(X):,} of {len(V):,} vectors, {len(Y):,} items, beta {beta:g}")
    table = [
        (r["method"], *(f"{r.get(key, 0.0):.2g}" for key in ("median", "p95", "max")), f"{r['seconds']:.2g}")
        for r in found
    ]
    print_table(("method", "median error", "95%", "max", "seconds"), table)


def _exact(beta: float, threads: int | None) -> Any:
    from softvec.normalizers import Exact

    return Exact(beta=beta, n_jobs=threads)


def _timed(estimator: Any, Y: Any, X: Any) -> tuple[Any, float]:
    """Return what the estimator says of X, and the seconds, without those of compiling and loading."""
    import copy
    import time
    from contextlib import suppress

    from softvec.core.errors import InputError

    with suppress(InputError):  # too few items for some: said below
        copy.copy(estimator).fit(Y[:_WARM]).log_partition(X[:2])
    started = time.perf_counter()
    log_z = estimator.fit(Y).log_partition(X)
    return log_z, time.perf_counter() - started


def _methods(
    wanted: list[str] | None,
    beta: float,
    samples: int | None,
    clusters: int,
    seed: int | None,
    threads: int | None,
    m: int,
) -> list[tuple[str, Any]]:
    """Return a title and an estimator for each method, those of softvec.normalizers."""
    import difflib
    from dataclasses import fields

    from softvec import normalizers
    from softvec.core.errors import InputError

    known = {name: getattr(normalizers, name) for name in dir(normalizers)}
    known = {
        name: kind
        for name, kind in known.items()
        if isinstance(kind, type) and hasattr(kind, "log_partition") and not _is_abstract(kind)
    }
    del known["Exact"]
    lower = {name.lower(): name for name in known}
    for name in wanted or []:
        if name.lower() not in lower:
            close = difflib.get_close_matches(name.lower(), lower, 1, 0.5)
            hint = f"; did you mean {lower[close[0]]}?" if close else ""
            raise InputError(f"--method {name} is unknown; there are {', '.join(known)}{hint}")
    wanted = [lower[name.lower()] for name in wanted or []]
    chosen = []
    for name in wanted or known:
        names = {field.name for field in fields(known[name])}
        options: dict[str, Any] = {"beta": beta, "random_state": seed, "n_jobs": threads}
        if "n_features" in names and samples is not None:
            options["n_features"] = samples
        for key in names & {"n_samples", "n_landmarks"}:  # of few vectors all
            options[key] = min(samples or getattr(known[name], key), m)
        if "n_clusters" in names:
            for k in sorted({1, min(clusters, m)}):
                chosen.append((f"{name}(n_clusters={k})", known[name](n_clusters=k, **options)))
        else:
            chosen.append((name, known[name](**options)))
    return chosen


def _is_abstract(kind: type) -> bool:
    import inspect

    return inspect.isabstract(kind)


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

    from softvec.core.errors import InputError

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
    from softvec.core.errors import InputError

    for root in (Path(softvec.__file__).resolve().parents[2], Path.cwd()):
        if (root / "experiments" / "__main__.py").is_file():
            return root
    raise InputError(
        "the experiments are not part of the installed package: clone the repository, or unpack the source "
        "from `pip download --no-binary softvec --no-deps softvec`, and run softvec paper in its folder"
    )
