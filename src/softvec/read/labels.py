"""Ground-truth labels of named items, read from files for colours and scores."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from softvec.core.checks import counted
from softvec.core.errors import InputError, guess
from softvec.core.untrusted import reading
from softvec.names import Names
from softvec.names.align import align_labels, label_codes
from softvec.read.arrays import length_of, read_archive, read_array, sparse_matrix
from softvec.read.streams import existing_file, text_lines
from softvec.read.text_table import split as split_fields

_NO_LABEL = ("", "-1", "NA", "nan")


@dataclass(frozen=True)
class Groups:
    """Labels of n items; each item has none, one or several.

    Attributes
    ----------
    classes : tuple of str
        The distinct labels, in order of first appearance.
    members : csr_array of shape (n, len(classes))
        1 if an item has a label.
    unmatched : int
        Number of names in the file that are not items.
    persons : bool
        Whether the file names persons, the first parts of (person, time).
    """

    classes: tuple[str, ...]
    members: sparse.csr_array
    unmatched: int = 0
    persons: bool = False

    @property
    def multiple(self) -> bool:
        """Whether an item has several labels."""
        return bool((np.diff(self.members.indptr) > 1).any())

    @property
    def codes(self) -> np.ndarray:
        """The first label of each item as a class number; -1 for none."""
        counts = np.diff(self.members.indptr)
        codes = np.full(len(counts), -1, np.int64)
        codes[counts > 0] = self.members.indices[self.members.indptr[:-1][counts > 0]]
        return codes

    @property
    def texts(self) -> list[str | None]:
        """The first label of each item, None for none."""
        return [self.classes[code] if code >= 0 else None for code in self.codes]


def read_labels(path: str | os.PathLike[str], names: Names) -> Groups:
    """Read the labels of ``names``.

    Parameters
    ----------
    path : path-like
        ``.npy`` with one integer per row (negative: none) or a 0/1 matrix; ``.npz`` with a SciPy sparse 0/1
        matrix; or text, optionally compressed: lines of a name and its label or labels, separated by tabs,
        commas (fields may be quoted) or blanks, or one label per line. Without names, label i
        belongs to item i if the items are named 0..n-1, else to vector i.
    names : Names
        The items, in order.

    Returns
    -------
    Groups
    """
    file = Path(path)
    existing_file(file, "file of labels")
    if file.suffix in (".npy", ".npz"):
        return _from_array(_load(file), names, path)
    groups = _from_text(text_lines(file, "labels"), names, path)
    if groups.unmatched:
        warnings.warn(f"{counted(groups.unmatched, 'name')} in {path} without a vector", stacklevel=2)
    return groups


def read_values(path: str | os.PathLike[str], names: Names) -> list[Any] | None:
    """Read one non-integer number for each of ``names`` from an ``.npy`` file; None for other files."""
    file = Path(path)
    if file.suffix != ".npy" or not file.is_file():
        return None
    array = _load(file)
    if array.ndim != 1 or array.dtype.kind != "f" or not (array != np.round(array))[np.isfinite(array)].any():
        return None
    values: list[Any] = align_labels(array, len(names), names, from_file=True).tolist()
    return values


def _load(file: Path) -> Any:
    with reading(str(file), "file of labels"), open(file, "rb") as stream:
        size = length_of(stream)
        if file.suffix == ".npy":
            return read_array(stream, size, str(file))
        return sparse_matrix(read_archive(stream, str(file)), size, str(file))


def _from_array(array: Any, names: Names, path: Any) -> Groups:
    n = len(names)
    if array.ndim not in (1, 2) or array.dtype.kind not in "biufUSO":  # O: lines of a text
        raise InputError(f"{path} holds {array.dtype} of shape {array.shape}; expected one label per row")
    try:
        aligned = align_labels(array, n, names, from_file=True)
        if aligned.ndim == 2:
            members = sparse.csr_array(aligned != 0)
            return Groups(tuple(str(j) for j in range(members.shape[1])), members)
        codes, classes = label_codes(aligned)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    labelled = np.flatnonzero(codes >= 0)
    return _groups(labelled, codes[labelled], [str(c) for c in classes], n)


def _groups(rows: Any, codes: Any, classes: Sequence[str], n: int, unmatched: int = 0) -> Groups:
    shape = (n, len(classes))
    members = sparse.csr_array((np.ones(len(rows), np.int8), (rows, codes)), shape=shape)
    members.sum_duplicates()
    members.data[:] = 1
    return Groups(tuple(classes), members, unmatched)


def _from_text(lines: list[str], names: Names, path: Any) -> Groups:
    split = _splitter(lines)
    fields: list[list[str]] = [split(line) for line in lines]
    if all(len(parts) == 1 for parts in fields):
        alone = [None if parts[0] in _NO_LABEL else parts[0] for parts in fields]
        return _from_array(np.array(alone, dtype=object), names, path)
    fields = _several_in_a_cell(fields)
    pairs = names.owners()
    if pairs is not None:  # a person names all of its times
        groups = _from_fields(fields, pairs[0], path)
        return replace(groups, members=groups.members[pairs[1]], persons=True)
    return _from_fields(fields, names, path)


def _from_fields(fields: list[list[str]], names: Names, path: Any) -> Groups:
    rows, codes, table, unmatched = [], [], {}, 0  # type: ignore[var-annotated]
    for number, (name, *labels) in enumerate(fields, start=1):
        at = row_of(names, name)
        if at < 0:
            unmatched += 1
            continue
        if not labels:
            raise InputError(f"{path}, line {number:,}: the name {name!r} has no label")
        for label in labels:
            if label not in _NO_LABEL:
                rows.append(at)
                codes.append(table.setdefault(label, len(table)))
    if not rows:
        raise InputError(
            f"{path}: none of its {len(fields):,} lines starts with the name of an item (first: "
            f"{fields[0][0]!r})"
        )
    return _groups(rows, codes, list(table), len(names), unmatched)


def _several_in_a_cell(fields: list[list[str]]) -> list[list[str]]:
    """Split cells such as ``GO:1;GO:2`` into labels, if no more distinct labels come out, and say so."""
    if any(len(parts) > 2 for parts in fields):
        return fields
    cells = {parts[1] for parts in fields if len(parts) == 2}
    for mark in ",;|":
        single = {label.strip() for cell in cells for label in cell.split(mark)}
        if any(mark in cell for cell in cells) and len(single) <= len(cells):
            guess(
                f"labels are split at {mark!r}: {len(single):,} labels in {len(cells):,} combinations; write "
                "the labels without that mark if each combination is a label of its own"
            )
            return [
                [name, *(label.strip() for part in rest for label in part.split(mark))]
                for name, *rest in fields
            ]
    return fields


def _splitter(lines: list[str]) -> Any:
    """Return a function that splits a line: at tabs if there are any, else at commas, else at blanks."""
    sample = lines[:1000]
    mark = "\t" if any("\t" in line for line in sample) else ","
    if mark == "," and not all("," in line for line in sample):
        return lambda line: re.split(r"\s+", line.strip())

    def split(line: str) -> list[str]:
        quotes = line.count('"')
        if quotes and quotes % 2 == 0:
            return [part.decode().strip() for part in split_fields(line.encode(), ord(mark))]
        return [part.strip() for part in line.split(mark)]

    return split


def row_of(names: Names, text: Hashable) -> int:
    """Return the row of a name, as it is or as an integer; -1 if there is none."""
    if text in names:
        return names.index(text)
    try:
        number = int(text)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        return -1
    return names.index(number) if number in names else -1
