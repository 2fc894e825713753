"""``softvec map``: an interactive map in one HTML file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from typer import Option as Flag

from softvec.cli.options import Json, Quiet, Seed, VectorFormat, Vectors, check_target, default_output, load
from softvec.cli.terminal import Settings, print_json, say, working
from softvec.core.errors import InputError, Message

if TYPE_CHECKING:
    from softvec.affinity import Affinity
    from softvec.embedding import Embedding

ENDINGS = (".html", ".htm", ".parquet", ".graphml", ".gexf")
MAX_ENTRIES = 5_000_000  # entries of a matrix, to find its strongest edges: half a gigabyte of memory


def map(
    vectors: Vectors,
    output: Annotated[
        str | None,
        Flag(
            "-o",
            "--output",
            help="Page (.html), or .parquet, .graphml, .gexf for other programs (default: VECTORS.html).",
        ),
    ] = None,
    labels: Annotated[
        str | None,
        Flag("--labels", metavar="FILE", help="File of labels for colours, or clusters (default: none)."),
    ] = None,
    metadata: Annotated[
        str | None,
        Flag(
            "--metadata",
            metavar="FILE",
            help="Table with a column 'name': .csv, .tsv, .parquet or .feather (default: none).",
        ),
    ] = None,
    edges: Annotated[
        str | None,
        Flag("--edges", metavar="FILE", help="Graph file; its edges can be shown (default: none)."),
    ] = None,
    method: Annotated[str, Flag("--method", help="Layout: auto, pca, tsne, opentsne or umap.")] = "auto",
    n_neighbors: Annotated[
        int | None,
        Flag(
            "--neighbors", help="Neighbours kept for each item (default: 10; 0 above 100,000 items).", min=0
        ),
    ] = None,
    title: Annotated[str | None, Flag("--title", help="Title (default: name of the data file).")] = None,
    theme: Annotated[str, Flag("--theme", help="Theme: auto, light or dark.")] = "auto",
    open_it: Annotated[bool, Flag("--open", help="Open the page in a browser.")] = False,
    random_state: Seed = 0,
    format: VectorFormat = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Make an interactive map: one HTML file that needs no server or network.

    [dim]Examples:[/dim]

      softvec map graph.svec --labels clusters --open

      softvec map graph.svec --labels groups.tsv --edges edges.txt -o map.html

      softvec map words.svec --method umap -o words.html
    """
    from softvec.cli.analyse import _read_groups

    settings = Settings(quiet, json)
    path = output or default_output(vectors, ".html")
    check_map_target(path)
    emb = load(vectors, format, settings)
    colours: Any = labels
    if labels is not None and labels != "clusters":
        colours = dict(zip(emb, _read_groups(labels, emb).texts))
    table = None if metadata is None else _read_table(metadata)
    write_map(
        emb, path, settings, labels=colours, metadata=table, edges=edges, method=method,
        n_neighbors=n_neighbors, title=title, theme=theme, random_state=random_state,
    )  # fmt: skip
    if json and path != "-":  # standard output holds the page
        print_json({"output": path, "points": len(emb) + len(emb.context_names or ())})
    if open_it:
        _open(path)


def check_map_target(path: str) -> None:
    """Raise an error, before any work, if a map cannot be written."""
    if path != "-" and not path.lower().endswith(ENDINGS):
        raise InputError(f"{path}: a map is written as .html, .parquet, .graphml or .gexf")
    check_target(path)


def edges_for_map(affinity: Affinity, settings: Settings) -> Affinity | None:
    """Return the data whose edges a map can show, or None."""
    if affinity.counts is None:
        return None
    if affinity.counts.nnz > MAX_ENTRIES:
        say(settings, f"the map has no edges: the data has {affinity.counts.nnz:,} entries")
        return None
    return affinity


def write_map(emb: Embedding, path: str, settings: Settings, **options: Any) -> None:
    """Make a map and write it."""
    with working(settings, "drawing the map"):
        result = emb.map(**options)
        result.save(path)
    for text in result.content.notes:
        say(settings, Message(text).render(lambda option: f"--neighbors {option.value} to softvec map"))
    say(settings, f"map -> {'standard output' if path == '-' else path}")


def _read_table(path: str) -> Any:
    """Read a table with a column ``name``."""
    import os

    if not os.path.isfile(path):
        raise InputError(f"{path}: no such file")
    kind = os.path.splitext(path)[1].lower()
    try:
        if kind in (".csv", ".tsv"):
            from pyarrow import csv

            table = csv.read_csv(
                path, parse_options=csv.ParseOptions(delimiter="\t" if kind == ".tsv" else ",")
            )
        elif kind == ".parquet":
            from pyarrow import parquet

            table = parquet.read_table(path)
        elif kind == ".feather":
            from pyarrow import feather

            table = feather.read_table(path)
        else:
            raise InputError(f"{path}: metadata is read from .csv, .tsv, .parquet or .feather")
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} cannot be read as a table: {' '.join(str(error).split())}") from error
    if "name" not in table.column_names:
        shown = ", ".join(table.column_names[:6])
        raise InputError(f"{path} has no column 'name' with the names of items; its columns are {shown}")
    return table


def _open(path: str) -> None:
    import webbrowser
    from pathlib import Path

    from softvec.cli.terminal import note

    if path == "-" or not path.lower().endswith((".html", ".htm")):
        note(f"--open is for .html files; {path} is not one")
    elif not webbrowser.open(Path(path).resolve().as_uri()):
        note(f"no browser found; open {path} yourself")
