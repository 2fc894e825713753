"""Sources of bytes: files, standard input and open files, compressed or not, in blocks of whole lines.

Longer than 400 lines: every source, however it is opened, ends in the same blocks.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import re
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import IO, Any

from softvec.core.errors import InputError, Option
from softvec.core.storage import is_url, open_url
from softvec.core.untrusted import check_expanded, one_line, reading

BLOCK = 4 << 20
HEAD = 1 << 16  # decompressed bytes from which format, layout and kind are detected
LONGEST_SAMPLED = 4 << 20  # bytes of a line within which it must end if its layout is to be detected
LONGEST_LINE = 256 << 20
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz"}
SUFFIXES = {".gz": "gzip", ".gzip": "gzip", ".zst": "zstd", ".zstd": "zstd", ".bz2": "bz2", ".xz": "xz"}
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


@dataclass(frozen=True)
class Source:
    """A named source of bytes that can be read repeatedly and is decompressed on the fly.

    Attributes
    ----------
    name : str
        For messages.
    suffix : str
        The extension in lower case, without that of the compression.
    compression : str or None
    start : bytes
        The first ``HEAD`` decompressed bytes, or fewer if there are no more.
    """

    name: str
    suffix: str
    compression: str | None
    path: Path | None
    spool: Spool | None = None
    start: bytes = field(default=b"", repr=False)

    @property
    def whole(self) -> bool:
        """Whether ``start`` holds all the bytes."""
        return len(self.start) < HEAD

    @property
    def size(self) -> int:
        """Stored bytes, before decompression."""
        if self.path is not None:
            return self.path.stat().st_size
        assert self.spool is not None
        return os.fstat(self.spool.complete()).st_size

    @contextlib.contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open the decompressed bytes; damaged data raises an InputError."""
        file: Any = self.path
        if self.spool is not None:
            file = os.dup(self.spool.complete())  # Arrow closes what it reads
        with _clear_errors(self.name, self.compression), open(file, "rb") as raw:
            raw.seek(0)
            yield _decompressed(raw, self.compression)

    def blocks(self, size: int, *, detecting: bool = False) -> Iterator[bytes]:
        """Yield blocks of decompressed bytes; with ``detecting`` the file is only opened beyond ``start``."""
        if detecting:
            yield self.start
            if self.whole:
                return
        with self.open() as stream:
            if detecting:
                read_upto(stream, HEAD)
            while block := read_upto(stream, size):
                yield block

    @contextlib.contextmanager
    def seekable(self) -> Iterator[IO[bytes]]:
        """Open the decompressed bytes as a seekable file, for formats that need one."""
        if self.compression is None:
            with self.open() as stream:
                yield stream
            return
        with tempfile.TemporaryFile() as copy:
            with self.open() as stream:
                while block := stream.read(BLOCK):
                    copy.write(block)
                    check_expanded(copy.tell(), self.size, self.name, f"the {self.compression} data")
            copy.seek(0)
            yield copy


@contextlib.contextmanager
def _clear_errors(name: str, compression: str | None) -> Iterator[None]:
    """Turn read errors into an InputError."""
    try:
        yield
    except (OSError, EOFError) as error:
        if compression and not isinstance(error, PermissionError | FileNotFoundError):
            raise InputError(
                f"{name}: the {compression} data is damaged or truncated ({one_line(error)})"
            ) from None
        reason = getattr(error, "strerror", None) or one_line(error)
        raise InputError(f"cannot read {name}: {reason}") from None


def _decompressed(raw: IO[bytes], compression: str | None) -> Any:
    if compression is None:
        return raw
    if compression == "xz":
        import lzma

        return _Members(raw, lzma.LZMADecompressor, lzma.LZMAError, 4)
    if compression == "bz2":
        import bz2

        return _Members(raw, bz2.BZ2Decompressor, OSError, 0)
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), compression)


class _Members:
    """The members of an xz or bz2 file; only ``padding`` zero bytes, or a multiple, may follow one."""

    def __init__(self, raw: IO[bytes], new: Callable[[], Any], error: type[Exception], padding: int):
        self._raw, self._new, self._error, self._padding = raw, new, error, padding
        self._stream, self._held = new(), b""

    def read(self, size: int = -1) -> bytes:
        while True:
            try:
                if self._stream.eof and not self._next_stream():
                    return b""
                self._held = self._held or (self._raw.read(BLOCK) if self._stream.needs_input else b"")
                if self._stream.needs_input and not self._held:
                    raise OSError("the data ends early")
                part = self._stream.decompress(self._held, size)
            except self._error as error:
                raise OSError(str(error)) from None
            self._held = self._stream.unused_data
            if part:
                return part

    def _next_stream(self) -> bool:
        """Begin the next stream, if there is one; anything else after the end is damage."""
        zeros = 0
        while data := self._held or self._raw.read(BLOCK):
            self._held = data.lstrip(b"\0" * (self._padding > 0))
            zeros += len(data) - len(self._held)
            if self._held:
                self._stream = self._new()
                break
        if zeros and zeros % self._padding:
            raise OSError("zero bytes after the end of the data")
        return bool(self._held)


