"""Edges from tables (Arrow, pandas, polars, dicts of arrays): column roles, and values in blocks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.checks import counted
from softvec.core.dates import parse as parse_dates
from softvec.core.dates import say_cut
from softvec.core.errors import InputError, Message, Option, guess
from softvec.core.untrusted import one_line
from softvec.kernels import worth_compiling
from softvec.names.coding import Tokens
from softvec.read.roles import small_is_close
from softvec.read.table import (
    MISSING,
    Table,
    TableOptions,
    decoded_categories,
    is_missing,
    is_number,
    is_text,
    to_arrow,
)

if TYPE_CHECKING:
    from softvec.read.edges import EdgeBuilder

_CLOCK = re.compile(r"\d{1,2}:\d\d(:\d\d(\.\d+)?)?")
_CLOCKS = "holds times of day; expected dates such as 2024-03-01T09:30"
RoleColumns = dict[str, Any]  # Arrow arrays, or lists of names of any kind, by role


def edge_roles(table: Table, where: str, options: TableOptions) -> Table:
    """Return a table with the roles that edges use, and warn about guesses.

    Unnamed columns of temporal edges are in the order t i j and weight.
    """
    roles, weighted = dict(table.roles), options.weighted
    guesses: Iterable[Message] = table.guesses
    if options.timed and "time" not in roles:
        roles, guesses = _roles_in_order(table, where, options), ()
    elif options.columns is None and options.weight is None and weighted is None:
        _refuse_distances(table, where)
        guesses = [*guesses, *_weights_in_doubt(table)]
    for text in guesses:
        if weighted is None or Option("weighted", False) not in text.options:
            guess(f"{where}: ", text)
    unused = {"" if options.timed else "time", "weight" if weighted is False else ""}
    return replace(table, roles={role: at for role, at in roles.items() if role not in unused}, guesses=[])


def _roles_in_order(table: Table, where: str, options: TableOptions) -> dict[str, int]:
    """Return the roles of temporal edges without a column of times: t i j, and a weight."""
    columns = table.columns
    if options.columns is not None or len(columns) < 3:
        named = table.header or range(len(columns))
        raise InputError(
            f"{where} has no time column among {', '.join(map(str, named))}; temporal edges need three, "
            "t i j; name them with ", Option("columns", ...)
        )  # fmt: skip
    weight = {"weight": 3} if len(columns) > 3 and columns[3].numeric else {}
    return {"time": 0, "source": 1, "target": 2, **weight}


def _refuse_distances(table: Table, where: str) -> None:
    """Raise an error if the weight is a distance or the like by its name: small values mean close items."""
    at = table.roles.get("weight")
    if at is not None and small_is_close(table.columns[at].name):
        shown = table.show(at)
        raise InputError(
            f"{where}: in column {shown} small values mean close items, as its name says, and weights are "
            f"the opposite; add a column such as exp(-{shown} / its median), or pass ",
            Option("weight", shown), " to use it as it is, or ", Option("weighted", False)
        )  # fmt: skip


def _weights_in_doubt(table: Table) -> list[Message]:
    """Return guesses about a table without a header: weights that look like years, or unused numbers."""
    if table.header is not None:
        return []
    at = table.roles.get("weight")
    if at is None:
        taken = {*table.roles.values(), table.index}
        unused = [k for k, c in enumerate(table.columns) if c.numeric and not c.running and k not in taken]
        if not unused:
            return []
        text = f"no weights are used, though there are numbers in column{'s' * (len(unused) > 1)} "
        return [Message(text, ", ".join(map(str, unused[:4])), "; name one with ", Option("weight", ...))]
    column = table.columns[at]
    if column.whole and all(1800 <= value <= 2100 for value in column.values) and len(column.values) > 2:
        text = f"column {at} is used as the weight, though it looks like years; "
        return [Message(text, Option("weighted", False), " if it is")]
    return []


def add_table(
    builder: EdgeBuilder,
    table: Mapping[str, Any],
    where: str = "the table",
    place: Callable[[int], str] | None = None,
    first_row: int = 0,
    large: bool = False,
) -> None:
    """Add the columns ``source``, ``target`` and, if present, ``weight`` and ``time`` to a builder.

    In messages the table is called ``where``, and its row ``k`` is ``place(k)``. ``large``: whether it is a
    part of so large a table that names are worth compiled code.
    """
    place = place or (lambda row: f"{where}, row {first_row + row}")
    columns = {role: to_arrow(column) for role, column in table.items()}
    if builder.missing == "drop":
        columns, kept = _complete_rows({role: gaps_as_nulls(column) for role, column in columns.items()})
        builder.incomplete += len(kept) - int(kept.sum())
        named, rows = place, np.flatnonzero(kept)
        place = lambda row: named(int(rows[row]))  # noqa: E731
    for role, column in columns.items():
        _refuse_nulls(column, role, place)
    weights, times, zoned = None, None, False
    if "weight" in columns:
        weights = numbers(columns["weight"], "weight", where)
        check_weights(weights, builder.negative, place)
    if "time" in columns:
        dates = _text_as_times(columns["time"], where)
        times = numbers(dates, "time", where)
        zoned = getattr(dates.type, "tz", None) is not None
    source, target = columns["source"], columns["target"]
    sides = [[source], [target]] if builder.two_sided else [[source, target]]
    kinds = [builder.blocks_of(s) or (Tokens if large else None) for s in range(len(sides))]
    builder.add([_block(side, kind) for side, kind in zip(sides, kinds)], weights, times, zoned)


def gaps_as_nulls(column: Any) -> Any:
    """Return a column with nulls for empty text, words such as NA, and NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(column, list):
        return [None if is_missing(item) else item for item in column]
    column = decoded_categories(column)
    if is_text(column.type):
        gaps = pc.is_in(column, pa.array(["", *MISSING], column.type))
    elif pa.types.is_floating(column.type):
        gaps = pc.is_null(column, nan_is_null=True)
    else:
        return column
    return pc.if_else(gaps, pa.scalar(None, column.type), column)


