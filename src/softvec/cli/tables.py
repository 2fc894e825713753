"""Results of commands, as tables on standard output or in a file, and checks of the files to write."""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from softvec.cli.terminal import Session, console, print_json
from softvec.core.checks import Json, is_number
from softvec.core.errors import InputError, printable
from softvec.core.files import atomic_write

_TABLES = frozenset({"", ".csv", ".tsv", ".txt", ".parquet"})


def plain_name(name: Any) -> Any:
    """Return a name as it is written on the command line: the pair ("ada", 3) is ada@3."""
    return "@".join(map(str, name)) if isinstance(name, tuple) else name


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], *, title: str | None = None) -> None:
    """Print a table; plain tab-separated lines where standard output is not a terminal."""
    if not sys.stdout.isatty():
        for row in rows:
            sys.stdout.write("\t".join(printable(_cell(value)) for value in row) + "\n")
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    shown = None if title is None else Text(printable(title))
    table = Table(title=shown, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False)
    for j, name in enumerate(columns):
        number = bool(rows) and is_number(rows[0][j])
        table.add_column(
            Text(printable(name)), justify="right" if number else "left", style="" if number else "cyan"
        )
    for row in rows:
        table.add_row(*(Text(printable(_cell(value))) for value in row))
    console().print(table)


def check_table(path: str) -> None:
    """Raise an error, before any work, if a table cannot be written to a file."""
    if path != "-" and Path(path).suffix.lower() not in _TABLES:
        raise InputError(f"{path}: a table is written as .csv, .tsv, .txt or .parquet")
    check_target(path)


def write_table(path: str, keys: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table, whole or not at all: parquet, CSV, or else lines with tabs and no header."""
    if path.lower().endswith(".parquet"):
        _write_parquet(path, keys, rows)
        return
    cells = [[_cell(value, ".6g") for value in row] for row in rows]
    with atomic_write(path, "w", encoding="utf-8") as file:
        if path.lower().endswith(".csv"):
            csv.writer(file, lineterminator="\n").writerows([keys, *cells])
        else:
            file.writelines("\t".join(map(printable, row)) + "\n" for row in cells)


def _write_parquet(path: str, keys: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table as parquet; names of mixed types become text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [list(map(plain_name, column)) for column in zip(*rows)] or [[] for _ in keys]
    plain = [col if len({type(v) for v in col}) < 2 else [str(v) for v in col] for col in columns]
    with atomic_write(path, "wb") as file:
        pq.write_table(pa.table(dict(zip(keys, plain))), file)


def records(keys: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[Json]:
    """Return rows as dictionaries."""
    return [dict(zip(keys, map(plain_name, row))) for row in rows]


def give(
    session: Session,
    output: str,
    keys: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    facts: Mapping[str, Any] | None = None,
    called: str = "",
) -> None:
    """Write the rows of a result to ``output``, or print them (-).

    JSON has the facts and either where the rows were written, or the rows as ``called``; without facts it
    is the list of rows.
    """
    if output != "-":
        write_table(output, keys, rows)
    if session.json and output != "-":
        print_json({**(facts or {}), "output": output})
    elif session.json:
        print_json(records(keys, rows) if facts is None else {**facts, called: records(keys, rows)})
    elif output == "-":
        print_table(keys, rows)


def arrow(*outputs: str | None) -> str:
    """Return " -> " and the files that were written, or nothing."""
    written = ", ".join(path for path in outputs if path and path != "-")
    return f" -> {written}" if written else ""


def _cell(value: Any, decimals: str = "") -> str:
    """Return the text of a value; integers are names, without thousands separators."""
    if isinstance(value, float):
        return format(value, decimals or (".3g" if 0 < abs(value) < 0.001 else ".4f"))
    return str(int(value) if isinstance(value, bool) else plain_name(value))


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

        check_folder(target)
    elif os.path.isdir(target):
        raise InputError(f"{target} is a directory; give the name of a file with -o")
    if not os.path.isdir(folder):
        raise InputError(f"cannot write {target}: the directory {folder} does not exist")
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
