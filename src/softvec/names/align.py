"""Labels of named items (classes, groups, values), put in the order of the items."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.core.errors import InputError, guess
from softvec.names import Names


def align_labels(labels: Any, n: int, names: Names | None = None, *, from_file: bool = False) -> Any:
    """Return one label, or one row of a label matrix, for each of n items, in order.

    Parameters
    ----------
    labels : mapping, pandas Series or DataFrame, array_like or sparse matrix
        A mapping is matched by name, a Series or DataFrame by its index; an array or a list is in the order
        of the items, as is a Series with a default index (``RangeIndex``).
    n : int
        Number of items.
    names : Names, optional
        Names of the items; None for plain vectors.
    from_file : bool
        Whether the array comes from a file, which cannot know the order of the items: entry i is then the
        label of item i if the items are named 0..n-1, else of row i, with a warning.

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
        return _take(values, rows_by_name(keys, Names.range(n) if names is None else names))
    return _take(values, _by_row(values.shape[0], n, names, from_file))


def is_missing(label: Any) -> bool:
    """Whether a value stands for a missing label: None, NaN, an empty string or a negative number."""
    if label is None or isinstance(label, str):
        return not label
    if isinstance(label, int | float | np.number):
        return not label >= 0
    return type(label).__name__ in ("NAType", "NaTType")  # pandas, which is optional


def label_codes(labels: Any) -> tuple[NDArray[np.int64], list[Any]]:
    """Return a class number for each label, -1 where there is none, and the classes.

    >>> label_codes(["b", None, "a", "b"])[0].tolist(), label_codes([3, -1, float("nan")])[1]
    ([1, -1, 0, 1], [3])
    """
    flat = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    plain = [None if is_missing(label) else label for label in flat]
    decimals = [label for label in plain if isinstance(label, float) and label != int(label)]
    if decimals:
        raise InputError(f"labels hold decimals (first: {decimals[0]:g}); expected classes: integers or text")
    classes: list[Any] = list({label: None for label in plain if label is not None})
    try:
        classes.sort()
    except TypeError:
        classes.sort(key=str)
    table: dict[Any, int] = {None: -1} | {label: code for code, label in enumerate(classes)}
    return np.array([table[label] for label in plain], dtype=np.int64), classes


_SEVERAL = (list, set, frozenset)  # a tuple may be one label


def label_matrix(labels: Any, n: int, names: Names | None = None) -> tuple[NDArray[np.bool_], list[Any]]:
    """Return which of n items has which label, of shape (n, k), and the k labels.

    >>> label_matrix({"bob": "x", "ada": "y"}, 2, Names(["ada", "bob"]))[0].tolist()
    [[False, True], [True, False]]
    """
    if isinstance(labels, Mapping) and any(isinstance(value, _SEVERAL) for value in labels.values()):
        return _sets_of_labels(labels, n, names)
    aligned = align_labels(labels, n, names)
    if aligned.ndim == 2:
        Y = np.asarray((aligned.toarray() if sparse.issparse(aligned) else aligned) != 0)
        return Y, list(labels.columns) if hasattr(labels, "columns") else list(range(Y.shape[1]))
    codes, classes = label_codes(aligned)
    return codes[:, None] == np.arange(max(len(classes), 1)), classes


def _sets_of_labels(
    labels: Mapping[Any, Any], n: int, names: Names | None
) -> tuple[NDArray[np.bool_], list[Any]]:
    """Return the matrix of a mapping of names to several labels each: lists or sets."""
    rows = rows_by_name(list(labels), Names.range(n) if names is None else names)
    of_item = [
        value
        if isinstance(value, list)
        else sorted(value, key=repr)
        if isinstance(value, _SEVERAL)
        else [value]
        for value in labels.values()
    ]
    classes = list(dict.fromkeys(label for own in of_item for label in own if label is not None))
    number = {label: at for at, label in enumerate(classes)}
    Y = np.zeros((n, max(len(classes), 1)), dtype=bool)
    for row, at in enumerate(rows.tolist()):
        if at >= 0:
            Y[row, [number[label] for label in of_item[at] if label is not None]] = True
    return Y, classes


def keys_of(labels: Any) -> Sequence[Hashable] | None:
    """Return the names that labels carry, of a mapping, Series or frame; None for labels in order."""
    return _keyed(labels)[0] if isinstance(labels, Mapping) or hasattr(labels, "index") else None


