"""``softvec epidemic``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument
from typer import Option as Flag

from softvec.cli.options import (
    Json,
    Quiet,
    Seed,
    Threads,
    VectorFormat,
    Vectors,
    check_target,
    load,
    plotting_module,
    write_csv,
)
from softvec.cli.terminal import Settings, print_json, print_table, say, working

if TYPE_CHECKING:
    from softvec.evaluate import EpidemicPrediction

_MODELS = {
    "prediction": "predicted",
    "no_vectors": "without vectors",
    "time": "from time alone",
    "prevalence": "from the share of infected alone",
}


def epidemic(
    vectors: Vectors,
    observations: Annotated[
        str, Argument(metavar="OBSERVATIONS", help="CSV with the columns person, time, state (1 or 0).")
    ],
    output: Annotated[
        str, Flag("-o", "--output", help="CSV of person, time, probability; - is standard output.")
    ] = "-",
    curve: Annotated[
        str | None,
        Flag(
            "--curve",
            metavar="FILE",
            help="CSV of the number of infected over time, with a band (default: none).",
        ),
    ] = None,
    plot: Annotated[
        str | None,
        Flag("--plot", metavar="FILE", help="Plot of the curve: .png, .pdf or .svg (default: none)."),
    ] = None,
    active_only: Annotated[
        bool, Flag("--active-only", help="Only people with a contact in the window, in the curve too.")
    ] = False,
    level: Annotated[float, Flag("--level", help="Coverage of the band.")] = 0.9,
    seed: Seed = 0,
    threads: Threads = None,
    format: VectorFormat = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Predict infections over time, from vectors of contacts and some observed states.

    [dim]Examples:[/dim]

      softvec embed contacts.csv -k temporal --window 15min

      softvec epidemic contacts.svec tests.csv -o probabilities.csv --plot curve.png
    """
    from softvec.evaluate import predict_epidemic

    settings = Settings(quiet, json)
    for target in (output, curve, plot):
        if target is not None:
            check_target(target)
    emb = load(vectors, format, settings)
    with working(settings, "logistic regression"):
        result = predict_epidemic(
            emb, observations, everyone=not active_only, level=level, random_state=seed, n_jobs=threads
        )
    rows = [(*pair[:2], f"{pair.probability:.6g}", *map(int, pair[3:])) for pair in result]
    keys = ("person", "time", "probability", "observed", "active")
    if output != "-":
        write_csv(output, keys, rows)
    shown = [(time, *(f"{value:.6g}" for value in numbers)) for time, *numbers in _curve(result)]
    if curve is not None:
        write_csv(curve, ("time", "expected", "low", "high"), shown)
    if plot is not None:
        plotting_module().save(result.plot(), plot)
    if json:
        print_json(_summary(result, output, plot))
        return
    if output == "-":
        print_table(keys, rows)
    _say_scores(result, output, plot, settings)


def _curve(result: EpidemicPrediction) -> list[tuple[Any, ...]]:
    """Return time, expected number, low and high of each window; times are those of the names."""
    times = sorted(set(result.times))
    return list(zip(times, *(values.tolist() for values in result.curve[1:])))


def _summary(result: EpidemicPrediction, output: str, plot: str | None) -> dict[str, Any]:
    listed = [pair._asdict() for pair in result] if output == "-" else []
    curve = [dict(zip(("time", "expected", "low", "high"), point)) for point in _curve(result)]
    summary = {
        "observations": int(result.observed.sum()),
        "pairs": len(result),
        "scores": result.scores,
        "level": result.level,
        "curve": curve,
    }
    places = {"output": output, "plot": plot} if output != "-" else {"plot": plot, "probabilities": listed}
    return summary | places


def _say_scores(result: EpidemicPrediction, output: str, plot: str | None, settings: Settings) -> None:
    written = [path for path in (output if output != "-" else None, plot) if path]
    say(settings, repr(result).strip("<>") + (f" -> {', '.join(written)}" if written else ""))
    losses = ", ".join(f"{values['log_loss']:.3f} {_MODELS[name]}" for name, values in result.scores.items())
    say(settings, f"cross-validated log loss: {losses}")
