"""Flags and arguments shared by several commands, and the parsing of their values."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from typer import Argument
from typer import Option as Flag

from softvec.cli.flags import Command, argument, flag
from softvec.cli.terminal import Session, say, working
from softvec.core.errors import InputError

if TYPE_CHECKING:
    from softvec.embedding import Embedding

T = TypeVar("T")

_MOST = 2**32 - 1  # the largest seed of both NumPy and scikit-learn
Seed = Annotated[int | None, Flag("--seed", help="Random seed: same seed, same result.", min=0, max=_MOST)]
Threads = Annotated[
    int | None, Flag("--threads", "-t", help="Number of threads (default: all cores).", min=1)
]
Regularization = Annotated[str, Flag("--C", help="Inverse regularisation, or cv for cross-validation.")]
Labels = Annotated[
    str, Argument(metavar="LABELS", help="Known labels: lines of name and label, .npy or .npz.")
]
Columns = Annotated[
    str | None, Flag("--columns", help="Columns of a table, e.g. from,to,weight or 0,1 (default: detected).")
]
Others = Annotated[
    list[str] | None,
    Flag("--set", metavar="NAME=VALUE", help="Any other option of the reader (default: none)."),
]


@dataclass(frozen=True, kw_only=True)
class VectorCommand(Command):
    """A command on a file of vectors."""

    vectors: str = argument("VECTORS", "Vector file (.svec, .txt, .bin, .parquet, ...), or -.")
    format: str | None = flag("--format", "Format of the vector file (default: detected).")

    def load(self) -> Embedding:
        """Read the vectors."""
        return load_vectors(self.vectors, self, self.format)

    def open(self) -> Embedding:
        """Read the vectors; those of a folder stay on disk."""
        if self.vectors == "-" or not os.path.isdir(self.vectors):
            return self.load()
        from softvec.embedding.files.parts import open_stored

        with working(self, f"reading {self.vectors}"):
            return open_stored(self.vectors)


def load_vectors(path: str, session: Session, format: str | None = None) -> Embedding:
    """Read a file of vectors."""
    from softvec.embedding import Embedding

    with working(session, f"reading {path}"):
        return Embedding.load(path, format, mmap=path != "-")


def resolve(names: Any, text: str) -> Hashable:
    """Return the item name for a word on the command line.

    Strings are looked up as they are, then as integers, then as pairs: ``ada@3`` is ``("ada", 3)``, then as
    persons, the first parts of pairs.
    """
    if text in names:
        return text
    number = _number(text, int)
    if number is not None and number in names:
        return number
    if "@" in text:
        left, _, right = text.rpartition("@")
        for a in (left, _number(left, int)):
            for b in (right, _number(right, int), _number(right, float)):
                if a is not None and b is not None and (a, b) in names:
                    return (a, b)
    pairs = names.owners()
    if pairs is not None:
        return resolve(pairs[0], text)
    return number if number is not None and isinstance(names[0], int) else text


def _number(text: str, kind: Callable[[str], T]) -> T | None:
    try:
        return kind(text)
    except ValueError:
        return None


def plain_name(name: Any) -> Any:
    """Return a name as it is written on the command line: the pair ("ada", 3) is ada@3."""
    return "@".join(map(str, name)) if isinstance(name, tuple) else name


def say_zeros(session: Session, emb: Embedding, names: Sequence[Any], what: str) -> None:
    """Say which of some items have a zero vector, and so none of what was asked for."""
    zeros = [str(plain_name(name)) for name in names if not emb[name].any()]
    if zeros:
        shown = ", ".join(zeros[:5]) + (", ..." if len(zeros) > 5 else "")
        say(session, f"{shown}: a zero vector, as of an item without edges, has no {what}")


def regularization(text: str) -> float | str:
    """Return the value of ``--C``: a number, or "cv"."""
    value = text if text == "cv" else _number(text, float)
    if value is None:
        raise InputError(f"--C is {text!r}; expected a positive number or cv")
    return value


def parse_settings(pairs: list[str]) -> dict[str, Any]:
    """Parse ``name=value`` pairs; values are JSON or a constant of Python if they can be, else text.

    >>> parse_settings(["n_neighbors=20", "metric=cosine", "mutual=true", "symmetric=False"])
    {'n_neighbors': 20, 'metric': 'cosine', 'mutual': True, 'symmetric': False}
    """
    constants = {"True": True, "False": False, "None": None}
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise InputError(f"--set {pair} is not of the form name=value")
        try:
            values[name.strip().replace("-", "_")] = json.loads(value)
        except ValueError:
            values[name.strip().replace("-", "_")] = constants.get(value, value)
    return values


def columns_option(text: str | None) -> dict[str, Any]:
    """Return the option ``columns``, if it is set: positions if all are numbers, else names."""
    if text is None:
        return {}
    parts = [part.strip() for part in text.split(",")]
    return {"columns": [int(part) for part in parts] if all(part.isdigit() for part in parts) else parts}
