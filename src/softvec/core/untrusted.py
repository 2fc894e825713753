"""Limits for untrusted files: how far they may expand, and parser errors as one clear line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from softvec.core.errors import InputError, printable

VARIABLE = "SOFTVEC_MAX_EXPANDED"
_ALWAYS = 512 << 20  # bytes that any file may expand to
_RATIO = 64  # times its size, for larger files: text compresses 3 to 10 times, a zip bomb 1,000 times
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def most_expanded(stored: int) -> int:
    """Return how many bytes a file of ``stored`` bytes may expand to, in memory or on disk.

    64 times its size and at least 512 MiB, or the value of the environment variable
    ``SOFTVEC_MAX_EXPANDED``, in bytes or with a unit, such as ``8GiB``.

    >>> most_expanded(1000) >> 20, most_expanded(1 << 30) >> 30
    (512, 64)
    """
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return max(_ALWAYS, _RATIO * stored)
    match = re.fullmatch(r"(\d{1,15})\s*([kmgt]?)(?:i?b)?", text.lower())
    if match is None:
        raise InputError(f"{VARIABLE} is {text!r}; expected a number of bytes, such as 8GiB")
    return int(match[1]) * _UNITS[match[2]]


def check_expanded(size: int, stored: int, name: str, what: str) -> None:
    """Raise an error if ``what`` in a file of ``stored`` bytes would expand beyond the limit."""
    most = most_expanded(stored)
    if size > most:
        raise InputError(
            f"{name} has {stored:,} bytes, but {what} would take {size:,}, more than the {most:,} allowed: "
            f"the file is damaged or malicious; if you trust it, set {VARIABLE}={_rounded(size)}"
        )


def _rounded(size: int) -> str:
    return f"{-(-size >> 30)}GiB" if size < 1 << 60 else str(size)


def one_line(error: BaseException) -> str:
    """Return an error message as one short line that is safe to print."""
    text = printable(" ".join(str(error).split())) or type(error).__name__
    return text if len(text) <= 200 else text[:199] + "…"


@contextmanager
def reading(name: str, what: str, passing: type[Exception] = InputError) -> Iterator[None]:
    """Turn any exception of a parser into an :class:`InputError` that names the file.

    Parsers of other libraries raise all kinds of errors on damaged files (``struct.error``, ``TokenError``,
    ``SystemError``, ``MemoryError``). Errors of the class ``passing`` are left to the caller.
    """
    try:
        yield
    except (InputError, passing):
        raise
    except MemoryError as error:
        raise InputError(
            f"{name} needs more memory than available ({one_line(error)}); it may be damaged"
        ) from error
    except Exception as error:
        raise InputError(f"{name} is not a readable {what}: {one_line(error)}") from error
