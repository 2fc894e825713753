"""Types and attributes of items: which types are linked, what speaks for an item, vectors from attributes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.checks import counted, integer, recorded
from softvec.core.errors import InputError, did_you_mean, warn
from softvec.names import Names

if TYPE_CHECKING:
    from softvec.affinity.attributes import Column
    from softvec.embedding.core import Embedding


def attributes_of(emb: Embedding, item: Hashable, n: int = 10) -> list[tuple[str, float]]:
    """Return the attributes that speak for an item, by the cosine of their vectors.

    An attribute has the vector that it alone would add to that of a node. An item has no need to have the
    attribute, nor any.

    Examples
    --------
    >>> import softvec
    >>> friends = [("ada", "bob"), ("bob", "cyd"), ("cyd", "ada"), ("cyd", "dan"), ("dan", "eve")]
    >>> tags = {"ada": {"chess"}, "bob": {"chess"}, "cyd": {"chess"}, "dan": {"golf"}, "eve": {"golf"}}
    >>> emb = softvec.embed(friends, n_components=2, attributes=tags, random_state=0)
    >>> [name for name, cosine in emb.attributes_of("eve", n=1)]
    ['golf']
    """
    from softvec.embedding.search import exact_nearest

    (rows,), (cosines,) = exact_nearest(emb[item][None], _vectors(emb)[:-1], integer("n", n))
    names = [name for column in _columns(emb) for name in column.names]
    return [(names[at], cosine) for at, cosine in zip(rows, cosines.tolist())]


def from_attributes(emb: Embedding, given: Any) -> tuple[Names, NDArray[np.float32]]:
    """Return the names of new items, and the vectors that their attributes alone suggest."""
    from softvec.affinity.attributes import encode
    from softvec.read.attributes import table_of_new

    vectors, columns = _vectors(emb), _columns(emb)
    known = {column.title for column in columns}
    table = table_of_new(given, known)
    names = Names(table.keys)
    taken = [name for name in names if name in emb.names]
    if taken:
        raise InputError(f"{taken[0]!r} is already in the embedding; add takes attributes of new items")
    if not known & set(table.cells):
        shown = ", ".join(repr(title) for title in sorted(known))
        if known == {""}:
            shown = f"an array of {len(vectors) - 1:,} numbers by name, a row of the matrix"
        raise InputError(f"no column of the attributes was in the fit; expected {shown}")
    F = encode(columns, table.cells, len(names))
    X = np.asarray(F @ vectors[:-1] + vectors[-1], np.float32)
    empty = np.flatnonzero(np.asarray(abs(F).sum(axis=1)).reshape(-1) == 0)
    if len(empty):
        X[empty] = 0
        warn(
            f"no value of {counted(len(empty), 'new item')} was in the fit "
            f"(first: {names[int(empty[0])]!r}); the vector is zero"
        )
    return names, X


def _vectors(emb: Embedding) -> NDArray[np.float32]:
    """Return the vectors of the attributes, and in the last row that of an item without any, (p + 1, d)."""
    if "attributes_to_vector" not in emb.extras:
        lost = "; save a .svec to keep them" if "attributes" in emb.provenance else ""
        raise InputError(f"this embedding has no vectors of attributes{lost}")
    return emb.extras["attributes_to_vector"]


def _columns(emb: Embedding) -> list[Column]:
    """Return how attributes are encoded, from the provenance."""
    from softvec.affinity.attributes import Column

    coding, columns, done = emb.extras["attribute_coding"], [], 0
    for column in recorded(emb, "attributes")["columns"]:
        values = tuple(column["values"])
        mean, scale = coding[done : done + len(values)].T
        columns.append(Column(column["title"], column["kind"], values, mean, scale))
        done += len(values)
    return columns


# types


def types(emb: Any) -> list[str | None]:
    """Return the type of each item, None where it has none; for plots, maps and evaluation."""
    names = [*_type_names(emb), None]
    return [names[code] for code in emb.extras["types"].tolist()]


def rows_of_type(emb: Embedding, type: str) -> NDArray[np.int64]:
    """Return the rows of one type."""
    names = _type_names(emb)
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
    names = _type_names(emb)
    allowed = np.zeros((len(names) + 1, len(names) + 1), bool)
    allowed[-1] = allowed[:, -1] = True
    for a, b, _ in recorded(emb, "types")["linked"]:
        i, j = names.index(a), names.index(b)
        allowed[i, j] = allowed[j, i] = True
    return emb.extras["types"], allowed


def _type_names(emb: Embedding) -> list[str]:
    """Return the names of the types."""
    names = recorded(emb, "types").get("names")
    if "types" not in emb.extras or not isinstance(names, list):
        lost = "; save a .svec to keep them" if names else "; embed the graph with types"
        raise InputError(f"these items have no types{lost}")
    return names
