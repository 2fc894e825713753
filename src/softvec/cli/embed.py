"""``softvec embed``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softvec.cli.options import (
    Json,
    Quiet,
    Seed,
    Threads,
    check_target,
    columns_of,
    output_beside,
    parse_settings,
    typed_here,
)
from softvec.cli.terminal import Settings, epoch_progress, gibibytes, print_json, say, seconds, working

if TYPE_CHECKING:
    from softvec.affinity import Affinity
    from softvec.embedding import Embedding

_DATA = "How to read the data"
_FIT = "How to fit"


def embed(
    source: Annotated[
        str, typer.Argument(metavar="INPUT", help="File or folder of data, or - for standard input.")
    ],
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", help="Vectors; the extension tells the format. Default: INPUT.svec."),
    ] = None,
    map_file: Annotated[
        str | None,
        typer.Option("--map", metavar="FILE", help="Also write an interactive map: one .html file."),
    ] = None,
    dim: Annotated[
        int | None,
        typer.Option(
            "--dim", "--dimensions", "-d", help="Dimensions (default: 128, or those of --init).", min=1
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind",
            "-k",
            rich_help_panel=_DATA,
            help="graph, pairs, bipartite, temporal, corpus, features, dense; by default told from the file.",
        ),
    ] = None,
    names: Annotated[
        str | None,
        typer.Option("--names", metavar="FILE", rich_help_panel=_DATA, help="Names of the rows, one a line."),
    ] = None,
    directed: Annotated[
        bool | None,
        typer.Option("--directed/--undirected", rich_help_panel=_DATA, help="Direction of edges."),
    ] = None,
    weighted: Annotated[
        bool | None, typer.Option("--weighted/--unweighted", rich_help_panel=_DATA, help="Use the weights.")
    ] = None,
    weight: Annotated[
        str | None,
        typer.Option(
            "--weight", metavar="COLUMN", rich_help_panel=_DATA, help="Column or attribute of the weights."
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns", rich_help_panel=_DATA, help="Columns of a table, e.g. from,to,weight or 0,1."
        ),
    ] = None,
    delimiter: Annotated[
        str | None,
        typer.Option("--delimiter", rich_help_panel=_DATA, help="Between columns; by default found."),
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", rich_help_panel=_DATA, help="Whether line 1 is a header."),
    ] = None,
    input_format: Annotated[
        str | None,
        typer.Option(
            "--input-format", rich_help_panel=_DATA, help="text, mtx, npz, npy, mat, parquet, graphml, ..."
        ),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(
            "--window",
            rich_help_panel=_DATA,
            help="Text: words on each side. Contacts: length of a window, e.g. 900, or 15min of dates.",
        ),
    ] = None,
    min_count: Annotated[
        int | None, typer.Option("--min-count", rich_help_panel=_DATA, help="Text: leave out rarer words.")
    ] = None,
    walk_length: Annotated[
        int | None,
        typer.Option("--walk-length", "-w", rich_help_panel=_DATA, help="Steps of the random walk.", min=1),
    ] = None,
    more: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            rich_help_panel=_DATA,
            help="Any other option of the reader or of the fit.",
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            "--epochs",
            rich_help_panel=_FIT,
            help="Passes over the data; by default 20 for graphs, else 30.",
            min=0,
        ),
    ] = None,
    beta: Annotated[
        float | None, typer.Option("--beta", rich_help_panel=_FIT, help="Inverse temperature.")
    ] = None,
    learning_rate: Annotated[float | None, typer.Option("--learning-rate", rich_help_panel=_FIT)] = None,
    gradient: Annotated[
        str | None, typer.Option("--gradient", rich_help_panel=_FIT, help="row, paper or full.")
    ] = None,
    clusters: Annotated[
        int | None, typer.Option("--clusters", rich_help_panel=_FIT, help="Classes of the normaliser.", min=1)
    ] = None,
    two_sided: Annotated[
        bool, typer.Option("--two-sided", rich_help_panel=_FIT, help="Separate vectors for columns.")
    ] = False,
    init: Annotated[
        str | None,
        typer.Option(
            "--init",
            metavar="VECTORS",
            rich_help_panel=_FIT,
            help="Vectors of the same data before it changed a little: go on from them.",
        ),
    ] = None,
    repeats: Annotated[
        int,
        typer.Option(
            "--repeats",
            rich_help_panel=_FIT,
            help="Fits from so many seeds: says how far neighbours and groups can be trusted.",
            min=1,
        ),
    ] = 1,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            "--checkpoint",
            metavar="FILE",
            rich_help_panel=_FIT,
            help="Save progress here every few epochs; the same command goes on from it. Removed at the end.",
        ),
    ] = None,
    seed: Seed = None,
    threads: Threads = None,
    format: Annotated[str | None, typer.Option("--format", help="Format of the output.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Start even if memory looks too small.")] = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Turn a file of data into a file of vectors.

    The input may be an edge list (text, gz, zst), a matrix (.mtx, .npz, .npy,
    .mat), a graph (.graphml, .gml), a table (.csv, .parquet), text (one
    document a line, or a folder), contacts (t i j), or features.

    [dim]Examples:[/dim]

      softvec embed edges.txt

      softvec embed edges.txt --map map.html

      softvec embed moby.npz --names moby_words.txt -o moby.svec

      softvec embed novels.txt.gz -k corpus --window 5 -o words.bin

      softvec embed sales.csv -k bipartite --columns user,item

      softvec embed contacts.csv -k temporal --window 15min

      softvec embed edges_of_today.txt --init edges.svec

      zcat edges.gz | softvec embed - -o - | head -1
    """
    from softvec.api import FIT_OPTIONS
    from softvec.core.errors import InputError
    from softvec.embedding.files.formats import format_of

    settings = Settings(quiet, json)
    target = output or output_beside(source, ".svec")
    if target == source and source != "-":
        raise InputError(f"the output {target} would replace the input; choose another name with -o")
    written_as = format_of(target, format)  # a wrong extension is found now, not after the fit
    check_target(target)
    if map_file is not None:
        from softvec.cli.map import check_map_target

        check_map_target(map_file)
    if checkpoint is not None:
        check_target(checkpoint)
    options = parse_settings(more or [])
    for name, flag in (("kind", "--kind"), ("walk_length", "--walk-length"), ("n_components", "--dim")):
        if name in options:
            raise InputError(f"--set {name}=... has an option of its own: {flag}")
    given = {
        "names": names, "directed": directed, "weighted": weighted,
        "weight": _position(weight), "columns": columns_of(columns),
        "delimiter": _delimiter(delimiter), "header": header, "format": input_format,
        "window": _window(window),
        "min_count": min_count,
    }  # fmt: skip
    options |= {key: value for key, value in given.items() if value is not None}
    fit: dict[str, Any] = {
        "n_epochs": epochs, "beta": beta, "learning_rate": learning_rate, "gradient": gradient,
        "n_clusters": clusters, "symmetric": False if two_sided else None,
        "checkpoint": checkpoint, "repeats": repeats,
    }  # fmt: skip
    fit = {key: value for key, value in fit.items() if value is not None}
    fit |= {key: options.pop(key) for key in FIT_OPTIONS if key in options}
    if init is not None:
        from softvec.api import walk_length_of
        from softvec.cli.options import load

        fit["init"] = load(init, None, settings)
        if walk_length is None:
            walk_length = walk_length_of(fit["init"], source, options)
    affinity, spent = _read(source, kind, walk_length, options, settings, force)
    emb = _fit(affinity, dim, fit, seed, threads, force, source, spent, settings)
    emb.save(target, written_as)
    if "checkpoint" in fit:  # only now: a kill before the vectors are saved would lose them
        Path(str(fit["checkpoint"])).unlink(missing_ok=True)
    _report(emb, target, settings)
    if map_file is not None:
        from softvec.cli.map import edges_for_map, write_map

        write_map(emb, map_file, settings, edges=edges_for_map(affinity, settings))


