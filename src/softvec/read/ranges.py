"""Read parts of one text file, so that several workers can share it: byte ranges, cut at line ends."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Any

from softvec.read.streams import (
    BLOCK,
    LONGEST_LINE,
    SEPARATOR_LINE,
    Source,
    read_upto,
    text_encoding,
    too_long,
    valid_text,
)


def is_cuttable(source: Source, encoding: str | None) -> bool:
    """Whether a text can be read from the middle: an uncompressed UTF-8 file with line feeds."""
    if source.path is None or source.compression is not None:
        return False
    with source.open() as stream:
        start = read_upto(stream, BLOCK)
    return text_encoding(start, encoding) == "utf-8" and (b"\r" not in start or b"\n" in start)


def text_range(source: Source, start: int, stop: int, *, line: int = 1) -> Iterator[tuple[bytes, int]]:
    """Yield, as text_blocks does, the lines of a cuttable text that begin at bytes ``start`` to ``stop - 1``.

    Consecutive ranges cover every line exactly once. ``line`` is the number of the first line.
    """
    with source.open() as stream:
        at = start
        if start > 0:
            stream.seek(start - 1)
            at += len(_rest_of_line(stream, source.name, line)) - 1
        data = b""
        while at < stop:
            raw = read_upto(stream, min(BLOCK, stop - at))
            ended = not raw or at + len(raw) == stop
            if at == 0:
                raw = SEPARATOR_LINE.sub(b"", raw.removeprefix(codecs.BOM_UTF8))
                at = stream.tell()
            else:
                at += len(raw)
            data += raw
            if ended and data and not data.endswith(b"\n"):
                data += _rest_of_line(stream, source.name, line)
            cut = len(data) if ended else data.rfind(b"\n") + 1
            if len(data) - cut > LONGEST_LINE:
                raise too_long(source.name, line)
            if cut:
                yield valid_text(data[:cut], source.name, line), line
                line += data.count(b"\n", 0, cut)
            if ended:
                return
            data = data[cut:]


def _rest_of_line(stream: Any, name: str, line: int) -> bytes:
    """Read up to and including the next line end."""
    rest = stream.readline(LONGEST_LINE + 1)
    if len(rest) > LONGEST_LINE:
        raise too_long(name, line)
    return rest


def lines_before(source: Source, start: int) -> int:
    """Return how many lines begin before the byte ``start`` of a text."""
    if start == 0:
        return 0
    count, left = 1, start - 1
    with source.open() as stream:
        while left > 0 and (raw := stream.read(min(BLOCK, left))):
            left -= len(raw)
            count += raw.count(b"\n")
    return count
