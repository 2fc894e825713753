"""Tables (Arrow, pandas, polars, dicts of arrays) to edges: which columns, and their values as blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError
from softvec.core.untrusted import one_line
from softvec.names.coding import Tokens
from softvec.read.edges import EdgeBuilder

_SMALL = 200_000  # rows below which Python strings take less than compiling the kernels once would
ROLES = ("source", "target", "weight", "time")
KNOWN = {
    "source": "source src from from_id from_node fromnodeid i u head node1 node_1 id1 a start sender user "
    "ego gene1 word1 source_id from_node_id subject node_i left user_id userid customer customer_id row",
    "target": "target tgt dst dest destination to to_id to_node tonodeid j v tail node2 node_2 id2 b end "
    "receiver item alter gene2 word2 target_id to_node_id object node_j right item_id itemid movie movie_id "
    "movieid film product product_id column col",
    "weight": "weight weights w value values count counts score strength rating n freq frequency "
    "combined_score edge_weight number",
    "time": "t time timestamp timestamps ts date datetime times tick",
}
_TWO_KINDS = (
    {"user", "user_id", "userid", "customer", "customer_id", "customerid", "reviewer", "reviewer_id"},
    {"item", "item_id", "itemid", "movie", "movie_id", "movieid", "film", "product", "product_id", "song"},
)
_KNOWN = {role: frozenset(words.split()) for role, words in KNOWN.items()}


def known_names(header: Sequence[str]) -> int:
    """Return how many of the column names are words for a source, a target, a weight or a time."""
    return sum(any(_word(name) in words for words in _KNOWN.values()) for name in header)


def names_two_kinds(header: Sequence[Any] | None) -> bool:
    """Whether column names tell of two kinds of items: users of some sort, and items of some sort.

    >>> names_two_kinds(["userId", "movieId", "rating", "timestamp"])
    True
    """
    words = {_word(name) for name in header or ()}
    return all(words & kind for kind in _TWO_KINDS)


def _word(name: Any) -> str:
    return str(name).strip().lower().replace(" ", "_").replace("-", "_")


def find_columns(
    header: Sequence[Any] | None,
    n_columns: int,
    numeric: Sequence[bool],
    wanted: Any = None,
    where: str = "the table",
) -> dict[str, int]:
    """Say which column plays which role.

    Parameters
    ----------
    header : sequence or None
        Column names, if there are any.
    n_columns : int
    numeric : sequence of bool
        Whether a column holds numbers (and may thus be a weight).
    wanted : sequence or mapping, optional
        The user's choice: (source, target), (source, target, weight) or a mapping from role to column;
        names, or positions from 0.
    where : str
        The table's name, for messages.

    Examples
    --------
    >>> find_columns(["id", "to", "from", "w"], 4, [True] * 4)
    {'source': 2, 'target': 1, 'weight': 3}
    """
    if wanted is not None:
        return _chosen(header, n_columns, wanted, where)
    roles: dict[str, int] = {}
    for role in ROLES if header is not None else ():
        for at, name in enumerate(header or ()):
            if _word(name) in _KNOWN[role] and at not in roles.values() and role not in roles:
                roles[role] = at
    free = [at for at in range(n_columns) if at not in roles.values()]
    for role in ("source", "target"):
        if role not in roles:
            if not free:
                raise InputError(f"{where} has {n_columns} column; edges need two, a source and a target")
            roles[role] = free.pop(0)
    if "weight" not in roles and n_columns == 3 and free and numeric[free[0]]:
        roles["weight"] = free[0]
    if "weight" not in roles and header is None and n_columns > 3 and numeric[2]:
        roles["weight"] = 2  # KONECT's order: source, target, weight, time
    if "weight" in roles and not numeric[roles["weight"]]:
        del roles["weight"]
    return roles


def _chosen(header: Sequence[Any] | None, n_columns: int, wanted: Any, where: str) -> dict[str, int]:
    if isinstance(wanted, str) or not isinstance(wanted, Mapping | Sequence):
        raise InputError(
            f"columns is {wanted!r}; expected (source, target), (source, target, weight) or a mapping "
            f"such as {{'source': 'from', 'target': 'to'}}"
        )
    if not isinstance(wanted, Mapping):
        wanted = dict(zip(("source", "target", "weight"), wanted))
    unknown = set(wanted) - set(ROLES)
    if unknown or not {"source", "target"} <= set(wanted):
        raise InputError(
            f"columns has {sorted(map(str, wanted))}; expected source and target, and perhaps weight and time"
        )
    return {role: _position(header, n_columns, at, where) for role, at in wanted.items() if at is not None}


def _position(header: Sequence[Any] | None, n_columns: int, column: Any, where: str) -> int:
    if header is not None and column in list(header):
        return list(header).index(column)
    if isinstance(column, int | np.integer) and 0 <= column < n_columns:
        return int(column)
    shown = ", ".join(map(repr, header)) if header is not None else f"numbers 0 to {n_columns - 1}"
    raise InputError(f"{where} has no column {column!r}; its columns are {shown}")


def to_arrow(column: Any) -> Any:
    """Return a column of any table as one Arrow array (string views as plain strings, categories kept)."""
    import pyarrow as pa

    if hasattr(column, "to_arrow"):  # polars
        array = column.to_arrow()
    elif isinstance(column, pa.Array | pa.ChunkedArray):
        array = column
    else:
        try:
            array = pa.array(column, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            return list(column)  # a mix of types: names of any kind
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
        if isinstance(array, pa.ChunkedArray):
            array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    if pa.types.is_string_view(array.type):
        array = array.cast(pa.large_string())
    return array


def add_table(
    builder: EdgeBuilder, table: Mapping[str, Any], first_row: int = 0, where: str = "the table"
) -> None:
    """Add the columns ``source``, ``target`` and, where present, ``weight`` and ``time`` to a builder."""
    columns = {role: to_arrow(column) for role, column in table.items()}
    for role, column in columns.items():
        _refuse_nulls(column, role, first_row, where)
    weights = times = None
    if "weight" in columns:
        weights = numbers(columns["weight"], "weight", where)
        check_weights(weights, builder.negative, lambda row: f"{where}, row {first_row + row}")
    if "time" in columns:
        times = numbers(columns["time"], "time", where)
    source, target = columns["source"], columns["target"]
    sides = [[source], [target]] if builder.two_sided else [[source, target]]
    builder.add([_block(side, builder.blocks_of(s)) for s, side in enumerate(sides)], weights, times)


def _refuse_nulls(column: Any, role: str, first_row: int, where: str) -> None:
    nulls = column.null_count if hasattr(column, "null_count") else sum(item is None for item in column)
    if nulls:
        valid = column.is_valid() if hasattr(column, "is_valid") else [item is not None for item in column]
        row = int(np.argmin(np.asarray(valid)))
        raise InputError(
            f"{where}, row {first_row + row}: the {role} is missing ({nulls:,} such rows); fill or drop them"
        )


def numbers(column: Any, role: str, where: str) -> NDArray[Any]:
    """Return an Arrow column as numbers; dates become seconds since 1970."""
    import pyarrow as pa

    if isinstance(column, list):
        raise InputError(f"{where}: the {role} column holds a mix of types; it must hold numbers")
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        micro = column.cast(pa.timestamp("us")).cast(pa.int64()).to_numpy(zero_copy_only=False)
        return micro // 1_000_000 if np.all(micro % 1_000_000 == 0) else micro / 1e6
    if pa.types.is_decimal(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind):
        try:
            column = column.cast(pa.float64())
        except pa.ArrowInvalid as error:
            raise InputError(
                f"{where}: the {role} column does not hold numbers ({one_line(error)})"
            ) from None
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise InputError(f"{where}: the {role} column has type {kind}; it must hold numbers")
    values = column.to_numpy(zero_copy_only=False)
    return values if role == "time" else values.astype(np.float64, copy=False)


def check_weights(weights: NDArray[Any], negative: str, where: Any) -> None:
    """Raise an error at the first weight that is NaN, infinite or (unless dealt with) negative."""
    if not len(weights) or (weights.min() >= 0 and weights.max() < np.inf):
        return
    bad = ~np.isfinite(weights)
    if negative == "error":
        bad |= weights < 0
    if bad.any():
        row = int(np.argmax(bad))
        value = weights[row]
        what = "negative" if value < 0 and np.isfinite(value) else "not finite"
        remedy = "; pass negative='drop' or 'abs'" if what == "negative" else ""
        raise InputError(f"{where(row)}: the weight {value} is {what}; weights are finite and >= 0{remedy}")


def _block(columns: Sequence[Any], like: type | None = None) -> Any:
    """Turn one or two Arrow arrays into a block of names: integers, tokens or Python objects.

    ``like`` is the kind of the blocks before: all of a table's blocks are of one kind.
    """
    import pyarrow as pa

    if like is list or any(isinstance(column, list) for column in columns):
        return _objects(columns)
    decoded = [c.dictionary_decode() if pa.types.is_dictionary(c.type) else c for c in columns]
    if all(pa.types.is_integer(c.type) for c in decoded):
        arrays = [c.to_numpy(zero_copy_only=False) for c in decoded]
        if all(a.dtype != np.uint64 or not len(a) or a.max() < 2**63 for a in arrays):
            return np.stack([a.astype(np.int64, copy=False) for a in arrays], axis=1)
        return _objects(decoded)
    text = all(pa.types.is_string(c.type) or pa.types.is_large_string(c.type) for c in decoded)
    if text and (like is Tokens or len(decoded[0]) > _SMALL):
        return tokens_of(decoded)
    return _objects(decoded)


def _objects(columns: Iterable[Any]) -> list[tuple[Any, ...]]:
    return list(zip(*(c if isinstance(c, list) else c.to_pylist() for c in columns)))


def tokens_of(columns: Sequence[Any]) -> Tokens:
    """View Arrow string arrays as tokens."""
    import pyarrow as pa

    data, starts, ends, base = [], [], [], 0
    for column in columns:
        wide = pa.types.is_large_string(column.type)
        _, offsets_buffer, values = column.buffers()
        offsets = np.frombuffer(offsets_buffer, np.int64 if wide else np.int32)
        offsets = offsets[column.offset : column.offset + len(column) + 1].astype(np.int64)
        raw = np.frombuffer(values, np.uint8) if values is not None else np.empty(0, np.uint8)
        data.append(raw[offsets[0] : offsets[-1]])
        offsets = offsets - offsets[0] + base
        starts.append(offsets[:-1])
        ends.append(offsets[1:])
        base = int(offsets[-1])
    return Tokens.hashed(np.concatenate(data), np.stack(starts, axis=1), np.stack(ends, axis=1))
