"""``softvec neighbors`` and ``softvec similarity``."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument
from typer import Option as Flag

from softvec.cli.options import Vectors, load_vectors, open_vectors, plain_name, resolve
from softvec.cli.terminal import Session, note, print_json, print_table, say
from softvec.core.checks import counted
from softvec.core.errors import InputError

if TYPE_CHECKING:
    from softvec.embedding import Embedding


@dataclass(frozen=True)
class Search:
    """Among which items neighbours are searched, and how they are ranked."""

    context: Annotated[bool, Flag("--context", help="Neighbours from the second side: items for a user.")] = (
        False
    )
    cosine: Annotated[
        bool,
        Flag("--cosine", help="Rank by the cosine alone (default: times the length, for graphs)."),
    ] = False
    type: Annotated[
        str | None, Flag("--type", help="Only items of this type, see embed --types (default: all).")
    ] = None

    def options(self) -> dict[str, str | None]:
        """Return the options of :meth:`softvec.Embedding.most_similar`."""
        among, rank = "context" if self.context else "rows", "cosine" if self.cosine else "auto"
        return {"among": among, "rank": rank, "type": self.type}


def neighbors(
    vectors: Vectors,
    names: Annotated[
        list[str] | None,
        Argument(metavar="NAMES", help="Names, or - for a list on standard input; unknown ones are skipped."),
    ] = None,
    n: Annotated[int, Flag("-n", "--number", help="Number of neighbours.", min=1)] = 10,
    minus: Annotated[
        list[str] | None,
        Flag("--minus", help="Name to subtract from the sum of the others; repeatable (default: none)."),
    ] = None,
    plus: Annotated[bool, Flag("--sum", help="Search once, for the sum of all names.")] = False,
    search: Search = Search(),
    *,
    session: Session,
) -> None:
    """List the nearest neighbours of items.

    [dim]Examples:[/dim]

      softvec neighbors words.svec happy sad

      softvec neighbors words.svec king woman --minus man

      softvec neighbors shop.svec ann --context --json
    """
    listed = names == ["-"]
    words = _given(names or [], vectors)
    emb = open_vectors(vectors, session)
    keys = [resolve(emb.names, word) for word in words]
    options: Any = search.options()
    if minus or plus:
        without = [resolve(emb.names, name) for name in minus or []]
        title = " + ".join(map(str, keys)) + "".join(f" - {name}" for name in without)
        answers = {title: emb.most_similar(keys, without, n, **options)}
    else:
        keys = _with_vectors(emb, keys) if listed else keys
        found = emb.most_similar_batch(keys, n, **options)
        answers = dict(zip(map(str, keys), found))
    if not session.quiet:
        _say_how(emb, keys)
    shown = {key: [(plain_name(name), score) for name, score in rows] for key, rows in answers.items()}
    _print_neighbours(shown, listed, session)


def _given(names: list[str], vectors: str) -> list[str]:
    """Return the names that are asked for, as arguments or on standard input."""
    if names == ["-"]:
        if vectors == "-":
            raise InputError("standard input holds the vectors; give the names as arguments")
        names = [line.rstrip("\r\n") for line in sys.stdin if line.strip()]
    if not names:
        raise InputError("no names given; try: softvec neighbors VECTORS NAME")
    return names


def _print_neighbours(answers: dict[str, list[tuple[Any, float]]], listed: bool, session: Session) -> None:
    if session.json:
        print_json({key: [{"name": a, "cosine": s} for a, s in rows] for key, rows in answers.items()})
        return
    keyed = (len(answers) > 1 or listed) and not sys.stdout.isatty()
    for key, rows in answers.items():
        table: list[tuple[Any, ...]] = [(key, *row) for row in rows] if keyed else list(rows)
        print_table(("name", "cosine"), table, title=key)


def _with_vectors(emb: Embedding, keys: list[Any]) -> list[Any]:
    """Return the names that have a vector, with a warning for each other one; an error if none has."""
    known, reasons = [], []
    for key in keys:
        try:
            emb.names.index(key)
        except InputError as error:
            reasons.append(error)
        else:
            known.append(key)
    if not known:
        raise reasons[0]
    for reason in reasons:
        warnings.warn(f"left out: {reason}", stacklevel=2)
    return known


def _say_how(emb: Any, keys: list[Any]) -> None:
    """Print the recall of an index, and the share of neighbours that seeds have in common, if measured."""
    index = vars(emb).get("index")
    if index is not None:
        note(f"searched with an index that finds {index.recall:.1%} of the true ten nearest")
    if not isinstance(emb.provenance.get("stability"), dict) or "stable_neighbours" not in emb.extras:
        return
    stability = emb.stability()
    shares = {key: float(stability.item_neighbours[emb.names.index(key)]) for key in keys[:20]}
    measured = [f"{plain_name(key)} {share:.0%}" for key, share in shares.items() if share == share]
    if measured:
        what = f"share of the {stability.n_neighbors} nearest that {stability.repeats} seeds have in common"
        note(f"{what}: {', '.join(measured)}")


def similarity(
    vectors: Vectors,
    names: Annotated[list[str] | None, Argument(metavar="NAMES", help="Pairs of names.")] = None,
    pairs: Annotated[
        str | None,
        Flag("--pairs", metavar="FILE", help="Lines of two names and a score, to correlate (default: none)."),
    ] = None,
    *,
    session: Session,
) -> None:
    """Print cosines of pairs of items, or their rank correlation with given scores.

    [dim]Examples:[/dim]

      softvec similarity words.svec cat dog cat car

      softvec similarity words.svec --pairs EN-WS-353-SIM.txt
    """
    if not names and pairs is None:
        raise InputError("no names given; try: softvec similarity VECTORS NAME NAME, or --pairs FILE")
    if len(names or []) % 2:
        raise InputError(f"{counted(len(names or []), 'name')} given; similarity takes pairs of names")
    emb = load_vectors(vectors, session)
    result: dict[str, Any] = {}
    if names:
        keys = [resolve(emb.names, name) for name in names]
        scores = [float(s) for s in emb.similarity(keys[::2], keys[1::2])]
        rows = [(plain_name(a), plain_name(b), s) for a, b, s in zip(keys[::2], keys[1::2], scores)]
        result["pairs"] = [{"a": a, "b": b, "cosine": s} for a, b, s in rows]
        if not session.json:
            print_table(("a", "b", "cosine"), rows)
    if pairs is not None:
        from softvec.evaluate import word_similarity

        correlation = word_similarity(emb, pairs)
        result["correlation"] = correlation.to_dict()
        if not session.json:
            known, total = correlation.settings["n_known"], correlation.settings["n_pairs"]
            say(session, f"{known:,} of {total:,} pairs have both names")
            print_table(("measure", "value"), list(correlation.mean.items()), title=pairs)
    if session.json:
        print_json(result)
