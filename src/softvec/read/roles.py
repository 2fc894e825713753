"""Assign roles to the columns of a table: source, target, weight, time, or none.

Known column names decide; otherwise the contents of the columns. Uncertain choices are returned as guesses,
one line each, with the option that overrides them. Longer than 400 lines: the rules of all roles share words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from softvec.core.checks import counted
from softvec.core.errors import InputError, Option
from softvec.read.table import ColumnSample, Table, timed_columns

ROLES = ("source", "target", "weight", "time")
_ENDS = ("source", "target")
KNOWN = {
    "source": "source src from from_id from_node fromnodeid i u head node1 node_1 id1 a start sender user "
    "ego gene1 word1 source_id from_node_id subject node_i left user_id userid customer customer_id row "
    "follower citing parent caller origin regulator author buyer employee start_id",
    "target": "target tgt dst dest destination to to_id to_node tonodeid j v tail node2 node_2 id2 b end "
    "receiver item alter gene2 word2 target_id to_node_id object node_j right item_id itemid movie movie_id "
    "movieid film product product_id column col followed followee cited child callee recipient seller end_id",
    "weight": "weight weights w value values count counts score strength rating n freq frequency "
    "combined_score edge_weight number flow volume similarity correlation corr amount trips passengers "
    "confidence probability prob affinity intensity duration total",
    "time": "t time timestamp timestamps ts date datetime times tick year created_at start_time",
}
_KNOWN = {role: frozenset(words.split()) for role, words in KNOWN.items()}
_TWO_KINDS = (
    {"user", "user_id", "userid", "customer", "customer_id", "customerid", "reviewer", "reviewer_id"},
    {"item", "item_id", "itemid", "movie", "movie_id", "movieid", "film", "product", "product_id", "song"},
)
_BOUNDS = frozenset({"start", "end"})  # times, if other columns name the ends of edges
_INDEX = frozenset({"", "index", "idx", "id", "row", "no", "nr", "#", "rank", "line", "level_0", "rownames"})
_SMALL_IS_CLOSE = re.compile(
    "(^|_)(dist|distances?|dissimilarit(y|ies)|hamming|lengths?|costs?|latency|delay|hops|rtt|[pq]_?val(ues?)?|e_?values?|fdr|padj|"
    "(travel|trip|driv(e|ing)|walk(ing)?|commute|transit|flight|journey|ride)_(times?|duration|minutes))(_|$)"
)
_OPPOSITE = re.compile(
    "(^|_)(inv(erse)?|exp|similarity|affinity|proximity|closeness|(neg|n)?log(2|10)?p?)(_|$)"
)
_DOUBTFUL = frozenset(
    ["amount", "amt", "total", "duration", "usd", "eur", "gbp", "dollars", "euros"]
)  # weights, but said
_NOT_WEIGHTS = frozenset(
    ("price", "prices", "salary", "id", "ids", "year", "yr", "birthyear", "lat", "lon", "lng", "latitude",
     "longitude", "zip", "zipcode", "postcode", "phone", "age")
)  # fmt: skip
_RELATIONS = frozenset(("relation", "relations", "relationship", "rel", "predicate", "interaction", "type"))
_PAIRS = (("1", "2"), ("a", "b"), ("i", "j"), ("x", "y"), ("from", "to"), ("left", "right"), ("0", "1"))
_MOST_COMPARED = 32  # columns of names, each compared with each


def word_of(name: Any) -> str:
    """Return a column name in lower case, with underscores for blanks and hyphens, without marks of Neo4j."""
    plain = str(name).strip().lower()
    word = (re.sub(r"^:|\([^()]*\)$", "", plain).strip() or plain).replace(" ", "_").replace("-", "_")
    return "" if word.startswith("unnamed:_") else word


def known_names(header: Sequence[str]) -> int:
    """Return how many column names are known words for a source, target, weight or time."""
    return sum(any(word_of(name) in words for words in _KNOWN.values()) for name in header)


def names_two_kinds(header: Sequence[Any] | None) -> bool:
    """Whether column names suggest two kinds of items, such as users and products.

    >>> names_two_kinds(["userId", "movieId", "rating", "timestamp"])
    True
    """
    words = {word_of(name) for name in header or ()}
    return all(words & kind for kind in _TWO_KINDS)


def paired(header: Sequence[Any]) -> tuple[int, int] | None:
    """Return the first two columns named as a pair, such as gene_a and gene_b.

    >>> paired(["idx", "protein1", "protein2", "score"]), paired(["from_city", "to_city"])
    ((1, 2), (0, 1))
    """
    words = [word_of(name) for name in header]
    first = {word: at for at, word in reversed(list(enumerate(words)))}
    families = Counter(map(_stem, words))
    for one, two in _PAIRS:
        for i, left in enumerate(words):
            stem = left[: -len(one)]
            whole = _stem(left).startswith(stem)  # x1, not x11
            if left.endswith(one) and stem and whole and stem + two in first and families[stem] <= 2:
                return i, first[stem + two]
    for one, two in (("from_", "to_"), ("source_", "target_"), ("src_", "dst_")):
        for i, left in enumerate(words):
            if left.startswith(one) and two + left[len(one) :] in first:
                return i, first[two + left[len(one) :]]
    return None


def _stem(word: str) -> str:
    """Return a word without the number or the letter at its end: x of x12."""
    return word.rstrip("0123456789") if word[-1:].isdigit() else word[:-1]


def find_roles(
    columns: Sequence[ColumnSample], wanted: Any = None, weight: Any = None, where: str = "the table"
) -> Table:
    """Assign roles to columns.

    Parameters
    ----------
    columns : sequence of ColumnSample
    wanted : sequence or mapping, optional
        The user's choice: (source, target), (source, target, weight) or a mapping from role to column;
        names, or positions from 0.
    weight : name or position, optional
        The user's choice of the weight column only.
    where : str
        The table's name, for messages.

    Examples
    --------
    >>> names = ["id", "to", "from", "w"]
    >>> find_roles([ColumnSample(name, True, True, values=[5, 7, 6]) for name in names]).roles
    {'source': 2, 'target': 1, 'weight': 3}
    """
    table = Table(columns, {})
    header = table.header
    chosen = {} if weight is None else {"weight": position(header, len(columns), weight, where)}
    if wanted is not None:
        table.roles = _chosen(header, len(columns), wanted, where)
        if chosen and "weight" in table.roles:
            raise InputError(f"columns includes a weight, and weight is {weight!r}; pass only one of them")
        table.roles |= chosen
        table.chosen = True
        return table
    table.roles = dict(chosen)
    by_name(table)
    _by_stamps(table)
    _set_index_apart(table)
    _ends(table, where)
    if "weight" not in table.roles:
        _weight(table)
    elif "weight" not in chosen:
        _check_named_weight(table, where)
    _warn_decimals(table)
    table.roles = {role: table.roles[role] for role in ROLES if role in table.roles}
    return table


def _warn_decimals(table: Table) -> None:
    """Say that ids are written as decimals, such as 1.0."""
    ends = [table.columns[table.roles[role]] for role in _ENDS]
    if table.header and all(end.numeric and not end.whole for end in ends):
        table.guess("ids written as decimals, such as 1.0, are read as text; write them as integers")
    elif any(isinstance(value, float) for end in ends for value in end.values if end.whole):
        table.guess("ids are decimals, such as 1.0, and so are the names; convert them to integers")


def _free(table: Table) -> list[int]:
    taken = {*table.roles.values(), table.index}
    return [at for at, column in enumerate(table.columns) if at not in taken and not column.empty]


def by_name(table: Table) -> None:
    """Assign roles to columns whose names are known words or form a pair."""
    header = table.header
    if header is None:
        return
    words = _without_bounds(table.columns, [word_of(name) for name in header])
    known = [(_KNOWN[role] - _BOUNDS) & set(words) for role in _ENDS]
    pair = None if all(known) else paired(header)
    if not any(known) and {"s", "t"} <= set(words):
        pair = words.index("s"), words.index("t")
    table.roles |= dict(zip(_ENDS, pair or ()))
    for role in (role for role in ROLES if role not in table.roles):
        named = [at for at in _free(table) if words[at] in _KNOWN[role]]
        if named:
            table.roles[role] = min(named, key=lambda at: (words[at] in _BOUNDS, at))


def _without_bounds(columns: Sequence[ColumnSample], words: list[str]) -> list[str]:
    """Return column names without start and end, if other columns may name the ends of edges."""
    if sum(column.holds_words and word not in _BOUNDS for column, word in zip(columns, words)) < 2:
        return words
    return ["" if word in _BOUNDS else word for word in words]


def _by_stamps(table: Table) -> None:
    """Assign the role of time to a column of dates or, from the third on, of Unix times."""
    if "time" in table.roles or len(table.columns) < 3:
        return
    for at in _free(table):
        column = table.columns[at]
        if column.stamps or (at > 1 and column.unix):
            table.roles["time"] = at
            return


def _set_index_apart(table: Table) -> None:
    """Ignore a column of row numbers if two other columns can name the ends of edges."""
    named = {role: table.roles[role] for role in _ENDS if role in table.roles}
    free = _free(table)
    ends = sorted(at for at in {*free, *named.values()} if table.columns[at].holds_names)
    texts = sum(table.columns[at].holds_words for at in ends)
    for at in filter(lambda at: table.columns[at].running, free):
        others = [end for end in ends if end != at]
        doubtful = texts < 2 and word_of(table.columns[at].name) not in _INDEX
        if len(others) > 1 and not (
            doubtful and len(named) == 2
        ):  # if the ends are known, it does not matter
            if not doubtful or _only_counts(table, at, others):
                table.index = at
            return


def _only_counts(table: Table, at: int, others: list[int]) -> bool:
    """Whether a column of row numbers without a title of its own names nothing; say what is guessed."""
    if not _alike(table, others):
        return False  # edges from 0, 1, 2, ...: the other columns are not a pair of ends
    ids = {value for other in others for value in table.columns[other].values}
    values, text = table.columns[at].values, f"column {table.show(at)} counts 0, 1, 2, ... and is "
    if len(ids & set(values)) > 0.3 * len(values):
        table.guess(
            text, "read as names, as its numbers occur in other columns; if it only numbers the rows, name "
            "the ends of edges with ", Option("columns", ...),
        )  # fmt: skip
        return False
    table.guess(text, "not used; if it names items, pass ", Option("columns", ...))
    return True


def _alike(table: Table, ends: list[int]) -> bool:
    """Whether two columns name the same items: their values overlap."""
    left, right = (set(table.columns[at].values) for at in ends[:2])
    return len(left & right) >= 0.3 * len(left | right)


def _most_alike(table: Table, texts: list[int]) -> tuple[int, int]:
    """Return the two columns of names with the most names in common, or the first two."""
    texts = texts[:_MOST_COMPARED]
    values = {at: set(table.columns[at].values) for at in texts}
    return max(
        ((a, b) for k, a in enumerate(texts) for b in texts[k + 1 :]),
        key=lambda pair: len(values[pair[0]] & values[pair[1]]),
    )


def _ends(table: Table, where: str) -> None:
    """Assign the ends of edges to columns of names, decimals last."""
    missing = [role for role in _ENDS if role not in table.roles]
    if not missing:
        _say_unused(table, _texts_of_use(table))
        return
    free = sorted(_free(table), key=lambda at: not table.columns[at].holds_names)
    if len(free) < len(missing):
        _refuse_narrow(table, where)
    texts = [at for at in free if table.columns[at].holds_words]
    numbers = sum(table.columns[at].whole for at in free)
    if len(missing) == 2 and (len(texts) > 2 or (len(texts) == 2 > numbers and _alike(table, texts))):
        free = [*_most_alike(table, texts), *free]
    table.roles |= dict(zip(missing, free))
    _say_unused(table, texts)


def _texts_of_use(table: Table) -> list[int]:
    """Return the free columns of relations and, if the ends are numbers, of names of rows."""
    words = any(table.columns[table.roles[role]].holds_words for role in _ENDS)
    free = [(at, table.columns[at]) for at in _free(table)]
    return [at for at, column in free if _tells_relations(column) or (not words and _names_rows(column))]


def _names_rows(column: ColumnSample) -> bool:
    """Whether each row has a text of its own, as rows of a matrix have."""
    return column.holds_words and len(set(column.values)) == len(column.values) > 2


def _tells_relations(column: ColumnSample) -> bool:
    """Whether a column tells different relations, as those of a knowledge graph, by its name."""
    named = set(_parts(column.name)) & _RELATIONS
    return bool(named) and column.holds_words and len(set(column.values)) > 1


def _say_unused(table: Table, texts: list[int]) -> None:
    """Say which columns of text name no ends of edges."""
    unused = [at for at in texts if at not in table.roles.values()]
    if unused:
        ends = f"{table.show(table.roles['source'])} and {table.show(table.roles['target'])}"
        text = f"columns {ends} are read as the ends of edges, {table.show(unused[0])} is not; "
        table.guess(text, "name them with ", Option("columns", ...))


def _refuse_narrow(table: Table, where: str) -> NoReturn:
    n, filled = len(table.columns), sum(not column.empty for column in table.columns)
    some = f", {filled} with names or numbers" if filled < n else ""
    raise InputError(
        f"{where} has {counted(n, 'column')}{some}; edges need two, a source and a target; name them with ",
        Option("columns", ...),
    )


def _weight(table: Table) -> None:
    """Use the only remaining column of numbers as the weight; none if there are several."""
    columns, header = table.columns, table.header
    free = _free(table)
    numbers = [at for at in free if columns[at].numeric and not columns[at].running]
    if header is None and len(columns) > 3 and numbers[:1] == [2]:  # KONECT's order: ends, weight, time
        table.roles["weight"] = 2
        if "time" not in table.roles:
            text = f"column 2 of {len(columns)} is read as the weight; "
            table.guess(text, Option("weighted", False), " if it is not")
    elif len(free) == 1 and free == numbers:
        table.roles["weight"] = free[0]
        if header is not None:
            _judge_weight(table, numbers[0])
    elif numbers and header is not None:
        shown = ", ".join(table.show(at) for at in numbers[:4])
        text = f"no weights are used, though there are numbers in {shown}; name one with "
        wide = (", or if each row describes one item, pass ", Option("kind", "features"))
        table.guess(text, Option("weight", ...), *(wide if len(numbers) >= 8 else ()))


def small_is_close(name: Any) -> bool:
    """Whether a column name says that small values mean close items: distances, costs, p-values.

    >>> [small_is_close(name) for name in ("trip distance (km)", "tripDistance", "inverse_distance")]
    [True, True, False]
    """
    words = "_".join(_parts(name))
    return _SMALL_IS_CLOSE.search(words) is not None and _OPPOSITE.search(words) is None


def _parts(name: Any) -> list[str]:
    """Return the words in the name of a column: of orderId they are order and id."""
    apart = re.sub("(?<=[a-z])(?=[A-Z])", "_", str(name)).lower()
    return [part for part in re.split(r"[\W_]+", apart) if part]


def _judge_weight(table: Table, at: int) -> None:
    """Say that a column is the weight unless its name says so; ignore a price or a year."""
    word, parts, shown = word_of(table.columns[at].name), set(_parts(table.columns[at].name)), table.show(at)
    if _NOT_WEIGHTS & {word, *parts}:
        del table.roles["weight"]
        table.guess(
            f"column {shown} is not used as a weight, by its name; ", Option("weight", shown), " uses it"
        )
    elif not small_is_close(shown) and (parts & _DOUBTFUL or not _KNOWN["weight"] & {word, *parts}):
        table.guess(f"column {shown} is used as the weight; ", Option("weighted", False), " if it is not")


def _check_named_weight(table: Table, where: str) -> None:
    """Check that a column called weight holds numbers: else raise an error, or ignore it if it is text."""
    column = table.columns[table.roles["weight"]]
    if column.numeric:
        numbers = (c.name for c in map(table.columns.__getitem__, _free(table)) if c.numeric)
        if others := [name for name in numbers if word_of(name) in _KNOWN["weight"]]:
            text = f"column {column.name} is used as the weight, {others[0]} is not; name another with "
            table.guess(text, Option("weight", ...))
        else:
            _judge_weight(table, table.roles["weight"])
        return
    texts = [str(value) for value in column.values if value not in (None, "")]
    if any(re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text) for text in texts):
        return  # numbers stored as text; the reader names the line of one that is not
    digits = [text for text in texts if re.match(r"[^A-Za-z]{0,3}\d", text)]
    if len(digits) > 0.5 * len(texts):
        text = f"{where}: column {column.name} does not hold plain numbers (first: {digits[0]!r})"
        raise InputError(text, "; convert it, or pass ", Option("weighted", False))
    text = f"column {column.name} holds no numbers and is not used"
    table.guess(text, "; to silence this note, pass ", Option("weighted", False))
    del table.roles["weight"]


def _chosen(header: Sequence[Any] | None, n_columns: int, wanted: Any, where: str) -> dict[str, int]:
    if isinstance(wanted, str) or not isinstance(wanted, Mapping | Sequence):
        raise InputError(
            f"columns is {wanted!r}; expected (source, target), (source, target, weight) or a mapping "
            f"such as {{'source': 'from', 'target': 'to'}}"
        )
    if not isinstance(wanted, Mapping):
        words = [word_of(column) for column in wanted]
        timed = len(words) > 2 and words[0] in _KNOWN["time"] and words[2] not in _KNOWN["weight"]
        wanted = timed_columns(wanted) if timed else dict(zip(("source", "target", "weight"), wanted))
    unknown = set(wanted) - set(ROLES)
    if unknown or not {"source", "target"} <= set(wanted):
        raise InputError(
            f"columns has {sorted(map(str, wanted))}; expected source and target, and perhaps weight and time"
        )
    return {role: position(header, n_columns, at, where) for role, at in wanted.items() if at is not None}


def position(header: Sequence[Any] | None, n_columns: int, column: Any, where: str) -> int:
    """Return the position of a column given by its name or its position."""
    names = list(header) if header is not None else []
    if column in names:
        if names.count(column) > 1:
            raise InputError(f"{where} has {names.count(column)} columns {column!r}; pass positions from 0")
        return names.index(column)
    if isinstance(column, int | np.integer) and 0 <= column < n_columns:
        return int(column)
    shown = ", ".join(map(repr, names)) if header is not None else f"numbers 0 to {n_columns - 1}"
    raise InputError(f"{where} has no column {column!r}; its columns are {shown}")
