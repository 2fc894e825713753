"""``softvec plot`` and ``softvec map``: a picture, and an interactive map in one HTML file."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option as Flag

from softvec.cli.options import Seed, Vectors, check_target, default_output, load_vectors
from softvec.cli.terminal import Session, note, print_json, say, working
from softvec.core.errors import InputError, Message

if TYPE_CHECKING:
    from softvec.affinity import Affinity
    from softvec.embedding import Embedding

ENDINGS = (".html", ".htm", ".parquet", ".graphml", ".gexf")
MAX_ENTRIES = 5_000_000  # entries of a matrix, to find its strongest edges: half a gigabyte of memory

Colours = Annotated[
    str | None,
    Flag("--labels", metavar="FILE", help="File of labels for colours, or clusters (default: none)."),
]
EdgesFile = Annotated[
    str | None, Flag("--edges", metavar="FILE", help="Graph file, to draw its edges (default: none).")
]
Method = Annotated[str, Flag("--method", help="Layout of a map: auto, pca, tsne, opentsne or umap.")]


@dataclass(frozen=True)
class Picture:
    """What is drawn, and how large."""

    method: Method = "auto"
    labels: Colours = None
    values: Annotated[
        bool | None,
        Flag("--values/--groups", help="Labels are values on a colour bar, or groups (default: detected)."),
    ] = None
    edges: EdgesFile = None
    names: Annotated[
        int | None,
        Flag("--names", help="Maximum number of names (default: 25, 40 for text, all of 40 items).", min=0),
    ] = None
    limit: Annotated[
        int | None, Flag("--limit", help="Maximum number of items, largest first (default: all).", min=1)
    ] = None
    title: Annotated[str | None, Flag("--title", help="Title of the picture (default: none).")] = None
    size: Annotated[
        str | None,
        Flag("--size", metavar="WxH", help="Width and height in inches, e.g. 7x5 (default: automatic)."),
    ] = None
    dpi: Annotated[int, Flag("--dpi", help="Dots per inch.", min=10, max=2400)] = 200
    seed: Seed = 0


def plot(
    vectors: Vectors,
    output: Annotated[
        str | None, Flag("-o", "--output", help="Picture: .png, .pdf or .svg (default: VECTORS.png).")
    ] = None,
    kind: Annotated[str, Flag("--kind", help="Picture: map, loss or similarities.")] = "map",
    picture: Picture = Picture(),
    *,
    session: Session,
) -> None:
    """Draw a map of the vectors, the loss, or histograms of similarities.

    [dim]Examples:[/dim]

      softvec plot graph.svec --labels clusters

      softvec plot words.svec --limit 2000 --names 60 --size 7x5 -o words.pdf

      softvec plot graph.svec --labels groups.tsv --edges graph.txt --dpi 300

      softvec plot graph.svec --kind loss
    """
    if kind not in ("map", "loss", "similarities"):
        raise InputError(f"--kind is {kind!r}; expected map, loss or similarities")
    emb = load_vectors(vectors, session)
    path = output or default_output(vectors, ".png" if kind == "map" else f"_{kind}.png")
    check_target(path)
    if picture.edges is not None and kind != "map":
        raise InputError("--edges are drawn on a map; leave out --edges or --kind")
    plotting = plotting_module()
    labels, title = picture.labels, picture.title
    colours = plotting.labels_in_file(labels, emb) if labels not in (None, "clusters") else labels
    emb = emb if picture.limit is None else plotting.largest(emb, picture.limit)
    options: dict[str, Any] = {"size": _size(picture.size)}
    options["title"] = plotting.plain_text(title) if title else None  # a title is text, not a formula
    with working(session, "drawing"):
        if kind == "loss":
            axes = plotting.plot_loss(emb, **options)
        elif kind == "similarities":
            axes = plotting.plot_similarities(emb, colours, random_state=picture.seed, **options)
        else:
            options |= {"method": picture.method, "n_names": picture.names, "edges": picture.edges}
            options["continuous"] = picture.values
            axes = plotting.plot_map(emb, colours, random_state=picture.seed, **options)
    plotting.save(axes, path, dpi=picture.dpi)
    if session.json and path != "-":  # standard output holds the picture
        print_json({"output": path, "kind": kind})
    say(session, f"picture -> {'standard output' if path == '-' else path}")


def plotting_module() -> Any:
    """Return :mod:`softvec.plotting`, set up to draw without a screen."""
    from softvec import plotting
    from softvec.plotting.style import pyplot

    pyplot().switch_backend("Agg")
    return plotting


def _size(text: str | None) -> tuple[float, float] | None:
    """Parse a width and height such as 7x5."""
    if text is None:
        return None
    try:
        width, height = (float(part) for part in text.lower().split("x"))
    except ValueError:
        raise InputError(f"--size is {text!r}; expected width x height in inches, such as 7x5") from None
    return width, height


@dataclass(frozen=True)
class Page:
    """What an interactive map shows."""

    labels: Colours = None
    metadata: Annotated[
        str | None,
        Flag(
            "--metadata",
            metavar="FILE",
            help="Table with a column 'name': .csv, .tsv or .parquet (default: none).",
        ),
    ] = None
    edges: EdgesFile = None
    method: Method = "auto"
    n_neighbors: Annotated[
        int | None,
        Flag("--neighbors", help="Neighbours of each item (default: 10; 0 above 100,000 items).", min=0),
    ] = None
    title: Annotated[str | None, Flag("--title", help="Title (default: name of the data file).")] = None
    theme: Annotated[str, Flag("--theme", help="Theme: auto, light or dark.")] = "auto"
    open_it: Annotated[bool, Flag("--open", help="Open the page in a browser.")] = False
    random_state: Seed = 0


def map(
    vectors: Vectors,
    output: Annotated[
        str | None,
        Flag("-o", "--output", help="Page (.html), or .parquet, .graphml, .gexf (default: VECTORS.html)."),
    ] = None,
    page: Page = Page(),
    *,
    session: Session,
) -> None:
    """Make an interactive map: one HTML file that needs no server or network.

    [dim]Examples:[/dim]

      softvec map graph.svec --labels clusters --open

      softvec map graph.svec --labels groups.tsv --edges edges.txt -o map.html

      softvec map words.svec --method umap -o words.html
    """
    from softvec.read.labels import read_labels

    path = output or default_output(vectors, ".html")
    check_map_target(path)
    emb = load_vectors(vectors, session)
    options = {each.name: getattr(page, each.name) for each in fields(page) if each.name != "open_it"}
    if page.labels is not None and page.labels != "clusters":
        options["labels"] = dict(zip(emb, read_labels(page.labels, emb.names).texts))
    write_map(emb, path, session, **options)
    if session.json and path != "-":  # standard output holds the page
        print_json({"output": path, "points": len(emb) + len(emb.context_names or ())})
    if page.open_it:
        _open(path)


def check_map_target(path: str) -> None:
    """Raise an error, before any work, if a map cannot be written."""
    if path != "-" and not path.lower().endswith(ENDINGS):
        raise InputError(f"{path}: a map is written as .html, .parquet, .graphml or .gexf")
    check_target(path)


def edges_for_map(affinity: Affinity, session: Session) -> Affinity | None:
    """Return the data whose edges a map can show, or None."""
    if affinity.counts is None:
        return None
    if affinity.counts.nnz > MAX_ENTRIES:
        say(session, f"the map has no edges: the data has {affinity.counts.nnz:,} entries")
        return None
    return affinity


def write_map(emb: Embedding, path: str, session: Session, **options: Any) -> None:
    """Make a map and write it."""
    with working(session, "drawing the map"):
        result = emb.map(**options)
        result.save(path)
    for text in result.content.notes:
        say(session, Message(text).render(lambda option: f"--neighbors {option.value} to softvec map"))
    say(session, f"map -> {'standard output' if path == '-' else path}")


def _open(path: str) -> None:
    import webbrowser
    from pathlib import Path

    if path == "-" or not path.lower().endswith((".html", ".htm")):
        note(f"--open is for .html files; {path} is not one")
    elif not webbrowser.open(Path(path).resolve().as_uri()):
        note(f"no browser found; open {path} yourself")