def _is_valid(column: Any) -> NDArray[np.bool_]:
    """Return which values of a column are not null."""
    if isinstance(column, list):
        return np.array([item is not None for item in column], dtype=bool)
    valid: NDArray[np.bool_] = column.is_valid().to_numpy(zero_copy_only=False)
    return valid


def _complete_rows(columns: RoleColumns) -> tuple[RoleColumns, NDArray[np.bool_]]:
    """Return the rows of columns without missing values, and which they are."""
    import pyarrow as pa

    kept = np.logical_and.reduce([_is_valid(column) for column in columns.values()])
    if kept.all():
        return columns, kept
    filtered = {
        role: list(compress(column, kept)) if isinstance(column, list) else column.filter(pa.array(kept))
        for role, column in columns.items()
    }
    return filtered, kept


def _refuse_nulls(column: Any, role: str, place: Callable[[int], str]) -> None:
    if role in ("source", "target") and (isinstance(column, list) or is_number(column.type)):
        column = gaps_as_nulls(column)
    nulls = column.count(None) if isinstance(column, list) else column.null_count
    if nulls:
        row = int(np.argmin(_is_valid(column)))
        text = f"{place(row)}: the {role} is missing ({counted(nulls, 'such row')}); fill them in, or pass "
        raise InputError(text, Option("missing", "drop"))


def numbers(column: Any, role: str, where: str) -> NDArray[Any]:
    """Return an Arrow column as numbers; dates become datetime64[us], in UTC if they have a time zone."""
    import pyarrow as pa

    if isinstance(column, list):
        raise InputError(f"{where}: the {role} column holds a mix of types; it must hold numbers")
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _dates(column, role, where)
    if pa.types.is_time(kind):
        raise InputError(f"{where}: the {role} column {_CLOCKS}")
    if pa.types.is_decimal(kind) or (len(column) > 0 and is_text(kind)):
        column = _as_floats(column, role, where)
    if not is_number(column.type):
        raise InputError(f"{where}: the {role} column has type {kind}; it must hold numbers")
    values = column.to_numpy(zero_copy_only=False)
    if role != "time":
        return values.astype(np.float64, copy=False)
    days = _calendar_days(values)
    if days is not None:
        guess(f"{where}: times such as {values[0]} are read as dates, year, month and day")
    return values if days is None else days


def _text_as_times(column: Any, where: str) -> Any:
    """Return text as dates if it holds dates, else as it is."""
    if isinstance(column, list) or not len(column) or not is_text(column.type):
        return column
    dates = parse_dates(column)
    if dates is not None and dates.type.tz and not all(text.endswith("Z") for text in column.to_pylist()):
        guess(f"{where}: the times have time zones; they are used in UTC")
    if dates is None and _CLOCK.fullmatch(str(column[0])):
        raise InputError(f"{where}: the time column {_CLOCKS}")
    return column if dates is None else dates


def _dates(column: Any, role: str, where: str) -> NDArray[Any]:
    """Return an Arrow column of dates as datetime64[us], in UTC if they have a time zone."""
    import pyarrow as pa

    kind = column.type
    if role != "time":
        raise InputError(f"{where}: the {role} column holds dates; it must hold numbers")
    if getattr(kind, "tz", None) not in (None, "UTC", "Etc/UTC", "+00:00"):
        guess(f"{where}: the times have the time zone {kind.tz}; they are used in UTC")
    nanoseconds = getattr(kind, "unit", "") == "ns"
    if nanoseconds and (column.drop_null().cast(pa.int64()).to_numpy() % 1000).any():
        say_cut(where)
    try:
        stamps = column.cast(pa.timestamp("us"), safe=not nanoseconds)
    except pa.ArrowInvalid:  # seconds beyond 64 bits of microseconds
        text = f"{where}: the {role} column has dates out of range; expected years from 1 to 9998"
        raise InputError(text) from None
    return stamps.to_numpy(zero_copy_only=False).astype("datetime64[us]")


