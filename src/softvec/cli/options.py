"""Options that several commands share, and what their texts mean."""

from __future__ import annotations

import json
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softvec.cli.terminal import Settings

if TYPE_CHECKING:
    from softvec.embedding import Embedding

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but results and errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print results as JSON, for machines.")]
Seed = Annotated[int | None, typer.Option("--seed", help="Same seed, same result.")]
Threads = Annotated[int | None, typer.Option("--threads", "-t", help="Threads; by default all cores.", min=1)]
Vectors = Annotated[
    str, typer.Argument(metavar="VECTORS", help="File of vectors (.svec, .txt, .bin, .parquet, ...), or -.")
]
VectorFormat = Annotated[
    str | None,
    typer.Option("--format", help="Format of the vector file, where neither name nor content tell it."),
]


def load(path: str, format: str | None = None, settings: Settings | None = None) -> Embedding:
    """Read a file of vectors."""
    from softvec.cli.terminal import working
    from softvec.embedding import Embedding

    with working(settings or Settings(quiet=True), f"reading {path}"):
        return Embedding.load(path, format, mmap=path != "-")


def resolve(names: Any, text: str) -> Hashable:
    """Return the name that a word on the command line stands for.

    Strings are looked up as they are, then as integers, then as pairs: ``ada@3`` is ``("ada", 3)``.
    """
    if text in names:
        return text
    number = _number(text)
    if number is not None and number in names:
        return number
    if "@" in text:
        left, _, right = text.rpartition("@")
        for a in (left, _number(left)):
            for b in (right, _number(right), _decimal(right)):
                if a is not None and b is not None and (a, b) in names:
                    return (a, b)
    return number if number is not None and isinstance(names[0], int) else text


def _number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def _decimal(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def parse_settings(pairs: list[str]) -> dict[str, Any]:
    """Read ``name=value`` pairs; values are JSON where they can be, else text.

    >>> parse_settings(["n_neighbors=20", "metric=cosine", "mutual=true"])
    {'n_neighbors': 20, 'metric': 'cosine', 'mutual': True}
    """
    from softvec.errors import InputError

    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise InputError(f"--set {pair} is not of the form name=value")
        try:
            found[name.strip().replace("-", "_")] = json.loads(value)
        except ValueError:
            found[name.strip().replace("-", "_")] = value
    return found


def output_beside(source: str, extension: str) -> str:
    """Return where a result goes by default: beside the input, in the current directory for a stream."""
    if source == "-":
        return f"softvec{extension}"
    name = Path(source).name
    for zipped in (".gz", ".zst", ".bz2", ".xz"):
        name = name.removesuffix(zipped)
    return f"{Path(name).stem or name}{extension}"