def _window(text: str | None) -> float | str | None:
    """Return a number, or a duration such as 15min as it is: only contacts with dates take it."""
    from softvec.core.dates import duration
    from softvec.core.errors import InputError

    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        duration("--window", text)
        return text
    if not 0 < value < float("inf"):
        raise InputError(f"--window is {value:g}; expected a number above 0")
    return int(value) if value == int(value) else value


def _position(text: str | None) -> str | int | None:
    return int(text) if text is not None and text.isdigit() else text


def _delimiter(text: str | None) -> str | None:
    return {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}.get(text or "", text)


def _read(
    source: str,
    kind: str | None,
    walk_length: int | None,
    options: dict[str, Any],
    settings: Settings,
    force: bool,
) -> tuple[Affinity, float]:
    import time

    from softvec.api import to_affinity
    from softvec.core.errors import InputError
    from softvec.fit.memory import available_memory

    if source.endswith(".svec"):
        raise InputError(f"{source} is a file of vectors already; see softvec neighbors, plot and convert")
    free = available_memory()
    if not force and free is not None and os.path.isfile(source) and os.path.getsize(source) > free:
        raise InputError(
            f"{source} has {gibibytes(os.path.getsize(source))}, but {gibibytes(free)} of memory are free "
            "(--force tries all the same)"
        )
    started = time.perf_counter()
    try:
        with working(settings, f"reading {source}"):
            affinity = to_affinity(source, kind=kind, walk_length=walk_length, **options)
    except InputError as error:
        raise InputError(typed_here(str(error))) from error
    spent = time.perf_counter() - started
    say(settings, f"{affinity.kind}: {affinity.summary} ({seconds(spent)})")
    return affinity, spent


