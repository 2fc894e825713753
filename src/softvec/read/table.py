"""The columns of any table: what the first rows of each hold, and their roles."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from softvec.core.dates import is_stamp
from softvec.core.errors import Message, Option

_SAMPLE = 2000  # rows used to detect the content of a column
_UNIX = ((6e8, 2.3e9), (6e11, 2.3e12))  # seconds and milliseconds from 1989 to 2042


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


def word_of(name: Any) -> str:
    """Return a column name in lower case, with underscores for blanks and hyphens, without marks of Neo4j."""
    plain = str(name).strip().lower()
    word = (re.sub(r"^:|\([^()]*\)$", "", plain).strip() or plain).replace(" ", "_").replace("-", "_")
    return "" if word.startswith("unnamed:_") else word


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
