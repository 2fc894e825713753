"""Output of the commands: tables and results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Annotated, Any

from typer import Option as Flag

from softvec.core.checks import is_number
from softvec.core.errors import CODES, printable

_SECONDS_BETWEEN_LINES = 10.0  # of progress, where standard error is not a terminal


def _silence_warnings(quiet: bool) -> bool:
    """Ignore warnings until the command ends, if asked to be quiet."""
    if quiet:
        warnings.simplefilter("ignore")
    return quiet


@dataclass(frozen=True)
class Session:
    """Flags of all commands; ``--format`` only of those that read vectors."""

    format: Annotated[str | None, Flag("--format", help="Format of the vector file (default: detected).")] = (
        None
    )
    quiet: Annotated[
        bool, Flag("--quiet", "-q", callback=_silence_warnings, help="Print only results and errors.")
    ] = False
    json: Annotated[bool, Flag("--json", help="Print results as JSON.")] = False

    @property
    def silent(self) -> bool:
        """Whether nothing but results and errors is printed."""
        return self.quiet or self.json


def console(*, stderr: bool = False) -> Any:
    """Return a rich console; colours only on a terminal."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=True)


def complain(text: str) -> None:
    """Print an error as one line."""
    line = printable(" ".join(text.split()))
    try:
        from rich.text import Text

        console(stderr=True).print(Text("softvec: ", style="bold red") + Text(line))
    except ImportError:
        sys.stderr.write(f"softvec: {line}\n")


def note(text: str) -> None:
    """Print a remark as one line on standard error."""
    from rich.text import Text

    console(stderr=True).print(Text("note: ", style="yellow") + Text(printable(" ".join(text.split()))))


def say(session: Session, text: str) -> None:
    """Print a message on standard error, unless ``--quiet`` or ``--json`` is set."""
    if not session.silent:
        lines = "\n".join(printable(line) for line in text.split("\n"))
        console(stderr=True).print(lines, markup=False)


def print_json(value: Any) -> None:
    """Print JSON, with terminal control codes escaped."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    sys.stdout.write(CODES.sub(lambda code: f"\\u{ord(code[0]):04x}", text) + "\n")


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], *, title: str | None = None) -> None:
    """Print a table; plain tab-separated lines where standard output is not a terminal."""
    if not sys.stdout.isatty():
        for row in rows:
            sys.stdout.write("\t".join(_cell(value) for value in row) + "\n")
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
        table.add_row(*(Text(_cell(value)) for value in row))
    console().print(table)


def write_csv(path: str, header: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    """Write a table as CSV, whole or not at all."""
    import csv

    from softvec.core.files import atomic_write

    with atomic_write(path, "w", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def write_parquet(path: str, header: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    """Write a table as parquet, whole or not at all; names of mixed types become text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from softvec.core.files import atomic_write

    columns = [list(column) for column in zip(*rows)] or [[] for _ in header]
    plain = [col if len({type(v) for v in col}) < 2 else [str(v) for v in col] for col in columns]
    with atomic_write(path, "wb") as file:
        pq.write_table(pa.table(dict(zip(header, plain))), file)


def arrow(*outputs: str | None) -> str:
    """Return " -> " and the files that were written, or nothing."""
    written = ", ".join(path for path in outputs if path and path != "-")
    return f" -> {written}" if written else ""


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    return printable(str(value))  # integers are names: no thousands separators


@contextmanager
def epoch_progress(session: Session, total: int | None) -> Iterator[Callable[..., None] | None]:
    """Show epoch, loss and time left while fitting; yield a callback for the estimator."""
    screen = console(stderr=True)
    if session.silent or not screen.is_terminal:
        yield None if session.silent else _lines(session, total)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    with Progress(
        TextColumn("[bold]epoch"),
        MofNCompleteColumn(),
        BarColumn(bar_width=32),
        TextColumn("approximated loss [bold]{task.fields[loss]}"),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[more]}"),
        console=screen,
        transient=True,
    ) as progress:
        task = progress.add_task("fit", total=total, loss="-", more="")

        def update(epoch: int, loss: float, X: Any, more: str = "") -> None:
            progress.update(task, advance=1, loss=f"{loss:.4f}", more=more)

        yield update


def _lines(session: Session, total: int | None) -> Callable[..., None]:
    """Return a callback that prints a line now and then, for logs."""
    began = last = monotonic()
    done = 0

    def update(epoch: int, loss: float, X: Any, more: str = "") -> None:
        nonlocal last, done
        now, done = monotonic(), done + 1
        if now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            of = f" of {total}" if total else ""
            text = f"epoch {done}{of}, approximated loss {loss:.4f}, {seconds(now - began)}"
            say(session, f"{text}, {more}" if more else text)

    return update


def shows_progress(session: Session) -> bool:
    """Whether a progress bar belongs on standard error."""
    return not session.silent and sys.stderr.isatty()


@contextmanager
def working(session: Session, what: str) -> Iterator[None]:
    """Show a spinner while something of unknown length runs."""
    screen = console(stderr=True)
    if session.silent or not screen.is_terminal:
        yield
        return
    from rich.text import Text

    with screen.status(Text(printable(what))):  # a file name is not markup
        yield


def seconds(value: float) -> str:
    """Return a duration in readable form.

    >>> seconds(0.04), seconds(3.21), seconds(75)
    ('0.04 s', '3.2 s', '1 min 15 s')
    """
    if value < 1:
        return f"{value:.2f} s"
    if value < 60:
        return f"{value:.1f} s"
    return f"{int(value) // 60} min {int(value) % 60} s"


def gibibytes(value: float) -> str:
    """Return a number of bytes in MiB or GiB."""
    return f"{value / 2**30:.1f} GiB" if value >= 2**30 else f"{value / 2**20:.0f} MiB"
