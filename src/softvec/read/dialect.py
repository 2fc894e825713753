"""The dialect of a table in text, detected from its first lines: delimiter, quotes, header, decimal mark."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from softvec.core.checks import counted
from softvec.core.dates import is_stamp
from softvec.core.errors import InputError, Message, Option
from softvec.read.formats import refuse_layout
from softvec.read.header import find_header
from softvec.read.numbers import DIGITS, GROUPED, INTEGER, NUMBER, find_decimal, is_none, plain_number
from softvec.read.options import COMMENTS, TableOptions
from softvec.read.table import ColumnSample

_OPENS = re.compile(rb'(?:^|[,;\t|]) *"[^"]*(?:""[^"]*)*$')  # a quoted field that goes on in the next line
_CLOSES = re.compile(rb'[^"]*(?:""[^"]*)*"[ \r]*(?:[,;\t|]|$)')
_EMPTY = re.compile(rb"\n[\0-\x20]*\n")
_LINES_OF_A_FIELD = 100
_BLANKS = bytes(32 if byte < 32 else byte for byte in range(256))
_CONTROL = bytes(range(33))
_NO_VALUE = (b"", b"{}", rb"\N")  # networkx writes {} where an edge has no data, MySQL \N


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
    suffix: str = ""  # of the file
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
        return modal_fields(self.rows(delimiter)[skip:])


def modal_fields(rows: Sequence[Sequence[bytes]]) -> tuple[int, float]:
    """Return the most common number of fields, and the share of rows that have it."""
    number, times = Counter(map(len, rows)).most_common(1)[0]
    return number, times / len(rows)


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


def is_cut(sample: Sample) -> bool:
    """Whether tabs or bars cut nearly all lines into the same number of fields, as they cut no prose."""
    cuts = (sample.modal(delimiter) for delimiter in (9, 124))
    return len(sample.lines) > 3 and any(number > 2 and share >= 0.8 for number, share in cuts)


def find_delimiter(sample: Sample) -> int:
    """Return the delimiter that splits most lines into the same number of fields, at least two.

    >>> lines = (b"Rome, Italy\\tParis, France", b"1;2;0,5", b"a,b")
    >>> [chr(find_delimiter(Sample([line]))) for line in lines]
    ['\\t', ';', ',']
    """
    lines = sample.lines
    if _is_spaced_and_quoted(sample):
        return 32
    best, best_share, best_number = 0, 0.0, 0
    for delimiter in (9, 44, 59, 124):
        if not any(delimiter in line for line in lines):
            continue
        number, share = sample.modal(delimiter)
        if number < 2 or (delimiter != 9 and _mostly_spaced(sample, delimiter)):
            continue
        if delimiter == 44 and _within_numbers(lines):
            continue
        if delimiter == 9 and share == 1:
            return 9
        if (share, number) > (best_share, best_number):
            best, best_share, best_number = delimiter, share, number
    number, share = sample.modal(0)
    # blanks, if they split more lines alike than any single character does
    return 0 if number >= 2 and share > best_share else best


def _is_spaced_and_quoted(sample: Sample) -> bool:
    """Whether fields are quoted and set apart by single blanks, as R's write.table sets them."""
    lines = sample.lines
    quoted = re.compile(rb'("[^"]*"|[^"\s]+)( ("[^"]*"|[^"\s]+))+\r?')
    titled = re.fullmatch(rb'"[^"]*"( "[^"]*")+\r?', lines[0])
    if not all(quoted.fullmatch(line) and (titled or line.startswith(b'"')) for line in lines[:200]):
        return False
    return len(lines) > 2 and sample.modal(32, skip=1)[1] == 1


def _within_numbers(lines: Sequence[bytes]) -> bool:
    """Whether all commas are decimal marks in fields separated by blanks: ``ann bob 0,5``."""
    decimal = re.compile(rb"([^,]*\s[0-9]++,[0-9]++)++[^,]*")
    return all(decimal.fullmatch(line) for line in lines if b"," in line)


def _mostly_spaced(sample: Sample, delimiter: int) -> bool:
    """Whether most fields contain blanks, as in prose with commas, and not as in a table of full names."""
    if sample.suffix == ".csv" or any(has_quotes(line, delimiter) for line in sample.lines[:200]):
        return False
    mark = bytes([delimiter])
    joined = delimiter == 124 or not any(mark + b" " in line for line in sample.lines)
    if joined and sample.modal(delimiter)[1] == 1 and all(map(all, sample.rows(delimiter))):
        return False
    fields = [field for row in sample.rows(delimiter)[:200] for field in row]
    return sum(b" " in field for field in fields) > 0.5 * len(fields)


