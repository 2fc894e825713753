"""``softvec neighbors`` and ``softvec similarity``."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from softvec.cli.flags import VectorCommand, argument, flag, resolve
from softvec.cli.tables import plain_name, print_table, records
from softvec.cli.terminal import note, print_json
from softvec.core.checks import Json, counted, recorded
from softvec.core.errors import InputError

if TYPE_CHECKING:
    from softvec.embedding import Embedding


@dataclass(frozen=True, kw_only=True)
class Neighbors(VectorCommand):
    """List the nearest neighbours of items.

    [dim]Examples:[/dim]
      softvec neighbors words.svec happy sad
      softvec neighbors words.svec king woman --minus man
      softvec neighbors shop.svec ann --context --json
    """

    names: list[str] | None = argument(
        "NAMES", "Names, or - for a list on standard input; unknown ones are skipped.", None
    )
    n: int = flag("-n --number", "Number of neighbours.", 10, min=1)
    minus: list[str] | None = flag(
        "--minus", "Name to subtract from the sum of the others; repeatable (default: none)."
    )
    plus: bool = flag("--sum", "Search once, for the sum of all names.", False)
    context: bool = flag("--context", "Neighbours from the second side: items for a user.", False)
    cosine: bool = flag(
        "--cosine", "Rank by the cosine alone (default: times the length, for graphs).", False
    )
    type: str | None = flag("--type", "Only items of this type, see embed --types (default: all).")

    def run(self) -> None:
        """Search once for each name, or once for a sum."""
        from softvec.embedding.persons import of_persons

        listed = self.names == ["-"]
        words = _given(self.names or [], self.vectors)
        emb = self.open()
        keys = [resolve(emb.names, word) for word in words]
        emb = of_persons(emb, keys)
        among, rank = "context" if self.context else "rows", "cosine" if self.cosine else "auto"
        options: Any = {"among": among, "rank": rank, "type": self.type}
        if self.minus or self.plus:
            without = [resolve(emb.names, name) for name in self.minus or []]
            title = " + ".join(map(str, keys)) + "".join(f" - {name}" for name in without)
            answers = {title: emb.most_similar(keys, without, self.n, **options)}
        else:
            keys = _with_vectors(emb, keys) if listed else keys
            answers = dict(zip(map(str, keys), emb.most_similar_batch(keys, self.n, **options)))
        self.say_zeros(emb, keys, "neighbours")
        self._say_how(emb, keys)
        self._print(answers, listed)

    def _print(self, answers: dict[str, list[tuple[Any, float]]], listed: bool) -> None:
        if self.json:
            print_json({key: records(("name", "cosine"), rows) for key, rows in answers.items()})
            return
        if any(a[1] < b[1] for rows in answers.values() for a, b in pairwise(rows)):
            self.say("ranked by cosine times length; --cosine ranks by the cosine alone")
        keyed = (len(answers) > 1 or listed) and not sys.stdout.isatty()
        for key, rows in answers.items():
            table: list[tuple[Any, ...]] = [(key, *row) for row in rows] if keyed else list(rows)
            print_table(("name", "cosine"), table, title=key)

    def _say_how(self, emb: Embedding, keys: list[Any]) -> None:
        """Print the share of neighbours that seeds have in common, if measured."""
        measured = recorded(emb, "stability") and "stable_neighbours" in emb.extras
        if self.quiet or not measured:
            return
        stability = emb.stability()
        shares = {key: float(stability.item_neighbours[emb.names.index(key)]) for key in keys[:20]}
        shown = [f"{plain_name(key)} {share:.0%}" for key, share in shares.items() if share == share]
        if shown:
            what = (
                f"share of the {stability.n_neighbors} nearest that {stability.repeats} seeds have in common"
            )
            note(f"{what}: {', '.join(shown)}")


def _given(names: list[str], vectors: str) -> list[str]:
    """Return the names that are asked for, as arguments or on standard input."""
    if names == ["-"]:
        if vectors == "-":
            raise InputError("standard input holds the vectors; give the names as arguments")
        names = [line.rstrip("\r\n") for line in sys.stdin if line.strip()]
    if not names:
        raise InputError("no names given; try: softvec neighbors VECTORS NAME")
    return names


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


@dataclass(frozen=True, kw_only=True)
class Similarity(VectorCommand):
    """Print cosines of pairs of items, or their rank correlation with given scores.

    [dim]Examples:[/dim]
      softvec similarity words.svec cat dog cat car
      softvec similarity words.svec --pairs EN-WS-353-SIM.txt
    """

    names: list[str] | None = argument("NAMES", "Pairs of names.", None)
    pairs: str | None = flag(
        "--pairs", "Lines of two names and a score, to correlate (default: none).", metavar="FILE"
    )

    def run(self) -> None:
        """Print a table of pairs, then one of the correlation."""
        words = self.names or []
        if not words and self.pairs is None:
            raise InputError("no names given; try: softvec similarity VECTORS NAME NAME, or --pairs FILE")
        if len(words) % 2:
            raise InputError(f"{counted(len(words), 'name')} given; similarity takes pairs of names")
        emb = self.load()
        result: Json = {}
        if words:
            keys = [resolve(emb.names, name) for name in words]
            scores = emb.similarity(keys[::2], keys[1::2]).tolist()
            rows = list(zip(keys[::2], keys[1::2], scores))
            result["pairs"] = records(("a", "b", "cosine"), rows)
            if not self.json:
                print_table(("a", "b", "cosine"), rows)
        if self.pairs is not None:
            from softvec.evaluate import word_similarity

            correlation = word_similarity(emb, self.pairs)
            result["correlation"] = correlation.to_dict()
            if not self.json:
                known, total = correlation.settings["n_known"], correlation.settings["n_pairs"]
                self.say(f"{known:,} of {total:,} pairs have both names")
                print_table(("measure", "value"), list(correlation.mean.items()), title=self.pairs)
        if self.json:
            print_json(result)
