"""Columns of a map: labels and metadata, aligned with the items."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.checks import counted
from softvec.core.errors import InputError
from softvec.names import Names
from softvec.names.align import align_labels, keys_of
from softvec.plotting import style
from softvec.plotting.colours import grouped, is_number, values_of
from softvec.read.frames import as_list, frame_columns
from softvec.read.table import is_missing
from softvec.read.tables import read_table

if TYPE_CHECKING:
    from softvec.embedding import Embedding

MAX_GROUPS = 1000  # a column of more distinct texts is shown only in tooltips
MAX_TEXT = 500  # maximum length of a name or a cell in a page


@dataclass(frozen=True, eq=False)
class Column:
    """A column: by ``kind``, ``values`` are group numbers (-1: none), numbers (NaN: none) or texts."""

    name: str
    kind: str  # "category", "number" or "text"
    values: Any
    groups: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()  # of detected groups, whose numbers have no meaning
    dated: bool = False  # numbers that are seconds since 1970


def labels_of(embedding: Embedding, labels: Any) -> list[Any]:
    """Return one label for each item of an embedding, rows then context; None for no label.

    Parameters
    ----------
    labels : sequence, mapping, pandas Series
        As in :func:`softvec.names.align.align_labels`. Labels by name are looked up on both sides; a sequence
        has one label per row, or one for each row and each context item.
    """
    rows, context = len(embedding), embedding.context_names
    if context is None:
        return _side(labels, embedding.names)
    if keys_of(labels) is None:
        values = as_list(labels)
        first = values[:rows] if len(values) == rows + len(context) else values
        return _side(_objects(first), embedding.names) + (values[rows:] or [None] * len(context))
    sides: list[list[Any]] = []
    for names in (embedding.names, context):
        try:
            sides.append(_side(labels, names))
        except InputError:  # no label for this side
            sides.append([None] * len(names))
    if all(label is None for label in sides[0] + sides[1]):
        _side(labels, embedding.names)  # raises the error
    return sides[0] + sides[1]


def _side(labels: Any, names: Names) -> list[Any]:
    aligned: Any = align_labels(labels, len(names), names)
    if aligned.ndim != 1:
        raise InputError(f"labels have shape {aligned.shape}; expected one for each item")
    return aligned.tolist()  # type: ignore[no-any-return]


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def all_names(embedding: Embedding) -> list[Hashable]:
    """Return the names of the rows, then those of the context."""
    names = embedding.names.to_list()
    return names + embedding.context_names.to_list() if embedding.context_names is not None else names


def label_column(name: str, values: Sequence[Any]) -> Column:
    """Return labels as a column: values on a scale as numbers, everything else as groups."""
    numbers = values_of(values)
    if numbers is not None:
        return number_column(name, numbers)
    codes, groups = grouped(values)
    return Column(name, "category", codes, tuple(map(shorten, groups)))


def number_column(name: str, values: Sequence[Any] | NDArray[Any]) -> Column:
    """Return numbers as a column, in single precision if that keeps integers exact."""
    array = np.array([math.nan if is_missing(v) else float(v) for v in values], np.float64)
    whole = array[np.isfinite(array)]
    exact = len(whole) == 0 or np.abs(whole).max() < 2**24
    return Column(name, "number", array.astype(np.float32 if exact else np.float64))


def metadata_columns(embedding: Embedding, metadata: Any) -> list[Column]:
    """Return the columns of a frame, a mapping of columns or a file, aligned with the items.

    A pandas frame with names as index, or any frame with a column ``name``, is matched by name; otherwise it
    has one line per row.
    """
    if isinstance(metadata, str | os.PathLike):
        metadata = read_metadata(metadata)
    columns = frame_columns(metadata)
    index = getattr(metadata, "index", None)
    keys = None
    if index is not None and not callable(index) and type(index).__name__ != "RangeIndex":
        keys = index.tolist()
    elif "name" in columns:
        keys = as_list(columns.pop("name"))
    if keys is not None:
        _check_keys(keys, embedding)
    result = []
    for name, values in columns.items():
        entries = as_list(values)
        labels = _objects(entries) if keys is None else dict(zip(keys, entries))
        try:
            aligned = labels_of(embedding, labels)
        except InputError as error:
            raise InputError(f"metadata column {name!r}: {error}") from error
        result.append(_column_of(shorten(str(name)), aligned))
    return result


def read_metadata(path: str | os.PathLike[str]) -> dict[str, list[Any]]:
    """Read a table with a column ``name``: text with a header, parquet, Arrow or Feather."""
    table = read_table(Path(path), "table")
    if "name" not in table:
        shown = ", ".join(list(table)[:6])
        raise InputError(f"{path} has no column 'name' with the names of items; its columns are {shown}")
    return table


def _check_keys(keys: list[Any], embedding: Embedding) -> None:
    if len(set(keys)) < len(keys):
        seen: set[Any] = set()
        twice = next(key for key in keys if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise InputError(f"metadata has the name {twice!r} more than once; expected one line for each item")
    names = set(map(str, all_names(embedding)))
    unknown = sum(str(key) not in names for key in keys)
    if 0 < unknown < len(keys):
        warnings.warn(f"{counted(unknown, 'line')} of metadata without a vector", stacklevel=5)


def _column_of(name: str, values: list[Any]) -> Column:
    known = [v for v in values if not is_missing(v)]
    if known and all(is_number(v) for v in known):
        return number_column(name, values)
    texts = ["" if is_missing(v) else shorten(str(v)) for v in values]
    distinct = len(set(texts))
    if distinct > MAX_GROUPS or (distinct > 40 and 2 * distinct > len(texts)):
        return Column(name, "text", texts)
    return label_column(name, [text or None for text in texts])


def shorten(text: str) -> str:
    """Cut a text that is too long for a page.

    >>> len(shorten("x" * 10_000_000))
    500
    """
    return style.shorten(text, MAX_TEXT)


def distinct_names(names: Iterable[str]) -> list[str]:
    """Number names that occur again.

    >>> distinct_names(["size", "time", "size"])
    ['size', 'time', 'size (2)']
    """
    result: dict[str, None] = {}
    for name in names:
        new, number = name, 2
        while new in result:
            new, number = f"{name} ({number})", number + 1
        result[new] = None
    return list(result)
