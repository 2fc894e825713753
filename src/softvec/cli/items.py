"""``softvec add``, ``softvec links``, ``softvec recommend``, ``softvec predict`` and ``softvec epidemic``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument
from typer import Option as Flag

from softvec.cli.options import (
    Columns,
    Labels,
    Regularization,
    Seed,
    Threads,
    Vectors,
    check_target,
    columns_of,
    default_output,
    load_vectors,
    parse_settings,
    plain_name,
    regularization,
    resolve,
)
from softvec.cli.terminal import (
    Session,
    arrow,
    print_json,
    print_table,
    say,
    working,
    write_csv,
    write_parquet,
)
from softvec.core.checks import counted, recorded
from softvec.core.errors import InputError
from softvec.core.files import refuse_input_as_output

if TYPE_CHECKING:
    from softvec.embedding import Embedding
    from softvec.evaluate import EpidemicPrediction

_MODELS = {
    "prediction": "predicted",
    "no_vectors": "without vectors",
    "time": "from time alone",
    "prevalence": "from the share of infected alone",
}


@dataclass(frozen=True)
class NewItems:
    """How new items are added."""

    isolated: Annotated[
        str, Flag("--isolated", help="New items not connected to a known one: error or drop.")
    ] = "error"
    attributes: Annotated[
        str | None,
        Flag("--attributes", metavar="FILE", help="Table of attributes of new items (default: none)."),
    ] = None
    columns: Columns = None
    more: Annotated[
        list[str] | None,
        Flag("--set", metavar="NAME=VALUE", help="Any other option of the reader (default: none)."),
    ] = None
    n_jobs: Threads = None

    def options(self) -> dict[str, Any]:
        """Return the options of :meth:`softvec.Embedding.add`."""
        columns = {} if self.columns is None else {"columns": columns_of(self.columns)}
        own = {"isolated": self.isolated, "n_jobs": self.n_jobs, "attributes": self.attributes}
        return parse_settings(self.more or []) | columns | own


def add(
    vectors: Vectors,
    edges: Annotated[
        str | None,
        Argument(metavar="[EDGES]", help="Edges between new and known names; - is standard input."),
    ] = None,
    output: Annotated[
        str | None, Flag("-o", "--output", help="File for old and new vectors (default: VECTORS_added.svec).")
    ] = None,
    new: NewItems = NewItems(),
    *,
    session: Session,
) -> None:
    """Add new items to an embedding by edges, attributes or both; the old vectors do not change.

    [dim]Examples:[/dim]

      softvec add graph.svec new_edges.txt

      softvec add graph.svec --attributes new_people.csv

      softvec add shop.svec new_orders.csv --columns customer,article -o shop2.svec
    """
    from softvec.embedding.files.formats import format_of

    target = output or default_output(vectors, "_added.svec")
    written_as = format_of(target)
    check_target(target)
    if vectors == "-" and edges == "-":
        raise InputError("standard input holds the vectors; give the edges as a file")
    emb = load_vectors(vectors, session)
    with working(session, "adding items"):
        extended = emb.add(edges, **new.options())
    extended.save(target, written_as)
    added = extended.provenance["additions"][-1]
    if session.json and target != "-":
        print_json(
            {"output": target, "vectors": len(extended), "added": added["items"], "edges": added["edges"]}
        )
    say(
        session,
        f"{counted(added['items'], 'item')} added by {counted(added['edges'], 'edge')}: "
        f"{len(extended):,} vectors -> {target}",
    )


@dataclass(frozen=True)
class KnownLinks:
    """How known links are read."""

    attributes: Annotated[
        str | None,
        Flag("--attributes", metavar="FILE", help="Attributes the vectors were fitted with (default: none)."),
    ] = None
    columns: Columns = None
    n_jobs: Threads = None

    def options(self) -> dict[str, Any]:
        """Return the options of :meth:`softvec.Embedding.links`."""
        values = {"columns": columns_of(self.columns), "attributes": self.attributes}
        return {"n_jobs": self.n_jobs, **{name: value for name, value in values.items() if value is not None}}


def links(
    vectors: Vectors,
    exclude: Annotated[
        str,
        Flag(
            "--graph",
            metavar="FILE",
            help="Known links, usually the embedded data: left out, and some hidden to calibrate.",
        ),
    ],
    n: Annotated[int, Flag("-n", "--number", help="Number of links.", min=1)] = 100,
    of: Annotated[
        str | None, Flag("--of", metavar="NAME", help="Only links of this item (default: all links).")
    ] = None,
    missing: Annotated[
        float, Flag("--missing", help="Share of all links that the data is assumed to lack.")
    ] = 0.1,
    known: KnownLinks = KnownLinks(),
    *,
    session: Session,
) -> None:
    """List the most likely missing links, with probabilities calibrated on hidden links.

    [dim]Examples:[/dim]

      softvec links graph.svec --graph edges.txt -n 20

      softvec links shop.svec --graph orders.csv --of ann --json
    """
    emb = load_vectors(vectors, session)
    item = None if of is None else resolve(emb.names, of)
    if not recorded(emb, "softmax"):
        with working(session, "calibrating on hidden links"):
            emb = emb.calibrate(exclude, **known.options())
    with working(session, "comparing pairs"):
        likeliest = emb.links(n, item=item, exclude=exclude, missing=missing, **known.options())
    softmax = emb.provenance["softmax"]
    say(
        session,
        f"{softmax['nats_gained']:+.2f} ± {softmax['standard_error']:.2f} nats over popularity on "
        f"{counted(softmax['n_hidden'], 'hidden link')}",
    )
    rows = [(plain_name(a), plain_name(b), *numbers) for a, b, *numbers in likeliest]
    keys = ("a", "b", "probability", "expected")
    if session.json:
        print_json([dict(zip(keys, row)) for row in rows])
    else:
        print_table(keys, [(a, b, *(f"{value:.3g}" for value in numbers)) for a, b, *numbers in rows])


def recommend(
    vectors: Vectors,
    users: Annotated[
        list[str] | None, Argument(metavar="USERS", help="Names of users (default: all).")
    ] = None,
    known: Annotated[
        str | None,
        Flag("--known", metavar="FILE", help="Known pairs, which are left out (default: the embedded file)."),
    ] = None,
    n: Annotated[int, Flag("-n", "--number", help="Number of items of each user.", min=1)] = 10,
    output: Annotated[
        str, Flag("-o", "--output", help="CSV or parquet of user, item, score; - is standard output.")
    ] = "-",
    columns: Columns = None,
    n_jobs: Threads = None,
    *,
    session: Session,
) -> None:
    """Recommend new items to users, for vectors of two sides.

    [dim]Examples:[/dim]

      softvec recommend shop.svec -n 10 -o top.parquet

      softvec recommend shop.svec ann bob --known orders.csv
    """
    if os.path.splitext(output)[1] not in ("", ".csv", ".parquet"):
        raise InputError(f"{output}: recommendations are written as .csv or .parquet")
    check_target(output)
    emb = load_vectors(vectors, session)
    source = known or _embedded_file(emb, output, session)
    options = {} if columns is None else {"columns": columns_of(columns)}
    wanted = [resolve(emb.names, user) for user in users or []]
    with working(session, "recommending"):
        best = emb.recommend(wanted or None, n, known=source, n_jobs=n_jobs, **options)
    keys = ("user", "item", "score")
    rows = [(plain_name(user), plain_name(item), s) for user, tops in best.items() for item, s in tops]
    if output.endswith(".parquet"):
        write_parquet(output, keys, rows)
    elif output != "-":
        write_csv(output, keys, ((user, item, f"{score:.6g}") for user, item, score in rows))
    elif session.json:
        print_json(records(keys, rows))
    else:
        print_table(keys, rows)
    say(session, f"{counted(len(rows), 'item')} for {counted(len(best), 'user')}" + arrow(output))


def _embedded_file(emb: Embedding, output: str, session: Session) -> str:
    """Return the file that was embedded, whose pairs are known; refuse to write over it."""
    source = recorded(emb, "data").get("source")
    if source is None or not os.path.exists(source):
        raise InputError("the embedded file is not there; pass the known pairs with --known FILE")
    refuse_input_as_output(source, output)
    say(session, f"known pairs, which are left out, from {source}")
    return str(source)


def predict(
    vectors: Vectors,
    labels: Labels,
    output: Annotated[
        str, Flag("-o", "--output", help="CSV of name, label, probability; - is standard output.")
    ] = "-",
    c: Regularization = "cv",
    *,
    session: Session,
) -> None:
    """Predict the labels of unlabelled items.

    [dim]Examples:[/dim]

      softvec predict genes.svec functions.tsv -o predicted.csv
    """
    check_target(output)
    emb = load_vectors(vectors, session)
    with working(session, "logistic regression"):
        predicted = emb.predict(labels, C=regularization(c))
    keys = ("name", "label", "probability")
    rows = [(plain_name(name), label, probability) for name, label, probability in predicted]
    if output != "-":
        write_csv(output, keys, ((name, label, f"{p:.6g}") for name, label, p in rows))
    if session.json:
        shown = {"output": output, "items": len(rows)} if output != "-" else {"items": records(keys, rows)}
        summary = {"labelled": predicted.n_labelled, "accuracy": predicted.accuracy, "C": predicted.C}
        print_json(summary | shown)
        return
    if output == "-":
        print_table(keys, rows)
    classes = counted(len(predicted.classes), "class", "classes")
    say(
        session,
        f"{counted(len(rows), 'label')} of {classes}, predicted from {predicted.n_labelled:,} known labels; "
        f"cross-validated accuracy {predicted.accuracy:.1%}" + arrow(output),
    )


def records(keys: tuple[str, ...], rows: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Return rows as dictionaries."""
    return [dict(zip(keys, row)) for row in rows]