def read_upto(stream: Any, size: int) -> bytes:
    """Read ``size`` bytes unless the stream ends; a single call may return fewer."""
    parts = []
    while size > 0 and (part := stream.read(size)):
        parts.append(bytes(part))
        size -= len(part)
    return b"".join(parts)


def open_source(where: Any) -> Source:
    """Return the source of a path, ``"-"`` (standard input) or a binary file object."""
    if isinstance(where, Source):
        return where
    if hasattr(where, "read"):
        return _spool(where, str(getattr(where, "name", "the stream")))
    if is_url(where):
        return _of_url(where)
    try:
        path = Path(where)
    except TypeError:
        raise InputError(f"{where!r} is not a path; expected a file name, '-' or an open file") from None
    if os.fspath(where) == "-":
        return _spool(sys.stdin.buffer, "standard input")
    if path.is_dir():
        raise InputError(f"{path} is a directory; pass a file, or for text ", Option("kind", "corpus"))
    file = _opened(path)
    if not path.is_file():  # a pipe or a device can be read only once
        source = _spool(file, str(path))
        weakref.finalize(source.spool, file.close)
        return source
    with file:
        compression, start = _look(file, str(path))
    suffix = path.suffix.lower()
    if compression is None and suffix in SUFFIXES and start:
        raise InputError(f"{path} does not hold {SUFFIXES[suffix]} data, despite its extension {suffix}")
    return Source(str(path), extension(path), compression, path, start=start)


