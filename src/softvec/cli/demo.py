"""``softvec demo``: small embeddings from data that comes with the dependencies."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option as Flag

from softvec.cli.options import Json, Quiet, Seed, Threads, plotting_module
from softvec.cli.terminal import Settings, console, note, print_json, seconds, working
from softvec.core.errors import InputError

if TYPE_CHECKING:
    from softvec.affinity import Affinity
    from softvec.embedding import Embedding


@dataclass(frozen=True)
class Example:
    """A data set of the demo."""

    key: str
    title: str
    affinity: Affinity
    labels: Any  # the known label of each item, or None
    dim: int
    graph: Any = None  # whose edges are drawn on its map, or None


def demo(
    output: Annotated[Path, Flag("-o", "--output", metavar="DIR", help="Output folder.")] = Path(
        "softvec-demo"
    ),
    seed: Seed = 0,
    threads: Threads = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Embed small data sets, score the vectors against known labels, and draw maps.

    The data comes with scikit-learn and networkx: handwritten digits linked to
    their nearest neighbours, the karate club that split in two, and the
    characters of Les Misérables.

    [dim]Example:[/dim]

      softvec demo --output demo-output
    """
    settings = Settings(quiet, json)
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = "is a file" if output.is_file() else f"cannot be made: {error.strerror}"
        raise InputError(f"{output} {reason}; give another folder with -o") from error
    if not (quiet or json):
        from rich.markup import escape

        console().print(
            "Three small data sets, embedded, scored and drawn: under a minute, nothing to download, 2 MB in "
            f"[bold]{escape(str(output))}[/bold].\n"
        )
    reports = []
    with working(settings, "building the data"):
        examples = [_digits(), *_graphs()]
    for example in examples:
        report = _run(example, output, seed, threads, settings)
        reports.append(report)
        if not (quiet or json):
            _show(example, report)
    if json:
        print_json({"output": str(output), "examples": reports})
    elif not quiet:
        console().print(
            f"Open [bold]{reports[0]['map']}[/bold] in a browser. "
            f"Next: [bold]softvec neighbors {reports[-1]['vectors']} {reports[-1]['example']}[/bold]"
        )


def _digits() -> Example:
    from sklearn.datasets import load_digits

    from softvec.api import to_affinity

    digits = load_digits()
    names = [f"{label}#{i}" for i, label in enumerate(digits.target.tolist())]
    affinity = to_affinity(digits.data, kind="features", n_neighbors=10, names=names)
    return Example("digits", "Handwritten digits", affinity, digits.target, 32)


def _graphs() -> list[Example]:
    try:
        import networkx as nx
    except ImportError:
        note("the graph examples need networkx: pip install 'softvec[graphs]'")
        return []
    from softvec.api import to_affinity

    karate, novel = nx.karate_club_graph(), nx.les_miserables_graph()
    clubs = [karate.nodes[node]["club"] for node in karate]
    return [
        Example("karate", "Zachary's karate club", to_affinity(karate), clubs, 8, karate),
        Example("miserables", "Les Misérables", to_affinity(novel), None, 16, novel),
    ]


def _run(
    example: Example, output: Path, seed: int | None, threads: int | None, settings: Settings
) -> dict[str, Any]:
    import numpy as np

    from softvec.api import embed_affinity
    from softvec.cli.watch import Shown
    from softvec.evaluate import communities, node_classification
    from softvec.request import Request
    from softvec.watch import Origin

    started = time.perf_counter()
    request = Request.of(n_components=example.dim, random_state=seed, n_jobs=threads)
    emb = embed_affinity(example.affinity, request, Shown(example.key, settings), origin=Origin(example.key))
    spent = time.perf_counter() - started
    scores: dict[str, float] = {}
    if example.labels is not None:
        codes = np.unique(np.asarray(example.labels), return_inverse=True)[1]
        with working(settings, "scoring"):
            groups = communities(emb, codes, random_state=seed)
            classes = node_classification(emb, codes, repeats=10, C=10.0, random_state=seed)
        scores = {"nmi": groups["nmi"], "accuracy": classes[0.5]["micro_f1"]}
    vectors = output / f"{example.key}.svec"
    emb.save(vectors)
    with working(settings, "drawing"):
        places = emb.layout(random_state=seed)
        pictures = _draw(emb, example, output, places)
        page = output / f"{example.key}.html"
        emb.map(
            example.labels,
            coordinates=places.coordinates,
            edges=example.affinity,
            title=example.title,
            random_state=seed,
        ).save(page)
    losses = emb.provenance["history"]["loss"]
    biggest = int(np.argmax(emb.sizes)) if emb.sizes is not None else 0
    return {
        "name": example.key,
        "data": example.affinity.summary,
        "dimensions": example.dim,
        "seconds": spent,
        "epochs": len(losses),
        "loss": [losses[0], losses[-1]],
        **scores,
        "example": str(emb.names[biggest]),
        "neighbors": [[str(name), score] for name, score in emb.most_similar(emb.names[biggest], n=5)],
        "vectors": str(vectors),
        "pictures": [str(path) for path in pictures],
        "map": str(page),
    }


def _draw(emb: Embedding, example: Example, output: Path, places: Any) -> list[Path]:
    try:
        plotting = plotting_module()
    except InputError as error:  # matplotlib is not installed
        note(str(error))
        return []
    paths = [output / f"{example.key}.png", output / f"{example.key}_loss.png"]
    colours = "clusters" if example.labels is None else example.labels
    axes = plotting.plot_map(emb, colours, coordinates=places, edges=example.graph, title=example.title)
    plotting.save(axes, paths[0])
    plotting.save(plotting.plot_loss(emb, title=example.title), paths[1])
    return paths


def _show(example: Example, report: dict[str, Any]) -> None:
    from rich import box
    from rich.panel import Panel
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    first, last = report["loss"]
    near = ", ".join(f"{name} [dim]{score:.2f}[/dim]" for name, score in report["neighbors"])
    shape = f"{report['dimensions']} dimensions, {report['epochs']} epochs"
    rows = {
        "data": report["data"],
        "fit": f"{shape} in [bold]{seconds(report['seconds'])}[/bold]",
        "loss": f"{first:.4f} → [bold]{last:.4f}[/bold]",
    }
    if "nmi" in report:
        rows["groups"] = f"NMI [bold green]{report['nmi']:.3f}[/bold green] with the known labels"
        rows["labels"] = (
            f"[bold green]{report['accuracy']:.1%}[/bold green] predicted correctly from the other half"
        )
    rows[f"near {report['example']}"] = near
    rows["files"] = "\n".join([report["vectors"], *report["pictures"], report["map"]])
    for key, value in rows.items():
        grid.add_row(key, value)
    screen = console()
    width = min(80, screen.width)
    title = f"[bold]{example.title}"
    screen.print(Panel(grid, title=title, title_align="left", box=box.ROUNDED, width=width))
