"""Check the record of the fit in a vector file, once, when it is read.

Adding items, predicting links and continuing a fit rely on it: a wrong number would end in a traceback far
from the file, or in a wrong result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from softvec.core.errors import InputError


class RecordError(InputError):
    """A vector file with an invalid record of its fit."""


def _is_number(value: Any, least: float = -1e30, most: float = 1e30) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most


def _is_count(value: Any) -> bool:
    return type(value) is int and 1 <= value <= 2**31


def _are_numbers(value: Any) -> bool:
    """Whether this is a list of numbers; None stands for a number that was not finite."""
    return isinstance(value, list) and all(
        part is None or (isinstance(part, int | float) and math.isfinite(part)) for part in value
    )


# what fields must hold if they are there, and a check of it
_RULES: Mapping[str, Callable[[Any], bool]] = {
    "a number": _is_number,
    "a number above 0": lambda value: _is_number(value, 0) and value > 0,
    "a number of at least 0": lambda value: _is_number(value, 0),
    "a number of at least 0, or none": lambda value: value is None or _is_number(value, 0),
    "a number from 0 to 2": lambda value: _is_number(value, 0, 2),
    "an integer of at least 1": _is_count,
    "an integer of at least 1, or none": lambda value: value is None or _is_count(value),
    "a text": lambda value: isinstance(value, str),
    "true or false": lambda value: isinstance(value, bool),
    "a mapping of options": lambda value: isinstance(value, Mapping),
    "a list of numbers": _are_numbers,
    "a list": lambda value: isinstance(value, list),
}
_FIELDS = {
    "a number": "softmax.cosine softmax.popularity softmax.activity softmax.nats_gained diagnosis.exact_loss",
    "a number above 0": "parameters.beta data.mean_neighbours data.mean_weight",
    "a number of at least 0": "parameters.shrinkage parameters.regularization diagnosis.standard_error",
    "a number of at least 0, or none": "data.options.subsample softmax.standard_error",
    "a number from 0 to 2": "parameters.base_measure",
    "an integer of at least 1": "parameters.n_clusters softmax.n_hidden diagnosis.n_rows",
    "an integer of at least 1, or none": "data.options.length",
    "a text": "parameters.constraint parameters.gradient parameters.normalizer parameters.view data.kind "
    "data.summary data.source",
    "true or false": "data.directed",
    "a mapping of options": "data.options",
    "a list of numbers": "history.loss history.epoch softmax.deciles",
    "a list": "additions",
}


def check_record(record: Mapping[str, Any], name: str) -> None:
    """Raise an error if a field that softvec uses is invalid.

    A part that is not a mapping was written by another program, and is ignored.
    """
    for expected, fields in _FIELDS.items():
        for field in fields.split():
            for value in _values(record, field):
                if not _RULES[expected](value):
                    shown = repr(value)
                    raise RecordError(
                        f"{name} is damaged: its record says that {field} is "
                        f"{shown if len(shown) <= 60 else shown[:59] + '…'}; expected {expected}"
                    )


def _values(record: Mapping[str, Any], field: str) -> Iterator[Any]:
    """Yield the value of a field, given by its path, if it is there."""
    *parts, last = field.split(".")
    for part in parts:
        inner = record.get(part)
        if not isinstance(inner, Mapping):
            return
        record = inner
    if last in record:
        yield record[last]
