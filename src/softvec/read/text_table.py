"""Tables in text: how they are written, their first lines, and blocks of whole records, parsed by Arrow."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from softvec.core.checks import counted
from softvec.core.errors import InputError, Message, Option
from softvec.read.streams import BLOCK, Source, text_blocks
from softvec.read.table import COMMENTS, NO_NUMBER, NUMBER, to_arrow

Columns = dict[int, Any]  # Arrow arrays by position
_SHOWN = {0: "blanks", 9: "tabs", 32: "blanks", 44: "commas", 59: "semicolons", 124: "bars"}
_BLANKS_OF_LINES = bytes(32 if byte < 32 and byte != 10 else byte for byte in range(256))
_OPENING = (b"\n ", b"\n\t", b"\n\r")
_EMPTY_LINES = re.compile(rb"(?m)^[\0-\x09\x0b-\x20]+$")
_OPENS = re.compile(rb'(?:^|[,;\t|]) *"[^"]*(?:""[^"]*)*$')  # a quoted field that goes on in the next line
_CLOSES = re.compile(rb'[^"]*(?:""[^"]*)*"[ \r]*(?:[,;\t|]|$)')
_EMPTY = re.compile(rb"\n[\0-\x20]*\n")
_LINES_OF_A_FIELD = 100
_BLANKS = bytes(32 if byte < 32 else byte for byte in range(256))
_CONTROL = bytes(range(33))


@dataclass(frozen=True)
class Dialect:
    """How a table is written as text.

    Attributes
    ----------
    delimiter : int
        The byte between fields, or 0 for runs of blanks.
    comments : bytes
        Bytes that start a comment line.
    header : tuple of str or None
        Column names, if the first line is a header.
    n_fields : int
        Fields per line.
    quoted : bool
        Whether fields may be quoted.
    decimal : bytes
        The decimal mark: a point or a comma.
    separators : bool
        Whether the other mark separates thousands.
    """

    delimiter: int
    comments: bytes = COMMENTS
    header: tuple[str, ...] | None = None
    n_fields: int = 2
    quoted: bool = False
    decimal: bytes = b"."
    separators: bool = False
    commented: bool = False  # the header is a comment, as in "#node1 node2"

    @property
    def has_header_line(self) -> bool:
        """Whether the first line of data is the header."""
        return self.header is not None and not self.commented

    @property
    def plain(self) -> bool:
        """Whether numbers have a decimal point and no thousands separators."""
        return self.decimal == b"." and not self.separators


@dataclass(frozen=True)
class Sample:
    """The first lines of data of a text, split into fields once for each delimiter."""

    lines: Sequence[bytes]
    titled: bool = False  # the first line is a header that was a comment
    name: str = ""  # of the file
    suffix: str = ""
    _rows: dict[int, list[list[bytes]]] = field(default_factory=dict, repr=False)

    def rows(self, delimiter: int) -> list[list[bytes]]:
        """Return the fields of each line."""
        if delimiter not in self._rows:
            self._rows[delimiter] = [split(line, delimiter) for line in self.lines]
        return self._rows[delimiter]

    def full_rows(self, dialect: Dialect) -> list[list[bytes]]:
        """Return the fields of the lines below the header that have as many as most lines have."""
        rows = self.rows(dialect.delimiter)[int(dialect.header is not None) :]
        return [row for row in rows if len(row) == dialect.n_fields]

    def modal(self, delimiter: int, skip: int = 0) -> tuple[int, float]:
        """Return the most common number of fields, and the share of lines that have it."""
        rows = self.rows(delimiter)[skip:]
        number, times = Counter(map(len, rows)).most_common(1)[0]
        return number, times / len(rows)

    def has_quotes(self, delimiter: int, lines: int | None = None) -> bool:
        """Whether a field of the first lines starts with a quote."""
        return any(has_quotes(line, delimiter) for line in self.lines[:lines])


def split(line: bytes, delimiter: int) -> list[bytes]:
    """Split one line into fields.

    >>> split(b" 1\\t 2 \\r", 0), split(b"a, b c,", ord(","))
    ([b'1', b'2'], [b'a', b'b c', b''])
    """
    if delimiter == 0:
        return line.translate(_BLANKS).split()
    line = line.lstrip(b" " if delimiter == 9 else _CONTROL)
    if has_quotes(line, delimiter):
        text = line.rstrip(b"\r").decode("utf-8", "surrogateescape")
        try:
            fields = next(csv.reader([text], delimiter=chr(delimiter), skipinitialspace=True))
        except csv.Error as error:
            raise InputError(f"{text[:60]!r} is not a line of quoted fields: {error}") from None
        return [field.encode("utf-8", "surrogateescape") for field in fields]
    return [field.lstrip(b" ").rstrip(_CONTROL) for field in line.split(bytes([delimiter]))]


def has_quotes(text: bytes, delimiter: int) -> bool:
    """Whether a field of a text starts with a quote."""
    if delimiter == 0 or b'"' not in text:
        return False
    return re.search(rb"(?m)(^|" + re.escape(bytes([delimiter])) + rb') *"', text) is not None


def is_data(line: bytes, comments: bytes) -> bool:
    """Whether a line is neither empty nor a comment."""
    stripped = line.lstrip(_CONTROL)
    return bool(stripped) and stripped[0] not in comments


def sample_lines(head: bytes, comments: bytes) -> list[bytes]:
    """Return the data lines at the start of a text; a quoted field may contain line breaks."""
    done: list[bytes] = []
    record: list[bytes] = []  # lines of a quoted field that is still open
    for line in _EMPTY.sub(b"\n", head).split(b"\n"):
        if not record:
            if is_data(line, comments):
                (record if _OPENS.search(line) else done).append(line)
            continue
        record.append(line)
        if _CLOSES.match(line):
            if not _OPENS.search(line):  # else another field opens on the same line
                done.append(b" ".join(record))
                record = []
        elif b'"' in line or len(record) > _LINES_OF_A_FIELD:  # no quoted field after all
            done += [part for part in record if is_data(part, comments)]
            record = []
    return [*done, *(part for part in record if is_data(part, comments))]


def comments_as_data(head: bytes, comments: bytes) -> tuple[bytes | None, bytes | None]:
    """Return the comment right above the data, and the first below that looks like data (``#tag other``)."""
    above, seen = None, False
    for line in filter(None, map(bytes.rstrip, head.split(b"\n"))):
        if is_data(line, comments):
            seen = True
        elif not seen:
            above = line
        elif comments and re.match(rb"\s*[" + re.escape(comments) + rb"]\w+[^\w ]?[,;\t |]\S", line):
            return above, line.strip()
    return above, None


def commented_header(above: bytes, line: bytes) -> bytes | None:
    """Return a comment right above the first line of data if it is a header: ``#node1<tab>node2``."""
    mark = b"\t" if b"\t" in line else b","
    titles = above[1:].split(mark)
    words = len(titles) == line.count(mark) + 1 > 2 and all(re.match(rb"[A-Za-z]", t) for t in titles)
    return above[1:] if words else None


def table_blocks(
    source: Source, dialect: Dialect, encoding: str | None = None, block: int = BLOCK
) -> Iterator[TextBlock]:
    """Yield the records of a table below its header."""
    blocks = _whole_records(text_blocks(source, encoding=encoding, block=block), dialect)
    if dialect.has_header_line:
        blocks = _after_header(blocks, dialect)
    return (TextBlock(text, line, dialect, source.name) for text, line in blocks)


def _whole_records(blocks: Iterable[tuple[bytes, int]], dialect: Dialect) -> Iterator[tuple[bytes, int]]:
    """Move the end of each block into the next one from the line on in which a quoted field begins."""
    held, line = b"", 1
    for block, start in blocks:
        line, block = (line, held + block) if held else (start, block)
        quotes = block.count(b'"') if dialect.delimiter else 0
        cut = len(block)
        if quotes % 2 and len(held) < BLOCK:  # a longer field is none: a quote within a name
            cut = block.rfind(b"\n", 0, block.rfind(b'"')) + 1
        if cut:
            yield block[:cut], line
        held, line = block[cut:], line + block.count(b"\n", 0, cut)
    if held:
        yield held, line


def _after_header(blocks: Iterator[tuple[bytes, int]], dialect: Dialect) -> Iterator[tuple[bytes, int]]:
    """Return blocks without the header, the first record of data."""
    for block, line in blocks:
        first = next(_records(block, line, dialect), None)
        if first is not None:
            start, number = first[0], first[1] + first[2].count(b"\n") + 1
            rest = block[start + len(first[2]) + 1 :]
            return chain([(rest, number)], blocks) if rest else blocks
    return iter(())


def _records(text: bytes, line: int, dialect: Dialect) -> Iterator[tuple[int, int, bytes]]:
    """Yield the position, the line number and the bytes of each record of data; quotes may hold line ends."""
    at, held, start, number = 0, b"", 0, line
    for raw in text.split(b"\n"):
        if held or is_data(raw, dialect.comments):
            held = held + b"\n" + raw if held else raw
            if dialect.delimiter == 0 or held.count(b'"') % 2 == 0:
                yield start, number, held
                held = b""
        at += len(raw) + 1
        line += 1
        if not held:
            start, number = at, line
    if held:
        yield start, number, held


@dataclass(frozen=True)
class TextBlock:
    """Whole records of a table; the first line has the number ``line``."""

    text: bytes
    line: int
    dialect: Dialect
    name: str

    def records(self) -> Iterator[tuple[int, bytes]]:
        """Yield the line number and the bytes of each record."""
        return ((number, raw) for _, number, raw in _records(self.text, self.line, self.dialect))

    def place(self, row: int) -> str:
        """Return the file and line of a row, for messages."""
        for at, (number, _) in enumerate(self.records()):
            if at == row:
                return f"{self.name}, line {number}"
        return self.name

    def columns(self, kinds: Mapping[int, Any]) -> Columns:
        """Return columns as Arrow arrays of the given types, by position; raises ArrowInvalid."""
        import pyarrow as pa
        import pyarrow.compute as pc
        from pyarrow import csv as arrow_csv

        text, delimiter = self.cleaned, self.dialect.delimiter
        if not text.strip():
            return {at: pa.array([], kind) for at, kind in kinds.items()}
        quoted = delimiter != 0 and b'"' in text
        parsed = arrow_csv.read_csv(
            pa.BufferReader(text),
            arrow_csv.ReadOptions(
                column_names=[str(column) for column in range(self.dialect.n_fields)],
                use_threads=False,
                block_size=max(len(text), 1 << 16),
            ),
            arrow_csv.ParseOptions(
                delimiter=chr(delimiter or 32), quote_char='"' if quoted else False, newlines_in_values=quoted
            ),
            arrow_csv.ConvertOptions(
                column_types={str(at): kind for at, kind in kinds.items()},
                include_columns=[str(at) for at in kinds],
                null_values=[],
                strings_can_be_null=False,
            ),
        )
        columns = dict(zip(kinds, map(to_arrow, parsed.columns)))
        mark = bytes([delimiter])
        pairs = (mark + b" ", b" " + mark, b"\n ", b" \n", b" \r")
        if delimiter and any(has_pair(text, pair) for pair in pairs):  # blanks around fields
            texts = [at for at, kind in kinds.items() if pa.types.is_string(kind)]
            columns |= {at: pc.ascii_trim_whitespace(columns[at]) for at in texts}
        return columns

    @cached_property
    def cleaned(self) -> bytes:
        """The lines without comments, and with single blanks between fields if blanks separate them."""
        block, dialect = self.text, self.dialect
        if any(byte in block for byte in dialect.comments):
            block = re.sub(rb"(?m)^[ \t]*[" + re.escape(dialect.comments) + rb"].*$", b"", block)
        if dialect.delimiter == 0:
            block = block.translate(_BLANKS_OF_LINES)
            while has_pair(block, b"  "):
                block = block.replace(b"  ", b" ")
            return block.replace(b"\n ", b"\n").replace(b" \n", b"\n").strip(b" ")
        mark = bytes([dialect.delimiter])
        if b'"' in block and has_pair(block, mark + b" "):
            block = block.replace(mark + b' "', mark + b'"')
        odd = not dialect.quoted and (block[:1] <= b" " or any(has_pair(block, pair) for pair in _OPENING))
        return _EMPTY_LINES.sub(b"", block) if odd else block

    def texts(self, wanted: Collection[int]) -> Columns:
        """Return columns as text; raise an error for a line with too many or too few fields."""
        import pyarrow as pa

        try:
            return self.columns(dict.fromkeys(wanted, pa.string()))
        except pa.ArrowInvalid as error:
            for number, raw in self.records():
                n_fields = len(split(raw, self.dialect.delimiter))
                if n_fields != self.dialect.n_fields:
                    shown = raw[:60].decode("utf-8", "replace").rstrip("\r")
                    delimiter = self.dialect.delimiter
                    mark = _SHOWN.get(delimiter, repr(chr(delimiter)))
                    raise InputError(
                        f"{self.name}, line {number}: {counted(n_fields, 'column')} where other lines have "
                        f"{self.dialect.n_fields}, separated by {mark}: {shown!r}"
                    ) from None
            message = " ".join(str(error).split())
            raise InputError(f"{self.name}, line {self.line} or later: {message}") from None

    def numbers(self, column: Any, role: str) -> Any:
        """Return text as numbers, in the number format of the table; raise an error where it is none."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not self.dialect.plain:
            grouping = "." if self.dialect.decimal == b"," else ","
            column = pc.replace_substring(pc.replace_substring(column, grouping, ""), ",", ".")
        for kind in (pa.int64(), pa.float64()) if role == "time" else (pa.float64(),):
            try:
                return pc.ascii_trim_whitespace(column).cast(kind)
            except pa.ArrowInvalid:
                continue
        self.refuse(column, role, lambda field: not NUMBER.fullmatch(field.encode()), bad_field)
        return pa.array([None if field is None else float(field) for field in column.to_pylist()])

    def refuse(
        self,
        column: Any,
        role: str,
        is_bad: Callable[[str], Any],
        message: Callable[[str, str], str | Message],
    ) -> None:
        """Raise an error with the line of the first bad field, if there is one."""
        for row, text in enumerate(column.to_pylist()):
            if text is not None and is_bad(text):
                raise InputError(f"{self.place(row)}: ", message(role, text))


def has_pair(text: bytes, pair: bytes) -> bool:
    """Whether two bytes follow each other; faster than ``pair in text`` if both are frequent."""
    if pair[0] not in text or pair[1] not in text:
        return False
    codes = np.frombuffer(text, np.uint8)
    return bool(((codes[:-1] == pair[0]) & (codes[1:] == pair[1])).any())


def bad_field(role: str, field: str) -> Message:
    """Return the message for a missing name, or a weight or time that is not a number."""
    drop = () if role == "entry" else (", or pass ", Option("missing", "drop"))
    if not field:
        return Message(f"the {role} is missing; fill it in", *drop)
    remedy = ("; fill in missing values", *drop) if field.lower().encode() in NO_NUMBER else ()
    return Message(f"the {role} {field[:60]!r} is not a number", *remedy)
