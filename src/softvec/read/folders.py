"""Several files: a folder, a pattern such as ``texts/*.txt``, or a list of paths."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from softvec.core.errors import InputError, Option
from softvec.core.storage import is_url
from softvec.read.streams import SUFFIXES

_DATA = frozenset(
    (".csv", ".tsv", ".tab", ".edges", ".edgelist", ".el", ".mtx", ".npz", ".npy", ".mat", ".parquet",
     ".arrow", ".feather", ".graphml", ".gml", ".h5ad", ".svec")
)  # fmt: skip


def is_path_list(data: Any) -> bool:
    """Whether data is a list of paths: path objects, or strings that all name files."""
    return isinstance(data, list | tuple) and len(data) > 0 and all(map(_is_path, data))


def _is_path(item: Any) -> bool:
    return isinstance(item, os.PathLike) or (
        isinstance(item, str) and len(item) < 4096 and os.path.isfile(item)
    )


def several_files(where: Any, pattern: str = "*") -> list[Path] | None:
    """Return the files of a folder, a pattern or a list, sorted by path; None if ``where`` is one file.

    Hidden files are left out, and those that begin with ``_``, in which other programs note that they are
    done. Files of a list are all read.
    """
    if is_path_list(where):
        return sorted(map(Path, where))
    if not isinstance(where, str | os.PathLike) or os.fspath(where) == "-":
        return None
    if is_url(where):
        if glob.has_magic(str(where)) or str(where).endswith("/"):
            raise InputError(f"{where}: a pattern or folder at a URL is not read; name one file")
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
    return files


def are_tables(files: list[Path]) -> bool:
    """Whether several files are tables of edges, not documents of text, by their extensions."""
    tables = [file for file in files if is_table(file)]
    if tables and len(tables) < len(files):
        other = next(file for file in files if not is_table(file))
        raise InputError(
            f"{tables[0]} is a table, {other} is not; pass a pattern such as '*{tables[0].suffix}', or ",
            Option("kind", "corpus"), " to read all as text, or ", Option("kind", "graph"), " as edges"
        )  # fmt: skip
    return bool(tables)


def is_table(path: Path) -> bool:
    """Whether the extension of a file is that of a table or a matrix."""
    return _suffix(path) in _DATA


def visible_files(paths: Iterable[Path], folder: Path) -> list[Path]:
    """Return the paths that are files, without names or folders below ``folder`` that begin with . or _."""
    below = ((path, path.relative_to(folder) if folder != Path() else Path(path.name)) for path in paths)
    shown = (path for path, part in below if not any(name.startswith((".", "_")) for name in part.parts))
    return sorted(path for path in shown if path.is_file())


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix in SUFFIXES else suffix
