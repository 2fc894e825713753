"""Check the record of the fit in a vector file, once, when it is read.

Adding items, predicting links and continuing a fit rely on it: a wrong number would end in a traceback far
from the file, or in a wrong result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from softvec.core.errors import InputError


class RecordError(InputError):
    """A vector file with an invalid record of its fit."""


_MOST = 2**31  # classes, epochs, steps


def _number(least: float, most: float = 1e30, *, above: bool = False) -> Callable[[Any], bool]:
    """Return a check for finite numbers from ``least`` to ``most``; ``above``: without ``least`` itself."""

    def holds(value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float) or not -most <= value <= most:
            return False
        return value > least if above else value >= least

    return holds


def _integer(least: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and least <= value <= _MOST


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _numbers(value: Any) -> bool:
    """Whether this is a list of numbers; None stands for a number that was not finite."""
    return isinstance(value, list) and all(
        part is None or (isinstance(part, int | float) and math.isfinite(part)) for part in value
    )


_POSITIVE = _number(0, above=True), "a number above 0"
_NOT_NEGATIVE = _number(0), "a number of at least 0"
_ANY = _number(-math.inf), "a number"
_NAME = _text, "a text"
_COUNT = _integer(1), "an integer of at least 1"
_HISTORY = _numbers, "a list of numbers"

# part of the record -> field -> check and description; every field is optional
_FIELDS: dict[str, dict[str, tuple[Callable[[Any], bool], str]]] = {
    "parameters": {
        "beta": _POSITIVE,
        "base_measure": (_number(0, 2), "a number from 0 to 2"),
        "shrinkage": _NOT_NEGATIVE,
        "regularization": _NOT_NEGATIVE,
        "n_clusters": _COUNT,
        "constraint": _NAME,
        "gradient": _NAME,
        "normalizer": _NAME,
        "view": _NAME,
    },
    "data": {
        "kind": _NAME,
        "summary": _NAME,
        "source": _NAME,
        "directed": (_flag, "true or false"),
        "mean_neighbours": _POSITIVE,
        "mean_weight": _POSITIVE,
        "options": (lambda value: isinstance(value, dict), "a mapping of options"),
    },
    "history": {"loss": _HISTORY, "epoch": _HISTORY},
    "softmax": {
        "cosine": _ANY,
        "popularity": _ANY,
        "nats_gained": _ANY,
        "standard_error": _NOT_NEGATIVE,
        "n_hidden": _COUNT,
        "deciles": _HISTORY,
    },
    "diagnosis": {"exact_loss": _ANY, "n_rows": _COUNT, "standard_error": _NOT_NEGATIVE},
}
_OPTIONS = {"length": _COUNT, "subsample": _NOT_NEGATIVE}


def check_record(record: Mapping[str, Any], name: str) -> None:
    """Raise an error if a field that softvec uses is invalid.

    A part that is not a mapping was written by another program, and is ignored.
    """
    for part, fields in _FIELDS.items():
        if isinstance(record.get(part), Mapping):
            _check_fields(record[part], fields, part, name)
    data = record.get("data")
    if isinstance(data, Mapping) and isinstance(data.get("options"), Mapping):
        options = {key: value for key, value in data["options"].items() if value is not None}
        _check_fields(options, _OPTIONS, "data.options", name)
    if not isinstance(record.get("additions", []), list):
        raise RecordError(f"{name} is damaged: its record of additions is not a list")


def _check_fields(
    part: Mapping[str, Any], fields: Mapping[str, tuple[Callable[[Any], bool], str]], where: str, name: str
) -> None:
    for field, (holds, expected) in fields.items():
        if field in part and not holds(part[field]):
            shown = repr(part[field])
            raise RecordError(
                f"{name} is damaged: its record says that {where}.{field} is "
                f"{shown if len(shown) <= 60 else shown[:59] + '…'}; expected {expected}"
            )
