"""Dates and durations: ISO 8601 text in and out, and durations such as ``15min``."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError, guess

_UNITS = {  # in microseconds; "m" is ambiguous (minute or month)
    **dict.fromkeys(("us", "µs"), 1),
    "ms": 1_000,
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1_000_000),
    **dict.fromkeys(("min", "minute", "minutes"), 60_000_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000_000),
    **dict.fromkeys(("w", "week", "weeks"), 604_800_000_000),
}
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Zµ]+)\s*")
_STAMP = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")
_ZONED = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d.*(Z|[+-]\d\d(:?\d\d)?)")
_LONGEST = 1e17  # microseconds, 3,000 years: sums with dates stay within 64 bits


def is_stamp(text: str) -> bool:
    """Whether a text is a date or a time stamp in ISO's form."""
    return _STAMP.fullmatch(text) is not None


def has_zone(value: Any) -> bool:
    """Whether a date, as an object or an ISO 8601 string, has a time zone.

    Examples
    --------
    >>> [has_zone(text) for text in ("2024-03-01", "2024-03-01T09:00", "2024-03-01T09:00+01:00")]
    [False, False, True]
    """
    zoned = isinstance(value, str) and _ZONED.fullmatch(value.strip())
    return bool(zoned) or getattr(value, "tzinfo", None) is not None


def is_duration(value: Any) -> bool:
    """Whether a value is a duration with a unit: a string, a timedelta or a timedelta64."""
    return isinstance(value, str | datetime.timedelta | np.timedelta64)


def duration(name: str, value: Any) -> int:
    """Return a duration in microseconds; a plain number is in seconds.

    Examples
    --------
    >>> duration("window", "15min"), duration("window", datetime.timedelta(hours=1))
    (900000000, 3600000000)
    """
    micro: float | None = None
    if isinstance(value, str):
        parts = _DURATION.fullmatch(value)
        unit = parts and (_UNITS.get(parts[2]) or _UNITS.get(parts[2].lower()))
        micro = float(parts[1]) * unit if parts and unit else None
    elif isinstance(value, np.timedelta64):
        whole = not np.isnat(value) and np.datetime_data(value)[0] not in ("generic", "Y", "M")
        micro = float(value / np.timedelta64(1, "us")) if whole else None
    elif isinstance(value, datetime.timedelta):
        micro = value / datetime.timedelta(microseconds=1)
    elif isinstance(value, int | float | np.number) and not isinstance(value, bool):
        micro = float(value) * 1e6
    if micro is None or not 1 <= micro < _LONGEST:
        raise InputError(f"{name} is {str(value)!r}; expected a duration such as 30s, 15min, 1h, 1d or 1w")
    return round(micro)


def to_dates(values: Sequence[Any]) -> NDArray[np.datetime64] | None:
    """Return dates or ISO 8601 strings as datetime64[us], zoned ones in UTC; None if a value is neither."""
    dates = None
    if len(values) and all(isinstance(v, datetime.date | np.datetime64) and v == v for v in values):
        dates = _dates_of_objects(values)
    elif len(values) and all(isinstance(value, str) for value in values):
        dates = _dates_of_texts(values)
    return None if dates is None or np.isnat(dates).any() else dates.astype("datetime64[us]")


def _dates_of_objects(values: Sequence[Any]) -> NDArray[np.datetime64]:
    zoned = sum(getattr(value, "tzinfo", None) is not None for value in values)
    if 0 < zoned < len(values):
        raise InputError(f"{zoned:,} of {len(values):,} dates have a time zone; expected all or none")
    if zoned and any(value.utcoffset() for value in values):
        guess("the dates have time zones; they are used in UTC")
    naive = [_naive(value) for value in values]
    dates = np.array(naive, dtype="datetime64[us]")
    exact = [hasattr(value, "nanosecond") or isinstance(value, np.datetime64) for value in naive]
    if any(value > date for value, date, more in zip(naive, dates, exact) if more):
        say_cut("the dates")
    return dates


def say_cut(where: str) -> None:
    """Say that dates are more exact than those that are kept."""
    guess(f"{where}: times in nanoseconds are cut to microseconds; for more, pass them as integers")


def _dates_of_texts(values: Sequence[str]) -> NDArray[np.datetime64] | None:
    import pyarrow as pa

    column = parse(pa.array(values))
    if column is None:
        return None
    if column.type.tz and not all(value.endswith("Z") for value in values):
        guess("the dates have time zones; they are used in UTC")
    return column.cast(pa.timestamp("us")).to_numpy(zero_copy_only=False)


def _naive(value: Any) -> Any:
    if getattr(value, "tzinfo", None) is None:
        return value
    return value.astimezone(datetime.UTC).replace(tzinfo=None)


def parse(column: Any) -> Any:
    """Return an Arrow column of ISO 8601 strings as timestamps, or None if they are something else."""
    import pyarrow as pa

    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            return column.cast(kind)
        except pa.ArrowInvalid:
            continue
    return None


def iso_texts(dates: NDArray[np.datetime64], zoned: bool = False) -> list[str]:
    """Return dates as ISO 8601 strings of equal length, as short as possible; they sort by time.

    Zoned ones have a time of day, and end in Z for UTC.

    Examples
    --------
    >>> iso_texts(np.array(["2024-03-01T09:00:00", "2024-03-01T09:15:00"], dtype="M8[us]"))
    ['2024-03-01T09:00', '2024-03-01T09:15']
    """
    dates = dates.astype("datetime64[us]")
    first, last = np.datetime64("0001-01-01"), np.datetime64("9998-12-31")
    if len(dates) and not (first <= dates.min() and dates.max() <= last):
        raise InputError(f"dates from {dates.min()} to {dates.max()}; expected years from 1 to 9998")
    short = shortest(dates)
    if zoned:
        short = short.astype(np.promote_types(short.dtype, "datetime64[m]"))
    texts: list[str] = np.datetime_as_string(short, timezone="UTC" if zoned else "naive").tolist()
    return texts


def shortest(dates: NDArray[np.datetime64]) -> NDArray[np.datetime64]:
    """Return dates in the coarsest unit that holds them all: days, minutes, seconds or microseconds."""
    for unit in ("D", "m", "s"):
        short = dates.astype(f"datetime64[{unit}]")
        if (short == dates).all():
            return short
    return dates.astype("datetime64[us]")
