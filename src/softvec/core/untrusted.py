"""Limits for untrusted files: how far they may expand, and parser errors as one clear line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

from softvec.core.errors import InputError, printable

VARIABLE = "SOFTVEC_MAX_EXPANDED"
_ALWAYS = 512 << 20  # bytes that any file may expand to
_RATIO = 64  # times its size, for larger files: text compresses 3 to 10 times, a zip bomb 1,000 times
_EXHAUSTED = ("failed to map segment", "start new thread", "launch worker thread", "annot allocate memory")
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
        limit = f"{-(-size >> 30)}GiB" if size < 1 << 60 else size
        raise InputError(
            f"{name} has {stored:,} bytes, but {what} would take {size:,}, more than the {most:,} allowed: "
            f"the file is damaged or malicious; if you trust it, set {VARIABLE}={limit}"
        )


def one_line(error: BaseException) -> str:
    """Return an error message as one short line that is safe to print."""
    text = printable(" ".join(str(error).split())) or type(error).__name__
    return text if len(text) <= 200 else text[:199] + "…"


def exhausted(error: BaseException) -> bool:
    """Whether an error says that memory or threads ran out, in the words of a library.

    >>> exhausted(ImportError("libarrow.so: failed to map segment from shared object"))
    True
    """
    return any(words in str(error) for words in _EXHAUSTED)


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
        if exhausted(error):
            raise MemoryError(one_line(error)) from error
        raise InputError(f"{name} is not a readable {what}: {one_line(error)}") from error


def unpacked_size(file: IO[bytes]) -> int:
    """Return the size of the compressed buffers of an Arrow file, as each one declares it."""
    import pyarrow as pa

    file.seek(8)  # ARROW1 and two bytes; then the messages of a stream
    total = 0
    for message in pa.ipc.MessageReader.open_stream(file):
        if message.type in ("record batch", "dictionary"):
            batch = _Flat(message.metadata.to_pybytes()).table(2)
            batch = batch.table(1) if message.type == "dictionary" else batch
            if batch.has(3):  # compressed: each buffer begins with its length
                body = message.body
                for at, size in batch.pairs(2):
                    if size >= 8 and 0 <= at <= len(body) - 8:
                        declared = int.from_bytes(body[at : at + 8].to_pybytes(), "little", signed=True)
                        total += max(declared, 0)
    file.seek(0)
    return total


@dataclass(frozen=True)
class _Flat:
    """A table of the flatbuffer in ``data``, as far as the header of an Arrow message needs it."""

    data: bytes
    at: int | None = None

    def _number(self, at: int, size: int, *, signed: bool = False) -> int:
        if not 0 <= at <= len(self.data) - size:
            raise InputError("a message of the Arrow file is damaged")
        return int.from_bytes(self.data[at : at + size], "little", signed=signed)

    def _field(self, k: int) -> int:
        """Return where field k lies, 0 if it is missing."""
        at = self._number(0, 4) if self.at is None else self.at
        fields = at - self._number(at, 4, signed=True)
        inside = 4 + 2 * k < self._number(fields, 2)
        offset = self._number(fields + 4 + 2 * k, 2) if inside else 0
        return at + offset if offset else 0

    def has(self, k: int) -> bool:
        return self._field(k) > 0

    def table(self, k: int) -> _Flat:
        at = self._field(k)
        return _Flat(self.data, at + self._number(at, 4))

    def pairs(self, k: int) -> Iterator[tuple[int, int]]:
        """Yield the structures of two 64-bit numbers of a vector."""
        at = self._field(k)
        at += self._number(at, 4)
        for i in range(min(self._number(at, 4), len(self.data) // 16)):
            yield self._number(at + 8 + 16 * i - 4, 8), self._number(at + 16 * i + 12, 8)
