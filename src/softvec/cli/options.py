"""Flags and arguments shared by several commands, and the parsing of their values."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from typer import Argument
from typer import Option as Flag

from softvec.cli.terminal import Session, working
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
Vectors = Annotated[
    str, Argument(metavar="VECTORS", help="Vector file (.svec, .txt, .bin, .parquet, ...), or -.")
]
Labels = Annotated[
    str,
    Argument(metavar="LABELS", help="Known labels: lines of name and label, .npy or .npz."),
]
Columns = Annotated[
    str | None, Flag("--columns", help="Columns of a table, e.g. from,to,weight or 0,1 (default: detected).")
]


def load_vectors(path: str, session: Session) -> Embedding:
    """Read a file of vectors."""
    from softvec.embedding import Embedding

    with working(session, f"reading {path}"):
        return Embedding.load(path, session.format, mmap=path != "-")


def open_vectors(path: str, session: Session) -> Embedding:
    """Read a file of vectors; those of a folder stay on disk."""
    if path == "-" or not os.path.isdir(path):
        return load_vectors(path, session)
    from softvec.embedding.files.parts import open_stored

    with working(session, f"reading {path}"):
        return open_stored(path)


def resolve(names: Any, text: str) -> Hashable:
    """Return the item name for a word on the command line.

    Strings are looked up as they are, then as integers, then as pairs: ``ada@3`` is ``("ada", 3)``.
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
    return number if number is not None and isinstance(names[0], int) else text


def _number(text: str, kind: Callable[[str], T]) -> T | None:
    try:
        return kind(text)
    except ValueError:
        return None


def plain_name(name: Any) -> Any:
    """Return a name as it is written on the command line: the pair ("ada", 3) is ada@3."""
    return "@".join(map(str, name)) if isinstance(name, tuple) else name


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


def columns_of(text: str | None) -> list[Any] | None:
    """Return the columns named on the command line: positions if all are numbers, else names."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    return [int(part) for part in parts] if all(part.isdigit() for part in parts) else parts


def check_target(target: str) -> None:
    """Raise an error, before any work, if the result cannot be written."""
    if target == "-":
        return
    from softvec.core.storage import Storage, is_url
    from softvec.embedding.files.formats import is_folder

    if is_url(target):
        return Storage(target).check_writable()

    folder = os.path.dirname(os.path.abspath(target))
    if is_folder(target):
        from softvec.embedding.files.folder import check_target as check_folder

        check_folder(Path(target))
    if not os.path.isdir(folder):
        raise InputError(f"cannot write {target}: the directory {folder} does not exist")
    if os.path.isdir(target) and not is_folder(target):
        raise InputError(f"{target} is a directory; give the name of a file with -o")
    special = os.path.exists(target) and not os.path.isfile(target)  # a device or a pipe
    if not os.access(target if special else folder, os.W_OK):
        raise InputError(f"cannot write {target}: no permission to write in {folder}")


def default_output(source: str, extension: str) -> str:
    """Return the default output: the name of the input with another extension, in the current directory."""
    if source == "-":
        return f"softvec{extension}"
    name = Path(source).name
    name = Path(source).resolve().name if name in ("", "..") else name
    for zipped in (".gz", ".zst", ".bz2", ".xz"):
        name = name.removesuffix(zipped)
    return f"{Path(name).stem or name}{extension}"
