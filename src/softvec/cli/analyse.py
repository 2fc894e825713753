"""``softvec communities``, ``softvec evaluate`` and ``softvec normalizer``."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option as Flag

from softvec.cli.options import (
    Labels,
    Regularization,
    Seed,
    Threads,
    Vectors,
    check_target,
    load_vectors,
    plain_name,
    regularization,
)
from softvec.cli.terminal import (
    Session,
    arrow,
    print_json,
    print_table,
    say,
    seconds,
    shows_progress,
    working,
)
from softvec.core.checks import counted
from softvec.core.errors import InputError, printable

if TYPE_CHECKING:
    from softvec.embedding import Embedding


def communities(
    vectors: Vectors,
    n_clusters: Annotated[
        int | None, Flag("-k", "--number", help="Number of communities (default: detected).", min=1)
    ] = None,
    graph: Annotated[
        str | None,
        Flag(
            "--graph",
            metavar="FILE",
            help="Graph file, to report the modularity of the communities (default: none).",
        ),
    ] = None,
    output: Annotated[
        str, Flag("-o", "--output", help="Lines of name and community; - is standard output.")
    ] = "-",
    random_state: Seed = 0,
    *,
    session: Session,
) -> None:
    """Detect communities and list the community of each item.

    [dim]Examples:[/dim]

      softvec communities graph.svec -o groups.tsv

      softvec communities graph.svec -k 7 | head

      softvec communities graph.svec --graph edges.txt -o groups.tsv
    """
    import numpy as np

    check_target(output)
    emb = load_vectors(vectors, session)
    groups = emb.cluster(n_clusters, random_state=random_state, verbose=shows_progress(session))
    sizes = np.bincount(groups[groups >= 0]).tolist()
    quality = {} if graph is None else {"modularity": _modularity(graph, emb, groups, session)}
    members = [(str(plain_name(name)), group) for name, group in zip(emb, groups.tolist())]
    if output != "-":
        from softvec.core.files import atomic_write

        with atomic_write(output, "w", encoding="utf-8") as file:
            file.writelines(f"{name}\t{group}\n" for name, group in members)
    if session.json:
        listed = {} if output != "-" else {"members": dict(members)}
        print_json({"communities": len(sizes), "sizes": sizes, **quality, "output": output, **listed})
        return
    if output == "-":
        sys.stdout.writelines(f"{printable(name)}\t{group}\n" for name, group in members)
    largest = ", ".join(f"{size:,}" for size in sizes[:8]) + (", ..." if len(sizes) > 8 else "")
    shown = f"{len(sizes)} communities of {largest} items" if len(sizes) > 1 else f"1 community of {largest}"
    score = "".join(f", modularity {value:.4f}" for value in quality.values())
    say(session, shown + score + arrow(output))


def _modularity(path: str, emb: Embedding, groups: Any, session: Session) -> float:
    from softvec.affinity import read
    from softvec.evaluate import modularity

    with working(session, "reading the graph"):
        affinity = read(path, kind="graph")
    members = {name: group for name, group in zip(emb, groups.tolist()) if name in affinity.rows}
    if not members:
        raise InputError(f"no node of {path} has a vector (first node: {affinity.rows[0]!r})")
    if len(members) < len(affinity.rows):
        missing = counted(len(affinity.rows) - len(members), "node")
        warnings.warn(f"{missing} of {path} without a vector, each its own group", stacklevel=2)
    return modularity(affinity, members)


def evaluate(
    vectors: Vectors,
    labels: Labels,
    ratio: Annotated[
        list[float] | None,
        Flag("--ratio", help="Share of labelled items to train on; repeatable (default: 0.5)."),
    ] = None,
    repeats: Annotated[int, Flag("--repeats", help="Number of random splits.", min=1)] = 5,
    c: Regularization = "cv",
    random_state: Seed = 0,
    *,
    session: Session,
) -> None:
    """Score the vectors against known labels, by logistic regression and k-means.

    [dim]Examples:[/dim]

      softvec evaluate cora.svec cora_labels.npy

      softvec evaluate ppi.svec ppi_labels.npz --ratio 0.1 --ratio 0.5 --json
    """
    from softvec import evaluate as tasks
    from softvec.read.labels import read_labels

    emb = load_vectors(vectors, session)
    groups = read_labels(labels, emb.names)
    ratios, strength = tuple(ratio or (0.5,)), regularization(c)
    target = groups.members if groups.multiple else groups.codes
    with working(session, "logistic regression"):
        scores = tasks.node_classification(
            emb.vectors, target, ratios=ratios, repeats=repeats, C=strength, random_state=random_state
        )
    result = {"classification": scores.to_dict()}
    rows = [
        (f"{metric.replace('_', ' ')}, {share:.0%} labelled", value, score.spread[metric])
        for share, score in scores.by_ratio.items()
        for metric, value in score.mean.items()
    ]
    if not groups.multiple:
        with working(session, "communities"):
            found = tasks.communities(emb.vectors, groups.codes, random_state=random_state)
        result["communities"] = found.to_dict()
        rows += [(f"{metric}, k-means", value, found.spread[metric]) for metric, value in found.mean.items()]
    if session.json:
        print_json(result)
        return
    labelled = int((groups.codes >= 0).sum())
    kind = "several labels" if groups.multiple else "one label"
    classes = counted(len(groups.classes), "class", "classes")
    say(session, f"{labelled:,} of {len(emb):,} items labelled, {classes}, {kind} each")
    print_table(("score", "mean", "deviation"), rows)


def normalizer(
    vectors: Vectors,
    beta: Annotated[
        float | None, Flag("--beta", help="Inverse temperature (default: that of the fit, or 1).")
    ] = None,
    error: Annotated[float, Flag("--error", help="Largest 95th percentile of the error of log Z.")] = 0.01,
    rows: Annotated[int, Flag("--rows", help="Number of vectors to measure the error on.", min=1)] = 300,
    random_state: Seed = 0,
    n_jobs: Threads = None,
    *,
    session: Session,
) -> None:
    """Compare estimates of the softmax normaliser with the exact sum.

    For a sample of vectors x, log Z = log sum_y exp(beta x.y) is summed
    exactly and estimated by mixtures and control variates. The fastest
    within --error is marked. Vectors that were shortened after their fit
    have length 1 here, as in the softmax that was fitted.

    [dim]Examples:[/dim]

      softvec normalizer words.svec

      softvec normalizer glove.txt --beta 1 --error 0.001 --json
    """
    import numpy as np

    from softvec.core.checks import recorded
    from softvec.normalizers import select

    emb = load_vectors(vectors, session)
    fitted = recorded(emb, "parameters")
    beta = float(fitted.get("beta", 1.0)) if beta is None else beta
    X = np.array(emb.vectors)
    shortened = bool(fitted.get("shrinkage"))
    if shortened:
        X /= np.linalg.norm(X, axis=1, keepdims=True)  # none is 0: see softvec.api
        say(session, f"vectors are scaled back to length 1: they were shortened after the fit ({vectors})")
    Y = X if emb.context_vectors is None else np.array(emb.context_vectors)
    with working(session, "comparing normalisers"):
        found = select(Y, X, beta=beta, error=error, rows=rows, random_state=random_state, n_jobs=n_jobs)
    count = min(rows, len(X))
    if session.json:
        size = {"vectors": len(Y), "dimensions": Y.shape[1], "rows": count}
        chosen = {"chosen": found.chosen.method, "meets_error": found.meets_error}
        tried = [vars(row) for row in found.tried]
        print_json({"beta": beta, **size, "lengthened": shortened, **chosen, "methods": tried})
        return
    say(session, f"error of log Z on {count:,} of {len(X):,} vectors, {len(Y):,} items, beta {beta:g}")
    table = [
        (row.method, f"{row.median_error:.2g}", f"{row.p95_error:.2g}", seconds(row.seconds), mark)
        for row in found.tried
        for mark in ["chosen" if row is found.chosen else ""]
    ]
    print_table(("method", "median error", "95%", "time for all", ""), table)
