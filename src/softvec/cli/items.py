"""``softvec add``: new items for a file of vectors."""

from __future__ import annotations

from typing import Annotated

import typer

from softvec.cli.options import (
    Json,
    Quiet,
    Threads,
    VectorFormat,
    Vectors,
    check_target,
    columns_of,
    load,
    output_beside,
    parse_settings,
    typed_here,
)
from softvec.cli.terminal import Settings, print_json, say, working


def add(
    vectors: Vectors,
    edges: Annotated[
        str, typer.Argument(metavar="EDGES", help="Edges between new and known names; - is standard input.")
    ],
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", help="Old and new vectors. Default: VECTORS_added.svec."),
    ] = None,
    isolated: Annotated[
        str, typer.Option("--isolated", help="New items without an edge to a known one: error or drop.")
    ] = "error",
    columns: Annotated[
        str | None, typer.Option("--columns", help="Columns of a table, e.g. from,to,weight or 0,1.")
    ] = None,
    more: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any other option of the reader of edges."),
    ] = None,
    threads: Threads = None,
    format: VectorFormat = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Add new items to vectors: each is placed by its edges, the old vectors stay as they are.

    [dim]Examples:[/dim]

      softvec add graph.svec new_edges.txt

      softvec add shop.svec new_orders.csv --columns customer,article -o shop2.svec
    """
    from softvec.core.errors import InputError
    from softvec.embedding.files.formats import format_of

    settings = Settings(quiet, json)
    target = output or output_beside(vectors, "_added.svec")
    written_as = format_of(target)
    check_target(target)
    if vectors == "-" and edges == "-":
        raise InputError("standard input holds the vectors; give the edges as a file")
    emb = load(vectors, format, settings)
    options = parse_settings(more or [])
    if columns is not None:
        options["columns"] = columns_of(columns)
    try:
        with working(settings, "adding items"):
            grown = emb.add(edges, isolated=isolated, n_jobs=threads, **options)
    except InputError as error:
        raise InputError(typed_here(str(error))) from error
    grown.save(target, written_as)
    new = grown.provenance["additions"][-1]
    if json and target != "-":
        print_json({"output": target, "vectors": len(grown), "added": new["items"], "edges": new["edges"]})
    say(
        settings,
        f"{new['items']:,} items added by {new['edges']:,} edges: {len(grown):,} vectors -> {target}",
    )
