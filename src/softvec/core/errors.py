"""Exceptions for a user's mistake, the warning about a guess, and text that is safe to print."""

from __future__ import annotations

import difflib
import re
import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

# control characters (ESC and the 8-bit CSI among them), marks that turn the direction of text, half pairs
CODES = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class NameOnly:
    """Stands for no value in an :class:`Option` that is only named; a class, so that errors pickle."""


@dataclass(frozen=True)
class Option:
    """An option inside a message, which the library and the command line write each in their own way.

    ``value`` is what to set it to. Without one the option is only named; ``...`` stands for a value that the
    reader knows, such as the name of a column.

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


class Message:
    """Text with options in it; ``str`` writes them as Python arguments, :meth:`render` as one likes.

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
        """The options that the text names."""
        return tuple(part for part in self.parts if isinstance(part, Option))

    def render(self, write: Callable[[Option], str]) -> str:
        """Return the text, its options written by ``write``."""
        return "".join(write(part) if isinstance(part, Option) else str(part) for part in self.parts)


class _Told:
    """What an exception and a warning with a :class:`Message` share; their ``args`` are its parts."""

    args: tuple[Any, ...]

    @property
    def message(self) -> Message:
        return Message(*self.args)

    def __str__(self) -> str:
        return printable(str(self.message))  # a file's name may hold codes as well as a name in it


class InputError(_Told, ValueError):
    """Something the user gave is wrong; the message names it and the remedy.

    The command line prints such a message as one line and exits with code 2. Subclassing
    ``ValueError`` keeps scikit-learn's conventions: bad parameters and bad data raise ``ValueError``.

    Attributes
    ----------
    message : Message
        The text, with the options in it as fields: the command line shows its own flags instead.
    option : str or None
        The parameter that is wrong, as the library calls it.
    value : object
        What was given.
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
        """Return the error for a parameter with a wrong value.

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
    """An :class:`InputError` about the type of a thing, such as a matrix of objects."""


class AdviceWarning(_Told, UserWarning):
    """A warning whose text names options; the command line shows its own flags instead."""


class GuessWarning(AdviceWarning):
    """Something about the data was guessed; the message says what, and the option that overrides it."""


def guess(*parts: str | Option | Message) -> None:
    """Warn, at the line of the user's code that called softvec, that something was guessed."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "softvec":
        level, frame = level + 1, frame.f_back
    warnings.warn(GuessWarning(*parts), stacklevel=level)


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
    r"""Return text with codes that a terminal would obey, or could not print, written out.

    Names come from files: one may hold the sequence that sets a window's title or moves the cursor.

    Examples
    --------
    >>> print(printable("a\x1b[2Jb\tc"))
    a\x1b[2Jb\tc
    """
    return CODES.sub(lambda code: code[0].encode("unicode_escape").decode("ascii"), text)


def optional_package(module: str, missing: str) -> Any:
    """Import a package that is an extra; without it, ``missing`` says what needs it and how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise InputError(missing) from error