def _fit(
    affinity: Affinity, dim: int | None, fit: dict[str, Any], seed: int | None, threads: int | None,
    force: bool, source: str, spent: float, settings: Settings,
) -> Embedding:  # fmt: skip
    from softvec.api import embed_affinity, n_epochs
    from softvec.core.errors import InputError

    try:
        with epoch_progress(settings, n_epochs(affinity, fit) * fit["repeats"]) as callback:
            return embed_affinity(
                affinity, dim, random_state=seed, n_jobs=threads, check_memory=not force, source=source,
                callbacks=[callback] if callback else None, seconds={"reading": spent}, **fit,
            )  # fmt: skip
    except InputError as error:
        raise InputError(typed_here(str(error))) from error


def _report(emb: Embedding, target: str, settings: Settings) -> None:
    record = emb.provenance
    losses = record["history"].get("loss", [])
    time = record["seconds"]
    result = {
        "output": target,
        "vectors": len(emb),
        "dimensions": emb.n_components,
        "context_vectors": len(emb.context_vectors) if emb.context_vectors is not None else 0,
        "data": record["data"],
        "epochs": len(losses),
        "loss": losses[-1] if losses else None,
        "log_z_error": (record["diagnosis"] or {}).get("log_z_error_median"),
        "seconds": time,
        "seed": record["parameters"]["seed"],
    }
    if "stability" in record:
        result["stability"] = record["stability"]
    if settings.json:
        if target != "-":  # standard output holds the vectors
            print_json(result)
        return
    loss = f", loss {losses[-1]:.4f}" if losses else ""
    rounds = record["parameters"].get("rounds")
    work = f"{len(losses)} epochs" + ("" if rounds is None else " and a round")
    second = f" + {result['context_vectors']:,} context" if result["context_vectors"] else ""
    say(
        settings,
        f"{len(emb):,}{second} vectors of {emb.n_components} dimensions: {work} in "
        f"{seconds(time['fitting'])}{loss} -> {'standard output' if target == '-' else target}",
    )
    if "stability" in record:
        say(settings, repr(emb.stability()).strip("<>"))
