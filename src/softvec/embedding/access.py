"""Access to vectors by name or position, and their provenance."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError
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
    if isinstance(names, set | frozenset | range | Iterator):
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