@dataclass(frozen=True)
class EpidemicFlags:
    """How an epidemic is predicted."""

    active_only: Annotated[
        bool, Flag("--active-only", help="Only people with a contact in the window, in the curve too.")
    ] = False
    level: Annotated[float, Flag("--level", help="Coverage of the band.")] = 0.9
    seed: Seed = 0
    threads: Threads = None

    def options(self) -> dict[str, Any]:
        """Return the options of :func:`softvec.evaluate.predict_epidemic`."""
        run = {"random_state": self.seed, "n_jobs": self.threads}
        return {"everyone": not self.active_only, "level": self.level, **run}


def epidemic(
    vectors: Vectors,
    observations: Annotated[
        str, Argument(metavar="OBSERVATIONS", help="CSV with the columns person, time, state (1 or 0).")
    ],
    output: Annotated[
        str, Flag("-o", "--output", help="CSV of person, time, probability; - is standard output.")
    ] = "-",
    contacts: Annotated[
        str | None,
        Flag("--contacts", metavar="FILE", help="Contacts that were embedded; they help (default: none)."),
    ] = None,
    curve: Annotated[
        str | None,
        Flag("--curve", metavar="FILE", help="CSV of the number of infected, with a band (default: none)."),
    ] = None,
    plot: Annotated[
        str | None,
        Flag("--plot", metavar="FILE", help="Plot of the curve: .png, .pdf or .svg (default: none)."),
    ] = None,
    model: EpidemicFlags = EpidemicFlags(),
    *,
    session: Session,
) -> None:
    """Predict infections over time, from vectors of contacts and some observed states.

    [dim]Examples:[/dim]

      softvec embed contacts.csv -k temporal --window 15min

      softvec epidemic contacts.svec tests.csv --contacts contacts.csv --plot curve.png
    """
    from softvec.evaluate import predict_epidemic

    for target in (output, curve, plot):
        check_target(target or "-")
    emb = load_vectors(vectors, session)
    with working(session, "logistic regression"):
        result = predict_epidemic(emb, observations, contacts=contacts, **model.options())
    rows = [(*pair[:2], f"{pair.probability:.6g}", *map(int, pair[3:])) for pair in result]
    keys = ("person", "time", "probability", "observed", "active")
    points = list(zip(sorted(set(result.times)), *(values.tolist() for values in result.curve[1:])))
    if output != "-":
        write_csv(output, keys, rows)
    if curve is not None:
        shown = [(time, *(f"{value:.6g}" for value in numbers)) for time, *numbers in points]
        write_csv(curve, ("time", "expected", "low", "high"), shown)
    if plot is not None:
        from softvec.cli.map import plotting_module

        plotting_module().save(result.plot(), plot)
    if session.json:
        print_json(_epidemic_summary(result, points, output, plot))
        return
    if output == "-":
        print_table(keys, rows)
    say(session, repr(result).strip("<>") + arrow(output, plot))
    losses = ", ".join(f"{values['log_loss']:.3f} {_MODELS[name]}" for name, values in result.scores.items())
    say(session, f"cross-validated log loss: {losses}")


def _epidemic_summary(
    result: EpidemicPrediction, points: list[tuple[Any, ...]], output: str, plot: str | None
) -> dict[str, Any]:
    listed = {"output": output} if output != "-" else {"probabilities": [pair._asdict() for pair in result]}
    return {
        "observations": int(result.observed.sum()),
        "pairs": len(result),
        "scores": result.scores,
        "level": result.level,
        "curve": records(("time", "expected", "low", "high"), points),
        "plot": plot,
        **listed,
    }