def _as_floats(column: Any, role: str, where: str) -> Any:
    """Return text or decimals as floats; raise an error for a value that is none."""
    import pyarrow as pa

    try:
        return column.cast(pa.float64())
    except pa.ArrowInvalid as error:
        quoted = re.search(r"'.*'", one_line(error))
        shown = f"holds {quoted[0]}" if quoted else f"does not hold numbers ({one_line(error)})"
        text = f"{where}: the {role} column {shown}; expected numbers"
        if role != "time":
            raise InputError(text) from None
        text += " or dates such as 2024-03-01 or 2024-03-01T09:30Z, all alike; "
        raise InputError(text, Option("kind", "graph"), " leaves the times out") from None


def _calendar_days(values: NDArray[Any]) -> NDArray[Any] | None:
    """Return integers such as 20240301 as dates; None if one is not a date."""
    if values.dtype.kind not in "iu" or not len(values) or values.min() < 19000101 or values.max() > 21001231:
        return None
    years, months, days = values // 10000, values // 100 % 100, values % 100
    if months.min() < 1 or months.max() > 12 or days.min() < 1 or days.max() > 31:
        return None
    first = (years - 1970).astype("datetime64[Y]").astype("datetime64[M]") + (months - 1)
    dates = first.astype("datetime64[D]") + (days - 1)
    return dates.astype("datetime64[us]") if (dates.astype("datetime64[M]") == first).all() else None


def check_weights(weights: NDArray[Any], negative: str, where: Any) -> None:
    """Raise an error for the first weight that is NaN, infinite or (if not allowed) negative."""
    if not len(weights) or (weights.min() >= 0 and weights.max() < np.inf):
        return
    bad = ~np.isfinite(weights)
    if negative in ("error", "auto"):
        bad |= (weights < 0) & ((negative == "error") | (weights != np.round(weights)))
    if bad.any():
        row = int(np.argmax(bad))
        value = weights[row]
        what = "negative" if value < 0 and np.isfinite(value) else "not finite"
        text = f"{where(row)}: the weight {value} is {what}; weights must be finite and >= 0"
        if what == "not finite":
            raise InputError(text)
        raise InputError(text, *negative_remedy(negative))


def negative_remedy(negative: str) -> tuple[str | Option, ...]:
    """Return what to pass for negative weights, after a message."""
    signs: tuple[str | Option, ...] = (", or ", Option("negative", "sign"), " for signs of links")
    return (
        "; pass ",
        Option("negative", "drop"),
        " or ",
        Option("negative", "abs"),
        *signs * (negative == "auto"),
    )


def _block(columns: Sequence[Any], like: type | None = None) -> Any:
    """Convert one or two Arrow arrays to a block of names: integers, tokens or Python objects.

    ``like`` is the type of the previous blocks: all blocks of a table have the same type.
    """
    if like is list or any(isinstance(column, list) for column in columns):
        return _objects(columns)
    decoded = list(map(decoded_categories, columns))
    many = like in (Tokens, np.ndarray) or worth_compiling(10 * len(decoded[0]))
    if many and all(is_text(column.type) for column in decoded):
        return tokens_of(decoded)
    integers = _integers(decoded)
    return _objects(decoded) if integers is None else integers


def _integers(columns: Sequence[Any]) -> NDArray[np.int64] | None:
    """Return Arrow arrays of integers side by side; None if there are others, or some beyond 64 bits."""
    import pyarrow as pa

    if not all(pa.types.is_integer(column.type) for column in columns):
        return None
    arrays = [column.to_numpy(zero_copy_only=False) for column in columns]
    if any(array.dtype == np.uint64 and array.max(initial=0) >= 2**63 for array in arrays):
        return None
    return np.stack([array.astype(np.int64, copy=False) for array in arrays], axis=1)


def _objects(columns: Iterable[Any]) -> list[tuple[Any, ...]]:
    try:
        return list(zip(*(c if isinstance(c, list) else c.to_pylist() for c in columns)))
    except (ValueError, OverflowError) as error:  # nanoseconds, or years beyond 9999
        text = f"names of type {next(c.type for c in columns)} cannot be read: {one_line(error)}"
        raise InputError(text, "; convert them to text or integers") from None


def tokens_of(columns: Sequence[Any]) -> Tokens:
    """Return Arrow string arrays as tokens."""
    import pyarrow as pa

    joined = pa.concat_arrays([column.cast(pa.large_string()) for column in columns])
    _, cuts, values = joined.buffers()
    offsets = np.frombuffer(cuts, np.int64, len(joined) + 1, 8 * joined.offset)
    data = np.frombuffer(values, np.uint8) if values else np.empty(0, np.uint8)
    sides = (side.reshape(len(columns), -1).T for side in (offsets[:-1], offsets[1:]))
    return Tokens.hashed(data, *map(np.ascontiguousarray, sides))
