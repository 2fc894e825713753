"""Tables of any kind: the user's options, the columns, and how numbers are written in text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from softvec.core.checks import check_weighted, choice
from softvec.core.dates import is_stamp
from softvec.core.errors import InputError, Message, Option

COMMENTS = b"#%"
IDS = ("auto", "integer", "string")
MISSING_ROWS = ("error", "drop")
MATRIX_KINDS = ("features", "dense")  # columns are numbers without roles
_SAMPLE = 2000  # rows used to detect the content of a column
_UNIX = ((6e8, 2.3e9), (6e11, 2.3e12))  # seconds and milliseconds from 1989 to 2042
MISSING = ("NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL", "None", r"\N")  # also as names
NO_NUMBER = frozenset((b"", b"?", b"-", b".", *(word.lower().encode() for word in MISSING)))  # in lower case
INTEGER = re.compile(rb"0|-?[1-9][0-9]{0,18}")
NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(nan|inf|infinity)", re.I)
DIGITS = re.compile(rb"[+-]?[0-9]+")  # includes ids such as 007
GROUPED = re.compile(rb"[+-]?[0-9.,]*[0-9]([eE][+-]?[0-9]+)?")
_COMMA = re.compile(rb"[+-]?([0-9]{1,3}(\.[0-9]{3})+|[0-9]+)(,[0-9]+)?([eE][+-]?[0-9]+)?")
_POINT = re.compile(rb"[+-]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?|" + NUMBER.pattern, re.I)
_ANY = re.compile(GROUPED.pattern + b"|" + NUMBER.pattern, re.I)
_THOUSANDS = re.compile(rb"[1-9][0-9]{0,2}\.[0-9]{3}")
_EITHER = re.compile(rb"[+-]?[1-9][0-9]{0,2},[0-9]{3}")


@dataclass(frozen=True)
class TableOptions:
    """The user's options about a table; None if to be detected."""

    delimiter: str | None = None
    header: bool | None = None
    comments: bytes = COMMENTS
    columns: Any = None
    encoding: str | None = None
    ids: str = "auto"
    weighted: bool | None = None
    weight: Any = None
    decimal: str | None = None
    negative: str = "auto"
    missing: str = "error"
    min_weight: float | None = None
    n_jobs: int | None = None
    two_sided: bool = False  # rows and columns are different items: follows from the kind
    timed: bool = False  # edges have times: follows from the kind

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> TableOptions:
        """Select the options about tables from all options of the user, and check them."""
        selected = {name: options[name] for name in TABLE_OPTIONS if name in options}
        if "comment" in selected:
            comment = selected.pop("comment")
            selected["comments"] = b"" if comment is None else str(comment).encode()
        made = cls(**selected)
        choice("ids", made.ids, IDS)
        choice("missing", made.missing, MISSING_ROWS)
        check_weighted(made.weighted)
        return made

    def for_kind(self, kind: str) -> TableOptions:
        """Return the options, completed for the kind of data."""
        columns, weight, negative = self.columns, self.weight, self.negative
        if negative == "auto" and kind not in ("graph", "pairs"):
            negative = "error"
        if kind in MATRIX_KINDS:
            columns = weight = None
        elif kind == "temporal":
            columns = timed_columns(columns)
        return replace(
            self, two_sided=kind == "bipartite", timed=kind == "temporal", columns=columns, weight=weight,
            negative=negative,
        )  # fmt: skip

    @property
    def column_names(self) -> list[str]:
        """The column names that the user gave, which must be in the header."""
        wanted = list(self.columns.values()) if isinstance(self.columns, dict) else self.columns
        wanted = list(wanted) if isinstance(wanted, list | tuple) else []
        return [column for column in [*wanted, self.weight] if isinstance(column, str)]


_HIDDEN = ("two_sided", "timed", "comments")
TABLE_OPTIONS = (*(f.name for f in fields(TableOptions) if f.name not in _HIDDEN), "comment")


