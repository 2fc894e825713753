"""Types of an embedding's items: which item has which, and which types are linked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.checks import recorded
from softvec.core.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from softvec.embedding.core import Embedding


def types(emb: Any) -> list[str | None]:
    """Return the type of each item, None where it has none; for plots, maps and evaluation."""
    names = [*_names(emb), None]
    return [names[code] for code in emb.extras["types"].tolist()]


def rows_of_type(emb: Embedding, type: str) -> NDArray[np.int64]:
    """Return the rows of one type."""
    names = _names(emb)
    if type not in names:
        shown = did_you_mean(str(type), names) or f"; expected one of {', '.join(names)}"
        raise InputError(f"no item has the type {type!r}{shown}")
    return np.flatnonzero(emb.extras["types"] == names.index(type))


def linkable(emb: Embedding) -> tuple[NDArray[np.int32], NDArray[np.bool_]] | None:
    """Return the types of items, and which pairs of types are linked in the data; None without types.

    The last row and column are those of items without a type, which may be linked to any.
    """
    if "types" not in emb.extras:
        return None
    names = _names(emb)
    allowed = np.zeros((len(names) + 1, len(names) + 1), bool)
    allowed[-1] = allowed[:, -1] = True
    for a, b, _ in recorded(emb, "types")["linked"]:
        i, j = names.index(a), names.index(b)
        allowed[i, j] = allowed[j, i] = True
    return emb.extras["types"], allowed


def _names(emb: Embedding) -> list[str]:
    """Return the names of the types."""
    names = recorded(emb, "types").get("names")
    if "types" not in emb.extras or not isinstance(names, list):
        lost = "; save a .svec to keep them" if names else "; embed the graph with types"
        raise InputError(f"these items have no types{lost}")
    return names
