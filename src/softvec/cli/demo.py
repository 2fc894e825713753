"""``softvec demo``: small embeddings from data that comes with the dependencies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softvec.cli.flags import Command, Seed, Threads, flag
from softvec.cli.map import plotting_module
from softvec.cli.tables import print_table
from softvec.cli.terminal import console, note, print_json, seconds
from softvec.core.checks import Json
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


@dataclass(frozen=True, kw_only=True)
class Demo(Command):
    """Embed small data sets, score the vectors against known labels, and draw maps.

    The data comes with scikit-learn and networkx: handwritten digits linked to
    their nearest neighbours, the karate club that split in two, and the
    characters of Les Misérables.

    [dim]Example:[/dim]
      softvec demo --output demo-output
    """

    output: Path = flag("-o --output", "Output folder.", Path("softvec-demo"), metavar="DIR")
    seed: Seed = 0
    threads: Threads = None

    def run(self) -> None:
        """Run the examples one after another, and say what to do next."""
        try:
            self.output.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = "is a file" if self.output.is_file() else f"cannot be made: {error.strerror}"
            raise InputError(f"{self.output} {reason}; give another folder with -o") from error
        self._print(
            "Three small data sets, embedded, scored and drawn: under a minute, nothing to download, 2 MB in "
            f"{self.output}.\n"
        )
        reports = []
        with self.working("building the data"):
            examples = list(_examples())
        for example in examples:
            with self.working(f"embedding, scoring and drawing {example.title}"):
                reports.append(_run(example, self.output, self.seed, self.threads))
            if not self.silent:
                print_table(("", ""), [("example", example.title), *_rows(reports[-1])])
        if self.json:
            print_json({"output": str(self.output), "examples": reports})
        look = f"softvec neighbors {reports[-1]['vectors']} {reports[-1]['example']}"
        self._print(f"Open {reports[0]['map']} in a browser. Next: {look}")

    def _print(self, text: str) -> None:
        if not self.silent:
            console().print(text, markup=False)


def _examples() -> Iterator[Example]:
    from sklearn.datasets import load_digits

    from softvec.api import to_affinity

    digits = load_digits()
    names = [f"{label}#{i}" for i, label in enumerate(digits.target.tolist())]
    affinity = to_affinity(digits.data, kind="features", n_neighbors=10, names=names)
    yield Example("digits", "Handwritten digits", affinity, digits.target, 32)
    try:
        import networkx as nx
    except ImportError:
        note("the graph examples need networkx: pip install 'softvec[graphs]'")
        return
    karate, novel = nx.karate_club_graph(), nx.les_miserables_graph()
    clubs = [karate.nodes[node]["club"] for node in karate]
    yield Example("karate", "Zachary's karate club", to_affinity(karate), clubs, 8)
    yield Example("miserables", "Les Misérables", to_affinity(novel), None, 16)


def _run(example: Example, output: Path, seed: int | None, threads: int | None) -> Json:
    import numpy as np

    from softvec.api import embed
    from softvec.evaluate import communities, node_classification

    emb = embed(example.affinity, example.dim, random_state=seed, n_jobs=threads)
    scores: dict[str, float] = {}
    if example.labels is not None:
        codes = np.unique(np.asarray(example.labels), return_inverse=True)[1]
        groups = communities(emb, codes, random_state=seed)
        classes = node_classification(emb, codes, repeats=10, C=10.0, random_state=seed)
        scores = {"nmi": groups["nmi"], "accuracy": classes[0.5]["micro_f1"]}
    vectors, page = output / f"{example.key}.svec", output / f"{example.key}.html"
    emb.save(vectors)
    places = emb.layout(random_state=seed)
    pictures = _draw(emb, example, output, places)
    look = {"coordinates": places, "edges": example.affinity, "title": example.title}
    emb.map(example.labels, **look, random_state=seed).save(page)
    losses = emb.provenance["history"]["loss"]
    biggest = emb.names[int(np.argmax(emb.sizes)) if emb.sizes is not None else 0]
    return {
        "name": example.key,
        "data": example.affinity.summary,
        "dimensions": example.dim,
        "seconds": emb.provenance["seconds"]["fitting"],
        "epochs": len(losses),
        "loss": [losses[0], losses[-1]],
        **scores,
        "example": str(biggest),
        "neighbors": [[str(name), score] for name, score in emb.most_similar(biggest, n=5)],
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
    edges = example.affinity if example.affinity.kind == "graph" else None
    axes = plotting.plot_map(emb, colours, coordinates=places, edges=edges, title=example.title)
    plotting.save(axes, paths[0])
    plotting.save(plotting.plot_loss(emb, title=example.title), paths[1])
    return paths


def _rows(report: Json) -> list[tuple[str, str]]:
    """Return what a report says, as the rows of a table."""
    first, last = report["loss"]
    shape = f"{report['dimensions']} dimensions, {report['epochs']} epochs in {seconds(report['seconds'])}"
    rows = [("data", report["data"]), ("fit", shape), ("loss", f"{first:.4f} to {last:.4f}")]
    if "nmi" in report:
        rows.append(("groups", f"NMI {report['nmi']:.3f} with the known labels"))
        rows.append(("labels", f"{report['accuracy']:.1%} predicted correctly from the other half"))
    near = ", ".join(f"{name} {score:.2f}" for name, score in report["neighbors"])
    rows.append((f"near {report['example']}", near))
    return [*rows, *(("file", path) for path in (report["vectors"], *report["pictures"], report["map"]))]
