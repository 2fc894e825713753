"""Colours of a map: groups, or values on a scale."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.checks import choice
from softvec.core.errors import InputError
from softvec.names.align import align_labels, is_missing
from softvec.plotting.names import titles_of_groups
from softvec.read.labels import read_labels, read_values

if TYPE_CHECKING:
    from softvec.embedding import Embedding

Groups = list[tuple[str, NDArray[np.intp]]]
MOST_INTEGER_GROUPS = 40  # more integers are quantities (degrees, years), unless they are 0, 1, 2, ...


def values_of(labels: Sequence[Any], continuous: bool | None = None) -> NDArray[np.float64] | None:
    """Return labels as values on a scale, NaN where missing; None if they are groups.

    Numbers with decimals are values; integers are groups, unless more than 40 are distinct and they are not
    0, 1, 2, ... ``continuous`` overrides this.
    """
    if continuous is False:
        return None
    numbers = [_number(label) for label in labels]
    if None in numbers:
        if continuous:
            first = str(labels[numbers.index(None)])
            raise InputError(
                f"labels hold {first!r}, which is not a number; expected numbers for continuous=True"
            )
        return None
    values = np.array(numbers, np.float64)
    known = values[~np.isnan(values)]
    if np.isinf(known).any():
        raise InputError("labels hold infinite values; expected finite numbers, or NaN for a missing one")
    return values if len(known) and (continuous or _is_scale(known)) else None


def _number(label: Any) -> float | None:
    """Return a label as a number, NaN for a missing one, None for anything else."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return math.nan
    return float(label) if is_number(label) else None


def is_number(value: Any) -> bool:
    """Whether a value is a number, not a truth value."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_)


def _is_scale(values: NDArray[np.float64]) -> bool:
    if (values != np.round(values)).any():
        return True
    distinct = np.unique(values[values >= 0])  # -1: no label
    return len(distinct) > MOST_INTEGER_GROUPS and distinct[-1] != len(distinct) - 1


def labels_in_file(path: str, embedding: Embedding) -> dict[Hashable, Any]:
    """Return the label or value of each item, numbers as numbers; 007 is text."""
    values = read_values(path, embedding.names)
    if values is None:
        groups = read_labels(path, embedding.names)
        if groups.multiple:
            text = f"{path}: some items have several labels; they get the colour of the first"
            warnings.warn(text, stacklevel=2)
        numbers: dict[str, str | float] = {text: text for text in groups.classes}
        if all(text.lstrip("-").isdigit() for text in groups.classes):
            numbers = {text: int(text) if str(int(text)) == text else text for text in groups.classes}
        elif all(re.fullmatch(r"-?\d+(\.\d+)?([eE][-+]?\d+)?", text) for text in groups.classes):
            numbers = {text: float(text) for text in groups.classes}
        values = [None if text is None else numbers[text] for text in groups.texts]
    return dict(zip(embedding, values))


def aligned_labels(embedding: Embedding, labels: Any) -> list[Any]:
    """Return a label for each item, None for none; "clusters" are groups that are found."""
    if labels is None:
        return [None] * len(embedding)
    if isinstance(labels, str):
        choice("labels", labels, ("clusters",))
        groups = embedding.cluster()
        titles = titles_of_groups(embedding, groups, embedding.vectors, embedding.names)
        return [titles[group] if group >= 0 else None for group in groups.tolist()]
    aligned: list[Any] = align_labels(labels, len(embedding), embedding.names).tolist()
    return aligned


def groups_of(labels: Sequence[Any]) -> Groups:
    """Return (label, rows) in natural order; unlabelled rows come last under an empty label."""
    codes, names = grouped(labels)
    groups = [(name, np.flatnonzero(codes == code)) for code, name in enumerate(names)]
    unlabelled = np.flatnonzero(codes < 0)
    return groups + ([("", unlabelled)] if len(unlabelled) else [])


def grouped(labels: Sequence[Any]) -> tuple[NDArray[np.int64], list[str]]:
    """Return the number of the group of each label, -1 for none, and the groups in natural order.

    >>> grouped(["g10", None, 2.0, "g9"])[0].tolist(), grouped(["g10", None, 2.0, "g9"])[1]
    ([2, -1, 0, 1], ['2', 'g9', 'g10'])
    """
    texts = [None if is_missing(label) else _text(label) for label in labels]
    names = sorted({text for text in texts if text is not None}, key=natural_key)
    code: dict[str | None, int] = {name: number for number, name in enumerate(names)} | {None: -1}
    return np.array([code[text] for text in texts], np.int64), names


def _text(label: Any) -> str:
    """Return a label as text: 3.0 is 3."""
    whole = isinstance(label, float | np.floating) and label == int(label)
    return str(int(label)) if whole else str(label)


def natural_key(label: Any) -> list[tuple[int, float, str]]:
    """Sort key that puts 2 before 10 and "group 2" before "group 10"."""
    parts = re.split(r"(\d+)", str(label))
    return [(0, float(part), "") if part.isdecimal() else (1, 0.0, part) for part in parts if part]
