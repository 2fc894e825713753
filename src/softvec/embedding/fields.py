"""Fields of an embedding: checked and read-only; rows by name or position."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Set
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softvec.core.errors import InputError
from softvec.core.threads import row_blocks
from softvec.names import Names

if TYPE_CHECKING:
    from softvec.embedding.core import Embedding


class Provenance(dict[str, Any]):
    """How vectors were made: a read-only dictionary that JSON can hold, with a short repr."""

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise TypeError("the provenance of an embedding is read-only; dict(emb.provenance) is a copy")

    __setitem__ = __delitem__ = __ior__ = _refuse  # type: ignore[assignment]
    clear = pop = popitem = setdefault = update = _refuse  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return Provenance, (dict(self),)

    def __repr__(self) -> str:
        data = self.get("data")
        summary = data.get("summary", "") if isinstance(data, dict) else ""
        return f"<Provenance{f' of {summary}' if summary else ''}: {', '.join(self) or 'unknown'}>"


class OnDisk:
    """Vectors that stay on disk, of which rows are read by slices and by arrays of row numbers."""

    def __array__(self) -> NDArray[Any]:
        raise TypeError("the vectors of a folder are too many for one array; read them in slices")


def frozen_rows(vectors: ArrayLike, what: str, copy: bool) -> NDArray[np.float32]:
    """Return a read-only (n, d) float32 array; a memory-mapped one stays on disk, unread."""
    if isinstance(vectors, OnDisk):
        return vectors  # type: ignore[return-value]
    try:
        given = vectors if isinstance(vectors, np.ndarray) else np.asarray(vectors, dtype=np.float32)
        convert = np.array if copy and given.flags.writeable else np.asarray
        X = convert(given, dtype=np.float32, order="C")
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} cannot be read as rows of numbers: {error}") from error
    if X.ndim != 2 or X.shape[1] == 0:
        raise InputError(f"{what} have shape {X.shape}; expected (n, d) with d >= 1")
    if not isinstance(given, np.memmap):
        for lo, hi in row_blocks(len(X), 4096):  # all at once would be a quarter of X in memory
            with np.errstate(over="ignore", invalid="ignore"):
                if np.isfinite(X[lo:hi].sum()):  # much faster
                    continue
            finite = np.isfinite(X[lo:hi]).all(axis=1)
            if not finite.all():
                row = lo + int(np.argmin(finite))
                raise InputError(f"{what} hold NaN or infinite values (first in row {row})")
    X = X.view(np.ndarray)
    X.flags.writeable = False
    return X


def checked_names(names: Names | Iterable[Hashable] | None, n: int, what: str) -> Names:
    checked = Names.range(n) if names is None else Names(names)
    if len(checked) != n:
        raise InputError(f"{what} holds {len(checked):,} names for {n:,} vectors")
    return checked


def checked_sizes(sizes: ArrayLike, n: int) -> NDArray[np.float64]:
    """Return read-only non-negative sizes, one per row."""
    values = np.array(sizes, dtype=np.float64)
    if values.shape != (n,) or not np.isfinite(values).all() or (values < 0).any():
        raise InputError(f"sizes have shape {values.shape}; expected {n} non-negative numbers")
    values.flags.writeable = False
    return values


# Optional arrays of an embedding: the side that each belongs to, and its dtype.
EXTRAS = {
    "classes": ("columns", np.int32),
    "weights": ("columns", np.float64),
    "context_sizes": ("columns", np.float64),
    "stable_neighbours": ("rows", np.float32),
    "stable_groups": ("rows", np.float32),
    "types": ("rows", np.int32),
    "neighbours_to_vector": ("square", np.float32),
    "attributes_to_vector": ("attributes", np.float32),
    "attribute_coding": ("codes", np.float64),
}


def checked_extras(extras: Mapping[str, ArrayLike], n: int, m: int, d: int) -> Mapping[str, NDArray[Any]]:
    """Return read-only arrays of the fit, each of the length of its side."""
    shapes = {"rows": (n,), "columns": (m,), "square": (d, d), "attributes": (-1, d), "codes": (-1, 2)}
    checked = {}
    for name, given in extras.items():
        if name not in EXTRAS:
            raise InputError(f"unknown extra array {name!r}; expected one of {', '.join(EXTRAS)}")
        side, dtype = EXTRAS[name]
        checked[name] = _checked_extra(name, np.array(given, dtype=dtype), shapes[side])
    classes = checked.get("classes", np.empty(0))
    if classes.min(initial=0) < 0 or classes.max(initial=0) >= max(m, 1):
        raise InputError("classes hold invalid numbers; expected 0..k-1")
    weights = checked.get("weights", np.empty(0))
    if not (np.isfinite(weights) & (weights > 0)).all():
        raise InputError("weights hold numbers that are not above 0")
    return MappingProxyType(checked)


def _checked_extra(name: str, values: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return a read-only array of a shape, in which -1 is any length; matrices must be finite."""
    fits = len(shape) == values.ndim and all(want in (-1, got) for want, got in zip(shape, values.shape))
    if not fits or (values.ndim == 2 and not np.isfinite(values).all()):
        expected = "(k, {})".format(*shape[1:]) if shape[0] < 0 else str(shape)
        raise InputError(f"{name} has shape {values.shape}; expected finite numbers of shape {expected}")
    values.flags.writeable = False
    return values


# rows


def is_position(key: Any) -> bool:
    """Whether a key selects by position, as of an array: ``emb[:5]``, ``emb[:, 0]``, ``emb[rows, ...]``."""
    parts = key if isinstance(key, tuple) else (key,)
    return any(part is Ellipsis or isinstance(part, slice) for part in parts)


def is_many(key: Any) -> bool:
    """Whether a key is a collection of names: a list, an array, Names, a pandas Index, a polars Series."""
    return isinstance(key, list | np.ndarray | Names) or (
        hasattr(key, "to_numpy") and not isinstance(key, str | tuple)
    )


def listed(names: Any) -> list[Any]:
    """Return one name, or a collection of names, as a list; None is an empty one."""
    if names is None:
        return []
    if isinstance(names, Set | range | Iterator):
        return list(names)
    if not is_many(names):
        return [names]
    if str(getattr(names, "dtype", "")).lower().startswith("bool"):
        raise InputError("a boolean mask does not select names; index emb.vectors and emb.names with it")
    if getattr(names, "ndim", 1) != 1:
        raise InputError(f"names have {names.ndim} dimensions; expected a flat list of names")
    return list(names)


def row(emb: Embedding, name: Hashable) -> int:
    """Return the row number of a name; the error for a name of the second side points to ``.context``."""
    try:
        return emb.names.index(name)
    except InputError as error:
        if emb.context_names is not None and name in emb.context_names:
            raise InputError(f"{name!r} is on the second side of this embedding; use .context") from error
        raise


def rows(emb: Embedding, names: Any) -> NDArray[np.int64]:
    """Return the row numbers of names."""
    several = listed(names)
    return np.fromiter((emb._row(name) for name in several), np.int64, len(several))
