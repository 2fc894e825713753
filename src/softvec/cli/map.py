"""``softvec plot`` and ``softvec map``: a picture, and an interactive map in one HTML file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option as Flag

from softvec.cli.flags import Seed, VectorCommand, flag
from softvec.cli.tables import check_target, default_output
from softvec.cli.terminal import Session, note, print_json
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


@dataclass(frozen=True, kw_only=True)
class Plot(VectorCommand):
    """Draw a map of the vectors, the loss, or histograms of similarities.

    [dim]Examples:[/dim]
      softvec plot graph.svec --labels clusters
      softvec plot words.svec --limit 2000 --names 60 --size 7x5 -o words.pdf
      softvec plot graph.svec --labels groups.tsv --edges graph.txt --dpi 300
      softvec plot graph.svec --kind loss
    """

    output: str | None = flag("-o --output", "Picture: .png, .pdf or .svg (default: VECTORS.png).")
    kind: str = flag("--kind", "Picture: map, loss or similarities.", "map")
    method: Method = "auto"
    labels: Colours = None
    values: bool | None = flag(
        "--values/--groups", "Labels are values on a colour bar, or groups (default: detected)."
    )
    edges: EdgesFile = None
    names: int | None = flag(
        "--names", "Maximum number of names (default: 50; none of many codes or numbers).", min=0
    )
    limit: int | None = flag("--limit", "Maximum number of items, largest first (default: all).", min=1)
    title: str | None = flag("--title", "Title of the picture (default: none).")
    size: str | None = flag(
        "--size", "Width and height in inches, e.g. 7x5 (default: automatic).", metavar="WxH"
    )
    dpi: int = flag("--dpi", "Dots per inch.", 200, min=10, max=2400)
    seed: Seed = 0

    def run(self) -> None:
        """Draw and write the picture."""
        if self.kind not in ("map", "loss", "similarities"):
            raise InputError(f"--kind is {self.kind!r}; expected map, loss or similarities")
        emb = self.load()
        ending = ".png" if self.kind == "map" else f"_{self.kind}.png"
        path = self.output or default_output(self.vectors, ending)
        check_target(path)
        if self.edges is not None and self.kind != "map":
            raise InputError("--edges are drawn on a map; leave out --edges or --kind")
        plotting = plotting_module()
        colours = labels_of_map(self.labels, emb)
        emb = emb if self.limit is None else plotting.largest(emb, self.limit)
        options: dict[str, Any] = {"size": _size(self.size)}
        options["title"] = plotting.plain_text(self.title) if self.title else None  # text, not a formula
        with self.working("drawing"):
            if self.kind == "loss":
                axes = plotting.plot_loss(emb, **options)
            elif self.kind == "similarities":
                axes = plotting.plot_similarities(emb, colours, random_state=self.seed, **options)
            else:
                options |= {"method": self.method, "n_names": self.names, "edges": self.edges}
                options |= {"continuous": self.values, "random_state": self.seed}
                if self.labels not in (None, "clusters"):
                    options["legend"] = Path(str(self.labels)).stem
                axes = plotting.plot_map(emb, colours, **options)
        plotting.save(axes, path, dpi=self.dpi)
        self.wrote(path, f"picture -> {'standard output' if path == '-' else path}", kind=self.kind)


def labels_of_map(labels: str | None, emb: Embedding) -> Any:
    """Return what colours a map: the labels in a file, or "clusters"."""
    if labels is None or labels == "clusters":
        return labels
    from softvec.plotting.colours import labels_in_file

    return labels_in_file(labels, emb)


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


@dataclass(frozen=True, kw_only=True)
class Map(VectorCommand):
    """Make an interactive map: one HTML file that needs no server or network.

    [dim]Examples:[/dim]
      softvec map graph.svec --labels clusters --open
      softvec map graph.svec --labels groups.tsv --edges edges.txt -o map.html
      softvec map words.svec --method umap -o words.html
    """

    output: str | None = flag(
        "-o --output", "Page (.html), or .parquet, .graphml, .gexf (default: VECTORS.html)."
    )
    labels: Colours = None
    metadata: str | None = flag(
        "--metadata", "Table with a column 'name': .csv, .tsv or .parquet (default: none).", metavar="FILE"
    )
    edges: EdgesFile = None
    method: Method = "auto"
    n_neighbors: int | None = flag(
        "--neighbors", "Neighbours of each item (default: 10; 0 above 100,000 items).", min=0
    )
    title: str | None = flag("--title", "Title (default: name of the data file).")
    theme: str = flag("--theme", "Theme: auto, light or dark.", "auto")
    open_it: bool = flag("--open", "Open the page in a browser.", False)
    random_state: Seed = 0

    def run(self) -> None:
        """Write the map, and open it if asked to."""
        path = self.output or default_output(self.vectors, ".html")
        check_map_target(path)
        emb = self.load()
        names = ("metadata", "edges", "method", "n_neighbors", "title", "theme", "random_state")
        options = {name: getattr(self, name) for name in names}
        write_map(emb, path, self, labels=labels_of_map(self.labels, emb), **options)
        if self.json and path != "-":  # standard output holds the page
            print_json({"output": path, "points": len(emb) + len(emb.context_names or ())})
        if self.open_it:
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
        session.say(f"the map has no edges: the data has {affinity.counts.nnz:,} entries")
        return None
    return affinity


def write_map(emb: Embedding, path: str, session: Session, **options: Any) -> None:
    """Make a map and write it."""
    with session.working("drawing the map"):
        result = emb.map(**options)
        result.save(path)
    for text in result.content.notes:
        session.say(Message(text).render(lambda option: f"--neighbors {option.value} to softvec map"))
    session.say(f"map -> {'standard output' if path == '-' else path}")


def _open(path: str) -> None:
    import webbrowser

    if path == "-" or not path.lower().endswith((".html", ".htm")):
        note(f"--open is for .html files; {path} is not one")
    elif not webbrowser.open(Path(path).resolve().as_uri()):
        note(f"no browser found; open {path} yourself")
