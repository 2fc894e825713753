"""``softvec add``, ``softvec links``, ``softvec recommend``, ``softvec predict`` and ``softvec epidemic``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from softvec.cli.flags import (
    Columns,
    Labels,
    Others,
    Regularization,
    Seed,
    Threads,
    VectorCommand,
    argument,
    flag,
    given,
    parse_settings,
    resolve,
)
from softvec.cli.tables import arrow, check_table, check_target, default_output, give, records, write_table
from softvec.core.checks import counted, recorded
from softvec.core.errors import InputError
from softvec.core.files import refuse_input_as_output

if TYPE_CHECKING:
    from softvec.embedding import Embedding

_MODELS = {
    "prediction": "predicted",
    "no_vectors": "without vectors",
    "time": "from time alone",
    "prevalence": "from the share of infected alone",
}
_STATES = ("person", "time", "probability", "observed", "active")
_CURVE = ("time", "expected", "low", "high")


@dataclass(frozen=True, kw_only=True)
class Add(VectorCommand):
    """Add new items to an embedding by edges, attributes or both; the old vectors do not change.

    [dim]Examples:[/dim]
      softvec add graph.svec new_edges.txt
      softvec add graph.svec --attributes new_people.csv
      softvec add shop.svec new_orders.csv --columns customer,article -o shop2.svec
    """

    edges: str | None = argument("[EDGES]", "Edges between new and known names; - is standard input.", None)
    output: str | None = flag("-o --output", "File for old and new vectors (default: VECTORS_added.svec).")
    isolated: str = flag("--isolated", "New items not connected to a known one: error or drop.", "error")
    attributes: str | None = flag(
        "--attributes", "Table of attributes of new items (default: none).", metavar="FILE"
    )
    columns: Columns = None
    more: Others = None
    n_jobs: Threads = None

    def run(self) -> None:
        """Write the old and the new vectors."""
        from softvec.embedding.files.formats import format_of

        target = self.output or default_output(self.vectors, "_added.svec")
        written_as = format_of(target)
        check_target(target)
        if self.vectors == "-" and self.edges == "-":
            raise InputError("standard input holds the vectors; give the edges as a file")
        options = parse_settings(self.more or []) | given(columns=self.columns)
        options |= {"isolated": self.isolated, "n_jobs": self.n_jobs, "attributes": self.attributes}
        emb = self.load()
        with self.working("adding items"):
            extended = emb.add(self.edges, **options)
        extended.save(target, written_as)
        added = extended.provenance["additions"][-1]
        items, edges = counted(added["items"], "item"), counted(added["edges"], "edge")
        text = f"{items} added by {edges}: {len(extended):,} vectors -> {target}"
        self.wrote(target, text, vectors=len(extended), added=added["items"], edges=added["edges"])


@dataclass(frozen=True, kw_only=True)
class Links(VectorCommand):
    """List the most likely missing links, with probabilities calibrated on hidden links.

    [dim]Examples:[/dim]
      softvec links graph.svec --graph edges.txt -n 20
      softvec links shop.svec --graph orders.csv --of ann --json
    """

    exclude: str = flag(
        "--graph",
        "Known links, usually the embedded data: left out, and some hidden to calibrate.",
        ...,
        metavar="FILE",
    )
    n: int = flag("-n --number", "Number of links.", 100, min=1)
    of: str | None = flag("--of", "Only links of this item (default: all links).", metavar="NAME")
    missing: float = flag("--missing", "Share of all links that the data is assumed to lack.", 0.1)
    attributes: str | None = flag(
        "--attributes", "Attributes the vectors were fitted with (default: none).", metavar="FILE"
    )
    columns: Columns = None
    more: Others = None
    n_jobs: Threads = None

    def run(self) -> None:
        """Calibrate where the vectors are not, and print the links."""
        known = parse_settings(self.more or [])
        known |= given(columns=self.columns, attributes=self.attributes, n_jobs=self.n_jobs)
        emb = self.load()
        item = None if self.of is None else resolve(emb.names, self.of)
        if not recorded(emb, "softmax"):
            with self.working("calibrating on hidden links"):
                emb = emb.calibrate(self.exclude, **known)
        with self.working("comparing pairs"):
            likeliest = emb.links(self.n, item=item, exclude=self.exclude, missing=self.missing, **known)
        self.say_zeros(emb, [] if item is None else [item], "links")
        softmax = emb.provenance["softmax"]
        gain = f"{softmax['nats_gained']:+.2f} ± {softmax['standard_error']:.2f} nats over popularity"
        by = f", told by the {softmax['source']}" if "source" in softmax else ""
        self.say(f"{gain} on {counted(softmax['n_hidden'], 'hidden link')}{by}")
        give(self, "-", ("a", "b", "probability", "expected"), likeliest)


@dataclass(frozen=True, kw_only=True)
class Recommend(VectorCommand):
    """Recommend new items to users, for vectors of two sides.

    [dim]Examples:[/dim]
      softvec recommend shop.svec -n 10 -o top.parquet
      softvec recommend shop.svec ann bob --known orders.csv
    """

    users: list[str] | None = argument("USERS", "Names of users (default: all).", None)
    known: str | None = flag(
        "--known", "Known pairs, which are left out (default: the embedded file).", metavar="FILE"
    )
    n: int = flag("-n --number", "Number of items of each user.", 10, min=1)
    output: str = flag(
        "-o --output", "Table of user, item, score (.csv, .tsv, .parquet); - is standard output.", "-"
    )
    columns: Columns = None
    n_jobs: Threads = None

    def run(self) -> None:
        """Write or print the items of each user."""
        check_table(self.output)
        emb = self.load()
        source = self.known or self._embedded_file(emb)
        wanted = [resolve(emb.names, user) for user in self.users or []]
        options = given(columns=self.columns, known=source, n_jobs=self.n_jobs)
        with self.working("recommending"):
            best = emb.recommend(wanted or None, self.n, **options)
        rows = [(user, *top) for user, tops in best.items() for top in tops]
        give(self, self.output, ("user", "item", "score"), rows)
        self.say(f"{counted(len(rows), 'item')} for {counted(len(best), 'user')}{arrow(self.output)}")

    def _embedded_file(self, emb: Embedding) -> str:
        """Return the file that was embedded, whose pairs are known; refuse to write over it."""
        source = recorded(emb, "data").get("source")
        if source is None or not os.path.exists(source):
            raise InputError("the embedded file is not there; pass the known pairs with --known FILE")
        refuse_input_as_output(source, self.output)
        self.say(f"known pairs, which are left out, from {source}")
        return str(source)


@dataclass(frozen=True, kw_only=True)
class Predict(VectorCommand):
    """Predict the labels of unlabelled items.

    [dim]Examples:[/dim]
      softvec predict genes.svec functions.tsv -o predicted.csv
    """

    labels: Labels
    output: str = flag(
        "-o --output", "Table of name, label, probability (.csv, .tsv, .parquet); - is standard output.", "-"
    )
    top: int | None = flag("--top", "Number of labels of each item, most likely first (default: 1).", min=1)
    threshold: float | None = flag(
        "--threshold", "All labels of at least this probability (default: none).", min=0, max=1
    )
    every: bool = flag("--all", "All labels of each item.", False)
    c: Regularization = "cv"

    def run(self) -> None:
        """Write or print the labels, and say how accurate they are."""
        check_table(self.output)
        if self.every and (self.top is not None or self.threshold is not None):
            raise InputError("--all gives every label of each item; leave it out, or --top and --threshold")
        emb = self.load()
        with self.working("logistic regression"):
            predicted = emb.predict(self.labels, C=self.c)
        n = self.top if self.top or self.every or self.threshold is not None else 1
        rows = predicted.several(n, self.threshold or 0.0)
        facts = {"labelled": predicted.n_labelled, "accuracy": predicted.accuracy, "C": predicted.C}
        facts |= {} if self.output == "-" else {"items": len(predicted)}
        give(self, self.output, ("name", "label", "probability"), rows, facts=facts, called="items")
        of = f"{counted(len(rows), 'label')} of {counted(len(predicted.classes), 'class', 'classes')}"
        known = f"predicted from {predicted.n_labelled:,} known labels"
        accuracy = f"cross-validated accuracy {predicted.accuracy:.1%}"
        if predicted.multiple:
            accuracy += " (the most likely label is one of the item's own)"
        self.say(f"{of}, {known}; {accuracy}{arrow(self.output)}")


@dataclass(frozen=True, kw_only=True)
class Epidemic(VectorCommand):
    """Predict infections over time, from vectors of contacts and some observed states.

    [dim]Examples:[/dim]
      softvec embed contacts.csv -k temporal --window 15min
      softvec epidemic contacts.svec tests.csv --contacts contacts.csv --plot curve.png
    """

    observations: str = argument("OBSERVATIONS", "CSV with the columns person, time, state (1 or 0).")
    output: str = flag(
        "-o --output", "Table of person, time, probability (.csv, .tsv, .parquet); - is standard output.", "-"
    )
    contacts: str | None = flag(
        "--contacts", "Contacts that were embedded; they help (default: none).", metavar="FILE"
    )
    curve: str | None = flag(
        "--curve", "Table of the number of infected, with a band (default: none).", metavar="FILE"
    )
    plot: str | None = flag(
        "--plot", "Plot of the curve: .png, .pdf or .svg (default: none).", metavar="FILE"
    )
    active_only: bool = flag(
        "--active-only", "Only people with a contact in the window, in the curve too.", False
    )
    level: float = flag("--level", "Coverage of the band.", 0.9)
    seed: Seed = 0
    threads: Threads = None

    def run(self) -> None:
        """Write or print the probabilities; write and draw the curve."""
        from softvec.evaluate import predict_epidemic

        check_table(self.output)
        check_table(self.curve or "-")
        check_target(self.plot or "-")
        emb = self.load()
        with self.working("logistic regression"):
            result = predict_epidemic(
                emb, self.observations, contacts=self.contacts, everyone=not self.active_only,
                level=self.level, random_state=self.seed, n_jobs=self.threads,
            )  # fmt: skip
        curve = list(zip(sorted(set(result.times)), *(values.tolist() for values in result.curve[1:])))
        if self.curve is not None:
            write_table(self.curve, _CURVE, curve)
        if self.plot is not None:
            from softvec.cli.map import plotting_module

            plotting_module().save(result.plot(), self.plot)
        facts = {"observations": int(result.observed.sum()), "pairs": len(result), "scores": result.scores}
        facts |= {"level": result.level, "curve": records(_CURVE, curve), "plot": self.plot}
        give(self, self.output, _STATES, list(result), facts=facts, called="probabilities")
        self.say(repr(result).strip("<>") + arrow(self.output, self.plot))
        losses = (f"{values['log_loss']:.3f} {_MODELS[name]}" for name, values in result.scores.items())
        self.say(f"cross-validated log loss: {', '.join(losses)}")
