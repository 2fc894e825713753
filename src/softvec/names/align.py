"""Labels of named items (classes, groups, values), brought into the order of the items."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.core.errors import InputError, guess
from softvec.names import Names


def align_labels(labels: Any, n: int, names: Names | None = None, *, from_file: bool = False) -> Any:
    """Return one label, or one row of a label matrix, for each of n items, in their order.

    Parameters
    ----------
    labels : mapping, pandas Series or DataFrame, array_like or sparse matrix
        A mapping is matched by name, a Series or DataFrame by its index; an array or a list is in the order
        of the items. An index 0, 1, ... that pandas made is no name: such a Series is an array.
    n : int
        Number of items.
    names : Names, optional
        Their names; None for bare vectors.
    from_file : bool
        The array knows nothing of the order of the items: entry i is that of item i where the items are
        called 0..n-1, and the order of the rows otherwise, with a warning.

    Returns
    -------
    ndarray or csr_array
        Items without a label have None, or an empty row.

    Examples
    --------
    >>> align_labels({"bob": 1, "ada": 0}, 3, Names(["ada", "bob", "cyd"])).tolist()
    [0, 1, None]
    >>> align_labels([5, 6, 7, 8], 3, Names([3, 0, 1])).tolist()
    [8, 5, 6]
    """
    keys, values = _keyed(labels)
    if keys is not None and (names is not None or isinstance(labels, Mapping)):
        return _take(values, _by_name(keys, Names.range(n) if names is None else names))
    return _take(values, _by_row(values.shape[0], n, names, from_file))


def is_missing(label: Any) -> bool:
    """Whether a value says that there is no label: None, NaN, an empty text or a negative number."""
    if label is None or isinstance(label, str):
        return not label
    if isinstance(label, int | float | np.number):
        return not label >= 0
    return type(label).__name__ in ("NAType", "NaTType")  # pandas, which need not be there


def label_codes(labels: Any) -> tuple[NDArray[np.int64], list[Any]]:
    """Return a class number for each label, -1 where there is none, and the classes.

    >>> label_codes(["b", None, "a", "b"])[0].tolist(), label_codes([3, -1, float("nan")])[1]
    ([1, -1, 0, 1], [3])
    """
    flat = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    plain = [None if is_missing(label) else label for label in flat]
    if any(isinstance(label, float) and label != int(label) for label in plain):
        first = next(label for label in plain if isinstance(label, float) and label != int(label))
        raise InputError(f"labels hold decimals (first: {first:g}); expected classes: integers or text")
    present = {label for label in plain if label is not None}
    try:
        classes = sorted(present)
    except TypeError:
        classes = sorted(present, key=str)
    table: dict[Any, int] = {label: code for code, label in enumerate(classes)}
    return np.array([-1 if label is None else table[label] for label in plain], dtype=np.int64), classes


def _keyed(labels: Any) -> tuple[Sequence[Hashable] | None, Any]:
    """Return the names that come with labels, if any do, and their values."""
    if sparse.issparse(labels):
        return None, sparse.csr_array(labels)
    if isinstance(labels, Mapping):
        values = np.empty(len(labels), dtype=object)
        values[:] = list(labels.values())
        return list(labels), values
    index = getattr(labels, "index", None)
    if index is not None and hasattr(labels, "to_numpy") and not callable(index):
        numbered = type(index).__name__ == "RangeIndex"
        return None if numbered else list(index), labels.to_numpy()
    try:
        values = np.asarray(labels)
    except ValueError:
        raise InputError("labels are rows of different lengths; expected one label for each item") from None
    if values.ndim == 0 or values.ndim > 2:
        raise InputError(f"labels have shape {values.shape}; expected one for each item")
    if values.dtype.kind in "US" and not isinstance(labels, np.ndarray):
        values = np.array(list(labels), dtype=object)  # None and numbers stay what they are
    return None, values


def _by_name(keys: Sequence[Hashable], names: Names) -> NDArray[np.int64]:
    table: dict[Any, int] = {key: at for at, key in enumerate(keys)}
    if len(table) < len(keys):
        twice = next(key for at, key in enumerate(keys) if table[key] != at)
        raise InputError(f"labels have the name {twice!r} more than once; expected one label for each")
    rows = np.array([table.get(name, -1) for name in names], dtype=np.int64)
    if len(names) and (rows < 0).all():  # 12 and "12" are one name where nothing else matches
        table = {str(key): at for at, key in enumerate(keys)}
        rows = np.array([table.get(str(name), -1) for name in names], dtype=np.int64)
    if len(names) and (rows < 0).all():
        shown = repr(keys[0]) if len(keys) else "none"
        raise InputError(
            f"labels are given by name, but none of their names (first: {shown}) is that of an item "
            f"(first: {names[0]!r})"
        )
    return rows


def _by_row(given: int, n: int, names: Names | None, from_file: bool) -> NDArray[np.int64]:
    numbers = None if names is None or names == Names.range(n) else _numbers(names)
    if given != n:
        if numbers is not None and n and numbers.min() >= 0 and numbers.max() < given:
            return numbers  # labels of more items than were embedded, by number
        raise InputError(f"{given:,} labels for {n:,} vectors; expected one for each, or labels by name")
    rows = np.arange(n, dtype=np.int64)
    if names is None or names == Names.range(n):
        return rows
    if numbers is None:
        if from_file:
            guess(
                f"labels are matched to items in the order of the vectors (first: {names[0]!r}); to match by "
                "name, give a name and a label on each line"
            )
        return rows
    if np.all(numbers[1:] > numbers[:-1]):
        return rows
    if not from_file:
        guess(
            f"labels are matched to the vectors in order, starting with item {names[0]!r}; if label i is "
            "that of item i, pass dict(enumerate(labels))"
        )
        return rows
    if numbers.min() == 0 and numbers.max() == n - 1:
        return numbers
    raise InputError(
        f"labels have no names, and the items are unordered integers (first: {names[0]!r}); give a name and "
        "a label on each line"
    )


def _numbers(names: Names) -> NDArray[np.int64] | None:
    """Return names that are integers, or integers in text, as numbers."""
    values = names.to_numpy()
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    texts = values.tolist()
    if all(isinstance(t, str) and t.isascii() and t.isdigit() and len(t) < 19 for t in texts):
        numbers = np.array([int(text) for text in texts], dtype=np.int64)
        return numbers if all(str(k) == t for k, t in zip(numbers.tolist(), texts)) else None
    return None


def _take(values: Any, rows: NDArray[np.int64]) -> Any:
    """Return the values of rows; those of row -1 are missing."""
    missing = rows < 0
    if not missing.any():
        return values[rows]
    if values.ndim == 2:
        taken = values[np.maximum(rows, 0)]
        known = (~missing)[:, None].astype(taken.dtype)
        return sparse.csr_array(taken * known) if sparse.issparse(taken) else taken * known
    taken = np.empty(len(rows), dtype=object)
    taken[:] = values[np.maximum(rows, 0)].tolist()
    taken[missing] = None
    return taken
