"""What commands print: JSON on standard output; messages, errors and progress on standard error."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Annotated, Any

from typer import Option as Flag

from softvec.core.errors import CODES, printable

_SECONDS_BETWEEN_LINES = 10.0  # of progress, where standard error is not a terminal


def _silence_warnings(quiet: bool) -> bool:
    """Ignore warnings until the command ends, if asked to be quiet."""
    if quiet:
        warnings.simplefilter("ignore")
    return quiet


@dataclass(frozen=True, kw_only=True)
class Session:
    """Flags of all commands, and what these print by them."""

    quiet: Annotated[
        bool, Flag("--quiet", "-q", callback=_silence_warnings, help="Print only results and errors.")
    ] = False
    json: Annotated[bool, Flag("--json", help="Print results as JSON.")] = False

    @property
    def silent(self) -> bool:
        """Whether nothing but results and errors is printed."""
        return self.quiet or self.json

    @property
    def shows_progress(self) -> bool:
        """Whether a progress bar belongs on standard error."""
        return not self.silent and sys.stderr.isatty()

    def say(self, text: str) -> None:
        """Print a message on standard error, unless ``--quiet`` or ``--json`` is set."""
        if not self.silent:
            lines = "\n".join(printable(line) for line in text.split("\n"))
            console(stderr=True).print(lines, markup=False)

    @contextmanager
    def working(self, what: str) -> Iterator[None]:
        """Show a spinner while something of unknown length runs."""
        screen = console(stderr=True)
        if self.silent or not screen.is_terminal:
            yield
            return
        from rich.text import Text

        with screen.status(Text(printable(what))):  # a file name is not markup
            yield

    def wrote(self, output: str, text: str, **facts: Any) -> None:
        """Say what was written; as JSON, print the file and facts unless standard output holds the result."""
        if self.json and output != "-":
            print_json({"output": output, **facts})
        self.say(text)


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


def print_json(value: Any) -> None:
    """Print JSON, with terminal control codes escaped."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    sys.stdout.write(CODES.sub(lambda code: f"\\u{ord(code[0]):04x}", text) + "\n")


@contextmanager
def epoch_progress(session: Session, total: int | None) -> Iterator[Callable[..., None] | None]:
    """Show epoch, loss and time left while fitting; yield a callback for the estimator."""
    screen = console(stderr=True)
    if session.silent or not screen.is_terminal:
        yield None if session.silent else _lines(session, total)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    with Progress(
        "[bold]epoch", MofNCompleteColumn(), BarColumn(bar_width=32),
        "approximated loss [bold]{task.fields[loss]}", TimeRemainingColumn(compact=True),
        "{task.fields[more]}", console=screen, transient=True,
    ) as progress:  # fmt: skip
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
            session.say(f"{text}, {more}" if more else text)

    return update


def seconds(value: float) -> str:
    """Return a duration in readable form.

    >>> seconds(0.04), seconds(3.21), seconds(75)
    ('0.04 s', '3.2 s', '1 min 15 s')
    """
    if value < 60:
        return f"{value:.{1 if value >= 1 else 2}f} s"
    return f"{int(value) // 60} min {int(value) % 60} s"


def gibibytes(value: float) -> str:
    """Return a number of bytes in MiB or GiB."""
    return f"{value / 2**30:.1f} GiB" if value >= 2**30 else f"{value / 2**20:.0f} MiB"