def timed_columns(columns: Any) -> Any:
    """Return the user's columns of temporal edges, (time, source, target[, weight]), by role."""
    if columns is None or isinstance(columns, str | Mapping):
        return columns
    return dict(zip(("time", "source", "target", "weight"), columns))


@dataclass(frozen=True)
class ColumnSample:
    """Content of a column, detected from its first rows."""

    name: Any = None
    numeric: bool = False  # numbers, except for a few possible mistakes
    whole: bool = False  # all integers
    stamps: bool = False  # dates or time stamps
    values: Sequence[Any] = ()  # the sample: numbers if numeric, else text

    @cached_property
    def empty(self) -> bool:
        """Whether it holds no values."""
        return not any(value is not None and value != "" for value in self.values)

    @property
    def running(self) -> bool:
        """Whether it numbers the rows, from 0 or 1."""
        n = len(self.values)
        return self.whole and n > 2 and list(self.values) in (list(range(n)), list(range(1, n + 1)))

    @property
    def unix(self) -> bool:
        """Whether it holds integers that look like seconds or milliseconds since 1970."""
        values = self.values
        inside = (low <= min(values) and max(values) <= high for low, high in _UNIX) if self.whole else ()
        return len(values) > 1 and any(inside)

    @cached_property
    def holds_names(self) -> bool:
        """Whether it may name items: text or integers."""
        return not self.empty and not self.stamps and (self.whole or not self.numeric)

    @cached_property
    def holds_words(self) -> bool:
        """Whether it may name items by text."""
        return self.holds_names and not self.numeric


@dataclass
class Table:
    """The columns of any table, their roles, and guesses about them."""

    columns: Sequence[ColumnSample]
    roles: dict[str, int]
    guesses: list[Message] = field(default_factory=list)
    index: int | None = None  # a column that only counts rows
    chosen: bool = False  # the roles are the user's

    def guess(self, *parts: str | Option) -> None:
        """Add a guess."""
        self.guesses.append(Message(*parts))

    @cached_property
    def header(self) -> list[Any] | None:
        """Column names, if there are any."""
        return None if any(c.name is None for c in self.columns) else [c.name for c in self.columns]

    @property
    def bare(self) -> bool:
        """Whether it holds numbers without titles."""
        return self.header is None and all(column.numeric for column in self.columns)

    def show(self, at: int) -> str:
        """Return the name of a column, or its position."""
        name = self.columns[at].name
        return str(at) if name is None else str(name)

    @property
    def summary(self) -> str:
        """Return "columns a -> b, weight w"; empty for two columns without names."""
        if self.header is None and len(self.columns) == 2:
            return ""
        text = f"columns {self.show(self.roles['source'])} -> {self.show(self.roles['target'])}"
        for role in ("weight", "time"):
            if role in self.roles:
                text += f", {role} {self.show(self.roles[role])}"
        return text