def _keyed(labels: Any) -> tuple[Sequence[Hashable] | None, Any]:
    """Return the names that the labels carry, or None, and the values."""
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
        values = np.array(list(labels), dtype=object)  # keeps None and numbers as they are
    return None, values


def rows_by_name(keys: Sequence[Hashable], names: Names, what: str = "labels") -> NDArray[np.int64]:
    """Return the position of each name among distinct keys, -1 if it is missing; ``what`` has the keys."""
    table: dict[Any, int] = {key: at for at, key in enumerate(keys)}
    if len(table) < len(keys):
        twice = next(key for at, key in enumerate(keys) if table[key] != at)
        first, second = [at for at, key in enumerate(keys, 1) if key == twice][:2]
        raise InputError(
            f"{what} have the name {twice!r} more than once (rows {first:,} and {second:,}); keep one of them"
        )
    rows = np.array([table.get(name, -1) for name in names], dtype=np.int64)
    if not len(names) or (rows >= 0).any():
        return rows
    pairs = names.owners()
    if pairs is not None:  # a person names all of its times
        return rows_by_name(keys, pairs[0], what)[pairs[1]]
    table = {str(key): at for at, key in enumerate(keys)}  # 12 and "12" are one name
    rows = np.array([table.get(str(name), -1) for name in names], dtype=np.int64)
    if (rows < 0).all():
        shown = repr(keys[0]) if len(keys) else "none"
        raise InputError(
            f"{what} are given by name, but no item has any of their names (first of the {what}: {shown}, "
            f"first item: {names[0]!r})"
        )
    return rows


def _by_row(n_labels: int, n: int, names: Names | None, from_file: bool) -> NDArray[np.int64]:
    names = Names.range(n) if names is None else names
    rows = np.arange(n, dtype=np.int64)
    numbers = rows if names == Names.range(n) else _numbers(names)
    if n_labels != n:
        inside = numbers is not None and n > 0 and bool(((numbers >= 0) & (numbers < n_labels)).all())
        if numbers is not None and numbers is not rows and inside:
            return numbers  # labels of more items than were embedded, by number
        raise InputError(f"{n_labels:,} labels for {n:,} vectors; expected one for each, or labels by name")
    if numbers is None:
        if from_file:
            guess(
                f"labels are matched to items in the order of the vectors (first: {names[0]!r}); to match by "
                "name, give a name and a label on each line"
            )
        return rows
    if np.all(numbers[1:] > numbers[:-1]):
        return rows
    return _by_number(numbers, names[0], from_file)


def _by_number(numbers: NDArray[np.int64], first: Hashable, from_file: bool) -> NDArray[np.int64]:
    """Return the labels of items whose names are unordered integers, as many as there are labels."""
    if not from_file:
        guess(
            f"labels are matched to the vectors in order, starting with item {first!r}; if label i is "
            "that of item i, pass dict(enumerate(labels))"
        )
        return np.arange(len(numbers))
    if numbers.min() == 0 and numbers.max() == len(numbers) - 1:
        return numbers
    raise InputError(
        f"labels have no names, and the items are unordered integers (first: {first!r}); give a name and "
        "a label on each line"
    )


def _numbers(names: Names) -> NDArray[np.int64] | None:
    """Return names as integers if all are integers or strings of digits, else None."""
    values = names.to_numpy()
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    texts = values.tolist()
    if all(isinstance(t, str) and t.isascii() and t.isdigit() and len(t) < 19 for t in texts):
        numbers = np.array([int(text) for text in texts], dtype=np.int64)
        return numbers if all(str(k) == t for k, t in zip(numbers.tolist(), texts)) else None
    return None


def _take(values: Any, rows: NDArray[np.int64]) -> Any:
    """Return the values of the given rows; row -1 stands for a missing value."""
    missing = rows < 0
    if not missing.any():
        return values[rows]
    if values.ndim == 2:
        taken = values[np.maximum(rows, 0)]
        present = (~missing)[:, None].astype(taken.dtype)
        return sparse.csr_array(taken * present) if sparse.issparse(taken) else taken * present
    taken = np.empty(len(rows), dtype=object)
    taken[:] = values[np.maximum(rows, 0)].tolist()
    taken[missing] = None
    return taken
