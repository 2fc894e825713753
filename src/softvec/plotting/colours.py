"""Colours of a map: groups, or values on a scale."""

from __future__ import annotations

import re
import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError
from softvec.names.align import align_labels, is_missing
from softvec.read.labels import read_labels, read_values

if TYPE_CHECKING:
    from softvec.embedding import Embedding

Groups = list[tuple[str, NDArray[np.intp]]]
MOST_INTEGER_GROUPS = 40  # more integers are quantities (degrees, years), unless they are 0, 1, 2, ...


@dataclass(frozen=True)
class Colouring:
    """Rows by colour.

    Attributes
    ----------
    groups : list of (label, rows)
        The groups with a colour of their own, in natural order.
    smaller : Groups
        The other groups, which share a grey.
    unlabelled : ndarray of int
        Rows without a label.
    """

    groups: Groups
    smaller: Groups
    unlabelled: NDArray[np.intp]


def values_of(embedding: Embedding, labels: Any, continuous: bool | None) -> NDArray[np.float64] | None:
    """Return labels as values on a scale, NaN where missing; None if they are groups.

    Numbers with decimals are values; integers are groups, unless more than 40 are distinct and they are not
    0, 1, 2, ... ``continuous`` overrides this.
    """
    if labels is None or isinstance(labels, str) or continuous is False:
        return None
    aligned = align_labels(labels, len(embedding), embedding.names).tolist()
    numbers = np.array([_number(label) for label in aligned], dtype=object)
    if any(number is None for number in numbers):
        if continuous:
            first = next(str(label) for label, number in zip(aligned, numbers) if number is None)
            raise InputError(
                f"labels hold {first!r}, which is not a number; expected numbers for continuous=True"
            )
        return None
    values = numbers.astype(np.float64)
    known = values[~np.isnan(values)]
    if np.isinf(known).any():
        raise InputError("labels hold infinite values; expected finite numbers, or NaN for a missing one")
    if not len(known):
        return None
    return values if continuous or _is_scale(known) else None


def _number(label: Any) -> float | None:
    """Return a label as a number, NaN for a missing one, None for anything else."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return float("nan")
    if isinstance(label, int | float | np.number) and not isinstance(label, bool | np.bool_):
        return float(label)
    return None


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


def groups_of(embedding: Embedding, labels: Any) -> Groups:
    """Return (label, rows) in natural order; unlabelled rows come last under an empty label."""
    n = len(embedding)
    if labels is None:
        return [("", np.arange(n))]
    if isinstance(labels, str):
        if labels != "clusters":
            raise InputError(f"labels is {labels!r}; expected labels, or 'clusters'")
        aligned: Sequence[Any] = [f"group {c}" if c >= 0 else None for c in embedding.cluster()]
    else:
        aligned = align_labels(labels, n, embedding.names).tolist()
    rows: dict[Any, list[int]] = {}
    for i, label in enumerate(aligned):
        rows.setdefault(None if is_missing(label) else label, []).append(i)
    unlabelled = rows.pop(None, [])
    named = [(str(label), np.array(members)) for label, members in rows.items()]
    named.sort(key=lambda group: natural_key(group[0]))  # 1, 2, ..., 10
    return named + ([("", np.array(unlabelled))] if unlabelled else [])


def coloured(groups: Groups, most: int) -> Colouring:
    """Give the largest groups, at most ``most``, a colour of their own."""
    unlabelled = next((rows for label, rows in groups if label == ""), np.array([], np.intp))
    named = [(label, rows) for label, rows in groups if label != ""]
    order = sorted(range(len(named)), key=lambda i: -len(named[i][1]))
    large = set(order[:most])
    return Colouring(
        [group for i, group in enumerate(named) if i in large],
        [group for i, group in enumerate(named) if i not in large],
        unlabelled,
    )


def natural_key(label: Any) -> list[tuple[int, float, str]]:
    """Sort key that puts 2 before 10 and "group 2" before "group 10"."""
    parts = re.split(r"(\d+)", str(label))
    return [(0, float(part), "") if part.isdecimal() else (1, 0.0, part) for part in parts if part]
