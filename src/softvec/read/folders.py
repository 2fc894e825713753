"""A corpus of several files: a folder, or a pattern such as ``texts/*.txt``."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from softvec.core.errors import InputError, Option
from softvec.read.streams import SUFFIXES

_DATA = frozenset(
    (".csv", ".tsv", ".tab", ".edges", ".edgelist", ".el", ".mtx", ".npz", ".npy", ".mat", ".parquet",
     ".arrow", ".feather", ".graphml", ".gml", ".h5ad", ".svec")
)  # fmt: skip


def text_files(where: Any, pattern: str = "*", kind: str | None = None) -> list[Path] | None:
    """Return the visible files of a folder, or those matching a pattern, sorted.

    Returns None if ``where`` is neither. It is an error if a pattern matches files of tables or matrices,
    unless ``kind`` is given.
    """
    if not isinstance(where, str | os.PathLike) or os.fspath(where) == "-":
        return None
    path = Path(where)
    if path.is_dir():
        files = visible_files(path.rglob(pattern), path)
        if not files:
            raise InputError(f"{where} holds no files that match {pattern!r}")
        return files
    text = os.fspath(where)
    if not isinstance(text, str) or not glob.has_magic(text) or path.exists():
        return None
    files = visible_files(map(Path, glob.glob(text, recursive=True)), Path())
    if not files:
        raise InputError(f"no file matches {text!r}")
    tables = [file for file in files if is_table(file)]
    if tables and kind is None:
        raise InputError(
            f"{text!r} matches {tables[0].name}, which is not text, but a pattern is read as a corpus; pass "
            "one file, or ",
            Option("kind", "corpus"),
            ", or, for edges in several files, ",
            Option("cluster", "local:2"),
        )
    return files


def is_table(path: Path) -> bool:
    """Whether the extension of a file is that of a table or a matrix."""
    return _suffix(path) in _DATA


def visible_files(paths: Iterable[Path], folder: Path) -> list[Path]:
    """Return the paths that are files, not hidden, and not in a hidden folder below ``folder``."""
    below = ((path, path.relative_to(folder) if folder != Path() else Path(path.name)) for path in paths)
    shown = (path for path, part in below if not any(name.startswith(".") for name in part.parts))
    return sorted(path for path in shown if path.is_file())


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix in SUFFIXES else suffix
