"""``softvec communities``, ``softvec evaluate`` and ``softvec plot``."""

from __future__ import annotations

import re
import sys
import warnings
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument
from typer import Option as Flag

from softvec.cli.options import (
    Json,
    Quiet,
    Regularization,
    Seed,
    VectorFormat,
    Vectors,
    check_target,
    default_output,
    load,
    plain_name,
    plotting_module,
    regularization,
)
from softvec.cli.terminal import Settings, print_json, print_table, say, shows_progress, working
from softvec.core.checks import counted
from softvec.core.errors import InputError, printable

if TYPE_CHECKING:
    from softvec.embedding import Embedding
    from softvec.read.labels import Groups


def communities(
    vectors: Vectors,
    n_clusters: Annotated[
        int | None, Flag("-k", "--number", help="Number of communities (default: detected).", min=1)
    ] = None,
    graph: Annotated[
        str | None,
        Flag("--graph", help="Graph file, to report the modularity of the communities (default: none)."),
    ] = None,
    output: Annotated[
        str, Flag("-o", "--output", help="Lines of name and community; - is standard output.")
    ] = "-",
    random_state: Seed = 0,
    format: VectorFormat = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Detect communities and list the community of each item.

    [dim]Examples:[/dim]

      softvec communities graph.svec -o groups.tsv

      softvec communities graph.svec -k 7 | head

      softvec communities graph.svec --graph edges.txt -o groups.tsv
    """
    import numpy as np

    settings = Settings(quiet, json)
    check_target(output)
    emb = load(vectors, format, settings)
    groups = emb.cluster(n_clusters, random_state=random_state, verbose=shows_progress(settings))
    sizes = np.bincount(groups[groups >= 0]).tolist()
    quality = {} if graph is None else {"modularity": _modularity(graph, emb, groups, settings)}
    names = [plain_name(name) for name in emb]
    if output != "-":
        from softvec.core.files import atomic_write

        with atomic_write(output, "w", encoding="utf-8") as file:
            file.writelines(f"{name}\t{group}\n" for name, group in zip(names, groups.tolist()))
    if json:
        listed = {} if output != "-" else {"members": dict(zip(map(str, names), groups.tolist()))}
        print_json({"communities": len(sizes), "sizes": sizes, **quality, "output": output, **listed})
        return
    if output == "-":
        sys.stdout.writelines(
            f"{printable(str(name))}\t{group}\n" for name, group in zip(names, groups.tolist())
        )
    largest = ", ".join(f"{size:,}" for size in sizes[:8]) + (", ..." if len(sizes) > 8 else "")
    shown = f"{len(sizes)} communities of {largest} items" if len(sizes) > 1 else f"1 community of {largest}"
    score = "".join(f", modularity {value:.4f}" for value in quality.values())
    say(settings, shown + score + (f" -> {output}" if output != "-" else ""))


def _modularity(path: str, emb: Embedding, groups: Any, settings: Settings) -> float:
    from softvec.affinity import read
    from softvec.evaluate import modularity

    with working(settings, "reading the graph"):
        affinity = read(path, kind="graph")
    members = {name: group for name, group in zip(emb, groups.tolist()) if name in affinity.rows}
    if not members:
        raise InputError(f"no node of {path} has a vector (first node: {affinity.rows[0]!r})")
    if len(members) < len(affinity.rows):
        missing = counted(len(affinity.rows) - len(members), "node")
        warnings.warn(f"{missing} of {path} without a vector, each its own group", stacklevel=2)
    return modularity(affinity, members)


def _read_groups(path: str, emb: Embedding) -> Groups:
    from softvec.read.labels import read_labels

    groups = read_labels(path, emb.names)
    if groups.unmatched:
        warnings.warn(f"{counted(groups.unmatched, 'name')} in {path} without a vector", stacklevel=2)
    return groups


def evaluate(
    vectors: Vectors,
    labels: Annotated[str, Argument(metavar="LABELS", help="Labels: lines of name and label, .npy or .npz.")],
    ratio: Annotated[
        list[float] | None,
        Flag("--ratio", help="Share of labelled items to train on; repeatable (default: 0.5)."),
    ] = None,
    repeats: Annotated[int, Flag("--repeats", help="Number of random splits.", min=1)] = 5,
    c: Regularization = "cv",
    random_state: Seed = 0,
    format: VectorFormat = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Score the vectors against known labels, by logistic regression and k-means.

    [dim]Examples:[/dim]

      softvec evaluate cora.svec cora_labels.npy

      softvec evaluate ppi.svec ppi_labels.npz --ratio 0.1 --ratio 0.5 --json
    """
    from softvec import evaluate as tasks

    settings = Settings(quiet, json)
    emb = load(vectors, format, settings)
    groups = _read_groups(labels, emb)
    target = groups.members if groups.multiple else groups.codes
    with working(settings, "logistic regression"):
        scores = tasks.node_classification(
            emb.vectors,
            target,
            ratios=tuple(ratio or (0.5,)),
            repeats=repeats,
            C=regularization(c),
            random_state=random_state,
        )
    rows: list[tuple[Any, ...]] = []
    for share, score in scores.by_ratio.items():
        for metric, value in score.mean.items():
            rows.append((f"{metric.replace('_', ' ')}, {share:.0%} labelled", value, score.spread[metric]))
    result: dict[str, Any] = {"classification": scores.to_dict()}
    if not groups.multiple:
        with working(settings, "communities"):
            scored = tasks.communities(emb.vectors, groups.codes, random_state=random_state)
        result["communities"] = scored.to_dict()
        rows += [
            (f"{metric}, k-means", value, scored.spread[metric]) for metric, value in scored.mean.items()
        ]
    if json:
        print_json(result)
        return
    labelled = int((groups.codes >= 0).sum())
    kind = "several labels" if groups.multiple else "one label"
    classes = counted(len(groups.classes), "class", "classes")
    say(settings, f"{labelled:,} of {len(emb):,} items labelled, {classes}, {kind} each")
    print_table(("score", "mean", "deviation"), rows)


def plot(
    vectors: Vectors,
    output: Annotated[
        str | None, Flag("-o", "--output", help="Picture: .png, .pdf or .svg (default: VECTORS.png).")
    ] = None,
    kind: Annotated[str, Flag("--kind", help="Picture: map, loss or similarities.")] = "map",
    method: Annotated[
        str, Flag("--method", help="Layout of a map: auto, pca, tsne, opentsne or umap.")
    ] = "auto",
    labels: Annotated[
        str | None,
        Flag("--labels", help="File of labels or values for colours, or clusters (default: none)."),
    ] = None,
    values: Annotated[
        bool | None,
        Flag(
            "--values/--groups",
            help="Treat labels as values with a colour bar, or as groups (default: detected).",
        ),
    ] = None,
    edges: Annotated[
        str | None,
        Flag(
            "--edges", metavar="FILE", help="Graph file; its edges are drawn as thin lines (default: none)."
        ),
    ] = None,
    names: Annotated[
        int | None,
        Flag(
            "--names",
            help="Maximum number of names (default: all of up to 40 items, else 25; 40 for text).",
            min=0,
        ),
    ] = None,
    limit: Annotated[
        int | None, Flag("--limit", help="Maximum number of items, largest first (default: all).", min=1)
    ] = None,
    title: Annotated[str | None, Flag("--title", help="Title of the picture (default: none).")] = None,
    size: Annotated[
        str | None,
        Flag("--size", metavar="WxH", help="Width and height in inches, e.g. 7x5 (default: automatic)."),
    ] = None,
    dpi: Annotated[int, Flag("--dpi", help="Dots per inch.", min=10, max=2400)] = 200,
    seed: Seed = 0,
    format: VectorFormat = None,
    quiet: Quiet = False,
    json: Json = False,
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
    settings = Settings(quiet, json)
    emb = load(vectors, format, settings)
    path = output or default_output(vectors, ".png" if kind == "map" else f"_{kind}.png")
    check_target(path)
    if edges is not None and kind != "map":
        raise InputError("--edges are drawn on a map; leave out --edges or --kind")
    options: dict[str, Any] = {"title": title, "size": _size(size)}
    if kind == "map":
        options |= {"method": method, "n_names": names, "continuous": values, "edges": edges}
    axes = _draw(emb, kind, labels, limit, seed, options, settings)
    plotting_module().save(axes, path, dpi=dpi)
    if json and path != "-":  # standard output holds the picture
        print_json({"output": path, "kind": kind})
    say(settings, f"picture -> {'standard output' if path == '-' else path}")


def _size(text: str | None) -> tuple[float, float] | None:
    """Parse a width and height such as 7x5."""
    if text is None:
        return None
    try:
        width, height = (float(part) for part in text.lower().split("x"))
    except ValueError:
        raise InputError(f"--size is {text!r}; expected width x height in inches, such as 7x5") from None
    return width, height


def _draw(
    emb: Embedding,
    kind: str,
    labels: str | None,
    limit: int | None,
    seed: int | None,
    options: dict[str, Any],
    settings: Settings,
) -> Any:
    plotting = plotting_module()
    colours: Any = labels
    if labels is not None and labels != "clusters":
        colours = dict(zip(emb, _read_colours(labels, emb)))
    if limit is not None and limit < len(emb):
        emb = _largest(emb, limit)
    if options["title"]:
        options["title"] = plotting.plain_text(options["title"])  # a title is text, not a formula
    with working(settings, "drawing"):
        if kind == "loss":
            return plotting.plot_loss(emb, **options)
        if kind == "similarities":
            return plotting.plot_similarities(emb, colours, random_state=seed, **options)
        return plotting.plot_map(emb, colours, random_state=seed, **options)


def _read_colours(path: str, emb: Embedding) -> list[Any]:
    """Return the label or value of each item, numbers as numbers."""
    from softvec.read.labels import read_values

    values = read_values(path, emb.names)
    if values is not None:
        return values
    groups = _read_groups(path, emb)
    if groups.multiple:
        warnings.warn(
            f"{path}: some items have several labels; they get the colour of the first", stacklevel=2
        )
    if not all(re.fullmatch(r"-?\d+(\.\d+)?([eE][-+]?\d+)?", text) for text in groups.classes):
        return list(groups.texts)
    numbers: dict[str, Any] = {text: float(text) for text in groups.classes}
    if all(text.lstrip("-").isdigit() for text in groups.classes):
        # 007 is text
        numbers = {text: int(text) if str(int(text)) == text else text for text in groups.classes}
    return [None if text is None else numbers[text] for text in groups.texts]


def _largest(emb: Embedding, limit: int) -> Embedding:
    import numpy as np

    from softvec.embedding import Embedding

    rows = np.arange(limit)
    if emb.sizes is not None:
        rows = np.sort(np.argsort(-emb.sizes, kind="stable")[:limit])
    return Embedding(
        emb.vectors[rows],
        emb.names.take(rows),
        sizes=None if emb.sizes is None else emb.sizes[rows],
        provenance=emb.provenance,
    )