def extension(path: Path) -> str:
    """Return the extension of a file in lower case, without that of its compression."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix in SUFFIXES else suffix


def _of_url(url: str) -> Source:
    with open_url(url) as stream:
        source = _spool(stream, url)
        assert source.spool is not None
        source.spool.complete()
    return replace(source, suffix=extension(Path(url)))


def _opened(path: Path) -> IO[bytes]:
    try:
        return open(path, "rb")
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        reason = "permission denied" if isinstance(error, PermissionError) else error.strerror or error
        raise InputError(f"{path} does not exist" if missing else f"cannot read {path}: {reason}") from None


def existing_file(path: str | os.PathLike[str], expected: str) -> Source:
    """Return the source of a file; the error for none, or for a folder, says what is expected."""
    if not os.path.exists(path):
        raise InputError(f"{os.fspath(path)}: no such file")
    if os.path.isdir(path):
        raise InputError(f"{os.fspath(path)} is a directory; expected a {expected}")
    return open_source(path)


class Spool:
    """A copy of a stream, which can be read only once; its start at first, all of it if that is wanted.

    What a stream is shows in its first bytes: one that never ends is refused by them, unless it is data.
    """

    def __init__(self, stream: Any, name: str):
        self._stream, self.name = stream, name
        self.copy = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the source
        weakref.finalize(self, self.copy.close)
        self._take(BLOCK)

    def _take(self, size: int) -> None:
        """Copy up to ``size`` bytes; a single read may return fewer."""
        self.copy.seek(0, os.SEEK_END)  # readers of the copy share its position
        while size > 0 and self._stream is not None:
            part = self._stream.read(min(size, BLOCK))
            if isinstance(part, str):
                raise InputError(f"{self.name} is open as text; open it as binary ('rb')")
            if not part:
                self._stream = None
                break
            self.copy.write(part)
            size -= len(part)
        self.copy.flush()

    def complete(self) -> int:
        """Copy the rest, up to half of the free disk space, and return the descriptor of the copy."""
        most = shutil.disk_usage(tempfile.gettempdir()).free // 2
        while self._stream is not None:
            self._take(BLOCK)
            most -= BLOCK
            if most < 0:
                taken = self.copy.tell() >> 20
                raise InputError(f"{self.name} has more than {taken:,} MiB, half of the free disk space")
        return self.copy.fileno()


def _spool(stream: Any, name: str) -> Source:
    spool = Spool(stream, name)
    with open(os.dup(spool.copy.fileno()), "rb") as file:
        compression, start = _look(file, name)
    if start and not start.strip(b"\0"):
        raise InputError(f"{name} holds only zero bytes")
    return Source(name, "", compression, None, spool, start)


def _look(file: IO[bytes], name: str) -> tuple[str | None, bytes]:
    """Return the compression of a file, and its first decompressed bytes."""
    with _clear_errors(name, None):
        file.seek(0)
        magic = file.read(6)
        file.seek(0)
    compression = next((kind for start, kind in _MAGIC.items() if magic.startswith(start)), None)
    with _clear_errors(name, compression):
        return compression, read_upto(_decompressed(file, compression), HEAD)


SEPARATOR_LINE = re.compile(rb"\A\"?sep=.\"?(?=\r?\n)")  # tells Excel the delimiter


def text_encoding(head: bytes, encoding: str | None) -> str:
    """Return the encoding of a text: the given one, that of its byte-order mark, or UTF-8."""
    if encoding is not None:
        try:
            return codecs.lookup(encoding).name
        except LookupError:
            raise InputError.of("encoding", encoding, "an encoding such as 'latin-1'") from None
    return next((name for bom, name in _BOMS if head.startswith(bom)), "utf-8")


def text_blocks(
    source: Source,
    *,
    encoding: str | None = None,
    whole_lines: bool = True,
    block: int = BLOCK,
    detecting: bool = False,
) -> Iterator[tuple[bytes, int]]:
    """Yield the text as UTF-8 blocks and the number (from 1) of the line each starts in.

    Blocks end at line ends, or with ``whole_lines=False`` at any blank. A byte-order mark is removed,
    lone carriage returns become line ends, and other encodings are converted to UTF-8. Invalid UTF-8, and
    lines that are too long, raise an error with the line number. With ``detecting``, blocks and lines are
    short, and the file is not opened while the start of the source suffices.
    """
    block, longest = (HEAD, LONGEST_SAMPLED) if detecting else (block, LONGEST_LINE)
    line, held = 1, 0
    carry: list[bytes] = []  # parts of a line that is not complete: joined once
    try:
        for raw in _as_utf8(source.blocks(block, detecting=detecting), encoding):
            cut = raw.rfind(b"\n") + 1
            if not whole_lines and cut == 0:
                cut = max(raw.rfind(b" "), raw.rfind(b"\t")) + 1
            if cut:
                piece = b"".join([*carry, raw[:cut]])
                yield valid_text(piece, source.name, line), line
                line += piece.count(b"\n")
                carry, held = [], 0
            carry.append(raw[cut:])
            held += len(raw) - cut
            if held > longest:
                valid_text(carry[0][:64], source.name, line)  # a zero byte says more than the length
                raise InputError(f"{source.name}, line {line}: longer than {longest >> 20} MiB; not a table")
    except UnicodeError as error:
        text = f"{source.name}, line {line} or later: {one_line(error)}; pass another "
        raise InputError(text, Option("encoding", ...)) from None
    if data := b"".join(carry):
        yield valid_text(data, source.name, line), line


def _as_utf8(blocks: Iterator[bytes], encoding: str | None) -> Iterator[bytes]:
    """Return blocks of text as UTF-8, without byte-order mark; lone carriage returns become line ends."""
    first = next(blocks, b"")
    chosen = text_encoding(first, encoding)
    if chosen != "utf-8":
        return (text.encode("utf-8") for text in codecs.iterdecode(chain([first], blocks), chosen))
    lone_returns = b"\r" in first and b"\n" not in first
    rest = chain([SEPARATOR_LINE.sub(b"", first.removeprefix(codecs.BOM_UTF8))], blocks)
    return (block.replace(b"\r", b"\n") for block in rest) if lone_returns else rest


def whole_text(source: Source, encoding: str | None = None) -> bytes:
    """Return a text as UTF-8; raise an error if it expands too far."""
    with reading(source.name, "text"), source.seekable() as stream:
        blocks = iter(lambda: read_upto(stream, BLOCK), b"")
        return valid_text(b"".join(_as_utf8(blocks, encoding)), source.name, 1)


def text_lines(where: Any, holds: str, encoding: str | None = None) -> list[str]:
    """Return the lines of a text, without empty ones at the end; ``holds`` says of what, for messages."""
    source = open_source(where)
    lines = [line.removesuffix("\r") for line in whole_text(source, encoding).decode("utf-8").split("\n")]
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        raise InputError(f"{source.name} is empty: it has no {holds}")
    return lines


def first_bytes(source: Source, size: int = 4096) -> bytes:
    """Return the start of a source, by which its format is told; text marked as UTF-16 as UTF-8."""
    head = source.start[:size]
    if text_encoding(head, None) == "utf-16":
        return head.decode("utf-16", "ignore").encode("utf-8", "ignore")
    return head


def valid_text(block: bytes, name: str, line: int) -> bytes:
    """Return a block of lines if it is UTF-8 without zero bytes; else raise an error with the line."""
    if not block.isascii():
        try:
            block.decode("utf-8")
        except UnicodeDecodeError as error:
            at = line + block.count(b"\n", 0, error.start)
            raise InputError(
                f"{name}, line {at}: byte 0x{block[error.start]:02x} is not UTF-8; save the file as UTF-8 "
                "or pass its encoding, such as ",
                Option("encoding", "latin-1"),
            ) from None
    if b"\0" in block:
        at = line + block.count(b"\n", 0, block.index(b"\0"))
        if line == 1 and len(block) > 3 and all(block[:64:2]) and not any(block[1:64:2]):
            raise InputError(f"{name} seems to be UTF-16; pass ", Option("encoding", "utf-16-le"))
        raise InputError(
            f"{name}, line {at}: a zero byte; this is not a text file, nor a format softvec knows"
        )
    return block