def find_dialect(
    sample: Sample, options: TableOptions, names: Sequence[str], name: str
) -> tuple[Dialect, list[Message]]:
    """Detect the dialect of a table, except for what the user gave, and say what is uncertain.

    ``names`` are column names that the user gave, which must be in the header; ``name`` is that of the table.
    """
    comments, delimiter, header = options.comments, options.delimiter, options.header
    if not sample.lines:
        raise InputError(
            f"{name} is empty: it has no edges (lines that start with one of {comments.decode()} are "
            "comments; ", Option("comment", None), " reads them)",
        )  # fmt: skip
    byte = find_delimiter(sample) if delimiter is None else delimiter_byte(delimiter)
    refuse_layout(sample.lines, byte, name, cut=sample.modal(byte)[0] > 1)
    rows = sample.rows(byte)
    n_fields, _ = sample.modal(byte, skip=int(len(rows) > 3))
    guesses: list[Message] = []
    if sample.titled:
        header = True
    if header is None:
        header, guesses = find_header(rows, n_fields, names)
        if not header and _counts_lines(rows):
            shown = " ".join(field.decode() for field in rows[0])
            guesses.append(Message(f"line 1 ({shown}) is read as data; remove it if it counts the lines"))
    titles = _titles(rows, n_fields, name) if header else None
    full = [row for row in rows[int(header) :] if len(row) == n_fields]
    mark, separators = find_decimal(full, byte, options.decimal or None, name, guesses)
    quoted = any(has_quotes(line, byte) for line in sample.lines)
    return Dialect(byte, comments, titles, n_fields, quoted, mark, separators, sample.titled), guesses


def _titles(rows: Sequence[Sequence[bytes]], n_fields: int, name: str) -> tuple[str, ...]:
    """Return the column names in a header; R writes none for the column of row names."""
    titles, body = [field.decode("utf-8", "replace") for field in rows[0]], rows[1:]
    if len(titles) == n_fields - 1 and body and len({row[0] for row in body}) == len(body):
        titles = ["", *titles]
    if len(titles) != n_fields:
        raise InputError(
            f"{name}: the header has {counted(len(titles), 'column')}, the lines below it {n_fields}; "
            "repair it, remove it if it is a title, or pass ",
            Option("header", False),
        )
    if not body:
        raise InputError(f"{name} has a header, {', '.join(titles)}, and nothing below it")
    return tuple(titles)


def _counts_lines(rows: Sequence[Sequence[bytes]]) -> bool:
    """Whether the first line may count nodes (at least every id) and edges (the lines below it)."""
    if not all(len(row) == 2 and all_integers(row) for row in rows):
        return False
    nodes, edges = map(int, rows[0])
    return edges == len(rows) - 1 > 3 and nodes >= max(int(field) for row in rows[1:] for field in row)


def describe_text(sample: Sample, dialect: Dialect) -> list[ColumnSample]:
    """Describe the columns of a text."""
    titles: Sequence[str | None] = dialect.header or [None] * dialect.n_fields
    full = sample.full_rows(dialect)
    return [_describe(titles[c], [row[c] for row in full], dialect) for c in range(dialect.n_fields)]


def _describe(title: str | None, fields: list[bytes], dialect: Dialect) -> ColumnSample:
    """Describe one column, as :func:`softvec.read.table.describe` does for columns with a type."""
    present = [field for field in fields if field not in _NO_VALUE]
    shown = present
    if not dialect.plain:
        shown = [plain_number(f, dialect.decimal) if GROUPED.fullmatch(f) else f for f in present]
    known = [field for field in shown if not is_none(field)]
    # 80% is enough: a weight that is not a number should be an error, not a reason to ignore all weights
    if sum(map(bool, map(NUMBER.fullmatch, known))) >= max(1, 0.8 * len(known), 0.5 * len(fields)):
        numbers = list(filter(NUMBER.fullmatch, shown))
        whole = all(map(DIGITS.fullmatch, numbers))
        return ColumnSample(title, True, whole, values=[int(f) if whole else float(f) for f in numbers])
    texts = [field.decode("utf-8", "replace") for field in present]
    stamps = len(texts) > 0 and sum(map(is_stamp, texts)) >= 0.8 * len(fields)
    return ColumnSample(title, stamps=stamps, values=texts)


def delimiter_byte(delimiter: str) -> int:
    """Return the byte of the user's delimiter; 0 for runs of blanks."""
    named = {"tab": "\t", "comma": ",", "semicolon": ";", "space": " ", "whitespace": " ", "\\t": "\t"}
    text = named.get(delimiter, delimiter)
    if text == " ":
        return 0
    if len(text) != 1 or not text.isascii() or text in "\n\r\"'":
        raise InputError.of("delimiter", delimiter, "one character, or ' ' for blanks of any kind")
    return ord(text)


def all_integers(fields: Sequence[Any]) -> bool:
    """Whether all fields are canonical 64-bit integers."""
    return all(INTEGER.fullmatch(field) and (len(field) < 19 or abs(int(field)) < 2**63) for field in fields)