def describe(name: Any, column: Any) -> ColumnSample:
    """Describe the content of a column of any table, from its first rows."""
    import pyarrow as pa

    array = to_arrow(column)
    if isinstance(array, list):
        return ColumnSample(name, values=array[:_SAMPLE])
    array = decoded_categories(array[:_SAMPLE])
    kind = array.type
    if pa.types.is_nested(kind) or pa.types.is_interval(kind):  # neither names nor numbers
        return ColumnSample(name)
    if pa.types.is_temporal(kind):  # as Python objects, nanoseconds and years beyond 9999 raise errors
        values = array.view(pa.int32() if kind.bit_width == 32 else pa.int64()).to_pylist()
        return ColumnSample(
            name, stamps=not (pa.types.is_time(kind) or pa.types.is_duration(kind)), values=values
        )
    values = array.to_pylist()
    if is_number(kind):
        numbers = [value for value in values if value is not None]
        return ColumnSample(name, True, all(value == value // 1 for value in numbers), values=numbers)
    stamps = is_text(kind) and len(values) > 0 and all(is_stamp(value or "") for value in values)
    return ColumnSample(name, stamps=stamps, values=values)


def decoded_categories(array: Any) -> Any:
    """Return an Arrow array of categories as their values."""
    import pyarrow as pa

    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def is_number(kind: Any) -> bool:
    """Whether an Arrow type is an integer or a floating-point number."""
    import pyarrow as pa

    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is text."""
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_missing(cell: Any) -> bool:
    """Whether a cell holds nothing: None, NaN, NaT, NA or an empty text."""
    if isinstance(cell, str):
        return not cell.strip()
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(cell, float | np.floating) and cell != cell


def to_arrow(column: Any) -> Any:
    """Return a column of any table as one Arrow array; a list if it mixes types.

    String views become plain strings; categories are kept.
    """
    import pyarrow as pa

    if hasattr(getattr(column, "dtype", None), "fill_value"):  # a sparse column of pandas
        column = np.asarray(column)
    if hasattr(column, "to_arrow"):  # polars
        array = column.to_arrow()
    elif isinstance(column, pa.Array | pa.ChunkedArray):
        array = column
    else:
        try:
            array = pa.array(column, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
            return list(column)  # a mix of types: names of any kind
        if pa.types.is_list(array.type) and all(isinstance(item, tuple) for item in column):
            return list(column)  # tuples are names, which Arrow would turn into lists
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
        if isinstance(array, pa.ChunkedArray):
            array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    if pa.types.is_string_view(array.type):
        array = array.cast(pa.large_string())
    if pa.types.is_dictionary(array.type) and array.dictionary.null_count:  # else the null counts as a name
        array = array.dictionary_decode()
    return array


def find_decimal(
    rows: list[list[bytes]], delimiter: int, decimal: str | None, name: str, guesses: list[Message]
) -> tuple[bytes, bool]:
    """Return the decimal mark of a table, and whether it has thousands separators."""
    if decimal not in (None, ".", ","):
        raise InputError.of("decimal", decimal, "'.' or ','")
    for column in zip(*rows):
        fields = [field for field in column if field]
        if delimiter == 59 and decimal is None and fields and all(map(_THOUSANDS.fullmatch, fields)):
            text = f"numbers such as {fields[0].decode()} are read with a decimal point; "
            guesses.append(Message(text, Option("decimal", ","), " if they are thousands"))
        if (marks := _marks_of(fields, delimiter, decimal, name)) is not None:
            return marks
    return (b"," if decimal == "," else b"."), False


def _marks_of(
    fields: list[bytes], delimiter: int, decimal: str | None, name: str
) -> tuple[bytes, bool] | None:
    """Return what a column says about decimal mark and thousands; None if it says nothing."""
    with_comma = [field for field in fields if b"," in field]
    if not with_comma or not all(map(_ANY.fullmatch, fields)):
        return None
    point, comma = all(map(_POINT.fullmatch, fields)), all(map(_COMMA.fullmatch, fields))
    if decimal == "," or (decimal is None and comma and not point):
        return b",", b"." in b"".join(fields)
    either = decimal is None and delimiter != 44 and all(map(_EITHER.fullmatch, with_comma))
    if either and point and comma:
        text = f"{name}: {with_comma[0].decode()} may be a decimal or thousands; pass "
        raise InputError(text, Option("decimal", ","), " or ", Option("decimal", "."))
    return (b".", True) if point else None


def plain_number(field: bytes, mark: bytes) -> bytes:
    """Return a number with a decimal point and without thousands separators.

    >>> plain_number(b"1.234,5", b","), plain_number(b"1,234.5", b".")
    (b'1234.5', b'1234.5')
    """
    return field.replace(b".", b"").replace(b",", b".") if mark == b"," else field.replace(b",", b"")


def all_integers(fields: Sequence[Any]) -> bool:
    """Whether all fields are canonical 64-bit integers."""
    return all(INTEGER.fullmatch(field) and (len(field) < 19 or abs(int(field)) < 2**63) for field in fields)
