"""Exceptions for a user's mistake, the warning about a guess, and text that is safe to print."""

from __future__ import annotations

import difflib
import re
import sys
import warnings
from collections.abc import Iterable
from typing import Any

# control characters (ESC and the 8-bit CSI among them), marks that turn the direction of text, half pairs
CODES = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class InputError(ValueError):
    """Something the user gave is wrong; the message names it and the remedy.

    The command line prints such a message as one line and exits with code 2. Subclassing
    ``ValueError`` keeps scikit-learn's conventions: bad parameters and bad data raise ``ValueError``.

    Attributes
    ----------
    option : str or None
        The parameter that is wrong, as the library calls it. The command line shows its own flag instead.
    value : object
        What was given.
    expected : str or None
        What was expected.
    """

    option: str | None = None
    value: Any = None
    expected: str | None = None

    @classmethod
    def of(cls, option: str, value: Any, expected: str, remedy: str = "") -> InputError:
        """Return the error for a parameter with a wrong value.

        Examples
        --------
        >>> str(InputError.of("beta", -1, "a number above 0"))
        'beta is -1; expected a number above 0'
        """
        error = cls(f"{option} is {value!r}; expected {expected}{f'; {remedy}' if remedy else ''}")
        error.option, error.value, error.expected = option, value, expected
        return error


class InputTypeError(InputError, TypeError):
    """An :class:`InputError` about the type of a thing, such as a matrix of objects."""


class GuessWarning(UserWarning):
    """Something about the data was guessed; the message says what, and the option that overrides it."""


def guess(text: str) -> None:
    """Warn, at the line of the user's code that called softvec, that something was guessed."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "softvec":
        level, frame = level + 1, frame.f_back
    warnings.warn(text, GuessWarning, stacklevel=level)


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
