"""``softvec add``, ``softvec links`` and ``softvec predict``."""

from __future__ import annotations

from typing import Annotated

from typer import Argument
from typer import Option as Flag

from softvec.cli.options import (
    Json,
    Quiet,
    Regularization,
    Threads,
    VectorFormat,
    Vectors,
    check_target,
    columns_of,
    default_output,
    load,
    parse_settings,
    plain_name,
    regularization,
    resolve,
    write_csv,
)
from softvec.cli.terminal import Settings, print_json, print_table, say, working
from softvec.core.checks import counted
from softvec.core.errors import InputError


def add(
    vectors: Vectors,
    edges: Annotated[
        str, Argument(metavar="EDGES", help="Edges between new and known names; - is standard input.")
    ],
    output: Annotated[
        str | None, Flag("-o", "--output", help="File for old and new vectors (default: VECTORS_added.svec).")
    ] = None,
    isolated: Annotated[
        str, Flag("--isolated", help="New items not connected to a known one: error or drop.")
    ] = "error",
    columns: Annotated[
        str | None,
        Flag("--columns", help="Columns of a table, e.g. from,to,weight or 0,1 (default: detected)."),
    ] = None,
    more: Annotated[
        list[str] | None,
        Flag("--set", metavar="NAME=VALUE", help="Any other option of the reader (default: none)."),
    ] = None,
    n_jobs: Threads = None,
    format: VectorFormat = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Add new items to an embedding by their edges; the old vectors do not change.

    [dim]Examples:[/dim]

      softvec add graph.svec new_edges.txt

      softvec add shop.svec new_orders.csv --columns customer,article -o shop2.svec
    """
    from softvec.embedding.files.formats import format_of

    settings = Settings(quiet, json)
    target = output or default_output(vectors, "_added.svec")
    written_as = format_of(target)
    check_target(target)
    if vectors == "-" and edges == "-":
        raise InputError("standard input holds the vectors; give the edges as a file")
    emb = load(vectors, format, settings)
    options = parse_settings(more or [])
    if columns is not None:
        options["columns"] = columns_of(columns)
    with working(settings, "adding items"):
        extended = emb.add(edges, isolated=isolated, n_jobs=n_jobs, **options)
    extended.save(target, written_as)
    new = extended.provenance["additions"][-1]
    if json and target != "-":
        print_json({"output": target, "vectors": len(extended), "added": new["items"], "edges": new["edges"]})
    say(
        settings,
        f"{counted(new['items'], 'item')} added by {counted(new['edges'], 'edge')}: "
        f"{len(extended):,} vectors -> {target}",
    )


def links(
    vectors: Vectors,
    exclude: Annotated[
        str | None,
        Flag(
            "--graph",
            metavar="FILE",
            help="Known links to leave out, usually the embedded data (default: none).",
        ),
    ] = None,
    n: Annotated[int, Flag("-n", "--number", help="Number of links.", min=1)] = 100,
    of: Annotated[
        str | None, Flag("--of", metavar="NAME", help="Only links of this item (default: all links).")
    ] = None,
    columns: Annotated[
        str | None, Flag("--columns", help="Columns of the graph, e.g. from,to or 0,1 (default: detected).")
    ] = None,
    n_jobs: Threads = None,
    format: VectorFormat = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """List the missing links that the vectors rank first.

    [dim]Examples:[/dim]

      softvec links graph.svec --graph edges.txt -n 20

      softvec links shop.svec --graph orders.csv --of ann --json
    """
    settings = Settings(quiet, json)
    emb = load(vectors, format, settings)
    options = {} if columns is None else {"columns": columns_of(columns)}
    item = None if of is None else resolve(emb.names, of)
    with working(settings, "comparing pairs"):
        likeliest = emb.links(n, item=item, exclude=exclude, n_jobs=n_jobs, **options)
    rows = [(plain_name(a), plain_name(b), *numbers) for a, b, *numbers in likeliest]
    keys = ("a", "b", "probability", "error", "expected")
    if json:
        print_json([dict(zip(keys, row)) for row in rows])
        return
    shown = [(a, b, *(f"{value:.3g}" for value in numbers)) for a, b, *numbers in rows]
    print_table(keys, shown)


def predict(
    vectors: Vectors,
    labels: Annotated[
        str, Argument(metavar="LABELS", help="Known labels: lines of name and label, .npy or .npz.")
    ],
    output: Annotated[
        str, Flag("-o", "--output", help="CSV of name, label, probability; - is standard output.")
    ] = "-",
    c: Regularization = "cv",
    format: VectorFormat = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Predict the labels of unlabelled items.

    [dim]Examples:[/dim]

      softvec predict genes.svec functions.tsv -o predicted.csv
    """
    settings = Settings(quiet, json)
    check_target(output)
    emb = load(vectors, format, settings)
    with working(settings, "logistic regression"):
        predicted = emb.predict(labels, C=regularization(c))
    rows = [(plain_name(name), label, probability) for name, label, probability in predicted]
    if output != "-":
        header = ("name", "label", "probability")
        write_csv(output, header, ((name, label, f"{p:.6g}") for name, label, p in rows))
    if json:
        listed = [dict(zip(("name", "label", "probability"), row)) for row in rows] if output == "-" else []
        shown = {"items": listed} if output == "-" else {"output": output, "items": len(rows)}
        print_json(
            {"labelled": predicted.n_labelled, "accuracy": predicted.accuracy, "C": predicted.C, **shown}
        )
        return
    if output == "-":
        print_table(("name", "label", "probability"), rows)
    classes = counted(len(predicted.classes), "class", "classes")
    say(
        settings,
        f"{counted(len(rows), 'label')} of {classes}, predicted from {predicted.n_labelled:,} known labels; "
        f"cross-validated accuracy {predicted.accuracy:.1%}" + (f" -> {output}" if output != "-" else ""),
    )
