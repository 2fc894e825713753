"""Exceptions for user errors, warnings about guesses, and text that is safe to print."""

from __future__ import annotations

import difflib
import re
import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

# control characters (including ESC and the 8-bit CSI), bidirectional marks, lone surrogates
CODES = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class NameOnly:
    """Marks an :class:`Option` without a value; a class, so that errors can be pickled."""


@dataclass(frozen=True)
class Option:
    """An option mentioned in a message: the library shows a Python argument, the command line a flag.

    ``value`` is what to set it to. Without one the option is only named; ``...`` stands for a value that only
    the reader knows, such as the name of a column.

    Examples
    --------
    >>> str(Option("negative", "drop")), str(Option("columns", ...)), str(Option("beta"))
    ("negative='drop'", 'columns=', 'beta')
    """

    name: str
    value: Any = NameOnly

    def __str__(self) -> str:
        if self.value is NameOnly:
            return self.name
        return f"{self.name}=" if self.value is ... else f"{self.name}={self.value!r}"


def listed(names: Iterable[str]) -> list[str | Option]:
    """Return the parts of a message that names options, with commas.

    Examples
    --------
    >>> str(Message("leave out ", *listed(["beta", "tol"])))
    'leave out beta, tol'
    """
    return [part for name in names for part in (", ", Option(name))][1:]


class Message:
    """Text that mentions options; ``str`` writes them as Python arguments, :meth:`render` in any other way.

    Examples
    --------
    >>> message = Message("weights are negative; pass ", Option("negative", "drop"))
    >>> str(message)
    "weights are negative; pass negative='drop'"
    >>> message.render(lambda option: f"--set {option.name}={option.value}")
    'weights are negative; pass --set negative=drop'
    """

    def __init__(self, *parts: str | Option | Message) -> None:
        self.parts: tuple[str | Option, ...] = tuple(
            piece for part in parts for piece in (part.parts if isinstance(part, Message) else (part,))
        )

    def __str__(self) -> str:
        return self.render(str)

    def __repr__(self) -> str:
        return f"Message({str(self)!r})"

    @property
    def options(self) -> tuple[Option, ...]:
        """The options mentioned in the text."""
        return tuple(part for part in self.parts if isinstance(part, Option))

    def render(self, write: Callable[[Option], str]) -> str:
        """Return the text, with each option formatted by ``write``."""
        return "".join(write(part) if isinstance(part, Option) else str(part) for part in self.parts)


class _HasMessage:
    """Mixin for exceptions and warnings whose ``args`` are the parts of a :class:`Message`."""

    args: tuple[Any, ...]

    @property
    def message(self) -> Message:
        return Message(*self.args)

    def __str__(self) -> str:
        return printable(str(self.message))  # a file's name may hold codes as well as a name in it


class InputError(_HasMessage, ValueError):
    """Invalid input; the message names it and the remedy.

    The command line prints such a message as one line and exits with code 2. Subclassing
    ``ValueError`` keeps scikit-learn's conventions: bad parameters and bad data raise ``ValueError``.

    Attributes
    ----------
    message : Message
        The text; the command line shows its own flags in place of options.
    option : str or None
        The invalid parameter, by its name in the library.
    value : object
        Its value.
    expected : str or None
        What was expected.

    Examples
    --------
    >>> error = InputError("the graph is not square; pass ", Option("symmetric", False))
    >>> str(error)
    'the graph is not square; pass symmetric=False'
    >>> error.message.options
    (Option(name='symmetric', value=False),)
    """

    option: str | None = None
    value: Any = None
    expected: str | None = None

    @classmethod
    def of(cls, option: str, value: Any, expected: str, remedy: str | Message = "") -> InputError:
        """Return the error for a parameter with an invalid value.

        Examples
        --------
        >>> str(InputError.of("beta", -1, "a number above 0"))
        'beta is -1; expected a number above 0'
        """
        error = cls(
            Option(option), f" is {value!r}; expected {expected}", *(("; ", remedy) if remedy else ())
        )
        error.option, error.value, error.expected = option, value, expected
        return error


class InputTypeError(InputError, TypeError):
    """An :class:`InputError` about a type, such as a matrix of objects."""


class AdviceWarning(_HasMessage, UserWarning):
    """A warning that mentions options; the command line shows its own flags instead."""


class GuessWarning(AdviceWarning):
    """A guess about the data; the message says what was guessed, and which option overrides it."""


def warn(message: str | Warning) -> None:
    """Warn the user, pointing at the user's line that called softvec."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "softvec":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)


def guess(*parts: str | Option | Message) -> None:
    """Warn about a guess."""
    warn(GuessWarning(*parts))


def did_you_mean(word: str, known: Iterable[str], cutoff: float = 0.7) -> str:
    """Return ``"; did you mean 'this'?"`` for the known word closest to ``word``, or nothing.

    Examples
    --------
    >>> did_you_mean("n_epoch", ["n_epochs", "beta"])
    "; did you mean 'n_epochs'?"
    """
    close = difflib.get_close_matches(word, list(known), 1, cutoff)
    return f"; did you mean {close[0]!r}?" if close else ""


def printable(text: str) -> str:
    r"""Return text with control codes and unprintable characters escaped.

    Names come from files and may hold escape sequences that set a window's title or move the cursor.

    Examples
    --------
    >>> print(printable("a\x1b[2Jb\tc"))
    a\x1b[2Jb\tc
    """
    return CODES.sub(lambda code: code[0].encode("unicode_escape").decode("ascii"), text)


def optional_package(module: str, missing: str) -> Any:
    """Import an optional package, or raise an InputError with the text ``missing``."""
    try:
        return import_module(module)
    except ImportError as error:
        raise InputError(missing) from error
