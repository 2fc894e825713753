"""``softvec communities``, ``softvec evaluate`` and ``softvec normalizer``."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from softvec.cli.flags import Labels, Regularization, Seed, Threads, VectorCommand, flag
from softvec.cli.tables import arrow, check_table, give, plain_name, print_table
from softvec.cli.terminal import print_json, seconds
from softvec.core.checks import counted
from softvec.core.errors import InputError

if TYPE_CHECKING:
    from softvec.embedding import Embedding


@dataclass(frozen=True, kw_only=True)
class Communities(VectorCommand):
    """Detect communities and list the community of each item.

    [dim]Examples:[/dim]
      softvec communities graph.svec -o groups.tsv
      softvec communities graph.svec -k 7 | head
      softvec communities graph.svec --graph edges.txt -o groups.tsv
    """

    n_clusters: int | None = flag("-k --number", "Number of communities (default: detected).", min=1)
    graph: str | None = flag(
        "--graph", "Graph file, to report the modularity of the communities (default: none).", metavar="FILE"
    )
    output: str = flag(
        "-o --output", "Table of name, community (.tsv, .csv, .parquet); - is standard output.", "-"
    )
    random_state: Seed = 0

    def run(self) -> None:
        """List the members, and say how large the communities are."""
        import numpy as np

        check_table(self.output)
        emb = self.load()
        groups = emb.cluster(self.n_clusters, random_state=self.random_state, verbose=self.shows_progress)
        sizes = np.bincount(groups[groups >= 0]).tolist()
        quality = {} if self.graph is None else {"modularity": self._modularity(self.graph, emb, groups)}
        rows = [(str(plain_name(name)), group) for name, group in zip(emb, groups.tolist())]
        facts = {"communities": len(sizes), "sizes": sizes, **quality}
        if self.json and self.output == "-":
            print_json({**facts, "output": "-", "members": dict(rows)})
            return
        give(self, self.output, ("name", "community"), rows, facts=facts, called="members")
        largest = ", ".join(f"{size:,}" for size in sizes[:8]) + (", ..." if len(sizes) > 8 else "")
        count = f"{len(sizes)} communities" if len(sizes) > 1 else "1 community"
        score = "".join(f", modularity {value:.4f}" for value in quality.values())
        of = f"{count} of {largest}" + (" items" if len(sizes) > 1 else "")
        self.say(of + score + arrow(self.output))

    def _modularity(self, path: str, emb: Embedding, groups: Any) -> float:
        from softvec.affinity import read
        from softvec.evaluate import modularity

        with self.working("reading the graph"):
            affinity = read(path, kind="graph")
        members = {name: group for name, group in zip(emb, groups.tolist()) if name in affinity.rows}
        if not members:
            raise InputError(f"no node of {path} has a vector (first node: {affinity.rows[0]!r})")
        if len(members) < len(affinity.rows):
            missing = counted(len(affinity.rows) - len(members), "node")
            warnings.warn(f"{missing} of {path} without a vector, each its own group", stacklevel=2)
        return modularity(affinity, members)


@dataclass(frozen=True, kw_only=True)
class Evaluate(VectorCommand):
    """Score the vectors against known labels, by logistic regression and k-means.

    [dim]Examples:[/dim]
      softvec evaluate cora.svec cora_labels.npy
      softvec evaluate ppi.svec ppi_labels.npz --ratio 0.1 --ratio 0.5 --json
    """

    labels: Labels
    ratio: list[float] | None = flag(
        "--ratio", "Share of labelled items to train on; repeatable (default: 0.5)."
    )
    repeats: int | None = flag(
        "--repeats", "Number of random splits (default: 5, 1 above 20,000 labelled items).", min=1
    )
    c: Regularization = "cv"
    random_state: Seed = 0

    def run(self) -> None:
        """Print a table of scores."""
        from softvec import evaluate as tasks
        from softvec.embedding.persons import of_labels

        emb, groups = of_labels(self.load(), self.labels)
        target = groups.members if groups.multiple else groups.codes
        labelled = int((groups.codes >= 0).sum())
        many = labelled > tasks.classification.MANY
        ratios, repeats = self._splits(labelled, tasks.classification.MANY)
        with self.working("logistic regression"):
            scores = tasks.node_classification(
                emb.vectors, target, ratios=ratios, repeats=repeats, C=self.c,
                random_state=self.random_state, verbose=many and self.shows_progress,
            )  # fmt: skip
        of_ratio = {str(share): score.to_dict() for share, score in scores.items()}
        result: dict[str, object] = {"classification": {"task": "node classification", "ratios": of_ratio}}
        rows = [
            (f"{metric.replace('_', ' ')}, {share:.0%} labelled", value, score.spread[metric])
            for share, score in scores.items()
            for metric, value in score.mean.items()
        ]
        if not groups.multiple:
            with self.working("communities"):
                n_init, seed = 1 if many else 10, self.random_state
                found = tasks.communities(emb.vectors, groups.codes, n_init=n_init, random_state=seed)
            result["communities"] = found.to_dict()
            rows += [
                (f"{metric}, k-means", value, found.spread[metric]) for metric, value in found.mean.items()
            ]
        if self.json:
            print_json(result)
            return
        kind = "several labels" if groups.multiple else "one label"
        classes = counted(len(groups.classes), "class", "classes")
        self.say(f"{labelled:,} of {len(emb):,} items labelled, {classes}, {kind} each")
        print_table(("score", "mean", "deviation"), rows)

    def _splits(self, labelled: int, most: int) -> tuple[tuple[float, ...], int]:
        """Return the ratios and the number of splits; by default one of at most so many items to train on."""
        if labelled <= most:
            return tuple(self.ratio or (0.5,)), self.repeats or 5
        ratios, repeats = tuple(self.ratio or (min(0.5, most / labelled),)), self.repeats or 1
        text = f"{labelled:,} labelled items: {counted(repeats, 'split')}, {ratios[0]:.0%} to train on"
        self.say(f"{text}, C chosen on 5,000 items; see --repeats and --ratio")
        return ratios, repeats


@dataclass(frozen=True, kw_only=True)
class Normalizer(VectorCommand):
    """Compare estimates of the softmax normaliser with the exact sum.

    For a sample of vectors x, log Z = log sum_y exp(beta x.y) is summed
    exactly and estimated by mixtures and control variates. The fastest
    within --error is marked. Vectors that were shortened after their fit
    have length 1 here, as in the softmax that was fitted.

    [dim]Examples:[/dim]
      softvec normalizer words.svec
      softvec normalizer glove.txt --beta 1 --error 0.001 --json
    """

    beta: float | None = flag("--beta", "Inverse temperature (default: that of the fit, or 1).")
    error: float = flag("--error", "Largest 95th percentile of the error of log Z.", 0.01)
    rows: int = flag("--rows", "Number of vectors to measure the error on.", 300, min=1)
    random_state: Seed = 0
    n_jobs: Threads = None

    def run(self) -> None:
        """Print a table of estimates, their errors and their time."""
        import numpy as np

        from softvec.core.checks import recorded
        from softvec.normalizers import select

        emb = self.load()
        fitted = recorded(emb, "parameters")
        beta = float(fitted.get("beta", 1.0)) if self.beta is None else self.beta
        X = np.array(emb.vectors)
        shortened = bool(fitted.get("shrinkage"))
        if shortened:
            X /= np.linalg.norm(X, axis=1, keepdims=True)  # none is 0: see softvec.api
            text = "vectors are scaled back to length 1: they were shortened after the fit"
            self.say(f"{text} ({self.vectors})")
        Y = X if emb.context_vectors is None else np.array(emb.context_vectors)
        with self.working("comparing normalisers"):
            found = select(
                Y, X, beta=beta, error=self.error, rows=self.rows, random_state=self.random_state,
                n_jobs=self.n_jobs,
            )  # fmt: skip
        count = min(self.rows, len(X))
        if self.json:
            size = {"vectors": len(Y), "dimensions": Y.shape[1], "rows": count}
            chosen = {"chosen": found.chosen.method, "meets_error": found.meets_error}
            tried = [vars(row) for row in found.tried]
            print_json({"beta": beta, **size, "lengthened": shortened, **chosen, "methods": tried})
            return
        self.say(f"error of log Z on {count:,} of {len(X):,} vectors, {len(Y):,} items, beta {beta:g}")
        table = [
            (row.method, f"{row.median_error:.2g}", f"{row.p95_error:.2g}", seconds(row.seconds), mark)
            for row in found.tried
            for mark in ["chosen" if row is found.chosen else ""]
        ]
        print_table(("method", "median error", "95%", "time for all", ""), table)
